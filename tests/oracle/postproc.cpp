// Post-processors of MetaSchedule: the verdict, the program and the trace after each.
#include <map>

#include "ir/printer.h"
#include "program.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "target/target.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::oracle {
namespace {

namespace metaschedule = tune::metaschedule;

// The first instruction in which two traces differ.
auto first_trace_difference(const Json& expected, const Json& got) -> LineDifference {
  for (size_t i = 0; i < std::max(expected[0].size(), got[0].size()); ++i) {
    Json a = i < expected[0].size() ? expected[0][i] : Json(), b = i < got[0].size() ? got[0][i] : Json();
    if (a != b) { return {std::to_string(i) + ": " + a.dump(), std::to_string(i) + ": " + b.dump()}; }
  }
  return {expected[1].dump(), got[1].dump()};
}

}  // namespace

void check_postproc(const Json& line, Tally& tally) {
  // The data list all workloads before the traces, which refer to them by name.
  static std::map<std::string, std::string> workloads;
  if (!line.contains("postproc")) {
    workloads[line.at("workload")] = line.at("module");
    return;
  }
  if (!line.at("error").is_null()) { return tally.leave_out("the reference fails"); }
  std::string name = line.at("postproc");
  std::string id = line.at("id").get<std::string>() + " (" + name + ", " + line.at("workload").get<std::string>() + ", " + line.at("target").get<std::string>() + ")";
  auto target = target::parse(line.at("target").get<std::string>());
  if (!target.ok()) { return tally.fail(id, "a target", describe(target.diagnostics())); }
  auto postproc = metaschedule::find_postproc(name, *target);
  if (!postproc) { return tally.fail(id, "a post-processor", "none"); }
  Parsed program = parse_program(workloads[line.at("workload")]);
  if (!program.module) { return tally.fail(id, "a module", program.problem); }
  auto trace = schedule::trace_from_json(line.at("trace").dump());
  if (!trace) { return tally.fail(id, "a trace", describe(trace.diagnostics())); }
  schedule::Schedule sch(program.module, 1);
  if (auto replayed = sch.replay(*trace); !replayed.ok()) { return tally.fail(id, "a trace that applies", describe(replayed.diagnostics())); }
  if (std::string printed = print_script(sch.module()); printed != line.at("before").get_ref<const std::string&>()) {
    LineDifference d = first_line_difference(line.at("before"), printed);
    return tally.fail(id, "before: " + d.expected, d.got);
  }
  metaschedule::Verdict verdict = postproc->apply(sch, metaschedule::numbers_of(*target));
  if (!verdict.ok()) { return tally.fail(id, "a verdict", describe(verdict.diagnostics())); }
  const auto& result = line.at("result").get_ref<const std::string&>();
  if (*verdict != (result != "rejected")) { return tally.fail(id, *verdict ? "rejected" : "accepted", *verdict ? "accepted" : "rejected"); }
  if (!*verdict) { return tally.pass(); }
  if (std::string printed = print_script(sch.module()); printed != result) {
    LineDifference d = first_line_difference(result, printed);
    return tally.fail(id, d.expected, d.got);
  }
  if (Json got = Json::parse(schedule::trace_to_json(sch.trace())); got != line.at("trace_after")) {
    LineDifference d = first_trace_difference(line.at("trace_after"), got);
    return tally.fail(id, d.expected, d.got);
  }
  tally.pass();
}

}  // namespace loopsmith::oracle
