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
/// A comment: "Program 0123456789abcdef, scheduled fedcba9876543210; llvm -mcpu=znver4; +-0.3%; Loopsmith 1.0; 2026-11-23". `spread` is a
/// share of the time, `now` seconds since 1970.
[[nodiscard]] auto certificate_text(const Certificate& certificate, const std::string& target, double spread, const std::string& version, int64_t now) -> std::string;
/// The first in the comments of a text. None: it has none.
[[nodiscard]] auto certificate_in(std::string_view text) -> std::optional<Certificate>;

}  // namespace loopsmith::tune
