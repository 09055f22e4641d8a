// Schedules as files of Python have them. `@ls.schedule(program)` is for readers of TIRScript: no module of Python gives `ls`, so what is written
// into a `.py` file makes its schedule itself, as users of TVM write it, and the file imports what that needs.
#pragma once

#include <string>
#include <string_view>

#include "syntax/document.h"

namespace loopsmith::syntax {

/// What a file of Python lacks of what is used in it: lines, and where they go: behind its imports, else behind what has to stand first.
struct MissingImports {
  std::string lines;      // with blank lines behind, where nothing was imported; empty: nothing lacks
  uint32_t offset = 0;
};

/// How a schedule is made in a file.
struct PythonForm {
  std::string maker = "tir.Schedule";
  std::string looks_up = "get_block";   // what a schedule looks blocks up with, as TVM calls it whose words the file has
  MissingImports missing;
};
[[nodiscard]] auto python_form(const Document& document) -> PythonForm;
/// Has the file an `ls` of its own, so that a decorator does?
[[nodiscard]] auto has_ls(const Document& document) -> bool;

/// The same for programs too: `from tvm.script import tir as T` where the file says `T.` and binds none, and so for `I`.
[[nodiscard]] auto missing_imports(const Document& document, const PythonForm& form) -> MissingImports;

/// A function `@ls.schedule(PROGRAM, ...)`, `def NAME(sch: tir.Schedule) -> None:`, as one that makes its schedule and gives it back.
[[nodiscard]] auto python_schedule(std::string_view function, const PythonForm& form) -> std::string;

}  // namespace loopsmith::syntax
