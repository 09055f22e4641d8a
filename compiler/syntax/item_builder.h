// The builder behind build.h: one for each declaration. Private to this room.
//
// `run` cuts out the texts that have items of their own (functions of a class, parts of a long program), completes heads that lack their
// colon, repairs lines that do not parse, and builds the tree of the rest.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/build.h"
#include "syntax/builder.h"
#include "syntax/lines.h"
#include "syntax/tree.h"

namespace loopsmith::syntax {

struct ParseMemory::Entry {
  std::string text;
  Tree tree;
};
/// The most rounds of repair, and the most diagnostics of one declaration.
constexpr size_t kMaxRounds = 8;
constexpr size_t kMaxDiagnostics = 50;

[[nodiscard]] auto is_word(std::string_view word, std::initializer_list<std::string_view> words) -> bool;
/// A token in backticks, shortened if it is long.
[[nodiscard]] auto show(std::string_view token) -> std::string;

class ItemBuilder {
 public:
  ItemBuilder(const Piece& piece, Role role, const Sources& sources, ParseMemory& memory)
      : item_(std::make_shared<Item>()), piece_(piece), text_(piece.text), indent_(piece.indent), role_(role), sources_(sources), memory_(memory) {}
  auto run() -> ItemPtr;

 private:
  [[nodiscard]] auto origin(Span span) const -> Origin { return {item_->decl, shifts_(span.begin), shifts_(span.end), 0}; }
  [[nodiscard]] auto code(size_t line) const -> std::string_view;
  [[nodiscard]] auto word(size_t line) const -> std::string_view { return first_word(code(line)); }
  [[nodiscard]] auto has_block(size_t line) const -> bool;
  void report(Diagnostic diagnostic) { item_->diagnostics.push_back(std::move(diagnostic)); }

  // -- members and parts, which are cut out (build.cpp)
  // Makes items of a class's functions; each leaves a `pass` in the text that is parsed.
  void take_members(const Lines& scanned);
  // Makes items of the statements of a long program; they leave one `pass` in the text that is parsed.
  auto take_parts(const Lines& scanned) -> bool;
  void take_comments(const std::vector<CommentSpan>& comments);

  // -- layout (build_layout.cpp)
  // Adds the missing colon to a head with a block below, so that a function stays a function while its head is typed.
  void complete_heads();
  // True when a head is complete except for its colon.
  [[nodiscard]] auto lacks_only_colon(size_t i) const -> bool;
  // Checks indentation by the rules of Python. The parser is lenient here, so that there is a tree anyway.
  void check_layout();
  // The blanks before a line, or its first character if there are none.
  [[nodiscard]] auto indentation(size_t line) const -> Span;
  [[nodiscard]] auto opens_block(size_t line) const -> bool;
  // True for a broken head: the block below it is not reported as unexpected.
  [[nodiscard]] auto is_excused(size_t line) const -> bool;
  void report_missing_block(size_t line);
  // Reports bytes that are not UTF-8 in places without tokens: in comments and strings.
  void check_characters();

  // -- repair (build_repair.cpp)
  // True for a decorator with a definition below.
  [[nodiscard]] auto decorates(size_t i) const -> bool;
  // Replaces a line by a placeholder.
  void spoil(size_t i);
  // A line with text around it that makes it valid alone. `prefix`: the length of the text in front.
  struct Alone {
    std::string text;
    size_t prefix = 0;
  };
  [[nodiscard]] auto alone(size_t i) const -> Alone;
  auto repair() -> Tree;
  // Parses the text as an edit of an earlier one, if the two are similar and the result has no errors.
  auto parse_remembering() -> Tree;
  void remember(const TSTree* tree);
  [[nodiscard]] auto is_clause(size_t line) const -> bool;
  // The lines that a tree's errors touch, in order, without lines that are already replaced.
  [[nodiscard]] auto lines_with_errors(const TSTree* tree) const -> std::vector<size_t>;

  // -- explanations (build_explain.cpp)
  void report_fault(size_t i);
  void explain_structure(size_t i);
  // Reports why a line cannot be parsed: the usual slips first, then the first token that the parser rejects.
  void explain(size_t i, const Alone& single, const TSTree* tree);
  // The first error of the parser, as bytes of the line.
  [[nodiscard]] auto first_error(const TSTree* tree, const Alone& single) const -> Span;

  // -- the tree (build.cpp)
  // False when a line proves to be wrong after all; it is replaced by a placeholder now.
  auto build(const TSTree* tree) -> bool;
  void name_item();
  void finish();

  std::shared_ptr<Item> item_;
  const Piece& piece_;
  std::string_view text_;
  uint32_t indent_;
  const Role role_;
  const Sources& sources_;
  ParseMemory& memory_;
  // The text without members or parts, and the positions of their placeholders.
  std::string skeleton_;
  std::vector<uint32_t> stand_ins_;
  // The text with the colons that were missing.
  std::string completed_;
  Shifts shifts_;
  std::vector<LogicalLine> lines_;
  std::vector<bool> bad_;
  std::string masked_;
  bool given_up_ = false;
};

}  // namespace loopsmith::syntax
