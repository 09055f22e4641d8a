// Unused names and lost assignments: variables, buffers and iter vars of programs, imports of a file. Uses the text alone, before macros and constants shape
// the program. A name that begins with `_` is unused on purpose. Parameters belong to the signature and loop variables to the loop: they are
// not reported.
#pragma once

#include "support/cancel.h"
#include "support/diagnostic.h"
#include "syntax/document.h"

namespace loopsmith::analysis {

struct NameOptions {
  bool assigns_memory = false;   // TVM's main line: an assignment to a name with a value stores to its memory
  bool lost_only = false;        // reports lost assignments only
};

/// The unused names in the programs of a declaration. An assignment is lost if it is deeper than the first one of its name, in a loop or a branch:
/// there it makes a new variable, which ends with the loop or the branch.
[[nodiscard]] auto unused_names(const syntax::Item& item, NameOptions options = {}, const CancelToken& cancel = {}) -> Diagnostics;
/// The unused imports of the whole text. For files of programs only: other files may import the imported names of a Python file.
[[nodiscard]] auto unused_imports(const syntax::Document& document) -> Diagnostics;

/// `T.prim_func` without its `@` above a function.
[[nodiscard]] auto stray_decorators(const syntax::Document& document) -> Diagnostics;

}  // namespace loopsmith::analysis
