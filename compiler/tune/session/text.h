// A trace as a schedule function that a person would write: named variables, defaults left out, one primitive a line.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::tune {

struct ScheduleText {
  std::string program;                 // what the decorator names
  std::string name;                    // of the function
  std::string target;                  // in the decorator; empty: left out
  std::vector<std::string> comments;   // lines at the top of the body
  std::string schedule = "sch";        // what the function calls its schedule
  std::set<std::string> taken;         // names that variables must not have
};

/// The text ends with a line end. Fails where the trace does not replay on the module.
[[nodiscard]] auto schedule_function_text(const IRModule& module, const std::string& trace_json, const ScheduleText& text) -> Result<std::string>;
/// The statements alone, with their comments, for a function that is there: lines without indentation, and no line end behind the last.
[[nodiscard]] auto schedule_statements_text(const IRModule& module, const std::string& trace_json, const ScheduleText& text) -> Result<std::string>;

/// What a schedule that was found says of itself, for whoever has the text alone: hashes (structural) of the program that it was made for
/// and of what it made of it.
struct Certificate {
  uint64_t program = 0;
  uint64_t scheduled = 0;
};
/// Of a trace (TVM's JSON) on a function of the module. None: it does not replay.
[[nodiscard]] auto certificate_of(const IRModule& module, Name function, const std::string& trace) -> std::optional<Certificate>;

/// How the time of a schedule was measured.
struct Timed {
  std::string target;
  double seconds = 0;        // the median
  double spread_seconds = 0;
  int timings = 0;
  int64_t unix_time = 0;
};
/// A comment: "Program 0123456789abcdef, scheduled fedcba9876543210; llvm -mcpu=znver4; +-0.3%, 24 timings; Loopsmith 1.0; 2026-11-23".
/// Without a certificate, of what is a part of a schedule: all but the hashes.
[[nodiscard]] auto certificate_text(const std::optional<Certificate>& certificate, const Timed& timed) -> std::string;
/// The first in the comments of a text. None: it has none.
[[nodiscard]] auto certificate_in(std::string_view text) -> std::optional<Certificate>;

}  // namespace loopsmith::tune
