// Predicates of blocks. Distinguishes bounds that keep iter vars in their domains from conditions that leave out instances.
#pragma once

#include "ir/ir.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

/// True if a condition of a block's predicate is only the upper bound of an iter var's domain.
[[nodiscard]] auto keeps_domain(const BlockRealize& realize, const Expr& condition) -> bool;
/// The same for every condition of the predicate, by their form alone.
[[nodiscard]] auto is_bound_of_domains(const BlockRealize& realize) -> bool;
/// True if the predicate of a block only keeps its iter vars in their domains. False if it leaves out instances, or where neither is proved.
[[nodiscard]] auto keeps_domains(const FuncTree& func, const Place& block) -> bool;

}  // namespace loopsmith::schedule
