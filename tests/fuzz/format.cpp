// Any text can be formatted: formatting twice changes nothing more, trees and comments stay. A line break can be typed anywhere.
#include "format/format.h"

#include "support/hash.h"
#include "syntax/document.h"
#include "syntax/lines.h"
#include "tests/fuzz/fuzz.h"

namespace loopsmith::fuzz {
namespace {

auto trees(const syntax::Document& document) -> std::string {
  std::string out;
  for (const syntax::PlacedItem& placed : document.items()) {
    for (syntax::StmtPtr statement : placed.item->statements) { out += syntax::to_sexpr(*statement) + "\n"; }
  }
  return out;
}

}  // namespace

void check_input(std::string_view input) {
  syntax::Document document{std::string(input)};
  std::string before = trees(document);
  uint64_t draw = hash_bytes(input);
  for (uint32_t width : {120U, 20U}) {
    // Every second input is parsed as Python.
    for (bool is_python : {(draw >> 20) % 2 == 0}) {
      format::FormatOptions options{.width = width, .is_python = is_python, .range = {}};
      std::vector<format::Edit> edits = format::format_document(document, options);
      uint32_t end = 0;
      for (const format::Edit& edit : edits) {
        if (edit.span.begin < end || edit.span.end < edit.span.begin || edit.span.end > input.size()) { fail("edits overlap, or lie outside", input); }
        end = edit.span.end;
      }
      std::string once = format::apply_edits(input, edits);
      if (trees(syntax::Document(once)) != before) { fail("formatting changes the meaning, to\n" + once, input); }
      if (format::format_text(once, options) != once) { fail("formatting again changes\n" + once, input); }
    }
  }
  auto at = static_cast<uint32_t>(hash_bytes(input) % (input.size() + 1));
  (void)format::format_on_newline(document, at);
  (void)format::format_document(document, {.range = Span{at / 2, at}});
}
auto seeds() -> std::vector<std::string> { return program_seeds(); }
auto pieces() -> std::vector<std::string> { return language_pieces(); }

}  // namespace loopsmith::fuzz
