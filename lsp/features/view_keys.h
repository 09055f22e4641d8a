// What a place of an IR view is, and what one key there writes into the schedule: the loop or block that a line and a column of the view
// stand for, the calls of one primitive that are worth trying on it, and what is known of it.
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
  std::optional<ViewSpan> other = {};     // a loop that the call names besides: where a block would go
};

struct ViewMoves {
  std::string about;                      // "loop `i`, extent 512"; "block `C`"
  std::string why_none;                   // nothing can be done, and why; else empty
  std::string factors;                    // of a loop that is to be split: what is worth proposing, "None, 32"
  std::vector<ViewMove> moves;            // legal ones first, those that should pay most first of all; then refused ones
};

/// The innermost loop or block at a place of a view; null: none. Of loops that share a head: the one whose variable it is, else on the head the
/// outermost.
[[nodiscard]] auto printed_at(const View& view, uint32_t line, uint32_t column) -> const PrintedRange*;
/// Where its name stands.
[[nodiscard]] auto name_in(const View& view, const PrintedRange& place) -> ViewSpan;

/// At a place of the view that `at` of the text shows: calls of `primitive`. Of a loop's primitives a line in a block means the loop around it;
/// `compute_at` on a loop means the only block in it, and goes together with `reverse_compute_at`. `factors`: of `split`; then its call is
/// the only one.
[[nodiscard]] auto moves_in_view(const workspace::Snapshot& snapshot, uint32_t at, uint32_t line, uint32_t column, std::string_view primitive,
                                 const std::vector<std::optional<int64_t>>& factors = {}) -> ViewMoves;

/// What is known of the buffer, loop or block at a place of the view, with the statements that made it; the span of the text is not set. None:
/// nothing is there.
struct ViewHover { HoverInfo info; ViewSpan span; };
[[nodiscard]] auto hover_in_view(const workspace::Snapshot& snapshot, uint32_t at, uint32_t line, uint32_t column, const Machine& machine) -> std::optional<ViewHover>;

}  // namespace loopsmith::lsp
