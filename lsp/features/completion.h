// Completion and signature help in an editor: from the state of the schedule at the cursor, the names in reach and the language's own namespaces.
// Both work on unfinished texts. The parts are in completion/; schedule_items.h there is the core that the REPL shares.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lsp/features/completion/items.h"
#include "lsp/features/completion/schedule_spot.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct Completion {
  Span replaced;              // the part of a word before the cursor, which an item replaces
  std::vector<CompletionItem> items;
  bool is_complete = true;    // false: the time was too short to judge all items; the next request continues
};

/// Sorted, best first; only items that begin with the typed letters.
[[nodiscard]] auto completion(const workspace::Snapshot& snapshot, uint32_t at, const Patience& patience = {}) -> Completion;

/// The effect of the best legal call of a primitive on the program at the cursor, in markdown: the call and a diff. Empty: no call is
/// known to be legal. Computed for one item at a time.
[[nodiscard]] auto preview(const workspace::Snapshot& snapshot, uint32_t at, std::string_view primitive) -> std::string;

struct Signature {
  std::string label;                                    // "split(loop, factors, preserve_unit_iters=True)"
  std::string documentation;
  std::vector<std::pair<uint32_t, uint32_t>> parameters; // bytes of the label
  std::vector<std::string> parameter_notes;             // for each parameter, markdown: the values that are legal there now
  std::optional<size_t> active;
};

/// For a name at an offset that another file binds: that file, and the name in it.
using FindElsewhere = std::function<std::optional<std::pair<const workspace::Snapshot*, Name>>(uint32_t offset)>;

/// The signature of the innermost open call at the cursor; none: the function is not known. `elsewhere` finds functions of other files; it
/// may be empty.
[[nodiscard]] auto signature_help(const workspace::Snapshot& snapshot, uint32_t at, const Patience& patience = {}, const FindElsewhere& elsewhere = {}) -> std::optional<Signature>;

}  // namespace loopsmith::lsp
