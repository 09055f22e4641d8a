// Finds the entities of names in one walk over the syntax trees of a text. Scopes, statements and expressions are in finder.cpp; the programs of
// schedules, and the strings in schedules that name blocks, are in block_names.cpp.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lsp/features/names.h"
#include "syntax/ast.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {

namespace syn = syntax;

constexpr uint32_t no_entity = nowhere;

class NameFinder {
 public:
  explicit NameFinder(const workspace::Snapshot& snapshot) : snapshot_(snapshot) {}

  /// Reads the declarations that `wants` accepts completely; of the others only the name.
  template <typename Wants>
  auto run(const Wants& wants) -> NameTable {
    scopes_.emplace_back();
    changes_function_ = snapshot_.text().find("work_on") != std::string::npos || snapshot_.text().find("import") != std::string::npos;
    for (const syn::PlacedItem& placed : snapshot_.syntax().items()) { hoist(placed.item->statements, true); }
    for (const syn::PlacedItem& placed : snapshot_.syntax().items()) {
      if (syn::is_script(*placed.item)) {
        note_schedule(syn::made_schedules(*syn::function_of(placed.item)).front());
      }
      for (const syn::Stmt* statement : placed.item->statements) {
        if (wants(placed) || !visit_name(*statement)) { visit(*statement); }
      }
      schedules_.clear();
      program_ = no_entity;
    }
    table_.of_classes = std::move(members_);
    follow_strings();
    for (const BlockString& string : block_strings_) { bind_block_string(string); }
    auto& all = table_.occurrences;
    std::sort(all.begin(), all.end(), [](const Occurrence& a, const Occurrence& b) { return std::tie(a.span.begin, a.role) < std::tie(b.span.begin, b.role); });
    all.erase(std::unique(all.begin(), all.end(), [](const Occurrence& a, const Occurrence& b) { return a.span == b.span; }), all.end());
    table_.of_file = std::move(scopes_.front().names);
    return std::move(table_);
  }

 private:
  struct Scope {
    std::unordered_map<Name, uint32_t> names;
    bool is_class = false;
    bool is_function = false;   // the outermost list of a function
    bool is_tir = false;        // a statement list of a program
    DeclId function = 0;
  };
  /// A variable with a schedule, its program, and the function that the schedule works on.
  struct Made {
    std::string_view variable;
    uint32_t program;
    WorksOn where;
  };
  /// A use of a string as the name of a block in a schedule.
  struct Use {
    enum class As : uint8_t {
      Argument,                  // an argument of a primitive: names a block of the program, or a new block of the schedule
      Held,                      // in a variable that is such an argument: names a block if the function has one with this name
      Any,                       // passed to a function: names a block if any function of the module has one with this name
    };
    uint32_t program = no_entity;
    WorksOn where;
    As as{};
    auto operator==(const Use&) const -> bool = default;
  };
  struct BlockString {
    const syn::StringExpr* text;
    std::optional<Use> beside;   // the schedule around the string; used if no use of the string is known
    std::vector<Use> uses;
  };
  /// The strings that a variable may have as values, and other variables with further possible values.
  struct Held {
    std::vector<const syn::StringExpr*> texts;
    std::vector<uint32_t> variables;
  };

  // ---- entities and places ------------------------------------------------------------------------------------------
  auto place(DeclId decl, Span inside) -> std::optional<Span>;

  auto new_entity(Name name, EntityKind kind, uint16_t traits, bool is_bound) -> uint32_t;
  void occur(DeclId decl, Span inside, uint32_t entity, Role role);
  auto look_up(Name name) -> uint32_t;
  auto bind(Name name, EntityKind kind, uint16_t traits = 0) -> uint32_t;
  /// The entity bound in this list, or a new one.
  auto bind_once(Name name, EntityKind kind, uint16_t traits = 0) -> uint32_t;

  // ---- names that a list binds before it is read (script functions, the file, classes) ----------------------------------
  void hoist_target(const syn::Expr* target, EntityKind kind);
  void hoist(const syn::Block& body, bool is_file);
  static auto imported(const syn::ImportName& name) -> Name;

  // ---- statements -----------------------------------------------------------------------------------------------------
  [[nodiscard]] auto in_tir() const -> bool;

  void visit_list(const syn::Block& body);
  /// Visits a list of statements with a scope of its own; only programs have these.
  void visit_inner(const syn::Block& body);
  void push_list();

  void visit(const syn::Stmt& statement);

  static auto module_of(const syn::ImportFromStmt& from) -> Imported;
  void visit_import(DeclId decl, const syn::ImportName& name, const syn::ImportFromStmt* from);
  void is_member(DeclId decl, Span inside, uint32_t index, bool is_import = false);
  /// The import that an expression such as `kernels.matmul` refers to; null: none.
  auto imported_by(const syn::Expr* expr) -> const Imported*;
  static auto is_of_others(const Imported& what) -> bool;
  void note_imported_member(const syn::Expr& whole, const syn::Expr* object, Name name, Span span);

  void visit_with(const syn::WithStmt& with);

  void visit_function(const syn::FunctionDef& def);

  /// Reads only the name of a function or class. False: the statement is neither.
  auto visit_name(const syn::Stmt& statement) -> bool;

  void visit_class(const syn::ClassDef& type);

  // ---- targets --------------------------------------------------------------------------------------------------------
  /// `value`: the right side, for the kinds in `T.axis.remap("SSR", ...)`.
  void visit_target(const syn::Expr* target, EntityKind kind, uint16_t traits, const syn::Expr* value, bool is_fresh = false);
  /// The entity that a scope of the function around the name binds; none: the name is bound outside.
  auto look_up_inside(Name name) -> uint32_t;
  static auto remap_kinds(const syn::Expr* value) -> std::string_view;

  /// Loops in the bindings of iter vars get the traits of the iter vars. `traits`: those of the only iter var, if the call is no remap.
  void note_feeding(const syn::Expr* value, uint16_t traits);

  // ---- expressions ----------------------------------------------------------------------------------------------------
  void read(DeclId decl, Name name, Span span, Role role = Role::Read);

  void visit(const syn::Expr* root);

  // ---- members of modules -----------------------------------------------------------------------------------------------
  auto class_of(const syn::Expr* object) -> uint32_t;
  void visit_member(const syn::AttributeExpr& attribute);
  void visit_member(const syn::SubscriptExpr& subscript);
  void read_member(uint32_t type, Name name, DeclId decl, Span span);

  // ---- blocks by their names ----------------------------------------------------------------------------------------------
  /// The span between the quotes; none: the string has escapes, so its value differs from the text.
  static auto contents(const syn::StringExpr& text) -> std::optional<Span>;
  void bind_block(const syn::StringExpr& name);
  auto scheduled_program(const syn::ScheduleForm& form) -> uint32_t;
  /// The entity for `make(16)`, which has no name and no place.
  auto unnamed_program(const syn::Expr& program) -> uint32_t;
  /// The entity that an expression has as value; none: not known from the text.
  auto giving(const syn::Expr& expr) -> Giving;
  /// The entity for `kernels.matmul`, which has no name and no place in this file.
  auto outside_program(const syn::Expr& value) -> uint32_t;
  /// Records that the form's variable is a schedule from here on.
  void note_schedule(const syn::ScheduleForm& form);
  [[nodiscard]] auto find_schedule(std::string_view variable) -> Made*;
  [[nodiscard]] auto is_imported(uint32_t entity) const -> bool;

  // ---- which function a schedule works on --------------------------------------------------------------------------------
  void forget_functions();
  /// After two branches: the first `older` schedules keep their function if both branches agree, and the schedules of both branches are added.
  void join(const std::vector<Made>& other, size_t older);
  void note_work_on(const syn::CallExpr& call);
  /// The schedule among the arguments of a call; null: none.
  auto schedule_handed(const syn::CallExpr& call) -> const Made*;
  /// True when a function may call `work_on` on its schedule argument. Functions of other files may.
  auto helper_works_on(const syn::Expr* callee) -> bool;
  auto may_work_on(const syn::Node& node) -> bool;

  // ---- values of variables ------------------------------------------------------------------------------------------------
  void note_value(const syn::Expr* target, const syn::Expr* value);
  void note_held(const syn::Expr* target, const syn::Expr& value);
  void note_returned(const syn::Expr* value);
  /// Collects the strings and variables that are possible elements of a value. Results of most calls are unknown, so their arguments do not count.
  void collect(const syn::Expr& value, Held& held);

  // ---- strings in schedules -----------------------------------------------------------------------------------------------
  auto string_of(const syn::StringExpr& text) -> BlockString&;
  void add_use(const syn::StringExpr& text, const Use& use);
  /// Records that a value is used as a block or its name.
  void note_use(const syn::Expr* value, const Use& use);
  /// Called after all variables are read: strings are used where the variables with their values are.
  void follow_strings();
  void follow(uint32_t variable, const Use& use, std::unordered_set<uint32_t>& seen);
  /// Records the strings that name blocks in the arguments of a primitive, or of a function that gets the schedule.
  void note_blocks(const syn::CallExpr& call);
  void note_handed(const syn::CallExpr& call, Use use);
  /// Records a string that names one of the programs of the scheduled module.
  void note_program(const syn::Expr* value, uint32_t program);
  /// Called after all programs are read. Blocks that only the schedule makes become entities of the schedule.
  void bind_block_string(const BlockString& string);
  void note_possible(const NameTable::PossibleBlock& one, size_t first);
  auto block_made(const syn::StringExpr& text, uint32_t program) -> uint32_t;

  const workspace::Snapshot& snapshot_;
  NameTable table_;
  std::vector<Scope> scopes_;
  std::unordered_map<Name, uint32_t> free_;
  std::unordered_map<uint32_t, std::unordered_map<Name, uint32_t>> members_;   // of classes
  std::unordered_set<uint32_t> modules_;                                       // classes whose functions are programs
  std::unordered_map<uint32_t, const syn::FunctionDef*> functions_;
  std::unordered_map<uint32_t, bool> works_on_;                                // by function: true when it may call `work_on`
  std::unordered_map<uint32_t, Held> held_;                                    // by variable
  std::vector<std::pair<uint32_t, Use>> variable_uses_;
  std::unordered_map<const syn::Expr*, uint32_t> imported_members_;            // by expression that refers to a name of another file
  std::vector<BlockString> block_strings_;                                     // in the order of the text
  std::unordered_map<const syn::StringExpr*, size_t> string_at_;               // in block_strings_
  std::map<std::tuple<DeclId, uint32_t, Name>, uint32_t> made_;                // blocks, by schedule
  std::unordered_set<const syn::StringExpr*> arguments_;                       // strings that are arguments of primitives
  std::vector<Made> schedules_;      // of the functions around the present place; innermost and newest last
  uint32_t program_ = no_entity;     // the present program, or the program of the present schedule
  uint32_t class_ = no_entity;
  uint32_t function_ = no_entity;    // the innermost
  const syn::Expr* statement_ = nullptr;   // the last expression statement
  bool changes_function_ = false;    // a schedule of the file may call `work_on`, possibly in a function of another file
};

}  // namespace loopsmith::lsp
