// inject_software_pipeline: statements of a loop's body work on different iterations at the same time.
//
//     for i in T.serial(16, annotations={                  B = T.alloc_buffer((2, 8))
//             "software_pipeline_stage": [0, 1],           B[0, :] = load(0)
//             "software_pipeline_order": [0, 1]}):    ==>  for i in range(15):
//         B = T.alloc_buffer((8,))                             B[(i + 1) % 2, :] = load(i + 1)
//         B[:] = load(i)                                       C[i] = use(B[i % 2, :])
//         C[i] = use(B[:])                                 C[15] = use(B[1, :])
//
// A statement of stage s works on iteration i - s while the newest one is i; `order` says which comes first among
// those that are done together. A body of one block stands for what is in it, and a block among the statements
// without a predicate for its own statements (all of this as in TVM). What iterations hand from one stage to the next
// needs a place for each iteration that is under way: buffers of the body get a dimension in front, of (stages
// between its first and last use) places, one more where it is written before its last reader is done. A block in
// the body with `double_buffer_scope` = w asks for two at least for its w-th written buffer.
//
// Needs   opaque blocks; the annotations count the statements. A buffer from outside of the loop that one statement writes
//         and another touches keeps them in one stage, in the order of the text; so do buffers of the body, forwards.
//         Else: a diagnostic that names the buffer and both statements.
// Gives   no loop has `software_pipeline_*`; what fills the pipeline and what empties it stands before and behind.
//         `software_pipeline_async_stages` asks for copies in the background, which this pipeline does at once.
// Keeps   values.
// Place   after compact_buffer_allocation and lower_match_buffer, so that buffers are as small as an iteration needs and views are
//         gone; before lower_opaque_block, where allocations lose their blocks.
#pragma once

#include "transform/context.h"

namespace loopsmith::transform {

[[nodiscard]] auto inject_software_pipeline(const IRModule& module, const LowerContext& context) -> Result<IRModule>;

/// How many statements the annotations of a loop count, once blocks are opaque.
[[nodiscard]] auto pipeline_statements(const For& loop) -> size_t;

}  // namespace loopsmith::transform
