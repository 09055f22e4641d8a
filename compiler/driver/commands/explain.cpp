// `loopsmith explain CODE`: prints the section of docs/diagnostics.md about a diagnostic. The page is embedded in the program.
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "driver/arguments.h"
#include "driver/command.h"
#include "driver/manual.h"
#include "support/diagnostic.h"
#include "support/spelling.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "explain",
    .arguments = "[CODE]",
    .summary = "Explains a diagnostic by the code in brackets behind its message: meaning, importance, remedy.",
    .details = "Without a code, lists all codes.",
    .reads_files = false,
    .examples = {{"loopsmith explain data-race", "the meaning, an example and the remedy"}},
    .least = 0,
    .most = 1,
};

auto severity_word(Severity severity) -> const char* {
  switch (severity) {
    case Severity::Error: return "error";
    case Severity::Warning: return "warning";
    case Severity::Information: return "information";
    case Severity::Hint: return "hint";
  }
  return "error";
}

/// A page of Markdown for a terminal: examples indented, without their fences.
auto plain(std::string_view section) -> std::string {
  std::string out;
  bool in_example = false;
  while (!section.empty()) {
    size_t end = std::min(section.find('\n'), section.size());
    std::string_view line = section.substr(0, end);
    section.remove_prefix(std::min(end + 1, section.size()));
    if (line.starts_with("```")) { in_example = !in_example; continue; }
    if (in_example && !line.empty()) { out += "    "; }
    out += line;
    out += '\n';
  }
  while (out.ends_with("\n\n")) { out.pop_back(); }
  return out;
}

}  // namespace

auto explain(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  std::vector<std::string> ids;
  for (Code code : all_codes()) { ids.emplace_back(code_id(code)); }
  if (arguments.positional().empty()) {
    for (Code code : all_codes()) { fmt::print("{:26} {:8} {}\n", code_id(code), severity_word(code_severity(code)), code_text(code)); }
    return exit_done;
  }
  const std::string& wanted = arguments.positional()[0];
  bool known = false;
  for (Code code : all_codes()) {
    if (code_id(code) != wanted) { continue; }
    if (!known) { fmt::print("{} ({})\n\n", code_id(code), severity_word(code_severity(code))); }
    fmt::print("    {}\n", code_text(code));
    known = true;
  }
  if (!known) {
    std::string meant = closest(wanted, ids);
    return usage_error("explain", fmt::format("there is no diagnostic `{}`{}", wanted, meant.empty() ? "; `loopsmith explain` lists them" : fmt::format("; did you mean `{}`?", meant)));
  }
  std::string section = manual_section(manual(), wanted);
  if (!section.empty()) { fmt::print("\n{}", plain(section)); }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
