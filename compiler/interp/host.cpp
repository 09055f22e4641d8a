// Fields of structures, packed arguments: see host.h.
#include "interp/host.h"

#include <array>
#include <cstring>

#include "interp/compiler.h"
#include "interp/expressions.h"
#include "interp/threads.h"
#include "ir/calls.h"
#include "ir/ops.h"

namespace loopsmith::interp {
namespace {

constexpr int64_t array_bytes = 48, value_bytes = 8, any_bytes = 16;

// The layouts of fields by TVM's numbers (builtin.h): the structure's bytes, the field's offset and size. Size 0: there is no such field.
struct Layout { int64_t stride, offset, bytes; };
constexpr std::array<Layout, 18> layouts = {{
    {array_bytes, 0, 8},    // the array itself
    {array_bytes, 0, 8},    // data
    {array_bytes, 24, 8},   // shape
    {array_bytes, 32, 8},   // strides
    {array_bytes, 16, 4},   // dimensions
    {array_bytes, 20, 1},   // type code
    {array_bytes, 21, 1},   // bits
    {array_bytes, 22, 2},   // lanes
    {array_bytes, 40, 8},   // byte offset
    {array_bytes, 12, 4},   // device
    {array_bytes, 8, 4},    // kind of device
    {0, 0, 0},
    {value_bytes, 0, 8},    // a packed argument
    {any_bytes, 0, 4},      // in the later interface: the type of a value
    {any_bytes, 4, 4},
    {any_bytes, 8, 8},      // in the later interface: the value
    {0, 0, 0},
    {8, 0, 8},              // a number of 64 bits
}};

auto type_code(DataType t) -> uint8_t {
  if (t.is_bool() || t.is_uint()) { return 1; }
  if (t.is_int()) { return 0; }
  if (t.is_handle()) { return 3; }
  return t.is_bfloat16() ? 4 : 2;
}

// The number that represents a pointer in memory; 0: null.
auto number_of(Frame& f, Pointer p) -> uint64_t {
  if (!p.memory) { return 0; }
  for (size_t i = f.stored.size(); i-- > 0;) {
    if (f.stored[i].memory == p.memory && f.stored[i].byte == p.byte) { return i + 1; }
  }
  f.stored.push_back(p);
  return f.stored.size();
}

void out_of_memory(Frame& f, Origin origin, int64_t at, const Pointer& p) {
  if (f.failed) { return; }
  f.fail(error(loopsmith::Code::InterpOutOfBounds, origin).arg("index", at).arg("buffer", "the structure").arg("extent", p.memory ? p.memory->bytes : 0)
             .arg("dimension", "bytes").arg("iteration", f.iteration()));
}

void fill(Frame& f, Pointer p, const void* from, int64_t bytes, Origin origin) {
  if (!p.has(bytes)) { return out_of_memory(f, origin, p.byte, p); }
  std::memcpy(p.memory->data + p.byte, from, static_cast<size_t>(bytes));
  if (!p.memory->written.empty()) { std::fill_n(p.memory->written.begin() + p.byte, bytes, uint8_t{1}); }
}

}  // namespace

auto StructField::is_known(int64_t kind) -> bool { return kind >= 0 && kind < static_cast<int64_t>(layouts.size()) && layouts[static_cast<size_t>(kind)].bytes > 0; }

auto StructField::place(Frame& f, int64_t& bytes) const -> char* {
  const Layout& l = layouts[static_cast<size_t>(kind)];
  Pointer p = base->eval(f);
  int64_t at = p.byte + index->eval(f) * l.stride + l.offset;
  bytes = l.bytes;
  if (f.failed) { return nullptr; }
  if (!Pointer{p.memory, at}.has(bytes)) {
    out_of_memory(f, origin, at, p);
    return nullptr;
  }
  return p.memory->data + at;
}

auto StructField::read(Frame& f, DataType as) const -> Slot {
  Slot out{};
  int64_t bytes = 0;
  const char* from = place(f, bytes);
  if (!from) { return out; }
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(bytes));
  // Packed reals are float64.
  if (as.is_real()) { out.f = bytes == 8 ? from_bits(DataType::float_(64), bits) : 0; } else { out.i = wrap_to(as.element(), static_cast<int64_t>(bits)); }
  return out;
}

auto StructField::read_pointer(Frame& f) const -> Pointer {
  if (kind == 0) {
    Pointer p = base->eval(f);
    p.byte += index->eval(f) * array_bytes;
    return p;
  }
  int64_t bytes = 0;
  const char* from = place(f, bytes);
  if (!from) { return {}; }
  uint64_t number = 0;
  std::memcpy(&number, from, static_cast<size_t>(bytes));
  if (number == 0) { return {}; }
  if (bytes != 8 || number > f.stored.size()) {
    f.fail(error(loopsmith::Code::InterpUnsupported, origin).arg("what", "a pointer where none was stored"));
    return {};
  }
  return f.stored[number - 1];
}

void StructField::put(Frame& f, const void* from) const {
  int64_t bytes = 0;
  char* to = place(f, bytes);
  if (!to) { return; }
  std::memcpy(to, from, static_cast<size_t>(bytes));
  Pointer p = base->eval(f);
  if (!p.memory->written.empty()) { std::fill_n(p.memory->written.begin() + (to - p.memory->data), bytes, uint8_t{1}); }
}
void StructField::write(Frame& f, DataType as, Slot value) const {
  uint64_t bits = as.is_real() ? to_bits(DataType::float_(64), value.f) : static_cast<uint64_t>(value.i);
  put(f, &bits);
}
void StructField::write(Frame& f, Pointer value) const {
  uint64_t number = number_of(f, value);
  put(f, &number);
}

void SetField::run(Frame& f) const {
  if (++f.steps >= f.next_check) { f.check_limits(); }
  ++f.stats.statements;
  f.lane = 0;
  if (value.p) { return field.write(f, value.p->eval(f)); }
  Slot v{};
  if (value.i) { v.i = value.i->eval(f); } else { v.f = value.f->eval(f); }
  if (!f.failed) { field.write(f, value.type, v); }
}

auto StackShape::eval(Frame& f) const -> Pointer {
  std::vector<int64_t> values;
  for (const IntExpr* n : numbers) { values.push_back(n->eval(f)); }
  Pointer p = memory->eval(f);
  if (!f.failed && !values.empty()) { fill(f, p, values.data(), static_cast<int64_t>(values.size() * sizeof(int64_t)), origin); }
  return p;
}

auto StackArray::eval(Frame& f) const -> Pointer {
  std::array<char, array_bytes> bytes{};
  auto set = [&](size_t kind, uint64_t value) { std::memcpy(bytes.data() + layouts[kind].offset, &value, static_cast<size_t>(layouts[kind].bytes)); };
  set(1, number_of(f, data->eval(f)));
  set(2, number_of(f, shape->eval(f)));
  set(3, number_of(f, strides->eval(f)));
  set(4, static_cast<uint64_t>(dimensions->eval(f)));
  set(5, type_code(type));
  set(6, type.bits);
  set(7, type.lanes);
  set(8, static_cast<uint64_t>(offset->eval(f) * std::max(1, type.element_bytes() * type.lanes)));
  set(10, 1);   // a CPU
  Pointer p = memory->eval(f);
  if (!f.failed) { fill(f, p, bytes.data(), array_bytes, origin); }
  return p;
}

void Throw::run(Frame& f) const {
  if (!f.failed) { f.fail(error(loopsmith::Code::InterpAssert, origin).arg("message", "`tvm_throw_last_error`: the call before it has failed").arg("iteration", f.iteration())); }
}

void CheckReturn::run(Frame& f) const {
  if (++f.steps >= f.next_check) { f.check_limits(); }
  ++f.stats.statements;
  f.lane = 0;
  if (call->eval(f) == wanted->eval(f) || f.failed) { return; }
  f.returned.i = instead->eval(f);
  f.has_returned = true;
  f.flow = Flow::Return;
}

// ---- compiled ----------------------------------------------------------------------------------------------------

auto Compiler::stack_memory(int64_t bytes, const IntExpr* count, Origin origin) -> const PointerExpr* {
  auto* out = make_place<StackMemory>();
  out->allocate.memory = slot_count++;
  out->allocate.number = storage_count++;
  out->allocate.element_bytes = bytes;
  out->allocate.extents.push_back(count);
  out->allocate.origin = origin;
  return out;
}

auto Compiler::struct_field(const Call& n) -> std::optional<StructField> {
  auto kind = n.args.size() < 3 ? std::nullopt : as_int(n.args[2]);
  if (!kind || !StructField::is_known(*kind)) {
    unsupported(n.origin, "this field of a structure");
    return {};
  }
  StructField out;
  out.base = pointer(n.args[0]);
  out.index = int_expr(n.args[1]);
  out.kind = *kind;
  out.origin = n.origin;
  return out;
}

auto Compiler::host_pointer(const Call& n) -> const PointerExpr* {
  std::string_view op = n.op.view();
  if (op == "tvm_stack_alloca" && n.args.size() == 2) {
    const auto* kind = n.args[0].as<StringImm>();
    int64_t bytes = !kind ? 0 : kind->value == "array" ? array_bytes : kind->value == "arg_value" || kind->value == "shape" ? 8 : kind->value == "arg_tcode" ? 4
                    : kind->value == "tvm_ffi_any" ? any_bytes : kind->value == "tensormap" ? 128 : 0;
    return bytes == 0 ? nullptr : stack_memory(bytes, int_expr(n.args[1]), n.origin);
  }
  // (kind of device, device, bytes, hints ...)
  if (op == "TVMBackendAllocWorkspace" && n.args.size() == 5) { return stack_memory(1, int_expr(n.args[2]), n.origin); }
  if (op == "tvm_struct_get") {
    auto field = struct_field(n);
    if (!field) { return make_place<NullPointer>(); }
    auto* out = make_place<FieldPointer>();
    out->field = *field;
    return out;
  }
  if (op == "tvm_stack_make_shape") {
    auto* out = make_place<StackShape>();
    for (const Expr& e : n.args) { out->numbers.push_back(int_expr(e)); }
    out->memory = stack_memory(8, make_int<IntConst>(static_cast<int64_t>(n.args.size())), n.origin);
    out->origin = n.origin;
    return out;
  }
  // (data, shape, strides or a null pointer, dimensions, an example of its type, offset)
  if (op == "tvm_stack_make_array" && n.args.size() == 6) {
    auto* out = make_place<StackArray>();
    auto or_null = [&](const Expr& e) -> const PointerExpr* { return as_int(e) ? make_place<NullPointer>() : pointer(e); };
    out->data = pointer(n.args[0]);
    out->shape = pointer(n.args[1]);
    out->strides = or_null(n.args[2]);
    out->dimensions = int_expr(n.args[3]);
    out->type = n.args[4].dtype();
    out->offset = int_expr(n.args[5]);
    out->memory = stack_memory(array_bytes, make_int<IntConst>(1), n.origin);
    out->origin = n.origin;
    return out;
  }
  // `T.reinterpret("handle", T.uint64(0))`: a null pointer.
  if (op == "reinterpret" && n.args.size() == 1 && is_zero(n.args[0])) { return make_place<NullPointer>(); }
  return nullptr;
}

// Compiles the call of a packed function with arguments on the stack, `(name, values, type codes, begin, end)` or in the later interface
// `(name, values, begin, end)`, as a call of the module's function. The fields of the arguments become its parameters.
auto Compiler::lowered_packed(const Call& n) -> const CallStatement* {
  bool has_codes = n.args.size() == 5;
  const auto* symbol = n.args.empty() ? nullptr : n.args[0].as<StringImm>();
  auto begin = n.args.size() < 4 ? std::nullopt : as_int(n.args[n.args.size() - 2]);
  auto function = symbol ? function_of_symbol(*module_, Name(symbol->value)) : std::nullopt;
  PrimFunc func = function ? module_->find(*function) : PrimFunc();
  if (!func || !begin) {
    unsupported(n.origin, "the packed function `" + (symbol ? symbol->value : std::string("?")) + "`: the module has none of that name");
    return nullptr;
  }
  static const Name get("tvm_struct_get");
  auto field = [&](DataType t, const Expr& base, int64_t index, int64_t kind) -> Expr {
    return make<Call>(t, get, Array<Expr>{base, int_imm(index), int_imm(kind)}, n.origin);
  };
  std::vector<Expr> args;
  std::vector<std::pair<Var, Expr>> sizes;
  for (size_t i = 0; i < func->params.size(); ++i) {
    const Var& param = func->params[i];
    auto value = [&](DataType t) { return field(t, n.args[1], *begin + static_cast<int64_t>(i), has_codes ? 12 : 15); };
    Buffer buffer = func->buffer_of(param);
    if (buffer) {
      Expr array = value(DataType::handle());
      args.push_back(field(DataType::handle(), array, 0, 1));
      for (size_t d = 0; d < buffer->shape.size(); ++d) {
        const auto* size = buffer->shape[d].as<VarNode>();
        if (size) { sizes.emplace_back(Var(size), cast(size->dtype, field(DataType::int_(64), field(DataType::handle(), array, 0, 2), static_cast<int64_t>(d), 17))); }
      }
    } else if (param->dtype.is_handle()) {
      args.push_back(value(param->dtype));
    } else {
      DataType packed = param->dtype.is_real() ? DataType::float_(64) : DataType::int_(64);
      args.push_back(cast(param->dtype, value(packed)));
    }
  }
  Ref<Call> made = make<Call>(n.dtype, Name("@" + function->str()), Array<Expr>(std::move(args)), n.origin);
  return call_function(*made, sizes);
}

auto Compiler::packed_call(const Call& n) -> const CallStatement* {
  if (lowered_packed_name(n)) { return lowered_packed(n); }
  auto known = find_packed(*module_, n);
  if (!known) {
    unsupported(n.origin, "the packed function `" + packed_name(n)->str() + "`: the module has none that takes these arguments");
    return nullptr;
  }
  Ref<Call> made = make<Call>(n.dtype, Name("@" + known->function.str()), known->args, n.origin);
  return call_function(*made, known->sizes);
}

auto Compiler::host_value(const Call& n) -> std::optional<Code> {
  std::string_view op = n.op.view();
  if (op == "isnullptr" && n.args.size() == 1) { return Code{make_int<IsNull>(pointer(n.args[0])), nullptr, n.dtype}; }
  if (op == "tvm_thread_invariant" && n.args.size() == 1) { return expr(n.args[0]); }
  if (op == "TVMBackendFreeWorkspace") { return Code{make_int<IntConst>(0), nullptr, n.dtype}; }
  if (op == "tvm_struct_get" && !n.dtype.is_handle()) {
    auto field = struct_field(n);
    if (!field) { return Code{make_int<IntConst>(0), nullptr, n.dtype}; }
    if (n.dtype.is_real()) {
      auto* out = make_real<FieldReal>();
      out->field = *field;
      out->type = n.dtype;
      return Code{nullptr, out, n.dtype};
    }
    auto* out = make_int<FieldInt>();
    out->field = *field;
    out->type = n.dtype;
    return Code{out, nullptr, n.dtype};
  }
  if ((packed_name(n) || lowered_packed_name(n)) && n.dtype.is_integral()) {
    const CallStatement* call = packed_call(n);
    if (!call) { return Code{make_int<IntConst>(0), nullptr, n.dtype}; }
    if (call->returns_reals) { return unsupported(n.origin, "a packed function that returns a real number"); }
    auto* out = make_int<CallOrZero>();
    out->call = call;
    return Code{out, nullptr, n.dtype};
  }
  return {};
}

auto Compiler::host_statement(const Call& n) -> const Statement* {
  std::string_view op = n.op.view();
  if (op == "tvm_struct_set" && n.args.size() == 4) {
    auto field = struct_field(n);
    auto* out = make_stmt<SetField>();
    out->value = expr(n.args[3]);
    if (field) { out->field = *field; }
    return out;
  }
  if (op == "tvm_throw_last_error") {
    auto* out = make_stmt<Throw>();
    out->origin = n.origin;
    return out;
  }
  if (op == "tvm_check_return" && n.args.size() == 3) {
    auto* out = make_stmt<CheckReturn>();
    out->wanted = int_expr(n.args[0]);
    out->instead = int_expr(n.args[1]);
    out->call = int_expr(n.args[2]);
    returns_.ints = true;
    return out;
  }
  if (op == "tvm_tuple") { return make_stmt<Nothing>(); }
  if (packed_name(n) || lowered_packed_name(n)) {
    const CallStatement* call = packed_call(n);
    return call ? static_cast<const Statement*>(call) : make_stmt<Nothing>();
  }
  return nullptr;
}

}  // namespace loopsmith::interp
