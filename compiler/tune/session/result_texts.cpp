// Results of a session as sentences, and the bounds of a program's time beside which they stand: see session.h.
#include <algorithm>

#include <fmt/format.h>

#include "ir/ops.h"
#include "schedule/state.h"
#include "support/text.h"
#include "target/hardware.h"
#include "tune/session/session.h"
#include "tune/space/analysis.h"

namespace loopsmith::tune {

auto best_text(const SessionResult& result) -> std::string {
  // The fastest candidates are measured again at the end, in turns; the search's own times come from single trials.
  std::string out = duration_text(result.best_seconds);
  double in_search = result.best_so_far.empty() ? 0 : result.best_so_far.back();
  std::string beside = in_search > 0 && !result.stopped ? duration_text(in_search) + " in the search" : std::string();
  if (result.plain_seconds > 0) { beside += (beside.empty() ? "" : ", ") + duration_text(result.plain_seconds) + " as written"; }
  if (result.is_ranked) { return out + " by an estimate, since no device measured"; }
  if (result.device.starts_with("runner ")) { return out + " by the " + result.device; }
  return out + (result.stopped ? "" : " measured again") + (beside.empty() ? "" : " (" + beside + ")");
}

auto profile_text(const Profile& profile) -> std::string {
  return fmt::format("space {}, search {}, builds {}, measurements {}, comparison {}", duration_text(profile.space), duration_text(profile.search), duration_text(profile.build),
                     duration_text(profile.measure), duration_text(profile.compare));
}

auto why_nothing(const SessionResult& result) -> std::string {
  if (result.stopped && result.progress.trials == 0) { return "stopped before anything was measured"; }
  std::string why;
  if (result.is_unscheduled_best) {
    why = fmt::format("no schedule is faster than the program as written: {}; the best of {}: {}", duration_text(result.plain_seconds),
                      count_text(result.progress.trials, "trial"), duration_text(result.closest_seconds));
  } else if (result.progress.trials > 0 && result.plain_seconds > 0 && result.progress.best_seconds == 0 && result.notes.size() < 2) {
    // All of them were stopped while they were measured, since they took more than twice as long.
    why = fmt::format("no schedule of {} is as fast as the program as written, {}", count_text(result.progress.trials, "trial"), duration_text(result.plain_seconds));
  } else if (result.progress.trials == 0 && result.progress.search_limit_seconds > 0 && result.progress.elapsed_seconds >= result.progress.search_limit_seconds) {
    why = fmt::format("the time of the search, {}, ended before a candidate was measured: give it more", waiting_text(result.progress.search_limit_seconds));
  } else if (result.progress.trials == 0 && std::none_of(result.progress.sketches.begin(), result.progress.sketches.end(), [](const SketchTally& one) { return one.proposed > 0; })) {
    why = "each candidate of the space was left out before it was built: its steps, a post-processor or the estimate refuses it";
  } else if (result.progress.trials == 0) {
    why = "no schedule changes what the program executes, so there is nothing to measure";
  } else {
    why = fmt::format("no schedule was found in {}", count_text(result.progress.trials, "trial"));
  }
  for (const auto& [name, count] : result.progress.failures) { why += fmt::format("; {}: {}", name, count); }
  for (const std::string& note : result.notes) { why += "; " + note; }
  return why;
}

auto count_flops(const IRModule& module, Name function) -> double {
  schedule::State state(module);
  const schedule::FuncState* func = state.func(function);
  if (!func) { return 0; }
  double flops = 0;
  for (const BlockFact& block : analyze(*func)) { flops += block.flops * block.instances; }
  return flops;
}

auto least_seconds(const IRModule& module, Name function, const target::Peaks& peaks) -> double {
  PrimFunc func = module->find(function);
  if (!func) { return 0; }
  double bytes = 0;
  for (const auto& [param, buffer] : func->buffer_map) {
    double size = (buffer->dtype.bits * buffer->dtype.lanes + 7) / 8;
    for (const Expr& extent : buffer->shape) {
      auto number = as_int(extent);
      if (!number || !(buffer->dtype == DataType::float_(32))) { return 0; }
      size *= static_cast<double>(*number);
    }
    bytes += size;
  }
  double rate = peaks.copy_rate(static_cast<uint64_t>(bytes), true) * 1e9;
  double peak = peaks.fma_f32_all * 1e9;
  if (rate <= 0 || peak <= 0) { return 0; }
  return std::max(count_flops(module, function) / peak, bytes / rate);
}

}  // namespace loopsmith::tune
