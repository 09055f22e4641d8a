// `loopsmith check FILE...`: prints all findings that an editor would show for the files, including those of schedules.
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/program.h"
#include "driver/reports.h"
#include "driver/warp_hints.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/text.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "check",
    .arguments = "[--json|--sarif] [--warnings W] [--hints] FILE|FOLDER...",
    .summary = "Reports errors and warnings in files: syntax, names, types, bounds, races, and refused steps of their schedules.",
    .details = "Reads and schedules; executes no program. A folder stands for all .tir files below it, `-` for standard input. Exit status 1\n"
               "where a file has errors, not for warnings alone. `loopsmith explain CODE` explains the code in brackets. A comment\n"
               "`# ls: ignore[CODE]` on a line (or alone on the line above) silences a warning or hint there, as it does in the editor;\n"
               "`# ls: ignore-file[CODE]` silences it in the whole file.",
    .options = {json_option,
                {.name = "--sarif", .help = "one SARIF 2.1.0 log on standard output, for code scanning"},
                {.name = "--hints", .help = "also bank conflicts and scattered accesses of warps, and kernels whose threads are proved not to race, or not proved"},
                {.name = "--warnings", .value = "W", .help = "all (the default, with hints), default (without hints), none, or error (a warning fails)"}},
    .examples = {{"loopsmith check matmul.tir", "mistakes, each with its line, its cause and a remedy"},
                 {"loopsmith check --sarif kernels > findings.sarif", "for code scanning"},
                 {"loopsmith check --json *.tir", "a line of JSON for each, for other programs"}},
    .least = 1,
    .most = 100000,
};

auto count_text(size_t n, const char* noun) -> std::string { return loopsmith::count_text(static_cast<int64_t>(n), noun); }

}  // namespace

auto check(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  std::string shown = arguments.get("--warnings", "all");
  if (shown != "all" && shown != "default" && shown != "none" && shown != "error") {
    return usage_error("check", fmt::format("`--warnings` is all, default, none or error, not `{}`", shown));
  }
  auto wanted = [&](Diagnostics diagnostics) {
    std::erase_if(diagnostics, [&](const Diagnostic& d) {
      if (d.severity == Severity::Error || shown == "all") { return false; }
      return shown == "none" || d.severity == Severity::Hint;
    });
    return diagnostics;
  };
  Reporter reporter(arguments);
  std::vector<nlohmann::json> found;
  if (arguments.has("--sarif")) { reporter.collect(found); }
  std::vector<std::string> paths;
  for (const std::string& given : arguments.positional()) {
    std::error_code problem;
    if (!std::filesystem::is_directory(given, problem)) {
      paths.push_back(given);
      continue;
    }
    std::vector<std::filesystem::path> below = files_below(given, problem);
    if (problem) { reporter.report({error(Code::CannotRead).arg("file", given).arg("reason", problem.message())}, nullptr); }
    else if (below.empty()) { reporter.report({error(Code::CannotRead).arg("file", given).arg("reason", because(Why::NoFilesBelow).text())}, nullptr); }
    for (const auto& file : below) { paths.push_back(file.string()); }
  }
  for (const std::string& path : paths) {
    auto file = SourceFile::read(path);
    if (!file) {
      reporter.report(file.diagnostics(), nullptr);
      continue;
    }
    (*file)->document().replay({});
    reporter.report(wanted((*file)->diagnostics()), file->get());
    if (arguments.has("--hints")) { reporter.report(warp_hints(*(*file)->snapshot()), file->get()); }
  }
  if (arguments.has("--sarif")) {
    fmt::print("{}\n", sarif(found, LOOPSMITH_VERSION).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (!arguments.json() && reporter.errors() + reporter.warnings() > 0) {
    std::string summary;
    if (reporter.errors()) { summary = count_text(reporter.errors(), "error"); }
    if (reporter.warnings()) { summary += (summary.empty() ? "" : ", ") + count_text(reporter.warnings(), "warning"); }
    fmt::print(stderr, "{}\n", summary);
  }
  if (shown == "error" && reporter.warnings() > 0) { return exit_input; }
  return reporter.errors() ? reporter.status() : static_cast<int>(exit_done);
}

}  // namespace loopsmith::driver::commands
