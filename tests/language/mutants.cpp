// language_mutants TEXTS ORACLE [--all | --broken]: every change of one token is noticed. Every change with --all, every broken
// text with --broken; without either, some of them.
//
// In some programs, every name, number, operator, type and attribute is replaced by others of its kind, one at a
// time. A mutant is parsed as another program (structurally different), or refused, or not evaluated. A mutant that is parsed as an
// equal program is a failure, unless the two texts have the same meaning by the rules in `means_the_same`.
//
// Then the texts of every construct are parsed with each token removed, doubled, or replaced: this must never
// crash or hang.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "corpus.h"
#include "ir/equal.h"
#include "tests/support/effort.h"

using namespace loopsmith;
using namespace loopsmith::language;

namespace {

enum class TokenKind { Name, Number, String, Operator };
struct Token { TokenKind kind; size_t begin, end; };

auto is_letter(char c) -> bool { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
auto is_digit(char c) -> bool { return c >= '0' && c <= '9'; }

auto tokens_of(const std::string& text) -> std::vector<Token> {
  std::vector<Token> out;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    char c = text[i];
    if (c == '#') {
      while (i < text.size() && text[i] != '\n') { ++i; }
    } else if (is_letter(c)) {
      while (i < text.size() && (is_letter(text[i]) || is_digit(text[i]))) { ++i; }
      out.push_back({TokenKind::Name, begin, i});
    } else if (is_digit(c)) {
      while (i < text.size() && (is_letter(text[i]) || is_digit(text[i]) || text[i] == '.')) { ++i; }
      out.push_back({TokenKind::Number, begin, i});
    } else if (c == '"') {
      ++i;
      while (i < text.size() && text[i] != '"') { i += text[i] == '\\' ? 2 : 1; }
      ++i;
      out.push_back({TokenKind::String, begin, std::min(i, text.size())});
    } else if (std::strchr("+-*/%<>=!&|^~", c)) {
      while (i < text.size() && std::strchr("+-*/%<>=!&|^~", text[i])) { ++i; }
      out.push_back({TokenKind::Operator, begin, i});
    } else {
      ++i;
    }
  }
  return out;
}

// The replacements of a token, of its kind.
auto replacements(const std::string& token, TokenKind kind, const std::vector<std::string>& names) -> std::vector<std::string> {
  static const std::vector<std::vector<std::string>> families = {
      {"+", "-", "*", "//", "%"}, {"<", "<=", ">", ">=", "==", "!="}, {"&", "|", "^"}, {"<<", ">>"}, {"and", "or"}, {"+=", "-=", "*="},
      {"int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64"},
      {"serial", "parallel", "vectorized", "unroll"},
      {"spatial", "reduce", "scan", "opaque"}, {"reads", "writes"}, {"min", "max"}, {"exp", "log", "sqrt", "tanh"}, {"floordiv", "truncdiv"},
      {"Select", "if_then_else"}, {"True", "False"}};
  std::vector<std::string> out;
  auto add_family = [&](const std::string& bare, const std::string& quote) {
    for (const auto& family : families) {
      if (std::find(family.begin(), family.end(), bare) == family.end()) { continue; }
      for (const std::string& other : family) {
        if (other != bare) { out.push_back(quote + other + quote); }
      }
    }
  };
  switch (kind) {
    case TokenKind::Operator: add_family(token, ""); break;
    case TokenKind::Number:
      out.push_back(token.find('.') == std::string::npos ? std::to_string(std::stoll("0" + token.substr(0, 17), nullptr, 10) + 1) : "2" + token);
      break;
    case TokenKind::String:
      if (token.size() >= 2) {
        std::string bare = token.substr(1, token.size() - 2);
        add_family(bare, "\"");
        out.push_back("\"" + bare + "_\"");
        if (!bare.empty() && bare.find_first_not_of("SR") == std::string::npos) {
          for (size_t i = 0; i < bare.size(); ++i) {
            std::string other = bare;
            other[i] = other[i] == 'S' ? 'R' : 'S';
            out.push_back("\"" + other + "\"");
          }
        }
      }
      break;
    case TokenKind::Name:
      add_family(token, "");
      // Another name of the program.
      if (auto at = std::find(names.begin(), names.end(), token); at != names.end()) {
        for (size_t step : {size_t{1}, names.size() / 2}) {
          const std::string& other = names[(static_cast<size_t>(at - names.begin()) + step) % names.size()];
          if (other != token) { out.push_back(other); }
        }
      }
      break;
  }
  return out;
}

// True for changes without an effect, such as another name for a block.
auto means_the_same(const std::string& text, const Token& token, const std::string& mutant) -> bool {
  auto before = [&](std::string_view what) { return token.begin >= what.size() && text.compare(token.begin - what.size(), what.size(), what) == 0; };
  std::string old = text.substr(token.begin, token.end - token.begin);
  // The name of a block is a name.
  if (token.kind == TokenKind::String && (before("T.block(") || before("T.sblock("))) { return true; }
  if (token.kind == TokenKind::String && (before("te.var(") || before("T.Var(") || before("name="))) { return true; }
  // `T.int32(0.0)` stored to a float32 is that type's own 0: constants are converted where they are used.
  bool is_constructor = token.kind == TokenKind::Name && before("T.") && token.end + 1 < text.size() && text[token.end] == '(' && (is_digit(text[token.end + 1]) || text[token.end + 1] == '-');
  return is_constructor && mutant != old;
}

// Names that the program binds and uses: those that occur at least twice, except keywords and members.
auto names_of(const std::string& text, const std::vector<Token>& tokens) -> std::vector<std::string> {
  static const std::set<std::string> keywords = {"def", "class", "for", "in", "with", "if", "else", "elif", "while", "return", "T", "I", "as", "and", "or", "not",
                                                 "range", "True", "False", "None", "assert", "pass", "lambda", "import", "from", "break", "continue", "te"};
  std::map<std::string, int> counts;
  for (const Token& t : tokens) {
    bool is_member = t.begin > 0 && text[t.begin - 1] == '.';
    bool is_keyword_argument = t.end < text.size() && text[t.end] == '=' && (t.end + 1 >= text.size() || text[t.end + 1] != '=') && t.begin > 0 && text[t.begin - 1] != ' ';
    std::string name = text.substr(t.begin, t.end - t.begin);
    if (t.kind == TokenKind::Name && !is_member && !is_keyword_argument && !keywords.count(name)) { ++counts[name]; }
  }
  std::vector<std::string> out;
  for (const auto& [name, n] : counts) {
    if (n > 1) { out.push_back(name); }
  }
  return out;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc < 3) { fmt::print("usage: language_mutants TEXTS ORACLE [--all]\n"); return 2; }
  bool all = argc > 3 && std::strcmp(argv[3], "--all") == 0;
  bool broken_only = argc > 3 && std::strcmp(argv[3], "--broken") == 0;
  std::vector<Text> texts = read_corpus(argv[2], all ? 1000 : broken_only ? 10 : 60 * tests::stride(4));
  size_t made = 0, refused = 0, unseen = 0, programs = 0;
  for (size_t index = 0; index < texts.size(); ++index) {
    // Take some changes from every program of the corpus.
    const std::string& text = texts[index].text;
    Parsed original = parse(text);
    if (original.programs.size() != 1 || !original.problems.empty()) { continue; }
    ++programs;
    const IRModule& module = original.programs[0].module;
    std::vector<Token> tokens = tokens_of(text);
    std::vector<std::string> names = names_of(text, tokens);
    size_t turn = index;
    size_t stride = all ? 1 : 7;
    for (const Token& token : tokens) {
      std::string old = text.substr(token.begin, token.end - token.begin);
      for (const std::string& other : replacements(old, token.kind, names)) {
        if (turn++ % stride != 0) { continue; }
        std::string mutant = text.substr(0, token.begin) + other + text.substr(token.end);
        ++made;
        Parsed parsed = parse(mutant);
        if (!parsed.problems.empty() || parsed.programs.size() != 1) { ++refused; continue; }
        if (first_difference(module, parsed.programs[0].module, {})) { continue; }
        if (means_the_same(text, token, other)) { continue; }
        // A name replaced in all its places gives the same program; here only one place was changed.
        ++unseen;
        size_t line_begin = text.rfind('\n', token.begin) + 1;
        if (unseen <= 25) {
          fmt::print("UNSEEN {}: `{}` for `{}` in\n  {}\n", texts[index].name, other, old, text.substr(line_begin, text.find('\n', token.begin) - line_begin));
        }
      }
    }
  }
  fmt::print("{} programs, {} mutants: {} refused, {} different, {} unseen\n", programs, made, refused, made - refused - unseen, unseen);
  size_t broken = 0, read = 0, turn = 0;
  for (const Text& text : read_texts(argv[1])) {
    std::vector<Token> tokens = tokens_of(text.text);
    std::vector<std::string> names = names_of(text.text, tokens);
    for (const Token& token : tokens) {
      std::string old = text.text.substr(token.begin, token.end - token.begin);
      std::vector<std::string> others = replacements(old, token.kind, names);
      others.insert(others.end(), {"", old + " " + old, "None", "()", "-1"});
      for (const std::string& other : others) {
        if (turn++ % (all || broken_only ? 1 : 11 * tests::stride(5)) != 0) { continue; }
        ++broken;
        read += parse(text.text.substr(0, token.begin) + other + text.text.substr(token.end)).problems.empty() ? 1 : 0;
      }
    }
  }
  fmt::print("{} broken texts read, {} of them right all the same\n", broken, read);
  return unseen == 0 && (made > 1000 || broken_only) ? 0 : 1;
}
