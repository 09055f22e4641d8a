// Completion behind `sch.`: the primitives, most useful first, each with a call.
#pragma once

#include "lsp/features/completion/items.h"
#include "lsp/features/completion/schedule_spot.h"

namespace loopsmith::lsp {

/// The order of primitives: first those with a legal call that should make the program faster, by the speedup; then other legal ones, in the
/// order of the reference page; those that should make it slower; those with unknown legality; refused ones, each with the reason.
/// Until a variable is bound, primitives that look up blocks and loops come first.
void add_primitives(const ScheduleSpot& spot, ItemList& items);

}  // namespace loopsmith::lsp
