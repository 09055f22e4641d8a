// Kernels of a selection on a device: see device.h.
#include "driver/device.h"

#include "codegen/source/source.h"
#include "driver/execution.h"
#include "driver/lowering.h"
#include "runtime/devices/program.h"

namespace loopsmith::driver {

auto is_device_target(const target::Target& target) -> bool { return target.kind == "opencl"; }

auto call_on_device(const Selection& selection, const std::vector<runtime::Value>& values) -> Result<std::string> {
  IRModule module = named_module(selection);
  LOOPSMITH_TRY(lowered, transform::lower(module, lower_context(selection.target), lower_request(selection.target)));
  LOOPSMITH_TRY(opened, runtime::open_opencl());
  std::shared_ptr<runtime::Device> device(std::move(opened));
  LOOPSMITH_TRY(program, runtime::DeviceProgram::compile(lowered, codegen::SourceDialect::OpenCl, device, module));
  LOOPSMITH_CHECK(program.call(symbol_of(selection), values));
  return device->facts().name;
}

}  // namespace loopsmith::driver
