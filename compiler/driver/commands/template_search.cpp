// Searches in the spaces of templates: see template_search.h.
#include "driver/commands/template_search.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/equal.h"
#include "ir/vocabulary.h"
#include "script/autotvm/log.h"
#include "script/autotvm/space.h"
#include "script/log_values.h"
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

// True for functions that are called with the same arguments: their results can be compared.
auto have_same_parameters(const PrimFunc& a, const PrimFunc& b) -> bool {
  if (a->params.size() != b->params.size() || a->buffer_map.size() != b->buffer_map.size()) { return false; }
  for (size_t i = 0; i < a->params.size(); ++i) {
    if (a->params[i]->dtype != b->params[i]->dtype) { return false; }
  }
  for (size_t i = 0; i < a->buffer_map.size(); ++i) {
    const Buffer& one = a->buffer_map[i].second;
    const Buffer& other = b->buffer_map[i].second;
    const bool is_same = one->dtype == other->dtype && one->shape.size() == other->shape.size() &&
                         std::equal(one->shape.begin(), one->shape.end(), other->shape.begin(), [](const Expr& x, const Expr& y) { return structural_equal(x, y); });
    if (!is_same) { return false; }
  }
  return true;
}

auto in_words(const Decisions& decisions) -> std::string {
  std::string out;
  for (const auto& [name, choice] : decisions.choices) { out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, choice.text()); }
  return out;
}

}  // namespace

TemplateSearch::TemplateSearch(const Selection& selection) : selection_(selection) {
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

auto TemplateSearch::run(Decisions decisions) const -> Result<script::ScheduleRun> {
  LOOPSMITH_TRY(ran, selection_.file->document().run_schedule(selection_.schedule, {}, {}, std::make_shared<const Decisions>(std::move(decisions))));
  if (Diagnostics why = ran.all_diagnostics(); has_errors(why)) { return why; }
  if (!ran.result || !ran.is_complete) { return error(Code::ScheduleIncomplete).arg("name", selection_.schedule); }
  return ran;
}

auto TemplateSearch::run(const tune::Point& point) -> Result<tune::TemplateRun> {
  LOOPSMITH_TRY(ran, run(decisions(point)));
  // Workers replay a trace of the task's program. They do not know the intrinsics that a template declares, so such candidates travel as their own programs.
  if (structural_equal(ran.program, selection_.before) && !ran.result->intrinsics()) { return tune::TemplateRun{ran.result->trace()}; }
  const PrimFunc own = ran.program->find(selection_.function), written = selection_.before->find(selection_.function);
  if (!own || !written || !have_same_parameters(own, written)) {
    if (left_out_.empty()) { left_out_ = in_words(decisions(point)); }
    return error(Code::CannotTune).arg("function", selection_.schedule).arg("reason", because(Why::OtherTensorsOfTemplate).text());
  }
  std::vector<IRModule>& known = programs_[structural_hash(ran.program)];
  auto at = std::find_if(known.begin(), known.end(), [&](const IRModule& one) { return structural_equal(one, ran.program); });
  if (at == known.end()) { at = known.insert(at, ran.program); }
  return tune::TemplateRun{ran.result->trace(), *at, ran.result->intrinsics()};
}

auto TemplateSearch::run(const std::string& line) const -> Result<script::ScheduleRun> {
  LOOPSMITH_TRY(records, script::autotvm::read_autotvm_log("", line));
  if (records.empty()) { return error(Code::ScheduleIncomplete).arg("name", selection_.schedule); }
  return run(std::move(records.front().decisions));
}

auto TemplateSearch::space(const tune::SpaceContext& context) -> Result<tune::Sketches> {
  std::vector<tune::Knob> knobs;
  for (size_t k = 0; k < searched_.size(); ++k) {
    const script::autotvm::Knob& knob = selection_.space->knobs[k];
    tune::Knob made{.name = knob.name, .choices = {}};
    for (size_t choice : searched_[k]) { made.choices.push_back(numbers_of(knob, choice)); }
    knobs.push_back(std::move(made));
  }
  tune::TemplateCalls calls{.run = [this](const tune::Point& point) { return run(point); }, .line = [this](const tune::Point& point, double seconds) { return line(point, seconds); }};
  tune::Sketches out;
  out.push_back(std::make_unique<tune::TemplateSketch>(context, selection_.schedule, std::move(knobs), std::move(calls)));
  return out;
}

auto TemplateSearch::configuration(const std::string& line) -> std::string {
  auto records = script::autotvm::read_autotvm_log("", line);
  return records.ok() && !records->empty() ? in_words(records->front().decisions) : std::string();
}

auto TemplateSearch::is_of_task(const std::string& line) const -> bool {
  auto records = script::autotvm::read_autotvm_log("", line);
  return records.ok() && !records->empty() && records->front().template_name == selection_.template_name && script::are_equal_in_json(records->front().arguments, arguments_);
}

auto TemplateSearch::line(const tune::Point& point, double seconds) const -> std::string {
  script::autotvm::AutotvmRecord record;
  record.target = selection_.target.str();
  record.template_name = selection_.template_name;
  record.arguments = arguments_;
  record.decisions = decisions(point);
  record.index = script::autotvm::index_of(*selection_.space, record.decisions).value_or(0);
  // 4: the runtime of a device failed, the error that TVM writes for a configuration without a time.
  if (seconds > 0) { record.seconds = {seconds}; } else { record.error = 4; }
  return script::autotvm::autotvm_line(record);
}

}  // namespace loopsmith::driver::commands
