// Timing in turns: see race.h.
#include "tests/bench/cpu/race.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace loopsmith::bench {

auto Racer::seconds() const -> double {
  std::vector<double> sorted = turns;
  if (sorted.empty()) { return 0; }
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

void race(std::span<Racer> racers, int turns) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  for (int turn = 0; turn < turns; ++turn) {
    for (Racer& r : racers) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      r.run();
      // Calls that are too quick for the clock are timed several at once.
      auto start = Clock::now();
      r.run();
      double one = since(start);
      int at_once = one > 20e-6 ? 1 : static_cast<int>(20e-6 / std::max(one, 1e-8)) + 1;
      double best = one;
      for (auto begin = Clock::now(); since(begin) < 0.1;) {
        start = Clock::now();
        for (int i = 0; i < at_once; ++i) { r.run(); }
        best = std::min(best, since(start) / at_once);
      }
      r.turns.push_back(best);
    }
  }
}

}  // namespace loopsmith::bench
