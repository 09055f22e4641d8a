// Applying content changes: see sync.h.
#include "lsp/protocol/sync.h"

namespace loopsmith::lsp {

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

}  // namespace loopsmith::lsp
