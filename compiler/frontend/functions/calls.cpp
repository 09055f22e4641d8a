// Calls of operators by name, `T.call_intrin`, and the intrinsics of intrinsics.def.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "frontend/introspection.h"
#include "frontend/words.h"
#include "ir/ops.h"
#include "ir/plain.h"
#include "support/codes.h"
#include "support/text.h"

namespace loopsmith::frontend {

namespace {

// `masked_load(buffer, indices ..., mask)` and `masked_store(buffer, value, indices ..., mask)` of TVM's main line: accesses with a
// predicate. None for other calls.
auto masked_access(Evaluator& e, std::string_view op, const std::vector<Argument>& args, Origin where) -> std::optional<Value> {
  bool is_store = op == "masked_store";
  const auto* buffer = (is_store || op == "masked_load") && !args.empty() ? args[0].value.as<BufferObject>() : nullptr;
  size_t first = is_store ? 2 : 1;
  if (!buffer || args.size() != first + buffer->buffer->shape.size() + 1) { return {}; }
  std::vector<Argument> at(args.begin() + static_cast<std::ptrdiff_t>(first), args.end() - 1);
  std::vector<Expr> indices;
  bool good = to_indices(e, buffer->buffer, at, where, indices);
  Expr mask = to_expr(e, args.back());
  if (!good || !mask) { return Value::error(); }
  if (!is_store) { return expr_or_error(make<BufferLoad>(buffer->buffer, std::move(indices), where, std::move(mask))); }
  Lowerer* lowerer = Lowerer::of(e);
  Expr value = to_expr_like(e, args[1], buffer->buffer->dtype);
  if (!value || !lowerer) { return Value::error(); }
  Expr call = make<Call>(DataType::void_(), Name("masked_store"), Array<Expr>{buffer->buffer->data, value}, where);
  lowerer->evaluates_to(call, make<BufferStore>(buffer->buffer, std::move(value), std::move(indices), where, std::move(mask)));
  return expr_or_error(std::move(call));
}

auto call_intrin(Evaluator& e, const Arguments& a0) -> Value {
  Arguments a = a0;
  static const Name dtype_name("dtype");
  if (const Argument* t = a.keyword(dtype_name)) {
    Argument first = *t;
    first.keyword = Name();
    a.all.erase(a.all.begin() + (t - a.all.data()));
    a.all.insert(a.all.begin(), std::move(first));
    ++a.positional;
  }
  // `T.Call("tirx.prefetch", [x], ty="void")`, as TVM's main line has it: the type by name.
  static const Name ty_name("ty"), ret_ty_name("ret_ty"), op_name("op"), args_name("args");
  if (const Argument* t = a.keyword(ty_name) ? a.keyword(ty_name) : a.keyword(ret_ty_name)) {
    Arguments ordered = a;
    ordered.all = {*t};
    for (size_t i = 0; i < a.all.size(); ++i) {
      const Argument& x = a.all[i];
      if (i < a.positional || x.keyword == op_name || x.keyword == args_name) { ordered.all.push_back(x); }
    }
    for (Argument& x : ordered.all) { x.keyword = Name(); }
    ordered.positional = ordered.all.size();
    a = std::move(ordered);
  }
  if (a.all.size() < 2) { return e.report(error(Code::TooFewArguments, a.callee).arg("callee", "T.call_intrin").arg("count", 2).arg("given", static_cast<int64_t>(a.all.size()))
                                                     .remedy("call it as `T.call_intrin(dtype, \"NAME\", ...)`")); }
  auto t = to_dtype(e, a.all[0]);
  if (!t) { return Value::error(); }
  if (a.all[1].value.is_opaque()) { return e.opaque(a.call); }
  const std::string given = operator_name(a.all[1].value);
  const std::string* name = a.all[1].value.string() ? a.all[1].value.string() : given.empty() ? nullptr : &given;
  auto is_part = [](char c) { return is_name_part(c) || c == '.'; };
  if (!name || name->empty() || !std::all_of(name->begin(), name->end(), is_part)) { return wrong_type(e, a.all[1], "an operator's name"); }
  std::vector<Expr> args;
  // `T.Call("int32", "tir.ret", [x])`: a call of the node itself has its arguments in a list.
  if (const auto* items = a.all.size() == 3 ? a.all[2].value.items() : nullptr) {
    Argument list = a.all[2];
    a.all.pop_back();
    for (const Value& item : *items) { a.all.push_back({item, list.where, {}}); }
  }
  std::string_view op = *name;
  for (std::string_view prefix : {"tir.", "tirx."}) {
    if (op.starts_with(prefix)) { op.remove_prefix(prefix.size()); }
  }
  if (auto masked = masked_access(e, op, {a.all.begin() + 2, a.all.end()}, a.call)) { return *masked; }
  for (size_t i = 2; i < a.all.size(); ++i) {
    const auto* buffer = a.all[i].value.as<BufferObject>();
    Expr x = buffer ? Expr(buffer->buffer->data) : to_expr(e, a.all[i]);
    if (!x) { return Value::error(); }
    args.push_back(std::move(x));
  }
  return expr_or_error(make<Call>(*t, Name(op), std::move(args), a.call));
}

enum class Rule : uint8_t { First, Last, Same, Arg1, Int32, UInt32, Bool, Handle, Void };
struct Intrinsic { const char* name; const char* op; Rule rule; uint8_t low, high; };
constexpr Intrinsic intrinsics[] = {
#define INTRINSIC(name, op, rule, low, high) {#name, #op, Rule::rule, low, high},
#include "frontend/intrinsics.def"
};

auto parameter_names(std::string_view intrinsic) -> std::string_view {
  static constexpr std::pair<std::string_view, std::string_view> table[] = {
#define PARAMETERS(name, names) {#name, names},
#include "frontend/intrinsic_parameters.def"
  };
  for (const auto& [name, names] : table) {
    if (name == intrinsic) { return names; }
  }
  return {};
}

// A buffer as an argument of a packed function: its pointer, shape, strides, number of dimensions, type and offset.
auto packed_buffer(const Buffer& b, Origin where) -> Expr {
  static const Name make_shape("tvm_stack_make_shape"), make_array("tvm_stack_make_array");
  auto shape = [&](const Array<Expr>& of) -> Expr { return make<Call>(DataType::handle(), make_shape, of, where); };
  Expr strides = b->strides.empty() ? int_imm(0, DataType::int_(32), where) : shape(b->strides);
  Expr offset = b->elem_offset ? b->elem_offset : int_imm(0, b->shape.empty() ? DataType::int_(32) : b->shape[0].dtype(), where);
  Expr dimensions = int_imm(static_cast<int64_t>(b->shape.size()), DataType::int_(32), where);
  return make<Call>(DataType::handle(), make_array, Array<Expr>{b->data, shape(b->shape), strides, dimensions, zero(b->dtype), offset}, where);
}

class IntrinsicObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Intrinsic& row;
  const Name op;
  const std::string full_name;
  explicit IntrinsicObject(const Intrinsic& r) : Object(&type_tag), row(r), op(r.op), full_name(std::string("T.") + r.name) {}
  auto is_callable() const -> bool override { return true; }
  auto repr() const -> std::string override { return full_name; }
  auto call(Evaluator& e, const Arguments& given) const -> std::optional<Value> override {
    Arguments a = given;
    std::optional<DataType> type;
    if (!take_type(e, a, type)) { return Value::error(); }
    if (a.all.size() > a.positional) {
      std::string_view names = parameter_names(row.name);
      if (!place_named(e, full_name, names.empty() && row.high == 1 ? "x" : names, a)) { return Value::error(); }
    }
    // `T.prefetch(A, [T.Range(0, 4)])`: a statement that TVM no longer has.
    static const Name prefetch("prefetch");
    if (op == prefetch && a.all.size() == 2 && a.all[0].value.as<BufferObject>() && a.all[1].value.items()) { return e.opaque(a.call); }
    std::vector<Expr> args;
    if (!to_operands(e, a, args)) { return Value::error(); }
    auto t = result_type(e, a, type, args);
    if (!t) { return Value::error(); }
    static const Name reinterpret("reinterpret"), storage_sync("tvm_storage_sync"), access_ptr("tvm_access_ptr"), type_annotation("type_annotation");
    if (op == reinterpret && args.size() == 1) {
      if (args[0].dtype() == *t && !t->is_handle()) { return expr_or_error(args[0]); }
      if (!keeps_bits(e, a, args[0].dtype(), *t)) { return Value::error(); }
    }
    if (op == storage_sync) {
      if (const auto* s = args[0].as<StringImm>()) { check_word(e, Vocabulary::StorageScope, s->value, a.all[0].where); }
    }
    if (DataType accessed = accessed_type(op, Array<Expr>(args)); !accessed.is_void()) { t = accessed; }
    if (op == access_ptr) {
      if (const auto* s = args[0].as<StringImm>()) {
        if (auto content = DataType::parse(s->value)) { args[0] = make<Call>(*content, type_annotation, Array<Expr>{}, a.call); }
      }
    }
    return expr_or_error(make<Call>(*t, op, std::move(args), a.call));
  }

 private:
  /// True when the first or last argument is the type of the call.
  auto is_typed() const -> bool { return row.rule == Rule::First || row.rule == Rule::Last; }

  // Removes the type of the call from the arguments, if it is one of them. False: an error was reported.
  auto take_type(Evaluator& e, Arguments& a, std::optional<DataType>& type) const -> bool {
    const Argument* keyword = named_type(a);
    if (!is_typed()) {
      if (keyword) { a = without_dtype(a); }
      return true;
    }
    if (!keyword && a.positional == 0) {
      e.report(error(Code::MissingArgument, a.callee).arg("name", "dtype").arg("callee", full_name).remedy("give the type of the result: `dtype=\"float32\"`"));
      return false;
    }
    size_t at = keyword ? static_cast<size_t>(keyword - a.all.data()) : row.rule == Rule::First ? 0 : a.positional - 1;
    type = to_dtype(e, a.all[at]);
    if (!type) { return false; }
    a.positional -= at < a.positional ? 1 : 0;
    a.all.erase(a.all.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }

  // The arguments as expressions, a buffer as its pointer. False: an argument is not an expression, or their number is wrong; the error was reported.
  auto to_operands(Evaluator& e, const Arguments& a, std::vector<Expr>& args) const -> bool {
    static const Name packed("tvm_call_packed"), cpacked("tvm_call_cpacked");
    bool good = true;
    for (const Argument& x : a.all) {
      if (const auto* b = x.value.as<BufferObject>()) {
        args.push_back(op == packed || op == cpacked ? packed_buffer(b->buffer, x.where) : Expr(b->buffer->data));
        continue;
      }
      Expr y = to_expr(e, x);
      good &= bool(y);
      args.push_back(std::move(y));
    }
    if (!good) { return false; }
    // The type counts as an argument in messages, since it is written like one.
    int64_t types = is_typed() ? 1 : 0;
    int64_t given = static_cast<int64_t>(args.size()) + types;
    if (args.size() < row.low) {
      e.report(error(Code::TooFewArguments, a.callee).arg("callee", full_name).arg("count", row.low + types).arg("given", given)
                   .remedy("give " + count_text(row.low + types - given, "more argument")));
      return false;
    }
    if (row.high != 255 && args.size() > row.high) {
      e.report(error(Code::TooManyArguments, a.all[row.high].where).arg("callee", full_name).arg("count", row.high + types).arg("given", given));
      return false;
    }
    return true;
  }

  // The type of the call by the rule of its row; for the rule `Same`, two operands are converted to one type. None: an error was reported.
  auto result_type(Evaluator& e, const Arguments& a, std::optional<DataType> type, std::vector<Expr>& args) const -> std::optional<DataType> {
    switch (row.rule) {
      case Rule::First: case Rule::Last: return type;
      case Rule::Same: {
        // `T.ret()` returns nothing.
        if (args.empty()) { return DataType::void_(); }
        // The exponent of `T.ldexp(x, 2)` is an integer.
        static const Name ldexp("ldexp");
        if (op == ldexp && args[1].dtype().is_integral()) { return args[0].dtype(); }
        if (args.size() == 2 && !(args[0].dtype() == args[1].dtype()) && !match_operands(e, row.name, args[0], a.all[0].where, args[1], a.all[1].where, a.call)) { return {}; }
        return args[0].dtype();
      }
      case Rule::Arg1: return args.size() > 1 ? args[1].dtype() : args[0].dtype();
      case Rule::Int32: return DataType::int_(32);
      case Rule::UInt32: return DataType::uint(32);
      case Rule::Bool: return DataType::bool_();
      case Rule::Handle: return DataType::handle();
      case Rule::Void: return DataType::void_();
    }
    return {};
  }

  // `T.reinterpret` needs a type with as many bits as the value. False: an error was reported.
  auto keeps_bits(Evaluator& e, const Arguments& a, DataType from, DataType to) const -> bool {
    bool is_number = !to.is_handle() && !from.is_handle() && !from.is_void() && !to.scalable && !from.scalable && to.bits >= 8 && from.bits >= 8;
    if (!is_number || to.bits * to.lanes == from.bits * from.lanes) { return true; }
    e.report(error(Code::ReinterpretBits, a.all[0].where).arg("from", from.str()).arg("to", to.str()).arg("bits", static_cast<int64_t>(from.bits * from.lanes)).arg("other", static_cast<int64_t>(to.bits * to.lanes))
                 .remedy(fmt::format("use `T.Cast(\"{}\", ...)` to convert the value", to.str())));
    return false;
  }
};
const eval::TypeTag IntrinsicObject::type_tag{"an intrinsic"};

}  // namespace

auto intrinsic_members() -> std::vector<std::pair<const char*, Value>> {
  std::vector<std::pair<const char*, Value>> out;
  for (const Intrinsic& row : intrinsics) { out.emplace_back(row.name, make_object<IntrinsicObject>(row)); }
  return out;
}

auto call_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"call_intrin", call_intrin}, {"Call", call_intrin},
  };
  return rows;
}

}  // namespace loopsmith::frontend
