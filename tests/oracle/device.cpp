// Kernels on a device against the reference interpreter: every scheduled program of the corpus with bound threads, lowered for OpenCL and
// run by the OpenCL driver of this machine, must compute the results of the interpreter for the program as it was written. Without a driver
// the kernels are printed only.
#include <fmt/format.h>

#include <memory>

#include "codegen/source/source.h"
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

/// The program uses instructions that OpenCL C does not have.
auto needs_warps(const std::string& text) -> bool {
  for (const char* word : {"wmma.", "tvm_warp_shuffle", "ptx_mma", "ptx_ldmatrix"}) {
    if (text.find(word) != std::string::npos) { return true; }
  }
  return false;
}

/// The program lowers and prints as CUDA C, which NVRTC compiles for two architectures; else the failure is counted.
auto is_compiled(const std::string& id, const IRModule& module, Tally& tally) -> bool {
  auto cuda = transform::lower(module, {}, {.target_kind = "cuda", .until = {}, .on_stage = {}});
  if (!cuda) { return tally.fail(id, "lowered", describe(cuda.diagnostics())), false; }
  auto text = codegen::kernel_source(*cuda, codegen::SourceDialect::Cuda);
  if (!text) { return tally.fail(id, "printed as CUDA C", describe(text.diagnostics())), false; }
  static const bool compiles_cuda = runtime::nvrtc_version().ok();
  for (const char* arch : {"sm_80", "sm_90a"}) {
    if (!compiles_cuda) { break; }
    if (auto cubin = runtime::compile_cuda(*text, {.arch = arch}); !cubin) { return tally.fail(id, std::string("compiled for ") + arch, describe(cubin.diagnostics()) + "\n" + *text), false; }
  }
  return true;
}

void check(const std::string& id, const std::string& before, const std::string& after, Tally& tally) {
  if (after.find("thread=\"") == std::string::npos && after.find("launch_thread") == std::string::npos) { return tally.leave_out("without threads"); }
  Parsed program = parse_program(before);
  Parsed scheduled = parse_program(after);
  if (!program.module || !scheduled.module) { return tally.leave_out("unreadable programs"); }
  if (program.module->functions.size() != 1 || scheduled.module->functions.size() != 1) { return tally.leave_out("several functions"); }
  const auto& [name, func] = program.module->functions[0];
  if (after.find("call_llvm") != std::string::npos) { return tally.leave_out("with instructions of a CPU"); }
  if (!is_compiled(id, scheduled.module, tally)) { return; }
  if (interp::count_instances(program.module, name, 7) > max_instances) { return tally.leave_out("compiled only: too large to interpret"); }
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
  if (needs_warps(after)) { return tally.leave_out("compiled for CUDA only: warps and matrix units"); }
  auto lowered = transform::lower(scheduled.module, {}, {.target_kind = "opencl", .until = {}, .on_stage = {}});
  if (!lowered) { return tally.fail(id, "lowered for OpenCL", describe(lowered.diagnostics())); }
  auto text = codegen::kernel_source(*lowered, codegen::SourceDialect::OpenCl);
  if (!text) { return tally.fail(id, "printed as OpenCL C", describe(text.diagnostics())); }
  auto opened = device();
  if (!opened) { return tally.pass(); }
  auto code = runtime::DeviceProgram::compile(*lowered, codegen::SourceDialect::OpenCl, opened, scheduled.module);
  if (!code) { return tally.fail(id, "compiled", describe(code.diagnostics()) + "\n" + *text); }
  std::vector<runtime::Value> values;
  for (const auto& argument : ours.arguments) { values.push_back(value_of(argument)); }
  if (auto status = code->call("", values); !status) { return tally.fail(id, "run", describe(status.diagnostics())); }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto* expected = std::get_if<TensorView>(&inputs->arguments[i]);
    if (expected == nullptr) { continue; }
    auto difference = interp::compare_tensors(func->params[i]->name.str(), *expected, std::get<TensorView>(ours.arguments[i]), exact);
    if (difference.found) { return tally.fail(id, "the interpreter's results", difference.where + "\n" + *text); }
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
  const std::string id = line.at("id").get<std::string>() + " (" + line.value("focus", std::string()) + ")";
  check(id, line.at("before"), line.at("after"), tally);
}

void check_device_spaces(const Json& line, Tally& tally) {
  const std::string id = line.at("id").get<std::string>() + " (" + line.value("target", std::string()) + ")";
  // A design space has a program for each of its traces.
  for (const Json& program : line.at("after")) { check(id, line.at("before"), program, tally); }
}

}  // namespace loopsmith::oracle
