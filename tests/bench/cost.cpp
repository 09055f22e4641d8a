// Estimates compared with measurements: states of five kernels after random legal moves, their estimates (cost/estimate.h) and their
// times. Prints the rank correlation (Spearman) for each kernel, that of the gain over the program as written for all of them, and the time of
// an estimate.
//
//     bench-cost [--states N] [--seed N] [--least R] [--list] [--times FILE]
//
// --states: the number of states per kernel; 40. --least: exit status 1 if the mean correlation is lower. --list: prints every state.
// --times: stores measurements in a file and reuses them, for work on the model: measure once, on a quiet machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cost/estimate.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "runtime/bench.h"
#include "runtime/jit.h"
#include "schedule/moves.h"
#include "schedule/primitives.h"
#include "support/text.h"
#include "target/hardware.h"
#include "tests/bench/cpu/programs.h"
#include "transform/pipelines.h"

using namespace loopsmith;

namespace {

struct Kernel { const char* name; const char* text; };

constexpr Kernel kernels[] = {
    {"matmul", R"(
@T.prim_func
def main(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32"), C: T.Buffer((256, 256), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    for i, j, k in T.grid(256, 256, 256):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)"},
    {"conv2d, bias, relu", R"(
@T.prim_func
def main(X: T.Buffer((1, 30, 30, 32), "float32"), W: T.Buffer((3, 3, 32, 64), "float32"), bias: T.Buffer((64,), "float32"), Y: T.Buffer((1, 28, 28, 64), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    conv = T.alloc_buffer((1, 28, 28, 64))
    for n, h, w, c, r, s, k in T.grid(1, 28, 28, 64, 3, 3, 32):
        with T.block("conv"):
            vn, vh, vw, vc, vr, vs, vk = T.axis.remap("SSSSRRR", [n, h, w, c, r, s, k])
            with T.init():
                conv[vn, vh, vw, vc] = T.float32(0)
            conv[vn, vh, vw, vc] = conv[vn, vh, vw, vc] + X[vn, vh + vr, vw + vs, vk] * W[vr, vs, vk, vc]
    for n, h, w, c in T.grid(1, 28, 28, 64):
        with T.block("relu"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            Y[vn, vh, vw, vc] = T.max(conv[vn, vh, vw, vc] + bias[vc], T.float32(0))
)"},
    {"softmax", R"(
@T.prim_func
def main(X: T.Buffer((256, 1000), "float32"), Y: T.Buffer((256, 1000), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    top = T.alloc_buffer((256,))
    e = T.alloc_buffer((256, 1000))
    total = T.alloc_buffer((256,))
    for i, k in T.grid(256, 1000):
        with T.block("top"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                top[vi] = T.float32(-3.4e38)
            top[vi] = T.max(top[vi], X[vi, vk])
    for i, j in T.grid(256, 1000):
        with T.block("e"):
            vi, vj = T.axis.remap("SS", [i, j])
            e[vi, vj] = T.exp(X[vi, vj] - top[vi])
    for i, k in T.grid(256, 1000):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + e[vi, vk]
    for i, j in T.grid(256, 1000):
        with T.block("quotient"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = e[vi, vj] / total[vi]
)"},
    {"transpose, scale, add", R"(
@T.prim_func
def main(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    t = T.alloc_buffer((1024, 1024))
    for i, j in T.grid(1024, 1024):
        with T.block("t"):
            vi, vj = T.axis.remap("SS", [i, j])
            t[vi, vj] = A[vj, vi] * T.float32(2)
    for i, j in T.grid(1024, 1024):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = t[vi, vj] + B[vi, vj]
)"},
    {"depthwise conv2d", R"(
@T.prim_func
def main(X: T.Buffer((1, 64, 58, 58), "float32"), W: T.Buffer((64, 3, 3), "float32"), Y: T.Buffer((1, 64, 56, 56), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    p = T.alloc_buffer((1, 64, 58, 58))
    for n, c, h, w in T.grid(1, 64, 58, 58):
        with T.block("p"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            p[vn, vc, vh, vw] = T.max(X[vn, vc, vh, vw], T.float32(0))
    for n, c, h, w, r, s in T.grid(1, 64, 56, 56, 3, 3):
        with T.block("Y"):
            vn, vc, vh, vw, vr, vs = T.axis.remap("SSSSRR", [n, c, h, w, r, s])
            with T.init():
                Y[vn, vc, vh, vw] = T.float32(0)
            Y[vn, vc, vh, vw] = Y[vn, vc, vh, vw] + p[vn, vc, vh + vr, vw + vs] * W[vc, vr, vs]
)"},
};

// The primitives usual for processors; frequent ones are repeated.
constexpr const char* primitives[] = {"split", "split", "split", "reorder", "reorder", "reorder", "fuse", "parallel", "vectorize", "vectorize",
                                      "unroll", "compute_at", "reverse_compute_at", "compute_inline", "cache_write", "cache_read",
                                      "decompose_reduction", "reverse_compute_inline"};

using Random = std::mt19937_64;

auto below(Random& random, size_t n) -> size_t { return static_cast<size_t>(random() % n); }

/// True for programs that take minutes to compile and that nobody would write.
auto is_extreme(const schedule::FuncState& func) -> bool {
  for (const schedule::Place& place : func.places()) {
    if (!place.is_loop()) { continue; }
    double copies = 1;
    for (const schedule::Place* p = &place; p != nullptr; p = func.parent(*p)) {
      bool is_copied = p->is_loop() && (p->loop->for_kind == ForKind::Unrolled || p->loop->for_kind == ForKind::Vectorized);
      if (is_copied) { copies *= static_cast<double>(as_int(p->loop->extent).value_or(1)); }
    }
    if (copies > 256) { return true; }
  }
  return false;
}

/// Up to ten random legal moves; returns their text.
auto walk(schedule::Schedule& sch, Random& random) -> std::string {
  std::string text;
  size_t steps = 1 + below(random, 10);
  for (size_t tries = 0; steps > 0 && tries < 60; ++tries) {
    const schedule::FuncState* func = sch.state().func(sch.func_working_on());
    const schedule::Place& place = func->places()[below(random, func->places().size())];
    const schedule::Primitive* row = schedule::find_primitive(primitives[below(random, std::size(primitives))]);
    if (row == nullptr) { continue; }
    auto moves = schedule::moves_at(sch.state(), *func, place, row);
    std::erase_if(moves, [](const schedule::JudgedMove& m) { return !m.is_legal(); });
    if (moves.empty()) { continue; }
    const schedule::Move& move = moves[below(random, moves.size())].move;
    std::string line = schedule::text_of(*func, move);
    if (!schedule::apply_move(sch, move).ok()) { continue; }
    text += "      " + line + "\n";
    --steps;
  }
  return text;
}

auto ranks(const std::vector<double>& values) -> std::vector<double> {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) { order[i] = i; }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) { ++end; }
    for (size_t k = i; k < end; ++k) { out[order[k]] = static_cast<double>(i + end - 1) / 2; }
    i = end;
  }
  return out;
}

auto correlation(const std::vector<double>& a, const std::vector<double>& b) -> double {
  std::vector<double> x = ranks(a), y = ranks(b);
  double mean = (static_cast<double>(a.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

struct Options { size_t states = 40; uint64_t seed = 1; double least = -1; bool lists = false; std::string times; };

/// Seconds of states by their hash, in a file with one line per state.
class Times {
 public:
  explicit Times(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_);
    uint64_t hash = 0;
    for (double seconds = 0; file >> hash >> seconds;) { known_[hash] = seconds; }
  }
  [[nodiscard]] auto find(uint64_t hash) const -> std::optional<double> {
    auto found = known_.find(hash);
    return found != known_.end() ? std::optional(found->second) : std::nullopt;
  }
  void add(uint64_t hash, double seconds) {
    if (!path_.empty()) { std::ofstream(path_, std::ios::app) << fmt::format("{} {:.6g}\n", hash, seconds); }
  }

 private:
  std::string path_;
  std::map<uint64_t, double> known_;
};

/// A state of a kernel: its estimate and its measurement, in seconds. The first state is the program as written, the base of all gains.
struct Row { uint64_t hash; double predicted; std::string text; std::optional<double> measured; };

/// The states of one kernel, their estimates and the machine code of those that were not measured before.
class States {
 public:
  States(const target::Target& target, const cost::CoreModel& core, Times& times) : target_(target), core_(core), times_(times) {}

  /// False: the state cannot be measured.
  auto add(const schedule::Schedule& sch, uint64_t hash, std::string text) -> bool {
    const schedule::FuncState* func = sch.state().func(sch.func_working_on());
    if (is_extreme(*func)) { return false; }
    auto start = std::chrono::steady_clock::now();
    auto estimate = cost::estimate(*func, core_);
    took_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (!estimate || estimate->seconds > 0.5) { return false; }
    auto known = times_.find(hash);
    if (!known) {
      auto flat = transform::lower(sch.module());
      if (!flat.ok()) { return false; }
      auto code = runtime::JitModule::compile(*flat, target_, {}, sch.module());
      if (!code.ok()) { return false; }
      rows_of_codes_.push_back(rows_.size());
      codes_.push_back(std::move(*code));
    }
    rows_.push_back({hash, estimate->seconds, std::move(text), known});
    return true;
  }

  /// Adds the program as written and `count` random schedules of it. False: the program as written cannot be measured.
  auto draw(const IRModule& module, size_t count, uint64_t seed) -> bool {
    Random random(seed);
    schedule::Schedule plain(module, 1);
    std::set<uint64_t> seen = {structural_hash(module)};
    if (!add(plain, *seen.begin(), {})) { return false; }
    for (size_t tries = 0; rows_.size() <= count && tries < count * 10; ++tries) {
      schedule::Schedule sch(module, 1);
      std::string text = walk(sch, random);
      const uint64_t hash = structural_hash(sch.module());
      if (seen.insert(hash).second) { (void)add(sch, hash, std::move(text)); }
    }
    return true;
  }

  /// Functions are measured in turns, one block each, because the machine's speed may change by a factor of two within a minute.
  auto measure() -> bool {
    std::vector<const runtime::JitFunction*> functions;
    for (const runtime::JitModule& code : codes_) { functions.push_back(&code.functions().front()); }
    runtime::BenchOptions how;
    how.blocks = 11;
    how.block_seconds = 2e-3;
    how.time_limit = 300;
    auto measured = runtime::bench_interleaved(functions, {}, how, 1);
    if (!measured.ok()) { return false; }
    for (size_t i = 0; i < measured->size(); ++i) {
      Row& row = rows_[rows_of_codes_[i]];
      row.measured = (*measured)[i].seconds;
      times_.add(row.hash, *row.measured);
    }
    return true;
  }

  [[nodiscard]] auto rows() const -> const std::vector<Row>& { return rows_; }
  /// The seconds that each estimate took.
  [[nodiscard]] auto took() const -> const std::vector<double>& { return took_; }

 private:
  const target::Target& target_;
  const cost::CoreModel& core_;
  Times& times_;
  std::vector<Row> rows_;
  std::vector<runtime::JitModule> codes_;
  std::vector<size_t> rows_of_codes_;
  std::vector<double> took_;
};

/// The figures of all kernels.
struct Totals {
  double sum = 0;                      // of the correlations
  double lowest = 1;
  std::vector<double> gains, speeds;   // estimated and measured, relative to the programs as written
  std::vector<double> estimates_took;
};

/// Prints the line of a kernel, and adds its figures to those of all kernels.
void report(const char* kernel, const States& states, bool lists, Totals& totals) {
  std::vector<Row> rows = states.rows();
  std::vector<double> predicted, took;
  for (size_t i = 1; i < rows.size(); ++i) {
    predicted.push_back(rows[i].predicted);
    took.push_back(*rows[i].measured);
    totals.gains.push_back(rows.front().predicted / rows[i].predicted);
    totals.speeds.push_back(*rows.front().measured / *rows[i].measured);
  }
  double r = correlation(predicted, took);
  totals.sum += r;
  totals.lowest = std::min(totals.lowest, r);
  totals.estimates_took.insert(totals.estimates_took.end(), states.took().begin(), states.took().end());
  fmt::print("{:<24} {:>6} {:>12.2f} {:>12} {:>12}\n", kernel, predicted.size(), r, duration_text(*std::min_element(took.begin(), took.end())),
             duration_text(*std::max_element(took.begin(), took.end())));
  std::fflush(stdout);
  if (!lists) { return; }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return *a.measured < *b.measured; });
  for (const Row& row : rows) {
    fmt::print("  measured {}, predicted {}, {:.2f}\n{}", duration_text(*row.measured), duration_text(row.predicted), row.predicted / *row.measured,
               row.text.empty() ? "      as written\n" : row.text);
  }
}

auto all(const Options& options) -> int {
  target::Target target = target::host();
  cost::CoreModel core = cost::core_model(target::hardware(target));
  Times times(options.times);
  Totals totals;
  fmt::print("{:<24} {:>6} {:>12} {:>12} {:>12}\n", "kernel", "states", "correlation", "fastest", "slowest");
  for (const Kernel& kernel : kernels) {
    auto programs = bench::programs_of(kernel.text);
    if (!programs.ok() || programs->empty()) { fmt::print(stderr, "{} does not parse\n", kernel.name); return 2; }
    States states(target, core, times);
    bool is_measured = states.draw(programs->front().versions.front().module, options.states, options.seed) && states.measure();
    if (!is_measured) { fmt::print(stderr, "{} is not measured\n", kernel.name); return 2; }
    report(kernel.name, states, options.lists, totals);
  }
  double mean = totals.sum / static_cast<double>(std::size(kernels));
  std::vector<double>& took = totals.estimates_took;
  std::nth_element(took.begin(), took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2), took.end());
  fmt::print("estimated and measured gain, {} states of all kernels: {:.2f}\n", totals.gains.size(), correlation(totals.gains, totals.speeds));
  fmt::print("mean {:.2f}, lowest {:.2f}; an estimate takes {} (median)\n", mean, totals.lowest, duration_text(took[took.size() / 2]));
  return mean >= options.least ? 0 : 1;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  Options options;
  for (int i = 1; i < argc; ++i) {
    auto is = [&](const char* name) { return std::strcmp(argv[i], name) == 0; };
    if (is("--states") && i + 1 < argc) { options.states = std::strtoull(argv[++i], nullptr, 10); }
    else if (is("--seed") && i + 1 < argc) { options.seed = std::strtoull(argv[++i], nullptr, 10); }
    else if (is("--least") && i + 1 < argc) { options.least = std::strtod(argv[++i], nullptr); }
    else if (is("--list")) { options.lists = true; }
    else if (is("--times") && i + 1 < argc) { options.times = argv[++i]; }
    else {
      fmt::print(stderr, "usage: bench-cost [--states N] [--seed N] [--least R] [--list] [--times FILE]\n");
      return 2;
    }
  }
  return all(options);
}
