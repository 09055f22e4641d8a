// The script language: values, limits, errors with their places, and functions resumed from a statement.
#include "eval/evaluator.h"

#include "support/codes.h"
#include "syntax/document.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::eval;

namespace {

struct Run {
  syntax::Document document;
  Evaluator evaluator;
  ScopeRef scope;
  bool failed = false;

  explicit Run(const std::string& text, Limits limits = {}) : document(text) {
    evaluator.limits = limits;
    scope = evaluator.new_scope({});
    for (const auto& placed : document.items()) {
      evaluator.tree = placed.item;
      for (const syntax::Stmt* stmt : placed.item->statements) {
        Value result;
        Flow flow = evaluator.exec(*stmt, scope, result);
        if (flow == Flow::Failed) { failed = true; return; }
      }
    }
  }
  [[nodiscard]] auto operator[](const char* name) const -> std::string {
    const Value* v = scope->find(Name(name));
    return v ? v->repr() : "<not bound>";
  }
  [[nodiscard]] auto error() const -> std::string {
    if (evaluator.diagnostics.empty()) { return ""; }
    const Diagnostic& d = evaluator.diagnostics.front();
    auto span = document.resolve(d.where).value_or(Span{});
    return std::string(code_id(d.code)) + " at " + document.text().substr(span.begin, span.end - span.begin);
  }
};

auto x(const std::string& expression) -> std::string {
  Run run("x = " + expression + "\n");
  return run.failed ? run.error() : run["x"];
}

}  // namespace

TEST_CASE("expressions have Python's values") {
  CHECK(x("7 // -2, 7 % -2, -7 // 2, 2 ** 10, 1 / 4") == "(-4, -1, -4, 1024, 0.25)");
  CHECK(x("1 < 2 < 3 and not 3 > 4 or 0") == "True");
  CHECK(x("[i * j for i in range(4) if i % 2 for j in (1, 10)]") == "[1, 10, 3, 30]");
  CHECK(x("{k: len(k) for k in ['a', 'bc']}") == "{'a': 1, 'bc': 2}");
  CHECK(x("'abcdef'[1:-1:2] + 'x' * 3") == "'bdxxx'");
  CHECK(x("[1, 2, 3, 4][::-1][1:]") == "[3, 2, 1]");
  CHECK(x("f\"{3.14159:.2f}|{42:>5}|{'a'!r}|{255:#x}\"") == "\"3.14|   42|'a'|0xff\"");
  CHECK(x("(lambda a, b=2, *c, **d: (a, b, c, d))(1, 5, 6, k=7)") == "(1, 5, (6,), {'k': 7})");
  CHECK(x("sorted([3, 1, 2], key=lambda v: -v), sum([1, 2, 3]), max(4, 9, 2)") == "([3, 2, 1], 6, 9)");
  CHECK(x("1.0, 1e20, 0.1, 100000.0") == "(1.0, 1e+20, 0.1, 100000.0)");
  CHECK(x("'%d of %s' % (3, 'x'), '{}-{b}'.format(1, b=2)") == "('3 of x', '1-2')");
}

TEST_CASE("sets have Python's values, in the order of insertion") {
  CHECK(x("{3, 1, 3}, set(), set('aba'), {i % 2 for i in range(5)}") == "({3, 1}, set(), {'a', 'b'}, {0, 1})");
  CHECK(x("{1, 2} | {3}, {1, 2} & {2, 3}, {1, 2} - {2}, {1, 2} ^ {2, 3}") == "({1, 2, 3}, {2}, {1}, {1, 3})");
  CHECK(x("{1} <= {1, 2}, {1, 2} < {1, 2}, {1, 2} > {2}, {1, 2} == {2, 1}, {1} == [1]") == "(True, False, True, True, False)");
  CHECK(x("2 in {1, 2}, 2 not in {1, 2}, len({1, 1}), bool(set()), sorted({2, 1}), isinstance({1}, set)") == "(True, False, 1, False, [1, 2], True)");
  CHECK(x("{1}.union([2], (3,)), {1, 2}.difference([1]), {1}.issubset([1, 2]), {1}.isdisjoint({2})") == "({1, 2, 3}, {2}, True, True)");
  Run run(
      "done = set()\n"
      "for i in (4, 2, 4):\n"
      "    if i in done: continue\n"
      "    done.add(i)\n"
      "same = done\n"
      "done |= {7}\n"
      "is_same = same is done\n"
      "done.discard(5)\n"
      "done.update([8], {9})\n"
      "first = done.pop()\n"
      "other = done.copy()\n"
      "other.clear()\n");
  CHECK(run.error() == "");
  CHECK(run["done"] == "{2, 7, 8, 9}");
  CHECK(run["first"] == "4");
  CHECK(run["is_same"] == "True");
  CHECK(run["other"] == "set()");
  CHECK(x("{[1]}") == "wrong-type at [1]");
  CHECK(x("{1}.add({2})") == "wrong-type at {2}");
  CHECK(x("{1}.remove(2)") == "key-not-found at 2");
  CHECK(x("set().pop()") == "key-not-found at set().pop()");
  CHECK(x("set(range(10 ** 15))").substr(0, 13) == "too-much-work");
}

TEST_CASE("statements and closures") {
  Run run(
      "def counter():\n"
      "    items = []\n"
      "    def add(v):\n"
      "        items.append(v)\n"
      "        return len(items)\n"
      "    return add\n"
      "add = counter()\n"
      "add(1)\n"
      "n = add(2)\n"
      "def find(values, wanted):\n"
      "    for i, v in enumerate(values):\n"
      "        if v == wanted:\n"
      "            return i\n"
      "    else:\n"
      "        return -1\n"
      "at = find([5, 6, 7], 6), find([], 1)\n"
      "a, *b = range(4)\n"
      "k = 0\n"
      "while True:\n"
      "    k += 1\n"
      "    if k > 5: break\n");
  CHECK(run.error() == "");
  CHECK(run["n"] == "2");
  CHECK(run["at"] == "(1, -1)");
  CHECK(run["b"] == "[1, 2, 3]");
  CHECK(run["k"] == "6");
}

TEST_CASE("mistakes are reported at the narrowest place") {
  CHECK(x("[1, 2][5]") == "index-out-of-range at 5");
  CHECK(x("1 + 2 // (3 - 3)") == "division-by-zero at 3 - 3");
  CHECK(x("lenn([1])") == "undefined-name at lenn");
  CHECK(x("'a'.uper()") == "no-attribute at uper");
  CHECK(x("'a' + 1") == "bad-operands at 'a' + 1");
  CHECK(x("9223372036854775807 + 1") == "integer-overflow at 9223372036854775807 + 1");
  CHECK(x("(lambda a: a)(1, 2)") == "too-many-arguments at 2");
  CHECK(x("(lambda a: a)(b=1)") == "missing-argument at lambda a: a");
  CHECK(x("{'a': 1}['b']") == "key-not-found at 'b'");
  CHECK(x("len(5)") == "wrong-type at 5");
}

TEST_CASE("work and depth are bounded") {
  CHECK(Run("while True: pass\n").error().substr(0, 13) == "too-much-work");
  CHECK(Run("def f(n): return f(n + 1)\nf(0)\n").error().substr(0, 8) == "too-deep");
  CHECK(x("'x' * 10 ** 12").substr(0, 13) == "too-much-work");
  CHECK(x("list(range(10 ** 15))").substr(0, 13) == "too-much-work");
  CancelSource source;
  source.cancel();
  syntax::Document document("while True: pass\n");
  Evaluator evaluator;
  evaluator.cancel = source.token();
  Value result;
  CHECK(evaluator.exec(*document.items()[0].item->statements[0], evaluator.new_scope({}), result) == Flow::Failed);
  CHECK(evaluator.diagnostics.at(0).code == Code::Cancelled);
}

TEST_CASE("an expression that is not evaluated is opaque, not an error") {
  Run run("async def f(): pass\nx = frozenset([1, 2])\ny = len(x) + 1\n");
  CHECK(run.evaluator.diagnostics.empty());
  CHECK(run["y"] == "<unknown>");
}

TEST_CASE("a function goes on from a snapshot, edited after it") {
  struct Watch : Observer {
    std::vector<Frame> frames;
    void before(Evaluator&, Frame& frame, size_t, const syntax::Stmt&) override { frames.push_back(frame.snapshot()); }
  };
  Run first("def f():\n    a = [1]\n    b = a\n    b.append(2)\n    return a\n");
  Ref<Function> f(first.scope->find(Name("f"))->as<Function>());
  Watch watch;
  CHECK(first.evaluator.call_function(f, {}, &watch).repr() == "[1, 2]");
  REQUIRE(watch.frames.size() == 4);

  syntax::Document edited("def f():\n    a = [1]\n    b = a\n    b.append(30)\n    b.append(40)\n    return a\n");
  first.evaluator.tree = edited.items()[0].item;
  Value g = first.evaluator.make_function(*edited.items()[0].item->statements[0]->as<syntax::FunctionDef>(), {});
  // `a` and `b` are still the same list in the copy, and the original run did not change it.
  Frame frame = watch.frames[2].snapshot();
  first.evaluator.resume_from(2, frame, Ref<Function>(g.as<Function>()));
  CHECK(frame.result.repr() == "[1, 30, 40]");
  Frame again = watch.frames[2].snapshot();
  first.evaluator.resume_from(2, again, f);
  CHECK(again.result.repr() == "[1, 2]");
}

TEST_CASE("values that contain themselves, and values that share parts, are printed and compared") {
  Run run(
      "a = []\n"
      "a.append(a)\n"
      "d = {}\n"
      "d['d'] = (d, a)\n"
      "text = f'{a} {d}'\n"
      "b = []\n"
      "b.append(b)\n"
      "same = a == b\n"
      "other = a == [1]\n"
      "x, y, t, u = [], [], (), ()\n"
      "for i in range(60):\n"
      "    x, y, t, u = [x, x], [y, y], (t, t), (u, u)\n"
      "shared = x == y, x == [y, [y]], {t: 1}[u]\n");
  CHECK_FALSE(run.failed);
  CHECK(run["text"] == "\"[[...]] {'d': ({...}, [[...]])}\"");
  CHECK(run["same"] == "True");
  CHECK(run["other"] == "False");
  CHECK(run["shared"] == "(True, False, 1)");
  // Reference counts do not free values that contain themselves, so the test breaks the cycles.
  Value result;
  syntax::Document undone("a.pop()\nb.pop()\nd.pop('d')\n");
  for (const auto& item : undone.items()) {
    run.evaluator.tree = item.item;
    for (const auto& statement : item.item->statements) { (void)run.evaluator.exec(*statement, run.scope, result); }
  }
}

TEST_CASE("values nest as deep as steps allow, and walks over them are refused at the statement") {
  // Sanitizers need larger frames, so they test with a smaller depth.
  const std::string deep = std::string("a = []\nb = []\nfor i in range(") + (tests::is_sanitized ? "10000" : "100000") + "):\n    a, b = [a], [b]\n";
  CHECK_FALSE(Run(deep + "text = str(a)\n").failed);
  CHECK(Run(deep + "same = a == b\n").error() == "too-deep at same = a == b");
  CHECK(Run("t = ()\nfor i in range(5000):\n    t = (t,)\nd = {t: 1}\n").error() == "too-deep at d = {t: 1}");
}

TEST_CASE("the refusal of a limit stands at the statement that runs") {
  if (tests::is_sanitized) { return; }   // sanitizers take minutes for these loops, and their own memory counts
  Limits small{.bytes = 64 << 20};
  CHECK(Run("a = []\nwhile True:\n    a.append('x' * 1000000)\n", small).error() == "too-much-work at a.append('x' * 1000000)");
  CHECK(Run("a = [0] * 1000\nwhile True:\n    a += a\n").error() == "too-much-work at a += a");
  CHECK(Run("a = [[0] * 4000000 for i in range(1000)]\n", small).error() == "too-much-work at a = [[0] * 4000000 for i in range(1000)]");
  CHECK(Run("s = ['x' * 1000000] * 1000\nt = ','.join(s)\n").error().substr(0, 13) == "too-much-work");
  CHECK(Run("s = ['x' * 1000000] * 1000\nprint(*s)\n").error().substr(0, 13) == "too-much-work");
  CHECK(Run("s = '{0}' * 1000\nt = s.format('x' * 1000000)\n").error().substr(0, 13) == "too-much-work");
  CHECK(Run("s = list('x' * 16000000)\n").error().substr(0, 13) == "too-much-work");
  CHECK(Run("t = ('x,' * 8000000).split(',')\n").error().substr(0, 13) == "too-much-work");
  CHECK(Run("t = sum([[0]] * 1000000, [])\n").error() == "too-much-work at t = sum([[0]] * 1000000, [])");
  CHECK(Run("a = list(range(4000000))\nwhile True:\n    a.pop(0)\n").error() == "too-much-work at a.pop(0)");
  Run slow("while True:\n    pass\n", {.steps = 1'000'000'000, .seconds = 0.05});
  CHECK(slow.error() == "too-much-work at pass");
  CHECK(slow.evaluator.diagnostics.front().message().find("more than 0.05 s of processor time") != std::string::npos);
}

TEST_CASE("long texts are searched in time that grows with their lengths") {
  if (tests::is_sanitized) { return; }   // a matter of time
  Run run("s = 'a' * 4000000\np = 'a' * 2000000 + 'b'\nx = p in s, s.find(p), s.count(p), s.strip('b' * 4000000 + 'a'), s[-1], ('\u00e4' + s)[0]\n");
  CHECK(run["x"] == "(False, -1, 0, '', 'a', '\u00e4')");
}
