// Compiled code against the reference interpreter: every program of the corpus and every scheduled version of one,
// lowered and compiled, must compute what the interpreter makes of the program as it was written.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "interp/compare.h"
#include "program.h"
#include "runtime/jit.h"
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

void check(const std::string& id, const std::string& before, const std::string& after, Tally& tally) {
  Parsed program = parse_program(before);
  Parsed scheduled = before == after ? program : parse_program(after);
  if (!program.module || !scheduled.module) { return tally.leave_out("unreadable programs"); }
  if (program.module->functions.size() != 1 || scheduled.module->functions.size() != 1) { return tally.leave_out("several functions"); }
  const auto& [name, func] = program.module->functions[0];
  if (interp::count_instances(program.module, name, 7) > max_instances) { return tally.leave_out("too large to interpret"); }
  auto inputs = interp::make_inputs(func, 3, interp::Contents::SmallIntegers);
  if (!inputs) { return tally.leave_out("arguments that cannot be made"); }
  interp::Inputs fresh = interp::copy_inputs(*inputs);
  interp::Inputs again = interp::copy_inputs(*inputs);
  if (auto ran = interp::interpret(program.module, name, inputs->arguments); !ran) { return tally.leave_out("not interpreted"); }
  // Some results of the reference access elements outside of their buffers: compiled, their behaviour is undefined.
  if (auto ran = interp::interpret(scheduled.module, scheduled.module->functions[0].first, again.arguments); !ran) {
    return tally.leave_out("where the reference's result is not interpreted");
  }
  auto flat = transform::lower(scheduled.module);
  if (!flat) { return tally.fail(id, "lowered", describe(flat.diagnostics())); }
  const bool exact = interp::is_exact_on_integers(func);
  for (size_t i = 0; i < inputs->arguments.size(); ++i) {
    const auto* expected = std::get_if<TensorView>(&inputs->arguments[i]);
    if (expected != nullptr && interp::compare_tensors("", *expected, std::get<TensorView>(again.arguments[i]), exact).found) {
      return tally.leave_out("where the reference's result is another program");
    }
  }
  // Every program is compiled at the default level, every second one also at another level of LLVM's; on demand all at all levels.
  static size_t turn = 0;
  static const bool all_levels = std::getenv("LOOPSMITH_TEST_LEVELS") != nullptr;
  constexpr std::array others = {0, 1, 3};
  std::vector<int> levels = {codegen::CodegenOptions().opt_level};
  if (all_levels) { levels.insert(levels.end(), others.begin(), others.end()); }
  else if (++turn % 2 == 0) { levels.push_back(others[turn / 2 % others.size()]); }
  for (int level : levels) {
    interp::Inputs ours = interp::copy_inputs(fresh);
    codegen::CodegenOptions options;
    options.opt_level = level;
    auto code = runtime::JitModule::compile(*flat, target::host(), options, scheduled.module);
    if (!code) {
      if (code.diagnostics().front().code == Code::NoLlvm) { return tally.leave_out("a build without LLVM"); }
      return tally.fail(id, "compiled", describe(code.diagnostics()));
    }
    std::vector<runtime::Value> values;
    for (const auto& argument : ours.arguments) { values.push_back(value_of(argument)); }
    if (auto status = runtime::call(code->functions().front(), values); !status) { return tally.fail(id, "run", describe(status.diagnostics())); }
    for (size_t i = 0; i < values.size(); ++i) {
      const auto* expected = std::get_if<TensorView>(&inputs->arguments[i]);
      if (expected == nullptr) { continue; }
      auto difference = interp::compare_tensors(func->params[i]->name.str(), *expected, std::get<TensorView>(ours.arguments[i]), exact);
      if (difference.found) { return tally.fail(id, fmt::format("the interpreter's results, level {}", level), difference.where); }
    }
  }
  tally.pass();
}

}  // namespace

void check_compiled(const Json& line, Tally& tally) {
  if (auto module = line.find("module"); module != line.end()) {
    const auto& text = module->get_ref<const std::string&>();
    return check(line.at("workload"), text, text, tally);
  }
  auto bad = [&](const char* key) {
    auto found = line.find(key);
    if (found == line.end()) { return false; }
    return found->is_boolean() ? !found->get<bool>() : found->is_string() && found->get<std::string>() != "ok";
  };
  if (bad("verified") || bad("from_text") || bad("replay")) { return tally.leave_out("where the reference disagrees with itself"); }
  check(line.at("id").get<std::string>() + " (" + line.value("focus", std::string()) + ")", line.at("before"), line.at("after"), tally);
}

}  // namespace loopsmith::oracle
