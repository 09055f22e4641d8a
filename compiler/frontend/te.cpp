// Tensor expressions: `te.placeholder`, `te.compute`, reductions, `te.extern` and `te.scan` as values of scripts, and
// `te.create_prim_func`, which makes an ordinary program of them: the one that TVM makes (create_primfunc.cc of TVM is
// what it is compared with), one block per computed tensor, a loop and an axis per dimension.
//
// A tensor is an output of an operation; reading one, `A[i, k]`, is a load from a buffer that stands for it and that
// programs replace by their own. Which operation a buffer stands for is looked up by the buffer, so operations enter
// themselves in a table of the thread for as long as they live.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "frontend/lowerer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::bind_arguments;
using eval::BoundArguments;
using eval::make_object;
using eval::Parameter;

namespace {

auto wrong(Evaluator& e, const Argument& a, std::string_view expected) -> Value {
  if (a.value.is_unknown()) { return a.value; }
  return e.report(error(Code::WrongType, a.where).arg("expected", expected).arg("found", describe(a.value)));
}
auto is_given(const BoundArguments& b, size_t i) -> bool { return b.given[i] && !b.values[i].value.is_none(); }
auto text_of(const BoundArguments& b, size_t i, const char* otherwise) -> std::string {
  const std::string* s = b.given[i] ? b.values[i].value.string() : nullptr;
  return s ? *s : otherwise;
}

// ---- operations and tensors --------------------------------------------------------------------------------------

class Operation;
auto operations() -> std::unordered_map<const BufferNode*, const Operation*>& {
  static thread_local std::unordered_map<const BufferNode*, const Operation*> table;
  return table;
}

class Operation final : public eval::Object {
 public:
  enum class Kind : uint8_t { Placeholder, Compute, Extern, Scan };
  static const eval::TypeTag type_tag;
  const Kind kind;
  const Name name;
  const std::vector<Buffer> outputs;
  const Origin where;
  std::vector<Ref<Operation>> inputs;                    // what it reads, in the order of first use
  // Compute
  std::vector<IterVar> axis, reduce_axis;
  std::vector<Expr> body;
  std::vector<std::pair<Name, Value>> attrs;
  // Extern: buffers that `statement` uses for inputs and outputs
  std::vector<std::pair<Buffer, Buffer>> in_buffers;     // that of the tensor, that of the statement
  std::vector<Buffer> out_buffers;
  Stmt statement;
  // Scan
  std::vector<Ref<Operation>> init, update;
  std::vector<Buffer> state;
  uint32_t depth = 1;                                    // of the longest chain of operations that it ends

  Operation(Kind k, Name n, std::vector<Buffer> o, Origin at) : Object(&type_tag), kind(k), name(n), outputs(std::move(o)), where(at) {
    for (const Buffer& b : outputs) { operations().emplace(b.get(), this); }
  }
  ~Operation() override {
    for (const Buffer& b : outputs) { operations().erase(b.get()); }
  }
  Operation(const Operation&) = delete;
  auto operator=(const Operation&) -> Operation& = delete;

  auto get_attribute(Evaluator&, Name attribute, Origin) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override {
    for (const char* n : {"name", "axis", "reduce_axis", "output", "num_outputs", "body"}) { out.emplace_back(n); }
  }
  auto repr() const -> std::string override { return "<te operation " + name.str() + ">"; }
};
const eval::TypeTag Operation::type_tag{"a tensor operation"};

class TensorObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Ref<Operation> op;
  const size_t index;
  TensorObject(Ref<Operation> o, size_t i) : Object(&type_tag), op(std::move(o)), index(i) {}
  [[nodiscard]] auto buffer() const -> const Buffer& { return op->outputs[index]; }
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override { return load(e, a.all, a.call); }
  auto get_item(Evaluator& e, const std::vector<Argument>& indices, bool, Origin where) const -> std::optional<Value> override {
    return load(e, indices, where);
  }
  auto get_attribute(Evaluator&, Name attribute, Origin) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override {
    for (const char* n : {"shape", "dtype", "name", "op", "ndim", "value_index"}) { out.emplace_back(n); }
  }
  auto equals(const Object& other) const -> bool override {
    const auto* o = other.as<TensorObject>();
    return o && o->buffer() == buffer();
  }
  auto repr() const -> std::string override { return "<te tensor " + buffer()->name.str() + ">"; }
  auto load(Evaluator& e, std::vector<Argument> indices, Origin where) const -> Value;
};
const eval::TypeTag TensorObject::type_tag{"a tensor"};

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

auto output_of(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Ref<Operation> op(self.as<Operation>());
  auto index = a.all.size() == 1 ? a.all[0].value.to_int() : std::nullopt;
  if (!index || *index < 0 || *index >= static_cast<int64_t>(op->outputs.size())) {
    return e.report(error(Code::BadValue, a.call).arg("what", "`output` takes the index of one of " + std::to_string(op->outputs.size()) + " outputs"));
  }
  return make_object<TensorObject>(op, static_cast<size_t>(*index));
}
auto Operation::get_attribute(Evaluator&, Name attribute, Origin) const -> std::optional<Value> {
  static const Name name_name("name"), axis_name("axis"), reduce_name("reduce_axis"), output_name("output"), count("num_outputs"), body_name("body");
  auto axes = [](const std::vector<IterVar>& of) {
    std::vector<Value> out;
    for (const IterVar& iter : of) { out.push_back(make_object<IterVarObject>(iter)); }
    return Value::list(std::move(out));
  };
  if (attribute == name_name) { return Value::str(name.str()); }
  if (attribute == axis_name) { return axes(axis); }
  if (attribute == reduce_name) { return axes(reduce_axis); }
  if (attribute == output_name) { return make_object<eval::Method>(Value(this), output_name, output_of); }
  if (attribute == count) { return Value(static_cast<int64_t>(outputs.size())); }
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
  if (attribute == value_index) { return Value(static_cast<int64_t>(index)); }
  return {};
}

// What expressions read, in the order that TVM finds it in: operands before what is made of them.
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

// What walks over operations goes as deep as their chain is.
constexpr uint32_t deepest_chain = 1000;

auto is_readable(Evaluator& e, const std::vector<Expr>& exprs, Origin where) -> bool {
  return std::all_of(exprs.begin(), exprs.end(), [&](const Expr& x) { return is_bearable(e, x, where); });
}
// The depth of an operation by its inputs; false: too deep, and reported.
auto set_depth(Evaluator& e, Operation& op) -> bool {
  for (const auto& side : {op.inputs, op.init, op.update}) {
    for (const Ref<Operation>& input : side) { op.depth = std::max(op.depth, input->depth + 1); }
  }
  if (op.depth <= deepest_chain) { return true; }
  e.report(error(Code::TooDeep, op.where).arg("limit", static_cast<int64_t>(deepest_chain)));
  return false;
}

auto shape_of(Evaluator& e, const Argument& a, std::vector<Expr>& out) -> bool {
  if (a.value.is_float()) {
    out.push_back(int_imm(static_cast<int64_t>(a.value.float_value()), DataType::int_(32), a.where));
    return true;
  }
  if (!to_exprs(e, a, out)) { return false; }
  for (const Expr& x : out) {
    if (!x.dtype().is_integral() || !x.dtype().is_scalar()) {
      wrong(e, a, "a shape");
      return false;
    }
  }
  return true;
}

// ---- building ----------------------------------------------------------------------------------------------------

auto placeholder(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"shape"}, {"dtype", false}, {"name", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.placeholder", a, parameters, b)) { return Value::error(); }
  std::vector<Expr> shape;
  if (!shape_of(e, b.values[0], shape)) { return Value::error(); }
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
  if (!items || items->size() != 2) { return wrong(e, b.values[0], "(begin, end)"); }
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

// The names that the parameters of `f` give to `dimensions` axes; false: reported.
auto axis_names(Evaluator& e, const Argument& f, size_t dimensions, const Argument& varargs_names, std::vector<Name>& out) -> bool {
  const auto* function = f.value.as<eval::Function>();
  if (!function) {
    wrong(e, f, "a function of indices");
    return false;
  }
  bool has_rest = false;
  for (const syntax::Param& p : function->params()) {
    if (p.kind == syntax::ParamKind::Plain) { out.push_back(p.name.name); }
    has_rest |= p.kind == syntax::ParamKind::Star;
  }
  if (out.size() > dimensions) {
    e.report(error(Code::BadValue, f.where).arg("what", "a function of " + std::to_string(out.size()) + " indices for " + std::to_string(dimensions) + " dimensions"));
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

auto compute(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"shape"}, {"fcompute"}, {"name", false}, {"tag", false}, {"attrs", false}, {"varargs_names", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.compute", a, parameters, b)) { return Value::error(); }
  std::vector<Expr> shape;
  std::vector<Name> names;
  if (!shape_of(e, b.values[0], shape) || !axis_names(e, b.values[1], shape.size(), b.values[5], names)) { return Value::error(); }
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
  if (!to_exprs(e, {result, b.values[1].where, {}}, body)) { return Value::error(); }
  if (body.empty()) { return wrong(e, b.values[1], "a function that gives a value"); }
  if (!is_readable(e, body, b.values[1].where)) { return Value::error(); }
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
      return e.report(error(Code::BadValue, x.origin().is_known() ? x.origin() : b.values[1].where).arg("what", "a reduction is all that a `te.compute` gives")
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
  fields.axis = std::move(axis);
  if (const auto* reduce = body[0].as<Reduce>()) { fields.reduce_axis.assign(reduce->axis.begin(), reduce->axis.end()); }
  collect_inputs(body, fields.inputs);
  fields.body = std::move(body);
  if (!set_depth(e, fields)) { return Value::error(); }
  if (is_given(b, 4)) {
    const auto* dict = b.values[4].value.as<eval::Dict>();
    if (!dict) { return wrong(e, b.values[4], "a dict of attributes"); }
    for (const auto& [key, value] : dict->entries()) {
      if (const std::string* text = key.string()) { fields.attrs.emplace_back(Name(*text), value); }
    }
  }
  return tensors_of(op);
}

// ---- reductions --------------------------------------------------------------------------------------------------

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
    e.report(error(Code::BadValue, where).arg("what", "a combiner gives as many values as are reduced, " + std::to_string(left.size())));
    return false;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    // Constants take the type that is reduced.
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
  std::vector<Value> items{result};
  if (const auto* several = result.items()) { items = *several; }
  if (items.size() != sources.size()) {
    e.report(error(Code::BadValue, where).arg("what", "an identity has as many values as are reduced, " + std::to_string(sources.size())));
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
  if (!source) { return e.report(error(Code::MissingArgument, a.callee).arg("name", "expr").arg("callee", "the reducer")); }
  bool over_axes = axis && (axis->value.as<IterVarObject>() || axis->value.items());
  if (!over_axes) {
    // `te.max(a, b, c)`: combined right here.
    if (a.positional != a.all.size() || kind == Kind::Custom) { return wrong(e, axis ? *axis : *source, "an axis, `te.reduce_axis(...)`"); }
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
  std::vector<Value> given{axis->value};
  if (const auto* several = axis->value.items()) { given = *several; }
  for (const Value& v : given) {
    const auto* iter = v.as<IterVarObject>();
    if (!iter || iter->iter.kind != IterKind::Reduction) { return wrong(e, *axis, "an axis, `te.reduce_axis(...)`"); }
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
  if (!is_readable(e, sources, a.call) || !is_readable(e, result, a.call) || !is_readable(e, neutral, a.call)) { return Value::error(); }
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

auto comm_reducer(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"fcombine"}, {"fidentity"}, {"name", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.comm_reducer", a, parameters, b)) { return Value::error(); }
  const auto* f = b.values[0].value.as<eval::Function>();
  if (!f || f->params().size() != 2) { return wrong(e, b.values[0], "a function of two values"); }
  return make_object<ReducerFunction>(ReducerFunction::Kind::Custom, b.values[0].value, b.values[1].value);
}

// ---- extern and scan ---------------------------------------------------------------------------------------------

auto tensor_list(Evaluator& e, const Argument& a, std::vector<Ref<TensorObject>>& out) -> bool {
  std::vector<Value> items{a.value};
  if (const auto* several = a.value.items()) { items = *several; }
  for (const Value& v : items) {
    const auto* t = v.as<TensorObject>();
    if (!t) {
      wrong(e, {v, a.where, {}}, "a tensor");
      return false;
    }
    out.emplace_back(t);
  }
  return true;
}
auto buffer_list(Evaluator& e, const Argument& a, std::vector<Buffer>& out) -> bool {
  std::vector<Value> items{a.value};
  if (const auto* several = a.value.items()) { items = *several; }
  for (const Value& v : items) {
    const auto* b = v.as<BufferObject>();
    if (!b) {
      wrong(e, {v, a.where, {}}, "a buffer");
      return false;
    }
    out.push_back(b->buffer);
  }
  return true;
}
// A buffer whose offset is found at run time, as `te.extern` declares those of its statement.
auto offset_buffer(Name name, DataType t, Array<Expr> shape, Origin where) -> Buffer {
  Buffer plain = make_buffer(name, t, std::move(shape), "global", where);
  BufferNode fields = *plain;
  fields.elem_offset = make<VarNode>(Name("elem_offset"), DataType::int_(32), where);
  return make_buffer(std::move(fields));
}

auto extern_op(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"shape"}, {"inputs"}, {"fcompute"}, {"name", false}, {"dtype", false},
                                                    {"in_buffers", false}, {"out_buffers", false}, {"tag", false}, {"attrs", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.extern", a, parameters, b)) { return Value::error(); }
  std::vector<Ref<TensorObject>> inputs;
  std::vector<Buffer> ins, outs, outputs;
  if (!tensor_list(e, b.values[1], inputs)) { return Value::error(); }
  if (is_given(b, 5) && !buffer_list(e, b.values[5], ins)) { return Value::error(); }
  if (is_given(b, 6) && !buffer_list(e, b.values[6], outs)) { return Value::error(); }
  std::vector<std::vector<Expr>> shapes;
  const auto* items = b.values[0].value.items();
  bool several = items && !items->empty() && std::all_of(items->begin(), items->end(), [](const Value& v) { return v.items() != nullptr; });
  for (const Value& one : several ? *items : std::vector<Value>{b.values[0].value}) {
    std::vector<Expr> shape;
    if (!shape_of(e, {one, b.values[0].where, {}}, shape)) { return Value::error(); }
    shapes.push_back(std::move(shape));
  }
  std::vector<DataType> types;
  if (is_given(b, 4)) {
    std::vector<Value> given{b.values[4].value};
    if (const auto* list = b.values[4].value.items()) { given = *list; }
    for (const Value& v : given) {
      auto t = to_dtype(e, {v, b.values[4].where, {}});
      if (!t) { return Value::error(); }
      types.push_back(*t);
    }
  } else {
    for (const Ref<TensorObject>& t : inputs) {
      if (!(t->buffer()->dtype == inputs[0]->buffer()->dtype)) { types.clear(); break; }
      types.assign(shapes.size(), t->buffer()->dtype);
    }
  }
  if (types.size() != shapes.size()) { return e.report(error(Code::BadValue, a.call).arg("what", "the inputs have no one type: say that of the output, `dtype=...`")); }
  Name name(text_of(b, 3, "extern"));
  if (ins.empty()) {
    for (const Ref<TensorObject>& t : inputs) { ins.push_back(offset_buffer(t->op->name, t->buffer()->dtype, t->buffer()->shape, a.call)); }
  }
  if (outs.empty()) {
    for (size_t i = 0; i < shapes.size(); ++i) { outs.push_back(offset_buffer(name, types[i], shapes[i], a.call)); }
  }
  if (ins.size() != inputs.size() || outs.size() != shapes.size()) {
    return e.report(error(Code::BadValue, a.call).arg("what", "there is one buffer for each input and output"));
  }
  auto values = [](const std::vector<Buffer>& of) {
    std::vector<Value> out;
    for (const Buffer& x : of) { out.push_back(make_object<BufferObject>(x)); }
    return Value::list(std::move(out));
  };
  Value result = e.call(b.values[2].value, {values(ins), values(outs)}, b.values[2].where);
  if (result.is_unknown()) { return result; }
  Stmt statement;
  if (const auto* s = result.as<StmtObject>()) { statement = s->stmt; }
  else if (Expr x = to_expr(e, {result, b.values[2].where, {}})) {
    if (!is_readable(e, {x}, b.values[2].where)) { return Value::error(); }
    statement = make<Evaluate>(x, x.origin());
  }
  if (!statement) { return Value::error(); }
  for (size_t i = 0; i < shapes.size(); ++i) {
    outputs.push_back(make_buffer(Name(shapes.size() == 1 ? name.str() : name.str() + "_v" + std::to_string(i)), types[i], shapes[i], "global", a.call));
  }
  Ref<Operation> op = make_object<Operation>(Operation::Kind::Extern, name, std::move(outputs), a.call);
  auto& fields = const_cast<Operation&>(*op);
  for (size_t i = 0; i < inputs.size(); ++i) {
    fields.in_buffers.emplace_back(inputs[i]->buffer(), ins[i]);
    if (std::find(fields.inputs.begin(), fields.inputs.end(), inputs[i]->op) == fields.inputs.end()) { fields.inputs.push_back(inputs[i]->op); }
  }
  fields.out_buffers = std::move(outs);
  fields.statement = std::move(statement);
  if (!set_depth(e, fields)) { return Value::error(); }
  return tensors_of(op);
}

auto scan(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"init"}, {"update"}, {"state_placeholder"}, {"inputs", false}, {"name", false}, {"tag", false}, {"attrs", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.scan", a, parameters, b)) { return Value::error(); }
  std::vector<Ref<TensorObject>> init, update, state;
  if (!tensor_list(e, b.values[0], init) || !tensor_list(e, b.values[1], update) || !tensor_list(e, b.values[2], state)) { return Value::error(); }
  if (init.size() != update.size() || init.size() != state.size() || init.empty()) {
    return e.report(error(Code::BadValue, a.call).arg("what", "there are as many starts and updates as states"));
  }
  for (const auto& side : {init, update}) {
    for (const Ref<TensorObject>& t : side) {
      if (t->op->kind != Operation::Kind::Compute || t->op->outputs.size() != 1 || t->buffer()->shape.empty()) {
        return e.report(error(Code::BadValue, b.values[1].where).arg("what", "what starts a scan and goes on with it is a `te.compute` with a dimension of time"));
      }
    }
  }
  std::string name = text_of(b, 4, "scan");
  std::vector<Buffer> outputs;
  for (size_t i = 0; i < update.size(); ++i) {
    const Buffer& like = update[i]->buffer();
    outputs.push_back(make_buffer(Name(update.size() == 1 ? name : name + "_v" + std::to_string(i)), like->dtype, like->shape, "global", a.call));
  }
  Ref<Operation> op = make_object<Operation>(Operation::Kind::Scan, Name(name), std::move(outputs), a.call);
  auto& fields = const_cast<Operation&>(*op);
  for (size_t i = 0; i < update.size(); ++i) {
    fields.init.push_back(init[i]->op);
    fields.update.push_back(update[i]->op);
    fields.state.push_back(state[i]->buffer());
  }
  for (const auto& side : {init, update}) {
    for (const Ref<TensorObject>& t : side) {
      for (const Ref<Operation>& input : t->op->inputs) {
        bool is_state = std::any_of(state.begin(), state.end(), [&](const Ref<TensorObject>& s) { return s->op == input; });
        if (!is_state && std::find(fields.inputs.begin(), fields.inputs.end(), input) == fields.inputs.end()) { fields.inputs.push_back(input); }
      }
    }
  }
  if (!set_depth(e, fields)) { return Value::error(); }
  return tensors_of(op);
}

// ---- to a program ------------------------------------------------------------------------------------------------

// Tensors' buffers become those of the program, axes become those of a block.
class Place : public Mutator {
 public:
  const BufferMap* buffers = nullptr;
  const VarMap* vars = nullptr;
  using Mutator::on;
  auto on(const VarNode& node) -> Expr override {
    if (vars) {
      if (auto found = vars->find(&node); found != vars->end()) { return found->second; }
    }
    return self(node);
  }

 protected:
  auto use(const Buffer& buffer) -> Buffer override {
    auto found = buffers->find(buffer.get());
    return found == buffers->end() ? buffer : found->second;
  }
};

class Maker {
 public:
  Maker(Evaluator& e, Origin where) : evaluator_(e), where_(where) {}

  auto run(const Argument& args) -> PrimFunc;

 private:
  struct Level {
    std::vector<std::pair<Var, Range>> loops;
    std::vector<IterVar> iters;
    std::vector<Expr> bindings, stores;
    VarMap map;
  };
  void order(const Ref<Operation>& op, std::vector<Ref<Operation>>& out);
  auto emit(const Ref<Operation>& op) -> bool;
  void emit_compute(const Operation& op, const std::vector<Buffer>& outputs, const std::vector<IterVar>& axes);
  void emit_extern(const Operation& op);
  auto levels_of(const Operation& op, const std::vector<IterVar>& axes) -> std::vector<Level>;
  auto place(const Expr& x, const VarMap& vars) -> Expr {
    Place p;
    p.buffers = &buffers_;
    p.vars = &vars;
    return p.mutate(x);
  }
  auto fresh_name(std::string base) -> Name;
  auto is_argument(const Buffer& tensor) const -> bool { return arguments_.count(tensor.get()) > 0; }
  auto own_buffer(const Buffer& tensor) -> Buffer;
  auto block(const Level& level, Name name, Stmt body, Stmt init, const AttrMap& annotations, Origin where) -> Stmt;
  auto annotations_of(const Operation& op) -> AttrMap;

  Evaluator& evaluator_;
  Origin where_;
  std::unordered_set<const BufferNode*> arguments_;
  std::unordered_set<const Operation*> visited_;
  BufferMap buffers_;                        // of a tensor: that of the program
  std::vector<Buffer> allocated_;
  std::vector<Stmt> stmts_;
  std::unordered_map<std::string, int> names_;
  std::unordered_set<int> layout_free_;
  std::vector<const BufferNode*> parameters_; // of the program, in order
};

auto Maker::fresh_name(std::string base) -> Name {
  std::replace(base.begin(), base.end(), '.', '_');
  auto [it, is_new] = names_.emplace(base, 0);
  if (is_new) { return Name(base); }
  for (;;) {
    std::string next = base + "_" + std::to_string(++it->second);
    if (names_.emplace(next, 0).second) { return Name(next); }
    it = names_.find(base);
  }
}

void Maker::order(const Ref<Operation>& op, std::vector<Ref<Operation>>& out) {
  if (!visited_.insert(op.get()).second) { return; }
  for (const Ref<Operation>& input : op->inputs) { order(input, out); }
  out.push_back(op);
}

auto Maker::own_buffer(const Buffer& tensor) -> Buffer {
  Buffer mine = make_buffer(tensor->name, tensor->dtype, tensor->shape, "global", tensor->origin);
  buffers_[tensor.get()] = mine;
  if (!is_argument(tensor)) { allocated_.push_back(mine); }
  return mine;
}

// Axes by what their domains depend on: those of a level need only axes of levels before it.
auto Maker::levels_of(const Operation&, const std::vector<IterVar>& axes) -> std::vector<Level> {
  std::vector<int> depth(axes.size(), -1);
  std::function<int(size_t)> find = [&](size_t i) -> int {
    if (depth[i] >= 0) { return depth[i]; }
    depth[i] = 0;
    int deepest = 0;
    for (size_t j = 0; j < axes.size(); ++j) {
      auto uses = [&](const Expr& x) { return uses_var(simplified(x), [&](const VarNode& v) { return &v == axes[j].var.get(); }); };
      if (j != i && (uses(axes[i].dom.min) || uses(axes[i].dom.extent))) { deepest = std::max(deepest, find(j) + 1); }
    }
    return depth[i] = deepest;
  };
  int count = 1;
  for (size_t i = 0; i < axes.size(); ++i) { count = std::max(count, find(i) + 1); }
  std::vector<Level> levels(static_cast<size_t>(count));
  for (size_t l = 0; l < levels.size(); ++l) {
    Level& level = levels[l];
    for (size_t j = 0; j < axes.size(); ++j) {
      const IterVar& axis = axes[j];
      if (depth[j] > static_cast<int>(l)) { continue; }
      DataType t = DataType::int_(std::max<int>(axis.dom.min.dtype().bits, axis.dom.extent.dtype().bits));
      IterVar iter;
      iter.var = make<VarNode>(Name("v_" + axis.var->name.str()), t, axis.origin);
      iter.kind = axis.kind;
      iter.origin = axis.origin;
      Expr binding;
      if (depth[j] == static_cast<int>(l)) {
        Range dom = axis.dom;
        if (l > 0) { dom = {place(dom.min, levels[l - 1].map), place(dom.extent, levels[l - 1].map)}; }
        iter.dom = {simplified(cast(t, dom.min)), simplified(cast(t, dom.extent))};
        Var loop = make<VarNode>(axis.var->name, t, axis.origin);
        level.loops.emplace_back(loop, iter.dom);
        binding = loop;
      } else {
        binding = levels[l - 1].map.at(axis.var.get());
        iter.dom = {binding, one(t)};
      }
      if (iter.kind != IterKind::Reduction) { level.stores.emplace_back(iter.var); }
      level.map.emplace(axis.var.get(), Expr(iter.var));
      level.iters.push_back(std::move(iter));
      level.bindings.push_back(std::move(binding));
    }
  }
  if (Level& leaf = levels.back(); leaf.iters.empty()) {
    IterVar one_point;
    one_point.var = make<VarNode>(Name("vi"), DataType::int_(32), where_);
    one_point.dom = {int_imm(0), int_imm(1)};
    leaf.iters.push_back(std::move(one_point));
    leaf.bindings.push_back(int_imm(0));
  }
  return levels;
}

auto Maker::annotations_of(const Operation& op) -> AttrMap {
  static const Name layout_free("layout_free_placeholders");
  static const Name left_out[] = {"const_matrix", "auto_scheduler_simplify_const_tensor_indices", "workload"};
  std::vector<std::pair<Name, Attr>> out;
  for (const auto& [key, value] : op.attrs) {
    if (std::find(std::begin(left_out), std::end(left_out), key) != std::end(left_out)) { continue; }
    auto one = [&](const Value& v) -> std::optional<Attr> {
      if (const auto* t = v.as<TensorObject>()) {
        auto found = buffers_.find(t->buffer().get());
        if (found == buffers_.end()) { return {}; }
        return Attr(Expr(found->second->data));
      }
      return to_attr(evaluator_, {v, op.where, {}});
    };
    if (const auto* items = value.items()) {
      std::vector<Attr> list;
      for (const Value& item : *items) {
        if (const auto* t = key == layout_free ? item.as<TensorObject>() : nullptr) {
          auto found = buffers_.find(t->buffer().get());
          auto at = found == buffers_.end() ? parameters_.end() : std::find(parameters_.begin(), parameters_.end(), t->buffer().get());
          if (at != parameters_.end()) {
            layout_free_.insert(static_cast<int>(at - parameters_.begin()));
            continue;
          }
        }
        if (auto attr = one(item)) { list.push_back(std::move(*attr)); }
      }
      if (key == layout_free && list.empty()) { continue; }
      out.emplace_back(key, Attr(Array<Attr>(std::move(list))));
    } else if (auto attr = one(value)) {
      out.emplace_back(key, std::move(*attr));
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  return AttrMap(std::move(out));
}

auto Maker::block(const Level& level, Name name, Stmt body, Stmt init, const AttrMap& annotations, Origin where) -> Stmt {
  Block::Fields fields;
  fields.name = name;
  fields.iter_vars = level.iters;
  fields.body = std::move(body);
  fields.init = std::move(init);
  // Reads and writes are found when the program is complete.
  fields.annotations = with_attr(annotations, detect_access_key(), Attr(int_imm(3, DataType::int_(64))));
  return make<BlockRealize>(level.bindings, bool_imm(true, where), make<Block>(std::move(fields), where), where);
}

void Maker::emit_compute(const Operation& op, const std::vector<Buffer>& outputs, const std::vector<IterVar>& axes) {
  std::vector<Level> levels = levels_of(op, axes);
  Level leaf = levels.back();
  const auto* reduce = op.body[0].as<Reduce>();
  AttrMap annotations = annotations_of(op);
  auto init_of = [&](const Level& level) {
    std::vector<Stmt> out;
    for (size_t i = 0; i < outputs.size(); ++i) {
      out.push_back(make<BufferStore>(outputs[i], place(reduce->combiner->identity[i], level.map), level.stores, op.where));
    }
    return seq(std::move(out), op.where);
  };
  std::vector<Stmt> blocks;
  if (reduce) {
    VarMap sides;
    for (size_t i = 0; i < outputs.size(); ++i) {
      Expr left = make<BufferLoad>(outputs[i], leaf.stores, op.where);
      Expr right = simplified(place(reduce->source[i], leaf.map));
      sides.emplace(reduce->combiner->lhs[i].get(), std::move(left));
      sides.emplace(reduce->combiner->rhs[i].get(), std::move(right));
    }
    std::vector<Expr> values;
    for (const Expr& r : reduce->combiner->result) { values.push_back(place(substitute(r, sides), leaf.map)); }
    Stmt body;
    if (outputs.size() == 1) {
      body = make<BufferStore>(outputs[0], values[0], leaf.stores, op.where);
    } else {
      // All are computed before the first is stored.
      std::vector<Var> temporaries;
      std::vector<Stmt> stores;
      for (size_t i = 0; i < outputs.size(); ++i) {
        temporaries.push_back(make<VarNode>(Name("v_" + outputs[i]->name.str()), outputs[i]->dtype, op.where));
        stores.push_back(make<BufferStore>(outputs[i], Expr(temporaries[i]), leaf.stores, op.where));
      }
      body = seq(std::move(stores), op.where);
      for (size_t i = outputs.size(); i-- > 0;) { body = make<LetStmt>(temporaries[i], values[i], std::move(body), op.where); }
    }
    blocks.push_back(block(leaf, fresh_name(op.name.str()), std::move(body), init_of(leaf), annotations, op.where));
    if (!(reduce->condition.as<IntImm>() && is_one(reduce->condition))) {
      VarMap at_loops;
      for (size_t i = 0; i < leaf.iters.size(); ++i) { at_loops.emplace(leaf.iters[i].var.get(), leaf.bindings[i]); }
      const auto* realize = blocks.back().as<BlockRealize>();
      blocks.back() = make<BlockRealize>(realize->iter_values, substitute(place(reduce->condition, leaf.map), at_loops), realize->block, realize->origin);
    }
  } else {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (i > 0) { leaf = levels_of(op, axes).back(); }
      // Later blocks of the same loops bind the loops' own variables.
      leaf.bindings = levels.back().bindings;
      Stmt store = make<BufferStore>(outputs[i], simplified(place(op.body[i], leaf.map)), leaf.stores, op.where);
      Name name = outputs.size() == 1 ? Name(op.name.str()) : outputs[i]->name;
      blocks.push_back(block(leaf, fresh_name(name.str()), std::move(store), {}, annotations, op.where));
    }
  }
  Stmt body = seq(std::move(blocks), op.where);
  for (size_t l = levels.size(); l-- > 0;) {
    const Level& level = levels[l];
    if (l + 1 < levels.size()) {
      bool reduces = reduce && std::any_of(level.iters.begin(), level.iters.end(), [](const IterVar& i) { return i.kind == IterKind::Reduction; });
      body = block(level, fresh_name(op.name.str() + "_l" + std::to_string(l + 1)), std::move(body), reduces ? init_of(level) : Stmt(), annotations, op.where);
    }
    for (size_t j = level.loops.size(); j-- > 0;) {
      const auto& [var, dom] = level.loops[j];
      body = make<For>(var, dom.min, dom.extent, ForKind::Serial, std::move(body), std::nullopt, AttrMap(), op.where);
    }
  }
  stmts_.push_back(std::move(body));
}

void Maker::emit_extern(const Operation& op) {
  BufferMap map;
  VarMap vars;
  for (const auto& [tensor, used] : op.in_buffers) {
    const Buffer& mine = buffers_.at(tensor.get());
    map[used.get()] = mine;
    vars.emplace(used->data.get(), Expr(mine->data));
    if (const auto* offset = used->elem_offset ? used->elem_offset.as<VarNode>() : nullptr; offset && mine != used) {
      vars.emplace(offset, mine->elem_offset ? mine->elem_offset : int_imm(0));
    }
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    Buffer mine = op.out_buffers[i];
    if (!is_argument(op.outputs[i])) {
      BufferNode fields = *mine;
      if (const auto* offset = mine->elem_offset ? mine->elem_offset.as<VarNode>() : nullptr) { vars.emplace(offset, int_imm(0)); }
      fields.elem_offset = {};
      Buffer placed = make_buffer(std::move(fields));
      map[mine.get()] = placed;
      mine = placed;
      allocated_.push_back(mine);
    }
    buffers_[op.outputs[i].get()] = mine;
  }
  Place p;
  p.buffers = &map;
  p.vars = &vars;
  Block::Fields fields;
  fields.name = fresh_name(op.name.str());
  fields.body = p.mutate(op.statement);
  Ref<Block> made = make<Block>(std::move(fields), op.where);
  stmts_.push_back(make<BlockRealize>(Array<Expr>{}, bool_imm(true, op.where), std::move(made), op.where));
}

auto Maker::emit(const Ref<Operation>& op) -> bool {
  switch (op->kind) {
    case Operation::Kind::Placeholder:
      if (!is_argument(op->outputs[0])) {
        evaluator_.report(error(Code::BadValue, where_).arg("what", "`" + op->name.str() + "` is read, and is not among the tensors of the program")
                              .note(op->where, "it is declared here").remedy("add it to the list of `te.create_prim_func`"));
        return false;
      }
      if (!buffers_.count(op->outputs[0].get())) { (void)own_buffer(op->outputs[0]); }
      return true;
    case Operation::Kind::Compute: {
      std::vector<Buffer> outputs;
      for (const Buffer& b : op->outputs) { outputs.push_back(own_buffer(b)); }
      std::vector<IterVar> axes = op->axis;
      axes.insert(axes.end(), op->reduce_axis.begin(), op->reduce_axis.end());
      emit_compute(*op, outputs, axes);
      return true;
    }
    case Operation::Kind::Extern: emit_extern(*op); return true;
    case Operation::Kind::Scan:
      // The state, the start and the updates are one buffer, written time by time.
      for (size_t i = 0; i < op->outputs.size(); ++i) {
        Buffer mine = own_buffer(op->outputs[i]);
        buffers_[op->state[i].get()] = mine;
      }
      for (size_t i = 0; i < op->outputs.size(); ++i) { emit_compute(*op->init[i], {buffers_.at(op->outputs[i].get())}, op->init[i]->axis); }
      for (size_t i = 0; i < op->outputs.size(); ++i) {
        std::vector<IterVar> axes = op->update[i]->axis;
        Expr start = op->init[i]->outputs[0]->shape[0];
        axes[0].dom = {start, simplified(sub(axes[0].dom.extent, start))};
        axes[0].kind = IterKind::Scan;
        axes.insert(axes.end(), op->update[i]->reduce_axis.begin(), op->update[i]->reduce_axis.end());
        emit_compute(*op->update[i], {buffers_.at(op->outputs[i].get())}, axes);
      }
      return true;
  }
  return true;
}

auto Maker::run(const Argument& args) -> PrimFunc {
  std::vector<Value> given{args.value};
  if (const auto* items = args.value.items()) { given = *items; }
  std::vector<Ref<Operation>> ordered;
  for (const Value& v : given) {
    if (const auto* t = v.as<TensorObject>()) {
      arguments_.insert(t->buffer().get());
      parameters_.push_back(t->buffer().get());
    } else {
      parameters_.push_back(nullptr);
      const auto* x = v.as<ExprObject>();
      if (!x || !x->expr.as<VarNode>()) {
        wrong(evaluator_, {v, args.where, {}}, "tensors and variables");
        return {};
      }
    }
  }
  for (const Value& v : given) {
    if (const auto* t = v.as<TensorObject>()) { order(t->op, ordered); }
  }
  // What an extern statement declares for its inputs is what the program declares.
  for (const Ref<Operation>& op : ordered) {
    for (const auto& [tensor, used] : op->in_buffers) {
      if (operations().count(tensor.get()) && operations().at(tensor.get())->kind == Operation::Kind::Placeholder) { buffers_.emplace(tensor.get(), used); }
    }
  }
  for (const Ref<Operation>& op : ordered) {
    if (!emit(op)) { return {}; }
  }
  PrimFuncNode node;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const Value& v : given) {
    if (const auto* t = v.as<TensorObject>()) {
      const Buffer& mine = buffers_.at(t->buffer().get());
      params.push_back(make<VarNode>(Name("var_" + t->buffer()->name.str()), DataType::handle(), where_));
      map.emplace_back(params.back(), mine);
    } else {
      params.emplace_back(v.as<ExprObject>()->expr.as<VarNode>());
    }
  }
  node.params = std::move(params);
  node.buffer_map = std::move(map);
  node.body = seq(std::move(stmts_), where_);
  static const Name noalias("tir.noalias"), layout_free("layout_free_buffers");
  node.attrs = AttrMap{{noalias, Attr(bool_imm(true))}};
  if (!layout_free_.empty()) {
    std::vector<int> sorted(layout_free_.begin(), layout_free_.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<Attr> list;
    for (int i : sorted) { list.emplace_back(int_imm(i)); }
    node.attrs = with_attr(node.attrs, layout_free, Attr(Array<Attr>(std::move(list))));
  }
  node.origin = where_;
  return complete(std::move(node), std::move(allocated_), evaluator_);
}

// Every index of a program in 64 bits, as `index_dtype_override="int64"` wants it.
class Widen : public Mutator {
 public:
  using Mutator::on;
  auto buffer(const Buffer& b) -> Buffer {
    if (auto found = buffers_.find(b.get()); found != buffers_.end()) { return found->second; }
    BufferNode fields = *b;
    fields.shape = indices(b->shape);
    fields.strides = indices(b->strides);
    if (fields.elem_offset) { fields.elem_offset = index(fields.elem_offset); }
    return buffers_[b.get()] = make_buffer(std::move(fields));
  }
  auto index(const Expr& x) -> Expr {
    bool saved = std::exchange(is_index_, true);
    Expr out = mutate(x);
    is_index_ = saved;
    return out;
  }
  auto on(const VarNode& node) -> Expr override {
    if (auto found = vars_.find(&node); found != vars_.end()) { return found->second; }
    return is_index_ && node.dtype == DataType::int_(32) ? Expr(wide(Var(&node))) : self(node);
  }
  auto on(const IntImm& node) -> Expr override { return is_index_ && node.dtype == DataType::int_(32) ? int_imm(node.value, long_, node.origin) : self(node); }
#define EXPR(Kind)
#define BINARY(Kind)                                                       \
  auto on(const Kind& node) -> Expr override {                             \
    Expr a = mutate(node.a);                                               \
    Expr b = mutate(node.b);                                               \
    if (a.same_as(node.a) && b.same_as(node.b)) { return self(node); }     \
    if (!(a.dtype() == b.dtype())) { (void)match_types(a, b); }            \
    return make<Kind>(a, b, node.origin);                                  \
  }
#include "ir/nodes.def"
  auto on(const Select& node) -> Expr override {
    Expr t = mutate(node.true_value);
    Expr f = mutate(node.false_value);
    if (!(t.dtype() == f.dtype())) { (void)match_types(t, f); }
    return make<Select>(mutate(node.condition), t, f, node.origin);
  }
  auto on(const Cast& node) -> Expr override {
    // What is cast is a value of its own type.
    bool saved = std::exchange(is_index_, false);
    Expr value = mutate(node.value);
    is_index_ = saved;
    DataType to = is_index_ && node.dtype == DataType::int_(32) ? long_ : node.dtype;
    return value.dtype() == to ? value : Expr(make<Cast>(to, value, node.origin));
  }
  auto on(const BufferLoad& node) -> Expr override {
    Expr load = make<BufferLoad>(use(node.buffer), indices(node.indices), node.origin, node.predicate);
    return is_index_ && load.dtype() == DataType::int_(32) ? cast(long_, load) : load;
  }
  auto on(const BufferStore& node) -> Stmt override {
    return make<BufferStore>(use(node.buffer), as_before(node.value), indices(node.indices), node.origin, node.predicate);
  }
  auto on(const LetStmt& node) -> Stmt override { return make<LetStmt>(node.var, as_before(node.value), mutate(node.body), node.origin); }
  auto on(const For& node) -> Stmt override {
    Expr low = index(node.min);
    Expr extent = index(node.extent);
    Var var = wide(node.var);
    return make<For>(var, low, extent, node.for_kind, mutate(node.body), node.thread, node.annotations, node.origin, node.id);
  }
  auto on(const BlockRealize& node) -> Stmt override {
    Array<Expr> values = indices(node.iter_values);
    Block::Fields fields = node.block->fields();
    std::vector<IterVar> iters;
    for (IterVar iter : fields.iter_vars) {
      iter.dom = {index(iter.dom.min), index(iter.dom.extent)};
      iter.var = wide(iter.var);
      iters.push_back(std::move(iter));
    }
    fields.iter_vars = std::move(iters);
    auto regions = [&](const Array<BufferRegion>& of) {
      std::vector<BufferRegion> out;
      for (const BufferRegion& r : of) {
        std::vector<Range> ranges;
        for (const Range& x : r.region) { ranges.push_back({index(x.min), index(x.extent)}); }
        out.push_back({use(r.buffer), std::move(ranges), r.origin});
      }
      return Array<BufferRegion>(std::move(out));
    };
    std::vector<Buffer> allocs;
    for (const Buffer& b : fields.alloc_buffers) { allocs.push_back(buffer(b)); }
    fields.alloc_buffers = std::move(allocs);
    fields.reads = regions(fields.reads);
    fields.writes = regions(fields.writes);
    if (fields.init) { fields.init = mutate(fields.init); }
    fields.body = mutate(fields.body);
    return make<BlockRealize>(std::move(values), mutate(node.predicate), make<Block>(std::move(fields), node.block->origin, node.block->id), node.origin);
  }
  auto wide(const Var& var) -> Var {
    if (!(var->dtype == DataType::int_(32))) { return var; }
    auto found = vars_.find(var.get());
    if (found != vars_.end()) { return Var(found->second.as<VarNode>()); }
    Var made = make<VarNode>(var->name, long_, var->origin);
    vars_.emplace(var.get(), Expr(made));
    return made;
  }

 protected:
  auto use(const Buffer& b) -> Buffer override { return buffer(b); }

 private:
  auto indices(const Array<Expr>& of) -> Array<Expr> {
    std::vector<Expr> out;
    for (const Expr& x : of) { out.push_back(index(x)); }
    return out;
  }
  // A value keeps its type: what became wide inside is brought back.
  auto as_before(const Expr& value) -> Expr {
    Expr out = mutate(value);
    return out.dtype() == value.dtype() ? out : Expr(make<Cast>(value.dtype(), out, value.origin()));
  }
  DataType long_ = DataType::int_(64);
  bool is_index_ = false;
  std::unordered_map<const VarNode*, Expr> vars_;
  BufferMap buffers_;
};

auto widened(const PrimFunc& func) -> PrimFunc {
  Widen widen;
  PrimFuncNode fields = *func;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const auto& [param, buffer] : func->buffer_map) { map.emplace_back(param, widen.buffer(buffer)); }
  for (const Var& p : func->params) { params.push_back(widen.wide(p)); }
  fields.params = std::move(params);
  fields.buffer_map = std::move(map);
  fields.body = widen.mutate(func->body);
  return make_func(std::move(fields));
}

auto create_prim_func(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"ops"}, {"index_dtype_override", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.create_prim_func", a, parameters, b)) { return b.unknown.is_unknown() ? b.unknown : Value::error(); }
  size_t before = e.diagnostics.size();
  PrimFunc func = Maker(e, a.call).run(b.values[0]);
  if (!func || e.diagnostics.size() > before) { return Value::error(); }
  if (is_given(b, 1)) {
    auto t = to_dtype(e, b.values[1]);
    if (!t) { return Value::error(); }
    if (*t == DataType::int_(64)) { func = widened(func); }
  }
  return make_object<ProgramObject>(module_of(func), Name("main"), true, a.callee);
}

auto unknown_member(Name) -> std::optional<Value> { return Value::opaque(); }

}  // namespace

auto te_namespace(const Value& tir) -> Value {
  Ref<eval::Namespace> te = make_object<eval::Namespace>(Name("te"), unknown_member);
  auto& members = const_cast<eval::Namespace&>(*te);
  members.add(Name("AXIS_SEPARATOR"), make_object<AxisSeparatorObject>());
  // Functions of scalars are those of programs.
  const auto* t = tir.as<eval::Namespace>();
  for (const char* name : {"exp", "exp2", "exp10", "erf", "tanh", "sigmoid", "log", "log2", "log10", "log1p", "cos", "cosh", "sin", "sinh", "tan", "acos",
                           "acosh", "asin", "asinh", "atan", "atanh", "sqrt", "rsqrt", "floor", "ceil", "trunc", "round", "nearbyint", "abs", "isnan",
                           "isfinite", "isinf", "power", "popcount", "fmod", "if_then_else", "div", "indexdiv", "indexmod", "truncdiv", "truncmod",
                           "floordiv", "floormod", "ceildiv", "all", "any", "const", "min_value", "max_value"}) {
    if (const Value* found = t ? t->find(Name(name)) : nullptr) { members.add(Name(name), *found); }
  }
  auto add = [&](const char* name, eval::Builtin::Run run) { members.add(Name(name), make_object<eval::Builtin>(Name(name), run)); };
  add("placeholder", placeholder);
  add("compute", compute);
  add("reduce_axis", reduce_axis);
  add("comm_reducer", comm_reducer);
  add("extern", extern_op);
  add("scan", scan);
  add("var", variable);
  add("size_var", variable);
  add("create_prim_func", create_prim_func);
  members.add(Name("sum"), make_object<ReducerFunction>(ReducerFunction::Kind::Sum));
  members.add(Name("prod"), make_object<ReducerFunction>(ReducerFunction::Kind::Product));
  members.add(Name("min"), make_object<ReducerFunction>(ReducerFunction::Kind::Min));
  members.add(Name("max"), make_object<ReducerFunction>(ReducerFunction::Kind::Max));
  return te;
}

}  // namespace loopsmith::frontend
