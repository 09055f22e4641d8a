// The estimated time of a call of a scheduled function, from its loops and blocks, for states without a measurement. An
// estimate takes microseconds, so that every legal move can have one.
//
// Each block is a nest of the loops around it. The model of a nest is the draft's (draft.h: arithmetic, loads into registers,
// traffic into each cache), extended to schedules of any form: sums that wait for their previous step, accumulators that stay
// in registers, buffers that stay in a cache because of their place in the nest. A fused loop is split again where indices
// divide it.
//
// Estimates serve to compare states of one program: `bench-cost` prints the rank correlation with measured times. The absolute
// seconds may be wrong by a factor.
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

/// None for functions outside of the model: symbolic extents, loops bound to threads of a device, no blocks.
[[nodiscard]] auto estimate(const schedule::FuncState& func, const CoreModel& core) -> std::optional<Estimate>;

/// The core of a target. With LOOPSMITH_TEST_CORE in the environment it is the same on every machine, because tests compare texts.
[[nodiscard]] auto core_of(const target::Target& target) -> CoreModel;
/// The same for the text of a target. An empty or unreadable text stands for this machine. For GPUs `is_device` is set.
[[nodiscard]] auto core_for(std::string_view target) -> CoreModel;

/// The estimated time before divided by the one after: above 1 the change makes the program faster. None if one of the two has no estimate.
[[nodiscard]] auto gain(const schedule::FuncState& before, const schedule::FuncState& after, const CoreModel& core) -> std::optional<double>;
/// A gain in words, as "about 2.1x faster" or "about 3x slower"; empty if it is within the model's error.
[[nodiscard]] auto gain_text(double gain) -> std::string;

}  // namespace loopsmith::cost
