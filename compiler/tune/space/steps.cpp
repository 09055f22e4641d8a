// Compositions of several primitives: see steps.h.
#include "tune/space/steps.h"

#include <algorithm>

#include "ir/ops.h"
#include "support/saturate.h"

namespace loopsmith::tune {

using schedule::BlockRV;
using schedule::LoopRV;
using schedule::Schedule;
using schedule::Value;

auto divisors(int64_t n) -> std::vector<int64_t> {
  // For a number above 2^42, finds only divisors up to 2^21, and their counterparts.
  constexpr int64_t most_tried = int64_t{1} << 21;
  std::vector<int64_t> out;
  for (int64_t d = 1; d <= most_tried && d * d <= n; ++d) {
    if (n % d == 0) {
      out.push_back(d);
      if (d * d != n) { out.push_back(n / d); }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

auto get_block(Schedule& sch, const std::string& name) -> Result<BlockRV> {
  LOOPSMITH_TRY(value, sch.call("get_block", {Value(name), Value(sch.func_working_on().str())}));
  return *value.as<BlockRV>();
}

auto get_loops(Schedule& sch, BlockRV block) -> Result<std::vector<LoopRV>> {
  LOOPSMITH_TRY(value, sch.call("get_loops", {block}));
  return schedule::loops_of(value);
}

auto extent_of(const Schedule& sch, LoopRV loop) -> int64_t {
  auto place = sch.get(loop);
  return place.ok() ? as_int((*place)->loop->extent).value_or(0) : 0;
}

auto split(Schedule& sch, LoopRV loop, const std::vector<int64_t>& factors) -> Result<std::vector<LoopRV>> {
  LOOPSMITH_TRY(value, sch.call("split", {loop, Value(factors)}));
  return schedule::loops_of(value);
}

auto fuse(Schedule& sch, const std::vector<LoopRV>& loops) -> Result<LoopRV> {
  if (loops.size() == 1) { return loops.front(); }
  LOOPSMITH_TRY(value, sch.call("fuse", std::vector<Value>(loops.begin(), loops.end())));
  return *value.as<LoopRV>();
}

namespace {
// The most lanes of one vectorized loop: four registers.
constexpr int64_t registers_per_loop = 4;
// The most statements into which unrolling may expand one block.
constexpr int64_t unroll_limit = 64;

auto chunk_for(int64_t extent, int lanes) -> int64_t {
  if (extent <= registers_per_loop * lanes) { return extent; }
  for (int64_t chunk : {int64_t{2} * lanes, int64_t{lanes}, int64_t{lanes} / 2, int64_t{4}}) {
    if (chunk > 1 && extent % chunk == 0) { return chunk; }
  }
  return lanes;  // with a predicated tail
}
}  // namespace

auto vectorize_inner(Schedule& sch, BlockRV block, size_t inner, int lanes, bool unroll) -> Status {
  LOOPSMITH_TRY(loops, get_loops(sch, block));
  if (loops.empty() || inner == 0) { return ok(); }
  inner = std::min(inner, loops.size());
  int64_t extent = extent_of(sch, loops.back());
  if (extent > 1) {
    int64_t chunk = chunk_for(extent, lanes);
    if (chunk == extent) {
      LOOPSMITH_TRY(done, sch.call("vectorize", {loops.back()}));
      (void)done;
    } else {
      LOOPSMITH_TRY(parts, split(sch, loops.back(), {(extent + chunk - 1) / chunk, chunk}));
      LOOPSMITH_TRY(done, sch.call("vectorize", {parts.back()}));
      (void)done;
      loops.back() = parts.front();
      if (unroll && (extent + chunk - 1) / chunk > 1 && (extent + chunk - 1) / chunk <= 4) {
        LOOPSMITH_TRY(unrolled, sch.call("unroll", {parts.front()}));
        (void)unrolled;
      }
    }
  }
  if (!unroll) { return ok(); }
  int64_t statements = 1;
  for (size_t i = 1; i < inner; ++i) {
    LoopRV loop = loops[loops.size() - 1 - i];
    int64_t n = extent_of(sch, loop);
    statements = saturating_mul(statements, std::max<int64_t>(1, n));
    if (n == 0 || statements > unroll_limit) { break; }
    if (n == 1) { continue; }
    LOOPSMITH_TRY(unrolled, sch.call("unroll", {loop}));
    (void)unrolled;
  }
  return ok();
}

auto flatten_block(Schedule& sch, BlockRV block, int lanes, int64_t parallel_from) -> Status {
  LOOPSMITH_TRY(loops, get_loops(sch, block));
  if (loops.empty()) { return ok(); }
  // Vectorizes the innermost loop; makes all outer loops one parallel loop.
  int64_t outer = 1;
  std::vector<LoopRV> around(loops.begin(), loops.end() - 1);
  for (LoopRV loop : around) { outer = saturating_mul(outer, extent_of(sch, loop)); }
  int64_t last = extent_of(sch, loops.back());
  if (last == 0 || outer == 0) { return ok(); }
  if (around.empty() || outer == 1) {
    // Splits a single long loop in two first, so that the outer part can be parallel.
    int64_t chunk = chunk_for(last, lanes);
    if (last > chunk) {
      LOOPSMITH_TRY(parts, split(sch, loops.back(), {(last + chunk - 1) / chunk, chunk}));
      LOOPSMITH_TRY(done, sch.call("vectorize", {parts.back()}));
      (void)done;
      around.push_back(parts.front());
      outer = saturating_mul(outer, last / chunk + (last % chunk > 0 ? 1 : 0));
      if (last < parallel_from) { return ok(); }
      LOOPSMITH_TRY(fused, fuse(sch, around));
      LOOPSMITH_TRY(spread, sch.call("parallel", {fused}));
      (void)spread;
      return ok();
    }
    LOOPSMITH_TRY(done, sch.call("vectorize", {loops.back()}));
    (void)done;
    return ok();
  }
  LOOPSMITH_CHECK(vectorize_inner(sch, block, 1, lanes, false));
  if (outer * last >= parallel_from) {
    LOOPSMITH_TRY(fused, fuse(sch, around));
    LOOPSMITH_TRY(spread, sch.call("parallel", {fused}));
    (void)spread;
  }
  return ok();
}

auto can_factor(const SpaceContext& context, const std::string& block, size_t loop) -> bool {
  Schedule sch(context.module);
  if (!(sch.func_working_on() == context.function) && !sch.work_on(context.function)) { return false; }
  auto found = get_block(sch, block);
  if (!found.ok()) { return false; }
  auto loops = get_loops(sch, *found);
  return loops.ok() && loop < loops->size() && sch.call("rfactor", {(*loops)[loop], Value(int64_t{0})}).ok();
}

}  // namespace loopsmith::tune
