// Errors from comparisons: see verdicts.h.
#include "lsp/features/verdicts.h"

#include <fmt/format.h>

#include "lsp/features/tuning.h"

namespace loopsmith::lsp {

using workspace::Snapshot;

auto verdicts(const Snapshot& snapshot, const Measured& measured) -> std::vector<Verdict> {
  std::vector<Verdict> out;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    auto span = snapshot.resolve(schedule.where);
    if (!span) { continue; }
    auto add = [&](const char* code, std::string message, const char* about_program) {
      Verdict verdict{*span, code, std::move(message)};
      for (const Tunable& program : tunables_in(snapshot, {0, static_cast<uint32_t>(snapshot.text().size())})) {
        if (program.name != schedule.program_name.view()) { continue; }
        verdict.program = program.name_span;
        verdict.about_program = about_program;
        break;
      }
      out.push_back(std::move(verdict));
    };
    for (const auto& [id, job] : measured.jobs) {
      bool differs = job.kind == JobKind::Verify && job.is_done() && !job.is_equal && job.uri == snapshot.name() && job.schedule == schedule.name.view();
      if (!differs || is_stale(snapshot, job)) { continue; }
      add("results-differ", fmt::format("`{}` does not keep the results of `{}`: {}", job.schedule, job.function, job.difference), "the program whose results were compared");
    }
  }
  return out;
}

}  // namespace loopsmith::lsp
