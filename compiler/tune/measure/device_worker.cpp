// Builds, measures and compares kernels: see device_worker.h.
//
// Results of large programs are compared with those of the program as written on the same device. For that the outer spatial loops of each of its blocks are
// bound to threads: every element is computed by one thread, in the order of the program.
#include "tune/measure/device_worker.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "codegen/source/source.h"
#include "interp/widen.h"
#include "ir/calls.h"
#include "ir/equal.h"
#include "runtime/devices/bench.h"
#include "runtime/devices/limits.h"
#include "schedule/schedule.h"
#include "support/codes.h"
#include "support/hash.h"
#include "support/reasons.h"
#include "target/gpu.h"
#include "target/hardware.h"
#include "transform/pipelines.h"
#include "tune/measure/results.h"
#include "tune/measure/samples.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune {
namespace {

// Kernels that keep more bytes of a thread's registers in memory are slow, and are not measured.
constexpr uint64_t most_spilled = 64;
// The compiler in its own process; the limit of a build is the session's.
constexpr double compiler_seconds = 30;
constexpr int64_t size_of_variables = 64;

auto is_opencl(const target::Target& target) -> bool { return target.kind == "opencl"; }

auto context_for(const target::Target& target) -> transform::LowerContext {
  transform::LowerContext context;
  context.options.masked_memory = target.architecture() != target::Architecture::X86_64 || target::hardware(target).avx512;
  context.options.async_copies = target::has_async_copies(target);
  return context;
}

auto text_of(const runtime::KernelFigures& used, uint64_t threads, uint64_t shared) -> std::string {
  std::string out = threads > 0 ? fmt::format("{} threads, ", threads) : std::string();
  out += fmt::format("{} registers, ", used.registers);
  out += used.spill_stores + used.spill_loads == 0 ? "no spills" : fmt::format("spills of {} bytes", std::max(used.spill_stores, used.spill_loads));
  return shared > 0 ? out + fmt::format(", {} bytes shared", shared) : out;
}

/// The reason why compiled kernels are not worth a measurement, or cannot be launched; empty: none.
auto why_filtered(const std::vector<runtime::KernelFigures>& figures, const std::vector<runtime::KernelShape>& shapes, const target::GpuLimits& limits) -> std::string {
  for (const runtime::KernelFigures& used : figures) {
    const uint64_t spilled = std::max(used.spill_stores, used.spill_loads);
    if (spilled > most_spilled) { return fmt::format("a thread of a kernel needs more registers than there are: {} bytes are spilled to memory", spilled); }
    auto shape = std::find_if(shapes.begin(), shapes.end(), [&](const runtime::KernelShape& one) { return one.name == used.kernel; });
    if (shape == shapes.end()) { continue; }
    const uint64_t threads = shape->block_threads().value_or(0);
    if (limits.unit_registers > 0 && threads * used.registers > limits.unit_registers) {
      return fmt::format("a block needs {} registers, and a multiprocessor has {}", threads * used.registers, limits.unit_registers);
    }
  }
  return {};
}

auto values_of(const interp::Inputs& inputs) -> std::vector<runtime::Value> {
  std::vector<runtime::Value> out;
  for (const interp::Argument& argument : inputs.arguments) {
    std::visit([&](const auto& value) { out.emplace_back(value); }, argument);
  }
  return out;
}

}  // namespace

auto DeviceWorker::open_device() const -> Result<std::shared_ptr<runtime::Device>> {
  LOOPSMITH_TRY(opened, is_opencl(code_target_) ? runtime::open_opencl() : runtime::open_device(code_target_));
  return std::shared_ptr<runtime::Device>(std::move(opened));
}

auto DeviceWorker::task(const WorkerTask& task) -> TaskReply {
  built_.clear();
  expected_.clear();
  plain_.reset();
  arguments_.reset();
  device_.reset();
  is_stand_in_ = false;
  auto refused = [](std::string why) { return TaskReply{.ok = false, .why = std::move(why)}; };
  auto module = read_module(task.module, Name(task.function));
  if (!module.ok()) { return refused("the program does not parse: " + first_message(module.diagnostics())); }
  module_ = *module;
  function_ = Name(task.function);
  seed_ = task.seed;
  auto target = target::parse(task.target);
  auto code_target = target::parse(task.code_target.empty() ? task.target : task.code_target);
  if (!target.ok() || !code_target.ok()) { return refused(first_message(target.ok() ? code_target.diagnostics() : target.diagnostics())); }
  target_ = *target;
  code_target_ = *code_target;
  TaskReply reply{.ok = true};
  if (task.opens_device) {
    auto opened = open_device();
    if (opened) {
      device_ = *opened;
      const runtime::DeviceFacts& facts = device_->facts();
      reply.device = fmt::format("{}, {} {}", facts.name, facts.limits.units, facts.is_processor ? "cores" : "multiprocessors");
      reply.code_target = facts.target;
      reply.block_threads = facts.limits.block_threads;
      reply.shared_bytes = facts.limits.shared_most;
      reply.units = facts.limits.units;
      auto own = target::parse(facts.target);
      if (own.ok()) { code_target_ = *own; }
    } else {
      reply.no_device = first_message(opened.diagnostics());
      // OpenCL's device, which gives the same results more slowly, serves comparisons.
      auto other = is_opencl(code_target_) ? Result<std::unique_ptr<runtime::Device>>(opened.diagnostics()) : runtime::open_opencl();
      if (other) {
        device_ = std::shared_ptr<runtime::Device>(std::move(*other));
        is_stand_in_ = true;
      }
    }
  }
  model_ = cost::gpu_model(code_target_);
  if (device_ && !is_stand_in_) { model_.limits = device_->facts().limits; }
  return reply;
}

auto DeviceWorker::lower(const IRModule& scheduled, const target::Target& target) const -> Result<Built> {
  Built out;
  // Functions other than the tuned one and those that it calls would only cost time.
  out.scheduled = with_callees(scheduled, function_);
  LOOPSMITH_TRY(flat, transform::lower(out.scheduled, context_for(target), {.target_kind = target.kind, .until = {}, .on_stage = {}}));
  const target::GpuLimits limits = device_ && !is_stand_in_ ? device_->facts().limits : target::gpu_limits(target).value_or(target::GpuLimits{});
  LOOPSMITH_CHECK(runtime::check_kernels(flat, limits, "`" + target.str() + "`"));
  LOOPSMITH_TRY(source, codegen::kernel_source(flat, is_opencl(target) ? codegen::SourceDialect::OpenCl : codegen::SourceDialect::Cuda));
  out.flat = std::move(flat);
  out.source = std::move(source);
  return out;
}

// Kernels for CUDA get figures, and go to the cache; kernels for OpenCL are compiled by the device's driver.
auto DeviceWorker::compile(Built& built) const -> Status {
  if (is_opencl(code_target_)) { return device_ ? place_on_device(built) : ok(); }
  if (runtime::nvrtc_library().empty() && !(device_ && !is_stand_in_)) { return ok(); }
  runtime::CompileLimits limits;
  limits.seconds = compiler_seconds;
  const std::string arch = device_ && !is_stand_in_ ? device_->facts().limits.name : target::cuda_arch(code_target_);
  LOOPSMITH_TRY(code, runtime::compile_cuda_apart(built.source, {.arch = arch}, limits));
  built.figures = std::move(code.kernels);
  return ok();
}

// Each program has its own view of the device, since kernels of several candidates have the same name.
auto DeviceWorker::place_on_device(Built& built) const -> Status {
  if (built.program) { return ok(); }
  LOOPSMITH_TRY(own, is_stand_in_ ? [&]() -> Result<std::shared_ptr<runtime::Device>> {
    LOOPSMITH_TRY(opened, runtime::open_opencl());
    return std::shared_ptr<runtime::Device>(std::move(opened));
  }() : open_device());
  LOOPSMITH_TRY(program, runtime::DeviceProgram::compile(built.flat, std::move(own), built.scheduled));
  built.program.emplace(std::move(program));
  return ok();
}

auto DeviceWorker::build(uint64_t id, const std::string& text, const std::string& module) -> BuildReply {
  const auto start = std::chrono::steady_clock::now();
  BuildReply reply;
  reply.id = id;
  auto refuse = [&](std::string why) {
    reply.outcome = BuildOutcome::Rejected;
    reply.note = std::move(why);
    return reply;
  };
  auto scheduled = module.empty() ? replayed(module_, function_, text) : read_module(module, function_);
  if (!scheduled.ok()) { return refuse(first_message(scheduled.diagnostics())); }
  auto built = lower(*scheduled, code_target_);
  if (!built.ok()) { return refuse(first_message(built.diagnostics())); }
  reply.lowered_hash = structural_hash(built->flat);
  if (Status compiled = compile(*built); !compiled.ok()) { return refuse(first_message(compiled.diagnostics())); }
  const std::vector<runtime::KernelShape> shapes = runtime::kernel_shapes(built->flat);
  if (std::string why = why_filtered(built->figures, shapes, model_.limits); !why.empty()) { return refuse(std::move(why)); }
  uint64_t registers = 0;
  for (size_t i = 0; i < built->figures.size(); ++i) {
    const runtime::KernelFigures& used = built->figures[i];
    registers = std::max(registers, used.registers);
    auto shape = std::find_if(shapes.begin(), shapes.end(), [&](const runtime::KernelShape& one) { return one.name == used.kernel; });
    reply.figures += (i > 0 ? "; " : "") + (shape == shapes.end() ? text_of(used, 0, used.shared_bytes) : text_of(used, shape->block_threads().value_or(0), shape->shared_bytes()));
  }
  if (PrimFunc func = built->scheduled->find(function_)) { reply.estimate_seconds = cost::kernel_seconds(func, model_, registers).value_or(0); }
  reply.object_hash = hash_bytes(built->source);
  built_.insert_or_assign(id, std::move(*built));
  reply.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return reply;
}

auto DeviceWorker::measure(uint64_t id, double best_seconds, int repeat) -> MeasureReply {
  MeasureReply reply;
  reply.id = id;
  auto refuse = [&](Outcome outcome, const Diagnostics& why) {
    reply.outcome = outcome;
    reply.note = first_message(why);
    // After an error of a kernel, calls of the driver may fail or give wrong results until the process ends.
    reply.ends_worker = outcome == Outcome::Crashed;
    return reply;
  };
  auto found = built_.find(id);
  if (found == built_.end() || !device_ || is_stand_in_) {
    reply.outcome = Outcome::Rejected;
    reply.note = "it was not built here";
    return reply;
  }
  Built& built = found->second;
  if (Status placed = place_on_device(built); !placed.ok()) { return refuse(Outcome::Rejected, placed.diagnostics()); }
  const std::string name = function_.str();
  if (!arguments_) {
    auto interface = built.program->interface(name);
    if (!interface.ok()) { return refuse(Outcome::Rejected, interface.diagnostics()); }
    const std::vector<int64_t> sizes(interface->shape_variables.size(), size_of_variables);
    auto made = runtime::make_arguments(*interface, sizes, seed_ + 1);
    if (!made.ok()) { return refuse(Outcome::Rejected, made.diagnostics()); }
    arguments_.emplace(std::move(*made));
  }
  auto call = built.program->prepare(name, arguments_->values);
  if (!call.ok()) { return refuse(Outcome::Crashed, call.diagnostics()); }
  runtime::BenchOptions options;
  options.blocks = std::max(1, repeat);
  options.time_limit = 2;
  // An idle GPU raises its clock within milliseconds.
  options.warm_up_seconds = repeat > 1 ? 5e-3 : 0;
  options.give_up_above = best_seconds > 0 ? 2 * best_seconds : 0;
  auto measured = runtime::bench_call(built.program->device(), std::move(*call), options);
  if (!measured.ok()) { return refuse(Outcome::Crashed, measured.diagnostics()); }
  reply.outcome = measured->gave_up ? Outcome::Censored : Outcome::Measured;
  reply.median_seconds = measured->seconds;
  reply.spread_seconds = measured->deviation * measured->seconds;
  reply.blocks = measured->blocks;
  return reply;
}

auto DeviceWorker::plain_program() -> Result<runtime::DeviceProgram*> {
  if (!plain_) {
    LOOPSMITH_TRY(target, target::parse(device_->facts().target));
    LOOPSMITH_TRY(bound, metaschedule::bound_to_threads(with_callees(module_, function_), function_));
    LOOPSMITH_TRY(built, lower(bound, target));
    LOOPSMITH_CHECK(place_on_device(built));
    plain_.emplace(std::move(built));
  }
  return &*plain_->program;
}

// Computes the results of the program as written: by the interpreter or, where that takes too long, on the device. The results of the task's program are kept for the next candidate.
auto DeviceWorker::expected(const IRModule& module, interp::Contents contents, const interp::Inputs& inputs, bool in_full, double seconds, std::string& how) -> ResultsOfInputs {
  const bool is_kept = module.same_as(module_);
  if (auto known = expected_.find(contents); is_kept && known != expected_.end()) {
    how = known->second.how;
    return known->second.results;
  }
  auto results = std::make_shared<interp::Inputs>(interp::copy_inputs(inputs));
  bool is_interpreted = false;
  if (in_full) {
    interp::Options options;
    options.max_seconds = seconds;
    auto ran = interp::interpret(module, function_, results->arguments, options);
    if (!ran.ok() && ran.diagnostics().front().code != Code::InterpLimit) { return ran.diagnostics(); }
    is_interpreted = ran.ok();
  }
  how = is_interpreted ? "the interpreter" : "the program as written on the same device";
  if (!is_interpreted) {
    if (!is_kept) { return error(Code::WorkerFailed).arg("reason", because(Why::InterpreterTooSlow).text()); }
    LOOPSMITH_TRY(plain, plain_program());
    *results = interp::copy_inputs(inputs);
    LOOPSMITH_CHECK(plain->call(function_.str(), values_of(*results)));
  }
  std::shared_ptr<const interp::Inputs> out = std::move(results);
  if (is_kept) { expected_.insert_or_assign(contents, Expected{out, how}); }
  return out;
}

auto DeviceWorker::check(uint64_t id, double seconds) -> CheckReply {
  CheckReply reply;
  reply.id = id;
  auto found = built_.find(id);
  if (found == built_.end()) {
    reply.note = "it was not built here";
    return reply;
  }
  if (!device_) { return check_scheduled(id, found->second, seconds); }
  if (is_stand_in_ && device_->facts().is_processor && interp::count_instances(module_, function_, size_of_variables) > patient_check_instances) {
    reply.note = fmt::format("the program is too large for `{}`, which would stand in for the target's device", device_->facts().name);
    return reply;
  }
  if (is_stand_in_) {
    auto target = target::parse(device_->facts().target);
    auto other = target.ok() ? lower(found->second.scheduled, *target) : Result<Built>(target.diagnostics());
    // OpenCL's device may lack a feature of the target.
    if (!other.ok() || !place_on_device(*other).ok()) { return check_scheduled(id, found->second, seconds); }
    found->second = std::move(*other);
  }
  int bits = 0;
  reply = check_built(module_, found->second, bits, seconds);
  reply.id = id;
  if (reply.equal || bits == 0) { return reply; }
  // Long sums are compared in a wider type.
  IRModule scheduled = interp::with_wide_reals(found->second.scheduled, bits);
  IRModule module = interp::with_wide_reals(with_callees(module_, function_), bits);
  if (!scheduled || !module) { return reply; }
  auto target = target::parse(device_->facts().target);
  auto wide = target.ok() ? lower(scheduled, *target) : Result<Built>(target.diagnostics());
  if (!wide.ok()) { return reply; }
  int ignored = 0;
  CheckReply decided = check_built(module, *wide, ignored, seconds);
  if (!decided.equal) { return reply; }
  decided.id = id;
  decided.how += bits == 64 ? ", in float64, as sums this long round apart in float32" : ", with float32 for shorter types, in which they round apart";
  return decided;
}

auto DeviceWorker::check_built(const IRModule& module, Built& built, int& deciding_bits, double seconds) -> CheckReply {
  CheckReply reply;
  auto refuse = [&](const Diagnostics& why, bool ends_worker = false) {
    reply.note = first_message(why);
    reply.ends_worker = ends_worker;
    return reply;
  };
  if (Status placed = place_on_device(built); !placed.ok()) { return refuse(placed.diagnostics()); }
  const PrimFunc func = module->find(function_);
  const bool exact = interp::is_exact_on_integers(func);
  const double instances = interp::count_instances(module, function_, size_of_variables);
  const bool in_full = instances <= (has_samples(module, function_) ? full_check_instances : patient_check_instances);
  std::string against, sampled;
  for (interp::Contents contents : {interp::Contents::SmallIntegers, interp::Contents::Reals}) {
    reply.seed = seed_ + 7;
    auto inputs = interp::make_inputs(func, reply.seed, contents, size_of_variables);
    if (!inputs.ok()) { return refuse(inputs.diagnostics()); }
    interp::Inputs got = interp::copy_inputs(*inputs);
    // The results of the candidate come first: an error of its kernels is not one of the program.
    if (Status ran = built.program->call(function_.str(), values_of(got)); !ran.ok()) { return refuse(ran.diagnostics(), true); }
    auto known = expected(module, contents, *inputs, in_full, seconds / 2, against);
    if (!known.ok()) { return refuse(known.diagnostics()); }
    ++reply.inputs;
    const bool exactly = exact && contents == interp::Contents::SmallIntegers;
    reply.note = differs(func, **known, got, exactly, &deciding_bits, &reply);
    if (!reply.note.empty()) { return reply; }
    if (against != "the interpreter" && contents == interp::Contents::SmallIntegers) {
      // Checks the expected results themselves on a few elements.
      const int checked = check_samples(module, function_, *inputs, **known, sampled_elements, exactly, reply.note);
      if (!reply.note.empty()) { return reply; }
      if (checked > 0) { sampled = fmt::format(", {} elements against the interpreter", checked); }
    }
  }
  reply.how = fmt::format("all outputs on {} device `{}` against {}{}", device_->facts().target == "opencl" ? "OpenCL's" : "NVIDIA's", device_->facts().name, against, sampled);
  reply.equal = true;
  return reply;
}

// Without any device the interpreter runs the schedule, thread by thread.
auto DeviceWorker::check_scheduled(uint64_t id, const Built& built, double seconds) -> CheckReply {
  CheckReply reply;
  reply.id = id;
  if (interp::count_instances(module_, function_, size_of_variables) > full_check_instances) {
    reply.note = "no device runs its kernels, and the interpreter would take too long";
    return reply;
  }
  auto compared = interp::compare_modules(with_callees(module_, function_), built.scheduled, function_, {.seed = seed_ + 7, .size = size_of_variables, .max_seconds = seconds, .cancel = {}});
  if (!compared.ok()) {
    reply.note = first_message(compared.diagnostics());
    return reply;
  }
  reply.equal = compared->equal;
  reply.note = compared->difference;
  // The text of this method names the number of inputs itself.
  reply.inputs = compared->equal ? 0 : 2;
  reply.how = compared->how + ", for the schedule before lowering";
  return reply;
}

}  // namespace loopsmith::tune
