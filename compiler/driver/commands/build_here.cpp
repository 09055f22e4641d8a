// `loopsmith worker --build`: builds one file for one target in this process and prints a line of JSON. `loopsmith build` starts it once per file.
#include <cstdio>
#include <tuple>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/building.h"
#include "driver/command.h"
#include "driver/program.h"
#include "driver/records.h"
#include "ir/equal.h"
#include "support/text.h"
#include "target/hardware.h"
#include "tune/database/database.h"

namespace loopsmith::driver::commands {
namespace {

using nlohmann::json;

/// The fastest verified record, else the fastest record: from this machine if it has records, else from any machine.
auto best_schedule(tune::Database& database, const IRModule& program, const target::Target& target) -> std::optional<TunedSchedule> {
  uint64_t hash = structural_hash(program);
  auto workloads = database.workloads();
  if (!workloads) { return {}; }
  const tune::Database::Workload* picked = nullptr;
  for (const auto& w : *workloads) {
    if (w.task.workload != hash || w.task.target != target.str() || w.best_seconds <= 0) { continue; }
    auto rank = [](const auto& one) { return std::pair(one.task.machine != target::machine_identity(), one.best_seconds); };
    if (!picked || rank(w) < rank(*picked)) { picked = &w; }
  }
  auto records = picked != nullptr ? database.records(picked->task) : Result<std::vector<tune::Record>>(std::vector<tune::Record>());
  if (!records) { return {}; }
  const tune::Record* best = nullptr;
  for (const tune::Record& r : *records) {
    auto rank = [](const tune::Record& one) { return std::tuple(one.verified.empty(), one.median_seconds, one.id); };
    if (r.outcome == tune::Outcome::Measured && (best == nullptr || rank(r) < rank(*best))) { best = &r; }
  }
  if (best == nullptr) { return {}; }
  return TunedSchedule{best->trace, fmt::format("tuned: trial {}, {}{}", best->trial, duration_text(best->median_seconds), best->verified.empty() ? ", not verified" : "")};
}

/// The same for TVM's records, which contain no machine and no verification.
auto best_schedule(const std::vector<TvmRecord>& records, const IRModule& program, const target::Target& target) -> std::optional<TunedSchedule> {
  const TvmRecord* best = best_of_tvm(records, program, target);
  if (best == nullptr) { return {}; }
  return TunedSchedule{best->trace, fmt::format("tuned by TVM: record {}, {}{}, not verified", best - records.data() + 1, duration_text(best->seconds),
                                                best->target == target.str() ? "" : fmt::format(" for {}", best->target))};
}

/// Takes schedules from TVM's records. They live as long as the job.
auto take_tvm_records(const std::string& path, BuildJob& job) -> Status {
  LOOPSMITH_TRY(records, read_tvm_records(path));
  job.tuned = [records = std::move(records)](const IRModule& program, const target::Target& target) { return best_schedule(records, program, target); };
  return ok();
}

auto take_database(const std::string& path, std::optional<tune::Database>& database, BuildJob& job) -> Status {
  LOOPSMITH_TRY(opened, tune::Database::open(path));
  database.emplace(std::move(opened));
  job.tuned = [&database](const IRModule& program, const target::Target& target) { return best_schedule(*database, program, target); };
  return ok();
}

auto as_json(const BuildResult& result) -> json {
  json artefacts = json::array();
  for (const Artefact& artefact : result.artefacts) {
    artefacts.push_back({{"path", artefact.path}, {"staged", artefact.staged}, {"kind", artefact.kind}, {"bytes", artefact.bytes}, {"hash", fmt::format("{:016x}", artefact.hash)}});
  }
  json kernels = json::array();
  for (const BuiltKernel& kernel : result.kernels) {
    json one = {{"name", kernel.name}};
    if (!kernel.schedule.empty()) { one["schedule"] = kernel.schedule; }
    kernels.push_back(std::move(one));
  }
  return {{"artefacts", artefacts}, {"kernels", kernels}, {"notes", result.notes}, {"from_cache", result.from_cache}};
}

}  // namespace

auto build_here(std::vector<std::string> args) -> int {
  // FILE TARGET STEM WITH AS-WRITTEN CACHE MAY-BE-EMPTY PACKED DEBUG-INFO STAGING DATABASE PYTHON: only `loopsmith build` calls this, so it has no help text.
  if (args.size() != 12) { return exit_usage; }
  BuildJob job{.file = args[0], .target = args[1], .stem = args[2], .with = args[3], .as_written = args[4] == "1", .staging = args[9],
               .cache = args[5], .packed = args[7] == "1", .python = args[11] == "1", .debug_info = args[8] == "1", .may_be_empty = args[6] == "1"};
  const std::string& database_path = args[10];
  auto none = read_arguments(Usage{.command = "build", .arguments = "", .summary = ""}, {});
  Reporter reporter(std::get<Arguments>(none));
  std::optional<tune::Database> database;
  if (!database_path.empty()) {
    std::string records = tvm_records_at(database_path);
    Status taken = records.empty() ? take_database(database_path, database, job) : take_tvm_records(records, job);
    if (!taken) {
      reporter.report(taken.diagnostics(), nullptr);
      return reporter.status();
    }
  }
  auto result = build_file(job, reporter);
  if (!result) { return reporter.status(); }
  fmt::print("{}\n", as_json(*result).dump(-1, ' ', false, json::error_handler_t::replace));
  return exit_done;
}

}  // namespace loopsmith::driver::commands
