// perf_event_open and getrusage: see counters.h.
#include "runtime/counters.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#endif

namespace loopsmith::runtime {
namespace {

#if defined(__linux__)

constexpr uint64_t first_level_read_misses = PERF_COUNT_HW_CACHE_L1D | (PERF_COUNT_HW_CACHE_OP_READ << 8U) | (uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << 16U);
constexpr Event events_of_processors[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"branch misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"L1 misses", PERF_TYPE_HW_CACHE, first_level_read_misses},
    {"last-level misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
};

/// Opens a counter of a thread's work in user mode, which most systems allow to every user. -1 with errno on failure.
auto open_event(const Event& event, pid_t thread) -> int {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = event.type;
  attr.config = event.config;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

auto threads_here() -> std::vector<pid_t> {
  std::vector<pid_t> out;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    out.push_back(static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10)));
  }
  if (out.empty()) { out.push_back(0); }
  return out;
}

#endif

struct Usage { int64_t faults = 0, switches = 0; };

auto usage_now() -> Usage {
  rusage u = {};
  ::getrusage(RUSAGE_SELF, &u);
  return {u.ru_minflt + u.ru_majflt, u.ru_nvcsw + u.ru_nivcsw};
}

}  // namespace

auto processor_events() -> std::span<const Event> {
#if defined(__linux__)
  return events_of_processors;
#else
  return {};
#endif
}

auto why_no_counters(int error) -> std::string {
  switch (error) {
    case EACCES:
    case EPERM: {
      std::string level;
      std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
      return level.empty() ? std::string("the system does not allow it")
                           : fmt::format("the system does not allow it (kernel.perf_event_paranoid is {}: `sudo sysctl kernel.perf_event_paranoid=2` does)", level);
    }
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP: return "this machine shows none to its programs, as most virtual machines do";
    case ENOSYS: return "this system has no perf_event_open";
    case EMFILE: return "too many files are open";
    default: return std::strerror(error);
  }
}

struct Counters::State {
  struct Opened { size_t event; int fd; };
  std::vector<std::string> names;
  std::vector<Opened> opened;
  std::string missing;
  Usage begun, used;
};

Counters::Counters(std::span<const Event> events) : state_(std::make_unique<State>()) {
  for (const Event& event : events) { state_->names.emplace_back(event.name); }
#if defined(__linux__)
  int first_error = 0;
  for (pid_t thread : threads_here()) {
    for (size_t i = 0; i < events.size(); ++i) {
      int fd = open_event(events[i], thread);
      if (fd >= 0) {
        state_->opened.push_back({i, fd});
      } else if (first_error == 0) {
        first_error = errno;
      }
    }
  }
  if (state_->opened.empty()) { state_->missing = why_no_counters(first_error); }
#else
  state_->missing = "only Linux is asked for them";
#endif
}

Counters::~Counters() {
  for (const State::Opened& o : state_->opened) { ::close(o.fd); }
}

void Counters::start() {
  state_->begun = usage_now();
#if defined(__linux__)
  for (const State::Opened& o : state_->opened) { ::ioctl(o.fd, PERF_EVENT_IOC_ENABLE, 0); }
#endif
}

void Counters::stop() {
#if defined(__linux__)
  for (const State::Opened& o : state_->opened) { ::ioctl(o.fd, PERF_EVENT_IOC_DISABLE, 0); }
#endif
  Usage now = usage_now();
  state_->used.faults += now.faults - state_->begun.faults;
  state_->used.switches += now.switches - state_->begun.switches;
}

auto Counters::read() const -> EventCounts {
  EventCounts out;
  out.missing = state_->missing;
  for (size_t i = 0; i < state_->names.size(); ++i) {
    double sum = 0;
    bool counted = false;
    for (const State::Opened& o : state_->opened) {
      struct { uint64_t value, enabled, running; } r = {};
      if (o.event != i || ::read(o.fd, &r, sizeof(r)) != sizeof(r)) { continue; }
      counted = true;
      if (r.running > 0) { sum += static_cast<double>(r.value) * (static_cast<double>(r.enabled) / static_cast<double>(r.running)); }
    }
    if (counted) { out.counts.push_back({state_->names[i], sum}); }
  }
  out.counts.push_back({"page faults", static_cast<double>(state_->used.faults)});
  out.counts.push_back({"switches", static_cast<double>(state_->used.switches)});
  return out;
}

}  // namespace loopsmith::runtime
