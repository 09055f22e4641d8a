// A file's programs: what every name at its top level means, and each program lowered, on demand and kept while
// nothing it depends on changes.
//
// A name means what the last declaration above gives it (inside of functions: the last of the file). Declarations are
// evaluated when something asks for them; a result is kept under the declaration's text and the results it used, so an
// edit evaluates again only what it touches. Nothing else of the file is run.
//
// What is imported from another file (`import_from`) is what that file gives the name, evaluated there; a function runs with the names of the
// file that it is written in. Of files that import each other in a circle, what is asked for while it is being evaluated is not known.
//
// One thread at a time. Values stay valid as long as the File.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "eval/evaluator.h"
#include "frontend/inside.h"
#include "frontend/lower.h"
#include "frontend/modules.h"
#include "syntax/document.h"

namespace loopsmith::frontend {

/// Names that higher rooms add to every file (`ls`): null for names they do not know.
using Predeclared = auto (*)(Name) -> const eval::Value*;

/// What is known of a declaration.
struct Declaration {
  syntax::ItemPtr item;
  /// The value its name has; for others, None. Opaque and Error as the evaluator has them.
  eval::Value value;
  /// Of the declaration itself, without those of its syntax.
  Diagnostics diagnostics;
  bool is_program = false;
  /// The program; none where there are errors of lowering or it is opaque. A bare function is a module with `main`.
  /// Of an ill-formed program (a variable used outside of its scope) there is a module, and an error.
  IRModule module;
  /// What could be lowered even so; may be none.
  IRModule partial;
  /// The programs in it, where it is a function or a class of Python; `diagnostics` has what is wrong with them.
  std::vector<InnerProgram> inside;
  /// It uses Python that is not evaluated here: not checked. `opaque_at` is where.
  bool is_opaque = false;
  Origin opaque_at;
};

class File : public eval::Environment {
 public:
  explicit File(Predeclared more = nullptr);
  ~File() override;
  /// Where imports lead, from now on; null: nowhere. Other files stay alive as long as this one, once it has asked for them.
  void import_from(std::shared_ptr<Modules> modules);

  [[nodiscard]] auto modules() const -> const std::shared_ptr<Modules>& { return modules_; }
  /// What `__name__` is: of a file that is looked at for itself, as Python has it for what is run.
  void set_own_name(std::string name) { own_name_ = std::move(name); }

  /// The declarations are those of this document from now on. Keeps what is known of those whose text and whose used
  /// names are as before.
  void update(const syntax::Document& document);
  /// The same for a list of items in the order of the text.
  void update(std::vector<syntax::ItemPtr> items);

  [[nodiscard]] auto size() const -> size_t;
  /// Evaluates the declaration if that has not been done.
  [[nodiscard]] auto declaration(size_t index) -> const Declaration&;
  /// The declaration that gives a name its last meaning; null: none does.
  [[nodiscard]] auto find(Name name) -> const Declaration*;
  /// Of all declarations, evaluating them.
  [[nodiscard]] auto diagnostics() -> Diagnostics;
  /// The value a name has at the end of the file.
  [[nodiscard]] auto value(Name name) -> std::optional<eval::Value>;
  /// From now on names mean what declarations above this one give them, as where statements at the top are run; SIZE_MAX: what the whole
  /// file does, as in functions.
  void look_from(size_t index) { place_ = index; }
  /// Evaluates functions, schedules and scripts of this file.
  [[nodiscard]] auto evaluator() -> eval::Evaluator& { return evaluator_; }
  /// The tree a declaration's functions live in, for eval::Evaluator::tree.
  [[nodiscard]] auto item(size_t index) const -> const syntax::ItemPtr&;

  auto lookup(eval::Evaluator& evaluator, Name name, Origin where) -> std::optional<eval::Value> override;
  void names(std::vector<Name>& out) const override;
  auto imported(eval::Evaluator& evaluator, const syntax::ImportFromStmt& from, const syntax::ImportName& name) -> std::optional<eval::Value> override;
  auto imported(const syntax::ImportName& name) -> std::optional<eval::Value> override;

  /// Of the text, and of the files that it imports from: where this is as before, all names mean what they did.
  [[nodiscard]] auto fingerprint() -> uint64_t;
  /// Of the files that it imports from alone.
  [[nodiscard]] auto imports_fingerprint() -> uint64_t;
  /// Is the declaration one of the file, or in one?
  [[nodiscard]] auto holds(DeclId decl) const -> bool;
  /// Where something of a file that it imports from stands.
  [[nodiscard]] auto elsewhere(const Origin& origin) const -> std::optional<Elsewhere> { return modules_ ? modules_->locate(origin) : std::nullopt; }
  /// What is wrong in code of another file is told where that is called from, with a note of the place.
  void bring_home(Diagnostics& diagnostics, const Origin& from) const;
  /// Is the name imported from another file that could be read?
  [[nodiscard]] auto is_imported(Name name) -> bool;

  /// What the last update kept and what has been evaluated since, for tests and timing tables.
  struct Work { uint32_t kept = 0; uint32_t evaluated = 0; };
  [[nodiscard]] auto last_work() const -> Work { return work_; }
  /// Of the parts of long programs, the same.
  struct PartWork { uint32_t reused = 0; uint32_t lowered = 0; };
  [[nodiscard]] auto last_part_work() const -> PartWork;

 private:
  struct Entry;
  /// Evaluated, and what it used is as it was then.
  void ensure(size_t index);
  void ensure_before(size_t index);
  void evaluate(size_t index);
  void evaluate_statement(const syntax::Stmt& stmt, Entry& entry, eval::ScopeRef& scope);
  [[nodiscard]] auto module_at(uint32_t level, const std::vector<Name>& path) -> std::shared_ptr<File>;
  [[nodiscard]] auto file_of(const syntax::ImportFromStmt& from) -> std::shared_ptr<File>;
  [[nodiscard]] auto imports_of(const Entry& entry) -> uint64_t;
  /// The value for who imports it; none: the file gives no such name.
  [[nodiscard]] auto given(Name name) -> std::optional<eval::Value>;
  friend class ModuleObject;
  void check(const PrimFunc& func, bool is_newer = false);
  [[nodiscard]] auto binder(Name name, size_t before) const -> size_t;

  Predeclared more_;
  std::string own_name_ = "__main__";
  std::shared_ptr<Modules> modules_;
  std::vector<std::shared_ptr<File>> imported_;            // functions of theirs may be called as long as there is this file
  eval::Evaluator evaluator_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<Name, std::vector<size_t>> binders_;  // in the order of the text
  std::vector<size_t> active_;                             // being evaluated, innermost last
  uint64_t generation_ = 1;
  uint64_t versions_ = 0;
  uint64_t names_hash_ = 1;                                // of all names that the file binds
  bool looks_ahead_ = false;   // in the body of a Python function, whose names are those of the whole file
  bool has_star_import_ = false;                           // names may come from anywhere
  size_t place_ = SIZE_MAX;    // who asks from outside stands before this declaration
  size_t ensured_ = 0;                                     // constants and functions below this index are evaluated
  Work work_;
  std::unique_ptr<PartCache> parts_;                       // of long programs
  bool is_looked_at_ = false;                              // its imports are followed: it may be in a circle
  uint64_t text_hash_ = 1;
  uint64_t imports_epoch_ = 0;                             // of `modules_`, when `imports_fingerprint_` was found
  uint64_t imports_generation_ = 0;
  uint64_t imports_fingerprint_ = 0;
};

}  // namespace loopsmith::frontend
