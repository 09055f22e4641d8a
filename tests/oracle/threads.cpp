// Threads of the corpus, checked by the interpreter: every scheduled program with bound threads, lowered for CUDA, must have neither a race nor
// a barrier that some threads do not reach nor a read of unwritten memory, and must compute the results of the program as it was written.
#include <fmt/format.h>

#include "interp/compare.h"
#include "kind.h"
#include "program.h"
#include "transform/pipelines.h"

namespace loopsmith::oracle {
namespace {

// Beyond this many block instances the interpreter takes too long for a test.
constexpr double max_instances = 100'000;

auto has_threads(const std::string& text) -> bool { return text.find("thread=\"") != std::string::npos || text.find("launch_thread") != std::string::npos; }

void check(const std::string& id, const std::string& before, const std::string& after, Tally& tally) {
  if (!has_threads(after)) { return tally.leave_out("without threads"); }
  Parsed program = parse_program(before);
  Parsed scheduled = parse_program(after);
  if (!program.module || !scheduled.module) { return tally.leave_out("unreadable programs"); }
  if (program.module->functions.size() != 1 || scheduled.module->functions.size() != 1) { return tally.leave_out("several functions"); }
  const auto& [name, func] = program.module->functions[0];
  if (interp::count_instances(program.module, name, 7) > max_instances) { return tally.leave_out("too large to interpret"); }
  auto inputs = interp::make_inputs(func, 3, interp::Contents::SmallIntegers);
  if (!inputs) { return tally.leave_out("arguments that cannot be made"); }
  interp::Inputs ours = interp::copy_inputs(*inputs);
  if (auto ran = interp::interpret(program.module, name, inputs->arguments); !ran) { return tally.leave_out("not interpreted"); }
  interp::Inputs again = interp::copy_inputs(*inputs);
  if (auto ran = interp::interpret(scheduled.module, scheduled.module->functions[0].first, again.arguments); !ran) {
    return tally.leave_out("where the reference's result is not interpreted");
  }
  std::string_view until;
  for (const transform::Stage& stage : transform::pipeline("cuda")) {
    if (std::string_view(stage.name) == "split_host_device") { break; }
    until = stage.name;
  }
  auto lowered = transform::lower(scheduled.module, {}, {.target_kind = "cuda", .until = until, .on_stage = {}});
  if (!lowered) { return tally.leave_out("not lowered"); }
  interp::Options options;
  options.report_races = options.report_unwritten = true;
  auto ran = interp::interpret(*lowered, (*lowered)->functions[0].first, ours.arguments, options);
  if (!ran) { return tally.fail(id, "interpreted", describe(ran.diagnostics())); }
  if (has_errors(ran->warnings)) { return tally.fail(id, "no race", describe(ran->warnings)); }
  const bool exact = interp::is_exact_on_integers(func);
  for (size_t i = 0; i < ours.arguments.size(); ++i) {
    const auto* expected = std::get_if<TensorView>(&inputs->arguments[i]);
    if (expected == nullptr) { continue; }
    if (interp::compare_tensors("", *expected, std::get<TensorView>(again.arguments[i]), exact).found) { return tally.leave_out("where the reference's result is another program"); }
    auto difference = interp::compare_tensors(func->params[i]->name.str(), *expected, std::get<TensorView>(ours.arguments[i]), exact);
    if (difference.found) { return tally.fail(id, "the results of the program", difference.where); }
  }
  tally.pass();
}

}  // namespace

void check_threads(const Json& line, Tally& tally) {
  auto is_bad = [&](const char* key) {
    auto found = line.find(key);
    if (found == line.end()) { return false; }
    return found->is_boolean() ? !found->get<bool>() : found->is_string() && found->get<std::string>() != "ok";
  };
  if (is_bad("verified") || is_bad("from_text") || is_bad("replay")) { return tally.leave_out("where the reference disagrees with itself"); }
  const std::string id = line.at("id").get<std::string>();
  // A line of a post-processor has the program after it, or the word `rejected`.
  if (line.contains("result")) { return check(id + " (" + line.value("postproc", std::string()) + ")", line.at("before"), line.at("result"), tally); }
  if (line.at("after").is_string()) { return check(id + " (" + line.value("focus", std::string()) + ")", line.at("before"), line.at("after"), tally); }
  int number = 0;
  for (const Json& after : line.at("after")) { check(fmt::format("{}.{}", id, number++), line.at("before"), after, tally); }
}

}  // namespace loopsmith::oracle
