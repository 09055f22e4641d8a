// What traces say of one choice: which of its values were drawn, or written instead of a draw, whatever the rest of the schedule is. A choice
// is known by where its loop comes from (`loops of C, the first one, split, the second part`), not by the numbers on the way there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/trace.h"

namespace loopsmith::schedule {

/// A sampling call as other traces know it.
struct Draw {
  std::string kind;                   // "SamplePerfectTile"
  std::string subject;                // where its loop or block comes from; of a categorical draw, what it chooses among
  size_t parts = 0;                   // of a tile: how many factors
  friend auto operator==(const Draw&, const Draw&) -> bool = default;
};

/// The draw that an instruction of a trace is; none: it is no draw, or comes from what this cannot follow.
[[nodiscard]] auto draw_of(const Trace& trace, const Instruction& instruction) -> std::optional<Draw>;

/// What a trace says of a draw: the decision, or the factors that a split of the same loop has; in the order of a list, one number else. Empty:
/// nothing.
[[nodiscard]] auto value_of(const Trace& trace, const Draw& draw) -> std::vector<int64_t>;

}  // namespace loopsmith::schedule
