// Operators: arithmetic, comparison, `and` and `or`. See evaluator.h.
#include "eval/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "eval/format.h"
#include "eval/limit_text.h"
#include "eval/sets.h"
#include "support/codes.h"

namespace loopsmith::eval {

using namespace syntax;

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

// Reports wrong operands, unless one of them is a tuple that was already reported.
auto bad_operands(Evaluator& e, std::string_view op, const Value& a, const Value& b, Origin where) -> Value {
  if (e.is_known_tuple(a) || e.is_known_tuple(b)) { return Value::error(); }
  Diagnostic wrong = error(Code::BadOperands, where).arg("op", op).arg("left", describe(a)).arg("right", describe(b));
  std::string remedy = unpacking(a);
  if (remedy.empty()) { remedy = unpacking(b); }
  const auto is_number = [](const Value& v) { return v.is_int() || v.kind() == Value::Kind::Float; };
  const bool joins_number = op == "+" && ((a.string() && is_number(b)) || (b.string() && is_number(a)));
  if (remedy.empty() && joins_number) { remedy = "convert the number with `str(...)`"; }
  if (!remedy.empty()) { (void)std::move(wrong).remedy(std::move(remedy)); }
  return e.report(std::move(wrong));
}

// For two integers; none: the operator has no integer result (`/`).
auto binary_of_ints(Evaluator& e, BinaryOp op, int64_t a, int64_t b, bool are_bools, Origin divisor, Origin where) -> std::optional<Value> {
  auto report = [&](Diagnostic d) { return e.report(std::move(d)); };
  int64_t out = 0;
  auto overflow = [&](bool over) { return over ? report(error(Code::IntegerOverflow, where).arg("what", std::string("the result of `") + std::string(symbol(op)) + "`")) : Value(out); };
  switch (op) {
    case BinaryOp::Add: return overflow(__builtin_add_overflow(a, b, &out));
    case BinaryOp::Sub: return overflow(__builtin_sub_overflow(a, b, &out));
    case BinaryOp::Mul: return overflow(__builtin_mul_overflow(a, b, &out));
    case BinaryOp::FloorDiv: case BinaryOp::Mod: {
      if (b == 0) { return report(error(Code::DivisionByZero, divisor)); }
      if (b == -1) {
        if (op == BinaryOp::Mod) { return Value(0); }
        return overflow(__builtin_sub_overflow(int64_t{0}, a, &out));
      }
      int64_t q = floor_divide(a, b);
      return op == BinaryOp::FloorDiv ? Value(q) : Value(a - q * b);
    }
    case BinaryOp::Pow: {
      if (b < 0) { return Value(std::pow(static_cast<double>(a), static_cast<double>(b))); }
      auto power = int_power(a, b);
      if (power) { out = *power; }
      return overflow(!power);
    }
    case BinaryOp::ShiftLeft:
      if (b < 0) { return report(error(Code::NegativeShift, divisor).arg("count", b).remedy("shift the other way: `<<` and `>>` are each other's opposite")); }
      if (a != 0 && (b > 62 || std::abs(a) > (std::numeric_limits<int64_t>::max() >> b))) { return overflow(true); }
      return Value(a == 0 ? int64_t{0} : static_cast<int64_t>(static_cast<uint64_t>(a) << b));
    case BinaryOp::ShiftRight:
      if (b < 0) { return report(error(Code::NegativeShift, divisor).arg("count", b).remedy("shift the other way: `<<` and `>>` are each other's opposite")); }
      return Value(b > 63 ? (a < 0 ? int64_t{-1} : int64_t{0}) : a >> b);
    case BinaryOp::BitAnd: return are_bools ? Value(a && b) : Value(a & b);
    case BinaryOp::BitOr: return are_bools ? Value(a || b) : Value(a | b);
    case BinaryOp::BitXor: return are_bools ? Value(a != b) : Value(a ^ b);
    case BinaryOp::Div: case BinaryOp::MatMul: break;
  }
  return {};
}

// For two numbers, at least one of them a float, or for `/`; none: the operator has no such result.
auto binary_of_floats(Evaluator& e, BinaryOp op, double a, double b, Origin divisor) -> std::optional<Value> {
  switch (op) {
    case BinaryOp::Add: return Value(a + b);
    case BinaryOp::Sub: return Value(a - b);
    case BinaryOp::Mul: return Value(a * b);
    case BinaryOp::Div: case BinaryOp::FloorDiv: case BinaryOp::Mod:
      if (b == 0) { return e.report(error(Code::DivisionByZero, divisor)); }
      if (op == BinaryOp::Div) { return Value(a / b); }
      if (op == BinaryOp::FloorDiv) { return Value(std::floor(a / b)); }
      return Value(a - std::floor(a / b) * b);
    case BinaryOp::Pow: return Value(std::pow(a, b));
    default: break;
  }
  return {};
}

// `"ab" * 3`, `[0] * n`. None: the operands are not a sequence and a number.
auto repeated(Evaluator& e, const Value& a, const Value& b, Origin where) -> std::optional<Value> {
  auto ia = a.to_int();
  auto ib = b.to_int();
  bool is_repeat = (ia && (b.string() || b.items())) || (ib && (a.string() || a.items()));
  if (!is_repeat) { return {}; }
  const Value& sequence = ia ? b : a;
  int64_t times = std::max<int64_t>(0, ia ? *ia : *ib);
  if (const std::string* s = sequence.string()) {
    if (!s->empty() && static_cast<uint64_t>(times) > e.limits.text_bytes / s->size()) { return e.report(error(Code::TooMuchWork, where).arg("what", more_than(e.limits.text_bytes, "a text", "bytes"))); }
    size_t size = s->size() * static_cast<size_t>(s->empty() ? 0 : times);
    if (!e.charge(size / sizeof(Value), size, where)) { return Value::error(); }
    std::string out;
    out.reserve(size);
    for (int64_t i = 0; !s->empty() && i < times; ++i) { out += *s; }
    return Value::str(std::move(out));
  }
  const std::vector<Value>& items = *sequence.items();
  if (!items.empty() && static_cast<uint64_t>(times) > e.limits.list_items / items.size()) { return e.report(error(Code::TooMuchWork, where).arg("what", more_than(e.limits.list_items, "a list", "items"))); }
  size_t size = items.size() * static_cast<size_t>(items.empty() ? 0 : times);
  if (!e.charge(size, size * sizeof(Value), where)) { return Value::error(); }
  std::vector<Value> out;
  if (!items.empty()) {
    for (int64_t i = 0; i < times; ++i) { out.insert(out.end(), items.begin(), items.end()); }
  }
  return sequence.as<eval::List>() ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

// `+` of two texts, lists or tuples. None: they are not of one kind.
auto joined(Evaluator& e, const Value& a, const Value& b, Origin where) -> std::optional<Value> {
  const std::string* sa = a.string();
  const std::string* sb = b.string();
  if (sa && sb) {
    if (sa->size() + sb->size() > e.limits.text_bytes) { return e.report(error(Code::TooMuchWork, where).arg("what", more_than(e.limits.text_bytes, "a text", "bytes"))); }
    if (!e.charge((sa->size() + sb->size()) / sizeof(Value), sa->size() + sb->size(), where)) { return Value::error(); }
    return Value::str(*sa + *sb);
  }
  if (!a.object() || !b.object() || a.object()->tag != b.object()->tag || !a.items()) { return {}; }
  size_t size = a.items()->size() + b.items()->size();
  if (size > e.limits.list_items) { return e.report(error(Code::TooMuchWork, where).arg("what", more_than(e.limits.list_items, "a list", "items"))); }
  if (!e.charge(size, size * sizeof(Value), where)) { return Value::error(); }
  std::vector<Value> items = *a.items();
  items.insert(items.end(), b.items()->begin(), b.items()->end());
  return a.as<eval::List>() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

}  // namespace

auto Evaluator::binary(BinaryOp op, const Argument& left, const Argument& right, Origin where) -> Value {
  const Value& a = left.value;
  const Value& b = right.value;
  if (a.is_unknown()) { return a; }
  if (b.is_unknown()) { return b; }
  if (auto ia = a.to_int(), ib = b.to_int(); ia && ib && op != BinaryOp::Div) {
    if (auto result = binary_of_ints(*this, op, *ia, *ib, a.is_bool() && b.is_bool(), right.where, where)) { return *std::move(result); }
  }
  if (auto fa = a.to_float(), fb = b.to_float(); fa && fb) {
    if (auto result = binary_of_floats(*this, op, *fa, *fb, right.where)) { return *std::move(result); }
  }
  if (const Object* o = a.object()) {
    if (auto result = o->binary(*this, op, left, right, false, where)) { return std::move(*result); }
  }
  if (const Object* o = b.object()) {
    if (auto result = o->binary(*this, op, right, left, true, where)) { return std::move(*result); }
  }
  if (op == BinaryOp::Add) {
    if (auto result = joined(*this, a, b, where)) { return *std::move(result); }
  }
  if (op == BinaryOp::Mul) {
    if (auto result = repeated(*this, a, b, where)) { return *std::move(result); }
  }
  if (const std::string* format = a.string(); format && op == BinaryOp::Mod) { return format_percent(*this, *format, right, where); }
  if (op == BinaryOp::BitOr && a.as<eval::Dict>() && b.as<eval::Dict>()) {
    Ref<eval::Dict> out = make_object<eval::Dict>();
    for (const auto& [k, v] : a.as<eval::Dict>()->entries()) { out->set(k, v); }
    for (const auto& [k, v] : b.as<eval::Dict>()->entries()) { out->set(k, v); }
    return out;
  }
  return bad_operands(*this, symbol(op), a, b, where);
}

auto Evaluator::eval_binary(const BinaryExpr& expr, const ScopeRef& scope) -> Value {
  // Long chains lean to the left: a loop goes through them, without recursion.
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
      found = find_text(*text, *part) != std::string::npos;
    } else if (const auto* dict = b.as<eval::Dict>()) {
      found = dict->find(a) != nullptr;
    } else if (const auto* set = b.as<eval::Set>()) {
      found = set->contains(a);
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

}  // namespace loopsmith::eval
