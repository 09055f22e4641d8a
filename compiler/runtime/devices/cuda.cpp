// NVIDIA's driver interface through libcuda.so.1: see device.h.
// https://docs.nvidia.com/cuda/cuda-driver-api
//
// The interface is declared here, so that building Loopsmith needs no CUDA. Errors of kernels are sticky: after an illegal access every call of the
// process fails with the same code, and only a new process can use the device again.
#include <dlfcn.h>
#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "runtime/devices/cuda_compiler.h"
#include "runtime/devices/device.h"
#include "support/codes.h"
#include "support/process.h"
#include "support/reasons.h"

namespace loopsmith::runtime {
namespace {

using CuDevice = int;
using CuPointer = unsigned long long;
using CuContext = struct OpaqueContext*;
using CuModule = struct OpaqueModule*;
using CuFunction = struct OpaqueFunction*;
using CuStream = struct OpaqueStream*;
using CuEvent = struct OpaqueEvent*;

// The driver's functions, each with the symbol that cuda.h maps its name to: `cuMemAlloc` is `cuMemAlloc_v2`.
#define FUNCTIONS(F)                                                                                                                              \
  F(cuInit, cuInit, int(unsigned))                                                                                                                \
  F(cuDriverGetVersion, cuDriverGetVersion, int(int*))                                                                                            \
  F(cuGetErrorString, cuGetErrorString, int(int, const char**))                                                                                   \
  F(cuDeviceGetCount, cuDeviceGetCount, int(int*))                                                                                                \
  F(cuDeviceGet, cuDeviceGet, int(CuDevice*, int))                                                                                                \
  F(cuDeviceGetName, cuDeviceGetName, int(char*, int, CuDevice))                                                                                  \
  F(cuDeviceTotalMem, cuDeviceTotalMem_v2, int(size_t*, CuDevice))                                                                                \
  F(cuDeviceGetAttribute, cuDeviceGetAttribute, int(int*, int, CuDevice))                                                                         \
  F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, int(CuContext*, CuDevice))                                                                \
  F(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, int(CuDevice))                                                                       \
  F(cuCtxSetCurrent, cuCtxSetCurrent, int(CuContext))                                                                                             \
  F(cuStreamCreate, cuStreamCreate, int(CuStream*, unsigned))                                                                                     \
  F(cuStreamDestroy, cuStreamDestroy_v2, int(CuStream))                                                                                           \
  F(cuStreamSynchronize, cuStreamSynchronize, int(CuStream))                                                                                      \
  F(cuMemAlloc, cuMemAlloc_v2, int(CuPointer*, size_t))                                                                                           \
  F(cuMemFree, cuMemFree_v2, int(CuPointer))                                                                                                      \
  F(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, int(CuPointer, const void*, size_t, CuStream))                                                       \
  F(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, int(void*, CuPointer, size_t, CuStream))                                                             \
  F(cuModuleLoadData, cuModuleLoadData, int(CuModule*, const void*))                                                                              \
  F(cuModuleUnload, cuModuleUnload, int(CuModule))                                                                                                \
  F(cuModuleGetFunction, cuModuleGetFunction, int(CuFunction*, CuModule, const char*))                                                            \
  F(cuFuncSetAttribute, cuFuncSetAttribute, int(CuFunction, int, int))                                                                            \
  F(cuLaunchKernel, cuLaunchKernel, int(CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuStream, void**, void**)) \
  F(cuEventCreate, cuEventCreate, int(CuEvent*, unsigned))                                                                                        \
  F(cuEventDestroy, cuEventDestroy_v2, int(CuEvent))                                                                                              \
  F(cuEventRecord, cuEventRecord, int(CuEvent, CuStream))                                                                                         \
  F(cuEventElapsedTime, cuEventElapsedTime, int(float*, CuEvent, CuEvent))

struct Library {
#define MEMBER(NAME, SYMBOL, ...) std::add_pointer_t<__VA_ARGS__> NAME = nullptr;
  FUNCTIONS(MEMBER)
#undef MEMBER
};

/// Attributes of devices, by their numbers in cuda.h.
enum Attribute : int {
  MaxThreadsPerBlock = 1, MaxBlockX = 2, MaxBlockY = 3, MaxBlockZ = 4, MaxGridX = 5, MaxGridY = 6, MaxGridZ = 7, SharedPerBlock = 8, WarpSize = 10, Multiprocessors = 16,
  L2Bytes = 38, ThreadsPerMultiprocessor = 39, Major = 75, Minor = 76, SharedPerMultiprocessor = 81, RegistersPerMultiprocessor = 82, SharedOptIn = 97, BlocksPerMultiprocessor = 106
};
constexpr int dynamic_shared_attribute = 8;   // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr unsigned non_blocking_stream = 1;

// Codes that occur in use, by their numbers in cuda.h.
constexpr int out_of_memory = 2, no_device = 100, invalid_image = 200, no_binary = 209, unsupported_ptx = 222, illegal_address = 700, out_of_resources = 701, launch_timeout = 702,
              assertion = 710, misaligned = 716, illegal_instruction = 715, launch_failed = 719, mismatch = 803, stub_library = 34;

/// The oldest driver that runs kernels of a toolkit with this major version.
auto oldest_driver_of(int toolkit_major) -> int { return toolkit_major * 1000; }

auto missing(std::string why, std::string remedy) -> Diagnostic {
  return error(Code::CannotStart).arg("program", "NVIDIA's driver").arg("reason", std::move(why)).remedy(std::move(remedy));
}
constexpr const char* install_driver = "install NVIDIA's driver on a machine with a GPU; `--target opencl` runs kernels by OpenCL";

auto load() -> Result<const Library*> {
  static Library library;
  static std::string problem;
  static const bool is_loaded = [] {
    limit_data_instead_of_addresses();
    void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) { problem = because(Why::LibraryMissing).arg("library", "libcuda.so.1").text(); return false; }
#define FIND(NAME, SYMBOL, ...)                                                     \
  library.NAME = reinterpret_cast<decltype(library.NAME)>(dlsym(handle, #SYMBOL));  \
  if (library.NAME == nullptr) { problem = because(Why::LibraryLacks).arg("library", "libcuda.so.1").arg("symbol", #SYMBOL).text(); return false; }
    FUNCTIONS(FIND)
#undef FIND
    return true;
  }();
  if (!is_loaded) { return missing(problem, install_driver); }
  return &library;
}

class CudaDevice final : public Device {
 public:
  CudaDevice(const Library& cu, CuDevice device, CuStream stream, DeviceFacts facts) : cu_(cu), device_(device), stream_(stream), facts_(std::move(facts)) {}
  CudaDevice(const CudaDevice&) = delete;
  auto operator=(const CudaDevice&) -> CudaDevice& = delete;
  ~CudaDevice() override {
    for (CuModule module : modules_) { cu_.cuModuleUnload(module); }
    for (CuEvent event : {first_, last_}) {
      if (event != nullptr) { cu_.cuEventDestroy(event); }
    }
    cu_.cuStreamDestroy(stream_);
    cu_.cuDevicePrimaryCtxRelease(device_);
  }

  [[nodiscard]] auto facts() const -> const DeviceFacts& override { return facts_; }

  auto allocate(uint64_t bytes) -> Result<DeviceMemory> override {
    CuPointer pointer = 0;
    if (int code = cu_.cuMemAlloc(&pointer, std::max<uint64_t>(bytes, 1)); code != 0) { return failed(fmt::format("allocate {} bytes", bytes), code); }
    return DeviceMemory{pointer, bytes};
  }
  void release(const DeviceMemory& memory) override { cu_.cuMemFree(memory.handle); }
  auto write(const DeviceMemory& to, const void* from, uint64_t bytes) -> Status override {
    if (bytes == 0) { return ok(); }
    LOOPSMITH_CHECK(check("copy to the device", cu_.cuMemcpyHtoDAsync(to.handle, from, bytes, stream_)));
    return check("copy to the device", cu_.cuStreamSynchronize(stream_));
  }
  auto read(void* to, const DeviceMemory& from, uint64_t bytes) -> Status override {
    if (bytes == 0) { return ok(); }
    LOOPSMITH_CHECK(check("copy from the device", cu_.cuMemcpyDtoHAsync(to, from.handle, bytes, stream_)));
    return check("copy from the device", cu_.cuStreamSynchronize(stream_));
  }

  auto compile(const std::string& source) -> Status override {
    LOOPSMITH_TRY(code, compile_cuda_apart(source, {.arch = facts_.limits.name}));
    CuModule module = nullptr;
    LOOPSMITH_CHECK(check("load the kernels", cu_.cuModuleLoadData(&module, code.code.data())));
    modules_.push_back(module);
    return ok();
  }
  auto launch(std::string_view kernel, const LaunchSize& size, const std::vector<KernelArgument>& arguments) -> Status override {
    for (size_t d = 0; d < 3; ++d) {
      if (size.grid[d] == 0 || size.block[d] == 0) { return ok(); }
      if (facts_.limits.grid_sizes[d] != 0 && size.grid[d] > facts_.limits.grid_sizes[d]) {
        return failed(fmt::format("launch `{}`", kernel), fmt::format("its grid has {} blocks in {}, and the device allows {}", size.grid[d], "xyz"[d], facts_.limits.grid_sizes[d]));
      }
    }
    LOOPSMITH_TRY(function, find(std::string(kernel)));
    if (size.shared_bytes > 0) {
      // Above 48 KB a kernel gets shared memory only on request.
      LOOPSMITH_CHECK(check(fmt::format("give `{}` {} bytes of shared memory", kernel, size.shared_bytes),
                            cu_.cuFuncSetAttribute(function, dynamic_shared_attribute, static_cast<int>(size.shared_bytes))));
    }
    std::vector<KernelArgument> kept = arguments;
    std::vector<void*> places;
    for (KernelArgument& argument : kept) {
      auto* memory = std::get_if<DeviceMemory>(&argument);
      places.push_back(memory != nullptr ? static_cast<void*>(&memory->handle) : std::get<KernelNumber>(argument).bytes.data());
    }
    if (is_timing_ && !is_begun_) {
      LOOPSMITH_CHECK(check("read its clock", cu_.cuEventRecord(first_, stream_)));
      is_begun_ = true;
    }
    auto small = [](uint64_t value) { return static_cast<unsigned>(value); };
    return check(fmt::format("launch `{}`", kernel), cu_.cuLaunchKernel(function, small(size.grid[0]), small(size.grid[1]), small(size.grid[2]), small(size.block[0]), small(size.block[1]),
                                                                        small(size.block[2]), small(size.shared_bytes), stream_, places.data(), nullptr));
  }
  auto start_clock() -> Status override {
    for (CuEvent* event : {&first_, &last_}) {
      if (*event == nullptr) { LOOPSMITH_CHECK(check("make a clock", cu_.cuEventCreate(event, 0))); }
    }
    is_timing_ = true;
    is_begun_ = false;
    return ok();
  }
  auto stop_clock() -> Result<double> override {
    is_timing_ = false;
    if (!is_begun_) { return 0.0; }
    LOOPSMITH_CHECK(check("read its clock", cu_.cuEventRecord(last_, stream_)));
    LOOPSMITH_CHECK(wait());
    float milliseconds = 0;
    LOOPSMITH_CHECK(check("read its clock", cu_.cuEventElapsedTime(&milliseconds, first_, last_)));
    return static_cast<double>(milliseconds) * 1e-3;
  }
  auto wait() -> Status override { return check("run the kernels", cu_.cuStreamSynchronize(stream_)); }

 private:
  [[nodiscard]] auto failed(const std::string& action, const std::string& why) const -> Diagnostic {
    return error(Code::DeviceFailed).arg("device", facts_.name).arg("action", action).arg("driver_message", why);
  }
  [[nodiscard]] auto failed(const std::string& action, int code) const -> Diagnostic {
    switch (code) {
      case out_of_memory: return failed(action, fmt::format("it has not enough free memory ({:.1f} GiB in all)", static_cast<double>(facts_.memory_bytes) / (1U << 30U))).remedy("choose smaller sizes with `--arg`, or end other programs that use the device");
      case illegal_address: return failed(action, "a kernel reads or writes outside of its buffers").remedy("`loopsmith interpret` names the access");
      case misaligned: return failed(action, "a kernel accesses memory at an address that is not a multiple of the access's size");
      case illegal_instruction: case launch_failed: return failed(action, "a kernel was stopped by the hardware").remedy("`loopsmith interpret` checks every access");
      case assertion: return failed(action, "an assertion of a kernel failed");
      case launch_timeout: return failed(action, "a kernel ran longer than the driver allows");
      case out_of_resources: return failed(action, "a block needs more registers or threads than a multiprocessor has").remedy("bind fewer threads");
      case invalid_image: case no_binary: case unsupported_ptx: return failed(action, fmt::format("the code is not for this device ({})", facts_.limits.name));
      default: return failed(action, text_of(code));
    }
  }
  [[nodiscard]] auto text_of(int code) const -> std::string {
    const char* text = nullptr;
    return cu_.cuGetErrorString(code, &text) == 0 && text != nullptr ? fmt::format("{} (error {})", text, code) : fmt::format("error {}", code);
  }
  [[nodiscard]] auto check(const std::string& action, int code) const -> Status {
    if (code != 0) { return failed(action, code); }
    return ok();
  }
  auto find(const std::string& name) -> Result<CuFunction> {
    if (auto known = functions_.find(name); known != functions_.end()) { return known->second; }
    int code = 0;
    for (CuModule module : modules_) {
      CuFunction function = nullptr;
      code = cu_.cuModuleGetFunction(&function, module, name.c_str());
      if (code == 0) { return functions_[name] = function; }
    }
    return failed(fmt::format("find `{}`", name), code);
  }

  const Library& cu_;
  CuDevice device_;
  CuStream stream_;
  DeviceFacts facts_;
  std::vector<CuModule> modules_;
  std::unordered_map<std::string, CuFunction> functions_;
  bool is_timing_ = false, is_begun_ = false;
  CuEvent first_ = nullptr, last_ = nullptr;
};

auto facts_of(const Library& cu, CuDevice device, int version) -> DeviceFacts {
  DeviceFacts facts;
  auto number = [&](Attribute attribute) -> uint64_t {
    int value = 0;
    return cu.cuDeviceGetAttribute(&value, attribute, device) == 0 && value > 0 ? static_cast<uint64_t>(value) : 0;
  };
  char name[256] = {};
  if (cu.cuDeviceGetName(name, sizeof name, device) == 0) { facts.name = name; }
  size_t bytes = 0;
  if (cu.cuDeviceTotalMem(&bytes, device) == 0) { facts.memory_bytes = bytes; }
  facts.driver = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
  facts.cache_bytes = number(L2Bytes);
  const uint64_t major = number(Major), minor = number(Minor);
  // Code for exactly this architecture may use all of its units.
  facts.limits.name = fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
  facts.target = "cuda -arch=" + facts.limits.name;
  facts.limits.block_threads = number(MaxThreadsPerBlock);
  facts.limits.block_sizes = {number(MaxBlockX), number(MaxBlockY), number(MaxBlockZ)};
  facts.limits.grid_sizes = {number(MaxGridX), number(MaxGridY), number(MaxGridZ)};
  facts.limits.warp = number(WarpSize);
  facts.limits.shared_static = number(SharedPerBlock);
  facts.limits.shared_most = std::max(number(SharedOptIn), facts.limits.shared_static);
  facts.limits.thread_registers = 255;
  facts.limits.thread_bytes = 512 << 10;
  facts.limits.unit_threads = number(ThreadsPerMultiprocessor);
  facts.limits.unit_blocks = number(BlocksPerMultiprocessor);
  facts.limits.unit_registers = number(RegistersPerMultiprocessor);
  facts.limits.unit_shared = number(SharedPerMultiprocessor);
  facts.limits.units = number(Multiprocessors);
  return facts;
}

}  // namespace

auto open_cuda() -> Result<std::unique_ptr<Device>> {
  LOOPSMITH_TRY(library, load());
  const Library& cu = *library;
  auto text = [&](int code) {
    const char* found = nullptr;
    return cu.cuGetErrorString(code, &found) == 0 && found != nullptr ? std::string(found) : fmt::format("error {}", code);
  };
  int version = 0;
  (void)cu.cuDriverGetVersion(&version);
  auto too_old = [&](int toolkit) {
    return missing(because(Why::DriverTooOld).arg("version", fmt::format("{}.{}", version / 1000, version % 1000 / 10)).arg("toolkit", toolkit).text(),
                   "install a newer driver, or an older toolkit and set CUDA_PATH to its folder");
  };
  if (int code = cu.cuInit(0); code != 0) {
    if (code == no_device) { return missing(because(Why::FindsNoGpu).text(), install_driver); }
    if (code == mismatch || code == stub_library) { return missing(because(Why::PartsOfDriver).arg("driver_message", text(code)).text(), "install the driver again, and start the machine anew"); }
    return missing(text(code), install_driver);
  }
  if (auto toolkit = nvrtc_major(); toolkit && version < oldest_driver_of(*toolkit)) { return too_old(*toolkit); }
  int count = 0;
  CuDevice device = 0;
  if (cu.cuDeviceGetCount(&count) != 0 || count == 0 || cu.cuDeviceGet(&device, 0) != 0) { return missing(because(Why::FindsNoGpu).text(), install_driver); }
  DeviceFacts facts = facts_of(cu, device, version);
  auto opened = [&](int code) -> Status {
    if (code == 0) { return ok(); }
    return error(Code::DeviceFailed).arg("device", facts.name).arg("action", "be opened").arg("driver_message", text(code));
  };
  CuContext context = nullptr;
  CuStream stream = nullptr;
  LOOPSMITH_CHECK(opened(cu.cuDevicePrimaryCtxRetain(&context, device)));
  LOOPSMITH_CHECK(opened(cu.cuCtxSetCurrent(context)));
  LOOPSMITH_CHECK(opened(cu.cuStreamCreate(&stream, non_blocking_stream)));
  return std::unique_ptr<Device>(new CudaDevice(cu, device, stream, std::move(facts)));
}

auto open_device(const target::Target& target) -> Result<std::unique_ptr<Device>> { return target.kind == "opencl" ? open_opencl() : open_cuda(); }

}  // namespace loopsmith::runtime
