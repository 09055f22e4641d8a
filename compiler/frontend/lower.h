// From syntax to TIR: declarations of programs are lowered one by one, always to the end, with every mistake reported
// at the narrowest place. What a program's names mean comes from an eval::Environment (see file.h for that of a file).
//
// `@T.prim_func` functions and `@I.ir_module` classes, at the top level or inside functions that return them, are
// lowered by evaluating their decorators; the functions here do it without.
#pragma once

#include <memory>

#include "eval/evaluator.h"
#include "ir/ir.h"
#include "syntax/ast.h"

namespace loopsmith::frontend {

class PartCache;

struct FunctionOptions {
  bool is_private = false;
  /// False: `T.prim_func(check_well_formed=False)`; free variables and the like are what the text wants.
  bool check_well_formed = true;
  /// An assignment to a name that has a meaning gives it another, as in TVM's main line.
  bool rebinds_names = false;
};

struct LoweredFunction {
  PrimFunc func;         // none where there are errors, or it is opaque
  PrimFunc partial;      // what could be made even so; none where nothing could
  bool is_opaque = false;     // it uses Python that is not evaluated here: not checked
  bool uses_sblock = false;   // spelled `T.sblock`
};

/// Reports to `evaluator.diagnostics`. `scope`: that of a function around, or none. `parts`: what is kept of long programs
/// (parts.h), or null.
[[nodiscard]] auto lower_function(eval::Evaluator& evaluator, const syntax::FunctionDef& def, const eval::ScopeRef& scope,
                                  FunctionOptions options = {}, PartCache* parts = nullptr) -> LoweredFunction;

struct LoweredModule {
  IRModule module;       // none where there are errors, or it is opaque
  IRModule partial;      // with the functions that could be lowered
  bool is_opaque = false;
  std::vector<Name> unchecked;  // functions with check_well_formed=False
};
[[nodiscard]] auto lower_module(eval::Evaluator& evaluator, const syntax::ClassDef& def, const eval::ScopeRef& scope, PartCache* parts = nullptr)
    -> LoweredModule;

/// Is there a decorator that makes a program of this: `@T.prim_func`, `@I.ir_module`? Looks at the text only.
[[nodiscard]] auto is_program(const syntax::Stmt& declaration) -> bool;

/// What every file has without saying so: `T`, `I`, `tir`; null for other names.
[[nodiscard]] auto predeclared(Name name) -> const eval::Value*;

}  // namespace loopsmith::frontend
