// Dialects and their preludes: see dialect.h.
#include "codegen/source/dialect.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/vocabulary.h"

namespace loopsmith::codegen {
namespace {

auto cuda_index(std::string_view tag) -> std::string { return fmt::format("(int){}", tag); }
auto opencl_index(std::string_view tag) -> std::string {
  return fmt::format("(int){}({})", is_thread_axis(tag) ? "get_local_id" : "get_group_id", tag.back() - 'x');
}

constexpr Dialect cuda{
    .name = "CUDA C",
    .kernel = "extern \"C\" __global__ void",
    .global_memory = "",
    .restrict_word = "__restrict__ ",
    .shared_memory = "__shared__ __align__(128) ",
    .constant_memory = "__device__ const ",
    .barrier = "__syncthreads();",
    .warp_barrier = "__syncwarp();",
    .longest_int = "long long",
    .long_suffix = "ll",
    .index = cuda_index,
};
constexpr Dialect opencl{
    .name = "OpenCL C",
    .kernel = "__kernel void",
    .global_memory = "__global ",
    .restrict_word = "restrict ",
    .shared_memory = "__local __attribute__((aligned(16))) ",
    .constant_memory = "__constant ",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    .warp_barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    .longest_int = "long",
    .long_suffix = "l",
    .index = opencl_index,
};

#define DIVIDE(TYPE, SUFFIX)                                                                                                         \
  "INLINE " TYPE " ls_floordiv_" SUFFIX "(" TYPE " a, " TYPE " b) { " TYPE " q = a / b; return q - ((a % b != 0) && ((a < 0) != (b < 0))); }\n"
#define MODULO(TYPE, SUFFIX)                                                                                                         \
  "INLINE " TYPE " ls_floormod_" SUFFIX "(" TYPE " a, " TYPE " b) { " TYPE " r = a % b; return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r; }\n"
// OpenCL 1.2 has atomic functions for words in `__global` and in `__local` memory, none for reals.
#define ATOMIC_REAL(NAME, SPACE)                                                                                                     \
  "INLINE float " NAME "(volatile " SPACE " float* p, float v) {\n"                                                                  \
  "  volatile " SPACE " unsigned* words = (volatile " SPACE " unsigned*)p;\n"                                                        \
  "  unsigned before = *words, seen;\n"                                                                                              \
  "  while ((seen = atomic_cmpxchg(words, before, as_uint(as_float(before) + v))) != before) { before = seen; }\n"                   \
  "  return as_float(before);\n"                                                                                                     \
  "}\n"

// `INLINE` is replaced by the dialect's words for a function of the device. Rounding to a shorter real is to nearest, ties to even.
constexpr PreludeFunction prelude[] = {
    {"ls_floordiv_i32", DIVIDE("int", "i32"), DIVIDE("int", "i32")},
    {"ls_floordiv_i64", DIVIDE("long long", "i64"), DIVIDE("long", "i64")},
    {"ls_floormod_i32", MODULO("int", "i32"), MODULO("int", "i32")},
    {"ls_floormod_i64", MODULO("long long", "i64"), MODULO("long", "i64")},
    {"ls_min_i32", "INLINE int ls_min_i32(int a, int b) { return a < b ? a : b; }\n", "INLINE int ls_min_i32(int a, int b) { return a < b ? a : b; }\n"},
    {"ls_max_i32", "INLINE int ls_max_i32(int a, int b) { return a > b ? a : b; }\n", "INLINE int ls_max_i32(int a, int b) { return a > b ? a : b; }\n"},
    {"ls_min_i64", "INLINE long long ls_min_i64(long long a, long long b) { return a < b ? a : b; }\n", "INLINE long ls_min_i64(long a, long b) { return a < b ? a : b; }\n"},
    {"ls_max_i64", "INLINE long long ls_max_i64(long long a, long long b) { return a > b ? a : b; }\n", "INLINE long ls_max_i64(long a, long b) { return a > b ? a : b; }\n"},
    {"ls_min_u64", "INLINE unsigned long long ls_min_u64(unsigned long long a, unsigned long long b) { return a < b ? a : b; }\n", "INLINE ulong ls_min_u64(ulong a, ulong b) { return a < b ? a : b; }\n"},
    {"ls_max_u64", "INLINE unsigned long long ls_max_u64(unsigned long long a, unsigned long long b) { return a > b ? a : b; }\n", "INLINE ulong ls_max_u64(ulong a, ulong b) { return a > b ? a : b; }\n"},
    {"ls_min_f32", "INLINE float ls_min_f32(float a, float b) { return a < b ? a : b; }\n", "INLINE float ls_min_f32(float a, float b) { return a < b ? a : b; }\n"},
    {"ls_max_f32", "INLINE float ls_max_f32(float a, float b) { return a > b ? a : b; }\n", "INLINE float ls_max_f32(float a, float b) { return a > b ? a : b; }\n"},
    {"ls_min_f64", "INLINE double ls_min_f64(double a, double b) { return a < b ? a : b; }\n", "INLINE double ls_min_f64(double a, double b) { return a < b ? a : b; }\n"},
    {"ls_max_f64", "INLINE double ls_max_f64(double a, double b) { return a > b ? a : b; }\n", "INLINE double ls_max_f64(double a, double b) { return a > b ? a : b; }\n"},
    {"ls_multiply_shift", "INLINE int ls_multiply_shift(int x, int y, int shift) { return (int)(((long long)x * y + (1ll << (shift - 1))) >> shift); }\n",
     "INLINE int ls_multiply_shift(int x, int y, int shift) { return (int)(((long)x * y + (1l << (shift - 1))) >> shift); }\n"},
    {"ls_bits_f32", "INLINE unsigned ls_bits_f32(float x) { return __float_as_uint(x); }\n", "INLINE unsigned ls_bits_f32(float x) { return as_uint(x); }\n"},
    {"ls_from_bits_f32", "INLINE float ls_from_bits_f32(unsigned x) { return __uint_as_float(x); }\n", "INLINE float ls_from_bits_f32(unsigned x) { return as_float(x); }\n"},
    {"ls_load_f16",
     "INLINE float ls_load_f16(unsigned short h) { float f; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h)); return f; }\n",
     "INLINE float ls_load_f16(ushort h) { return vload_half(0, (const half*)&h); }\n"},
    {"ls_store_f16",
     "INLINE unsigned short ls_store_f16(float f) { unsigned short h; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f)); return h; }\n",
     "INLINE ushort ls_store_f16(float f) { ushort h; vstore_half_rte(f, 0, (half*)&h); return h; }\n"},
    {"ls_round_f16", "INLINE float ls_round_f16(float f) { return ls_load_f16(ls_store_f16(f)); }\n", "INLINE float ls_round_f16(float f) { return ls_load_f16(ls_store_f16(f)); }\n",
     "ls_load_f16 ls_store_f16"},
    {"ls_load_bf16", "INLINE float ls_load_bf16(unsigned short h) { return ls_from_bits_f32((unsigned)h << 16); }\n",
     "INLINE float ls_load_bf16(ushort h) { return ls_from_bits_f32((unsigned)h << 16); }\n", "ls_from_bits_f32"},
    {"ls_store_bf16",
     "INLINE unsigned short ls_store_bf16(float f) {\n"
     "  unsigned u = ls_bits_f32(f);\n"
     "  return f != f ? 0x7fc0 : (unsigned short)((u + 0x7fff + ((u >> 16) & 1)) >> 16);\n"
     "}\n",
     "INLINE ushort ls_store_bf16(float f) {\n"
     "  unsigned u = ls_bits_f32(f);\n"
     "  return f != f ? (ushort)0x7fc0 : (ushort)((u + 0x7fff + ((u >> 16) & 1)) >> 16);\n"
     "}\n",
     "ls_bits_f32"},
    {"ls_round_bf16", "INLINE float ls_round_bf16(float f) { return ls_load_bf16(ls_store_bf16(f)); }\n", "INLINE float ls_round_bf16(float f) { return ls_load_bf16(ls_store_bf16(f)); }\n",
     "ls_load_bf16 ls_store_bf16"},
    {"ls_sigmoid_f32", "INLINE float ls_sigmoid_f32(float x) { return 1.0f / (1.0f + expf(-x)); }\n", "INLINE float ls_sigmoid_f32(float x) { return 1.0f / (1.0f + exp(-x)); }\n"},
    {"ls_sigmoid_f64", "INLINE double ls_sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }\n", "INLINE double ls_sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }\n"},
    {"ls_atomic_add_f32", "", ATOMIC_REAL("ls_atomic_add_f32", "__global")},
    {"ls_atomic_add_local_f32", "", ATOMIC_REAL("ls_atomic_add_local_f32", "__local")},
};

void collect(std::string_view name, std::set<std::string_view>& seen, std::vector<const PreludeFunction*>& out) {
  const PreludeFunction* found = find_prelude(name);
  if (found == nullptr || !seen.insert(found->name).second) { return; }
  std::string_view uses = found->uses;
  while (!uses.empty()) {
    size_t end = std::min(uses.find(' '), uses.size());
    collect(uses.substr(0, end), seen, out);
    uses.remove_prefix(std::min(end + 1, uses.size()));
  }
  out.push_back(found);
}

}  // namespace

auto dialect_of(SourceDialect dialect) -> const Dialect& { return dialect == SourceDialect::Cuda ? cuda : opencl; }

auto find_prelude(std::string_view name) -> const PreludeFunction* {
  const auto* found = std::find_if(std::begin(prelude), std::end(prelude), [&](const PreludeFunction& f) { return f.name == name; });
  return found == std::end(prelude) ? nullptr : found;
}

auto prelude_text(const std::vector<std::string>& names, SourceDialect dialect) -> std::string {
  std::set<std::string_view> seen;
  std::vector<const PreludeFunction*> functions;
  for (const std::string& name : names) { collect(name, seen, functions); }
  const bool is_cuda = dialect == SourceDialect::Cuda;
  std::string out;
  for (const PreludeFunction* f : functions) {
    std::string text(is_cuda ? f->cuda : f->opencl);
    for (size_t at = text.find("INLINE"); at != std::string::npos; at = text.find("INLINE", at + 6)) {
      text.replace(at, 6, is_cuda ? "static __device__ __forceinline__" : "static inline");
    }
    out += text;
  }
  return out;
}

}  // namespace loopsmith::codegen
