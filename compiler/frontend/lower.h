// From syntax to TIR: declarations of programs are lowered one by one, always to the end, with every mistake reported at the narrowest
// place. The names that a program uses are looked up in an eval::Environment (file.h has that of a file).
//
// `@T.prim_func` functions and `@I.ir_module` classes, at the top level or inside functions that return them, are lowered when their
// decorators are evaluated; the functions here lower a declaration directly.
#pragma once

#include <memory>

#include "eval/evaluator.h"
#include "ir/dialects.h"
#include "ir/ir.h"
#include "syntax/ast.h"

namespace loopsmith::frontend {

class PartCache;

struct FunctionOptions {
  bool is_private = false;
  /// False: `T.prim_func(check_well_formed=False)`, which allows free variables and the like.
  bool check_well_formed = true;
  /// An assignment to a name that has a value replaces the value, as in TVM's main line.
  bool rebinds_names = false;
  /// The dialect that the decorator shows, and whether an import shows it: without one, the words of the program decide.
  Dialect dialect = Dialect::Block;
  bool dialect_is_given = false;
  /// `T.jit`: parameters of Python are given later.
  bool is_jit = false;
};

struct LoweredFunction {
  PrimFunc func;         // none where the function has errors, or is opaque
  PrimFunc partial;      // the parts that could be lowered in spite of errors; may be none
  bool is_opaque = false;     // it uses Python that is not evaluated here: not checked
  bool uses_sblock = false;   // spelled `T.sblock`
  Name thread_word;           // the first word of the thread-level language in it (thread_level.h); empty: it uses none
};

/// The dialect that a program is written in, by its decorator, its imports and its words.
[[nodiscard]] auto dialect_of(const FunctionOptions& options, const LoweredFunction& lowered) -> Dialect;

/// Reports to `evaluator.diagnostics`. `scope`: that of a function around, or none. `parts`: the results kept for long programs (parts.h),
/// or null.
[[nodiscard]] auto lower_function(eval::Evaluator& evaluator, const syntax::FunctionDef& def, const eval::ScopeRef& scope,
                                  FunctionOptions options = {}, PartCache* parts = nullptr) -> LoweredFunction;

struct LoweredModule {
  IRModule module;       // none where a function has errors, or is opaque
  IRModule partial;      // with the functions that could be lowered
  bool is_opaque = false;
  std::vector<Name> unchecked;  // functions with check_well_formed=False
  std::vector<Name> foreign;    // functions of other languages, which are left out
  Name thread_word;             // as in LoweredFunction
};

/// The report of a program that was read and cannot be checked further: it uses the thread-level language, or Python that is not evaluated.
/// `opaque_at`: the place of that Python.
[[nodiscard]] auto not_checked(Name program, Name thread_word, Origin where, Origin opaque_at) -> Diagnostic;
[[nodiscard]] auto lower_module(eval::Evaluator& evaluator, const syntax::ClassDef& def, const eval::ScopeRef& scope, PartCache* parts = nullptr)
    -> LoweredModule;

/// True for a declaration with a decorator of programs: `@T.prim_func`, `@I.ir_module`. Looks at the text only.
[[nodiscard]] auto is_program(const syntax::Stmt& declaration) -> bool;

/// The value of a name that every file has without an import: `T`, `I`, `tir`; null for other names.
[[nodiscard]] auto predeclared(Name name) -> const eval::Value*;

}  // namespace loopsmith::frontend
