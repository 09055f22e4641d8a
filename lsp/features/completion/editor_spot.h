// The place of a cursor in a snapshot: the declaration, the schedule function and the statement around it, and the state of the schedule there.
#pragma once

#include <memory>
#include <string>

#include "lsp/features/completion/schedule_spot.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// An editor's cursor: a spot in a schedule, and the text that it was found in.
struct EditorSpot : ScheduleSpot {
  explicit EditorSpot(const workspace::Snapshot& text_at_cursor) : snapshot(text_at_cursor) {}
  const workspace::Snapshot& snapshot;
  uint32_t at = 0;
  const syntax::PlacedItem* item = nullptr;       // the declaration; null: none
  uint32_t base = 0;                              // its first byte
  std::shared_ptr<const syntax::FunctionDef> function = nullptr;  // around the cursor
  const script::FileSchedule* schedule = nullptr;
  const script::ScheduleRun* run = nullptr;       // the newest run, which may have been interrupted
  const schedule::Schedule* state = nullptr;      // before the statement at the cursor; null: no step has run
  size_t steps = 0;                               // the number of steps before the statement at the cursor
  std::shared_ptr<const script::Partway> inside = nullptr;   // inside the statement around the cursor; null: no statement is around the cursor
};

[[nodiscard]] auto find_spot(const workspace::Snapshot& snapshot, uint32_t at, const Patience& patience = {}) -> EditorSpot;

/// True when a step before the cursor bound the name to a loop, block or number.
[[nodiscard]] auto was_named(const EditorSpot& spot, Name name) -> bool;

}  // namespace loopsmith::lsp
