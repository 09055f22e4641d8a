// A libnvrtc.so.13 for tests on machines without the CUDA Toolkit: it "compiles" any text to bytes that fake_cuda.cpp accepts as a cubin, with a report in the
// form of `ptxas -v` for the last kernel of the text. LOOPSMITH_FAKE_NVRTC selects one failure: "error" at the text's last `#line`, "crash", "endless".
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Program { std::string source, log; };

auto planted(const char* what) -> bool {
  const char* asked = std::getenv("LOOPSMITH_FAKE_NVRTC");
  return asked != nullptr && std::strcmp(asked, what) == 0;
}

constexpr char cubin[] = "\x7f" "ELF fake";

}  // namespace

#define API extern "C" __attribute__((visibility("default")))

API int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
API int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*, const char* const*) {
  *program = new Program{source, {}};
  return 0;
}
API int nvrtcDestroyProgram(Program** program) {
  delete *program;
  return 0;
}
API int nvrtcCompileProgram(Program* program, int, const char* const*) {
  if (planted("crash")) { std::abort(); }
  if (planted("endless")) {
    for (;;) { ::pause(); }
  }
  if (planted("error")) {
    const size_t last = program->source.rfind("#line ");
    const int line = last == std::string::npos ? 1 : std::atoi(program->source.c_str() + last + 6);
    const std::string file = last == std::string::npos ? "kernels.cu" : "statement";
    program->log = file + "(" + std::to_string(line) + "): error: planted\n\n1 error detected in the compilation.\n";
    return 6;
  }
  const std::string& text = program->source;
  const size_t end = text.find('(', text.rfind("_kernel"));
  const size_t begin = text.rfind(' ', end) + 1;
  program->log = "ptxas info    : Compiling entry function '" + text.substr(begin, end - begin) +
                 "' for 'sm_80'\nptxas         .     8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\nptxas info    : Used 40 registers, used 1 barriers, 4096 bytes smem\n";
  return 0;
}
API int nvrtcGetProgramLogSize(Program* program, size_t* size) {
  *size = program->log.size() + 1;
  return 0;
}
API int nvrtcGetProgramLog(Program* program, char* log) {
  std::strcpy(log, program->log.c_str());
  return 0;
}
API int nvrtcGetPTXSize(Program*, size_t* size) {
  *size = sizeof cubin;
  return 0;
}
API int nvrtcGetPTX(Program*, char* out) {
  std::memcpy(out, cubin, sizeof cubin);
  return 0;
}
API int nvrtcGetCUBINSize(Program*, size_t* size) {
  *size = sizeof cubin;
  return 0;
}
API int nvrtcGetCUBIN(Program*, char* out) {
  std::memcpy(out, cubin, sizeof cubin);
  return 0;
}
API const char* nvrtcGetErrorString(int) { return "planted"; }
