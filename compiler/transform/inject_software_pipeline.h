// inject_software_pipeline: overlaps iterations of a loop: its statements work on different iterations at the same time.
//
//     for i in T.serial(16, annotations={                  B = T.alloc_buffer((2, 8))
//             "software_pipeline_stage": [0, 1],           B[0, :] = load(0)
//             "software_pipeline_order": [0, 1]}):    ==>  for i in range(15):
//         B = T.alloc_buffer((8,))                             B[(i + 1) % 2, :] = load(i + 1)
//         B[:] = load(i)                                       C[i] = use(B[i % 2, :])
//         C[i] = use(B[:])                                 C[15] = use(B[1, :])
//
// A statement of stage s works on iteration i - s while the newest iteration is i; `order` is the order of the statements
// that run together. If the body is a single block, the statements in it count; a block without a predicate among the statements
// is also replaced by its statements (all of this as in TVM). A buffer that passes data between stages needs a copy for each
// overlapping iteration: it gets another leading dimension, with as many copies as there are stages between its first and
// last use, and one more if it is written before its last reader has finished. A block in the body with
// `double_buffer_scope` = w requests at least two copies of its w-th written buffer.
//
// Needs   opaque blocks; annotations with an entry per statement. If a statement writes a buffer from outside of the loop and
//         another statement accesses it, both are in the same stage, in the order of the text; a buffer of the body may
//         only pass data to later stages. Otherwise a diagnostic names the buffer and both statements.
// Gives   no loop has `software_pipeline_*`; a prologue fills the pipeline, an epilogue empties it. Statements of
//         `software_pipeline_async_stages` that fill shared memory stand in an `async_scope`. Each makes a group of copies in each time step
//         (`ptx_commit_group`), and a step waits by number for the groups that it reads (`ptx_wait_group`). Where the target has no asynchronous
//         copies, they run synchronously.
// Keeps   values.
// Place   after compact_buffer_allocation and lower_match_buffer, so that buffers have the size of an iteration and no views;
//         before lower_opaque_block, which separates allocations from blocks.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto inject_software_pipeline(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

/// The number of statements that the annotations of a loop must have entries for, after blocks became opaque.
[[nodiscard]] auto pipeline_statements(const For& loop) -> size_t;

}  // namespace loopsmith::transform
