// The values of one choice in traces, drawn or written in place of a draw, whatever the rest of the schedule. A choice is identified by the
// origin of its loop (`loops of C, the first one, split, the second part`), not by the numbers on the way there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/trace.h"

namespace loopsmith::schedule {

/// A sampling call as other traces know it.
struct Draw {
  std::string kind;                   // "SamplePerfectTile"
  std::string subject;                // the origin of its loop or block; for a categorical draw, the candidates
  size_t parts = 0;                   // of a tile: the number of factors
  friend auto operator==(const Draw&, const Draw&) -> bool = default;
};

/// The draw that an instruction of a trace is; none: it is no draw, or comes from what this cannot follow.
[[nodiscard]] auto draw_of(const Trace& trace, const Instruction& instruction) -> std::optional<Draw>;

/// The values of a draw in a trace: the decision, or the factors of a split of the same loop; a list in its order, or one number. Empty:
/// nothing.
[[nodiscard]] auto value_of(const Trace& trace, const Draw& draw) -> std::vector<int64_t>;

}  // namespace loopsmith::schedule
