// Schedules in Python files. Python has no module `ls` for `@ls.schedule(program)`. So a schedule that Loopsmith writes into a `.py` file
// makes its own `tir.Schedule`, as users of TVM do, and the file gets the imports for it.
#pragma once

#include <string>
#include <string_view>

#include "syntax/document.h"

namespace loopsmith::syntax {

/// The imports that a Python file lacks for the names that it uses: the lines, and their position behind the file's imports or first comments.
struct MissingImports {
  std::string lines;      // with blank lines behind if the file has no imports; empty: no import is missing
  uint32_t offset = 0;
};

/// The way a file makes its schedules.
struct PythonForm {
  std::string maker = "tir.Schedule";
  std::string looks_up = "get_block";   // the method that looks up blocks, as named by the version of TVM for which the file is written
  MissingImports missing;
};
[[nodiscard]] auto python_form(const Document& document) -> PythonForm;
/// True when the file defines its own `ls`, so that a decorator works.
[[nodiscard]] auto has_ls(const Document& document) -> bool;

/// The same for programs: `from tvm.script import tir as T` if the file uses `T.` without defining `T`, and the same for `I`.
[[nodiscard]] auto missing_imports(const Document& document, const PythonForm& form) -> MissingImports;

/// Rewrites a function `@ls.schedule(PROGRAM, ...)`, `def NAME(sch: tir.Schedule) -> None:` such that it makes its schedule and returns it.
[[nodiscard]] auto python_schedule(std::string_view function, const PythonForm& form) -> std::string;

}  // namespace loopsmith::syntax
