// Tuning records: lines of MetaSchedule's database read, applied, and written back; hashes of programs.
#include "tune/metaschedule/records/records.h"

#include <cstdlib>

#include <fmt/format.h>

#include "ir/equal.h"
#include "ir/printer.h"
#include "program.h"
#include "schedule/schedule.h"
#include "tune/metaschedule/records/tvm_hash.h"

namespace loopsmith::oracle {
namespace {

namespace metaschedule = tune::metaschedule;

void check_hash(const Json& line, Tally& tally) {
  std::string id = "hash of " + line.at("workload").get<std::string>();
  Parsed program = parse_program(line.at("module"));
  if (!program.module) { return tally.fail(id, "a module", program.problem); }
  auto expected = std::strtoull(line.at("structural_hash").get_ref<const std::string&>().c_str(), nullptr, 10);
  uint64_t got = metaschedule::tvm_structural_hash(program.module);
  if (got != expected) { return tally.fail(id, fmt::format("{}", expected), fmt::format("{}", got)); }
  tally.pass();
}

}  // namespace

void check_records(const Json& line, Tally& tally) {
  if (line.contains("structural_hash")) { return check_hash(line, tally); }
  std::string id = "records of " + line.at("workload").get<std::string>();
  std::vector<IRModule> modules;
  for (const Json& text : line.at("database_workload")) {
    auto workload = metaschedule::read_workload(text.get<std::string>(), id);
    if (!workload.ok()) { return tally.fail(id, "a workload", describe(workload.diagnostics())); }
    modules.push_back(workload->module);
    if (std::string printed = print_script(workload->module); printed != line.at("module").get_ref<const std::string&>()) {
      LineDifference d = first_line_difference(line.at("module"), printed);
      return tally.fail(id, d.expected, d.got);
    }
    if (std::string again = metaschedule::workload_line(workload->module); again != text.get_ref<const std::string&>()) {
      return tally.fail(id, "the same line of the workload", fmt::format("{} characters for {}", again.size(), text.get_ref<const std::string&>().size()));
    }
  }
  for (const Json& text : line.at("database_tuning_record")) {
    auto record = metaschedule::read_record_line(text.get<std::string>(), id);
    if (!record.ok()) { return tally.fail(id, "a record", describe(record.diagnostics())); }
    if (record->workload >= static_cast<int64_t>(modules.size())) { return tally.fail(id, "a known workload", fmt::format("{}", record->workload)); }
    schedule::Schedule sch(modules[static_cast<size_t>(record->workload)], 1);
    if (auto replayed = sch.replay(record->trace); !replayed.ok()) { return tally.fail(id, "a trace that applies", describe(replayed.diagnostics())); }
    record->trace = sch.trace();
    if (std::string again = metaschedule::record_line(*record); again != text.get_ref<const std::string&>()) {
      return tally.fail(id, text.get<std::string>(), again);
    }
  }
  tally.pass();
}

}  // namespace loopsmith::oracle
