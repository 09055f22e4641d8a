// Cached facts about blocks: affine bindings, reads that earlier writes of the scope cover, and scopes whose stages form
// a pipeline. Each program shows a form of dependence between blocks; its comments contain the expected facts:
//
//     with T.block("add"):  # add: affine; reads covered; stage pipeline
#include "schedule/state.h"

#include <sstream>
#include <string>

#include "frontend/file.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::schedule;

namespace {

struct Case { std::string_view title, program; };

auto parse(std::string_view text) -> IRModule {
  syntax::Document document{std::string(text)};
  frontend::File file;
  file.update(document);
  for (const Diagnostic& d : file.diagnostics()) {
    if (d.severity == Severity::Error) { FAIL(d.message()); }
  }
  for (size_t i = 0; i < file.size(); ++i) {
    if (file.declaration(i).module) { return file.declaration(i).module; }
  }
  FAIL("no program");
  return {};
}

auto cases() -> std::vector<Case> {
  return {
      {"a stage after another", R"(@T.prim_func
def main(A: T.Buffer((48, 32)), D: T.Buffer((48, 32))):  # root: affine; reads covered; stage pipeline
    B = T.alloc_buffer((48, 32))
    for i, j in T.grid(48, 32):
        with T.block("scale"):  # scale: affine; reads covered; stage pipeline
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 3.0
    for i, j in T.grid(48, 32):
        with T.block("shift"):  # shift: affine; reads covered; stage pipeline
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] - 1.0
)"},
      {"a reduction and its initialisation below the same loops", R"(@T.prim_func
def main(A: T.Buffer((24, 40)), B: T.Buffer((32, 40)), C: T.Buffer((24, 32))):  # root: affine; reads covered; stage pipeline
    for i, j in T.grid(24, 32):
        with T.block("clear"):  # clear: affine; reads covered; stage pipeline
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = 0.0
        for k in range(40):
            with T.block("add"):  # add: affine; reads covered; stage pipeline
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
)"},
      {"blocks in branches of an opaque one", R"(@T.prim_func
def main(A: T.Buffer((20, 20)), B: T.Buffer((20, 20))):  # root: affine; reads covered; stage pipeline
    for i in range(20):
        with T.block("row"):  # row: affine; reads covered; stage pipeline
            vi = T.axis.S(20, i)
            T.reads(A[0:20, 0:20])
            T.writes(B[0:20, 0:20])
            B[vi, 0] = A[vi, 0]
            if A[vi, 0] == 0.0:
                with T.block("zero"):  # zero: affine; reads covered; stage pipeline
                    T.reads(A[0:20, 0:20])
                    T.writes(B[0:20, 0:20])
                    for j in range(20):
                        with T.block("twice"):
                            vj = T.axis.S(20, j)
                            B[vi, vj] = A[vi, vj] * 2.0
            else:
                with T.block("other"):  # other: affine; reads covered; stage pipeline
                    T.reads(A[0:20, 0:20])
                    T.writes(B[0:20, 0:20])
                    for j in range(20):
                        with T.block("thrice"):  # thrice: affine; reads covered; stage pipeline
                            vj = T.axis.S(20, j)
                            B[vi, vj] = A[vi, vj] * 3.0
)"},
      {"what was read is written afterwards", R"(@T.prim_func
def main(A: T.Buffer((16, 16)), B: T.Buffer((16, 16)), C: T.Buffer((16, 16))):  # root: affine; reads covered; no stage pipeline
    for i, j in T.grid(16, 16):
        with T.block("use"):  # use: affine; reads covered; stage pipeline
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
    for i, j in T.grid(16, 16):
        with T.block("change"):  # change: affine; reads covered; stage pipeline
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
)"},
      {"what an earlier iteration wrote", R"(@T.prim_func
def main(A: T.Buffer((64,)), B: T.Buffer((64,)), C: T.Buffer((64,))):  # root: affine; reads covered; no stage pipeline
    for i in range(64):
        with T.block("here"):  # here: affine; reads covered; stage pipeline
            vi = T.axis.S(64, i)
            B[vi] = A[vi] * 2.0
        with T.block("before"):  # before: affine; reads not covered; stage pipeline
            vi = T.axis.S(64, i)
            C[vi] = T.if_then_else(vi >= 1, B[vi - 1] + 1.0, 0.0)
)"},
      {"halves from two producers", R"(@T.prim_func
def main(A: T.Buffer((40,)), B: T.Buffer((40,))):  # root: affine; reads covered; stage pipeline
    for i in range(24):
        with T.block("first"):  # first: affine; reads covered; stage pipeline
            vi = T.axis.S(24, i)
            A[vi] = 1.0
    for i in range(16):
        with T.block("last"):  # last: affine; reads covered; stage pipeline
            vi = T.axis.S(16, i + 24)
            A[vi] = 2.0
    for i in range(40):
        with T.block("all"):  # all: affine; reads covered; stage pipeline
            vi = T.axis.S(40, i)
            B[vi] = A[vi] * 2.0
)"},
      {"halves with an element between them", R"(@T.prim_func
def main(A: T.Buffer((40,)), B: T.Buffer((40,))):  # root: affine; reads covered; no stage pipeline
    for i in range(23):
        with T.block("first"):  # first: affine; reads covered; stage pipeline
            vi = T.axis.S(23, i)
            A[vi] = 1.0
    for i in range(16):
        with T.block("last"):  # last: affine; reads covered; stage pipeline
            vi = T.axis.S(16, i + 24)
            A[vi] = 2.0
    for i in range(40):
        with T.block("all"):  # all: affine; reads not covered; stage pipeline
            vi = T.axis.S(40, i)
            B[vi] = A[vi] * 2.0
)"},
      {"stages in one loop", R"(@T.prim_func
def main(A: T.Buffer((64,)), B: T.Buffer((64,)), C: T.Buffer((64,))):  # root: affine; reads covered; stage pipeline
    for i in range(64):
        with T.block("make"):  # make: affine; reads covered; stage pipeline
            vi = T.axis.S(64, i)
            B[vi] = A[vi] * 2.0
        with T.block("take"):  # take: affine; reads covered; stage pipeline
            vi = T.axis.S(64, i)
            C[vi] = B[vi] + 1.0
)"},
      {"two producers, two consumers", R"(@T.prim_func
def main(A: T.Buffer((40,)), B: T.Buffer((40,))):
    for i in range(20):
        with T.block("p0"):  # p0: affine; reads covered; stage pipeline
            vi = T.axis.S(20, i)
            A[vi] = 1.0
    for i in range(20):
        with T.block("p1"):  # p1: affine; reads covered; stage pipeline
            vi = T.axis.S(20, i + 20)
            A[vi] = 2.0
    for i in range(20):
        with T.block("c0"):  # c0: affine; reads covered; stage pipeline
            vi = T.axis.S(20, i)
            B[vi] = A[vi] + 2.0
    for i in range(20):
        with T.block("c1"):  # c1: affine; reads covered; stage pipeline
            vi = T.axis.S(20, i + 20)
            B[vi] = A[vi] + 3.0
)"},
      {"a producer in tiles of another order", R"(@T.prim_func
def main(A: T.Buffer((64, 96)), C: T.Buffer((64, 96))):  # root: affine; reads covered; stage pipeline
    B = T.alloc_buffer((64, 96))
    for i, j, k, l in T.grid(8, 2, 32, 12):
        with T.block("tiles"):  # tiles: affine; reads covered; stage pipeline
            vi = T.axis.S(64, i * 8 + j * 4 + k // 8)
            vj = T.axis.S(96, k % 8 * 12 + l)
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(64, 96):
        with T.block("rows"):  # rows: affine; reads covered; stage pipeline
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
)"},
      {"a producer of blocks within blocks", R"(@T.prim_func
def main(A: T.Buffer((64, 64)), C: T.Buffer((64, 64))):  # root: affine; reads covered; stage pipeline
    B = T.alloc_buffer((64, 64))
    for i, j in T.grid(8, 8):
        with T.block("tile"):  # tile: affine; reads covered; stage pipeline
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 8 : vi * 8 + 8, vj * 8 : vj * 8 + 8])
            T.writes(B[vi * 8 : vi * 8 + 8, vj * 8 : vj * 8 + 8])
            for ii, jj in T.grid(8, 8):
                with T.block("point"):  # point: affine; reads covered; stage pipeline
                    wi, wj = T.axis.remap("SS", [ii, jj])
                    B[vi * 8 + wi, vj * 8 + wj] = A[vi * 8 + wi, vj * 8 + wj] * 2.0
    for i, j in T.grid(64, 64):
        with T.block("rows"):  # rows: affine; reads covered; stage pipeline
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
)"},
      {"a producer of corners of tiles", R"(@T.prim_func
def main(A: T.Buffer((64, 64)), C: T.Buffer((64, 64))):  # root: affine; reads covered; no stage pipeline
    B = T.alloc_buffer((64, 64))
    for i, j in T.grid(8, 8):
        with T.block("tile"):  # tile: affine; reads covered; stage pipeline
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 8 : vi * 8 + 5, vj * 8 : vj * 8 + 5])
            T.writes(B[vi * 8 : vi * 8 + 5, vj * 8 : vj * 8 + 5])
            for ii, jj in T.grid(5, 5):
                with T.block("point"):  # point: affine; reads covered; stage pipeline
                    wi, wj = T.axis.remap("SS", [ii, jj])
                    B[vi * 8 + wi, vj * 8 + wj] = A[vi * 8 + wi, vj * 8 + wj] * 2.0
    for i, j in T.grid(64, 64):
        with T.block("rows"):  # rows: affine; reads not covered; stage pipeline
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
)"},
      {"shared memory that threads fill together", R"(@T.prim_func
def main(A: T.Buffer((32, 32)), C: T.Buffer((32, 32))):  # root: affine; reads covered; stage pipeline
    B = T.alloc_buffer((32, 32), scope="shared")
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for j in range(32):
            with T.block("fill"):  # fill: affine; reads covered; stage pipeline
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for j in range(32):
            with T.block("across"):  # across: affine; reads covered; stage pipeline
                vi, vj = T.axis.remap("SS", [i, j])
                C[vj, vi] = B[vj, vi] + 1.0
)"},
      {"shared memory and threads of two axes", R"(@T.prim_func
def main(A: T.Buffer((32, 32)), C: T.Buffer((32, 32))):  # root: affine; reads covered; stage pipeline
    B = T.alloc_buffer((32, 32), scope="shared")
    for o in T.thread_binding(4, thread="threadIdx.x"):
        for n in T.thread_binding(8, thread="threadIdx.y"):
            for j in range(32):
                with T.block("fill"):  # fill: affine; reads covered; stage pipeline
                    vi = T.axis.S(32, o * 8 + n)
                    vj = T.axis.S(32, j)
                    B[vi, vj] = A[vi, vj] * 2.0
            for j in range(32):
                with T.block("across"):  # across: affine; reads covered; stage pipeline
                    vi = T.axis.S(32, o * 8 + n)
                    vj = T.axis.S(32, j)
                    C[vj, vi] = B[vj, vi] + 1.0
)"},
      {"memory of a warp, read by its own lanes", R"(@T.prim_func
def main(A: T.Buffer((64, 16)), C: T.Buffer((64, 16))):  # root: affine; reads covered; stage pipeline
    B = T.alloc_buffer((16, 2, 32), scope="warp")
    for w in T.thread_binding(2, thread="threadIdx.y"):
        for l in T.thread_binding(32, thread="threadIdx.x"):
            for j in range(16):
                with T.block("fill"):  # fill: affine; reads covered; stage pipeline
                    vw, vl, vj = T.axis.remap("SSS", [w, l, j])
                    B[vj, vw, vl] = A[vw * 32 + vl, vj] * 2.0
            for j in range(16):
                with T.block("back"):  # back: affine; reads covered; stage pipeline
                    vw, vl, vj = T.axis.remap("SSS", [w, l, j])
                    C[vw * 32 + vl, vj] = B[vj, vw, vl] + 1.0
)"},
      {"memory of a warp, read by other warps", R"(@T.prim_func
def main(A: T.Buffer((64, 16)), C: T.Buffer((64, 16))):  # root: affine; reads covered; no stage pipeline
    B = T.alloc_buffer((16, 2, 32), scope="warp")
    for w in T.thread_binding(2, thread="threadIdx.y"):
        for l in T.thread_binding(32, thread="threadIdx.x"):
            for j in range(16):
                with T.block("fill"):  # fill: affine; reads covered; stage pipeline
                    vw, vl, vj = T.axis.remap("SSS", [w, l, j])
                    B[vj, vw, vl] = A[vw * 32 + vl, vj] * 2.0
            for u in T.thread_binding(2, thread="threadIdx.y"):
                for j in range(16):
                    with T.block("back"):  # back: affine; reads not covered; stage pipeline
                        vo, vl, vw, vj = T.axis.remap("SSSS", [w, l, u, j])
                        C[vw * 32 + vl, vj] = B[vj, vw, vl] + 1.0
)"},
      {"a border that a condition keeps back", R"(@T.prim_func
def main(X: T.Buffer((56, 56)), Y: T.Buffer((56, 56))):
    near = T.alloc_buffer((56, 56))
    for h, w in T.grid(7, 7):
        for y in range(10):
            for x in range(10):
                with T.block("near"):  # near: affine; reads covered; stage pipeline
                    vy = T.axis.spatial(56, h * 8 - 1 + y)
                    vx = T.axis.spatial(56, w * 8 - 1 + x)
                    T.where(1 <= h * 8 + y and h * 8 + y < 57 and 1 <= w * 8 + x and w * 8 + x < 57)
                    near[vy, vx] = X[vy, vx]
        for y, x, dy, dx in T.grid(8, 8, 3, 3):
            with T.block("most"):  # most: affine; reads covered; stage pipeline
                vy = T.axis.spatial(56, h * 8 + y)
                vx = T.axis.spatial(56, w * 8 + x)
                ry, rx = T.axis.remap("RR", [dy, dx])
                with T.init():
                    Y[vy, vx] = 0.0
                Y[vy, vx] = T.max(Y[vy, vx], T.if_then_else(T.likely(1 <= vy + ry) and T.likely(vy + ry < 57) and T.likely(1 <= vx + rx) and T.likely(vx + rx < 57), near[vy + ry - 1, vx + rx - 1], T.float32(0)))
)"},
      {"domains that do not start at 0", R"(@T.prim_func
def main(A: T.Buffer((64,)), B: T.Buffer((64,))):
    for i in range(60):
        with T.block("make"):
            vi = T.axis.S((0, 60), i)
            A[vi] = 1.0
    for i in range(60):
        with T.block("take"):  # take: affine; reads not covered; stage pipeline
            vi = T.axis.S((4, 64), i + 4)
            B[vi] = A[vi]
)"},
      {"a condition over loops that make two iter vars", R"(@T.prim_func
def main(A: T.Buffer((5, 5, 64)), B: T.Buffer((64,))):
    for o, c, p, q in T.grid(2, 32, 1, 32):
        with T.block("sum"):  # sum: affine; reads covered; stage pipeline
            T.where(p * 32 + q < 25)
            vc = T.axis.spatial(64, o * 32 + c)
            r0 = T.axis.reduce(5, (p * 32 + q) // 5)
            r1 = T.axis.reduce(5, (p * 32 + q) % 5)
            with T.init():
                B[vc] = T.float32(0)
            B[vc] += A[r0, r1, vc]
)"},
      {"padded tiles of matrix units, written back without the padding", R"(@T.prim_func
def main(A: T.Buffer((31, 31)), D: T.Buffer((31, 31))):
    C = T.alloc_buffer((31, 31))
    S = T.alloc_buffer((32, 32), scope="shared")
    W = T.alloc_buffer((32, 32), scope="wmma.accumulator")
    for by in T.thread_binding(2, thread="blockIdx.y"):
        for bx in T.thread_binding(1, thread="blockIdx.x"):
            for ty in T.thread_binding(2, thread="threadIdx.y"):
                for a, b in T.grid(16, 16):
                    with T.block("compute"):
                        v0 = T.axis.spatial(32, ty * 16 + a)
                        v1 = T.axis.spatial(32, by * 16 + b)
                        W[v0, v1] = T.float32(1)
                for a, b in T.grid(16, 16):
                    with T.block("store"):
                        v0 = T.axis.spatial(32, ty * 16 + a)
                        v1 = T.axis.spatial(32, by * 16 + b)
                        S[v0, v1] = W[v0, v1]
            for a, b in T.grid(32, 16):
                with T.block("back"):  # back: affine; reads covered; stage pipeline
                    v0 = T.axis.spatial(32, a)
                    v1 = T.axis.spatial(32, by * 16 + b)
                    T.where(a < 31 and by * 16 + b < 31)
                    C[v0, v1] = S[v0, v1]
    for i, j in T.grid(31, 31):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], A[vi, vj])
)"},
      {"loops that never run", R"(@T.prim_func
def main(D: T.Buffer((1, 8, 8), "int32")):
    B = T.alloc_buffer((1, 8, 8), "int32")
    for z, y, x in T.grid(1, 8, 8):
        with T.block("make"):  # make: affine; reads covered; stage pipeline
            vz, vy, vx = T.axis.remap("SSS", [z, y, x])
            B[vz, vy, vx] = T.int32(0)
    for z, y, x in T.grid(0, 8, 8):
        with T.block("none"):
            vz, vy, vx = T.axis.remap("SSS", [z, y, x])
            T.reads(B[vz + 1, vy, vx])
            T.writes(D[vz, vy, vx])
            D[vz, vy, vx] = B[vz + 1, vy, vx]
    for z, y, x in T.grid(1, 8, 8):
        with T.block("last"):
            vz, vy, vx = T.axis.remap("SSS", [z, y, x])
            D[vz, vy, vx] = T.int32(0)
)"},
  };
}

// The comment about a block.
auto facts_of(const FuncState& func, const Place& block) -> std::string {
  std::string out = block.name().str() + ": ";
  out += func.is_affine_binding(block) ? "affine; " : "not affine; ";
  out += func.region_cover(block) ? "reads covered; " : "reads not covered; ";
  return out + (func.stage_pipeline(block) ? "stage pipeline" : "no stage pipeline");
}

// The comments in a program, each about a block.
auto comments_in(std::string_view program) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::istringstream lines{std::string(program)};
  for (std::string line; std::getline(lines, line);) {
    size_t at = line.find("  # ");
    if (at != std::string::npos) { out.push_back(line.substr(at + 4)); }
  }
  return out;
}

auto block_named(const FuncState& func, std::string_view name) -> const Place& {
  const Place* found = nullptr;
  for (const Place& place : func.places()) {
    if (!place.is_block() || place.name().view() != name) { continue; }
    if (found) { FAIL("several blocks are called " << name); }
    found = &place;
  }
  if (!found) { FAIL("no block is called " << name); }
  return *found;
}

}  // namespace

TEST_CASE("bindings, covers and pipelines of blocks that depend on each other in many ways") {
  for (const Case& test : cases()) {
    INFO(test.title);
    State state(parse(test.program));
    const FuncState* func = state.func("main");
    REQUIRE(func != nullptr);
    std::vector<std::string> comments = comments_in(test.program);
    REQUIRE_FALSE(comments.empty());
    for (const std::string& comment : comments) { CHECK(facts_of(*func, block_named(*func, comment.substr(0, comment.find(':')))) == comment); }
    if (auto difference = func->verify_cached()) { FAIL(*difference); }
  }
}
