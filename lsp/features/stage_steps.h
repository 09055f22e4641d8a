// Steps on stages, `s[C].split(i, factor=8)`: those that can be applied at the cursor, and their explanation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/features/moves.h"
#include "support/process.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// True where the schedule at an offset has stages.
[[nodiscard]] auto is_of_stages(const workspace::Snapshot& snapshot, uint32_t at) -> bool;
/// Steps for the axis, or for the stage of the tensor, that the variable at an offset has behind its statement. As `moves_offered`: legal ones by estimated
/// speedup, then refused ones with the reason.
[[nodiscard]] auto stage_steps_offered(const workspace::Snapshot& snapshot, uint32_t at, Deadline until = never()) -> std::vector<OfferedMove>;

/// The axis, or the stage of the tensor, that the variable at an offset has behind its statement.
struct StageValue {
  std::string title;                       // "stage `C`"
  std::vector<std::string> facts;
  std::optional<schedule::BlockRV> block;  // of a stage, in the schedule behind the statement
};
[[nodiscard]] auto stage_value_at(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<StageValue>;

struct StageStep {
  std::string_view name;
  const char* usage;                       // "split(axis, factor=None, nparts=None) -> outer, inner"
  const char* help;                        // one phrase
};
/// The explanation of a method of stages, or of their schedule; null: there is no such method.
[[nodiscard]] auto find_stage_step(std::string_view name) -> const StageStep*;

}  // namespace loopsmith::lsp
