// Text to syntax tree: the node of each construct, and its span.
#include <algorithm>
#include <string>

#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::syntax;

namespace {

// The trees of all items; fails where there are diagnostics.
auto tree(const std::string& text) -> std::string {
  Document document(text);
  for (const Diagnostic& diagnostic : document.diagnostics()) { FAIL_CHECK(diagnostic.message()); }
  std::string out;
  for (const PlacedItem& placed : document.items()) { out += (out.empty() ? "" : " ") + to_sexpr(*placed.item); }
  return out;
}

auto value(const std::string& text) -> std::string {
  std::string all = tree(text + "\n");
  REQUIRE(all.substr(0, 6) == "(expr ");
  return all.substr(6, all.size() - 7);
}

}  // namespace

TEST_CASE("expressions") {
  CHECK(value("a + b * -c ** -d") ==
        "(binary + (name a) (binary * (name b) (unary - (binary ** (name c) (unary - (name d))))))");
  CHECK(value("a - b - c") == "(binary - (binary - (name a) (name b)) (name c))");
  CHECK(value("a ** b ** c") == "(binary ** (name a) (binary ** (name b) (name c)))");
  CHECK(value("not a == b and c or d") ==
        "(boolean or (boolean and (unary not (compare (name a) == (name b))) (name c)) (name d))");
  CHECK(value("a and b and (c and d)") ==
        "(boolean and (name a) (name b) (boolean and (name c) (name d)))");
  CHECK(value("a < b <= c != d") == "(compare (name a) < (name b) <= (name c) != (name d))");
  CHECK(value("(a < b) < c") == "(compare (compare (name a) < (name b)) < (name c))");
  CHECK(value("a not in b is not c") == "(compare (name a) not in (name b) is not (name c))");
  CHECK(value("a if b else c if d else e") ==
        "(conditional (name a) if:(name b) else:(conditional (name c) if:(name d) else:(name e)))");
  CHECK(value("lambda x, *y, z=1, **k: x + 1") ==
        "(lambda param:x param:*y param:z default:(int 1) param:**k body:(binary + (name x) (int 1)))");
  CHECK(value("f(a, *b, c=1, **d)(e).g") ==
        "(attribute (call (call (name f) (name a) (starred (name b)) keyword:c (int 1) keyword:** (name d)) (name e)) .g)");
  CHECK(value("f(x for x in y if z)") ==
        "(call (name f) (comprehension generator (name x) for:(name x) in:(name y) if:(name z)))");
  CHECK(value("{k: v for k, v in z}") ==
        "(comprehension dict key:(name k) (name v) for:(tuple (name k) (name v)) in:(name z))");
  CHECK(value("(a, (b), [c, *d], {e}, {f: g, **h}, ())") ==
        "(tuple (name a) (name b) (list (name c) (starred (name d))) (set (name e)) (dict key:(name f) (name g) splat:(name h)) (tuple))");
  CHECK(value("(n := 3)") == "(named n (int 3))");
  CHECK(value("await_(None, True, False, ...)") ==
        "(call (name await_) (constant None) (constant True) (constant False) (constant ...))");
  CHECK(value("3j") == "(opaque complex number)");
}

TEST_CASE("subscripts keep the meaning of Python's tuples of indices") {
  CHECK(value("A[i]") == "(subscript (name A) (name i))");
  CHECK(value("A[i, j]") == "(subscript (name A) tuple (name i) (name j))");
  CHECK(value("A[i,]") == "(subscript (name A) tuple (name i))");
  CHECK(value("A[(i, j)]") == "(subscript (name A) tuple (name i) (name j))");
  CHECK(value("A[()]") == "(subscript (name A) tuple)");
  CHECK(value("A[1:, ::2, :, a:b:c]") ==
        "(subscript (name A) tuple (slice lower:(int 1)) (slice step:(int 2)) (slice) (slice lower:(name a) upper:(name b) step:(name c)))");
}

TEST_CASE("numbers: any size, and 64 bits where they fit") {
  Document document("a = 0xFF; b = 1_000; c = 9223372036854775807; d = 9223372036854775808; e = 0b101; f = 1_0.5e-1; g = 0o17");
  REQUIRE(document.diagnostics().empty());
  auto number = [&](size_t i) { return document.items()[0].item->statements[i]->as<AssignStmt>()->value->as<IntExpr>(); };
  CHECK(number(0)->value == 255);
  CHECK(number(1)->value == 1000);
  CHECK(number(1)->text == "1_000");
  CHECK(number(2)->value == INT64_MAX);
  CHECK(number(2)->fits);
  CHECK_FALSE(number(3)->fits);
  CHECK(number(4)->value == 5);
  CHECK(document.items()[0].item->statements[5]->as<AssignStmt>()->value->as<FloatExpr>()->value == Approx(1.05));
  CHECK(number(6)->value == 15);
}

TEST_CASE("lines inside brackets begin in any column") {
  CHECK(tree("def f():\n    a(x[\n b,\nc], d +\ne)\n    g\n") ==
        tree("def f():\n    a(x[b, c], d + e)\n    g\n"));
}

TEST_CASE("a head without its colon costs its own line, and one message") {
  auto read = [](const std::string& text) {
    Document document(text);
    std::string out;
    for (const PlacedItem& placed : document.items()) { out += to_sexpr(*placed.item) + "\n"; }
    for (const Diagnostic& diagnostic : document.diagnostics()) { out += diagnostic.message() + "\n"; }
    return out;
  };
  CHECK(read("def f(x)\n    for i in x:\n        pass\n    return\n") ==
        "(def f param:x body:(for (name i) in:(name x) body:(pass)) body:(return))\nexpected `:` at the end of the `def` line\n");
  CHECK(read("class M\n    def f(): pass\n    def g(): pass\n") ==
        "(class M body:(def f body:(pass)) body:(def g body:(pass)))\nexpected `:` at the end of the `class` line\n");
  // A decorator of a broken head is not that of the first definition inside.
  std::string broken = read("@d\nclass 3M:\n    @e\n    def f(): pass\n");
  CHECK(broken.find("(def decorator:(name e) f body:(pass))") != std::string::npos);
  CHECK(std::count(broken.begin(), broken.end(), '\n') == 2);
}

TEST_CASE("strings are decoded and joined") {
  CHECK(value(R"('a\n\x41\u00e9\101\'"\q')") == "(string \"a\\x0aA\xC3\xA9" R"(A'\"\\q"))");
  CHECK(value(R"(r'a\n\'')") == R"((string "a\\n\\'"))");
  CHECK(value("'a' \"b\" '''c\nd'''") == "(string \"abc\\x0ad\")");
  CHECK(value(R"(b'\xff')") == "(string b\"\xff\")");
  CHECK(value("'a\\\nb'") == "(string \"ab\")");
  // A prefix after a line's end inside brackets.
  CHECK(value("('a'\n  r'\\b'\n  f'{c}')") == "(fstring text:\"a\\\\b\" value:(name c))");
  CHECK(value("''") == "(string \"\")");
  CHECK(value(R"(f"a{b}{{c}}{d!r:>{w}.3f}")") ==
        "(fstring text:\"a\" value:(name b) text:\"{c}\" value:(name d) conversion:r format:< text:\">\" value:(name w) text:\".3f\" format:>)");
  CHECK(value(R"(f"{x = }" 'y')") == R"((fstring text:"x = " value:(name x) text:"y"))");
  CHECK(value(R"(f"{a["b"]}{f'{c}'}")") ==
        "(fstring value:(subscript (name a) (string \"b\")) value:(fstring value:(name c)))");
}

TEST_CASE("statements") {
  CHECK(tree("x = y = 1, *z\n") == "(assign target:(name x) target:(name y) (tuple (int 1) (starred (name z))))");
  CHECK(tree("a, *b = c\n") == "(assign target:(tuple (name a) (starred (name b))) (name c))");
  CHECK(tree("x: T.int32 = 3\nx: int\n") ==
        "(annassign target:(name x) type:(attribute (name T) .int32) (int 3)) (annassign target:(name x) type:(name int))");
  CHECK(tree("A[i] //= 2\n") == "(augassign //= target:(subscript (name A) (name i)) (int 2))");
  CHECK(tree("if a: b\nelif c: d\nelif e: f\nelse: g\n") ==
        "(if (name a) then:(expr (name b)) else:(if (name c) then:(expr (name d)) else:(if (name e) then:(expr (name f)) else:(expr (name g)))))");
  CHECK(tree("for i, (j, k) in T.grid(2, 3):\n    break\nelse:\n    continue\n") ==
        "(for (tuple (name i) (tuple (name j) (name k))) in:(call (attribute (name T) .grid) (int 2) (int 3)) body:(break) else:(continue))");
  CHECK(tree("while x: pass\n") == "(while (name x) body:(pass))");
  CHECK(tree("with a, b as c, d() as (e, f):\n    pass\n") ==
        "(with item:(name a) item:(name b) as:(name c) item:(call (name d)) as:(tuple (name e) (name f)) body:(pass))");
  CHECK(tree("with (a as b, c): pass\n") == "(with item:(name a) as:(name b) item:(name c) body:(pass))");
  CHECK(tree("assert a, b\n") == "(assert (name a) message:(name b))");
  CHECK(tree("del a, b[0]\n") == "(del (name a) (subscript (name b) (int 0)))");
  CHECK(tree("def f():\n    global a, b\n    nonlocal c\n    return\n") ==
        "(def f body:(scope global name:a name:b) body:(scope nonlocal name:c) body:(return))");
  CHECK(tree("import a.b as c, d\nfrom . import x\nfrom ..y import *\nfrom z import (p as q, r)\n") ==
        "(import name:a.b as:c name:d) (from . name:x) (from ..y name:*) (from z name:p as:q name:r)");
  CHECK(tree("a = 1; b\n") == "(assign target:(name a) (int 1)) (expr (name b))");
}

TEST_CASE("definitions") {
  CHECK(tree("@a\n@b(1)\ndef f(x, /, y: int = 2, *args: int, z, **kw) -> None: ...\n") ==
        "(def decorator:(name a) decorator:(call (name b) (int 1)) f param:x param:/ param:y type:(name int) default:(int 2) "
        "param:*args type:(name int) param:z param:**kw returns:(constant None) body:(expr (constant ...)))");
  CHECK(tree("def f(*, a): pass\n") == "(def f param:* param:a body:(pass))");
  CHECK(tree("@I.ir_module\nclass M(A, metaclass=B):\n    x = 1\n    @T.prim_func\n    def f(a): pass\n    def g(): pass\n") ==
        "(class decorator:(attribute (name I) .ir_module) M base:(name A) keyword:metaclass (name B) body:(assign target:(name x) (int 1)) "
        "body:(def decorator:(attribute (name T) .prim_func) f param:a body:(pass)) body:(def g body:(pass)))");
}

TEST_CASE("other Python is opaque, never an error") {
  CHECK(tree("try:\n    import a as b\nexcept (C, D) as e:\n    raise E from e\nfinally:\n    x = 1\n") ==
        "(opaque-stmt try binds:b binds:e binds:x)");
  CHECK(tree("match x:\n    case [1, *rest] if y: pass\n    case _: pass\n") == "(opaque-stmt match binds:rest)");
  CHECK(tree("match = 1\nmatch(x)\n") == "(assign target:(name match) (int 1)) (expr (call (name match) (name x)))");
  CHECK(tree("async def f(): await g()\n") == "(opaque-stmt async binds:f)");
  CHECK(tree("def f():\n    yield 1\n    x = await y\n") ==
        "(def f body:(expr (opaque yield)) body:(assign target:(name x) (opaque await)))");
  CHECK(tree("type X = int\n") == "(opaque-stmt type binds:X)");
}

TEST_CASE("positions are relative to the declaration") {
  std::string text = "import x\n\n\nclass M:\n    y = 1\n    def f(self):\n        return A[i]\n";
  Document document(text);
  REQUIRE(document.items().size() == 2);
  const PlacedItem& placed = document.items()[1];
  const auto* def = placed.item->statements[0]->as<ClassDef>()->body[1]->as<FunctionDef>();
  REQUIRE(def != nullptr);
  CHECK(def->decl != placed.item->decl);
  CHECK(def->span.begin == 0);
  const auto* subscript = def->body[0]->as<ReturnStmt>()->value->as<SubscriptExpr>();
  Span where = document.resolve(subscript->origin()).value();
  CHECK(text.substr(where.begin, where.end - where.begin) == "A[i]");
  Span brackets = document.resolve({subscript->decl, subscript->brackets_span.begin, subscript->brackets_span.end, 0}).value();
  CHECK(text.substr(brackets.begin, brackets.end - brackets.begin) == "[i]");
  Span whole = document.resolve(def->origin()).value();
  CHECK(text.substr(whole.begin, whole.end - whole.begin) == "def f(self):\n        return A[i]");
  Span cls = document.resolve(placed.item->statements[0]->origin()).value();
  CHECK(text.substr(cls.begin, cls.end - cls.begin) == text.substr(11, text.size() - 12));
  // And back.
  CHECK(document.origin_at(where.begin) == Origin{def->decl, subscript->span.begin, subscript->span.begin, 0});
  CHECK(document.declaration(def->decl)->name == "f");
  CHECK_FALSE(document.resolve({next_decl_id(), 0, 0, 0}).has_value());
}

TEST_CASE("comments are kept with their item") {
  Document document("# file\n# more\n\n# about x\nx = 1  # type: int\n\n@d\n# inside\ndef f():\n    # in f\n    pass\n    # end of f\n# after\n");
  REQUIRE(document.items().size() == 5);
  CHECK(document.items()[0].item->kind == ItemKind::Comments);
  CHECK(document.items()[0].item->comments.size() == 2);
  CHECK(document.items()[1].item->comments.size() == 1);
  REQUIRE(document.items()[2].item->comments.size() == 1);
  CHECK(document.items()[2].item->comments[0].text == "# type: int");
  CHECK_FALSE(document.items()[2].item->comments[0].own_line);
  REQUIRE(document.items()[3].item->comments.size() == 3);
  CHECK(document.items()[3].item->comments[0].text == "# inside");
  CHECK(document.items()[3].item->comments[2].text == "# end of f");
  CHECK(document.items()[4].item->comments[0].text == "# after");
}

TEST_CASE("walk visits parents first and can leave out the nodes below") {
  Document document("f(a + b)[c]\n");
  std::string kinds;
  walk(*document.items()[0].item->statements[0], [&](const Node& node) {
    kinds += std::string(kind_name(node.kind)) + " ";
    return node.kind != Kind::Binary;
  });
  CHECK(kinds == "expr subscript call name binary name ");
}
