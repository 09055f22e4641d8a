// `loopsmith doctor`: lists the parts of this program and this machine, missing parts, and the ways to get them. Changes nothing.
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "codegen/llvm/codegen.h"
#include "driver/arguments.h"
#include "driver/command.h"
#include "runtime/devices/nvrtc.h"
#include "runtime/peaks.h"
#include "support/process.h"
#include "support/text.h"
#include "target/hardware.h"

namespace loopsmith::driver::commands {
namespace {

enum class State : uint8_t { Fine, Missing, Broken };   // Missing: an optional part; Broken: a required part

struct Finding {
  std::string what;
  State state;
  std::string found;     // the part that was found, or the features that fail without it
  std::string remedy;    // the way to get it; empty: nothing to do
};

// The first line that a program prints; empty: the program is missing or fails.
auto version_of(const std::string& program, const std::string& option) -> std::string {
  if (!find_program(program)) { return {}; }
  ProcessOptions options;
  options.argv = {program, option};
  options.standard_error = Stream::Null;
  options.standard_input = Stream::Null;
  auto result = run_program(options, {}, in(std::chrono::seconds(5)), 65536);
  if (!result.ok() || !result->status.succeeded()) { return {}; }
  return result->output.substr(0, result->output.find('\n'));
}

auto memory_text() -> std::string {
  long pages = sysconf(_SC_PHYS_PAGES);
  long size = sysconf(_SC_PAGESIZE);
  return fmt::format("{:.1f} GiB of memory", static_cast<double>(pages) * static_cast<double>(size) / (1 << 30));
}

auto cache_folder() -> std::string {
  std::string file = target::peaks_file();
  return file.substr(0, file.find_last_of('/'));
}

auto editor(const char* what, const char* program, const char* option, const char* remedy) -> Finding {
  std::string version = version_of(program, option);
  if (version.empty()) { return {what, State::Missing, "not found", remedy}; }
  return {what, State::Fine, version, {}};
}

auto date_text(int64_t seconds) -> std::string {
  char text[32] = {};
  auto time = static_cast<std::time_t>(seconds);
  std::tm parts = {};
  ::localtime_r(&time, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

/// Compilers and drivers of GPUs, all of them optional.
void add_devices(std::vector<Finding>& out) {
  const std::string nvrtc = runtime::nvrtc_library();
  if (nvrtc.empty()) {
    out.push_back({"CUDA compiler", State::Missing, "libnvrtc.so was not found: kernels are printed as CUDA C, not compiled", "install the CUDA Toolkit, or set CUDA_PATH to its folder"});
  } else {
    out.push_back({"CUDA compiler", State::Fine, fmt::format("NVRTC{}, {}", runtime::nvrtc_major() ? fmt::format(" {}", *runtime::nvrtc_major()) : "", nvrtc), {}});
  }
  // A separate process lists the devices of drivers: a driver may crash.
  for (const auto& [what, kind, lacks] : {std::tuple("CUDA device", "cuda", "kernels for CUDA are compiled, not run"), std::tuple("OpenCL device", "opencl", "kernels cannot be checked on a device")}) {
    ProcessOptions options;
    options.argv = {current_program(), "worker", "--device", kind};
    options.standard_input = options.standard_error = Stream::Null;
    auto result = run_program(options, {}, in(std::chrono::seconds(20)), 65536);
    std::string text = result.ok() && result->status.succeeded() ? result->output : std::string();
    if (!text.empty() && text.front() == '+') {
      out.push_back({what, State::Fine, text.substr(1), {}});
      continue;
    }
    const size_t line = text.find('\n');
    const std::string why = text.empty() ? "its driver does not answer" : text.substr(1, line - 1);
    out.push_back({what, State::Missing, fmt::format("{}: {}", why, lacks), line == std::string::npos ? std::string() : text.substr(line + 1)});
  }
}

auto look() -> std::vector<Finding> {
  std::vector<Finding> out;
  utsname system{};
  uname(&system);
  out.push_back({"system", State::Fine, fmt::format("{} {} on {}", system.sysname, system.release, system.machine), {}});

  const target::Target& host = target::host();
  target::Hardware hardware = target::hardware(host);
  std::string units = fmt::format("{}-bit vectors", hardware.vector_bits);
  if (hardware.vnni) { units += ", VNNI"; }
  if (hardware.amx_bf16) { units += ", AMX"; }
  out.push_back({"processor", State::Fine,
                 fmt::format("{} ({}), {} to use, {}, {}", hardware.name.empty() ? "unnamed" : hardware.name, host.cpu, count_text(hardware.cores, "core"),
                             units, memory_text()),
                 {}});
  out.push_back({"target", State::Fine, host.str(), {}});

  std::string llvm = codegen::llvm_version();
  if (llvm.empty()) {
    out.push_back({"machine code", State::Missing, "built without LLVM: emit, run, bench and tune do not work",
                   "install llvm-19-dev and build again (./bootstrap does both)"});
  } else if (auto usable = codegen::check_target(host); !usable.ok()) {
    out.push_back({"machine code", State::Broken, usable.diagnostics()[0].message(), "name a target yourself: --target \"llvm -mcpu=...\""});
  } else {
    out.push_back({"machine code", State::Fine, fmt::format("LLVM {}", llvm), {}});
  }

  add_devices(out);
  out.push_back(editor("Neovim", "nvim", "--version", "https://neovim.io; then see editors/neovim"));
  out.push_back(editor("VS Code", "code", "--version", "https://code.visualstudio.com; then see editors/vscode"));

  std::string cache = cache_folder();
  bool writable = access(cache.c_str(), W_OK) == 0;
  for (std::string up = cache; !writable && access(up.c_str(), F_OK) != 0 && up.find('/') != std::string::npos && up.size() > 1;) {
    up = up.substr(0, std::max<size_t>(1, up.find_last_of('/')));
    if (access(up.c_str(), F_OK) == 0) { writable = access(up.c_str(), W_OK) == 0; }
  }
  out.push_back({"cache", writable ? State::Fine : State::Missing, writable ? cache : fmt::format("`{}` cannot be written: peaks are measured anew each time", cache),
                 writable ? "" : "set XDG_CACHE_HOME to a folder of yours"});
  if (auto peaks = target::cached_peaks()) {
    bool was_busy = peaks->others > target::busy_share;
    std::string when = peaks->measured_at > 0 ? ", measured " + date_text(peaks->measured_at) : std::string();
    if (was_busy) { when += fmt::format(" while other programs used {:.0f}% of the processors", 100 * peaks->others); }
    out.push_back({"measured peaks", State::Fine, fmt::format("{:.0f} GFLOP/s float32 on {} threads{}", peaks->fma_f32_all, peaks->threads, when),
                   was_busy ? "they may be too low: `loopsmith target show --measure` when nothing else runs" : ""});
  } else {
    out.push_back({"measured peaks", State::Fine, "not measured yet; the first `bench` does it, in about two seconds", {}});
  }
  return out;
}

}  // namespace

auto doctor(std::vector<std::string> args) -> int {
  static const Usage usage = {
      .command = "doctor",
      .arguments = "[--json]",
      .summary = "Lists found and missing parts of this machine, and ways to get them.",
      .details = "Exit status 3 where a required part does not work; optional parts may be missing.",
      .options = {{.name = "--json", .help = "a line of JSON for each finding"}},
      .reads_files = false,
      .examples = {{"loopsmith doctor", "a list for people"}},
  };
  auto read = read_arguments(usage, args);
  if (auto* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  bool color = arguments.color(STDOUT_FILENO);
  bool broken = false;
  for (const Finding& f : look()) {
    broken = broken || f.state == State::Broken;
    static constexpr const char* words[] = {"ok", "missing", "broken"};
    static constexpr const char* colors[] = {"\x1b[32m", "\x1b[33m", "\x1b[31m"};
    auto index = static_cast<size_t>(f.state);
    if (arguments.json()) {
      nlohmann::json line = {{"what", f.what}, {"state", words[index]}, {"found", f.found}};
      if (!f.remedy.empty()) { line["remedy"] = f.remedy; }
      fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      continue;
    }
    fmt::print("{}{:<8}{} {:<15} {}\n", color ? colors[index] : "", words[index], color ? "\x1b[0m" : "", f.what, f.found);
    if (!f.remedy.empty()) { fmt::print("{:<24} {}\n", "", f.remedy); }
  }
  return broken ? exit_environment : exit_done;
}

}  // namespace loopsmith::driver::commands
