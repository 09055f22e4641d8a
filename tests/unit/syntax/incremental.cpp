// Edits: unchanged declarations stay the same objects, and the result equals that of a fresh parse.
#include <random>
#include <string>

#include "syntax/document.h"
#include "syntax/lines.h"
#include "syntax/schedule_form.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::syntax;

namespace {

const std::string kProgram = R"(# Two kernels and a schedule.
from tvm.script import tir as T

N = 128

@T.prim_func
def matmul(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32")):
    """Doc."""
    for i, j in T.grid(N, N):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            with T.init():
                B[vi, vj] = T.float32(0)  # start
            B[vi, vj] = B[vi, vj] + A[vi, vj]


@I.ir_module
class Module:
    x = f"{N}"

    @T.prim_func
    def one(a: T.handle):
        A = T.match_buffer(a, (16, 16))
        if True:
            A[0, 0] = (1 +
                       2)
        else:
            pass
    # between

    @T.prim_func
    def two(b: T.handle): T.evaluate(0)


@ls.schedule(matmul, target="llvm")
def blocked(sch: tir.Schedule) -> None:
    c = sch.get_block("C")
    i, j = sch.get_loops(c)
    sch.split(i, factors=[None, 32])
)";

// The contents of a document, without ids.
auto describe(const Document& document) -> std::string {
  std::string out;
  for (const PlacedItem& placed : document.items()) {
    out += std::to_string(placed.offset) + "+" + std::to_string(placed.item->text.size()) + " " + std::to_string(static_cast<int>(placed.item->kind)) +
           " " + placed.item->name.str() + " " + to_sexpr(*placed.item, true) + " #" + std::to_string(placed.item->comments.size());
    for (const Item::Member& member : placed.item->members) {
      out += " m" + std::to_string(member.offset) + "#" + std::to_string(member.item->comments.size());
    }
    out += "\n";
  }
  for (const Diagnostic& diagnostic : document.diagnostics()) {
    Span where = document.resolve(diagnostic.where).value();
    out += std::to_string(where.begin) + "-" + std::to_string(where.end) + " " + diagnostic.message() + "\n";
  }
  return out;
}

auto decl_of(const Document& document, std::string_view name) -> DeclId {
  for (const PlacedItem& placed : document.items()) {
    if (placed.item->name == name) { return placed.item->decl; }
    for (const Item::Member& member : placed.item->members) {
      if (member.item->name == name) { return member.item->decl; }
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("an edit in one function leaves the others as they are") {
  least_lines_in_parts() = 60;
  Document document(kProgram);
  REQUIRE(document.diagnostics().empty());
  DeclId matmul = decl_of(document, "matmul");
  DeclId one = decl_of(document, "one");
  DeclId two = decl_of(document, "two");
  DeclId blocked = decl_of(document, "blocked");
  REQUIRE(blocked != 0);
  auto at = static_cast<uint32_t>(kProgram.find("A[0, 0]"));
  document.edit({at, at}, "\n\n        ");
  CHECK(document.last_work().parsed == 2);  // the function and its class
  CHECK(decl_of(document, "matmul") == matmul);
  CHECK(decl_of(document, "one") != one);
  CHECK(decl_of(document, "two") == two);
  CHECK(decl_of(document, "blocked") == blocked);
  Span moved = document.resolve({blocked, 0, 1, 0}).value();
  CHECK(document.text().substr(moved.begin, 12) == "@ls.schedule");
}

TEST_CASE("lines inserted above change nothing below") {
  Document document(kProgram);
  DeclId blocked = decl_of(document, "blocked");
  document.edit({0, 0}, "import os\n\n");
  CHECK(document.last_work().parsed == 1);
  CHECK(decl_of(document, "blocked") == blocked);
}

TEST_CASE("equal texts are two declarations") {
  Document document("x = 1\nx = 1\n");
  REQUIRE(document.items().size() == 2);
  CHECK(document.items()[0].item->decl != document.items()[1].item->decl);
  document.edit({0, 0}, "x = 1\n");
  REQUIRE(document.items().size() == 3);
  CHECK(document.items()[0].item->decl != document.items()[1].item->decl);
  CHECK(document.items()[1].item->decl != document.items()[2].item->decl);
  CHECK(document.items()[0].item->decl != document.items()[2].item->decl);
}

TEST_CASE("a first declaration that is indented is parsed again behind another") {
  Document document("     if a:\n        b = 1\n");
  document.edit(Span{5, 5}, "try:\n");
  CHECK(describe(document) == describe(Document(document.text())));
}

TEST_CASE("a schedule at the top of a file is one declaration, as far as something speaks of it") {
  const std::string text =
      "sch = tvm.tir.Schedule(f)\n# Why.\nb = sch.get_block(\"B\")\n\ndef tile(s):\n    return s\n\nN = 4\ntile(sch)\nM = 8\n\n"
      "other = Schedule(f)\nif N:\n    other.split()\n@d\nclass C:\n    x = 1\nother.fuse()\n";
  Document document(text);
  std::vector<std::string> items;
  for (const PlacedItem& placed : document.items()) { items.push_back(placed.item->name.str() + " " + std::to_string(placed.item->statements.size())); }
  CHECK(items == std::vector<std::string>{"sch 5", "M 1", "other 2", "C 1", " 1"});
  CHECK(is_script(*document.items()[0].item));
  CHECK_FALSE(is_script(*document.items()[1].item));
  // A mistake in a part is reported at its line.
  document.edit(Span{static_cast<uint32_t>(text.find("\"B\")")), static_cast<uint32_t>(text.find("\"B\")")) + 4}, "");
  CHECK(describe(document) == describe(Document(document.text())));
  CHECK(document.items()[0].item->statements.size() == 5);
}

TEST_CASE("edits give the result of a fresh parse") {
  const std::string pieces[] = {"(", ")", "[", "]", "\"", "\"\"\"", "'", "\n", "\n    ", "    ", " ", "#", ":", "x", "def f():\n", "class C:\n",
                                "@d\n", "else:\n", "if a:\n", "pass\n", "= ", "\\\n", "f\"{", "}", ",", ".", "\t", "\r\n", "match x:\n", "for ", "1", "+", ";", "{"};
  auto seed = static_cast<uint32_t>(GENERATE(1, 2, 3, 4, 5, 6));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  auto below = [&](size_t n) { return n == 0 ? 0 : static_cast<uint32_t>(random() % n); };
  Document document(kProgram);
  for (int step = 0; step < 150; ++step) {
    // Sometimes return to a text that is mostly correct.
    if (step % 25 == 24) { document.set_text(kProgram); }
    auto size = document.text().size();
    Span span{below(size + 1), 0};
    span.end = span.begin;
    if (below(3) == 0) { span.end = span.begin + below(8); }
    if (below(40) == 0) { span.end = span.begin + below(200); }
    std::string text = below(4) == 0 ? "" : pieces[below(std::size(pieces))];
    if (below(30) == 0) {
      uint32_t from = below(kProgram.size());
      text = kProgram.substr(from, below(150));
    }
    document.edit(span, text);
    Document fresh(document.text());
    INFO("step " << step << " at " << span.begin << "-" << span.end << " `" << text << "`\n" << document.text());
    REQUIRE(describe(document) == describe(fresh));
  }
}

TEST_CASE("typing a program key by key gives the result of a fresh parse") {
  Document document;
  for (uint32_t i = 0; i < kProgram.size(); ++i) {
    document.edit({i, i}, kProgram.substr(i, 1));
    if (i % 7 == 0) { REQUIRE(describe(document) == describe(Document(document.text()))); }
  }
  CHECK(document.diagnostics().empty());
}

TEST_CASE("deleting or doubling a line harms one declaration") {
  // Every edit of every line of the program: all declarations except the edited one and its class keep their ids.
  Document whole(kProgram);
  SourceText source("t", kProgram);
  for (uint32_t line = 0; line + 1 < source.line_count(); ++line) {
    uint32_t begin = source.line_start(line);
    uint32_t end = source.line_start(line + 1);
    for (bool twice : {false, true}) {
      Document document(kProgram);
      document.edit({begin, twice ? begin : end}, twice ? kProgram.substr(begin, end - begin) : "");
      int missing = 0;
      for (std::string_view name : {"N", "matmul", "Module", "one", "two", "blocked"}) { missing += decl_of(document, name) == 0 ? 1 : 0; }
      INFO((twice ? "doubled" : "deleted") << " line " << line + 1 << ": " << source.line_text(line));
      CHECK(missing <= 1 + (source.line_text(line).substr(0, 5) == "class" ? 2 : 0));
    }
  }
}

TEST_CASE("a class that moved and one like it keep their own functions") {
  const std::string text = "class M:\n    def g(): pass\n\n    def h(): pass\n";
  Document document(text);
  // A declaration doubled, with one of the two changed in the same edit.
  document.edit({0, 0}, "class M:\n    y = 1\n    def g(): pass\n\n");
  REQUIRE(document.items().size() == 2);
  CHECK(document.items()[0].item->members[0].item->decl != document.items()[1].item->members[0].item->decl);
  document.edit({0, 0}, "  ");
  CHECK(describe(document) == describe(Document(document.text())));
}

TEST_CASE("an edit in a long program parses the statement it is in") {
  least_lines_in_parts() = 60;
  std::string text = "@T.prim_func\ndef main(A: T.Buffer((16,), \"float32\")):\n    # what follows is long\n";
  for (int i = 0; i < 40; ++i) {
    text += "    for i in range(16):\n        # a loop\n        A[i] = T.float32(" + std::to_string(i) + ")  # a store\n    A[" + std::to_string(i % 16) + "] = T.float32(0)\n";
  }
  Document document(text);
  REQUIRE(document.diagnostics().empty());
  const PlacedItem& program = document.items()[0];
  REQUIRE(program.item->members.size() == 80);
  DeclId decl = program.item->decl;
  std::vector<DeclId> parts;
  for (const Item::Member& part : program.item->members) { parts.push_back(part.item->decl); }

  auto at = static_cast<uint32_t>(text.find("T.float32(20)"));
  document.edit({at, at}, "T.float32(1) + ");
  CHECK(document.last_work().parsed == 2);   // the part and its program
  const Item& now = *document.items()[0].item;
  CHECK(now.decl == decl);                   // the part whose head is the same
  size_t same = 0;
  for (size_t i = 0; i < 80; ++i) { same += now.members[i].item->decl == parts[i] ? 1 : 0; }
  CHECK(same == 79);
  CHECK(document.whole(now.members[5].item->decl) == decl);
  CHECK(document.whole(decl) == decl);
  // Places refer to the present text.
  Origin inside = document.origin_at(at + 3);
  CHECK(inside.decl == now.members[40].item->decl);
  CHECK(document.resolve(inside)->begin == at + 3);
  CHECK(document.text().substr(document.resolve({parts[79], 0, 5, 0})->begin, 5) == "A[7] ");

  // Another head makes another program, with the same parts.
  document.edit({17, 21}, "other");
  CHECK(document.items()[0].item->decl != decl);
  CHECK(document.items()[0].item->members[3].item->decl == parts[3]);
  CHECK(document.last_work().parsed == 1);
  CHECK(describe(document) == describe(Document(document.text())));

  // Copied below: each part belongs to one of the copies.
  std::string copy = document.text() + "\n" + document.text();
  document.set_text(copy);
  CHECK(describe(document) == describe(Document(copy)));
  CHECK(document.items()[0].item->members[3].item->decl != document.items()[1].item->members[3].item->decl);
}

TEST_CASE("the lines of a text that was edited are those of the text") {
  std::mt19937 random(5);
  std::string text = kProgram;
  for (int i = 0; i < 400; ++i) {
    Lines old = scan_lines(text);
    static const char* const words[] = {"\n", "    ", "#", "\\\n", "(", ")", "\"", "\"\"\"", "x", " ", "\t", "# c\n", "for i in x:\n", "\r\n", ":", "+"};
    auto at = random() % (text.size() + 1);
    std::string next = random() % 3 == 0 ? text.substr(0, at) + text.substr(std::min(text.size(), at + random() % 4)) : text.substr(0, at) + words[random() % std::size(words)] + text.substr(at);
    Lines again = scan_lines_again(next, text, old);
    Lines fresh = scan_lines(next);
    REQUIRE(again.lines.size() == fresh.lines.size());
    REQUIRE(again.comments.size() == fresh.comments.size());
    CHECK(again.is_plain == fresh.is_plain);
    bool is_same = true;
    for (size_t k = 0; k < fresh.lines.size(); ++k) {
      const LogicalLine& a = again.lines[k];
      const LogicalLine& b = fresh.lines[k];
      is_same = is_same && a.span == b.span && a.indent == b.indent && a.ends_with_colon == b.ends_with_colon && a.fault == b.fault && a.fault_at == b.fault_at;
    }
    for (size_t k = 0; k < fresh.comments.size(); ++k) {
      is_same = is_same && again.comments[k].span == fresh.comments[k].span && again.comments[k].indent == fresh.comments[k].indent && again.comments[k].own_line == fresh.comments[k].own_line;
    }
    CHECK(is_same);
    // Texts with mistakes are parsed completely again, so start over after one.
    text = fresh.is_plain ? next : kProgram;
  }
}
