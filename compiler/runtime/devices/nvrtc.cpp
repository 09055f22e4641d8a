// NVRTC through its C interface: see nvrtc.h.
#include "runtime/devices/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::runtime {
namespace {

// The interface, declared here: CUDA's headers are not needed to build Loopsmith.
using Program = struct OpaqueProgram*;
struct Library {
#define FUNCTIONS(F)                                                                                                                  \
  F(nvrtcVersion, int(int*, int*))                                                                                                    \
  F(nvrtcCreateProgram, int(Program*, const char*, const char*, int, const char* const*, const char* const*))                        \
  F(nvrtcDestroyProgram, int(Program*))                                                                                               \
  F(nvrtcCompileProgram, int(Program, int, const char* const*))                                                                      \
  F(nvrtcGetProgramLogSize, int(Program, size_t*))                                                                                    \
  F(nvrtcGetProgramLog, int(Program, char*))                                                                                          \
  F(nvrtcGetPTXSize, int(Program, size_t*))                                                                                           \
  F(nvrtcGetPTX, int(Program, char*))                                                                                                 \
  F(nvrtcGetCUBINSize, int(Program, size_t*))                                                                                         \
  F(nvrtcGetCUBIN, int(Program, char*))                                                                                               \
  F(nvrtcGetErrorString, const char*(int))
#define MEMBER(NAME, ...) std::add_pointer_t<__VA_ARGS__> NAME = nullptr;
  FUNCTIONS(MEMBER)
#undef MEMBER
};

auto load(const std::string& path) -> Result<const Library*> {
  static Library library;
  static std::string problem;
  static const bool is_loaded = [&] {
    if (path.empty()) { problem = "libnvrtc.so was not found"; return false; }
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) { problem = fmt::format("{} cannot be loaded", path); return false; }
#define FIND(NAME, ...)                                                           \
  library.NAME = reinterpret_cast<decltype(library.NAME)>(dlsym(handle, #NAME));  \
  if (library.NAME == nullptr) { problem = path + " lacks " #NAME; return false; }
    FUNCTIONS(FIND)
#undef FIND
    return true;
  }();
  if (!is_loaded) { return nvrtc_missing(problem); }
  return &library;
}

auto find_library() -> std::string {
  std::vector<std::string> folders;
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    const char* folder = std::getenv(name);
    if (folder == nullptr || *folder == 0) { continue; }
    folders.push_back(std::string(folder) + "/lib64");
    folders.push_back(std::string(folder) + "/lib");
  }
  if (const char* paths = std::getenv("LD_LIBRARY_PATH")) {
    std::istringstream list(paths);
    for (std::string folder; std::getline(list, folder, ':');) {
      if (!folder.empty()) { folders.push_back(folder); }
    }
  }
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/opt/cuda/lib64"}) { folders.emplace_back(folder); }
  for (const std::string& folder : folders) {
    for (const char* name : {"/libnvrtc.so", "/libnvrtc.so.13", "/libnvrtc.so.12"}) {
      if (::access((folder + name).c_str(), R_OK) == 0) { return folder + name; }
    }
  }
  return {};
}

}  // namespace

auto nvrtc_missing(std::string why) -> Diagnostic {
  return error(Code::CannotStart).arg("program", "the CUDA compiler").arg("reason", std::move(why)).remedy("install the CUDA Toolkit, or set CUDA_PATH to its folder");
}

auto nvrtc_library() -> std::string {
  static const std::string path = find_library();
  return path;
}

auto nvrtc_major() -> std::optional<int> {
  char resolved[PATH_MAX] = {};
  if (nvrtc_library().empty() || ::realpath(nvrtc_library().c_str(), resolved) == nullptr) { return {}; }
  const std::string name = resolved;
  const size_t at = name.rfind(".so.");
  const int major = at == std::string::npos ? 0 : std::atoi(name.c_str() + at + 4);
  return major > 0 ? std::optional(major) : std::nullopt;
}

auto nvrtc_identity() -> std::string {
  struct stat info{};
  char resolved[PATH_MAX] = {};
  if (nvrtc_library().empty() || ::realpath(nvrtc_library().c_str(), resolved) == nullptr || ::stat(resolved, &info) != 0) { return "none"; }
  return fmt::format("{} {} {}.{}", resolved, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

auto nvrtc_version() -> Result<std::string> {
  LOOPSMITH_TRY(library, load(nvrtc_library()));
  int major = 0, minor = 0;
  if (library->nvrtcVersion(&major, &minor) != 0) { return nvrtc_missing(because(Why::LacksVersion).text()); }
  return fmt::format("{}.{}", major, minor);
}

auto compile_cuda(const std::string& path, const std::string& source, const CudaOptions& options) -> Result<CompiledText> {
  LOOPSMITH_TRY(library, load(path));
  Program program = nullptr;
  CompiledText out;
  if (int code = library->nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr); code != 0) {
    out.log = library->nvrtcGetErrorString(code);
    return out;
  }
  struct Destroy {
    const Library* library;
    Program* program;
    ~Destroy() { library->nvrtcDestroyProgram(program); }
  } destroy{library, &program};
  const bool is_ptx = options.form == CudaForm::Ptx;
  std::string arch = options.arch;
  if (is_ptx && arch.starts_with("sm_")) { arch = "compute_" + arch.substr(3); }
  const std::string arch_option = "--gpu-architecture=" + arch;
  std::vector<const char*> words = {arch_option.c_str(), "--std=c++17"};
  if (!is_ptx) { words.push_back("--ptxas-options=-v"); }
  if (options.line_info) { words.push_back("--generate-line-info"); }
  // The text uses no textures and none of the runtime's functions; since 12.4, omitting these saves a tenth of the time.
  int major = 0, minor = 0;
  if (library->nvrtcVersion(&major, &minor) == 0 && (major > 12 || (major == 12 && minor >= 4))) { words.push_back("--minimal"); }
  const int compiled = library->nvrtcCompileProgram(program, static_cast<int>(words.size()), words.data());
  size_t size = 0;
  if (library->nvrtcGetProgramLogSize(program, &size) == 0) {
    out.log.resize(size);
    library->nvrtcGetProgramLog(program, out.log.data());
    while (!out.log.empty() && (out.log.back() == '\0' || out.log.back() == '\n')) { out.log.pop_back(); }
  }
  if (compiled != 0) {
    if (out.log.empty()) { out.log = library->nvrtcGetErrorString(compiled); }
    return out;
  }
  int code = is_ptx ? library->nvrtcGetPTXSize(program, &size) : library->nvrtcGetCUBINSize(program, &size);
  if (code == 0) {
    out.code.resize(size);
    code = is_ptx ? library->nvrtcGetPTX(program, out.code.data()) : library->nvrtcGetCUBIN(program, out.code.data());
  }
  if (code != 0) {
    out.log = library->nvrtcGetErrorString(code);
    return out;
  }
  // PTX is a text with a zero at its end.
  if (is_ptx && !out.code.empty() && out.code.back() == '\0') { out.code.pop_back(); }
  out.is_compiled = true;
  return out;
}

}  // namespace loopsmith::runtime
