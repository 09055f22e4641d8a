// Hovers in a schedule function: a primitive, a variable, the name of a block, the name of the schedule.
#pragma once

#include <optional>

#include "lsp/features/hover.h"
#include "lsp/features/hover/cursor.h"
#include "script/schedules.h"

namespace loopsmith::lsp {

/// The hover on a variable of a schedule: its loop, block or number after the statement at the cursor.
[[nodiscard]] auto hover_schedule(const workspace::Snapshot& snapshot, const Cursor& cursor, const script::FileSchedule& schedule, const Machine& whole_machine) -> std::optional<HoverInfo>;
/// The hover on a tensor that is a stage, and on an axis without a loop of its own.
[[nodiscard]] auto hover_stage_value(const workspace::Snapshot& snapshot, uint32_t at, const Cursor& cursor, const script::FileSchedule& schedule, const Machine& whole_machine) -> std::optional<HoverInfo>;
/// The schedule that the statement at a cursor works on; null: none.
[[nodiscard]] auto schedule_of(const workspace::Snapshot& snapshot, const Cursor& cursor) -> const script::FileSchedule*;
/// For `split` in `sch.split(...)`: its general effect, and the effect of this call.
[[nodiscard]] auto hover_primitive(const workspace::Snapshot& snapshot, const Cursor& cursor) -> std::optional<HoverInfo>;
/// The name of a schedule function: its steps and their result.
[[nodiscard]] auto hover_schedule_name(const workspace::Snapshot& snapshot, const Cursor& cursor, const script::FileSchedule& schedule) -> std::optional<HoverInfo>;
/// For a string with the name of a block: the block in the state at that line.
[[nodiscard]] auto hover_block_name(const workspace::Snapshot& snapshot, uint32_t at, const Machine& whole_machine) -> std::optional<HoverInfo>;

}  // namespace loopsmith::lsp
