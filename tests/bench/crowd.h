// Steps in large programs: the example of each primitive, alone, with hundreds of unrelated blocks in its function, and in a module of
// hundreds of functions. For the table of bench-schedule and for the test that counts work.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace loopsmith::bench {

/// A call of a primitive, and the schedule before the call.
struct Step {
  const schedule::Primitive* primitive = nullptr;
  schedule::Schedule base;                  // with the calls of the example before this one
  std::vector<schedule::Value> values;      // one per parameter
  schedule::Value decision;
  schedule::Value filler;                   // the loop of a block that is unrelated to the example

  /// A copy of the base after a step on the filler, so that no cached answer applies to this state.
  [[nodiscard]] auto fresh() const -> schedule::Schedule;
  /// False: the call is refused.
  [[nodiscard]] auto run(schedule::Schedule& on) const -> bool;
};

/// The last call of the primitive in its example, with `blocks` other blocks in the function, half before and half behind those of the
/// example, and `functions` other functions in the module. Empty: the primitive has no example; error: the example does not run.
[[nodiscard]] auto step_among(const schedule::Primitive& primitive, int blocks, int functions) -> Result<Step>;

}  // namespace loopsmith::bench
