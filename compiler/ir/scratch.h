// Scratch memory: a buffer that is allocated outside of a loop, and that each iteration fills before it reads from it. Iterations that run at the
// same time then need a copy each, and a copy each gives the results that one after the other they would have.
#pragma once

#include "ir/ir.h"

namespace loopsmith {

struct ScratchUse {
  bool is_scratch = false;                 // proved: each iteration reads only elements that it stored before
  bool is_shared = false;                  // iterations touch the same elements
};
/// For a loop that holds all accesses to the memory. The proof follows iterations with numbers where they are short; otherwise each load needs a
/// store with the same indices in front of it.
[[nodiscard]] auto scratch_use(const For& loop, const VarNode* data) -> ScratchUse;

}  // namespace loopsmith
