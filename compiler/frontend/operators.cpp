// Operators on the values of programs: arithmetic, comparisons, `and`, `or`, `not` and choices. Matches types as TVM does.
#include <fmt/format.h>

#include "eval/wide_int.h"
#include "frontend/lowerer.h"
#include "frontend/objects.h"
#include "ir/ops.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::frontend {

using eval::make_object;
using syntax::BinaryOp;
using syntax::CompareOp;
using syntax::UnaryOp;

namespace {

auto scalar_text(const DataType& t) -> std::string { return "`" + t.str() + "`"; }

}  // namespace

auto match_operands(Evaluator& evaluator, std::string_view op, Expr& a, Origin a_at, Expr& b, Origin b_at, Origin where) -> bool {
  if (a.dtype() == b.dtype() || match_types(a, b)) { return true; }
  evaluator.report(error(Code::TypeMismatch, where).arg("op", op).arg("left", a.dtype().str()).arg("right", b.dtype().str())
                       .note(a_at, "this is " + scalar_text(a.dtype())).note(b_at, "this is " + scalar_text(b.dtype())));
  return false;
}

auto make_binary(Evaluator& evaluator, BinaryOp op, Expr a, Origin a_at, Expr b, Origin b_at, Origin where) -> Expr {
  if (!match_operands(evaluator, symbol(op), a, a_at, b, b_at, where)) { return {}; }
  DataType t = a.dtype();
  auto needs_integers = [&]() {
    if (t.is_integral()) { return true; }
    Diagnostic wrong = error(Code::BadOperands, where).arg("op", symbol(op)).arg("left", scalar_text(t)).arg("right", scalar_text(t));
  if (op == BinaryOp::Pow) { (void)std::move(wrong).remedy("powers are written `T.pow(a, b)`"); }
  evaluator.report(std::move(wrong));
    return false;
  };
  auto call = [&](const char* name) -> Expr {
    if (!needs_integers()) { return {}; }
    return make<Call>(t, Name(name), Array<Expr>{a, b}, where);
  };
  if (t.is_handle() && op != BinaryOp::Add && op != BinaryOp::Sub) {
    evaluator.report(error(Code::BadOperands, where).arg("op", symbol(op)).arg("left", "a handle").arg("right", "a handle"));
    return {};
  }
  // TVM 0.19 folds constants and drops neutral operands (`x * 1` is `x`) in expressions with operator signs; its main line does not.
  const Lowerer* lowerer = Lowerer::of(evaluator);
  bool folds = !lowerer || !lowerer->rebinds_names();
  switch (op) {
    case BinaryOp::Add: return folds ? add(a, b, where) : make<Add>(a, b, where);
    case BinaryOp::Sub: return folds ? sub(a, b, where) : make<Sub>(a, b, where);
    case BinaryOp::Mul: return folds ? mul(a, b, where) : make<Mul>(a, b, where);
    case BinaryOp::Div: return folds ? div(a, b, where) : make<Div>(a, b, where);
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod: {
      if (is_zero(b) && t.is_integral()) {
        evaluator.report(error(Code::DivisionByZero, b_at));
        return {};
      }
      if (op == BinaryOp::FloorDiv) { return folds ? floordiv(a, b, where) : make<FloorDiv>(a, b, where); }
      return folds ? floormod(a, b, where) : make<FloorMod>(a, b, where);
    }
    case BinaryOp::BitAnd: { static const Name n("bitwise_and"); return call(n.str().c_str()); }
    case BinaryOp::BitOr: return call("bitwise_or");
    case BinaryOp::BitXor: return call("bitwise_xor");
    case BinaryOp::ShiftLeft:
    case BinaryOp::ShiftRight: {
      const Expr* count = &b;
      if (const auto* same = b.as<Broadcast>()) { count = &same->value; }
      auto bits = as_int(*count);
      if (bits && t.is_integral() && (*bits < 0 || *bits >= t.bits)) {
        evaluator.report(*bits < 0 ? error(Code::NegativeShift, b_at).arg("count", *bits).remedy("shift the other way: `<<` and `>>` are each other's opposite")
                                   : error(Code::BadValue, b_at).arg("action", fmt::format("shift `{}` by {}", t.str(), *bits)).arg("reason", because(Why::ShiftBeyondBits).arg("bits", t.bits).text())
                                         .remedy("shift by less, or widen the value first: `T.Cast(\"int64\", ...)`"));
        return {};
      }
      return call(op == BinaryOp::ShiftLeft ? "shift_left" : "shift_right");
    }
    case BinaryOp::Pow: case BinaryOp::MatMul: break;
  }
  Diagnostic wrong = error(Code::BadOperands, where).arg("op", symbol(op)).arg("left", scalar_text(t)).arg("right", scalar_text(t));
  if (op == BinaryOp::Pow) { (void)std::move(wrong).remedy("powers are written `T.pow(a, b)`"); }
  evaluator.report(std::move(wrong));
  return {};
}

namespace {

// False for operands that are no expressions: the evaluator then reports that the operator cannot be applied.
auto is_operand(const Value& v) -> bool {
  return v.is_int() || v.is_bool() || v.is_float() || v.as<MetaObject>() || v.as<eval::WideInt>() || v.as<ExprObject>() || v.as<RegionObject>() || v.as<IterVarObject>();
}

auto binary_op(Evaluator& evaluator, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) -> std::optional<Value> {
  if (!is_operand(other.value) || op == BinaryOp::MatMul) { return {}; }
  Expr a = to_expr(evaluator, self);
  if (!a) { return Value::error(); }
  // A literal is int32 or float32, and the two types are matched; in comparisons it gets the type of the other side.
  Expr b = to_expr(evaluator, other);
  if (!b) { return Value::error(); }
  Argument self_at = self;
  if (reflected) {
    Expr out = make_binary(evaluator, op, std::move(b), other.where, std::move(a), self.where, where);
    return out ? Value(make_object<ExprObject>(std::move(out))) : Value::error();
  }
  Expr out = make_binary(evaluator, op, std::move(a), self.where, std::move(b), other.where, where);
  return out ? Value(make_object<ExprObject>(std::move(out))) : Value::error();
}

auto compare_op(Evaluator& evaluator, CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) -> std::optional<Value> {
  if (!is_operand(other.value)) { return {}; }
  Expr a = to_expr(evaluator, self);
  if (!a) { return Value::error(); }
  Expr b = to_expr_like(evaluator, other, a.dtype());
  if (!b) { return Value::error(); }
  Origin a_at = self.where;
  Origin b_at = other.where;
  if (reflected) {
    std::swap(a, b);
    std::swap(a_at, b_at);
  }
  if (!match_operands(evaluator, symbol(op), a, a_at, b, b_at, where)) { return Value::error(); }
  // Outside of programs, constants are compared as numbers: `annotations["unrolled"] == T.bool(True)`.
  auto left = as_int(a);
  auto right = as_int(b);
  if (left && right && !Lowerer::of(evaluator)) {
    switch (op) {
      case CompareOp::Eq: return Value(*left == *right);
      case CompareOp::Ne: return Value(*left != *right);
      case CompareOp::Lt: return Value(*left < *right);
      case CompareOp::Le: return Value(*left <= *right);
      case CompareOp::Gt: return Value(*left > *right);
      case CompareOp::Ge: return Value(*left >= *right);
      default: return {};
    }
  }
  Expr out;
  switch (op) {
    case CompareOp::Eq: out = make<EQ>(a, b, where); break;
    case CompareOp::Ne: out = make<NE>(a, b, where); break;
    case CompareOp::Lt: out = make<LT>(a, b, where); break;
    case CompareOp::Le: out = make<LE>(a, b, where); break;
    case CompareOp::Gt: out = make<GT>(a, b, where); break;
    case CompareOp::Ge: out = make<GE>(a, b, where); break;
    default: return {};
  }
  return make_object<ExprObject>(std::move(out));
}

auto unary_op(Evaluator& evaluator, UnaryOp op, const Expr& x, Origin where) -> std::optional<Value> {
  switch (op) {
    case UnaryOp::Plus: return make_object<ExprObject>(x);
    case UnaryOp::Negate:
      if (x.dtype().is_handle()) { return {}; }
      return make_object<ExprObject>(mul(x, constant_int(x.dtype(), -1, where), where));
    case UnaryOp::Invert: {
      if (!x.dtype().is_integral()) { return {}; }
      static const Name bitwise_not("bitwise_not");
      return make_object<ExprObject>(make<Call>(x.dtype(), bitwise_not, Array<Expr>{x}, where));
    }
    case UnaryOp::Not:
      if (!x.dtype().is_bool()) {
        evaluator.report(error(Code::WrongType, x.origin().is_known() ? x.origin() : where).arg("expected", "a condition").arg("found", "an expression of type " + scalar_text(x.dtype())));
        return Value::error();
      }
      return make_object<ExprObject>(make<Not>(x, where));
  }
  return {};
}

}  // namespace

auto ExprObject::binary(Evaluator& e, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return binary_op(e, op, self, other, reflected, where);
}
auto ExprObject::compare(Evaluator& e, CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return compare_op(e, op, self, other, reflected, where);
}
auto ExprObject::unary(Evaluator& e, UnaryOp op, Origin where) const -> std::optional<Value> { return unary_op(e, op, expr, where); }
auto ExprObject::choose(Evaluator& e, const Argument& self, const Argument& then, const Argument& otherwise, Origin where) const -> std::optional<Value> {
  Expr condition = to_expr(e, self);
  if (!condition || !condition.dtype().is_bool() || !condition.dtype().is_scalar()) { return {}; }
  Expr a = to_expr(e, then);
  Expr b = to_expr(e, otherwise);
  if (!a || !b || !match_operands(e, "if", a, then.where, b, otherwise.where, where)) { return Value::error(); }
  return Value(make_object<ExprObject>(if_then_else(condition, a, b, where)));
}

auto ExprObject::logical(Evaluator& e, bool is_and, const Argument& left, const Argument& right, Origin where) const -> std::optional<Value> {
  Expr a = to_expr(e, left);
  Expr b = to_expr(e, right);
  if (!a || !b) { return Value::error(); }
  bool good = true;
  for (const auto& [x, at] : {std::pair(a, left.where), std::pair(b, right.where)}) {
    if (x.dtype().is_bool()) { continue; }
    e.report(error(Code::WrongType, at).arg("expected", "a condition").arg("found", "an expression of type " + scalar_text(x.dtype())));
    good = false;
  }
  if (!good) { return Value::error(); }
  if (!match_operands(e, is_and ? "and" : "or", a, left.where, b, right.where, where)) { return Value::error(); }
  if (!a.dtype().is_scalar()) {
    // Vectors combine element by element.
    static const Name bitwise_and("bitwise_and"), bitwise_or("bitwise_or");
    return make_object<ExprObject>(Expr(make<Call>(a.dtype(), is_and ? bitwise_and : bitwise_or, Array<Expr>{a, b}, where)));
  }
  Expr out = is_and ? Expr(make<And>(a, b, where)) : Expr(make<Or>(a, b, where));
  return make_object<ExprObject>(std::move(out));
}

auto BufferObject::binary(Evaluator& e, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> {
  const Argument& left = reflected ? other : self;
  const Argument& right = reflected ? self : other;
  return e.report(error(Code::BadOperands, where).arg("op", symbol(op)).arg("left", describe(left.value)).arg("right", describe(right.value))
                      .remedy("use one of its elements: `" + buffer->name.str() + "[...]`"));
}

auto RegionObject::binary(Evaluator& e, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return binary_op(e, op, self, other, reflected, where);
}
auto RegionObject::compare(Evaluator& e, CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return compare_op(e, op, self, other, reflected, where);
}
auto RegionObject::unary(Evaluator& e, UnaryOp op, Origin where) const -> std::optional<Value> {
  Expr load = region_load(e, region, where);
  if (!load) { return Value::error(); }
  return unary_op(e, op, load, where);
}

auto IterVarObject::binary(Evaluator& e, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return binary_op(e, op, self, other, reflected, where);
}
auto IterVarObject::compare(Evaluator& e, CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return compare_op(e, op, self, other, reflected, where);
}
auto IterVarObject::unary(Evaluator& e, UnaryOp op, Origin where) const -> std::optional<Value> { return unary_op(e, op, iter.var, where); }

auto MetaObject::binary(Evaluator& e, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  Argument plain{value, self.where, {}};
  return reflected ? e.binary(op, other, plain, where) : e.binary(op, plain, other, where);
}
auto MetaObject::compare(Evaluator& e, CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  Argument plain{value, self.where, {}};
  return reflected ? e.compare(op, other, plain, where) : e.compare(op, plain, other, where);
}
auto MetaObject::unary(Evaluator& e, UnaryOp op, Origin where) const -> std::optional<Value> { return e.unary(op, {value, where, {}}, where); }

}  // namespace loopsmith::frontend
