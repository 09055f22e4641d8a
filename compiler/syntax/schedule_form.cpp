// Schedules by their text: see schedule_form.h.
#include "syntax/schedule_form.h"

#include <algorithm>
#include <vector>

namespace loopsmith::syntax {
namespace {

auto names_schedule(const Expr* annotation) -> bool {
  if (!annotation) { return false; }
  if (const auto* attribute = annotation->as<AttributeExpr>()) { return attribute->attr.name == "Schedule"; }
  if (const auto* name = annotation->as<NameExpr>()) { return name->name == "Schedule"; }
  if (const auto* text = annotation->as<StringExpr>()) { return text->value.ends_with("Schedule"); }
  return false;
}

// `ls.schedule(...)` or `loopsmith.schedule(...)`.
auto schedule_decorator(const FunctionDef& def) -> const CallExpr* {
  for (const Expr* decorator : def.decorators) {
    const auto* call = decorator->as<CallExpr>();
    const auto* attribute = call ? call->callee->as<AttributeExpr>() : nullptr;
    if (!attribute || !(attribute->attr.name == "schedule")) { continue; }
    const auto* object = attribute->object->as<NameExpr>();
    if (object && (object->name == "ls" || object->name == "loopsmith")) { return call; }
  }
  return nullptr;
}

// A helper of schedules: `def tiled(sch: tir.Schedule, rows, columns)`.
auto needs_more_arguments(const FunctionDef& def) -> bool {
  return def.params.size() > 1 && std::any_of(def.params.begin() + 1, def.params.end(), [](const Param& p) { return p.kind == ParamKind::Plain && !p.default_value; });
}

// `Schedule(...)` of TVM's namespaces: `tir.Schedule`, `tvm.tir.Schedule`, `tvm.s_tir.Schedule`.
auto makes_schedule(const Expr& e) -> const CallExpr* {
  const auto* call = e.as<CallExpr>();
  if (!call || !names_schedule(call->callee) || !scheduled_program(*call)) { return nullptr; }
  const auto* attribute = call->callee->as<AttributeExpr>();
  if (!attribute) { return call->callee->as<NameExpr>() ? call : nullptr; }
  Name space;
  if (const auto* inner = attribute->object->as<AttributeExpr>()) { space = inner->attr.name; }
  if (const auto* name = attribute->object->as<NameExpr>()) { space = name->name; }
  static const Name spaces[] = {"tir", "s_tir", "schedule"};
  return std::find(std::begin(spaces), std::end(spaces), space) != std::end(spaces) ? call : nullptr;
}

// `NAME = CALL`, with and without an annotation.
struct NamedCall { const NameExpr* name = nullptr; const CallExpr* call = nullptr; };
auto named_call(const Node& stmt) -> NamedCall {
  if (const auto* assign = stmt.as<AssignStmt>()) { return assign->targets.size() == 1 ? NamedCall{assign->targets[0]->as<NameExpr>(), assign->value->as<CallExpr>()} : NamedCall{}; }
  const auto* annotated = stmt.as<AnnAssignStmt>();
  return annotated && annotated->value ? NamedCall{annotated->target->as<NameExpr>(), annotated->value->as<CallExpr>()} : NamedCall{};
}

// `sch = tir.Schedule(PROGRAM)`.
auto makes_schedule(const Stmt& stmt) -> const NameExpr* {
  if (!stmt.as<AssignStmt>()) { return nullptr; }
  auto [name, call] = named_call(stmt);
  return name && call && makes_schedule(*call) ? name : nullptr;
}

// `with Target("..."):` and the like, which do not catch what their statements raise.
auto is_transparent(const WithStmt& with) -> bool {
  return std::none_of(with.items.begin(), with.items.end(), [](const WithItem& item) {
    const auto* call = item.context->as<CallExpr>();
    const auto* attribute = call ? call->callee->as<AttributeExpr>() : nullptr;
    const auto* name = call ? call->callee->as<NameExpr>() : nullptr;
    Name called = attribute ? attribute->attr.name : name ? name->name : Name();
    return item.target || called == "raises" || called == "warns" || called == "suppress";
  });
}

// The `with` around `sch = tir.Schedule(PROGRAM)`; null: there is none.
auto with_around_schedule(const Stmt& stmt) -> const WithStmt* {
  const auto* with = stmt.as<WithStmt>();
  if (!with || !is_transparent(*with)) { return nullptr; }
  bool makes = std::any_of(with->body.begin(), with->body.end(), [](const Stmt* inner) { return makes_schedule(*inner) || with_around_schedule(*inner); });
  return makes ? with : nullptr;
}

void put_flat(const Block& body, std::vector<StmtPtr>& out) {
  for (StmtPtr stmt : body) {
    if (const WithStmt* with = with_around_schedule(*stmt)) { put_flat(with->body, out); } else { out.push_back(stmt); }
  }
}

void put_contexts(const Block& body, std::vector<const Expr*>& around, std::vector<std::vector<const Expr*>>& out) {
  for (StmtPtr stmt : body) {
    const WithStmt* with = with_around_schedule(*stmt);
    if (!with) {
      out.push_back(around);
      continue;
    }
    size_t outside = around.size();
    for (const WithItem& item : with->items) { around.push_back(item.context); }
    put_contexts(with->body, around, out);
    around.resize(outside);
  }
}

}  // namespace

auto is_schedule_made(const CallExpr& call) -> bool { return makes_schedule(static_cast<const Expr&>(call)) != nullptr; }

auto contexts_of(const ItemPtr& item) -> std::vector<std::vector<const Expr*>> {
  std::vector<std::vector<const Expr*>> out;
  const auto* def = !item || item->statements.empty() ? nullptr : item->statements[0]->as<FunctionDef>();
  if (!def || std::none_of(def->body.begin(), def->body.end(), [](const Stmt* stmt) { return with_around_schedule(*stmt); })) { return out; }
  std::vector<const Expr*> around;
  put_contexts(def->body, around, out);
  return out;
}

auto made_schedules(const FunctionDef& def, const std::function<bool(Name)>& gives) -> std::vector<ScheduleForm> {
  std::vector<ScheduleForm> out;
  for (size_t i = 0; i < def.body.size(); ++i) {
    const Stmt& stmt = *def.body[i];
    if (const NameExpr* name = makes_schedule(stmt)) {
      out.push_back({.variable = name->name, .variable_span = name->span, .made = named_call(stmt).call, .made_at = i});
      continue;
    }
    walk(stmt, [&](const Node& node) {
      auto [name, call] = named_call(node);
      if (!name || !call) { return true; }
      const auto* callee = call->callee->as<NameExpr>();
      bool is_call = callee && gives && gives(callee->name);
      if (is_call || makes_schedule(*call)) { out.push_back({.variable = name->name, .variable_span = name->span, .made = call, .made_at = i, .is_nested = &node != &stmt || !is_call, .is_call = is_call}); }
      return true;
    });
  }
  return out;
}

auto is_script(const Item& item) -> bool { return item.kind == ItemKind::Assign && !item.statements.empty() && makes_schedule(*item.statements[0]); }

auto function_of(const ItemPtr& item) -> std::shared_ptr<const FunctionDef> {
  if (!item || item->statements.empty()) { return nullptr; }
  if (const auto* def = item->statements[0]->as<FunctionDef>()) {
    if (std::none_of(def->body.begin(), def->body.end(), [](const Stmt* stmt) { return with_around_schedule(*stmt); })) { return {item, def}; }
    struct Flat {
      ItemPtr item;
      FunctionDef def;
      std::vector<StmtPtr> body;
    };
    auto flat = std::make_shared<Flat>(Flat{item, *def, {}});
    put_flat(def->body, flat->body);
    flat->def.body = Block(flat->body.data(), static_cast<uint32_t>(flat->body.size()));
    return {flat, &flat->def};
  }
  if (!is_script(*item)) { return nullptr; }
  const NameExpr* variable = makes_schedule(*item->statements[0]);
  struct Script {
    ItemPtr item;
    FunctionDef def;
  };
  auto script = std::make_shared<Script>();
  script->item = item;
  FunctionDef& def = script->def;
  def.kind = Kind::FunctionDef;
  def.decl = item->decl;
  def.span = {0, static_cast<uint32_t>(item->text.size())};
  def.name = {variable->name, variable->span};
  def.body = item->statements;
  def.text_hash = item->hash;
  return {script, &script->def};
}

auto scheduled_program(const CallExpr& made) -> const Expr* {
  if (!made.args.empty()) { return made.args[0]; }
  for (const Keyword& keyword : made.keywords) {
    if (keyword.name.name == "mod") { return keyword.value; }
  }
  return nullptr;
}

auto schedule_parameter(const FunctionDef& def) -> Name {
  static const Name usual("sch");
  for (const Param& param : def.params) {
    if (names_schedule(param.annotation) || param.name.name == usual) { return param.name.name; }
  }
  return {};
}

auto schedule_form(const FunctionDef& def) -> std::optional<ScheduleForm> {
  ScheduleForm out;
  out.decorator = schedule_decorator(def);
  if (out.decorator || (!def.params.empty() && names_schedule(def.params[0].annotation))) {
    if (!out.decorator && needs_more_arguments(def)) { return {}; }
    if (!def.params.empty()) { out.variable = def.params[0].name.name; }
    return out;
  }
  for (size_t i = 0; i < def.body.size(); ++i) {
    const auto* assign = def.body[static_cast<uint32_t>(i)]->as<AssignStmt>();
    const auto* target = assign && assign->targets.size() == 1 ? assign->targets[0]->as<NameExpr>() : nullptr;
    out.made = target ? makes_schedule(*assign->value) : nullptr;
    if (!out.made) { continue; }
    out.variable = target->name;
    out.variable_span = target->span;
    out.made_at = i;
    return out;
  }
  return {};
}

}  // namespace loopsmith::syntax
