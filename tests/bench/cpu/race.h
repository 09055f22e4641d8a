// Comparison of several implementations of the same computation, timed in turns.
//
// A turn consists of a pause, in which other thread pools fall asleep, a warm-up call, and calls for a tenth of a second, of which
// the quickest counts. The time of a racer is the median of its turns.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace loopsmith::bench {

struct Racer {
  std::string name;
  std::function<void()> run;
  std::vector<double> turns;        // seconds of one call, a value a turn
  [[nodiscard]] auto seconds() const -> double;   // the median
};

void race(std::span<Racer> racers, int turns = 7);

}  // namespace loopsmith::bench
