// Scratch memory: a buffer that is allocated outside of a loop, and that each iteration fills before it reads from it. Iterations that run at the
// same time each need a copy; with copies the results are the same as if the iterations ran one after the other.
#pragma once

#include <vector>

#include "ir/ir.h"

namespace loopsmith {

struct ScratchUse {
  bool is_scratch = false;                 // proved: each iteration reads only elements that it stored before
  bool is_shared = false;                  // iterations touch the same elements
};
/// For a loop that contains all accesses to the memory. Short iterations are followed with numbers; otherwise each load needs a
/// store with the same indices in front of it. `names`: other variables with the same pointer. Buffers on the memory may overlap in any way: a load of one may
/// read what was stored through another.
[[nodiscard]] auto scratch_use(const For& loop, const VarNode* data, const std::vector<const VarNode*>& names = {}) -> ScratchUse;

/// True when a statement loads, stores, declares or passes on the memory, or a block in it states an access to it.
[[nodiscard]] auto uses_memory(const Stmt& stmt, const VarNode* data) -> bool;
/// The part of a statement that uses the memory, on the way to a single loop around all uses. Null if several parts or an expression of the statement use it, or
/// if the statement is a block or gives the memory attributes.
[[nodiscard]] auto only_user(const Stmt& stmt, const VarNode* data) -> Stmt;

}  // namespace loopsmith
