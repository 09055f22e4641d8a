// The table of kernels: see table.h.
#include "tests/bench/cpu/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "ir/reals.h"
#include "runtime/jit.h"
#include "runtime/peaks.h"
#include "runtime/threads.h"
#include "support/codes.h"
#include "target/hardware.h"
#include "tests/bench/cpu/peers.h"
#include "tests/bench/cpu/programs.h"
#include "tests/bench/cpu/race.h"
#include "tests/support/paths.h"
#include "transform/pipelines.h"

namespace loopsmith::bench {
namespace {

using runtime::Arguments;
using runtime::JitModule;

const std::string matmul_file = tests::source_folder() + "/examples/matmul_1024.tir";
const std::string kernels = tests::source_folder() + "/tests/bench/cpu/kernels/";

auto target_with(int threads) -> target::Target {
  target::Target out = target::host();
  out.cores = threads;
  return out;
}

auto scheduled(const std::string& path, std::string_view version) -> Result<IRModule> {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  LOOPSMITH_TRY(programs, programs_of(text.str()));
  for (const Program& program : programs) {
    for (const Version& v : program.versions) {
      if (v.name == version) { return v.module; }
    }
  }
  return error(Code::Internal).arg("what", fmt::format("{} has no schedule {}", path, version));
}

/// A compiled kernel and tensors for it.
struct Kernel {
  JitModule code;
  Arguments arguments;
  std::vector<codegen::Argument> slots;
  int threads;

  void run() {
    runtime::ThreadsScope scope(threads);
    (void)runtime::invoke(code.functions().front(), slots);
  }
};

auto kernel(const std::string& path, std::string_view version, int threads) -> Result<std::unique_ptr<Kernel>> {
  LOOPSMITH_TRY(module, scheduled(path, version));
  LOOPSMITH_TRY(flat, transform::lower(module));
  LOOPSMITH_TRY(code, JitModule::compile(flat, target_with(threads), {}, module));
  LOOPSMITH_TRY(arguments, runtime::make_arguments(code.functions().front().interface, {}, 1, runtime::Fill::SmallIntegers));
  LOOPSMITH_TRY(slots, runtime::bind_arguments(code.functions().front().interface, arguments.values));
  return std::make_unique<Kernel>(Kernel{std::move(code), std::move(arguments), std::move(slots), threads});
}

/// memcpy of half the footprint to the other half, in as many parts as threads.
struct Copy {
  std::vector<char> from, to;
  int threads;
  Copy(uint64_t footprint, int count) : from(footprint / 2, 1), to(footprint / 2, 2), threads(count) {}
  void run() {
    runtime::ThreadsScope scope(threads);
    auto part = [](void* self, int64_t begin, int64_t end) -> int32_t {
      auto* copy = static_cast<Copy*>(self);
      size_t size = copy->from.size() / static_cast<size_t>(copy->threads);
      std::memcpy(copy->to.data() + size * static_cast<size_t>(begin), copy->from.data() + size * static_cast<size_t>(begin),
                  size * static_cast<size_t>(end - begin));
      return 0;
    };
    (void)loopsmith_parallel(part, this, 0, threads);
  }
};

/// Checks some rows of a product of bytes or bfloat16, with small integers, against the layouts of the files.
auto narrow_rows_agree(std::vector<runtime::Tensor>& tensors) -> bool {
  constexpr size_t n = 1024;
  const bool is_bytes = tensors[0].dtype().bits == 8;
  const size_t group = is_bytes ? 4 : 2;   // adjacent elements in a column of B
  auto a = [&](size_t at) -> int64_t { return is_bytes ? tensors[0].as<uint8_t>()[at] : static_cast<int64_t>(from_bits(DataType::bfloat16(), tensors[0].as<uint16_t>()[at])); };
  auto b = [&](size_t at) -> int64_t { return is_bytes ? tensors[1].as<int8_t>()[at] : static_cast<int64_t>(from_bits(DataType::bfloat16(), tensors[1].as<uint16_t>()[at])); };
  for (size_t i : {size_t{0}, size_t{517}, n - 1}) {
    for (size_t j = 0; j < n; ++j) {
      int64_t sum = 0;
      for (size_t k = 0; k < n; ++k) { sum += a(i * n + k) * b(((j / 16 * (n / group) + k / group) * 16 + j % 16) * group + k % group); }
      if (is_bytes ? tensors[2].as<int32_t>()[i * n + j] != sum : tensors[2].as<float>()[i * n + j] != static_cast<float>(sum)) { return false; }
    }
  }
  return true;
}

struct Table {
  std::string word;
  runtime::Peaks peaks;

  [[nodiscard]] auto wanted(const std::string& name) const -> bool { return name.find(word) != std::string::npos; }

  /// Prints a line of the table: our rate and the peers' in 1e9 units of `work` per second, and their share of the peak.
  static void line(const std::string& name, int threads, const std::vector<Racer>& racers, double work, const char* unit, double peak) {
    double ours = racers[0].seconds();
    std::string peers;
    for (size_t i = 1; i < racers.size(); ++i) {
      peers += fmt::format("   {} {:.1f}, ratio {:.2f}", racers[i].name, work / racers[i].seconds() * 1e-9, racers[i].seconds() / ours);
    }
    std::string share = peak > 0 ? fmt::format("{:4.0f}% of peak", work / ours * 1e-7 / peak) : std::string();
    fmt::print("{:<28} {} thread{} {:8.1f} {:<9}{:<14}{}\n", name, threads, threads == 1 ? " " : "s", work / ours * 1e-9, unit, share, peers);
    std::fflush(stdout);
  }

  auto matmul(const std::string& version, int threads) -> Status {
    std::string name = "f32 matmul 1024";
    if (!wanted(name)) { return ok(); }
    LOOPSMITH_TRY(ours, kernel(matmul_file, version, threads));
    auto& tensors = ours->arguments.tensors;
    std::vector<Racer> racers = {{"ours", [&] { ours->run(); }, {}}};
    LOOPSMITH_TRY(theirs, runtime::Tensor::zeros(DataType::float_(32), {1024, 1024}));
    if (auto run = openblas_matmul(1024, tensors[0].as<float>().data(), tensors[1].as<float>().data(), theirs.as<float>().data(), threads)) {
      racers.push_back({"OpenBLAS", run, {}});
      run();
      ours->run();
      if (!runtime::compare(tensors[2], theirs, 0, 0).agrees()) { return error(Code::Internal).arg("what", name + " gives other results than OpenBLAS"); }
    }
    race(racers);
    line(name, threads, racers, 2.0 * 1024 * 1024 * 1024, "GFLOP/s", threads == 1 ? peaks.fma_f32_one : peaks.fma_f32_all);
    return ok();
  }

  /// A product in a type that needs special instructions, compared with the product in float32.
  auto narrow_matmul(const std::string& type, const std::string& version, const char* unit, const std::string& f32_version, int threads) -> Status {
    std::string name = type + " matmul 1024";
    if (!wanted(name)) { return ok(); }
    LOOPSMITH_TRY(ours, kernel(fmt::format("{}{}.tir", kernels, type), version, threads));
    ours->run();
    if (!narrow_rows_agree(ours->arguments.tensors)) { return error(Code::Internal).arg("what", name + " gives wrong results"); }
    LOOPSMITH_TRY(wide, kernel(matmul_file, f32_version, threads));
    std::vector<Racer> racers = {{"ours", [&] { ours->run(); }, {}}, {"f32", [&] { wide->run(); }, {}}};
    if (auto run = onednn_matmul(type, 1024, threads)) { racers.push_back({"oneDNN", run, {}}); }
    race(racers);
    line(name, threads, racers, 2.0 * 1024 * 1024 * 1024, unit, 0);
    return ok();
  }

  void left_out(const std::string& name, const char* why) const {
    if (wanted(name)) { fmt::print("{:<28} not measured: {}\n", name, why); }
  }

  /// Compiles a scheduled program.
  auto compiling(const std::string& path, const std::string& version) -> Status {
    std::string name = "compile " + version;
    if (!wanted(name)) { return ok(); }
    LOOPSMITH_TRY(module, scheduled(path, version));
    LOOPSMITH_TRY(flat, transform::lower(module));
    target::Target target = target_with(1);
    std::vector<Racer> racers = {{"lowering", [&] { (void)transform::lower(module); }, {}}, {"code", [&] { (void)JitModule::compile(flat, target, {}, module); }, {}}};
    race(racers, 3);
    fmt::print("{:<28} {:8.2f} ms to callable code: lowering {:.2f}, LLVM and linking {:.2f}\n", name, (racers[0].seconds() + racers[1].seconds()) * 1e3, racers[0].seconds() * 1e3, racers[1].seconds() * 1e3);
    std::fflush(stdout);
    return ok();
  }

  auto conv(int64_t channels, int64_t size, int threads) -> Status {
    std::string name = fmt::format("f32 conv 3x3 {}x{}x{}", size, size, channels);
    if (!wanted(name)) { return ok(); }
    // The rows of an image can occupy only a few threads.
    const bool by_rows = size >= 14 && threads <= 2;
    LOOPSMITH_TRY(ours, kernel(kernels + "conv2d.tir", fmt::format("conv_{}_{}", size, by_rows ? "rows" : "tiled"), threads));
    std::vector<Racer> racers = {{"ours", [&] { ours->run(); }, {}}};
    if (auto run = onednn_conv3x3(channels, size, threads)) { racers.push_back({"oneDNN", run, {}}); }
    race(racers);
    line(name, threads, racers, 2.0 * 9 * static_cast<double>(channels * channels * size * size), "GFLOP/s",
         threads == 1 ? peaks.fma_f32_one : peaks.fma_f32_all);
    return ok();
  }

  auto streaming(const std::string& kind, const std::string& footprint, uint64_t bytes, const std::string& version, int threads) -> Status {
    std::string name = fmt::format("f32 {}, {}", kind, footprint);
    if (!wanted(name)) { return ok(); }
    LOOPSMITH_TRY(ours, kernel(fmt::format("{}{}.tir", kernels, kind == "exp" ? "softmax" : kind), version, threads));
    Copy copy(bytes, threads);
    std::vector<Racer> racers = {{"ours", [&] { ours->run(); }, {}}, {"memcpy", [&] { copy.run(); }, {}}};
    if (kind == "softmax") {
      if (auto run = onednn_softmax(static_cast<int64_t>(bytes / 8192), threads)) { racers.push_back({"oneDNN", run, {}}); }
    }
    race(racers);
    line(name, threads, racers, static_cast<double>(bytes), "GB/s", 0);
    return ok();
  }
};

}  // namespace

auto table(std::string_view word) -> Status {
  target::Hardware has = target::hardware(target::host());
  fmt::print("{}; {}\n{}\n", has.name, target::host().str(), peers_in_words());
  Table out{std::string(word), {}};
  LOOPSMITH_TRY(measured, runtime::measure_peaks());
  out.peaks = measured;
  fmt::print("multiply-adds, f32: {:.1f} GFLOP/s on one thread, {:.1f} on {}\n\n", measured.fma_f32_one, measured.fma_f32_all, measured.threads);
  std::vector<int> threads = {1};
  if (has.cores > 1) { threads.push_back(has.cores); }
  const std::string f32_tile = has.avx512 ? "tile_4_by_64" : "tile_6_by_16";
  for (int count : threads) { LOOPSMITH_CHECK(out.matmul(f32_tile, count)); }
  if (has.amx_int8 || (has.vnni && has.avx512)) {
    for (int count : threads) { LOOPSMITH_CHECK(out.narrow_matmul("int8", has.amx_int8 ? "amx" : "vnni", "GOP/s", f32_tile, count)); }
  } else {
    out.left_out("int8 matmul 1024", "this processor has no tiles (AMX) and no dot products of bytes in 512 bits (VNNI)");
  }
  if (has.amx_bf16 || has.avx512_bf16) {
    for (int count : threads) { LOOPSMITH_CHECK(out.narrow_matmul("bf16", has.amx_bf16 ? "amx" : "pairs", "GFLOP/s", f32_tile, count)); }
  } else {
    out.left_out("bf16 matmul 1024", "this processor has no tiles and no dot products of bfloat16 (AMX, AVX512-BF16)");
  }
  for (auto [channels, size] : {std::pair{64, 56}, {128, 28}, {256, 14}, {512, 7}}) {
    for (int count : threads) { LOOPSMITH_CHECK(out.conv(channels, size, count)); }
  }
  LOOPSMITH_CHECK(out.streaming("exp", "32k", uint64_t(32) << 10U, "exp_32k_rows", 1));
  for (auto [footprint, bytes] : {std::pair{"256k", uint64_t(256) << 10U}, {"8m", uint64_t(8) << 20U}, {"64m", uint64_t(64) << 20U}}) {
    for (int count : threads) {
      LOOPSMITH_CHECK(out.streaming("elementwise", footprint, bytes, fmt::format("relu_{}_streamed", footprint), count));
      LOOPSMITH_CHECK(out.streaming("softmax", footprint, bytes, fmt::format("softmax_{}_rows", footprint), count));
    }
  }
  LOOPSMITH_CHECK(out.compiling(matmul_file, f32_tile));
  LOOPSMITH_CHECK(out.compiling(kernels + "conv2d.tir", "conv_56_tiled"));
  LOOPSMITH_CHECK(out.compiling(kernels + "softmax.tir", "softmax_8m_rows"));
  return ok();
}

}  // namespace loopsmith::bench
