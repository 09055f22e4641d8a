// Compares machine code with the interpreter: see cases.h.
#include <algorithm>
#include <array>

#include "interp/compare.h"
#include "runtime/jit.h"
#include "support/codes.h"
#include "target/target.h"
#include "tests/gate/cases.h"

namespace loopsmith::gate {
namespace {

// Unwritten elements, and values computed from them, differ between machine code and the interpreter, so they are not compared.
auto reads_unwritten(const IRModule& module, uint64_t seed) -> bool {
  auto inputs = interp::make_inputs(module->find("main"), seed, interp::Contents::SmallIntegers);
  if (!inputs.ok()) { return false; }
  interp::Options options;
  options.report_unwritten = true;
  options.max_steps = 4000000;
  auto stats = interp::interpret(module, "main", inputs->arguments, options);
  return stats.ok() && std::any_of(stats->warnings.begin(), stats->warnings.end(), [](const Diagnostic& d) { return d.code == Code::InterpUnwritten; });
}

}  // namespace

namespace {

auto difference(const IRModule& module, const IRModule& lowered, uint64_t seed, const codegen::CodegenOptions& options) -> std::string {
  PrimFunc func = module->find("main");
  if (reads_unwritten(module, seed)) { return {}; }
  auto target = target::parse("llvm -num-cores=2");
  if (!target.ok()) { return target.diagnostics()[0].message(); }
  auto code = runtime::JitModule::compile(lowered, *target, options, module);
  // Some types have no machine code; every other failure to compile is an error.
  if (!code.ok() && code.diagnostics()[0].code == Code::CannotEmit) { return {}; }
  if (!code.ok()) { return "it does not compile: " + code.diagnostics()[0].message(); }
  auto entry = code->find("main");
  if (!entry.ok()) { return entry.diagnostics()[0].message(); }
  bool exact = interp::is_exact_on_integers(func);
  for (interp::Contents contents : {interp::Contents::SmallIntegers, interp::Contents::Reals}) {
    auto inputs = interp::make_inputs(func, seed, contents);
    if (!inputs.ok()) { return {}; }
    interp::Inputs other = interp::copy_inputs(*inputs);
    if (!interp::interpret(lowered, "main", inputs->arguments).ok()) { return {}; }
    std::vector<runtime::Value> values;
    for (const interp::Argument& a : other.arguments) {
      if (const auto* view = std::get_if<TensorView>(&a)) { values.emplace_back(*view); }
      else if (const auto* integer = std::get_if<int64_t>(&a)) { values.emplace_back(*integer); }
      else { values.emplace_back(std::get<double>(a)); }
    }
    if (auto status = runtime::call(**entry, values); !status.ok()) { return status.diagnostics()[0].message(); }
    for (size_t i = 0; i < inputs->arguments.size(); ++i) {
      const auto* a = std::get_if<TensorView>(&inputs->arguments[i]);
      if (!a) { continue; }
      interp::Difference d = interp::compare_tensors(func->params[i]->name.str(), *a, std::get<TensorView>(other.arguments[i]),
                                                     exact && contents == interp::Contents::SmallIntegers);
      if (d.found) { return d.where; }
    }
  }
  return {};
}

}  // namespace

auto compiled_difference(const IRModule& module, const IRModule& lowered, uint64_t seed) -> std::string {
  codegen::CodegenOptions options;
  options.opt_level = std::array{-1, 0, 1, 3}[seed % 4];
  std::string found = difference(module, lowered, seed, options);
  if (found.empty()) { return {}; }
  // If sums cancel, the result may be only the rounding that a contracted product avoids: that is no mistake.
  options.contract = false;
  return difference(module, lowered, seed, options);
}

}  // namespace loopsmith::gate
