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
  std::string why_not;       // empty: it is legal there
  double gain = 1;           // how many times as fast the program should be afterwards (cost/estimate.h)
  uint32_t offset = 0;       // of the insertion
  std::string insert;
  std::optional<TextEdit> imports = {};   // an import that the statement needs; goes in front of it
  std::string title = {};    // of several statements: "Tile `i` and `j` by 8 x 32"; empty: that of one is the statement
  std::string_view primitive = {};   // its name; of several statements "tile"
  std::string breaks = {};   // the error of a later step that it causes (note_broken_step); empty: none, or it is not known
};

/// Refused primitives in the list: `Usual` those that people look for first, `All` every primitive about such a place.
enum class Refusals : uint8_t { Usual, All };

/// Finds the later step of the schedule that a legal move breaks. Runs the schedules of the text again; a long text is left out.
void note_broken_step(const workspace::Snapshot& snapshot, OfferedMove& move);

/// The statement or the title, with the estimated speedup, and the error of the later step that it breaks.
[[nodiscard]] auto title_of(const OfferedMove& move) -> std::string;

/// Primitives for the thing at an offset. On a variable of a schedule they go after its statement; on a loop or block of a program at the end of the
/// last schedule function for that program, or into a new one. At most one legal call per primitive, the fastest first by the estimate; then refused ones
/// with the reason. Primitives that were not judged by `until` are counted, in one refused entry.
[[nodiscard]] auto moves_offered(const workspace::Snapshot& snapshot, uint32_t at, Refusals refusals = Refusals::Usual, Deadline until = never()) -> std::vector<OfferedMove>;

/// The offset that stands for a selection. In the head of a `for` of a program, or from its beginning on: the last selected variable of the `for`, or
/// the innermost one where none is selected. Elsewhere the first selected byte.
[[nodiscard]] auto focus_of_selection(const workspace::Snapshot& snapshot, Span selected) -> uint32_t;

/// The name of the block that the cursor is on: in a program at its head, in a schedule on a variable of it. Empty: it is on none.
[[nodiscard]] auto block_meant(const workspace::Snapshot& snapshot, uint32_t at) -> std::string;

/// The loop at the cursor, where it can be split, and the factors to propose ("None, 32"). `extent` 0: symbolic.
struct SplitQuestion { std::string loop; int64_t extent = 0; std::string factors; };
[[nodiscard]] auto split_asked(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<SplitQuestion>;
/// The statement that splits the loop by these factors; none stands for the rest of the extent.
[[nodiscard]] auto split_by(const workspace::Snapshot& snapshot, uint32_t at, const std::vector<std::optional<int64_t>>& factors) -> OfferedMove;

/// Factors of a split as a person types them: "None, 32", "4, None, 8"; a single number is the inner factor. None: the text is no such list.
[[nodiscard]] auto parse_factors(std::string_view text) -> std::optional<std::vector<std::optional<int64_t>>>;

/// The edits that write a legal move into the text.
[[nodiscard]] auto edits_of(const OfferedMove& move) -> std::vector<TextEdit>;

/// On a loop or block of the loop view at `at` (loop_view.h), by its place.
[[nodiscard]] auto moves_offered_on(const workspace::Snapshot& snapshot, uint32_t at, size_t place) -> std::vector<OfferedMove>;

}  // namespace loopsmith::lsp
