// The interpreter on realistic programs: cooperating threads, pointers, calls; its reports of races, unwritten
// elements and accesses outside declared regions, with the iteration in which they occur; its counters.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include "frontend/file.h"
#include "interp/compare.h"
#include "ir/ops.h"
#include "support/codes.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::interp;

namespace {

auto program_of(const syntax::Document& document) -> IRModule {
  frontend::File file;
  file.update(document);
  IRModule module;
  for (size_t i = 0; i < file.size(); ++i) {
    for (const Diagnostic& d : file.declaration(i).diagnostics) { INFO(d.message()); CHECK(d.severity != Severity::Error); }
    if (file.declaration(i).is_program && file.declaration(i).module) { module = file.declaration(i).module; }
  }
  REQUIRE(module);
  return module;
}
auto parse(const std::string& text) -> IRModule { return program_of(syntax::Document(text)); }

// Runs `main` on integers 0, 1, 2 ... in every parameter.
struct Ran {
  std::vector<std::vector<float>> tensors;
  Stats stats;
  std::string error;
  std::map<size_t, std::vector<std::string>> reports = {};   // warnings, or the error, by the number of their line
  [[nodiscard]] auto warnings() const -> std::string {
    std::string out;
    for (const Diagnostic& d : stats.warnings) { out += (out.empty() ? "" : "\n") + d.message(); }
    return out;
  }
};
auto asking(bool Options::* what) -> Options {
  Options out;
  out.*what = true;
  return out;
}
auto line_of(const syntax::Document& document, const Diagnostic& d) -> size_t {
  auto span = document.resolve(d.where);
  REQUIRE(span.has_value());
  return static_cast<size_t>(std::count(document.text().begin(), document.text().begin() + span->begin, '\n'));
}
auto run(const std::string& text, Options options = {}) -> Ran {
  syntax::Document document(text);
  IRModule module = program_of(document);
  PrimFunc func = module->find("main");
  Ran out;
  auto inputs = make_inputs(func, 1, Contents::SmallIntegers);
  REQUIRE(inputs.ok());
  for (Argument& a : inputs->arguments) {
    auto* view = std::get_if<TensorView>(&a);
    if (!view || !(view->dtype == DataType::float_(32))) { continue; }
    for (int64_t i = 0; i < view->count(); ++i) { static_cast<float*>(view->data)[i] = static_cast<float>(i); }
  }
  auto stats = interpret(module, "main", inputs->arguments, options);
  if (!stats.ok()) {
    out.error = stats.diagnostics()[0].message();
    if (stats.diagnostics()[0].where.is_known()) { out.reports[line_of(document, stats.diagnostics()[0])] = {out.error}; }
    return out;
  }
  out.stats = std::move(*stats);
  for (const Diagnostic& d : out.stats.warnings) { out.reports[line_of(document, d)].push_back(d.message()); }
  for (Argument& a : inputs->arguments) {
    auto* view = std::get_if<TensorView>(&a);
    if (!view || !(view->dtype == DataType::float_(32))) { continue; }
    const auto* data = static_cast<const float*>(view->data);
    out.tensors.emplace_back(data, data + view->count());
  }
  return out;
}

constexpr std::string_view comment = "  # ";

// Runs a program and compares its reports with the comments at the lines that they name.
void check_reports(const std::string& expected, const Options& options) {
  std::istringstream lines(expected);
  std::vector<std::string> program;
  for (std::string line; std::getline(lines, line);) { program.push_back(line.substr(0, line.find(comment))); }
  const Ran ran = run(fmt::format("{}\n", fmt::join(program, "\n")), options);
  for (const auto& [line, messages] : ran.reports) {
    for (const std::string& message : messages) { program[line] += std::string(comment) + message; }
  }
  CHECK(fmt::format("{}\n", fmt::join(program, "\n")) == expected);
}

}  // namespace

TEST_CASE("threads exchange values through shared memory, with a barrier between") {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        shared = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), data=shared, scope="shared")
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            S[tx] = A[bx * 8 + tx]
            T.evaluate(T.tvm_storage_sync("shared", dtype="int32"))
            B[bx * 8 + tx] = S[7 - tx]
)";
  Ran ran = run(text, asking(&Options::report_races));
  REQUIRE(ran.error.empty());
  CHECK(ran.warnings().empty());
  for (int i = 0; i < 16; ++i) { CHECK(ran.tensors[1][static_cast<size_t>(i)] == static_cast<float>(i / 8 * 8 + 7 - i % 8)); }
  // Without the barrier the threads race.
  check_reports(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        shared = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), data=shared, scope="shared")
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            S[tx] = A[bx * 8 + tx]  # race on `S[4]`: one iteration writes, at bx=0, tx=4, the element that another reads, at bx=0, tx=3; the two may run in any order
            B[bx * 8 + tx] = S[7 - tx]  # race on `S[3]`: one iteration reads, at bx=0, tx=4, the element that another writes, at bx=0, tx=3; the two may run in any order
)", asking(&Options::report_races));
}

TEST_CASE("a barrier that some threads never reach is an error") {
  check_reports(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        if tx < 5:
            T.evaluate(T.tvm_storage_sync("shared", dtype="int32"))  # some threads never reach this point, where the others wait for them, at tx=0
        A[tx] = T.float32(1)
)", {});
}

TEST_CASE("a reduction across threads gives each thread the sum of its row") {
  Ran ran = run(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    ty = T.launch_thread("threadIdx.y", 4)
    tx = T.launch_thread("threadIdx.x", 8)
    cross = T.allocate([1], "float32", "local")
    C = T.Buffer((1,), data=cross, scope="local")
    with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
        T.tvm_thread_allreduce(T.uint32(1), A[ty, tx], tx < 7, C[0], tx)
    if tx == 0:
        B[ty] = C[0]
)");
  REQUIRE(ran.error.empty());
  for (int i = 0; i < 4; ++i) { CHECK(ran.tensors[1][static_cast<size_t>(i)] == static_cast<float>(7 * 8 * i + 21)); }
}

TEST_CASE("shuffles within a warp") {
  Ran ran = run(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        with T.LetStmt(T.tvm_warp_shuffle_down(T.tvm_warp_activemask(), A[tx], 2, 4, 8)) as x:
            B[tx] = x + T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[tx], 0, 8, 8)
)");
  REQUIRE(ran.error.empty());
  // Shifted by two within halves of four; lanes outside keep their own value.
  CHECK(ran.tensors[1] == std::vector<float>{2, 3, 2, 3, 6, 7, 6, 7});
}

TEST_CASE("a block may reduce across threads at schedule level, a parallel loop may not") {
  Ran threads = run(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
)", asking(&Options::report_races));
  CHECK(threads.warnings().empty());
  CHECK(threads.tensors[1][1] == 92);
  check_reports(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        for k in T.parallel(8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]  # race on `B[0]`: one iteration reads, at i=0, k=1, the element that another writes, at k=0; the two may run in any order  # race on `B[0]`: one iteration writes, at i=0, k=1, the element that another writes, at k=0; the two may run in any order
)", asking(&Options::report_races));
}

TEST_CASE("races of vectorised and parallel loops are reported once, with both iterations") {
  check_reports(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32")):
    for i in T.parallel(4):
        for j in T.vectorized(7):
            A[i, j + 1] = A[i, j] * T.float32(2)  # race on `A[0, 1]`: one iteration reads, at i=0, j=1, the element that another writes, at i=0, j=0; the two may run in any order
)", asking(&Options::report_races));
}

TEST_CASE("iterations that write the same value, or stay apart, do not race") {
  check_reports(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
    for i in T.parallel(8):
        A[i] = A[i] + T.float32(1)
        B[0] = T.float32(7)
    for i in T.parallel(8):
        A[7 - i] = A[7 - i] + B[0]
)", asking(&Options::report_races));
}

TEST_CASE("accesses outside of a block's declared regions are reported") {
  check_reports(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(7):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] + A[vi + 1]  # block `B` reads `A[1]`, which its declared regions do not contain, at i=0
            if vi == 3:
                B[vi + 1] = T.float32(0)  # block `B` writes `B[4]`, which its declared regions do not contain, at i=3
)", asking(&Options::check_regions));
}

TEST_CASE("an element read before it is written is reported with the iteration") {
  check_reports(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    with T.block("root"):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                if vi != 5:
                    B[vi] = A[vi]
        for i in range(8):
            with T.block("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = B[vi]  # `B` is read before anything was written there, at i=5
)", asking(&Options::report_unwritten));
}

TEST_CASE("a copy that is not waited for has not come: as late as allowed, in the order of the groups") {
  auto text = [](int open) {
    return fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((8,), "float32")):
    for t in T.thread_binding(2, thread="threadIdx.x"):
        with T.block("copied"):
            v = T.axis.spatial(2, t)
            T.reads(A[v * 8:v * 8 + 8])
            T.writes(A[v * 8], B[v * 4:v * 4 + 4])
            S = T.alloc_buffer((8,), "float32", scope="shared")
            T.evaluate(T.ptx_cp_async("float32", S.data, v * 4, A.data, v * 8, 8))
            T.ptx_commit_group()
            T.evaluate(T.ptx_cp_async("float32", S.data, v * 4 + 2, A.data, v * 8 + 2, 8, v == 1))
            T.ptx_commit_group()
            T.ptx_wait_group({})
            for i in range(4):
                B[v * 4 + i] = S[v * 4 + i]
)", open);
  };
  Ran ran = run(text(0), asking(&Options::report_unwritten));
  CHECK(ran.warnings() == "");
  // The second copy of thread 0 writes zeros: its predicate is false.
  CHECK(ran.tensors[1] == std::vector<float>{0, 1, 0, 0, 8, 9, 10, 11});
  CHECK(run(text(1), asking(&Options::report_unwritten)).warnings() == "`S` is read before anything was written there, at t=0, i=2");
}

TEST_CASE("copies of an engine come at the wait for their queue, those of a barrier when all have arrived") {
  auto engine = [](const char* wait) {
    return fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    S = T.alloc_buffer((4,), "float32")
    T.dma_copy(0, T.address_of(S[0]), T.address_of(A[0]), 8)
    T.dma_copy(0, T.address_of(S[2]), T.address_of(A[2]), 8)
    {}
    for i in range(4):
        B[i] = S[i]
)", wait);
  };
  CHECK(run(engine("T.dma_wait(0, 0)"), asking(&Options::report_unwritten)).tensors[1] == std::vector<float>{0, 1, 2, 3});
  CHECK(run(engine("T.dma_wait(0, 1)"), asking(&Options::report_unwritten)).warnings() == "`S` is read before anything was written there, at i=2");
  CHECK(run(engine("T.dma_wait(1, 0)"), asking(&Options::report_unwritten)).warnings() == "`S` is read before anything was written there, at i=0");
  auto barrier = [](const char* arrival) {
    return fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for t in T.thread_binding(2, thread="threadIdx.x"):
        with T.block("copied"):
            v = T.axis.spatial(2, t)
            T.reads(A[0:4])
            T.writes(B[0:4])
            S = T.alloc_buffer((4,), "float32", scope="shared")
            T.ptx_init_barrier_thread_count(0, 2)
            T.evaluate(T.ptx_cp_async_bulk("float32", S.data, v * 2, A.data, v * 2, 8, 0))
            {}
            T.ptx_wait_barrier(0)
            for i in range(2):
                B[v * 2 + i] = S[3 - (v * 2 + i)]
)", arrival);
  };
  CHECK(run(barrier("T.ptx_arrive_barrier_expect_tx(0, 8)")).tensors[1] == std::vector<float>{3, 2, 1, 0});
  // More bytes than arrive, and a thread that does not arrive.
  CHECK(run(barrier("T.ptx_arrive_barrier_expect_tx(0, 16)")).error == "some threads never reach this point, where the others wait for them, at t=0");
  CHECK(run(barrier("if v == 0:\n                T.ptx_arrive_barrier(0)")).error == "some threads never reach this point, where the others wait for them, at t=0");
}

TEST_CASE("fields of structures on the stack: only stored values can be read") {
  auto text = [](const char* line) {
    return fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    values: T.handle = T.tvm_stack_alloca("arg_value", 2)
    T.tvm_struct_set(values, 0, 12, A.data)
    T.tvm_struct_set(values, 1, 12, T.float64(2.5))
    {}
)", line);
  };
  CHECK(run(text("A[1] = T.Cast(\"float32\", T.tvm_struct_get(values, 1, 12, \"float64\"))")).tensors[0] == std::vector<float>{0, 2.5F, 2, 3});
  CHECK(run(text("if not T.isnullptr(T.tvm_struct_get(values, 0, 12, \"handle\")):\n        A[0] = T.float32(7)")).tensors[0][0] == 7);
  CHECK(run(text("A[0] = T.Select(T.isnullptr(T.tvm_struct_get(values, 1, 12, \"handle\")), T.float32(1), T.float32(0))")).error ==
        "the interpreter does not support a pointer where none was stored");
  CHECK(run(text("T.tvm_struct_set(values, 2, 12, 1)")).error == "index 16 of `the structure` is outside of its extent 16 (dimension bytes), at the beginning");
  CHECK(run(text("T.tvm_throw_last_error()")).error == "assertion failed: `tvm_throw_last_error`: the call before it has failed, at the beginning");
  CHECK(run(text("T.evaluate(T.lookup_param(\"p0\"))")).error == "the interpreter does not support the intrinsic `lookup_param`: the module has no constant of that name: `NAME = T.allocate_const(...)`");
}

TEST_CASE("constants by name, lists of values, memory of devices") {
  CHECK(run(R"(
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        p: T.handle("float32") = T.lookup_param("weights")
        W = T.decl_buffer((4,), "float32", data=p)
        for i in range(4):
            A[i] = W[3 - i]
    @T.prim_func
    def holder():
        weights = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
        T.evaluate(0)
)").tensors[0] == std::vector<float>{4, 3, 2, 1});
  auto list = [](const char* line) {
    return fmt::format(R"(
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        values: T.handle = T.tvm_stack_alloca("tvm_ffi_any", 3)
        T.anylist_setitem_call_packed(values, 0, "thrice", 5)
        T.anylist_setitem_call_packed(values, 1, "half", T.anylist_getitem(values, 0))
        {}
    @T.prim_func
    def thrice(n: T.int64) -> T.int64:
        return n * T.int64(3)
    @T.prim_func
    def half(n: T.int64) -> T.float32:
        return T.Cast("float32", n) * T.float32(0.5)
)", line);
  };
  CHECK(run(list("A[0] = T.Cast(\"float32\", T.tvm_struct_get(values, 0, 15, \"int64\"))")).tensors[0][0] == 15);
  CHECK(run(list("A[0] = T.Cast(\"float32\", T.tvm_struct_get(values, 1, 15, \"float64\"))")).tensors[0][0] == 7.5F);
  CHECK(run(list("T.anylist_resetitem(values, 0)\n        A[0] = T.Cast(\"float32\", T.tvm_struct_get(values, 0, 15, \"int64\"))")).tensors[0][0] == 0);
  CHECK(run(list("T.anylist_setitem_call_packed(values, 3, \"thrice\", 5)")).error == "index 56 of `the structure` is outside of its extent 48 (dimension bytes), at the beginning");
  CHECK(run(list("T.anylist_setitem_call_packed(values, 2, \"elsewhere\", 5)")).error ==
        "the interpreter does not support the intrinsic `anylist_setitem_call_packed`: the module has no function of that name that takes these arguments");
  // A pixel's four numbers lie together; x counts along a row.
  auto image = [](const char* line) {
    return fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    image = T.alloc_buffer((2, 3, 4), "float32", scope="global.texture")
    for y, x, c in T.grid(2, 3, 4):
        image[y, x, c] = T.Cast("float32", y * 100 + x * 10 + c)
    {}
)", line);
  };
  CHECK(run(image("A[0:4] = T.texture2d_load(image.data, 2, 1)")).tensors[0] == std::vector<float>{120, 121, 122, 123});
  CHECK(run(image("A[0] = T.texture2d_load(image.data, 1, 0, 3)")).tensors[0][0] == 13);
  CHECK(run(image("T.texture2d_store(image.data, 2, 1, T.Broadcast(T.float32(7), 4))\n    A[0] = image[1, 2, 3]")).tensors[0][0] == 7);
  CHECK(run(image("A[0:4] = T.texture2d_load(image.data, 0, 2)")).error == "index 24 of `image` is outside of its extent 24 (dimension 0), at the beginning");
  CHECK(run(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    T.masked_store(A.data, T.masked_load(A.access_ptr("r", offset=2), T.Ramp(0, 1, 4), T.LT(T.Ramp(0, 1, 4), T.Broadcast(2, 4))), T.Ramp(0, 1, 4), T.Broadcast(T.bool(True), 4))
)")
            .tensors[0] == std::vector<float>{2, 3, 0, 0});
  CHECK(run(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    X = T.alloc_buffer((8, 128), "int1", scope="wmma.matrix_a")
    Y = T.alloc_buffer((128, 8), "int1", scope="wmma.matrix_b")
    Z = T.alloc_buffer((8, 8), "int32", scope="wmma.accumulator")
    T.tvm_fill_fragment(X.data, 8, 8, 128, 0, 1)
    T.tvm_fill_fragment(Y.data, 8, 8, 128, 0, 0)
    T.tvm_fill_fragment(Z.data, 8, 8, 128, 0, 1000)
    Y[5, 3] = T.Cast("int1", 1)
    T.tvm_bmma_sync(Z.data, 0, X.data, 0, Y.data, 0, Z.data, 0)
    A[0] = T.Cast("float32", Z[2, 2])
    A[1] = T.Cast("float32", Z[2, 3])
)").tensors[0] == std::vector<float>{1128, 1127, 2, 3});
}

TEST_CASE("pointers, views of them, and functions of the module") {
  Ran ran = run(R"(
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(X: T.Buffer((4,), "float32"), n: T.int32):
        for i in range(4):
            X[i] = X[i] * T.Cast("float32", n)
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        Module.twice(A.data, 2)
        Module.twice(T.address_of(A[4]), 3)
        with T.LetStmt(T.address_of(A[2]), var=T.handle("float32", "global")) as p:
            V = T.Buffer((4,), data=p)
            for i in range(4):
                B[i] = V[i]
        T.evaluate(T.call_extern("int32", "memset", T.address_of(B[6]), 0, 8))
)");
  REQUIRE(ran.error.empty());
  CHECK(ran.tensors[0] == std::vector<float>{0, 2, 4, 6, 12, 15, 18, 21});
  CHECK(ran.tensors[1] == std::vector<float>{4, 6, 12, 15, 4, 5, 0, 0});
}

TEST_CASE("strides of another number than the dimensions are no layout") {
  Ran ran = run(R"(
@T.prim_func
def main(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
    C = T.alloc_buffer((2, 3), strides=(1,))
    for i, j in T.grid(2, 3):
        C[i, j] = A[i, j]
    for i, j in T.grid(2, 3):
        B[i, j] = C[i, j] + T.float32(1)
)");
  REQUIRE(ran.error.empty());
  CHECK(ran.tensors[1] == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("operations and bytes are counted loop by loop") {
  Ran ran = run(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.float32(0)
        for k in range(8):
            B[i] = B[i] + T.if_then_else(k < 2, A[i, k] * A[i, k], T.exp(T.float32(1)))
)");
  REQUIRE(ran.stats.loops.size() == 2);
  const LoopCounts& outer = ran.stats.loops[0];
  const LoopCounts& inner = ran.stats.loops[1];
  CHECK(inner.parent == 0);
  CHECK(outer.iterations == 4);
  CHECK(inner.iterations == 32);
  // Two products in a row, six exponentials, eight sums.
  CHECK(inner.counts.flops == 4 * (2 + 6 + 8));
  CHECK(inner.counts.int_ops == 32);   // comparisons with k
  CHECK(inner.counts.bytes_read == 4 * (8 * 4 + 2 * 8));
  CHECK(inner.counts.bytes_written == 32 * 4);
  CHECK(outer.counts.flops == inner.counts.flops);
  CHECK(outer.counts.bytes_written == 36 * 4);
  CHECK(ran.stats.total.flops == outer.counts.flops);
}

TEST_CASE("an instruction runs by its description") {
  IRModule machine = parse(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(1):
        with T.block("copy"):
            vi = T.axis.spatial(1, i)
            T.reads(A[0:4])
            T.writes(B[0:4])
            T.evaluate(T.call_extern("void", "some_instruction", A.data, B.data))
)");
  PrimFunc func = machine->find("main");
  auto inputs = make_inputs(func, 1, Contents::SmallIntegers);
  REQUIRE_FALSE(interpret(machine, "main", inputs->arguments).ok());
  Options options;
  options.describe = [&](const Block& block) -> Stmt {
    if (!(block.name == "copy")) { return {}; }
    Var k = var("k");
    return make<For>(k, int_imm(0), int_imm(4), ForKind::Serial,
                     make<BufferStore>(block.writes[0].buffer, make<BufferLoad>(block.reads[0].buffer, Array<Expr>{k}), Array<Expr>{k}));
  };
  REQUIRE(interpret(machine, "main", inputs->arguments, options).ok());
  CHECK(inputs->storage[0] == inputs->storage[1]);
}

// A different iteration is made wrong each time; the report must name it.
namespace {

struct Random {
  uint64_t state;
  auto below(int n) -> int {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state >> 33) % static_cast<uint64_t>(n));
  }
};

}  // namespace

TEST_CASE("an index that is wrong in one iteration is reported at that one, wherever it stands") {
  Random random{7};
  for (int round = 0; round < 40; ++round) {
    int i = random.below(5), j = random.below(6), k = random.below(7), dimension = random.below(2), by = random.below(2) ? 4 : -9;
    bool in_store = random.below(2), in_block = random.below(2);
    auto at = [&](bool is_spoilt, int d) {
      std::string index = d == 0 ? "i" : "j";
      return is_spoilt && d == dimension ? fmt::format("{0} + T.if_then_else(i == {1} and j == {2} and k == {3}, {4}, 0)", index, i, j, k, by < 0 ? by : d == 0 ? 5 : 6) : index;
    };
    std::string text = "@T.prim_func\ndef main(A: T.Buffer((5, 6), \"float32\"), B: T.Buffer((5, 6), \"float32\")):\n    for i, j in T.grid(5, 6):\n        for k in " +
                       std::string(random.below(2) ? "range(7)" : "T.unroll(7)") + ":\n";
    std::string indent = "            ";
    if (in_block) {
      text += indent + "with T.block(\"B\"):\n";
      indent += "    ";
      text += indent + "T.reads(A[0:5, 0:6], B[0:5, 0:6])\n" + indent + "T.writes(B[0:5, 0:6])\n";
    }
    text += indent + fmt::format("B[{}, {}] = A[{}, {}] + T.float32(1)\n", at(in_store, 0), at(in_store, 1), at(!in_store, 0), at(!in_store, 1));
    INFO(text);
    int value = (dimension == 0 ? i : j) + (by < 0 ? by : dimension == 0 ? 5 : 6);
    CHECK(run(text).error == fmt::format("index {} of `{}` is outside of its extent {} (dimension {}), at i={}, j={}, k={}", value, in_store ? "B" : "A",
                                         dimension == 0 ? 5 : 6, dimension, i, j, k));
  }
}

TEST_CASE("an unwritten element is reported at its first read") {
  Random random{8};
  for (int round = 0; round < 40; ++round) {
    int i = random.below(5), j = random.below(6);
    std::string text = fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((5, 6), "float32")):
    with T.block("root"):
        B = T.alloc_buffer((5, 6))
        for i, j in T.grid(5, 6):
            if i != {} or j != {}:
                B[i, j] = A[i, j]
        for y, x in T.grid(5, 6):
            A[y, x] = B[y, {}] * T.float32(2)
)",
        i, j, random.below(2) ? "5 - x" : "x");
    INFO(text);
    bool is_mirrored = text.find("5 - x") != std::string::npos;
    CHECK(run(text, asking(&Options::report_unwritten)).warnings() == fmt::format("`B` is read before anything was written there, at y={}, x={}", i, is_mirrored ? 5 - j : j));
  }
}

TEST_CASE("of iterations that may run in any order the two that meet are named") {
  Random random{9};
  for (const char* kind : {"T.parallel(8)", "T.vectorized(8)", "T.thread_binding(8, thread=\"threadIdx.x\")", "T.thread_binding(8, thread=\"blockIdx.x\")"}) {
    for (int round = 0; round < 20; ++round) {
      int first = random.below(7), second = first + 1 + random.below(7 - first), outer = random.below(3);
      bool reads = random.below(2);
      // In one run of the loop, iteration `second` writes the element of another.
      std::string index = fmt::format("T.if_then_else(o == {} and i == {}, {}, i)", outer, second, first);
      std::string text = fmt::format("@T.prim_func\ndef main(A: T.Buffer((8,), \"float32\"), B: T.Buffer((3, 8), \"float32\")):\n    for o in range(3):\n        for i in {}:\n", kind);
      text += reads ? fmt::format("            B[o, i] = A[i] + T.Cast(\"float32\", o)\n            A[{}] = T.float32(-1) - T.Cast(\"float32\", i)\n", index)
                    : fmt::format("            B[o, {}] = A[i] + T.float32(1)\n", index);
      INFO(text);
      CHECK(run(text, asking(&Options::report_races)).warnings() ==
            (reads ? fmt::format("race on `A[{2}]`: one iteration writes, at o={0}, i={1}, the element that another writes, at i={2}; the two may run in any order", outer, second, first)
                   : fmt::format("race on `B[{0}, {2}]`: one iteration writes, at o={0}, i={1}, the element that another writes, at i={2}; the two may run in any order", outer, second, first)));
    }
  }
}

TEST_CASE("a write that a declared region does not cover is reported at its iteration") {
  Random random{10};
  for (int round = 0; round < 40; ++round) {
    int i = random.below(7), j = random.below(8);
    std::string text = fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(7, 8):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            vj = T.axis.spatial(8, j)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi + T.if_then_else(vi == {} and vj == {}, 1, 0), vj] = A[vi, vj]
)",
        i, j);
    INFO(text);
    CHECK(run(text, asking(&Options::check_regions)).warnings() == fmt::format("block `B` writes `B[{}, {}]`, which its declared regions do not contain, at i={}, j={}", i + 1, j, i, j));
  }
}

namespace {

// A sum of 2,048 products in a single loop, or in 32 parts (`index`: the element of a part's iteration).
auto sum_of_products(const std::string& type, bool in_parts, const std::string& index = "p * 64 + k") -> IRModule {
  std::string head = "@T.prim_func\ndef main(A: T.Buffer((4, 2048), \"" + type + "\"), B: T.Buffer((2048,), \"" + type + "\"), C: T.Buffer((4,), \"" + type + "\")):\n";
  if (!in_parts) {
    return parse(head + "    for i in range(4):\n        C[i] = T." + type + "(0)\n        for k in range(2048):\n            C[i] = C[i] + A[i, k] * B[k]\n");
  }
  return parse(head + "    P = T.alloc_buffer((32,), \"" + type + "\")\n    for i in range(4):\n        for p in range(32):\n            P[p] = T." + type +
               "(0)\n            for k in range(64):\n                P[p] = P[p] + A[i, " + index + "] * B[" + index + "]\n" +
               "        C[i] = T." + type + "(0)\n        for p in range(32):\n            C[i] = C[i] + P[p]\n");
}

}  // namespace

TEST_CASE("sums of short types that round differently count as equal if wider types confirm it") {
  for (const char* type : {"float16", "bfloat16"}) {
    INFO(type);
    auto same = compare_modules(sum_of_products(type, false), sum_of_products(type, true), "main");
    REQUIRE(same.ok());
    CHECK(same->difference == "");
    CHECK(same->how.find("in float32") != std::string::npos);
    // One of 2,048 products is omitted and another counted twice: the error is smaller than rounding, and still found.
    auto wrong = compare_modules(sum_of_products(type, false), sum_of_products(type, true, "T.min(p * 64 + k, 2046)"), "main");
    REQUIRE(wrong.ok());
    CHECK_FALSE(wrong->equal);
  }
}

TEST_CASE("a wider type does not excuse a result that is wrong by less than a hundredth") {
  const std::string head = "@T.prim_func\ndef main(A: T.Buffer((4, 64), \"float32\"), C: T.Buffer((4,), \"float32\")):\n";
  const std::string tail = "    for i in range(4):\n        C[i] = T.float32(0)\n        for k in range(64):\n";
  IRModule exact = parse(head + tail + "            C[i] = C[i] + A[i, k]\n");
  // The short type represents small integers exactly, and in float64 no type is short: only the rounding of real inputs shows the mistake.
  auto wrong = compare_modules(exact, parse(head + "    S = T.alloc_buffer((1,), \"bfloat16\")\n" + tail +
                                            "            S[0] = T.Cast(\"bfloat16\", A[i, k])\n            C[i] = C[i] + T.Cast(\"float32\", S[0])\n"), "main");
  REQUIRE(wrong.ok());
  CHECK_FALSE(wrong->equal);
}

TEST_CASE("sums in another order differ by rounding alone") {
  IRModule of_64 = parse("@T.prim_func\ndef main(A: T.Buffer((4, 64), \"float32\"), C: T.Buffer((4,), \"float32\")):\n"
                         "    for i in range(4):\n        for k in range(64):\n            C[i] = C[i] + A[i, k]\n");
  DataType f32 = DataType::float_(32);
  CHECK(rounding_of_sums(of_64->find("main"), f32) < 1e-4);
  CHECK(deciding_bits(of_64->find("main"), f32, 0.009, 1) == 0);
  // A million additions: a difference of 0.5% decides a sum in float64.
  IRModule of_a_million = parse(R"(
@T.prim_func
def main(A: T.Buffer((1048576,), "float32"), C: T.Buffer((1,), "float32")):
    for k in range(1048576):
        with T.block("C"):
            vk = T.axis.reduce(1048576, k)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] + A[vk]
)");
  CHECK(deciding_bits(of_a_million->find("main"), f32, 0.005, 1) == 64);
  CHECK(deciding_bits(of_a_million->find("main"), f32, 0.011, 1) == 0);
}

TEST_CASE("the memory of allocations has a limit, which the error names") {
  IRModule module = parse("@T.prim_func\ndef main(A: T.Buffer((4,), \"float32\")):\n    for i in range(4):\n        with T.block(\"b\"):\n"
                          "            vi = T.axis.spatial(4, i)\n            P = T.alloc_buffer((1024,), \"float32\")\n            P[vi] = A[vi]\n            A[vi] = P[vi]\n");
  auto inputs = make_inputs(module->find("main"), 1, Contents::Reals);
  REQUIRE(inputs.ok());
  Options options;
  options.max_bytes = 4096;
  // All iterations use the same memory.
  CHECK(interpret(module, "main", inputs->arguments, options).ok());
  options.max_bytes = 4095;
  auto stopped = interpret(module, "main", inputs->arguments, options);
  REQUIRE_FALSE(stopped.ok());
  CHECK(stopped.diagnostics().front().message() == "the interpreter stopped after asking for 4096 bytes, beyond the memory limit of 4095 bytes, at i=0");
}

TEST_CASE("the inputs of a comparison have a limit, which the error names") {
  IRModule module = parse("@T.prim_func\ndef main(A: T.Buffer((4,), \"float32\"), B: T.Buffer((167772160,), \"float32\")):\n    B[0] = A[0]\n");
  auto inputs = make_inputs(module->find("main"), 1, Contents::Reals);
  REQUIRE_FALSE(inputs.ok());
  CHECK(inputs.diagnostics().front().message().find("671088656 bytes") != std::string::npos);
}

TEST_CASE("a view of memory that its block declares is a source of match_buffer") {
  Ran ran = run(R"(
@T.prim_func
def main(P: T.Buffer((8, 16), "float32"), Q: T.Buffer((8,), "float32")):
    stage = T.alloc_buffer((8, 4, 4), "float32")
    for i, j in T.grid(8, 16):
        with T.block("fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            stage[vi, vj // 4, vj % 4] = P[vi, vj]
    for i in range(8):
        with T.block("use"):
            vi = T.axis.spatial(8, i)
            flat = T.Buffer((8, 16), "float32", data=stage.data)
            T.reads(flat[vi, 0:16])
            T.writes(Q[vi])
            row = T.match_buffer(flat[vi, 0:16], (16,), "float32", offset_factor=1)
            Q[vi] = row[3]
)");
  REQUIRE(ran.error == "");
  CHECK(ran.tensors[1] == std::vector<float>{3, 19, 35, 51, 67, 83, 99, 115});
}

TEST_CASE("the offset of a view without a declaration follows the iteration") {
  // The offset of the view uses a variable that differs between iterations: an iter var, a loop variable or a let variable.
  for (const char* offset : {"vi", "i", "x"}) {
    INFO(offset);
    Ran ran = run(fmt::format(R"(
@T.prim_func
def main(P: T.Buffer((8, 16), "float32"), Q: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.LetStmt(i + 0) as x:
            with T.block("use"):
                vi = T.axis.spatial(8, i)
                row = T.Buffer((16,), "float32", data=P.data, elem_offset={} * 16)
                T.reads(P[vi, 0:16])
                T.writes(Q[vi])
                Q[vi] = row[3]
)", offset));
    REQUIRE(ran.error == "");
    CHECK(ran.tensors[1] == std::vector<float>{3, 19, 35, 51, 67, 83, 99, 115});
  }
}

TEST_CASE("a view is also a view of the memory behind a view") {
  Ran ran = run(R"(
@T.prim_func
def main(P: T.Buffer((8, 16), "float32"), Q: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("use"):
            vi = T.axis.spatial(8, i)
            T.reads(P[vi, 0:16])
            T.writes(Q[vi])
            row = T.match_buffer(P[vi, 0:16], (16,), "float32", offset_factor=1)
            square = T.Buffer((4, 4), "float32", data=row.data, elem_offset=vi * 16)
            Q[vi] = square[1, 2]
)");
  REQUIRE(ran.error == "");
  CHECK(ran.tensors[1] == std::vector<float>{6, 22, 38, 54, 70, 86, 102, 118});
}
