// Questions about loops that MetaSchedule's pieces ask, with TVM's answers: how the blocks inside use a loop, and which threads it is bound to.
#pragma once

#include <cstdint>

#include "ir/ir.h"

namespace loopsmith::tune::metaschedule {

/// The use of a loop's variable in the nearest blocks inside the loop. Spatial: only in spatial iter values, or not at all. Reduction: only in those of
/// reductions. Mixed: anything else.
enum class LoopRole : uint8_t { Spatial, Reduction, Mixed };
[[nodiscard]] auto role_of(const For& loop) -> LoopRole;

/// True for a loop bound to `blockIdx`, or `threadIdx`; virtual threads are neither.
[[nodiscard]] auto is_bound_to_blocks(const For& loop) -> bool;
[[nodiscard]] auto is_bound_to_threads(const For& loop) -> bool;

/// True unless the statement is a sequence.
[[nodiscard]] auto is_single_statement(const Stmt& stmt) -> bool;

/// True where a block is among the statements.
[[nodiscard]] auto contains_block(const Stmt& stmt) -> bool;

}  // namespace loopsmith::tune::metaschedule
