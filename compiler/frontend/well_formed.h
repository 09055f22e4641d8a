// The rules of TVM's verify_well_formed: every variable is defined once, and before its use; a block with iter vars uses no variable of a
// loop around it (a block without iter vars is opaque and may); a thread index has one variable in the whole function.
// `@T.prim_func(check_well_formed=False)` turns the check off, as in TVM.
//
// Buffers count as defined by their declaration (parameter, alloc_buffer, match_buffer, decl_buffer); so do the
// variables of their shapes and strides if the declaration is a parameter or a match_buffer.
#pragma once

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::frontend {

class PartCache;

/// Empty if the function is well-formed. Each variable is reported once.
/// `parts`: the results kept for statements of long programs, or null; the diagnostics are the same. `is_newer`: uses the rules of TVM's main
/// line, where a thread index may have several variables.
[[nodiscard]] auto well_formed(const PrimFunc& func, PartCache* parts = nullptr, bool is_newer = false) -> Diagnostics;

}  // namespace loopsmith::frontend
