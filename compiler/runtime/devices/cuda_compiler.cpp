// The compiler's worker and its replies: see cuda_compiler.h.
//
// A request is a line `ARCH FORM LINES BYTES` and that many bytes of text; the reply is a line `done CODE_BYTES LOG_BYTES` or `failed 0 LOG_BYTES`, and
// the bytes.
#include "runtime/devices/cuda_compiler.h"

#include <charconv>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "codegen/source/source.h"
#include "runtime/devices/cubin_cache.h"
#include "runtime/devices/cuda_tools.h"
#include "support/codes.h"
#include "support/process.h"
#include "support/text.h"

namespace loopsmith::runtime {
namespace {

auto number_before(std::string_view line, std::string_view word) -> uint64_t {
  const size_t at = line.find(word);
  if (at == std::string_view::npos) { return 0; }
  size_t end = at;
  while (end > 0 && line[end - 1] == ' ') { --end; }
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') { --begin; }
  uint64_t value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

auto seconds_from_now(double seconds) -> Deadline { return in(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))); }

/// The worker of this process, kept between compilations.
struct Worker {
  std::mutex turn;
  std::optional<Process> process;

  auto start(const CompileLimits& limits) -> Status {
    if (process && !process->poll_exit()) { return ok(); }
    ProcessOptions options;
    options.argv = {current_program(), "worker", "--compile-cuda", nvrtc_library()};
    options.standard_error = Stream::Null;
    options.limits.address_space = address_space_for(limits.bytes);
    options.hides_environment = true;
    options.sweeps = true;
    LOOPSMITH_TRY(started, Process::start(options));
    process.emplace(std::move(started));
    return ok();
  }
  /// The reply; none if the worker ended or did not reply in time, with the reason.
  auto ask(const std::string& request, double seconds, std::string& why) -> std::optional<CompiledText> {
    const Deadline deadline = seconds_from_now(seconds);
    auto lost = [&](IoStatus status) -> std::optional<CompiledText> {
      if (status == IoStatus::TimedOut) {
        why = fmt::format("the compiler was stopped at its limit of {}", limit_text(seconds));
      } else {
        auto ended = process->wait(in(std::chrono::seconds(1)));
        why = ended ? fmt::format("the compiler {}", ended->describe()) : "the compiler does not answer";
      }
      process.reset();
      return {};
    };
    if (IoStatus status = process->write(request, deadline); status != IoStatus::Done) { return lost(status); }
    ReadResult line = process->read_line(deadline);
    if (line.status != IoStatus::Done) { return lost(line.status); }
    std::istringstream words(line.data);
    std::string word;
    size_t code_bytes = 0, log_bytes = 0;
    words >> word >> code_bytes >> log_bytes;
    ReadResult bytes = process->read_exactly(code_bytes + log_bytes, deadline);
    if (bytes.status != IoStatus::Done) { return lost(bytes.status); }
    return CompiledText{.is_compiled = word == "done", .code = bytes.data.substr(0, code_bytes), .log = bytes.data.substr(code_bytes)};
  }

  static auto instance() -> Worker& {
    static Worker one;
    return one;
  }
};

auto failed(const CudaOptions& options, std::string why) -> Diagnostic {
  return error(Code::CannotEmit).arg("what", "the kernels").arg("function", "the CUDA text").arg("target", options.arch).arg("reason", std::move(why));
}

}  // namespace

auto read_figures(const std::string& log) -> std::vector<KernelFigures> {
  std::vector<KernelFigures> out;
  std::istringstream lines(log);
  constexpr std::string_view begin = "Compiling entry function '";
  for (std::string line; std::getline(lines, line);) {
    if (const size_t at = line.find(begin); at != std::string::npos) {
      const size_t name = at + begin.size();
      out.push_back({.kernel = line.substr(name, line.find('\'', name) - name)});
    }
    if (out.empty()) { continue; }
    KernelFigures& now = out.back();
    if (line.find("spill stores") != std::string::npos) {
      now.stack_bytes = number_before(line, "bytes stack frame");
      now.spill_stores = number_before(line, "bytes spill stores");
      now.spill_loads = number_before(line, "bytes spill loads");
    }
    if (line.find("Used ") != std::string::npos) {
      now.registers = number_before(line, "registers");
      now.barriers = number_before(line, "barriers");
      now.shared_bytes = number_before(line, "bytes smem");
    }
  }
  return out;
}

auto compile_cuda_apart(const std::string& source, const CudaOptions& options, const CompileLimits& limits) -> Result<CudaCode> {
  const std::string form = options.form == CudaForm::Ptx ? "ptx" : "cubin", lines = options.line_info ? "lines" : "plain";
  const CubinCache cache = limits.use_cache ? user_cubin_cache() : CubinCache();
  const std::vector<std::string> key = {source, options.arch, form, lines, options.by_nvcc ? "nvcc " + cuda_tool_identity("nvcc") : nvrtc_identity()};
  if (auto kept = cache.find(key)) {
    // The size of the code is stored in front of the code, the report behind it.
    const size_t line = kept->find('\n');
    const size_t bytes = line == std::string::npos ? 0 : static_cast<size_t>(std::strtoull(kept->c_str(), nullptr, 10));
    if (bytes > 0 && line + 1 + bytes <= kept->size()) { return CudaCode{kept->substr(line + 1, bytes), read_figures(kept->substr(line + 1 + bytes)), true}; }
  }
  if (options.by_nvcc) {
    LOOPSMITH_TRY(made, compile_by_nvcc(source, options, limits.seconds));
    if (!made.is_compiled) { return failed(options, "\n" + made.log); }
    cache.store(key, fmt::format("{}\n{}{}", made.code.size(), made.code, made.log));
    return CudaCode{std::move(made.code), read_figures(made.log), false};
  }
  if (nvrtc_library().empty()) { return nvrtc_missing(); }
  Worker& worker = Worker::instance();
  std::lock_guard<std::mutex> turn(worker.turn);
  LOOPSMITH_CHECK(worker.start(limits));
  std::string why;
  auto answer = worker.ask(fmt::format("{} {} {} {}\n{}", options.arch, form, lines, source.size(), source), limits.seconds, why);
  if (!answer) { return failed(options, why); }
  if (!answer->is_compiled) { return failed(options, "\n" + answer->log); }
  cache.store(key, fmt::format("{}\n{}{}", answer->code.size(), answer->code, answer->log));
  return CudaCode{std::move(answer->code), read_figures(answer->log), false};
}

auto run_cuda_compiler(const std::vector<std::string>& args) -> int {
  const std::string library = args.empty() ? std::string() : args.front();
  char line[256];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    std::istringstream words(line);
    std::string arch, form, lines;
    size_t bytes = 0;
    if (!(words >> arch >> form >> lines >> bytes)) { return 1; }
    std::string source(bytes, '\0');
    if (std::fread(source.data(), 1, bytes, stdin) != bytes) { return 1; }
    auto compiled = compile_cuda(library, source, {.arch = arch, .form = form == "ptx" ? CudaForm::Ptx : CudaForm::Cubin, .line_info = lines == "lines"});
    CompiledText text = compiled ? std::move(*compiled) : CompiledText{.log = compiled.diagnostics().front().message()};
    std::fputs(fmt::format("{} {} {}\n", text.is_compiled ? "done" : "failed", text.code.size(), text.log.size()).c_str(), stdout);
    std::fwrite(text.code.data(), 1, text.code.size(), stdout);
    std::fwrite(text.log.data(), 1, text.log.size(), stdout);
    if (std::fflush(stdout) != 0) { return 1; }
  }
  return 0;
}

}  // namespace loopsmith::runtime
