// Operations and tensors: see tensors.h.
#include "frontend/te/tensors.h"

#include <algorithm>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::frontend::te {

namespace {

auto table_of_operations() -> std::unordered_map<const BufferNode*, const Operation*>& {
  static thread_local std::unordered_map<const BufferNode*, const Operation*> table;
  return table;
}

// `x[b]` of `x[b][i][k]`: a tensor with some of its indices.
class SliceOfTensor final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Ref<TensorObject> tensor;
  const std::vector<Argument> indices;
  SliceOfTensor(Ref<TensorObject> t, std::vector<Argument> i) : Object(&type_tag), tensor(std::move(t)), indices(std::move(i)) {}
  auto get_item(Evaluator& e, const std::vector<Argument>& more, bool, Origin where) const -> std::optional<Value> override {
    std::vector<Argument> all = indices;
    all.insert(all.end(), more.begin(), more.end());
    return tensor->load(e, std::move(all), where);
  }
  auto repr() const -> std::string override { return tensor->repr(); }
};
const eval::TypeTag SliceOfTensor::type_tag{"a slice of a tensor"};


auto output_of(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Ref<Operation> op(self.as<Operation>());
  auto index = a.all.size() == 1 ? a.all[0].value.to_int() : std::nullopt;
  if (!index || *index < 0 || *index >= static_cast<int64_t>(op->outputs.size())) {
    if (!index) { return e.report(error(Code::WrongType, a.call).arg("expected", "the index of an output").arg("found", a.all.empty() ? "nothing" : describe(a.all[0].value))); }
    return e.report(error(Code::IndexOutOfRange, a.call).arg("index", *index).arg("what", "the outputs").arg("size", static_cast<int64_t>(op->outputs.size())));
  }
  return make_object<TensorObject>(op, static_cast<size_t>(*index));
}

// Functions that walk over operations recurse as deep as the chain is long.
constexpr uint32_t deepest_chain = 1000;

}  // namespace

const eval::TypeTag Operation::type_tag{"a tensor operation"};
const eval::TypeTag TensorObject::type_tag{"a tensor"};
const eval::TypeTag ThreadAxisObject::type_tag{"a thread axis"};
ThreadAxisObject::ThreadAxisObject(std::string t, Value e)
    : Object(&type_tag), tag_of_thread(std::move(t)), extent(std::move(e)), var(make<VarNode>(Name(tag_of_thread), DataType::int_(32), Origin{})) {}
auto ThreadAxisObject::get_attribute(Evaluator&, Name attribute, Origin) const -> std::optional<Value> {
  static const Name name("var");
  return attribute == name ? std::optional(Value(make_object<ExprObject>(Expr(var)))) : std::nullopt;
}

auto ThreadAxisObject::binary(Evaluator& e, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> {
  const Value own = make_object<ExprObject>(Expr(var));
  return own.object()->binary(e, op, {own, self.where, {}}, other, reflected, where);
}
auto ThreadAxisObject::compare(Evaluator& e, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> {
  const Value own = make_object<ExprObject>(Expr(var));
  return own.object()->compare(e, op, {own, self.where, {}}, other, reflected, where);
}

auto operations() -> const std::unordered_map<const BufferNode*, const Operation*>& { return table_of_operations(); }

Operation::Operation(Kind k, Name n, std::vector<Buffer> o, Origin at) : Object(&type_tag), kind(k), name(n), outputs(std::move(o)), where(at) {
  for (const Buffer& b : outputs) { table_of_operations().emplace(b.get(), this); }
}
Operation::~Operation() {
  for (const Buffer& b : outputs) { table_of_operations().erase(b.get()); }
}

const eval::TypeTag TagScope::type_tag{"a tag scope"};

auto tag_of(const Evaluator& e, const BoundArguments& b, size_t i) -> std::string {
  std::string tag = text_of(b, i, "");
  for (auto context = e.contexts.rbegin(); tag.empty() && context != e.contexts.rend(); ++context) {
    if (const auto* scope = context->as<TagScope>()) { tag = scope->tag; }
  }
  return tag;
}

auto tag_scope(Evaluator& e, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "te.tag_scope", a, {{"tag"}}, b)) { return b.unknown; }
  return make_object<TagScope>(text_of(b, 0, ""));
}

auto Operation::get_attribute(Evaluator& e, Name attribute, Origin where) const -> std::optional<Value> {
  static const Name name_name("name"), axis_name("axis"), reduce_name("reduce_axis"), output_name("output"), count("num_outputs"), body_name("body");
  auto axes = [](const std::vector<IterVar>& of) {
    std::vector<Value> out;
    for (const IterVar& iter : of) { out.push_back(make_object<IterVarObject>(iter)); }
    return Value::list(std::move(out));
  };
  if (attribute == name_name) { return Value::str(name.str()); }
  if (kind == Kind::Extern && (attribute == axis_name || attribute == reduce_name)) {
    return e.report(error(Code::StageRefused, where).arg("step", "op." + attribute.str()).arg("stage", name.view()).arg("reason", because(Why::NoLoops).text())
                        .remedy(is_hybrid ? "write it as serial loops around one store, or give its loops their kinds: `for i in parallel(n)`" : "apply steps to the stages that read it, or write it with `te.compute`"));
  }
  if (attribute == axis_name && is_hybrid) {
    // As in TVM, all loops of a hybrid function are its axes.
    std::vector<IterVar> all = axis;
    all.insert(all.end(), reduce_axis.begin(), reduce_axis.end());
    return axes(all);
  }
  if (attribute == axis_name) { return axes(axis); }
  if (attribute == reduce_name) { return axes(reduce_axis); }
  if (attribute == output_name) { return make_object<eval::Method>(Value(this), output_name, output_of); }
  if (static const Name class_name("__class__"); attribute == class_name) {
    const char* own = is_hybrid ? "HybridOp" : kind == Kind::Compute ? "ComputeOp" : kind == Kind::Extern ? "ExternOp" : kind == Kind::Scan ? "ScanOp" : "PlaceholderOp";
    return Value::tuple({Value::str(own), Value::str("Operation")});
  }
  if (static const Name tag_name("tag"); attribute == tag_name) { return Value::str(tag); }
  if (attribute == count) { return Value(static_cast<int64_t>(outputs.size())); }
  static const Name inputs_name("input_tensors");
  if (attribute == inputs_name) {
    std::vector<Value> out;
    for (const Ref<Operation>& input : inputs) { out.push_back(make_object<TensorObject>(input, 0)); }
    return Value::list(std::move(out));
  }
  if (attribute == body_name) {
    std::vector<Value> out;
    for (const Expr& x : body) { out.push_back(expr_value(x)); }
    return Value::list(std::move(out));
  }
  return {};
}
auto TensorObject::get_attribute(Evaluator&, Name attribute, Origin) const -> std::optional<Value> {
  static const Name shape("shape"), dtype("dtype"), name_name("name"), op_name("op"), ndim("ndim"), value_index("value_index");
  if (attribute == shape) {
    std::vector<Value> out;
    for (const Expr& x : buffer()->shape) { out.push_back(expr_value(x)); }
    return Value::tuple(std::move(out));
  }
  if (attribute == dtype) { return Value::str(buffer()->dtype.str()); }
  if (attribute == name_name) { return Value::str(op->name.str()); }
  if (attribute == op_name) { return Value(op); }
  if (attribute == ndim) { return Value(static_cast<int64_t>(buffer()->shape.size())); }
  if (static const Name class_name("__class__"); attribute == class_name) { return Value::tuple({Value::str("Tensor")}); }
  if (attribute == value_index) { return Value(static_cast<int64_t>(index)); }
  return {};
}


auto TensorObject::load(Evaluator& e, std::vector<Argument> indices, Origin where) const -> Value {
  if (indices.size() == 1 && indices[0].value.items()) {
    std::vector<Argument> spread;
    for (const Value& item : *indices[0].value.items()) { spread.push_back({item, indices[0].where, {}}); }
    indices = std::move(spread);
  }
  for (Argument& i : indices) {
    if (const auto* axis = i.value.as<IterVarObject>()) { i.value = make_object<ExprObject>(Expr(axis->iter.var)); }
  }
  if (indices.size() < buffer()->shape.size() && !indices.empty()) {
    return make_object<SliceOfTensor>(Ref<TensorObject>(this), std::move(indices));
  }
  std::vector<Expr> at;
  if (!to_indices(e, buffer(), indices, where, at)) { return Value::error(); }
  return make_object<ExprObject>(make<BufferLoad>(buffer(), std::move(at), where));
}

auto tensors_of(const Ref<Operation>& op) -> Value {
  if (op->outputs.size() == 1) { return make_object<TensorObject>(op, 0); }
  std::vector<Value> out;
  for (size_t i = 0; i < op->outputs.size(); ++i) { out.push_back(make_object<TensorObject>(op, i)); }
  return Value::tuple(std::move(out));
}

void collect_inputs(const std::vector<Expr>& exprs, std::vector<Ref<Operation>>& out) {
  auto take = [&](const Expr& x) {
    const auto* load = x.as<BufferLoad>();
    if (!load) { return; }
    auto found = operations().find(load->buffer.get());
    if (found == operations().end()) { return; }
    bool known = std::any_of(out.begin(), out.end(), [&](const Ref<Operation>& o) { return o.get() == found->second; });
    if (!known) { out.emplace_back(found->second); }
  };
  for (const Expr& x : exprs) {
    post_order(x, take);
    if (const auto* reduce = x.as<Reduce>()) {
      for (const Expr& r : reduce->combiner->result) { post_order(r, take); }
      for (const Expr& r : reduce->combiner->identity) { post_order(r, take); }
    }
  }
}

auto are_within_limits(Evaluator& e, const std::vector<Expr>& exprs, Origin where) -> bool {
  return std::all_of(exprs.begin(), exprs.end(), [&](const Expr& x) { return is_within_limits(e, x, where); });
}
auto set_depth(Evaluator& e, Operation& op) -> bool {
  for (const auto& side : {op.inputs, op.init, op.update}) {
    for (const Ref<Operation>& input : side) { op.depth = std::max(op.depth, input->depth + 1); }
  }
  if (op.depth <= deepest_chain) { return true; }
  e.report(error(Code::TooDeep, op.where).arg("limit", static_cast<int64_t>(deepest_chain)));
  return false;
}

auto to_shape(Evaluator& e, const Argument& a, std::vector<Expr>& out) -> bool {
  if (a.value.is_float()) {
    out.push_back(int_imm(static_cast<int64_t>(a.value.float_value()), DataType::int_(32), a.where));
    return true;
  }
  // As in TVM, `M / 32` in a shape stands for its integer.
  Argument given = a;
  if (const auto* items = a.value.items()) {
    std::vector<Value> whole;
    for (const Value& item : *items) { whole.push_back(item.is_float() ? Value(static_cast<int64_t>(item.float_value())) : item); }
    given.value = Value::list(std::move(whole));
  }
  if (!to_exprs(e, given, out)) { return false; }
  for (const Expr& x : out) {
    if (!x.dtype().is_integral() || !x.dtype().is_scalar()) {
      wrong_type(e, a, "a shape");
      return false;
    }
  }
  return true;
}

auto text_of(const BoundArguments& b, size_t i, const char* otherwise) -> std::string {
  const std::string* s = b.given[i] ? b.values[i].value.string() : nullptr;
  return s ? *s : otherwise;
}

auto wrong_count(std::string_view function, size_t expected, std::string_view what, size_t found, Origin where) -> Diagnostic {
  return error(Code::TensorCount, where).arg("function", function).arg("expected", static_cast<int64_t>(expected)).arg("what", what).arg("found", static_cast<int64_t>(found));
}

}  // namespace loopsmith::frontend::te
