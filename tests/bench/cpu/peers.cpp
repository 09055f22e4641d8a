// Other libraries: see peers.h.
#include "tests/bench/cpu/peers.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "target/hardware.h"

#ifdef LOOPSMITH_OPENBLAS
extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
                 float beta, float* c, int ldc);
void openblas_set_num_threads(int count);
char* openblas_get_config();
char* openblas_get_corename();
}
#endif
#ifdef LOOPSMITH_ONEDNN
#include <dlfcn.h>
#include <dnnl.hpp>
#endif

namespace loopsmith::bench {

auto peers_in_words() -> std::string {
  std::string out;
#ifdef LOOPSMITH_OPENBLAS
  out = openblas_get_config();
#else
  out = "no OpenBLAS";
#endif
#ifdef LOOPSMITH_ONEDNN
  const dnnl_version_t* version = dnnl_version();
  out += fmt::format("; oneDNN {}.{}.{}", version->major, version->minor, version->patch);
#else
  out += "; no oneDNN";
#endif
  return out;
}

void use_best_kernels_of_openblas([[maybe_unused]] char** argv) {
#ifdef LOOPSMITH_OPENBLAS
  constexpr const char* again = "LOOPSMITH_OPENBLAS_CHOSEN";
  if (std::getenv(again) != nullptr) { return; }
  setenv(again, "1", 1);
  std::string_view core = openblas_get_corename();
  bool wide = core == "SkylakeX" || core == "Cooperlake" || core == "SapphireRapids";
  if (target::hardware(target::host()).vector_bits >= 512 && !wide) {
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
  } else if (std::getenv("OPENBLAS_L2_SIZE") == nullptr) {
    return;
  }
  unsetenv("OPENBLAS_L2_SIZE");
  execv("/proc/self/exe", argv);
#endif
}

auto openblas_matmul([[maybe_unused]] int64_t size, [[maybe_unused]] const float* a, [[maybe_unused]] const float* b, [[maybe_unused]] float* c,
                     [[maybe_unused]] int threads) -> std::function<void()> {
#ifdef LOOPSMITH_OPENBLAS
  return [=] {
    openblas_set_num_threads(threads);
    int n = static_cast<int>(size);
    cblas_sgemm(101, 111, 111, n, n, n, 1.0F, a, n, b, n, 0.0F, c, n);
  };
#else
  return {};
#endif
}

#ifdef LOOPSMITH_ONEDNN
namespace {

/// Sets the threads of the OpenMP library that oneDNN uses.
void set_threads(int count) {
  static auto* set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set != nullptr) { set(count); }
}

struct Work {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;

  void argument(int which, const dnnl::memory::desc& layout) {
    dnnl::memory memory(layout, engine);
    std::memset(memory.get_data_handle(), 0, layout.get_size());
    arguments.emplace(which, memory);
  }
};

auto run_on(std::shared_ptr<Work> work, int threads) -> std::function<void()> {
  return [work = std::move(work), threads] {
    set_threads(threads);
    work->primitive.execute(work->stream, work->arguments);
    work->stream.wait();
  };
}

}  // namespace
#endif

auto onednn_conv3x3([[maybe_unused]] int64_t channels, [[maybe_unused]] int64_t size, [[maybe_unused]] int threads) -> std::function<void()> {
#ifdef LOOPSMITH_ONEDNN
  using dnnl::memory;
  set_threads(threads);
  auto work = std::make_shared<Work>();
  auto any = [](memory::dims dims) { return memory::desc(std::move(dims), memory::data_type::f32, memory::format_tag::any); };
  memory::desc data = any({1, channels, size, size});
  memory::desc weight = any({channels, channels, 3, 3});
  const memory::dims one = {1, 1};
#if DNNL_VERSION_MAJOR >= 3
  dnnl::convolution_forward::primitive_desc chosen(work->engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, data,
                                                   weight, data, one, one, one);
#else
  dnnl::convolution_forward::primitive_desc chosen(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, data, weight, data, one, one, one),
      work->engine);
#endif
  work->primitive = dnnl::convolution_forward(chosen);
  work->argument(DNNL_ARG_SRC, chosen.src_desc());
  work->argument(DNNL_ARG_WEIGHTS, chosen.weights_desc());
  work->argument(DNNL_ARG_DST, chosen.dst_desc());
  return run_on(std::move(work), threads);
#else
  return {};
#endif
}

auto onednn_matmul([[maybe_unused]] const std::string& type, [[maybe_unused]] int64_t size, [[maybe_unused]] int threads) -> std::function<void()> {
#ifdef LOOPSMITH_ONEDNN
  using dnnl::memory;
  set_threads(threads);
  auto work = std::make_shared<Work>();
  bool whole = type == "int8";
  memory::dims dims = {size, size};
  memory::desc a(dims, whole ? memory::data_type::u8 : memory::data_type::bf16, memory::format_tag::ab);
  memory::desc b(dims, whole ? memory::data_type::s8 : memory::data_type::bf16, memory::format_tag::any);
  memory::desc c(dims, whole ? memory::data_type::s32 : memory::data_type::f32, memory::format_tag::ab);
#if DNNL_VERSION_MAJOR >= 3
  dnnl::matmul::primitive_desc chosen(work->engine, a, b, c);
#else
  dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, b, c), work->engine);
#endif
  work->primitive = dnnl::matmul(chosen);
  work->argument(DNNL_ARG_SRC, chosen.src_desc());
  work->argument(DNNL_ARG_WEIGHTS, chosen.weights_desc());
  work->argument(DNNL_ARG_DST, chosen.dst_desc());
  return run_on(std::move(work), threads);
#else
  return {};
#endif
}

auto onednn_softmax([[maybe_unused]] int64_t rows, [[maybe_unused]] int threads) -> std::function<void()> {
#ifdef LOOPSMITH_ONEDNN
  using dnnl::memory;
  set_threads(threads);
  auto work = std::make_shared<Work>();
  memory::desc data({rows, 1024}, memory::data_type::f32, memory::format_tag::ab);
#if DNNL_VERSION_MAJOR >= 3
  dnnl::softmax_forward::primitive_desc chosen(work->engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, data, data, 1);
#else
  dnnl::softmax_forward::primitive_desc chosen(dnnl::softmax_forward::desc(dnnl::prop_kind::forward_inference, data, 1), work->engine);
#endif
  work->primitive = dnnl::softmax_forward(chosen);
  work->argument(DNNL_ARG_SRC, chosen.src_desc());
  work->argument(DNNL_ARG_DST, chosen.dst_desc());
  return run_on(std::move(work), threads);
#else
  return {};
#endif
}

}  // namespace loopsmith::bench
