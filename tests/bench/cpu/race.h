// Several ways to do the same thing, timed in turns.
//
// A turn: a pause in which thread pools of others fall asleep, a call to warm up, then calls for a tenth of a second, of which the
// quickest counts. The figure of a racer is the median of its turns.
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
