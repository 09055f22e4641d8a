// Reductions as expressions: iter vars, combiners, `T.reduce`.
#include <algorithm>

#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend {

namespace {

auto comm_reducer(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"combiner"}, {"identity"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.comm_reducer", a, parameters, b)) { return not_bound(b); }
  std::vector<Expr> identity;
  if (!to_exprs(e, b.values[1], identity)) { return Value::error(); }
  std::vector<Var> vars;
  std::vector<Value> values;
  const auto* f = lambda_vars(e, b.values[0], vars, values, identity.empty() ? DataType::int_(32) : identity[0].dtype());
  if (!f || vars.size() != 2 * identity.size()) { return f ? wrong_type(e, b.values[0], "a lambda of two parameters per identity") : Value::error(); }
  for (size_t i = 0; i < vars.size(); ++i) {
    vars[i] = make<VarNode>(vars[i]->name, identity[i % identity.size()].dtype(), b.values[0].where);
    values[i] = expr_or_error(vars[i]);
  }
  Value result = e.call(b.values[0].value, std::move(values), a.call);
  std::vector<Expr> results;
  if (result.is_unknown() || !to_exprs(e, {result, a.call, {}}, results)) { return Value::error(); }
  auto* node = new (allocate_node(sizeof(CommReducerNode))) CommReducerNode;
  node->lhs = std::vector<Var>(vars.begin(), vars.begin() + static_cast<std::ptrdiff_t>(identity.size()));
  node->rhs = std::vector<Var>(vars.begin() + static_cast<std::ptrdiff_t>(identity.size()), vars.end());
  node->result = std::move(results);
  node->identity = std::move(identity);
  return make_object<ReducerObject>(CommReducer(node));
}
auto comm_reducer_of_parts(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"lhs"}, {"rhs"}, {"result"}, {"identity_element"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.CommReducer", a, parameters, b)) { return not_bound(b); }
  std::vector<Var> lhs, rhs;
  std::vector<Expr> result, identity;
  if (!to_variables(e, b.values[0], lhs) || !to_variables(e, b.values[1], rhs) || !to_exprs(e, b.values[2], result) || !to_exprs(e, b.values[3], identity)) { return Value::error(); }
  if (lhs.empty() || lhs.size() != rhs.size() || lhs.size() != result.size() || lhs.size() != identity.size()) {
    return wrong_type(e, b.values[3], "as many identities as variables on each side and results");
  }
  for (size_t i = 0; i < lhs.size(); ++i) {
    if (lhs[i]->dtype == identity[i].dtype()) { continue; }
    e.report(error(Code::WrongType, b.values[3].where).arg("expected", "an identity of type `" + lhs[i]->dtype.str() + "`, as `" + lhs[i]->name.str() + "` is")
                 .arg("found", "one of type `" + identity[i].dtype().str() + "`"));
    return Value::error();
  }
  auto* node = new (allocate_node(sizeof(CommReducerNode))) CommReducerNode;
  node->lhs = std::move(lhs);
  node->rhs = std::move(rhs);
  node->result = std::move(result);
  node->identity = std::move(identity);
  return make_object<ReducerObject>(CommReducer(node));
}
// `T.reduce(combiner, source, init, axis, condition, value_index)`, as it is printed.
auto reduce(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"combiner"}, {"source"}, {"init"}, {"axis"}, {"condition", false}, {"value_index", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.reduce", a, parameters, b)) { return not_bound(b); }
  const auto* combiner = b.values[0].value.as<ReducerObject>();
  if (!combiner) { return wrong_type(e, b.values[0], "a reducer, `T.comm_reducer(...)`"); }
  std::vector<Expr> source, init;
  if (!to_exprs(e, b.values[1], source) || (is_given(b, 2) && !to_exprs(e, b.values[2], init))) { return Value::error(); }
  if (source.size() != combiner->reducer->result.size()) { return wrong_type(e, b.values[1], "as many sources as the reducer has results"); }
  std::vector<IterVar> axes;
  std::vector<Value> given = {b.values[3].value};
  if (const auto* items = b.values[3].value.items()) { given = *items; }
  for (const Value& v : given) {
    const auto* axis = v.as<IterVarObject>();
    if (!axis) { return wrong_type(e, b.values[3], "a list of axes, `T.iter_var(...)`"); }
    axes.push_back(axis->iter);
  }
  Expr condition = is_given(b, 4) ? to_expr(e, b.values[4]) : bool_imm(true, a.call);
  auto index = is_given(b, 5) ? b.values[5].value.to_int() : std::optional<int64_t>(0);
  if (!condition) { return Value::error(); }
  if (!index || *index < 0 || *index >= static_cast<int64_t>(source.size())) { return wrong_type(e, b.values[5], "the index of a source"); }
  return expr_or_error(make<Reduce>(combiner->reducer, std::move(source), std::move(axes), std::move(condition), static_cast<int>(*index), std::move(init), a.call));
}

}  // namespace

auto iter_var(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"v"}, {"dom"}, {"iter_type"}, {"thread_tag", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.iter_var", a, parameters, b)) { return not_bound(b); }
  IterVar iter;
  iter.origin = a.call;
  if (const std::string* name = b.values[0].value.string()) { iter.var = make<VarNode>(Name(*name), DataType::int_(32), a.call); }
  else if (const auto* v = b.values[0].value.as<ExprObject>(); v && v->expr.as<VarNode>()) { iter.var = Var(v->expr.as<VarNode>()); }
  else { return wrong_type(e, b.values[0], "a variable"); }
  if (!b.values[1].value.is_none()) {
    auto dom = to_domain(e, b.values[1]);
    if (!dom) { return Value::error(); }
    iter.dom = std::move(*dom);
  }
  static const std::vector<std::pair<Name, IterKind>> kinds = {
      {"DataPar", IterKind::Spatial}, {"CommReduce", IterKind::Reduction}, {"ThreadIndex", IterKind::ThreadIndex}, {"Ordered", IterKind::Scan},
      {"Opaque", IterKind::Opaque},   {"Unrolled", IterKind::Spatial},     {"Vectorized", IterKind::Spatial},      {"Parallelized", IterKind::Spatial},
      {"Tensorized", IterKind::Spatial}, {"DimInfo", IterKind::Spatial}};
  if (const std::string* kind = b.values[2].value.string()) {
    auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first.view() == *kind; });
    if (known == kinds.end()) {
      std::vector<Name> names;
      for (const auto& k : kinds) { names.push_back(k.first); }
      Diagnostic d = error(Code::WrongType, b.values[2].where).arg("expected", "a kind of iter var, such as `\"DataPar\"` or `\"CommReduce\"`").arg("found", "`\"" + *kind + "\"`");
      if (Name near = eval::closest_name(Name(*kind), names); !near.empty()) {
        (void)std::move(d).remedy("did you mean `\"" + near.str() + "\"`?").fix(b.values[2].where, "\"" + near.str() + "\"");
      }
      return e.report(std::move(d));
    }
    iter.kind = known->second;
  }
  if (const std::string* tag = b.values[3].value.string()) { iter.thread_tag = Name(*tag); }
  return make_object<IterVarObject>(std::move(iter));
}

auto reducer_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"iter_var", iter_var}, {"IterVar", iter_var}, {"comm_reducer", comm_reducer}, {"reduce", reduce}, {"Reduce", reduce},
      {"CommReducer", comm_reducer_of_parts},
  };
  return rows;
}

}  // namespace loopsmith::frontend
