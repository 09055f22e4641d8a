// ptxas and nvcc: see cuda_tools.h.
#include "runtime/devices/cuda_tools.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/codes.h"
#include "support/files.h"
#include "support/process.h"
#include "support/reasons.h"
#include "support/text.h"

namespace loopsmith::runtime {
namespace {

/// A folder that is removed with everything in it.
class OwnFolder {
 public:
  OwnFolder() {
    std::error_code problem;
    std::string pattern = (std::filesystem::temp_directory_path(problem) / "loopsmith-cuda-XXXXXX").string();
    if (!problem && ::mkdtemp(pattern.data()) != nullptr) { path_ = pattern; }
  }
  OwnFolder(const OwnFolder&) = delete;
  auto operator=(const OwnFolder&) -> OwnFolder& = delete;
  ~OwnFolder() {
    std::error_code ignored;
    if (!path_.empty()) { std::filesystem::remove_all(path_, ignored); }
  }
  [[nodiscard]] auto file(const std::string& name) const -> std::string { return path_ + "/" + name; }
  [[nodiscard]] auto path() const -> const std::string& { return path_; }

 private:
  std::string path_;
};

auto cannot_start(const std::string& tool, const Reason& why) -> Diagnostic {
  return error(Code::CannotStart).arg("program", tool).arg("reason", why.text()).remedy("install the CUDA Toolkit, or set CUDA_PATH to its folder");
}

/// Runs a tool on one file. The output file's content, and the messages.
auto run_tool(const std::string& tool, std::vector<std::string> options, const std::string& input_name, const std::string& input, double seconds) -> Result<CompiledText> {
  const std::string program = find_cuda_tool(tool);
  if (program.empty()) { return cannot_start(tool, because(Why::NotInstalled)); }
  OwnFolder folder;
  if (folder.path().empty()) { return cannot_start(tool, because(Why::NoFolderForFiles)); }
  LOOPSMITH_CHECK(write_file(folder.file(input_name), input));
  std::vector<std::string> argv = {program};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"-o", folder.file("out"), input_name});
  ProcessOptions process{.argv = std::move(argv)};
  process.directory = folder.path();
  process.standard_error = Stream::Pipe;
  process.limits.address_space = 16ULL << 30U;
  LOOPSMITH_TRY(ran, run_program(process, {}, in(std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)))));
  if (ran.timed_out) { return cannot_start(tool, because(Why::DidNotEnd).arg("time", limit_text(seconds))); }
  CompiledText out{.is_compiled = ran.status.succeeded(), .log = ran.output + ran.error};
  while (!out.log.empty() && out.log.back() == '\n') { out.log.pop_back(); }
  if (!out.is_compiled) {
    if (out.log.empty()) { out.log = "it " + ran.status.describe(); }
    return out;
  }
  LOOPSMITH_TRY(code, read_text(folder.file("out")));
  out.code = std::move(code);
  return out;
}

}  // namespace

auto find_cuda_tool(const std::string& name) -> std::string {
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    const char* folder = std::getenv(variable);
    if (folder == nullptr || *folder == 0) { continue; }
    std::string path = fmt::format("{}/bin/{}", folder, name);
    if (::access(path.c_str(), X_OK) == 0) { return path; }
  }
  if (auto found = find_program(name)) { return *found; }
  std::string usual = "/usr/local/cuda/bin/" + name;
  return ::access(usual.c_str(), X_OK) == 0 ? usual : std::string();
}

auto cuda_tool_identity(const std::string& name) -> std::string {
  struct stat info{};
  const std::string path = find_cuda_tool(name);
  if (path.empty() || ::stat(path.c_str(), &info) != 0) { return "none"; }
  return fmt::format("{} {} {}.{}", path, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

auto assemble_ptx(const std::string& ptx, const std::string& arch, double seconds) -> Result<std::string> {
  LOOPSMITH_TRY(made, run_tool("ptxas", {"-arch=" + arch}, "kernels.ptx", ptx, seconds));
  if (!made.is_compiled) { return error(Code::CannotEmit).arg("what", "the PTX").arg("function", "the kernels").arg("target", arch).arg("reason", because(Why::CompilerReports).arg("log", made.log).text()); }
  return std::move(made.code);
}

auto compile_by_nvcc(const std::string& source, const CudaOptions& options, double seconds) -> Result<CompiledText> {
  std::vector<std::string> words = {options.form == CudaForm::Ptx ? "-ptx" : "-cubin", "-arch=" + options.arch, "-std=c++17", "-x", "cu"};
  if (options.form == CudaForm::Cubin) { words.insert(words.end(), {"-Xptxas", "-v"}); }
  if (options.line_info) { words.emplace_back("-lineinfo"); }
  return run_tool("nvcc", std::move(words), "kernels.cu", source, seconds);
}

}  // namespace loopsmith::runtime
