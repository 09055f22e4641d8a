// NVIDIA's libraries: see peers.h. Their interfaces are declared here.
// https://docs.nvidia.com/cuda/cublas, https://docs.nvidia.com/cuda/cuda-driver-api
#include "tests/bench/gpu/peers.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

namespace loopsmith::bench {
namespace {

using Handle = struct OpaqueBlas*;

/// A function of a library; null: the library or the function is missing.
template <class F>
auto find(void* library, const char* name) -> std::add_pointer_t<F> {
  return library != nullptr ? reinterpret_cast<std::add_pointer_t<F>>(dlsym(library, name)) : nullptr;
}

auto driver() -> void* {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library;
}
auto blas() -> void* {
  static void* const library = [] {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"}) {
      if (void* found = dlopen(name, RTLD_NOW | RTLD_LOCAL)) { return found; }
    }
    return static_cast<void*>(nullptr);
  }();
  return library;
}

/// The handle of this process; null: none.
auto handle() -> Handle {
  static const Handle made = [] {
    auto create = find<int(Handle*)>(blas(), "cublasCreate_v2");
    Handle out = nullptr;
    return create != nullptr && create(&out) == 0 ? out : nullptr;
  }();
  return made;
}

}  // namespace

auto cublas_in_words() -> std::string {
  auto version_of = find<int(Handle, int*)>(blas(), "cublasGetVersion_v2");
  int version = 0;
  if (handle() == nullptr || version_of == nullptr || version_of(handle(), &version) != 0) { return {}; }
  return fmt::format("cuBLAS {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

auto cublas_matmul(int64_t size, uint64_t a, uint64_t b, uint64_t c) -> std::function<void()> {
  using Gemm = int(Handle, int, int, int, int, int, const float*, uint64_t, int, uint64_t, int, const float*, uint64_t, int);
  auto gemm = find<Gemm>(blas(), "cublasSgemm_v2");
  if (handle() == nullptr || gemm == nullptr) { return {}; }
  const int n = static_cast<int>(size);
  // cuBLAS is column-major: there, C transposed is B transposed times A transposed.
  return [=] {
    const float one = 1, zero = 0;
    (void)gemm(handle(), 0, 0, n, n, n, &one, b, n, a, n, &zero, c, n);
  };
}

auto device_copy(uint64_t to, uint64_t from, uint64_t bytes) -> std::function<void()> {
  auto copy = find<int(uint64_t, uint64_t, size_t)>(driver(), "cuMemcpyDtoD_v2");
  if (copy == nullptr) { return {}; }
  return [=] { (void)copy(to, from, bytes); };
}

void wait_for_device() {
  static const auto wait = find<int()>(driver(), "cuCtxSynchronize");
  if (wait != nullptr) { (void)wait(); }
}

}  // namespace loopsmith::bench
