// Trials of the tuning database as lines of JSON: in our own form, which contains the whole record, and in the form of TVM's `database_tuning_record.json`
// (`[workload, [trace, [seconds], target, arguments]]`), which does not contain the program: the reader supplies it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "ir/ir.h"
#include "support/diagnostic.h"
#include "target/target.h"
#include "tune/database/database.h"

namespace loopsmith::driver {

[[nodiscard]] auto workload_text(const tune::TaskKey& key) -> std::string;

/// A record without its program's text.
[[nodiscard]] auto record_json(const tune::Database::Workload& workload, const tune::Record& record) -> nlohmann::json;

struct ReadRecord {
  tune::Database::Workload workload;   // `text` may be empty
  tune::Record record;
};
/// Parses a record; `line` is one of `record_json` with "text" added. `place` names the line in errors.
[[nodiscard]] auto read_record(const nlohmann::json& line, const std::string& place) -> Result<ReadRecord>;

/// A measured record in TVM's form, with workload 0.
[[nodiscard]] auto tvm_record(const tune::Database::Workload& workload, const tune::Record& record, const PrimFunc& function) -> nlohmann::json;

/// A target in the form of a record: a dictionary of its options.
[[nodiscard]] auto tvm_target_text(const std::string& target) -> std::string;

struct TvmRecord {
  int64_t workload = 0;      // line of `database_workload.json`, from 0
  std::string trace;
  std::string target;        // canonical text; empty: an unknown target
  std::string unknown_target = {};   // its text, in TVM's words
  double seconds = 0;        // the mean; 0: not measured
  std::vector<std::string> arguments;   // as `float32[24, 40]`; empty: not in the record
};
[[nodiscard]] auto read_tvm_record(const nlohmann::json& line, const std::string& place) -> Result<TvmRecord>;

/// The path of TVM's `database_tuning_record.json`, if a path is such a file or a folder with one; else "".
[[nodiscard]] auto tvm_records_at(const std::string& path) -> std::string;

/// Its records, by line.
[[nodiscard]] auto read_tvm_records(const std::string& path) -> Result<std::vector<TvmRecord>>;

/// The fastest record with the program's arguments whose trace applies to the program: for this same target, else for the same kind of target.
[[nodiscard]] auto best_of_tvm(const std::vector<TvmRecord>& records, const IRModule& program, const target::Target& target) -> const TvmRecord*;

}  // namespace loopsmith::driver
