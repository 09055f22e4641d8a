// Kernels on a device compared with the reference interpreter: every scheduled program of the corpus with bound threads, lowered for OpenCL and
// run by the OpenCL driver of this machine, must give the interpreter's results for the unscheduled program; so must its CUDA
// text on the processor, in two orders of threads (tests/device), and on the GPU where NVIDIA's driver is. If the CUDA Toolkit is installed, kernels are also compiled for GPUs. `device_texts` is the
// same without results, for programs of any size.
#include <fmt/format.h>

#include <memory>

#include "codegen/source/source.h"
#include "gpu.h"
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
  // A launch may ask for more than this device has.
  if (!code && code.diagnostics()[0].code == Code::DeviceLimit) { return {}; }
  if (!code) { return describe(code.diagnostics()); }
  interp::Inputs given = interp::copy_inputs(program.given);
  std::vector<runtime::Value> values = values_of(given);
  if (auto status = code->call("", values); !status) { return status.diagnostics()[0].code == Code::DeviceLimit ? std::nullopt : std::optional<std::string>(describe(status.diagnostics())); }
  return difference_from(program, given);
}

/// The kernels of a scheduled program for one target, and their text.
struct Kernels { IRModule lowered; std::string text; };
auto kernels_for(const std::string& id, const IRModule& scheduled, const char* target, codegen::SourceDialect dialect, Tally& tally) -> std::optional<Kernels> {
  auto lowered = transform::lower(scheduled, {}, {.target_kind = target, .until = {}, .on_stage = {}});
  if (!lowered) {
    tally.fail(id, std::string("lowered for ") + target, describe(lowered.diagnostics()));
    return {};
  }
  auto text = codegen::kernel_source(*lowered, dialect);
  if (!text) {
    tally.fail(id, std::string("printed for ") + target, describe(text.diagnostics()));
    return {};
  }
  return Kernels{*lowered, *text};
}

/// False, and counted as failed, where the CUDA Toolkit is there and does not compile the text.
auto compiles(const std::string& id, const std::string& text, Tally& tally) -> bool {
  static const bool has_compiler = runtime::nvrtc_version().ok();
  for (const char* arch : {"sm_80", "sm_90a"}) {
    if (!has_compiler) { break; }
    auto cubin = runtime::compile_cuda(runtime::nvrtc_library(), text, {.arch = arch});
    std::string problem = !cubin ? describe(cubin.diagnostics()) : cubin->is_compiled ? "" : cubin->log;
    if (problem.empty()) { continue; }
    tally.fail(id, std::string("compiled for ") + arch, problem + "\n" + text);
    return false;
  }
  return true;
}

/// The kernels of a scheduled program for both targets, and the program.
struct Compiled { IRModule scheduled; Kernels cuda, opencl; };
/// None, and counted as failed or left out, where there are no kernels.
auto compile_kernels(const ScheduledText& texts, Tally& tally) -> std::optional<Compiled> {
  auto leave_out = [&](const char* why) -> std::optional<Compiled> {
    tally.leave_out(why);
    return {};
  };
  if (texts.after.find("thread=\"") == std::string::npos && texts.after.find("launch_thread") == std::string::npos) { return leave_out("without threads"); }
  // Tensor intrinsics of processors have no meaning on a GPU.
  if (texts.after.find("call_llvm_") != std::string::npos) { return leave_out("instructions of a processor"); }
  const Parsed scheduled = parse_program(texts.after);
  if (!scheduled.module) { return leave_out("unreadable programs"); }
  auto cuda = kernels_for(texts.id, scheduled.module, "cuda", codegen::SourceDialect::Cuda, tally);
  auto opencl = cuda ? kernels_for(texts.id, scheduled.module, "opencl", codegen::SourceDialect::OpenCl, tally) : std::nullopt;
  if (!opencl || !compiles(texts.id, cuda->text, tally)) { return {}; }
  return Compiled{scheduled.module, *std::move(cuda), *std::move(opencl)};
}

}  // namespace

void check_device(const Json& line, Tally& tally) {
  auto texts = scheduled_text(line, tally);
  if (!texts) { return; }
  if (texts->after.find("thread=\"") == std::string::npos && texts->after.find("launch_thread") == std::string::npos) { return tally.leave_out("without threads"); }
  auto program = interpret_both(*texts, tally);
  auto kernels = program ? compile_kernels(*texts, tally) : std::nullopt;
  if (!kernels) { return; }
  struct Run { const char* name; std::shared_ptr<runtime::Device> device; const Kernels& kernels; };
  const Run runs[] = {{"OpenCL", device(), kernels->opencl},
                      {"CUDA", device_tests::open_gpu(), kernels->cuda},
                      {"CUDA on the host, threads forward", device_tests::open_host_device(device_tests::ThreadOrder::Forward), kernels->cuda},
                      {"CUDA on the host, threads backward", device_tests::open_host_device(device_tests::ThreadOrder::Backward), kernels->cuda}};
  for (const Run& run : runs) {
    if (!run.device) { continue; }
    if (auto problem = difference_on(run.device, run.kernels.lowered, *program)) {
      return tally.fail(texts->id, std::string("the interpreter's results by ") + run.name, *problem + "\n" + run.kernels.text);
    }
  }
  tally.pass();
}

// Programs of any size, those of design spaces too, are lowered, printed and compiled; their results are not computed.
void check_device_texts(const Json& line, Tally& tally) {
  auto check = [&](const ScheduledText& texts) { if (compile_kernels(texts, tally)) { tally.pass(); } };
  auto after = line.find("after");
  if (after == line.end() || !after->is_array()) {
    if (auto texts = scheduled_text(line, tally)) { check(*texts); }
    return;
  }
  // A line of design_space has a program for each trace.
  int number = 0;
  for (const Json& text : *after) { check({fmt::format("{}.{} ({})", line.at("id").get<std::string>(), number++, line.value("workload", std::string())), line.at("before"), text}); }
}

}  // namespace loopsmith::oracle
