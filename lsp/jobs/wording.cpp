// Sentences about jobs: see wording.h.
#include "lsp/jobs/wording.h"

#include <fmt/format.h>

#include <vector>

#include "support/text.h"

namespace loopsmith::lsp {
namespace {

auto measured_text(const SearchProgress& progress) -> std::string {
  std::vector<std::string> parts;
  if (progress.trial) { parts.push_back(progress.trials ? fmt::format("trial {}/{}", *progress.trial, *progress.trials) : fmt::format("trial {}", *progress.trial)); }
  if (progress.best_seconds) {
    parts.push_back("best " + duration_text(*progress.best_seconds));
    if (progress.floor_seconds) { parts.back() += fmt::format(" ({})", roofline_text(*progress.floor_seconds / *progress.best_seconds, 0)); }
  }
  if (progress.elapsed) { parts.push_back(waiting_text(*progress.elapsed) + " so far"); }
  if (progress.left) {
    auto [least, most] = *progress.left;
    parts.push_back(least == most ? waiting_text(least) + " left" : fmt::format("{} to {} left", waiting_text(least), waiting_text(most)));
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

}  // namespace loopsmith::lsp
