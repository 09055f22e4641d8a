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

#include "frontend/file.h"
#include "intrinsics/registry.h"
#include "syntax/document.h"
#include "tune/metaschedule/features/features.h"
#include "tune/space/trace_spaces.h"

using namespace loopsmith;

namespace {

constexpr const char* matmul_relu = R"PY(
@T.prim_func
def main(A: T.Buffer((512, 512), "float32"), B: T.Buffer((512, 512), "float32"), D: T.Buffer((512, 512), "float32")):
    C = T.alloc_buffer((512, 512), "float32")
    for i, j, k in T.grid(512, 512, 512):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(512, 512):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
)PY";

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
  intrinsics::install();
  syntax::Document document(matmul_relu);
  frontend::File file;
  file.update(document);
  const IRModule module = file.declaration(0).module;
  auto target = target::parse("llvm -mcpu=x86-64-v3 -num-cores=2");
  if (!module || !target.ok()) { return 1; }
  const target::Hardware hardware = target::hardware(*target);
  auto sketches = tune::metaschedule_space({module, Name("main"), hardware, cost::core_model(hardware)}, *target, 0);
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
    features.push_back(seconds_of([&] { (void)tune::metaschedule::extract_features(sch.module(), false); }));
  }
  fmt::print("replay of a trace: {:.0f} us; its features: {:.0f} us (medians of {} candidates)\n", median(replays) * 1e6, median(features) * 1e6, features.size());
  return features.empty() ? 1 : 0;
}
