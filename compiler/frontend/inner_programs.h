// Programs inside of Python functions and classes, where test suites and libraries have most of their programs.
//
// The code around a program is not run. Its names get the values that are known without running it. All other names (parameters of functions,
// results of calls) are unknown: a program that depends on them is read as far as possible and not checked.
#pragma once

#include <vector>

#include "frontend/lower.h"

namespace loopsmith::frontend {

struct InnerProgram {
  Name name;            // preceded by the names of the functions and classes around: `test_fuse.before`
  IRModule module;      // null if the program has errors, or depends on unknown values
  IRModule partial;     // the parts that could be lowered; may be null
  bool is_function = false;   // a bare function: `main` of its module
  bool has_errors = false;
  Origin where;         // the place of its name
};

/// True for a statement (a function, a class, an `if` ...) that contains programs and is not a program itself. Reads the text only.
[[nodiscard]] auto has_programs_inside(const syntax::Stmt& stmt) -> bool;

/// Reads the programs inside of a statement. Reports their errors, but no errors of the code around them. Programs in `with pytest.raises(...)`
/// are wrong on purpose: their errors are not reported. Parameters of functions get the values of the first call in the statement, or in
/// `callers`, all of whose arguments are known.
[[nodiscard]] auto programs_inside(eval::Evaluator& evaluator, const syntax::Stmt& stmt, const std::vector<const syntax::Stmt*>& callers = {})
    -> std::vector<InnerProgram>;

/// The first value of a parameter of a Python function: from the first row of `pytest.mark.parametrize`, its default, or the first value
/// of a `tvm.testing.parameter` with that name. Opaque if there is none, or if it is None.
[[nodiscard]] auto first_value(eval::Evaluator& evaluator, const syntax::FunctionDef& def, const syntax::Param& param, const eval::ScopeRef& scope) -> eval::Value;

/// Adds the names that a statement may bind in its own scope, including those in its blocks.
void bound_names(const syntax::Stmt& stmt, std::vector<Name>& out, int depth = 0);

}  // namespace loopsmith::frontend
