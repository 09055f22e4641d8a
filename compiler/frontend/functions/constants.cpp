// Constants, variables and loads: `T.const`, `T.IntImm`, `T.Var`, `T.min_value`, `T.BufferLoad`, `T.Range`.
#include "eval/wide_int.h"
#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend {

namespace {

auto min_value_of(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return not_one_argument(e, a, "T.min_value", "dtype"); }
  auto t = to_dtype(e, a.all[0]);
  return t ? expr_or_error(min_value(*t)) : Value::error();
}
auto max_value_of(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return not_one_argument(e, a, "T.max_value", "dtype"); }
  auto t = to_dtype(e, a.all[0]);
  return t ? expr_or_error(max_value(*t)) : Value::error();
}
template <bool is_float>
auto immediate(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"dtype"}, {"value"}};
  BoundArguments b;
  if (!bind_arguments(e, is_float ? "T.FloatImm" : "T.IntImm", a, parameters, b)) { return not_bound(b); }
  auto t = to_dtype(e, b.values[0]);
  if (!t) { return Value::error(); }
  if (is_float) {
    auto d = b.values[1].value.to_float();
    return d ? expr_or_error(float_imm(*d, *t, a.call)) : wrong_type(e, b.values[1], "a number");
  }
  if (b.values[1].value.as<eval::WideInt>()) {
    Expr x = to_expr_like(e, b.values[1], *t);
    return x ? expr_or_error(std::move(x)) : Value::error();
  }
  auto i = b.values[1].value.to_int();
  return i ? expr_or_error(int_imm(*i, *t, a.call)) : wrong_type(e, b.values[1], "an int");
}
auto named_var(Evaluator& e, const Arguments& given) -> Value {
  // The type is `dtype`, or `ty` in TVM's main line.
  static const Name ty("ty"), dtype("dtype");
  Arguments a = given;
  for (size_t i = a.positional; i < a.all.size(); ++i) {
    if (a.all[i].keyword == ty) { a.all[i].keyword = dtype; }
  }
  static const std::vector<Parameter> parameters = {{"name", false}, {"dtype", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Var", a, parameters, b)) { return not_bound(b); }
  const std::string* name = b.values[0].value.string();
  if (!name) { return wrong_type(e, b.values[0], "a name"); }
  DataType t = DataType::int_(32);
  if (is_given(b, 1)) {
    auto given = to_dtype(e, b.values[1]);
    if (!given) { return Value::error(); }
    t = *given;
  }
  return expr_or_error(make<VarNode>(Name(*name), t, a.call));
}
auto fresh_var(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"dtype"}, {"name", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.var", a, parameters, b)) { return not_bound(b); }
  auto t = to_dtype(e, b.values[0]);
  const std::string* name = b.values[1].value.string();
  return t ? expr_or_error(make<VarNode>(name ? Name(*name) : Name(), *t, a.call)) : Value::error();
}
// `n = I.dynamic("n")`: a variable for the shapes of programs.
// `T.constexpr(c)`: a condition that is decided while the program is read.
auto constant_condition(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return e.opaque(a.call); }
  return a.all[0].value;
}
auto buffer_load(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"buffer"}, {"indices"}, {"predicate", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.BufferLoad", a, parameters, b)) { return not_bound(b); }
  const auto* buffer = b.values[0].value.as<BufferObject>();
  if (!buffer) { return wrong_type(e, b.values[0], "a buffer"); }
  std::vector<Expr> indices;
  if (!to_exprs(e, b.values[1], indices)) { return Value::error(); }
  return expr_or_error(make<BufferLoad>(buffer->buffer, std::move(indices), a.call));
}
auto lookup_intrinsic(Evaluator& e, const Arguments& a) -> Value {
  // TVM looks up the number in LLVM; here calls contain the name itself.
  const std::string* name = a.all.size() == 1 ? a.all[0].value.string() : nullptr;
  if (!name) { return e.report(error(Code::WrongType, a.call).arg("expected", "the name of an LLVM intrinsic").arg("found", a.all.empty() ? "nothing" : describe(a.all[0].value))); }
  return a.all[0].value;
}

}  // namespace

auto constant_of(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"value"}, {"dtype", false}};
  BoundArguments b;
  if (!bind_arguments(e, "const", a, parameters, b)) { return not_bound(b); }
  if (!is_given(b, 1)) {
    Expr x = to_expr(e, b.values[0]);
    return x ? expr_or_error(x) : Value::error();
  }
  auto t = to_dtype(e, b.values[1]);
  if (!t) { return Value::error(); }
  Expr x = to_expr_like(e, b.values[0], *t);
  return x ? expr_or_error(cast(*t, x, a.call)) : Value::error();
}
// `tvm.runtime.convert(4)`: a number as an expression; other values unchanged.
auto converted(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return e.opaque(a.call); }
  const Value& v = a.all[0].value;
  if (!v.is_int() && !v.is_bool() && !v.is_float()) { return v; }
  Expr x = to_expr(e, a.all[0]);
  return x ? expr_or_error(x) : Value::error();
}
auto string_immediate(Evaluator& e, const Arguments& a) -> Value {
  const std::string* s = a.all.size() == 1 ? a.all[0].value.string() : nullptr;
  if (!s) { return e.report(error(Code::WrongType, a.call).arg("expected", "a str").arg("found", a.all.empty() ? "nothing" : describe(a.all[0].value))); }
  return expr_or_error(make<StringImm>(*s, a.call));
}
auto dynamic_var(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"name"}, {"dtype", false}};
  BoundArguments b;
  if (!bind_arguments(e, "I.dynamic", a, parameters, b)) { return not_bound(b); }
  const std::string* name = b.values[0].value.string();
  if (!name) { return wrong_type(e, b.values[0], "a name"); }
  auto t = is_given(b, 1) ? to_dtype(e, b.values[1]) : std::optional(DataType::int_(64));
  return t ? expr_or_error(make<VarNode>(Name(*name), *t, a.call)) : Value::error();
}
// `M = TypeVar("M")`: the Python form of the same. With other arguments it has no meaning for programs.
auto type_var(Evaluator& e, const Arguments& a) -> Value {
  if (a.positional != 1 || a.all.size() != 1 || !a.all[0].value.string()) { return e.opaque(a.call); }
  return dynamic_var(e, a);
}
auto range_of(Evaluator& e, const Arguments& a) -> Value {
  std::vector<Value> parts;
  if (a.all.size() == 1) { parts.emplace_back(0); }
  for (const Argument& x : a.all) { parts.push_back(x.value); }
  return Value::tuple(std::move(parts));
}

auto constant_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"min_value", min_value_of}, {"max_value", max_value_of}, {"const", constant_of}, {"IntImm", immediate<false>}, {"FloatImm", immediate<true>},
      {"StringImm", string_immediate}, {"Var", named_var}, {"SizeVar", named_var}, {"var", fresh_var}, {"BufferLoad", buffer_load},
      {"Range", range_of}, {"llvm_lookup_intrinsic_id", lookup_intrinsic}, {"constexpr", constant_condition}, {"dynamic", dynamic_var},
  };
  return rows;
}

}  // namespace loopsmith::frontend
