// Names that nothing uses: variables, buffers and iter vars of programs, imports of a file. Looks at the text alone, so a
// program that macros or constants shape is judged by what is written. A name that begins with `_` is meant to be
// unused; parameters belong to the signature, and loop variables to the loop.
#pragma once

#include "support/cancel.h"
#include "support/diagnostic.h"
#include "syntax/document.h"

namespace loopsmith::analysis {

/// In the programs of a declaration.
[[nodiscard]] auto unused_names(const syntax::Item& item, const CancelToken& cancel = {}) -> Diagnostics;
/// Of the whole text. For files of programs only: in a Python file others may import what is imported.
[[nodiscard]] auto unused_imports(const syntax::Document& document) -> Diagnostics;

/// `T.prim_func` above a function, whose `@` was forgotten.
[[nodiscard]] auto stray_decorators(const syntax::Document& document) -> Diagnostics;

}  // namespace loopsmith::analysis
