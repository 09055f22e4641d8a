// Design spaces: made by the rules of MetaSchedule here, and the recorded ones replayed.
#include <algorithm>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "program.h"
#include "schedule/index_map.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "target/target.h"
#include "tune/metaschedule/rules/post_order_apply.h"

namespace loopsmith::oracle {
namespace {

using schedule::Schedule;
using schedule::Trace;

/// The target of a line. Without `-mcpu` it is any machine of its architecture, as in the reference; here it would be this machine.
auto target_of(const Json& line) -> Result<target::Target> {
  std::string text = line.at("target");
  if (text.starts_with("llvm") && text.find("-mcpu") == std::string::npos) { text += " -mcpu=x86-64"; }
  return target::parse(text);
}

/// The arguments of an instruction, with a constant for each sampled number in an index map: such variables are other nodes in every trace.
auto comparable(const schedule::Instruction& instruction) -> std::vector<schedule::Value> {
  std::vector<schedule::Value> out;
  for (const schedule::Value& value : instruction.values) {
    out.push_back(schedule::with_sampled(value, [](uint32_t number, const VarNode& var) -> std::optional<Expr> { return constant_int(var.dtype, 1000 + number); }));
  }
  return out;
}

/// The first difference of two traces: a line of each. Empty: they are equal, decisions included.
auto trace_difference(const Trace& expected, const Trace& got) -> LineDifference {
  std::vector<std::string> left = expected.python_lines(), right = got.python_lines();
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    std::string a = i < left.size() ? left[i] : "(the end)", b = i < right.size() ? right[i] : "(the end)";
    if (a != b) { return {"step " + std::to_string(i) + ": " + a, b}; }
  }
  // Equal texts may hide other attributes and inputs, which are compared in memory.
  const auto theirs = expected.instructions(), ours = got.instructions();
  for (size_t i = 0; i < theirs.size(); ++i) {
    const bool same = theirs[i]->primitive == ours[i]->primitive && comparable(*theirs[i]) == comparable(*ours[i]) && theirs[i]->outputs == ours[i]->outputs &&
                      theirs[i]->decision == ours[i]->decision;
    if (!same) { return {"step " + std::to_string(i) + ": " + left[i], "the same text with other arguments"}; }
  }
  return {};
}

}  // namespace

// The rules make the space. Its traces must be the recorded ones, in their order: instructions, inputs, attributes and sampled decisions.
void check_design_space(const Json& line, Tally& tally) {
  std::string id = line.at("id").get<std::string>() + " (" + line.at("workload").get<std::string>() + ")";
  if (!line.at("error").is_null()) { return tally.leave_out("the reference failed"); }
  Parsed before = parse_program(line.at("before"));
  if (!before.module) { return tally.fail(id, "a module", before.problem); }
  auto target = target_of(line);
  if (!target) { return tally.fail(id, "a target", describe(target.diagnostics())); }
  const tune::rules::Rules rules = tune::rules::default_rules(*target);
  std::vector<std::string> names;
  for (const tune::rules::RulePtr& rule : rules) { names.emplace_back(rule->name()); }
  if (Json(names) != line.at("rules")) { return tally.fail(id, line.at("rules").dump(), Json(names).dump()); }
  Schedule main(before.module, 1);
  auto space = tune::rules::post_order_apply(before.module, main.func_working_on(), rules, line.at("rand_state").get<int64_t>());
  if (!space) { return tally.fail(id, "a space", describe(space.diagnostics())); }
  if (!space->refusals.empty()) { return tally.fail(id, "no refused step", describe(space->refusals)); }
  const tune::rules::Schedules& made = space->schedules;
  const Json& traces = line.at("traces");
  if (traces.size() != made.size()) { return tally.fail(id, std::to_string(traces.size()) + " traces", std::to_string(made.size())); }
  for (size_t i = 0; i < traces.size(); ++i) {
    std::string which = id + " trace " + std::to_string(i);
    auto expected = schedule::trace_from_json(traces[i].dump());
    if (!expected) { return tally.fail(which, "a trace", describe(expected.diagnostics())); }
    // Ours is written and read too: `True` and 1 are the same there.
    auto ours = schedule::trace_from_json(schedule::trace_to_json(made[i].trace()));
    if (!ours) { return tally.fail(which, "our own trace", describe(ours.diagnostics())); }
    if (LineDifference d = trace_difference(*expected, *ours); !d.expected.empty()) { return tally.fail(which, d.expected, d.got); }
    if (std::string printed = print_script(made[i].module()); printed != line.at("after").at(i).get_ref<const std::string&>()) {
      LineDifference d = first_line_difference(line.at("after").at(i), printed);
      return tally.fail(which, d.expected, d.got);
    }
  }
  tally.pass();
}

void check_space_replay(const Json& line, Tally& tally) {
  std::string id = line.at("id").get<std::string>() + " (" + line.at("workload").get<std::string>() + ")";
  Parsed before = parse_program(line.at("before"));
  if (!before.module) { return tally.fail(id, "a module", before.problem); }
  const Json& traces = line.at("traces");
  if (traces.empty()) { return tally.leave_out("no trace"); }
  for (size_t i = 0; i < traces.size(); ++i) {
    std::string which = id + " trace " + std::to_string(i);
    auto trace = schedule::trace_from_json(traces[i].dump());
    if (!trace) { return tally.fail(which, "a trace", describe(trace.diagnostics())); }
    Schedule sch(before.module, 1);
    if (auto replayed = sch.replay(*trace); !replayed.ok()) { return tally.fail(which, "accepted", describe(replayed.diagnostics())); }
    const auto& after = line.at("after").at(i).get_ref<const std::string&>();
    if (std::string printed = print_script(sch.module()); printed != after) {
      LineDifference d = first_line_difference(after, printed);
      return tally.fail(which, d.expected, d.got);
    }
    Parsed expected = parse_program(after);
    if (!expected.module) { return tally.fail(which, "a module", expected.problem); }
    if (auto d = first_difference(expected.module, sch.module())) { return tally.fail(which, "at " + d->path + ": " + d->left, d->right); }
    // Write the trace and read it again, in both forms.
    auto again = schedule::trace_from_json(schedule::trace_to_json(sch.trace()));
    if (!again) { return tally.fail(which, "our own trace", describe(again.diagnostics())); }
    Schedule second(before.module, 1);
    if (auto replayed = second.replay(*again); !replayed.ok() || !structural_equal(second.module(), sch.module())) {
      return tally.fail(which, "the same from our own trace", describe(replayed.diagnostics()));
    }
  }
  tally.pass();
}

}  // namespace loopsmith::oracle
