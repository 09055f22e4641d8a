// The two files of MetaSchedule's tuning database, a line each of JSON, as TVM 0.19 reads and writes them byte for byte:
//
//     database_workload.json         ["9516657375253150047", "base64 of the program as a graph of TVM's objects"]
//     database_tuning_record.json    [number of the workload's line, [trace, [seconds], target, arguments]]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"
#include "schedule/trace.h"
#include "support/diagnostic.h"

namespace loopsmith::tune::metaschedule {

struct WorkloadLine {
  uint64_t hash = 0;        // TVM's structural hash
  IRModule module;
};
/// `place` names the line in errors. An error where the hash is not that of the program.
[[nodiscard]] auto read_workload(std::string_view line, const std::string& place) -> Result<WorkloadLine>;
[[nodiscard]] auto workload_line(const IRModule& module) -> std::string;

struct RecordLine {
  int64_t workload = 0;             // a line of the other file, from 0
  schedule::Trace trace;
  std::vector<double> seconds;      // of the runs; 1e10: it failed
  std::string target;               // JSON: a dictionary of options
  std::string arguments;            // JSON: [["TENSOR", "float32", [24, 40]], ...]
};
[[nodiscard]] auto read_record_line(std::string_view line, const std::string& place) -> Result<RecordLine>;
[[nodiscard]] auto record_line(const RecordLine& record) -> std::string;

/// The arguments of a program as a record has them. Sizes that are not constant count as -1.
[[nodiscard]] auto arguments_of(const PrimFunc& func) -> std::string;

}  // namespace loopsmith::tune::metaschedule
