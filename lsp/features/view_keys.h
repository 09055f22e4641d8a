// Keys and hovers in a view of the program: the loop or block at a line and a column of the view, the calls of a primitive on it that a key
// inserts into the schedule, and the facts about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/features/hover.h"
#include "lsp/features/moves.h"
#include "lsp/features/views.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// A line of the view and bytes in it, from 0.
struct ViewSpan { uint32_t line = 0, begin = 0, end = 0; };

struct ViewMove {
  OfferedMove move;
  std::optional<ViewSpan> other = {};     // another loop in the call: the destination of a block
};

struct ViewMoves {
  std::string about;                      // "loop `i`, extent 512"; "block `C`"
  std::string why_none;                   // the reason why no call is possible; empty: calls are possible
  std::string factors;                    // proposed factors for the split of a loop, "None, 32"
  std::vector<ViewMove> moves;            // legal calls, ordered by estimated speedup; then refused ones
};

/// The innermost loop or block at a place in a view; null: none. In a head that several loops share: the loop whose variable is at the place, or else
/// the outermost one.
[[nodiscard]] auto printed_at(const View& view, uint32_t line, uint32_t column) -> const PrintedRange*;
/// The span of its name.
[[nodiscard]] auto name_in(const View& view, const PrintedRange& place) -> ViewSpan;

/// Calls of `primitive` at a place in the view of `at`. For primitives of loops, a line in a block refers to the loop around the block; `compute_at` on a
/// loop refers to the only block in it, and also gives `reverse_compute_at`. With `factors` (of `split`) the only call is the one with those
/// factors.
[[nodiscard]] auto moves_in_view(const workspace::Snapshot& snapshot, uint32_t at, uint32_t line, uint32_t column, std::string_view primitive,
                                 const std::vector<std::optional<int64_t>>& factors = {}) -> ViewMoves;

/// Facts about the buffer, loop or block at a place in the view, with the statements that made it; `info.span` is not set. None: no such thing
/// is there.
struct ViewHover { HoverInfo info; ViewSpan span; };
[[nodiscard]] auto hover_in_view(const workspace::Snapshot& snapshot, uint32_t at, uint32_t line, uint32_t column, const Machine& machine) -> std::optional<ViewHover>;

}  // namespace loopsmith::lsp
