// Finding what names stand for: see names.h.
#include "lsp/features/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "frontend/lower.h"
#include "schedule/primitive.h"
#include "schedule/primitives.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;
namespace syn = syntax;

constexpr uint32_t no_entity = nowhere;

auto last_name(const syn::Expr* expr) -> std::string_view {
  if (expr == nullptr) { return {}; }
  if (const auto* call = expr->as<syn::CallExpr>()) { return last_name(call->callee); }
  if (const auto* attribute = expr->as<syn::AttributeExpr>()) { return attribute->attr.name.view(); }
  if (const auto* name = expr->as<syn::NameExpr>()) { return name->name.view(); }
  return {};
}

auto has_decorator(const syn::List<syn::ExprPtr>& decorators, std::initializer_list<std::string_view> names) -> bool {
  return std::any_of(decorators.begin(), decorators.end(), [&](const syn::Expr* decorator) {
    return std::find(names.begin(), names.end(), last_name(decorator)) != names.end();
  });
}

/// A function whose body is TIR: names in it are bound by statement lists.
auto is_program(const syn::FunctionDef& def) -> bool { return frontend::is_program(def) || has_decorator(def.decorators, {"macro", "inline"}); }

auto string_keyword(const syn::CallExpr& call, std::string_view name) -> const syn::StringExpr* {
  for (const syn::Keyword& keyword : call.keywords) {
    if (keyword.name.name == name) { return keyword.value->as<syn::StringExpr>(); }
  }
  return nullptr;
}

auto trait(Trait t) -> uint16_t { return static_cast<uint16_t>(t); }

/// What the right side of an assignment in a program makes of its targets.
auto kind_bound_by(const syn::Expr* value) -> std::pair<EntityKind, uint16_t> {
  const auto* call = value != nullptr ? value->as<syn::CallExpr>() : nullptr;
  if (call == nullptr) { return {EntityKind::Variable, 0}; }
  std::string_view callee = last_name(call->callee);
  const auto* attribute = call->callee->as<syn::AttributeExpr>();
  if (attribute != nullptr && last_name(attribute->object) == "axis") {
    if (callee == "reduce" || callee == "R") { return {EntityKind::Iter, trait(Trait::Reduction)}; }
    if (callee == "spatial" || callee == "S") { return {EntityKind::Iter, trait(Trait::Spatial)}; }
    return {EntityKind::Iter, 0};
  }
  if (callee == "alloc_buffer" || callee == "match_buffer" || callee == "decl_buffer" || callee == "Buffer" || callee == "sblock_alloc_buffer" ||
      callee == "allocate" || callee == "allocate_const" || callee == "alloc_shared" || callee == "alloc_local") {
    const syn::StringExpr* scope = string_keyword(*call, "scope");
    std::string_view memory = scope != nullptr ? std::string_view(scope->value) : callee == "alloc_shared" ? "shared" : callee == "alloc_local" ? "local" : "global";
    if (memory.empty() || memory.starts_with("global")) { return {EntityKind::Buffer, 0}; }
    return {EntityKind::Buffer, trait(memory.starts_with("shared") ? Trait::SharedScope : memory == "warp" ? Trait::WarpScope : Trait::LocalScope)};
  }
  if (callee == "thread_binding" || callee == "launch_thread" || callee == "env_thread") { return {EntityKind::Loop, trait(Trait::ThreadBound)}; }
  return {EntityKind::Variable, 0};
}

auto loop_traits(const syn::Expr* iterable) -> uint16_t {
  std::string_view callee = last_name(iterable);
  if (callee == "parallel") { return trait(Trait::Parallel); }
  if (callee == "vectorized") { return trait(Trait::Vectorized); }
  if (callee == "unroll" || callee == "unrolled") { return trait(Trait::Unrolled); }
  if (callee == "thread_binding") { return trait(Trait::ThreadBound); }
  return 0;
}

class Finder {
 public:
  explicit Finder(const Snapshot& snapshot) : snapshot_(snapshot) {}

  /// Looks into some declarations; of the others only the names are wanted.
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
  struct Made {
    std::string_view variable;   // a schedule
    uint32_t program;
    WorksOn where;
  };
  /// That a string is a block's name in a schedule.
  struct Use {
    enum class As : uint8_t {
      Argument,                  // of a primitive: it names a block, if only one that the schedule makes
      Held,                      // such an argument may be this: it names one where the function has it
      Any,                       // nobody sees what for: it names one where any function of the module has it
    };
    uint32_t program = no_entity;
    WorksOn where;
    As as{};
    auto operator==(const Use&) const -> bool = default;
  };
  struct BlockString {
    const syn::StringExpr* text;
    std::optional<Use> beside;   // the schedule that it stands in, where nobody sees what it is used for
    std::vector<Use> uses;
  };
  /// What a variable may hold: strings, and what other variables hold.
  struct Held {
    std::vector<const syn::StringExpr*> texts;
    std::vector<uint32_t> variables;
  };

  // ---- entities and places ------------------------------------------------------------------------------------------
  auto place(DeclId decl, Span inside) -> std::optional<Span> { return snapshot_.syntax().resolve({decl, inside.begin, inside.end, 0}); }

  auto new_entity(Name name, EntityKind kind, uint16_t traits, bool is_bound) -> uint32_t {
    table_.entities.push_back({name, kind, traits, scopes_.back().function, is_bound});
    return static_cast<uint32_t>(table_.entities.size() - 1);
  }
  void occur(DeclId decl, Span inside, uint32_t entity, Role role) {
    if (inside.begin >= inside.end) { return; }
    if (auto span = place(decl, inside)) { table_.occurrences.push_back({*span, entity, role}); }
  }
  auto look_up(Name name) -> uint32_t {
    bool is_innermost = true;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      // Names of a class are not seen by the functions in it.
      if (scope->is_class && !is_innermost) { continue; }
      if (auto found = scope->names.find(name); found != scope->names.end()) { return found->second; }
      if (scope->is_function || scope->is_class) { is_innermost = false; }
    }
    return no_entity;
  }
  auto bind(Name name, EntityKind kind, uint16_t traits = 0) -> uint32_t {
    uint32_t entity = new_entity(name, kind, traits, true);
    scopes_.back().names[name] = entity;
    return entity;
  }
  /// The entity of this list itself, or a new one.
  auto bind_once(Name name, EntityKind kind, uint16_t traits = 0) -> uint32_t {
    if (auto found = scopes_.back().names.find(name); found != scopes_.back().names.end()) {
      Entity& entity = table_.entities[found->second];
      entity.is_bound = true;
      return found->second;
    }
    return bind(name, kind, traits);
  }

  // ---- names that a list binds before it is read (script functions, the file, classes) ----------------------------------
  void hoist_target(const syn::Expr* target, EntityKind kind) {
    if (target == nullptr) { return; }
    if (const auto* name = target->as<syn::NameExpr>()) { bind_once(name->name, kind); }
    if (const auto* tuple = target->as<syn::TupleExpr>()) { for (const syn::Expr* e : tuple->elements) { hoist_target(e, kind); } }
    if (const auto* list = target->as<syn::ListExpr>()) { for (const syn::Expr* e : list->elements) { hoist_target(e, kind); } }
    if (const auto* starred = target->as<syn::StarredExpr>()) { hoist_target(starred->value, kind); }
  }
  void hoist(const syn::Block& body, bool is_file) {
    EntityKind variable = is_file ? EntityKind::Constant : EntityKind::Variable;
    for (const syn::Stmt* statement : body) {
      if (const auto* def = statement->as<syn::FunctionDef>()) {
        EntityKind kind = frontend::is_program(*def) ? EntityKind::Program : syn::schedule_form(*def) ? EntityKind::Schedule : EntityKind::Function;
        functions_[bind_once(def->name.name, kind)] = def;
      } else if (const auto* type = statement->as<syn::ClassDef>()) {
        uint32_t entity = bind_once(type->name.name, EntityKind::Class);
        if (has_decorator(type->decorators, {"ir_module"})) { modules_.insert(entity); }
      } else if (const auto* assign = statement->as<syn::AssignStmt>()) {
        for (const syn::Expr* target : assign->targets) { hoist_target(target, variable); }
      } else if (const auto* annotated = statement->as<syn::AnnAssignStmt>()) {
        hoist_target(annotated->target, variable);
      } else if (const auto* augmented = statement->as<syn::AugAssignStmt>()) {
        hoist_target(augmented->target, variable);
      } else if (const auto* loop = statement->as<syn::ForStmt>()) {
        hoist_target(loop->target, variable);
        hoist(loop->body, is_file);
        hoist(loop->otherwise, is_file);
      } else if (const auto* repeat = statement->as<syn::WhileStmt>()) {
        hoist(repeat->body, is_file);
        hoist(repeat->otherwise, is_file);
      } else if (const auto* branch = statement->as<syn::IfStmt>()) {
        hoist(branch->then, is_file);
        hoist(branch->otherwise, is_file);
      } else if (const auto* with = statement->as<syn::WithStmt>()) {
        for (const syn::WithItem& item : with->items) { hoist_target(item.target, variable); }
        hoist(with->body, is_file);
      } else if (const auto* import = statement->as<syn::ImportStmt>()) {
        for (const syn::ImportName& name : import->names) { bind_once(imported(name), EntityKind::Namespace); }
      } else if (const auto* from = statement->as<syn::ImportFromStmt>()) {
        for (const syn::ImportName& name : from->names) { bind_once(imported(name), EntityKind::Namespace); }
      } else if (const auto* opaque = statement->as<syn::OpaqueStmt>()) {
        for (const syn::Identifier& name : opaque->binds) { bind_once(name.name, variable); }
      } else if (const auto* broken = statement->as<syn::BrokenStmt>()) {
        hoist(broken->body, is_file);
      }
    }
  }
  static auto imported(const syn::ImportName& name) -> Name {
    return name.alias.name.empty() ? (name.path.empty() ? Name() : name.path.front().name) : name.alias.name;
  }

  // ---- statements -----------------------------------------------------------------------------------------------------
  [[nodiscard]] auto in_tir() const -> bool { return scopes_.back().is_tir; }

  void visit_list(const syn::Block& body) {
    for (const syn::Stmt* statement : body) { visit(*statement); }
  }
  /// A statement list of its own, where the language has such.
  void visit_inner(const syn::Block& body) {
    if (!in_tir()) { return visit_list(body); }
    push_list();
    visit_list(body);
    scopes_.pop_back();
  }
  void push_list() {
    Scope inner;
    inner.is_tir = scopes_.back().is_tir;
    inner.function = scopes_.back().function;
    scopes_.push_back(std::move(inner));
  }

  void visit(const syn::Stmt& statement) {
    if (const auto* def = statement.as<syn::FunctionDef>()) { return visit_function(*def); }
    if (const auto* type = statement.as<syn::ClassDef>()) { return visit_class(*type); }
    if (const auto* assign = statement.as<syn::AssignStmt>()) {
      visit(assign->value);
      const auto* made = in_tir() || assign->targets.size() != 1 ? nullptr : assign->value->as<syn::CallExpr>();
      const auto* variable = made != nullptr && syn::is_schedule_made(*made) ? assign->targets[0]->as<syn::NameExpr>() : nullptr;
      if (variable != nullptr) { note_schedule({.variable = variable->name, .variable_span = variable->span, .made = made}); }
      auto [kind, traits] = in_tir() ? kind_bound_by(assign->value) : std::pair{EntityKind::Variable, uint16_t{0}};
      for (const syn::Expr* target : assign->targets) {
        visit_target(target, kind, traits, assign->value);
        note_value(target, assign->value);
      }
      if (kind == EntityKind::Iter) { note_feeding(assign->value, traits); }
    } else if (const auto* annotated = statement.as<syn::AnnAssignStmt>()) {
      visit(annotated->annotation);
      if (annotated->value != nullptr) { visit(annotated->value); }
      auto [kind, traits] = in_tir() ? kind_bound_by(annotated->value) : std::pair{EntityKind::Variable, uint16_t{0}};
      visit_target(annotated->target, kind, traits, annotated->value);
      note_value(annotated->target, annotated->value);
    } else if (const auto* augmented = statement.as<syn::AugAssignStmt>()) {
      visit(augmented->value);
      visit_target(augmented->target, EntityKind::Variable, 0, nullptr);
      note_value(augmented->target, augmented->value);
    } else if (const auto* expression = statement.as<syn::ExprStmt>()) {
      statement_ = expression->value;
      visit(expression->value);
    } else if (const auto* ret = statement.as<syn::ReturnStmt>()) {
      if (ret->value != nullptr) {
        visit(ret->value);
        note_returned(ret->value);
      }
    } else if (const auto* branch = statement.as<syn::IfStmt>()) {
      visit(branch->condition);
      const std::vector<Made> before = schedules_;
      visit_inner(branch->then);
      std::vector<Made> after = std::exchange(schedules_, before);
      visit_inner(branch->otherwise);
      join(after, before.size());
    } else if (const auto* loop = statement.as<syn::ForStmt>()) {
      if (loop->iterable != nullptr) { visit(loop->iterable); }
      if (in_tir()) { push_list(); }
      visit_target(loop->target, in_tir() ? EntityKind::Loop : EntityKind::Variable, in_tir() ? loop_traits(loop->iterable) : uint16_t{0}, nullptr, true);
      note_value(loop->target, loop->iterable);
      bool changes = may_work_on(*loop);
      if (changes) { forget_functions(); }
      visit_list(loop->body);
      if (changes) { forget_functions(); }
      if (in_tir()) { scopes_.pop_back(); }
      visit_inner(loop->otherwise);
    } else if (const auto* repeat = statement.as<syn::WhileStmt>()) {
      bool changes = may_work_on(*repeat);
      if (changes) { forget_functions(); }
      visit(repeat->condition);
      visit_inner(repeat->body);
      if (changes) { forget_functions(); }
      visit_inner(repeat->otherwise);
    } else if (const auto* with = statement.as<syn::WithStmt>()) {
      visit_with(*with);
    } else if (const auto* assertion = statement.as<syn::AssertStmt>()) {
      visit(assertion->condition);
      if (assertion->message != nullptr) { visit(assertion->message); }
    } else if (const auto* import = statement.as<syn::ImportStmt>()) {
      for (const syn::ImportName& name : import->names) { visit_import(statement.decl, name, nullptr); }
    } else if (const auto* from = statement.as<syn::ImportFromStmt>()) {
      if (from->is_star) { table_.stars.push_back(module_of(*from)); }
      for (const syn::ImportName& name : from->names) { visit_import(statement.decl, name, from); }
    } else if (const auto* del = statement.as<syn::DelStmt>()) {
      for (const syn::Expr* target : del->targets) { visit(target); }
    } else if (const auto* scope = statement.as<syn::ScopeStmt>()) {
      for (const syn::Identifier& name : scope->names) { read(statement.decl, name.name, name.span); }
    } else if (const auto* broken = statement.as<syn::BrokenStmt>()) {
      for (const syn::Expr* part : broken->parts) { visit(part); }
      visit_inner(broken->body);
      forget_functions();
    } else if (statement.as<syn::OpaqueStmt>() != nullptr) {
      forget_functions();
    }
  }

  static auto module_of(const syn::ImportFromStmt& from) -> Imported {
    Imported module{from.level, {}};
    for (const syn::Identifier& part : from.module) { module.path.push_back(part.name); }
    return module;
  }
  void visit_import(DeclId decl, const syn::ImportName& name, const syn::ImportFromStmt* from) {
    Name bound = imported(name);
    if (bound.empty()) { return; }
    uint32_t entity = look_up(bound);
    if (entity == no_entity) { entity = bind(bound, EntityKind::Namespace); }
    bool is_alias = !name.alias.name.empty();
    Imported what = from != nullptr ? module_of(*from) : Imported{};
    // `import a.b` binds `a`.
    for (const syn::Identifier& part : name.path) {
      what.path.push_back(part.name);
      if (from == nullptr && !is_alias) { break; }
    }
    table_.imports.push_back(std::move(what));
    auto index = static_cast<uint32_t>(table_.imports.size() - 1);
    table_.entities[entity].imported = index;
    table_.entities[entity].is_alias = is_alias;
    if (is_alias && from != nullptr && !name.path.empty()) { is_member(decl, name.path.back().span, index, true); }
    occur(decl, is_alias ? name.alias.span : name.path.front().span, entity, Role::Bind);
  }
  void is_member(DeclId decl, Span inside, uint32_t index, bool is_import = false) {
    if (auto span = place(decl, inside)) { table_.members.push_back({*span, index, is_import}); }
  }
  /// What an expression takes out of an imported file, by its text: `kernels.matmul`.
  auto imported_by(const syn::Expr* expr) -> const Imported* {
    if (const auto* name = expr->as<syn::NameExpr>()) {
      uint32_t entity = look_up(name->name);
      uint32_t index = entity != no_entity ? table_.entities[entity].imported : nowhere;
      return index != nowhere ? &table_.imports[index] : nullptr;
    }
    auto found = imported_members_.find(expr);
    return found != imported_members_.end() ? &table_.imports[found->second] : nullptr;
  }
  static auto is_of_others(const Imported& what) -> bool {
    static const Name not_ours[] = {"tvm", "numpy", "torch"};
    return what.path.empty() || std::find(std::begin(not_ours), std::end(not_ours), what.path.front()) != std::end(not_ours);
  }
  void note_imported_member(const syn::Expr& whole, const syn::Expr* object, Name name, Span span) {
    if (table_.imports.empty()) { return; }
    const Imported* outer = imported_by(object);
    if (outer == nullptr || is_of_others(*outer)) { return; }
    Imported what = *outer;
    what.path.push_back(name);
    table_.imports.push_back(std::move(what));
    imported_members_[&whole] = static_cast<uint32_t>(table_.imports.size() - 1);
    is_member(whole.decl, span, imported_members_[&whole]);
  }

  void visit_with(const syn::WithStmt& with) {
    bool is_tir = in_tir();
    if (is_tir) { push_list(); }
    for (const syn::WithItem& item : with.items) {
      const auto* call = item.context->as<syn::CallExpr>();
      std::string_view callee = last_name(item.context);
      bool is_block = is_tir && call != nullptr && (callee == "block" || callee == "sblock");
      if (is_block && !call->args.empty()) {
        if (const auto* name = call->args.front()->as<syn::StringExpr>()) { bind_block(*name); }
      }
      visit(item.context);
      auto [kind, traits] = is_tir ? kind_bound_by(item.context) : std::pair{EntityKind::Variable, uint16_t{0}};
      if (is_block) { kind = EntityKind::Iter; }
      visit_target(item.target, kind, traits, nullptr, is_tir);
    }
    visit_list(with.body);
    if (is_tir) { scopes_.pop_back(); }
  }

  void visit_function(const syn::FunctionDef& def) {
    for (const syn::Expr* decorator : def.decorators) { visit(decorator); }
    for (const syn::Param& param : def.params) {
      if (param.default_value != nullptr) { visit(param.default_value); }
    }
    uint32_t self = look_up(def.name.name);
    if (self == no_entity) { self = bind(def.name.name, EntityKind::Function); }
    occur(def.decl, def.name.span, self, Role::Bind);

    Scope scope;
    scope.is_function = true;
    scope.is_tir = is_program(def);
    scope.function = def.decl;
    scopes_.push_back(std::move(scope));
    std::vector<Made> outer_schedules = schedules_;
    uint32_t outer_program = program_;
    uint32_t outer_function = std::exchange(function_, self);
    // It runs when it is called, whatever the schedule around it works on then.
    if (!in_tir()) { forget_functions(); }
    if (auto form = in_tir() ? std::nullopt : syn::schedule_form(def)) { note_schedule(*form); }
    if (in_tir()) { program_ = self; }
    for (const syn::Param& param : def.type_params) {
      if (param.name.name.empty()) { continue; }
      if (param.annotation != nullptr) { visit(param.annotation); }
      occur(def.decl, param.name.span, bind(param.name.name, EntityKind::Parameter), Role::Bind);
    }
    for (const syn::Param& param : def.params) {
      if (param.name.name.empty()) { continue; }
      std::string_view type = last_name(param.annotation);
      uint32_t entity = bind(param.name.name, in_tir() && type == "Buffer" ? EntityKind::Buffer : EntityKind::Parameter);
      occur(def.decl, param.name.span, entity, Role::Bind);
    }
    // Shapes in annotations may name parameters beside them.
    for (const syn::Param& param : def.params) {
      if (param.annotation != nullptr) { visit(param.annotation); }
    }
    if (def.returns != nullptr) { visit(def.returns); }
    if (!in_tir()) { hoist(def.body, false); }
    visit_list(def.body);
    scopes_.pop_back();
    schedules_ = std::move(outer_schedules);
    if (may_work_on(def)) { forget_functions(); }
    program_ = outer_program;
    function_ = outer_function;
  }

  /// The name of a function or class of the file, and nothing of what is in it.
  auto visit_name(const syn::Stmt& statement) -> bool {
    const auto* def = statement.as<syn::FunctionDef>();
    const auto* type = statement.as<syn::ClassDef>();
    if (def == nullptr && type == nullptr) { return false; }
    const syn::Identifier& name = def != nullptr ? def->name : type->name;
    uint32_t self = look_up(name.name);
    if (self != no_entity) { occur(statement.decl, name.span, self, Role::Bind); }
    return true;
  }

  void visit_class(const syn::ClassDef& type) {
    for (const syn::Expr* decorator : type.decorators) { visit(decorator); }
    for (const syn::Expr* base : type.bases) { visit(base); }
    uint32_t self = look_up(type.name.name);
    if (self == no_entity) { self = bind(type.name.name, EntityKind::Class); }
    occur(type.decl, type.name.span, self, Role::Bind);
    Scope scope;
    scope.is_class = true;
    scopes_.push_back(std::move(scope));
    hoist(type.body, false);
    members_[self] = scopes_.back().names;
    uint32_t outer = class_;
    class_ = self;
    visit_list(type.body);
    class_ = outer;
    scopes_.pop_back();
  }

  // ---- targets --------------------------------------------------------------------------------------------------------
  /// `value`: what is assigned, for the kinds of `T.axis.remap("SSR", ...)`.
  void visit_target(const syn::Expr* target, EntityKind kind, uint16_t traits, const syn::Expr* value, bool is_fresh = false) {
    if (target == nullptr) { return; }
    if (const auto* name = target->as<syn::NameExpr>()) {
      uint32_t entity = no_entity;
      if (in_tir() && !is_fresh && kind != EntityKind::Iter) { entity = look_up_inside(name->name); }
      if (entity == no_entity && !in_tir()) { entity = look_up(name->name); }
      bool is_again = entity != no_entity && in_tir();
      if (entity == no_entity) { entity = bind(name->name, kind, traits); }
      return occur(name->decl, name->span, entity, is_again ? Role::Write : Role::Bind);
    }
    const syn::List<syn::ExprPtr>* elements = nullptr;
    if (const auto* tuple = target->as<syn::TupleExpr>()) { elements = &tuple->elements; }
    if (const auto* list = target->as<syn::ListExpr>()) { elements = &list->elements; }
    if (elements != nullptr) {
      std::string_view kinds = remap_kinds(value);
      for (size_t i = 0; i < elements->size(); ++i) {
        uint16_t own = traits;
        if (kind == EntityKind::Iter && i < kinds.size()) { own = kinds[i] == 'S' ? trait(Trait::Spatial) : kinds[i] == 'R' ? trait(Trait::Reduction) : uint16_t{0}; }
        visit_target((*elements)[i], kind, own, nullptr, is_fresh);
      }
      return;
    }
    if (const auto* starred = target->as<syn::StarredExpr>()) { return visit_target(starred->value, kind, traits, nullptr, is_fresh); }
    if (const auto* subscript = target->as<syn::SubscriptExpr>()) {
      for (const syn::Expr* index : subscript->indices) { visit(index); }
      if (const auto* name = subscript->object->as<syn::NameExpr>()) { return read(name->decl, name->name, name->span, Role::Write); }
      return visit(subscript->object);
    }
    visit(target);
  }
  /// Bound by a list of this very function.
  auto look_up_inside(Name name) -> uint32_t {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (auto found = scope->names.find(name); found != scope->names.end()) { return found->second; }
      if (scope->is_function) { break; }
    }
    return no_entity;
  }
  static auto remap_kinds(const syn::Expr* value) -> std::string_view {
    const auto* call = value != nullptr ? value->as<syn::CallExpr>() : nullptr;
    if (call == nullptr || last_name(call->callee) != "remap" || call->args.empty()) { return {}; }
    const auto* kinds = call->args.front()->as<syn::StringExpr>();
    return kinds != nullptr ? kinds->value : std::string_view();
  }

  /// Loops in what iter vars are bound to feed what these are; `traits`: of a single one.
  void note_feeding(const syn::Expr* value, uint16_t traits) {
    const auto* call = value->as<syn::CallExpr>();
    if (call == nullptr) { return; }
    auto feed = [&](const syn::Expr* bound, uint16_t what) {
      syn::walk(*bound, [&](const syn::Node& node) {
        const auto* name = node.as<syn::NameExpr>();
        uint32_t entity = name != nullptr ? look_up(name->name) : no_entity;
        if (entity != no_entity && table_.entities[entity].kind == EntityKind::Loop) { table_.entities[entity].traits |= what; }
        return true;
      });
    };
    std::string_view kinds = remap_kinds(value);
    const auto* bound = !kinds.empty() && call->args.size() > 1 ? call->args[1]->as<syn::ListExpr>() : nullptr;
    for (size_t i = 0; bound != nullptr && i < std::min<size_t>(kinds.size(), bound->elements.size()); ++i) {
      feed(bound->elements[static_cast<uint32_t>(i)], kinds[i] == 'S' ? trait(Trait::Spatial) : kinds[i] == 'R' ? trait(Trait::Reduction) : uint16_t{0});
    }
    // `T.axis.reduce(512, k_0 * 8 + k_1)`: the last argument.
    if (kinds.empty() && !call->args.empty()) { feed(call->args[call->args.size() - 1], traits); }
  }

  // ---- expressions ----------------------------------------------------------------------------------------------------
  void read(DeclId decl, Name name, Span span, Role role = Role::Read) {
    uint32_t entity = look_up(name);
    if (entity == no_entity) {
      // Predeclared (`T`), or known to nobody: one entity per name and file.
      auto [found, is_new] = free_.try_emplace(name, 0);
      if (is_new) {
        static const Name known[] = {"T", "I", "tir", "ls", "te", "R"};
        bool is_namespace = std::find(std::begin(known), std::end(known), name) != std::end(known);
        found->second = new_entity(name, is_namespace ? EntityKind::Namespace : EntityKind::Variable, 0, false);
        table_.entities.back().function = 0;
      }
      entity = found->second;
    }
    occur(decl, span, entity, role);
  }

  void visit(const syn::Expr* root) {
    if (root == nullptr) { return; }
    if (const auto* name = root->as<syn::NameExpr>()) { return read(name->decl, name->name, name->span); }
    if (const auto* lambda = root->as<syn::LambdaExpr>()) {
      push_list();
      scopes_.back().is_function = true;
      for (const syn::Param& param : lambda->params) {
        if (param.default_value != nullptr) { visit(param.default_value); }
        if (!param.name.name.empty()) { occur(lambda->decl, param.name.span, bind(param.name.name, EntityKind::Parameter), Role::Bind); }
      }
      visit(lambda->body);
      scopes_.pop_back();
      return;
    }
    if (const auto* comprehension = root->as<syn::ComprehensionExpr>()) {
      push_list();
      bool was_tir = scopes_.back().is_tir;
      scopes_.back().is_tir = false;
      for (const syn::ComprehensionFor& clause : comprehension->clauses) {
        visit(clause.iterable);
        hoist_target(clause.target, EntityKind::Variable);
        visit_target(clause.target, EntityKind::Variable, 0, nullptr);
        note_value(clause.target, clause.iterable);
        for (const syn::Expr* condition : clause.conditions) { visit(condition); }
      }
      scopes_.back().is_tir = was_tir;
      visit(comprehension->key);
      visit(comprehension->element);
      scopes_.pop_back();
      return;
    }
    if (const auto* named = root->as<syn::NamedExpr>()) {
      visit(named->value);
      uint32_t entity = look_up(named->name.name);
      if (entity == no_entity) { entity = bind(named->name.name, EntityKind::Variable); }
      collect(*named->value, held_[entity]);
      return occur(root->decl, named->name.span, entity, Role::Bind);
    }
    const auto* call = root->as<syn::CallExpr>();
    if (call != nullptr) { note_blocks(*call); }
    if (const auto* text = root->as<syn::StringExpr>(); text != nullptr && !schedules_.empty() && !told_.contains(text)) {
      string_of(*text).beside = Use{program_, changes_function_ ? WorksOn{WorksOn::What::Unknown, {}} : WorksOn{}, Use::As::Any};
    }
    for (const syn::Node* child : syn::children(*root)) {
      if (child->is_expr()) { visit(static_cast<const syn::Expr*>(child)); }
    }
    if (call != nullptr && changes_function_) { note_work_on(*call); }
    if (const auto* attribute = root->as<syn::AttributeExpr>()) { visit_member(*attribute); }
    if (const auto* subscript = root->as<syn::SubscriptExpr>()) { visit_member(*subscript); }
  }

  // ---- members of modules -----------------------------------------------------------------------------------------------
  auto class_of(const syn::Expr* object) -> uint32_t {
    const auto* name = object->as<syn::NameExpr>();
    if (name == nullptr) { return no_entity; }
    uint32_t entity = look_up(name->name);
    if (entity == no_entity) { return name->name == "cls" ? class_ : no_entity; }
    return table_.entities[entity].kind == EntityKind::Class ? entity : no_entity;
  }
  void visit_member(const syn::AttributeExpr& attribute) {
    read_member(class_of(attribute.object), attribute.attr.name, attribute.decl, attribute.attr.span);
    note_imported_member(attribute, attribute.object, attribute.attr.name, attribute.attr.span);
  }
  void visit_member(const syn::SubscriptExpr& subscript) {
    if (subscript.indices.size() != 1) { return; }
    const auto* text = subscript.indices.front()->as<syn::StringExpr>();
    if (text == nullptr) { return; }
    auto inside = contents(*text);
    if (!inside) { return; }
    read_member(class_of(subscript.object), Name(text->value), text->decl, *inside);
    note_imported_member(subscript, subscript.object, Name(text->value), *inside);
  }
  void read_member(uint32_t type, Name name, DeclId decl, Span span) {
    auto members = members_.find(type);
    if (type == no_entity || members == members_.end()) { return; }
    if (auto found = members->second.find(name); found != members->second.end()) { occur(decl, span, found->second, Role::Read); }
  }

  // ---- blocks by their names ----------------------------------------------------------------------------------------------
  /// What is between the quotes; none where escapes make it another text.
  static auto contents(const syn::StringExpr& text) -> std::optional<Span> {
    if (!text.prefix.empty() || text.span.end - text.span.begin != text.value.size() + 2) { return std::nullopt; }
    return Span{text.span.begin + 1, text.span.end - 1};
  }
  void bind_block(const syn::StringExpr& name) {
    auto inside = contents(name);
    if (!inside || program_ == no_entity || name.value.empty()) { return; }
    auto [found, is_new] = table_.of_programs[program_].try_emplace(Name(name.value), 0);
    if (is_new) {
      found->second = new_entity(Name(name.value), EntityKind::Block, 0, true);
      table_.entities.back().program = program_;
    }
    occur(name.decl, *inside, found->second, Role::Bind);
  }
  auto scheduled_program(const syn::ScheduleForm& form) -> uint32_t {
    const syn::Expr* said = form.made != nullptr ? syn::scheduled_program(*form.made) : form.decorator != nullptr && !form.decorator->args.empty() ? form.decorator->args.front() : nullptr;
    const auto* name = said != nullptr ? said->as<syn::NameExpr>() : nullptr;
    if (name != nullptr) {
      uint32_t entity = look_up(name->name);
      bool is_variable = entity != no_entity && table_.entities[entity].function != 0 && (table_.entities[entity].kind == EntityKind::Variable || table_.entities[entity].kind == EntityKind::Parameter);
      if (form.made == nullptr || (entity != no_entity && (!is_variable || table_.gives.contains(entity)))) { return entity; }
    } else if (said != nullptr) {
      // `tir.Schedule(sch.mod)` goes on with the program of `sch`.
      const auto* part = said->as<syn::SubscriptExpr>();
      const auto* module = (part != nullptr ? part->object : said)->as<syn::AttributeExpr>();
      const Made* other = module != nullptr && module->attr.name == "mod" ? find_schedule(last_name(module->object)) : nullptr;
      return other != nullptr ? other->program : unnamed_program(*said);
    }
    // Without a decorator it is for the file's only program, as where it is run.
    uint32_t only = no_entity;
    for (uint32_t i = 0; i < table_.entities.size(); ++i) {
      const Entity& entity = table_.entities[i];
      if (entity.function != 0 || (entity.kind != EntityKind::Program && !modules_.contains(i))) { continue; }
      if (only != no_entity) { return no_entity; }
      only = i;
    }
    return only;
  }
  /// `make(16)`: an entity without a name or a place of its own.
  auto unnamed_program(const syn::Expr& said) -> uint32_t {
    Giving value = giving(said);
    if (value.entity == no_entity || !value.is_call) { return value.entity; }
    uint32_t entity = new_entity(Name(), EntityKind::Variable, 0, false);
    table_.gives[entity].push_back(value);
    return entity;
  }
  /// No entity: it is not seen what it has for a value.
  auto giving(const syn::Expr& expr) -> Giving {
    if (const auto* name = expr.as<syn::NameExpr>()) { return {look_up(name->name), false}; }
    if (const auto* call = expr.as<syn::CallExpr>()) {
      const auto* method = call->callee->as<syn::AttributeExpr>();
      static const Name same[] = {"with_attr", "with_attrs", "without_attr", "specialize"};
      if (method != nullptr && std::find(std::begin(same), std::end(same), method->attr.name) != std::end(same)) { return giving(*method->object); }
      Giving callee = giving(*call->callee);
      return callee.entity == no_entity || callee.is_call ? Giving{} : Giving{callee.entity, true};
    }
    const auto* attribute = expr.as<syn::AttributeExpr>();
    const auto* subscript = expr.as<syn::SubscriptExpr>();
    const syn::Expr* object = attribute != nullptr ? attribute->object : subscript != nullptr ? subscript->object : nullptr;
    const auto* key = subscript != nullptr && subscript->indices.size() == 1 ? subscript->indices.front()->as<syn::StringExpr>() : nullptr;
    if (object == nullptr || (attribute == nullptr && key == nullptr)) { return {}; }
    auto members = members_.find(class_of(object));
    if (members == members_.end()) { return {attribute != nullptr ? outside_program(expr) : no_entity, false}; }
    auto found = members->second.find(attribute != nullptr ? attribute->attr.name : Name(key->value));
    return {found != members->second.end() ? found->second : no_entity, false};
  }
  /// `kernels.matmul`: an entity without a name or a place of its own.
  auto outside_program(const syn::Expr& said) -> uint32_t {
    // The statement that makes the schedule has not been read yet.
    const auto* attribute = said.as<syn::AttributeExpr>();
    const Imported* outer = attribute != nullptr && !table_.imports.empty() ? imported_by(attribute->object) : nullptr;
    if (outer == nullptr || is_of_others(*outer)) { return no_entity; }
    Imported what = *outer;
    what.path.push_back(attribute->attr.name);
    table_.imports.push_back(std::move(what));
    uint32_t entity = new_entity(Name(), EntityKind::Namespace, 0, false);
    table_.entities.back().imported = static_cast<uint32_t>(table_.imports.size() - 1);
    return entity;
  }
  /// From here on the variable is a schedule of that program.
  void note_schedule(const syn::ScheduleForm& form) {
    program_ = scheduled_program(form);
    schedules_.push_back({form.variable.view(), program_, {}});
  }
  [[nodiscard]] auto find_schedule(std::string_view variable) -> Made* {
    auto found = std::find_if(schedules_.rbegin(), schedules_.rend(), [&](const Made& made) { return made.variable == variable; });
    return found == schedules_.rend() ? nullptr : &*found;
  }
  [[nodiscard]] auto is_imported(uint32_t entity) const -> bool { return entity != no_entity && table_.entities[entity].imported != nowhere; }

  // ---- which function a schedule works on --------------------------------------------------------------------------------
  void forget_functions() {
    if (!changes_function_) { return; }
    for (Made& made : schedules_) { made.where = {WorksOn::What::Unknown, {}}; }
  }
  /// Behind two branches: of the first schedules, which are older, what both say; and what each has made.
  void join(const std::vector<Made>& other, size_t older) {
    for (size_t i = 0; i < older; ++i) {
      if (!(other[i].where == schedules_[i].where)) { schedules_[i].where = {WorksOn::What::Unknown, {}}; }
    }
    auto at = static_cast<std::ptrdiff_t>(older);
    schedules_.insert(schedules_.begin() + at, other.begin() + at, other.end());
  }
  void note_work_on(const syn::CallExpr& call) {
    const auto* method = call.callee->as<syn::AttributeExpr>();
    if (Made* of = method != nullptr && method->attr.name == "work_on" ? find_schedule(last_name(method->object)) : nullptr) {
      const syn::StringExpr* function = call.args.size() == 1 ? call.args.front()->as<syn::StringExpr>() : string_keyword(call, "func_name");
      // Inside of an expression it may not be called.
      bool is_known = function != nullptr && statement_ == &call;
      of->where = is_known ? WorksOn{WorksOn::What::Named, Name(function->value)} : WorksOn{WorksOn::What::Unknown, {}};
    } else if (schedule_handed(call) != nullptr && helper_works_on(call.callee)) {
      forget_functions();
    }
  }
  /// The schedule among the arguments of a call; null: there is none.
  auto schedule_handed(const syn::CallExpr& call) -> const Made* {
    auto made_by = [&](const syn::Expr* value) { return value->as<syn::NameExpr>() != nullptr ? find_schedule(last_name(value)) : nullptr; };
    for (const syn::Expr* value : call.args) {
      if (const Made* made = made_by(value)) { return made; }
    }
    for (const syn::Keyword& keyword : call.keywords) {
      if (const Made* made = made_by(keyword.value)) { return made; }
    }
    return nullptr;
  }
  /// May a function that is handed a schedule change what that works on? Those of other files may.
  auto helper_works_on(const syn::Expr* callee) -> bool {
    const auto* name = callee->as<syn::NameExpr>();
    uint32_t entity = name != nullptr ? look_up(name->name) : no_entity;
    if (entity == no_entity) { return name == nullptr; }
    auto def = functions_.find(entity);
    if (def == functions_.end()) { return true; }
    auto [known, is_new] = works_on_.try_emplace(entity, false);
    if (is_new) {
      bool works = may_work_on(*def->second);
      works_on_[entity] = works;
      return works;
    }
    return known->second;
  }
  auto may_work_on(const syn::Node& node) -> bool {
    if (!changes_function_) { return false; }
    if (node.is_expr()) {
      const auto* call = static_cast<const syn::Expr&>(node).as<syn::CallExpr>();
      const auto* method = call != nullptr ? call->callee->as<syn::AttributeExpr>() : nullptr;
      if (method != nullptr && method->attr.name == "work_on") { return true; }
      if (call != nullptr && (method == nullptr || schedule_handed(*call) != nullptr) && helper_works_on(call->callee)) { return true; }
    }
    std::vector<const syn::Node*> below = syn::children(node);
    return std::any_of(below.begin(), below.end(), [&](const syn::Node* child) { return may_work_on(*child); });
  }

  // ---- what variables hold ------------------------------------------------------------------------------------------------
  void note_value(const syn::Expr* target, const syn::Expr* value) {
    if (target == nullptr || value == nullptr || in_tir()) { return; }
    if (const auto* name = target->as<syn::NameExpr>()) {
      uint32_t entity = look_up(name->name);
      if (entity == no_entity) { return; }
      collect(*value, held_[entity]);
      if (Giving given = giving(*value); given.entity != no_entity) { table_.gives[entity].push_back(given); }
    }
    if (const auto* tuple = target->as<syn::TupleExpr>()) { for (const syn::Expr* e : tuple->elements) { note_held(e, *value); } }
    if (const auto* list = target->as<syn::ListExpr>()) { for (const syn::Expr* e : list->elements) { note_held(e, *value); } }
  }
  void note_held(const syn::Expr* target, const syn::Expr& value) {
    if (const auto* name = target->as<syn::NameExpr>()) {
      if (uint32_t entity = look_up(name->name); entity != no_entity) { collect(value, held_[entity]); }
    }
    if (const auto* tuple = target->as<syn::TupleExpr>()) { for (const syn::Expr* e : tuple->elements) { note_held(e, value); } }
  }
  void note_returned(const syn::Expr* value) {
    if (function_ == no_entity || in_tir()) { return; }
    if (Giving given = giving(*value); given.entity != no_entity) { table_.gives[function_].push_back(given); }
  }
  /// The strings in a value, and the variables that others come from: all that an element of it may be. What is called gives something else.
  void collect(const syn::Expr& value, Held& held) {
    if (const auto* text = value.as<syn::StringExpr>()) { return held.texts.push_back(text); }
    if (const auto* name = value.as<syn::NameExpr>()) {
      if (uint32_t entity = look_up(name->name); entity != no_entity) { held.variables.push_back(entity); }
      return;
    }
    if (value.as<syn::AttributeExpr>() != nullptr || value.as<syn::LambdaExpr>() != nullptr) { return; }
    if (const auto* comprehension = value.as<syn::ComprehensionExpr>()) {
      for (const syn::ComprehensionFor& clause : comprehension->clauses) { collect(*clause.iterable, held); }
      return;
    }
    if (const auto* call = value.as<syn::CallExpr>()) {
      static constexpr std::string_view functions[] = {"dict", "enumerate", "list", "reversed", "set", "sorted", "tuple", "zip"};
      static constexpr std::string_view methods[] = {"copy", "items", "keys", "values"};
      auto is_one_of = [&](const auto& names) { return std::find(std::begin(names), std::end(names), last_name(call->callee)) != std::end(names); };
      const auto* method = call->callee->as<syn::AttributeExpr>();
      if (method != nullptr && is_one_of(methods)) { return collect(*method->object, held); }
      if (method != nullptr || !is_one_of(functions)) { return; }
      for (const syn::Expr* arg : call->args) { collect(*arg, held); }
      return;
    }
    if (const auto* subscript = value.as<syn::SubscriptExpr>()) { return collect(*subscript->object, held); }
    for (const syn::Node* child : syn::children(value)) {
      if (child->is_expr()) { collect(static_cast<const syn::Expr&>(*child), held); }
    }
  }

  // ---- strings in schedules -----------------------------------------------------------------------------------------------
  auto string_of(const syn::StringExpr& text) -> BlockString& {
    auto [found, is_new] = string_at_.try_emplace(&text, block_strings_.size());
    if (is_new) { block_strings_.push_back({&text, std::nullopt, {}}); }
    return block_strings_[found->second];
  }
  void add_use(const syn::StringExpr& text, const Use& use) {
    std::vector<Use>& uses = string_of(text).uses;
    if (std::find(uses.begin(), uses.end(), use) == uses.end()) { uses.push_back(use); }
  }
  /// A value that is a block, or its name.
  void note_use(const syn::Expr* value, const Use& use) {
    if (const auto* text = value->as<syn::StringExpr>()) { return add_use(*text, use); }
    Use inside = use;
    if (use.as == Use::As::Argument) { inside.as = Use::As::Held; }
    Held held;
    collect(*value, held);
    for (const syn::StringExpr* text : held.texts) { add_use(*text, inside); }
    for (uint32_t variable : held.variables) { variable_uses_.emplace_back(variable, inside); }
  }
  /// Once all variables are seen: their strings are used where they are.
  void follow_strings() {
    for (const auto& [variable, use] : variable_uses_) {
      std::unordered_set<uint32_t> seen;
      follow(variable, use, seen);
    }
  }
  void follow(uint32_t variable, const Use& use, std::unordered_set<uint32_t>& seen) {
    auto held = held_.find(variable);
    if (held == held_.end() || !seen.insert(variable).second) { return; }
    for (const syn::StringExpr* text : held->second.texts) {
      if (!told_.contains(text)) { add_use(*text, use); }
    }
    for (uint32_t other : held->second.variables) { follow(other, use, seen); }
  }
  /// Strings that name blocks among the arguments of a primitive, or of a function that is handed the schedule.
  void note_blocks(const syn::CallExpr& call) {
    const auto* method = call.callee->as<syn::AttributeExpr>();
    const Made* of = method != nullptr ? find_schedule(last_name(method->object)) : nullptr;
    if (of == nullptr) {
      if (const Made* handed = schedule_handed(call)) { note_handed(call, {handed->program, handed->where, Use::As::Any}); }
      return;
    }
    const uint32_t program = of->program;
    if (method->attr.name == "work_on" && call.args.size() == 1) { note_program(call.args.front(), program); }
    const schedule::Primitive* row = schedule::find_primitive(method->attr.name.view());
    if (row == nullptr) { return; }
    std::vector<std::pair<const syn::Expr*, const schedule::Param*>> arguments;
    for (size_t i = 0; i < call.args.size() && i < row->params.size(); ++i) { arguments.emplace_back(call.args[i], &row->params[i]); }
    for (const syn::Keyword& keyword : call.keywords) {
      for (const schedule::Param& param : row->params) {
        if (keyword.name.name == param.name) { arguments.emplace_back(keyword.value, &param); }
      }
    }
    Use use{program, of->where, Use::As::Argument};
    for (const auto& [value, param] : arguments) {
      const auto* constant = value->as<syn::ConstantExpr>();
      if (param->name != "func_name" || (constant != nullptr && constant->value == syn::ConstantValue::None)) { continue; }
      const auto* function = value->as<syn::StringExpr>();
      use.where = function != nullptr ? WorksOn{WorksOn::What::Named, Name(function->value)} : WorksOn{WorksOn::What::Unknown, {}};
      note_program(value, program);
    }
    for (const auto& [value, param] : arguments) {
      if (const auto* text = value->as<syn::StringExpr>()) { told_.insert(text); }
      bool names_block = param->kind == schedule::ValueKind::Block || param->kind == schedule::ValueKind::BlockOrLoop || (row->name == "get_block" && param->name == "name");
      if (names_block) { note_use(value, use); }
    }
  }
  void note_handed(const syn::CallExpr& call, Use use) {
    if (changes_function_ && helper_works_on(call.callee)) { use.where = {WorksOn::What::Unknown, {}}; }
    for (const syn::Expr* value : call.args) { note_use(value, use); }
    for (const syn::Keyword& keyword : call.keywords) { note_use(keyword.value, use); }
  }
  /// A string that names one of the programs of the module that is scheduled.
  void note_program(const syn::Expr* value, uint32_t program) {
    const auto* text = value->as<syn::StringExpr>();
    auto inside = text != nullptr ? contents(*text) : std::nullopt;
    if (!inside || program == no_entity) { return; }
    told_.insert(text);
    if (!is_imported(program)) { return read_member(program, Name(text->value), text->decl, *inside); }
    Imported what = table_.imports[table_.entities[program].imported];
    what.path.emplace_back(text->value);
    table_.imports.push_back(std::move(what));
    is_member(text->decl, *inside, static_cast<uint32_t>(table_.imports.size() - 1));
  }
  /// Once all programs are seen. Blocks that only the schedule makes are entities of the schedule.
  void bind_block_string(const BlockString& string) {
    auto inside = contents(*string.text);
    auto span = inside ? place(string.text->decl, *inside) : std::nullopt;
    if (!span) { return; }
    Name name(string.text->value);
    std::vector<Use> uses = string.uses;
    if (uses.empty() && string.beside) { uses.push_back(*string.beside); }
    std::vector<uint32_t> found;
    size_t outside = table_.possible_blocks.size();
    for (const Use& use : uses) {
      if (use.program == no_entity) { continue; }
      table_.programs_of({use.program, false},
                         [&](uint32_t program) {
                           std::vector<uint32_t> blocks = table_.blocks_of(program, use.where, name);
                           if (blocks.empty() && use.as == Use::As::Any) { blocks = table_.blocks_of(program, {WorksOn::What::Unknown, {}}, name); }
                           found.insert(found.end(), blocks.begin(), blocks.end());
                         },
                         [&](uint32_t imported, bool is_call) { note_possible({*span, imported, is_call, use.where}, outside); });
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (found.size() > 1) {
      table_.unclear.push_back({*span, found});
      return;
    }
    if (found.size() == 1) { return occur(string.text->decl, *inside, found.front(), Role::Read); }
    for (const Use& use : uses) {
      if (use.as == Use::As::Argument) { return occur(string.text->decl, *inside, block_made(*string.text, use.program), Role::Read); }
    }
  }
  void note_possible(const NameTable::PossibleBlock& one, size_t first) {
    bool is_known = std::any_of(table_.possible_blocks.begin() + static_cast<std::ptrdiff_t>(first), table_.possible_blocks.end(), [&](const NameTable::PossibleBlock& other) {
      return other.imported == one.imported && other.is_call == one.is_call && other.where == one.where;
    });
    if (!is_known) { table_.possible_blocks.push_back(one); }
  }
  auto block_made(const syn::StringExpr& text, uint32_t program) -> uint32_t {
    auto [found, is_new] = made_.try_emplace({text.decl, program, Name(text.value)}, 0);
    if (is_new) {
      found->second = new_entity(Name(text.value), EntityKind::Block, 0, false);
      table_.entities.back().function = text.decl;
      table_.entities.back().program = program;
    }
    return found->second;
  }

  const Snapshot& snapshot_;
  NameTable table_;
  std::vector<Scope> scopes_;
  std::unordered_map<Name, uint32_t> free_;
  std::unordered_map<uint32_t, std::unordered_map<Name, uint32_t>> members_;   // of classes
  std::unordered_set<uint32_t> modules_;                                       // classes whose functions are programs
  std::unordered_map<uint32_t, const syn::FunctionDef*> functions_;
  std::unordered_map<uint32_t, bool> works_on_;                                // of functions: may they change what a schedule works on
  std::unordered_map<uint32_t, Held> held_;                                    // by variables
  std::vector<std::pair<uint32_t, Use>> variable_uses_;
  std::unordered_map<const syn::Expr*, uint32_t> imported_members_;            // what expressions take out of imported files
  std::vector<BlockString> block_strings_;                                     // as they are met
  std::unordered_map<const syn::StringExpr*, size_t> string_at_;               // in block_strings_
  std::map<std::tuple<DeclId, uint32_t, Name>, uint32_t> made_;                // blocks, by schedules
  std::unordered_set<const syn::StringExpr*> told_;                            // arguments of primitives
  std::vector<Made> schedules_;      // of the functions that are read, innermost and latest last
  uint32_t program_ = no_entity;     // the program that is read, or that the schedule is for
  uint32_t class_ = no_entity;
  uint32_t function_ = no_entity;    // the innermost
  const syn::Expr* statement_ = nullptr;   // the latest that is one by itself
  bool changes_function_ = false;    // may any schedule of the file change what it works on, if by a function of another file?
};

auto is_identifier(std::string_view text) -> bool {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) { return false; }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  });
}

auto is_keyword(std::string_view text) -> bool {
  static constexpr std::string_view keywords[] = {
      "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
      "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
      "while", "with", "yield"};
  return std::find(std::begin(keywords), std::end(keywords), text) != std::end(keywords);
}

auto is_of_one_module(const NameTable& names, const std::vector<uint32_t>& blocks) -> bool {
  return std::any_of(names.of_classes.begin(), names.of_classes.end(), [&](const auto& one) {
    return std::all_of(blocks.begin(), blocks.end(), [&](uint32_t block) {
      return std::any_of(one.second.begin(), one.second.end(), [&](const auto& member) { return member.second == names.entities[block].program; });
    });
  });
}

auto why_unclear(const Snapshot& snapshot, const NameTable& names, const NameTable::Unclear& one) -> std::string {
  std::vector<std::string> functions;
  for (uint32_t block : one.entities) { functions.push_back(names.entities[names.entities[block].program].name.str()); }
  return unclear_text(names.entities[one.entities.front()].name.view(), functions, is_of_one_module(names, one.entities), snapshot.lines().line_of(one.span.begin) + 1);
}

auto can_rename(const Entity& entity) -> bool { return entity.is_bound && (entity.kind != EntityKind::Namespace || entity.is_alias); }

}  // namespace

auto NameTable::at(uint32_t offset) const -> const Occurrence* {
  auto after = std::upper_bound(occurrences.begin(), occurrences.end(), offset, [](uint32_t at, const Occurrence& o) { return at < o.span.begin; });
  // A cursor behind a name is on it too, unless another begins there.
  if (after == occurrences.begin() || (after - 1)->span.end < offset) { return nullptr; }
  return &*(after - 1);
}

void NameTable::programs_of(Giving value, const std::function<void(uint32_t)>& found, const std::function<void(uint32_t, bool)>& outside) const {
  std::set<std::pair<uint32_t, bool>> seen;
  auto walk = [&](Giving one, auto&& self) -> void {
    if (!seen.insert({one.entity, one.is_call}).second) { return; }
    const Entity& entity = entities[one.entity];
    if (entity.imported != nowhere) { return outside(entity.imported, one.is_call); }
    if (entity.kind == EntityKind::Program || entity.kind == EntityKind::Class) {
      if (!one.is_call) { found(one.entity); }
      return;
    }
    bool is_function = entity.kind == EntityKind::Function || entity.kind == EntityKind::Schedule;
    auto given = gives.find(one.entity);
    if (given == gives.end() || (is_function && !one.is_call)) { return; }
    for (Giving next : given->second) {
      if (is_function || !one.is_call) {
        self(next, self);
      } else if (!next.is_call) {
        self({next.entity, true}, self);
      }
    }
  };
  walk(value, walk);
}

auto NameTable::blocks_of(uint32_t program, const WorksOn& where, Name block) const -> std::vector<uint32_t> {
  std::vector<uint32_t> out;
  auto look = [&](uint32_t function) {
    auto blocks = of_programs.find(function);
    if (blocks == of_programs.end()) { return; }
    if (auto found = blocks->second.find(block); found != blocks->second.end()) { out.push_back(found->second); }
  };
  auto members = of_classes.find(program);
  if (members == of_classes.end()) {
    look(program);
    return out;
  }
  // A schedule begins with `main`, or with the only function.
  std::vector<uint32_t> functions;
  std::vector<uint32_t> macros;
  for (const auto& [name, entity] : members->second) { (entities[entity].kind == EntityKind::Program ? functions : macros).push_back(entity); }
  std::optional<Name> wanted;
  if (where.what == WorksOn::What::Named) { wanted = where.function; }
  if (where.what == WorksOn::What::Start && members->second.contains(Name("main"))) { wanted = Name("main"); }
  for (uint32_t function : functions) {
    if (!wanted || entities[function].name == *wanted) { look(function); }
  }
  if (out.empty()) { std::for_each(macros.begin(), macros.end(), look); }
  std::sort(out.begin(), out.end());
  return out;
}

auto names_of(const Snapshot& snapshot) -> NameTable { return Finder(snapshot).run([](const syn::PlacedItem&) { return true; }); }
auto names_in_reach(const Snapshot& snapshot, const syn::PlacedItem* item) -> NameTable {
  return Finder(snapshot).run([item](const syn::PlacedItem& placed) { return &placed == item; });
}

auto definition(const Snapshot& snapshot, uint32_t offset) -> std::optional<Span> {
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(offset);
  if (here == nullptr) { return std::nullopt; }
  if (here->role == Role::Bind) { return here->span; }
  std::optional<Span> found;
  for (const Occurrence& other : names.occurrences) {
    if (other.entity != here->entity || other.role != Role::Bind) { continue; }
    if (found && other.span.begin > here->span.begin) { break; }
    found = other.span;
  }
  return found;
}

auto references(const Snapshot& snapshot, uint32_t offset) -> std::vector<Occurrence> {
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(offset);
  std::vector<Occurrence> found;
  if (here == nullptr) { return found; }
  std::copy_if(names.occurrences.begin(), names.occurrences.end(), std::back_inserter(found), [&](const Occurrence& o) { return o.entity == here->entity; });
  return found;
}

auto renameable(const Snapshot& snapshot, uint32_t offset) -> std::optional<Span> {
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(offset);
  if (here == nullptr || !can_rename(names.entities[here->entity])) { return std::nullopt; }
  return here->span;
}

auto rename(const Snapshot& snapshot, uint32_t offset, std::string_view name) -> Rename {
  NameTable names = names_of(snapshot);
  for (const NameTable::Unclear& one : names.unclear) {
    if (one.span.begin <= offset && offset <= one.span.end) { return {{}, why_unclear(snapshot, names, one)}; }
  }
  const Occurrence* here = names.at(offset);
  if (here == nullptr) { return {{}, "there is no name here"}; }
  const Entity& entity = names.entities[here->entity];
  if (!can_rename(entity)) { return {{}, fmt::format("`{}` is not bound in this file", entity.name.view())}; }
  bool is_block = entity.kind == EntityKind::Block;
  if (std::string problem = not_a_name(name, is_block); !problem.empty()) { return {{}, problem}; }
  if (Name(name) == entity.name) { return {}; }
  Rename result;
  for (const Occurrence& o : names.occurrences) {
    if (o.entity == here->entity) { result.places.push_back(o.span); }
  }
  for (const NameTable::Unclear& one : names.unclear) {
    if (std::find(one.entities.begin(), one.entities.end(), here->entity) != one.entities.end()) { return {{}, why_unclear(snapshot, names, one)}; }
  }
  if (std::string problem = in_the_way(snapshot, names, result.places, name, is_block); !problem.empty()) { return {{}, problem}; }
  return result;
}

auto not_a_name(std::string_view name, bool is_block) -> std::string {
  bool is_wrong = is_block ? name.empty() || name.find_first_of("\"'\\\n") != std::string_view::npos : !is_identifier(name) || is_keyword(name);
  return is_wrong ? fmt::format("`{}` cannot be a name", name) : std::string();
}

auto unclear_text(std::string_view block, std::vector<std::string> functions, bool is_one_module, uint32_t line, std::string_view other) -> std::string {
  for (std::string& function : functions) { function = "`" + function + "`"; }
  std::string place = other.empty() ? fmt::format("line {}", line) : fmt::format("line {} of {}", line, other);
  std::string_view remedy = is_one_module ? "say which with `func_name=`, or with `work_on` before it" : "write a string of its own for each";
  return fmt::format("\"{}\" in {} may be a block of {}: {}", block, place, fmt::join(functions, " or of "), remedy);
}

auto in_the_way(const Snapshot& snapshot, const NameTable& names, const std::vector<Span>& places, std::string_view name, bool is_block) -> std::string {
  std::vector<DeclId> functions;
  for (Span place : places) { functions.push_back(snapshot.syntax().whole(snapshot.syntax().origin_at(place.begin).decl)); }
  // Another thing of that name in reach of one of the places would be meant instead, or hidden.
  for (const Occurrence& o : names.occurrences) {
    const Entity& other = names.entities[o.entity];
    if (!(other.name == name) || (other.kind == EntityKind::Block) != is_block) { continue; }
    DeclId where = snapshot.syntax().whole(snapshot.syntax().origin_at(o.span.begin).decl);
    bool is_seen = std::find(functions.begin(), functions.end(), where) != functions.end() || (other.function == 0 && other.is_bound);
    if (is_seen) { return fmt::format("`{}` already has a meaning in line {}", name, snapshot.lines().line_of(o.span.begin) + 1); }
  }
  return {};
}

}  // namespace loopsmith::lsp
