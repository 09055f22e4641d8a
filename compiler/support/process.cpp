// Starts, watches and ends programs: see process.h. POSIX; parts marked Linux do less elsewhere.
#include "support/process.h"

#include "support/codes.h"
#include "support/reasons.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

extern char** environ;

namespace loopsmith {
namespace {

void close_fd(int& fd) {
  if (fd >= 0) { ::close(std::exchange(fd, -1)); }
}

/// Both ends close on exec, so that no other child started at the same time keeps them open.
auto make_pipe(int (&ends)[2]) -> bool {
#ifdef __linux__
  return ::pipe2(ends, O_CLOEXEC) == 0;
#else
  if (::pipe(ends) != 0) { return false; }
  for (int end : ends) { ::fcntl(end, F_SETFD, FD_CLOEXEC); }
  return true;
#endif
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

auto milliseconds_until(Deadline deadline) -> int {
  if (deadline == never()) { return -1; }
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

/// Runs jobs on one thread that never ends: Linux sends the parent-death signal when the starting thread dies, which is then the death of the process.
class StarterThread {
 public:
  /// False when the system cannot start that thread.
  [[nodiscard]] static auto run(const std::function<void()>& job) -> bool {
    static StarterThread* const the_thread = []() -> StarterThread* {
      try {
        return new StarterThread;
      } catch (const std::system_error&) {
        return nullptr;
      }
    }();
    if (the_thread == nullptr) { return false; }
    std::unique_lock lock(the_thread->mutex_);
    the_thread->changed_.wait(lock, [] { return the_thread->job_ == nullptr; });
    bool done = false;
    the_thread->job_ = &job;
    the_thread->done_ = &done;
    the_thread->changed_.notify_all();
    the_thread->changed_.wait(lock, [&] { return done; });
    return true;
  }

 private:
  StarterThread() {
    std::thread([this] {
      // Other threads handle the signals of this process.
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);
      std::unique_lock lock(mutex_);
      while (true) {
        changed_.wait(lock, [this] { return job_ != nullptr; });
        (*job_)();
        *done_ = true;
        job_ = nullptr;
        changed_.notify_all();
      }
    }).detach();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* job_ = nullptr;
  bool* done_ = nullptr;
};

/// All data that the child needs between fork and exec, prepared before the fork: the child must not allocate.
struct ChildPlan {
  std::string program;
  std::vector<std::string> environment_texts;
  std::vector<char*> argv;
  std::vector<char*> environment;
  const char* directory = nullptr;
  int input = -1;   // becomes descriptor 0; -1: inherited
  int output = -1;
  int error = -1;
  int report = -1;  // the descriptor to which a failed start writes its errno
  int niceness = 0;
  pid_t parent = 0;
  ProcessLimits limits;
};

// Only async-signal-safe calls from here to exec.
constexpr uint64_t no_hard_limit = UINT64_MAX;
void limit(int resource, std::optional<uint64_t> value, uint64_t slack) {
  if (!value) { return; }
  rlimit current{};
  getrlimit(static_cast<__rlimit_resource_t>(resource), &current);
  rlim_t hard = slack == no_hard_limit ? current.rlim_max : std::min<rlim_t>(current.rlim_max, *value + slack);
  rlimit wanted{std::min<rlim_t>(*value, hard), hard};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &wanted);
}

[[noreturn]] void become(const ChildPlan& plan) {
  auto fail = [&] {
    int reason = errno;
    [[maybe_unused]] auto written = ::write(plan.report, &reason, sizeof reason);
    ::_exit(127);
  };
  ::setpgid(0, 0);
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the previous statement.
  if (::getppid() != plan.parent) { ::_exit(127); }
#endif
  // Ignored and blocked signals survive an exec; a child starts with none.
  for (int number = 1; number < 32; ++number) { ::signal(number, SIG_DFL); }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  limit(RLIMIT_AS, plan.limits.address_space, no_hard_limit);
  limit(RLIMIT_CPU, plan.limits.cpu_seconds, 1);
  limit(RLIMIT_STACK, plan.limits.stack, 0);
  if (plan.niceness != 0) {
    ::setpriority(PRIO_PROCESS, 0, plan.niceness);
#ifdef SCHED_IDLE
    // A low priority does not end a time slice early when another process wakes (EEVDF). SCHED_IDLE does, where the kernel preempts between ticks.
    sched_param none{};
    ::sched_setscheduler(0, SCHED_IDLE, &none);
#endif
  }
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) { fail(); }

  // All ends were moved above 2 before the fork, so no dup2 here overwrites the source of another.
  if (plan.input >= 0 && ::dup2(plan.input, 0) < 0) { fail(); }
  if (plan.output >= 0 && ::dup2(plan.output, 1) < 0) { fail(); }
  if (plan.error >= 0 && ::dup2(plan.error, 2) < 0) { fail(); }
#if defined(__linux__) && defined(SYS_close_range)
  constexpr unsigned close_on_exec = 4;  // CLOSE_RANGE_CLOEXEC; kernels before 5.11 refuse it, which does no harm
  ::syscall(SYS_close_range, 3U, ~0U, close_on_exec);
#endif
  ::execve(plan.program.c_str(), plan.argv.data(), plan.environment.data());
  fail();
  __builtin_unreachable();
}

/// Variables for folders, the terminal, the language, sanitizers, and Loopsmith's own.
auto is_harmless_variable(std::string_view name) -> bool {
  static constexpr std::string_view names[] = {"HOME", "PATH", "TMPDIR", "LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "TZ", "LD_LIBRARY_PATH"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names) || name.starts_with("LOOPSMITH_") || name.starts_with("XDG_") || name.starts_with("LC_") ||
         name.ends_with("SAN_OPTIONS");
}

auto child_environment(const ProcessOptions& options) -> std::vector<std::string> {
  const auto& changes = options.environment;
  std::vector<std::string> texts;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    std::string_view name = text.substr(0, text.find('='));
    if (options.hides_environment && !is_harmless_variable(name)) { continue; }
    bool replaced = std::any_of(changes.begin(), changes.end(), [&](const auto& change) { return change.first == name; });
    if (!replaced) { texts.emplace_back(text); }
  }
  for (const auto& [name, value] : changes) { texts.push_back(name + "=" + value); }
  return texts;
}

/// Children of this process that are alive, by their ids.
class Children {
 public:
  static auto instance() -> Children& {
    static Children* const all = new Children;   // never destroyed: threads may start programs until the process ends
    return *all;
  }
  void add(pid_t pid) {
    std::lock_guard guard(mutex_);
    alive_.insert(pid);
  }
  void remove(pid_t pid) {
    std::lock_guard guard(mutex_);
    alive_.erase(pid);
  }
  /// Kills and reaps the children that `Process` did not start: they are orphans that the system gave to this process.
  void sweep() {
    std::lock_guard guard(mutex_);
    // The children of a killed orphan become orphans in turn. The number of rounds is limited, since a program may start others faster than they are killed.
    for (int round = 0; round < 100; ++round) {
      std::vector<pid_t> orphans = adopted();
      if (orphans.empty()) { return; }
      for (pid_t orphan : orphans) { ::kill(orphan, SIGKILL); }
      for (pid_t orphan : orphans) { (void)::waitpid(orphan, nullptr, 0); }
    }
  }

 private:
  /// The children of this process that are not in `alive_`.
  auto adopted() const -> std::vector<pid_t> {
    std::vector<pid_t> out;
    std::error_code problem;
    for (std::filesystem::directory_iterator entry("/proc", problem), end; !problem && entry != end; entry.increment(problem)) {
      pid_t pid = std::atoi(entry->path().filename().c_str());
      if (pid <= 0 || alive_.contains(pid)) { continue; }
      // "PID (NAME) STATE PARENT ...", where the name may contain any character. A process may end while its line is read, and a stream would then throw.
      std::FILE* file = std::fopen((entry->path() / "stat").c_str(), "re");
      if (file == nullptr) { continue; }
      char line[4096];
      std::string text(line, std::fread(line, 1, sizeof line, file));
      std::fclose(file);
      size_t name_end = text.rfind(')');
      if (name_end != std::string::npos && name_end + 4 < text.size() && std::atoi(text.c_str() + name_end + 4) == ::getpid()) { out.push_back(pid); }
    }
    return out;
  }
  std::mutex mutex_;
  std::set<pid_t> alive_;
};

/// Makes this process the parent of orphaned programs that its children started.
void adopt_orphans() {
#ifdef __linux__
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
}

/// Moves a descriptor above 0, 1 and 2, for programs that were started with one of these closed.
void lift(int& fd) {
  if (fd < 0 || fd > 2) { return; }
  int lifted = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  ::close(fd);
  fd = lifted;
}

auto exit_status(int status, const rusage& usage) -> ExitStatus {
  ExitStatus result;
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  } else {
    result.code = WEXITSTATUS(status);
  }
  auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  result.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  result.peak_memory = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  return result;
}

/// A write that returns EPIPE and never raises SIGPIPE, regardless of this process's handler for that signal.
auto write_quietly(int fd, const char* data, size_t size) -> ssize_t {
  sigset_t pipe_signal;
  sigset_t pending;
  sigset_t before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  ssize_t written = ::write(fd, data, size);
  int reason = errno;
  if (written < 0 && reason == EPIPE && !was_pending) {
#ifdef __linux__
    timespec now{0, 0};
    while (sigtimedwait(&pipe_signal, nullptr, &now) < 0 && errno == EINTR) {}
#else
    int taken = 0;
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE) == 1) { sigwait(&pipe_signal, &taken); }
#endif
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = reason;
  return written;
}

/// Waits until the descriptor can be read (or written). False: the deadline came.
auto wait_for(int fd, short events, Deadline deadline) -> bool {
  while (true) {
    pollfd entry{fd, events, 0};
    int ready = ::poll(&entry, 1, milliseconds_until(deadline));
    if (ready > 0) { return true; }
    if (ready == 0 && deadline != never() && Clock::now() >= deadline) { return false; }
    if (ready < 0 && errno != EINTR && errno != EAGAIN) { return true; }
  }
}

}  // namespace

struct ProcessStarter {
  static auto start(const ProcessOptions& options) -> Result<Process> {
    std::string wanted = options.argv.empty() ? "" : options.argv.front();
    auto refuse = [&](std::string_view why) {
      return error(Code::CannotStart).arg("program", wanted).arg("reason", why);
    };
    std::optional<std::string> program = find_program(wanted);
    if (!program) { return refuse(because(Why::NoSuchProgramFile).text()); }

    Process process;
    ChildPlan plan;
    plan.program = *program;
    plan.limits = options.limits;
    plan.niceness = options.niceness;
    plan.parent = ::getpid();
    if (!options.directory.empty()) { plan.directory = options.directory.c_str(); }
    for (const std::string& argument : options.argv) { plan.argv.push_back(const_cast<char*>(argument.c_str())); }
    plan.argv.push_back(nullptr);
    plan.environment_texts = child_environment(options);
    for (const std::string& text : plan.environment_texts) { plan.environment.push_back(const_cast<char*>(text.c_str())); }
    plan.environment.push_back(nullptr);

    int report[2] = {-1, -1};
    auto close_childs_ends = [&] {
      close_fd(plan.input);
      close_fd(plan.output);
      close_fd(plan.error);
      close_fd(plan.report);
    };
    auto connect = [](Stream stream, bool child_reads, int& ours, int& childs) {
      if (stream == Stream::Inherit) { return true; }
      if (stream == Stream::Null) {
        childs = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      } else {
        int ends[2] = {-1, -1};
        if (!make_pipe(ends)) { return false; }
        childs = ends[child_reads ? 0 : 1];
        ours = ends[child_reads ? 1 : 0];
        lift(ours);
        set_nonblocking(ours);
      }
      lift(childs);
      return childs >= 0;
    };
    bool connected = connect(options.standard_input, true, process.input_, plan.input) &&
                     connect(options.standard_output, false, process.output_, plan.output) &&
                     connect(options.standard_error, false, process.error_, plan.error) && make_pipe(report);
    plan.report = report[1];
    lift(plan.report);
    lift(report[0]);
    if (!connected) {
      std::string why = std::strerror(errno);
      close_childs_ends();
      close_fd(report[0]);
      return refuse(why);
    }

    int reason = 0;
    process.sweeps_ = options.sweeps;
    if (options.sweeps) { adopt_orphans(); }
    bool tried = StarterThread::run([&] {
      pid_t child = ::fork();
      if (child == 0) { become(plan); }
      reason = child < 0 ? errno : 0;
      process.pid_ = child;
      if (child > 0) { Children::instance().add(child); }
    });
    if (!tried) { reason = EAGAIN; }
    close_childs_ends();
    if (process.pid_ > 0) {
      // The child calls setpgid, too. The first of the two calls creates the group, so it exists after this one.
      ::setpgid(process.pid_, process.pid_);
      int failed = 0;
      ssize_t got = 0;
      do { got = ::read(report[0], &failed, sizeof failed); } while (got < 0 && errno == EINTR);
      if (got == sizeof failed) { reason = failed; }
    }
    close_fd(report[0]);
    if (reason != 0) { return refuse(std::strerror(reason)); }
    return process;
  }
};

auto Process::start(const ProcessOptions& options) -> Result<Process> { return ProcessStarter::start(options); }

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)), error_(std::exchange(other.error_, -1)), sweeps_(other.sweeps_), exit_(other.exit_),
      buffer_(std::move(other.buffer_)) {}

auto Process::operator=(Process&& other) noexcept -> Process& {
  if (this != &other) {
    this->~Process();
    new (this) Process(std::move(other));
  }
  return *this;
}

Process::~Process() {
  close_fd(input_);
  close_fd(output_);
  close_fd(error_);
  if (pid_ > 0) { kill(); }
}

auto Process::write(std::string_view data, Deadline deadline) -> IoStatus {
  while (!data.empty()) {
    if (input_ < 0) { return IoStatus::Closed; }
    ssize_t written = write_quietly(input_, data.data(), data.size());
    if (written > 0) {
      data.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      if (!wait_for(input_, POLLOUT, deadline)) { return IoStatus::TimedOut; }
    } else if (errno != EINTR) {
      return IoStatus::Closed;
    }
  }
  return IoStatus::Done;
}

void Process::close_input() { close_fd(input_); }

auto Process::fill(Deadline deadline) -> IoStatus {
  while (true) {
    if (output_ < 0) { return IoStatus::Closed; }
    char chunk[65536];
    ssize_t got = ::read(output_, chunk, sizeof chunk);
    if (got > 0) {
      buffer_.append(chunk, static_cast<size_t>(got));
      return IoStatus::Done;
    }
    if (got == 0) {
      close_fd(output_);
    } else if (errno == EAGAIN) {
      if (!wait_for(output_, POLLIN, deadline)) { return IoStatus::TimedOut; }
    } else if (errno != EINTR) {
      close_fd(output_);
    }
  }
}

auto Process::read_line(Deadline deadline) -> ReadResult {
  size_t searched = 0;
  while (true) {
    size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      ReadResult result{IoStatus::Done, buffer_.substr(0, end)};
      buffer_.erase(0, end + 1);
      return result;
    }
    searched = buffer_.size();
    IoStatus status = fill(deadline);
    if (status != IoStatus::Done) { return {status, {}}; }
  }
}

auto Process::read_exactly(size_t bytes, Deadline deadline) -> ReadResult {
  while (buffer_.size() < bytes) {
    IoStatus status = fill(deadline);
    if (status != IoStatus::Done) { return {status, {}}; }
  }
  ReadResult result{IoStatus::Done, buffer_.substr(0, bytes)};
  buffer_.erase(0, bytes);
  return result;
}

auto Process::read_some(Deadline deadline) -> ReadResult {
  if (buffer_.empty()) {
    IoStatus status = fill(deadline);
    if (status != IoStatus::Done) { return {status, {}}; }
  }
  return {IoStatus::Done, std::exchange(buffer_, {})};
}

auto Process::poll_exit() -> std::optional<ExitStatus> {
  if (exit_ || pid_ <= 0) { return exit_; }
  // Looks for the end without reaping the child: until it is reaped, no new group can get the same number, so the
  // remaining programs of the child's group can be killed without hitting an unrelated process.
  siginfo_t info{};
  int looked = 0;
  do {
    looked = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (looked < 0 && errno == EINTR);
  if (looked == 0 && info.si_pid != pid_) { return std::nullopt; }
  if (looked < 0) {
    // Other code reaped the child (a handler of SIGCHLD that waits for all children): its exit status is lost.
    exit_ = ExitStatus{.code = 127};
    return exit_;
  }
  ::kill(-pid_, SIGKILL);
  int status = 0;
  rusage usage{};
  pid_t got = 0;
  do { got = ::wait4(pid_, &status, 0, &usage); } while (got < 0 && errno == EINTR);
  exit_ = got == pid_ ? exit_status(status, usage) : ExitStatus{.code = 127};
  Children::instance().remove(pid_);
  if (sweeps_) { Children::instance().sweep(); }
  return exit_;
}

auto Process::wait(Deadline deadline) -> std::optional<ExitStatus> {
#if defined(__linux__) && defined(SYS_pidfd_open)
  if (!poll_exit()) {
    int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0U));
    if (handle >= 0) {
      wait_for(handle, POLLIN, deadline);
      ::close(handle);
    }
  }
#endif
  auto pause = std::chrono::microseconds(100);
  while (!poll_exit() && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, std::max<Clock::duration>(deadline - Clock::now(), Clock::duration::zero())));
    pause = std::min(pause * 2, std::chrono::microseconds(10000));
  }
  return exit_;
}

void Process::send_signal(int signal) {
  if (pid_ > 0 && !poll_exit()) { ::kill(pid_, signal); }
}

auto Process::kill() -> ExitStatus {
  if (pid_ > 0 && !poll_exit()) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    (void)wait(never());
  }
  pid_ = -1;
  return exit_.value_or(ExitStatus{});
}

auto run_program(const ProcessOptions& options, std::string_view input, Deadline deadline, size_t output_limit, const CancelToken& cancel)
    -> Result<ProgramResult> {
  LOOPSMITH_TRY(process, Process::start(options));
  ProgramResult result;
  int feed = process.release_input();
  int output = process.release_output();
  int errors = process.release_error();
  if (input.empty()) { close_fd(feed); }
  auto drain = [&](int& fd, std::string& into) {
    char chunk[65536];
    ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got > 0) {
      size_t room = output_limit - std::min(output_limit, into.size());
      into.append(chunk, std::min(room, static_cast<size_t>(got)));
      result.truncated |= static_cast<size_t>(got) > room;
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      close_fd(fd);
    }
  };
  // A grandchild may keep the pipes open. So the loop ends with the program itself, and then reads the
  // bytes that are already in the pipes.
  while (output >= 0 || errors >= 0 || feed >= 0) {
    pollfd entries[3] = {{output, POLLIN, 0}, {errors, POLLIN, 0}, {feed, POLLOUT, 0}};
    bool ended = process.poll_exit().has_value();
    int slice = ended ? 0 : std::min<unsigned>(static_cast<unsigned>(milliseconds_until(deadline)), 50);
    int ready = ::poll(entries, 3, slice);
    if (ready <= 0) {
      if (ended) { break; }
      if (cancel.is_cancelled()) {
        result.cancelled = true;
        break;
      }
      if (deadline != never() && Clock::now() >= deadline) {
        result.timed_out = true;
        break;
      }
      continue;
    }
    if (entries[0].revents != 0) { drain(output, result.output); }
    if (entries[1].revents != 0) { drain(errors, result.error); }
    if (entries[2].revents != 0) {
      ssize_t written = write_quietly(feed, input.data(), input.size());
      if (written > 0) { input.remove_prefix(static_cast<size_t>(written)); }
      if (input.empty() || (written < 0 && errno != EAGAIN && errno != EINTR)) { close_fd(feed); }
    }
  }
  close_fd(feed);
  close_fd(output);
  close_fd(errors);
  // A child that closed its pipes may still be running.
  constexpr auto slice = std::chrono::milliseconds(50);
  while (!result.timed_out && !result.cancelled && !process.wait(std::min(deadline, in(slice))).has_value()) {
    result.cancelled = cancel.is_cancelled();
    result.timed_out = deadline != never() && Clock::now() >= deadline;
  }
  result.status = process.kill();
  return result;
}

auto find_program(const std::string& name) -> std::optional<std::string> {
  auto is_program = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  if (name.empty()) { return std::nullopt; }
  if (name.find('/') != std::string::npos) { return is_program(name) ? std::optional(name) : std::nullopt; }
  const char* path = std::getenv("PATH");
  std::string_view folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    size_t end = folders.find(':');
    std::string_view folder = folders.substr(0, end);
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (is_program(candidate)) { return candidate; }
    if (end == std::string_view::npos) { return std::nullopt; }
    folders.remove_prefix(end + 1);
  }
}

auto current_program() -> std::string {
  char path[PATH_MAX];
  ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) { return "loopsmith"; }
  std::string program(path, static_cast<size_t>(size));
  // The file was replaced or removed while it runs, for example by an upgrade. /proc keeps the program itself accessible.
  return program.ends_with(" (deleted)") ? fmt::format("/proc/{}/exe", ::getpid()) : program;
}

auto signal_name(int signal) -> std::string {
  switch (signal) {
    case SIGHUP: return "SIGHUP";
    case SIGINT: return "SIGINT";
    case SIGQUIT: return "SIGQUIT";
    case SIGILL: return "SIGILL";
    case SIGTRAP: return "SIGTRAP";
    case SIGABRT: return "SIGABRT";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGKILL: return "SIGKILL";
    case SIGSEGV: return "SIGSEGV";
    case SIGPIPE: return "SIGPIPE";
    case SIGALRM: return "SIGALRM";
    case SIGTERM: return "SIGTERM";
    case SIGXCPU: return "SIGXCPU";
    case SIGXFSZ: return "SIGXFSZ";
    case SIGSYS: return "SIGSYS";
    default: return fmt::format("signal {}", signal);
  }
}

auto address_space_for(uint64_t bytes) -> std::optional<uint64_t> {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return std::nullopt;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return std::nullopt;
#endif
#endif
  // A thread has a stack of 8 MiB, and glibc reserves 128 MiB for its allocations.
  constexpr uint64_t own = 1ULL << 30U, of_thread = 136ULL << 20U;
  return bytes + own + of_thread * std::max(1U, std::thread::hardware_concurrency());
}

void limit_data_instead_of_addresses() {
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY) { return; }
  rlimit data{};
  getrlimit(RLIMIT_DATA, &data);
  const rlim_t most = std::min<rlim_t>(addresses.rlim_cur, data.rlim_max);
  data = {most, most};
  if (setrlimit(RLIMIT_DATA, &data) != 0) { return; }
  addresses.rlim_cur = addresses.rlim_max;
  setrlimit(RLIMIT_AS, &addresses);
}

auto ExitStatus::describe() const -> std::string {
  if (signal == 0) { return fmt::format("exited with status {}", code); }
#ifdef SIGSYS
  if (signal == SIGSYS) { return "was ended by the system: it asked for what programs may not do (a process, a connection, a signal to others)"; }
#endif
  return fmt::format("was killed by signal {} ({})", signal, signal_name(signal));
}

}  // namespace loopsmith
