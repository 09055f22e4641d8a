// One declaration's text to its Item: the layout of its lines, the repair of those that cannot be parsed, the words
// that say what is wrong with them.
#include "syntax/build.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "support/codes.h"
#include "support/hash.h"
#include "syntax/builder.h"
#include "syntax/document.h"
#include "syntax/lines.h"
#include "syntax/tree.h"

namespace loopsmith::syntax {

struct ParseMemory::Entry {
  std::string text;
  Tree tree;
};
ParseMemory::ParseMemory() = default;
ParseMemory::~ParseMemory() = default;
auto ParseMemory::bytes_in_all() const -> size_t {
  size_t all = bytes;
  for (const Entry& entry : entries) { all += sizeof entry + entry.text.capacity(); }
  return all;
}

namespace {

// The keyword that begins a statement and is this word but for a letter too many, too few, another one, or two that changed places.
auto keyword_near(std::string_view word) -> std::string_view {
  for (std::string_view keyword : {"for", "while", "with", "elif", "else", "def", "return", "assert", "import", "from", "class", "pass"}) {
    std::string_view a = word.size() <= keyword.size() ? word : keyword;
    std::string_view b = word.size() <= keyword.size() ? keyword : word;
    if (b.size() - a.size() > 1 || a.size() < 2 || a == b) { continue; }
    size_t same = 0;
    while (same < a.size() && a[same] == b[same]) { ++same; }
    std::string_view rest_a = a.substr(same), rest_b = b.substr(same);
    bool is_near = a.size() < b.size() ? rest_a == rest_b.substr(1) : rest_a.substr(1) == rest_b.substr(1);
    bool is_swapped = a.size() == b.size() && rest_a.size() > 1 && rest_a[0] == rest_b[1] && rest_a[1] == rest_b[0] && rest_a.substr(2) == rest_b.substr(2);
    if (is_near || is_swapped) { return keyword; }
  }
  return {};
}


constexpr size_t kMaxRounds = 8;
constexpr size_t kMaxDiagnostics = 50;
// Shorter texts are parsed anew faster than compared.
constexpr size_t kRemembered = 400;
constexpr size_t kRememberedTrees = 3;

auto is_word(std::string_view word, std::initializer_list<std::string_view> words) -> bool {
  return std::find(words.begin(), words.end(), word) != words.end();
}

auto show(std::string_view token) -> std::string {
  if (token.size() > 40) { return fmt::format("`{}...`", token.substr(0, 37)); }
  return fmt::format("`{}`", token);
}

class ItemBuilder {
 public:
  ItemBuilder(const Piece& piece, Role role, const Sources& sources, ParseMemory& memory)
      : item_(std::make_shared<Item>()), piece_(piece), text_(piece.text), indent_(piece.indent), role_(role), sources_(sources), memory_(memory) {}

  auto run() -> ItemPtr {
    item_->decl = next_decl_id();
    item_->text = text_;
    item_->hash = item_hash(text_, indent_);
    item_->indent = indent_;
    bool is_known = piece_.around != nullptr && piece_.around->is_plain;
    const Lines scanned = is_known ? lines_within(*piece_.around, {piece_.offset, piece_.offset + static_cast<uint32_t>(text_.size())}) : scan_lines(text_, indent_);
    lines_ = scanned.lines;
    if (!take_parts(scanned)) { take_members(scanned); }
    masked_ = std::string(text_);
    take_comments(scanned.comments);
    complete_heads();
    bad_.assign(lines_.size(), false);
    check_layout();
    check_characters();
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].fault == LineFault::None && code(i).starts_with('@') && !decorates(i) && !bad_[i]) {
        explain_structure(i);
        spoil(i);
      }
      if (lines_[i].fault == LineFault::None) { continue; }
      if (lines_[i].fault == LineFault::Incomplete) {
        Alone single = alone(i);
        explain(i, single, parse_text(single.text).get());
      } else {
        report_fault(i);
      }
      spoil(i);
    }
    Tree tree = repair();
    for (size_t round = 0; !build(tree.get()) && round < kMaxRounds; ++round) { tree = repair(); }
    remember(tree.get());
    name_item();
    if (role_ == Role::Part) {
      item_->kind = ItemKind::Part;
      item_->name = {};
    }
    finish();
    return item_;
  }

 private:
  [[nodiscard]] auto origin(Span span) const -> Origin { return {item_->decl, shifts_(span.begin), shifts_(span.end), 0}; }
  [[nodiscard]] auto code(size_t line) const -> std::string_view {
    return text_.substr(lines_[line].span.begin, lines_[line].span.end - lines_[line].span.begin);
  }
  [[nodiscard]] auto word(size_t line) const -> std::string_view { return first_word(code(line)); }
  [[nodiscard]] auto has_block(size_t line) const -> bool {
    return line + 1 < lines_.size() && lines_[line + 1].indent > lines_[line].indent;
  }
  void report(Diagnostic diagnostic) { item_->diagnostics.push_back(std::move(diagnostic)); }

  // A class's functions are items of their own: in the text that is parsed a `pass` stands for each.
  void take_members(const Lines& scanned) {
    std::vector<Chunk> chunks;
    if (role_ == Role::TopLevel) { chunks = split_members(text_, scanned); }
    if (!chunks.empty()) {
      auto line = lines_.begin();
      uint32_t end = 0;
      for (const Chunk& chunk : chunks) {
        while (line->span.begin < chunk.span.begin) { ++line; }
        skeleton_ += text_.substr(end, chunk.span.begin - end);
        end = chunk.span.end;
        stand_ins_.push_back(static_cast<uint32_t>(skeleton_.size()));
        skeleton_ += "pass";
        shifts_.add(static_cast<uint32_t>(skeleton_.size()), end);
        item_->members.push_back({chunk.span.begin, sources_.member({text_.substr(chunk.span.begin, end - chunk.span.begin), line->indent, &scanned, chunk.span.begin})});
      }
      skeleton_ += text_.substr(end);
      text_ = skeleton_;
      lines_ = scan_lines(text_, indent_).lines;
    }
  }

  // The statements of a long program are items of their own: in the text that is parsed one `pass` stands for all.
  auto take_parts(const Lines& scanned) -> bool {
    if (role_ == Role::Part) { return false; }
    std::vector<Chunk> chunks = split_body(text_, scanned);
    if (chunks.empty()) { return false; }
    uint32_t begin = chunks.front().span.begin;
    uint32_t end = chunks.back().span.end;
    auto line = lines_.begin();
    while (line->span.begin < begin) { ++line; }
    std::vector<Piece> pieces;
    for (const Chunk& chunk : chunks) {
      pieces.push_back({text_.substr(chunk.span.begin, chunk.span.end - chunk.span.begin), line->indent, &scanned, chunk.span.begin});
    }
    item_->head = begin;
    std::vector<ItemPtr> parts = sources_.parts(text_.substr(0, begin), pieces, item_->decl);
    item_->members.reserve(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) { item_->members.push_back({chunks[i].span.begin, std::move(parts[i])}); }
    skeleton_ = text_.substr(0, begin);
    stand_ins_.push_back(begin);
    skeleton_ += "pass";
    shifts_.add(static_cast<uint32_t>(skeleton_.size()), end);
    skeleton_ += text_.substr(end);
    text_ = skeleton_;
    lines_ = scan_lines(text_, indent_).lines;
    return true;
  }

  void take_comments(const std::vector<CommentSpan>& comments) {
    size_t member = 0;
    for (const CommentSpan& comment : comments) {
      while (member < item_->members.size() &&
             item_->members[member].offset + item_->members[member].item->text.size() <= comment.span.begin) { ++member; }
      if (member < item_->members.size() && comment.span.begin >= item_->members[member].offset) { continue; }
      std::string_view words = std::string_view(item_->text).substr(comment.span.begin, comment.span.end - comment.span.begin);
      item_->comments.push_back({comment.span, words, comment.own_line});
    }
  }

  // A head without its colon and with a block below it is read as if the colon stood there, so that a function stays a
  // function while its head is typed.
  void complete_heads() {
    std::vector<uint32_t> places;
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].fault != LineFault::None || lines_[i].ends_with_colon || !has_block(i) || !is_head_word(word(i)) || !lacks_only_colon(i)) { continue; }
      uint32_t end = lines_[i].span.end;
      report(error(Code::MissingColon, origin({end - 1, end})).arg("keyword", word(i)).fix(origin({end, end}), ":"));
      places.push_back(end);
    }
    if (places.empty()) { return; }
    // Where parts were cut out before, and where colons come in: from the new text to the whole one.
    Shifts shifts;
    std::string text;
    uint32_t done = 0;
    uint32_t added = 0;
    auto cut = stand_ins_.begin();
    constexpr uint32_t stand_in_size = 4;
    auto pass_cuts = [&](uint32_t until) {
      for (; cut != stand_ins_.end() && *cut < until; ++cut) {
        shifts.add(*cut + stand_in_size + added, shifts_(*cut + stand_in_size));
        *cut += added;
      }
    };
    for (uint32_t place : places) {
      pass_cuts(place);
      text += text_.substr(done, place - done);
      text += ':';
      done = place;
      ++added;
      shifts.add(place + added, shifts_(place));
    }
    pass_cuts(static_cast<uint32_t>(text_.size()));
    text += text_.substr(done);
    completed_ = std::move(text);
    shifts_ = std::move(shifts);
    text_ = completed_;
    lines_ = scan_lines(text_, indent_).lines;
    masked_ = std::string(text_);
  }
  // Does a head end where its colon is missing, with nothing else wrong that can be seen?
  [[nodiscard]] auto lacks_only_colon(size_t i) const -> bool {
    std::string_view all = code(i);
    std::vector<Token> tokens = tokenize(all);
    int depth = 0;
    size_t lambdas = 0;
    for (const Token& token : tokens) {
      std::string_view w = all.substr(token.span.begin, token.span.end - token.span.begin);
      if (token.kind == TokenKind::Bad) { return false; }
      if (token.kind == TokenKind::Open) { ++depth; }
      if (token.kind == TokenKind::Close) { --depth; }
      if (w == "lambda") { ++lambdas; }
      if (depth == 0 && w == ":") {
        if (lambdas == 0) { return false; }
        --lambdas;
      }
    }
    if (depth != 0 || tokens.empty()) { return false; }
    const Token& last = tokens.back();
    std::string_view w = all.substr(last.span.begin, last.span.end - last.span.begin);
    if (tokens.size() == 1) { return is_word(w, {"else", "try", "finally"}); }
    if (last.kind == TokenKind::Name) { return !is_keyword(w) || is_word(w, {"True", "False", "None"}); }
    return last.kind == TokenKind::Number || last.kind == TokenKind::String || last.kind == TokenKind::Close;
  }

  // Indentation, as Python reads it. The parser is lenient here, so that a tree comes out anyway.
  void check_layout() {
    std::vector<uint32_t> levels{indent_};
    bool too_deep = false;
    for (size_t i = 0; i < lines_.size(); ++i) {
      uint32_t at = lines_[i].indent;
      bool after_head = i > 0 && opens_block(i - 1);
      if (at > levels.back()) {
        if (!after_head && lines_[i].fault == LineFault::None && !(i > 0 && is_excused(i - 1))) {
          Span gap = indentation(i);
          report(error(Code::UnexpectedIndent, origin(gap)));
        }
        levels.push_back(at);
        if (levels.size() > kMaxDepth && !too_deep) {
          too_deep = true;
          report(error(Code::NestedTooDeeply, origin({lines_[i].span.begin, lines_[i].span.begin + 1}))
                     .arg("limit", static_cast<int64_t>(kMaxDepth)));
        }
        continue;
      }
      if (after_head && lines_[i - 1].fault == LineFault::None) { report_missing_block(i - 1); }
      if (at < levels.back()) {
        uint32_t above = levels.back();
        while (levels.size() > 1 && levels.back() > at) {
          above = levels.back();
          levels.pop_back();
        }
        if (levels.back() != at) {
          uint32_t nearest = at > levels.back() && above - at > at - levels.back() ? levels.back() : above;
          report(error(Code::BadDedent, origin(indentation(i)))
                     .remedy(fmt::format("indent it by {} columns, like a block around it", nearest)));
          levels.push_back(at);
        }
      }
    }
    if (!lines_.empty() && opens_block(lines_.size() - 1) && lines_.back().fault == LineFault::None) {
      report_missing_block(lines_.size() - 1);
    }
  }

  // The blank before a line, or its first character where there is none.
  [[nodiscard]] auto indentation(size_t line) const -> Span {
    uint32_t begin = lines_[line].span.begin;
    uint32_t start = begin;
    while (start > 0 && (text_[start - 1] == ' ' || text_[start - 1] == '\t')) { --start; }
    return start == begin ? Span{begin, begin + 1} : Span{start, begin};
  }

  [[nodiscard]] auto opens_block(size_t line) const -> bool {
    if (!lines_[line].ends_with_colon) { return false; }
    std::string_view first = word(line);
    return is_word(first, {"def", "class", "if", "elif", "else", "for", "while", "with", "try", "except", "finally", "match", "case"}) ||
           (first == "async" && code(line).find(' ') != std::string_view::npos);
  }
  // A head that is broken anyway: the block below it is where it should be.
  [[nodiscard]] auto is_excused(size_t line) const -> bool {
    return lines_[line].fault != LineFault::None || is_head_word(word(line));
  }

  void report_missing_block(size_t line) {
    uint32_t end = lines_[line].span.end;
    report(error(Code::MissingBlock, origin({end - 1, end})).arg("keyword", word(line)).remedy("indent the lines that belong to it; an empty block is `pass`"));
  }

  // Bytes that are not UTF-8 where no token is: in comments and strings.
  void check_characters() {
    size_t reported = 0;
    for (size_t at = 0; at < text_.size() && reported < 3;) {
      auto lead = static_cast<unsigned char>(text_[at]);
      if (lead >= 0x20 && lead < 0x80) { ++at; continue; }
      if (lead < 0x20) {
        if (lead == 0) {
          bool known = std::any_of(lines_.begin(), lines_.end(), [&](const LogicalLine& line) {
            return line.fault == LineFault::BadCharacter && line.fault_at.begin == at;
          });
          if (!known) {
            ++reported;
            report(error(Code::BadCharacter, origin({static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)})).arg("character", "a byte of value 0"));
          }
        }
        ++at;
        continue;
      }
      size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
      bool valid = length != 0 && lead <= 0xf4 && at + length <= text_.size();
      for (size_t i = 1; valid && i < length; ++i) { valid = (static_cast<unsigned char>(text_[at + i]) & 0xc0) == 0x80; }
      if (!valid) {
        bool known = std::any_of(lines_.begin(), lines_.end(), [&](const LogicalLine& line) {
          return line.fault == LineFault::BadCharacter && line.fault_at.begin == at;
        });
        if (!known) {
          ++reported;
          report(error(Code::InvalidUtf8, origin({static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)})).arg("byte", fmt::format("0x{:02x}", lead)));
        }
        length = 1;
      }
      at += length;
    }
  }

  void report_fault(size_t i) {
    const LogicalLine& line = lines_[i];
    Origin where = origin(line.fault_at);
    std::string_view at = text_.substr(line.fault_at.begin, line.fault_at.end - line.fault_at.begin);
    switch (line.fault) {
      case LineFault::None:
      case LineFault::Incomplete: break;
      case LineFault::UnclosedBracket:
        report(error(Code::UnclosedBracket, where).arg("bracket", at));
        break;
      case LineFault::UnmatchedClose:
        report(error(Code::UnmatchedBracket, where).arg("bracket", at));
        break;
      case LineFault::MismatchedClose: {
        std::string_view open = text_.substr(line.fault_other.begin, 1);
        report(error(Code::MismatchedBracket, where).arg("bracket", at).arg("open", open)
                   .note(origin(line.fault_other), fmt::format("`{}` was opened here", open)));
        break;
      }
      case LineFault::UnclosedString:
        report(error(Code::UnclosedString, where));
        break;
      case LineFault::BadCharacter: {
        auto byte = static_cast<unsigned char>(at[0]);
        if (byte >= 0x80) {
          report(error(Code::InvalidUtf8, where).arg("byte", fmt::format("0x{:02x}", byte)));
        } else {
          report(error(Code::BadCharacter, where)
                     .arg("character", byte == 0 ? "a byte of value 0" : byte < 0x20 || byte == 0x7f ? fmt::format("control character 0x{:02x}", byte) : show(at)));
        }
        break;
      }
      case LineFault::TooDeep:
        report(error(Code::NestedTooDeeply, where).arg("limit", static_cast<int64_t>(kMaxDepth)));
        break;
    }
  }

  // Is it a decorator with something to decorate?
  [[nodiscard]] auto decorates(size_t i) const -> bool {
    if (!code(i).starts_with('@') || i + 1 >= lines_.size() || lines_[i + 1].indent != lines_[i].indent) { return false; }
    if (code(i + 1).starts_with('@')) { return decorates(i + 1); }
    // What is decorated has to be there: else the next definition, of another block, would be taken for it.
    return !bad_[i + 1] && is_word(word(i + 1), {"def", "class", "async"});
  }

  // Puts a placeholder in the place of a line.
  void spoil(size_t i) {
    bad_[i] = true;
    const LogicalLine& line = lines_[i];
    auto begin = masked_.begin() + line.span.begin;
    auto end = masked_.begin() + line.span.end;
    std::fill(begin, end, ' ');
    if (decorates(i)) { return; }
    if (!has_block(i)) {
      masked_[line.span.begin] = '0';
    } else if (line.span.end - line.span.begin >= 5) {
      masked_.replace(line.span.begin, 5, "if 0:");
    } else {
      // Too short a line for a head: its block goes with it.
      masked_[line.span.begin] = '0';
      for (size_t k = i + 1; k < lines_.size() && lines_[k].indent > line.indent; ++k) {
        bad_[k] = true;
        std::fill(masked_.begin() + lines_[k].span.begin, masked_.begin() + lines_[k].span.end, ' ');
      }
    }
  }

  // A line in a text in which it can stand alone. `prefix` is what comes before it.
  struct Alone {
    std::string text;
    size_t prefix = 0;
  };
  [[nodiscard]] auto alone(size_t i) const -> Alone {
    std::string_view all = code(i);
    std::string_view first = word(i);
    std::string before;
    std::string after;
    bool is_head = lines_[i].ends_with_colon;
    if (all.starts_with('@')) { after = "\ndef f(): pass"; }
    else if (is_head && first == "match") { after = "\n case _: pass"; }
    else if (is_head && first == "try") { after = " pass\nfinally: pass"; }
    else if (is_head) { after = " pass"; }
    if (first == "elif" || first == "else") { before = "if 0: pass\n"; }
    if (first == "except" || first == "finally") { before = "try: pass\n"; }
    if (first == "case" && is_head) { before = "match x:\n "; }
    return {fmt::format("{}{}{}\n", before, all, after), before.size()};
  }

  auto repair() -> Tree {
    Tree tree = parse_remembering();
    for (size_t round = 0; round < kMaxRounds && ts_node_has_error(ts_tree_root_node(tree.get())); ++round) {
      std::vector<size_t> suspects = lines_with_errors(tree.get());
      bool any = false;
      for (size_t i : suspects) {
        Alone single = alone(i);
        Tree parsed = parse_text(single.text);
        if (!ts_node_has_error(ts_tree_root_node(parsed.get()))) { continue; }
        any = true;
        explain(i, single, parsed.get());
        spoil(i);
      }
      if (!any) {
        // Each line is right by itself. A head above that lacks its colon is noticed where its block begins.
        for (size_t i : suspects) {
          if (i == 0 || bad_[i - 1] || lines_[i].indent <= lines_[i - 1].indent || lines_[i - 1].ends_with_colon) { continue; }
          Alone single = alone(i - 1);
          Tree parsed = parse_text(single.text);
          if (!ts_node_has_error(ts_tree_root_node(parsed.get()))) { continue; }
          any = true;
          explain(i - 1, single, parsed.get());
          spoil(i - 1);
        }
      }
      if (!any) {
        // It is the way they follow each other that is wrong.
        size_t culprit = lines_.size();
        for (size_t i : suspects) {
          if (!bad_[i] && (culprit == lines_.size() || is_clause(i) > is_clause(culprit))) { culprit = i; }
        }
        if (culprit == lines_.size()) {
          for (size_t i = 0; i < lines_.size() && culprit == lines_.size(); ++i) {
            if (!bad_[i]) { culprit = i; }
          }
        }
        if (culprit == lines_.size()) { break; }
        explain_structure(culprit);
        spoil(culprit);
      }
      tree = parse_text(masked_);
    }
    if (ts_node_has_error(ts_tree_root_node(tree.get()))) {
      for (size_t i = 0; i < lines_.size(); ++i) {
        if (!bad_[i]) { bad_[i] = true; std::fill(masked_.begin() + lines_[i].span.begin, masked_.begin() + lines_[i].span.end, ' '); }
      }
      given_up_ = true;
      if (item_->diagnostics.empty() && !lines_.empty()) {
        report(error(Code::UnexpectedToken, origin({lines_[0].span.begin, lines_[0].span.begin + 1})).arg("found", "text: no statement could be made out"));
      }
    }
    return tree;
  }

  // As an edit of what was parsed before, where that is much the same and the result is without errors.
  auto parse_remembering() -> Tree {
    auto& entries = memory_.entries;
    Tree tree;
    if (masked_.size() < kRemembered) { return parse_text(masked_); }
    for (size_t i = 0; i < entries.size() && tree == nullptr; ++i) {
      const std::string& before = entries[i].text;
      size_t limit = std::min(before.size(), masked_.size());
      auto front = static_cast<size_t>(std::mismatch(masked_.begin(), masked_.begin() + static_cast<ptrdiff_t>(limit), before.begin()).first - masked_.begin());
      size_t back = 0;
      while (back < limit - front && masked_[masked_.size() - 1 - back] == before[before.size() - 1 - back]) { ++back; }
      if ((front + back) * 4 < std::max(before.size(), masked_.size()) * 3) { continue; }
      tree = parse_edited(masked_, before, entries[i].tree.get());
      entries.erase(entries.begin() + static_cast<ptrdiff_t>(i));
      if (ts_node_has_error(ts_tree_root_node(tree.get()))) { tree = parse_text(masked_); }
      break;
    }
    if (tree == nullptr) { tree = parse_text(masked_); }
    return tree;
  }

  void remember(const TSTree* tree) {
    if (masked_.size() < kRemembered || ts_node_has_error(ts_tree_root_node(tree))) { return; }
    auto& entries = memory_.entries;
    if (entries.size() >= kRememberedTrees) { entries.pop_back(); }
    entries.insert(entries.begin(), {masked_, Tree(ts_tree_copy(tree))});
  }

  [[nodiscard]] auto is_clause(size_t line) const -> bool {
    return is_word(word(line), {"else", "elif", "except", "finally", "case"});
  }

  // Lines that a tree's errors touch, in order; lines already replaced are left out.
  [[nodiscard]] auto lines_with_errors(const TSTree* tree) const -> std::vector<size_t> {
    std::vector<bool> touched(lines_.size(), false);
    auto touch = [&](uint32_t begin, uint32_t end) {
      auto line = std::upper_bound(lines_.begin(), lines_.end(), begin,
                                   [](uint32_t at, const LogicalLine& l) { return at < l.span.begin; });
      if (line != lines_.begin()) { --line; }
      for (; line != lines_.end() && line->span.begin <= end; ++line) { touched[static_cast<size_t>(line - lines_.begin())] = true; }
    };
    TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
    bool descend = true;
    for (;;) {
      TSNode node = ts_tree_cursor_current_node(&cursor);
      if (descend && (ts_node_is_missing(node) || ts_node_symbol(node) == static_cast<TSSymbol>(-1))) {
        touch(ts_node_start_byte(node), ts_node_end_byte(node));
        descend = false;
      }
      if (descend && ts_node_has_error(node) && ts_tree_cursor_goto_first_child(&cursor)) { continue; }
      descend = true;
      bool done = false;
      while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
        if (!ts_tree_cursor_goto_parent(&cursor)) { done = true; break; }
      }
      if (done) { break; }
    }
    ts_tree_cursor_delete(&cursor);
    std::vector<size_t> result;
    for (size_t i = 0; i < touched.size(); ++i) {
      if (touched[i] && !bad_[i]) { result.push_back(i); }
    }
    return result;
  }

  void explain_structure(size_t i) {
    std::string_view first = word(i);
    uint32_t begin = lines_[i].span.begin;
    Span where{begin, begin + static_cast<uint32_t>(std::max<size_t>(first.size(), 1))};
    if (is_clause(i)) {
      bool heads_bad = false;
      for (size_t k = 0; k < i; ++k) { heads_bad = heads_bad || (bad_[k] && lines_[k].indent == lines_[i].indent); }
      if (heads_bad) { return; }
      std::string_view heads = first == "else"   ? "`if`, `for` or `while`"
                               : first == "elif" ? "`if`"
                               : first == "case" ? "`match`"
                                                 : "`try`";
      report(error(Code::ClauseWithoutHead, origin(where)).arg("keyword", first).arg("heads", heads));
    } else if (code(i).starts_with('@')) {
      // What it decorates is there, and broken: that has been said.
      if (i + 1 < lines_.size() && bad_[i + 1] && lines_[i + 1].indent == lines_[i].indent) { return; }
      report(error(Code::DecoratorWithoutDefinition, origin(lines_[i].span)));
    } else if (first == "try" && lines_[i].ends_with_colon) {
      if (item_->diagnostics.empty()) {
        report(error(Code::ExpectedToken, origin(where)).arg("expected", "`except` or `finally` after the block of this `try`").arg("found", "neither"));
      }
    } else if (item_->diagnostics.empty()) {
      std::vector<Token> tokens = tokenize(code(i));
      if (!tokens.empty()) { where = {begin + tokens[0].span.begin, begin + tokens[0].span.end}; }
      report(error(Code::UnexpectedToken, origin(where)).arg("found", show(text_.substr(where.begin, where.end - where.begin))));
    }
  }

  // Why a line cannot be parsed, from its tokens: the usual slips first, then what the parser stumbled over.
  void explain(size_t i, const Alone& single, const TSTree* tree) {
    if (item_->diagnostics.size() >= kMaxDiagnostics) { return; }
    std::string_view all = code(i);
    uint32_t base = lines_[i].span.begin;
    std::vector<Token> tokens = tokenize(all);
    auto words = [&](const Token& token) { return all.substr(token.span.begin, token.span.end - token.span.begin); };
    auto place = [&](const Token& token) { return origin({base + token.span.begin, base + token.span.end}); };
    auto after = [&](const Token& token) { return origin({base + token.span.end - 1, base + token.span.end}); };
    std::string_view first = word(i);

    for (const Token& token : tokens) {
      if (token.kind == TokenKind::Bad) {
        Diagnostic wrong = error(Code::BadCharacter, place(token)).arg("character", show(words(token)));
        if (words(token) == "!") { (void)std::move(wrong).remedy("write `not`").fix(place(token), "not "); }
        report(std::move(wrong));
        return;
      }
      if (words(token) == "&&" || words(token) == "||") {
        std::string_view python = words(token) == "&&" ? "and" : "or";
        report(error(Code::UnexpectedToken, place(token)).arg("found", show(words(token)))
                   .remedy(fmt::format("write `{}`", python)).fix(place(token), std::string(python)));
        return;
      }
    }
    if (tokens.size() >= 2 && words(tokens[0]) == "else" && words(tokens[1]) == "if") {
      Origin both = origin({base + tokens[0].span.begin, base + tokens[1].span.end});
      report(error(Code::UnexpectedToken, both).arg("found", "`else if`").remedy("write `elif`").fix(both, "elif"));
      return;
    }
    // `i++`, and loops of C.
    if (tokens.size() >= 3) {
      const Token& last = tokens.back();
      const Token& before = tokens[tokens.size() - 2];
      bool is_twice = words(last) == words(before) && is_word(words(last), {"+", "-"}) && before.span.end == last.span.begin;
      if (is_twice && tokens.front().kind == TokenKind::Name && !is_keyword(first)) {
        Origin both = origin({base + before.span.begin, base + last.span.end});
        std::string step = fmt::format(" {}= 1", words(last));
        report(error(Code::UnexpectedToken, both).arg("found", show(all.substr(before.span.begin, 2))).remedy(fmt::format("write `{}`", step.substr(1))).fix(both, step));
        return;
      }
    }
    if (first == "for" && tokens.size() > 3 && words(tokens[1]) == "(") {
      for (const Token& token : tokens) {
        if (words(token) != ";") { continue; }
        report(error(Code::UnexpectedToken, place(token)).arg("found", show(words(token))).remedy("a loop is written `for i in range(begin, end):`"));
        return;
      }
    }
    bool wants_colon = is_head_word(first) && !lines_[i].ends_with_colon;
    bool has_colon = false;
    int depth = 0;
    size_t in_lambda = 0;
    for (size_t t = 0; t < tokens.size(); ++t) {
      if (tokens[t].kind == TokenKind::Open) { ++depth; }
      if (tokens[t].kind == TokenKind::Close) { --depth; }
      if (words(tokens[t]) == "lambda") { ++in_lambda; }
      if (depth == 0 && words(tokens[t]) == ":") {
        if (in_lambda > 0) { --in_lambda; } else { has_colon = true; }
      }
    }
    // `=` where a condition is.
    if (is_word(first, {"if", "elif", "while", "assert"})) {
      int open = 0;
      for (const Token& token : tokens) {
        if (token.kind == TokenKind::Open) { ++open; }
        if (token.kind == TokenKind::Close) { --open; }
        if (open == 0 && words(token) == "=") {
          report(error(Code::AssignInCondition, place(token)).arg("keyword", first).remedy("write `==` to compare").fix(place(token), "=="));
          return;
        }
      }
    }
    auto is_operand_end = [&](const Token& token) {
      std::string_view w = words(token);
      if (token.kind == TokenKind::Name) { return !is_keyword(w) || is_word(w, {"True", "False", "None"}); }
      return token.kind == TokenKind::Number || token.kind == TokenKind::String || token.kind == TokenKind::Close || w == "...";
    };
    auto is_operand_start = [&](const Token& token) {
      std::string_view w = words(token);
      if (token.kind == TokenKind::Name) { return !is_keyword(w) || is_word(w, {"True", "False", "None", "lambda", "not", "await"}); }
      return token.kind == TokenKind::Number || token.kind == TokenKind::String || token.kind == TokenKind::Open || w == "...";
    };
    auto is_soft = [&](size_t t) { return t == 0 && is_word(words(tokens[0]), {"match", "case", "type"}); };
    for (size_t t = 0; t + 1 < tokens.size(); ++t) {
      const Token& here = tokens[t];
      const Token& next = tokens[t + 1];
      std::string_view w = words(here);
      std::string_view n = words(next);
      // Two values side by side.
      bool side_by_side = is_operand_end(here) && is_operand_start(next) && next.kind != TokenKind::Open && n != "not" && !is_soft(t) &&
                          !(here.kind == TokenKind::String && next.kind == TokenKind::String);
      if (side_by_side) {
        if (wants_colon && !has_colon && t + 2 == tokens.size() && here.kind == TokenKind::Close) { break; }
        Diagnostic wrong = error(Code::UnexpectedToken, place(next)).arg("found", fmt::format("{} after {}", show(n), show(w)));
        std::string_view meant = t == 0 ? keyword_near(w) : std::string_view();
        if (!meant.empty()) {
          wrong = error(Code::UnexpectedToken, place(here)).arg("found", fmt::format("{} before {}", show(w), show(n)));
          (void)std::move(wrong).remedy(fmt::format("did you mean `{}`?", meant)).fix(place(here), std::string(meant));
        } else {
          (void)std::move(wrong).remedy(w == "print" ? "`print` is a function: `print(...)`" : "an operator or `,` is missing between them");
        }
        report(std::move(wrong));
        return;
      }
      bool is_infix = here.kind == TokenKind::Operator && is_word(w, {"+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^", "~",
                                                                      "<", ">", "<=", ">=", "==", "!=", ".", "=", "+=", "-=", "*=", "/=", "//=", "%=", ":=", "->"});
      bool is_word_infix = here.kind == TokenKind::Name && is_word(w, {"and", "or", "not", "in", "is", "if", "else"});
      bool is_end = next.kind == TokenKind::Close ||
                    (next.kind == TokenKind::Operator && is_word(n, {",", ";", "=", "/", "//", "%", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!=", "->"})) ||
                    (next.kind == TokenKind::Operator && n == ":" && w != "else" && t > 0);
      bool is_parameter_mark = (w == "*" || w == "/") && (n == "," || next.kind == TokenKind::Close) && is_word(first, {"def", "async", "lambda"});
      bool is_star_import = w == "*" && first == "from";
      if ((is_infix || (is_word_infix && t > 0)) && is_end && !is_parameter_mark && !is_star_import) {
        report(error(Code::ExpectedToken, place(next)).arg("expected", fmt::format("{} after {}", w == "." ? "a name" : "an expression", show(w))).arg("found", show(n)));
        return;
      }
      if ((w == "," || here.kind == TokenKind::Open) && n == ",") {
        report(error(Code::ExpectedToken, place(next)).arg("expected", fmt::format("an expression after {}", show(w))).arg("found", "`,`"));
        return;
      }
    }
    if (wants_colon && !has_colon && !tokens.empty()) {
      bool complete = is_operand_end(tokens.back()) || is_word(first, {"else", "try", "finally"});
      if (complete || tokens.size() == 1) {
        if (tokens.size() == 1 && !is_word(first, {"else", "try", "finally", "except"})) {
          report(error(Code::ExpectedToken, after(tokens[0])).arg("expected", expected_after(first)).arg("found", "the end of the line"));
        } else {
          Span end{base + tokens.back().span.end, base + tokens.back().span.end};
          report(error(Code::MissingColon, after(tokens.back())).arg("keyword", first).fix(origin(end), ":"));
        }
        return;
      }
    }
    if (!tokens.empty()) {
      const Token& last = tokens.back();
      std::string_view w = words(last);
      bool hangs = (last.kind == TokenKind::Operator && w != ":" && w != "," && w != ";" && w != "...") ||
                   (last.kind == TokenKind::Name && is_word(w, {"and", "or", "not", "in", "is", "if", "else", "lambda", "import", "from", "as", "assert", "del", "def", "class", "for", "while", "with"}));
      if (hangs) {
        report(error(Code::ExpectedToken, place(last)).arg("expected", fmt::format("{} after {}", w == "." || w == "import" || w == "as" || w == "def" || w == "class" ? "a name" : "an expression", show(w))).arg("found", "the end of the line"));
        return;
      }
    }
    // What the parser stumbled over: the first token in its first error.
    Span at = first_error(tree, single);
    for (const Token& token : tokens) {
      if (token.span.end <= at.begin && token.span.begin != at.begin) { continue; }
      if (words(token).empty()) { continue; }
      report(error(Code::UnexpectedToken, place(token)).arg("found", is_keyword(words(token)) ? fmt::format("keyword {}", show(words(token))) : show(words(token))));
      return;
    }
    uint32_t end = lines_[i].span.end;
    report(error(Code::UnexpectedToken, origin({end > base ? end - 1 : base, end})).arg("found", "end of the line"));
  }

  static auto expected_after(std::string_view keyword) -> std::string_view {
    if (is_word(keyword, {"def", "class"})) { return fmt_name; }
    if (keyword == "for") { return "`target in iterable:` after `for`"; }
    if (keyword == "with") { return "an expression after `with`"; }
    return "a condition";
  }
  static constexpr std::string_view fmt_name = "a name";

  // In bytes of the line.
  [[nodiscard]] auto first_error(const TSTree* tree, const Alone& single) const -> Span {
    TSNode node = ts_tree_root_node(tree);
    for (;;) {
      bool descended = false;
      uint32_t count = ts_node_child_count(node);
      for (uint32_t i = 0; i < count; ++i) {
        TSNode child = ts_node_child(node, i);
        if (ts_node_is_missing(child) || ts_node_has_error(child)) {
          node = child;
          descended = true;
          break;
        }
      }
      if (!descended) { break; }
    }
    auto clip = [&](uint32_t at) { return static_cast<uint32_t>(at < single.prefix ? 0 : at - single.prefix); };
    return {clip(ts_node_start_byte(node)), clip(ts_node_end_byte(node))};
  }

  // False when a line turned out to be wrong after all, and is set aside now.
  auto build(const TSTree* tree) -> bool {
    size_t known_diagnostics = item_->diagnostics.size();
    Builder builder(*item_, masked_, 0, shifts_);
    size_t member = 0;
    for (size_t i = 0; i < lines_.size(); ++i) {
      while (member < stand_ins_.size() && stand_ins_[member] < lines_[i].span.begin) { ++member; }
      if (member < stand_ins_.size() && stand_ins_[member] == lines_[i].span.begin) {
        if (item_->head != 0) {
          for (const Item::Member& part : item_->members) { item_->has_error = item_->has_error || part.item->has_error; }
          builder.placeholders.push_back({lines_[i].span.begin, nullptr, true, {}, {}});
          continue;
        }
        const Item& made = *item_->members[member].item;
        if (!made.statements.empty()) {
          builder.placeholders.push_back({lines_[i].span.begin, &made, false, {}, {}});
          item_->has_error = item_->has_error || made.has_error;
        }
        continue;
      }
      if (!bad_[i]) { continue; }
      if (code(i).starts_with('@') && decorates(i)) { builder.broken_decorators.push_back(lines_[i].span); }
      Alone single = alone(i);
      List<ExprPtr> parts;
      // A line too deep or too long to be read is not looked into again.
      if (lines_[i].fault != LineFault::TooDeep && single.text.size() < 20000) {
        Tree parsed = parse_text(single.text);
        Builder salvager(*item_, single.text, static_cast<int64_t>(lines_[i].span.begin) - static_cast<int64_t>(single.prefix), shifts_);
        size_t known = item_->diagnostics.size();
        parts = salvager.salvage(ts_tree_root_node(parsed.get()), {static_cast<uint32_t>(single.prefix), static_cast<uint32_t>(single.prefix + code(i).size())});
        item_->diagnostics.resize(known);
      }
      builder.placeholders.push_back({lines_[i].span.begin, nullptr, false, {shifts_(lines_[i].span.begin), shifts_(lines_[i].span.end)}, parts});
    }
    if (!given_up_) {
      item_->statements = builder.module(ts_tree_root_node(tree));
      bool any = false;
      if (!builder.misplaced_keywords.empty()) { item_->diagnostics.resize(known_diagnostics); }
      for (Span keyword : builder.misplaced_keywords) {
        auto line = std::upper_bound(lines_.begin(), lines_.end(), keyword.begin, [](uint32_t at, const LogicalLine& l) { return at < l.span.begin; });
        if (line == lines_.begin()) { continue; }
        auto i = static_cast<size_t>(line - lines_.begin()) - 1;
        // One at a time: what follows may be wrong only because of it.
        if (bad_[i] || any) { continue; }
        any = true;
        if (is_clause(i) && keyword.begin == lines_[i].span.begin) {
          explain_structure(i);
        } else {
          report(error(Code::UnexpectedToken, origin(keyword)).arg("found", fmt::format("keyword {}", show(text_.substr(keyword.begin, keyword.end - keyword.begin)))));
        }
        spoil(i);
      }
      return !any;
    }
    auto* broken = item_->arena.make<BrokenStmt>();
    broken->kind = Kind::BrokenStmt;
    broken->has_error = true;
    broken->decl = item_->decl;
    broken->span = {0, static_cast<uint32_t>(item_->text.size())};
    auto* slot = static_cast<StmtPtr*>(item_->arena.allocate(sizeof(StmtPtr)));
    *slot = broken;
    item_->statements = {slot, 1};
    return true;
  }

  void name_item() {
    if (item_->statements.empty()) {
      item_->kind = ItemKind::Broken;
      return;
    }
    const Stmt& first = *item_->statements[0];
    auto assigned = [&](ExprPtr target) {
      item_->kind = ItemKind::Assign;
      if (const auto* name = target->as<NameExpr>()) { item_->name = name->name; }
    };
    switch (first.kind) {
      case Kind::FunctionDef:
        item_->kind = ItemKind::Function;
        item_->name = first.as<FunctionDef>()->name.name;
        break;
      case Kind::ClassDef:
        item_->kind = ItemKind::Class;
        item_->name = first.as<ClassDef>()->name.name;
        break;
      case Kind::Assign:
        item_->kind = ItemKind::Assign;
        if (first.as<AssignStmt>()->targets.size() == 1) { assigned(first.as<AssignStmt>()->targets[0]); }
        break;
      case Kind::AnnAssign: assigned(first.as<AnnAssignStmt>()->target); break;
      case Kind::AugAssign: assigned(first.as<AugAssignStmt>()->target); break;
      case Kind::Import:
      case Kind::ImportFrom: item_->kind = ItemKind::Import; break;
      case Kind::If:
      case Kind::For:
      case Kind::While:
      case Kind::With: item_->kind = ItemKind::Compound; break;
      case Kind::OpaqueStmt:
        item_->kind = ItemKind::Opaque;
        if (first.as<OpaqueStmt>()->binds.size() == 1) { item_->name = first.as<OpaqueStmt>()->binds[0].name; }
        break;
      case Kind::BrokenStmt:
        item_->kind = ItemKind::Broken;
        // A broken head still says what it is the head of.
        for (size_t i = 0; i < lines_.size(); ++i) {
          std::string_view all = code(i);
          std::string_view w = word(i);
          if (w != "def" && w != "class") { continue; }
          size_t at = all.find_first_not_of(" \t", w.size());
          if (at != std::string_view::npos && lines_[i].indent == indent_) { item_->name = Name(first_word(all.substr(at))); }
          break;
        }
        break;
      default: item_->kind = ItemKind::Expr; break;
    }
  }

  void finish() {
    auto& all = item_->diagnostics;
    sort_diagnostics(all, 0, [](const Diagnostic& d) { return d.where.begin; });
    if (all.size() > kMaxDiagnostics) { all.resize(kMaxDiagnostics); }
    item_->has_error = item_->has_error || !all.empty();
  }

  std::shared_ptr<Item> item_;
  const Piece& piece_;
  std::string_view text_;
  uint32_t indent_;
  const Role role_;
  const Sources& sources_;
  ParseMemory& memory_;
  // A class without its functions, where they stood in it, and from it back to the whole text.
  std::string skeleton_;
  std::vector<uint32_t> stand_ins_;
  // With colons that were missing.
  std::string completed_;
  Shifts shifts_;
  std::vector<LogicalLine> lines_;
  std::vector<bool> bad_;
  std::string masked_;
  bool given_up_ = false;
};

}  // namespace

void sort_diagnostics(Diagnostics& all, size_t first, const std::function<uint32_t(const Diagnostic&)>& place) {
  if (all.size() < first + 2) { return; }
  std::vector<std::pair<uint32_t, size_t>> order;
  for (size_t i = first; i < all.size(); ++i) { order.emplace_back(place(all[i]), i); }
  std::sort(order.begin(), order.end());
  Diagnostics sorted;
  for (const auto& [at, i] : order) { sorted.push_back(std::move(all[i])); }
  std::move(sorted.begin(), sorted.end(), all.begin() + static_cast<ptrdiff_t>(first));
}

auto item_hash(std::string_view text, uint32_t indent) -> uint64_t { return hash_combine(hash_bytes(text), indent); }

auto build_item(const Piece& piece, Role role, const Sources& sources, ParseMemory& memory) -> ItemPtr {
  // What is left when all that was parsed on the way is gone are the trees that are remembered. What is made of members and parts on the
  // way has counted itself.
  size_t before = tree_bytes() - memory.bytes;
  ItemPtr item = ItemBuilder(piece, role, sources, memory).run();
  memory.bytes = tree_bytes() - before;
  return item;
}

auto build_comments(std::string_view text) -> ItemPtr {
  auto item = std::make_shared<Item>();
  item->decl = next_decl_id();
  item->kind = ItemKind::Comments;
  item->text = text;
  item->hash = item_hash(text, 0);
  for (const CommentSpan& comment : scan_lines(item->text).comments) {
    std::string_view words = std::string_view(item->text).substr(comment.span.begin, comment.span.end - comment.span.begin);
    item->comments.push_back({comment.span, words, comment.own_line});
  }
  return item;
}

auto build_broken(std::string_view text, Diagnostic reason) -> ItemPtr {
  auto item = std::make_shared<Item>();
  item->decl = next_decl_id();
  item->kind = ItemKind::Broken;
  item->text = text;
  item->hash = item_hash(text, 0);
  reason.where.decl = item->decl;
  item->diagnostics.push_back(std::move(reason));
  item->has_error = true;
  return item;
}

}  // namespace loopsmith::syntax
