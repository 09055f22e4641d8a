// Schedules in Python files. Python has no module for the `ls` of `@ls.schedule(program)`, so a schedule that Loopsmith writes into a `.py` file
// makes its own `tir.Schedule`, as users of TVM do, and the file gets the imports for that.
#pragma once

#include <string>
#include <string_view>

#include "syntax/document.h"

namespace loopsmith::syntax {

/// The imports that a Python file lacks for the names that it uses: the lines, and their place behind its imports or its first comments.
struct MissingImports {
  std::string lines;      // with blank lines behind, where the file has no imports; empty: nothing is missing
  uint32_t offset = 0;
};

/// The way a file makes its schedules.
struct PythonForm {
  std::string maker = "tir.Schedule";
  std::string looks_up = "get_block";   // the method that looks blocks up, by the name of the TVM that the file is written for
  MissingImports missing;
};
[[nodiscard]] auto python_form(const Document& document) -> PythonForm;
/// True when the file binds an `ls` of its own, so that a decorator works.
[[nodiscard]] auto has_ls(const Document& document) -> bool;

/// The same for programs: `from tvm.script import tir as T` where the file uses `T.` without binding `T`, and the same for `I`.
[[nodiscard]] auto missing_imports(const Document& document, const PythonForm& form) -> MissingImports;

/// A function `@ls.schedule(PROGRAM, ...)`, `def NAME(sch: tir.Schedule) -> None:`, rewritten to make its schedule and return it.
[[nodiscard]] auto python_schedule(std::string_view function, const PythonForm& form) -> std::string;

}  // namespace loopsmith::syntax
