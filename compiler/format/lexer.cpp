// Tokens, and the spaces between them.
#include "format/lexer.h"

#include <algorithm>
#include <array>

#include "support/text.h"

namespace loopsmith::format {
namespace {

constexpr int kMaxFields = 8;  // f-strings in fields of f-strings

// Values that look like keywords are names for the layout.
auto is_keyword(std::string_view word) -> bool { return is_python_keyword(word) && word != "None" && word != "True" && word != "False"; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  auto run() -> std::optional<LexedLine> {
    bool newline = false;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\f') { ++at_; continue; }
      if (c == '\n' || c == '\r') { newline = true; ++at_; continue; }
      if (c == '\\') {
        if (char n = peek(1); n != '\n' && n != '\r') { return std::nullopt; }
        out_.has_backslash = true;
        at_ += peek(1) == '\r' && peek(2) == '\n' ? 3 : 2;
        newline = true;
        continue;
      }
      size_t begin = at_;
      Token token;
      token.newline_before = newline;
      if (c == '#') {
        at_ = std::min(text_.find_first_of("\n\r", at_), text_.size());
        token.kind = TokenKind::Comment;
        token.own_line = newline;
      } else if (size_t quote = string_start(at_); quote != 0) {
        bool is_format = std::any_of(text_.begin() + static_cast<ptrdiff_t>(at_), text_.begin() + static_cast<ptrdiff_t>(quote - 1), [](char p) { return p == 'f' || p == 'F'; });
        at_ = string_end(quote - 1, is_format, 0);
        if (at_ == 0) { return std::nullopt; }
        token.kind = TokenKind::String;
      } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
        number();
        token.kind = TokenKind::Number;
      } else if (is_name_start(c)) {
        while (at_ < text_.size() && is_name_part(text_[at_])) { ++at_; }
        token.kind = is_keyword(text_.substr(begin, at_ - begin)) ? TokenKind::Keyword : TokenKind::Name;
      } else if (c == '(' || c == '[' || c == '{') {
        ++at_;
        token.kind = TokenKind::Open;
      } else if (c == ')' || c == ']' || c == '}') {
        ++at_;
        token.kind = TokenKind::Close;
      } else {
        size_t length = operator_length();
        if (length == 0) { return std::nullopt; }
        at_ += length;
        token.kind = TokenKind::Operator;
      }
      token.text = text_.substr(begin, at_ - begin);
      out_.tokens.push_back(token);
      newline = false;
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] auto peek(size_t n) const -> char { return at_ + n < text_.size() ? text_[at_ + n] : '\0'; }
  [[nodiscard]] auto get(size_t at) const -> char { return at < text_.size() ? text_[at] : '\0'; }

  // 1 + the position of the opening quote of a string whose prefix is at `at`; 0: no string begins there.
  [[nodiscard]] auto string_start(size_t at) const -> size_t {
    size_t quote = at;
    while (quote < at + 2 && std::string_view("rRbBuUfFtT").find(get(quote)) != std::string_view::npos && get(quote) != '\0') { ++quote; }
    return get(quote) == '"' || get(quote) == '\'' ? quote + 1 : 0;
  }

  // The position behind the string whose quote is at `at`; 0: the string has no end.
  [[nodiscard]] auto string_end(size_t at, bool is_format, int depth) const -> size_t {
    char quote = text_[at];
    bool is_triple = get(at + 1) == quote && get(at + 2) == quote;
    size_t i = at + (is_triple ? 3 : 1);
    while (i < text_.size()) {
      char c = text_[i];
      if (c == '\\') {
        i += get(i + 1) == '\r' && get(i + 2) == '\n' ? 3 : 2;
        continue;
      }
      if (c == quote) {
        if (!is_triple) { return i + 1; }
        if (get(i + 1) == quote && get(i + 2) == quote) { return i + 3; }
      }
      if ((c == '\n' || c == '\r') && !is_triple) { return 0; }
      if (is_format && c == '{' && depth < kMaxFields) {
        if (get(i + 1) == '{') { i += 2; continue; }
        if (size_t end = field_end(i + 1, quote, is_triple, depth); end != 0) { i = end; continue; }
      }
      ++i;
    }
    return 0;
  }

  // The position behind the "}" of a replacement field whose code begins at `at`; 0: it is not a field.
  [[nodiscard]] auto field_end(size_t at, char quote, bool is_triple, int depth) const -> size_t {
    int open = 0;
    for (size_t i = at; i < text_.size() && budget_ > 0;) {
      --budget_;
      char c = text_[i];
      if ((c == '\n' || c == '\r') && !is_triple) { return 0; }
      if (c == '}' && open == 0) { return i + 1; }
      if (c == '(' || c == '[' || c == '{') { ++open; }
      if (c == ')' || c == ']' || c == '}') {
        if (open == 0) { return 0; }
        --open;
      }
      if (c == '"' || c == '\'') {
        if (is_triple && c == quote && get(i + 1) == c && get(i + 2) == c) { return 0; }
        i = string_end(i, text_[i - 1] == 'f' || text_[i - 1] == 'F', depth + 1);
        if (i == 0) { return 0; }
        continue;
      }
      if (c == ':' && open == 0) { return format_end(i + 1, quote, is_triple, depth); }
      ++i;
    }
    return 0;
  }

  // The position behind the "}" that ends a format, which is text with fields in it.
  [[nodiscard]] auto format_end(size_t at, char quote, bool is_triple, int depth) const -> size_t {
    for (size_t i = at; i < text_.size() && budget_ > 0;) {
      --budget_;
      char c = text_[i];
      if (c == '}') { return i + 1; }
      if (c == '\n' || c == '\r' || c == '"' || c == '\'') { return 0; }
      if (c == '{') {
        i = depth < kMaxFields ? field_end(i + 1, quote, is_triple, depth + 1) : 0;
        if (i == 0) { return 0; }
        continue;
      }
      ++i;
    }
    return 0;
  }

  void number() {
    size_t begin = at_;
    bool is_based = text_[begin] == '0' && std::string_view("xXoObB").find(peek(1)) != std::string_view::npos && peek(1) != '\0';
    while (at_ < text_.size()) {
      char c = text_[at_];
      bool is_sign = (c == '+' || c == '-') && !is_based && at_ > begin && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (!is_name_part(c) && !is_sign && !(c == '.' && !is_based)) { break; }
      if (at_ > begin && is_keyword_at(at_, is_based)) { break; }
      ++at_;
    }
  }
  // Python needs no space between a number and a keyword behind it: `0else`, `1if`.
  [[nodiscard]] auto is_keyword_at(size_t at, bool is_based) const -> bool {
    static constexpr std::array<std::string_view, 8> keywords = {"and", "else", "for", "if", "in", "is", "not", "or"};
    std::string_view rest = text_.substr(at);
    return std::any_of(keywords.begin(), keywords.end(), [&](std::string_view word) {
      if (!rest.starts_with(word) || (rest.size() > word.size() && is_name_part(rest[word.size()]))) { return false; }
      // In a hexadecimal number, some of these letters are digits.
      return !is_based || std::string_view("abcdef").find(word[0]) == std::string_view::npos;
    });
  }

  [[nodiscard]] auto operator_length() const -> size_t {
    static constexpr std::array<std::string_view, 24> operators = {
        "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "==", "!=", "<=",
        ">=", "->", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@="};
    std::string_view rest = text_.substr(at_);
    for (std::string_view op : operators) {
      if (rest.starts_with(op)) { return op.size(); }
    }
    return std::string_view("+-*/%@&|^~<>=.,:;").find(rest[0]) != std::string_view::npos ? 1 : 0;
  }

  std::string_view text_;
  size_t at_ = 0;
  LexedLine out_;
  // The steps left for scanning f-strings: a wrong guess scans the same bytes again.
  mutable int budget_ = 20000;
};

auto is_word(const Token& token) -> bool {
  return token.kind == TokenKind::Name || token.kind == TokenKind::Keyword || token.kind == TokenKind::Number ||
         token.kind == TokenKind::String || token.is_operator("...");
}

// True for tokens that a postfix may follow: `a(`, `a.b`, `a[`.
auto ends_operand(const Token& token) -> bool { return token.kind == TokenKind::Close || (is_word(token) && token.kind != TokenKind::Keyword); }

// `a.b ** -2`: operands so simple that the operator has no spaces.
auto is_close_power(const std::vector<Token>& tokens, size_t at) -> bool {
  if (at == 0 || at + 1 >= tokens.size()) { return false; }
  auto is_simple = [&](size_t i) { return tokens[i].kind == TokenKind::Name || tokens[i].kind == TokenKind::Number; };
  size_t left = at - 1;
  if (!is_simple(left)) { return false; }
  while (left >= 2 && tokens[left - 1].is_operator(".") && tokens[left - 2].kind == TokenKind::Name) { left -= 2; }
  if (left >= 1 && tokens[left - 1].is_operator(".")) { return false; }
  size_t right = at + 1;
  if (tokens[right].is_operator("-") && right + 1 < tokens.size()) { ++right; }
  if (!is_simple(right)) { return false; }
  while (right + 2 < tokens.size() && tokens[right + 1].is_operator(".") && tokens[right + 2].kind == TokenKind::Name) { right += 2; }
  return right + 1 >= tokens.size() || !(tokens[right + 1].kind == TokenKind::Open || tokens[right + 1].is_operator("."));
}

struct Bracket {
  char open = 0;
  bool is_call = false;        // arguments or parameters: "=" gives a default
  bool is_subscript = false;
  bool is_parameters = false;  // of a def: annotations
  bool is_annotated = false;   // the current parameter has an annotation
  int lambdas = 0;             // the number of `lambda`s without their colon yet
};

}  // namespace

auto lex(std::string_view line) -> std::optional<LexedLine> {
  return Lexer(line).run();
}

auto is_prefix(const std::vector<Token>& tokens, size_t at) -> bool {
  const Token& op = tokens[at];
  if (op.kind != TokenKind::Operator || (op.text != "+" && op.text != "-" && op.text != "*" && op.text != "**" && op.text != "~")) { return false; }
  return at == 0 || !ends_operand(tokens[at - 1]);
}

void space_tokens(std::vector<Token>& tokens) {
  std::vector<Bracket> stack(1);
  bool is_def = false;
  bool is_from = !tokens.empty() && tokens[0].is("from");
  for (size_t i = 0; i < tokens.size(); ++i) {
    Token& t = tokens[i];
    if (t.is("import")) { is_from = false; }
    const Token* p = i == 0 ? nullptr : &tokens[i - 1];
    Bracket& here = stack.back();
    bool is_default = t.is_operator("=") && (here.lambdas > 0 || (here.is_call && !here.is_annotated));
    if (t.is_operator(":")) {
      if (here.lambdas > 0) { --here.lambdas; }
      else if (here.is_subscript) { t.is_slice_colon = true; }
      else if (here.is_parameters) { here.is_annotated = true; }
    }
    if (t.is_operator(",")) { here.is_annotated = false; }
    if (t.is("lambda")) { ++here.lambdas; }
    if (t.is("def")) { is_def = true; }

    auto space = [&]() -> bool {
      if (p == nullptr) { return false; }
      if (p->kind == TokenKind::Open || t.kind == TokenKind::Close) { return false; }
      if (t.is_operator(",") || t.is_operator(";")) { return false; }
      if (p->is_operator(",")) { return true; }
      if (is_from && (p->is_operator(".") || p->is_operator("..."))) { return false; }
      if (p->is_operator(".")) { return t.is("import"); }
      if (t.is_operator(".")) { return p->kind == TokenKind::Keyword || p->kind == TokenKind::Number; }
      if (t.is_operator(":")) { return false; }
      if (p->is_operator(":")) { return !p->is_slice_colon; }
      if (is_prefix(tokens, i - 1)) { return false; }
      if (p->is_operator("@") && i == 1) { return false; }
      if (is_default) { return false; }
      if (p->is_operator("=") && !p->space_before) { return false; }
      if (t.kind == TokenKind::Open && t.text != "{") { return !ends_operand(*p); }
      if (t.is_operator("**") && is_close_power(tokens, i)) { return false; }
      if (p->is_operator("**") && is_close_power(tokens, i - 1)) { return false; }
      return true;
    };
    t.space_before = space();

    if (t.kind == TokenKind::Open) {
      Bracket inner;
      inner.open = t.text[0];
      bool follows = p != nullptr && ends_operand(*p);
      inner.is_parameters = is_def && stack.size() == 1 && t.text == "(";
      inner.is_call = t.text == "(" && follows;
      // `def f[n: T.int32](...)`: parameters as well.
      bool is_generic = is_def && stack.size() == 1 && t.text == "[";
      inner.is_subscript = t.text == "[" && follows && !is_generic;
      if (inner.is_parameters) { is_def = false; }
      inner.is_parameters |= is_generic;
      stack.push_back(inner);
    } else if (t.kind == TokenKind::Close && stack.size() > 1) {
      stack.pop_back();
    }
  }
}

}  // namespace loopsmith::format
