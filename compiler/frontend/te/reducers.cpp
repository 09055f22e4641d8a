// Reductions: `te.sum` and similar functions, called over axes or over values, and `te.comm_reducer`, which makes a reducer.
#include "frontend/te/tensors.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend::te {

namespace {

class ReducerFunction final : public eval::Object {
 public:
  enum class Kind : uint8_t { Sum, Product, Min, Max, Custom };
  static const eval::TypeTag type_tag;
  const Kind kind;
  const Value combine, identity;      // Custom
  explicit ReducerFunction(Kind k, Value c = {}, Value i = {}) : Object(&type_tag), kind(k), combine(std::move(c)), identity(std::move(i)) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override;
  auto repr() const -> std::string override { return "<reducer>"; }

 private:
  auto combined(Evaluator& e, std::vector<Expr> left, std::vector<Expr> right, Origin where, std::vector<Expr>& out) const -> bool;
  auto identities(Evaluator& e, const std::vector<Expr>& sources, Origin where, std::vector<Expr>& out) const -> bool;
};
const eval::TypeTag ReducerFunction::type_tag{"a reducer"};

auto ReducerFunction::combined(Evaluator& e, std::vector<Expr> left, std::vector<Expr> right, Origin where, std::vector<Expr>& out) const -> bool {
  if (kind != Kind::Custom) {
    const Expr& x = left[0];
    const Expr& y = right[0];
    switch (kind) {
      case Kind::Sum: out.push_back(add(x, y, where)); break;
      case Kind::Product: out.push_back(mul(x, y, where)); break;
      case Kind::Min: out.push_back(min(x, y, where)); break;
      case Kind::Max: out.push_back(max(x, y, where)); break;
      case Kind::Custom: break;
    }
    return true;
  }
  auto side = [](const std::vector<Expr>& of) {
    if (of.size() == 1) { return Value(make_object<ExprObject>(of[0])); }
    std::vector<Value> items;
    for (const Expr& x : of) { items.push_back(make_object<ExprObject>(x)); }
    return Value::tuple(std::move(items));
  };
  Value result = e.call(combine, {side(left), side(right)}, where);
  if (result.is_unknown() || !to_exprs(e, {result, where, {}}, out)) { return false; }
  if (out.size() != left.size()) {
    e.report(wrong_count("te.comm_reducer", left.size(), "values of its combiner", out.size(), where));
    return false;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    // Constants get the type of the reduced values.
    if (out[i].as<IntImm>() || out[i].as<FloatImm>()) { out[i] = cast(left[i].dtype(), out[i], where); }
  }
  return true;
}
auto ReducerFunction::identities(Evaluator& e, const std::vector<Expr>& sources, Origin where, std::vector<Expr>& out) const -> bool {
  if (kind != Kind::Custom) {
    DataType t = sources[0].dtype();
    switch (kind) {
      case Kind::Sum: out.push_back(constant_int(t, 0, where)); break;
      case Kind::Product: out.push_back(constant_int(t, 1, where)); break;
      case Kind::Min: out.push_back(max_value(t)); break;
      case Kind::Max: out.push_back(min_value(t)); break;
      case Kind::Custom: break;
    }
    return true;
  }
  std::vector<Value> types;
  for (const Expr& s : sources) { types.push_back(Value::str(s.dtype().str())); }
  Value result = e.call(identity, std::move(types), where);
  if (result.is_unknown()) { return false; }
  std::vector<Value> items = result.items_or_itself();
  if (items.size() != sources.size()) {
    e.report(wrong_count("te.comm_reducer", sources.size(), "values of its identity", items.size(), where));
    return false;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    Expr x = to_expr_like(e, {items[i], where, {}}, sources[i].dtype());
    if (!x) { return false; }
    out.push_back(x.as<IntImm>() || x.as<FloatImm>() ? cast(sources[i].dtype(), x, where) : std::move(x));
  }
  return true;
}

auto ReducerFunction::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  static const Name axis_name("axis"), where_name("where"), init_name("init"), expr_name("expr");
  const Argument* source = a.positional > 0 ? &a.all[0] : a.keyword(expr_name);
  const Argument* axis = a.positional > 1 ? &a.all[1] : a.keyword(axis_name);
  const Argument* condition = a.positional > 2 ? &a.all[2] : a.keyword(where_name);
  const Argument* init = a.positional > 3 ? &a.all[3] : a.keyword(init_name);
  if (!source) { return e.report(error(Code::MissingArgument, a.callee).arg("name", "expr").arg("callee", "reducer").remedy("call it with the value and its axis: `(expr, axis=k)`")); }
  bool over_axes = axis && (axis->value.as<IterVarObject>() || axis->value.items());
  if (!over_axes) {
    // `te.max(a, b, c)`: combines the values directly.
    if (a.positional != a.all.size() || kind == Kind::Custom) { return wrong_type(e, axis ? *axis : *source, "an axis, `te.reduce_axis(...)`"); }
    Expr out = to_expr(e, a.all[0]);
    for (size_t i = 1; out && i < a.all.size(); ++i) {
      Expr next = to_expr_like(e, a.all[i], out.dtype());
      if (!next || !match_operands(e, "this", out, a.all[0].where, next, a.all[i].where, a.call)) { return Value::error(); }
      std::vector<Expr> value;
      if (!combined(e, {out}, {next}, a.call, value)) { return Value::error(); }
      out = value[0];
    }
    return out ? Value(make_object<ExprObject>(std::move(out))) : Value::error();
  }
  if (init && !init->value.is_none()) { return e.opaque(init->where); }
  std::vector<Expr> sources;
  if (!to_exprs(e, *source, sources) || sources.empty()) { return Value::error(); }
  std::vector<IterVar> axes;
  std::vector<Value> given = axis->value.items_or_itself();
  for (const Value& v : given) {
    const auto* iter = v.as<IterVarObject>();
    if (!iter || iter->iter.kind != IterKind::Reduction) { return wrong_type(e, *axis, "an axis, `te.reduce_axis(...)`"); }
    axes.push_back(iter->iter);
  }
  Expr holds = bool_imm(true, a.call);
  if (condition && !condition->value.is_none()) {
    holds = to_expr(e, *condition);
    if (!holds) { return Value::error(); }
  }
  Name left_name("x"), right_name("y");
  if (const auto* f = combine.as<eval::Function>(); f && f->params().size() == 2) {
    left_name = f->params()[0].name.name;
    right_name = f->params()[1].name.name;
  }
  std::vector<Var> lhs, rhs;
  std::vector<Expr> left, right;
  for (size_t i = 0; i < sources.size(); ++i) {
    std::string suffix = sources.size() == 1 ? "" : "_" + std::to_string(i);
    lhs.push_back(make<VarNode>(Name(left_name.str() + suffix), sources[i].dtype(), a.call));
    rhs.push_back(make<VarNode>(Name(right_name.str() + suffix), sources[i].dtype(), a.call));
    left.emplace_back(lhs.back());
    right.emplace_back(rhs.back());
  }
  std::vector<Expr> result, neutral;
  if (!combined(e, left, right, a.call, result) || !identities(e, sources, a.call, neutral)) { return Value::error(); }
  if (!are_within_limits(e, sources, a.call) || !are_within_limits(e, result, a.call) || !are_within_limits(e, neutral, a.call)) { return Value::error(); }
  auto* node = new (allocate_node(sizeof(CommReducerNode))) CommReducerNode;
  node->lhs = std::move(lhs);
  node->rhs = std::move(rhs);
  node->result = std::move(result);
  node->identity = std::move(neutral);
  CommReducer reducer(node);
  std::vector<Value> out;
  for (size_t i = 0; i < sources.size(); ++i) {
    out.push_back(make_object<ExprObject>(Expr(make<Reduce>(reducer, sources, axes, holds, static_cast<int>(i), Array<Expr>{}, a.call))));
  }
  return out.size() == 1 ? out[0] : Value::tuple(std::move(out));
}

}  // namespace

auto comm_reducer(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"fcombine"}, {"fidentity"}, {"name", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.comm_reducer", a, parameters, b)) { return Value::error(); }
  const auto* f = b.values[0].value.as<eval::Function>();
  if (!f || f->params().size() != 2) { return wrong_type(e, b.values[0], "a function of two values"); }
  return make_object<ReducerFunction>(ReducerFunction::Kind::Custom, b.values[0].value, b.values[1].value);
}


auto named_reducers() -> std::vector<std::pair<const char*, Value>> {
  using Kind = ReducerFunction::Kind;
  return {{"sum", make_object<ReducerFunction>(Kind::Sum)},
          {"prod", make_object<ReducerFunction>(Kind::Product)},
          {"min", make_object<ReducerFunction>(Kind::Min)},
          {"max", make_object<ReducerFunction>(Kind::Max)}};
}

}  // namespace loopsmith::frontend::te
