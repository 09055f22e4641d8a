// Recognises schedules by their text: see schedule_form.h.
#include "syntax/schedule_form.h"

#include <algorithm>
#include <vector>

#include "syntax/record_form.h"

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

// `@ls.rule`, `@ls.postproc`, `@ls.mutator`: a function that the tuner calls.
auto is_tuner_piece(const FunctionDef& def) -> bool {
  static const Name words[] = {Name("rule"), Name("postproc"), Name("mutator")};
  return std::any_of(def.decorators.begin(), def.decorators.end(), [](const Expr* decorator) {
    if (const auto* call = decorator->as<CallExpr>()) { decorator = call->callee; }
    const auto* attribute = decorator->as<AttributeExpr>();
    const auto* object = attribute ? attribute->object->as<NameExpr>() : nullptr;
    return object && (object->name == "ls" || object->name == "loopsmith") && std::find(std::begin(words), std::end(words), attribute->attr.name) != std::end(words);
  });
}

// A helper function of schedules: `def tiled(sch: tir.Schedule, rows, columns)`.
auto needs_more_arguments(const FunctionDef& def) -> bool {
  return def.params.size() > 1 && std::any_of(def.params.begin() + 1, def.params.end(), [](const Param& p) { return p.kind == ParamKind::Plain && !p.default_value; });
}

// `Schedule(...)` of TVM's namespaces: `tir.Schedule`, `tvm.tir.Schedule`, `tvm.s_tir.Schedule`.
auto makes_schedule(const Expr& e) -> const CallExpr* {
  const auto* call = e.as<CallExpr>();
  if (call && (makes_stages(*call) || applies_record(*call))) { return call; }
  if (!call || !names_schedule(call->callee) || !scheduled_program(*call)) { return nullptr; }
  const auto* attribute = call->callee->as<AttributeExpr>();
  if (!attribute) { return call->callee->as<NameExpr>() ? call : nullptr; }
  Name space;
  if (const auto* inner = attribute->object->as<AttributeExpr>()) { space = inner->attr.name; }
  if (const auto* name = attribute->object->as<NameExpr>()) { space = name->name; }
  static const Name spaces[] = {"tir", "s_tir", "schedule"};
  return std::find(std::begin(spaces), std::end(spaces), space) != std::end(spaces) ? call : nullptr;
}

// `NAME = CALL`, with and without an annotation; `NAME, ARGS = CALL` for calls that apply records.
struct NamedCall { const NameExpr* name = nullptr; const CallExpr* call = nullptr; };
auto named_call(const Node& stmt) -> NamedCall {
  if (const auto* assign = stmt.as<AssignStmt>()) {
    if (assign->targets.size() != 1) { return {}; }
    const auto* call = assign->value->as<CallExpr>();
    const auto* names = call && applies_record(*call) ? assign->targets[0]->as<TupleExpr>() : nullptr;
    const Expr* first = names && names->elements.size() == 2 ? names->elements[0] : assign->targets[0];
    const auto* name = first->as<NameExpr>();
    // A record gives a schedule and its arguments, so one name is no schedule.
    return call && applies_record(*call) && !names ? NamedCall{} : NamedCall{name, call};
  }
  const auto* annotated = stmt.as<AnnAssignStmt>();
  return annotated && annotated->value ? NamedCall{annotated->target->as<NameExpr>(), annotated->value->as<CallExpr>()} : NamedCall{};
}

// The name that a statement `sch = tir.Schedule(PROGRAM)` binds; null: another statement.
auto makes_schedule(const Stmt& stmt) -> const NameExpr* {
  if (!stmt.as<AssignStmt>()) { return nullptr; }
  auto [name, call] = named_call(stmt);
  return name && call && makes_schedule(*call) ? name : nullptr;
}

// `with Target("..."):` and similar statements, which catch no exceptions.
auto is_transparent(const WithStmt& with) -> bool {
  return std::none_of(with.items.begin(), with.items.end(), [](const WithItem& item) {
    const auto* call = item.context->as<CallExpr>();
    const auto* attribute = call ? call->callee->as<AttributeExpr>() : nullptr;
    const auto* name = call ? call->callee->as<NameExpr>() : nullptr;
    Name called = attribute ? attribute->attr.name : name ? name->name : Name();
    return item.target || called == "raises" || called == "warns" || called == "suppress";
  });
}

// The statements around `sch = tir.Schedule(PROGRAM)`, in a transparent `with` or `if __name__ == "__main__":`; null: there is none around it.
auto block_around_schedule(const Stmt& stmt) -> const Block* {
  const auto* with = stmt.as<WithStmt>();
  const Block* body = with && is_transparent(*with) ? &with->body : is_main(stmt) ? &stmt.as<IfStmt>()->then : nullptr;
  bool makes = body && std::any_of(body->begin(), body->end(), [](const Stmt* inner) { return makes_schedule(*inner) || block_around_schedule(*inner); });
  return makes ? body : nullptr;
}
template <class Statements>
auto has_block_around_schedule(const Statements& body) -> bool {
  return std::any_of(body.begin(), body.end(), [](const Stmt* stmt) { return block_around_schedule(*stmt); });
}

template <class Statements>
void put_flat(const Statements& body, std::vector<StmtPtr>& out) {
  for (StmtPtr stmt : body) {
    if (const Block* inner = block_around_schedule(*stmt)) { put_flat(*inner, out); } else { out.push_back(stmt); }
  }
}

template <class Statements>
void put_contexts(const Statements& body, std::vector<const Expr*>& around, std::vector<std::vector<const Expr*>>& out) {
  for (StmtPtr stmt : body) {
    const Block* inner = block_around_schedule(*stmt);
    if (!inner) {
      out.push_back(around);
      continue;
    }
    size_t outside = around.size();
    if (const auto* with = stmt->as<WithStmt>()) {
      for (const WithItem& item : with->items) { around.push_back(item.context); }
    }
    put_contexts(*inner, around, out);
    around.resize(outside);
  }
}

// The first schedule that a statement makes and names in its own scope, outside of functions and classes in it.
auto made_in(const Stmt& stmt) -> const NameExpr* {
  const NameExpr* found = nullptr;
  walk(stmt, [&](const Node& node) {
    if (found || node.kind == Kind::FunctionDef || node.kind == Kind::ClassDef) { return false; }
    auto [name, call] = named_call(node);
    if (name && call && makes_schedule(*call)) { found = name; }
    return !found;
  });
  return found;
}

// The variable of a schedule at the top of the file; null: the declaration is no such schedule.
auto variable_of_script(const Item& item) -> const NameExpr* {
  if (item.statements.empty()) { return nullptr; }
  if (item.kind == ItemKind::Assign) {
    if (const NameExpr* first = makes_schedule(*item.statements[0])) { return first; }
    // Statements on a state of the auto-scheduler come before the schedule that is made of it.
    for (size_t i = 1; i < item.statements.size(); ++i) {
      const NamedCall made = named_call(*item.statements[i]);
      if (made.name && made.call && applies_record(*made.call)) { return made.name; }
    }
    return nullptr;
  }
  return item.kind == ItemKind::Compound && may_make_schedule(item.text) ? made_in(*item.statements[0]) : nullptr;
}

}  // namespace

auto next_made_schedule(std::string_view text, size_t from) -> size_t {
  return std::min({text.find("Schedule(", from), text.find("create_schedule(", from), text.find(".apply_best(", from), text.find(".apply_steps_from_state(", from), text.find(".auto_schedule(", from)});
}

auto makes_stages(const CallExpr& call) -> bool {
  // A file may have a function of that name, so the namespace must show.
  static const Name create("create_schedule"), te("te"), tvm("tvm");
  if (!scheduled_program(call)) { return false; }
  const auto* attribute = call.callee->as<AttributeExpr>();
  if (!attribute || !(attribute->attr.name == create)) { return false; }
  const auto* inner = attribute->object->as<AttributeExpr>();
  const auto* name = attribute->object->as<NameExpr>();
  Name space = inner ? inner->attr.name : name ? name->name : Name();
  return space == te || space == tvm;
}

auto is_schedule_made(const CallExpr& call) -> bool { return makes_schedule(static_cast<const Expr&>(call)) != nullptr; }

auto contexts_of(const ItemPtr& item) -> std::vector<std::vector<const Expr*>> {
  std::vector<std::vector<const Expr*>> out;
  if (!item || item->statements.empty()) { return out; }
  std::vector<const Expr*> around;
  if (const auto* def = item->statements[0]->as<FunctionDef>()) {
    if (has_block_around_schedule(def->body)) { put_contexts(def->body, around, out); }
  } else if (is_script(*item) && has_block_around_schedule(item->statements)) {
    put_contexts(item->statements, around, out);
  }
  return out;
}

auto made_schedules(const FunctionDef& def, const std::function<bool(Name)>& gives) -> std::vector<ScheduleForm> {
  std::vector<ScheduleForm> out;
  for (size_t i = 0; i < def.body.size(); ++i) {
    const Stmt& stmt = *def.body[i];
    if (const NameExpr* name = makes_schedule(stmt)) {
      const CallExpr* call = named_call(stmt).call;
      out.push_back({.variable = name->name, .variable_span = name->span, .made = call, .made_at = i, .is_call = applies_record(*call)});
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

auto is_main(const Stmt& stmt) -> bool {
  const auto* branch = stmt.as<IfStmt>();
  const auto* compared = branch && branch->otherwise.size() == 0 ? branch->condition->as<CompareExpr>() : nullptr;
  const auto* name = compared && compared->operands.size() == 2 ? compared->operands[0]->as<NameExpr>() : nullptr;
  const auto* text = name ? compared->operands[1]->as<StringExpr>() : nullptr;
  return text && name->name == "__name__" && text->value == "__main__" && compared->ops[0] == CompareOp::Eq;
}

auto is_script(const Item& item) -> bool { return variable_of_script(item) != nullptr; }

auto function_of(const ItemPtr& item) -> std::shared_ptr<const FunctionDef> {
  if (!item || item->statements.empty()) { return nullptr; }
  struct Made {
    ItemPtr item;
    FunctionDef def;
    std::vector<StmtPtr> body;
    void look_through(const Block& statements) {
      put_flat(statements, body);
      def.body = Block(body.data(), static_cast<uint32_t>(body.size()));
    }
  };
  if (const auto* def = item->statements[0]->as<FunctionDef>()) {
    if (!has_block_around_schedule(def->body)) { return {item, def}; }
    auto flat = std::make_shared<Made>(Made{item, *def, {}});
    flat->look_through(def->body);
    return {flat, &flat->def};
  }
  const NameExpr* variable = variable_of_script(*item);
  if (!variable) { return nullptr; }
  auto script = std::make_shared<Made>();
  script->item = item;
  FunctionDef& def = script->def;
  def.kind = Kind::FunctionDef;
  def.decl = item->decl;
  def.span = {0, static_cast<uint32_t>(item->text.size())};
  def.name = {variable->name, variable->span};
  def.text_hash = item->hash;
  if (has_block_around_schedule(item->statements)) { script->look_through(item->statements); } else { def.body = item->statements; }
  return {script, &script->def};
}

auto scheduled_program(const CallExpr& made) -> const Expr* {
  if (!made.args.empty()) { return made.args[0]; }
  for (const Keyword& keyword : made.keywords) {
    if (keyword.name.name == "mod" || keyword.name.name == "ops") { return keyword.value; }
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
  if (is_tuner_piece(def)) { return {}; }
  ScheduleForm out;
  out.decorator = schedule_decorator(def);
  if (out.decorator || (!def.params.empty() && names_schedule(def.params[0].annotation))) {
    if (!out.decorator && needs_more_arguments(def)) { return {}; }
    if (!def.params.empty()) { out.variable = def.params[0].name.name; }
    return out;
  }
  for (size_t i = 0; i < def.body.size(); ++i) {
    const auto* assign = def.body[static_cast<uint32_t>(i)]->as<AssignStmt>();
    const NameExpr* target = assign ? makes_schedule(static_cast<const Stmt&>(*assign)) : nullptr;
    out.made = target ? makes_schedule(*assign->value) : nullptr;
    if (!out.made) { continue; }
    out.is_call = applies_record(*out.made);
    out.variable = target->name;
    out.variable_span = target->span;
    out.made_at = i;
    return out;
  }
  return {};
}

}  // namespace loopsmith::syntax
