// Arithmetic on whole tensors, `A + B`: an operation on each element. Shapes fit as in NumPy: from the last dimension on, a dimension of 1 is repeated.
#include <algorithm>

#include "frontend/te/tensors.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend::te {
namespace {

// The operations, with TVM's names for their results.
struct Row { syntax::BinaryOp op; const char* symbol; const char* name; };
constexpr Row rows[] = {{syntax::BinaryOp::Add, "+", "T_add"}, {syntax::BinaryOp::Sub, "-", "T_subtract"}, {syntax::BinaryOp::Mul, "*", "T_multiply"}, {syntax::BinaryOp::Div, "/", "T_divide"}};

// The shape that two shapes fit; none: they do not.
auto common_shape(const Array<Expr>& a, const Array<Expr>& b) -> std::optional<std::vector<Expr>> {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<Expr> out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Expr x = i < a.size() ? a[a.size() - 1 - i] : int_imm(1), y = i < b.size() ? b[b.size() - 1 - i] : int_imm(1);
    const auto nx = as_int(x), ny = as_int(y);
    if (nx && ny && *nx != *ny && *nx != 1 && *ny != 1) { return std::nullopt; }
    out[rank - 1 - i] = is_one(x) ? y : x;
  }
  return out;
}

// The element of a tensor at the indices of the result; a value that is no tensor stays.
auto element(Evaluator& e, const Argument& side, const std::vector<IterVar>& axis, Origin where) -> Value {
  const auto* tensor = side.value.as<TensorObject>();
  if (!tensor) { return side.value; }
  const auto& shape = tensor->buffer()->shape;
  std::vector<Argument> indices;
  for (size_t i = 0; i < shape.size(); ++i) {
    const IterVar& at = axis[axis.size() - shape.size() + i];
    const Expr index = is_one(shape[i]) && !is_one(at.dom.extent) ? Expr(int_imm(0)) : Expr(at.var);
    indices.push_back({make_object<ExprObject>(index), where, {}});
  }
  return tensor->load(e, std::move(indices), where);
}

}  // namespace

auto TensorObject::binary(Evaluator& e, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> {
  const auto* row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& one) { return one.op == op; });
  const auto* second = other.value.as<TensorObject>();
  const bool is_value = other.value.to_float() || other.value.as<ExprObject>();
  if (row == std::end(rows) || (!second && !is_value)) { return {}; }
  auto shape = second ? common_shape(buffer()->shape, second->buffer()->shape) : std::optional(std::vector<Expr>(buffer()->shape.begin(), buffer()->shape.end()));
  if (!shape) { return e.report(error(Code::BadOperands, where).arg("op", row->symbol).arg("left", repr()).arg("right", second->repr()).remedy("make their shapes equal, or give the one a dimension of 1 there")); }
  std::vector<IterVar> axis;
  for (size_t i = 0; i < shape->size(); ++i) {
    IterVar iter;
    iter.var = make<VarNode>(Name("ax" + std::to_string(i)), (*shape)[i].dtype(), where);
    iter.dom = from_zero((*shape)[i]);
    iter.origin = where;
    axis.push_back(iter);
  }
  Value left = element(e, self, axis, where), right = element(e, other, axis, where);
  if (left.is_unknown() || right.is_unknown()) { return left.is_unknown() ? left : right; }
  if (reflected) { left.swap(right); }
  Value made = e.binary(op, {left, where, {}}, {right, where, {}}, where);
  Expr body = made.is_unknown() ? Expr() : to_expr(e, {made, where, {}});
  if (!body) { return made.is_unknown() ? made : Value::error(); }
  Ref<Operation> result = make_object<Operation>(Operation::Kind::Compute, Name(row->name), std::vector<Buffer>{make_buffer(Name(row->name), body.dtype(), *shape, "global", where)}, where);
  auto& fields = const_cast<Operation&>(*result);
  fields.axis = std::move(axis);
  fields.body = {body};
  fields.tag = "broadcast";
  collect_inputs(fields.body, fields.inputs);
  return set_depth(e, fields) ? tensors_of(result) : Value::error();
}

}  // namespace loopsmith::frontend::te
