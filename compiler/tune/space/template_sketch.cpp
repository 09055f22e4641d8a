// Templates as sketches: see template_sketch.h.
#include "tune/space/template_sketch.h"

#include <cmath>
#include <limits>

#include "cost/estimate.h"
#include "schedule/trace_json.h"

namespace loopsmith::tune {
namespace {

// The draft of a state that the model does not cover: all such points are drafted alike.
constexpr double unknown_seconds = 1e-3;

}  // namespace

TemplateSketch::TemplateSketch(const SpaceContext& context, std::string name, std::vector<Knob> knobs, RunTemplate run, NoteTemplate note)
    : module_(context.module), function_(context.function), core_(context.core), gpu_(context.gpu), run_(std::move(run)), note_(std::move(note)) {
  name_ = std::move(name);
  knobs_ = std::move(knobs);
}

auto TemplateSketch::trace_at(const Point& point) const -> const Result<schedule::Trace>& {
  auto at = traces_.find(point);
  return at != traces_.end() ? at->second : traces_.emplace(point, run_(point)).first->second;
}

auto TemplateSketch::apply(schedule::Schedule& sch, const Point& point) const -> Status {
  const Result<schedule::Trace>& trace = trace_at(point);
  if (!trace.ok()) { return trace.diagnostics(); }
  LOOPSMITH_CHECK(sch.replay(*trace));
  if (note_) { note_(point, schedule::trace_to_json(sch.trace())); }
  return ok();
}

auto TemplateSketch::draft(const Point& point) const -> double {
  auto [place, is_new] = drafts_.try_emplace(point, std::numeric_limits<double>::infinity());
  if (!is_new) { return place->second; }
  schedule::Schedule sch(module_, 1);
  if (!sch.work_on(function_).ok() || !apply(sch, point).ok()) { return place->second; }
  if (gpu_) {
    PrimFunc scheduled = sch.module()->find(function_);
    auto seconds = scheduled ? cost::kernel_seconds(scheduled, *gpu_) : std::nullopt;
    return place->second = seconds.value_or(unknown_seconds);
  }
  const schedule::FuncState* func = sch.state().func(function_);
  auto estimate = func ? cost::estimate(*func, core_) : std::nullopt;
  place->second = estimate && estimate->seconds > 0 ? estimate->seconds : unknown_seconds;
  return place->second;
}

auto TemplateSketch::features(const Point& point) const -> std::vector<double> {
  std::vector<double> out;
  for (size_t i = 0; i < knobs_.size(); ++i) {
    for (int64_t n : chosen(point, i)) { out.push_back(n > 0 ? std::log2(static_cast<double>(n)) : static_cast<double>(n)); }
  }
  const double seconds = draft(point);
  out.push_back(std::isfinite(seconds) ? std::log(seconds) : 0);
  return out;
}

}  // namespace loopsmith::tune
