// The core of completion: items that depend on the state of a schedule, for editors and the REPL: primitives behind `sch.`, arguments of their
// calls, and strings in the calls. The caller adds names of the script and of the language.
#pragma once

#include <vector>

#include "lsp/features/completion/items.h"
#include "lsp/features/completion/schedule_spot.h"

namespace loopsmith::lsp {

/// Unsorted; only items that begin with the typed prefix.
[[nodiscard]] auto schedule_items(const ScheduleSpot& spot) -> std::vector<CompletionItem>;

/// Sorts by rank, then by label; of items with the same label only the first is kept.
[[nodiscard]] auto sorted_items(std::vector<CompletionItem> all) -> std::vector<CompletionItem>;

/// Tensor intrinsics by name: first those that match the computation of the block or loop, then the others with the reason.
void add_intrinsics(const ScheduleSpot& spot, ItemList& items);

}  // namespace loopsmith::lsp
