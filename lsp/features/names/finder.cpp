// Scopes, statements and expressions: see finder.h.
#include "lsp/features/names/finder.h"

#include <algorithm>

#include "frontend/lower.h"
#include "lsp/features/names/binding_forms.h"

namespace loopsmith::lsp {

// ---- entities and places ------------------------------------------------------------------------------------------

auto NameFinder::place(DeclId decl, Span inside) -> std::optional<Span> { return snapshot_.syntax().resolve({decl, inside.begin, inside.end, 0}); }

auto NameFinder::new_entity(Name name, EntityKind kind, uint16_t traits, bool is_bound) -> uint32_t {
  table_.entities.push_back({name, kind, traits, scopes_.back().function, is_bound});
  return static_cast<uint32_t>(table_.entities.size() - 1);
}

void NameFinder::occur(DeclId decl, Span inside, uint32_t entity, Role role) {
  if (inside.begin >= inside.end) { return; }
  if (auto span = place(decl, inside)) { table_.occurrences.push_back({*span, entity, role}); }
}

auto NameFinder::look_up(Name name) -> uint32_t {
  bool is_innermost = true;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    // Functions in a class do not see the names of the class.
    if (scope->is_class && !is_innermost) { continue; }
    if (auto found = scope->names.find(name); found != scope->names.end()) { return found->second; }
    if (scope->is_function || scope->is_class) { is_innermost = false; }
  }
  return no_entity;
}

auto NameFinder::bind(Name name, EntityKind kind, uint16_t traits) -> uint32_t {
  uint32_t entity = new_entity(name, kind, traits, true);
  scopes_.back().names[name] = entity;
  return entity;
}

auto NameFinder::bind_once(Name name, EntityKind kind, uint16_t traits) -> uint32_t {
  if (auto found = scopes_.back().names.find(name); found != scopes_.back().names.end()) {
    Entity& entity = table_.entities[found->second];
    entity.is_bound = true;
    return found->second;
  }
  return bind(name, kind, traits);
}

// ---- names that a list binds before it is read (script functions, the file, classes) ----------------------------------

void NameFinder::hoist_target(const syn::Expr* target, EntityKind kind) {
  if (target == nullptr) { return; }
  if (const auto* name = target->as<syn::NameExpr>()) { bind_once(name->name, kind); }
  if (const auto* tuple = target->as<syn::TupleExpr>()) { for (const syn::Expr* e : tuple->elements) { hoist_target(e, kind); } }
  if (const auto* list = target->as<syn::ListExpr>()) { for (const syn::Expr* e : list->elements) { hoist_target(e, kind); } }
  if (const auto* starred = target->as<syn::StarredExpr>()) { hoist_target(starred->value, kind); }
}

void NameFinder::hoist(const syn::Block& body, bool is_file) {
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

auto NameFinder::imported(const syn::ImportName& name) -> Name {
  return name.alias.name.empty() ? (name.path.empty() ? Name() : name.path.front().name) : name.alias.name;
}

// ---- statements -----------------------------------------------------------------------------------------------------

auto NameFinder::in_tir() const -> bool { return scopes_.back().is_tir; }

void NameFinder::visit_list(const syn::Block& body) {
  for (const syn::Stmt* statement : body) { visit(*statement); }
}

void NameFinder::visit_inner(const syn::Block& body) {
  if (!in_tir()) { return visit_list(body); }
  push_list();
  visit_list(body);
  scopes_.pop_back();
}

void NameFinder::push_list() {
  Scope inner;
  inner.is_tir = scopes_.back().is_tir;
  inner.function = scopes_.back().function;
  scopes_.push_back(std::move(inner));
}

void NameFinder::visit(const syn::Stmt& statement) {
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

auto NameFinder::module_of(const syn::ImportFromStmt& from) -> Imported {
  Imported module{from.level, {}};
  for (const syn::Identifier& part : from.module) { module.path.push_back(part.name); }
  return module;
}

void NameFinder::visit_import(DeclId decl, const syn::ImportName& name, const syn::ImportFromStmt* from) {
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

void NameFinder::is_member(DeclId decl, Span inside, uint32_t index, bool is_import) {
  if (auto span = place(decl, inside)) { table_.members.push_back({*span, index, is_import}); }
}

auto NameFinder::imported_by(const syn::Expr* expr) -> const Imported* {
  if (const auto* name = expr->as<syn::NameExpr>()) {
    uint32_t entity = look_up(name->name);
    uint32_t index = entity != no_entity ? table_.entities[entity].imported : nowhere;
    return index != nowhere ? &table_.imports[index] : nullptr;
  }
  auto found = imported_members_.find(expr);
  return found != imported_members_.end() ? &table_.imports[found->second] : nullptr;
}

auto NameFinder::is_of_others(const Imported& what) -> bool {
  static const Name not_ours[] = {"tvm", "numpy", "torch"};
  return what.path.empty() || std::find(std::begin(not_ours), std::end(not_ours), what.path.front()) != std::end(not_ours);
}

void NameFinder::note_imported_member(const syn::Expr& whole, const syn::Expr* object, Name name, Span span) {
  if (table_.imports.empty()) { return; }
  const Imported* outer = imported_by(object);
  if (outer == nullptr || is_of_others(*outer)) { return; }
  Imported what = *outer;
  what.path.push_back(name);
  table_.imports.push_back(std::move(what));
  imported_members_[&whole] = static_cast<uint32_t>(table_.imports.size() - 1);
  is_member(whole.decl, span, imported_members_[&whole]);
}

void NameFinder::visit_with(const syn::WithStmt& with) {
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

void NameFinder::visit_function(const syn::FunctionDef& def) {
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
  // The function may be called while the schedule around it works on any function.
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
  // Shapes in annotations may use other parameters.
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

auto NameFinder::visit_name(const syn::Stmt& statement) -> bool {
  const auto* def = statement.as<syn::FunctionDef>();
  const auto* type = statement.as<syn::ClassDef>();
  if (def == nullptr && type == nullptr) { return false; }
  const syn::Identifier& name = def != nullptr ? def->name : type->name;
  uint32_t self = look_up(name.name);
  if (self != no_entity) { occur(statement.decl, name.span, self, Role::Bind); }
  return true;
}

void NameFinder::visit_class(const syn::ClassDef& type) {
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

void NameFinder::visit_target(const syn::Expr* target, EntityKind kind, uint16_t traits, const syn::Expr* value, bool is_fresh) {
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

auto NameFinder::look_up_inside(Name name) -> uint32_t {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto found = scope->names.find(name); found != scope->names.end()) { return found->second; }
    if (scope->is_function) { break; }
  }
  return no_entity;
}

auto NameFinder::remap_kinds(const syn::Expr* value) -> std::string_view {
  const auto* call = value != nullptr ? value->as<syn::CallExpr>() : nullptr;
  if (call == nullptr || last_name(call->callee) != "remap" || call->args.empty()) { return {}; }
  const auto* kinds = call->args.front()->as<syn::StringExpr>();
  return kinds != nullptr ? kinds->value : std::string_view();
}

void NameFinder::note_feeding(const syn::Expr* value, uint16_t traits) {
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

void NameFinder::read(DeclId decl, Name name, Span span, Role role) {
  uint32_t entity = look_up(name);
  if (entity == no_entity) {
    // A predeclared name (`T`) or an unknown one: one entity per name in the file.
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

void NameFinder::visit(const syn::Expr* root) {
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
  if (const auto* text = root->as<syn::StringExpr>(); text != nullptr && !schedules_.empty() && !arguments_.contains(text)) {
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

auto NameFinder::class_of(const syn::Expr* object) -> uint32_t {
  const auto* name = object->as<syn::NameExpr>();
  if (name == nullptr) { return no_entity; }
  uint32_t entity = look_up(name->name);
  if (entity == no_entity) { return name->name == "cls" ? class_ : no_entity; }
  return table_.entities[entity].kind == EntityKind::Class ? entity : no_entity;
}

void NameFinder::visit_member(const syn::AttributeExpr& attribute) {
  read_member(class_of(attribute.object), attribute.attr.name, attribute.decl, attribute.attr.span);
  note_imported_member(attribute, attribute.object, attribute.attr.name, attribute.attr.span);
}

void NameFinder::visit_member(const syn::SubscriptExpr& subscript) {
  if (subscript.indices.size() != 1) { return; }
  const auto* text = subscript.indices.front()->as<syn::StringExpr>();
  if (text == nullptr) { return; }
  auto inside = contents(*text);
  if (!inside) { return; }
  read_member(class_of(subscript.object), Name(text->value), text->decl, *inside);
  note_imported_member(subscript, subscript.object, Name(text->value), *inside);
}

void NameFinder::read_member(uint32_t type, Name name, DeclId decl, Span span) {
  auto members = members_.find(type);
  if (type == no_entity || members == members_.end()) { return; }
  if (auto found = members->second.find(name); found != members->second.end()) { occur(decl, span, found->second, Role::Read); }
}

}  // namespace loopsmith::lsp
