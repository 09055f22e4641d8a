// MultiLevelTiling: see multi_level_tiling.h.
#include "tune/metaschedule/rules/multi_level_tiling.h"

#include <algorithm>

#include "ir/ops.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "tune/metaschedule/rules/block_facts.h"

namespace loopsmith::tune::rules {

auto TilingState::copy() -> TilingState {
  TilingState out = *this;
  out.sch = sch.fork();
  return out;
}

auto read_dimensions(const Block& block) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (const BufferRegion& read : block.reads) {
    out.push_back(read.buffer.get() == block.writes[0].buffer.get() ? -1 : static_cast<int64_t>(read.buffer->shape.size()));
  }
  return out;
}

MultiLevelTiling::MultiLevelTiling(const RuleMachine& machine, MultiLevelTilingOptions options) : machine_(machine), options_(std::move(options)) {
  for (size_t i = 0; i < options_.structure.size(); ++i) { (options_.structure[i] == 'S' ? spatial_levels_ : reduction_levels_).push_back(i); }
}

auto MultiLevelTiling::apply(Schedule sch, BlockRV block) const -> Result<Schedules> {
  LOOPSMITH_TRY(found, find_block(sch, block));
  bool is_tiled = needs_multi_level_tiling(*found.func, *found.place);
  if (!is_tiled && options_.filter) { LOOPSMITH_TRY(chosen, options_.filter(sch, block)); is_tiled = chosen && found.place->parent >= 0; }
  if (!is_tiled) { return Schedules{std::move(sch)}; }
  LOOPSMITH_CHECK(annotate(sch, block, "meta_schedule.tiling_structure", options_.structure));
  LOOPSMITH_TRY(states, apply_steps({.sch = std::move(sch), .block = block}));
  Schedules out;
  for (TilingState& state : states) { out.push_back(std::move(state.sch)); }
  return out;
}

auto MultiLevelTiling::apply_steps(TilingState state) const -> Result<TilingStates> {
  LOOPSMITH_TRY(tiled, tile_loops(std::move(state)));
  LOOPSMITH_TRY(written, on_each(std::move(tiled), [&](TilingState s) { return add_write_reuse(std::move(s)); }));
  LOOPSMITH_TRY(read, on_each(std::move(written), [&](TilingState s) { return add_read_reuse(std::move(s)); }));
  return on_each(std::move(read), [&](TilingState s) { return add_async_pipeline(std::move(s)); });
}

auto MultiLevelTiling::split(Schedule& sch, BlockRV block, LoopRV loop, int64_t count) const -> Result<Parts> {
  (void)block;   // variants need it
  LOOPSMITH_TRY(factors, sample_tile(sch, loop, count, options_.max_innermost_factor));
  Values given(factors.begin(), factors.end());
  LOOPSMITH_TRY(extent, extent_of(sch, loop));
  // The outermost tile of a loop of unknown extent takes the remaining iterations.
  if (extent == -1) { given[0] = nullptr; }
  LOOPSMITH_TRY(loops, metaschedule::split(sch, loop, std::move(given)));
  return Parts{std::move(factors), std::move(loops)};
}

auto MultiLevelTiling::tile_loops(TilingState state, int64_t spatial_loops) const -> Result<TilingStates> {
  Schedule& sch = state.sch;
  LOOPSMITH_TRY(loops, get_loops(sch, state.block));
  LOOPSMITH_TRY(place, sch.get(state.block));
  const Array<IterVar> iters = place->block()->iter_vars;
  if (iters.size() != loops.size()) { return TilingStates{}; }
  const int64_t all_spatial = std::count_if(iters.begin(), iters.end(), [](const IterVar& iter) { return iter.kind == IterKind::Spatial; });
  int64_t skipped = spatial_loops < 0 ? 0 : all_spatial - spatial_loops;
  if (skipped < 0) { return TilingStates{}; }
  Levels levels;
  levels.tiles.resize(options_.structure.size());
  state.tile_factors.assign(options_.structure.size(), {});
  for (size_t i = 0; i < loops.size(); ++i) {
    const IterKind kind = iters[i].kind;
    if (kind != IterKind::Spatial && kind != IterKind::Reduction) { continue; }
    if (kind == IterKind::Spatial) {
      if (skipped > 0) {
        levels.untiled.push_back(loops[i]);
        --skipped;
        continue;
      }
      LOOPSMITH_TRY(extent, extent_of(sch, loops[i]));
      levels.spatial_product = levels.spatial_product == -1 || extent == -1 ? -1 : levels.spatial_product * extent;
    }
    const std::vector<size_t>& at = kind == IterKind::Spatial ? spatial_levels_ : reduction_levels_;
    if (at.size() == 1) {
      levels.tiles[at[0]].push_back(loops[i]);
      continue;
    }
    LOOPSMITH_TRY(parts, split(sch, state.block, loops[i], static_cast<int64_t>(at.size())));
    for (size_t j = 0; j < at.size(); ++j) {
      levels.tiles[at[j]].push_back(parts.loops[j]);
      if (j < parts.factors.size()) { state.tile_factors[at[j]].push_back(parts.factors[j]); }
    }
  }
  LOOPSMITH_CHECK(arrange(state, std::move(levels)));
  TilingStates out;
  out.push_back(std::move(state));
  return out;
}

auto MultiLevelTiling::arrange(TilingState& state, Levels levels) const -> Status {
  Schedule& sch = state.sch;
  std::vector<LoopRV> order;
  for (const auto& tile : levels.tiles) { order.insert(order.end(), tile.begin(), tile.end()); }
  LOOPSMITH_CHECK(reorder(sch, order));
  const size_t bound = std::min(options_.tile_binds.size(), levels.tiles.size());
  if (bound > 0) { levels.tiles[0].insert(levels.tiles[0].begin(), levels.untiled.begin(), levels.untiled.end()); }
  for (size_t i = 0; i < bound; ++i) {
    LOOPSMITH_TRY(fused, fuse(sch, levels.tiles[i]));
    LOOPSMITH_CHECK(perform(sch, "bind", {fused, options_.tile_binds[i]}));
    levels.tiles[i] = {fused};
  }
  state.tiles = std::move(levels.tiles);
  if (machine_.warp_size == -1) { return ok(); }
  const int64_t least = levels.spatial_product > 2 * machine_.warp_size ? machine_.warp_size : 1;
  LOOPSMITH_CHECK(annotate(sch, state.block, "meta_schedule.thread_extent_low_inclusive", least));
  return annotate(sch, state.block, "meta_schedule.thread_extent_high_inclusive", machine_.max_threads);
}

namespace {

/// The levels that a block asks for in its annotation; none: it does not.
auto asked_levels(const Block& block) -> std::optional<std::vector<int>> {
  const Attr* found = find_attr(block.annotations, "meta_schedule.write_cache_level");
  const Array<Attr>* list = found ? found->list() : nullptr;
  if (!list) { return std::nullopt; }
  std::vector<int> out;
  for (const Attr& item : *list) {
    auto level = item.expr() ? as_int(item.expr()) : std::nullopt;
    if (!level) { return std::nullopt; }
    out.push_back(static_cast<int>(*level));
  }
  return out;
}

/// The innermost loop of a level, which counts from 1.
auto loop_of_level(const TilingState& state, int level) -> Result<LoopRV> {
  if (level < 1 || static_cast<size_t>(level) > state.tiles.size() || state.tiles[static_cast<size_t>(level) - 1].empty()) {
    return error(Code::CannotTune).arg("function", "MultiLevelTiling").arg("reason", because(Why::NoLoopsAtLevel).arg("level", level).text());
  }
  return state.tiles[static_cast<size_t>(level) - 1].back();
}

/// A copy of the state for each level, with the block computed there.
auto add_placed(TilingState& state, BlockRV cache, const std::vector<int>& levels, TilingStates& out) -> Status {
  for (int level : levels) {
    TilingState placed = state.copy();
    LOOPSMITH_TRY(loop, loop_of_level(placed, level));
    LOOPSMITH_CHECK(perform(placed.sch, "reverse_compute_at", {cache, loop, true}));
    out.push_back(std::move(placed));
  }
  return ok();
}

}  // namespace

auto MultiLevelTiling::add_write_reuse(TilingState state) const -> Result<TilingStates> {
  TilingStates out;
  if (options_.reuse_write.req == ReuseType::Req::No) {
    out.push_back(std::move(state));
    return out;
  }
  ReuseType reuse = options_.reuse_write;
  LOOPSMITH_TRY(place, state.sch.get(state.block));
  if (auto levels = asked_levels(*place->block())) {
    reuse.req = ReuseType::Req::Must;
    reuse.levels = *levels;
  }
  if (reuse.req == ReuseType::Req::May) {
    LOOPSMITH_TRY(consumers, blocks_from(state.sch, "get_consumers", state.block));
    if (consumers.size() == 1) {
      LOOPSMITH_TRY(consumer, state.sch.get(consumers[0]));
      if (is_write_cache(*consumer->block())) {
        // The program has a write cache: no other one is added.
        LOOPSMITH_CHECK(add_placed(state, consumers[0], reuse.levels, out));
        state.write_reuse.emplace(0, consumers[0]);
        out.push_back(std::move(state));
        return out;
      }
    }
    out.push_back(state.copy());
  }
  LOOPSMITH_TRY(cache, block_from(state.sch, "cache_write", {state.block, 0, reuse.scope}));
  state.write_reuse.emplace(0, cache);
  LOOPSMITH_CHECK(add_placed(state, cache, reuse.levels, out));
  return out;
}

auto MultiLevelTiling::add_read_reuse(TilingState state) const -> Result<TilingStates> {
  TilingStates out;
  if (options_.reuse_read.req == ReuseType::Req::No) {
    out.push_back(std::move(state));
    return out;
  }
  for (int level : options_.reuse_read.levels) {
    TilingState next = state.copy();
    Schedule& sch = next.sch;
    LOOPSMITH_TRY(loop, loop_of_level(next, level));
    LOOPSMITH_TRY(place, sch.get(next.block));
    const std::vector<int64_t> dimensions = read_dimensions(*place->block());
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i] == -1) { continue; }
      const auto index = static_cast<int64_t>(i);
      LOOPSMITH_TRY(cache, block_from(sch, "cache_read", {next.block, index, options_.reuse_read.scope, schedule::Value(Values{next.block})}));
      LOOPSMITH_CHECK(perform(sch, "compute_at", {cache, loop, true}));
      LOOPSMITH_TRY(loops, get_loops(sch, cache));
      LOOPSMITH_TRY(fused, fuse(sch, {loops.end() - std::min<int64_t>(dimensions[i], std::ssize(loops)), loops.end()}));
      (void)fused;
      LOOPSMITH_CHECK(annotate_cooperative_fetching(sch, cache));
      next.read_reuse.emplace(index, cache);
    }
    out.push_back(std::move(next));
  }
  return out;
}

auto MultiLevelTiling::annotate_cooperative_fetching(Schedule& sch, BlockRV block) const -> Status {
  LOOPSMITH_TRY(place, sch.get(block));
  const DataType dtype = place->block()->writes[0].buffer->dtype;
  std::vector<int64_t> lengths;
  for (int64_t n : options_.vector_load_lens) {
    const bool fits = dtype == DataType::float_(32)   ? n <= 4
                      : dtype == DataType::float_(16) ? (n == 1 || n % 2 == 0) && n <= 8
                      : dtype == DataType::int_(8)    ? n <= 16
                                                      : true;
    if (fits) { lengths.push_back(n); }
  }
  if (lengths.empty()) { return ok(); }
  LOOPSMITH_TRY(length, sample_one_of(sch, lengths));
  return annotate(sch, block, "meta_schedule.cooperative_fetch", length);
}

auto MultiLevelTiling::add_async_pipeline(TilingState state) const -> Result<TilingStates> {
  TilingStates out;
  auto only_this = [&]() -> Result<TilingStates> {
    out.push_back(std::move(state));
    return std::move(out);
  };
  if (reduction_levels_.empty() || machine_.async_stages.empty() || state.tiles[reduction_levels_[0]].empty()) { return only_this(); }
  // The loop holds the two copies into shared memory and the product: three loops.
  const std::vector<LoopRV>& outer = state.tiles[reduction_levels_[0]];
  LOOPSMITH_TRY(place, state.sch.get(outer.back()));
  const auto* body = place->loop->body.as<SeqStmt>();
  if (!body || body->seq.size() != 3) { return only_this(); }
  for (const Stmt& s : body->seq) { if (!s.as<For>()) { return only_this(); } }
  out.push_back(state);
  for (int64_t stage : machine_.async_stages) {
    TilingState next = state.copy();
    LOOPSMITH_TRY(loop, fuse(next.sch, next.tiles[reduction_levels_[0]]));
    LOOPSMITH_CHECK(annotate(next.sch, loop, "software_pipeline_stage", schedule::Value(Values{0, 0, stage - 2})));
    LOOPSMITH_CHECK(annotate(next.sch, loop, "software_pipeline_order", schedule::Value(Values{0, 1, 2})));
    LOOPSMITH_CHECK(annotate(next.sch, loop, "software_pipeline_async_stages", schedule::Value(Values{0})));
    out.push_back(std::move(next));
  }
  // Drawing seeds for the copies has moved the random numbers of the first one, too.
  out.front() = std::move(state);
  return out;
}

auto multi_level_tiling(const RuleMachine& machine, MultiLevelTilingOptions options) -> RulePtr {
  return std::make_shared<MultiLevelTiling>(machine, std::move(options));
}

}  // namespace loopsmith::tune::rules
