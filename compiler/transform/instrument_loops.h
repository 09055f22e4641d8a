// instrument_loops: puts calls of the profiler around loops, on request.
//
//     for i in range(64): <body>      ==>      T.evaluate(T.start_profile_intrinsic(0))
//                                              for i in range(64): <body>
//                                              T.evaluate(T.end_profile_intrinsic(0))
//
// Loops are numbered from 0 in the order of the text, over all functions. Instrumented are the loops down to the depth
// `profile_depth` (1: the outermost), except for unrolled and vectorized loops, and loops with a single simple statement, where the
// calls themselves would take most of the time.
//
// Needs   lowered form; code of an earlier form has other loops.
// Gives   pairs of calls; none if `profile_depth` is 0.
// Keeps   values.
// Place   after all passes that create, split or drop loops.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto instrument_loops(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

/// A numbered loop of an instrumented module.
struct TimedLoop {
  int64_t number = 0;
  int depth = 0;            // 1: outermost
  Ref<For> loop;
  Name function;
};
[[nodiscard]] auto timed_loops(const IRModule& module) -> std::vector<TimedLoop>;

}  // namespace loopsmith::transform
