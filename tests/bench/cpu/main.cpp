// The speed of compiled kernels, compared with the machine's peaks and with other libraries.
//
//     bench_cpu [WORD]                the table (table.h); only rows that contain WORD
//     bench_cpu --gemm MR NV KC MC    one register tile, with its compilation time and the spills in its assembly
//     bench_cpu --compile [PASSES]    the time of compiling such a tile
//     bench_cpu --file FILE [MFLOP]   every program of a file, plain and as its schedules make it, and the cost of
//                                     lowering and compiling each; LOOPSMITH_SHOW=lowered or assembly prints it
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ir/printer.h"
#include "runtime/bench.h"
#include "support/codes.h"
#include "support/text.h"
#include "target/hardware.h"
#include "tests/bench/cpu/gemm.h"
#include "tests/bench/cpu/peers.h"
#include "tests/bench/cpu/programs.h"
#include "tests/bench/cpu/table.h"
#include "transform/pipelines.h"

using namespace loopsmith;
using namespace loopsmith::runtime;

namespace {

auto told(const Diagnostics& diagnostics) -> int {
  for (const Diagnostic& d : diagnostics) { fmt::print(stderr, "error: {}\n", d.message()); }
  return 1;
}

auto target_with(int threads) -> target::Target {
  target::Target out = target::host();
  out.cores = threads;
  return out;
}

struct Operands {
  Tensor a, b, c, expected;
};

auto operands(const bench::Gemm& g) -> Result<Operands> {
  LOOPSMITH_TRY(a, Tensor::random(DataType::float_(32), {g.m * g.k}, 1, Fill::SmallIntegers));
  LOOPSMITH_TRY(b, Tensor::random(DataType::float_(32), {g.k * g.n}, 2, Fill::SmallIntegers));
  LOOPSMITH_TRY(c, Tensor::zeros(DataType::float_(32), {g.m * g.n}));
  LOOPSMITH_TRY(expected, Tensor::zeros(DataType::float_(32), {g.m * g.n}));
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t p = 0; p < g.k; ++p) {
      float x = a.as<float>()[static_cast<size_t>(i * g.k + p)];
      for (int64_t j = 0; j < g.n; ++j) {
        expected.as<float>()[static_cast<size_t>(i * g.n + j)] += x * b.as<float>()[static_cast<size_t>(p * g.n + j)];
      }
    }
  }
  return Operands{std::move(a), std::move(b), std::move(c), std::move(expected)};
}

/// The numbers of vector moves to and from the stack, which are spills.
auto count_spills(const std::string& assembly) -> std::pair<int, int> {
  int spills = 0;
  int products = 0;
  size_t at = 0;
  while (at < assembly.size()) {
    size_t end = std::min(assembly.find('\n', at), assembly.size());
    std::string_view line(assembly.data() + at, end - at);
    if (line.find("vfmadd") != std::string_view::npos) { ++products; }
    if (line.find("mm") != std::string_view::npos && (line.find("(%rsp)") != std::string_view::npos || line.find("(%rbp)") != std::string_view::npos)) { ++spills; }
    at = end + 1;
  }
  return {spills, products};
}

const BenchOptions options = {.warm_up = 2, .blocks = 15};

auto time_blas(Operands& o, const bench::Gemm& g, int threads) -> double {
  auto run = bench::openblas_matmul(g.m, o.a.as<float>().data(), o.b.as<float>().data(), o.c.as<float>().data(), threads);
  if (!run) { return 0; }
  BenchOptions free = options;
  free.pin = false;
  return bench_callable(run, free).seconds;
}

auto time_ours(Operands& o, const bench::Gemm& g, int threads, const codegen::CodegenOptions& how = {}) -> Result<double> {
  LOOPSMITH_TRY(code, JitModule::compile(bench::gemm(g), target_with(threads), how));
  const JitFunction& function = code.functions().front();
  o.c.fill_zero();
  std::vector<Value> values = {&o.a, &o.b, &o.c};
  LOOPSMITH_TRY(slots, bind_arguments(function.interface, values));
  LOOPSMITH_CHECK(invoke(function, slots));
  if (!compare(o.c, o.expected, 0, 0).agrees()) { return error(Code::Internal).arg("what", fmt::format("{}x{} gives wrong results", g.mr, g.nv)); }
  LOOPSMITH_TRY(measured, runtime::bench(function, {&slots, 1}, options));
  return measured.seconds;
}

auto one(int argc, char** argv) -> int {
  bench::Gemm g;
  if (argc > 2) { g.mr = std::atoi(argv[2]); }
  if (argc > 3) { g.nv = std::atoi(argv[3]); }
  if (argc > 4) { g.kc = std::atoi(argv[4]); }
  if (argc > 5) { g.mc = std::atoi(argv[5]); }
  if (argc > 6) { g.pack_a = std::atoi(argv[6]) != 0; }
  codegen::CodegenOptions how;
  if (argc > 7) { how.passes = argv[7]; }
  auto assembly = codegen::emit(bench::gemm(g), target_with(1), codegen::EmitKind::Assembly, how);
  if (!assembly) { return told(assembly.diagnostics()); }
  if (std::getenv("LOOPSMITH_SHOW_ASSEMBLY") != nullptr) { fmt::print("{}", *assembly); }
  auto [spills, products] = count_spills(*assembly);
  Measurement compile = bench_callable([&] { (void)JitModule::compile(bench::gemm(g), target_with(1), how); }, {.blocks = 9});
  auto o = operands(g);
  if (!o) { return told(o.diagnostics()); }
  const double flop = 2.0 * static_cast<double>(g.m * g.n * g.k);
  for (int threads : {1, target::host().cores}) {
    double blas = time_blas(*o, g, threads);
    auto ours = time_ours(*o, g, threads, how);
    if (!ours) { return told(ours.diagnostics()); }
    fmt::print("{}x{} kc {} mc {} pack_a {} threads {}: {:.1f} GFLOP/s, OpenBLAS {:.1f}, ratio {:.3f}; {} spills, {} fma, compile {}\n", g.mr,
               g.nr(), g.kc, g.mc, g.pack_a, threads, flop / *ours * 1e-9, blas > 0 ? flop / blas * 1e-9 : 0, blas / *ours, spills, products,
               duration_text(compile.seconds));
  }
  return 0;
}

/// Compiles repeatedly, for a profiler.
auto compile_only(int argc, char** argv) -> int {
  bench::Gemm g;
  codegen::CodegenOptions how;
  if (argc > 2) { how.passes = argv[2]; }
  if (argc > 3) { how.opt_level = std::atoi(argv[3]); }
  IRModule module = bench::gemm(g);
  if (const char* path = std::getenv("LOOPSMITH_WRITE_IR")) {
    how.opt_level = 0;
    auto text = codegen::emit(module, target_with(1), codegen::EmitKind::LlvmIR, how);
    if (!text) { return told(text.diagnostics()); }
    std::FILE* file = std::fopen(path, "w");
    fmt::print(file, "{}", *text);
    std::fclose(file);
    return 0;
  }
  Measurement emit = bench_callable([&] { (void)codegen::emit(module, target_with(1), codegen::EmitKind::Object, how); }, {.blocks = 41});
  Measurement whole = bench_callable([&] { (void)JitModule::compile(module, target_with(1), how); }, {.blocks = 41});
  fmt::print("object {}, callable {}\n", duration_text(emit.seconds), duration_text(whole.seconds));
  return 0;
}

auto file(const char* path, double mflop) -> int {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  auto programs = bench::programs_of(text.str());
  if (!programs) { return told(programs.diagnostics()); }
  const char* shown = std::getenv("LOOPSMITH_SHOW");
  for (const bench::Program& program : *programs) {
    for (const bench::Version& version : program.versions) {
      for (int threads : {1, target::host().cores}) {
        auto flat = transform::lower(version.module);
        if (!flat) { return told(flat.diagnostics()); }
        if (shown != nullptr && threads == 1) {
          auto assembly = codegen::emit(*flat, target_with(1), codegen::EmitKind::Assembly);
          fmt::print("{}\n", std::strcmp(shown, "lowered") == 0 ? print_script(*flat) : assembly ? *assembly : std::string("?"));
        }
        auto code = JitModule::compile(*flat, target_with(threads), {}, version.module);
        if (!code) { return told(code.diagnostics()); }
        auto measured = runtime::bench(code->functions().front(), std::span<const int64_t>{}, options);
        if (!measured) { return told(measured.diagnostics()); }
        Measurement lowering = bench_callable([&] { (void)transform::lower(version.module); }, {.blocks = 7});
        Measurement compiling = bench_callable([&] { (void)JitModule::compile(*flat, target_with(threads)); }, {.blocks = 7});
        fmt::print("{:<20} {:<24} threads {}: {:>9}, {:7.1f} GFLOP/s; lowering {}, compiling {}\n", program.name, version.name,
                   threads, duration_text(measured->seconds), mflop * 1e-3 / measured->seconds, duration_text(lowering.seconds), duration_text(compiling.seconds));
      }
    }
  }
  return 0;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  bench::use_best_kernels_of_openblas(argv);
  if (argc > 1 && std::strcmp(argv[1], "--compile") == 0) { return compile_only(argc, argv); }
  if (argc > 2 && std::strcmp(argv[1], "--file") == 0) { return file(argv[2], argc > 3 ? std::atof(argv[3]) : 0); }
  if (argc > 1 && std::strcmp(argv[1], "--gemm") == 0) { return one(argc, argv); }
  if (argc > 1 && argv[1][0] == '-') {
    fmt::print(stderr, "bench_cpu: there is no mode `{}`; there are --gemm, --compile and --file FILE\n", argv[1]);
    return 2;
  }
  auto done = bench::table(argc > 1 ? argv[1] : "");
  return done ? 0 : told(done.diagnostics());
}
