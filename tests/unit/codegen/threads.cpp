// Programs with GPU threads, compiled for a processor: the results must equal those of the interpreter, which runs the threads themselves.
#include "frontend/file.h"
#include "interp/compare.h"
#include "ir/printer.h"
#include "runtime/devices/cuda_tools.h"
#include "tests/unit/codegen/build.h"
#include "transform/pipelines.h"

using namespace loopsmith;
using namespace loopsmith::test;

namespace {

auto parsed(const std::string& text) -> IRModule {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  for (const Diagnostic& d : file.diagnostics()) {
    INFO(d.message());
    CHECK(d.severity != Severity::Error);
  }
  REQUIRE(file.size() == 1);
  return file.declaration(0).module;
}

void check(const std::string& text) {
  IRModule module = parsed(text);
  const auto& [name, func] = module->functions[0];
  auto flat = transform::lower(module);
  if (!flat.ok()) { FAIL(text_of(flat.diagnostics())); }
  CHECK(transform::is_lowered((*flat)->functions[0].second));
  for (int level : {0, 2}) {
    auto code = runtime::JitModule::compile(*flat, target::host(), {.opt_level = level}, module);
    if (!code.ok()) { FAIL(text_of(code.diagnostics()) << print_script(*flat)); }
    auto inputs = interp::make_inputs(func, 5, interp::Contents::SmallIntegers);
    REQUIRE(inputs.ok());
    interp::Inputs ours = interp::copy_inputs(*inputs);
    interp::Inputs lowered = interp::copy_inputs(*inputs);
    if (auto ran = interp::interpret(module, name, inputs->arguments); !ran.ok()) { FAIL(text_of(ran.diagnostics())); }
    if (auto ran = interp::interpret(*flat, name, lowered.arguments); !ran.ok()) { FAIL(text_of(ran.diagnostics()) << print_script(*flat)); }
    std::vector<runtime::Value> values;
    for (const interp::Argument& a : ours.arguments) { values.emplace_back(std::get<TensorView>(a)); }
    run(*code, values);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto& expected = std::get<TensorView>(inputs->arguments[i]);
      for (const auto* got : {&ours, &lowered}) {
        auto difference = interp::compare_tensors(func->params[i]->name.str(), expected, std::get<TensorView>(got->arguments[i]), true);
        INFO(difference.where << "\n" << print_script(*flat));
        CHECK_FALSE(difference.found);
      }
    }
  }
}

const std::string barrier = "T.evaluate(T.tvm_storage_sync(\"shared\", dtype=\"int32\"))\n";

}  // namespace

TEST_CASE("a matrix product with tiles in shared memory, two dimensions of threads and of blocks") {
  check(R"(
@T.prim_func
def main(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    by = T.launch_thread("blockIdx.y", 2)
    a = T.allocate([64], "float32", "shared")
    b = T.allocate([64], "float32", "shared")
    ty = T.launch_thread("threadIdx.y", 8)
    tx = T.launch_thread("threadIdx.x", 8)
    own = T.allocate([1], "float32", "local")
    As = T.Buffer((64,), data=a, scope="shared")
    Bs = T.Buffer((64,), data=b, scope="shared")
    acc = T.Buffer((1,), data=own, scope="local")
    acc[0] = T.float32(0)
    for k in range(3):
        As[ty * 8 + tx] = A[bx * 8 + ty, k * 8 + tx]
        Bs[ty * 8 + tx] = B[k * 8 + ty, by * 8 + tx]
        )" + barrier + R"(
        for kk in range(8):
            acc[0] = acc[0] + As[ty * 8 + kk] * Bs[kk * 8 + tx]
        )" + barrier + R"(
    C[bx * 8 + ty, by * 8 + tx] = acc[0]
)");
}

TEST_CASE("reductions across threads: of rows, of the whole block, of pairs") {
  const std::string head = R"(
@T.prim_func
def main(A: T.Buffer((3, 4, 8), "float32"), B: T.Buffer((3, 4), "float32"), D: T.Buffer((3,), "float32")):
    for bx in T.thread_binding(3, thread="blockIdx.x"):
        for ty in T.thread_binding(4, thread="threadIdx.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                row = T.allocate([1], "float32", "local")
                all = T.allocate([1], "float32", "local")
                R = T.Buffer((1,), data=row, scope="local")
                S = T.Buffer((1,), data=all, scope="local")
                with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
                    T.tvm_thread_allreduce(T.uint32(1), A[bx, ty, tx], tx < 6, R[0], tx)
                with T.attr(T.comm_reducer(lambda x, y: T.max(x, y), [T.float32(-1000)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
                    T.tvm_thread_allreduce(T.uint32(1), A[bx, ty, tx] - R[0], T.bool(True), S[0], tx, ty)
                if tx == 0:
                    B[bx, ty] = R[0]
                if tx == 0 and ty == 0:
                    D[bx] = S[0]
)";
  check(head);
  // The result depends on the order: a + b / 2 is neither commutative nor associative.
  std::string ordered = head;
  ordered.replace(ordered.find("x + y"), 5, "x + y * T.float32(0.5)");
  check(ordered);
  check(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), V: T.Buffer((1,), "float32"), I: T.Buffer((1,), "int32")):
    tx = T.launch_thread("threadIdx.x", 16)
    v = T.allocate([1], "float32", "local")
    i = T.allocate([1], "int32", "local")
    best = T.Buffer((1,), data=v, scope="local")
    where = T.Buffer((1,), "int32", data=i, scope="local")
    with T.attr(T.comm_reducer(lambda x0, x1, y0, y1: (T.if_then_else(y0 > x0, y0, x0), T.if_then_else(y0 > x0, y1, x1)), [T.float32(-1000), 0]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
        T.tvm_thread_allreduce(T.uint32(2), A[tx], tx, T.bool(True), best[0], where[0], tx)
    if tx == 3:
        V[0] = best[0]
        I[0] = where[0]
)");
}

TEST_CASE("a sum by shuffles, in halves of a warp") {
  check(R"(
@T.prim_func
def main(A: T.Buffer((2, 32), "float32"), B: T.Buffer((2, 32), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            own = T.allocate([1], "float32", "local")
            v = T.Buffer((1,), data=own, scope="local")
            v[0] = A[bx, tx]
            for k in range(4):
                v[0] = v[0] + T.tvm_warp_shuffle_down(T.tvm_warp_activemask(), v[0], T.shift_right(8, k), 16, 32)
            v[0] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), v[0], 0, 16, 32)
            B[bx, tx] = v[0] + T.tvm_warp_shuffle_up(T.tvm_warp_activemask(), A[bx, tx], 3, 32, 32)
)");
}

TEST_CASE("branches that threads disagree on, loops that they do not wait in, virtual threads and asserts around barriers") {
  check(R"(
@T.prim_func
def main(A: T.Buffer((24,), "float32"), B: T.Buffer((24,), "float32")):
    s = T.allocate([24], "float32", "shared")
    S = T.Buffer((24,), data=s, scope="shared")
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        for vx in T.thread_binding(3, thread="vthread.x"):
            assert A[vx * 8 + tx] < T.float32(100), "too large"
            if tx % 3 == 0:
                S[vx * 8 + tx] = A[vx * 8 + tx]
            else:
                if tx % 3 == 1:
                    S[vx * 8 + tx] = T.float32(1)
                else:
                    for k in range(tx):
                        S[vx * 8 + tx] = T.Cast("float32", k)
            )" + barrier + R"(
            B[vx * 8 + tx] = S[vx * 8 + 7 - tx]
)");
}

TEST_CASE("code that cannot be split at a barrier has a diagnostic") {
  auto refused = [](const std::string& text) {
    auto flat = transform::lower(parsed(text));
    REQUIRE_FALSE(flat.ok());
    return flat.diagnostics()[0].message();
  };
  CHECK(refused("@T.prim_func\n"
                "def main(A: T.Buffer((8,), \"float32\")):\n"
                "    for tx in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
                "        for k in range(tx):\n"
                "            A[k] = A[k] + T.float32(1)\n"
                "            " + barrier).find("cannot generate code for the loop `k` with a barrier inside in `main`") == 0);
}

TEST_CASE("PTX by LLVM: barriers, exchanges in a warp, asynchronous copies, functions, memory that a launch requests; ptxas assembles it, where it is installed") {
  const std::string programs[] = {R"(
@T.prim_func
def main(A: T.Buffer((2, 32), "float32"), B: T.Buffer((2, 32), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            own = T.allocate([1], "float32", "local")
            v = T.Buffer((1,), data=own, scope="local")
            v[0] = A[bx, tx]
            for k in range(4):
                v[0] = v[0] + T.tvm_warp_shuffle_down(T.tvm_warp_activemask(), v[0], T.shift_right(8, k), 16, 32)
            v[0] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), v[0], 0, 16, 32)
            B[bx, tx] = v[0] + T.tvm_warp_shuffle_up(T.tvm_warp_activemask(), A[bx, tx], 3, 32, 32)
)",
                                  R"(
@T.prim_func
def main(A: T.Buffer((128,), "float32"), D: T.Buffer((32,), "float64"), B: T.Buffer((128,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.allocate([128], "float32", "shared")
    S_1 = T.Buffer((128,), data=S, scope="shared")
    T.evaluate(T.ptx_cp_async("float32", S, tx * 4, A.data, tx * 4, 16))
    T.evaluate(T.ptx_cp_async("float32", S, tx * 4, A.data, tx * 4, 8, tx < 30))
    T.ptx_commit_group()
    T.ptx_wait_group(0)
    T.evaluate(T.tvm_storage_sync("shared", dtype="int32"))
    for i in range(4):
        B[tx * 4 + i] = S_1[127 - tx * 4 - i] + T.exp(A[tx]) + T.sin(A[tx]) + T.pow(A[tx], A[tx + 1]) + T.tanh(A[tx]) + T.log2(A[tx]) + T.exp10(A[tx]) + T.sinh(A[tx])
    D[tx] = T.tvm_warp_shuffle(T.uint32(4294967295), D[tx], 3, 32, 32)
)",
                                  R"(
@T.prim_func
def main(A: T.Buffer((32,), "float16"), B: T.Buffer((32,), "float16")):
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.allocate([16384], "float32", "shared")
    S_1 = T.Buffer((16384,), data=S, scope="shared")
    R = T.allocate([32], "float16", "shared")
    R_1 = T.Buffer((32,), "float16", data=R, scope="shared")
    S_1[tx * 512] = T.Cast("float32", A[tx])
    R_1[tx] = A[tx] * A[tx]
    T.evaluate(T.tvm_storage_sync("shared", dtype="int32"))
    B[tx] = R_1[31 - tx] + T.Cast("float16", S_1[tx * 512])
)"};
  for (const std::string& text : programs) {
    IRModule module = parsed(text);
    auto flat = transform::lower(module, {}, {.target_kind = "nvptx", .until = {}, .on_stage = {}});
    if (!flat.ok()) { FAIL(text_of(flat.diagnostics())); }
    for (const char* arch : {"sm_80", "sm_90a"}) {
      auto ptx = codegen::emit(*flat, *target::parse(std::string("nvptx -mcpu=") + arch), codegen::EmitKind::Assembly, {.hosted = false});
      if (!ptx.ok()) { FAIL(text_of(ptx.diagnostics()) << print_script(*flat)); }
      CHECK(ptx->find(".entry main_kernel") != std::string::npos);
      if (runtime::find_cuda_tool("ptxas").empty()) { continue; }
      auto cubin = runtime::assemble_ptx(*ptx, arch);
      if (!cubin.ok()) { FAIL(text_of(cubin.diagnostics()) << *ptx); }
    }
  }
}
