// Other factors of a split: the schedule is replayed with each of them, for the bytes that its loops then touch and the estimated time of
// a call. Only the schedule is executed, no program; the steps behind the split stay as recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/draft.h"
#include "schedule/schedule.h"
#include "support/cancel.h"

namespace loopsmith::cost {

/// A loop of the nest around the split, after all steps.
struct NestedLoop {
  Name name;
  bool is_of_split = false;               // the split made it
  std::optional<int64_t> bytes = {};      // the bytes that one run of it touches, each element once; none: unknown
};

struct OtherFactor {
  int64_t factor = 0;
  bool is_here = false;                   // the current factor
  schedule::Value::List factors = {};     // of the split; an omitted factor stays omitted
  std::vector<NestedLoop> loops = {};     // outermost first: the loops around the innermost loop of the split, that loop, and the ones directly nested in it
  std::optional<double> seconds = {};     // the estimated time of a call; none: no estimate
  Diagnostics why_not = {};               // not empty: a step refuses the factor
  std::string refused_by = {};            // the text of that step in the trace
};

struct FactorChoices {
  int64_t extent = 0;                     // of the loop that is split
  size_t position = 0;                    // of the factor
  std::vector<OtherFactor> all;           // smallest first, including the current one
};

/// `program` is the program before the schedule; `instruction` is a split in its trace; `position` is the position of a factor, where an omitted
/// factor means the next one that is a number. The result has factors that divide evenly, at most `most` of them, the nearest to the
/// current one. If the split omits no factor, the outermost factor (for the outermost itself, the next one) changes as well to keep the product.
/// None: the instruction is not a split, the loop's extent or the factor is not a number, or no other factor is possible. Cancelled work returns fewer.
[[nodiscard]] auto other_factors(const IRModule& program, const schedule::Schedule& scheduled, size_t instruction, size_t position, const CoreModel& core,
                                 size_t most, const CancelToken& cancel = {}) -> std::optional<FactorChoices>;

/// A cache of a core: its name ("L1") and size.
struct CacheLevel {
  std::string name;
  double bytes = 0;
};
/// The caches of a core, nearest first.
[[nodiscard]] auto cache_levels(const CoreModel& core) -> std::vector<CacheLevel>;
/// The name of the nearest cache that holds that number of bytes; "memory" if none does.
[[nodiscard]] auto level_that_holds(double bytes, const CoreModel& core) -> std::string;

}  // namespace loopsmith::cost
