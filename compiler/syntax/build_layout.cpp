// Checks the layout of a declaration's lines by the rules of Python: indentation, blocks, colons of heads, characters.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "support/codes.h"
#include "support/text.h"
#include "syntax/item_builder.h"

namespace loopsmith::syntax {

void ItemBuilder::complete_heads() {
  std::vector<uint32_t> places;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].fault != LineFault::None || lines_[i].ends_with_colon || !has_block(i) || !is_head_word(word(i)) || !lacks_only_colon(i)) { continue; }
    uint32_t end = lines_[i].span.end;
    report(error(Code::MissingColon, origin({end - 1, end})).arg("keyword", word(i)).fix(origin({end, end}), ":"));
    places.push_back(end);
  }
  if (places.empty()) { return; }
  // Maps positions in the new text to positions in the whole text: parts were cut out before, and colons are inserted here.
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

auto ItemBuilder::lacks_only_colon(size_t i) const -> bool {
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
  if (last.kind == TokenKind::Name) { return !is_python_keyword(w) || is_word(w, {"True", "False", "None"}); }
  return last.kind == TokenKind::Number || last.kind == TokenKind::String || last.kind == TokenKind::Close;
}

void ItemBuilder::check_layout() {
  std::vector<uint32_t> levels{indent_};
  bool too_deep = false;
  for (size_t i = 0; i < lines_.size(); ++i) {
    uint32_t at = lines_[i].indent;
    bool after_head = i > 0 && opens_block(i - 1);
    if (at > levels.back()) {
      if (!after_head && lines_[i].fault == LineFault::None && !(i > 0 && is_excused(i - 1))) {
        Span gap = indentation(i);
        report(error(Code::UnexpectedIndent, origin(gap)).remedy("align this line with the one before it"));
      }
      levels.push_back(at);
      if (levels.size() > kMaxDepth && !too_deep) {
        too_deep = true;
        report(error(Code::NestedTooDeeply, origin({lines_[i].span.begin, lines_[i].span.begin + 1}))
                   .arg("limit", static_cast<int64_t>(kMaxDepth)).remedy("move the inner statements into a function of their own"));
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
                   .remedy(fmt::format("indent it by {} columns, as a block around it", nearest)));
        levels.push_back(at);
      }
    }
  }
  if (!lines_.empty() && opens_block(lines_.size() - 1) && lines_.back().fault == LineFault::None) {
    report_missing_block(lines_.size() - 1);
  }
}

auto ItemBuilder::indentation(size_t line) const -> Span {
  uint32_t begin = lines_[line].span.begin;
  uint32_t start = begin;
  while (start > 0 && (text_[start - 1] == ' ' || text_[start - 1] == '\t')) { --start; }
  return start == begin ? Span{begin, begin + 1} : Span{start, begin};
}

auto ItemBuilder::opens_block(size_t line) const -> bool {
  if (!lines_[line].ends_with_colon) { return false; }
  std::string_view first = word(line);
  return is_word(first, {"def", "class", "if", "elif", "else", "for", "while", "with", "try", "except", "finally", "match", "case"}) ||
         (first == "async" && code(line).find(' ') != std::string_view::npos);
}

auto ItemBuilder::is_excused(size_t line) const -> bool {
  return lines_[line].fault != LineFault::None || is_head_word(word(line));
}

void ItemBuilder::report_missing_block(size_t line) {
  uint32_t end = lines_[line].span.end;
  report(error(Code::MissingBlock, origin({end - 1, end})).arg("keyword", word(line)).remedy("indent the lines of the block, or write `pass`"));
}

void ItemBuilder::check_characters() {
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
    for (size_t i = 1; valid && i < length; ++i) { valid = is_inside_character(text_[at + i]); }
    if (!valid) {
      bool known = std::any_of(lines_.begin(), lines_.end(), [&](const LogicalLine& line) {
        return line.fault == LineFault::BadCharacter && line.fault_at.begin == at;
      });
      if (!known) {
        ++reported;
        report(error(Code::InvalidUtf8, origin({static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)})).arg("byte", fmt::format("0x{:02x}", lead)).remedy("save the file as UTF-8"));
      }
      length = 1;
    }
    at += length;
  }
}

}  // namespace loopsmith::syntax
