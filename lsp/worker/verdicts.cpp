// Errors of comparisons and notes about certificates: see verdicts.h.
#include "lsp/worker/verdicts.h"

#include <algorithm>

#include <fmt/format.h>

#include "script/held.h"
#include "workspace/edits/certificate.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

constexpr int severity_error = 1;
constexpr int severity_information = 3;

auto program_of(const Snapshot& snapshot, const script::FileSchedule& schedule) -> const workspace::Program* {
  for (const workspace::Program& program : snapshot.programs()) {
    if (program.module && !program.is_inside && program.decl == schedule.program_decl) { return &program; }
  }
  return nullptr;
}

}  // namespace

auto is_of_another_program(const Snapshot& snapshot, const script::FileSchedule& schedule, Records& records) -> bool {
  syntax::ItemPtr item = snapshot.syntax().declaration(schedule.decl);
  if (!item || schedule.run == nullptr || !schedule.is_settled) { return false; }
  auto certificate = workspace::certificate_in(item->text);
  if (!certificate) { return false; }
  const workspace::Program* program = program_of(snapshot, schedule);
  if (program == nullptr && !schedule.run->program) { return false; }
  return records.hash_of(program != nullptr ? program->module : schedule.run->program) != certificate->program;
}

void add_verdicts(const Snapshot& snapshot, Encoding encoding, const std::map<uint64_t, JobFacts>& jobs, Records& records, Json& diagnostics) {
  auto range = [&](Span span) { return to_json(to_range(snapshot.text(), snapshot.lines(), span, encoding)); };
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    auto span = snapshot.resolve(schedule.where);
    if (!span) { continue; }
    auto add = [&](int severity, const char* code, std::string message, const std::string& of_program) {
      Json diagnostic = {{"range", range(*span)}, {"severity", severity}, {"code", code}, {"source", "loopsmith"}, {"message", std::move(message)}};
      for (const Tunable& program : tunables_in(snapshot, {0, static_cast<uint32_t>(snapshot.text().size())})) {
        if (program.name != schedule.program_name.view()) { continue; }
        diagnostic["relatedInformation"] = Json::array({{{"location", {{"uri", snapshot.name()}, {"range", range(program.name_span)}}}, {"message", of_program}}});
        break;
      }
      diagnostics.push_back(std::move(diagnostic));
    };
    for (const auto& [id, job] : jobs) {
      bool differs = job.verifies && job.is_done && !job.is_equal && job.uri == snapshot.name() && job.schedule == schedule.name.view();
      if (!differs || job.text_hash != hash_of_declarations(snapshot, job.function, job.schedule)) { continue; }
      add(severity_error, "results-differ", fmt::format("`{}` does not keep the results of `{}`: {}", job.schedule, job.function, job.difference), "the program whose results were compared");
    }
    if (!is_of_another_program(snapshot, schedule, records)) { continue; }
    add(severity_information, "tuned-for-another", fmt::format("`{}` was tuned for another program than `{}` is now: {}\nhelp: tune `{}` again", schedule.name.view(), schedule.program_name.view(), script::what_holds(*schedule.run), schedule.program_name.view()),
        "changed since the schedule was found");
  }
}

}  // namespace loopsmith::lsp
