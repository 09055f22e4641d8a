// Microseconds per candidate for MetaSchedule's 164 features, on points of MetaSchedule's space.
//
//     bench-features [ROUNDS]
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "support/text.h"
#include "tests/support/tuned_program.h"
#include "tune/metaschedule/features/features.h"
#include "tune/space/trace_spaces.h"

using namespace loopsmith;

namespace {

/// Processor time: other programs on the machine do not count.
auto now() -> double {
  timespec time{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

auto seconds_of(const auto& work) -> double {
  const double start = now();
  work();
  return now() - start;
}

auto median(std::vector<double> values) -> double {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 200;
  const IRModule module = testing::module_of(testing::product_relu(512, 512, 512));
  const target::Target target = testing::target_of("llvm -mcpu=x86-64-v3 -num-cores=2");
  auto sketches = tune::metaschedule_space(testing::context_of(module, target), target, 0);
  if (!sketches.ok()) { return 1; }
  std::mt19937_64 random(1);
  std::vector<double> replays, features;
  for (int round = 0; round < rounds; ++round) {
    const tune::Sketch& sketch = *(*sketches)[static_cast<size_t>(round) % sketches->size()];
    tune::Point point;
    for (const tune::Knob& knob : sketch.knobs()) { point.push_back(static_cast<uint16_t>(random() % knob.choices.size())); }
    schedule::Schedule sch(module, 1);
    bool is_legal = false;
    const double replay = seconds_of([&] { is_legal = sketch.apply(sch, point).ok(); });
    if (!is_legal) { continue; }
    replays.push_back(replay);
    constexpr int repeats = 10;
    features.push_back(seconds_of([&] { for (int i = 0; i < repeats; ++i) { (void)tune::metaschedule::extract_features(sch.module(), false); } }) / repeats);
  }
  fmt::print("replay of a trace: {}; its features: {} (medians of {} candidates)\n", duration_text(median(replays)), duration_text(median(features)), features.size());
  return features.empty() ? 1 : 0;
}
