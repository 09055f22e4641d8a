// The worker's part of measurement: see worker.h and messages.h.
//
// A candidate is a trace: it is replayed on the task's program, lowered, and compiled in memory. Verification
// compares its results completely with the reference interpreter if that takes only seconds; otherwise, with the
// unscheduled program compiled without optimisation on all outputs, plus the interpreter on sampled elements.
#include "tune/measure/worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "codegen/llvm/codegen.h"
#include "interp/compare.h"
#include "interp/widen.h"
#include "intrinsics/registry.h"
#include "ir/calls.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "runtime/bench.h"
#include "runtime/jit.h"
#include "support/codes.h"
#include "support/confinement.h"
#include "support/hash.h"
#include "target/gpu.h"
#include "transform/pipelines.h"
#include "tune/measure/device_worker.h"
#include "tune/measure/messages.h"
#include "tune/measure/results.h"
#include "tune/measure/samples.h"

namespace loopsmith::tune {
namespace {

/// The results of the program as written, by the interpreter: computed once, and compared with those of every candidate.
struct Reference {
  interp::Inputs results;
  bool is_defined = true;   // no element was read before it was written
};

struct Built {
  IRModule scheduled;
  std::shared_ptr<runtime::JitModule> code;
};

class Worker {
 public:
  auto task(const WorkerTask& task) -> TaskReply;
  auto build(uint64_t id, const std::string& trace, const std::string& module) -> BuildReply;
  auto measure(uint64_t id, double best_seconds, int repeat) -> MeasureReply;
  /// `seconds`: the limit of the interpreter; 0: none.
  auto check(uint64_t id, double seconds) -> CheckReply;
  void drop(uint64_t id) { built_.erase(id); }

 private:
  [[nodiscard]] auto check_built(const IRModule& module, const Built& built, int& deciding_bits, double seconds) -> CheckReply;
  [[nodiscard]] auto reference(const IRModule& module, interp::Contents contents, const interp::Inputs& inputs, double seconds) -> Result<Reference>;
  [[nodiscard]] auto has_references(double seconds) -> bool;
  [[nodiscard]] auto unoptimised_build(const IRModule& module) -> Result<runtime::JitModule>;
  [[nodiscard]] auto difference_when_filled(const Built& built, const PrimFunc& func, const interp::Inputs& inputs, const interp::Inputs& expected, bool exactly) -> std::string;
  IRModule module_;
  Name function_;
  target::Target target_;
  uint64_t seed_ = 1;
  std::map<uint64_t, Built> built_;
  std::map<interp::Contents, Reference> references_;   // of the task's program
  /// Makes the contents of measurements.
  auto take_arguments(const std::vector<std::vector<double>>& arguments) -> TaskReply;
  std::vector<std::optional<runtime::Tensor>> contents_;   // for each parameter; none: random
};

auto Worker::take_arguments(const std::vector<std::vector<double>>& arguments) -> TaskReply {
  contents_.clear();
  const PrimFunc func = module_->find(function_);
  if (!func || arguments.empty()) { return {true, ""}; }
  contents_.resize(func->params.size());
  size_t number = 0;
  for (const auto& [param, buffer] : func->buffer_map) {
    if (number == arguments.size()) { break; }
    const std::vector<double>& elements = arguments[number++];
    if (elements.empty()) { continue; }
    std::vector<int64_t> shape;
    for (const Expr& extent : buffer->shape) { shape.push_back(as_int(extent).value_or(0)); }
    auto tensor = runtime::Tensor::zeros(buffer->dtype, shape);
    if (!tensor.ok()) { return {false, first_message(tensor.diagnostics())}; }
    if (tensor->count() != std::ssize(elements)) { return {false, "the argument `" + buffer->name.str() + "` has other elements"}; }
    for (int64_t k = 0; k < tensor->count(); ++k) { tensor->set(k, elements[static_cast<size_t>(k)]); }
    for (size_t i = 0; i < func->params.size(); ++i) { if (func->params[i].same_as(param)) { contents_[i] = std::move(*tensor); break; } }
  }
  return {true, ""};
}

auto Worker::task(const WorkerTask& task) -> TaskReply {
  built_.clear();
  references_.clear();
  auto module = read_module(task.module, Name(task.function));
  if (!module.ok()) { return {false, "the program does not parse: " + first_message(module.diagnostics())}; }
  module_ = *module;
  function_ = Name(task.function);
  auto target = target::parse(task.target);
  if (!target.ok()) { return {false, first_message(target.diagnostics())}; }
  target_ = *target;
  seed_ = task.seed;
  return take_arguments(task.arguments);
}

auto Worker::build(uint64_t id, const std::string& text, const std::string& module) -> BuildReply {
  auto start = std::chrono::steady_clock::now();
  BuildReply reply;
  reply.id = id;
  auto refuse = [&](const Diagnostics& why) {
    reply.outcome = BuildOutcome::Rejected;
    reply.note = first_message(why);
    return reply;
  };
  auto scheduled = module.empty() ? replayed(module_, function_, text) : read_module(module, function_);
  if (!scheduled.ok()) { return refuse(scheduled.diagnostics()); }
  // Keeps only the tuned function and the functions that it calls: others would only cost time.
  Built built;
  built.scheduled = with_callees(*scheduled, function_);
  auto lowered = transform::lower(built.scheduled);
  if (!lowered.ok()) { return refuse(lowered.diagnostics()); }
  reply.lowered_hash = structural_hash(*lowered);
  auto code = runtime::JitModule::compile(*lowered, target_, {}, built.scheduled);
  if (!code.ok()) { return refuse(code.diagnostics()); }
  built.code = std::make_shared<runtime::JitModule>(std::move(*code));
  reply.object_hash = reply.lowered_hash;
  built_[id] = std::move(built);
  reply.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return reply;
}

auto Worker::measure(uint64_t id, double best_seconds, int repeat) -> MeasureReply {
  MeasureReply reply;
  reply.id = id;
  auto refuse = [&](Outcome outcome, const std::string& why) {
    reply.outcome = outcome;
    reply.note = why;
    return reply;
  };
  auto found = built_.find(id);
  if (found == built_.end()) { return refuse(Outcome::Rejected, "it was not built here"); }
  auto function = found->second.code->find({});
  if (!function.ok()) { return refuse(Outcome::Rejected, first_message(function.diagnostics())); }
  runtime::BenchOptions options;
  options.blocks = std::max(1, repeat);
  // If only one block is measured, the first call counts: the program may be very slow.
  options.warm_up = repeat > 1 ? 1 : 0;
  options.time_limit = 2;
  options.give_up_above = best_seconds > 0 ? 2 * best_seconds : 0;
  for (const std::optional<runtime::Tensor>& one : contents_) { options.contents.push_back(one ? &*one : nullptr); }
  std::vector<int64_t> sizes((*function)->interface.shape_variables.size(), 64);
  auto measured = runtime::bench(**function, sizes, options, seed_ + 1);
  if (!measured.ok()) { return refuse(Outcome::Rejected, first_message(measured.diagnostics())); }
  reply.outcome = measured->gave_up ? Outcome::Censored : Outcome::Measured;
  reply.median_seconds = measured->seconds;
  reply.spread_seconds = measured->deviation * measured->seconds;
  reply.blocks = measured->blocks;
  return reply;
}

// Runs compiled code on the interpreter's inputs.
auto run_compiled(const runtime::JitModule& code, interp::Inputs& inputs) -> Status {
  LOOPSMITH_TRY(function, code.find({}));
  std::vector<runtime::Tensor> tensors;
  tensors.reserve(inputs.arguments.size());
  std::vector<runtime::Value> values;
  std::vector<std::pair<size_t, size_t>> copies;   // argument, tensor
  for (size_t i = 0; i < inputs.arguments.size(); ++i) {
    if (const auto* view = std::get_if<TensorView>(&inputs.arguments[i])) {
      LOOPSMITH_TRY(tensor, runtime::Tensor::zeros(view->dtype, view->shape));
      std::memcpy(tensor.data(), view->data, static_cast<size_t>(view->bytes()));
      tensors.push_back(std::move(tensor));
      values.emplace_back(&tensors.back());
      copies.emplace_back(i, tensors.size() - 1);
    } else if (const auto* integer = std::get_if<int64_t>(&inputs.arguments[i])) {
      values.emplace_back(*integer);
    } else {
      values.emplace_back(std::get<double>(inputs.arguments[i]));
    }
  }
  LOOPSMITH_CHECK(runtime::call(*function, values));
  for (auto [argument, tensor] : copies) {
    auto& view = std::get<TensorView>(inputs.arguments[argument]);
    std::memcpy(view.data, tensors[tensor].data(), static_cast<size_t>(view.bytes()));
  }
  return ok();
}

auto Worker::check(uint64_t id, double seconds) -> CheckReply {
  CheckReply reply;
  reply.id = id;
  auto found = built_.find(id);
  if (found == built_.end()) {
    reply.note = "it was not built here";
    return reply;
  }
  int bits = 0;
  reply = check_built(module_, found->second, bits, seconds);
  reply.id = id;
  if (reply.equal || bits == 0) { return reply; }
  // Long sums are compared in a wider type.
  Built wide{interp::with_wide_reals(found->second.scheduled, bits), nullptr};
  IRModule module = interp::with_wide_reals(with_callees(module_, function_), bits);
  if (!wide.scheduled || !module) { return reply; }
  auto lowered = transform::lower(wide.scheduled);
  if (!lowered.ok()) { return reply; }
  auto code = runtime::JitModule::compile(*lowered, target_, {}, wide.scheduled);
  if (!code.ok()) { return reply; }
  wide.code = std::make_shared<runtime::JitModule>(std::move(*code));
  int ignored = 0;
  CheckReply decided = check_built(module, wide, ignored, seconds);
  if (!decided.equal) { return reply; }
  decided.id = id;
  decided.how += bits == 64 ? ", in float64, as sums this long round apart in float32" : ", with float32 for shorter types, in which they round apart";
  return decided;
}

auto Worker::reference(const IRModule& module, interp::Contents contents, const interp::Inputs& inputs, double seconds) -> Result<Reference> {
  bool is_kept = module.same_as(module_);
  if (auto known = references_.find(contents); is_kept && known != references_.end()) { return Reference{interp::copy_inputs(known->second.results), known->second.is_defined}; }
  Reference out{interp::copy_inputs(inputs), true};
  interp::Options options;
  options.report_unwritten = contents == interp::Contents::SmallIntegers;
  options.max_seconds = seconds;
  LOOPSMITH_TRY(stats, interp::interpret(module, function_, out.results.arguments, options));
  for (const Diagnostic& d : stats.warnings) { out.is_defined = out.is_defined && d.code != loopsmith::Code::InterpUnwritten; }
  if (is_kept) { references_.insert_or_assign(contents, Reference{interp::copy_inputs(out.results), out.is_defined}); }
  return out;
}

// Runs the interpreter on both inputs, unless that was done before. False: it would take longer.
auto Worker::has_references(double seconds) -> bool {
  auto start = std::chrono::steady_clock::now();
  PrimFunc func = module_->find(function_);
  for (interp::Contents contents : {interp::Contents::SmallIntegers, interp::Contents::Reals}) {
    if (references_.contains(contents)) { continue; }
    double left = seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    auto inputs = interp::make_inputs(func, seed_ + 7, contents, 64);
    if (left <= 0 || !inputs.ok()) { return false; }
    // The two runs take the same time.
    auto known = reference(module_, contents, *inputs, contents == interp::Contents::SmallIntegers ? left / 2 : left);
    if (!known.ok()) { return known.diagnostics().front().code != loopsmith::Code::InterpLimit; }
  }
  return true;
}

// The program without its schedule, compiled without optimisation.
auto Worker::unoptimised_build(const IRModule& module) -> Result<runtime::JitModule> {
  IRModule unscheduled = with_callees(module, function_);
  LOOPSMITH_TRY(lowered, transform::lower(unscheduled));
  codegen::CodegenOptions options;
  options.opt_level = 0;
  options.contract = false;
  return runtime::JitModule::compile(lowered, target_, options, unscheduled);
}

// Results may agree only because of the former contents of the memory. Runs the program again with allocations filled with other bytes, and describes the first
// difference; empty: there is none, or the program does not run so.
auto Worker::difference_when_filled(const Built& built, const PrimFunc& func, const interp::Inputs& inputs, const interp::Inputs& expected, bool exactly) -> std::string {
  codegen::CodegenOptions filled;
  filled.fills_allocations = true;
  auto lowered = transform::lower(built.scheduled);
  if (!lowered.ok()) { return {}; }
  auto code = runtime::JitModule::compile(*lowered, target_, filled, built.scheduled);
  interp::Inputs again = interp::copy_inputs(inputs);
  return code.ok() && run_compiled(*code, again).ok() ? differs(func, expected, again, exactly) : std::string();
}

// Compares a program with the code that was built from it.
auto Worker::check_built(const IRModule& module, const Built& built, int& deciding_bits, double seconds) -> CheckReply {
  CheckReply reply;
  PrimFunc func = module->find(function_);
  bool exact = interp::is_exact_on_integers(func);
  double instances = interp::count_instances(module, function_, 64);
  bool in_full = instances <= (has_samples(module, function_) ? full_check_instances : patient_check_instances);
  if (in_full && seconds > 0 && module.same_as(module_)) { in_full = has_references(seconds); }
  std::shared_ptr<runtime::JitModule> plain;
  if (!in_full) {
    auto code = unoptimised_build(module);
    if (!code.ok()) {
      reply.note = "the unscheduled program does not build: " + first_message(code.diagnostics());
      return reply;
    }
    plain = std::make_shared<runtime::JitModule>(std::move(*code));
  }
  std::string sampled;
  for (interp::Contents contents : {interp::Contents::SmallIntegers, interp::Contents::Reals}) {
    reply.seed = seed_ + 7;
    auto inputs = interp::make_inputs(func, reply.seed, contents, 64);
    if (!inputs.ok()) {
      reply.note = first_message(inputs.diagnostics());
      return reply;
    }
    interp::Inputs expected = interp::copy_inputs(*inputs);
    interp::Inputs got = interp::copy_inputs(*inputs);
    if (Status ran = run_compiled(*built.code, got); !ran.ok()) {
      reply.note = first_message(ran.diagnostics());
      return reply;
    }
    bool is_defined = true;
    bool exactly = exact && contents == interp::Contents::SmallIntegers;
    if (in_full) {
      auto known = reference(module, contents, *inputs, 0);
      if (!known.ok()) {
        reply.note = "the interpreter refuses the program: " + first_message(known.diagnostics());
        return reply;
      }
      expected = std::move(known->results);
      is_defined = known->is_defined;
      reply.how = "all outputs against the interpreter";
    } else {
      if (Status ran = run_compiled(*plain, expected); !ran.ok()) {
        reply.note = first_message(ran.diagnostics());
        return reply;
      }
      reply.how = "all outputs against an unoptimised build";
    }
    ++reply.inputs;
    reply.note = differs(func, expected, got, exactly, &deciding_bits, &reply);
    if (!reply.note.empty()) { return reply; }
    // A program that reads elements before it writes them has no unique result.
    if (contents == interp::Contents::SmallIntegers && is_defined) {
      if (std::string other = difference_when_filled(built, func, *inputs, expected, exactly); !other.empty()) {
        reply.note = "it reads memory that it never wrote: with other bytes there, " + other;
        return reply;
      }
    }
    if (!in_full && contents == interp::Contents::SmallIntegers) {
      // Checks the reference build itself on a few elements, if a part of the program can run alone.
      int checked = check_samples(module, function_, *inputs, expected, sampled_elements, exactly, reply.note);
      if (!reply.note.empty()) { return reply; }
      if (checked > 0) { sampled = ", " + std::to_string(checked) + " elements against the interpreter"; }
    }
  }
  reply.how += sampled;
  reply.equal = true;
  return reply;
}

}  // namespace

auto run_measuring_worker(std::vector<std::string>) -> int {
  // Replies go to a copy of standard output, so that output of kernels does not mix with them.
  int out = ::dup(STDOUT_FILENO);
  int nowhere = ::open("/dev/null", O_WRONLY);
  if (nowhere >= 0) { ::dup2(nowhere, STDOUT_FILENO); }
  auto answer = [&](const std::string& line) {
    size_t done = 0;
    while (done < line.size()) {
      ssize_t n = ::write(out, line.data() + done, line.size() - done);
      if (n <= 0) { return false; }
      done += static_cast<size_t>(n);
    }
    return true;
  };
  intrinsics::install();  // traces name them
  Worker worker;
  DeviceWorker device_worker;
  bool is_confined = false, is_on_device = false;
  auto take = [&](const WorkerTask& task) -> TaskReply {
    auto target = target::parse(task.target);
    is_on_device = target.ok() && target::is_device_target(*target);
    // Drivers of devices start threads and programs, and write files.
    if (is_on_device) { return is_confined ? TaskReply{.ok = false, .why = "a worker for this machine's processor takes no tasks for devices"} : device_worker.task(task); }
    // Tools that watch compiled code write their own files (runtime/jit_tools.h).
    if (!is_confined && std::getenv("LOOPSMITH_JIT") == nullptr) { is_confined = true; confine_this_thread(); }
    return worker.task(task);
  };
  std::string pending;
  char buffer[1 << 16];
  for (;;) {
    size_t end = pending.find('\n');
    if (end == std::string::npos) {
      ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
      if (n <= 0) { return 0; }
      pending.append(buffer, static_cast<size_t>(n));
      continue;
    }
    std::string line = pending.substr(0, end);
    pending.erase(0, end + 1);
    Request request;
    if (!parse_line(line, request)) { return 2; }
    bool alive = true;
    switch (request.op) {
      case Request::Op::Task: alive = answer(to_line(take(request.task))); break;
      case Request::Op::Build: alive = answer(to_line(is_on_device ? device_worker.build(request.id, request.trace, request.module) : worker.build(request.id, request.trace, request.module))); break;
      case Request::Op::Measure: alive = answer(to_line(is_on_device ? device_worker.measure(request.id, request.best_seconds, request.repeat) : worker.measure(request.id, request.best_seconds, request.repeat))); break;
      case Request::Op::Check: alive = answer(to_line(is_on_device ? device_worker.check(request.id, request.seconds) : worker.check(request.id, request.seconds))); break;
      case Request::Op::Drop: is_on_device ? device_worker.drop(request.id) : worker.drop(request.id); break;
    }
    if (!alive) { return 0; }
  }
}

}  // namespace loopsmith::tune
