// Variables and memory that a function uses without a definition. A program read from text may contain some (`check_well_formed=False`);
// a primitive or a pass must not add any.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include "ir/ir.h"

namespace loopsmith {

/// Variables that are used outside of their definition: free variables, data variables of buffers without an allocation or declaration, and
/// loop variables in the body of a block with iter vars, which may use the loops around it only through its iter vars.
[[nodiscard]] auto undefined_variables(const PrimFunc& func) -> std::unordered_set<const VarNode*>;

/// The name of a variable that is undefined in `after` and was not in `before`. None: the rewrite lost no definition.
[[nodiscard]] auto lost_definition(const PrimFunc& before, const PrimFunc& after) -> std::optional<std::string>;

}  // namespace loopsmith
