// Text synchronisation: applies the changes of `textDocument/didChange` to a text. Front and worker both keep the texts
// of open documents, and the two copies must be identical, so both use these functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

/// One replacement. `replaced` counts bytes of the text after all earlier replacements.
struct ByteEdit {
  Span replaced;
  std::string text;
};

/// Converts one entry of `contentChanges`; none: the entry is malformed. An entry without a
/// range replaces the whole text.
[[nodiscard]] auto edit_from(const Json& change, std::string_view text, const LineIndex& lines, Encoding encoding)
    -> std::optional<ByteEdit>;

/// A text with its line index, kept up to date by edits.
struct SyncedText {
  std::string text;
  LineIndex lines;

  SyncedText() = default;
  explicit SyncedText(std::string initial) : text(std::move(initial)), lines(text) {}

  void apply(const ByteEdit& edit);
  /// Applies all of `contentChanges`; false: an entry was malformed, and was skipped.
  auto apply_changes(const Json& changes, Encoding encoding) -> bool;
};

/// Joins changes that follow each other into few replacements: changes near each other, as typing makes them, become one.
[[nodiscard]] auto joined_edits(const std::vector<Json>& changes, SyncedText before, Encoding encoding) -> std::vector<ByteEdit>;

}  // namespace loopsmith::lsp
