// MetaSchedule's tuning database on the disk: a folder with `database_workload.json` and `database_tuning_record.json`, which hold programs and records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"
#include "tune/database/database.h"

namespace loopsmith::driver {

/// The file of programs that belongs to a file of records, or to the folder of both; "" where there is none.
[[nodiscard]] auto tvm_workloads_at(const std::string& path) -> std::string;

/// The programs of a file, by line.
[[nodiscard]] auto read_tvm_workloads(const std::string& path) -> Result<std::vector<IRModule>>;

/// The program with its records, as both files have them.
struct TvmExport {
  std::string workloads;   // the text of each file
  std::string records;
  size_t programs = 0, trials = 0;
};
/// Adds a program and its measured trials. An error: the text of the program cannot be read.
[[nodiscard]] auto add_to_export(TvmExport& out, const tune::Database::Workload& workload, const std::vector<tune::Record>& records, const std::string& database) -> Status;

/// Writes both files; makes the folder.
[[nodiscard]] auto write_export(const TvmExport& out, const std::string& folder) -> Status;

}  // namespace loopsmith::driver
