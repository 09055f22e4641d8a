// RewriteCooperativeFetch: the threads of a block copy a tile together. A copy that is annotated with `meta_schedule.cooperative_fetch` gets its fused loop
// split over the threads of the kernel around, in vectors of the annotated number of lanes where that divides the loop.
#include "ir/ops.h"
#include "tune/metaschedule/calls.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune::metaschedule {
namespace {

struct Fetch {
  BlockRV block;
  int64_t threads_x, threads_y;   // -1: not bound
  int64_t lanes;
};

// The number that an argument of an instruction stands for.
auto number_of(const Schedule& sch, const Value& value) -> std::optional<int64_t> {
  if (const int64_t* number = value.integer()) { return *number; }
  if (const auto* rv = value.as<schedule::ExprRV>()) {
    auto number = sch.get(*rv);
    if (number.ok()) { return *number; }
  }
  return std::nullopt;
}

auto extent_of(const Schedule& sch, const Value& loop) -> int64_t {
  const auto* rv = loop.as<LoopRV>();
  auto found = rv ? sch.get(*rv) : Result<const schedule::Place*>(nullptr);
  return rv && found.ok() ? as_int((*found)->loop->extent).value_or(-1) : -1;
}

// The annotated copies in the order of the trace, each with the threads that were bound before its annotation.
auto find_fetches(const Schedule& sch, int64_t warp_size) -> std::vector<Fetch> {
  std::vector<Fetch> out;
  int64_t x = -1, y = -1;
  for (const schedule::Instruction* step : sch.trace().instructions()) {
    std::string_view kind = step->primitive->name;
    if (kind == "bind") {
      const auto* thread = step->values[1].as<std::string>();
      if (thread && *thread == "threadIdx.x") { x = extent_of(sch, step->values[0]); }
      if (thread && *thread == "threadIdx.y") { y = extent_of(sch, step->values[0]); }
    } else if (kind == "annotate") {
      const auto* key = step->values[1].as<std::string>();
      if (key && *key == "warp_execution") { x = warp_size; }
      const auto* block = step->values[0].as<BlockRV>();
      if (!key || *key != "meta_schedule.cooperative_fetch" || !block) { continue; }
      if (auto lanes = number_of(sch, step->values[2])) { out.push_back({*block, x, y, *lanes}); }
    }
  }
  return out;
}

auto distribute(Schedule& sch, const Fetch& fetch) -> Status {
  LOOPSMITH_CHECK(unannotate(sch, fetch.block, "meta_schedule.cooperative_fetch"));
  LOOPSMITH_TRY(loops, get_loops(sch, fetch.block));
  if (loops.empty()) { return ok(); }
  LOOPSMITH_TRY(fused, loop_of(sch, loops.back()));
  std::optional<int64_t> extent = as_int(fused->extent);
  if (!extent) { return ok(); }
  bool is_vector = fetch.lanes > 1 && *extent % fetch.lanes == 0;
  Value::List factors{Value()};
  if (fetch.threads_y != -1) { factors.emplace_back(fetch.threads_y); }
  factors.emplace_back(fetch.threads_x);
  if (is_vector) { factors.emplace_back(fetch.lanes); }
  LOOPSMITH_TRY(parts, split(sch, loops.back(), factors));
  if (is_vector) {
    LOOPSMITH_CHECK(vectorize(sch, parts.back()));
    parts.pop_back();
  }
  LOOPSMITH_CHECK(bind(sch, parts.back(), "threadIdx.x"));
  return fetch.threads_y != -1 ? bind(sch, parts[1], "threadIdx.y") : ok();
}

}  // namespace

auto rewrite_cooperative_fetch() -> Postproc {
  return {"RewriteCooperativeFetch", [](Schedule& sch, const TargetNumbers& numbers) -> Verdict {
            for (const Fetch& fetch : find_fetches(sch, numbers.warp_size)) { LOOPSMITH_CHECK(distribute(sch, fetch)); }
            return true;
          }};
}

}  // namespace loopsmith::tune::metaschedule
