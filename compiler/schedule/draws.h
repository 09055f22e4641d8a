// The values of one random choice, in traces of the same program: drawn by a sampling instruction, or written as numbers. A choice is identified by the
// origin of its loop (`loops of C, the first one, split, the second part`), not by the variables of the trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/trace.h"

namespace loopsmith::schedule {

/// A sampling instruction, described so that it is found again in other traces.
struct Draw {
  std::string kind;                   // "SamplePerfectTile"
  std::string subject;                // the origin of its loop or block; for a categorical draw, the candidates
  size_t parts = 0;                   // of a tile: the number of factors
  friend auto operator==(const Draw&, const Draw&) -> bool = default;
};

/// The draw of an instruction in a trace; none if the instruction samples nothing, or where the origin of its loop cannot be followed.
[[nodiscard]] auto draw_of(const Trace& trace, const Instruction& instruction) -> std::optional<Draw>;

/// The values of a draw in a trace: the decision, or the factors of a split of the same loop; a list in its order, or one number. Empty: the
/// trace has neither.
[[nodiscard]] auto value_of(const Trace& trace, const Draw& draw) -> std::vector<int64_t>;

}  // namespace loopsmith::schedule
