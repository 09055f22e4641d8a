// `loopsmith tune --sizes ... --share 5`: one schedule of the program with symbolic sizes in place of those programs with constant sizes that it nearly equals, so a library has
// few functions and its entry few branches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/commands/tune_sizes.h"
#include "driver/program.h"
#include "tune/session/several.h"

namespace loopsmith::driver::commands {

inline const Option share_option{.name = "--share", .value = "PERCENT", .help = "with --sizes: writes one schedule of the program with symbolic sizes in place of the programs whose best it misses by at most this much"};

/// A schedule that serves several sizes.
struct SharedSchedule {
  std::string name;
  std::string text;                 // a schedule function of the program with symbolic sizes
  std::vector<double> seconds;      // for each size; 0: not measured
  std::vector<bool> covers;         // the sizes that need no program of their own
  std::string verified;             // the way in which its results were compared
};

/// Applies the schedule that each size found to the program with symbolic sizes, measures the results for all sizes, and chooses the one that covers most of them; `loss`: the
/// part of a time that it may take longer. None: no schedule covers two sizes, or gives the right results; `why` has the reason.
/// `sized`: the programs with constant sizes; `whole`: the one with symbolic sizes, which is in the file `path`.
[[nodiscard]] auto shared_schedule(const Selection& whole, const std::vector<Selection>& sized, const std::vector<tune::TaskResult>& results, const std::string& path, const std::string& target, double loss, std::string& why)
    -> std::optional<SharedSchedule>;

}  // namespace loopsmith::driver::commands
