// Prints calls that only devices have as C: exchanges within a warp, asynchronous copies, matrix units, dot products of bytes. See printer.h.
//
// CUDA's functions wrap one PTX instruction each, and are generated for the types and shapes that a kernel uses. Fragments of matrix units are arrays of
// eight 32-bit registers; an instruction uses as many of them as the PTX manual lists. OpenCL C gets plain copies instead of asynchronous ones, and
// has no form for warps and matrix units.
#include <array>
#include <bit>

#include <fmt/format.h>

#include "codegen/source/printer.h"
#include "ir/ops.h"
#include "ir/reals.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/reasons.h"

namespace loopsmith::codegen {
namespace {

constexpr int registers_each = 8;   // of a fragment

auto text_of(const Expr& e) -> std::string {
  const auto* s = e.as<StringImm>();
  return s ? s->value : std::string();
}
auto number_of(const Expr& e) -> int64_t { return as_int(e).value_or(0); }

/// The letter of an operand of matrix units, by its memory: a, b or c.
auto letter_of(const Var& data) -> char {
  auto family = data->pointer ? memory_family(data->pointer->scope.view()) : std::nullopt;
  return family == MemoryFamily::WmmaA ? 'a' : family == MemoryFamily::WmmaB ? 'b' : family == MemoryFamily::WmmaAccumulator ? 'c' : ' ';
}
/// PTX's name of the type; empty if matrix units of this form do not support it.
auto ptx_type(DataType t) -> std::string {
  if (t.is_bfloat16()) { return "bf16"; }
  if (t.is_float()) { return fmt::format("f{}", t.bits); }
  if (t.is_integral() && (t.bits == 8 || t.bits == 32)) { return fmt::format("{}{}", t.is_int() ? 's' : 'u', t.bits); }
  return {};
}
/// The registers of a thread for a fragment of that many elements (PTX ISA, "Matrix fragments for wmma").
auto register_count(DataType t, char letter, int64_t elements) -> int64_t {
  if (letter == 'c') { return t.bits == 16 ? 4 : 8; }
  return t.is_float() && t.bits == 16 ? 8 : elements * t.bits / (32 * 32);
}
auto operands(int64_t first, int64_t count) -> std::string {
  std::string out;
  for (int64_t i = 0; i < count; ++i) { out += fmt::format("{}%{}", i ? ", " : "", first + i); }
  return "{" + out + "}";
}
auto registers(std::string_view constraint, std::string_view array, int64_t count) -> std::string {
  std::string out;
  for (int64_t i = 0; i < count; ++i) { out += fmt::format("{}\"{}\"({}[{}])", i ? ", " : "", constraint, array, i); }
  return out;
}

}  // namespace

void SourcePrinter::find_fragments(const Stmt& kernel) {
  post_order(kernel, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* call = e.as<Call>();
    if (!call || call->args.size() < 5) { return; }
    const bool loads = call->op == "tvm_load_matrix_sync";
    if (!loads && call->op != "tvm_fill_fragment" && call->op != "tvm_store_matrix_sync") { return; }
    const auto* data = call->args[0].as<VarNode>();
    if (!data) { return; }
    Fragment& fragment = fragments_[data];
    const char letter = letter_of(Var(Ref<VarNode>(data)));
    const int64_t m = number_of(call->args[1]), n = number_of(call->args[2]), k = number_of(call->args[3]);
    fragment.elements = letter == 'a' ? m * k : letter == 'b' ? k * n : m * n;
    fragment.shape = fmt::format("m{}n{}k{}", m, n, k);
    if (loads && call->args.size() == 8) { fragment.is_column_major = text_of(call->args[7]) == "col_major"; }
  });
}

auto SourcePrinter::fragment_array(const Allocate& node, int64_t count) -> bool {
  auto found = fragments_.find(node.data.get());
  if (found == fragments_.end() || letter_of(node.data) == ' ' || kind_ != SourceDialect::Cuda) { return false; }
  Fragment& fragment = found->second;
  fragment.dtype = node.dtype.element();
  const std::string type = ptx_type(fragment.dtype);
  if (type.empty() || fragment.elements == 0) { return false; }
  line(fmt::format("unsigned {}[{}];", name_of(*node.data), registers_each * ((count + fragment.elements - 1) / fragment.elements)));
  return true;
}

/// A pointer argument: `tvm_access_ptr`, an element's address, or memory itself.
auto SourcePrinter::pointer_argument(const Expr& e, const Expr& offset) -> std::string {
  const auto* call = e.as<Call>();
  if (call && call->op == "tvm_access_ptr" && call->args.size() == 5) {
    const auto* data = call->args[1].as<VarNode>();
    if (data) { return at_offset(*data, call->args[0].dtype().element(), offset ? add(call->args[2], cast(call->args[2].dtype(), offset)) : call->args[2], e.origin()); }
  }
  if (const auto* data = e.as<VarNode>(); data && elements_.contains(data)) { return at_offset(*data, elements_.at(data), offset ? offset : int_imm(0), e.origin()); }
  if (call && call->op == "address_of" && !offset) { return scalar(e); }
  return fail("a pointer", because(Why::MemoryUnknown), e.origin());
}
auto SourcePrinter::at_offset(const VarNode& data, DataType element, const Expr& offset, Origin origin) -> std::string {
  std::string name = name_of(data);
  auto known = elements_.find(&data);
  if (known != elements_.end() && memory_type(known->second, origin) != memory_type(element, origin)) { name = fmt::format("(({}{}*){})", address_space(data), memory_type(element, origin), name); }
  return is_zero(offset) ? name : fmt::format("&{}[{}]", name, scalar(offset));
}

auto SourcePrinter::made(std::string name, const std::string& text) -> std::string {
  if (made_names_.insert(name).second) {
    std::string out = text;
    const std::string inline_words = kind_ == SourceDialect::Cuda ? "static __device__ __forceinline__" : "static inline";
    for (size_t at = out.find("INLINE"); at != std::string::npos; at = out.find("INLINE", at + 6)) { out.replace(at, 6, inline_words); }
    made_ += out;
  }
  return name;
}

auto SourcePrinter::matrix_call(const Call& node) -> std::string {
  std::string_view op = node.op.view();
  auto wrong = [&](const Reason& why) { return fail(fmt::format("`{}`", op), why, node.origin); };
  if (kind_ != SourceDialect::Cuda) { return wrong(because(Why::NoMatrixUnits).arg("dialect", dialect_.name)); }
  auto fragment_of = [&](size_t i) -> const Fragment* {
    const auto* data = node.args[i].as<VarNode>();
    auto found = data ? fragments_.find(data) : fragments_.end();
    return found == fragments_.end() || ptx_type(found->second.dtype).empty() ? nullptr : &found->second;
  };
  auto place = [&](size_t data, size_t index) {
    return fmt::format("&{}[{}]", name_of(*node.args[data].as<VarNode>()), scalar(mul(node.args[index], int_imm(registers_each, node.args[index].dtype()))));
  };
  const Fragment* f = node.args.empty() ? nullptr : fragment_of(0);
  if (!f) { return wrong(because(Why::FragmentUnknown)); }
  const std::string type = ptx_type(f->dtype);
  const char letter = letter_of(Var(Ref<VarNode>(node.args[0].as<VarNode>())));
  const int64_t count = register_count(f->dtype, letter, f->elements);
  if (op == "tvm_fill_fragment") {
    std::string value = scalar(node.args[5]);
    if (node.args[5].dtype().element() != f->dtype) { value = cast_to(f->dtype, node.args[5].dtype(), value, prefix); }
    std::string bits = f->dtype.is_float() && f->dtype.bits == 32 ? need("ls_bits_f32") + "(" + value + ")"
                       : f->dtype.bits == 32                      ? "(unsigned)(" + value + ")"
                       : f->dtype.bits == 16                      ? "(unsigned)" + to_memory(f->dtype, value) + " * 0x10001u"
                                                                  : "((unsigned)(" + value + ") & 0xffu) * 0x1010101u";
    std::string name = made("ls_fragment_fill", fmt::format("INLINE void ls_fragment_fill(unsigned* f, unsigned bits) {{ for (int i = 0; i < {}; ++i) {{ f[i] = bits; }} }}\n", registers_each));
    return fmt::format("{}({}, {})", name, place(0, 4), bits);
  }
  if (op == "tvm_load_matrix_sync" || op == "tvm_store_matrix_sync") {
    const bool loads = op == "tvm_load_matrix_sync";
    const std::string layout = text_of(node.args[7]) == "col_major" ? "col" : "row";
    std::string name = fmt::format("ls_wmma_{}_{}_{}_{}_{}", loads ? "load" : "store", loads ? letter : 'd', layout, f->shape, type);
    std::string asm_text =
        loads ? fmt::format("INLINE void {0}(unsigned* f, const void* p, unsigned stride) {{\n  asm volatile(\"wmma.load.{1}.sync.aligned.{2}.{3}.{4} {5}, [%{6}], %{7};\" : {8} : \"l\"(p), \"r\"(stride) : \"memory\");\n}}\n",
                            name, letter, layout, f->shape, type, operands(0, count), count, count + 1, registers("=r", "f", count))
              : fmt::format("INLINE void {0}(const unsigned* f, void* p, unsigned stride) {{\n  asm volatile(\"wmma.store.d.sync.aligned.{1}.{2}.{3} [%{4}], {5}, %{6};\" : : {7}, \"l\"(p), \"r\"(stride) : \"memory\");\n}}\n",
                            name, layout, f->shape, type, count, operands(0, count), count + 1, registers("r", "f", count));
    return fmt::format("{}({}, {}, {})", made(name, asm_text), place(0, 4), pointer_argument(node.args[5], {}), scalar(node.args[6]));
  }
  const Fragment* a = node.args.size() == 8 ? fragment_of(2) : nullptr;
  const Fragment* b = node.args.size() == 8 ? fragment_of(4) : nullptr;
  const Fragment* c = node.args.size() == 8 ? fragment_of(6) : nullptr;
  if (op != "tvm_mma_sync" || !a || !b || !c) { return wrong(because(Why::FragmentsUnknown)); }
  const int64_t na = register_count(a->dtype, 'a', a->elements), nb = register_count(b->dtype, 'b', b->elements), nc = register_count(c->dtype, 'c', c->elements);
  auto layout = [](const Fragment& x) { return x.is_column_major ? "col" : "row"; };
  const std::string types = a->dtype.is_float() && a->dtype.bits == 16 ? fmt::format("{}.{}", type, ptx_type(c->dtype))
                                                                      : fmt::format("{}.{}.{}.{}", type, ptx_type(a->dtype), ptx_type(b->dtype), ptx_type(c->dtype));
  std::string name = fmt::format("ls_wmma_mma_{}_{}_{}_{}_{}_{}", layout(*a), layout(*b), a->shape, type, ptx_type(a->dtype), ptx_type(c->dtype));
  std::string asm_text = fmt::format(
      "INLINE void {}(unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c) {{\n  asm volatile(\"wmma.mma.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\" : {} : {}, {}, {});\n}}\n", name, layout(*a),
      layout(*b), a->shape, types, operands(0, count), operands(count, na), operands(count + na, nb), operands(count + na + nb, nc), registers("=r", "d", count), registers("r", "a", na), registers("r", "b", nb),
      registers("r", "c", nc));
  return fmt::format("{}({}, {}, {}, {})", made(name, asm_text), place(0, 1), place(2, 3), place(4, 5), place(6, 7));
}

auto SourcePrinter::copy_call(const Call& node) -> std::string {
  std::string_view op = node.op.view();
  const bool is_cuda = kind_ == SourceDialect::Cuda;
  if (op == "ptx_commit_group") { return is_cuda ? made("ls_cp_async_commit", "INLINE void ls_cp_async_commit() { asm volatile(\"cp.async.commit_group;\" ::: \"memory\"); }\n") + "()" : "/* the copies are done */"; }
  if (op == "ptx_wait_group") {
    if (!is_cuda) { return "/* the copies are done */"; }
    auto n = node.args.size() == 1 ? as_int(node.args[0]) : std::nullopt;
    if (!n || *n < 0) { return fail("`ptx_wait_group`", because(Why::OpenGroupsNotConstant), node.origin); }
    std::string name = fmt::format("ls_cp_async_wait_{}", *n);
    return made(name, fmt::format("INLINE void {}() {{ asm volatile(\"cp.async.wait_group {};\" ::: \"memory\"); }}\n", name, *n)) + "()";
  }
  // (to, offset, from, offset, bytes[, predicate])
  auto bytes = as_int(node.args[4]);
  if (!bytes || (*bytes != 4 && *bytes != 8 && *bytes != 16)) { return fail("`ptx_cp_async`", because(Why::CopyBytes), node.origin); }
  const auto* from = node.args[2].as<VarNode>();
  const std::string name = fmt::format("ls_cp_async_{}", *bytes);
  std::string text;
  if (is_cuda) {
    // If the predicate is false, reads no byte and writes zeros.
    text = fmt::format(
        "INLINE void {0}(void* to, const void* from, bool taken) {{\n  unsigned address = (unsigned)__cvta_generic_to_shared(to);\n"
        "  asm volatile(\"cp.async.{1}.shared.global [%0], [%1], {2}, %2;\" : : \"r\"(address), \"l\"(from), \"r\"(taken ? {2} : 0) : \"memory\");\n}}\n",
        name, *bytes == 16 ? "cg" : "ca", *bytes);
  } else {
    text = fmt::format(
        "INLINE void {0}(__local void* to, __global const void* from, bool taken) {{\n  for (int i = 0; i < {1}; ++i) {{ ((__local uchar*)to)[i] = taken ? ((__global const uchar*)from)[i] : (uchar)0; }}\n}}\n", name, *bytes);
    if (!from || address_space(*from) != "__global ") { return fail("`ptx_cp_async`", because(Why::CopyNotFromGlobal), node.origin); }
  }
  return fmt::format("{}({}, {}, {})", made(name, text), pointer_argument(node.args[0], node.args[1]), pointer_argument(node.args[2], node.args[3]),
                     node.args.size() > 5 ? scalar(node.args[5]) : "true");
}

namespace {

/// An index as a ramp, also where a part of it is the same for all lanes.
auto as_ramp(const Expr& index) -> Expr {
  const auto* sum = index.as<Add>();
  const auto* same = sum ? sum->a.as<Broadcast>() : nullptr;
  const Expr rest = same ? as_ramp(sum->b) : Expr();
  const auto* ramp = rest ? rest.as<Ramp>() : nullptr;
  return ramp ? Expr(make<Ramp>(is_zero(same->value) ? ramp->base : add(same->value, ramp->base), ramp->stride, ramp->lanes, ramp->origin)) : index;
}

}  // namespace

auto SourcePrinter::dot_of_bytes(const Expr& a, const Expr& b, const Expr& c, const Call& node) -> std::string {
  auto packed = [&](const Expr& e) {
    if (e.dtype().lanes == 1 && e.dtype().bits == 32) { return scalar(e); }
    // Four bytes in their order at a multiple of four are one word.
    const auto* load = e.as<BufferLoad>();
    const Expr index = load && load->indices.size() == 1 && !load->predicate ? as_ramp(load->indices[0]) : Expr();
    if (index && e.dtype().bits == 8 && load->buffer->dtype.lanes == 1 && is_row(load->buffer, index, 4)) {
      return fmt::format("*({}const unsigned*)&{}[{}]", address_space(*load->buffer->data), pointer(load->buffer), scalar(index.as<Ramp>()->base));
    }
    std::string out;
    for (int k = 0; k < 4; ++k) { out += fmt::format("{}((unsigned)({}) & 0xffu){}", k ? " | " : "", lane(e, k), k ? fmt::format(" << {}", 8 * k) : ""); }
    return out;
  };
  const DataType x = a.dtype(), y = b.dtype();
  if ((x.lanes != 4 || x.bits != 8) && x.bits * x.lanes != 32) { return fail("`dp4a`", because(Why::NotFourBytes), node.origin); }
  const char s = x.is_int() ? 's' : 'u', t = y.is_int() ? 's' : 'u';
  const std::string name = fmt::format("ls_dp4a_{}{}", s, t);
  const std::string text =
      kind_ == SourceDialect::Cuda
          ? fmt::format("INLINE int {0}(unsigned a, unsigned b, int c) {{ int d; asm(\"dp4a.{1}32.{2}32 %0, %1, %2, %3;\" : \"=r\"(d) : \"r\"(a), \"r\"(b), \"r\"(c)); return d; }}\n", name, s, t)
          : fmt::format("INLINE int {0}(unsigned a, unsigned b, int c) {{\n  for (int i = 0; i < 4; ++i) {{ c += (int)({1}char)(a >> 8 * i) * (int)({2}char)(b >> 8 * i); }}\n  return c;\n}}\n", name, s == 'u' ? "u" : "",
                        t == 'u' ? "u" : "");
  return fmt::format("{}({}, {}, {})", made(name, text), packed(a), packed(b), scalar(c));
}

/// Adds to an element of global or shared memory, and returns the former value. `place`: its address.
auto SourcePrinter::atomic_add(const Expr& place, const Expr& value, DataType type) -> std::string {
  if (kind_ == SourceDialect::Cuda) { return fmt::format("atomicAdd({}, {})", scalar(place), scalar(value)); }
  if (!type.is_float()) { return fmt::format("atomic_add({}, {})", scalar(place), scalar(value)); }
  const auto* call = place.as<Call>();
  const auto* element = call && !call->args.empty() ? call->args[0].as<BufferLoad>() : nullptr;
  const bool is_shared = element && is_shared_memory(element->buffer->scope().view());
  return fmt::format("{}({}, {})", need(is_shared ? "ls_atomic_add_local_f32" : "ls_atomic_add_f32"), scalar(place), scalar(value));
}

/// Calls of CUDA's atomic functions by name, for OpenCL. None: another function, or CUDA, which has them itself.
auto SourcePrinter::atomic_of_cuda(const Call& node, std::string_view op) -> std::optional<std::string> {
  struct Atomic { std::string_view cuda, opencl; size_t values; };
  static constexpr Atomic atomics[] = {
      {"atomicAdd", "atomic_add", 1}, {"atomicSub", "atomic_sub", 1}, {"atomicMin", "atomic_min", 1}, {"atomicMax", "atomic_max", 1}, {"atomicAnd", "atomic_and", 1},
      {"atomicOr", "atomic_or", 1},   {"atomicXor", "atomic_xor", 1}, {"atomicExch", "atomic_xchg", 1}, {"atomicCAS", "atomic_cmpxchg", 2},
  };
  if (kind_ == SourceDialect::Cuda || (op != "call_extern" && op != "call_pure_extern") || node.args.empty()) { return {}; }
  const std::string called = text_of(node.args[0]);
  for (const Atomic& atomic : atomics) {
    if (called != atomic.cuda || node.args.size() != 2 + atomic.values) { continue; }
    const DataType type = node.dtype.is_handle() || node.dtype.bits != 32 ? node.args[2].dtype() : node.dtype;
    if (type.bits != 32 || type.lanes != 1) { return fail(fmt::format("`{}`", called), because(Why::AtomicBits), node.origin); }
    if (atomic.cuda == "atomicAdd") { return atomic_add(node.args[1], node.args[2], type); }
    if (type.is_float() && atomic.cuda != "atomicExch") { return fail(fmt::format("`{}`", called), because(Why::AtomicOfReals), node.origin); }
    std::string out = fmt::format("{}({}", atomic.opencl, scalar(node.args[1]));
    for (size_t i = 0; i < atomic.values; ++i) { out += ", " + scalar(node.args[2 + i]); }
    return out + ")";
  }
  return {};
}

auto SourcePrinter::device_call(const Call& node, std::string_view op) -> std::optional<std::string> {
  const size_t n = node.args.size();
  const bool is_cuda = kind_ == SourceDialect::Cuda;
  struct Exchange { std::string_view op; std::string_view function; };
  for (const Exchange& x : {Exchange{"tvm_warp_shuffle", "__shfl_sync"}, Exchange{"tvm_warp_shuffle_up", "__shfl_up_sync"}, Exchange{"tvm_warp_shuffle_down", "__shfl_down_sync"}}) {
    if (x.op != op || n != 5) { continue; }
    if (!is_cuda) { return fail(fmt::format("`{}`", op), because(Why::NoWarpExchange).arg("dialect", dialect_.name), node.origin); }
    return fmt::format("{}({}, {}, {}, {})", x.function, scalar(node.args[0]), scalar(node.args[1]), scalar(node.args[2]), scalar(node.args[3]));
  }
  if (op == "tvm_warp_activemask" && is_cuda) { return "__activemask()"; }
  if (op == "tvm_load_matrix_sync" || op == "tvm_store_matrix_sync" || op == "tvm_fill_fragment" || op == "tvm_mma_sync") { return matrix_call(node); }
  if ((op == "ptx_cp_async" && n >= 5) || op == "ptx_commit_group" || op == "ptx_wait_group") { return copy_call(node); }
  if (op == "dp4a" && n == 3) { return dot_of_bytes(node.args[0], node.args[1], node.args[2], node); }
  if ((op == "call_extern" || op == "call_pure_extern") && n == 4 && text_of(node.args[0]) == "__dp4a") { return dot_of_bytes(node.args[1], node.args[2], node.args[3], node); }
  if (op == "tvm_access_ptr" && n == 5) { return pointer_argument(Expr(Ref<ExprNode>(&node)), {}); }
  return {};
}

auto SourcePrinter::has_short_real(DataType dtype) -> bool { return dtype.element().code != TypeCode::Float8E8M0FNU && dtype.bits <= 8; }

auto SourcePrinter::load_short(DataType dtype) -> std::string {
  const DataType t = dtype.element();
  const RealFormat f = real_format(t);
  const int magnitude_bits = f.exponent + f.mantissa;
  const int lost = 23 - f.mantissa;
  const std::string type = t.str(), real = need("ls_from_bits_f32");
  const uint32_t least = static_cast<uint32_t>(128 - f.bias) << 23U;
  std::string text = fmt::format("INLINE float ls_load_{}(unsigned char b) {{\n  unsigned magnitude = b & {}u, shifted = magnitude << {};\n", type, (1U << magnitude_bits) - 1, lost);
  text += fmt::format("  float f = magnitude < {}u ? {}(shifted + {}u) - {}({}u) : {}(shifted + {}u);\n", 1U << f.mantissa, real, least, real, least, real, static_cast<uint32_t>(127 - f.bias) << 23U);
  if (f.has_infinity) { text += fmt::format("  if (magnitude >= {}u) {{ f = {}(shifted | 0x7f800000u); }}\n", f.overflow(), real); }
  if (f.finite_nan) { text += fmt::format("  if (magnitude == {}u) {{ f = {}(0x7fc00000u); }}\n", f.nan(), real); }
  if (f.unsigned_zero) { text += fmt::format("  if (b == {}u) {{ return {}(0x7fc00000u); }}\n", f.nan(), real); }
  text += fmt::format("  return (b >> {}) & 1 ? -f : f;\n}}\n", magnitude_bits);
  return made("ls_load_" + type, text);
}

auto SourcePrinter::store_short(DataType dtype) -> std::string {
  const DataType t = dtype.element();
  const RealFormat f = real_format(t);
  const int magnitude_bits = f.exponent + f.mantissa;
  const int lost = 23 - f.mantissa;
  const std::string type = t.str(), bits = need("ls_bits_f32"), real = need("ls_from_bits_f32");
  const uint32_t least = static_cast<uint32_t>(128 - f.bias) << 23U;
  std::string text = fmt::format("INLINE unsigned char ls_store_{}(float f) {{\n  unsigned all = {}(f), magnitude = all & 0x7fffffffu, sign = (all >> 31) << {};\n", type, bits, magnitude_bits);
  const uint32_t align = static_cast<uint32_t>(127 + 24 - f.bias - f.mantissa) << 23U;
  text += fmt::format("  unsigned pattern = magnitude < {}u ? {}({}(magnitude) + {}({}u)) - {}u : ((magnitude + ((magnitude >> {}) & 1) + {}u) >> {}) - {}u;\n", least, bits, real, real, align, align, lost,
                      (1U << (lost - 1)) - 1, lost, static_cast<uint32_t>(127 - f.bias) << static_cast<uint32_t>(f.mantissa));
  if (f.unsigned_zero) {
    text += fmt::format("  if (magnitude > 0x7f800000u || pattern > {}u) {{ return {}; }}\n  return (unsigned char)(pattern == 0 ? 0 : pattern | sign);\n}}\n", f.largest(), f.nan());
  } else {
    text += fmt::format("  if (pattern > {}u) {{ pattern = {}u; }}\n", f.largest(), f.overflow());
    if (f.has_nan) { text += fmt::format("  if (magnitude > 0x7f800000u) {{ pattern = {}u; }}\n", f.nan()); }
    text += "  pattern |= sign;\n";
    if (!f.has_nan) { text += fmt::format("  if (magnitude > 0x7f800000u) {{ pattern = {}u; }}\n", f.nan()); }
    text += "  return (unsigned char)pattern;\n}\n";
  }
  return made("ls_store_" + type, text);
}

}  // namespace loopsmith::codegen
