// Sentences about background jobs, for progress bars, lenses and messages.
#pragma once

#include <optional>
#include <string>

#include "lsp/jobs/facts.h"

namespace loopsmith::lsp {

/// "trial 12/64, best 250.0 ms (71% of the roofline), 8 s so far, 17 s to 32 s left"; "starting" before the first measurement.
[[nodiscard]] auto progress_text(const JobFacts& job) -> std::string;

/// "comparing the best, 250.0 ms, with the program".
[[nodiscard]] auto comparing_text(std::optional<double> best_seconds) -> std::string;

/// "71% of the roofline". A share above the whole means that the peaks are wrong: they were measured while something else ran.
[[nodiscard]] auto roofline_text(double share, int digits) -> std::string;

}  // namespace loopsmith::lsp
