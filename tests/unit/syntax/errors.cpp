// A mistake in a text is reported once, at its place, and damages no other line.
#include <string>
#include <vector>

#include "syntax/document.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::syntax;

namespace {

// "line:column-column: message [code]", lines and columns from 1, for each diagnostic.
auto errors(const std::string& text) -> std::vector<std::string> {
  Document document(text);
  SourceText source("t", text);
  std::vector<std::string> out;
  for (const Diagnostic& diagnostic : document.diagnostics()) {
    Span where = document.resolve(diagnostic.where).value();
    auto at = source.line_column(where.begin);
    out.push_back(std::to_string(at.line + 1) + ":" + std::to_string(at.column + 1) + "-" +
                  std::to_string(at.column + 1 + where.end - where.begin) + ": " + diagnostic.message() + " [" +
                  std::string(code_id(diagnostic.code)) + "]");
  }
  return out;
}
using Errors = std::vector<std::string>;

auto names(const std::string& text) -> std::string {
  Document document(text);
  std::string out;
  for (const PlacedItem& placed : document.items()) {
    out += std::string(placed.item->name.view()) + (placed.item->has_error ? "! " : " ");
  }
  return out;
}

auto tree(const std::string& text) -> std::string {
  std::string out;
  Document document(text);
  for (const PlacedItem& placed : document.items()) { out += (out.empty() ? "" : " ") + to_sexpr(*placed.item); }
  return out;
}

}  // namespace

TEST_CASE("brackets") {
  CHECK(errors("x = f(1\ny = 2\n") == Errors{"1:6-7: `(` is never closed [unclosed-bracket]"});
  CHECK(errors("x = (1, 2]\n") == Errors{"1:10-11: `]` does not close `(` [mismatched-bracket]"});
  CHECK(errors("x = 1)\n") == Errors{"1:6-7: `)` has no opening bracket [unmatched-bracket]"});
  CHECK(tree("x = f(1\ny = 2\n") == "(broken-stmt! (name x) (name f) (int 1)) (assign target:(name y) (int 2))");
  // Valid in any layout.
  CHECK(errors("x = f(\n1,\n# c\n2\n)\ny = [\n]\n").empty());
}

TEST_CASE("an unclosed bracket in a function leaves its neighbours alone") {
  std::string text =
      "def f():\n    a = g(1,\n    b = 2\n    for i in range(4:\n        c = 3\n    return a\n\ndef h():\n    return 1\n";
  CHECK(errors(text) == Errors{"2:10-11: `(` is never closed [unclosed-bracket]", "4:19-20: `(` is never closed [unclosed-bracket]"});
  CHECK(tree(text) ==
        "(def! f body:(broken-stmt! (name a) (name g) (int 1)) body:(assign target:(name b) (int 2)) "
        "body:(broken-stmt! (name i) (name range) (int 4) body:(assign target:(name c) (int 3))) body:(return (name a))) "
        "(def h body:(return (int 1)))");
}

TEST_CASE("strings") {
  CHECK(errors("x = 'abc\ny = 1\n") == Errors{"1:5-6: this string is never closed [unclosed-string]"});
  CHECK(names("x = 'abc\ny = 1\n") == "! y ");
  // A lost triple quote damages the text up to the next declaration.
  std::string text = "def f():\n    \"\"\"doc\n    return 1\n\ndef g():\n    \"\"\"doc\"\"\"\n    return 2\n\ndef h():\n    pass\n";
  CHECK(errors(text) == Errors{"2:5-8: this string is never closed [unclosed-string]"});
  CHECK(names(text) == "f! g h ");
}

TEST_CASE("a diagnostic names the missing token") {
  CHECK(errors("for i in range(3)\n    pass\n") == Errors{"1:17-18: expected `:` at the end of the `for` line [missing-colon]"});
  CHECK(errors("x = a +\ny = 1\n") == Errors{"1:7-8: expected an expression after `+`, found the end of the line [expected-token]"});
  CHECK(errors("x =\n") == Errors{"1:3-4: expected an expression after `=`, found the end of the line [expected-token]"});
  CHECK(errors("a.\nb\n") == Errors{"1:2-3: expected a name after `.`, found the end of the line [expected-token]"});
  CHECK(errors("f(a, , b)\n") == Errors{"1:6-7: expected an expression after `,`, found `,` [expected-token]"});
  CHECK(errors("f(a b)\n") == Errors{"1:5-6: unexpected `b` after `a`: this is not a Python statement [unexpected-token]"});
  CHECK(errors("if a = 3: pass\n") == Errors{"1:6-7: `=` assigns, but `if` needs a condition [assign-in-condition]"});
  CHECK(errors("x = a && b\n") == Errors{"1:7-9: `&&` has no meaning in Python [not-python]"});
  CHECK(errors("if !a:\n    pass\n") == Errors{"1:4-5: unexpected character: `!` [bad-character]"});
  CHECK(errors("a[i]++\n") == Errors{"1:5-7: `++` has no meaning in Python [not-python]"});
  CHECK(errors("x = a--\n") == Errors{"1:6-8: `--` has no meaning in Python [not-python]"});
  CHECK(errors("for (int i = 0; i < 3; i++) {\n") == Errors{"1:29-30: `{` is never closed [unclosed-bracket]"});
  CHECK(errors("for (i = 0; i < 3; i = i + 1):\n    a\n") == Errors{"1:11-12: `for (...; ...; ...)` has no meaning in Python [not-python]"});
  CHECK(errors("x = a $ b\n") == Errors{"1:7-8: unexpected character: `$` [bad-character]"});
  CHECK(errors("from x\nimport y\n").size() == 1);
  CHECK(errors("x = for\n").size() == 1);
  CHECK(errors("x = a + not b\n") == Errors{"1:9-12: unexpected `not` after an operator: this is not a Python statement [unexpected-token]"});
}

TEST_CASE("layout") {
  CHECK(errors("def f():\nx = 1\n") == Errors{"1:8-9: expected an indented block after the `def` line [missing-block]"});
  CHECK(errors("def f():\n    a\n      b\n") == Errors{"3:1-7: unexpected indent: no block begins here [unexpected-indent]"});
  CHECK(errors("def f():\n    if a:\n        b\n      c\n") == Errors{"4:1-7: the indentation of this line matches no enclosing block [bad-dedent]"});
  CHECK(errors("else:\n    a\n") == Errors{"1:1-5: `else` without a matching `if`, `for` or `while` [clause-without-head]"});
  CHECK(errors("@a\nx = 1\n") == Errors{"1:1-3: expected `def` or `class` after this decorator [decorator-without-definition]"});
  CHECK(errors("if a:\n    b\n\n# c\n\nelse:\n    d\n").empty());
  CHECK(errors("if a:\r\n\tb\r\nelse:\r\n\tc\r\n").empty());
  CHECK(errors("if a:\r    b\rc\r").empty());
}

TEST_CASE("targets and arguments") {
  CHECK(errors("f(x) = 3\n") == Errors{"1:1-5: cannot assign to the result of a call [invalid-target]"});
  CHECK(errors("a, 1 = 3\n") == Errors{"1:4-5: cannot assign to a literal [invalid-target]"});
  CHECK(errors("f(a=1, b)\n") == Errors{"1:8-9: a positional argument follows keyword arguments [positional-after-keyword]"});
}

TEST_CASE("several mistakes, each where it is") {
  std::string text = "def f():\n    a = = 1\n    b = 2\n    c = (3\n    d = 4 5\n    return b\n";
  CHECK(errors(text) == Errors{"2:9-10: expected an expression after `=`, found `=` [expected-token]",
                               "4:9-10: `(` is never closed [unclosed-bracket]",
                               "5:11-12: unexpected `5` after `4`: this is not a Python statement [unexpected-token]"});
  CHECK(tree(text) ==
        "(def! f body:(broken-stmt! (name a) (int 1)) body:(assign target:(name b) (int 2)) body:(broken-stmt! (name c) (int 3)) "
        "body:(broken-stmt! (name d) (int 4) (int 5)) body:(return (name b)))");
}

TEST_CASE("a broken decorator or head keeps the function or its block") {
  CHECK(tree("@T.prim_func(\ndef f():\n    pass\n") == "(def! decorator:(broken!) f body:(pass))");
  CHECK(names("def g(:\n    x = 1\n") == "g! ");
  CHECK(tree("class M:\n    def a(self:\n        x = 1\n    def b(self): pass\n").find("(def b param:self body:(pass))") != std::string::npos);
}

TEST_CASE("bytes that are no text") {
  CHECK(errors(std::string("x = 1\0\n", 7)) == Errors{"1:6-7: unexpected character: a byte of value 0 [bad-character]"});
  CHECK(errors(std::string(100, '\0')) == Errors{"1:1-2: this is a binary file, not a text: it contains bytes of value 0 [binary-text]"});
  CHECK(errors("x = '\xff'\n") == Errors{"1:6-7: this text is not valid UTF-8: byte 0xff [invalid-utf8]"});
  CHECK(errors("y = 1  # \xc3\x28\n").size() == 1);
  CHECK(errors("\xEF\xBB\xBFx = 1\n").empty());
  CHECK(names("\xEF\xBB\xBFx = 1\n") == "x ");
  CHECK(errors("").empty());
  CHECK(errors("\n\n  \n").empty());
  CHECK(errors("\xC3\xA9t\xC3\xA9 = 1\n").empty());
}

TEST_CASE("deep and long input") {
  auto many = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) { out += text; }
    return out;
  };
  const int count = tests::is_sanitized ? 4000 : 20000;
  CHECK(errors("x = " + many("(", count) + "1" + many(")", count) + "\ny = 1\n") ==
        Errors{"1:205-206: nested too deeply: more than 200 levels [nested-too-deeply]"});
  CHECK(errors("x = " + many("-", count) + "1\n").size() == 1);
  CHECK(errors("x = " + many("not ", count) + "1\n").size() == 1);
  CHECK(errors("x = " + many("a if b else ", count) + "1\n").size() == 1);
  CHECK(errors("x = " + many("lambda: ", count) + "1\n").size() == 1);
  CHECK(errors("x = " + many("a ** ", count) + "1\n").size() == 1);
  CHECK(errors("x = " + many("a = ", count) + "1\n").empty());
  CHECK(errors("x = " + many("a + ", 2500) + "1\n").empty());
  CHECK(errors("x = " + many("a + ", 20000) + "1\n").size() == 1);
  CHECK(errors("x = a" + many(".b", 20000) + "\n").size() == 1);
  CHECK(errors("x = " + many("a and ", count) + "1\n").empty());
  CHECK(errors("x = [" + many("1, ", count) + "]\n").empty());
  std::string blocks;
  for (int i = 0; i < 1000; ++i) { blocks += std::string(static_cast<size_t>(i), ' ') + "if a:\n"; }
  CHECK_FALSE(errors(blocks).empty());
  CHECK(errors(many("f(", count)).size() == 1);
  CHECK(errors("x = " + many("f\"{", 5000)).size() == 1);
}
