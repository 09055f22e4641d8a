// Operators as functions: `T.Add` and others that keep their operands unchanged, `T.min` and others that fold constants, casts,
// vectors, selections.
#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::frontend {

namespace {

template <class Node>
auto raw_binary(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  static const std::string name = name_in(operator_functions(), raw_binary<Node>);
  if (!operands(e, name, a, 2, 2, x, "a b")) { return Value::error(); }
  if (a.all[0].value.is_int() || a.all[0].value.is_float()) { x[0] = to_expr_like(e, a.all[0], x[1].dtype()); }
  else if (a.all[1].value.is_int() || a.all[1].value.is_float()) { x[1] = to_expr_like(e, a.all[1], x[0].dtype()); }
  if (!x[0] || !x[1]) { return Value::error(); }
  if (!match_operands(e, "this", x[0], a.all[0].where, x[1], a.all[1].where, a.call)) { return Value::error(); }
  return expr_or_error(make<Node>(x[0], x[1], a.call));
}
using Fold = auto (*)(Expr, Expr, Origin) -> Expr;
template <Fold fold>
auto folded_binary(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  static const std::string name = name_in(operator_functions(), folded_binary<fold>);
  if (!operands(e, name, a, 2, 2, x, "a b")) { return Value::error(); }
  if (!match_operands(e, "this", x[0], a.all[0].where, x[1], a.all[1].where, a.call)) { return Value::error(); }
  Expr out = fold(x[0], x[1], a.call);
  return expr_or_error(std::move(out));
}
auto raw_not(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  return operands(e, "T.Not", a, 1, 1, x, "a") ? expr_or_error(make<Not>(x[0], a.call)) : Value::error();
}
template <syntax::BinaryOp op>
auto bit_operator(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  static const std::string name = name_in(operator_functions(), bit_operator<op>);
  if (!operands(e, name, a, 2, 2, x, "x y")) { return Value::error(); }
  return expr_or_error(make_binary(e, op, x[0], a.all[0].where, x[1], a.all[1].where, a.call));
}
auto bitwise_not(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  if (!operands(e, "T.bitwise_not", a, 1, 1, x, "x")) { return Value::error(); }
  return expr_or_error(make<Call>(x[0].dtype(), Name("bitwise_not"), Array<Expr>{x[0]}, a.call));
}
auto power(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  if (!operands(e, "T.pow", a, 2, 2, x, "x y")) { return Value::error(); }
  if (!match_operands(e, "pow", x[0], a.all[0].where, x[1], a.all[1].where, a.call)) { return Value::error(); }
  return expr_or_error(make<Call>(x[0].dtype(), Name("pow"), Array<Expr>{x[0], x[1]}, a.call));
}
auto fmod_of(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  if (!operands(e, "T.fmod", a, 2, 2, x, "x y")) { return Value::error(); }
  if (!match_operands(e, "fmod", x[0], a.all[0].where, x[1], a.all[1].where, a.call)) { return Value::error(); }
  return expr_or_error(make<Call>(x[0].dtype(), Name("fmod"), Array<Expr>{x[0], x[1]}, a.call));
}
auto absolute(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  if (!operands(e, "T.abs", a, 1, 1, x, "x")) { return Value::error(); }
  DataType t = x[0].dtype();
  if (t.is_uint()) { return expr_or_error(x[0]); }
  if (t.is_int()) {
    if (auto i = as_int(x[0]); i && t.is_scalar()) { return expr_or_error(int_imm(*i < 0 ? -*i : *i, t, a.call)); }
    return expr_or_error(select(greater_equal(x[0], zero(t)), x[0], sub(zero(t), x[0]), a.call));
  }
  return expr_or_error(make<Call>(t, Name("fabs"), Array<Expr>{x[0]}, a.call));
}

auto raw_cast(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"dtype"}, {"value"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Cast", a, parameters, b)) { return not_bound(b); }
  if (b.values[1].value.string() && !b.values[0].value.string() && DataType::parse(*b.values[1].value.string())) {
    return e.report(error(Code::WrongType, b.values[0].where).arg("expected", "a data type").arg("found", describe(b.values[0].value))
                        .remedy("the type comes first: `T.Cast(\"" + *b.values[1].value.string() + "\", ...)`; or `T.cast(..., \"" + *b.values[1].value.string() + "\")`"));
  }
  auto t = to_dtype(e, b.values[0]);
  Expr x = to_expr(e, b.values[1]);
  if (!t || !x) { return Value::error(); }
  return expr_or_error(make<Cast>(*t, x, a.call));
}
auto folded_cast(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"value"}, {"dtype"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.cast", a, parameters, b)) { return not_bound(b); }
  if (b.values[0].value.string() && !b.values[1].value.string()) { std::swap(b.values[0], b.values[1]); }
  Expr x = to_expr(e, b.values[0]);
  auto t = to_dtype(e, b.values[1]);
  if (!t || !x) { return Value::error(); }
  return expr_or_error(cast(*t, x, a.call));
}
// A constant, or a multiple of `T.vscale()`.
auto is_lane_count(const Expr& lanes) -> bool {
  static const Name vscale("vscale");
  if (auto n = as_int(lanes)) { return *n >= 2 && *n <= 65535; }
  bool scales = false;
  post_order(lanes, [&](const Expr& x) { scales |= x.as<Call>() && x.as<Call>()->op == vscale; });
  return scales;
}

auto ramp(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"base"}, {"stride"}, {"lanes"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Ramp", a, parameters, b)) { return not_bound(b); }
  Expr base = to_expr(e, b.values[0]);
  if (!base) { return Value::error(); }
  Expr stride = to_expr_like(e, b.values[1], base.dtype());
  Expr lanes = to_expr(e, b.values[2]);
  if (!stride || !lanes) { return Value::error(); }
  if (!match_operands(e, "T.Ramp", base, b.values[0].where, stride, b.values[1].where, a.call)) { return Value::error(); }
  if (!is_lane_count(lanes)) { return wrong_type(e, b.values[2], "a number of lanes"); }
  return expr_or_error(make<Ramp>(base, stride, lanes, a.call));
}
auto broadcast(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"value"}, {"lanes"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Broadcast", a, parameters, b)) { return not_bound(b); }
  Expr value = to_expr(e, b.values[0]);
  Expr lanes = to_expr(e, b.values[1]);
  if (!value || !lanes) { return Value::error(); }
  if (!is_lane_count(lanes)) { return wrong_type(e, b.values[1], "a number of lanes"); }
  return expr_or_error(make<Broadcast>(value, lanes, a.call));
}
auto shuffle(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"vectors"}, {"indices"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Shuffle", a, parameters, b)) { return not_bound(b); }
  std::vector<Expr> vectors;
  std::vector<Expr> indices;
  if (!to_exprs(e, b.values[0], vectors) || !to_exprs(e, b.values[1], indices)) { return Value::error(); }
  if (vectors.empty() || indices.empty()) { return wrong_type(e, b.values[0], "at least one vector and one index"); }
  return expr_or_error(make<Shuffle>(std::move(vectors), std::move(indices), a.call));
}
auto choose(Evaluator& e, const Arguments& given, bool is_select) -> Value {
  Arguments a = without_dtype(given);
  static const std::vector<Parameter> parameters = {{"condition"}, {"true_value"}, {"false_value"}};
  static const std::vector<Parameter> parameters_if = {{"cond"}, {"t"}, {"f"}};
  BoundArguments b;
  if (!bind_arguments(e, is_select ? "T.Select" : "T.if_then_else", a, is_select ? parameters : parameters_if, b)) { return not_bound(b); }
  Expr c = to_expr(e, b.values[0]);
  Expr t = to_expr(e, b.values[1]);
  Expr f = to_expr(e, b.values[2]);
  if (!c || !t || !f) { return Value::error(); }
  // The values of a `Select` must have the same type; those of `if_then_else` are converted to one type.
  auto is_literal = [&](size_t i) { return is_select && (b.values[i].value.is_int() || b.values[i].value.is_float()); };
  if (is_literal(1)) { t = to_expr_like(e, b.values[1], f.dtype()); } else if (is_literal(2)) { f = to_expr_like(e, b.values[2], t.dtype()); }
  if (!t || !f) { return Value::error(); }
  if (!c.dtype().is_integral()) { return wrong_type(e, b.values[0], "a condition"); }
  if (!match_operands(e, is_select ? "T.Select" : "T.if_then_else", t, b.values[1].where, f, b.values[2].where, a.call)) { return Value::error(); }
  if (is_select) { return expr_or_error(make<Select>(c, t, f, a.call)); }
  if (!c.dtype().is_bool()) { c = cast(DataType::bool_(), c); }
  return expr_or_error(if_then_else(c, t, f, a.call));
}
auto select_of(Evaluator& e, const Arguments& a) -> Value { return choose(e, a, true); }
auto if_then_else_of(Evaluator& e, const Arguments& a) -> Value { return choose(e, a, false); }

template <bool is_all>
auto combine_conditions(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  if (!operands(e, is_all ? "T.all" : "T.any", a, 1, 1000, x)) { return Value::error(); }
  Expr out = x[0];
  for (size_t i = 1; i < x.size(); ++i) { out = is_all ? logical_and(out, x[i], a.call) : logical_or(out, x[i], a.call); }
  return expr_or_error(out);
}

}  // namespace

auto operator_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"Add", raw_binary<Add>}, {"Sub", raw_binary<Sub>}, {"Mul", raw_binary<Mul>}, {"Div", raw_binary<Div>}, {"Mod", raw_binary<Mod>},
      {"FloorDiv", raw_binary<FloorDiv>}, {"FloorMod", raw_binary<FloorMod>}, {"Min", raw_binary<Min>}, {"Max", raw_binary<Max>},
      {"EQ", raw_binary<EQ>}, {"NE", raw_binary<NE>}, {"LT", raw_binary<LT>}, {"LE", raw_binary<LE>}, {"GT", raw_binary<GT>}, {"GE", raw_binary<GE>},
      {"And", raw_binary<And>}, {"Or", raw_binary<Or>}, {"Not", raw_not}, {"min", folded_binary<min>}, {"max", folded_binary<max>},
      {"floordiv", folded_binary<floordiv>}, {"floormod", folded_binary<floormod>}, {"indexdiv", folded_binary<floordiv>},
      {"indexmod", folded_binary<floormod>}, {"truncdiv", folded_binary<div>}, {"div", folded_binary<div>}, {"truncmod", folded_binary<truncmod>},
      {"ceildiv", folded_binary<ceildiv>}, {"fmod", fmod_of}, {"pow", power}, {"power", power}, {"abs", absolute}, {"fabs", absolute},
      {"shift_left", bit_operator<syntax::BinaryOp::ShiftLeft>}, {"shift_right", bit_operator<syntax::BinaryOp::ShiftRight>},
      {"bitwise_and", bit_operator<syntax::BinaryOp::BitAnd>}, {"bitwise_or", bit_operator<syntax::BinaryOp::BitOr>},
      {"bitwise_xor", bit_operator<syntax::BinaryOp::BitXor>}, {"bitwise_not", bitwise_not}, {"all", combine_conditions<true>},
      {"any", combine_conditions<false>}, {"Cast", raw_cast}, {"cast", folded_cast}, {"Ramp", ramp}, {"ramp", ramp}, {"Broadcast", broadcast},
      {"broadcast", broadcast}, {"Shuffle", shuffle}, {"Select", select_of}, {"if_then_else", if_then_else_of},
  };
  return rows;
}

}  // namespace loopsmith::frontend
