// `loopsmith target list|show [T]`: the known targets, and the hardware of one.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codegen/llvm/codegen.h"
#include "driver/command.h"
#include "driver/program.h"
#include "runtime/peaks.h"
#include "support/text.h"
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
    {"rocm -mcpu=gfx90a", "AMD MI200; code is emitted, and not run here"},
};

auto cache_text(uint64_t bytes) -> std::string { return bytes == 0 ? "not known" : bytes_text(static_cast<double>(bytes)); }

auto list(const Arguments& arguments) -> int {
  for (const Known& one : known) {
    auto target = target::parse(one.text);
    bool usable = target.ok() && codegen::check_target(*target).ok();
    if (arguments.json()) {
      fmt::print("{}\n", nlohmann::json({{"target", one.text}, {"what", one.what}, {"usable", usable}}).dump());
    } else {
      fmt::print("{:<52} {}{}\n", one.text, one.what, usable ? "" : "  (not in this build)");
    }
  }
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
  auto row = [](std::string_view what, const std::string& value) { fmt::print("{:<10} {}\n", what, value); };
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
