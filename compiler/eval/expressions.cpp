// Expressions: see evaluator.h.
#include "eval/evaluator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "eval/format.h"
#include "eval/limit_text.h"
#include "eval/sets.h"
#include "eval/wide_int.h"
#include "support/codes.h"

namespace loopsmith::eval {

using namespace syntax;

namespace {

auto set_of(Evaluator& e, const std::vector<Value>& items, const std::function<Origin(size_t)>& place) -> Value {
  Ref<Set> out = make_object<Set>();
  for (size_t i = 0; i < items.size(); ++i) {
    if (!add_to_set(e, *out, {items[i], place(i), {}})) { return Value::error(); }
  }
  return out;
}

}  // namespace

auto Evaluator::eval(const Expr& expr, const ScopeRef& scope) -> Value {
  if (!step(expr.origin())) { return Value::error(); }
  DepthGuard guard(*this);
  if (too_deep(expr.origin())) { return Value::error(); }
  switch (expr.kind) {
    case Kind::Name: return lookup(static_cast<const NameExpr&>(expr).name, scope, expr.origin());
    case Kind::Int: {
      const auto& e = static_cast<const IntExpr&>(expr);
      if (e.fits) { return Value(e.value); }
      if (auto wide = wide_literal(e.text)) { return make_object<WideInt>(*wide); }
      return report(error(Code::IntegerOverflow, e.origin()).arg("what", e.text));
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
    case Kind::Set: {
      std::vector<Value> items;
      const auto& elements = static_cast<const SetExpr&>(expr).elements;
      Value unknown = eval_items(elements, scope, items);
      // `*items` has no place for each of its items.
      const bool has_places = items.size() == elements.size();
      return unknown.is_unknown() ? unknown : set_of(*this, items, [&](size_t i) { return has_places ? elements[static_cast<uint32_t>(i)]->origin() : expr.origin(); });
    }
    case Kind::Dict: return eval_dict(static_cast<const DictExpr&>(expr), scope);
    case Kind::Unary: {
      const auto& e = static_cast<const UnaryExpr&>(expr);
      // The least number of 64 bits is the negative of a number that does not fit.
      if (e.op == UnaryOp::Negate && e.operand->kind == Kind::Int && static_cast<const IntExpr&>(*e.operand).text == "9223372036854775808") {
        return Value(std::numeric_limits<int64_t>::min());
      }
      Argument operand = eval_argument(*e.operand, scope);
      return operand.value.is_unknown() ? operand.value : unary(e.op, operand, e.origin());
    }
    case Kind::Binary: return eval_binary(static_cast<const BinaryExpr&>(expr), scope);
    case Kind::Boolean: return eval_boolean(static_cast<const BooleanExpr&>(expr), scope);
    case Kind::Compare: return eval_compare(static_cast<const CompareExpr&>(expr), scope);
    case Kind::Conditional: return eval_conditional(static_cast<const ConditionalExpr&>(expr), scope);
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
    case Kind::Slice: return eval_slice(static_cast<const syntax::SliceExpr&>(expr), scope);
    case Kind::Comprehension: return eval_comprehension(static_cast<const ComprehensionExpr&>(expr), scope);
    case Kind::NamedExpr: {
      const auto& e = static_cast<const NamedExpr&>(expr);
      Value value = eval(*e.value, scope);
      scope->set(e.name.name, value);
      return value;
    }
    case Kind::BrokenExpr: return Value::error();
    case Kind::OpaqueExpr: has_yielded_ |= static_cast<const OpaqueExpr&>(expr).what == "yield"; return opaque(expr.origin());
    default: return opaque(expr.origin());
  }
}

auto Evaluator::eval_dict(const DictExpr& expr, const ScopeRef& scope) -> Value {
  Ref<eval::Dict> dict = make_object<eval::Dict>();
  Value unknown;
  for (const DictEntry& entry : expr.entries) {
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

auto Evaluator::eval_conditional(const ConditionalExpr& expr, const ScopeRef& scope) -> Value {
  Argument condition = eval_argument(*expr.condition, scope);
  if (condition.value.is_unknown()) { return condition.value; }
  if (const Object* o = condition.value.object(); o && !o->truth()) {
    // The condition is a value of the program, which decides at run time.
    Argument then = eval_argument(*expr.then, scope);
    Argument otherwise = eval_argument(*expr.otherwise, scope);
    for (const Argument* a : {&then, &otherwise}) { if (a->value.is_unknown()) { return a->value; } }
    if (auto chosen = o->choose(*this, condition, then, otherwise, expr.origin())) { return std::move(*chosen); }
  }
  auto holds = truth(condition);
  if (!holds) { return Value::error(); }
  return eval(*holds ? *expr.then : *expr.otherwise, scope);
}

auto Evaluator::eval_slice(const syntax::SliceExpr& expr, const ScopeRef& scope) -> Value {
  auto part = [&](ExprPtr p) { return p ? eval_argument(*p, scope) : Argument{}; };
  Argument lower = part(expr.lower);
  Argument upper = part(expr.upper);
  Argument step = part(expr.step);
  for (const Argument* a : {&lower, &upper, &step}) {
    if (a->value.is_unknown()) { return a->value; }
  }
  return make_object<SliceObject>(std::move(lower), std::move(upper), std::move(step));
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

auto bit_length(Evaluator&, const Value& self, const Arguments&) -> Value {
  int64_t i = self.to_int().value_or(0);
  return Value(static_cast<int64_t>(std::bit_width(i < 0 ? 0 - static_cast<uint64_t>(i) : static_cast<uint64_t>(i))));
}
auto bit_count(Evaluator&, const Value& self, const Arguments&) -> Value {
  int64_t i = self.to_int().value_or(0);
  return Value(static_cast<int64_t>(std::popcount(i < 0 ? 0 - static_cast<uint64_t>(i) : static_cast<uint64_t>(i))));
}
auto is_integer(Evaluator&, const Value& self, const Arguments&) -> Value {
  return Value(!self.is_float() || std::floor(self.float_value()) == self.float_value());
}
auto itself(Evaluator&, const Value& self, const Arguments&) -> Value { return self; }

// Members of Python's numbers; members that return bytes or fractions are unknown. None: numbers have no such member.
auto number_member(const Value& number, Name name) -> std::optional<Value> {
  struct Row { std::string_view name; Method::Run run; bool is_of_ints; };
  static constexpr Row rows[] = {{"bit_length", bit_length, true}, {"bit_count", bit_count, true}, {"is_integer", is_integer, false}, {"conjugate", itself, false}};
  static constexpr std::string_view unknown[] = {"ty", "to_bytes", "from_bytes", "as_integer_ratio", "hex", "fromhex"};
  const bool is_int = number.is_int() || number.is_bool();
  if (!is_int && !number.is_float()) { return {}; }
  for (const Row& row : rows) {
    if (row.name == name.view() && (is_int || !row.is_of_ints)) { return make_object<Method>(number, name, row.run); }
  }
  // Constants of programs, such as extents, are plain numbers here: scripts may read their value and type.
  if (name.view() == "value" || name.view() == "real") { return number; }
  if (name.view() == "imag") { return Value(0); }
  if (name.view() == "numerator" && is_int) { return number; }
  if (name.view() == "denominator" && is_int) { return Value(1); }
  if (name.view() == "dtype") { return Value::str(number.is_bool() ? "bool" : is_int ? "int32" : "float32"); }
  bool is_unknown = name.view().starts_with("__") || std::find(std::begin(unknown), std::end(unknown), name.view()) != std::end(unknown);
  return is_unknown ? std::optional(Value::opaque()) : std::nullopt;
}

}  // namespace

auto Evaluator::attribute(const Argument& object, Name name, Origin where) -> Value {
  std::vector<Name> names;
  if (const Object* o = object.value.object()) {
    if (auto found = o->get_attribute(*this, name, where)) { return found->is_opaque() ? opaque(where) : std::move(*found); }
    o->attribute_names(names);
  }
  if (object.value.is_unknown()) { return object.value; }
  if (auto member = number_member(object.value, name)) { return member->is_opaque() ? opaque(where) : std::move(*member); }
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
  return report(error(Code::NotIndexable, object.where).arg("what", describe(object.value)).remedy("remove the brackets, or index a list, a tuple or a buffer"));
}

auto Evaluator::iterate(const Argument& iterable) -> std::optional<std::vector<Value>> {
  if (const Object* o = iterable.value.object()) {
    size_t before = diagnostics.size();
    // The check for ranges that are too long has its own message, with the length.
    constexpr size_t bytes_of_text = 5 * sizeof(Value);
    auto length = static_cast<size_t>(std::max<int64_t>(o->length().value_or(0), 0));
    if (length > limits.list_items && iterable.value.string()) {
      refuse("a list of " + std::to_string(length) + " characters", iterable.where);
      return {};
    }
    if (length <= limits.list_items && !charge(length, length * (iterable.value.string() ? bytes_of_text : sizeof(Value)), iterable.where)) { return {}; }
    auto items = o->iterate(*this, iterable.where);
    if (diagnostics.size() > before) { return {}; }
    if (items) { return items; }
  }
  if (!iterable.value.is_unknown()) {
    Diagnostic d = error(Code::NotIterable, iterable.where).arg("what", describe(iterable.value));
    if (iterable.value.is_int()) { (void)std::move(d).remedy(fmt::format("count with `range({})`", iterable.value.int_value())); }
    report(std::move(d));
  }
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
      if (dict->entries().size() > limits.list_items) { return report(error(Code::TooMuchWork, expr.origin()).arg("what", more_than(limits.list_items, "a dict", "items"))); }
      return {};
    }
    list.push_back(std::move(value));
    if (list.size() > limits.list_items) { return report(error(Code::TooMuchWork, expr.origin()).arg("what", more_than(limits.list_items, "a list", "items"))); }
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
  ScopeRef inner = new_scope(scope);
  std::vector<Value> list;
  if (expr.which == ComprehensionKind::Dict) {
    Ref<eval::Dict> dict = make_object<eval::Dict>();
    Value status = comprehend(expr, 0, inner, list, dict.get());
    return status.is_unknown() ? status : Value(dict);
  }
  // Evaluates a generator at once: expressions here have no effects that a script could notice.
  Value status = comprehend(expr, 0, inner, list, nullptr);
  if (status.is_unknown()) { return status; }
  return expr.which == ComprehensionKind::Set ? set_of(*this, list, [&](size_t) { return expr.element->origin(); }) : Value::list(std::move(list));
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
    if (out.size() > limits.text_bytes) { return report(error(Code::TooMuchWork, where).arg("what", more_than(limits.text_bytes, "a text", "bytes"))); }
  }
  return {};
}
auto Evaluator::eval_fstring(const FStringExpr& expr, const ScopeRef& scope) -> Value {
  std::string out;
  Value status = eval_parts(expr.parts, scope, expr.origin(), out);
  return status.is_unknown() ? status : Value::str(std::move(out));
}

}  // namespace loopsmith::eval
