// Sentences about jobs: see wording.h.
#include "lsp/jobs/wording.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace loopsmith::lsp {
namespace {

/// "45 s", "1:20 min".
auto clock_text(double seconds) -> std::string {
  auto whole = static_cast<int64_t>(std::ceil(seconds));
  return whole < 60 ? fmt::format("{} s", whole) : fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

auto measured_text(const SearchProgress& progress) -> std::string {
  std::vector<std::string> parts;
  if (progress.trial) { parts.push_back(progress.trials ? fmt::format("trial {}/{}", *progress.trial, *progress.trials) : fmt::format("trial {}", *progress.trial)); }
  if (progress.best_seconds) {
    parts.push_back("best " + duration_text(*progress.best_seconds));
    if (progress.floor_seconds) { parts.back() += fmt::format(" ({})", roofline_text(*progress.floor_seconds / *progress.best_seconds, 0)); }
  }
  if (progress.elapsed) { parts.push_back(clock_text(*progress.elapsed) + " so far"); }
  if (progress.left) {
    auto [least, most] = *progress.left;
    parts.push_back(least == most ? clock_text(least) + " left" : fmt::format("{} to {} left", clock_text(least), clock_text(most)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

auto progress_text(const JobFacts& job) -> std::string {
  if (job.phase == JobPhase::Stopping) { return "stopping, keeping the best so far"; }
  if (job.phase == JobPhase::Comparing || job.phase == JobPhase::ComparingStopped) { return comparing_text(job.progress.best_seconds); }
  std::string text = measured_text(job.progress);
  return !text.empty() ? text : job.phase == JobPhase::Kept ? "nothing was measured yet" : "starting";
}

auto comparing_text(std::optional<double> best_seconds) -> std::string {
  return fmt::format("comparing the best{} with the program", best_seconds ? fmt::format(", {},", duration_text(*best_seconds)) : std::string());
}

auto roofline_text(double share, int digits) -> std::string {
  return share > 1.005 ? "above the roofline: `loopsmith target show --measure` measures it again" : fmt::format("{:.{}f}% of the roofline", share * 100, digits);
}

auto duration_text(double seconds) -> std::string {
  if (seconds > 0 && seconds < 1e-7) { return fmt::format("{:.1f} ns", seconds * 1e9); }
  if (seconds < 1e-3) { return fmt::format("{:.1f} us", seconds * 1e6); }
  if (seconds < 1) { return fmt::format("{:.2f} ms", seconds * 1e3); }
  return fmt::format("{:.2f} s", seconds);
}

}  // namespace loopsmith::lsp
