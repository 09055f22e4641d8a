// bench-interp: the time of a scalar operation in the reference interpreter, with checks of bounds, and with all other checks
// (unwritten elements, races, declared regions). Processor time divided by the operations on elements that the interpreter
// counts; indices and loads do not count, so the operations include their time. Budget: 30 ns.
#include <benchmark/benchmark.h>

#include "frontend/file.h"
#include "interp/compare.h"
#include "syntax/document.h"

namespace {

using namespace loopsmith;

constexpr const char* matmul = R"(@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";
constexpr const char* convolution = R"(@T.prim_func
def main(A: T.Buffer((4, 34, 34), "float32"), W: T.Buffer((8, 4, 3, 3), "float32"), C: T.Buffer((8, 32, 32), "float32")):
    for o, y, x, c, u, v in T.grid(8, 32, 32, 4, 3, 3):
        with T.block("C"):
            vo, vy, vx, vc, vu, vv = T.axis.remap("SSSRRR", [o, y, x, c, u, v])
            with T.init():
                C[vo, vy, vx] = T.float32(0)
            C[vo, vy, vx] = C[vo, vy, vx] + A[vc, vy + vu, vx + vv] * W[vo, vc, vu, vv]
)";
constexpr const char* polynomial = R"(@T.prim_func
def main(A: T.Buffer((65536,), "float64"), B: T.Buffer((65536,), "float64")):
    for i in range(65536):
        with T.block("B"):
            vi = T.axis.spatial(65536, i)
            B[vi] = ((A[vi] * T.float64(0.5) + T.float64(1)) * A[vi] - T.float64(2)) * A[vi] + T.max(A[vi], T.float64(0.25))
)";
constexpr const char* bytes = R"(@T.prim_func
def main(A: T.Buffer((65536,), "int8"), B: T.Buffer((65536,), "int8"), C: T.Buffer((65536,), "int32")):
    for i in range(65536):
        with T.block("C"):
            vi = T.axis.spatial(65536, i)
            C[vi] = T.Cast("int32", A[vi]) * T.Cast("int32", B[vi]) + T.Cast("int32", A[vi]) - 3
)";
constexpr const char* vectors = R"(@T.prim_func
def main(A: T.Buffer((65536,), "float32"), B: T.Buffer((65536,), "float32")):
    for i in T.parallel(8192):
        B[i * 8:i * 8 + 8] = A[i * 8:i * 8 + 8] * T.Broadcast(T.float32(2), 8) + A[i * 8:i * 8 + 8]
)";

void scalar_operation(benchmark::State& state, const char* text, bool all_checks) {
  syntax::Document document{std::string(text)};
  frontend::File file;
  file.update(document);
  IRModule module;
  for (size_t i = 0; i < file.size(); ++i) { if (file.declaration(i).is_program) { module = file.declaration(i).module; } }
  if (!module) { return state.SkipWithError("the program has an error"); }
  auto inputs = interp::make_inputs(module->find("main"), 1, interp::Contents::Reals);
  if (!inputs.ok()) { return state.SkipWithError("no inputs"); }
  interp::Options options;
  options.report_unwritten = options.report_races = options.check_regions = all_checks;
  int64_t operations = 0;
  for (auto _ : state) {
    auto stats = interp::interpret(module, "main", inputs->arguments, options);
    if (!stats.ok()) { return state.SkipWithError("it does not run"); }
    operations = stats->total.flops + stats->total.int_ops;
  }
  // Seconds each; printed as "30n".
  state.counters["per_op"] = benchmark::Counter(static_cast<double>(operations) * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(scalar_operation, matmul, matmul, false);
BENCHMARK_CAPTURE(scalar_operation, matmul_all_checks, matmul, true);
BENCHMARK_CAPTURE(scalar_operation, convolution, convolution, false);
BENCHMARK_CAPTURE(scalar_operation, convolution_all_checks, convolution, true);
BENCHMARK_CAPTURE(scalar_operation, polynomial, polynomial, false);
BENCHMARK_CAPTURE(scalar_operation, polynomial_all_checks, polynomial, true);
BENCHMARK_CAPTURE(scalar_operation, bytes, bytes, false);
BENCHMARK_CAPTURE(scalar_operation, bytes_all_checks, bytes, true);
BENCHMARK_CAPTURE(scalar_operation, vectors, vectors, false);
BENCHMARK_CAPTURE(scalar_operation, vectors_all_checks, vectors, true);

}  // namespace

BENCHMARK_MAIN();
