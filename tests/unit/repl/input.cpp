// The end of an input of the REPL, and the beginning of its next line: typed, piped in, pasted.
#include "repl/input.h"

#include "repl/repl.h"
#include "tests/unit/catch.h"

using namespace loopsmith::repl;

TEST_CASE("an input goes on while a bracket, a text or a block is open") {
  for (const char* whole : {"", "  ", ":why-not fuse(i, j", "?split", ";ls (", "]64", "i = 3", "sch.split(i, factors=[None, 8])", "sch.split(i,\n    factors=[None, 8])", "x = '('  # ) [",
                            "x = \"don't\"", "if n: m = 1", "x = {1: 2}", "x = a[1:2]", "f(lambda i:\n  i)", "x = \"\"\"one\ntwo (\"\"\"", "sch.f())", "for i in x:\n    f(i)\n\n"}) {
    CAPTURE(whole);
    CHECK(is_complete_input(whole));
  }
  for (const char* open : {"sch.split(i,", "x = [1,\n", "x = \"\"\"one\n'", "x = 1 + \\", "for i in x:", "for i in x:  # each", "for i in x:\n    f(i)", "for i in x:\n    f(i)\n", "@ls.schedule(main)",
                           "@ls.schedule(main)\ndef f(sch):\n    \"\"\"Doesn't (end.\"\"\"\n    sch.f()"}) {
    CAPTURE(open);
    CHECK_FALSE(is_complete_input(open));
  }
}

TEST_CASE("a line that is not indented comes after a block that has a body") {
  CHECK(ends_block("for i in x:\n    f(i)", ":undo"));
  CHECK(ends_block("for i in x:\n    f(i)\n", "g()"));
  CHECK(ends_block("if a:\n    f(i)", "elsewhere = 1"));
  CHECK_FALSE(ends_block("for i in x:\n    f(i)", "    g()"));
  CHECK_FALSE(ends_block("for i in x:\n    f(i)", ""));
  CHECK_FALSE(ends_block("for i in x:\n    f(i)", "# of it"));
  CHECK_FALSE(ends_block("if a:\n    f(i)", "else:"));
  CHECK_FALSE(ends_block("if a:\n    f(i)", "elif b:"));
  CHECK_FALSE(ends_block("for i in x:", "f(i)"));
  CHECK_FALSE(ends_block("@ls.schedule(main)", "def f(sch):"));
  CHECK_FALSE(ends_block("for i in x:\n    f(i,", ")"));
}

TEST_CASE("a text of several inputs is cut as it would be typed") {
  auto cut = [](const char* text) {
    std::string out;
    for (const std::string& one : split_inputs(text)) { out += "<" + one + ">"; }
    return out;
  };
  CHECK(cut("a = 1\r\n\r\nb = 2\r\n") == "<a = 1><b = 2>");
  CHECK(cut("sch.split(\n    i,\n\n    factors=[8, None],\n)\n:steps\n") == "<sch.split(\n    i,\n\n    factors=[8, None],\n)><:steps>");
  // The body of a block may have empty lines; a line without indentation ends it.
  CHECK(cut("for i in x:\n    f(i)\n\n    g(i)\n# of the loop\n    h(i)\n:undo\n") == "<for i in x:\n    f(i)\n\n    g(i)\n# of the loop\n    h(i)><:undo>");
  CHECK(cut("for i in x:\n    f(i)\nfor j in y:\n    g(j)\n") == "<for i in x:\n    f(i)><for j in y:\n    g(j)>");
  CHECK(cut("if a:\n    f()\nelse:\n    g()\nh()") == "<if a:\n    f()\nelse:\n    g()><h()>");
  CHECK(cut("@ls.schedule(main)\ndef s(sch):\n    sch.f()\n\n\n:steps") == "<@ls.schedule(main)\ndef s(sch):\n    sch.f()><:steps>");
}

TEST_CASE("the next line of an input is indented as its block asks") {
  CHECK(indentation_after("for i in x:") == 4);
  CHECK(indentation_after("for i in x:\n    f(i)") == 4);
  CHECK(indentation_after("for i in x:\n    if i:  # all") == 8);
  CHECK(indentation_after("def f():\n    return 1") == 0);
  CHECK(indentation_after("sch.split(i,") == 4);
}
