// Evaluation of expressions and statements: see evaluator.h.
#include "eval/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "eval/format.h"
#include "eval/wide_int.h"
#include "support/codes.h"
#include "support/spelling.h"

namespace loopsmith::eval {

using namespace syntax;

Evaluator::Evaluator(std::shared_ptr<Heap> heap) : heap_(std::move(heap)) {}

auto Evaluator::report(Diagnostic diagnostic) -> Value {
  diagnostics.push_back(std::move(diagnostic));
  return Value::error();
}
auto Evaluator::is_known_tuple(const Value& v) -> bool {
  const auto* tuple = v.as<Tuple>();
  if (!tuple || tuple->items.size() < 2) { return false; }
  for (const Value& known : known_tuples_) {
    if (known.as<Tuple>() == tuple) { return true; }
  }
  known_tuples_.push_back(v);
  return false;
}
auto Evaluator::opaque(Origin where) -> Value {
  if (!opaque_at.is_known()) { opaque_at = where; }
  return Value::opaque();
}
auto Evaluator::new_scope(ScopeRef parent) -> ScopeRef { return ScopeRef(new Scope(heap_.get(), std::move(parent))); }

auto Evaluator::step(Origin where) -> bool {
  if (stopped_) { return false; }
  ++steps_;
  if (steps_ > limits.steps) {
    stopped_ = true;
    report(error(Code::TooMuchWork, where).arg("what", "more than " + std::to_string(limits.steps) + " steps"));
    return false;
  }
  if ((steps_ & 255) == 0 && cancel.is_cancelled()) {
    stopped_ = true;
    report(error(Code::Cancelled, where));
    return false;
  }
  return true;
}
auto Evaluator::too_deep(Origin where) -> bool {
  if (depth_ <= limits.depth) { return false; }
  if (!stopped_) {
    stopped_ = true;
    report(error(Code::TooDeep, where).arg("limit", static_cast<int64_t>(limits.depth)));
  }
  return true;
}

auto Evaluator::lookup(Name name, const ScopeRef& scope, Origin where) -> Value {
  auto known = [&](const Value& value) { return value.is_opaque() ? opaque(where) : value; };
  if (scope) {
    if (const Value* found = scope->find(name)) { return known(*found); }
  }
  if (globals) {
    if (auto found = globals->lookup(*this, name, where)) { return known(*found); }
  }
  if (const Value* found = builtin(name)) { return known(*found); }
  std::vector<Name> names;
  if (scope) { scope->names(names); }
  if (globals) { globals->names(names); }
  builtin_names(names);
  Diagnostic d = error(Code::UndefinedName, where).arg("name", name.view());
  if (Name near = closest_name(name, names); !near.empty()) {
    (void)std::move(d).remedy("did you mean `" + near.str() + "`?").fix(where, near.str());
  }
  return report(std::move(d));
}

// ---- expressions -------------------------------------------------------------------------------------------------

auto Evaluator::eval(const Expr& expr, const ScopeRef& scope) -> Value {
  if (!step(expr.origin())) { return Value::error(); }
  DepthGuard guard(*this);
  if (too_deep(expr.origin())) { return Value::error(); }
  switch (expr.kind) {
    case Kind::Name: return lookup(static_cast<const NameExpr&>(expr).name, scope, expr.origin());
    case Kind::Int: {
      const auto& e = static_cast<const IntExpr&>(expr);
      if (!e.fits) {
        if (auto wide = wide_literal(e.text)) { return make_object<WideInt>(*wide); }
        return report(error(Code::IntegerOverflow, e.origin()).arg("what", e.text));
      }
      return Value(e.value);
    }
    case Kind::Float: return Value(static_cast<const FloatExpr&>(expr).value);
    case Kind::String: {
      const auto& e = static_cast<const StringExpr&>(expr);
      return e.is_bytes ? opaque(e.origin()) : Value::str(std::string(e.value));
    }
    case Kind::FString: return eval_fstring(static_cast<const FStringExpr&>(expr), scope);
    case Kind::Constant:
      switch (static_cast<const ConstantExpr&>(expr).value) {
        case ConstantValue::None: return Value();
        case ConstantValue::True: return Value(true);
        case ConstantValue::False: return Value(false);
        case ConstantValue::Ellipsis: return opaque(expr.origin());
      }
      return Value();
    case Kind::Tuple: {
      std::vector<Value> items;
      Value unknown = eval_items(static_cast<const TupleExpr&>(expr).elements, scope, items);
      return unknown.is_unknown() ? unknown : Value::tuple(std::move(items));
    }
    case Kind::ListExpr: {
      std::vector<Value> items;
      Value unknown = eval_items(static_cast<const ListExpr&>(expr).elements, scope, items);
      return unknown.is_unknown() ? unknown : Value::list(std::move(items));
    }
    case Kind::Dict: {
      Ref<eval::Dict> dict = make_object<eval::Dict>();
      Value unknown;
      for (const DictEntry& entry : static_cast<const DictExpr&>(expr).entries) {
        Value value = eval(*entry.value, scope);
        if (value.is_unknown()) { unknown = value; continue; }
        if (!entry.key) {
          const auto* other = value.as<eval::Dict>();
          if (!other) {
            unknown = report(error(Code::WrongType, entry.value->origin()).arg("expected", "a dict").arg("found", describe(value)));
            continue;
          }
          for (const auto& [k, v] : other->entries()) { dict->set(k, v); }
          continue;
        }
        Value key = eval(*entry.key, scope);
        if (key.is_unknown()) { unknown = key; continue; }
        if (key.as<eval::List>() || key.as<eval::Dict>()) {
          unknown = report(error(Code::WrongType, entry.key->origin()).arg("expected", "a key that does not change").arg("found", describe(key)));
          continue;
        }
        dict->set(key, std::move(value));
      }
      if (unknown.is_unknown()) { return unknown; }
      return dict;
    }
    case Kind::Unary: {
      const auto& e = static_cast<const UnaryExpr&>(expr);
      // The least number of 64 bits is the negative of one that does not fit.
      if (e.op == UnaryOp::Negate && e.operand->kind == Kind::Int && static_cast<const IntExpr&>(*e.operand).text == "9223372036854775808") {
        return Value(std::numeric_limits<int64_t>::min());
      }
      Argument operand = eval_argument(*e.operand, scope);
      return operand.value.is_unknown() ? operand.value : unary(e.op, operand, e.origin());
    }
    case Kind::Binary: return eval_binary(static_cast<const BinaryExpr&>(expr), scope);
    case Kind::Boolean: return eval_boolean(static_cast<const BooleanExpr&>(expr), scope);
    case Kind::Compare: return eval_compare(static_cast<const CompareExpr&>(expr), scope);
    case Kind::Conditional: {
      const auto& e = static_cast<const ConditionalExpr&>(expr);
      Argument condition = eval_argument(*e.condition, scope);
      if (condition.value.is_unknown()) { return condition.value; }
      if (const Object* o = condition.value.object(); o && !o->truth()) {
        // Both are values of the program, and it chooses.
        Argument then = eval_argument(*e.then, scope);
        Argument otherwise = eval_argument(*e.otherwise, scope);
        for (const Argument* a : {&then, &otherwise}) { if (a->value.is_unknown()) { return a->value; } }
        if (auto chosen = o->choose(*this, condition, then, otherwise, expr.origin())) { return std::move(*chosen); }
      }
      auto holds = truth(condition);
      if (!holds) { return Value::error(); }
      return eval(*holds ? *e.then : *e.otherwise, scope);
    }
    case Kind::Lambda: {
      const auto& e = static_cast<const LambdaExpr&>(expr);
      std::vector<Value> defaults;
      for (const Param& param : e.params) { defaults.push_back(param.default_value ? eval(*param.default_value, scope) : Value()); }
      return make_object<Function>(nullptr, &e, scope, std::move(defaults), tree, globals);
    }
    case Kind::Call: return eval_call(static_cast<const CallExpr&>(expr), scope);
    case Kind::Attribute: {
      const auto& e = static_cast<const AttributeExpr&>(expr);
      Argument object = eval_argument(*e.object, scope);
      if (object.value.is_unknown()) { return object.value; }
      return attribute(object, e.attr.name, {e.decl, e.attr.span.begin, e.attr.span.end, 0});
    }
    case Kind::Subscript: return eval_subscript(static_cast<const SubscriptExpr&>(expr), scope);
    case Kind::Slice: {
      const auto& e = static_cast<const syntax::SliceExpr&>(expr);
      auto part = [&](ExprPtr p) { return p ? eval_argument(*p, scope) : Argument{}; };
      Argument lower = part(e.lower);
      Argument upper = part(e.upper);
      Argument step = part(e.step);
      for (const Argument* a : {&lower, &upper, &step}) {
        if (a->value.is_unknown()) { return a->value; }
      }
      return make_object<SliceObject>(std::move(lower), std::move(upper), std::move(step));
    }
    case Kind::Comprehension: return eval_comprehension(static_cast<const ComprehensionExpr&>(expr), scope);
    case Kind::NamedExpr: {
      const auto& e = static_cast<const NamedExpr&>(expr);
      Value value = eval(*e.value, scope);
      scope->set(e.name.name, value);
      return value;
    }
    case Kind::BrokenExpr: return Value::error();
    default: return opaque(expr.origin());
  }
}

auto Evaluator::eval_items(const syntax::List<ExprPtr>& exprs, const ScopeRef& scope, std::vector<Value>& out) -> Value {
  Value unknown;
  out.reserve(exprs.size());
  for (ExprPtr e : exprs) {
    if (const auto* star = e->as<StarredExpr>()) {
      Argument spread = eval_argument(*star->value, scope);
      if (spread.value.is_unknown()) { unknown = spread.value; continue; }
      auto items = iterate(spread);
      if (!items) { unknown = Value::error(); continue; }
      out.insert(out.end(), items->begin(), items->end());
      continue;
    }
    Value value = eval(*e, scope);
    if (value.is_unknown()) { unknown = value; continue; }
    out.push_back(std::move(value));
  }
  if (out.size() > limits.list_items) {
    return report(error(Code::TooMuchWork, exprs.front()->origin()).arg("what", "a list of " + std::to_string(out.size()) + " items"));
  }
  return unknown;
}

namespace {

// A call whose arguments are partly wrong is not made; names of arguments that it would not take are told all the same.
void check_keywords(Evaluator& evaluator, const Value& callee, const Arguments& arguments) {
  size_t known = evaluator.diagnostics.size();
  if (callee.as<Function>()) {
    (void)evaluator.start(Ref<Function>(callee.as<Function>()), arguments);
  } else if (const auto* builtin = callee.as<Builtin>()) {
    (void)builtin->call(evaluator, arguments);
  }
  Diagnostics& all = evaluator.diagnostics;
  all.erase(std::remove_if(all.begin() + static_cast<std::ptrdiff_t>(known), all.end(), [](const Diagnostic& d) { return d.code != Code::UnexpectedArgument; }), all.end());
}

}  // namespace

auto Evaluator::eval_call(const CallExpr& expr, const ScopeRef& scope) -> Value {
  Argument callee = eval_argument(*expr.callee, scope);
  Arguments arguments;
  arguments.call = expr.origin();
  arguments.callee = expr.callee->origin();
  if (const auto* attribute = expr.callee->as<AttributeExpr>()) {
    arguments.callee = {expr.decl, attribute->attr.span.begin, attribute->attr.span.end, 0};
  }
  arguments.parentheses = {expr.decl, expr.args_span.begin, expr.args_span.end, 0};
  arguments.all.reserve(expr.args.size() + expr.keywords.size());
  Value unknown;
  for (ExprPtr arg : expr.args) {
    if (const auto* star = arg->as<StarredExpr>()) {
      Argument spread = eval_argument(*star->value, scope);
      if (spread.value.is_unknown()) { unknown = spread.value; continue; }
      auto items = iterate(spread);
      if (!items) { unknown = Value::error(); continue; }
      for (Value& item : *items) { arguments.all.push_back({std::move(item), arg->origin(), {}}); }
      continue;
    }
    arguments.all.push_back(eval_argument(*arg, scope));
    if (arguments.all.back().value.is_unknown()) { unknown = arguments.all.back().value; }
  }
  arguments.positional = arguments.all.size();
  for (const Keyword& keyword : expr.keywords) {
    Value value = eval(*keyword.value, scope);
    if (value.is_unknown()) { unknown = value; }
    if (!keyword.name.name.empty()) {
      Origin name_at{expr.decl, keyword.name.span.begin, keyword.name.span.end, 0};
      arguments.all.push_back({std::move(value), keyword.value->origin(), keyword.name.name, name_at});
      continue;
    }
    if (value.is_unknown()) { continue; }
    const auto* dict = value.as<eval::Dict>();
    if (!dict) {
      unknown = report(error(Code::WrongType, keyword.value->origin()).arg("expected", "a dict").arg("found", describe(value)));
      continue;
    }
    for (const auto& [k, v] : dict->entries()) {
      if (const std::string* text = k.string()) { arguments.all.push_back({v, keyword.value->origin(), Name(*text)}); }
    }
  }
  // What a namespace offers (`T.alloc_buffer`) and functions of the file; not what acts by itself, as `print` does.
  bool is_told = !callee.value.is_unknown() && unknown.is_error() && !expr.keywords.empty() && (expr.callee->as<AttributeExpr>() || callee.value.as<Function>());
  if (is_told) { check_keywords(*this, callee.value, arguments); }
  if (callee.value.is_unknown() || unknown.is_unknown()) {
    if (auto made = not_called ? not_called(callee.value, expr, arguments) : std::nullopt) { return *std::move(made); }
    return callee.value.is_unknown() ? callee.value : unknown;
  }
  return call(callee, arguments);
}

auto Evaluator::call(const Argument& callee, const Arguments& arguments) -> Value {
  const Object* object = callee.value.object();
  if (object) {
    if (auto result = object->call(*this, arguments)) { return std::move(*result); }
  }
  if (callee.value.is_unknown()) { return callee.value; }
  return report(error(Code::NotCallable, callee.where).arg("what", describe(callee.value)));
}
auto Evaluator::call(const Value& callee, std::vector<Value> positional, Origin where) -> Value {
  Arguments arguments;
  arguments.call = arguments.callee = arguments.parentheses = where;
  for (Value& value : positional) { arguments.all.push_back({std::move(value), where, {}}); }
  arguments.positional = arguments.all.size();
  return call(Argument{callee, where, {}}, arguments);
}

auto Evaluator::attribute(const Argument& object, Name name, Origin where) -> Value {
  std::vector<Name> names;
  if (const Object* o = object.value.object()) {
    if (auto found = o->get_attribute(*this, name, where)) { return found->is_opaque() ? opaque(where) : std::move(*found); }
    o->attribute_names(names);
  }
  if (object.value.is_unknown()) { return object.value; }
  // Constants of programs, such as extents, are plain integers here.
  if (static const Name value("value"); name == value && object.value.is_int()) { return object.value; }
  Diagnostic d = error(Code::NoAttribute, where).arg("what", describe(object.value)).arg("name", name.view());
  if (Name near = closest_name(name, names); !near.empty()) {
    (void)std::move(d).remedy("did you mean `" + near.str() + "`?").fix(where, near.str());
  }
  return report(std::move(d));
}

auto Evaluator::eval_indices(const SubscriptExpr& expr, const ScopeRef& scope, std::vector<Argument>& out, Value& unknown) -> bool {
  unknown = Value();
  for (ExprPtr index : expr.indices) {
    if (const auto* star = index->as<StarredExpr>()) {
      Argument spread = eval_argument(*star->value, scope);
      if (spread.value.is_unknown()) { unknown = spread.value; continue; }
      auto items = iterate(spread);
      if (!items) { unknown = Value::error(); continue; }
      for (Value& item : *items) { out.push_back({std::move(item), index->origin(), {}}); }
      continue;
    }
    out.push_back(eval_argument(*index, scope));
    if (out.back().value.is_unknown()) { unknown = out.back().value; }
  }
  return !unknown.is_unknown();
}

auto Evaluator::eval_subscript(const SubscriptExpr& expr, const ScopeRef& scope) -> Value {
  Argument object = eval_argument(*expr.object, scope);
  std::vector<Argument> indices;
  Value unknown;
  bool known = eval_indices(expr, scope, indices, unknown);
  if (object.value.is_unknown()) { return object.value; }
  if (!known) { return unknown; }
  if (const Object* o = object.value.object()) {
    if (auto found = o->get_item(*this, indices, expr.is_tuple, expr.origin())) { return std::move(*found); }
  }
  return report(error(Code::NotIndexable, object.where).arg("what", describe(object.value)));
}

auto Evaluator::iterate(const Argument& iterable) -> std::optional<std::vector<Value>> {
  if (const Object* o = iterable.value.object()) {
    size_t before = diagnostics.size();
    auto items = o->iterate(*this, iterable.where);
    if (diagnostics.size() > before) { return {}; }
    if (items) { return items; }
  }
  if (!iterable.value.is_unknown()) { report(error(Code::NotIterable, iterable.where).arg("what", describe(iterable.value))); }
  return {};
}

auto Evaluator::truth(const Argument& a) -> std::optional<bool> {
  switch (a.value.kind()) {
    case Value::Kind::None: return false;
    case Value::Kind::Bool: case Value::Kind::Int: return a.value.int_value() != 0;
    case Value::Kind::Float: return a.value.float_value() != 0;
    case Value::Kind::Object:
      if (auto t = a.value.object()->truth()) { return t; }
      report(error(Code::NoTruthValue, a.where).arg("what", describe(a.value)));
      return {};
    case Value::Kind::Error: case Value::Kind::Opaque: return {};
  }
  return {};
}

// ---- operators ---------------------------------------------------------------------------------------------------

namespace {

auto floor_divide(int64_t a, int64_t b) -> int64_t {
  int64_t q = a / b;
  return (a % b != 0) && ((a < 0) != (b < 0)) ? q - 1 : q;
}

// None: overflow.
auto int_power(int64_t base, int64_t exponent) -> std::optional<int64_t> {
  int64_t result = 1;
  while (exponent > 0) {
    if (exponent & 1) {
      if (__builtin_mul_overflow(result, base, &result)) { return {}; }
    }
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) { return {}; }
  }
  return result;
}

// One of them may be a tuple that was complained about already.
auto bad_operands(Evaluator& e, std::string_view op, const Value& a, const Value& b, Origin where) -> Value {
  if (e.is_known_tuple(a) || e.is_known_tuple(b)) { return Value::error(); }
  Diagnostic wrong = error(Code::BadOperands, where).arg("op", op).arg("left", describe(a)).arg("right", describe(b));
  std::string remedy = unpacking(a);
  if (remedy.empty()) { remedy = unpacking(b); }
  if (!remedy.empty()) { (void)std::move(wrong).remedy(std::move(remedy)); }
  return e.report(std::move(wrong));
}

}  // namespace

auto Evaluator::binary(BinaryOp op, const Argument& left, const Argument& right, Origin where) -> Value {
  const Value& a = left.value;
  const Value& b = right.value;
  if (a.is_unknown()) { return a; }
  if (b.is_unknown()) { return b; }
  auto ia = a.to_int();
  auto ib = b.to_int();
  if (ia && ib && op != BinaryOp::Div) {
    int64_t out = 0;
    auto overflow = [&](bool over) { return over ? report(error(Code::IntegerOverflow, where).arg("what", std::string("the result of `") + std::string(symbol(op)) + "`")) : Value(out); };
    switch (op) {
      case BinaryOp::Add: return overflow(__builtin_add_overflow(*ia, *ib, &out));
      case BinaryOp::Sub: return overflow(__builtin_sub_overflow(*ia, *ib, &out));
      case BinaryOp::Mul: return overflow(__builtin_mul_overflow(*ia, *ib, &out));
      case BinaryOp::FloorDiv: case BinaryOp::Mod: {
        if (*ib == 0) { return report(error(Code::DivisionByZero, right.where)); }
        if (*ib == -1) {
          if (op == BinaryOp::Mod) { return Value(0); }
          return overflow(__builtin_sub_overflow(int64_t{0}, *ia, &out));
        }
        int64_t q = floor_divide(*ia, *ib);
        return op == BinaryOp::FloorDiv ? Value(q) : Value(*ia - q * *ib);
      }
      case BinaryOp::Pow: {
        if (*ib < 0) { return Value(std::pow(static_cast<double>(*ia), static_cast<double>(*ib))); }
        auto power = int_power(*ia, *ib);
        if (power) { out = *power; }
        return overflow(!power);
      }
      case BinaryOp::ShiftLeft:
        if (*ib < 0) { return report(error(Code::BadValue, right.where).arg("what", "a shift is not negative")); }
        if (*ia != 0 && (*ib > 62 || std::abs(*ia) > (std::numeric_limits<int64_t>::max() >> *ib))) { return overflow(true); }
        return Value(*ia == 0 ? int64_t{0} : static_cast<int64_t>(static_cast<uint64_t>(*ia) << *ib));
      case BinaryOp::ShiftRight:
        if (*ib < 0) { return report(error(Code::BadValue, right.where).arg("what", "a shift is not negative")); }
        return Value(*ib > 63 ? (*ia < 0 ? int64_t{-1} : int64_t{0}) : *ia >> *ib);
      case BinaryOp::BitAnd: return a.is_bool() && b.is_bool() ? Value(*ia && *ib) : Value(*ia & *ib);
      case BinaryOp::BitOr: return a.is_bool() && b.is_bool() ? Value(*ia || *ib) : Value(*ia | *ib);
      case BinaryOp::BitXor: return a.is_bool() && b.is_bool() ? Value(*ia != *ib) : Value(*ia ^ *ib);
      case BinaryOp::Div: case BinaryOp::MatMul: break;
    }
  }
  if (auto fa = a.to_float(), fb = b.to_float(); fa && fb) {
    switch (op) {
      case BinaryOp::Add: return Value(*fa + *fb);
      case BinaryOp::Sub: return Value(*fa - *fb);
      case BinaryOp::Mul: return Value(*fa * *fb);
      case BinaryOp::Div: case BinaryOp::FloorDiv: case BinaryOp::Mod:
        if (*fb == 0) { return report(error(Code::DivisionByZero, right.where)); }
        if (op == BinaryOp::Div) { return Value(*fa / *fb); }
        if (op == BinaryOp::FloorDiv) { return Value(std::floor(*fa / *fb)); }
        return Value(*fa - std::floor(*fa / *fb) * *fb);
      case BinaryOp::Pow: return Value(std::pow(*fa, *fb));
      default: break;
    }
  }
  if (const Object* o = a.object()) {
    if (auto result = o->binary(*this, op, left, right, false, where)) { return std::move(*result); }
  }
  if (const Object* o = b.object()) {
    if (auto result = o->binary(*this, op, right, left, true, where)) { return std::move(*result); }
  }
  const std::string* sa = a.string();
  const std::string* sb = b.string();
  if (op == BinaryOp::Add) {
    if (sa && sb) {
      if (sa->size() + sb->size() > limits.text_bytes) { return report(error(Code::TooMuchWork, where).arg("what", "a text this long")); }
      return Value::str(*sa + *sb);
    }
    if (a.object() && b.object() && a.object()->tag == b.object()->tag && a.items()) {
      std::vector<Value> items = *a.items();
      items.insert(items.end(), b.items()->begin(), b.items()->end());
      if (items.size() > limits.list_items) { return report(error(Code::TooMuchWork, where).arg("what", "a list this long")); }
      return a.as<eval::List>() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
    }
  }
  if (op == BinaryOp::Mul && ((ia && (sb || b.items())) || (ib && (sa || a.items())))) {
    const Value& sequence = ia ? b : a;
    int64_t times = std::max<int64_t>(0, ia ? *ia : *ib);
    if (const std::string* s = sequence.string()) {
      if (!s->empty() && static_cast<uint64_t>(times) > limits.text_bytes / s->size()) { return report(error(Code::TooMuchWork, where).arg("what", "a text this long")); }
      std::string out;
      for (int64_t i = 0; i < times; ++i) { out += *s; }
      return Value::str(std::move(out));
    }
    const std::vector<Value>& items = *sequence.items();
    if (!items.empty() && static_cast<uint64_t>(times) > limits.list_items / items.size()) { return report(error(Code::TooMuchWork, where).arg("what", "a list this long")); }
    std::vector<Value> out;
    if (!items.empty()) {
      for (int64_t i = 0; i < times; ++i) { out.insert(out.end(), items.begin(), items.end()); }
    }
    return sequence.as<eval::List>() ? Value::list(std::move(out)) : Value::tuple(std::move(out));
  }
  if (op == BinaryOp::Mod && sa) { return format_percent(*this, *sa, right, where); }
  if (op == BinaryOp::BitOr && a.as<eval::Dict>() && b.as<eval::Dict>()) {
    Ref<eval::Dict> out = make_object<eval::Dict>();
    for (const auto& [k, v] : a.as<eval::Dict>()->entries()) { out->set(k, v); }
    for (const auto& [k, v] : b.as<eval::Dict>()->entries()) { out->set(k, v); }
    return out;
  }
  return bad_operands(*this, symbol(op), a, b, where);
}

auto Evaluator::eval_binary(const BinaryExpr& expr, const ScopeRef& scope) -> Value {
  // Long chains lean left: they are walked, not recursed into.
  std::vector<const BinaryExpr*> spine{&expr};
  const Expr* leftmost = expr.left;
  while (const auto* next = leftmost->as<BinaryExpr>()) {
    spine.push_back(next);
    leftmost = next->left;
  }
  Argument left = eval_argument(*leftmost, scope);
  while (!spine.empty()) {
    const BinaryExpr& e = *spine.back();
    spine.pop_back();
    Argument right = eval_argument(*e.right, scope);
    left = {binary(e.op, left, right, e.origin()), e.origin(), {}};
  }
  return std::move(left.value);
}

auto Evaluator::unary(UnaryOp op, const Argument& operand, Origin where) -> Value {
  const Value& v = operand.value;
  if (v.is_unknown()) { return v; }
  if (const Object* o = v.object()) {
    if (auto result = o->unary(*this, op, where)) { return std::move(*result); }
  }
  if (op == UnaryOp::Not) {
    auto t = truth(operand);
    return t ? Value(!*t) : Value::error();
  }
  if (auto i = v.to_int()) {
    switch (op) {
      case UnaryOp::Negate:
        if (*i == std::numeric_limits<int64_t>::min()) { return report(error(Code::IntegerOverflow, where).arg("what", "the result of `-`")); }
        return Value(-*i);
      case UnaryOp::Plus: return Value(*i);
      case UnaryOp::Invert: return Value(~*i);
      case UnaryOp::Not: break;
    }
  }
  if (v.is_float() && op != UnaryOp::Invert) { return Value(op == UnaryOp::Negate ? -v.float_value() : v.float_value()); }
  return report(error(Code::BadOperand, where).arg("op", symbol(op)).arg("what", describe(v)));
}

auto Evaluator::compare(CompareOp op, const Argument& left, const Argument& right, Origin where) -> Value {
  const Value& a = left.value;
  const Value& b = right.value;
  if (a.is_unknown()) { return a; }
  if (b.is_unknown()) { return b; }
  if (op == CompareOp::Is || op == CompareOp::IsNot) {
    bool same = a.kind() == b.kind() && (a.object() ? a.object() == b.object() || (a.string() && a.equals(b)) : a.equals(b));
    return Value(same == (op == CompareOp::Is));
  }
  if (op == CompareOp::In || op == CompareOp::NotIn) {
    bool found = false;
    if (const std::string* text = b.string()) {
      const std::string* part = a.string();
      if (!part) { return report(error(Code::WrongType, left.where).arg("expected", "a str").arg("found", describe(a))); }
      found = text->find(*part) != std::string::npos;
    } else if (const auto* dict = b.as<eval::Dict>()) {
      found = dict->find(a) != nullptr;
    } else {
      auto items = iterate(right);
      if (!items) { return Value::error(); }
      found = std::any_of(items->begin(), items->end(), [&](const Value& v) { return v.equals(a); });
    }
    return Value(found == (op == CompareOp::In));
  }
  if (const Object* o = a.object()) {
    if (auto result = o->compare(*this, op, left, right, false, where)) { return std::move(*result); }
  }
  if (const Object* o = b.object()) {
    if (auto result = o->compare(*this, op, right, left, true, where)) { return std::move(*result); }
  }
  if (op == CompareOp::Eq) { return Value(a.equals(b)); }
  if (op == CompareOp::Ne) { return Value(!a.equals(b)); }
  auto answer = [op](auto x, auto y) {
    switch (op) {
      case CompareOp::Lt: return Value(x < y);
      case CompareOp::Le: return Value(x <= y);
      case CompareOp::Gt: return Value(x > y);
      default: return Value(x >= y);
    }
  };
  if (auto ia = a.to_int(), ib = b.to_int(); ia && ib) { return answer(*ia, *ib); }
  if (auto fa = a.to_float(), fb = b.to_float(); fa && fb) { return answer(*fa, *fb); }
  if (a.string() && b.string()) { return answer(std::string_view(*a.string()), std::string_view(*b.string())); }
  if (a.items() && b.items() && a.object()->tag == b.object()->tag) {
    const auto& x = *a.items();
    const auto& y = *b.items();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!x[i].equals(y[i])) { return compare(op, {x[i], left.where, {}}, {y[i], right.where, {}}, where); }
    }
    return answer(x.size(), y.size());
  }
  return bad_operands(*this, symbol(op), a, b, where);
}

auto Evaluator::eval_compare(const CompareExpr& expr, const ScopeRef& scope) -> Value {
  Argument left = eval_argument(*expr.operands[0], scope);
  Argument result;
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Argument right = eval_argument(*expr.operands[i + 1], scope);
    if (left.value.is_unknown()) { return left.value; }
    if (right.value.is_unknown()) { return right.value; }
    Origin where = expr.origin();
    where.begin = left.where.begin;
    where.end = right.where.end;
    Value one = compare(expr.ops[i], left, right, where);
    if (one.is_unknown()) { return one; }
    if (i == 0) {
      result = {std::move(one), where, {}};
    } else {
      Argument next{std::move(one), where, {}};
      const Object* o = result.value.object();
      const Object* p = next.value.object();
      std::optional<Value> joined;
      if (o) { joined = o->logical(*this, true, result, next, expr.origin()); }
      if (!joined && p) { joined = p->logical(*this, true, result, next, expr.origin()); }
      result = joined ? Argument{std::move(*joined), where, {}} : next;
    }
    if (result.value.is_bool() && !result.value.bool_value()) { return result.value; }
    left = std::move(right);
  }
  return std::move(result.value);
}

auto Evaluator::eval_boolean(const BooleanExpr& expr, const ScopeRef& scope) -> Value {
  Argument left = eval_argument(*expr.values[0], scope);
  for (size_t i = 1; i < expr.values.size(); ++i) {
    if (left.value.is_unknown()) { return left.value; }
    const Object* o = left.value.object();
    std::optional<bool> decided = o ? o->truth() : truth(left);
    if (decided && *decided != expr.is_and) { return left.value; }
    Argument right = eval_argument(*expr.values[i], scope);
    if (right.value.is_unknown()) { return right.value; }
    if (decided) {
      left = std::move(right);
      continue;
    }
    Origin where = expr.origin();
    where.begin = left.where.begin;
    where.end = right.where.end;
    if (auto joined = o->logical(*this, expr.is_and, left, right, where)) {
      left = {std::move(*joined), where, {}};
      continue;
    }
    return report(error(Code::NoTruthValue, left.where).arg("what", describe(left.value)));
  }
  return std::move(left.value);
}

// ---- comprehensions and f-strings --------------------------------------------------------------------------------

auto Evaluator::comprehend(const ComprehensionExpr& expr, size_t clause, const ScopeRef& scope, std::vector<Value>& list, const eval::Dict* dict)
    -> Value {
  if (clause == expr.clauses.size()) {
    Value value = eval(*expr.element, scope);
    if (value.is_unknown()) { return value; }
    if (dict) {
      Value key = eval(*expr.key, scope);
      if (key.is_unknown()) { return key; }
      dict->set(key, std::move(value));
      return {};
    }
    list.push_back(std::move(value));
    if (list.size() > limits.list_items) { return report(error(Code::TooMuchWork, expr.origin()).arg("what", "a list this long")); }
    return {};
  }
  const ComprehensionFor& c = expr.clauses[clause];
  Argument iterable = eval_argument(*c.iterable, scope);
  if (iterable.value.is_unknown()) { return iterable.value; }
  auto items = iterate(iterable);
  if (!items) { return Value::error(); }
  for (Value& item : *items) {
    if (!assign(*c.target, {std::move(item), c.target->origin(), {}}, scope)) { return Value::error(); }
    bool keep = true;
    for (ExprPtr condition : c.conditions) {
      Argument holds = eval_argument(*condition, scope);
      if (holds.value.is_unknown()) { return holds.value; }
      auto t = truth(holds);
      if (!t) { return Value::error(); }
      if (!*t) { keep = false; break; }
    }
    if (!keep) { continue; }
    Value status = comprehend(expr, clause + 1, scope, list, dict);
    if (status.is_unknown()) { return status; }
  }
  return {};
}

auto Evaluator::eval_comprehension(const ComprehensionExpr& expr, const ScopeRef& scope) -> Value {
  if (expr.which == ComprehensionKind::Set) { return opaque(expr.origin()); }
  ScopeRef inner = new_scope(scope);
  std::vector<Value> list;
  if (expr.which == ComprehensionKind::Dict) {
    Ref<eval::Dict> dict = make_object<eval::Dict>();
    Value status = comprehend(expr, 0, inner, list, dict.get());
    return status.is_unknown() ? status : Value(dict);
  }
  // A generator is made at once: nothing here has effects that could tell.
  Value status = comprehend(expr, 0, inner, list, nullptr);
  return status.is_unknown() ? status : Value::list(std::move(list));
}

auto Evaluator::eval_parts(const syntax::List<FStringPart>& parts, const ScopeRef& scope, Origin where, std::string& out) -> Value {
  for (const FStringPart& part : parts) {
    if (!part.value) {
      out += part.text;
      continue;
    }
    if (part.is_debug) { out += part.text; }
    Argument value = eval_argument(*part.value, scope);
    if (value.value.is_unknown()) { return value.value; }
    std::string format;
    Value status = eval_parts(part.format, scope, where, format);
    if (status.is_unknown()) { return status; }
    if (part.conversion != 0 || (part.is_debug && part.format.empty())) {
      value.value = Value::str(part.conversion == 's' ? value.value.to_str() : value.value.repr());
    }
    auto text = format_value(*this, value, format);
    if (!text) { return Value::error(); }
    out += *text;
    if (out.size() > limits.text_bytes) { return report(error(Code::TooMuchWork, where).arg("what", "a text this long")); }
  }
  return {};
}
auto Evaluator::eval_fstring(const FStringExpr& expr, const ScopeRef& scope) -> Value {
  std::string out;
  Value status = eval_parts(expr.parts, scope, expr.origin(), out);
  return status.is_unknown() ? status : Value::str(std::move(out));
}

// ---- statements --------------------------------------------------------------------------------------------------

auto Evaluator::assign(const Expr& target, const Argument& value, const ScopeRef& scope) -> bool {
  if (const auto* name = target.as<NameExpr>()) {
    scope->set(name->name, value.value);
    return true;
  }
  const syntax::List<ExprPtr>* targets = nullptr;
  if (const auto* tuple = target.as<TupleExpr>()) { targets = &tuple->elements; }
  if (const auto* list = target.as<ListExpr>()) { targets = &list->elements; }
  if (targets) {
    if (value.value.is_unknown()) {
      for (ExprPtr t : *targets) {
        const auto* star = t->as<StarredExpr>();
        if (!assign(star ? *star->value : *t, value, scope)) { return false; }
      }
      return true;
    }
    auto items = iterate(value);
    if (!items) { return false; }
    size_t star = targets->size();
    for (size_t i = 0; i < targets->size(); ++i) {
      if ((*targets)[i]->kind == Kind::Starred) { star = i; }
    }
    bool has_star = star < targets->size();
    size_t fixed = targets->size() - (has_star ? 1 : 0);
    if (has_star ? items->size() < fixed : items->size() != fixed) {
      report(error(Code::UnpackCount, target.origin()).arg("targets", static_cast<int64_t>(fixed)).arg("values", static_cast<int64_t>(items->size())));
      return false;
    }
    size_t next = 0;
    for (size_t i = 0; i < targets->size(); ++i) {
      const Expr& t = *(*targets)[i];
      if (i == star) {
        size_t count = items->size() - fixed;
        std::vector<Value> rest(items->begin() + static_cast<std::ptrdiff_t>(next), items->begin() + static_cast<std::ptrdiff_t>(next + count));
        next += count;
        if (!assign(*t.as<StarredExpr>()->value, {Value::list(std::move(rest)), value.where, {}}, scope)) { return false; }
        continue;
      }
      if (!assign(t, {(*items)[next++], value.where, {}}, scope)) { return false; }
    }
    return true;
  }
  if (const auto* subscript = target.as<SubscriptExpr>()) {
    Argument object = eval_argument(*subscript->object, scope);
    std::vector<Argument> indices;
    Value unknown;
    if (object.value.is_unknown() || !eval_indices(*subscript, scope, indices, unknown)) { return true; }
    if (value.value.is_unknown()) { return true; }
    if (const Object* o = object.value.object()) {
      if (o->set_item(*this, indices, subscript->is_tuple, value, target.origin())) { return true; }
    }
    report(error(Code::NotAssignable, target.origin()).arg("what", describe(object.value)));
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

auto Evaluator::exec_block(const Block& block, const ScopeRef& scope, Value& result) -> Flow {
  for (StmtPtr stmt : block) {
    Flow flow = exec(*stmt, scope, result);
    if (flow != Flow::Next) { return flow; }
  }
  return Flow::Next;
}

auto Evaluator::exec(const Stmt& stmt, const ScopeRef& scope, Value& result) -> Flow {
  if (!step(stmt.origin())) { return Flow::Failed; }
  DepthGuard guard(*this);
  if (too_deep(stmt.origin())) { return Flow::Failed; }
  auto ended = [](const Value& v) { return v.is_error() ? Flow::Failed : Flow::Unknown; };
  switch (stmt.kind) {
    case Kind::ExprStmt: {
      Value value = eval(*static_cast<const ExprStmt&>(stmt).value, scope);
      // What an opaque call does is not known, but it cannot change our values' meaning more than they say.
      return value.is_error() ? Flow::Failed : Flow::Next;
    }
    case Kind::Assign: {
      const auto& s = static_cast<const AssignStmt&>(stmt);
      Argument value = eval_argument(*s.value, scope);
      if (value.value.is_error()) { return Flow::Failed; }
      for (ExprPtr target : s.targets) {
        if (!assign(*target, value, scope)) { return Flow::Failed; }
      }
      return Flow::Next;
    }
    case Kind::AnnAssign: {
      const auto& s = static_cast<const AnnAssignStmt&>(stmt);
      if (!s.value) { return Flow::Next; }
      Argument value = eval_argument(*s.value, scope);
      if (value.value.is_error() || !assign(*s.target, value, scope)) { return Flow::Failed; }
      return Flow::Next;
    }
    case Kind::AugAssign: {
      const auto& s = static_cast<const AugAssignStmt&>(stmt);
      Argument old = eval_argument(*s.target, scope);
      Argument right = eval_argument(*s.value, scope);
      if (old.value.is_error() || right.value.is_error()) { return Flow::Failed; }
      if (const auto* list = old.value.as<eval::List>(); list && s.op == BinaryOp::Add && right.value.items()) {
        // `x += y` changes the list in place.
        std::vector<Value> more = *right.value.items();
        list->items.insert(list->items.end(), more.begin(), more.end());
        return Flow::Next;
      }
      Value value = binary(s.op, old, right, s.origin());
      if (value.is_error() || !assign(*s.target, {std::move(value), s.origin(), {}}, scope)) { return Flow::Failed; }
      return Flow::Next;
    }
    case Kind::Return: {
      const auto& s = static_cast<const ReturnStmt&>(stmt);
      result = s.value ? eval(*s.value, scope) : Value();
      return result.is_error() ? Flow::Failed : Flow::Return;
    }
    case Kind::If: {
      const auto& s = static_cast<const IfStmt&>(stmt);
      Argument condition = eval_argument(*s.condition, scope);
      if (condition.value.is_unknown()) { return ended(condition.value); }
      auto holds = truth(condition);
      if (!holds) { return Flow::Failed; }
      return exec_block(*holds ? s.then : s.otherwise, scope, result);
    }
    case Kind::For: {
      const auto& s = static_cast<const ForStmt&>(stmt);
      Argument iterable = eval_argument(*s.iterable, scope);
      if (iterable.value.is_unknown()) { return ended(iterable.value); }
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
    case Kind::While: {
      const auto& s = static_cast<const WhileStmt&>(stmt);
      while (true) {
        Argument condition = eval_argument(*s.condition, scope);
        if (condition.value.is_unknown()) { return ended(condition.value); }
        auto holds = truth(condition);
        if (!holds) { return Flow::Failed; }
        if (!*holds) { return exec_block(s.otherwise, scope, result); }
        Flow flow = exec_block(s.body, scope, result);
        if (flow == Flow::Break) { return Flow::Next; }
        if (flow != Flow::Next && flow != Flow::Continue) { return flow; }
      }
    }
    case Kind::Assert: {
      const auto& s = static_cast<const AssertStmt&>(stmt);
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
    case Kind::With: {
      // `with pytest.raises(...)`: what fails in it is meant to. Others are not known, but run what stands in them.
      static const Name raises("raises");
      bool is_failure_meant = false;
      const size_t around = contexts.size();
      std::vector<Value> here;
      for (const WithItem& item : static_cast<const WithStmt&>(stmt).items) {
        const auto* call = item.context->as<CallExpr>();
        const auto* callee = call ? call->callee->as<AttributeExpr>() : nullptr;
        is_failure_meant |= callee && callee->attr.name == raises;
        Argument context = eval_argument(*item.context, scope);
        if (context.value.is_error()) { return Flow::Failed; }
        bool is_context = context.value.object() && context.value.object()->is_context();
        if (!context.value.is_opaque() && !is_context) {
          opaque(item.context->origin());
          return Flow::Unknown;
        }
        if (item.target && !assign(*item.target, {is_context ? context.value : Value::opaque(), item.target->origin(), {}}, scope)) { return Flow::Failed; }
        if (is_context) { here.push_back(std::move(context.value)); }
      }
      size_t said = diagnostics.size();
      contexts.insert(contexts.end(), here.begin(), here.end());
      Flow flow = exec_block(static_cast<const WithStmt&>(stmt).body, scope, result);
      contexts.resize(around);
      if (flow != Flow::Failed || !is_failure_meant) { return flow; }
      diagnostics.resize(said);
      return Flow::Next;
    }
    case Kind::Pass: return Flow::Next;
    case Kind::Break: return Flow::Break;
    case Kind::Continue: return Flow::Continue;
    case Kind::FunctionDef: return exec_function_def(static_cast<const FunctionDef&>(stmt), scope);
    case Kind::ClassDef: return exec_class_def(static_cast<const ClassDef&>(stmt), scope);
    case Kind::Import: {
      for (const ImportName& name : static_cast<const ImportStmt&>(stmt).names) {
        Name bound = name.alias.name.empty() ? name.path.front().name : name.alias.name;
        // What is predeclared keeps its meaning however it is imported.
        if (scope->find(bound) || (globals && name.alias.name.empty() && globals->lookup(*this, bound, stmt.origin()))) { continue; }
        auto module = globals ? globals->imported(name) : std::nullopt;
        scope->set(bound, module ? std::move(*module) : Value::opaque());
      }
      return Flow::Next;
    }
    case Kind::ImportFrom: {
      for (const ImportName& name : static_cast<const ImportFromStmt&>(stmt).names) {
        if (name.path.empty()) { continue; }
        Name bound = name.alias.name.empty() ? name.path.front().name : name.alias.name;
        if (auto value = globals ? globals->imported(*this, static_cast<const ImportFromStmt&>(stmt), name) : std::nullopt) {
          scope->set(bound, std::move(*value));
          continue;
        }
        // What is predeclared keeps its meaning, under another name as well.
        bool is_renamed = !name.alias.name.empty() && !name.path.empty();
        auto known = globals ? globals->lookup(*this, is_renamed ? name.path.back().name : bound, stmt.origin()) : std::nullopt;
        if (known && !is_renamed) { continue; }
        scope->set(bound, known ? std::move(*known) : Value::opaque());
      }
      return Flow::Next;
    }
    case Kind::Del: {
      for (ExprPtr target : static_cast<const DelStmt&>(stmt).targets) {
        if (const auto* name = target->as<NameExpr>()) {
          if (!scope->erase(name->name)) { (void)lookup(name->name, scope, name->origin()); return Flow::Failed; }
        } else {
          opaque(target->origin());
          return Flow::Unknown;
        }
      }
      return Flow::Next;
    }
    case Kind::BrokenStmt: return Flow::Failed;
    default:
      opaque(stmt.origin());
      return Flow::Unknown;
  }
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

// ---- calls of functions ------------------------------------------------------------------------------------------

auto Evaluator::bind(const Function& function, const Arguments& arguments, const ScopeRef& scope) -> bool {
  const auto& params = function.params();
  bool good = true;
  bool keyword_only = false;
  size_t next = 0;
  size_t positional_params = 0;
  std::vector<bool> used(arguments.all.size(), false);
  Ref<eval::Dict> rest;
  Name rest_name;
  for (size_t p = 0; p < params.size(); ++p) {
    const Param& param = params[p];
    switch (param.kind) {
      case ParamKind::SlashOnly: continue;
      case ParamKind::StarOnly: keyword_only = true; continue;
      case ParamKind::Star: {
        std::vector<Value> items;
        for (; next < arguments.positional; ++next) {
          used[next] = true;
          items.push_back(arguments.all[next].value);
        }
        scope->set(param.name.name, Value::tuple(std::move(items)));
        keyword_only = true;
        continue;
      }
      case ParamKind::DoubleStar:
        rest = make_object<eval::Dict>();
        rest_name = param.name.name;
        continue;
      case ParamKind::Plain: break;
    }
    const Argument* named = arguments.keyword(param.name.name);
    if (!keyword_only) { ++positional_params; }
    if (!keyword_only && next < arguments.positional) {
      used[next] = true;
      scope->set(param.name.name, arguments.all[next++].value);
      if (named) {
        report(error(Code::DuplicateArgument, named->where).arg("name", param.name.name.view()).arg("callee", function.name().view()));
        used[static_cast<size_t>(named - arguments.all.data())] = true;
        good = false;
      }
      continue;
    }
    if (named) {
      used[static_cast<size_t>(named - arguments.all.data())] = true;
      scope->set(param.name.name, named->value);
      continue;
    }
    if (param.default_value) {
      scope->set(param.name.name, function.defaults[p]);
      continue;
    }
    report(error(Code::MissingArgument, arguments.callee).arg("name", param.name.name.view()).arg("callee", function.name().view()));
    good = false;
  }
  for (size_t i = 0; i < arguments.all.size(); ++i) {
    if (used[i]) { continue; }
    const Argument& extra = arguments.all[i];
    if (i < arguments.positional) {
      report(error(Code::TooManyArguments, extra.where).arg("callee", function.name().view()).arg("count", static_cast<int64_t>(positional_params)).arg("given", static_cast<int64_t>(arguments.positional)));
      good = false;
      // The others would say the same.
      i = arguments.positional - 1;
      continue;
    }
    if (rest) {
      rest->set(Value::str(extra.keyword.str()), extra.value);
      continue;
    }
    std::vector<Name> names;
    for (const Param& param : params) { names.push_back(param.name.name); }
    Diagnostic d = error(Code::UnexpectedArgument, extra.keyword_at.is_known() ? extra.keyword_at : extra.where).arg("name", extra.keyword.view()).arg("callee", function.name().view());
    if (Name near = closest_name(extra.keyword, names); !near.empty()) { (void)std::move(d).remedy("did you mean `" + near.str() + "`?").fix(extra.keyword_at, near.str()); }
    report(std::move(d));
    good = false;
  }
  if (rest) { scope->set(rest_name, rest); }
  return good;
}

auto Evaluator::start(const Ref<Function>& function, const Arguments& arguments) -> std::optional<Frame> {
  return start(function, arguments, function->captured);
}
auto Evaluator::start(const Ref<Function>& function, const Arguments& arguments, const ScopeRef& around) -> std::optional<Frame> {
  ++calls_;
  Frame frame;
  frame.function = function;
  frame.scope = new_scope(around);
  if (!bind(*function, arguments, frame.scope)) { return {}; }
  return frame;
}

void Evaluator::run(Frame& frame, Observer* observer) {
  const FunctionDef* def = frame.function->def;
  Environment* saved_globals = std::exchange(globals, frame.function->globals);
  std::shared_ptr<const void> saved_tree = std::exchange(tree, frame.function->keep_alive);
  if (!def) {
    frame.result = eval(*frame.function->lambda->body, frame.scope);
    frame.flow = frame.result.is_error() ? Flow::Failed : Flow::Return;
  } else {
    while (frame.next < def->body.size()) {
      const Stmt& stmt = *def->body[frame.next];
      size_t index = frame.next;
      if (observer) { observer->before(*this, frame, index, stmt); }
      frame.flow = exec(stmt, frame.scope, frame.result);
      ++frame.next;
      bool go_on = !observer || observer->after(*this, frame, index, stmt, frame.flow);
      if (frame.flow != Flow::Next || !go_on) { break; }
    }
  }
  if (frame.flow == Flow::Unknown) { frame.result = Value::opaque(); }
  if (frame.flow == Flow::Failed) { frame.result = Value::error(); }
  globals = saved_globals;
  tree = std::move(saved_tree);
}

auto Evaluator::call_function(const Ref<Function>& function, const Arguments& arguments, Observer* observer) -> Value {
  DepthGuard guard(*this);
  if (too_deep(arguments.call)) { return Value::error(); }
  auto frame = start(function, arguments);
  if (!frame) { return Value::error(); }
  run(*frame, observer);
  return std::move(frame->result);
}

void Evaluator::resume_from(size_t statement, Frame& frame, const Ref<Function>& function, Observer* observer) {
  frame.function = function;
  frame.next = statement;
  frame.flow = Flow::Next;
  frame.result = Value();
  run(frame, observer);
}

// ---- helpers -----------------------------------------------------------------------------------------------------

auto bind_arguments(Evaluator& evaluator, std::string_view callee, const Arguments& arguments, const std::vector<Parameter>& parameters,
                    BoundArguments& out) -> bool {
  out.values.assign(parameters.size(), {});
  out.given.assign(parameters.size(), false);
  bool good = true;
  size_t next = 0;
  size_t positional = 0;
  for (const Parameter& p : parameters) { positional += !p.keyword_only; }
  for (; next < arguments.positional; ++next) {
    if (next >= positional) {
      evaluator.report(error(Code::TooManyArguments, arguments.all[next].where).arg("callee", callee).arg("count", static_cast<int64_t>(positional)).arg("given", static_cast<int64_t>(arguments.positional)));
      return false;
    }
    out.values[next] = arguments.all[next];
    out.given[next] = true;
  }
  for (size_t i = arguments.positional; i < arguments.all.size(); ++i) {
    const Argument& a = arguments.all[i];
    size_t p = 0;
    while (p < parameters.size() && !(parameters[p].name == a.keyword)) { ++p; }
    if (p == parameters.size()) {
      std::vector<Name> names;
      for (const Parameter& known : parameters) { names.push_back(known.name); }
      Diagnostic d = error(Code::UnexpectedArgument, a.keyword_at.is_known() ? a.keyword_at : a.where).arg("name", a.keyword.view()).arg("callee", callee);
      if (Name near = closest_name(a.keyword, names); !near.empty()) {
        (void)std::move(d).remedy("did you mean `" + near.str() + "`?");
        if (a.keyword_at.is_known()) { (void)std::move(d).fix(a.keyword_at, near.str()); }
      }
      evaluator.report(std::move(d));
      good = false;
    } else if (out.given[p]) {
      evaluator.report(error(Code::DuplicateArgument, a.where).arg("name", a.keyword.view()).arg("callee", callee));
      good = false;
    } else {
      out.values[p] = a;
      out.given[p] = true;
    }
  }
  for (size_t p = 0; good && p < parameters.size(); ++p) {
    if (!out.given[p] && parameters[p].is_required) {
      evaluator.report(error(Code::MissingArgument, arguments.callee).arg("name", parameters[p].name.view()).arg("callee", callee));
      good = false;
    }
  }
  if (!good) { return false; }
  for (const Argument& a : out.values) {
    if (a.value.is_unknown()) {
      out.unknown = a.value;
      return false;
    }
  }
  return true;
}

auto closest_name(Name wanted, const std::vector<Name>& names) -> Name {
  const std::string& a = wanted.str();
  Name best;
  size_t best_distance = a.size() <= 2 ? 1 : a.size() <= 5 ? 2 : 3;  // needs to be below
  if (a.size() > 40) { return best; }
  for (Name candidate : names) {
    const std::string& b = candidate.str();
    if (b.empty() || candidate == wanted || b.size() > a.size() + 3 || a.size() > b.size() + 3) { continue; }
    size_t distance = edit_distance(a, b);
    if (distance < best_distance || (distance == best_distance && !best.empty() && candidate < best)) {
      if (distance < best_distance || !best.empty()) {
        best = candidate;
        best_distance = distance;
      }
    }
  }
  return best;
}

auto unpacking(const Value& value) -> std::string {
  const auto* several = value.as<Tuple>();
  if (!several || several->items.size() < 2) { return {}; }
  return "it is " + std::to_string(several->items.size()) + " values: name each, as in `for i, j in ...`, or take one of them";
}

auto describe(const Value& value) -> std::string {
  switch (value.kind()) {
    case Value::Kind::Error: return "an error";
    case Value::Kind::Opaque: return "something unknown";
    case Value::Kind::None: return "`None`";
    case Value::Kind::Bool: case Value::Kind::Int: case Value::Kind::Float: return "`" + value.repr() + "`";
    case Value::Kind::Object: break;
  }
  if (value.string()) {
    std::string text = value.repr();
    return text.size() <= 40 ? "the str `" + text + "`" : "a str";
  }
  if (const auto* space = value.as<Namespace>()) { return "`" + space->name.str() + "`"; }
  std::string_view type = value.type_name();
  if (type.find(' ') != std::string_view::npos) { return std::string(type); }
  bool vowel = !type.empty() && std::string_view("aeiou").find(type[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(type);
}

}  // namespace loopsmith::eval
