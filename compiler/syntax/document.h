// A document: a text, its declarations and their syntax errors. An edit parses only the declarations whose text
// changed; all other declarations keep their objects, trees and ids. The result always equals that of a parse of
// the whole text. One thread at a time.
//
// The text is cut into declarations by a scan of lines, strings and brackets, and each is parsed on its own with
// tree-sitter. So an error affects only the declaration that contains it, and the tree depends on the
// declaration's text alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/ast.h"

namespace loopsmith::syntax {

/// A fresh id, unique in the process. Any thread may call this.
[[nodiscard]] auto next_decl_id() -> DeclId;

/// The trees of the last parses, for the next edit (build.h).
class ParseMemory;
struct Lines;

/// A declaration with its position in a version of a document.
struct PlacedItem {
  ItemPtr item;
  uint32_t offset = 0;  // the position of its first byte in the text
  [[nodiscard]] auto end() const -> uint32_t { return offset + static_cast<uint32_t>(item->text.size()); }
};

class Document {
 public:
  Document();
  explicit Document(std::string text);
  /// A copy shares all items.
  Document(const Document&) = default;
  auto operator=(const Document&) -> Document& = default;
  Document(Document&&) noexcept = default;
  auto operator=(Document&&) noexcept -> Document& = default;

  /// Replaces the text; keeps items whose text is unchanged.
  void set_text(std::string text);
  /// Replaces bytes; a span past the end is cut off at the end of the text.
  void edit(Span span, std::string_view replacement);

  [[nodiscard]] auto text() const -> const std::string& { return text_; }
  /// In the order of the text; they do not overlap. Between them there is only blank space.
  [[nodiscard]] auto items() const -> const std::vector<PlacedItem>& { return items_; }
  /// The diagnostics of all items and members, in the order of the text.
  [[nodiscard]] auto diagnostics() const -> Diagnostics;
  /// The item at or around an offset (the end of an item counts as inside); null in blank space.
  [[nodiscard]] auto item_at(uint32_t offset) const -> const PlacedItem*;
  /// The bytes of the text; none when the declaration is not, or no longer, in this document.
  [[nodiscard]] auto resolve(const Origin& origin) const -> std::optional<Span>;
  /// The innermost declaration around an offset, and the position in it; unknown in blank space.
  [[nodiscard]] auto origin_at(uint32_t offset) const -> Origin;
  /// The declaration (item or member) with an id; null when it is not in this document.
  [[nodiscard]] auto declaration(DeclId decl) const -> ItemPtr;
  /// The declaration that a part belongs to; for other declarations, the declaration itself.
  [[nodiscard]] auto whole(DeclId decl) const -> DeclId;

  /// The work of the last `set_text` or `edit`, for tests and timing tables.
  struct Work {
    uint32_t parsed = 0;  // declarations parsed
    uint32_t reused = 0;
  };
  [[nodiscard]] auto last_work() const -> Work { return work_; }

  /// Bytes apart from the items and the text itself: trees that are kept for the next edit, their texts, and the document's lines. Trees and texts
  /// are shared with the documents that this one was copied from.
  [[nodiscard]] auto kept_bytes() const -> size_t;

 private:
  struct Place {
    DeclId decl;
    uint32_t offset;
    const Item* item;
    DeclId whole;
  };
  /// An item for a text that is too large, or is no text; null: the text can be read.
  [[nodiscard]] auto refused() const -> ItemPtr;
  /// `before`: the text whose lines are in `lines_`.
  void update(std::string_view before);
  void index();
  void index(const Item& item, uint32_t offset, DeclId whole);
  [[nodiscard]] auto find(DeclId decl) const -> const Place*;

  std::string text_;
  std::vector<PlacedItem> items_;
  std::vector<Place> places_;  // by id
  Work work_;
  std::shared_ptr<ParseMemory> memory_;  // never null, except after a move
  std::shared_ptr<const Lines> lines_;   // the lines of the text; null: not scanned
};

}  // namespace loopsmith::syntax
