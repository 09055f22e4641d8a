// Blocks and their axes: `T.block`, `T.init`, `T.where`, `T.reads`, `T.writes`, `T.block_attr`, `T.axis`.
#include <algorithm>

#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "frontend/words.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend {

namespace {

auto make_block(Evaluator& e, const Arguments& a, std::string_view what) -> Value {
  static const std::vector<Parameter> parameters = {{"name", false}, {"no_realize", false}, {"exec_scope", false, true}};
  static const std::vector<Parameter> with_axes = {{"axes"}, {"name", false}, {"exec_scope", false}};
  BoundArguments b;
  if (!need_program(e, a, what)) { return Value::error(); }
  BuildFrame f;
  f.kind = FrameKind::Block;
  f.origin = a.call;
  f.block = std::make_shared<BlockSpec>();
  if (a.positional > 0 && a.all[0].value.items()) {
    // The first version of TVMScript: `with T.block([16, T.reduce_axis(0, 16)], "C") as [vi, vk]:`, bound by `T.bind(vi, i)`.
    if (!bind_arguments(e, what, a, with_axes, b)) { return not_bound(b); }
    for (const Value& item : *a.all[0].value.items()) {
      IterVar iter;
      iter.origin = a.all[0].where;
      if (const auto* axis = item.as<IterVarObject>()) {
        iter = axis->iter;
      } else {
        auto dom = to_domain(e, {item, a.all[0].where, {}});
        if (!dom) { return Value::error(); }
        iter.dom = std::move(*dom);
        iter.var = make<VarNode>(Name(), iter.dom.extent.dtype(), a.all[0].where);
      }
      f.block->iter_vars.push_back(std::move(iter));
      f.block->iter_values.emplace_back();
    }
    if (is_given(b, 1)) {
      const std::string* name = b.values[1].value.string();
      if (!name) { return wrong_type(e, b.values[1], "a block's name"); }
      f.block->name = Name(*name);
    }
    f.block->binds_by_name = true;
    return make_object<FrameObject>(std::move(f), what);
  }
  if (!bind_arguments(e, what, a, parameters, b)) { return not_bound(b); }
  if (b.given[0]) {
    const std::string* name = b.values[0].value.string();
    if (!name) { return wrong_type(e, b.values[0], "a block's name"); }
    f.block->name = Name(*name);
  }
  f.block->no_realize = b.given[1] && b.values[1].value.to_int().value_or(0) != 0;
  return make_object<FrameObject>(std::move(f), what);
}
auto block(Evaluator& e, const Arguments& a) -> Value { return make_block(e, a, "T.block"); }
auto sblock(Evaluator& e, const Arguments& a) -> Value {
  if (Lowerer* lowerer = Lowerer::of(e)) { lowerer->use_sblock(); }
  return make_block(e, a, "T.sblock");
}
auto init(Evaluator& e, const Arguments& a) -> Value {
  BlockSpec* here = need_block(e, a, "T.init");
  if (!here) { return Value::error(); }
  if (here->init) { return e.report(error(Code::GivenTwice, a.callee).arg("what", "T.init").arg("block", here->name.view()).remedy("join the two")); }
  BuildFrame f;
  f.kind = FrameKind::Init;
  f.origin = a.call;
  return make_object<FrameObject>(std::move(f), "T.init");
}
auto where(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  BlockSpec* here = need_block(e, a, "T.where");
  std::vector<Expr> args;
  if (!here || !operands(e, "T.where", a, 1, 1, args, "predicate")) { return Value::error(); }
  if (here->predicate) { return e.report(error(Code::GivenTwice, a.callee).arg("what", "T.where").arg("block", here->name.view()).remedy("join the two: `T.where(first and second)`")); }
  Expr condition = args[0];
  if (!condition.dtype().is_bool()) {
    if (!condition.dtype().is_integral()) { return wrong_type(e, a.all[0], "a condition"); }
    condition = cast(DataType::bool_(), condition);
  }
  here->predicate = std::move(condition);
  return {};
}

auto add_regions(Evaluator& e, const Argument& a, std::vector<BufferRegion>& out) -> bool {
  if (const auto* items = a.value.items()) {
    bool good = true;
    for (const Value& item : *items) { good &= add_regions(e, {item, a.where, {}}, out); }
    return good;
  }
  auto region = to_region(e, a);
  if (region) { out.push_back(std::move(*region)); }
  return region.has_value();
}
auto touched(Evaluator& e, const Arguments& a, bool is_write) -> Value {
  std::string_view what = is_write ? "T.writes" : "T.reads";
  BlockSpec* here = need_block(e, a, what);
  if (!here) { return Value::error(); }
  std::vector<BufferRegion> regions;
  for (const Argument& x : a.all) { (void)add_regions(e, x, regions); }
  // A declared region is no access, and TVM accepts any region: so an index out of bounds is only a warning.
  for (Diagnostic& d : e.diagnostics) {
    bool is_here = d.where.decl == a.call.decl && d.where.begin >= a.call.begin && d.where.end <= a.call.end;
    if (d.code == Code::IndexOutOfBounds && is_here) { d.severity = Severity::Warning; }
  }
  auto& slot = is_write ? here->writes : here->reads;
  if (slot) { return e.report(error(Code::GivenTwice, a.callee).arg("what", what).arg("block", here->name.view()).remedy("list all regions in one `" + std::string(what) + "`")); }
  slot = std::move(regions);
  return {};
}
auto reads(Evaluator& e, const Arguments& a) -> Value { return touched(e, a, false); }
auto writes(Evaluator& e, const Arguments& a) -> Value { return touched(e, a, true); }

auto block_attr(Evaluator& e, const Arguments& a) -> Value {
  BlockSpec* here = need_block(e, a, "T.block_attr");
  static const std::vector<Parameter> parameters = {{"attrs"}};
  BoundArguments b;
  if (!here || !bind_arguments(e, "T.block_attr", a, parameters, b)) { return not_bound(b); }
  auto attrs = to_attrs(e, b.values[0]);
  if (!attrs) { return Value::error(); }
  check_keys(e, Vocabulary::BlockAnnotation, *attrs, b.values[0].where);
  if (here->annotations.empty()) {
    here->annotations = std::move(*attrs);
  } else {
    for (const auto& [key, value] : *attrs) { here->annotations = with_attr(here->annotations, key, value); }
  }
  return {};
}


auto push_axis(BlockSpec& here, IterKind kind, Range dom, Expr binding, DataType dtype, Origin where) -> Value {
  IterVar iter;
  iter.var = make<VarNode>(Name(), dtype, where);
  iter.dom = std::move(dom);
  iter.kind = kind;
  iter.origin = where;
  here.iter_vars.push_back(iter);
  here.iter_values.push_back(std::move(binding));
  return expr_or_error(iter.var);
}

auto axis(Evaluator& e, const Arguments& a, IterKind kind, std::string_view what) -> Value {
  static const std::vector<Parameter> parameters = {{"dom"}, {"binding"}, {"dtype", false}};
  static const std::vector<Parameter> unbound = {{"dom"}, {"binding", false}, {"dtype", false}};
  BlockSpec* here = need_block(e, a, what);
  BoundArguments b;
  // The axes of a block that is not realized have no bindings.
  if (!here || !bind_arguments(e, what, a, here->no_realize ? unbound : parameters, b)) { return not_bound(b); }
  auto dom = to_domain(e, b.values[0]);
  if (!dom) { return Value::error(); }
  DataType dtype = DataType::int_(32);
  if (is_given(b, 2)) {
    auto t = to_dtype(e, b.values[2]);
    if (!t) { return Value::error(); }
    dtype = *t;
  }
  int bits = std::max<int>({dom->min.dtype().bits, dom->extent.dtype().bits, dtype.bits});
  dtype = dtype.with_bits(bits);
  dom->min = cast(dtype, dom->min);
  dom->extent = cast(dtype, dom->extent);
  Expr binding = b.given[1] ? to_expr_like(e, b.values[1], dtype) : int_imm(0, dtype, a.call);
  if (!binding) { return Value::error(); }
  if (!binding.dtype().is_integral() || !binding.dtype().is_scalar()) { return wrong_type(e, b.values[1], "an integer binding"); }
  return push_axis(*here, kind, std::move(*dom), std::move(binding), dtype, a.call);
}
auto axis_spatial(Evaluator& e, const Arguments& a) -> Value { return axis(e, a, IterKind::Spatial, "T.axis.spatial"); }
auto axis_reduce(Evaluator& e, const Arguments& a) -> Value { return axis(e, a, IterKind::Reduction, "T.axis.reduce"); }
auto axis_scan(Evaluator& e, const Arguments& a) -> Value { return axis(e, a, IterKind::Scan, "T.axis.scan"); }
auto axis_opaque(Evaluator& e, const Arguments& a) -> Value { return axis(e, a, IterKind::Opaque, "T.axis.opaque"); }

// `T.reduce_axis(16)`, `T.reduce_axis(0, 16)`: an axis of `with T.block([...])`.
template <IterKind kind>
auto free_axis(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.empty() || a.all.size() > 2 || a.positional != a.all.size()) {
    return e.report(error(Code::WrongType, a.call).arg("expected", "an extent, or begin and end").arg("found", std::to_string(a.all.size()) + " arguments"));
  }
  Argument dom = a.all[0];
  if (a.all.size() == 2) { dom.value = Value::tuple({a.all[0].value, a.all[1].value}); }
  auto range = to_domain(e, dom);
  if (!range) { return Value::error(); }
  IterVar iter;
  iter.origin = a.call;
  iter.kind = kind;
  iter.dom = std::move(*range);
  iter.var = make<VarNode>(Name(), iter.dom.extent.dtype(), a.call);
  return make_object<IterVarObject>(std::move(iter));
}

auto axis_remap(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"kinds"}, {"bindings"}, {"dtype", false}};
  Lowerer* lowerer = Lowerer::of(e);
  BlockSpec* here = need_block(e, a, "T.axis.remap");
  BoundArguments b;
  if (!here || !bind_arguments(e, "T.axis.remap", a, parameters, b)) { return not_bound(b); }
  const std::string* kinds = b.values[0].value.string();
  if (!kinds) { return wrong_type(e, b.values[0], "axis kinds, one letter each"); }
  const auto* bindings = b.values[1].value.items();
  if (!bindings) { return wrong_type(e, b.values[1], "a list of loop variables"); }
  if (bindings->size() != kinds->size()) {
    return e.report(error(Code::RemapCount, b.values[0].where).arg("kinds", static_cast<int64_t>(kinds->size())).arg("vars", static_cast<int64_t>(bindings->size()))
                        .remedy("write a letter for each variable, `S` for spatial and `R` for reduction, as in `T.axis.remap(\"SSR\", [i, j, k])`"));
  }
  std::vector<Value> vars;
  for (size_t i = 0; i < kinds->size(); ++i) {
    Argument binding{(*bindings)[i], b.values[1].where, {}};
    Expr x = to_expr(e, binding);
    if (!x) { return Value::error(); }
    const auto* var = x.as<VarNode>();
    const LoopSpec* loop = var ? lowerer->find_loop(var) : nullptr;
    if (!loop) {
      return e.report(error(Code::NotALoopVariable, binding.where).arg("what", describe(binding.value))
                          .remedy("declare this axis with its extent: `v = T.axis.spatial(extent, value)`"));
    }
    IterKind kind = IterKind::Spatial;
    char k = (*kinds)[i];
    if (k == 'R') { kind = IterKind::Reduction; }
    else if (k != 'S') {
      return e.report(error(Code::WrongType, b.values[0].where).arg("expected", "axis kinds `S` and `R`").arg("found", std::string("`") + k + "`"));
    }
    vars.push_back(push_axis(*here, kind, {loop->min, loop->extent}, x, var->dtype, a.call));
  }
  if (vars.size() == 1) { return vars[0]; }
  return Value::list(std::move(vars));
}

}  // namespace

auto block_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"block", block}, {"sblock", sblock}, {"init", init}, {"where", where}, {"reads", reads}, {"writes", writes}, {"block_attr", block_attr},
      {"sblock_attr", block_attr}, {"reduce_axis", free_axis<IterKind::Reduction>}, {"scan_axis", free_axis<IterKind::Scan>},
      {"opaque_axis", free_axis<IterKind::Opaque>},
  };
  return rows;
}

auto axis_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"spatial", axis_spatial}, {"S", axis_spatial}, {"reduce", axis_reduce}, {"R", axis_reduce}, {"scan", axis_scan}, {"opaque", axis_opaque},
      {"remap", axis_remap},
  };
  return rows;
}

}  // namespace loopsmith::frontend
