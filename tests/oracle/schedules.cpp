// Schedules: traces replayed on the program they were made for, steps that must be refused, random draws.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <optional>

#include "interp/compare.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "program.h"
#include "schedule/caller_layouts.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "support/hash.h"
#include "tests/support/paths.h"

namespace loopsmith::oracle {
namespace {

using schedule::Schedule;

auto line_key(const Json& line) -> std::string {
  uint64_t hash = hash_bytes(line.at("before").get_ref<const std::string&>() + line.at("trace").dump());
  return fmt::format("{} {:08x}", line.at("id").get<std::string>(), static_cast<uint32_t>(hash));
}

auto says_ok(const Json& line, const char* key) -> bool {
  auto found = line.find(key);
  if (found == line.end()) { return true; }
  return found->is_boolean() ? found->get<bool>() : found->is_string() && found->get<std::string>() == "ok";
}

// Lines with intended differences: differences.txt has a line for each, `ID HASH REASON`. The hash covers
// the program and the trace, so that the line does not apply to another corpus with the same ids.
auto difference_on_purpose(const Json& line) -> const std::string* {
  static const std::map<std::string, std::string> reasons = [] {
    std::map<std::string, std::string> out;
    std::ifstream in(tests::source_folder() + "/tests/oracle/differences.txt");
    for (std::string text; std::getline(in, text);) {
      size_t id = text.find(' ');
      size_t hash = id == std::string::npos ? id : text.find(' ', id + 1);
      if (text.empty() || text[0] == '#' || hash == std::string::npos) { continue; }
      out[text.substr(0, hash)] = text.substr(hash + 1);
    }
    return out;
  }();
  auto found = reasons.find(line_key(line));
  return found == reasons.end() ? nullptr : &found->second;
}

constexpr int64_t most_statements = 200000000;   // of a run: the same limit on every machine

// The defect of the reference's result: it differs from the program's, or accesses elements outside its buffers. None:
// no defect, or it could not be run.
auto defect_of_reference(const IRModule& before, const std::string& after, const schedule::Trace& trace, int64_t seed) -> std::optional<std::string> {
  Parsed theirs = parse_program(after);
  if (!theirs.module) { return {}; }
  interp::GateOptions options;
  options.max_steps = most_statements;
  auto compared = interp::compare_modules(before, schedule::with_layouts_before(before, theirs.module, trace, seed), "main", options);
  if (!compared.ok() || compared->equal) { return {}; }
  return compared->difference;
}

auto leave_out_missing(const std::vector<std::string>& missing, Tally& tally) -> bool {
  if (missing.empty()) { return false; }
  tally.leave_out(missing[0]);
  return true;
}

}  // namespace

auto missing_primitives(const Json& trace) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const Json& instruction : trace.at(0)) {
    std::string kind = instruction.at(0);
    if (!schedule::find_instruction(kind)) { out.push_back(kind); }
  }
  return out;
}

void check_schedule(const Json& line, Tally& tally) {
  std::string id = line.at("id").get<std::string>() + " (" + line.value("focus", std::string()) + ")";
  if (leave_out_missing(missing_primitives(line.at("trace")), tally)) { return; }
  // If the reference contradicts itself, its result is not compared; our replay must still end.
  bool judged = says_ok(line, "replay") && says_ok(line, "verified") && says_ok(line, "from_text") && says_ok(line, "reparsed_equal");
  Parsed before = parse_program(line.at("before"));
  if (!before.module) { return tally.fail(id, "a module", before.problem); }
  auto trace = schedule::trace_from_json(line.at("trace").dump());
  if (!trace) { return tally.fail(id, "a trace", describe(trace.diagnostics())); }
  Schedule sch(before.module, line.value("seed", int64_t{1}));
  auto replayed = sch.replay(*trace);
  if (!judged) { return tally.leave_out("where the reference disagrees with itself"); }
  if (difference_on_purpose(line)) {
    if (replayed.ok() && print_script(sch.module()) == line.at("after").get_ref<const std::string&>()) {
      return tally.fail(id, "a difference, as differences.txt says", "the reference's result");
    }
    return tally.leave_out("differs on purpose");
  }
  const auto& after = line.at("after").get_ref<const std::string&>();
  std::string printed = replayed.ok() ? print_script(sch.module()) : "";
  if (printed != after) {
    // If the reference's result is wrong, ours is not compared with it.
    if (auto defect = defect_of_reference(before.module, after, *trace, line.value("seed", int64_t{1}))) {
      return tally.leave_out("the reference's result is wrong, by the interpreter");
    }
    if (!replayed.ok()) { return tally.fail(id + " " + line_key(line), "accepted", describe(replayed.diagnostics())); }
    LineDifference d = first_line_difference(after, printed);
    return tally.fail(id + " " + line_key(line), d.expected, d.got);
  }
  Parsed expected = parse_program(after);
  if (!expected.module) { return tally.fail(id, "a module", expected.problem); }
  if (auto d = first_difference(expected.module, sch.module())) { return tally.fail(id, "at " + d->path + ": " + d->left, d->right); }
  tally.pass();
}

namespace {

// A line of schedule_errors: the schedule before the refused step, and the result of the step here.
struct Refusal {
  IRModule before;               // unscheduled
  std::optional<Schedule> sch;   // after the steps before
  Diagnostics diagnostics;       // empty: accepted
  IRModule after;                // where it was accepted
  schedule::Trace trace;         // with the step
};

// None: the case was already decided (failed or left out).
auto replay_refusal(const Json& line, Tally& tally) -> std::optional<Refusal> {
  const Json& failing = line.at("failing");
  std::string primitive = failing.at("primitive");
  std::string id = line.at("id").get<std::string>() + " (" + primitive + ")";
  std::vector<std::string> missing = missing_primitives(line.at("trace"));
  if (!schedule::find_instruction(primitive)) { missing.insert(missing.begin(), primitive); }
  if (leave_out_missing(missing, tally)) { return {}; }
  if (!says_ok(line, "reproduced_from_json") || !says_ok(line, "from_text")) {
    tally.leave_out("refused only in the reference's memory");
    return {};
  }
  Parsed before = parse_program(line.at("before"));
  if (!before.module) {
    tally.fail(id, "a module", before.problem);
    return {};
  }
  auto accepted = schedule::trace_from_json(line.at("trace").dump());
  if (!accepted) {
    tally.fail(id, "a trace", describe(accepted.diagnostics()));
    return {};
  }
  Refusal out{before.module, Schedule(before.module, 1), {}, {}, {}};
  if (auto status = out.sch->replay(*accepted); !status.ok()) {
    if (difference_on_purpose(line)) {
      tally.leave_out("differs on purpose");
    } else {
      tally.fail(id + " " + line_key(line), "the steps before accepted", describe(status.diagnostics()));
    }
    return {};
  }
  Json whole = line.at("trace");
  if (failing.contains("decision") && !failing["decision"].is_null()) { whole[1].push_back(Json::array({whole[0].size(), failing["decision"]})); }
  whole[0].push_back(Json::array({primitive, failing.at("args").at("inputs"), failing.at("args").at("attrs"), Json::array()}));
  auto trace = schedule::trace_from_json(whole.dump());
  if (!trace) {
    out.diagnostics = trace.diagnostics();
    return out;
  }
  Schedule second(before.module, 1);
  if (auto status = second.replay(*trace); !status.ok()) { out.diagnostics = status.diagnostics(); }
  out.after = second.module();
  out.trace = *trace;
  // The step runs again on this schedule, so that the diagnostics name its nodes. Its variables have the numbers of the trace.
  const schedule::Instruction& step = trace->last();
  Schedule third = *out.sch;
  if (auto again = third.apply_values(*step.primitive, step.values, step.decision); !again.ok() && !out.diagnostics.empty()) {
    out.diagnostics = again.diagnostics();
  }
  return out;
}

}  // namespace

void check_schedule_errors(const Json& line, Tally& tally) {
  std::string id = line.at("id").get<std::string>() + " (" + line.at("failing").at("primitive").get<std::string>() + ")";
  auto refusal = replay_refusal(line, tally);
  if (!refusal) { return; }
  if (!refusal->diagnostics.empty()) { return tally.pass(); }
  // A step that the reference refuses may be accepted if the scheduled program computes the same results.
  interp::GateOptions options;
  options.max_steps = most_statements;
  auto compared = interp::compare_modules(refusal->before, schedule::with_layouts_before(refusal->before, refusal->after, refusal->trace, 1), "main", options);
  if (compared.ok() && compared->equal) { return tally.pass(); }
  if (difference_on_purpose(line)) { return tally.leave_out("differs on purpose"); }
  tally.fail(id + " " + line_key(line), "refused: " + line.value("fast_message", std::string()),
             "accepted; " + (compared.ok() ? compared->difference : describe(compared.diagnostics())));
}

// The loops and blocks in an error. The reference's messages contain `tir.For#0` and `tir.Block#1`, without identifying the nodes; so only
// the kinds are compared: if the message names a loop, the diagnostic must name a loop, and the same for blocks.
void check_schedule_error_nodes(const Json& line, Tally& tally) {
  if (line.at("error_kind") != "ScheduleError") { return; }
  const auto& message = line.at("message").get_ref<const std::string&>();
  bool blames_block = message.find("tir.Block#") != std::string::npos;
  bool blames_loop = message.find("tir.For#") != std::string::npos;
  if (!blames_block && !blames_loop) { return tally.leave_out("no loop or block is named"); }
  std::string id = line.at("id").get<std::string>() + " (" + line.at("failing").at("primitive").get<std::string>() + ")";
  auto refusal = replay_refusal(line, tally);
  if (!refusal) { return; }
  if (refusal->diagnostics.empty()) { return tally.leave_out("accepted"); }
  bool found_block = false, found_loop = false;
  for (const Diagnostic& d : refusal->diagnostics) {
    for (uint64_t node : d.node_ids) {
      auto found = refusal->sch->state().find(node);
      if (!found) { continue; }
      found_block |= found.place->is_block();
      found_loop |= found.place->is_loop();
    }
  }
  if ((found_block || !blames_block) && (found_loop || !blames_loop)) { return tally.pass(); }
  tally.fail(id, line.value("fast_message", std::string()), describe(refusal->diagnostics));
}

void check_meaning(const Json& line, Tally& tally) {
  std::string id = line.at("id").get<std::string>() + " (" + line.value("focus", std::string()) + ")";
  if (leave_out_missing(missing_primitives(line.at("trace")), tally)) { return; }
  Parsed before = parse_program(line.at("before"));
  auto trace = schedule::trace_from_json(line.at("trace").dump());
  if (!before.module || !trace) { return tally.leave_out("not read"); }
  Schedule sch(before.module, line.value("seed", int64_t{1}));
  auto replayed = sch.replay(*trace);
  IRModule after = sch.module();
  bool is_ours = replayed.ok();
  if (!is_ours) {
    if (!line.contains("after")) { return tally.leave_out("refused"); }
    Parsed theirs = parse_program(line.at("after"));
    if (!theirs.module) { return tally.leave_out("refused"); }
    after = theirs.module;
  }
  interp::GateOptions options;
  options.max_steps = most_statements / 5;
  after = schedule::with_layouts_before(before.module, after, *trace, line.value("seed", int64_t{1}));
  auto compared = interp::compare_modules(before.module, after, "main", options);
  if (!compared.ok()) { return tally.leave_out(compared.diagnostics()[0].message().substr(0, 40)); }
  if (is_ours == compared->equal) { return tally.pass(); }
  if (!is_ours) { return tally.fail(id, "accepted: the reference's result computes the same", describe(replayed.diagnostics())); }
  tally.fail(id, "the same values", compared->difference);
}

// Checks each line of differences.txt again: the reference's result must be wrong.
void check_differences(const Json& line, Tally& tally) {
  const std::string* reason = line.contains("after") ? difference_on_purpose(line) : nullptr;
  if (!reason) { return; }
  std::string id = line_key(line);
  Parsed before = parse_program(line.at("before"));
  auto trace = schedule::trace_from_json(line.at("trace").dump());
  if (!before.module || !trace) { return tally.fail(id, "a program and a trace", before.problem); }
  if (defect_of_reference(before.module, line.at("after"), *trace, line.value("seed", int64_t{1}))) { return tally.pass(); }
  tally.fail(id, "a result that is wrong, by the interpreter", "no difference;" + *reason);
}

void check_sampling(const Json& line, Tally& tally) {
  std::string id = line.at("id");
  int64_t extent = line.at("extent");
  std::string n = std::to_string(extent);
  Parsed program = parse_program("@T.prim_func\ndef main(A: T.Buffer((" + n + ",), \"float32\"), B: T.Buffer((" + n + ",), \"float32\")):\n    for i in range(" + n +
                                 "):\n        with T.block(\"B\"):\n            vi = T.axis.spatial(" + n + ", i)\n            B[vi] = A[vi]\n");
  if (!program.module) { return tally.fail(id, "a module", program.problem); }
  Schedule sch(program.module, line.at("seed").get<int64_t>());
  auto block = sch.call("get_block", {"B"});
  if (!block) { return tally.fail(id, "a block", describe(block.diagnostics())); }
  auto loops = sch.call("get_loops", {*block});
  if (!loops) { return tally.fail(id, "loops", describe(loops.diagnostics())); }
  schedule::Value loop = schedule::loops_of(*loops).at(0);
  for (const Json& draw : line.at("draws")) {
    std::string kind = draw.at("primitive");
    const schedule::Primitive* primitive = schedule::find_instruction(kind);
    if (!primitive) { return tally.leave_out(kind); }
    schedule::Arguments arguments;
    for (const auto& [name, value] : draw.at("args").items()) {
      schedule::Value given;
      if (value.is_number_integer()) { given = value.get<int64_t>(); }
      if (value.is_array()) {
        schedule::Value::List items;
        for (const Json& item : value) { items.push_back(item.is_number_integer() ? schedule::Value(item.get<int64_t>()) : schedule::Value(item.get<double>())); }
        given = items;
      }
      arguments.keyword.emplace_back(name, std::move(given));
    }
    if (kind != "SampleCategorical") { arguments.positional.push_back(loop); }
    auto drawn = sch.apply(*primitive, std::move(arguments));
    if (!drawn) { return tally.fail(id, draw.dump(), describe(drawn.diagnostics())); }
    Json got = Json::array();
    for (schedule::ExprRV rv : schedule::exprs_of(*drawn)) {
      auto number = sch.get(rv);
      if (!number) { return tally.fail(id, draw.dump(), describe(number.diagnostics())); }
      got.push_back(*number);
    }
    const Json& result = draw.at("result");
    bool same = result.is_array() ? got == result : got.size() == 1 && got[0] == result;
    if (!same) { return tally.fail(id, kind + " " + draw.at("args").dump() + " = " + result.dump(), got.dump()); }
  }
  tally.pass();
}

}  // namespace loopsmith::oracle
