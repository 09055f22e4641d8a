// CUDA C on a processor: this text precedes the text of kernels. clang compiles both as C++ into a library that host_device.cpp loads.
//
// Includes nothing, like the text of kernels. Each thread of a block is a fibre of host_device.cpp; a barrier or a shuffle passes the
// processor to the next thread. Shared memory is a section of the library, so that it can be filled with garbage before each block.
//
// Functions of the prelude that are written in PTX are implemented here under the same names; host_device.cpp removes them from the text.
#pragma once

#define __global__ [[maybe_unused]]
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(N) __attribute__((aligned(N)))
#define __shared__ static __attribute__((section("kernel_shared")))

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
// Vectors of clang, whose addresses are multiples of their size.
#define HOST_VECTOR(T, N) T __attribute__((ext_vector_type(N)))
using float2 = HOST_VECTOR(float, 2);
using float4 = HOST_VECTOR(float, 4);
using int2 = HOST_VECTOR(int, 2);
using int4 = HOST_VECTOR(int, 4);
using uint2 = HOST_VECTOR(unsigned, 2);
using uint4 = HOST_VECTOR(unsigned, 4);
using double2 = HOST_VECTOR(double, 2);
using longlong2 = HOST_VECTOR(long long, 2);
using ulonglong2 = HOST_VECTOR(unsigned long long, 2);
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
inline longlong2 make_longlong2(long long x, long long y) { return {x, y}; }
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

/// Functions of host_device.cpp that kernels call. `kernel_bind` passes them once, after the library is loaded.
struct HostCalls {
  void (*wait_for_block)(int site);                                      // a __syncthreads at that place of the text
  /// Waits for the lanes of the mask, which pass eight bytes each; fills `all` with the bytes of all 32 lanes.
  void (*exchange)(unsigned mask, unsigned long long own, unsigned long long* all, int site);
  void (*fail)(const char* why);                                         // ends the kernel
  int (*lane)();
  void (*check_read_only)(const void* address, int bytes);               // fails where the kernel has written there
};
static HostCalls host_calls;
extern "C" {
uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
void kernel_bind(const HostCalls* calls) { host_calls = *calls; }
// Called by code that -fsanitize=array-bounds,alignment adds.
void __ubsan_handle_out_of_bounds_minimal() { host_calls.fail("an index lies outside of its array"); }
void __ubsan_handle_type_mismatch_minimal() { host_calls.fail("the address of a vector is not a multiple of its size"); }
float expf(float); float exp2f(float); float exp10f(float); float expm1f(float); float logf(float); float log2f(float); float log10f(float); float log1pf(float);
float sqrtf(float); float sinf(float); float cosf(float); float tanf(float); float asinf(float); float acosf(float); float atanf(float);
float sinhf(float); float coshf(float); float tanhf(float); float asinhf(float); float acoshf(float); float atanhf(float); float erff(float); float erfcf(float);
float cbrtf(float); float tgammaf(float); float lgammaf(float); float powf(float, float); float atan2f(float, float); float fmodf(float, float);
float hypotf(float, float); float nextafterf(float, float); float floorf(float); float ceilf(float); float truncf(float); float roundf(float); float rintf(float);
float fabsf(float); float copysignf(float, float); float fmaf(float, float, float); float ldexpf(float, int); float fminf(float, float); float fmaxf(float, float);
double exp(double); double exp2(double); double exp10(double); double expm1(double); double log(double); double log2(double); double log10(double); double log1p(double);
double sqrt(double); double sin(double); double cos(double); double tan(double); double asin(double); double acos(double); double atan(double);
double sinh(double); double cosh(double); double tanh(double); double asinh(double); double acosh(double); double atanh(double); double erf(double); double erfc(double);
double cbrt(double); double tgamma(double); double lgamma(double); double pow(double, double); double atan2(double, double); double fmod(double, double);
double hypot(double, double); double nextafter(double, double); double floor(double); double ceil(double); double trunc(double); double round(double); double rint(double);
double fabs(double); double copysign(double, double); double fma(double, double, double); double ldexp(double, int);
}
inline void __trap() { host_calls.fail("an assertion does not hold"); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
template <class T> T __ldg(const T* p) {
  host_calls.check_read_only(p, sizeof(T));
  return *p;
}
template <class T> T atomicAdd(T* p, T v) { T before = *p; *p = before + v; return before; }

#define __syncthreads() host_calls.wait_for_block(__LINE__)
#define __syncwarp(...) host_syncwarp(__LINE__ __VA_OPT__(, ) __VA_ARGS__)
inline void host_syncwarp(int site, unsigned mask = 0xffffffffu) {
  unsigned long long all[32];
  host_calls.exchange(mask, 0, all, site);
}
#define __threadfence()
#define __threadfence_block()

template <class T> unsigned long long host_bits(T v) {
  unsigned long long out = 0;
  __builtin_memcpy(&out, &v, sizeof v);
  return out;
}
template <class T> T host_value(unsigned long long bits) {
  T out;
  __builtin_memcpy(&out, &bits, sizeof out);
  return out;
}
/// The value of lane `from`, or the lane's own value if `from` is outside its segment of `width` lanes, as in the CUDA guide.
template <class T> T host_shuffle(unsigned mask, T v, int from, int width, int site) {
  unsigned long long all[32];
  host_calls.exchange(mask, host_bits(v), all, site);
  const int lane = host_calls.lane();
  return from / width == lane / width && from >= 0 && from < 32 ? host_value<T>(all[from]) : v;
}
#define __shfl_sync(mask, v, from, ...) host_shuffle_at(mask, v, from, __LINE__ __VA_OPT__(, ) __VA_ARGS__)
template <class T> T host_shuffle_at(unsigned mask, T v, int from, int site, int width = 32) {
  const int base = host_calls.lane() / width * width;
  return host_shuffle(mask, v, base + (from & (width - 1)), width, site);
}
#define __shfl_xor_sync(mask, v, with, ...) host_shuffle_xor(mask, v, with, __LINE__ __VA_OPT__(, ) __VA_ARGS__)
template <class T> T host_shuffle_xor(unsigned mask, T v, int with, int site, int width = 32) { return host_shuffle(mask, v, host_calls.lane() ^ with, width, site); }
#define __shfl_down_sync(mask, v, by, ...) host_shuffle_down(mask, v, by, __LINE__ __VA_OPT__(, ) __VA_ARGS__)
template <class T> T host_shuffle_down(unsigned mask, T v, unsigned by, int site, int width = 32) { return host_shuffle(mask, v, host_calls.lane() + static_cast<int>(by), width, site); }
#define __shfl_up_sync(mask, v, by, ...) host_shuffle_up(mask, v, by, __LINE__ __VA_OPT__(, ) __VA_ARGS__)
template <class T> T host_shuffle_up(unsigned mask, T v, unsigned by, int site, int width = 32) { return host_shuffle(mask, v, host_calls.lane() - static_cast<int>(by), width, site); }
#define __ballot_sync(mask, condition) host_ballot(mask, condition, __LINE__)
inline unsigned host_ballot(unsigned mask, int condition, int site) {
  unsigned long long all[32];
  host_calls.exchange(mask, condition != 0, all, site);
  unsigned out = 0;
  for (int lane = 0; lane < 32; ++lane) { out |= static_cast<unsigned>(((mask >> lane) & 1) != 0 && all[lane] != 0) << lane; }
  return out;
}
inline unsigned __activemask() { return 0xffffffffu; }

// Asynchronous copies happen as late as they may: when the thread waits for their group. A kernel that does not wait reads the old elements.
struct HostCopy {
  void* to;
  const void* from;
  int bytes, group;
};
struct HostCopies {
  HostCopy copies[256];
  int count, groups;
};
static HostCopies host_copies[1024];   // of each thread of the block
extern "C" void begin_block() { __builtin_memset(host_copies, 0, sizeof(HostCopies) * blockDim.x * blockDim.y * blockDim.z); }
inline HostCopies& host_copies_of_thread() { return host_copies[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)]; }
inline void host_wait(int open) {
  HostCopies& own = host_copies_of_thread();
  int kept = 0;
  for (int i = 0; i < own.count; ++i) {
    const HostCopy& c = own.copies[i];
    if (c.group >= own.groups - open) {
      own.copies[kept++] = c;
    } else if (c.from != nullptr) {
      __builtin_memcpy(c.to, c.from, static_cast<unsigned long>(c.bytes));
    } else {
      __builtin_memset(c.to, 0, static_cast<unsigned long>(c.bytes));
    }
  }
  own.count = kept;
}
inline void host_copy(void* to, const void* from, int bytes, bool is_taken) {
  HostCopies& own = host_copies_of_thread();
  const auto address = reinterpret_cast<unsigned long long>(to) | (is_taken ? reinterpret_cast<unsigned long long>(from) : 0);
  if (address % static_cast<unsigned>(bytes) != 0) { host_calls.fail("the address of an asynchronous copy is not a multiple of its size"); }
  if (own.count == 256) { host_calls.fail("a thread has more than 256 asynchronous copies open"); }
  own.copies[own.count++] = {to, is_taken ? from : nullptr, bytes, own.groups};
}
inline void ls_cp_async_4(void* to, const void* from, bool is_taken) { host_copy(to, from, 4, is_taken); }
inline void ls_cp_async_8(void* to, const void* from, bool is_taken) { host_copy(to, from, 8, is_taken); }
inline void ls_cp_async_16(void* to, const void* from, bool is_taken) { host_copy(to, from, 16, is_taken); }
inline void ls_cp_async_commit() { ++host_copies_of_thread().groups; }
inline void ls_cp_async_wait_0() { host_wait(0); }
inline void ls_cp_async_wait_1() { host_wait(1); }
inline void ls_cp_async_wait_2() { host_wait(2); }
inline void ls_cp_async_wait_3() { host_wait(3); }
inline void ls_cp_async_wait_4() { host_wait(4); }
inline void ls_cp_async_wait_5() { host_wait(5); }
inline void ls_cp_async_wait_6() { host_wait(6); }
inline void ls_cp_async_wait_7() { host_wait(7); }

// Other functions of the prelude that are PTX in CUDA C.
inline float ls_load_f16(unsigned short h) { return static_cast<float>(__builtin_bit_cast(_Float16, h)); }
inline unsigned short ls_store_f16(float f) { return __builtin_bit_cast(unsigned short, static_cast<_Float16>(f)); }

template <int... I> struct HostIndices {};
template <class Int, Int... I> using HostIndicesOf = HostIndices<I...>;
template <class... A, int... I> void host_call(void (*kernel)(A...), void** arguments, HostIndices<I...>) {
  kernel(*static_cast<__remove_cv(A)*>(arguments[I])...);
}
/// Calls a kernel with its arguments, each given by a pointer.
template <class... A> void host_call(void (*kernel)(A...), void** arguments) { host_call(kernel, arguments, __make_integer_seq<HostIndicesOf, int, sizeof...(A)>{}); }
