// What if a factor of a split were another: the schedule done again with it, and what then is touched and how long a call should take.
// Nothing is run but the schedule; the steps behind the split stay as they were recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/draft.h"
#include "schedule/schedule.h"
#include "support/cancel.h"

namespace loopsmith::cost {

/// A loop of the nest that the split is in, as it is after all steps.
struct NestedLoop {
  Name name;
  bool is_of_split = false;               // the split made it
  std::optional<int64_t> bytes = {};      // that one run of it touches, each element once; none: not known
};

struct OtherFactor {
  int64_t factor = 0;
  bool is_here = false;                   // the one that the split has
  schedule::Value::List factors = {};     // of the split; what is not given stays so
  std::vector<NestedLoop> loops = {};     // outermost first: those around the innermost that the split made, it, and those alone in it
  std::optional<double> seconds = {};     // of one call, by the estimate; none: it has none
  Diagnostics why_not = {};               // not empty: a step refuses it
  std::string refused_by = {};            // that step, as the trace has it
};

struct FactorChoices {
  int64_t extent = 0;                     // of the loop that is split
  size_t position = 0;                    // of the factor
  std::vector<OtherFactor> all;           // smallest first, the one that the split has among them
};

/// `program` is what the schedule began with; `instruction` a split in its trace, `position` a factor of it, or where it leaves one out the
/// next one that is a number. Factors that leave no iteration over, at most `most` of them, those nearest to the present one. Where none is
/// left out, the outermost factor (of the outermost the next one) makes up for it.
/// None: it is no split, its loop's extent or the factor is no number, or the factor cannot be another. Cancelled, there are fewer.
[[nodiscard]] auto other_factors(const IRModule& program, const schedule::Schedule& scheduled, size_t instruction, size_t position, const CoreModel& core,
                                 size_t most, const CancelToken& cancel = {}) -> std::optional<FactorChoices>;

/// The caches of a core by name ("L1"), nearest first, and the first that holds so many bytes ("memory": none does).
struct CacheLevel {
  std::string name;
  double bytes = 0;
};
[[nodiscard]] auto cache_levels(const CoreModel& core) -> std::vector<CacheLevel>;
[[nodiscard]] auto level_that_holds(double bytes, const CoreModel& core) -> std::string;

}  // namespace loopsmith::cost
