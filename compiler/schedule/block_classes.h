// Classes of blocks, and their neighbours in a scope. Terms are TensorIR's:
//   complete block    data-parallel, the only writer of its outputs, reads nothing that it writes
//   reduction block   has an init, affine bindings, only spatial and reduction iter vars, is the only writer of its outputs, and indexes
//                     them by no reduction iter var
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "schedule/state.h"
#include "support/reason.h"

namespace loopsmith::schedule {

/// The rule of the definition that the block breaks, as a phrase; none if the block belongs to the class.
[[nodiscard]] auto why_not_complete(const FuncState& func, const Place& block) -> std::optional<Reason>;
[[nodiscard]] auto why_not_reduction(const FuncState& func, const Place& block) -> std::optional<Reason>;
/// The same, judged from the block alone, without the other blocks of its scope.
[[nodiscard]] auto why_not_complete_locally(const Block& block) -> std::optional<Reason>;
[[nodiscard]] auto why_not_reduction_locally(const FuncState& func, const Place& block) -> std::optional<Reason>;
[[nodiscard]] inline auto is_complete(const FuncState& func, const Place& block) -> bool { return !why_not_complete(func, block); }
[[nodiscard]] inline auto is_reduction(const FuncState& func, const Place& block) -> bool { return !why_not_reduction(func, block); }

/// True if a block writes a buffer that its scope does not allocate.
[[nodiscard]] auto is_output_block(const FuncState& func, const Place& block, const Place& scope) -> bool;
[[nodiscard]] auto producers_of(const FuncState& func, const Place& block) -> std::vector<NodeId>;
[[nodiscard]] auto consumers_of(const FuncState& func, const Place& block) -> std::vector<NodeId>;

/// True if a reduction does not run its init here, because the loops around run only a later part of it: it adds to the values in its output.
[[nodiscard]] auto skips_init(const FuncState& func, const Place& block) -> bool;

}  // namespace loopsmith::schedule
