// Completion behind `sch.`: primitives in the order in which they are worth trying, with the call that each would make.
#pragma once

#include "lsp/features/completion/items.h"
#include "lsp/features/completion/schedule_spot.h"

namespace loopsmith::lsp {

/// Primitives, in this order: those with a legal call that should make the program faster, by the speedup; those with another legal call, in the
/// order of the reference page; those that should make it slower; those whose legality is not known; those that are refused, each with the reason.
/// As long as no variable is bound, primitives that look up blocks and loops come first.
void add_primitives(const ScheduleSpot& spot, ItemList& items);

}  // namespace loopsmith::lsp
