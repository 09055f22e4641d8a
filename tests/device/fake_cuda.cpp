// A libcuda.so.1 for tests on machines without a GPU: the functions of the driver that runtime/devices/cuda.cpp calls, over the host's memory.
//
// Its only kernel, whose name ends with `scale_kernel`, writes twice the elements of its first argument to the second, as many as the launch has threads. It has no other
// kernels, because it cannot execute code for a GPU. LOOPSMITH_FAKE_CUDA selects one failure: "no-device", "old-driver", "mismatch",
// "out-of-memory", "illegal-address", "bad-image", "no-function", "shared", "endless". After an illegal address every call fails, as in the real
// driver.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

namespace {

int sticky = 0;
std::map<std::string, int> functions;   // by name: an object whose address is the handle
unsigned launched_shared = 0;
int allowed_shared = 48 * 1024;

auto planted(const char* what) -> bool {
  const char* asked = std::getenv("LOOPSMITH_FAKE_CUDA");
  return asked != nullptr && std::strcmp(asked, what) == 0;
}

}  // namespace

#define API extern "C" __attribute__((visibility("default")))

API int cuInit(unsigned) { return planted("no-device") ? 100 : planted("mismatch") ? 803 : 0; }
API int cuDriverGetVersion(int* version) {
  *version = planted("old-driver") ? 11040 : 13000;
  return 0;
}
API int cuGetErrorString(int code, const char** text) {
  *text = code == 803 ? "system has unsupported display driver / cuda driver combination" : "planted failure";
  return 0;
}
API int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
API int cuDeviceGet(int* device, int) {
  *device = 0;
  return 0;
}
API int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(size));
  return 0;
}
API int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = 8ULL << 30U;
  return 0;
}
API int cuDeviceGetAttribute(int* value, int attribute, int) {
  static const std::map<int, int> values = {{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {10, 32}, {16, 108}, {38, 41943040},
                                            {39, 2048}, {75, 8}, {76, 0}, {81, 167936}, {82, 65536}, {97, 166912}, {106, 32}};
  auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return found == values.end() ? 1 : 0;
}
API int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &sticky;
  return 0;
}
API int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
API int cuCtxSetCurrent(void*) { return 0; }
API int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return 0;
}
API int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}
API int cuStreamCreate(void** stream, unsigned) {
  *stream = &sticky;
  return 0;
}
API int cuStreamDestroy_v2(void*) { return 0; }
API int cuStreamSynchronize(void*) {
  if (planted("endless")) {
    for (;;) { ::pause(); }
  }
  return sticky;
}
API int cuMemAlloc_v2(unsigned long long* pointer, size_t bytes) {
  if (sticky != 0) { return sticky; }
  if (planted("out-of-memory") || bytes > (8ULL << 30U)) { return 2; }
  *pointer = reinterpret_cast<unsigned long long>(std::malloc(bytes));
  return 0;
}
API int cuMemFree_v2(unsigned long long pointer) {
  std::free(reinterpret_cast<void*>(pointer));
  return 0;
}
API int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void*) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return sticky;
}
API int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void*) {
  if (sticky == 0) { std::memcpy(to, reinterpret_cast<void*>(from), bytes); }
  return sticky;
}
API int cuModuleLoadData(void** module, const void* image) {
  if (planted("bad-image") || std::memcmp(image, "\x7f" "ELF", 4) != 0) { return 209; }
  *module = &functions;
  return 0;
}
API int cuModuleUnload(void*) { return 0; }
API int cuModuleGetFunction(void** function, void*, const char* name) {
  if (planted("no-function")) { return 500; }
  *function = &functions[name];
  functions[name] = std::string_view(name).ends_with("scale_kernel") ? 1 : 0;
  return 0;
}
API int cuFuncSetAttribute(void*, int attribute, int value) {
  if (attribute != 8 || value > 166912) { return 1; }
  allowed_shared = value;
  return 0;
}
API int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void*, void** arguments, void**) {
  if (sticky != 0) { return sticky; }
  launched_shared = shared;
  if (bx * by * bz > 1024 || static_cast<int>(shared) > allowed_shared) { return 1; }
  if (planted("illegal-address")) {
    sticky = 700;
    return 0;
  }
  if (*static_cast<int*>(function) == 0) { return 0; }
  const auto* from = *static_cast<float* const*>(arguments[0]);
  auto* to = *static_cast<float* const*>(arguments[1]);
  for (unsigned i = 0; i < gx * gy * gz * bx * by * bz; ++i) { to[i] = 2 * from[i]; }
  return 0;
}
API int cuEventCreate(void** event, unsigned) {
  *event = &sticky;
  return 0;
}
API int cuEventDestroy_v2(void*) { return 0; }
API int cuEventRecord(void*, void*) { return sticky; }
API int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 0.25F;
  return sticky;
}
