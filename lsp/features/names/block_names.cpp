// The programs of schedules, and the strings in schedules that name blocks: see finder.h.
#include "lsp/features/names/finder.h"

#include <algorithm>

#include "lsp/features/names/binding_forms.h"
#include "schedule/primitive.h"

namespace loopsmith::lsp {

// ---- blocks by their names ----------------------------------------------------------------------------------------------

auto NameFinder::contents(const syn::StringExpr& text) -> std::optional<Span> {
  if (!text.prefix.empty() || text.span.end - text.span.begin != text.value.size() + 2) { return std::nullopt; }
  return Span{text.span.begin + 1, text.span.end - 1};
}

void NameFinder::bind_block(const syn::StringExpr& name) {
  auto inside = contents(name);
  if (!inside || program_ == no_entity || name.value.empty()) { return; }
  auto [found, is_new] = table_.of_programs[program_].try_emplace(Name(name.value), 0);
  if (is_new) {
    found->second = new_entity(Name(name.value), EntityKind::Block, 0, true);
    table_.entities.back().program = program_;
  }
  occur(name.decl, *inside, found->second, Role::Bind);
}

auto NameFinder::scheduled_program(const syn::ScheduleForm& form) -> uint32_t {
  const syn::Expr* value = form.made != nullptr ? syn::scheduled_program(*form.made) : form.decorator != nullptr && !form.decorator->args.empty() ? form.decorator->args.front() : nullptr;
  const auto* name = value != nullptr ? value->as<syn::NameExpr>() : nullptr;
  if (name != nullptr) {
    uint32_t entity = look_up(name->name);
    bool is_variable = entity != no_entity && table_.entities[entity].function != 0 && (table_.entities[entity].kind == EntityKind::Variable || table_.entities[entity].kind == EntityKind::Parameter);
    if (form.made == nullptr || (entity != no_entity && (!is_variable || table_.gives.contains(entity)))) { return entity; }
  } else if (value != nullptr) {
    // `tir.Schedule(sch.mod)` has the program of `sch`.
    const auto* part = value->as<syn::SubscriptExpr>();
    const auto* module = (part != nullptr ? part->object : value)->as<syn::AttributeExpr>();
    const Made* other = module != nullptr && module->attr.name == "mod" ? find_schedule(last_name(module->object)) : nullptr;
    return other != nullptr ? other->program : unnamed_program(*value);
  }
  // Without a decorator the schedule is for the only program of the file, as in a run.
  uint32_t only = no_entity;
  for (uint32_t i = 0; i < table_.entities.size(); ++i) {
    const Entity& entity = table_.entities[i];
    if (entity.function != 0 || (entity.kind != EntityKind::Program && !modules_.contains(i))) { continue; }
    if (only != no_entity) { return no_entity; }
    only = i;
  }
  return only;
}

auto NameFinder::unnamed_program(const syn::Expr& program) -> uint32_t {
  Giving value = giving(program);
  if (value.entity == no_entity || !value.is_call) { return value.entity; }
  uint32_t entity = new_entity(Name(), EntityKind::Variable, 0, false);
  table_.gives[entity].push_back(value);
  return entity;
}

auto NameFinder::giving(const syn::Expr& expr) -> Giving {
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

auto NameFinder::outside_program(const syn::Expr& value) -> uint32_t {
  // The statement that makes the schedule comes later.
  const auto* attribute = value.as<syn::AttributeExpr>();
  const Imported* outer = attribute != nullptr && !table_.imports.empty() ? imported_by(attribute->object) : nullptr;
  if (outer == nullptr || is_of_others(*outer)) { return no_entity; }
  Imported what = *outer;
  what.path.push_back(attribute->attr.name);
  table_.imports.push_back(std::move(what));
  uint32_t entity = new_entity(Name(), EntityKind::Namespace, 0, false);
  table_.entities.back().imported = static_cast<uint32_t>(table_.imports.size() - 1);
  return entity;
}

void NameFinder::note_schedule(const syn::ScheduleForm& form) {
  program_ = scheduled_program(form);
  schedules_.push_back({form.variable.view(), program_, {}});
}

auto NameFinder::find_schedule(std::string_view variable) -> Made* {
  auto found = std::find_if(schedules_.rbegin(), schedules_.rend(), [&](const Made& made) { return made.variable == variable; });
  return found == schedules_.rend() ? nullptr : &*found;
}

auto NameFinder::is_imported(uint32_t entity) const -> bool { return entity != no_entity && table_.entities[entity].imported != nowhere; }

// ---- which function a schedule works on --------------------------------------------------------------------------------

void NameFinder::forget_functions() {
  if (!changes_function_) { return; }
  for (Made& made : schedules_) { made.where = {WorksOn::What::Unknown, {}}; }
}

void NameFinder::join(const std::vector<Made>& other, size_t older) {
  for (size_t i = 0; i < older; ++i) {
    if (!(other[i].where == schedules_[i].where)) { schedules_[i].where = {WorksOn::What::Unknown, {}}; }
  }
  auto at = static_cast<std::ptrdiff_t>(older);
  schedules_.insert(schedules_.begin() + at, other.begin() + at, other.end());
}

void NameFinder::note_work_on(const syn::CallExpr& call) {
  const auto* method = call.callee->as<syn::AttributeExpr>();
  if (Made* of = method != nullptr && method->attr.name == "work_on" ? find_schedule(last_name(method->object)) : nullptr) {
    const syn::StringExpr* function = call.args.size() == 1 ? call.args.front()->as<syn::StringExpr>() : string_keyword(call, "func_name");
    // Part of an expression may not be evaluated.
    bool is_known = function != nullptr && statement_ == &call;
    of->where = is_known ? WorksOn{WorksOn::What::Named, Name(function->value)} : WorksOn{WorksOn::What::Unknown, {}};
  } else if (schedule_handed(call) != nullptr && helper_works_on(call.callee)) {
    forget_functions();
  }
}

auto NameFinder::schedule_handed(const syn::CallExpr& call) -> const Made* {
  auto made_by = [&](const syn::Expr* value) { return value->as<syn::NameExpr>() != nullptr ? find_schedule(last_name(value)) : nullptr; };
  for (const syn::Expr* value : call.args) {
    if (const Made* made = made_by(value)) { return made; }
  }
  for (const syn::Keyword& keyword : call.keywords) {
    if (const Made* made = made_by(keyword.value)) { return made; }
  }
  return nullptr;
}

auto NameFinder::helper_works_on(const syn::Expr* callee) -> bool {
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

auto NameFinder::may_work_on(const syn::Node& node) -> bool {
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

// ---- values of variables ------------------------------------------------------------------------------------------------

void NameFinder::note_value(const syn::Expr* target, const syn::Expr* value) {
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

void NameFinder::note_held(const syn::Expr* target, const syn::Expr& value) {
  if (const auto* name = target->as<syn::NameExpr>()) {
    if (uint32_t entity = look_up(name->name); entity != no_entity) { collect(value, held_[entity]); }
  }
  if (const auto* tuple = target->as<syn::TupleExpr>()) { for (const syn::Expr* e : tuple->elements) { note_held(e, value); } }
}

void NameFinder::note_returned(const syn::Expr* value) {
  if (function_ == no_entity || in_tir()) { return; }
  if (Giving given = giving(*value); given.entity != no_entity) { table_.gives[function_].push_back(given); }
}

void NameFinder::collect(const syn::Expr& value, Held& held) {
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

auto NameFinder::string_of(const syn::StringExpr& text) -> BlockString& {
  auto [found, is_new] = string_at_.try_emplace(&text, block_strings_.size());
  if (is_new) { block_strings_.push_back({&text, std::nullopt, {}}); }
  return block_strings_[found->second];
}

void NameFinder::add_use(const syn::StringExpr& text, const Use& use) {
  std::vector<Use>& uses = string_of(text).uses;
  if (std::find(uses.begin(), uses.end(), use) == uses.end()) { uses.push_back(use); }
}

void NameFinder::note_use(const syn::Expr* value, const Use& use) {
  if (const auto* text = value->as<syn::StringExpr>()) { return add_use(*text, use); }
  Use inside = use;
  if (use.as == Use::As::Argument) { inside.as = Use::As::Held; }
  Held held;
  collect(*value, held);
  for (const syn::StringExpr* text : held.texts) { add_use(*text, inside); }
  for (uint32_t variable : held.variables) { variable_uses_.emplace_back(variable, inside); }
}

void NameFinder::follow_strings() {
  for (const auto& [variable, use] : variable_uses_) {
    std::unordered_set<uint32_t> seen;
    follow(variable, use, seen);
  }
}

void NameFinder::follow(uint32_t variable, const Use& use, std::unordered_set<uint32_t>& seen) {
  auto held = held_.find(variable);
  if (held == held_.end() || !seen.insert(variable).second) { return; }
  for (const syn::StringExpr* text : held->second.texts) {
    if (!arguments_.contains(text)) { add_use(*text, use); }
  }
  for (uint32_t other : held->second.variables) { follow(other, use, seen); }
}

void NameFinder::note_blocks(const syn::CallExpr& call) {
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
    if (const auto* text = value->as<syn::StringExpr>()) { arguments_.insert(text); }
    bool names_block = param->kind == schedule::ValueKind::Block || param->kind == schedule::ValueKind::BlockOrLoop || (row->name == "get_block" && param->name == "name");
    if (names_block) { note_use(value, use); }
  }
}

void NameFinder::note_handed(const syn::CallExpr& call, Use use) {
  if (changes_function_ && helper_works_on(call.callee)) { use.where = {WorksOn::What::Unknown, {}}; }
  for (const syn::Expr* value : call.args) { note_use(value, use); }
  for (const syn::Keyword& keyword : call.keywords) { note_use(keyword.value, use); }
}

void NameFinder::note_program(const syn::Expr* value, uint32_t program) {
  const auto* text = value->as<syn::StringExpr>();
  auto inside = text != nullptr ? contents(*text) : std::nullopt;
  if (!inside || program == no_entity) { return; }
  arguments_.insert(text);
  if (!is_imported(program)) { return read_member(program, Name(text->value), text->decl, *inside); }
  Imported what = table_.imports[table_.entities[program].imported];
  what.path.emplace_back(text->value);
  table_.imports.push_back(std::move(what));
  is_member(text->decl, *inside, static_cast<uint32_t>(table_.imports.size() - 1));
}

void NameFinder::bind_block_string(const BlockString& string) {
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

void NameFinder::note_possible(const NameTable::PossibleBlock& one, size_t first) {
  bool is_known = std::any_of(table_.possible_blocks.begin() + static_cast<std::ptrdiff_t>(first), table_.possible_blocks.end(), [&](const NameTable::PossibleBlock& other) {
    return other.imported == one.imported && other.is_call == one.is_call && other.where == one.where;
  });
  if (!is_known) { table_.possible_blocks.push_back(one); }
}

auto NameFinder::block_made(const syn::StringExpr& text, uint32_t program) -> uint32_t {
  auto [found, is_new] = made_.try_emplace({text.decl, program, Name(text.value)}, 0);
  if (is_new) {
    found->second = new_entity(Name(text.value), EntityKind::Block, 0, false);
    table_.entities.back().function = text.decl;
    table_.entities.back().program = program;
  }
  return found->second;
}

}  // namespace loopsmith::lsp
