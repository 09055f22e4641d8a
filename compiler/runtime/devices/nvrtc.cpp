// NVRTC through its C interface: see nvrtc.h.
#include "runtime/devices/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "support/codes.h"

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

auto missing(std::string why) -> Diagnostic {
  return error(Code::CannotStart).arg("program", "the CUDA compiler").arg("why", std::move(why)).remedy("install the CUDA Toolkit, or set CUDA_PATH to its folder");
}

auto open_library() -> void* {
  std::vector<std::string> folders = {""};
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const char* folder = std::getenv(name)) { folders.push_back(std::string(folder) + "/lib64/"); }
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  for (const std::string& folder : folders) {
    for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"}) {
      if (void* handle = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) { return handle; }
    }
  }
  return nullptr;
}

auto load() -> Result<const Library*> {
  static Library library;
  static std::string problem;
  static const bool loaded = [] {
    void* handle = open_library();
    if (handle == nullptr) { problem = "libnvrtc.so was not found"; return false; }
#define FIND(NAME, ...)                                                           \
  library.NAME = reinterpret_cast<decltype(library.NAME)>(dlsym(handle, #NAME));  \
  if (library.NAME == nullptr) { problem = "libnvrtc.so lacks " #NAME; return false; }
    FUNCTIONS(FIND)
#undef FIND
    return true;
  }();
  if (!loaded) { return missing(problem); }
  return &library;
}

}  // namespace

auto nvrtc_version() -> Result<std::string> {
  LOOPSMITH_TRY(library, load());
  int major = 0, minor = 0;
  if (library->nvrtcVersion(&major, &minor) != 0) { return missing("it does not report its version"); }
  return fmt::format("{}.{}", major, minor);
}

auto compile_cuda(const std::string& source, const CudaOptions& options) -> Result<std::string> {
  LOOPSMITH_TRY(library, load());
  auto failed = [&](std::string why) { return error(Code::CannotEmit).arg("what", "the kernels").arg("function", "the CUDA text").arg("target", options.arch).arg("why", std::move(why)); };
  Program program = nullptr;
  if (int code = library->nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr); code != 0) { return failed(library->nvrtcGetErrorString(code)); }
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
  if (options.line_info) { words.push_back("--generate-line-info"); }
  if (int code = library->nvrtcCompileProgram(program, static_cast<int>(words.size()), words.data()); code != 0) {
    size_t size = 0;
    library->nvrtcGetProgramLogSize(program, &size);
    std::string log(size, '\0');
    library->nvrtcGetProgramLog(program, log.data());
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) { log.pop_back(); }
    return failed(log.empty() ? library->nvrtcGetErrorString(code) : "\n" + log);
  }
  size_t size = 0;
  std::string out;
  int code = is_ptx ? library->nvrtcGetPTXSize(program, &size) : library->nvrtcGetCUBINSize(program, &size);
  if (code == 0) {
    out.resize(size);
    code = is_ptx ? library->nvrtcGetPTX(program, out.data()) : library->nvrtcGetCUBIN(program, out.data());
  }
  if (code != 0) { return failed(library->nvrtcGetErrorString(code)); }
  // PTX is a text with a zero at its end.
  if (is_ptx && !out.empty() && out.back() == '\0') { out.pop_back(); }
  return out;
}

}  // namespace loopsmith::runtime
