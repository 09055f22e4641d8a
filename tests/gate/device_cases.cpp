// Checks of kernels: see device_cases.h.
#include "tests/gate/device_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/thread_proof.h"
#include "codegen/source/source.h"
#include "interp/compare.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "runtime/devices/nvrtc.h"
#include "runtime/devices/program.h"
#include "support/codes.h"
#include "tests/device/gpu.h"
#include "tests/gate/device_faults.h"
#include "transform/pipelines.h"
#include "transform/thread_block.h"
#ifdef LOOPSMITH_GATE_HOST_DEVICE
#include "tests/device/host_device.h"
#endif

namespace loopsmith::gate {
namespace {

constexpr int64_t most_statements = 4000000;   // of kernels, which repeat statements for each thread
constexpr std::string_view last_stage = "split_host_device";

/// A device that gets the text of kernels with the planted fault, if any.
class PlantedDevice final : public runtime::Device {
 public:
  PlantedDevice(std::shared_ptr<runtime::Device> device, uint64_t seed) : device_(std::move(device)), seed_(seed) {}
  [[nodiscard]] auto facts() const -> const runtime::DeviceFacts& override { return device_->facts(); }
  [[nodiscard]] auto allocate(uint64_t bytes) -> Result<runtime::DeviceMemory> override { return device_->allocate(bytes); }
  void release(const runtime::DeviceMemory& memory) override { device_->release(memory); }
  [[nodiscard]] auto write(const runtime::DeviceMemory& to, const void* from, uint64_t bytes) -> Status override { return device_->write(to, from, bytes); }
  [[nodiscard]] auto read(void* to, const runtime::DeviceMemory& from, uint64_t bytes) -> Status override { return device_->read(to, from, bytes); }
  [[nodiscard]] auto start_clock() -> Status override { return device_->start_clock(); }
  [[nodiscard]] auto stop_clock() -> Result<double> override { return device_->stop_clock(); }
  [[nodiscard]] auto compile(const std::string& source) -> Status override { return device_->compile(planted_in_text(source, seed_)); }
  [[nodiscard]] auto launch(std::string_view kernel, const runtime::LaunchSize& size, const std::vector<runtime::KernelArgument>& arguments) -> Status override {
    return device_->launch(kernel, planted_in_launch(size, seed_), arguments);
  }
  [[nodiscard]] auto wait() -> Status override { return device_->wait(); }

 private:
  std::shared_ptr<runtime::Device> device_;
  uint64_t seed_;
};

auto values_of(const interp::Inputs& inputs) -> std::vector<runtime::Value> {
  std::vector<runtime::Value> values;
  for (const interp::Argument& argument : inputs.arguments) {
    std::visit([&](const auto& value) { values.emplace_back(value); }, argument);
  }
  return values;
}

/// Options of lowering that a person may choose for a device.
auto device_options(uint64_t seed) -> transform::LowerContext {
  Random random{hash_combine(seed, 0xde)};
  transform::LowerContext context;
  if (random.chance(10)) { context.options.masked_memory = false; }
  if (random.chance(10)) { context.options.vectorize = false; }
  if (random.chance(20)) { context.options.unroll_steps = random.between(1, 64); }
  context.options.share_subexpressions = random.chance(25);
  context.options.stay_wide = random.chance(15);
  return context;
}

struct Lowered {
  IRModule kernels;                                          // before kernels become functions of their own
  std::vector<std::pair<std::string, IRModule>> stages;      // of which the last is `kernels`
};

/// Runs a lowered program on a device. Empty: the results are those of `expected`, or nothing can be compared.
auto difference_on(const std::shared_ptr<runtime::Device>& device, const IRModule& split, const IRModule& scheduled, const PrimFunc& function, const interp::Inputs& given,
                   const interp::Inputs& expected, bool is_exact) -> std::string {
  auto code = runtime::DeviceProgram::compile(split, device, scheduled);
  // A launch may ask for more than this device has.
  if (!code.ok() && code.diagnostics()[0].code == Code::DeviceLimit) { return {}; }
  if (!code.ok()) { return code.diagnostics()[0].message(); }
  interp::Inputs ours = interp::copy_inputs(given);
  std::vector<runtime::Value> values = values_of(ours);
  if (auto status = code->call("main", values); !status.ok()) { return status.diagnostics()[0].code == Code::DeviceLimit ? std::string() : status.diagnostics()[0].message(); }
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    const auto* a = std::get_if<TensorView>(&expected.arguments[i]);
    if (!a) { continue; }
    interp::Difference d = interp::compare_tensors(function->params[i]->name.str(), *a, std::get<TensorView>(ours.arguments[i]), is_exact);
    if (d.found) { return d.where; }
  }
  return {};
}

/// True if the scheduled program reads memory that nothing has written, for example a copy of a whole tile when only a part of the tile was filled.
auto reads_unwritten(const IRModule& scheduled, const interp::Inputs& given) -> bool {
  interp::Options options;
  options.report_unwritten = true;
  options.max_steps = most_statements;
  interp::Inputs arguments = interp::copy_inputs(given);
  auto ran = interp::interpret(scheduled, "main", arguments.arguments, options);
  return ran.ok() && std::any_of(ran->warnings.begin(), ran->warnings.end(), [](const Diagnostic& d) { return d.code == Code::InterpUnwritten; });
}

/// Interprets a module, which must have neither races nor reads of memory that nothing has written (unless `scheduled` has them); `problem` is the first one.
/// False: it takes too long.
auto interpret_kernels(const Lowered& lowered, const IRModule& kernels, const IRModule& scheduled, interp::Inputs& arguments, std::string& problem) -> bool {
  const interp::Inputs given = interp::copy_inputs(arguments);
  interp::Options options;
  options.report_races = true;
  // A blended store loads elements that it stores again as they were, whether or not anything has written them.
  const bool has_blends = std::any_of(lowered.stages.begin(), lowered.stages.end(), [](const auto& stage) { return stage.first == "blend_masked_stores"; });
  options.report_unwritten = !has_blends;
  options.max_steps = most_statements;
  auto ran = interp::interpret(kernels, "main", arguments.arguments, options);
  if (!ran.ok()) {
    if (ran.diagnostics()[0].code == Code::InterpLimit) { return false; }
    problem = ran.diagnostics()[0].message();
    return true;
  }
  for (const Diagnostic& d : ran->warnings) {
    if (d.code == Code::InterpUnwritten && reads_unwritten(scheduled, given)) { continue; }
    if (d.code == Code::InterpRace || d.code == Code::InterpUnwritten || d.severity == Severity::Error) {
      problem = d.message();
      return true;
    }
  }
  return true;
}

auto run_text(const std::shared_ptr<runtime::Device>& device, const char* name, const IRModule& kernels, std::string_view target, const IRModule& scheduled, const PrimFunc& function,
              uint64_t seed, const interp::Inputs& given, const interp::Inputs& expected, bool is_exact) -> std::optional<Failure> {
  if (!device) { return {}; }
  const transform::Stage& split_stage = transform::pipeline(target).back();
  auto split = split_stage.pass(kernels, {});
  if (!split.ok()) { return Failure{Failure::Kind::LoweringFails, "kernels are not split: " + split.diagnostics()[0].message(), std::string(split_stage.name)}; }
  std::string difference = difference_on(std::make_shared<PlantedDevice>(device, seed), *split, scheduled, function, given, expected, is_exact);
  if (difference.empty()) { return {}; }
  auto text = codegen::kernel_source(*split, target == "opencl" ? codegen::SourceDialect::OpenCl : codegen::SourceDialect::Cuda);
  return Failure{Failure::Kind::KernelTextDiffers, fmt::format("{}: {}{}", name, difference, text.ok() ? "\n" + *text : std::string()), {}};
}

/// A schedule may need something that no device has (memory of variable size, two meanings of one axis). The refusal is no failure.
auto is_refusal(const Diagnostics& diagnostics, std::vector<std::string>* refusals) -> bool {
  if (diagnostics[0].code != Code::CannotEmit) { return false; }
  if (refusals) { refusals->push_back(diagnostics[0].message()); }
  return true;
}

/// None where lowering fails; `problem` is empty where that is a refusal.
auto lower_kernels(const IRModule& scheduled, uint64_t seed, std::string_view target, std::string& problem, std::vector<std::string>* refusals) -> std::optional<Lowered> {
  Lowered out;
  transform::LowerRequest request;
  request.target_kind = target;
  for (const transform::Stage& stage : transform::pipeline(target)) {
    if (last_stage == stage.name) { break; }
    request.until = stage.name;
  }
  request.on_stage = [&](const transform::StageReport& r) {
    if (!r.is_unchanged()) { out.stages.emplace_back(r.stage->name, r.after); }
  };
  auto lowered = transform::lower(scheduled, device_options(seed), request);
  if (!lowered.ok()) {
    problem = is_refusal(lowered.diagnostics(), refusals) ? "" : lowered.diagnostics()[0].message();
    return {};
  }
  out.kernels = *lowered;
  return out;
}

/// `is_refused`: the kernels have no text.
auto check_text(const IRModule& kernels, uint64_t seed, const CheckOptions& options, std::vector<std::string>* refusals, bool& is_refused) -> std::optional<Failure> {
  auto split = transform::pipeline("cuda").back().pass(kernels, {});
  is_refused = !split.ok() && is_refusal(split.diagnostics(), refusals);
  if (is_refused) { return {}; }
  if (!split.ok()) { return Failure{Failure::Kind::LoweringFails, "kernels are not split: " + split.diagnostics()[0].message(), {}}; }
  auto text = codegen::kernel_source(*split, codegen::SourceDialect::Cuda);
  is_refused = !text.ok() && is_refusal(text.diagnostics(), refusals);
  if (is_refused) { return {}; }
  if (!text.ok()) { return Failure{Failure::Kind::KernelTextDiffers, "no CUDA text: " + text.diagnostics()[0].message(), {}}; }
  static const bool has_compiler = runtime::nvrtc_version().ok();
  if (!options.cubin || !has_compiler) { return {}; }
  for (const char* arch : {"sm_80", "sm_90a"}) {
    auto cubin = runtime::compile_cuda(runtime::nvrtc_library(), planted_in_text(*text, seed), {.arch = arch});
    std::string complaint = !cubin.ok() ? cubin.diagnostics()[0].message() : cubin->is_compiled ? "" : cubin->log;
    if (!complaint.empty()) { return Failure{Failure::Kind::KernelTextDiffers, fmt::format("the CUDA text does not compile for {}: {}", arch, complaint), {}}; }
  }
  return {};
}

/// Removes one of the barriers, if there are any.
class WithoutBarrier : public Mutator {
 public:
  using Mutator::on;
  explicit WithoutBarrier(uint64_t which) : which_(which) {}
  auto on(const Evaluate& n) -> Stmt override {
    const auto* call = n.value.as<Call>();
    if (call == nullptr || call->op != "tvm_storage_sync" || which_-- != 0) { return self(n); }
    return make<Evaluate>(int_imm(0), n.origin);
  }

 private:
  uint64_t which_;
};

/// Kernels that are proved to have no race must have none when they run: those of the case, and the same without one of their barriers.
auto check_proofs(const IRModule& kernels, uint64_t seed, const interp::Inputs& given) -> std::optional<Failure> {
  const PrimFunc function = kernels->find(Name("main"));
  uint64_t barriers = 0;
  post_order(function->body, [&](const Stmt& s) { barriers += transform::is_barrier(s) ? 1 : 0; }, [](const Expr&) {});
  PrimFuncNode fewer = *function;
  if (barriers > 0) { fewer.body = WithoutBarrier(seed % barriers).mutate(function->body); }
  for (const IRModule& module : {kernels, with_function(kernels, Name("main"), make_func(std::move(fewer)))}) {
    const Diagnostics proofs = analysis::thread_proofs(module->find(Name("main")));
    if (proofs.empty() || std::any_of(proofs.begin(), proofs.end(), [](const Diagnostic& d) { return d.code != Code::ThreadsProved; })) { continue; }
    interp::Options options;
    options.report_races = true;
    options.max_steps = most_statements;
    interp::Inputs arguments = interp::copy_inputs(given);
    auto ran = interp::interpret(module, "main", arguments.arguments, options);
    const Diagnostics& found = ran.ok() ? ran->warnings : ran.diagnostics();
    auto race = std::find_if(found.begin(), found.end(), [](const Diagnostic& d) { return d.code == Code::InterpRace; });
    if (race != found.end()) { return Failure{Failure::Kind::KernelRace, "proved to have no race: " + race->message(), {}}; }
  }
  return {};
}

}  // namespace

auto check_kernels(const interp::Before& before, const PrimFunc& function, const IRModule& program, const IRModule& scheduled, uint64_t seed, const CheckOptions& options,
                   std::vector<std::string>* refusals) -> std::optional<Failure> {
  std::string problem;
  auto lowered = lower_kernels(scheduled, seed, "cuda", problem, refusals);
  if (!lowered && problem.empty()) { return {}; }
  if (!lowered) { return Failure{Failure::Kind::LoweringFails, "lowering for CUDA fails: " + problem, {}}; }
  const IRModule kernels = planted_in_kernels(lowered->kernels, seed);
  const bool is_exact = interp::is_exact_on_integers(function);
  auto given = interp::make_inputs(function, seed, interp::Contents::SmallIntegers);
  if (!given.ok()) { return {}; }
  interp::Inputs expected = interp::copy_inputs(*given), ours = interp::copy_inputs(*given);
  if (!interp::interpret(program, "main", expected.arguments).ok()) { return {}; }
  if (!interpret_kernels(*lowered, kernels, scheduled, ours, problem)) { return {}; }
  if (!problem.empty()) { return Failure{Failure::Kind::KernelRace, "in the interpreter, for CUDA: " + problem, {}}; }
  if (auto failure = check_proofs(kernels, seed, *given)) { return failure; }
  auto compared = before.compare(kernels);
  if (!compared.ok()) { return {}; }
  if (!compared->equal) {
    for (const auto& [name, after] : lowered->stages) {
      auto here = before.compare(after);
      if (here.ok() && !here->equal) { return Failure{Failure::Kind::PassChangesResults, fmt::format("stage `{}` for CUDA changes the results: {}", name, here->difference), name}; }
    }
    return Failure{Failure::Kind::PassChangesResults, "kernels change the results: " + compared->difference, {}};
  }
  bool is_refused = false;
  if (auto failure = check_text(kernels, seed, options, refusals, is_refused); failure || is_refused) { return failure; }
#ifdef LOOPSMITH_GATE_HOST_DEVICE
  if (options.host) {
    using device_tests::ThreadOrder;
    // Each order of threads costs a compilation of the text, so a case takes one of them and the next case another.
    const ThreadOrder order = std::array{ThreadOrder::Forward, ThreadOrder::Backward, ThreadOrder::Shuffled}[seed % 3];
    const char* name = std::array{"CUDA text on the host, threads forward", "CUDA text on the host, threads backward", "CUDA text on the host, threads shuffled"}[seed % 3];
    if (auto failure = run_text(device_tests::open_host_device(order), name, kernels, "cuda", scheduled, function, seed, *given, ours, is_exact)) { return failure; }
  }
#endif
  if (options.cuda) {
    if (auto failure = run_text(device_tests::open_gpu(), "CUDA", kernels, "cuda", scheduled, function, seed, *given, expected, is_exact)) { return failure; }
  }
  if (options.opencl) {
    auto opened = runtime::open_opencl();
    if (!opened.ok()) { return {}; }
    auto for_opencl = lower_kernels(scheduled, seed, "opencl", problem, refusals);
    if (!for_opencl && problem.empty()) { return {}; }
    if (!for_opencl) { return Failure{Failure::Kind::LoweringFails, "lowering for OpenCL fails: " + problem, {}}; }
    const IRModule planted = planted_in_kernels(for_opencl->kernels, seed);
    if (auto failure = run_text(std::shared_ptr<runtime::Device>(std::move(opened).value()), "OpenCL", planted, "opencl", scheduled, function, seed, *given, expected, is_exact)) {
      return failure;
    }
  }
  return {};
}

}  // namespace loopsmith::gate
