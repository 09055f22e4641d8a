// Schedules of tensor expressions: the classic tutorials, typed in. Each schedule gives the same results as its program, and its trace, replayed on the
// program, makes the same program.
#include <map>
#include <string>

#include "frontend/file.h"
#include "interp/compare.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

struct Session {
  explicit Session(const std::string& text) : document(text), file(script::predeclared) { run(); }
  void run() {
    file.update(document);
    schedules.update(file);
    REQUIRE(schedules.run_all(file, {}));
  }
  auto result(const std::string& name) -> const script::ScheduleRun& {
    auto* found = schedules.find(Name(name));
    REQUIRE(found != nullptr);
    REQUIRE(found->run != nullptr);
    return *found->run;
  }
  /// The first error of a schedule; empty: it has none.
  auto error(const std::string& name) -> std::string {
    Diagnostics all = result(name).all_diagnostics();
    return all.empty() ? std::string() : all[0].message();
  }
  syntax::Document document;
  frontend::File file;
  script::Schedules schedules;
};

void require_right(Session& session, const std::string& name) {
  INFO("schedule " << name);
  INFO(session.error(name));
  const script::ScheduleRun& run = session.result(name);
  INFO(print_script(run.result->module()));
  REQUIRE(run.all_diagnostics().empty());
  for (const script::Step& step : run.steps) { REQUIRE(step.state == script::StepState::Done); }
  interp::GateOptions options;
  options.size = 37;
  auto same = interp::compare_modules(run.program, run.result->module(), Name("main"), options);
  REQUIRE(same.ok());
  INFO(same->difference);
  REQUIRE(same->equal);
  schedule::Schedule again(run.program, 1);
  again.use_intrinsics(run.result->intrinsics());
  REQUIRE(again.replay(run.result->trace()).ok());
  REQUIRE(structural_equal(again.module(), run.result->module()));
}

const std::string head = "import tvm\nfrom tvm import te\n";

const std::string packed_matmul = head + R"(
M, K, N = 64, 32, 64
bn = 32
A = te.placeholder((M, K), name="A")
B = te.placeholder((K, N), name="B")
k = te.reduce_axis((0, K), name="k")
packed = te.compute((N // bn, K, bn), lambda tile, k, j: B[k, tile * bn + j], name="packed")
C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * packed[j // bn, k, j % bn], axis=k), name="C")
)";

}  // namespace

TEST_CASE("a vector sum in parts", "[te]") {
  Session session(head + R"(
A = te.placeholder((1024,), name="A")
B = te.placeholder((1024,), name="B")
C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=64)
s[C].parallel(outer)
s[C].vectorize(inner)
print(tvm.lower(s, [A, B, C], simple_mode=True))
fadd = tvm.build(s, [A, B, C], "llvm", name="myadd")
)");
  require_right(session, "s");
  std::string text = print_script(session.result("s").result->module());
  REQUIRE(text.find("T.parallel(16)") != std::string::npos);
  REQUIRE(text.find("T.vectorized(64)") != std::string::npos);
}

TEST_CASE("a matrix product, step after step", "[te]") {
  std::string tile = R"(
s = te.create_schedule(C.op)
mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
(kaxis,) = s[C].op.reduce_axis
ko, ki = s[C].split(kaxis, factor=4)
)";
  std::string packing = R"(
tile, _, j = s[packed].op.axis
s[packed].vectorize(j)
s[packed].parallel(tile)
)";
  std::string cached = R"(
s = te.create_schedule(C.op)
CC = s.cache_write(C, "global")
mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
s[CC].compute_at(s[C], no)
mc, nc = s[CC].op.axis
(kaxis,) = s[CC].op.reduce_axis
ko, ki = s[CC].split(kaxis, factor=4)
s[CC].reorder(ko, mc, ki, nc)
s[CC].vectorize(nc)
s[CC].unroll(ki)
)";
  Session session(packed_matmul + tile + "s[C].reorder(mo, no, ko, ki, mi, ni)\n" + tile + "s[C].reorder(mo, no, ko, mi, ki, ni)\ns[C].vectorize(ni)\n" + packing + cached + packing + cached +
                  "s[C].parallel(mo)\n" + packing);
  for (const char* name : {"s", "s.2", "s.3", "s.4"}) { require_right(session, name); }
}

TEST_CASE("the order of statements about different stages does not matter", "[te]") {
  std::string first = "CC = s.cache_write(C, \"global\")\nmo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)\n";
  std::string at = "s[CC].compute_at(s[C], no)\n";
  std::string own = "mc, nc = s[CC].op.axis\nko, ki = s[CC].split(k, factor=4)\ns[CC].reorder(ko, mc, ki, nc)\ns[CC].vectorize(nc)\n";
  Session before(packed_matmul + "s = te.create_schedule(C.op)\n" + first + at + own);
  Session behind(packed_matmul + "s = te.create_schedule(C.op)\n" + first + own + at);
  require_right(before, "s");
  require_right(behind, "s");
  REQUIRE(structural_equal(before.result("s").result->module(), behind.result("s").result->module()));
}

TEST_CASE("stages are read through caches, inlined, and computed where they are read", "[te]") {
  std::string stages = head + R"(
n = 64
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
D = te.compute((n, n), lambda i, j: B[i, j] + 1.0, name="D")
k = te.reduce_axis((0, n), "k")
R = te.compute((n,), lambda i: te.sum(D[i, k], axis=k), name="R")


def inlined():
    s = te.create_schedule(R.op)
    s[B].compute_inline()
    io, ii = s[R].split(R.op.axis[0], nparts=8)
    s[D].compute_at(s[R], ii)
    jo, ji = s[D].split(s[D].op.axis[1], 16)
    s[D].vectorize(ji)
    s[D].pragma(jo, "unroll_explicit", True)
    return s


def cached():
    s = te.create_schedule(R.op)
    AA = s.cache_read(A, "global", [B])
    f = s[R].op.axis[0]
    s[D].compute_at(s[R], f)
    s[B].compute_at(s[D], D.op.axis[1])
    s[AA].compute_at(s[R], f)
    s[R].parallel(f)


def parts():
    s = te.create_schedule(R.op)
    ko, ki = s[R].split(k, factor=16)
    RF = s.rfactor(R, ki)
    xo, xi = s[R].split(s[R].op.axis[0], factor=32)
    s[RF].compute_at(s[R], xo)
    s[RF].parallel(s[RF].op.axis[1])
    s[R].parallel(xo)
)";
  Session session(stages);
  for (const char* name : {"inlined", "cached"}) { require_right(session, name); }
  INFO(session.error("parts"));
  REQUIRE(session.result("parts").steps[4].state == script::StepState::Done);
}

TEST_CASE("a recurrence", "[te]") {
  Session session(head + R"(
m = 16
n = 32
X = te.placeholder((m, n), name="X")
state = te.placeholder((m, n))
start = te.compute((1, n), lambda _, i: X[0, i], name="start")
update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
scan = te.scan(start, update, state, inputs=[X])
s = te.create_schedule(scan.op)
xo, xi = s[update].split(update.op.axis[1], factor=8)
s[start].vectorize(start.op.axis[1])
)");
  require_right(session, "s");
}

TEST_CASE("partial sums of a reduction whose size is a variable", "[te]") {
  Session session(head + R"(
n = te.var("n")
m = te.var("m")
A = te.placeholder((n, m), name="A")
k = te.reduce_axis((0, m), "k")
B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
ko, ki = s[B].split(B.op.reduce_axis[0], factor=16)
BF = s.rfactor(B, ki)
s[B].parallel(B.op.axis[0])
)");
  require_right(session, "s");
}

TEST_CASE("a stage moves with the axis that it is computed at", "[te]") {
  Session session(head + R"(
n = 16
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((n, n), lambda i, j: B[i, j] + 1.0, name="C")
s = te.create_schedule(C.op)
i, j = C.op.axis
s[B].compute_at(s[C], i)
io, ii = s[C].split(i, factor=4)
f = s[C].fuse(io, ii)
s[C].parallel(f)
# More than the iterations that the stage has there.
s[B].split(B.op.axis[0], factor=8)
)");
  require_right(session, "s");
  std::string text = print_script(session.result("s").result->module());
  // One iteration of B for each of C, in parallel, and no guard.
  REQUIRE(text.find("T.parallel(16)") < text.find("T.block(\"B\")"));
  REQUIRE(text.find("T.where") == std::string::npos);
}

TEST_CASE("a stage waits until the stage that reads it is inside", "[te]") {
  const std::string stages = head + R"(
n = 16
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((n, n), lambda i, j: B[i, j] + 1.0, name="C")
D = te.compute((n, n), lambda i, j: C[i, j] * 3.0, name="D")
s = te.create_schedule(D.op)
s[B].compute_at(s[D], D.op.axis[0])
)";
  Session session(stages + "s[C].compute_at(s[D], D.op.axis[1])\n");
  require_right(session, "s");
  Session alone(stages);
  REQUIRE(alone.error("s").starts_with("cannot move block `B` under `i`: its consumer `C` is not below that loop"));
}

TEST_CASE("every stage without a reduction inline", "[te]") {
  const std::string stages = head + R"(
n = 16
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((n, n), lambda i, j: B[j, i] + 1.0, name="C")
k = te.reduce_axis((0, n), "k")
R = te.compute((n,), lambda i: te.sum(C[i, k], axis=k), name="R")
D = te.compute((n,), lambda i: R[i] * 3.0, name="D")
s = te.create_schedule(D.op)
)";
  auto text_of = [](Session& session) { return print_script(session.result("s").result->module()); };
  Session injective(stages + "te.schedule.AutoInlineInjective(s)\n");
  require_right(injective, "s");
  REQUIRE(text_of(injective).find("T.block(\"C\")") == std::string::npos);
  REQUIRE(text_of(injective).find("T.block(\"R") != std::string::npos);
  Session elementwise(stages + "te.schedule.AutoInlineElemWise(s)\n");
  require_right(elementwise, "s");
  REQUIRE(text_of(elementwise).find("T.block(\"B\")") == std::string::npos);
  REQUIRE(text_of(elementwise).find("T.block(\"C\")") != std::string::npos);
}

TEST_CASE("refused steps of stages", "[te]") {
  const std::map<std::string, std::string> wrong = {
      {"s[D].split(R.op.axis[0], 4)", "cannot apply `split` to stage `D`: axis `i` belongs to stage `R`"},
      {"a, b = s[R].split(R.op.axis[0], 4)\ns[R].parallel(R.op.axis[0])", "cannot apply `parallel` to stage `R`: an earlier step replaced axis `i` by others"},
      {"s[D].compute_inline()\ns[B].compute_at(s[D], D.op.axis[0])", "cannot apply `compute_at` to stage `B`: stage `D` is computed inline, so it has no loops"},
      {"s[R].compute_inline()", "cannot apply `compute_inline` to stage `R`: it is an output of the schedule"},
      {"s[D].prefetch(A, D.op.axis[0], 0)", "cannot apply `prefetch` to stage `D`: the offset is the number of iterations ahead, from 1 on"},
      {"s[D].compute_at(s[R], R.op.axis[0])\ns[R].fuse(R.op.axis[0], k)", "cannot apply `fuse` to stage `R`: stage `D` is computed at axis `i`"},
      {"s[A].parallel(D.op.axis[0])", "cannot apply `parallel` to stage `A`: it is an input, which nothing computes"},
  };
  for (const auto& [statements, message] : wrong) {
    Session session(head + R"(
n = 16
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
D = te.compute((n, n), lambda i, j: B[i, j] + 1.0, name="D")
k = te.reduce_axis((0, n), "k")
R = te.compute((n,), lambda i: te.sum(D[i, k], axis=k), name="R")
s = te.create_schedule(R.op)
)" + statements + "\n");
    REQUIRE(session.error("s") == message);
  }
}

TEST_CASE("declared intrinsics with equal statements are one, and others of the same name get a number") {
  const std::string text = head + R"(
A = te.placeholder((8, 16), name="A")
B = te.compute((8, 16), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((8, 16), lambda i, j: B[i, j] * 2.0, name="C")
D = te.compute((8, 16), lambda i, j: C[i, j] + 1.0, name="D")

def row(value):
    a = te.placeholder((16,), name="a")
    b = te.compute((16,), lambda i: value(a[i]), name="b")

    def fcompute(ins, outs):
        ib = tvm.tir.ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 16, kind="vectorize") as i:
            result[i] = value(source[i])
        return ib.get()

    return te.decl_tensor_intrin(b.op, fcompute, name="row")

s = te.create_schedule(D.op)
for t in [B, C]:
    s[t].tensorize(t.op.axis[1], row(lambda x: x * 2.0))
s[D].tensorize(D.op.axis[1], row(lambda x: x + 1.0))
)";
  Session session(text);
  require_right(session, "s");
  const auto& all = session.result("s").result->intrinsics();
  REQUIRE(all);
  REQUIRE(all->size() == 2);
  CHECK((*all)[0].name == Name("row"));
  CHECK((*all)[1].name == Name("row_2"));
}
