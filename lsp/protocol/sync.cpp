// Applying content changes: see sync.h.
#include "lsp/protocol/sync.h"

#include <algorithm>

namespace loopsmith::lsp {
namespace {

/// Changes farther apart than this are not joined: the unchanged bytes between them would count as replaced.
constexpr uint32_t join_distance = 1024;

}  // namespace

auto edit_from(const Json& change, std::string_view text, const LineIndex& lines, Encoding encoding)
    -> std::optional<ByteEdit> {
  const Json& inserted = member(change, "text");
  if (!inserted.is_string()) { return std::nullopt; }
  const Json& range = member(change, "range");
  if (range.is_null()) { return ByteEdit{{0, static_cast<uint32_t>(text.size())}, inserted.get<std::string>()}; }
  auto where = range_from(range);
  if (!where) { return std::nullopt; }
  return ByteEdit{to_span(text, lines, *where, encoding), inserted.get<std::string>()};
}

void SyncedText::apply(const ByteEdit& edit) {
  text.replace(edit.replaced.begin, edit.replaced.end - edit.replaced.begin, edit.text);
  lines.edit(text, edit.replaced, static_cast<uint32_t>(edit.text.size()));
}

auto SyncedText::apply_changes(const Json& changes, Encoding encoding) -> bool {
  if (!changes.is_array()) { return false; }
  bool all = true;
  for (const Json& change : changes) {
    auto edit = edit_from(change, text, lines, encoding);
    if (edit) {
      apply(*edit);
    } else {
      all = false;
    }
  }
  return all;
}

auto joined_edits(const std::vector<Json>& changes, SyncedText before, Encoding encoding) -> std::vector<ByteEdit> {
  std::vector<ByteEdit> out;
  Span replaced;           // in the text after the last edit of `out`
  uint32_t new_end = 0;    // the end of the replacement, in the current text
  bool is_open = false;
  auto finish = [&] {
    if (is_open) { out.push_back({replaced, before.text.substr(replaced.begin, new_end - replaced.begin)}); }
    is_open = false;
  };
  for (const Json& change : changes) {
    auto edit = edit_from(change, before.text, before.lines, encoding);
    if (!edit) { continue; }
    Span span = edit->replaced;
    if (is_open && (span.begin > uint64_t{new_end} + join_distance || uint64_t{span.end} + join_distance < replaced.begin)) { finish(); }
    if (!is_open) {
      replaced = span;
      new_end = span.end;
      is_open = true;
    }
    // First extend the replacement until it contains the edit, then make the edit in it.
    replaced.begin = std::min(replaced.begin, span.begin);
    if (span.end > new_end) {
      replaced.end += span.end - new_end;
      new_end = span.end;
    }
    new_end = new_end - (span.end - span.begin) + static_cast<uint32_t>(edit->text.size());
    before.apply(*edit);
  }
  finish();
  return out;
}

}  // namespace loopsmith::lsp
