// `te.placeholder`, `te.var`, `te.reduce_axis`, `te.thread_axis` and `te.compute`.
#include "frontend/te/intrinsic_call.h"
#include "frontend/te/tensors.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::frontend::te {

namespace {

// The names that the parameters of `f` give to `dimensions` axes; false: an error was reported.
auto axis_names(Evaluator& e, const Argument& f, size_t dimensions, const Argument& varargs_names, std::vector<Name>& out) -> bool {
  const auto* function = f.value.as<eval::Function>();
  if (!function) {
    wrong_type(e, f, "a function of indices");
    return false;
  }
  bool has_rest = false;
  for (const syntax::Param& p : function->params()) {
    if (p.kind == syntax::ParamKind::Plain) { out.push_back(p.name.name); }
    has_rest |= p.kind == syntax::ParamKind::Star;
  }
  if (out.size() > dimensions) {
    e.report(wrong_count("te.compute", dimensions, "indices in its function", out.size(), f.where));
    return false;
  }
  const auto* given = varargs_names.value.items();
  for (size_t i = 0; (has_rest || out.empty()) && out.size() < dimensions; ++i) {
    const std::string* name = given && i < given->size() ? (*given)[i].string() : nullptr;
    out.emplace_back(name ? *name : "i" + std::to_string(i));
  }
  return true;
}

auto contains_reduce(const Expr& x) -> bool {
  bool found = false;
  post_order(x, [&](const Expr& y) { found |= y.as<Reduce>() != nullptr; });
  return found;
}

}  // namespace

auto placeholder(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"shape"}, {"dtype", false}, {"name", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.placeholder", a, parameters, b)) { return Value::error(); }
  std::vector<Expr> shape;
  if (!to_shape(e, b.values[0], shape)) { return Value::error(); }
  DataType t = DataType::float_(32);
  if (is_given(b, 1)) {
    auto given = to_dtype(e, b.values[1]);
    if (!given) { return Value::error(); }
    t = *given;
  }
  Name name(text_of(b, 2, "placeholder"));
  return tensors_of(make_object<Operation>(Operation::Kind::Placeholder, name, std::vector<Buffer>{make_buffer(name, t, std::move(shape), "global", a.call)}, a.call));
}

auto variable(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"name", false}, {"dtype", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.var", a, parameters, b)) { return Value::error(); }
  DataType t = DataType::int_(32);
  if (is_given(b, 1)) {
    auto given = to_dtype(e, b.values[1]);
    if (!given) { return Value::error(); }
    t = *given;
  }
  return make_object<ExprObject>(Expr(make<VarNode>(Name(text_of(b, 0, "tindex")), t, a.call)));
}

auto reduce_axis(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"dom"}, {"name", false}, {"thread_tag", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.reduce_axis", a, parameters, b)) { return Value::error(); }
  const auto* items = b.values[0].value.items();
  if (!items || items->size() != 2) { return wrong_type(e, b.values[0], "(begin, end)"); }
  Expr begin = to_expr(e, {(*items)[0], b.values[0].where, {}});
  Expr end = to_expr(e, {(*items)[1], b.values[0].where, {}});
  if (!begin || !end || !match_operands(e, "-", begin, b.values[0].where, end, b.values[0].where, a.call)) { return Value::error(); }
  IterVar iter;
  iter.dom = {begin, difference(end, begin)};
  iter.kind = IterKind::Reduction;
  iter.var = make<VarNode>(Name(text_of(b, 1, "rv")), iter.dom.extent.dtype(), a.call);
  iter.origin = a.call;
  return make_object<IterVarObject>(std::move(iter));
}

auto thread_axis(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"dom", false}, {"tag", false}, {"name", false}, {"span", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.thread_axis", a, parameters, b)) { return Value::error(); }
  // `te.thread_axis("threadIdx.x")` gives the tag in place of the extent.
  bool is_tag_first = is_given(b, 0) && b.values[0].value.string();
  const std::string tag = is_tag_first ? *b.values[0].value.string() : text_of(b, 1, "");
  if (tag.empty()) { return wrong_type(e, is_given(b, 1) ? b.values[1] : Argument{Value(), a.call, {}}, "the tag of a thread axis, such as \"threadIdx.x\""); }
  Value extent = is_given(b, 0) && !is_tag_first ? b.values[0].value : Value();
  if (const auto* items = extent.items(); items && items->size() == 2) { extent = (*items)[1]; }
  return make_object<ThreadAxisObject>(tag, std::move(extent));
}

auto compute(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"shape"}, {"fcompute"}, {"name", false}, {"tag", false}, {"attrs", false}, {"varargs_names", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.compute", a, parameters, b)) { return Value::error(); }
  std::vector<Expr> shape;
  std::vector<Name> names;
  if (!to_shape(e, b.values[0], shape) || !axis_names(e, b.values[1], shape.size(), b.values[5], names)) { return Value::error(); }
  std::vector<Expr> tile_shape(shape.begin() + static_cast<std::ptrdiff_t>(names.size()), shape.end());
  shape.resize(names.size());
  std::vector<IterVar> axis;
  std::vector<Value> indices;
  const auto& params = b.values[1].value.as<eval::Function>()->params();
  for (size_t i = 0; i < shape.size(); ++i) {
    IterVar iter;
    iter.var = make<VarNode>(names[i], shape[i].dtype(), b.values[1].where);
    iter.dom = from_zero(shape[i]);
    iter.origin = b.values[1].where;
    axis.push_back(iter);
    if (!params.empty()) { indices.push_back(make_object<ExprObject>(Expr(iter.var))); }
  }
  Value result = e.call(b.values[1].value, std::move(indices), b.values[1].where);
  if (result.is_unknown()) { return result; }
  std::vector<Expr> body;
  const auto* tiles = result.as<IntrinsicCall>();
  if (tiles) {
    auto tile = tile_of_call(e, *tiles, tile_shape);
    if (!tile) { return Value::error(); }
    body = std::move(tile->body);
    axis.insert(axis.end(), tile->axis.begin(), tile->axis.end());
    shape.insert(shape.end(), tile_shape.begin(), tile_shape.end());
  } else if (!to_exprs(e, {result, b.values[1].where, {}}, body)) {
    return Value::error();
  }
  if (body.empty()) { return wrong_type(e, b.values[1], "a function that gives a value"); }
  if (!are_within_limits(e, body, b.values[1].where)) { return Value::error(); }
  bool reduces = body[0].as<Reduce>() != nullptr;
  for (const Expr& x : body) {
    bool misplaced = bool(x.as<Reduce>()) != reduces;
    if (const auto* reduce = x.as<Reduce>()) {
      for (const Expr& s : reduce->source) { misplaced |= contains_reduce(s); }
      misplaced |= reduce->combiner != body[0].as<Reduce>()->combiner;
    } else {
      misplaced |= contains_reduce(x);
    }
    if (misplaced) {
      return e.report(error(Code::ReductionPlace, x.origin().is_known() ? x.origin() : b.values[1].where)
                          .remedy("compute it in a `te.compute` of its own, and use that tensor here"));
    }
  }
  std::string name = text_of(b, 2, "compute");
  std::vector<Buffer> outputs;
  for (size_t i = 0; i < body.size(); ++i) {
    outputs.push_back(make_buffer(Name(body.size() == 1 ? name : name + "_v" + std::to_string(i)), body[i].dtype(), shape, "global", a.call));
  }
  Ref<Operation> op = make_object<Operation>(Operation::Kind::Compute, Name(name), std::move(outputs), a.call);
  auto& fields = const_cast<Operation&>(*op);
  if (tiles) {
    fields.intrinsic = Value(tiles->intrinsic);
    fields.outer_axes = names.size();
    fields.outer_reduce_axes = tiles->reduce_axis.size();
  }
  fields.axis = std::move(axis);
  if (const auto* reduce = body[0].as<Reduce>()) { fields.reduce_axis.assign(reduce->axis.begin(), reduce->axis.end()); }
  collect_inputs(body, fields.inputs);
  fields.body = std::move(body);
  fields.tag = tag_of(e, b, 3);
  if (!set_depth(e, fields)) { return Value::error(); }
  if (is_given(b, 4)) {
    const auto* dict = b.values[4].value.as<eval::Dict>();
    if (!dict) { return wrong_type(e, b.values[4], "a dict of attributes"); }
    for (const auto& [key, value] : dict->entries()) {
      if (const std::string* text = key.string()) { fields.attrs.emplace_back(Name(*text), value); }
    }
  }
  return tensors_of(op);
}

}  // namespace loopsmith::frontend::te
