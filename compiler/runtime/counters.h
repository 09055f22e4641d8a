// Event counts while code runs, over all threads of this process: the processor's counters (cycles, instructions, misses), if the
// system grants access to them (Linux, perf_event_open), and the system's counters (page faults, context switches). Most virtual machines
// have no processor counters, and a system may refuse them: then the result contains the reason and the system's counters.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace loopsmith::runtime {

struct Count {
  std::string name;
  double value = 0;
};

struct EventCounts {
  std::vector<Count> counts;       // the processor's counters first; those that this processor lacks are omitted
  std::string missing;             // the reason why processor counters are missing, and a remedy; empty if they are present
};

/// An event with Linux's numbers for it.
struct Event {
  const char* name;
  uint32_t type;
  uint64_t config;
};

/// Cycles, instructions, misses of branches, of the first-level and the last-level cache.
[[nodiscard]] auto processor_events() -> std::span<const Event>;

/// Counters of every thread that this process has now. A processor with fewer counters than events counts them in turn; the counts
/// are scaled to the whole time.
class Counters {
 public:
  explicit Counters(std::span<const Event> events = processor_events());
  ~Counters();
  Counters(const Counters&) = delete;
  auto operator=(const Counters&) -> Counters& = delete;

  /// Counts between `start` and `stop`; counts of several such intervals add up.
  void start();
  void stop();
  [[nodiscard]] auto read() const -> EventCounts;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Explains an errno of perf_event_open to a user.
[[nodiscard]] auto why_no_counters(int error) -> std::string;

}  // namespace loopsmith::runtime
