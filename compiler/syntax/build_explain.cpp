// Makes the diagnostics of lines that cannot be parsed, from their tokens.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/codes.h"
#include "support/text.h"
#include "syntax/item_builder.h"

namespace loopsmith::syntax {

namespace {

// The keyword at the beginning of a statement that was probably meant by this word: it differs by one inserted, missing or wrong letter, or by two swapped ones.
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

// The tokens of one line, with their positions in the declaration.
struct LineWords {
  std::string_view all;
  uint32_t begin;                              // the line's position in the declaration
  std::vector<Token> tokens;
  std::function<Origin(Span)> origin;
  std::string_view first;                      // the first word
  bool lacks_colon = false;                    // the line is the head of a block without its colon

  LineWords(std::string_view code, uint32_t begin, bool is_head, std::function<Origin(Span)> origin)
      : all(code), begin(begin), tokens(tokenize(code)), origin(std::move(origin)), first(first_word(code)), lacks_colon(is_head && !has_colon()) {}
  [[nodiscard]] auto text(const Token& token) const -> std::string_view { return all.substr(token.span.begin, token.span.end - token.span.begin); }
  [[nodiscard]] auto place(const Token& token) const -> Origin { return origin({begin + token.span.begin, begin + token.span.end}); }
  [[nodiscard]] auto place(const Token& from, const Token& to) const -> Origin { return origin({begin + from.span.begin, begin + to.span.end}); }
  /// The last byte of a token.
  [[nodiscard]] auto end_of(const Token& token) const -> Origin { return origin({begin + token.span.end - 1, begin + token.span.end}); }

  [[nodiscard]] auto ends_operand(const Token& token) const -> bool {
    std::string_view w = text(token);
    if (token.kind == TokenKind::Name) { return !is_python_keyword(w) || is_word(w, {"True", "False", "None"}); }
    return token.kind == TokenKind::Number || token.kind == TokenKind::String || token.kind == TokenKind::Close || w == "...";
  }
  [[nodiscard]] auto starts_operand(const Token& token) const -> bool {
    std::string_view w = text(token);
    if (token.kind == TokenKind::Name) { return !is_python_keyword(w) || is_word(w, {"True", "False", "None", "lambda", "not", "await"}); }
    return token.kind == TokenKind::Number || token.kind == TokenKind::String || token.kind == TokenKind::Open || w == "...";
  }

 private:
  /// True when there is a colon outside of brackets that belongs to no lambda.
  [[nodiscard]] auto has_colon() const -> bool {
    int depth = 0;
    size_t lambdas = 0;
    for (const Token& token : tokens) {
      if (token.kind == TokenKind::Open) { ++depth; }
      if (token.kind == TokenKind::Close) { --depth; }
      if (text(token) == "lambda") { ++lambdas; }
      if (depth != 0 || text(token) != ":") { continue; }
      if (lambdas == 0) { return true; }
      --lambdas;
    }
    return false;
  }
};

// Operators of other languages: `!`, `&&`, `||`.
auto foreign_sign(const LineWords& line) -> std::optional<Diagnostic> {
  for (const Token& token : line.tokens) {
    std::string_view w = line.text(token);
    if (token.kind == TokenKind::Bad) {
      Diagnostic wrong = error(Code::BadCharacter, line.place(token)).arg("character", show(w));
      if (w == "!") { (void)std::move(wrong).remedy("write `not`").fix(line.place(token), "not "); }
      return wrong;
    }
    if (w == "&&" || w == "||") {
      std::string_view python = w == "&&" ? "and" : "or";
      return error(Code::NotPython, line.place(token)).arg("found", w).remedy(fmt::format("write `{}`", python)).fix(line.place(token), std::string(python));
    }
  }
  return {};
}

// `else if`, `i++` and `for (...; ...; ...)`.
auto slip_from_c(const LineWords& line) -> std::optional<Diagnostic> {
  const std::vector<Token>& tokens = line.tokens;
  if (tokens.size() >= 2 && line.text(tokens[0]) == "else" && line.text(tokens[1]) == "if") {
    Origin both = line.place(tokens[0], tokens[1]);
    return error(Code::NotPython, both).arg("found", "else if").remedy("write `elif`").fix(both, "elif");
  }
  if (tokens.size() >= 3) {
    const Token& last = tokens.back();
    const Token& before = tokens[tokens.size() - 2];
    bool is_twice = line.text(last) == line.text(before) && is_word(line.text(last), {"+", "-"}) && before.span.end == last.span.begin;
    if (is_twice && tokens.front().kind == TokenKind::Name && !is_python_keyword(line.first)) {
      Origin both = line.place(before, last);
      std::string step = fmt::format(" {}= 1", line.text(last));
      return error(Code::NotPython, both).arg("found", line.all.substr(before.span.begin, 2)).remedy(fmt::format("write `{}`", step.substr(1))).fix(both, step);
    }
  }
  if (line.first == "for" && tokens.size() > 3 && line.text(tokens[1]) == "(") {
    for (const Token& token : tokens) {
      if (line.text(token) != ";") { continue; }
      return error(Code::NotPython, line.place(token)).arg("found", "for (...; ...; ...)").remedy("write the loop as `for i in range(begin, end):`");
    }
  }
  return {};
}

// Recognises an assignment in a condition, as in `if a = b:`.
auto assignment_in_condition(const LineWords& line) -> std::optional<Diagnostic> {
  if (!is_word(line.first, {"if", "elif", "while", "assert"})) { return {}; }
  int depth = 0;
  for (const Token& token : line.tokens) {
    if (token.kind == TokenKind::Open) { ++depth; }
    if (token.kind == TokenKind::Close) { --depth; }
    if (depth != 0 || line.text(token) != "=") { continue; }
    return error(Code::AssignInCondition, line.place(token)).arg("keyword", line.first).remedy("write `==` to compare").fix(line.place(token), "==");
  }
  return {};
}

// Recognises two values without an operator between them, as in `a b`.
auto two_values(const LineWords& line, size_t t) -> Diagnostic {
  const Token& here = line.tokens[t];
  const Token& next = line.tokens[t + 1];
  std::string_view w = line.text(here);
  if (std::string_view meant = t == 0 ? keyword_near(w) : std::string_view(); !meant.empty()) {
    return error(Code::UnexpectedToken, line.place(here)).arg("found", fmt::format("{} before {}", show(w), show(line.text(next))))
        .remedy(fmt::format("did you mean `{}`?", meant)).fix(line.place(here), std::string(meant));
  }
  return error(Code::UnexpectedToken, line.place(next)).arg("found", fmt::format("{} after {}", show(line.text(next)), show(w)))
      .remedy(w == "print" ? "call it: `print(...)`" : "put an operator or `,` between them");
}

// Two adjacent tokens that cannot follow each other: two values, an operator without its right side, two commas.
auto misplaced_neighbours(const LineWords& line) -> std::optional<Diagnostic> {
  const std::vector<Token>& tokens = line.tokens;
  auto is_soft_keyword = [&](size_t t) { return t == 0 && is_word(line.text(tokens[0]), {"match", "case", "type"}); };
  for (size_t t = 0; t + 1 < tokens.size(); ++t) {
    const Token& here = tokens[t];
    const Token& next = tokens[t + 1];
    std::string_view w = line.text(here);
    std::string_view n = line.text(next);
    bool side_by_side = line.ends_operand(here) && line.starts_operand(next) && next.kind != TokenKind::Open && n != "not" && !is_soft_keyword(t) &&
                        !(here.kind == TokenKind::String && next.kind == TokenKind::String);
    if (side_by_side) {
      if (line.lacks_colon && t + 2 == tokens.size() && here.kind == TokenKind::Close) { break; }
      return two_values(line, t);
    }
    bool is_infix = here.kind == TokenKind::Operator && is_word(w, {"+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^", "~",
                                                                    "<", ">", "<=", ">=", "==", "!=", ".", "=", "+=", "-=", "*=", "/=", "//=", "%=", ":=", "->"});
    bool is_word_infix = here.kind == TokenKind::Name && is_word(w, {"and", "or", "not", "in", "is", "if", "else"});
    bool is_end = next.kind == TokenKind::Close ||
                  (next.kind == TokenKind::Operator && is_word(n, {",", ";", "=", "/", "//", "%", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!=", "->"})) ||
                  (next.kind == TokenKind::Operator && n == ":" && w != "else" && t > 0);
    bool is_parameter_mark = (w == "*" || w == "/") && (n == "," || next.kind == TokenKind::Close) && is_word(line.first, {"def", "async", "lambda"});
    bool is_star_import = w == "*" && line.first == "from";
    if ((is_infix || (is_word_infix && t > 0)) && is_end && !is_parameter_mark && !is_star_import) {
      return error(Code::ExpectedToken, line.place(next)).arg("expected", fmt::format("{} after {}", w == "." ? "a name" : "an expression", show(w))).arg("found", show(n));
    }
    if ((w == "," || here.kind == TokenKind::Open) && n == ",") {
      return error(Code::ExpectedToken, line.place(next)).arg("expected", fmt::format("an expression after {}", show(w))).arg("found", "`,`");
    }
  }
  return {};
}

auto expected_after(std::string_view keyword) -> std::string_view {
  if (is_word(keyword, {"def", "class"})) { return "a name"; }
  if (keyword == "for") { return "`target in iterable:` after `for`"; }
  if (keyword == "with") { return "an expression after `with`"; }
  return "a condition";
}

auto missing_colon(const LineWords& line) -> std::optional<Diagnostic> {
  const std::vector<Token>& tokens = line.tokens;
  if (!line.lacks_colon || tokens.empty()) { return {}; }
  bool is_complete = line.ends_operand(tokens.back()) || is_word(line.first, {"else", "try", "finally"});
  if (!is_complete && tokens.size() != 1) { return {}; }
  if (tokens.size() == 1 && !is_word(line.first, {"else", "try", "finally", "except"})) {
    return error(Code::ExpectedToken, line.end_of(tokens[0])).arg("expected", expected_after(line.first)).arg("found", "the end of the line");
  }
  Span end{line.begin + tokens.back().span.end, line.begin + tokens.back().span.end};
  return error(Code::MissingColon, line.end_of(tokens.back())).arg("keyword", line.first).fix(line.origin(end), ":");
}

auto missing_operand_at_the_end(const LineWords& line) -> std::optional<Diagnostic> {
  if (line.tokens.empty()) { return {}; }
  const Token& last = line.tokens.back();
  std::string_view w = line.text(last);
  bool hangs = (last.kind == TokenKind::Operator && w != ":" && w != "," && w != ";" && w != "...") ||
               (last.kind == TokenKind::Name && is_word(w, {"and", "or", "not", "in", "is", "if", "else", "lambda", "import", "from", "as", "assert", "del", "def", "class", "for", "while", "with"}));
  if (!hangs) { return {}; }
  bool wants_name = is_word(w, {".", "import", "as", "def", "class"});
  return error(Code::ExpectedToken, line.place(last)).arg("expected", fmt::format("{} after {}", wants_name ? "a name" : "an expression", show(w))).arg("found", "the end of the line");
}

}  // namespace

void ItemBuilder::report_fault(size_t i) {
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
        report(error(Code::InvalidUtf8, where).arg("byte", fmt::format("0x{:02x}", byte)).remedy("save the file as UTF-8"));
      } else {
        report(error(Code::BadCharacter, where)
                   .arg("character", byte == 0 ? "a byte of value 0" : byte < 0x20 || byte == 0x7f ? fmt::format("control character 0x{:02x}", byte) : show(at)));
      }
      break;
    }
    case LineFault::TooDeep:
      report(error(Code::NestedTooDeeply, where).arg("limit", static_cast<int64_t>(kMaxDepth)).remedy("give the inner parts names in statements before"));
      break;
  }
}

void ItemBuilder::explain_structure(size_t i) {
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
    report(error(Code::ClauseWithoutHead, origin(where)).arg("keyword", first).arg("heads", heads)
               .remedy(fmt::format("put `{}` directly behind the block of its {}, with the same indentation", first, heads)));
  } else if (code(i).starts_with('@')) {
    // The decorated definition exists and is broken, which is reported already.
    if (i + 1 < lines_.size() && bad_[i + 1] && lines_[i + 1].indent == lines_[i].indent) { return; }
    report(error(Code::DecoratorWithoutDefinition, origin(lines_[i].span)).remedy("put the decorator directly above its `def` or `class`, or remove it"));
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

void ItemBuilder::explain(size_t i, const Alone& single, const TSTree* tree) {
  if (item_->diagnostics.size() >= kMaxDiagnostics) { return; }
  LineWords line(code(i), lines_[i].span.begin, is_head_word(word(i)) && !lines_[i].ends_with_colon, [this](Span span) { return origin(span); });
  for (auto slip : {foreign_sign, slip_from_c, assignment_in_condition, misplaced_neighbours, missing_colon, missing_operand_at_the_end}) {
    if (auto found = slip(line)) { return report(std::move(*found)); }
  }
  // The first token in the parser's first error.
  Span at = first_error(tree, single);
  for (const Token& token : line.tokens) {
    if (token.span.end <= at.begin && token.span.begin != at.begin) { continue; }
    std::string_view found = line.text(token);
    if (found.empty()) { continue; }
    report(error(Code::UnexpectedToken, line.place(token)).arg("found", is_python_keyword(found) ? fmt::format("keyword {}", show(found)) : show(found)));
    return;
  }
  uint32_t end = lines_[i].span.end;
  report(error(Code::UnexpectedToken, origin({end > line.begin ? end - 1 : line.begin, end})).arg("found", "end of the line"));
}

auto ItemBuilder::first_error(const TSTree* tree, const Alone& single) const -> Span {
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

}  // namespace loopsmith::syntax
