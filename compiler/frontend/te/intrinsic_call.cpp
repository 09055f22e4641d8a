// Calls of tensor intrinsics as operations: see intrinsic_call.h.
#include "frontend/te/intrinsic_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/te/mistakes.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::frontend::te {
namespace {

// The functions of `te.compute` make programs, so errors in calls of intrinsics are errors in Python files, too.
auto report(Evaluator& e, const Diagnostic& mistake) -> Value {
  note_mistake(mistake);
  return e.report(mistake);
}

auto refuse(Evaluator& e, Origin where, const DeclaredIntrinsic& intrinsic, const Reason& why, std::string remedy) {
  (void)report(e, error(Code::BadValue, where).arg("action", fmt::format("call `{}`", intrinsic.name.view())).arg("reason", why.text()).remedy(std::move(remedy)));
}

auto described(const DeclaredIntrinsic& intrinsic) -> const Operation& { return *intrinsic.parts.description.operations.back().op; }

auto text_of_shape(const std::vector<Expr>& shape) -> std::string {
  std::string out;
  for (const Expr& extent : shape) { out += (out.empty() ? "" : ", ") + print_script(extent); }
  return "(" + out + (shape.size() == 1 ? ",)" : ")");
}
auto shape_of(const Buffer& buffer) -> std::vector<Expr> { return {buffer->shape.begin(), buffer->shape.end()}; }
auto are_equal(const Expr& a, const Expr& b) -> bool { return is_zero(difference(a, b)); }

// The region that an argument reads. `A[i, 0:16]` is a load with a ramp for each slice. None: it is no region of a tensor.
auto region_of(const Value& value) -> std::optional<IntrinsicCall::Region> {
  const auto* given = value.as<ExprObject>();
  const auto* load = given ? given->expr.as<BufferLoad>() : nullptr;
  if (!load || operations().count(load->buffer.get()) == 0) { return std::nullopt; }
  IntrinsicCall::Region out{load->buffer, {}, {}};
  for (const Expr& index : load->indices) {
    const auto* ramp = index.as<Ramp>();
    if (ramp && !is_one(ramp->stride)) { return std::nullopt; }
    out.begin.push_back(ramp ? ramp->base : index);
    out.extent.push_back(ramp ? ramp->lanes : one(index.dtype()));
  }
  return out;
}

// As in TVM, a region may have more dimensions than the tensor of the description, in front and of one element each.
auto fits(const IntrinsicCall::Region& region, const std::vector<Expr>& wanted) -> bool {
  if (region.extent.size() < wanted.size()) { return false; }
  const size_t outer = region.extent.size() - wanted.size();
  for (size_t d = 0; d < region.extent.size(); ++d) {
    if (d < outer ? !is_one(region.extent[d]) : !are_equal(region.extent[d], wanted[d - outer])) { return false; }
  }
  return true;
}

// False: reported, or not known.
auto read_regions(Evaluator& e, const DeclaredIntrinsic& intrinsic, const Arguments& a, std::vector<IntrinsicCall::Region>& out) -> bool {
  const std::vector<Ref<Operation>>& inputs = described(intrinsic).inputs;
  if (a.positional != inputs.size()) {
    (void)report(e, wrong_count(intrinsic.name.view(), inputs.size(), "regions of tensors", a.positional, a.call));
    return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Argument& given = a.all[i];
    if (given.value.is_unknown()) { return false; }
    auto region = region_of(given.value);
    if (!region) {
      refuse(e, given.where, intrinsic, because(Why::NoRegionOfTensor).arg("number", i + 1).arg("found", describe(given.value)), "give a region with all dimensions of the tensor: `A[i, 0:16]`");
      return false;
    }
    const std::vector<Expr> wanted = shape_of(inputs[i]->outputs[0]);
    if (!fits(*region, wanted)) {
      refuse(e, given.where, intrinsic, because(Why::RegionOtherShape).arg("number", i + 1).arg("found", text_of_shape(region->extent)).arg("wanted", text_of_shape(wanted)),
             "give a slice with this number of elements in each of the last dimensions");
      return false;
    }
    out.push_back(*std::move(region));
  }
  return true;
}

auto read_reduce_axes(Evaluator& e, const Argument& given, std::vector<IterVar>& out) -> bool {
  std::vector<Value> items = given.value.items_or_itself();
  for (const Value& item : items) {
    const auto* axis = item.as<IterVarObject>();
    if (!axis) {
      (void)report(e, error(Code::WrongType, given.where).arg("expected", "axes of `te.reduce_axis`").arg("found", describe(item)));
      return false;
    }
    out.push_back(axis->iter);
  }
  return true;
}

// Puts the regions of the call in the place of the description's inputs, and the axes of the tile in the place of its axes.
class IntoTile final : public Mutator {
 public:
  using Mutator::on;
  std::vector<std::pair<Buffer, const IntrinsicCall::Region*>> regions;
  VarMap vars;
  auto on(const VarNode& node) -> Expr override {
    auto found = vars.find(&node);
    return found == vars.end() ? self(node) : found->second;
  }
  auto on(const BufferLoad& node) -> Expr override {
    auto found = std::find_if(regions.begin(), regions.end(), [&](const auto& one) { return one.first == node.buffer; });
    if (found == regions.end()) { return Mutator::on(node); }
    std::vector<Expr> at = found->second->begin;
    for (size_t d = 0; d < node.indices.size(); ++d) {
      Expr& begin = at[at.size() - node.indices.size() + d];
      begin = simplified(add(begin, cast(begin.dtype(), mutate(node.indices[d]))));
    }
    return make<BufferLoad>(found->second->tensor, std::move(at), node.origin);
  }
};

auto renamed(const IterVar& axis, Name name, IntoTile& into) -> IterVar {
  IterVar out = axis;
  out.var = make<VarNode>(name, axis.var->dtype, axis.origin);
  into.vars.emplace(axis.var.get(), Expr(out.var));
  return out;
}

}  // namespace

const eval::TypeTag IntrinsicCall::type_tag{"a call of a tensor intrinsic"};

auto DeclaredIntrinsic::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  for (const Diagnostic& one : parts.why_not) { e.report(one); }
  if (!parts.why_not.empty()) { return Value::error(); }
  std::vector<IntrinsicCall::Region> regions;
  std::vector<IterVar> reduce_axis;
  const size_t reported = e.diagnostics.size();
  auto failed = [&] { return e.diagnostics.size() > reported ? Value::error() : Value::opaque(); };
  if (!read_regions(e, *this, a, regions)) { return failed(); }
  static const Name reduces("reduce_axis"), scalars("scalar_inputs");
  for (size_t i = a.positional; i < a.all.size(); ++i) {
    const Argument& given = a.all[i];
    if (given.value.is_none()) { continue; }
    if (given.value.is_unknown()) { return given.value; }
    if (given.keyword == scalars) {
      refuse(e, given.where, *this, because(Why::ScalarsWhereDeclared), "leave `scalar_inputs` out, and give the values as `scalar_params` of `te.decl_tensor_intrin`");
      return Value::error();
    }
    if (!(given.keyword == reduces)) { return report(e, error(Code::NoSuchParameter, given.keyword_at).arg("function", name.view()).arg("name", given.keyword.view())); }
    if (!read_reduce_axes(e, given, reduce_axis)) { return failed(); }
    if (!described(*this).body[0].as<Reduce>() && !reduce_axis.empty()) {
      refuse(e, given.where, *this, because(Why::DescriptionNoReduction), "describe the instruction by a reduction such as `te.sum`, or leave `reduce_axis` out");
      return Value::error();
    }
  }
  return Value(make_object<IntrinsicCall>(Ref<DeclaredIntrinsic>(this), std::move(regions), std::move(reduce_axis), a.call));
}

auto tile_of_call(Evaluator& e, const IntrinsicCall& call, const std::vector<Expr>& dimensions) -> std::optional<TileOfCall> {
  const Operation& op = described(*call.intrinsic);
  const std::vector<Expr> wanted = shape_of(op.outputs[0]);
  const bool is_equal = wanted.size() == dimensions.size() && std::equal(wanted.begin(), wanted.end(), dimensions.begin(), are_equal);
  if (!is_equal) {
    refuse(e, call.where, *call.intrinsic, because(Why::TileOtherShape).arg("found", text_of_shape(dimensions)).arg("wanted", text_of_shape(wanted)),
           "give `te.compute` the shape of all tiles: the extents of the function's axes, then those of a tile");
    return std::nullopt;
  }
  TileOfCall out;
  IntoTile into;
  for (size_t i = 0; i < op.inputs.size(); ++i) { into.regions.emplace_back(op.inputs[i]->outputs[0], &call.inputs[i]); }
  for (size_t k = 0; k < op.axis.size(); ++k) {
    IterVar axis = renamed(op.axis[k], Name("ax" + std::to_string(k)), into);
    axis.origin = call.where;
    out.axis.push_back(std::move(axis));
  }
  const auto* reduce = op.body[0].as<Reduce>();
  if (!reduce) {
    for (const Expr& value : op.body) { out.body.push_back(into.mutate(value)); }
    return out;
  }
  std::vector<IterVar> axes = call.reduce_axis;
  for (const IterVar& axis : reduce->axis) { axes.push_back(renamed(axis, axis.var->name, into)); }
  std::vector<Expr> source, init;
  for (const Expr& one : reduce->source) { source.push_back(into.mutate(one)); }
  for (const Expr& one : reduce->init) { init.push_back(into.mutate(one)); }
  const Expr condition = into.mutate(reduce->condition);
  for (size_t i = 0; i < op.body.size(); ++i) {
    out.body.push_back(make<Reduce>(reduce->combiner, Array<Expr>(source), Array<IterVar>(axes), condition, static_cast<int>(i), Array<Expr>(init), call.where));
  }
  return out;
}

}  // namespace loopsmith::frontend::te
