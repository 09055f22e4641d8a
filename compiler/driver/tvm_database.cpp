// MetaSchedule's database: see tvm_database.h.
#include "driver/tvm_database.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/program.h"
#include "driver/records.h"
#include "schedule/trace_json.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "tune/metaschedule/records/records.h"

namespace loopsmith::driver {
namespace {

constexpr const char* workload_file = "database_workload.json";
constexpr const char* record_file = "database_tuning_record.json";

auto write_text(const std::string& path, const std::string& text) -> Status {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) { return error(Code::CannotWrite).arg("file", path).arg("reason", because(Why::DiskOrFolder).text()); }
  return ok();
}

}  // namespace

auto tvm_workloads_at(const std::string& path) -> std::string {
  std::error_code problem;
  std::filesystem::path folder = std::filesystem::is_directory(path, problem) ? std::filesystem::path(path) : std::filesystem::path(path).parent_path();
  std::string file = (folder / workload_file).string();
  return std::filesystem::exists(file, problem) ? file : "";
}

auto read_tvm_workloads(const std::string& path) -> Result<std::vector<IRModule>> {
  LOOPSMITH_TRY(text, read_file(path));
  std::vector<IRModule> out;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) { continue; }
    LOOPSMITH_TRY(workload, tune::metaschedule::read_workload(line, fmt::format("{}:{}", path, number)));
    out.push_back(workload.module);
  }
  return out;
}

auto add_to_export(TvmExport& out, const tune::Database::Workload& workload, const std::vector<tune::Record>& records, const std::string& database) -> Status {
  auto file = SourceFile::from_text(workload.name, workload.text);
  auto parsed = workspace::find_program(*file->snapshot(), {});
  if (!parsed || !parsed->module || parsed->module->functions.empty()) {
    return error(Code::CannotRead).arg("file", database).arg("reason", because(Why::TextNoProgram).arg("name", workload.name).text());
  }
  const IRModule& module = parsed->module;
  tune::metaschedule::RecordLine line;
  line.workload = static_cast<int64_t>(out.programs);
  line.target = tvm_target_text(workload.task.target);
  line.arguments = tune::metaschedule::arguments_of(module->functions.front().second);
  for (const tune::Record& record : records) {
    if (record.outcome != tune::Outcome::Measured) { continue; }
    auto trace = schedule::trace_from_json(record.trace);
    if (!trace.ok()) { continue; }
    line.trace = *trace;
    line.seconds = {record.median_seconds};
    out.records += tune::metaschedule::record_line(line) + "\n";
    ++out.trials;
  }
  out.workloads += tune::metaschedule::workload_line(module) + "\n";
  ++out.programs;
  return ok();
}

auto write_export(const TvmExport& out, const std::string& folder) -> Status {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) { return error(Code::CannotWrite).arg("file", folder).arg("reason", problem.message()); }
  LOOPSMITH_CHECK(write_text((std::filesystem::path(folder) / workload_file).string(), out.workloads));
  return write_text((std::filesystem::path(folder) / record_file).string(), out.records);
}

}  // namespace loopsmith::driver
