// Searches in the spaces of templates: see template_search.h.
#include "driver/commands/template_search.h"

#include <fmt/format.h>

#include "ir/equal.h"
#include "script/autotvm/log.h"
#include "script/autotvm/space.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::driver::commands {
namespace {

using script::autotvm::Decisions;
using script::autotvm::KnobKind;

// A point has 16 bits for each knob.
constexpr size_t most_searched = 60'000;

// The numbers of a choice, for the search's model; a value or an annotation counts by its place in the list.
auto numbers_of(const script::autotvm::Knob& knob, size_t choice) -> std::vector<int64_t> {
  const bool has_numbers = knob.kind == KnobKind::Split || knob.kind == KnobKind::Reorder;
  return has_numbers ? knob.choices[choice].numbers : std::vector<int64_t>{static_cast<int64_t>(choice)};
}

}  // namespace

TemplateSearch::TemplateSearch(const Selection& selection) : selection_(selection), points_(std::make_shared<std::map<std::string, tune::Point>>()) {
  if (const auto* schedule = selection.file->document().schedules().find(Name(selection.schedule))) { arguments_ = schedule->arguments; }
  for (const script::autotvm::Knob& knob : selection.space->knobs) {
    const size_t step = (knob.choices.size() + most_searched - 1) / most_searched;
    searched_.emplace_back();
    for (size_t i = 0; i < knob.choices.size(); i += step) { searched_.back().push_back(i); }
  }
}

auto TemplateSearch::decisions(const tune::Point& point) const -> Decisions {
  std::vector<size_t> indices;
  for (size_t k = 0; k < point.size(); ++k) { indices.push_back(searched_[k][point[k]]); }
  return script::autotvm::decisions_at(*selection_.space, indices);
}

auto TemplateSearch::space(const tune::SpaceContext& context) -> Result<tune::Sketches> {
  std::vector<tune::Knob> knobs;
  for (size_t k = 0; k < searched_.size(); ++k) {
    const script::autotvm::Knob& knob = selection_.space->knobs[k];
    tune::Knob made{.name = knob.name, .choices = {}};
    for (size_t choice : searched_[k]) { made.choices.push_back(numbers_of(knob, choice)); }
    knobs.push_back(std::move(made));
  }
  auto run = [this](const tune::Point& point) -> Result<schedule::Trace> {
    LOOPSMITH_TRY(ran, selection_.file->document().run_schedule(selection_.schedule, {}, {}, std::make_shared<const Decisions>(decisions(point))));
    if (Diagnostics why = ran.all_diagnostics(); has_errors(why)) { return why; }
    if (!ran.result || !ran.is_complete) { return error(Code::ScheduleIncomplete).arg("name", selection_.schedule); }
    if (!structural_equal(ran.program, selection_.before)) {
      return error(Code::CannotTune).arg("function", selection_.schedule).arg("reason", because(Why::OtherProgramOfTemplate).text());
    }
    return ran.result->trace();
  };
  tune::Sketches out;
  out.push_back(std::make_unique<tune::TemplateSketch>(context, selection_.schedule, std::move(knobs), run, [points = points_](const tune::Point& point, const std::string& trace) { points->emplace(trace, point); }));
  return out;
}

auto TemplateSearch::configuration(const std::string& trace) const -> std::string {
  auto at = points_->find(trace);
  std::string out;
  if (at == points_->end()) { return out; }
  for (const auto& [name, choice] : decisions(at->second).choices) { out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, choice.text()); }
  return out;
}

auto TemplateSearch::line(const std::string& trace, double seconds) const -> std::string {
  auto at = points_->find(trace);
  if (at == points_->end()) { return {}; }
  script::autotvm::AutotvmRecord record;
  record.target = selection_.target.str();
  record.template_name = selection_.template_name;
  record.arguments = arguments_;
  record.decisions = decisions(at->second);
  record.index = script::autotvm::index_of(*selection_.space, record.decisions).value_or(0);
  // 4: the runtime of a device failed, the error that TVM writes for a configuration without a time.
  if (seconds > 0) { record.seconds = {seconds}; } else { record.error = 4; }
  return script::autotvm::autotvm_line(record);
}

}  // namespace loopsmith::driver::commands
