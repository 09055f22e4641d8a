// A program whose kernels run on a device: this process runs the allocations, loops and launches of the host function.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "codegen/interface.h"
#include "codegen/source/source.h"
#include "ir/ir.h"
#include "runtime/devices/cuda_compiler.h"
#include "runtime/devices/device.h"
#include "runtime/jit.h"

namespace loopsmith::runtime {

class DeviceCall;

class DeviceProgram {
 public:
  /// Compiles the kernels of a module after split_host_device for a device; first checks the device's limits. `scheduled`: the module before lowering, whose
  /// buffers have the shapes to check.
  [[nodiscard]] static auto compile(const IRModule& flat, std::shared_ptr<Device> device, const IRModule& scheduled = {}, const codegen::SourceOptions& options = {})
      -> Result<DeviceProgram>;

  /// Copies the tensors to the device, runs the function with that symbol (empty: the only one that is not a kernel), and copies back the
  /// tensors that it writes. Checks arguments like `bind_arguments`.
  [[nodiscard]] auto call(std::string_view function, std::span<const Value> arguments) const -> Status;
  /// The same, but stops after the copies to the device, for several runs on the same arguments. The program must outlive the call.
  [[nodiscard]] auto prepare(std::string_view function, std::span<const Value> arguments) const -> Result<DeviceCall>;

  /// The parameters of the function of that symbol.
  [[nodiscard]] auto interface(std::string_view function) const -> Result<codegen::Interface>;
  [[nodiscard]] auto device() const -> Device& { return *device_; }
  [[nodiscard]] auto source() const -> const std::string& { return source_; }

 private:
  friend class DeviceCall;
  DeviceProgram(IRModule flat, IRModule scheduled, std::shared_ptr<Device> device, std::string source)
      : flat_(std::move(flat)), scheduled_(std::move(scheduled)), device_(std::move(device)), source_(std::move(source)) {}
  struct Host { Name name; PrimFunc function; };
  [[nodiscard]] auto find_host(std::string_view function) const -> Result<Host>;
  IRModule flat_, scheduled_;
  std::shared_ptr<Device> device_;
  std::string source_;
};

/// A program with its arguments on the device.
class DeviceCall {
 public:
  DeviceCall(DeviceCall&&) noexcept;
  ~DeviceCall();
  /// Runs the host function; kernels may still run when it returns.
  [[nodiscard]] auto run() -> Status;
  /// Waits for the kernels, and copies the written tensors back.
  [[nodiscard]] auto read_back() -> Status;

 private:
  friend class DeviceProgram;
  struct State;
  explicit DeviceCall(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The kernels of a module as CUDA C, compiled. An error of the compiler is reported at the statement that caused it.
[[nodiscard]] auto compile_cuda_kernels(const IRModule& flat, const CudaOptions& options, const codegen::SourceOptions& source = {}, const CompileLimits& limits = {})
    -> Result<CudaCode>;

}  // namespace loopsmith::runtime
