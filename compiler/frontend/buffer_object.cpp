// Buffers as values: their attributes and methods, `A.vload(...)`, `A.access_ptr(...)`, and reading and writing their elements.
#include <algorithm>

#include "frontend/introspection.h"
#include "frontend/lowerer.h"
#include "frontend/objects.h"
#include "ir/ops.h"
#include "ir/sizes.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::make_object;

namespace {

auto method(const Value& self, const char* name, eval::Method::Run run) -> Value { return make_object<eval::Method>(self, Name(name), run); }

auto first_pointer(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const std::vector<eval::Parameter> parameters = {{"access_mask"}, {"ptr_type", false}, {"content_lanes", false}, {"offset", false}, {"extent", false}};
  eval::BoundArguments b;
  if (!bind_arguments(e, "access_ptr", a, parameters, b)) { return Value::error(); }
  const Buffer& buffer = self.as<BufferObject>()->buffer;
  int64_t mask = 0;
  if (const std::string* s = b.values[0].value.string()) {
    for (char c : *s) {
      if (c != 'r' && c != 'w') {
        return e.report(error(Code::WrongType, b.values[0].where).arg("expected", "`\"r\"`, `\"w\"` or `\"rw\"`").arg("found", "`\"" + *s + "\"`").remedy("name the accesses of the call: `\"r\"` where it reads, `\"w\"` where it writes"));
      }
      mask |= c == 'r' ? 1 : 2;
    }
  } else {
    mask = b.values[0].value.to_int().value_or(0);
  }
  Expr elements;
  // Rewrites of shapes may leave old strides: only strides that match the shape count.
  if (!buffer->strides.empty() && !buffer->shape.empty()) {
    elements = product_of(Array<Expr>{buffer->strides[0], buffer->shape[0]});
  } else {
    elements = product_of(buffer->shape);
  }
  Expr elem_offset = buffer->elem_offset ? buffer->elem_offset : int_imm(0);
  Expr given_offset = b.given[3] ? to_expr(e, b.values[3]) : int_imm(0);
  if (!given_offset) { return Value::error(); }
  Expr offset = add(elem_offset, given_offset);
  Expr extent = b.given[4] && !b.values[4].value.is_none() ? to_expr(e, b.values[4]) : sub(elements, given_offset);
  if (!extent) { return Value::error(); }
  int64_t lanes = b.given[2] ? b.values[2].value.to_int().value_or(1) : 1;
  if (lanes > 1) {
    offset = floordiv(offset, int_imm(lanes));
    extent = floordiv(extent, int_imm(lanes));
  }
  static const Name type_annotation("type_annotation");
  static const Name access_ptr("tvm_access_ptr");
  DataType content = buffer->dtype.with_lanes(static_cast<int>(lanes) * buffer->dtype.lanes);
  Expr type = make<Call>(content, type_annotation, Array<Expr>{}, a.call);
  return make_object<ExprObject>(make<Call>(DataType::handle(), access_ptr, Array<Expr>{type, buffer->data, offset, extent, int_imm(mask)}, a.call));
}

auto as_arguments(const Argument& a) -> std::vector<Argument> {
  std::vector<Argument> out;
  if (const auto* items = a.value.items()) {
    for (const Value& item : *items) { out.push_back({item, a.where, {}}); }
  } else {
    out.push_back(a);
  }
  return out;
}

auto vload(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const std::vector<eval::Parameter> parameters = {{"begin"}, {"dtype", false}, {"predicate", false}};
  eval::BoundArguments b;
  if (!bind_arguments(e, "vload", a, parameters, b)) { return Value::error(); }
  const Buffer& buffer = self.as<BufferObject>()->buffer;
  std::vector<Expr> indices;
  if (!to_indices(e, buffer, as_arguments(b.values[0]), a.call, indices)) { return Value::error(); }
  Expr predicate;
  if (b.given[2] && !b.values[2].value.is_none()) {
    predicate = to_expr(e, b.values[2]);
    if (!predicate) { return Value::error(); }
  }
  if (b.given[1] && !b.values[1].value.is_none()) {
    auto t = to_dtype(e, b.values[1]);
    if (!t) { return Value::error(); }
    int lanes = t->lanes / std::max<int>(1, buffer->dtype.lanes);
    if (lanes > 1 && !indices.empty() && indices.back().dtype().is_scalar()) {
      Expr last = indices.back();
      indices.back() = make<Ramp>(last, one(last.dtype()), int_imm(lanes), a.call);
    }
  }
  return make_object<ExprObject>(make<BufferLoad>(buffer, std::move(indices), a.call, predicate));
}
// `A.ptr_to([i])`: the address of an element.
auto pointer_to(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const std::vector<eval::Parameter> parameters = {{"indices"}};
  static const Name address_of("address_of");
  eval::BoundArguments b;
  if (!bind_arguments(e, "ptr_to", a, parameters, b)) { return b.unknown.is_unknown() ? b.unknown : Value::error(); }
  const Buffer& buffer = self.as<BufferObject>()->buffer;
  std::vector<Expr> indices;
  if (!to_indices(e, buffer, as_arguments(b.values[0]), a.call, indices)) { return Value::error(); }
  Expr element = make<BufferLoad>(buffer, std::move(indices), a.call);
  return make_object<ExprObject>(make<Call>(DataType::handle(), address_of, Array<Expr>{std::move(element)}, a.call));
}
auto vstore(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const std::vector<eval::Parameter> parameters = {{"begin"}, {"value"}, {"predicate", false}};
  eval::BoundArguments b;
  if (!bind_arguments(e, "vstore", a, parameters, b)) { return Value::error(); }
  const Buffer& buffer = self.as<BufferObject>()->buffer;
  std::vector<Expr> indices;
  if (!to_indices(e, buffer, as_arguments(b.values[0]), a.call, indices)) { return Value::error(); }
  Expr value = to_expr_like(e, b.values[1], buffer->dtype);
  if (!value) { return Value::error(); }
  int lanes = value.dtype().lanes / std::max<int>(1, buffer->dtype.lanes);
  if (lanes > 1 && !indices.empty() && indices.back().dtype().is_scalar()) {
    Expr last = indices.back();
    indices.back() = make<Ramp>(last, one(last.dtype()), int_imm(lanes), a.call);
  }
  Expr predicate;
  if (b.given[2] && !b.values[2].value.is_none()) {
    predicate = to_expr(e, b.values[2]);
    if (!predicate) { return Value::error(); }
  }
  return make_object<StmtObject>(make<BufferStore>(buffer, std::move(value), std::move(indices), a.call, predicate));
}
auto offset_of(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const std::vector<eval::Parameter> parameters = {{"indices"}};
  eval::BoundArguments b;
  if (!bind_arguments(e, "offset_of", a, parameters, b)) { return Value::error(); }
  const Buffer& buffer = self.as<BufferObject>()->buffer;
  std::vector<Expr> indices;
  if (!to_indices(e, buffer, as_arguments(b.values[0]), a.call, indices)) { return Value::error(); }
  const bool is_wide = needs_wide_index(*buffer);
  auto sized = [&](const Expr& x) { return is_wide ? widened(x) : x; };
  Expr offset;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (buffer->strides.size() == indices.size()) {
      Expr term = mul(sized(indices[i]), sized(buffer->strides[i]));
      offset = offset ? add(offset, term) : term;
    } else {
      offset = offset ? add(mul(offset, sized(buffer->shape[i])), sized(indices[i])) : sized(indices[i]);
    }
  }
  if (!offset) { offset = int_imm(0); }
  if (buffer->elem_offset) { offset = add(buffer->elem_offset, offset); }
  return Value::list({expr_value(offset)});
}
auto scope_of(Evaluator& e, const Value& self, const Arguments& a) -> Value { return Value::str(self.as<BufferObject>()->buffer->scope().str()); }

auto expr_list(const Array<Expr>& exprs) -> Value {
  std::vector<Value> out;
  for (const Expr& e : exprs) { out.push_back(expr_value(e)); }
  return Value::tuple(std::move(out));
}

}  // namespace

auto BufferObject::get_attribute(Evaluator& evaluator, Name name, Origin) const -> std::optional<Value> {
  if (static const Name cls("__class__"); name == cls) { return classes({"Buffer"}); }
  static const Name data("data"), shape("shape"), strides("strides"), elem_offset("elem_offset"), dtype("dtype"), name_name("name"),
      access_ptr("access_ptr"), vload_name("vload"), vstore_name("vstore"), offset_of_name("offset_of"), scope("scope"),
      data_alignment("data_alignment"), offset_factor("offset_factor"), axis_separators("axis_separators");
  if (name == data) { return make_object<ExprObject>(Expr(buffer->data)); }
  if (name == shape) { return expr_list(buffer->shape); }
  if (name == strides) { return expr_list(buffer->strides); }
  if (name == elem_offset) { return buffer->elem_offset ? expr_value(buffer->elem_offset) : Value(0); }
  if (name == dtype) { return Value::str(buffer->dtype.str()); }
  if (name == name_name) { return Value::str(buffer->name.str()); }
  // In TVM's development version, `A.ty` is the type of a tensor, with its shape and dtype. Here the buffer itself stands for its type.
  if (static const Name ty("ty"); name == ty) { return Value(this); }
  if (name == access_ptr) { return method(Value(this), "access_ptr", first_pointer); }
  if (name == vload_name) { return method(Value(this), "vload", vload); }
  if (name == vstore_name) { return method(Value(this), "vstore", vstore); }
  if (name == offset_of_name) { return method(Value(this), "offset_of", offset_of); }
  if (name == scope) { return method(Value(this), "scope", scope_of); }
  if (name == data_alignment) { return Value(buffer->data_alignment); }
  if (name == offset_factor) { return Value(buffer->offset_factor); }
  if (name == axis_separators) {
    std::vector<Value> out;
    for (int s : buffer->axis_separators) { out.emplace_back(s); }
    return Value::list(std::move(out));
  }
  if (static const Name ptr_to("ptr_to"); name == ptr_to) { return method(Value(this), "ptr_to", pointer_to); }
  // Attributes that TVM's main line adds for layouts.
  static const Name others[] = {Name("view"), Name("local"), Name("permute"), Name("layout"), Name("storage"), Name("allocated_addr"), Name("partition"),
                                Name("tile"), Name("byte_offset"), Name("source"), Name("sub"), Name("rearrange"), Name("chunk"), Name("reshape")};
  if (std::find(std::begin(others), std::end(others), name) != std::end(others)) { return Value::opaque(); }
  return unknown_attribute(evaluator, name, *this);
}
void BufferObject::attribute_names(std::vector<Name>& out) const {
  for (const char* n : {"data", "shape", "strides", "elem_offset", "dtype", "name", "access_ptr", "vload", "vstore", "offset_of", "scope",
                        "data_alignment", "offset_factor", "axis_separators"}) {
    out.emplace_back(n);
  }
}
auto BufferObject::type_name() const -> std::string_view {
  if (described_.empty()) { described_ = buffer->name.empty() ? "a buffer" : "buffer `" + buffer->name.str() + "`"; }
  return described_;
}
auto BufferObject::repr() const -> std::string { return buffer->name.str(); }
auto BufferObject::equals(const Object& other) const -> bool {
  const auto* o = other.as<BufferObject>();
  return o && o->buffer == buffer;
}

// Spreads `A[iters]`, where iters is a tuple or list of indices.
static auto spread(const std::vector<Argument>& indices) -> std::vector<Argument> {
  if (indices.size() != 1) { return indices; }
  const auto* meta = indices[0].value.as<MetaObject>();
  return as_arguments({meta ? meta->value : indices[0].value, indices[0].where, {}});
}

auto BufferObject::get_item(Evaluator& evaluator, const std::vector<Argument>& given, bool, Origin where) const -> std::optional<Value> {
  std::vector<Argument> indices = spread(given);
  // In TVM's main line `A[i]` of a matrix is a row, an operand of operations on tiles.
  const Lowerer* lowerer = Lowerer::of(evaluator);
  if (indices.size() < buffer->shape.size() && lowerer && lowerer->rebinds_names()) { return evaluator.opaque(where); }
  bool has_slice = false;
  bool has_step = false;
  for (const Argument& i : indices) {
    if (const auto* s = i.value.as<eval::SliceObject>()) {
      has_slice = true;
      has_step |= !s->step.value.is_none();
    }
  }
  if (!has_slice || has_step) {
    std::vector<Expr> out;
    if (!to_indices(evaluator, buffer, indices, where, out)) { return Value::error(); }
    return make_object<ExprObject>(make<BufferLoad>(buffer, std::move(out), where));
  }
  if (indices.size() != buffer->shape.size()) {
    std::vector<Expr> none;
    (void)to_indices(evaluator, buffer, indices, where, none);
    return Value::error();
  }
  std::vector<Range> region;
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto* s = indices[i].value.as<eval::SliceObject>();
    if (!s) {
      Expr e = to_expr(evaluator, indices[i]);
      if (!e) { return Value::error(); }
      region.push_back(point(std::move(e)));
      continue;
    }
    Expr start = s->lower.value.is_none() ? Expr() : to_expr(evaluator, s->lower);
    Expr stop = s->upper.value.is_none() ? buffer->shape[i] : to_expr(evaluator, s->upper);
    if (!stop || (!start && !s->lower.value.is_none())) { return Value::error(); }
    if (!start) { start = zero(stop.dtype()); }
    if (!match_operands(evaluator, ":", start, s->lower.where, stop, s->upper.where, indices[i].where)) { return Value::error(); }
    Expr extent = difference(stop, start);
    region.push_back({std::move(start), std::move(extent)});
  }
  return make_object<RegionObject>(BufferRegion{buffer, std::move(region), where});
}

auto BufferObject::set_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool, const Argument& value, Origin where) const -> bool {
  Lowerer* lowerer = Lowerer::of(evaluator);
  if (!lowerer) {
    evaluator.report(error(Code::OutsideProgram, where).arg("what", "a store to a buffer").remedy("move it into a function with `@T.prim_func`"));
    return true;
  }
  lowerer->store(buffer, spread(indices), value, where);
  return true;
}

// A frequent error: the buffer is called or added, but one of its elements is meant.
auto BufferObject::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  return e.report(error(Code::NotCallable, a.callee).arg("what", std::string(type_name())).remedy("name an element with brackets: `" + buffer->name.str() + "[...]`"));
}

}  // namespace loopsmith::frontend
