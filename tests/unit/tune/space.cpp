// The spaces of whole programs: every expensive block is scheduled, in any surroundings, and no point changes results.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "frontend/file.h"
#include "interp/compare.h"
#include "ir/visitor.h"
#include "syntax/document.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"
#include "tune/space/sketch.h"

using namespace loopsmith;
using tune::Point;
using tune::Sketch;

namespace {

constexpr const char* two_products = R"PY(
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"), D: T.Buffer((32, 32), "float32"), E: T.Buffer((32, 32), "float32")):
    C = T.alloc_buffer((32, 32), "float32")
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j, k in T.grid(32, 32, 32):
        with T.block("E"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                E[vi, vj] = T.float32(0)
            E[vi, vj] = E[vi, vj] + C[vi, vk] * D[vk, vj]
)PY";

constexpr const char* attention = R"PY(
@T.prim_func
def main(Q: T.Buffer((2, 16, 8), "float32"), K: T.Buffer((2, 16, 8), "float32"), V: T.Buffer((2, 16, 8), "float32"), O: T.Buffer((2, 16, 8), "float32")):
    S = T.alloc_buffer((2, 16, 16), "float32")
    M = T.alloc_buffer((2, 16), "float32")
    X = T.alloc_buffer((2, 16, 16), "float32")
    Z = T.alloc_buffer((2, 16), "float32")
    P = T.alloc_buffer((2, 16, 16), "float32")
    for h, i, j, k in T.grid(2, 16, 16, 8):
        with T.block("S"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                S[vh, vi, vj] = T.float32(0)
            S[vh, vi, vj] = S[vh, vi, vj] + Q[vh, vi, vk] * K[vh, vj, vk]
    for h, i, j in T.grid(2, 16, 16):
        with T.block("M"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                M[vh, vi] = T.min_value("float32")
            M[vh, vi] = T.max(M[vh, vi], S[vh, vi, vj])
    for h, i, j in T.grid(2, 16, 16):
        with T.block("X"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            X[vh, vi, vj] = T.exp(S[vh, vi, vj] - M[vh, vi])
    for h, i, j in T.grid(2, 16, 16):
        with T.block("Z"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                Z[vh, vi] = T.float32(0)
            Z[vh, vi] = Z[vh, vi] + X[vh, vi, vj]
    for h, i, j in T.grid(2, 16, 16):
        with T.block("P"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            P[vh, vi, vj] = X[vh, vi, vj] / Z[vh, vi]
    for h, i, j, k in T.grid(2, 16, 8, 16):
        with T.block("O"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                O[vh, vi, vj] = T.float32(0)
            O[vh, vi, vj] = O[vh, vi, vj] + P[vh, vi, vk] * V[vh, vk, vj]
)PY";

constexpr const char* layernorm = R"PY(
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), G: T.Buffer((64,), "float32"), B: T.Buffer((8, 64), "float32")):
    M = T.alloc_buffer((8,), "float32")
    Q = T.alloc_buffer((8,), "float32")
    for i, j in T.grid(8, 64):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = T.float32(0)
            M[vi] = M[vi] + A[vi, vj] * T.float32(0.015625)
    for i, j in T.grid(8, 64):
        with T.block("Q"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                Q[vi] = T.float32(0)
            Q[vi] = Q[vi] + (A[vi, vj] - M[vi]) * (A[vi, vj] - M[vi])
    for i, j in T.grid(8, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = (A[vi, vj] - M[vi]) * T.rsqrt(Q[vi] + T.float32(1)) * G[vj]
)PY";

// A norm: one number for a whole tensor.
constexpr const char* norm = R"PY(
@T.prim_func
def main(A: T.Buffer((1, 64, 64), "float32"), D: T.Buffer((1,), "float32")):
    C = T.alloc_buffer((1,), "float32")
    for b, i, j in T.grid(1, 64, 64):
        with T.block("C"):
            vb, vi, vj = T.axis.remap("SRR", [b, i, j])
            with T.init():
                C[vb] = T.float32(0)
            C[vb] = C[vb] + A[vb, vi, vj] * A[vb, vi, vj]
    for b in range(1):
        with T.block("D"):
            vb = T.axis.spatial(1, b)
            D[vb] = T.sqrt(C[vb])
)PY";

constexpr const char* columns = R"PY(
@T.prim_func
def main(A: T.Buffer((64, 32), "float32"), B: T.Buffer((32,), "float32")):
    for j, i in T.grid(32, 64):
        with T.block("B"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                B[vj] = T.float32(0)
            B[vj] = B[vj] + A[vi, vj]
)PY";

auto module_of(const char* text) -> IRModule {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  IRModule module;
  for (size_t i = 0; i < file.size() && !module; ++i) { module = file.declaration(i).module; }
  REQUIRE(module);
  return module;
}

auto space_of(const IRModule& module) -> tune::Sketches {
  target::Hardware hardware;
  cost::CoreModel core;
  core.cores = 2;
  return tune::design_space({module, Name("main"), hardware, core});
}

/// The loops around each store, outermost first, and the stores without a vector loop.
struct Loops : Visitor {
  using Visitor::on;
  using Visitor::visit;
  std::vector<const For*> around;
  int in_parallel = 0, in_vectors = 0;
  void on(const For& n) override {
    around.push_back(&n);
    Visitor::on(n);
    around.pop_back();
  }
  void on(const BufferStore& n) override {
    auto has = [&](ForKind kind) { return std::any_of(around.begin(), around.end(), [&](const For* loop) { return loop->for_kind == kind; }); };
    in_parallel += has(ForKind::Parallel) ? 1 : 0;
    in_vectors += has(ForKind::Vectorized) ? 1 : 0;
    Visitor::on(n);
  }
};

auto random_point(const Sketch& sketch, std::mt19937_64& random) -> Point {
  Point point;
  for (const tune::Knob& knob : sketch.knobs()) { point.push_back(static_cast<uint16_t>(random() % knob.choices.size())); }
  return point;
}

/// The program, scheduled by that one of 3000 random points whose draft is least.
auto best_by_draft(const IRModule& module, const Sketch& sketch) -> IRModule {
  std::mt19937_64 random(1);
  Point best;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3000; ++i) {
    Point point = random_point(sketch, random);
    double seconds = sketch.draft(point);
    if (!(seconds < least)) { continue; }
    schedule::Schedule sch(module);
    if (!sketch.apply(sch, point).ok()) { continue; }
    least = seconds;
    best = point;
  }
  REQUIRE(std::isfinite(least));
  schedule::Schedule sch(module);
  REQUIRE(sketch.apply(sch, best).ok());
  return sch.module();
}

}  // namespace

TEST_CASE("one sketch schedules all heavy blocks of a program") {
  struct Case { const char* program; std::set<std::string> blocks; int stores_in_vectors; };
  // The stores are those of updates and inits.
  for (const Case& one : {Case{two_products, {"C", "E"}, 4}, Case{attention, {"S", "M", "X", "Z", "P", "O"}, 6}, Case{layernorm, {"M", "Q", "B"}, 3},
                          Case{norm, {"C", "D"}, 2}, Case{columns, {"B"}, 2}}) {
    IRModule module = module_of(one.program);
    tune::Sketches sketches = space_of(module);
    CHECK(sketches.front()->blocks() == one.blocks);
    Loops loops;
    loops.visit(best_by_draft(module, *sketches.front())->find(Name("main"))->body);
    CHECK(loops.in_vectors >= one.stores_in_vectors);
    CHECK(loops.in_parallel >= one.stores_in_vectors / 2);
  }
}

TEST_CASE("points of staged sketches are legal, and keep the results") {
  for (const char* program : {two_products, attention, layernorm, norm, columns}) {
    IRModule module = module_of(program);
    auto before = interp::Before::run(module, Name("main"));
    REQUIRE(before.ok());
    std::mt19937_64 random(7);
    tune::Sketches sketches = space_of(module);
    const int wanted = tests::size_of_test(6, 6, 2);
    int tried = 0, legal = 0;
    for (int i = 0; i < 400 && legal < wanted; ++i) {
      const Sketch& sketch = *sketches[random() % sketches.size()];
      Point point = random_point(sketch, random);
      if (!std::isfinite(sketch.draft(point))) { continue; }
      ++tried;
      schedule::Schedule sch(module);
      if (!sketch.apply(sch, point).ok()) { continue; }
      ++legal;
      auto compared = before->compare(sch.module());
      REQUIRE(compared.ok());
      INFO(compared->difference);
      CHECK(compared->equal);
    }
    INFO(program);
    CHECK(legal * 2 >= tried);
    CHECK(legal == wanted);
  }
}
