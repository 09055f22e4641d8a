// Devices that run kernels: memory, copies, compilation, launches. One file for each driver; a driver is a library that is loaded on first
// use and never linked, so that one program works on machines with and without it.
//
// A device has one queue: operations run in order. Errors name the driver's call and its meaning. After an error of a kernel (an illegal
// access, a limit) the state of a device is unknown: use devices in a separate process.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/diagnostic.h"
#include "target/gpu.h"

namespace loopsmith::runtime {

/// Memory of a device; only the driver interprets the handle.
struct DeviceMemory {
  uint64_t handle = 0;
  uint64_t bytes = 0;
};

/// An argument of a kernel: memory, or the bytes of a number in the kernel's type.
struct KernelNumber {
  std::array<unsigned char, 8> bytes{};
  size_t size = 0;
};
using KernelArgument = std::variant<DeviceMemory, KernelNumber>;

struct LaunchSize {
  std::array<uint64_t, 3> grid{1, 1, 1};    // blocks
  std::array<uint64_t, 3> block{1, 1, 1};   // threads of a block
  uint64_t shared_bytes = 0;                // shared memory of a block in addition to the memory that the kernel declares
};

struct DeviceFacts {
  std::string name;
  std::string driver;
  std::string target;                    // the target of its code: "cuda -arch=sm_90a", "opencl"
  uint64_t memory_bytes = 0;             // 0: unknown, also below
  uint64_t cache_bytes = 0;              // of the cache that all multiprocessors share
  bool is_processor = false;             // its kernels run on the host's processor
  target::GpuLimits limits;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual auto facts() const -> const DeviceFacts& = 0;
  /// Memory without defined contents. A request for zero bytes gets one byte.
  [[nodiscard]] virtual auto allocate(uint64_t bytes) -> Result<DeviceMemory> = 0;
  virtual void release(const DeviceMemory& memory) = 0;
  [[nodiscard]] virtual auto write(const DeviceMemory& to, const void* from, uint64_t bytes) -> Status = 0;
  [[nodiscard]] virtual auto read(void* to, const DeviceMemory& from, uint64_t bytes) -> Status = 0;
  /// Device time: the seconds from the start of the first kernel that was launched after `start_clock` to the end of the last. `stop_clock` waits.
  [[nodiscard]] virtual auto start_clock() -> Status = 0;
  [[nodiscard]] virtual auto stop_clock() -> Result<double> = 0;
  /// Compiles a text of kernels and keeps it; `kernel` finds a kernel by its name. An error contains the compiler's messages.
  [[nodiscard]] virtual auto compile(const std::string& source) -> Status = 0;
  [[nodiscard]] virtual auto launch(std::string_view kernel, const LaunchSize& size, const std::vector<KernelArgument>& arguments) -> Status = 0;
  /// Waits until all operations have finished.
  [[nodiscard]] virtual auto wait() -> Status = 0;
};

/// The first device of OpenCL, with its driver loaded; an error names the missing part.
[[nodiscard]] auto open_opencl() -> Result<std::unique_ptr<Device>>;
/// The first device of NVIDIA's driver, libcuda.so.1. An error names the missing part, or the driver's version if it is too old.
[[nodiscard]] auto open_cuda() -> Result<std::unique_ptr<Device>>;
/// The first device for a target of the kinds `cuda`, `nvptx` and `opencl`.
[[nodiscard]] auto open_device(const target::Target& target) -> Result<std::unique_ptr<Device>>;

/// The devices of all OpenCL drivers, without opening them; for lists.
[[nodiscard]] auto list_opencl() -> Result<std::vector<DeviceFacts>>;

}  // namespace loopsmith::runtime
