// A scheduled function as features see it: without blocks that only lay weights out anew and loops of one iteration, reductions over threads as exchanges.
#pragma once

#include "ir/ir.h"

namespace loopsmith::tune::metaschedule {

/// The function without its layout blocks; its parameters have the new layouts (TVM's RemoveWeightLayoutRewriteBlock).
[[nodiscard]] auto without_layout_blocks(const PrimFunc& func) -> PrimFunc;

/// Removes serial loops of one iteration; choices between values that read no memory count as constants (TVM's SimplifyForFeatureExtraction).
[[nodiscard]] auto simplified_for_features(const Stmt& body) -> Stmt;

/// Reductions over bound loops as partial sums of a thread, an exchange, and a store of the result (TVM's LowerCrossThreadReduction). The same node where
/// there are none.
[[nodiscard]] auto with_thread_reductions(const Stmt& body) -> Stmt;

}  // namespace loopsmith::tune::metaschedule
