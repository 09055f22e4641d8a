// How long a call of a scheduled function should take, read off its loops and blocks: what is told about a state that
// nobody has measured. Microseconds to make, so that every legal move can carry one.
//
// Each block is a nest of the loops around it; the model of a nest is the draft's (draft.h: arithmetic, loads into registers,
// traffic into each cache), with what a schedule of any form adds: which sums wait for
// themselves, which accumulators stay in registers, what a buffer's place in the nest leaves in a cache. Loops that were
// fused are taken apart again where indices divide them.
//
// It is good for comparing states of one program: `bench-cost` prints the rank correlation with measured times. The seconds
// themselves may be wrong by a factor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/draft.h"
#include "schedule/state.h"
#include "target/target.h"

namespace loopsmith::cost {

struct BlockEstimate {
  NodeId block = 0;
  double seconds = 0;
};

struct Estimate {
  double seconds = 0;                   // of one call
  std::vector<BlockEstimate> blocks;    // those that compute, in the order of the text
};

/// None where it has no model: symbolic extents, loops bound to threads of a device, no blocks.
[[nodiscard]] auto estimate(const schedule::FuncState& func, const CoreModel& core) -> std::optional<Estimate>;

/// The core that programs for a target run on. With LOOPSMITH_TEST_CORE in the environment the same one everywhere: tests compare texts.
[[nodiscard]] auto core_of(const target::Target& target) -> CoreModel;
/// The same of a target as a schedule names it; of an empty one, and of one that cannot be read, this machine's. A device has no core.
[[nodiscard]] auto core_for(std::string_view target) -> CoreModel;
/// Is it of a kind whose code runs on a device: "cuda", "rocm -mcpu=gfx90a"?
[[nodiscard]] auto is_of_device(std::string_view target) -> bool;

/// How many times as fast the second should be as the first; below 1: slower. None where one of the two has no estimate.
[[nodiscard]] auto gain(const schedule::FuncState& before, const schedule::FuncState& after, const CoreModel& core) -> std::optional<double>;
/// "about 2.1x faster", "about 3x slower"; empty where the model cannot tell the two apart.
[[nodiscard]] auto gain_text(double gain) -> std::string;

}  // namespace loopsmith::cost
