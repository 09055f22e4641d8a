// A program whose kernels run on a device: the host function walks its allocations, loops and launches here, in this process.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "codegen/interface.h"
#include "codegen/source/source.h"
#include "ir/ir.h"
#include "runtime/devices/device.h"
#include "runtime/jit.h"

namespace loopsmith::runtime {

class DeviceProgram {
 public:
  /// Compiles the kernels of a module after split_host_device. `scheduled`: the module before lowering, whose buffers have the shapes to check.
  [[nodiscard]] static auto compile(const IRModule& flat, codegen::SourceDialect dialect, std::shared_ptr<Device> device, const IRModule& scheduled = {},
                                    const codegen::SourceOptions& options = {}) -> Result<DeviceProgram>;

  /// Copies the tensors to the device, runs the function of that symbol (empty: the only one that is not a kernel), and copies back the
  /// tensors that it writes. Arguments are checked as `bind_arguments` does.
  [[nodiscard]] auto call(std::string_view function, std::span<const Value> arguments) const -> Status;

  [[nodiscard]] auto device() const -> Device& { return *device_; }
  [[nodiscard]] auto source() const -> const std::string& { return source_; }

 private:
  DeviceProgram(IRModule flat, IRModule scheduled, std::shared_ptr<Device> device, std::string source)
      : flat_(std::move(flat)), scheduled_(std::move(scheduled)), device_(std::move(device)), source_(std::move(source)) {}
  IRModule flat_, scheduled_;
  std::shared_ptr<Device> device_;
  std::string source_;
};

}  // namespace loopsmith::runtime
