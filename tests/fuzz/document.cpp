// No text and no edit may crash or hang the parser, and an edited document equals a fresh parse. The bytes are the text;
// the edits depend on the hash of the text.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/hash.h"
#include "syntax/document.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace loopsmith;
using namespace loopsmith::syntax;

// The whole content of a document, without ids.
auto describe(const Document& document) -> std::string {
  std::string out;
  for (const PlacedItem& placed : document.items()) {
    out += std::to_string(placed.offset) + " " + std::string(placed.item->name.view()) + " " + to_sexpr(*placed.item, true) + "#" +
           std::to_string(placed.item->comments.size()) + "\n";
  }
  for (const Diagnostic& diagnostic : document.diagnostics()) {
    Span where = document.resolve(diagnostic.where).value_or(Span{0xffffffff, 0});
    out += std::to_string(where.begin) + "-" + std::to_string(where.end) + " " + diagnostic.message() + "\n";
  }
  return out;
}

using fuzz::fail;

// Items are in order, disjoint and inside the text, with only blanks between them; nodes are inside their declaration.
void check_shape(const Document& document) {
  const std::string& text = document.text();
  uint32_t end = 0;
  for (const PlacedItem& placed : document.items()) {
    if (placed.offset < end || placed.end() > text.size()) { fail("items overlap", text); }
    std::string_view gap = std::string_view(text).substr(end, placed.offset - end);
    bool is_broken = placed.item->kind == ItemKind::Broken;
    if (!is_broken && gap.find_first_not_of(" \t\r\n\f\\\xEF\xBB\xBF") != std::string_view::npos) { fail("text between items is lost", text); }
    end = placed.end();
    for (StmtPtr statement : placed.item->statements) {
      walk(*statement, [&](const Node& node) {
        ItemPtr owner = document.declaration(node.decl);
        if (owner == nullptr || node.span.begin > node.span.end || node.span.end > owner->text.size()) { fail("a node lies outside its declaration", text); }
        return true;
      });
    }
  }
  for (const Diagnostic& diagnostic : document.diagnostics()) {
    auto where = document.resolve(diagnostic.where);
    if (!where || where->end > text.size() || where->begin > where->end) { fail("a diagnostic lies outside the text", text); }
  }
}

void check_edit(Document& document, Span span, std::string_view replacement) {
  document.edit(span, replacement);
  check_shape(document);
  Document fresh(document.text());
  std::string got = describe(document);
  std::string wanted = describe(fresh);
  if (got != wanted) {
    size_t at = 0;
    while (at < got.size() && at < wanted.size() && got[at] == wanted[at]) { ++at; }
    at = at < 200 ? 0 : at - 200;
    std::fprintf(stderr, "edited: %s\n fresh: %s\n", got.substr(at, 900).c_str(), wanted.substr(at, 900).c_str());
    fail("the edit " + std::to_string(span.begin) + "-" + std::to_string(span.end) + " gives another tree than a fresh parse", document.text());
  }
}

auto random_edit(std::mt19937_64& random, const std::string& text) -> std::pair<Span, std::string> {
  static const char* const pieces[] = {"(", ")", "[", "]", "{", "}", "\"", "'", "\"\"\"", "'''", "\n", "\n    ", "        ", " ", "#", ":", ",", ".", "=", "==", "x",
                                       "1", "def f(a):\n", "class C:\n", "@d\n", "else:\n", "elif x:\n", "except:\n", "if a:\n", "for ", " in ", "with ", "as ", "pass\n",
                                       "return ", "lambda ", "not ", "is ", "match x:\n", "case ", "import ", "from ", "\\\n", "\\", "f\"{", "f'", "r\"", "\t", "\r", "\r\n",
                                       "\xff", "\xc3\xa9", "\xEF\xBB\xBF", "$", "!", ";", "*", "**", "/", "@", "...", ":=", "->", "try:\n", "async ", "await ", "yield "};
  auto below = [&](size_t n) { return n == 0 ? uint32_t{0} : static_cast<uint32_t>(random() % n); };
  Span span{below(text.size() + 1), 0};
  span.end = span.begin;
  switch (below(8)) {
    case 0: return {span, std::string(1, static_cast<char>(below(256)))};
    case 1: span.end = std::min<uint32_t>(span.begin + 1 + below(4), static_cast<uint32_t>(text.size())); return {span, ""};
    case 2: {  // a line is deleted or doubled
      size_t begin = text.rfind('\n', span.begin == 0 ? 0 : span.begin - 1);
      begin = begin == std::string::npos ? 0 : begin + 1;
      size_t end = std::min(text.find('\n', span.begin), text.size());
      end = std::min(end + 1, text.size());
      if (end < begin) { end = begin; }
      if (below(2) == 0) { return {{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, ""}; }
      return {{static_cast<uint32_t>(begin), static_cast<uint32_t>(begin)}, text.substr(begin, end - begin)};
    }
    case 3: {  // a token is deleted or doubled
      auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
      uint32_t begin = span.begin;
      while (begin < text.size() && !is_word(text[begin])) { ++begin; }
      uint32_t end = begin;
      while (end < text.size() && is_word(text[end])) { ++end; }
      if (below(2) == 0) { return {{begin, end}, ""}; }
      return {{end, end}, " " + text.substr(begin, end - begin)};
    }
    case 4: {  // a piece from elsewhere
      uint32_t from = below(text.size());
      return {span, text.substr(from, below(300))};
    }
    default: return {span, pieces[below(std::size(pieces))]};
  }
}

}  // namespace

namespace loopsmith::fuzz {

void check_input(std::string_view input) {
  std::string text(input);
  syntax::Document document(text);
  check_shape(document);
  std::mt19937_64 random(hash_bytes(text));
  for (int i = 0; i < 3; ++i) {
    auto [span, replacement] = random_edit(random, document.text());
    check_edit(document, span, replacement);
  }
}
auto seeds() -> std::vector<std::string> {
  std::vector<std::string> out = program_seeds();
  out.emplace_back(
      "@I.ir_module\nclass M:\n    x = f\"{n!r:>{w}}\"\n\n    def g(self, *a, **k) -> None:\n        return [x for x in a if x]\n    # end\n\n    @d\n    def h(): pass\n\n"
      "try:\n    a\nexcept B as c:\n    d\nx = (1 +\n     2)\n");
  return out;
}
auto pieces() -> std::vector<std::string> { return language_pieces(); }

}  // namespace loopsmith::fuzz
