// Statements: see evaluator.h.
#include "eval/evaluator.h"

#include <algorithm>
#include <utility>

#include "eval/not_made.h"
#include "eval/sets.h"
#include "support/codes.h"
#include "support/guards.h"

namespace loopsmith::eval {

using namespace syntax;

auto Evaluator::assign(const Expr& target, const Argument& value, const ScopeRef& scope) -> bool {
  if (const auto* name = target.as<NameExpr>()) {
    scope->set(name->name, value.value);
    return true;
  }
  if (const auto* tuple = target.as<TupleExpr>()) { return unpack(target, tuple->elements, value, scope); }
  if (const auto* list = target.as<ListExpr>()) { return unpack(target, list->elements, value, scope); }
  if (const auto* subscript = target.as<SubscriptExpr>()) {
    Argument object = eval_argument(*subscript->object, scope);
    std::vector<Argument> indices;
    Value unknown;
    if (object.value.is_unknown() || !eval_indices(*subscript, scope, indices, unknown)) {
      not_made() += object.value.is_opaque() || unknown.is_opaque() ? 1 : 0;
      return true;
    }
    if (value.value.is_unknown()) {
      not_made() += value.value.is_opaque() ? 1 : 0;
      return true;
    }
    if (const Object* o = object.value.object()) {
      if (o->set_item(*this, indices, subscript->is_tuple, value, target.origin())) { return true; }
    }
    report(error(Code::NotAssignable, target.origin()).arg("what", describe(object.value)).remedy("use a list or a dict, or make a new value"));
    return false;
  }
  if (const auto* attribute = target.as<AttributeExpr>()) {
    Argument object = eval_argument(*attribute->object, scope);
    if (object.value.is_unknown()) { return true; }
    if (const Object* o = object.value.object()) {
      if (o->set_attribute(*this, attribute->attr.name, value, target.origin())) { return true; }
    }
    report(error(Code::NotAssignable, target.origin()).arg("what", "attributes of " + describe(object.value)));
    return false;
  }
  if (target.kind == Kind::BrokenExpr) { return false; }
  opaque(target.origin());
  return false;
}

auto Evaluator::unpack(const Expr& target, const syntax::List<ExprPtr>& targets, const Argument& value, const ScopeRef& scope) -> bool {
  if (value.value.is_unknown()) {
    return std::all_of(targets.begin(), targets.end(), [&](ExprPtr t) {
      const auto* star = t->as<StarredExpr>();
      return assign(star ? *star->value : *t, value, scope);
    });
  }
  auto items = iterate(value);
  if (!items) { return false; }
  size_t star = targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i]->kind == Kind::Starred) { star = i; }
  }
  bool has_star = star < targets.size();
  size_t fixed = targets.size() - (has_star ? 1 : 0);
  if (has_star ? items->size() < fixed : items->size() != fixed) {
    report(error(Code::UnpackCount, target.origin()).arg("targets", static_cast<int64_t>(fixed)).arg("values", static_cast<int64_t>(items->size()))
               .remedy(items->size() > fixed ? "give as many names as values, or collect the rest with `*rest`" : "give as many names as values"));
    return false;
  }
  size_t next = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Expr& t = *targets[i];
    if (i != star) {
      if (!assign(t, {(*items)[next++], value.where, {}}, scope)) { return false; }
      continue;
    }
    size_t count = items->size() - fixed;
    std::vector<Value> rest(items->begin() + static_cast<std::ptrdiff_t>(next), items->begin() + static_cast<std::ptrdiff_t>(next + count));
    next += count;
    if (!assign(*t.as<StarredExpr>()->value, {Value::list(std::move(rest)), value.where, {}}, scope)) { return false; }
  }
  return true;
}

auto Evaluator::exec_block(const Block& block, const ScopeRef& scope, Value& result) -> Flow {
  for (StmtPtr stmt : block) {
    Flow flow = exec(*stmt, scope, result);
    if (flow != Flow::Next) { return flow; }
  }
  return Flow::Next;
}

auto Evaluator::exec(const Stmt& stmt, const ScopeRef& scope, Value& result) -> Flow {
  const Origin around = std::exchange(statement_, stmt.origin());
  Flow flow = exec_one(stmt, scope, result);
  // A value was compared, hashed or copied beyond the limit of depth: the result is not right.
  if (took_walk_too_deep() && !stopped_) {
    stopped_ = true;
    report(error(Code::TooDeep, stmt.origin()).arg("limit", static_cast<int64_t>(deepest_value)));
    flow = Flow::Failed;
  }
  statement_ = around;
  return flow;
}

auto Evaluator::exec_one(const Stmt& stmt, const ScopeRef& scope, Value& result) -> Flow {
  if (!step(stmt.origin())) { return Flow::Failed; }
  DepthGuard guard(*this);
  if (too_deep(stmt.origin())) { return Flow::Failed; }
  switch (stmt.kind) {
    case Kind::ExprStmt:
      last_expression = eval(*static_cast<const ExprStmt&>(stmt).value, scope);
      // An opaque call may have any effect, but it does not change the meaning of known values.
      return last_expression.is_error() ? Flow::Failed : Flow::Next;
    case Kind::Assign:
    case Kind::AnnAssign:
    case Kind::AugAssign: return exec_assignment(stmt, scope);
    case Kind::Return: {
      const auto& s = static_cast<const ReturnStmt&>(stmt);
      result = s.value ? eval(*s.value, scope) : Value();
      return result.is_error() ? Flow::Failed : Flow::Return;
    }
    case Kind::If: {
      const auto& s = static_cast<const IfStmt&>(stmt);
      Flow undecided = Flow::Next;
      auto holds = decide(*s.condition, scope, undecided);
      return holds ? exec_block(*holds ? s.then : s.otherwise, scope, result) : undecided;
    }
    case Kind::For: return exec_for(static_cast<const ForStmt&>(stmt), scope, result);
    case Kind::While: return exec_while(static_cast<const WhileStmt&>(stmt), scope, result);
    case Kind::Assert: return exec_assert(static_cast<const AssertStmt&>(stmt), scope);
    case Kind::With: return exec_with(static_cast<const WithStmt&>(stmt), scope, result);
    case Kind::Pass: return Flow::Next;
    case Kind::Break: return Flow::Break;
    case Kind::Continue: return Flow::Continue;
    case Kind::FunctionDef: return exec_function_def(static_cast<const FunctionDef&>(stmt), scope);
    case Kind::ClassDef: return exec_class_def(static_cast<const ClassDef&>(stmt), scope);
    case Kind::Import: return exec_import(static_cast<const ImportStmt&>(stmt), scope);
    case Kind::ImportFrom: return exec_import_from(static_cast<const ImportFromStmt&>(stmt), scope);
    case Kind::Del: return exec_del(static_cast<const DelStmt&>(stmt), scope);
    case Kind::BrokenStmt: return Flow::Failed;
    default:
      opaque(stmt.origin());
      return Flow::Unknown;
  }
}

auto Evaluator::decide(const Expr& condition, const ScopeRef& scope, Flow& undecided) -> std::optional<bool> {
  Argument value = eval_argument(condition, scope);
  undecided = value.value.is_opaque() ? Flow::Unknown : Flow::Failed;
  return value.value.is_unknown() ? std::nullopt : truth(value);
}

auto Evaluator::exec_assignment(const Stmt& stmt, const ScopeRef& scope) -> Flow {
  if (const auto* s = stmt.as<AssignStmt>()) {
    Argument value = eval_argument(*s->value, scope);
    if (value.value.is_error()) { return Flow::Failed; }
    bool done = std::all_of(s->targets.begin(), s->targets.end(), [&](ExprPtr target) { return assign(*target, value, scope); });
    return done ? Flow::Next : Flow::Failed;
  }
  if (const auto* s = stmt.as<AnnAssignStmt>()) {
    if (!s->value) { return Flow::Next; }
    Argument value = eval_argument(*s->value, scope);
    return value.value.is_error() || !assign(*s->target, value, scope) ? Flow::Failed : Flow::Next;
  }
  const auto& s = static_cast<const AugAssignStmt&>(stmt);
  Argument old = eval_argument(*s.target, scope);
  Argument right = eval_argument(*s.value, scope);
  if (old.value.is_error() || right.value.is_error()) { return Flow::Failed; }
  if (const auto* list = old.value.as<eval::List>(); list && s.op == BinaryOp::Add && right.value.items()) {
    // `x += y` changes the list in place.
    std::vector<Value> more = *right.value.items();
    if (list->items.size() + more.size() > limits.list_items) { return refuse("a list of more than " + std::to_string(limits.list_items) + " items", s.origin()) ? Flow::Next : Flow::Failed; }
    if (!charge(more.size(), more.size() * sizeof(Value), s.origin())) { return Flow::Failed; }
    list->items.insert(list->items.end(), more.begin(), more.end());
    return Flow::Next;
  }
  Value value = binary(s.op, old, right, s.origin());
  if (const auto* set = old.value.as<eval::Set>(); set && value.as<eval::Set>()) {
    // `x |= y` changes the set in place.
    set->take(*value.as<eval::Set>());
    return Flow::Next;
  }
  return value.is_error() || !assign(*s.target, {std::move(value), s.origin(), {}}, scope) ? Flow::Failed : Flow::Next;
}

auto Evaluator::exec_for(const ForStmt& s, const ScopeRef& scope, Value& result) -> Flow {
  Argument iterable = eval_argument(*s.iterable, scope);
  if (iterable.value.is_unknown()) { return iterable.value.is_error() ? Flow::Failed : Flow::Unknown; }
  auto items = iterate(iterable);
  if (!items) { return Flow::Failed; }
  for (Value& item : *items) {
    if (!assign(*s.target, {std::move(item), s.target->origin(), {}}, scope)) { return Flow::Failed; }
    Flow flow = exec_block(s.body, scope, result);
    if (flow == Flow::Break) { return Flow::Next; }
    if (flow != Flow::Next && flow != Flow::Continue) { return flow; }
  }
  return exec_block(s.otherwise, scope, result);
}

auto Evaluator::exec_while(const WhileStmt& s, const ScopeRef& scope, Value& result) -> Flow {
  while (true) {
    Flow undecided = Flow::Next;
    auto holds = decide(*s.condition, scope, undecided);
    if (!holds) { return undecided; }
    if (!*holds) { return exec_block(s.otherwise, scope, result); }
    Flow flow = exec_block(s.body, scope, result);
    if (flow == Flow::Break) { return Flow::Next; }
    if (flow != Flow::Next && flow != Flow::Continue) { return flow; }
  }
}

auto Evaluator::exec_assert(const AssertStmt& s, const ScopeRef& scope) -> Flow {
  Argument condition = eval_argument(*s.condition, scope);
  if (condition.value.is_unknown()) { return condition.value.is_error() ? Flow::Failed : Flow::Next; }
  auto holds = truth(condition);
  if (!holds) { return Flow::Failed; }
  if (*holds) { return Flow::Next; }
  std::string message = "it does not hold";
  if (s.message) {
    Value text = eval(*s.message, scope);
    if (!text.is_unknown()) { message = text.to_str(); }
  }
  report(error(Code::AssertionFailed, s.condition->origin()).arg("message", message));
  return Flow::Failed;
}

// Calls `__enter__` or `__exit__` of a context; returns the context itself if it has no such method.
static auto call_if_present(Evaluator& evaluator, const Value& context, Name method, Origin where) -> Value {
  auto found = context.object()->get_attribute(evaluator, method, where);
  return found && found->as<Method>() ? evaluator.call(*found, {}, where) : context;
}

auto Evaluator::exec_with(const WithStmt& s, const ScopeRef& scope, Value& result) -> Flow {
  const size_t around = contexts.size();
  std::vector<Value> here;
  bool is_entered = true;
  auto leave = [&](Flow flow) {
    for (auto context = here.rbegin(); context != here.rend(); ++context) { (void)call_if_present(*this, *context, Name("__exit__"), s.origin()); }
    return flow;
  };
  for (const WithItem& item : s.items) {
    Argument context = eval_argument(*item.context, scope);
    if (context.value.is_error()) { return leave(Flow::Failed); }
    bool is_context = context.value.object() && context.value.object()->is_context();
    if (!context.value.is_opaque() && !is_context) {
      opaque(item.context->origin());
      return leave(Flow::Unknown);
    }
    Value entered = is_context ? call_if_present(*this, context.value, Name("__enter__"), item.context->origin()) : Value::opaque();
    if (is_context) { here.push_back(std::move(context.value)); }
    is_entered = !entered.is_error() && (!item.target || assign(*item.target, {std::move(entered), item.target->origin(), {}}, scope));
    if (!is_entered) { break; }
  }
  if (!is_entered) { return leave(Flow::Failed); }
  // The body runs even if the context is opaque. A failure in `with pytest.raises(...)` is intended.
  bool is_failure_meant = std::any_of(s.items.begin(), s.items.end(), [](const WithItem& item) { return expects_failure(*item.context) == ExpectedFailure::Raised; });
  contexts.insert(contexts.end(), here.begin(), here.end());
  WithoutReports attempt(diagnostics);
  Flow flow = leave(exec_block(s.body, scope, result));
  contexts.resize(around);
  if (flow == Flow::Failed && is_failure_meant) { return Flow::Next; }
  attempt.keep();
  return flow;
}

auto Evaluator::exec_import(const ImportStmt& s, const ScopeRef& scope) -> Flow {
  for (const ImportName& name : s.names) {
    Name bound = name.alias.name.empty() ? name.path.front().name : name.alias.name;
    // An import does not change a predeclared name.
    if (scope->find(bound) || (globals && name.alias.name.empty() && globals->lookup(*this, bound, s.origin()))) { continue; }
    auto module = globals ? globals->imported(name) : std::nullopt;
    scope->set(bound, module ? std::move(*module) : Value::opaque());
  }
  return Flow::Next;
}

auto Evaluator::exec_import_from(const ImportFromStmt& s, const ScopeRef& scope) -> Flow {
  for (const ImportName& name : s.names) {
    if (name.path.empty()) { continue; }
    Name bound = name.alias.name.empty() ? name.path.front().name : name.alias.name;
    if (auto value = globals ? globals->imported(*this, s, name) : std::nullopt) {
      scope->set(bound, std::move(*value));
      continue;
    }
    // A predeclared name keeps its meaning, even if it is imported under another name.
    bool is_renamed = !name.alias.name.empty();
    auto known = globals ? globals->lookup(*this, is_renamed ? name.path.back().name : bound, s.origin()) : std::nullopt;
    if (known && !is_renamed) { continue; }
    scope->set(bound, known ? std::move(*known) : Value::opaque());
  }
  return Flow::Next;
}

auto Evaluator::exec_del(const DelStmt& s, const ScopeRef& scope) -> Flow {
  for (ExprPtr target : s.targets) {
    const auto* name = target->as<NameExpr>();
    if (!name) {
      opaque(target->origin());
      return Flow::Unknown;
    }
    if (!scope->erase(name->name)) {
      (void)lookup(name->name, scope, name->origin());
      return Flow::Failed;
    }
  }
  return Flow::Next;
}

// Recognises contexts whose body is meant to fail: `pytest.raises(...)`, `self.assertRaises(...)`, `contextlib.suppress(...)`.
auto expects_failure(const Expr& context) -> ExpectedFailure {
  static const Name raises[] = {Name("raises"), Name("assertRaises"), Name("assertRaisesRegex"), Name("assert_raises")};
  static const Name suppress("suppress");
  const auto* call = context.as<CallExpr>();
  const auto* attribute = call ? call->callee->as<AttributeExpr>() : nullptr;
  const auto* name = call ? call->callee->as<NameExpr>() : nullptr;
  Name called = attribute ? attribute->attr.name : name ? name->name : Name();
  if (std::find(std::begin(raises), std::end(raises), called) != std::end(raises)) { return ExpectedFailure::Raised; }
  return called == suppress ? ExpectedFailure::Allowed : ExpectedFailure::None;
}

auto Evaluator::make_function(const FunctionDef& def, const ScopeRef& scope) -> Value {
  std::vector<Value> defaults;
  for (const Param& param : def.params) {
    defaults.push_back(param.default_value ? eval(*param.default_value, scope) : Value());
    if (defaults.back().is_error()) { return Value::error(); }
  }
  return make_object<Function>(&def, nullptr, scope, std::move(defaults), tree, globals);
}

auto Evaluator::exec_function_def(const FunctionDef& def, const ScopeRef& scope) -> Flow {
  std::vector<Argument> decorators;
  Value unknown;
  for (ExprPtr d : def.decorators) {
    decorators.push_back(eval_argument(*d, scope));
    if (decorators.back().value.is_unknown()) { unknown = decorators.back().value; }
  }
  if (unknown.is_unknown()) {
    scope->set(def.name.name, unknown);
    return unknown.is_error() ? Flow::Failed : Flow::Next;
  }
  Value value;
  size_t left = decorators.size();
  if (left > 0) {
    const Argument& last = decorators.back();
    if (const Object* o = last.value.object()) {
      if (auto made = o->decorate(*this, def, scope, last.where)) {
        value = std::move(*made);
        --left;
      }
    }
  }
  if (left == decorators.size()) { value = make_function(def, scope); }
  while (left > 0 && !value.is_unknown()) {
    --left;
    Arguments arguments;
    arguments.call = arguments.callee = arguments.parentheses = decorators[left].where;
    arguments.all.push_back({std::move(value), def.origin(), {}});
    arguments.positional = 1;
    value = call(decorators[left], arguments);
  }
  bool failed = value.is_error();
  scope->set(def.name.name, std::move(value));
  return failed ? Flow::Failed : Flow::Next;
}

auto Evaluator::exec_class_def(const ClassDef& def, const ScopeRef& scope) -> Flow {
  for (ExprPtr d : def.decorators) {
    Argument decorator = eval_argument(*d, scope);
    if (const Object* o = decorator.value.object()) {
      if (auto made = o->decorate(*this, def, scope, decorator.where)) {
        bool failed = made->is_error();
        scope->set(def.name.name, std::move(*made));
        return failed ? Flow::Failed : Flow::Next;
      }
    }
  }
  scope->set(def.name.name, opaque(def.origin()));
  return Flow::Next;
}

}  // namespace loopsmith::eval
