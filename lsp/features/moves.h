// Moves: primitives that can be applied to the loop or block at the cursor, as edits that write them into its schedule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lsp/features/lines.h"
#include "support/process.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct OfferedMove {
  std::string text;          // the statement, or several: "sch.vectorize(j1)"
  std::string why_not;       // empty: the call is legal
  double gain = 1;           // the estimated speedup (cost/estimate.h)
  uint32_t offset = 0;       // of the insertion
  std::string insert;
  std::optional<TextEdit> imports = {};   // an import that the statement needs, inserted above it
  std::string title = {};    // for several statements: "Tile `i` and `j` by 8 x 32"; empty: the title is the statement
  std::string_view primitive = {};   // its name; "tile" for several statements
  std::string breaks = {};   // the error that it causes in a later step (note_broken_step); empty: none, or not known
};

/// Refused primitives in the list: `Usual` only common ones, `All` every primitive for such a loop or block.
enum class Refusals : uint8_t { Usual, All };

/// Finds the later step of the schedule that a legal move breaks. Runs the schedules of the text again; does nothing for a long text.
void note_broken_step(const workspace::Snapshot& snapshot, OfferedMove& move);

/// The statement or the title, with the estimated speedup and the error in a later step.
[[nodiscard]] auto title_of(const OfferedMove& move) -> std::string;

/// Primitives for the thing at an offset. On a variable of a schedule they are inserted after its statement; on a loop or block of a program, at the end of
/// the last schedule for that program, or in a new one. At most one legal call per primitive, ordered by estimated speedup; then refused ones
/// with the reason. Primitives that were not judged before `until` are counted in one refused entry.
[[nodiscard]] auto moves_offered(const workspace::Snapshot& snapshot, uint32_t at, Refusals refusals = Refusals::Usual, Deadline until = never()) -> std::vector<OfferedMove>;

/// The offset for the actions on a selection. In the head of a `for` of a program, or from its beginning on: the last selected loop variable, or
/// the innermost one if none is selected. Elsewhere the first selected byte.
[[nodiscard]] auto focus_of_selection(const workspace::Snapshot& snapshot, Span selected) -> uint32_t;

/// The name of the block at the cursor: in a program at its head, in a schedule on a variable of it. Empty: none.
[[nodiscard]] auto block_meant(const workspace::Snapshot& snapshot, uint32_t at) -> std::string;

/// The loop at the cursor, if it can be split, and the proposed factors ("None, 32"). `extent` 0: symbolic.
struct SplitQuestion { std::string loop; int64_t extent = 0; std::string factors; };
[[nodiscard]] auto split_asked(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<SplitQuestion>;
/// The statement that splits the loop by these factors; `none` is the rest of the extent.
[[nodiscard]] auto split_by(const workspace::Snapshot& snapshot, uint32_t at, const std::vector<std::optional<int64_t>>& factors) -> OfferedMove;

/// Factors of a split as a person types them: "None, 32", "4, None, 8"; a single number is the inner factor. None: not a list of factors.
[[nodiscard]] auto parse_factors(std::string_view text) -> std::optional<std::vector<std::optional<int64_t>>>;

/// The edits that insert a legal move into the text.
[[nodiscard]] auto edits_of(const OfferedMove& move) -> std::vector<TextEdit>;

/// The moves for a loop or block in the loop view at `at` (loop_view.h), by its index.
[[nodiscard]] auto moves_offered_on(const workspace::Snapshot& snapshot, uint32_t at, size_t place) -> std::vector<OfferedMove>;

}  // namespace loopsmith::lsp
