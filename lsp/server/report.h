// The report of a fault, from the editor or the command line: versions, the machine, the last requests by name with their times and
// results (never their contents), and a copy of the program without names and texts. It is written to a folder, on request only.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

/// The last messages of a session, by the names of their methods. Unknown names are dropped: they could be private text.
class History {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit History(Time start) : start_(start) {}
  void asked(std::string_view method, Time now) { note({{"method", method}}, now); }
  void answered(std::string_view method, Time asked, Time now, bool is_error);
  [[nodiscard]] auto lines() const -> std::string;

 private:
  void note(Json line, Time now);
  std::deque<Json> recent_;
  Time start_;
};

/// The versions of Loopsmith and the system. `machine`: the processor, as the compiler names it.
[[nodiscard]] auto report_facts(const Json& machine) -> Json;
/// Writes a report into a new folder that no other user may read: `report.json`, `README.md`, `session.jsonl` where a session has a history, and
/// the program, as `file`, where `shown` has one. `shown`: {text, left_out, codes, declarations, of_declarations}. Returns the path; none: it
/// cannot be written.
[[nodiscard]] auto write_report(const Json& facts, const Json& shown, const std::string& file, const History* history) -> std::optional<std::string>;

}  // namespace loopsmith::lsp
