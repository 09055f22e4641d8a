// The kernels that measure peaks: see peaks.h.
#include "runtime/peaks.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <thread>

#include "ir/ir.h"
#include "ir/ops.h"
#include "runtime/bench.h"
#include "target/hardware.h"

namespace loopsmith::runtime {
namespace {

auto buffer_access(const Buffer& b, Expr index) -> Expr { return make<BufferLoad>(b, Array<Expr>{std::move(index)}); }
auto buffer_store(const Buffer& b, Expr index, Expr value) -> Stmt { return make<BufferStore>(b, std::move(value), Array<Expr>{std::move(index)}); }
auto lanes_at(Expr base, int lanes) -> Expr { return make<Ramp>(std::move(base), int_imm(1), int_imm(lanes)); }

auto function_of(std::vector<Buffer> buffers, Stmt body) -> IRModule {
  PrimFuncNode fields;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const Buffer& b : buffers) {
    params.push_back(var(b->name.str() + "_handle", DataType::handle()));
    map.emplace_back(params.back(), b);
  }
  fields.params = Array<Var>(params);
  fields.buffer_map = Array<std::pair<Var, Buffer>>(map);
  fields.body = std::move(body);
  return module_of(make_func(std::move(fields)));
}

constexpr int fma_rounds = 20000;

/// Chains of multiply-adds in registers, enough of them to hide the latency; every part of the parallel loop does the same work.
auto fma_kernel(int lanes, int chains, int parts) -> IRModule {
  const DataType f32 = DataType::float_(32);
  const DataType vector = f32.with_lanes(lanes);
  Buffer factor = make_buffer("factor", f32, {int_imm(2)});
  Buffer out = make_buffer("out", f32, {int_imm(int64_t(parts) * chains * lanes)});
  Buffer sums = make_buffer("sums", f32, {int_imm(int64_t(chains) * lanes)}, "local");
  Var part = var("part");
  Var round = var("round");
  std::vector<Stmt> start;
  std::vector<Stmt> step;
  std::vector<Stmt> finish;
  Var a = var("a", vector);
  Var b = var("b", vector);
  for (int c = 0; c < chains; ++c) {
    Expr at = lanes_at(int_imm(int64_t(c) * lanes), lanes);
    start.push_back(buffer_store(sums, at, constant(vector, c)));
    step.push_back(buffer_store(sums, at, make<Add>(make<Mul>(buffer_access(sums, at), a), b)));
    finish.push_back(buffer_store(out, lanes_at(part * int_imm(int64_t(chains) * lanes) + int_imm(int64_t(c) * lanes), lanes), buffer_access(sums, at)));
  }
  Stmt rounds = make<For>(round, int_imm(0), int_imm(fma_rounds), ForKind::Serial, seq(step));
  Stmt body = seq({seq(start), rounds, seq(finish)});
  body = make<LetStmt>(a, make<Broadcast>(buffer_access(factor, int_imm(0)), int_imm(lanes)),
                       make<LetStmt>(b, make<Broadcast>(buffer_access(factor, int_imm(1)), int_imm(lanes)), body));
  body = make<Allocate>(sums->data, f32, Array<Expr>{int_imm(int64_t(chains) * lanes)}, bool_imm(true), body);
  return function_of({factor, out}, make<For>(part, int_imm(0), int_imm(parts), ForKind::Parallel, body));
}

auto copy_kernel(int lanes, int64_t elements, int parts) -> IRModule {
  const DataType f32 = DataType::float_(32);
  Buffer from = make_buffer("from", f32, {int_imm(elements)});
  Buffer to = make_buffer("to", f32, {int_imm(elements)});
  Var part = var("part");
  Var i = var("i");
  const int64_t step = int64_t(lanes) * 4;
  const int64_t each = elements / parts;
  std::vector<Stmt> body;
  for (int k = 0; k < 4; ++k) {
    Expr at = lanes_at(part * int_imm(each) + i * int_imm(step) + int_imm(int64_t(k) * lanes), lanes);
    body.push_back(buffer_store(to, at, buffer_access(from, at)));
  }
  Stmt inner = make<For>(i, int_imm(0), int_imm(each / step), ForKind::Serial, seq(body));
  return function_of({from, to}, make<For>(part, int_imm(0), int_imm(parts), ForKind::Parallel, inner));
}

auto time_of(const IRModule& module, int threads) -> Result<double> {
  target::Target target = target::host();
  target.cores = threads;
  LOOPSMITH_TRY(code, JitModule::compile(module, target));
  BenchOptions options;
  options.blocks = 9;
  options.block_seconds = 2e-3;
  LOOPSMITH_TRY(measured, bench(code.functions().front(), std::span<const int64_t>{}, options));
  return measured.minimum;
}

}  // namespace

auto processor_time() -> ProcessorTime {
  std::ifstream file("/proc/stat");
  std::string word;
  double ticks[8] = {};
  if (!(file >> word) || word != "cpu") { return {}; }
  for (double& one : ticks) { file >> one; }
  if (!file) { return {}; }
  ProcessorTime out;
  for (double one : ticks) { out.all += one; }
  // Idle, or waiting for a device.
  out.used = out.all - ticks[3] - ticks[4];
  auto rate = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {out.used / rate, out.all / rate};
}

namespace {

/// The processor time that this program has used, in seconds.
auto own_time() -> double {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

auto share_of_others(const ProcessorTime& before, const ProcessorTime& after, double own) -> double {
  double all = after.all - before.all;
  return all > 0 ? std::clamp((after.used - before.used - own) / all, 0.0, 1.0) : 0;
}

/// The share of the processors that other programs use, measured for a moment.
auto is_busy_now() -> bool {
  ProcessorTime before = processor_time();
  double own = own_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return share_of_others(before, processor_time(), own_time() - own) > target::busy_share;
}

}  // namespace

auto measure_peaks(bool forgets) -> Result<Peaks> {
  ProcessorTime before = processor_time();
  double own = own_time();
  target::Hardware has = target::hardware(target::host());
  const int lanes = has.lanes(32);
  const int chains = has.vector_registers >= 32 ? 24 : 12;
  Peaks out;
  out.threads = has.cores;
  const double flop = 2.0 * lanes * chains * fma_rounds;
  LOOPSMITH_TRY(one, time_of(fma_kernel(lanes, chains, 1), 1));
  LOOPSMITH_TRY(all, time_of(fma_kernel(lanes, chains, has.cores), has.cores));
  out.fma_f32_one = flop / one * 1e-9;
  out.fma_f32_all = flop * has.cores / all * 1e-9;
  for (uint64_t bytes : {uint64_t(16) << 10U, uint64_t(256) << 10U, uint64_t(1) << 20U, uint64_t(8) << 20U, uint64_t(64) << 20U}) {
    auto elements = static_cast<int64_t>(bytes / 8);
    LOOPSMITH_TRY(alone, time_of(copy_kernel(lanes, elements, 1), 1));
    const int64_t step = int64_t(lanes) * 4 * has.cores;
    const int64_t shared = elements / step * step;
    double together = alone;
    if (has.cores > 1 && shared > 0) {
      LOOPSMITH_TRY(t, time_of(copy_kernel(lanes, shared, has.cores), has.cores));
      together = t * static_cast<double>(elements) / static_cast<double>(shared);
    }
    out.copy.push_back({bytes, static_cast<double>(bytes) / alone * 1e-9, static_cast<double>(bytes) / together * 1e-9});
  }
  out.measured_at = std::time(nullptr);
  out.others = share_of_others(before, processor_time(), own_time() - own);
  if (auto known = forgets ? std::nullopt : target::cached_peaks()) { out = target::best_of(*known, out); }
  target::keep_peaks(out);
  return out;
}

auto peaks() -> Result<Peaks> {
  // On a machine that is always slightly busy, this avoids measuring the peaks for seconds before every measurement of a program.
  constexpr int64_t patience = 600;
  auto known = target::cached_peaks();
  if (known && (known->others <= target::busy_share || std::time(nullptr) - known->measured_at < patience || is_busy_now())) { return *known; }
  return measure_peaks();
}

}  // namespace loopsmith::runtime
