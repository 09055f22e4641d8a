// Variables and memory that a function uses without a definition. A program read from text may have some (`check_well_formed=False`);
// a primitive or a pass must not add any.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include "ir/ir.h"

namespace loopsmith {

/// Variables that are used where nothing defines them: free variables, data variables of buffers that nothing allocates or declares, and
/// loop variables in the body of a block with iter vars, which sees the loops around it through its iter vars alone.
[[nodiscard]] auto undefined_variables(const PrimFunc& func) -> std::unordered_set<const VarNode*>;

/// The name of a variable that is undefined in `after` and was not in `before`. None: no rewrite has lost a definition.
[[nodiscard]] auto lost_definition(const PrimFunc& before, const PrimFunc& after) -> std::optional<std::string>;

}  // namespace loopsmith
