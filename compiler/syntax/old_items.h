// The items of a text before an edit, which are found again in the text after it. Each is used once: equal texts at two places are two
// declarations. Private to this room.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "syntax/build.h"
#include "syntax/document.h"

namespace loopsmith::syntax {

class OldItems {
 public:
  OldItems(Document::Work& work, ParseMemory& memory) : work_(work), memory_(memory) {}
  OldItems(const OldItems&) = delete;
  auto operator=(const OldItems&) -> OldItems& = delete;

  void add(const ItemPtr& item) { items_.emplace(item->hash, item); }
  /// The old declaration with that text, which cannot be taken again; null: there is none.
  auto take(std::string_view text, uint32_t indent) -> ItemPtr { return take_from(items_, text, indent); }
  /// Offers the functions of old classes and the parts of old programs that were not taken. An item that was taken keeps its members.
  void open_up();

  /// The item of a class's function, found or built.
  auto member(const Piece& piece) -> ItemPtr;
  /// The items of a program's parts, found or built (Sources::parts in build.h).
  auto parts(std::string_view head, const std::vector<Piece>& pieces, DeclId& decl) -> std::vector<ItemPtr>;
  /// Builds an item; takes its members and parts from here.
  auto build(const Piece& piece, Role role) -> ItemPtr;

 private:
  using Pool = std::unordered_multimap<uint64_t, ItemPtr>;
  struct OldProgram {
    ItemPtr item;
    size_t first = 0, last = 0;   // the parts that are not used again yet, once it is cut up
    bool is_whole = false;        // the whole program is used again
    bool is_cut_up = false;       // its id and its parts are used by another program
    [[nodiscard]] auto is_free() const -> bool { return !is_whole && !is_cut_up; }
  };
  struct OldPart { ItemPtr item; size_t program; };

  auto take_from(Pool& pool, std::string_view text, uint32_t indent) -> ItemPtr;
  void collect_parts();
  auto part(const Piece& piece) -> ItemPtr;

  Document::Work& work_;
  ParseMemory& memory_;
  Pool items_, members_;
  std::vector<OldProgram> programs_;
  std::unordered_multimap<uint64_t, OldPart> parts_;
  std::unordered_set<DeclId> given_;   // parts that another program uses
  bool has_parts_ = false;             // `parts_` is filled, which happens when the first part is searched for
};

}  // namespace loopsmith::syntax
