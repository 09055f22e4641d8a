// `loopsmith tune --sizes ... --share 5`: few schedules of the program with symbolic sizes in place of those programs with constant sizes that they nearly equal, so a library
// has few functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/commands/tune_sizes.h"
#include "driver/program.h"
#include "tune/session/several.h"

namespace loopsmith::driver::commands {

inline const Option share_option{.name = "--share", .value = "PERCENT", .help = "with --sizes: writes few schedules of the program with symbolic sizes in place of the programs whose best they miss by at most this much"};

/// A schedule that serves several sizes.
struct SharedSchedule {
  std::string program;              // the program that it schedules: the one with symbolic sizes for the first, a copy of it with another name for each further one
  std::string name;
  std::string text;                 // a schedule function, with the copy of the program in front of it
  std::vector<double> seconds;      // for each size; 0: not measured
  std::vector<bool> covers;         // the sizes that it serves
  std::string verified;             // the way in which its results were compared
};

/// Applies the schedule that each size found to the program with symbolic sizes, measures the results for all sizes, and chooses few: again and again the one that covers most of
/// the sizes that are left, until none covers two. Each size is then served by the fastest of those. `loss`: the part of a time that a schedule may take longer.
/// Empty: no schedule covers two sizes, or gives the right results; `why` has the reason.
/// `sized`: the programs with constant sizes; `whole`: the one with symbolic sizes, which is in the file `path`.
[[nodiscard]] auto shared_schedules(const Selection& whole, const std::vector<Selection>& sized, const std::vector<tune::TaskResult>& results, const std::string& path, const std::string& target, double loss,
                                    std::string& why) -> std::vector<SharedSchedule>;

/// A line for each size: the schedule that serves it, its time, and the best that was found for this size alone. `own`: the schedules of sizes that share none.
[[nodiscard]] auto dispatch_table(const std::vector<SharedSchedule>& shared, const std::vector<Selection>& sized, const std::vector<tune::TaskResult>& results, const std::vector<std::string>& own) -> std::string;

}  // namespace loopsmith::driver::commands
