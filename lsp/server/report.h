// What a report of a fault is made of besides a program: which requests there were, how long they took and how they ended, and nothing that
// was in them. And the folder it is written to, once it is asked for, by an editor or on the command line.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

/// The last messages of a session by the names of their methods. Names that we do not know are not kept: they might say anything.
class History {
 public:
  void asked(std::string_view method) { note({{"method", method}}); }
  void answered(std::string_view method, double milliseconds, bool is_error);
  [[nodiscard]] auto lines() const -> std::string;

 private:
  void note(Json line);
  std::deque<Json> recent_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Of Loopsmith and the machine. `machine`: its processor, as the compiler names it.
[[nodiscard]] auto report_facts(const Json& machine) -> Json;
/// Writes the files of a report into a new folder that nobody else may read: `report.json`, `README.md`, `session.jsonl` where there was a
/// session, and the program, as `file`, where there is one. `shown`: {text, left_out, codes, declarations, of_declarations}. Its path; none:
/// it cannot be written.
[[nodiscard]] auto write_report(const Json& facts, const Json& shown, const std::string& file, const History* history) -> std::optional<std::string>;

}  // namespace loopsmith::lsp
