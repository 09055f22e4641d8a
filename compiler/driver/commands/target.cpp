// `loopsmith target list|show [T]`: lists the known targets, or shows the hardware of one.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codegen/llvm/codegen.h"
#include "driver/command.h"
#include "driver/device.h"
#include "driver/program.h"
#include "ir/vocabulary.h"
#include "runtime/devices/nvrtc.h"
#include "runtime/peaks.h"
#include "support/process.h"
#include "support/text.h"
#include "target/gpu.h"
#include "target/hardware.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "target",
    .arguments = "list | show [T]",
    .summary = "Lists targets, or shows the hardware of one: cores, caches, vector and matrix units, and the peaks of this machine.",
    .details = "The peaks of this machine (multiply-adds, copies) are measured in about two seconds, and kept. Those of a busy machine are measured\n"
               "again the next time, and the best of all measurements counts.",
    .options = {{.name = "--measure", .help = "measures the peaks again, and forgets the former ones"}, json_option},
    .reads_files = false,
    .examples = {{"loopsmith target show", "this machine"}, {"loopsmith target show \"llvm -mcpu=znver4 -num-cores=8\"", "another machine, by its name"}},
    .least = 1,
    .most = 2,
};

struct Known { const char* text; const char* what; };
constexpr Known known[] = {
    {"llvm", "this machine"},
    {"llvm -mcpu=x86-64-v2", "any x86 since 2009: SSE 4.2"},
    {"llvm -mcpu=x86-64-v3", "x86 with AVX2 and FMA: Haswell, Zen and later"},
    {"llvm -mcpu=x86-64-v4", "x86 with AVX-512"},
    {"llvm -mcpu=znver4", "AMD Zen 4: AVX-512, VNNI, bf16"},
    {"llvm -mcpu=sapphirerapids", "Intel Sapphire Rapids: AVX-512, VNNI, AMX"},
    {"llvm -mtriple=aarch64-linux-gnu", "any 64-bit ARM: NEON"},
    {"llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1", "ARM Neoverse V1, as in Graviton 3"},
    {"llvm -mtriple=aarch64-apple-darwin -mcpu=apple-m1", "Apple M1"},
    {"llvm -mtriple=riscv64-linux-gnu", "64-bit RISC-V with multiplication, doubles and compressed code (RV64GC)"},
    {"llvm -mtriple=wasm32-unknown-unknown", "WebAssembly, 32 bit"},
    {"cuda -arch=sm_75", "NVIDIA Turing: T4, RTX 2080"},
    {"cuda -arch=sm_80", "NVIDIA Ampere: A100, A30"},
    {"cuda -arch=sm_86", "NVIDIA Ampere: A10, A40, RTX 3090"},
    {"cuda -arch=sm_89", "NVIDIA Ada Lovelace: L4, L40, RTX 4090"},
    {"cuda -arch=sm_90a", "NVIDIA Hopper: H100, H200"},
    {"cuda -arch=sm_100a", "NVIDIA Blackwell: B200"},
    {"cuda -arch=sm_120a", "NVIDIA Blackwell: RTX 5090"},
    {"opencl", "the first device of OpenCL: a GPU, or the processor by PoCL"},
    {"rocm -mcpu=gfx90a", "AMD MI200; code is emitted, and not run here"},
};

auto cache_text(uint64_t bytes) -> std::string { return bytes == 0 ? "not known" : bytes_text(static_cast<double>(bytes)); }

auto list(const Arguments& arguments) -> int {
  for (const Known& one : known) {
    auto target = target::parse(one.text);
    // Every build can print kernels for CUDA and OpenCL as text.
    bool usable = target.ok() && (is_gpu_target(target->kind) && target->kind != target_kind::rocm && target->kind != target_kind::nvptx ? true : codegen::check_target(*target).ok());
    if (arguments.json()) {
      fmt::print("{}\n", nlohmann::json({{"target", one.text}, {"what", one.what}, {"usable", usable}}).dump());
    } else {
      fmt::print("{:<52} {}{}\n", one.text, one.what, usable ? "" : "  (not in this build)");
    }
  }
  return exit_done;
}

void row(std::string_view what, const std::string& value) { fmt::print("{:<10} {}\n", what, value); }

/// The first device of a kind of target. A separate process describes it, because a driver may crash.
auto device_text(const std::string& kind) -> std::string {
  ProcessOptions options;
  options.argv = {current_program(), "worker", "--device", kind};
  options.standard_input = options.standard_error = Stream::Null;
  auto result = run_program(options, {}, in(std::chrono::seconds(20)), 65536);
  const std::string text = result.ok() && result->status.succeeded() ? result->output : std::string();
  return text.empty() ? "its driver does not answer" : text.substr(1, text.find('\n') - 1);
}

/// Shows a GPU: the limits of its architecture, and the device of this machine.
auto show_gpu(const target::Target& target, const Arguments& arguments) -> int {
  const auto limits = target::gpu_limits(target);
  const std::string device = device_text(target.kind == target_kind::opencl ? "opencl" : "cuda");
  if (arguments.json()) {
    nlohmann::json json = {{"target", target.str()}, {"device", device}};
    if (limits) {
      json["limits"] = {{"block_threads", limits->block_threads}, {"warp", limits->warp}, {"shared_static", limits->shared_static}, {"shared_most", limits->shared_most},
                        {"thread_registers", limits->thread_registers}, {"unit_threads", limits->unit_threads}, {"unit_blocks", limits->unit_blocks},
                        {"unit_registers", limits->unit_registers}, {"unit_shared", limits->unit_shared}, {"units", limits->units}};
    }
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return exit_done;
  }
  row("target", target.str());
  if (limits) {
    const target::CudaArch* arch = target::find_cuda_arch(limits->name);
    row("processor", fmt::format("NVIDIA {}{}", arch->generation, limits->units > 0 ? fmt::format(", {} multiprocessors", limits->units) : ""));
    row("block", fmt::format("{} threads in warps of {}, {} KB of shared memory declared, {} KB requested at the launch", limits->block_threads, limits->warp, limits->shared_static / 1024,
                             limits->shared_most / 1024));
    row("thread", fmt::format("{} registers", limits->thread_registers));
    row("resident", fmt::format("{} threads, {} blocks, {} registers and {} KB of shared memory on a multiprocessor", limits->unit_threads, limits->unit_blocks, limits->unit_registers,
                                limits->unit_shared / 1024));
  }
  if (target.kind != target_kind::opencl) { row("compiler", runtime::nvrtc_library().empty() ? std::string("NVRTC was not found") : runtime::nvrtc_library()); }
  row("device", device);
  return exit_done;
}

}  // namespace

auto target(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  const std::string& verb = arguments.positional()[0];
  if (verb == "list") { return arguments.positional().size() == 1 ? list(arguments) : usage_error("target", "`list` takes nothing more"); }
  if (verb != "show") { return usage_error("target", fmt::format("`{}` is neither `list` nor `show`", verb)); }
  Reporter reporter(arguments);
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, nullptr);
    return reporter.status();
  };
  auto parsed = target::parse(arguments.positional().size() > 1 ? arguments.positional()[1] : "llvm");
  if (!parsed) { return fail(parsed.diagnostics()); }
  if (auto known = target::check_gpu(*parsed); !known) { return fail(known.diagnostics()); }
  if (is_device_target(*parsed) || parsed->kind == target_kind::nvptx) {
    if (arguments.has("--measure")) { return usage_error("target", "only this machine's processor can be measured"); }
    return show_gpu(*parsed, arguments);
  }
  if (auto usable = codegen::check_target(*parsed); !usable) { return fail(usable.diagnostics()); }
  target::Hardware hardware = target::hardware(*parsed);
  std::vector<std::string> units;
  if (hardware.fma) { units.emplace_back("fma"); }
  if (hardware.avx512) { units.emplace_back("avx512"); }
  if (hardware.vnni) { units.emplace_back("vnni"); }
  if (hardware.avx512_bf16) { units.emplace_back("bf16"); }
  if (hardware.avx512_fp16) { units.emplace_back("fp16"); }
  if (hardware.amx_int8) { units.emplace_back("amx-int8"); }
  if (hardware.amx_bf16) { units.emplace_back("amx-bf16"); }
  std::optional<runtime::Peaks> peaks;
  if (hardware.is_this_machine) {
    auto measured = arguments.has("--measure") ? runtime::measure_peaks(true) : runtime::peaks();
    if (!measured) { return fail(measured.diagnostics()); }
    peaks = std::move(*measured);
  } else if (arguments.has("--measure")) {
    return usage_error("target", "only this machine can be measured");
  }
  if (arguments.json()) {
    nlohmann::json json = {{"target", parsed->str()}, {"name", hardware.name}, {"this_machine", hardware.is_this_machine}, {"cores", hardware.cores},
                           {"l1", hardware.l1.bytes}, {"l2", hardware.l2.bytes}, {"l3", hardware.l3.bytes}, {"vector_bits", hardware.vector_bits},
                           {"vector_registers", hardware.vector_registers}, {"units", units}};
    if (peaks) {
      nlohmann::json copy = nlohmann::json::array();
      for (const runtime::CopyRate& rate : peaks->copy) { copy.push_back({{"footprint", rate.footprint}, {"one", rate.one}, {"all", rate.all}}); }
      json["peaks"] = {{"fma_f32_one", peaks->fma_f32_one}, {"fma_f32_all", peaks->fma_f32_all}, {"threads", peaks->threads}, {"copy", copy}};
    }
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return exit_done;
  }
  row("target", parsed->str());
  if (!hardware.name.empty()) { row("processor", hardware.name + (hardware.is_this_machine ? ", this machine" : "")); }
  if (parsed->kind == "rocm") {
    row("machine", "a GPU: code is emitted for it, and nothing else is known of it");
    return exit_done;
  }
  row("cores", std::to_string(hardware.cores));
  row("caches", fmt::format("L1 {}, L2 {}, L3 {}", cache_text(hardware.l1.bytes), cache_text(hardware.l2.bytes), cache_text(hardware.l3.bytes)));
  row("vectors", fmt::format("{} bits, {} registers", hardware.vector_bits, hardware.vector_registers));
  row("units", units.empty() ? "none that this program knows" : fmt::format("{}", fmt::join(units, ", ")));
  if (peaks) {
    row("float32", fmt::format("{:.0f} GFLOP/s on one thread, {:.0f} on {}", peaks->fma_f32_one, peaks->fma_f32_all, peaks->threads));
    for (const runtime::CopyRate& rate : peaks->copy) {
      row("copy", fmt::format("{:.0f} GB/s on one thread, {:.0f} on {}, footprint {}", rate.one, rate.all, peaks->threads, cache_text(rate.footprint)));
    }
  }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
