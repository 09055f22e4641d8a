// Text synchronisation: the changes of `textDocument/didChange`, applied to a text. Front and worker both keep the texts
// of open documents and must never differ by a byte, so both go through here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

/// One replacement, in bytes of the text as the replacements before it left it.
struct ByteEdit {
  Span replaced;
  std::string text;
};

/// The edit that one entry of `contentChanges` stands for; none where the entry is malformed. An entry without a
/// range replaces all.
[[nodiscard]] auto edit_from(const Json& change, std::string_view text, const LineIndex& lines, Encoding encoding)
    -> std::optional<ByteEdit>;

/// A text that is edited, with its lines.
struct SyncedText {
  std::string text;
  LineIndex lines;

  SyncedText() = default;
  explicit SyncedText(std::string initial) : text(std::move(initial)), lines(text) {}

  void apply(const ByteEdit& edit);
  /// All of `contentChanges`; false where an entry was malformed (and left out).
  auto apply_changes(const Json& changes, Encoding encoding) -> bool;
};

/// Several changes, one after the other, as few replacements: what lies near each other (as what is typed does) is one.
[[nodiscard]] auto joined_edits(const std::vector<Json>& changes, SyncedText before, Encoding encoding) -> std::vector<ByteEdit>;

}  // namespace loopsmith::lsp
