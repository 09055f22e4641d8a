// Programs written inside of Python: in the functions and classes of a `.py` file, where test suites and libraries have
// most of theirs. What is around them is not run; its names get the values that can be told without running it, and all
// others (parameters of functions, what calls give) are unknown, so that a program which depends on them is read as far
// as it goes and not checked.
#pragma once

#include <vector>

#include "frontend/lower.h"

namespace loopsmith::frontend {

struct InnerProgram {
  Name name;            // with those around it: `test_fuse.before`
  IRModule module;      // none where there are errors, or it depends on what is not known
  IRModule partial;     // what could be made of it even so; may be none
  bool is_function = false;   // a bare function: `main` of its module
  bool has_errors = false;
  Origin where;         // of its name
};

/// Has the statement (a function, a class, an `if` ...) programs in it, not being one itself? Looks at the text only.
[[nodiscard]] auto has_programs_inside(const syntax::Stmt& stmt) -> bool;

/// Reads the programs inside of a statement that is not one. Reports what is wrong with them, and nothing of what is
/// around them. In `with pytest.raises(...)` they are wrong on purpose: nothing of them is reported.
[[nodiscard]] auto programs_inside(eval::Evaluator& evaluator, const syntax::Stmt& stmt) -> std::vector<InnerProgram>;

/// What a parameter of a Python function is first: as the first row of `pytest.mark.parametrize` has it, its default, or the first value of
/// a `tvm.testing.parameter` of that name. Opaque: nothing says so, or it is None.
[[nodiscard]] auto first_value(eval::Evaluator& evaluator, const syntax::FunctionDef& def, const syntax::Param& param, const eval::ScopeRef& scope) -> eval::Value;

/// Names a statement may bind at the level it stands on, those in its blocks included.
void bound_names(const syntax::Stmt& stmt, std::vector<Name>& out, int depth = 0);

}  // namespace loopsmith::frontend
