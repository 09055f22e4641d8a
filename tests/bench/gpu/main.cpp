// The speed of kernels on NVIDIA's GPUs, compared with cuBLAS and with copies on the device in the same run.
//
//     bench_gpu [WORD] [--kernels DIR]     the table; only schedules whose name or program contains WORD
//
// The programs and schedules are those of kernels/*.tir. A turn is a series of calls that takes 20 ms at least; kernel and peer are timed in turns, and the figure is
// the median of seven. Results are compared first: a product with that of cuBLAS, rows with sums in float64.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/devices/program.h"
#include "runtime/jit.h"
#include "support/codes.h"
#include "tests/bench/cpu/programs.h"
#include "tests/bench/gpu/peers.h"
#include "tests/support/paths.h"
#include "transform/pipelines.h"

using namespace loopsmith;

namespace {

struct Subject {
  std::string name;
  std::function<void()> start;      // of one call
  int64_t calls = 1;                // of a turn
  std::vector<double> turns = {};   // seconds of a call

  auto time(int64_t count) const -> double {
    using Clock = std::chrono::steady_clock;
    bench::wait_for_device();
    const auto begin = Clock::now();
    for (int64_t i = 0; i < count; ++i) { start(); }
    bench::wait_for_device();
    return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(count);
  }
  [[nodiscard]] auto seconds() const -> double {
    std::vector<double> sorted = turns;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
  }
};

void race(std::vector<Subject>& subjects) {
  for (Subject& s : subjects) {
    (void)s.time(3);
    s.calls = std::max<int64_t>(1, static_cast<int64_t>(20e-3 / std::max(s.time(5), 1e-6)));
  }
  for (int turn = 0; turn < 7; ++turn) {
    for (Subject& s : subjects) { s.turns.push_back(s.time(s.calls)); }
  }
}

/// One schedule of a program, compiled, with its arguments on the device.
struct Kernel {
  std::string name;
  std::vector<runtime::Tensor> tensors;
  std::shared_ptr<runtime::DeviceProgram> program;
  std::shared_ptr<runtime::DeviceCall> call;
};

auto prepare(const bench::Version& version) -> Result<Kernel> {
  Kernel out{.name = version.name, .tensors = {}, .program = nullptr, .call = nullptr};
  LOOPSMITH_TRY(opened, runtime::open_cuda());
  std::shared_ptr<runtime::Device> device = std::move(opened);
  LOOPSMITH_TRY(lowered, transform::lower(version.module, {}, {.target_kind = "cuda", .until = {}, .on_stage = {}}));
  LOOPSMITH_TRY(program, runtime::DeviceProgram::compile(lowered, device, version.module));
  out.program = std::make_shared<runtime::DeviceProgram>(std::move(program));
  LOOPSMITH_TRY(interface, out.program->interface(""));
  LOOPSMITH_TRY(arguments, runtime::make_arguments(interface, {}, 1, runtime::Fill::Normal));
  LOOPSMITH_TRY(call, out.program->prepare("", arguments.values));
  out.tensors = std::move(arguments.tensors);
  out.call = std::make_shared<runtime::DeviceCall>(std::move(call));
  return out;
}

/// The largest difference of two tensors, as a part of the largest value.
auto distance(std::span<const float> a, std::span<const float> b) -> double {
  double most = 0, largest = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
  }
  return most / largest;
}

auto row_of(std::string_view program, std::span<const float> x, std::span<const float> scale) -> std::vector<float> {
  std::vector<float> out(x.size());
  if (program.starts_with("softmax")) {
    double largest = -INFINITY, total = 0;
    for (float v : x) { largest = std::max(largest, static_cast<double>(v)); }
    for (float v : x) { total += std::exp(v - largest); }
    for (size_t i = 0; i < x.size(); ++i) { out[i] = static_cast<float>(std::exp(x[i] - largest) / total); }
    return out;
  }
  double squares = 0;
  for (float v : x) { squares += static_cast<double>(v) * v; }
  const double factor = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-6);
  for (size_t i = 0; i < x.size(); ++i) { out[i] = static_cast<float>(x[i] * factor * scale[i]); }
  return out;
}

/// Device memory with the contents of a tensor, or of its size.
auto on_device(runtime::Device& device, const runtime::Tensor& t) -> Result<runtime::DeviceMemory> {
  LOOPSMITH_TRY(made, device.allocate(t.bytes()));
  LOOPSMITH_CHECK(device.write(made, t.data(), t.bytes()));
  return made;
}

/// Measures one schedule beside its peer, and prints a line.
auto measure(const bench::Program& program, const bench::Version& version) -> Status {
  LOOPSMITH_TRY(kernel, prepare(version));
  runtime::Device& device = kernel.program->device();
  LOOPSMITH_CHECK(kernel.call->run());
  LOOPSMITH_CHECK(kernel.call->read_back());
  std::vector<Subject> subjects{{kernel.name, [&] { (void)kernel.call->run(); }}};
  const bool is_product = program.name.starts_with("matmul");
  const runtime::Tensor& first = kernel.tensors.front();
  const runtime::Tensor& result = kernel.tensors.back();
  const int64_t rows = first.shape()[0], columns = first.shape()[1];
  std::vector<runtime::DeviceMemory> memory;
  double error = 0;
  if (is_product) {
    for (const runtime::Tensor& t : kernel.tensors) {
      LOOPSMITH_TRY(made, on_device(device, t));
      memory.push_back(made);
    }
    LOOPSMITH_TRY(expected, result.copy());
    if (auto peer = bench::cublas_matmul(rows, memory[0].handle, memory[1].handle, memory[2].handle)) {
      peer();
      bench::wait_for_device();
      LOOPSMITH_CHECK(device.read(expected.data(), memory[2], expected.bytes()));
      error = distance(result.as<float>(), expected.as<float>());
      subjects.push_back({bench::cublas_in_words(), std::move(peer)});
    }
  } else {
    for (int i = 0; i < 2; ++i) {
      LOOPSMITH_TRY(made, on_device(device, result));
      memory.push_back(made);
    }
    for (int64_t row : {int64_t{0}, rows / 3, rows - 1}) {
      const auto at = static_cast<size_t>(row * columns), count = static_cast<size_t>(columns);
      const std::vector<float> expected = row_of(program.name, first.as<float>().subspan(at, count), kernel.tensors[1].as<float>());
      error = std::max(error, distance(result.as<float>().subspan(at, count), expected));
    }
    if (auto peer = bench::device_copy(memory[0].handle, memory[1].handle, result.bytes())) { subjects.push_back({"copy", std::move(peer)}); }
  }
  race(subjects);
  const double work = is_product ? 2.0 * static_cast<double>(rows) * static_cast<double>(rows) * static_cast<double>(rows) : 2.0 * static_cast<double>(result.bytes());
  std::string line = fmt::format("{:<16} {:<24}", program.name, kernel.name);
  for (const Subject& s : subjects) { line += fmt::format("  {:>9.1f} us {:>8.1f} {}", s.seconds() * 1e6, work / s.seconds() * (is_product ? 1e-12 : 1e-9), is_product ? "TFLOP/s" : "GB/s"); }
  if (subjects.size() > 1) { line += fmt::format("  {:.2f} of {}", subjects[1].seconds() / subjects[0].seconds(), subjects[1].name); }
  fmt::print("{}  error {:.1e}\n", line, error);
  std::fflush(stdout);
  for (const runtime::DeviceMemory& m : memory) { device.release(m); }
  if (error > 1e-4) { return loopsmith::error(Code::DeviceFailed).arg("device", device.facts().name).arg("action", "compute `" + program.name + "`").arg("driver_message", "the results differ"); }
  return ok();
}

}  // namespace

int main(int argc, char** argv) {
  std::string word, folder = tests::source_folder() + "/tests/bench/gpu/kernels";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--kernels" && i + 1 < argc) { folder = argv[++i]; } else { word = argv[i]; }
  }
  auto device = runtime::open_cuda();
  if (!device) {
    fmt::print(stderr, "bench_gpu: {}\n", device.diagnostics()[0].message());
    return 3;
  }
  fmt::print("{}, {}, {}\n", (*device)->facts().name, (*device)->facts().driver, bench::cublas_in_words());
  int failures = 0;
  for (const char* file : {"matmul.tir", "rows.tir"}) {
    std::ifstream in(folder + "/" + file);
    std::stringstream text;
    text << in.rdbuf();
    auto programs = bench::programs_of(text.str());
    if (!programs) {
      fmt::print(stderr, "bench_gpu: {}: {}\n", file, programs.diagnostics()[0].message());
      return 1;
    }
    for (const bench::Program& program : *programs) {
      for (size_t v = 1; v < program.versions.size(); ++v) {
        const bench::Version& version = program.versions[v];
        if (program.name.find(word) == std::string::npos && version.name.find(word) == std::string::npos) { continue; }
        if (auto status = measure(program, version); !status) {
          fmt::print("{} {}: {}\n", program.name, version.name, status.diagnostics()[0].message());
          ++failures;
        }
      }
    }
  }
  return failures == 0 ? 0 : 1;
}
