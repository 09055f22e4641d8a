// Schedules: traces replayed on the program they were made for, steps that must be refused, random draws.
#include "ir/equal.h"
#include "ir/printer.h"
#include "program.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"

namespace loopsmith::oracle {
namespace {

using schedule::Schedule;

auto says_ok(const Json& line, const char* key) -> bool {
  auto found = line.find(key);
  if (found == line.end()) { return true; }
  return found->is_boolean() ? found->get<bool>() : found->is_string() && found->get<std::string>() == "ok";
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
  // Where the reference disagrees with itself its result says nothing, but ours must still come to an end.
  bool judged = says_ok(line, "replay") && says_ok(line, "verified") && says_ok(line, "from_text") && says_ok(line, "reparsed_equal");
  Parsed before = parse_program(line.at("before"));
  if (!before.module) { return tally.fail(id, "a module", before.problem); }
  auto trace = schedule::trace_from_json(line.at("trace").dump());
  if (!trace) { return tally.fail(id, "a trace", describe(trace.diagnostics())); }
  Schedule sch(before.module, line.value("seed", int64_t{1}));
  auto replayed = sch.replay(*trace);
  if (!judged) { return tally.leave_out("where the reference disagrees with itself"); }
  if (!replayed.ok()) { return tally.fail(id, "accepted", describe(replayed.diagnostics())); }
  std::string printed = print_script(sch.module());
  const auto& after = line.at("after").get_ref<const std::string&>();
  if (printed != after) {
    LineDifference d = first_line_difference(after, printed);
    return tally.fail(id, d.expected, d.got);
  }
  Parsed expected = parse_program(after);
  if (!expected.module) { return tally.fail(id, "a module", expected.problem); }
  if (auto d = first_difference(expected.module, sch.module())) { return tally.fail(id, "at " + d->path + ": " + d->left, d->right); }
  tally.pass();
}

void check_schedule_errors(const Json& line, Tally& tally) {
  const Json& failing = line.at("failing");
  std::string primitive = failing.at("primitive");
  std::string id = line.at("id").get<std::string>() + " (" + primitive + ")";
  std::vector<std::string> missing = missing_primitives(line.at("trace"));
  if (!schedule::find_instruction(primitive)) { missing.insert(missing.begin(), primitive); }
  if (leave_out_missing(missing, tally)) { return; }
  if (!says_ok(line, "reproduced_from_json") || !says_ok(line, "from_text")) {
    return tally.leave_out("refused only in the reference's memory");
  }
  Parsed before = parse_program(line.at("before"));
  if (!before.module) { return tally.fail(id, "a module", before.problem); }
  auto accepted = schedule::trace_from_json(line.at("trace").dump());
  if (!accepted) { return tally.fail(id, "a trace", describe(accepted.diagnostics())); }
  Schedule sch(before.module, 1);
  if (auto status = sch.replay(*accepted); !status.ok()) { return tally.fail(id, "the steps before accepted", describe(status.diagnostics())); }
  Json whole = line.at("trace");
  if (failing.contains("decision") && !failing["decision"].is_null()) { whole[1].push_back(Json::array({whole[0].size(), failing["decision"]})); }
  whole[0].push_back(Json::array({primitive, failing.at("args").at("inputs"), failing.at("args").at("attrs"), Json::array()}));
  auto trace = schedule::trace_from_json(whole.dump());
  if (!trace) { return tally.pass(); }
  Schedule second(before.module, 1);
  IRModule unchanged = sch.module();
  auto status = second.replay(*trace);
  if (status.ok()) { return tally.fail(id, "refused: " + line.value("fast_message", std::string()), "accepted"); }
  tally.pass();
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
