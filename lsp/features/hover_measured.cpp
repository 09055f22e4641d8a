// Measured facts in hovers: see hover_measured.h.
#include "lsp/features/hover_measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support/text.h"

namespace loopsmith::lsp {
namespace {

auto value_text(const RecordedDraw& draw) -> std::string {
  return draw.value.size() == 1 ? fmt::format("{}", draw.value[0]) : fmt::format("[{}]", fmt::join(draw.value, ", "));
}

/// A bar per value, higher for a longer time, on a logarithmic scale.
auto bars_of(const std::vector<RecordedDraw>& draws, size_t most) -> std::string {
  constexpr std::array<const char*, 8> bars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  auto [least, largest] = std::minmax_element(draws.begin(), draws.end(), [](const RecordedDraw& a, const RecordedDraw& b) { return a.best_seconds < b.best_seconds; });
  double low = std::log(least->best_seconds);
  double high = std::log(largest->best_seconds);
  std::string line;
  for (size_t i = 0; i < std::min(draws.size(), most); ++i) {
    double height = high > low ? (std::log(draws[i].best_seconds) - low) / (high - low) : 0;
    line += bars[static_cast<size_t>(std::lround(height * (bars.size() - 1)))];
  }
  return line;
}

}  // namespace

void add_recorded_draws(const Measured& measured, HoverInfo& info) {
  if (!info.draw || measured.records == nullptr) { return; }
  RecordedDraws recorded = measured.records->draws(info.drawn_for, *info.draw);
  std::vector<RecordedDraw>& all = recorded.values;
  if (all.empty()) { return; }
  constexpr size_t most_bars = 40;
  constexpr size_t most_listed = 4;
  // The innermost factor has the largest effect.
  auto inner = [](const RecordedDraw& one) { return std::pair(one.value.back(), one.value); };
  std::sort(all.begin(), all.end(), [&](const RecordedDraw& a, const RecordedDraw& b) { return inner(a) < inner(b); });
  int64_t trials = 0;
  for (const RecordedDraw& one : all) { trials += one.trials; }
  info.facts.push_back({"recorded", fmt::format("in {} of {} trials recorded on this machine; best time by value, `{}` to `{}`: {}", trials, recorded.trials, value_text(all.front()),
                                                value_text(all[std::min(all.size(), most_bars) - 1]), bars_of(all, most_bars))});
  std::sort(all.begin(), all.end(), [](const RecordedDraw& a, const RecordedDraw& b) { return std::pair(a.best_seconds, a.value) < std::pair(b.best_seconds, b.value); });
  for (size_t i = 0; i < std::min(all.size(), most_listed); ++i) {
    info.facts.push_back({"recorded", fmt::format("`{}`: {}, best {}", value_text(all[i]), count_text(all[i].trials, "trial"), duration_text(all[i].best_seconds))});
  }
}

void add_measurements(const workspace::Snapshot& snapshot, const Measured& measured, HoverInfo& info) {
  if (info.schedule.empty()) { return; }
  for (const auto& [id, job] : measured.jobs) {
    if (!job.is_done() || job.uri != snapshot.name() || job.schedule != info.schedule || job.function != info.program) { continue; }
    std::string stale = job.text_hash != hash_of_declarations(snapshot, job.function, job.schedule) ? ", before it was changed" : "";
    if (job.kind == JobKind::Bench) {
      std::string speedup = job.seconds > 0 ? fmt::format(", {:.2f} times as fast as written", job.plain_seconds / job.seconds) : "";
      info.facts.push_back({"time", fmt::format("timed: {}{}{}", duration_text(job.seconds), speedup, stale)});
    }
    if (job.kind == JobKind::Verify) {
      info.facts.push_back({"verified", (job.is_equal ? fmt::format("verified: the results of `{}`", job.function) : "results differ") + stale});
    }
  }
}

}  // namespace loopsmith::lsp
