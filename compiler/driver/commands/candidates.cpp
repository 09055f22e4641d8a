// Schedules of outside proposers: see candidates.h.
#include "driver/commands/candidates.h"

#include <fmt/format.h>

#include "schedule/trace_json.h"
#include "support/codes.h"
#include "support/text.h"
#include "syntax/document.h"
#include "workspace/edits/placing.h"

namespace loopsmith::driver::commands {
namespace {

/// The trace of lines of script, which run as the body of a schedule function of the file.
auto trace_of_steps(const std::string& steps, const Selection& selection) -> Result<schedule::Trace> {
  const std::string file_text(selection.file->snapshot()->text());
  const std::string name = workspace::free_name(file_text, "candidate");
  const std::string function = workspace::schedule_function({.program = selection.program.str(), .name = name, .body = steps});
  syntax::Document alone(function);
  if (Diagnostics problems = alone.diagnostics(); has_errors(problems)) {
    for (Diagnostic& d : problems) { d.where = {}; }
    return problems;
  }
  auto file = SourceFile::from_text("candidate", workspace::with_edits(file_text, workspace::appended(file_text, function, false)));
  LOOPSMITH_TRY(run, file->document().run_schedule(name));
  Diagnostics problems = run.all_diagnostics();
  std::erase_if(problems, [](const Diagnostic& d) { return d.severity != Severity::Error; });
  // The text of a candidate is no place in the file.
  for (Diagnostic& d : problems) { d.where = {}; }
  if (!problems.empty()) { return problems; }
  if (auto incomplete = run.why_incomplete()) { return *std::move(incomplete); }
  if (!run.result) { return error(Code::ScheduleIncomplete).arg("name", "candidate"); }
  return run.result->trace();
}

}  // namespace

auto read_candidates(const Arguments& arguments, const Selection& selection) -> std::vector<Result<schedule::Trace>> {
  std::vector<Result<schedule::Trace>> out;
  for (const std::string& text : arguments.all("--candidate")) {
    const size_t first = text.find_first_not_of(" \t\n");
    const bool is_trace = first != std::string::npos && text[first] == '[';
    out.push_back(is_trace ? schedule::trace_from_json(text) : trace_of_steps(text, selection));
  }
  return out;
}

auto candidates_as_json(const tune::Progress& progress) -> nlohmann::json {
  nlohmann::json out = nlohmann::json::array();
  for (size_t i = 0; i < progress.sketches.size(); ++i) {
    const tune::SketchTally& one = progress.sketches[i];
    nlohmann::json row = {{"number", i + 1}, {"outcome", one.outcome.empty() ? "not measured" : one.outcome}};
    if (one.seconds > 0) { row["seconds"] = one.seconds; }
    if (!one.note.empty()) { row["message"] = one.note; }
    out.push_back(std::move(row));
  }
  return out;
}

auto candidates_as_text(const tune::Progress& progress) -> std::string {
  std::string out;
  for (size_t i = 0; i < progress.sketches.size(); ++i) {
    const tune::SketchTally& one = progress.sketches[i];
    out += fmt::format("candidate {}: {}{}{}\n", i + 1, one.outcome.empty() ? "not measured" : one.outcome, one.seconds > 0 ? ", " + duration_text(one.seconds) : "",
                       one.note.empty() ? "" : ": " + one.note);
  }
  return out;
}

}  // namespace loopsmith::driver::commands
