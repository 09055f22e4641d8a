// Data types as functions, `T.float32(x)` and `T.handle("float32")`, and as annotations, `T.float32[8]`.
#include <cmath>

#include "eval/wide_int.h"
#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "frontend/thread_level.h"
#include "frontend/words.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend {

auto DtypeObject::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  static const Name expr_name("expr"), size_var("is_size_var"), storage("storage_scope"), dtype_name("dtype");
  if (dtype.is_handle()) {
    if (!older.empty()) { report_deprecated(e, a.callee, "T." + std::string(older) + "(...)", "T.handle(...)"); }
    // T.handle("float32", "global"): a pointer.
    const Argument* first = a.positional > 0 ? &a.all[0] : a.keyword(dtype_name);
    const Argument* second = a.positional > 1 ? &a.all[1] : a.keyword(storage);
    if (first && !first->value.is_none() && (first->value.string() || first->value.as<DtypeObject>())) {
      const std::string* text = first->value.string();
      // A descriptor of a tensor for the machine's copy engine.
      if (text && *text == "tensormap") { note_thread_level(e, "tensormap", a.call); }
      if (text && (*text == "tensormap" || text->starts_with("custom["))) { return e.opaque(a.call); }
      auto t = to_dtype(e, *first);
      if (!t) { return Value::error(); }
      const std::string* scope = second ? second->value.string() : nullptr;
      if (scope && !scope->empty()) { check_word(e, Vocabulary::StorageScope, *scope, second->where); }
      return expr_or_error(make<VarNode>(Name(), dtype, a.call, PointerType{*t, scope ? Name(*scope) : Name("global")}));
    }
  }
  const Argument* given = a.positional > 0 ? &a.all[0] : a.keyword(expr_name);
  if (!given || given->value.is_none()) { return expr_or_error(make<VarNode>(Name(), dtype, a.call)); }
  if (const std::string* s = given->value.string()) {
    if (dtype.is_real() && (*s == "inf" || *s == "-inf" || *s == "nan")) {
      double value = *s == "inf" ? INFINITY : *s == "-inf" ? -INFINITY : NAN;
      return expr_or_error(float_imm(value, dtype, a.call));
    }
    return wrong_type(e, *given, "a number");
  }
  Expr x = given->value.as<eval::WideInt>() ? to_expr_like(e, *given, dtype) : to_expr(e, *given);
  if (!x) { return Value::error(); }
  if (given->value.is_int()) {
    int64_t v = given->value.int_value();
    bool is_pattern = dtype.bits >= 64;   // of bits
    if (!is_pattern && !fits(e, v, dtype, given->where)) { return Value::error(); }
    return expr_or_error(constant_int(dtype, v, a.call));
  }
  if (given->value.is_float() && dtype.is_real()) { return expr_or_error(constant(dtype, given->value.float_value(), a.call)); }
  if (x.dtype().is_handle() && !dtype.is_handle() && !dtype.is_integral()) { return wrong_type(e, *given, "a number"); }
  return expr_or_error(cast(dtype, x, a.call));
}
auto DtypeObject::get_item(Evaluator& e, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  // `v: T.float32[8]`: memory of a thread, in TVM's main line.
  if (declares_cell && !dtype.is_handle()) {
    BufferNode node;
    node.origin = where;
    node.dtype = dtype;
    std::vector<Expr> shape;
    for (const Argument& i : indices) {
      Expr extent = to_expr(e, i);
      if (!extent) { return i.value.is_opaque() ? Value::opaque() : Value::error(); }
      shape.push_back(std::move(extent));
    }
    node.shape = std::move(shape);
    node.data = make<VarNode>(Name(), DataType::handle(), where, PointerType{dtype, Name("local")});
    node.data_alignment = 64;
    node.offset_factor = 1;
    return make_object<BufferObject>(make_buffer(std::move(node)));
  }
  // `T.Ptr[T.float32]`, an older form of `T.handle("float32")`.
  if (!dtype.is_handle() || indices.empty() || indices.size() > 2) { return {}; }
  auto element = to_dtype(e, indices[0]);
  if (!element) { return Value::error(); }
  if (!older.empty()) { report_deprecated(e, where, "T." + std::string(older) + "[...]", "T.handle(...)"); }
  const std::string* scope = indices.size() > 1 ? indices[1].value.string() : nullptr;
  return expr_or_error(make<VarNode>(Name(), dtype, where, PointerType{*element, scope ? Name(*scope) : Name("global")}));
}

}  // namespace loopsmith::frontend
