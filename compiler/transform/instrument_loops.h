// instrument_loops: calls of a profiler around loops, where that is asked for.
//
//     for i in range(64): <body>      ==>      T.evaluate(T.start_profile_intrinsic(0))
//                                              for i in range(64): <body>
//                                              T.evaluate(T.end_profile_intrinsic(0))
//
// Loops are numbered from 0 in the order of the text, over all functions; those at a depth of `profile_depth` at most (1: the
// outermost), and of them all but those that are written out, vectors, or without a loop or several statements inside, whose time the
// calls themselves would be.
//
// Needs   lowered form; else the code has no loops to time.
// Gives   pairs of calls; nothing where `profile_depth` is 0.
// Keeps   values.
// Place   after everything that makes, splits or drops loops.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto instrument_loops(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

/// A loop that was numbered, as it stands in an instrumented module.
struct TimedLoop {
  int64_t number = 0;
  int depth = 0;            // 1: outermost
  Ref<For> loop;
  Name function;
};
[[nodiscard]] auto timed_loops(const IRModule& module) -> std::vector<TimedLoop>;

}  // namespace loopsmith::transform
