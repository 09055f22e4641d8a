// Logs of AutoTVM: a line of JSON for each trial, `{"input": [target, template, arguments, {}], "config": {...}, "result": [...]}`. Lines of version 0.1,
// `{"i": ..., "r": ...}`, are read too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/value.h"
#include "script/autotvm/space.h"
#include "support/diagnostic.h"

namespace loopsmith::script::autotvm {

struct AutotvmRecord {
  size_t number = 0;                       // of its line, from 1
  std::string target;                      // as written
  std::string template_name;
  std::vector<eval::Value> arguments;
  Decisions decisions;
  int64_t index = 0;
  std::vector<double> seconds;             // of each run; empty: not measured
  int64_t error = 0;                       // 0: measured
  std::string line = {};                   // as the log has it

  /// The mean; 0: not measured.
  [[nodiscard]] auto mean() const -> double;
};

/// True for a text whose first line is a record of AutoTVM.
[[nodiscard]] auto is_autotvm_log(std::string_view text) -> bool;
[[nodiscard]] auto read_autotvm_log(const std::string& path, const std::string& text) -> Result<std::vector<AutotvmRecord>>;
/// A line without its end.
[[nodiscard]] auto autotvm_line(const AutotvmRecord& record) -> std::string;

/// The fastest measured record of a task. Fails with the reason against the first record, if the log has none.
[[nodiscard]] auto best_of_log(const std::string& path, const std::vector<AutotvmRecord>& records, const std::string& template_name, const std::vector<eval::Value>& arguments)
    -> Result<AutotvmRecord>;

}  // namespace loopsmith::script::autotvm
