// Parses and interprets scheduled programs: see interpreted.h.
#include "interpreted.h"

namespace loopsmith::oracle {
namespace {

// Beyond this many block instances the interpreter takes too long for a test.
constexpr double max_instances = 300'000;
// The same for a scheduled version, which may repeat instances.
constexpr double max_scheduled_instances = 100'000'000;

}  // namespace

auto scheduled_text(const Json& line, Tally& tally) -> std::optional<ScheduledText> {
  if (auto module = line.find("module"); module != line.end()) {
    const auto& text = module->get_ref<const std::string&>();
    return ScheduledText{line.at("workload"), text, text};
  }
  auto bad = [&](const char* key) {
    auto found = line.find(key);
    if (found == line.end()) { return false; }
    return found->is_boolean() ? !found->get<bool>() : found->is_string() && found->get<std::string>() != "ok";
  };
  if (bad("verified") || bad("from_text") || bad("replay")) {
    tally.leave_out("where the reference disagrees with itself");
    return {};
  }
  return ScheduledText{line.at("id").get<std::string>() + " (" + line.value("focus", std::string()) + ")", line.at("before"), line.at("after")};
}

auto interpret_both(const ScheduledText& text, Tally& tally) -> std::optional<Interpreted> {
  auto leave_out = [&](const char* why) -> std::optional<Interpreted> {
    tally.leave_out(why);
    return {};
  };
  Parsed program = parse_program(text.before);
  Parsed scheduled = text.before == text.after ? program : parse_program(text.after);
  if (!program.module || !scheduled.module) { return leave_out("unreadable programs"); }
  if (program.module->functions.size() != 1 || scheduled.module->functions.size() != 1) { return leave_out("several functions"); }
  const auto& [name, function] = program.module->functions[0];
  if (interp::count_instances(program.module, name, 7) > max_instances || interp::count_instances(scheduled.module, scheduled.module->functions[0].first, 7) > max_scheduled_instances) {
    return leave_out("too large to interpret");
  }
  auto inputs = interp::make_inputs(function, 3, interp::Contents::SmallIntegers);
  if (!inputs) { return leave_out("arguments that cannot be made"); }
  Interpreted out{scheduled.module, function, interp::copy_inputs(*inputs), {}, interp::is_exact_on_integers(function)};
  interp::Inputs again = interp::copy_inputs(*inputs);
  if (auto ran = interp::interpret(program.module, name, inputs->arguments); !ran) { return leave_out("not interpreted"); }
  out.expected = *std::move(inputs);
  // Some results of the reference access elements outside their buffers, so their behaviour is undefined when compiled.
  if (auto ran = interp::interpret(scheduled.module, scheduled.module->functions[0].first, again.arguments); !ran) {
    return leave_out("where the reference's result is not interpreted");
  }
  if (difference_from(out, again)) { return leave_out("where the reference's result is another program"); }
  return out;
}

auto values_of(const interp::Inputs& inputs) -> std::vector<runtime::Value> {
  std::vector<runtime::Value> values;
  for (const interp::Argument& argument : inputs.arguments) {
    std::visit([&](const auto& value) { values.emplace_back(value); }, argument);
  }
  return values;
}

auto difference_from(const Interpreted& program, const interp::Inputs& results) -> std::optional<std::string> {
  for (size_t i = 0; i < results.arguments.size(); ++i) {
    const auto* expected = std::get_if<TensorView>(&program.expected.arguments[i]);
    if (expected == nullptr) { continue; }
    auto difference = interp::compare_tensors(program.function->params[i]->name.str(), *expected, std::get<TensorView>(results.arguments[i]), program.is_exact);
    if (difference.found) { return difference.where; }
  }
  return {};
}

}  // namespace loopsmith::oracle
