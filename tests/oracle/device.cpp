// Kernels on a device compared with the reference interpreter: every scheduled program of the corpus with bound threads, lowered for OpenCL and
// run by the OpenCL driver of this machine, must give the interpreter's results for the unscheduled program; so must its CUDA
// text on the processor, in two orders of threads (tests/device). If the CUDA Toolkit is installed, kernels are also compiled for GPUs.
#include <fmt/format.h>

#include <memory>

#include "codegen/source/source.h"
#include "host_device.h"
#include "interpreted.h"
#include "runtime/devices/nvrtc.h"
#include "runtime/devices/program.h"
#include "support/codes.h"
#include "transform/pipelines.h"

namespace loopsmith::oracle {
namespace {

/// A device for each program, because the device stores compiled kernels.
auto device() -> std::shared_ptr<runtime::Device> {
  auto opened = runtime::open_opencl();
  return opened.ok() ? std::shared_ptr<runtime::Device>(std::move(opened).value()) : nullptr;
}

/// Runs a lowered module on a device; returns an error text if it fails or the results differ.
auto difference_on(const std::shared_ptr<runtime::Device>& device, const IRModule& lowered, const Interpreted& program) -> std::optional<std::string> {
  auto code = runtime::DeviceProgram::compile(lowered, device, program.scheduled);
  if (!code) { return describe(code.diagnostics()); }
  interp::Inputs given = interp::copy_inputs(program.given);
  std::vector<runtime::Value> values = values_of(given);
  if (auto status = code->call("", values); !status) { return describe(status.diagnostics()); }
  return difference_from(program, given);
}

}  // namespace

void check_device(const Json& line, Tally& tally) {
  auto texts = scheduled_text(line, tally);
  if (!texts) { return; }
  if (texts->after.find("thread=\"") == std::string::npos && texts->after.find("launch_thread") == std::string::npos) { return tally.leave_out("without threads"); }
  auto program = interpret_both(*texts, tally);
  if (!program) { return; }
  const std::string& id = texts->id;
  auto cuda = transform::lower(program->scheduled, {}, {.target_kind = "cuda", .until = {}, .on_stage = {}});
  if (!cuda) { return tally.fail(id, "lowered", describe(cuda.diagnostics())); }
  auto cuda_text = codegen::kernel_source(*cuda, codegen::SourceDialect::Cuda);
  if (!cuda_text) { return tally.fail(id, "printed as CUDA C", describe(cuda_text.diagnostics())); }
  static const bool compiles_cuda = runtime::nvrtc_version().ok();
  for (const char* arch : {"sm_80", "sm_90a"}) {
    if (!compiles_cuda) { break; }
    auto cubin = runtime::compile_cuda(runtime::nvrtc_library(), *cuda_text, {.arch = arch});
    std::string problem = !cubin ? describe(cubin.diagnostics()) : cubin->is_compiled ? "" : cubin->log;
    if (!problem.empty()) { return tally.fail(id, std::string("compiled for ") + arch, problem + "\n" + *cuda_text); }
  }
  auto opencl = transform::lower(program->scheduled, {}, {.target_kind = "opencl", .until = {}, .on_stage = {}});
  if (!opencl) { return tally.fail(id, "lowered for OpenCL", describe(opencl.diagnostics())); }
  auto text = codegen::kernel_source(*opencl, codegen::SourceDialect::OpenCl);
  if (!text) { return tally.fail(id, "printed as OpenCL C", describe(text.diagnostics())); }
  struct Run { const char* name; std::shared_ptr<runtime::Device> device; const IRModule& lowered; const std::string& text; };
  const Run runs[] = {{"OpenCL", device(), *opencl, *text},
                      {"CUDA on the host, threads forward", device_tests::open_host_device(device_tests::ThreadOrder::Forward), *cuda, *cuda_text},
                      {"CUDA on the host, threads backward", device_tests::open_host_device(device_tests::ThreadOrder::Backward), *cuda, *cuda_text}};
  for (const Run& run : runs) {
    if (!run.device) { continue; }
    if (auto problem = difference_on(run.device, run.lowered, *program)) {
      return tally.fail(id, std::string("the interpreter's results by ") + run.name, *problem + "\n" + run.text);
    }
  }
  tally.pass();
}

}  // namespace loopsmith::oracle
