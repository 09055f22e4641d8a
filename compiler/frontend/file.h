// A file's programs: the value of every name at its top level, and each program lowered. Both are computed on demand and kept while none of their
// inputs changes.
//
// At the top level a name has the value from the last declaration above; inside of functions, from the last declaration of the file. Declarations are
// evaluated on demand. A result is kept with the declaration's text and the results that it used, so an edit evaluates again only the
// declarations that depend on it. Other statements of the file are not run.
//
// A name that is imported from another file (`import_from`) has the value that it has there. A function runs with the names of the file
// that contains it. If files import each other in a circle, a name that is being evaluated is unknown.
//
// One thread at a time. Values stay valid as long as the File.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "eval/evaluator.h"
#include "frontend/inner_programs.h"
#include "frontend/lower.h"
#include "frontend/modules.h"
#include "support/guards.h"
#include "syntax/document.h"

namespace loopsmith::frontend {

/// Names that higher rooms add to every file (`ls`); null for other names.
using Predeclared = auto (*)(Name) -> const eval::Value*;

/// A declaration after its evaluation.
struct Declaration {
  syntax::ItemPtr item;
  /// The value of its name; None if it binds no name. Opaque and Error have the meaning of the evaluator.
  eval::Value value;
  /// The diagnostics of the evaluation; the document has those of the syntax.
  Diagnostics diagnostics;
  bool is_program = false;
  /// The program; null if lowering found errors, or if the program is opaque. A bare function is a module with `main`. An ill-formed
  /// program (a variable used outside of its scope) has a module and an error.
  IRModule module;
  /// The parts that could be lowered in spite of errors; may be null.
  IRModule partial;
  /// The programs inside of a Python function or class. Their errors are in `diagnostics`.
  std::vector<InnerProgram> inside;
  /// The program uses the thread-level language, or Python that is not evaluated here, at `opaque_at`, and is not checked.
  bool is_opaque = false;
  Origin opaque_at;
  Name thread_word;           // the first word of the thread-level language in the program; empty: there is none
};

class File : public eval::Environment {
 public:
  explicit File(Predeclared more = nullptr);
  ~File() override;
  /// Sets the source of imported files; null: there is none. A file that was found lives at least as long as this one.
  void import_from(std::shared_ptr<Modules> modules);

  [[nodiscard]] auto modules() const -> const std::shared_ptr<Modules>& { return modules_; }
  /// For a Python file checks only TVMScript: errors in the Python around it are not reported, and its values are unknown.
  void set_is_python(bool is_python) { is_python_ = is_python; }
  /// Sets the value of `__name__`: `__main__` for the main file, the module's name for an imported one.
  void set_own_name(std::string name) { own_name_ = std::move(name); }

  /// Takes the declarations of this document. Keeps the results of those with unchanged text and unchanged values of the names they use.
  void update(const syntax::Document& document);
  /// The same for a list of items in the order of the text.
  void update(std::vector<syntax::ItemPtr> items);

  [[nodiscard]] auto size() const -> size_t;
  /// Evaluates the declaration if that has not been done yet.
  [[nodiscard]] auto declaration(size_t index) -> const Declaration&;
  /// The last declaration that binds the name; null: none.
  [[nodiscard]] auto find(Name name) -> const Declaration*;
  /// The diagnostics of all declarations; evaluates those that need it.
  [[nodiscard]] auto diagnostics() -> Diagnostics;
  /// The value of a name at the end of the file.
  [[nodiscard]] auto value(Name name) -> std::optional<eval::Value>;
  /// While the guard lives, names have the values from the declarations above this one, as for statements at the top of the file.
  /// SIZE_MAX: the values at the end of the file, as in functions and by default.
  auto seen_from(size_t index) -> Temporarily<size_t> { return {place_, index}; }
  /// The evaluator for functions, schedules and scripts of this file.
  [[nodiscard]] auto evaluator() -> eval::Evaluator& { return evaluator_; }
  /// The item of a declaration, which owns the tree of its functions (eval::Evaluator::tree).
  [[nodiscard]] auto item(size_t index) const -> const syntax::ItemPtr&;

  auto lookup(eval::Evaluator& evaluator, Name name, Origin where) -> std::optional<eval::Value> override;
  void names(std::vector<Name>& out) const override;
  auto imported(eval::Evaluator& evaluator, const syntax::ImportFromStmt& from, const syntax::ImportName& name) -> std::optional<eval::Value> override;
  auto imported(const syntax::ImportName& name) -> std::optional<eval::Value> override;

  /// A hash of the text and of the imported files. While it is unchanged, all names keep their values.
  [[nodiscard]] auto fingerprint() -> uint64_t;
  /// The same, of the imported files alone.
  [[nodiscard]] auto imports_fingerprint() -> uint64_t;
  /// True for the id of a declaration of this file, and of a declaration inside of one.
  [[nodiscard]] auto holds(DeclId decl) const -> bool;
  /// The place of an origin in an imported file.
  [[nodiscard]] auto elsewhere(const Origin& origin) const -> std::optional<Elsewhere> { return modules_ ? modules_->locate(origin) : std::nullopt; }
  /// Moves diagnostics about other files to the call, `from`; a note keeps the original place.
  void move_to_call(Diagnostics& diagnostics, const Origin& from) const;
  /// True when the name is imported from another file that could be read.
  [[nodiscard]] auto is_imported(Name name) -> bool;

  /// The number of declarations that the last update kept, and the number evaluated since; for tests and timing tables.
  struct Work { uint32_t kept = 0; uint32_t evaluated = 0; };
  [[nodiscard]] auto last_work() const -> Work { return work_; }
  /// The same for the parts of long programs.
  struct PartWork { uint32_t reused = 0; uint32_t lowered = 0; };
  [[nodiscard]] auto last_part_work() const -> PartWork;

 private:
  struct Entry;
  /// Evaluates the declaration if that has not been done, or if one of its inputs has changed.
  void ensure(size_t index);
  void ensure_before(size_t index);
  void evaluate(size_t index);
  void evaluate_statement(const syntax::Stmt& stmt, Entry& entry, eval::ScopeRef& scope);
  void evaluate_program(const syntax::FunctionDef& def, Entry& entry);
  void evaluate_module(const syntax::ClassDef& def, Entry& entry);
  void evaluate_import(const syntax::ImportStmt& stmt, Entry& entry);
  void evaluate_import_from(const syntax::ImportFromStmt& stmt, Entry& entry);
  /// Binds a declaration's name to the lowered program; without a program, to an error or unknown value.
  void bind_program(const syntax::Identifier& name, DeclId decl, bool is_function, Entry& entry, std::vector<Name> foreign = {});
  [[nodiscard]] auto module_at(uint32_t level, const std::vector<Name>& path) -> std::shared_ptr<File>;
  [[nodiscard]] auto file_of(const syntax::ImportFromStmt& from) -> std::shared_ptr<File>;
  [[nodiscard]] auto imports_of(const Entry& entry) -> uint64_t;
  /// The value of a name for a file that imports it; none: this file has no such name.
  [[nodiscard]] auto given(Name name) -> std::optional<eval::Value>;
  friend class ModuleObject;
  void check(const PrimFunc& func, bool is_newer = false);
  [[nodiscard]] auto binder(Name name, size_t before) const -> size_t;
  [[nodiscard]] auto callers_of(const Entry& entry) const -> std::vector<const syntax::Item*>;

  Predeclared more_;
  std::string own_name_ = "__main__";
  std::shared_ptr<Modules> modules_;
  std::vector<std::shared_ptr<File>> imported_;            // their functions may be called as long as this file lives
  eval::Evaluator evaluator_;
  uint64_t steps_left_ = 0;                                // the steps that the declarations of this version may take together
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<Name, std::vector<size_t>> binders_;  // in the order of the text
  std::vector<size_t> active_;                             // declarations being evaluated, innermost last
  uint64_t generation_ = 1;
  uint64_t versions_ = 0;
  uint64_t names_hash_ = 1;                                // a hash of all names that the file binds
  bool is_python_ = false;
  bool looks_ahead_ = false;   // true in the body of a Python function, which sees all names of the file
  bool is_newer_ = false;                                  // its words show TVM's main line: see shows_main_line
  bool has_star_import_ = false;                           // names may come from any module
  size_t place_ = SIZE_MAX;    // names looked up from outside have the values from declarations above this one
  size_t ensured_ = 0;                                     // constants and functions below this index are evaluated
  Work work_;
  std::unique_ptr<PartCache> parts_;                       // of long programs
  bool is_looked_at_ = false;                              // its imports are being followed: guards against circles
  uint64_t text_hash_ = 1;
  uint64_t imports_epoch_ = 0;                             // the epoch of `modules_` when `imports_fingerprint_` was computed
  uint64_t imports_generation_ = 0;
  uint64_t imports_fingerprint_ = 0;
};

}  // namespace loopsmith::frontend
