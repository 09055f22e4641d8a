// Drafts of schedules that are built: see drafted_sketch.h.
#include "tune/space/drafted_sketch.h"

#include <cmath>
#include <limits>

#include "cost/estimate.h"

namespace loopsmith::tune {
namespace {

// The draft of a state that the model does not cover: all such points are drafted alike.
constexpr double unknown_seconds = 1e-3;

}  // namespace

auto DraftedSketch::draft(const Point& point) const -> double {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (is_over_ && is_over_()) {
    auto known = drafts_.find(point);
    return known != drafts_.end() ? known->second : never;
  }
  auto [place, is_new] = drafts_.try_emplace(point, never);
  if (!is_new || is_out_of_question(point)) { return place->second; }
  const IRModule own = own_program(point);
  schedule::Schedule sch(own ? own : module_, 1);
  if (!sch.work_on(function_).ok() || !prepare_draft(sch, point)) { return place->second; }
  if (gpu_) {
    PrimFunc scheduled = sch.module()->find(function_);
    auto seconds = scheduled ? cost::kernel_seconds(scheduled, *gpu_) : std::nullopt;
    return place->second = seconds.value_or(unknown_seconds);
  }
  const schedule::FuncState* func = sch.state().func(function_);
  auto estimate = func ? cost::estimate(*func, core_) : std::nullopt;
  return place->second = estimate && estimate->seconds > 0 ? estimate->seconds : unknown_seconds;
}

auto DraftedSketch::features(const Point& point) const -> std::vector<double> {
  std::vector<double> out;
  for (size_t i = 0; i < knobs_.size(); ++i) {
    for (int64_t n : chosen(point, i)) { out.push_back(n > 0 ? std::log2(static_cast<double>(n)) : static_cast<double>(n)); }
  }
  const double seconds = draft(point);
  out.push_back(std::isfinite(seconds) ? std::log(seconds) : 0);
  return out;
}

}  // namespace loopsmith::tune
