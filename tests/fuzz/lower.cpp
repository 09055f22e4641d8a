// Any program can be lowered and interpreted, within limits: each stage can be printed, and failures have a diagnostic. If the program
// runs, and its results do not depend on the order of its iterations, the lowered program gives the same results.
#include "interp/compare.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "tests/fuzz/fuzz.h"
#include "transform/pipelines.h"
#include "workspace/snapshot.h"

namespace loopsmith::fuzz {
namespace {

constexpr int64_t most_elements = 1 << 14, most_steps = 20'000;

// Small enough to create inputs, and to store them.
auto is_small(const PrimFunc& func) -> bool {
  int64_t all = 0;
  auto add = [&](const Array<Expr>& extents) {
    int64_t n = 1;
    for (const Expr& e : extents) {
      int64_t extent = e.as<VarNode>() ? 8 : as_int(e).value_or(most_elements + 1);
      if (extent < 0 || __builtin_mul_overflow(n, extent, &n) || n > most_elements) { n = most_elements + 1; }
    }
    all += n;
  };
  for (const auto& [param, buffer] : func->buffer_map) { add(buffer->shape); }
  post_order(func->body, [&](const Stmt& s) {
    if (const auto* n = s.as<Allocate>()) { add(n->extents); }
    if (const auto* n = s.as<BufferRealize>()) { add(n->buffer->shape); }
    if (const auto* n = s.as<BlockRealize>()) { for (const Buffer& b : n->block->alloc_buffers) { add(b->shape); } }
    if (const auto* n = s.as<Block>()) { for (const Buffer& b : n->alloc_buffers) { add(b->shape); } }
  }, [&](const Expr& e) {
    // Memory of stacks and workspaces.
    if (const auto* n = e.as<Call>(); n && n->args.size() > 1 && n->dtype.is_handle()) { for (const Expr& a : n->args) { all += as_int(a).value_or(0) > most_elements ? most_elements + 1 : 0; } }
  });
  return all <= most_elements;
}

// The interpreter skips lanes that a mask excludes from a store; machine code evaluates them, and may read out of bounds.
auto stores_masked(const PrimFunc& func) -> bool {
  bool found = false;
  post_order(func->body, [&](const Stmt& s) { found = found || (s.as<BufferStore>() && s.as<BufferStore>()->predicate); }, [](const Expr&) {});
  return found;
}

void check_module(const IRModule& module, std::string_view input) {
  for (const auto& [name, func] : module->functions) {
    if (!is_small(func)) { return; }
  }
  auto lowered = transform::lower(module);
  if (!lowered) {
    if (lowered.diagnostics().empty() || lowered.diagnostics().front().message().empty()) { fail("lowering fails and does not say why", input); }
    return;
  }
  if (print_script(*lowered).empty()) { fail("the lowered program prints as nothing", input); }
  for (const auto& [name, func] : module->functions) {
    interp::Options options;
    options.max_steps = most_steps;
    options.max_seconds = 5;
    options.report_unwritten = options.report_races = options.check_regions = true;
    auto inputs = interp::make_inputs(func, 1, interp::Contents::SmallIntegers);
    if (!inputs) { continue; }
    auto stats = interp::interpret(module, name, inputs->arguments, options);
    if (!stats) {
      if (stats.diagnostics().empty() || stats.diagnostics().front().message().empty()) { fail("a run fails and does not say why", input); }
      continue;
    }
    // Unwritten values, races and wrong regions make the results undefined.
    if (!stats->warnings.empty() || !(*lowered)->find(name) || !interp::is_exact_on_integers(func) || stores_masked(func)) { continue; }
    interp::GateOptions gate;
    gate.max_steps = 4 * most_steps;
    gate.max_seconds = 10;
    auto result = interp::compare_modules(module, *lowered, name, gate);
    if (result && !result->equal && result->difference.find("stopped after") == std::string::npos) { fail("lowering changes it: " + result->difference, input); }
  }
}

}  // namespace

void check_input(std::string_view input) {
  auto document = workspace::analyse("fuzz.tir", std::string(input));
  auto snapshot = document->snapshot();
  for (const workspace::Finding& finding : snapshot->findings()) {
    if (finding.severity == Severity::Error) { return; }
  }
  for (const workspace::Program& program : snapshot->programs()) {
    if (program.module) { check_module(program.module, input); }
  }
}

auto seeds() -> std::vector<std::string> {
  std::vector<std::string> out = program_seeds();
  out.emplace_back(
      "@I.ir_module\nclass M:\n    @T.prim_func\n    def main(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"int32\")):\n        v: T.handle = T.tvm_stack_alloca(\"arg_value\", 2)\n"
      "        T.tvm_struct_set(v, 0, 12, A.data)\n        T.tvm_struct_set(v, 1, 12, T.int64(3))\n        T.tvm_call_packed_lowered(\"f\", v, v, 0, 2)\n        for i in range(8):\n"
      "            B[i] = M.g(A.data, i) + M.h(i)\n        if T.isnullptr(v):\n            T.tvm_throw_last_error()\n\n"
      "    @T.prim_func\n    def f(p: T.handle(\"float32\"), n: T.int32):\n        X = T.Buffer((8,), \"float32\", data=p)\n        for i in range(8):\n            if i > n:\n                return\n"
      "            X[i] = T.float32(1)\n\n    @T.prim_func(private=True)\n    def g(p: T.handle(\"float32\"), n: T.int32) -> T.int32:\n        X = T.Buffer((8,), \"float32\", data=p)\n"
      "        for i in range(8):\n            if X[i] > T.float32(0):\n                return i\n        return -1\n\n    @T.prim_func(private=True)\n    def h(n: T.int32) -> T.int32:\n"
      "        if n < 2:\n            return 1\n        return n * M.h(n - 1)\n");
  out.emplace_back(
      "@T.prim_func\ndef main(A: T.Buffer((32,), \"float32\"), B: T.Buffer((32,), \"float32\")):\n    for b in T.thread_binding(2, thread=\"blockIdx.x\"):\n        for t in T.thread_binding(16, thread=\"threadIdx.x\"):\n"
      "            with T.block(\"all\"):\n                v = T.axis.spatial(32, b * 16 + t)\n                T.reads(A[0:32])\n                T.writes(B[v])\n                S = T.alloc_buffer((32,), \"float32\", scope=\"shared\")\n"
      "                S[t] = A[v]\n                T.tvm_storage_sync(\"shared\")\n                T.ptx_init_barrier_thread_count(0, 16)\n                T.ptx_arrive_barrier(0)\n                T.ptx_wait_barrier(0)\n"
      "                B[v] = S[15 - t] * 2.0\n");
  out.emplace_back(
      "@T.prim_func\ndef main(A: T.Buffer((4, 8), \"int32\"), B: T.Buffer((4, 8), \"int32\"), n: T.int32):\n    C = T.alloc_buffer((4, 8), \"int32\")\n    T.dma_copy(0, C.data, A.data, 128)\n    T.dma_wait(0, 0)\n"
      "    for i in T.serial(4):\n        for j in T.vectorized(8):\n            B[i, j] = T.if_then_else(j < n, C[i, j] + T.shift_left(A[i, j], 2), -1)\n    i = T.alloc_buffer((1,), \"int32\")\n    i[0] = 0\n"
      "    while i[0] < 4:\n        i[0] += 1\n        if i[0] == 3:\n            continue\n        B[i[0] - 1, 0:4] = T.broadcast(i[0], 4)\n");
  return out;
}
auto pieces() -> std::vector<std::string> {
  std::vector<std::string> out = language_pieces();
  for (const char* piece : {"T.parallel(", "T.unroll(", "T.thread_binding(4, thread=\"threadIdx.x\")", "T.tvm_storage_sync(\"shared\")", "T.address_of(", "T.Cast(\"int8\", ", "T.reinterpret(\"int32\", ", "T.tvm_struct_get(v, 0, 12, \"handle\")",
                            "T.tvm_struct_set(v, 1, 12, ", "T.ptx_wait_barrier(0)", "T.dma_wait(0, 0)", "T.call_packed(\"f\", ", "M.h(", "break", "continue", "return", "while ", "n", "i", "A", "B", "[0]", "// ", " % ", "T.evaluate(", "T.Let("}) {
    out.emplace_back(piece);
  }
  return out;
}

}  // namespace loopsmith::fuzz
