// Properties of the formatter: formatting twice changes nothing more; meaning, comments and order stay; damaged blanks are repaired;
// broken text stays; parts of a text are formatted as in the whole. Over all texts of the corpus and of this tree.
#include "format/format.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "format/layout.h"
#include "format/lexer.h"
#include "frontend/file.h"
#include "ir/equal.h"
#include "script/schedules.h"
#include "syntax/lines.h"
#include "tests/support/corpus.h"
#include "tests/support/effort.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::format;

namespace {

void walk(const std::string& folder, const std::function<void(const std::string&)>& f) {
  std::vector<std::string> names;
  if (DIR* dir = ::opendir(folder.c_str())) {
    while (dirent* entry = ::readdir(dir)) {
      if (entry->d_name[0] != '.') { names.push_back(folder + "/" + entry->d_name); }
    }
    ::closedir(dir);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    struct stat info {};
    if (::stat(name.c_str(), &info) != 0) { continue; }
    if (S_ISDIR(info.st_mode)) { walk(name, f); } else { f(name); }
  }
}

// All available texts, each with its name.
auto texts() -> const std::vector<std::pair<std::string, std::string>>& {
  static const auto all = [] {
    std::vector<std::pair<std::string, std::string>> out = tests::corpus_texts();
    const std::string root = tests::source_folder();
    for (const char* folder : {"/examples", "/tests/golden", "/tests/e2e", "/tests/bench"}) {
      walk(root + folder, [&](const std::string& path) {
        if (!path.ends_with(".tir") && !path.ends_with(".py")) { return; }
        std::ifstream in(path, std::ios::binary);
        std::stringstream text;
        text << in.rdbuf();
        out.emplace_back(path.substr(root.size() + 1), text.str());
      });
    }
    return out;
  }();
  return all;
}

// Some texts of the corpus and some others; every text if LOOPSMITH_ALL is set.
auto next_text(size_t i, size_t step) -> size_t {
  if (std::getenv("LOOPSMITH_ALL") != nullptr) { return i + 1; }
  step *= tests::stride(10, 3);
  return i + (i + step < tests::corpus_texts().size() ? step : tests::stride(8, 3));
}

auto comments_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const syntax::CommentSpan& comment : syntax::scan_lines(text).comments) {
    out.push_back(comment_text(std::string_view(text).substr(comment.span.begin, comment.span.end - comment.span.begin)));
  }
  return out;
}

auto trees_of(const syntax::Document& document) -> std::string {
  std::string out;
  for (const syntax::PlacedItem& placed : document.items()) {
    for (syntax::StmtPtr statement : placed.item->statements) { out += syntax::to_sexpr(*statement) + "\n"; }
  }
  return out;
}

auto program_count(frontend::File& file) -> size_t {
  size_t count = 0;
  for (size_t i = 0; i < file.size(); ++i) { count += file.declaration(i).module ? 1 : 0; }
  return count;
}

// Blanks are doubled and removed, lines broken inside brackets, levels indented by three columns, quotes changed.
auto damaged(const std::string& text, std::mt19937& random) -> std::string {
  syntax::Lines lines = syntax::scan_lines(text);
  std::string out;
  size_t at = 0;
  uint32_t unit = 1 + random() % 7;
  for (const syntax::LogicalLine& line : lines.lines) {
    std::string_view code = std::string_view(text).substr(line.span.begin, line.span.end - line.span.begin);
    size_t line_begin = text.rfind('\n', line.span.begin);
    line_begin = line_begin == std::string::npos ? 0 : line_begin + 1;
    auto lexed = lex(code);
    REQUIRE(lexed);
    REQUIRE(line.indent % 4 == 0);
    out += text.substr(at, line_begin - at);
    out += std::string(line.indent / 4 * unit, ' ');
    int depth = 0;
    const Token* before = nullptr;
    for (const Token& token : lexed->tokens) {
      if (token.kind == TokenKind::Close) { --depth; }
      auto is_word = [](const Token& t) { return t.kind != TokenKind::Operator && t.kind != TokenKind::Open && t.kind != TokenKind::Close; };
      if (before != nullptr) {
        bool needs_blank = (is_word(*before) && is_word(token)) || (before->kind == TokenKind::Number && token.is_operator("."));
        // A line break after a bracket that only groups: the bracket is there only to allow the break.
        bool may_break = depth > 0 && !(before->is("(") && token.kind != TokenKind::Close);
        switch (random() % 4) {
          case 0: out += needs_blank ? " " : ""; break;
          case 1: out += "  "; break;
          case 2: out += may_break ? "\n" + std::string(random() % 9, ' ') : " "; break;
          default: out += needs_blank ? "\t" : " "; break;
        }
      }
      if (token.kind == TokenKind::String && token.text.find_first_of("'\\\n") == std::string_view::npos && token.text.size() > 2 && !token.text.ends_with("\"\"\"") && random() % 2 == 0) {
        std::string text_of(token.text);
        std::replace(text_of.begin(), text_of.end(), '"', '\'');
        out += text_of;
      } else {
        out += token.text;
      }
      if (token.kind == TokenKind::Open) { ++depth; }
      before = &token;
    }
    if (random() % 4 == 0) { out += "   "; }
    at = line.span.end;
  }
  return out + text.substr(at);
}

}  // namespace

TEST_CASE("formatting twice is formatting once, and keeps trees, comments and order") {
  REQUIRE(texts().size() > 100);
  for (size_t i = 0; i < texts().size(); i = next_text(i, 7)) {
    const auto& [name, text] = texts()[i];
    INFO(name);
    FormatOptions options{.is_python = is_python_file(name), .range = {}};
    for (uint32_t width : {120U, 60U, 20U}) {
      options.width = width;
      std::string once = format_text(text, options);
      CHECK(format_text(once, options) == once);
      if (has_errors(syntax::Document(text).diagnostics())) { continue; }
      CHECK(trees_of(syntax::Document(once)) == trees_of(syntax::Document(text)));
      CHECK(comments_of(once) == comments_of(text));
    }
  }
}

TEST_CASE("formatting keeps the TIR") {
  size_t compared = 0;
  for (size_t i = 0; i < texts().size(); i = next_text(i, 9)) {
    const auto& [name, text] = texts()[i];
    INFO(name);
    syntax::Document before(text);
    syntax::Document after(format_text(text, {.width = 60, .is_python = is_python_file(name), .range = {}}));
    frontend::File old_file(&script::predeclared);
    frontend::File new_file(&script::predeclared);
    old_file.update(before);
    new_file.update(after);
    // An ill-formed program gets new variables each time it is parsed.
    if (has_errors(old_file.diagnostics())) { continue; }
    REQUIRE(program_count(old_file) == program_count(new_file));
    for (size_t a = 0, b = 0; a < old_file.size() && b < new_file.size(); ++a) {
      const IRModule& was = old_file.declaration(a).module;
      if (!was || has_errors(old_file.declaration(a).diagnostics)) { continue; }
      while (!new_file.declaration(b).module) { ++b; }
      CHECK(structural_equal(was, new_file.declaration(b++).module));
      ++compared;
    }
  }
  CHECK(compared > 200 / tests::stride(4));
}

TEST_CASE("damaged blanks are repaired") {
  std::mt19937 random(7);
  size_t tried = 0;
  for (size_t i = 0; i < tests::corpus_texts().size(); i = next_text(i, 11)) {
    const auto& [name, text] = tests::corpus_texts()[i];
    std::string wanted = format_text(text);
    // The comment that marks a root block keeps its place only if the columns before it are free.
    std::string worse = damaged(text, random);
    INFO(name << "\n" << worse);
    CHECK(format_text(worse) == wanted);
    ++tried;
  }
  CHECK(tried >= 50 / tests::stride(4, 2));
}

TEST_CASE("damage of any kind is survived, and formatted once is formatted") {
  std::mt19937 random(11);
  static const char* const pieces[] = {" ", "\n", "\n  ", "(", ")", ",", "#", "\"", "'''", ":", "\\\n", "\t", "=", "x", "if a:\n", ";", "# fmt: off\n", "\r\n", "f'{"};
  for (size_t i = 0; i < texts().size(); i = next_text(i, 9)) {
    const auto& [name, text] = texts()[i];
    std::string worse = text.substr(0, 3000);
    for (int k = 0; k < 4; ++k) {
      size_t at = random() % (worse.size() + 1);
      if (random() % 3 == 0) { worse.erase(at, random() % 5); } else { worse.insert(at, pieces[random() % std::size(pieces)]); }
    }
    INFO(name << "\n" << worse);
    std::string once = format_text(worse);
    CHECK(format_text(once) == once);
    CHECK(trees_of(syntax::Document(once)) == trees_of(syntax::Document(worse)));
    CHECK(comments_of(once) == comments_of(worse));
  }
}

TEST_CASE("ends of lines stay as they are") {
  CHECK(format_text("x=1\r\nif x :\r\n  y=2\r\n") == "x = 1\r\nif x:\r\n    y = 2\r\n");
  CHECK(format_text("\xEF\xBB\xBFx=1") == "\xEF\xBB\xBFx = 1\n");
  CHECK(format_text("\n\n  \nx = 1\n\n\n\n\ny = 2\n\n\n") == "x = 1\n\n\ny = 2\n");
  CHECK(format_text("").empty());
  // A string that does not end stays unchanged, and so does the line break inside it.
  std::string mixed = format_text("# a\r\n@T.prim_func\ndef f():\n    v = T.axis.spatial(4,''' j)\n    B[v] = A[v]\n\n\n@T.prim_func\ndef g():\n    x=1\n");
  CHECK(format_text(mixed) == mixed);
}

TEST_CASE("a range: only lines it touches, columns only of whole blocks") {
  const std::string text = "x=1\nfor i in y:\n  a=1\n  if b:\n     c=2\n     d=3\nz=4\n";
  auto format_range = [&](std::string_view from, std::string_view to) {
    auto begin = static_cast<uint32_t>(text.find(from));
    auto end = static_cast<uint32_t>(text.find(to) + to.size());
    return apply_edits(text, format_document(syntax::Document(text), {.range = Span{begin, end}}));
  };
  CHECK(format_range("a=1", "a=1") == "x=1\nfor i in y:\n  a = 1\n  if b:\n     c=2\n     d=3\nz=4\n");
  CHECK(format_range("if b", "d=3") == "x=1\nfor i in y:\n  a=1\n  if b:\n      c = 2\n      d = 3\nz=4\n");
  CHECK(format_range("for", "d=3") == "x=1\nfor i in y:\n    a = 1\n    if b:\n        c = 2\n        d = 3\nz=4\n");
}

TEST_CASE("after a line break: the statement above, and where the next begins") {
  auto type_newline = [](std::string text) {
    size_t at = text.find('$');
    text.replace(at, 1, "\n");
    std::string out = apply_edits(text, format_on_newline(syntax::Document(text), static_cast<uint32_t>(at + 1)));
    return out;
  };
  CHECK(type_newline("def f():\n  x=1$") == "def f():\n  x = 1\n  ");
  CHECK(type_newline("def f():\n    for i in  y :$") == "def f():\n    for i in y:\n        ");
  CHECK(type_newline("def f():\n    return x$") == "def f():\n    return x\n");
  CHECK(type_newline("x = f(1,$\n)") == "x = f(1,\n\n)");
  CHECK(type_newline("x = f(1,$") == "x = f(1,\n");
  CHECK(type_newline("def f():\n    a=1\n    b=(2$\n    c=3\n") == "def f():\n    a=1\n    b=(2\n\n    c=3\n");
}
