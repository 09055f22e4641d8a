// What was counted while code ran, in all threads of this process: by the processor (cycles, instructions, misses), where the system
// lets programs see its counters (Linux, perf_event_open), and by the system (page faults, threads put aside). Virtual machines mostly
// have none of the processor's, and a system may refuse them: then the reason is said and the others are given.
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
  std::vector<Count> counts;       // those of the processor first; one that this processor lacks is left out
  std::string missing;             // why there are none of the processor, and what could be done; empty: there are
};

/// An event as Linux numbers it.
struct Event {
  const char* name;
  uint32_t type;
  uint64_t config;
};

/// Cycles, instructions, misses of branches, of the first-level and the last-level cache.
[[nodiscard]] auto processor_events() -> std::span<const Event>;

/// Counters of every thread that this process has now. A processor with fewer counters than events takes them in turns; what is read
/// is scaled to the whole time.
class Counters {
 public:
  explicit Counters(std::span<const Event> events = processor_events());
  ~Counters();
  Counters(const Counters&) = delete;
  auto operator=(const Counters&) -> Counters& = delete;

  /// Counting is between these, as often as they are called; counts add up.
  void start();
  void stop();
  [[nodiscard]] auto read() const -> EventCounts;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What an errno of perf_event_open means to a person.
[[nodiscard]] auto why_no_counters(int error) -> std::string;

}  // namespace loopsmith::runtime
