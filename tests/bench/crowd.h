// Steps in large programs: the example of each primitive, alone, with hundreds of unrelated blocks in its function, and in a module of
// hundreds of functions. For the table of bench-schedule and for the test that counts work.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace loopsmith::bench {

/// One call of a primitive, on a schedule that is ready for it.
struct Step {
  const schedule::Primitive* primitive = nullptr;
  schedule::Schedule base;                  // with the calls of the example before this one
  std::vector<schedule::Value> values;      // one per parameter
  schedule::Value decision;
  schedule::Value filler;                   // the loop of a block that is unrelated to the example

  /// A copy of the base after a step on the filler, so that no later question was answered for this state before.
  [[nodiscard]] auto fresh() const -> schedule::Schedule;
  /// False: the call is refused.
  [[nodiscard]] auto run(schedule::Schedule& on) const -> bool;
};

/// The last call of the primitive in its example, with that many blocks more in the function, in front of and behind those of the
/// example, and that many functions more in the module. Empty where the primitive has no example; error where something does not run.
[[nodiscard]] auto step_among(const schedule::Primitive& primitive, int blocks, int functions) -> Result<Step>;

}  // namespace loopsmith::bench
