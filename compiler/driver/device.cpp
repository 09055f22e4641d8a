// Runs the kernels of a selection on a device: see device.h.
#include "driver/device.h"

#include <algorithm>

#include <fmt/format.h>

#include "driver/execution.h"
#include "driver/lowering.h"
#include "ir/vocabulary.h"
#include "runtime/devices/limits.h"

namespace loopsmith::driver {

auto lower_for_device(const Selection& selection, const target::Target& target) -> Result<IRModule> {
  LOOPSMITH_TRY(lowered, transform::lower(named_module(selection), lower_context(target), lower_request(target)));
  LOOPSMITH_CHECK(runtime::check_kernels(lowered, target));
  return lowered;
}

auto compile_for_device(const Selection& selection, std::shared_ptr<runtime::Device> device) -> Result<runtime::DeviceProgram> {
  LOOPSMITH_TRY(target, target::parse(device->facts().target));
  LOOPSMITH_TRY(lowered, transform::lower(named_module(selection), lower_context(target), lower_request(target)));
  return runtime::DeviceProgram::compile(lowered, std::move(device), named_module(selection));
}

auto call_on_device(const Selection& selection, std::shared_ptr<runtime::Device> device, const std::vector<runtime::Value>& values) -> Status {
  LOOPSMITH_TRY(program, compile_for_device(selection, std::move(device)));
  return program.call(symbol_of(selection), values);
}

auto device_of(const Selection& selection) -> Result<std::shared_ptr<runtime::Device>> {
  LOOPSMITH_TRY(opened, runtime::open_device(selection.target));
  return std::shared_ptr<runtime::Device>(std::move(opened));
}

auto checking_device(const target::Target& target) -> Result<std::shared_ptr<runtime::Device>> {
  auto opened = runtime::open_device(target);
  if (!opened && target.kind != target_kind::opencl) { opened = runtime::open_opencl(); }
  if (!opened) { return opened.diagnostics(); }
  return std::shared_ptr<runtime::Device>(std::move(*opened));
}

auto text_of(const runtime::DeviceFacts& facts) -> std::string {
  const target::GpuLimits& limits = facts.limits;
  std::string out = facts.name + ", " + facts.driver;
  if (limits.units > 0) { out += fmt::format(", {} {}", limits.units, facts.is_processor ? "cores" : "multiprocessors"); }
  if (facts.memory_bytes > 0) { out += fmt::format(", {:.1f} GiB", static_cast<double>(facts.memory_bytes) / (1U << 30U)); }
  if (limits.block_threads > 0) { out += fmt::format(", {} threads and {} KB of shared memory a block", limits.block_threads, limits.shared_most / 1024); }
  return out;
}

auto describe_device(std::vector<std::string> args) -> int {
  auto target = target::parse(args.empty() ? "opencl" : args.front());
  auto device = target ? runtime::open_device(*target) : Result<std::unique_ptr<runtime::Device>>(target.diagnostics());
  if (device) {
    fmt::print("+{}", text_of((*device)->facts()));
    return 0;
  }
  const Diagnostic& why = device.diagnostics().front();
  fmt::print("-{}\n{}", why.message(), why.remedies.empty() ? "" : why.remedies.front());
  return 0;
}

}  // namespace loopsmith::driver
