// Files of a report: see report.h.
#include "lsp/server/report.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace loopsmith::lsp {
namespace {

constexpr size_t most_kept = 400;

auto base() -> std::string {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') { return state; }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') { return std::string(home) + "/.local/state"; }
  return "/tmp";
}

auto write(const std::string& path, const std::string& text) -> bool {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

}  // namespace

void History::note(Json line, Time now) {
  double milliseconds = std::chrono::duration<double, std::milli>(now - start_).count();
  line["t"] = std::round(milliseconds * 10) / 10;
  recent_.push_back(std::move(line));
  if (recent_.size() > most_kept) { recent_.pop_front(); }
}

void History::answered(std::string_view method, Time asked, Time now, bool is_error) {
  double milliseconds = std::chrono::duration<double, std::milli>(now - asked).count();
  Json line = {{"answered", method}, {"ms", std::round(milliseconds * 100) / 100}};
  if (is_error) { line["error"] = true; }
  note(std::move(line), now);
}

auto History::lines() const -> std::string {
  std::string out;
  for (const Json& line : recent_) { out += to_text(line) + "\n"; }
  return out;
}

auto report_facts(const Json& machine) -> Json {
  utsname system{};
  (void)::uname(&system);
  return {{"loopsmith", LOOPSMITH_VERSION}, {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)}, {"machine", machine}};
}

auto write_report(const Json& facts, const Json& shown, const std::string& file, const History* history) -> std::optional<std::string> {
  std::error_code failed;
  std::string reports = base() + "/loopsmith/reports";
  std::filesystem::create_directories(reports, failed);
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
  std::string folder = fmt::format("{}/{}-XXXXXX", reports, stamp);
  if (::mkdtemp(folder.data()) == nullptr) { return std::nullopt; }
  std::string program = string_in(shown, "text");
  std::string codes;
  for (const Json& code : member(shown, "codes")) { codes += (codes.empty() ? "" : ", ") + ("`" + code.get<std::string>() + "`"); }
  std::string readme = fmt::format("# A report for Loopsmith\n\nMade by {}; nothing was sent anywhere. Look through it before you send it to anybody.\n\n",
                                   history != nullptr ? "the command `loopsmith.report.bundle`" : "`loopsmith report --fault`");
  readme += history == nullptr ? "- `report.json`: versions, the machine\n"
                               : "- `report.json`: versions, the machine, the editor, crashes\n- `session.jsonl`: the names of the last requests and how long they took; none of their contents\n";
  if (!program.empty()) {
    readme += fmt::format("- `{}`: {} of {} declarations of the file, without its names, comments and texts; the sizes of buffers and loops are unchanged\n\n"
                          "`loopsmith check {}` reports: {}\n", file, int_in(shown, "declarations").value_or(0), int_in(shown, "of_declarations").value_or(0), file, codes.empty() ? "nothing" : codes);
  } else {
    readme += fmt::format("\nIt contains no program: {}.\n", string_in(shown, "left_out"));
  }
  bool is_written = write(folder + "/report.json", facts.dump(2, ' ', false, Json::error_handler_t::replace) + "\n") && (history == nullptr || write(folder + "/session.jsonl", history->lines())) &&
                    write(folder + "/README.md", readme) && (program.empty() || write(folder + "/" + file, program));
  if (!is_written) {
    std::filesystem::remove_all(folder, failed);
    return std::nullopt;
  }
  return folder;
}

}  // namespace loopsmith::lsp
