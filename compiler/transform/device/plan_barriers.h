// plan_barriers: finds the places in a kernel where the threads of a block must wait for each other.
//
// The iterations of a thread-bound loop are independent: a schedule proved this, or a person guaranteed it. So two accesses in one run of
// a loop over `threadIdx.x` never conflict between threads of that dimension. Conflicts arise if several loops bind one dimension
//
//     for tx in threadIdx.x:                        each iteration of `tx` runs the whole inner loop, so
//         for ax in threadIdx.x:                    threads that share the inner loop must wait before they read
//             S[ax] = A[ax]
//         B[tx] = S[0] + S[15]
//
// and where a serial loop repeats such loops. Accesses of a buffer conflict unless both are loads, every dimension is bound by the same run of
// the same loop, both have the same index, which differs from thread to thread, or their indices never meet: they lie in ranges apart, or in
// different copies of a buffer in a pipeline.
//
// Stores in an `async_scope` happen when the thread waits for them (`ptx_wait_group`): a barrier between the two lets no other thread read.
//
// All threads must reach a barrier: it may stand in branches and loops whose conditions are the same for all threads (uniform.h). If a conflict lies inside a branch that only some threads take, the branch is distributed over
// its statements. If this is impossible, the plan contains a problem.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/ir.h"
#include "support/reason.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {

struct BarrierPlan {
  /// Statements of the kernel that need a barrier before them.
  std::unordered_set<const StmtNode*> before;
  /// `while` loops whose body needs a barrier behind it, in front of the next evaluation of the condition.
  std::unordered_set<const StmtNode*> behind;
  /// Branches in their distributed form; `before` refers to the statements in this form.
  std::unordered_map<const StmtNode*, Stmt> distributed;
  struct Problem { std::string what; Reason why; Origin origin; };
  std::optional<Problem> problem;
};

/// Shared memory, by its data variable, and the dimensions whose threads all fill it with the same values, although it is allocated inside of their loops.
using FilledAlike = std::unordered_map<const VarNode*, std::vector<Name>>;

/// `kernel`: flat code whose loops over a dimension all have the extent of that dimension in `block`.
[[nodiscard]] auto plan_barriers(const Stmt& kernel, const ThreadBlock& block, const FilledAlike& filled_alike = {}) -> BarrierPlan;

}  // namespace loopsmith::transform
