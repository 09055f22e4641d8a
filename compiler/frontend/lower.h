// From syntax to TIR: lowers declarations of programs one by one, always to the end, and reports every error at the narrowest
// place. The names in a program are looked up in an eval::Environment (file.h has that of a file).
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
  /// False: `T.prim_func(check_well_formed=False)`, which allows free variables and other ill-formed code.
  bool check_well_formed = true;
  /// An assignment to a name with a value replaces the value, as in TVM's main line.
  bool rebinds_names = false;
  /// The dialect according to the decorator and the imports. Without an import, the words of the program decide.
  Dialect dialect = Dialect::Block;
  bool dialect_is_given = false;
  /// `T.jit`: the values of Python parameters are given later.
  bool is_jit = false;
};

struct LoweredFunction {
  PrimFunc func;         // null if the function has errors, or is opaque
  PrimFunc partial;      // the parts that could be lowered in spite of errors; may be null
  bool is_opaque = false;     // it uses Python that is not evaluated here, so it is not checked
  bool uses_sblock = false;   // spelled `T.sblock`
  Name thread_word;           // the first word of the thread-level language in it (thread_level.h); empty: there is none
};

/// The dialect that a program is written in, by its decorator, its imports and its words.
[[nodiscard]] auto dialect_of(const FunctionOptions& options, const LoweredFunction& lowered) -> Dialect;

/// Reports to `evaluator.diagnostics`. `scope`: that of a function around, or null. `parts`: the results kept for long programs (parts.h),
/// or null.
[[nodiscard]] auto lower_function(eval::Evaluator& evaluator, const syntax::FunctionDef& def, const eval::ScopeRef& scope,
                                  FunctionOptions options = {}, PartCache* parts = nullptr) -> LoweredFunction;

struct LoweredModule {
  IRModule module;       // null if a function has errors, or is opaque
  IRModule partial;      // with the functions that could be lowered
  bool is_opaque = false;
  std::vector<Name> unchecked;  // functions with check_well_formed=False
  std::vector<Name> foreign;    // functions of other languages, which are left out
  Name thread_word;             // as in LoweredFunction
};

/// The report for a program that was read but cannot be checked further: it uses the thread-level language, or Python that is not evaluated.
/// `opaque_at`: the place of that Python.
[[nodiscard]] auto not_checked(Name program, Name thread_word, Origin where, Origin opaque_at) -> Diagnostic;
[[nodiscard]] auto lower_module(eval::Evaluator& evaluator, const syntax::ClassDef& def, const eval::ScopeRef& scope, PartCache* parts = nullptr)
    -> LoweredModule;

/// True for a declaration with a decorator of programs: `@T.prim_func`, `@I.ir_module`. Reads the text only.
[[nodiscard]] auto is_program(const syntax::Stmt& declaration) -> bool;

/// The value of a name that every file has without an import: `T`, `I`, `tir`; null for other names.
[[nodiscard]] auto predeclared(Name name) -> const eval::Value*;

}  // namespace loopsmith::frontend
