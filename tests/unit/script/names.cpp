// Mistakes in schedules that are found without running them: names, primitives and arguments. Each mistake is found, and no correct text is reported.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "frontend/file.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

constexpr std::string_view program = R"(from tvm import tir
from tvm.script import tir as T

@T.prim_func
def scale(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


)";

struct Session {
  explicit Session(std::string text) : document(std::move(text)), file(script::predeclared) { look(); }
  void look() {
    file.update(document);
    schedules.update(file);
  }
  auto written(const Diagnostic& d) const -> std::string {
    auto span = document.resolve(d.where);
    REQUIRE(span);
    std::string out = fmt::format("`{}`: {}", document.text().substr(span->begin, span->end - span->begin), d.message());
    for (const std::string& remedy : d.remedies) { out += "; " + remedy; }
    return out;
  }
  // The errors before anything has run.
  auto findings() const -> std::vector<std::string> {
    std::vector<std::string> out;
    for (const Diagnostic& d : schedules.diagnostics()) {
      if (d.severity == Severity::Error) { out.push_back(written(d)); }
    }
    return out;
  }
  syntax::Document document;
  frontend::File file;
  script::Schedules schedules;
};

auto findings(std::string_view text) -> std::vector<std::string> { return Session(std::string(program) + std::string(text)).findings(); }
using Findings = std::vector<std::string>;

}  // namespace

TEST_CASE("all wrong names of a schedule are reported, not only the one at which it stops", "[names]") {
  CHECK(findings(R"(
@ls.schedule(scale)
def s(sch: tir.Schedule):
    block = sch.get_block("B")
    i, j = sch.get_loops(blok)
    sch.fooo(i)
    sch.paralel(i)
    sch.split(zzz, [2])
    sch.split(i, [2, None], preserve_unit_iter=True)
    sch.split(i)
    sch.bind(i, "threadIdx.x", 1)
    sch.bind(i, loop=j)
    with q:
        print([k for k in block if k2], [kk for _ in block])
)") == Findings{"`blok`: `blok` is not defined; did you mean `block`?",
            "`fooo`: a tir.Schedule has no attribute `fooo`",
            "`paralel`: a tir.Schedule has no attribute `paralel`; did you mean `parallel`?",
            "`zzz`: `zzz` is not defined",
            "`sch.split(i, [2, None], preserve_unit_iter=True)`: `split` has no parameter `preserve_unit_iter`; did you mean `preserve_unit_iters`?; call it as `split(loop, factors, preserve_unit_iters=True, disable_predication=False) -> loops`",
            "`sch.split(i)`: `split` needs an argument for `factors`; call it as `split(loop, factors, preserve_unit_iters=True, disable_predication=False) -> loops`",
            "`sch.bind(i, \"threadIdx.x\", 1)`: `bind` takes at most 2 positional arguments, 3 given",
            "`sch.bind(i, loop=j)`: `bind` gets argument `loop` twice",
            "`q`: `q` is not defined",
            "`k2`: `k2` is not defined",
            "`kk`: `kk` is not defined"});
}

TEST_CASE("names in schedules that Python makes, in the main part of a file, in helpers, and in programs with mistakes", "[names]") {
  CHECK(findings(R"(
def helper(what, loop):
    what.unrol(loop)
    what.split(lop, [2])

def test_it():
    sch = tir.Schedule(scale)
    i, j = sch.get_loops("B")
    helper(sch, i)
    sch.get_blok("B")
    if i:
        sch.parallel(qq)

if __name__ == "__main__":
    s = tir.Schedule(scale, seed=1)
    s.vectorise(s.get_loops("B")[-1])
    print(s.mod, undefined)
)") == Findings{"`get_blok`: a tir.Schedule has no attribute `get_blok`; did you mean `get_block`?",
            "`qq`: `qq` is not defined",
            "`vectorise`: a tir.Schedule has no attribute `vectorise`; did you mean `vectorize`?",
            "`undefined`: `undefined` is not defined",
            "`unrol`: a tir.Schedule has no attribute `unrol`; did you mean `unroll`?",
            "`lop`: `lop` is not defined; did you mean `loop`?"});
  std::string broken(program);
  broken.replace(broken.find("A[vi, vj]"), 9, "AA[vi, v]");
  CHECK(Session(broken + "@ls.schedule(scale)\ndef s(sch: tir.Schedule):\n    sch.foo(q)\n").findings() ==
        Findings{"`foo`: a tir.Schedule has no attribute `foo`", "`q`: `q` is not defined"});
}

TEST_CASE("a name without a value is reported; one that may have a value is not", "[names]") {
  CHECK(findings(R"(
@ls.schedule(scale)
def s(sch: tir.Schedule):
    sch.parallel(late)
    late, = sch.get_loops("B")
    for i in range(2):
        if i:
            print(of_round_before)
        of_round_before = i
    if i:
        either = 1
    print(either)
    del either
    print(either)
    while i:
        i = 0
    else:
        at_end = 1
    print(at_end)
    x += 1
)") == Findings{"`late`: `late` is not defined", "`either`: `either` is not defined", "`x`: `x` is not defined"});
}

TEST_CASE("code that may be right is not reported", "[names]") {
  CHECK(findings(R"(
import os.path as where, sys
from . import things
try:
    import numpy
except ImportError:
    numpy = None

def sets_a_global():
    global made_elsewhere
    made_elsewhere = 1

class Holder:
    hidden = 1
    def method(self, sch: tir.Schedule):
        return self.hidden, __class__

@ls.schedule(scale)
def s(sch: tir.Schedule, *more, width=4, **others):
    print(where, sys, things, numpy, made_elsewhere, __file__, __doc__, breakpoint, BaseException, later_function, more, width, others, Ellipsis)
    def inner(a, *, b=width):
        nonlocal late
        late = a + b + bound_later
        return later_function
    bound_later = 2
    late = None
    inner(1)
    get = lambda x, *y, z=width, **w: (x, y, z, w, bound_much_later)
    bound_much_later = 3
    print([(x, y) for x in range(3) for y in range(x) if (n := x)], n, {k: v for k, v in {}.items()}, {e for e in ()}, sum(g for g in range(3)))
    (a, *rest), [b, c] = (1, 2, 3), (4, 5)
    print(a, rest, b, c, f"{a}{rest!r:{b}}")
    try:
        import json as j
        with open("x") as f:
            tried = f
    except Exception as e:
        print(e)
    print(j, f, tried, e)
    match a:
        case [captured, *tail]: pass
    print(captured, tail)
    class Local:
        member = 1
        other = member
    print(Local.member)
    sch.split(*rest)
    sch.split(**others)
    sch.get_sblock("B"), sch.mod["main"], sch.state, sch.trace, sch._private, sch.copy(), sch.tune()
    sch.extra = 1
    print(sch.extra)
    with pytest.raises(Exception), suppress(NameError):
        sch.no_such_thing(no_such_name)

def later_function():
    pass
import pytest
from contextlib import suppress

@pytest.mark.xfail
def test_known():
    sch = tir.Schedule(scale)
    sch.no_such_thing(no_such_name)

def test_any(make):
    sch = make(scale)
    sch.whatever()
    sch2 = tir.Schedule(scale)
    sch2 = make(sch2)
    sch2.whatever()
    sch3 = tir.Schedule(scale)
    if hasattr(sch3, "whatever"):
        sch3.whatever()
    old = te.Schedule(scale)
    old.whatever()

def of_another(sch):
    sch.whatever()

from tvm import te
)") == Findings{});
  // Names that cannot be resolved without running the text.
  CHECK(findings("from everything import *\n@ls.schedule(scale)\ndef s(sch: tir.Schedule):\n    sch.parallel(q)\n") == Findings{});
  CHECK(findings("exec(\"q = 1\")\n@ls.schedule(scale)\ndef s(sch: tir.Schedule):\n    sch.parallel(q)\n") == Findings{});
  CHECK(findings("@enum.global_enum\nclass Names(enum.Enum):\n    q = 1\n@ls.schedule(scale)\ndef s(sch: tir.Schedule):\n    sch.parallel(q)\n") == Findings{});
  // Schedules of another library.
  CHECK(findings("from mine import Schedule\ndef test_it():\n    sch = Schedule(scale)\n    sch.whatever()\n") == Findings{});
  CHECK(findings("class tir:\n    pass\ndef test_it():\n    sch = tir.Schedule(scale)\n    sch.whatever()\n") == Findings{});
}

TEST_CASE("half a line takes nothing away from those around it, and makes nothing up", "[names]") {
  CHECK(findings(R"(
@ls.schedule(scale)
def s(sch: tir.Schedule):
    i, j = sch.get_loops("B"
    sch.parallel(i)

def after(sch):
    sch.split(zzz, [2])
)") == Findings{"`zzz`: `zzz` is not defined"});
  CHECK(findings(R"(
@ls.schedule(scale)
def s(sch: tir.Schedule):
    x = sch.
    sch.parallel(x)
    sch.parallel(y)
)") == Findings{"`y`: `y` is not defined"});
}

TEST_CASE("reports follow the text: other declarations, helpers that are no longer called", "[names]") {
  Session session(std::string(program) + "k = 1\n\ndef helper(a):\n    a.foo(k)\n\n\n@ls.schedule(scale)\ndef s(sch: tir.Schedule):\n    helper(sch)\n    print(k)\n");
  CHECK(session.findings() == Findings{"`foo`: a tir.Schedule has no attribute `foo`"});
  auto replace = [&](std::string_view from, std::string_view to) {
    size_t at = session.document.text().find(from);
    REQUIRE(at != std::string::npos);
    session.document.edit(Span{static_cast<uint32_t>(at), static_cast<uint32_t>(at + from.size())}, std::string(to));
    session.look();
    CHECK(session.findings() == Session(session.document.text()).findings());
  };
  replace("k = 1", "l = 1");
  CHECK(session.findings().size() == 3);
  replace("helper(sch)", "print(sch)");
  CHECK(session.findings() == Findings{"`k`: `k` is not defined"});
  replace("l = 1", "k = 1");
  CHECK(session.findings() == Findings{});
}

TEST_CASE("a run reports the same error where it stops, at the same place", "[names]") {
  for (std::string_view line : {"sch.paralel(i)", "sch.split(zzz, [2])", "sch.split(i, [2, None], preserve_unit_iter=True)", "sch.split(i)", "sch.bind(i, \"threadIdx.x\", 1)", "sch.bind(i, loop=j)",
                                "print([k for k in i2])", "print(lamda)"}) {
    INFO(line);
    Session session(std::string(program) + "@ls.schedule(scale)\ndef s(sch: tir.Schedule):\n    i, j = sch.get_loops(\"B\")\n    " + std::string(line) + "\n");
    REQUIRE(session.schedules.run_all(session.file, {}));
    Findings run;
    for (const Diagnostic& d : session.schedules.all()[0].run->all_diagnostics()) { run.push_back(session.written(d)); }
    CHECK(run == session.findings());
    CHECK(run.size() == 1);
  }
}
