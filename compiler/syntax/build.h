// From the text of one declaration to its Item: parse, repair, build. A function of the text alone.
//
// Repair: a line that cannot be parsed is replaced, in a copy, by a placeholder of the same length, until the rest
// parses. So a mistake damages its own line and nothing else, and the tree says where the line was (BrokenStmt), with
// what could be made out of it.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "syntax/ast.h"
#include "syntax/lines.h"

namespace loopsmith::syntax {

/// The trees of the last texts that were parsed without errors. A text that resembles one of them is parsed as an edit
/// of it. Only trees without errors are used so: those are the same however they came to be.
class ParseMemory {
 public:
  ParseMemory();
  ~ParseMemory();
  struct Entry;
  std::vector<Entry> entries;
  size_t bytes = 0;   // that tree-sitter holds for them
  /// With the texts.
  [[nodiscard]] auto bytes_in_all() const -> size_t;
};

enum class Role : uint8_t { TopLevel, Member, Part };

/// A text to make an item of: a piece of another one, whose lines are known, or null.
struct Piece {
  std::string_view text;
  uint32_t indent = 0;           // the column of its first byte
  const Lines* around = nullptr;
  uint32_t offset = 0;           // in the text around
};

/// Where what is inside of a declaration comes from.
struct Sources {
  /// Finds or makes the item of a class's function.
  std::function<ItemPtr(const Piece& piece)> member;
  /// Finds or makes the items of a program's parts; `decl` becomes that of the program which had this head and is no more,
  /// if there is one.
  std::function<std::vector<ItemPtr>(std::string_view head, const std::vector<Piece>& pieces, DeclId& decl)> parts;
};

[[nodiscard]] auto build_item(const Piece& piece, Role role, const Sources& sources, ParseMemory& memory) -> ItemPtr;
/// A run of comments.
[[nodiscard]] auto build_comments(std::string_view text) -> ItemPtr;
/// A text that is not looked into, with the reason.
[[nodiscard]] auto build_broken(std::string_view text, Diagnostic reason) -> ItemPtr;
/// Sorts from `first` on by what `place` says of each; equals keep their order.
void sort_diagnostics(Diagnostics& all, size_t first, const std::function<uint32_t(const Diagnostic&)>& place);
/// What items are found again by.
[[nodiscard]] auto item_hash(std::string_view text, uint32_t indent) -> uint64_t;

}  // namespace loopsmith::syntax
