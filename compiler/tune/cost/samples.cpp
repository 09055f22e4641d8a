// Features and drafts of schedules: see samples.h.
#include "tune/cost/samples.h"

#include <algorithm>
#include <cmath>

#include "cost/estimate.h"
#include "ir/vocabulary.h"
#include "target/gpu.h"

namespace loopsmith::tune {
namespace {

// The draft of a program that the estimate does not cover.
constexpr double unknown_seconds = 1e-3;

}  // namespace

Sampler::Sampler(const target::Target& target) : is_gpu_(is_gpu_target(target.kind)), core_(cost::core_of(target)) {
  if (target::is_device_target(target)) { gpu_ = cost::gpu_model(target); }
}

auto Sampler::sample(const schedule::Schedule& sch, Name function) const -> std::optional<Sample> {
  Sample out;
  out.stores = metaschedule::extract_features(sch.module(), is_gpu_);
  if (out.stores.empty()) { return std::nullopt; }
  std::optional<double> seconds;
  if (gpu_) {
    const PrimFunc scheduled = sch.module()->find(function);
    seconds = scheduled ? cost::kernel_seconds(scheduled, *gpu_) : std::nullopt;
  } else if (const schedule::FuncState* func = sch.state().func(function)) {
    const auto estimate = cost::estimate(*func, core_);
    seconds = estimate ? std::optional(estimate->seconds) : std::nullopt;
  }
  out.draft_seconds = seconds && *seconds > 0 && std::isfinite(*seconds) ? *seconds : unknown_seconds;
  return out;
}

auto summary_of(const Sample& sample) -> std::vector<double> {
  constexpr size_t count = metaschedule::features_per_store;
  std::vector<double> out(summary_length, 0);
  for (const metaschedule::StoreFeatures& row : sample.stores) {
    for (size_t i = 0; i < count; ++i) {
      out[i] += row[i];
      out[count + i] = std::max(out[count + i], row[i]);
    }
  }
  out[2 * count] = static_cast<double>(sample.stores.size());
  out[2 * count + 1] = std::log(std::max(sample.draft_seconds, 1e-12));
  return out;
}

}  // namespace loopsmith::tune
