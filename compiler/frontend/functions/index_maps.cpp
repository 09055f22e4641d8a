// Index maps: `T.index_map(lambda i, j: ...)`, and the class `tir.IndexMap`.
#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend {

namespace {

auto index_map_from(Evaluator& e, const Argument& a, DataType t) -> IndexMap {
  std::vector<Var> vars;
  std::vector<Value> values;
  if (!lambda_vars(e, a, vars, values, t)) { return {}; }
  Value result = e.call(a.value, std::move(values), a.where);
  std::vector<Expr> final;
  if (result.is_unknown() || !to_exprs(e, {result, a.where, {}}, final)) { return {}; }
  return make_index_map({.initial = std::move(vars), .final = std::move(final), .inverse = {}});
}
// Makes the map from bound arguments: the inverse and the type of indices are optional.
auto make_map(Evaluator& e, const BoundArguments& b, size_t inverse_at, size_t dtype_at) -> Value {
  DataType t = DataType::int_(32);
  if (is_given(b, dtype_at)) {
    auto given = to_dtype(e, b.values[dtype_at]);
    if (!given) { return Value::error(); }
    t = *given;
  }
  IndexMap map = index_map_from(e, b.values[0], t);
  if (!map) { return Value::error(); }
  if (is_given(b, inverse_at) && !b.values[inverse_at].value.is_none()) {
    IndexMap inverse = index_map_from(e, b.values[inverse_at], t);
    if (!inverse) { return Value::error(); }
    map = make_index_map({.initial = map->initial, .final = map->final, .inverse = std::move(inverse)});
  }
  return make_object<AttrObject>(Attr(std::move(map)));
}
auto index_map(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"mapping"}, {"inverse_index_map", false, true}, {"index_dtype", false, true}};
  BoundArguments b;
  if (!bind_arguments(e, "T.index_map", a, parameters, b)) { return not_bound(b); }
  return make_map(e, b, 1, 2);
}

}  // namespace

auto index_map_from_func(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"mapping_function"}, {"ndim", false}, {"inverse_index_map", false}, {"index_dtype", false, true}};
  BoundArguments b;
  if (!bind_arguments(e, "IndexMap.from_func", a, parameters, b)) { return not_bound(b); }
  return make_map(e, b, 2, 3);
}
auto index_map_of_parts(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"initial_indices"}, {"final_indices"}, {"inverse_index_map", false}};
  if (a.positional > 0 && a.all[0].value.as<eval::Function>()) { return index_map(e, a); }
  BoundArguments b;
  if (!bind_arguments(e, "T.IndexMap", a, parameters, b)) { return not_bound(b); }
  std::vector<Var> initial;
  std::vector<Expr> final;
  if (!to_variables(e, b.values[0], initial) || !to_exprs(e, b.values[1], final)) { return Value::error(); }
  IndexMapNode node;
  node.initial = std::move(initial);
  node.final = std::move(final);
  if (is_given(b, 2)) {
    const auto* inverse = b.values[2].value.as<AttrObject>();
    const auto* map = inverse ? std::get_if<IndexMap>(&inverse->attr.value) : nullptr;
    if (!map) { return wrong_type(e, b.values[2], "an index map"); }
    node.inverse = *map;
  }
  return make_object<AttrObject>(Attr(make_index_map(std::move(node))));
}

auto index_map_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"index_map", index_map},
  };
  return rows;
}

}  // namespace loopsmith::frontend
