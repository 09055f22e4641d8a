// Compares kernels with the program as written: see device_check.h.
#include "driver/device_check.h"

#include <fmt/format.h>

#include "driver/device.h"
#include "driver/execution.h"
#include "interp/compare.h"
#include "ir/visitor.h"
#include "support/text.h"
#include "tune/measure/samples.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::driver {
namespace {

// With more block instances, the interpreter takes too long.
constexpr double most_instances = 1e7;
constexpr int sampled_elements = 64;
constexpr int64_t size_of_variables = 64;
constexpr uint64_t seed = 8;

auto values_of(const interp::Inputs& inputs) -> std::vector<runtime::Value> {
  std::vector<runtime::Value> out;
  for (const interp::Argument& argument : inputs.arguments) {
    std::visit([&](const auto& value) { out.emplace_back(value); }, argument);
  }
  return out;
}

/// True where the program computes in float32, so that a float64 output may carry its rounding.
auto computes_in_float32(const PrimFunc& func) -> bool {
  bool found = false;
  post_order(func->body, [](const Stmt&) {}, [&](const Expr& e) {
    const DataType type = e.dtype().element();
    found = found || (type.is_float() && type.bits == 32 && !e.as<BufferLoad>() && !e.as<FloatImm>() && !e.as<VarNode>() && !e.as<Cast>());
  });
  return found;
}

/// The first output that differs; empty: none.
auto difference(const PrimFunc& func, const interp::Inputs& before, const interp::Inputs& after, bool exact) -> std::string {
  for (size_t i = 0; i < before.arguments.size(); ++i) {
    const auto* view = std::get_if<TensorView>(&before.arguments[i]);
    if (view == nullptr) { continue; }
    Buffer buffer = func->buffer_of(func->params[i]);
    const std::string name = buffer ? buffer->name.str() : func->params[i]->name.str();
    auto found = interp::compare_tensors(name, *view, std::get<TensorView>(after.arguments[i]), exact || !view->dtype.is_real());
    constexpr double of_float32 = 1e-5;
    const bool is_finite = found.where.find("nan") == std::string::npos && found.where.find("inf") == std::string::npos;
    const bool is_rounding = view->dtype.is_float() && view->dtype.bits == 64 && is_finite && found.relative <= of_float32 && computes_in_float32(func);
    if (found.found && !is_rounding) { return found.where; }
  }
  return {};
}

/// The program as written, compiled for this machine without optimisation.
auto compile_plain(const Selection& selection) -> Result<runtime::JitModule> {
  Selection plain;
  static_cast<workspace::Selection&>(plain) = selection;
  plain.module = selection.before;
  plain.target = target::host();
  plain.target.opt_level = 0;
  return compile(plain, {}, true);
}

/// The program as written on the device, the outer loops of its blocks bound to threads. An error where a primitive refuses that.
auto compile_plain_on(const Selection& selection, std::shared_ptr<runtime::Device> device) -> Result<runtime::DeviceProgram> {
  LOOPSMITH_TRY(bound, tune::metaschedule::bound_to_threads(selection.before, selection.function));
  Selection plain;
  static_cast<workspace::Selection&>(plain) = selection;
  plain.module = bound;
  return compile_for_device(plain, std::move(device));
}

/// Computes the outputs of the program as written: on a GPU if its loops can be bound, else on this machine.
class Plain {
 public:
  static auto make(const Selection& selection, const std::shared_ptr<runtime::Device>& device) -> Result<Plain> {
    Plain out;
    if (!device->facts().is_processor) {
      auto opened = runtime::open_device(selection.target);
      auto code = opened ? compile_plain_on(selection, std::shared_ptr<runtime::Device>(std::move(*opened))) : Result<runtime::DeviceProgram>(opened.diagnostics());
      if (code) {
        out.on_device_.emplace(std::move(*code));
        return out;
      }
    }
    LOOPSMITH_TRY(code, compile_plain(selection));
    out.here_.emplace(std::move(code));
    return out;
  }
  auto run(const Selection& selection, const std::vector<runtime::Value>& values) -> Status {
    if (on_device_) { return on_device_->call(symbol_of(selection), values); }
    LOOPSMITH_TRY(function, here_->find(symbol_of(selection)));
    Status ran = ok();
    confined([&] { ran = runtime::call(*function, values); });
    return ran;
  }
  [[nodiscard]] auto in_words() const -> std::string { return on_device_ ? "the program as written, its outer loops bound, on the same device" : "the program as written, compiled for this machine"; }

 private:
  std::optional<runtime::DeviceProgram> on_device_;
  std::optional<runtime::JitModule> here_;
};

}  // namespace

auto called(const runtime::Device& device) -> std::string {
  return fmt::format("{} device `{}`", device.facts().target == "opencl" ? "OpenCL's" : "NVIDIA's", device.facts().name);
}

auto check_on_device(const Selection& selection, std::shared_ptr<runtime::Device> device, double seconds) -> DeviceCheck {
  DeviceCheck out;
  auto first = [](const auto& failed) { return failed.diagnostics().front().message(); };
  const PrimFunc func = selection.before->find(selection.function);
  const bool is_small = interp::count_instances(selection.before, selection.function, size_of_variables) <= most_instances;
  const bool is_exact = interp::is_exact_on_integers(func);
  auto program = compile_for_device(selection, device);
  if (!program) { return {.note = first(program)}; }
  std::optional<Plain> plain;
  if (!is_small) {
    auto made = Plain::make(selection, device);
    if (!made) { return {.note = "the program as written does not build: " + first(made)}; }
    plain.emplace(std::move(*made));
  }
  int inputs_compared = 0, sampled = 0;
  for (interp::Contents contents : {interp::Contents::SmallIntegers, interp::Contents::Reals}) {
    auto inputs = interp::make_inputs(func, seed, contents, size_of_variables);
    if (!inputs) { return {.note = first(inputs)}; }
    interp::Inputs expected = interp::copy_inputs(*inputs), got = interp::copy_inputs(*inputs);
    if (is_small) {
      interp::Options options;
      options.max_seconds = seconds;
      auto stats = interp::interpret(selection.before, selection.function, expected.arguments, options);
      if (!stats) { return {.note = first(stats)}; }
    } else {
      if (Status ran = plain->run(selection, values_of(expected)); !ran) { return {.note = first(ran)}; }
    }
    auto ran = program->call(symbol_of(selection), values_of(got));
    if (!ran) { return {.note = first(ran)}; }
    ++inputs_compared;
    out.is_compared = true;
    const bool exactly = is_exact && contents == interp::Contents::SmallIntegers;
    out.note = difference(func, expected, got, exactly);
    if (out.note.empty() && !is_small && contents == interp::Contents::SmallIntegers) {
      sampled = tune::check_samples(selection.before, selection.function, *inputs, expected, sampled_elements, exactly, out.note);
    }
    if (!out.note.empty()) { break; }
  }
  out.is_equal = out.note.empty();
  out.how = fmt::format("{} on {}: all outputs against {}", count_text(inputs_compared, "input"), called(*device), is_small ? "the interpreter" : plain->in_words());
  if (sampled > 0) { out.how += fmt::format(", {} elements against the interpreter", sampled); }
  return out;
}

}  // namespace loopsmith::driver
