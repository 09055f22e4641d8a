// Kernels on a device against the reference interpreter: every scheduled program of the corpus with bound threads, lowered for OpenCL and
// run by the OpenCL driver of this machine, must compute the results of the interpreter for the program as it was written; so must its CUDA
// text on the processor, in two orders of threads (tests/device). Kernels are also compiled for GPUs where the CUDA Toolkit is.
#include <fmt/format.h>

#include <memory>

#include "codegen/source/source.h"
#include "host_device.h"
#include "interp/compare.h"
#include "kind.h"
#include "program.h"
#include "runtime/devices/nvrtc.h"
#include "runtime/devices/program.h"
#include "support/codes.h"
#include "transform/pipelines.h"

namespace loopsmith::oracle {
namespace {

// Beyond this many block instances the interpreter takes too long for a test.
constexpr double max_instances = 300'000;

auto value_of(const interp::Argument& argument) -> runtime::Value {
  if (const auto* view = std::get_if<TensorView>(&argument)) { return *view; }
  if (const auto* integer = std::get_if<int64_t>(&argument)) { return *integer; }
  return std::get<double>(argument);
}

/// A device for each program: compiled kernels are kept by the device.
auto device() -> std::shared_ptr<runtime::Device> {
  auto opened = runtime::open_opencl();
  return opened.ok() ? std::shared_ptr<runtime::Device>(std::move(opened).value()) : nullptr;
}

/// Runs a lowered module on a device; a text where the results are not those expected, or where it did not run.
auto difference_on(const std::shared_ptr<runtime::Device>& device, codegen::SourceDialect dialect, const IRModule& lowered, const IRModule& scheduled,
                   const interp::Inputs& expected, interp::Inputs given, const PrimFunc& func, bool exact) -> std::optional<std::string> {
  auto code = runtime::DeviceProgram::compile(lowered, dialect, device, scheduled);
  if (!code) { return describe(code.diagnostics()); }
  std::vector<runtime::Value> values;
  for (const auto& argument : given.arguments) { values.push_back(value_of(argument)); }
  if (auto status = code->call("", values); !status) { return describe(status.diagnostics()); }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto* wanted = std::get_if<TensorView>(&expected.arguments[i]);
    if (wanted == nullptr) { continue; }
    auto difference = interp::compare_tensors(func->params[i]->name.str(), *wanted, std::get<TensorView>(given.arguments[i]), exact);
    if (difference.found) { return difference.where; }
  }
  return {};
}

void check(const std::string& id, const std::string& before, const std::string& after, Tally& tally) {
  if (after.find("thread=\"") == std::string::npos && after.find("launch_thread") == std::string::npos) { return tally.leave_out("without threads"); }
  Parsed program = parse_program(before);
  Parsed scheduled = parse_program(after);
  if (!program.module || !scheduled.module) { return tally.leave_out("unreadable programs"); }
  if (program.module->functions.size() != 1 || scheduled.module->functions.size() != 1) { return tally.leave_out("several functions"); }
  const auto& [name, func] = program.module->functions[0];
  if (interp::count_instances(program.module, name, 7) > max_instances) { return tally.leave_out("too large to interpret"); }
  auto inputs = interp::make_inputs(func, 3, interp::Contents::SmallIntegers);
  if (!inputs) { return tally.leave_out("arguments that cannot be made"); }
  interp::Inputs ours = interp::copy_inputs(*inputs);
  interp::Inputs again = interp::copy_inputs(*inputs);
  if (auto ran = interp::interpret(program.module, name, inputs->arguments); !ran) { return tally.leave_out("not interpreted"); }
  if (auto ran = interp::interpret(scheduled.module, scheduled.module->functions[0].first, again.arguments); !ran) {
    return tally.leave_out("where the reference's result is not interpreted");
  }
  const bool exact = interp::is_exact_on_integers(func);
  for (size_t i = 0; i < inputs->arguments.size(); ++i) {
    const auto* expected = std::get_if<TensorView>(&inputs->arguments[i]);
    if (expected != nullptr && interp::compare_tensors("", *expected, std::get<TensorView>(again.arguments[i]), exact).found) {
      return tally.leave_out("where the reference's result is another program");
    }
  }
  auto cuda = transform::lower(scheduled.module, {}, {.target_kind = "cuda", .until = {}, .on_stage = {}});
  if (!cuda) { return tally.fail(id, "lowered", describe(cuda.diagnostics())); }
  auto cuda_text = codegen::kernel_source(*cuda, codegen::SourceDialect::Cuda);
  if (!cuda_text) { return tally.fail(id, "printed as CUDA C", describe(cuda_text.diagnostics())); }
  static const bool compiles_cuda = runtime::nvrtc_version().ok();
  for (const char* arch : {"sm_80", "sm_90a"}) {
    if (!compiles_cuda) { break; }
    if (auto cubin = runtime::compile_cuda(*cuda_text, {.arch = arch}); !cubin) { return tally.fail(id, std::string("compiled for ") + arch, describe(cubin.diagnostics()) + "\n" + *cuda_text); }
  }
  auto text = codegen::kernel_source(*cuda, codegen::SourceDialect::OpenCl);
  if (!text) { return tally.fail(id, "printed as OpenCL C", describe(text.diagnostics())); }
  struct Run { const char* name; codegen::SourceDialect dialect; std::shared_ptr<runtime::Device> device; const std::string& text; };
  const Run runs[] = {{"OpenCL", codegen::SourceDialect::OpenCl, device(), *text},
                      {"CUDA on the host, threads forward", codegen::SourceDialect::Cuda, device_tests::open_host_device(device_tests::ThreadOrder::Forward), *cuda_text},
                      {"CUDA on the host, threads backward", codegen::SourceDialect::Cuda, device_tests::open_host_device(device_tests::ThreadOrder::Backward), *cuda_text}};
  for (const Run& run : runs) {
    if (!run.device) { continue; }
    if (auto problem = difference_on(run.device, run.dialect, *cuda, scheduled.module, *inputs, interp::copy_inputs(ours), func, exact)) {
      return tally.fail(id, std::string("the interpreter's results by ") + run.name, *problem + "\n" + run.text);
    }
  }
  tally.pass();
}

}  // namespace

void check_device(const Json& line, Tally& tally) {
  auto bad = [&](const char* key) {
    auto found = line.find(key);
    if (found == line.end()) { return false; }
    return found->is_boolean() ? !found->get<bool>() : found->is_string() && found->get<std::string>() != "ok";
  };
  if (bad("verified") || bad("from_text") || bad("replay")) { return tally.leave_out("where the reference disagrees with itself"); }
  check(line.at("id").get<std::string>() + " (" + line.value("focus", std::string()) + ")", line.at("before"), line.at("after"), tally);
}

}  // namespace loopsmith::oracle
