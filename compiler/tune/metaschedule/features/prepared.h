// A scheduled function as features see it: without blocks that only lay weights out anew, reductions over threads as exchanges.
#pragma once

#include "ir/ir.h"

namespace loopsmith::tune::metaschedule {

/// The function without its layout blocks; its parameters have the new layouts (TVM's RemoveWeightLayoutRewriteBlock).
[[nodiscard]] auto without_layout_blocks(const PrimFunc& func) -> PrimFunc;

/// Choices between values that read no memory count as constants (part of TVM's SimplifyForFeatureExtraction), and reductions over bound loops become partial sums
/// of a thread, an exchange, and a store of the result (TVM's LowerCrossThreadReduction). The same node where there are neither.
[[nodiscard]] auto prepared_for_features(const Stmt& body) -> Stmt;

/// A serial loop of one iteration without annotations: features do not see it (the other part of SimplifyForFeatureExtraction).
[[nodiscard]] auto is_unit_loop(const For& loop) -> bool;

/// Reductions over bound loops, as above.
[[nodiscard]] auto with_thread_reductions(const Stmt& body) -> Stmt;

}  // namespace loopsmith::tune::metaschedule
