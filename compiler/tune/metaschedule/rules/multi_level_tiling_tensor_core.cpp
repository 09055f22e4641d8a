// MultiLevelTilingTensorCore: a product of matrices, or a block that becomes one by renaming its indices, on the tensor units of a GPU. The operands are copied
// to the layout of matrices, tiles go through shared memory into fragments, and the result goes back the same way. One schedule for each group of
// intrinsics that fits.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "ir/ops.h"
#include "tune/metaschedule/rules/block_facts.h"
#include "tune/metaschedule/rules/multi_level_tiling.h"
#include "tune/metaschedule/rules/tensor_match.h"

namespace loopsmith::tune::rules {

using schedule::Value;

/// The choices of one schedule.
struct TensorCoreUse {
  TensorCoreGroup group;
  TensorMatch match;
  IndexMap mapping;                 // iter vars of the block to those of the product
  bool is_mma = false;              // `mma` instructions; else `wmma`
  BlockRV reindexed_store = {};
};

namespace {

class MultiLevelTilingTensorCore : public MultiLevelTiling {
 public:
  MultiLevelTilingTensorCore(const RuleMachine& machine, std::vector<TensorCoreGroup> groups, MultiLevelTilingOptions options, bool use_software_pipeline)
      : MultiLevelTiling(machine, std::move(options)), groups_(std::move(groups)), use_software_pipeline_(use_software_pipeline) {}

  auto name() const -> std::string_view override { return "MultiLevelTilingTensorCore"; }

  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override {
    LOOPSMITH_TRY(found, find_block(sch, block));
    if (!needs_multi_level_tiling(*found.func, *found.place)) { return Schedules{std::move(sch)}; }
    std::vector<std::shared_ptr<TensorCoreUse>> uses = fitting_uses(sch, *found.place->block());
    TilingStates states;
    // TVM goes through the groups in the order of a hash table, which is the reverse.
    for (auto use = uses.rbegin(); use != uses.rend(); ++use) {
      TilingState state{.sch = sch.fork(), .block = block};
      LOOPSMITH_CHECK(annotate(state.sch, block, "meta_schedule.tiling_structure", options_.structure));
      state.tensor_core = *use;
      states.push_back(std::move(state));
    }
    LOOPSMITH_TRY(made, apply_all_steps(std::move(states)));
    if (made.empty()) { return Schedules{std::move(sch)}; }
    Schedules out;
    for (TilingState& state : made) { out.push_back(std::move(state.sch)); }
    return out;
  }

 private:
  [[nodiscard]] auto fitting_uses(const Schedule& sch, const Block& block) const -> std::vector<std::shared_ptr<TensorCoreUse>> {
    std::vector<std::shared_ptr<TensorCoreUse>> out;
    for (const TensorCoreGroup& group : groups_) {
      const schedule::TensorIntrin* compute = find_intrinsic(sch, group.compute);
      auto match = compute ? match_block(block, compute->description) : std::nullopt;
      auto mapping = match ? mapping_of(*match) : std::nullopt;
      if (!mapping) { continue; }
      out.push_back(std::make_shared<TensorCoreUse>(
          TensorCoreUse{.group = group, .match = std::move(*match), .mapping = *mapping, .is_mma = group.compute.starts_with("mma_sync")}));
    }
    return out;
  }

  [[nodiscard]] auto apply_all_steps(TilingStates states) const -> Result<TilingStates> {
    LOOPSMITH_TRY(tensorized, on_each(std::move(states), [&](TilingState s) { return transform_for_tensorization(std::move(s)); }));
    LOOPSMITH_TRY(tiled, on_each(std::move(tensorized), [&](TilingState s) { return s.tensor_core->is_mma ? mma_tile_loops(std::move(s)) : tile_loops(std::move(s), 2); }));
    LOOPSMITH_TRY(laid_out, on_each(std::move(tiled), [&](TilingState s) { return transform_intermediate_output_layout(std::move(s)); }));
    LOOPSMITH_TRY(written, on_each(std::move(laid_out), [&](TilingState s) { return add_write_reuse(std::move(s)); }));
    LOOPSMITH_TRY(stored, on_each(std::move(written), [&](TilingState s) { return add_write_reuse_tensor_core(std::move(s)); }));
    LOOPSMITH_TRY(read, on_each(std::move(stored), [&](TilingState s) { return s.tensor_core->is_mma ? mma_add_read_reuse(std::move(s)) : add_read_reuse(std::move(s)); }));
    LOOPSMITH_TRY(loaded, on_each(std::move(read), [&](TilingState s) { return add_read_reuse_tensor_core(std::move(s)); }));
    return on_each(std::move(loaded), [&](TilingState s) { return add_software_pipeline(std::move(s)); });
  }

  [[nodiscard]] static auto one(TilingState state) -> TilingStates {
    TilingStates out;
    out.push_back(std::move(state));
    return out;
  }

  [[nodiscard]] auto transform_for_tensorization(TilingState state) const -> Result<TilingStates> {
    const TensorCoreUse& use = *state.tensor_core;
    LOOPSMITH_TRY(loop, transform_with_intrinsic(state));
    if (!loop) { return TilingStates{}; }
    LOOPSMITH_TRY(outer, block_from(state.sch, "blockize", {*loop}));
    state.block = outer;
    LOOPSMITH_CHECK(annotate(state.sch, outer, "meta_schedule.auto_tensorize", use.group.compute));
    LOOPSMITH_CHECK(annotate(state.sch, outer, "meta_schedule.auto_tensorize_init", use.group.init));
    LOOPSMITH_CHECK(annotate(state.sch, outer, "warp_execution", 1));
    return one(std::move(state));
  }

  /// Copies the operands and the result to buffers indexed like matrices, and tiles the block for the intrinsic. None: it does not fit.
  [[nodiscard]] auto transform_with_intrinsic(TilingState& state) const -> Result<std::optional<LoopRV>>;
  [[nodiscard]] auto transform_intermediate_output_layout(TilingState state) const -> Result<TilingStates>;
  [[nodiscard]] auto add_write_reuse_tensor_core(TilingState state) const -> Result<TilingStates>;
  [[nodiscard]] auto add_read_reuse_tensor_core(TilingState state) const -> Result<TilingStates>;
  [[nodiscard]] auto add_software_pipeline(TilingState state) const -> Result<TilingStates>;
  // The same with copies by `read_at` and `write_at`, for `mma` instructions.
  [[nodiscard]] auto mma_tile_loops(TilingState state) const -> Result<TilingStates>;
  [[nodiscard]] auto mma_add_read_reuse(TilingState state) const -> Result<TilingStates>;

  std::vector<TensorCoreGroup> groups_;
  bool use_software_pipeline_;
};

/// The part of the mapping that concerns one buffer: from the iter vars that index it to the indices that the intrinsic has for it.
auto map_of_buffer(const TensorCoreUse& use, const Block& block, const Buffer& original, const Array<Range>& region) -> std::optional<IndexMap> {
  const IndexMap& map = use.mapping;
  const size_t unmapped_count = map->final.size() - use.match.intrinsic_iters.size();
  std::unordered_set<const ExprNode*> unmapped;
  for (size_t i = 0; i < unmapped_count; ++i) { unmapped.insert(map->final[i].get()); }
  std::unordered_map<const VarNode*, Expr> target;
  for (size_t i = 0; i < use.match.intrinsic_iters.size(); ++i) { target[use.match.intrinsic_iters[i].var.get()] = map->final[unmapped_count + i]; }
  std::vector<Var> initial;
  std::vector<Expr> final;
  for (const Range& range : region) {
    const auto* var = range.min.as<VarNode>();
    auto at = std::find_if(block.iter_vars.begin(), block.iter_vars.end(), [&](const IterVar& iter) { return iter.var.get() == var; });
    if (!var || !is_one(range.extent) || at == block.iter_vars.end()) { return std::nullopt; }
    const Var& representative = map->initial[static_cast<size_t>(at - block.iter_vars.begin())];
    initial.push_back(representative);
    if (unmapped.contains(representative.get())) { final.push_back(representative); }
  }
  for (const auto& [ours, theirs] : use.match.buffers) {
    if (ours.get() != original.get()) { continue; }
    for (const Expr& index : use.match.intrinsic_indices.at(theirs.get())) {
      auto found = index.as<VarNode>() ? target.find(index.as<VarNode>()) : target.end();
      if (found == target.end()) { return std::nullopt; }
      final.push_back(found->second);
    }
  }
  return make_index_map({.initial = std::move(initial), .final = std::move(final), .inverse = {}});
}

auto MultiLevelTilingTensorCore::transform_with_intrinsic(TilingState& state) const -> Result<std::optional<LoopRV>> {
  Schedule& sch = state.sch;
  TensorCoreUse& use = *state.tensor_core;
  const BlockRV block = state.block;
  LOOPSMITH_TRY(place, sch.get(block));
  const Ref<Block> before(place->block());
  if (before->reads.size() != 2 || before->writes.size() != 1) { return std::optional<LoopRV>(); }
  auto access = [](const char* kind, int64_t index) { return Value(Values{kind, index}); };
  LOOPSMITH_TRY(store, block_from(sch, "reindex", {block, access("write", 0)}));
  LOOPSMITH_TRY(load_a, block_from(sch, "reindex", {block, access("read", 0)}));
  LOOPSMITH_TRY(load_b, block_from(sch, "reindex", {block, access("read", 1)}));
  // Groups share nothing but the match.
  state.tensor_core = std::make_shared<TensorCoreUse>(use);
  state.tensor_core->reindexed_store = store;
  std::unordered_map<const BufferNode*, IndexMap> maps;
  auto lay_out = [&](const char* kind, size_t index) -> Result<bool> {
    const Buffer& original = (kind[0] == 'r' ? before->reads : before->writes)[index].buffer;
    if (maps.contains(original.get())) { return true; }
    LOOPSMITH_TRY(now, sch.get(block));
    const auto& regions = kind[0] == 'r' ? now->block()->reads : now->block()->writes;
    auto map = map_of_buffer(use, *now->block(), original, regions[index].region);
    if (!map) { return false; }
    maps[original.get()] = *map;
    LOOPSMITH_CHECK(perform(sch, "transform_layout", {block, access(kind, static_cast<int64_t>(index)), *map, nullptr, true}));
    return true;
  };
  for (auto [kind, index] : {std::pair<const char*, size_t>{"read", 0}, {"read", 1}, {"write", 0}}) {
    LOOPSMITH_TRY(is_matrix, lay_out(kind, index));
    if (!is_matrix) { return std::optional<LoopRV>(); }
  }
  for (auto [copy, buffer] : {std::pair{store, before->writes[0].buffer}, {load_a, before->reads[0].buffer}, {load_b, before->reads[1].buffer}}) {
    LOOPSMITH_CHECK(perform(sch, "transform_block_layout", {copy, maps.at(buffer.get())}));
  }
  LOOPSMITH_CHECK(perform(sch, "transform_block_layout", {block, use.mapping}));
  return tile_with_intrinsic(sch, block, use.group.compute, true);
}

/// The product of sampled factors, as an expression over variables that a trace resolves.
auto product_of(const std::vector<ExprRV>& factors) -> Expr {
  Expr out;
  for (ExprRV factor : factors) {
    Expr next = make<VarNode>(Name(Schedule::name_of(factor)), DataType::int_(32));
    out = out ? mul(out, next) : next;
  }
  return out;
}

auto MultiLevelTilingTensorCore::transform_intermediate_output_layout(TilingState state) const -> Result<TilingStates> {
  if (state.tensor_core->is_mma) { return one(std::move(state)); }
  // The result becomes [..., warp_m, warp_n, fragment_m, fragment_n, m, n]: the warps of the block, the fragments of a warp, the elements of a fragment.
  const schedule::TensorIntrin* init = find_intrinsic(state.sch, state.tensor_core->group.init);
  const auto* root = init ? init->description->body.as<BlockRealize>() : nullptr;
  const auto* loop_m = root ? root->block->body.as<For>() : nullptr;
  const auto* loop_n = loop_m ? loop_m->body.as<For>() : nullptr;
  auto warp = std::find(options_.tile_binds.begin(), options_.tile_binds.end(), "threadIdx.y");
  if (!loop_n || warp == options_.tile_binds.end()) { return TilingStates{}; }
  const auto warp_level = static_cast<size_t>(warp - options_.tile_binds.begin());
  std::array<std::vector<ExprRV>, 2> inner;
  for (size_t i = warp_level + 1; i < spatial_levels_.size(); ++i) {
    const std::vector<ExprRV>& factors = state.tile_factors[spatial_levels_[i]];
    if (factors.size() < 2) { return TilingStates{}; }
    inner[0].push_back(factors[factors.size() - 2]);
    inner[1].push_back(factors[factors.size() - 1]);
  }
  LOOPSMITH_TRY(place, state.sch.get(state.block));
  const size_t dimensions = place->block()->writes[0].buffer->shape.size();
  if (dimensions < 2 || inner[0].empty()) { return TilingStates{}; }
  std::vector<Var> indices;
  std::vector<Expr> result;
  for (size_t i = 0; i < dimensions; ++i) { indices.push_back(make<VarNode>(Name("i" + std::to_string(i)), DataType::int_(32))); }
  for (size_t i = 0; i + 2 < dimensions; ++i) { result.push_back(indices[i]); }
  const Var& m = indices[dimensions - 2];
  const Var& n = indices[dimensions - 1];
  const Expr frag_m = loop_m->extent, frag_n = loop_n->extent;
  const Expr outer_m = floordiv(m, frag_m), outer_n = floordiv(n, frag_n);
  const Expr warp_m = product_of(inner[0]), warp_n = product_of(inner[1]);
  for (const Expr& index : {floordiv(outer_m, warp_m), floordiv(outer_n, warp_n), floormod(outer_m, warp_m), floormod(outer_n, warp_n),
                            floormod(m, frag_m), floormod(n, frag_n)}) { result.push_back(index); }
  IndexMap map = make_index_map({.initial = std::move(indices), .final = std::move(result), .inverse = {}});
  LOOPSMITH_CHECK(perform(state.sch, "transform_layout", {state.block, Value(Values{"write", 0}), map, nullptr, true}));
  return one(std::move(state));
}

auto MultiLevelTilingTensorCore::add_write_reuse_tensor_core(TilingState state) const -> Result<TilingStates> {
  Schedule& sch = state.sch;
  const TensorCoreUse& use = *state.tensor_core;
  if (use.is_mma) {
    if (state.tiles.size() < 3 || state.tiles[2].empty()) { return TilingStates{}; }
    LOOPSMITH_CHECK(perform(sch, "write_at", {state.tiles[2].back(), state.block, 0, "m16n8k8.matrixC"}));
    LOOPSMITH_CHECK(perform(sch, "reverse_compute_inline", {use.reindexed_store}));
    return one(std::move(state));
  }
  LOOPSMITH_TRY(cache, block_from(sch, "cache_write", {state.block, 0, "wmma.accumulator"}));
  if (!state.write_reuse.contains(0)) { return TilingStates{}; }
  const BlockRV shared = state.write_reuse[0];
  // Only one row of fragments at a time goes through shared memory: the loop over rows comes first, and the copy from the fragments is computed in it.
  LOOPSMITH_TRY(shared_loops, get_loops(sch, shared));
  if (shared_loops.size() <= 6) { return TilingStates{}; }
  auto* at = shared_loops.data() + shared_loops.size() - 6;
  LOOPSMITH_CHECK(reorder(sch, {at[2], at[0], at[1], at[3]}));
  LOOPSMITH_CHECK(perform(sch, "compute_at", {cache, at[2], true}));
  LOOPSMITH_TRY(cache_loops, get_loops(sch, cache));
  if (cache_loops.size() <= 6) { return TilingStates{}; }
  LOOPSMITH_TRY(warps, fuse(sch, {cache_loops[cache_loops.size() - 6], cache_loops[cache_loops.size() - 5]}));
  LOOPSMITH_CHECK(perform(sch, "bind", {warps, "threadIdx.y"}));
  LOOPSMITH_CHECK(perform(sch, "reverse_compute_inline", {use.reindexed_store}));
  LOOPSMITH_TRY(loops, get_loops(sch, cache));
  LOOPSMITH_TRY(store, block_from(sch, "blockize", {loops[loops.size() - 2]}));
  LOOPSMITH_CHECK(annotate(sch, store, "meta_schedule.auto_tensorize", use.group.store));
  LOOPSMITH_TRY(outer, get_loops(sch, shared));
  LOOPSMITH_TRY(fused, fuse(sch, {outer.end() - std::min<int64_t>(5, std::ssize(outer)), outer.end()}));
  (void)fused;
  LOOPSMITH_CHECK(annotate_cooperative_fetching(sch, shared));
  return one(std::move(state));
}

auto MultiLevelTilingTensorCore::add_read_reuse_tensor_core(TilingState state) const -> Result<TilingStates> {
  Schedule& sch = state.sch;
  const TensorCoreUse& use = *state.tensor_core;
  if (reduction_levels_.size() < 2 || state.tiles[reduction_levels_[1]].empty()) { return TilingStates{}; }
  const LoopRV inner = state.tiles[reduction_levels_[1]].back();
  for (int64_t i = 0; i < 2; ++i) {
    const std::string scope = std::string(use.is_mma ? "m16n8k8.matrix" : "wmma.matrix_") + (use.is_mma ? (i == 0 ? "A" : "B") : (i == 0 ? "a" : "b"));
    LOOPSMITH_TRY(fragment, block_from(sch, "cache_read", {state.block, i, scope}));
    LOOPSMITH_CHECK(perform(sch, "compute_at", {fragment, inner, true}));
    const std::string& load = i == 0 ? use.group.load_a : use.group.load_b;
    LOOPSMITH_TRY(loop, tile_with_intrinsic(sch, fragment, load));
    if (!loop) { return TilingStates{}; }
    LOOPSMITH_TRY(outer, block_from(sch, "blockize", {*loop}));
    LOOPSMITH_CHECK(annotate(sch, outer, "meta_schedule.auto_tensorize", load));
    if (use.is_mma) { LOOPSMITH_CHECK(annotate(sch, outer, "permuted_layout", i == 0 ? "s2l_A" : "s2l_B")); }
  }
  for (int64_t i = 0; i < 2; ++i) {
    if (!state.read_reuse.contains(i)) { return TilingStates{}; }
    const BlockRV shared = state.read_reuse[i];
    LOOPSMITH_TRY(producers, blocks_from(sch, "get_producers", shared));
    if (producers.empty()) { return TilingStates{}; }
    LOOPSMITH_CHECK(perform(sch, "compute_inline", {producers.front()}));
    LOOPSMITH_TRY(place, sch.get(shared));
    const DataType dtype = place->block()->writes[0].buffer->dtype;
    const int64_t offset = dtype.is_float() && dtype.bits == 16 ? 8 : dtype.is_int() && dtype.bits == 8 ? 16 : 0;
    if (offset > 0) { LOOPSMITH_CHECK(perform(sch, "storage_align", {shared, 0, -2, 32, offset})); }
  }
  return one(std::move(state));
}

auto MultiLevelTilingTensorCore::add_software_pipeline(TilingState state) const -> Result<TilingStates> {
  if (!use_software_pipeline_ || reduction_levels_.size() < 2) { return one(std::move(state)); }
  Schedule& sch = state.sch;
  const bool is_mma = state.tensor_core->is_mma;
  int64_t length = 1;
  for (size_t level : reduction_levels_) {
    for (LoopRV loop : state.tiles[level]) {
      LOOPSMITH_TRY(extent, extent_of(sch, loop));
      length *= extent;
    }
  }
  if (length <= 1) { return one(std::move(state)); }
  for (int64_t i = 0; i < 2; ++i) {
    const BlockRV shared = state.read_reuse[i];
    if (is_mma) {
      LOOPSMITH_CHECK(annotate(sch, shared, "vector_bytes", 16));
    } else {
      LOOPSMITH_CHECK(annotate(sch, shared, "tir.manifest_shared_memory_local_stage", 1));
      LOOPSMITH_CHECK(annotate(sch, shared, "double_buffer_scope", 0));
    }
  }
  // The inner loop fetches the fragments of the next step while it computes; the outer one the tiles of the next step.
  const LoopRV inner = state.tiles[reduction_levels_[1]].back();
  const LoopRV outer = state.tiles[reduction_levels_[0]].back();
  LOOPSMITH_CHECK(annotate(sch, inner, "software_pipeline_stage", Value(Values{0, 0, 1})));
  LOOPSMITH_CHECK(annotate(sch, inner, "software_pipeline_order", Value(Values{0, 1, 2})));
  if (is_mma) {
    LOOPSMITH_CHECK(annotate(sch, outer, "software_pipeline_async_stages", Value(Values{0})));
    LOOPSMITH_CHECK(annotate(sch, outer, "software_pipeline_stage", Value(Values{0, 0, 1, 2, 2})));
    LOOPSMITH_CHECK(annotate(sch, outer, "software_pipeline_order", Value(Values{0, 1, 3, 2, 4})));
  } else {
    LOOPSMITH_CHECK(annotate(sch, outer, "software_pipeline_stage", Value(Values{0, 0, 0, 0, 0, 1, 1})));
    LOOPSMITH_CHECK(annotate(sch, outer, "software_pipeline_order", Value(Values{0, 3, 1, 4, 5, 2, 6})));
  }
  return one(std::move(state));
}

auto MultiLevelTilingTensorCore::mma_tile_loops(TilingState state) const -> Result<TilingStates> {
  Schedule& sch = state.sch;
  LOOPSMITH_TRY(loops, get_loops(sch, state.block));
  LOOPSMITH_TRY(place, sch.get(state.block));
  const Array<IterVar> iters = place->block()->iter_vars;
  if (loops.size() != 3 || iters.size() != 3) { return TilingStates{}; }
  Levels levels;
  levels.tiles.resize(options_.structure.size());
  state.tile_factors.assign(options_.structure.size(), {});
  for (size_t i = 0; i < 3; ++i) {
    const bool is_spatial_loop = iters[i].kind == IterKind::Spatial;
    if (!is_spatial_loop && iters[i].kind != IterKind::Reduction) { continue; }
    const std::vector<size_t>& at = is_spatial_loop ? spatial_levels_ : reduction_levels_;
    const auto count = static_cast<int64_t>(at.size());
    Parts parts;
    if (is_spatial_loop) {
      LOOPSMITH_TRY(extent, extent_of(sch, loops[i]));
      levels.spatial_product = levels.spatial_product == -1 || extent == -1 ? -1 : levels.spatial_product * extent;
      // A warp loads 32 x 32 elements at a time, which are 2 x 4 tiles of the product.
      LOOPSMITH_TRY(sampled, sch.call("sample_partitioned_tile", {loops[i], count, 3, i == 0 ? 2 : 4}));
      parts.factors = schedule::exprs_of(sampled);
      LOOPSMITH_TRY(split_loops, metaschedule::split(sch, loops[i], Values(parts.factors.begin(), parts.factors.end())));
      parts.loops = std::move(split_loops);
    } else {
      LOOPSMITH_TRY(made, split(sch, state.block, loops[i], count));
      parts = std::move(made);
    }
    for (size_t j = 0; j < at.size(); ++j) {
      levels.tiles[at[j]].push_back(parts.loops[j]);
      state.tile_factors[at[j]].push_back(parts.factors[j]);
    }
  }
  LOOPSMITH_CHECK(arrange(state, std::move(levels)));
  return one(std::move(state));
}

auto MultiLevelTilingTensorCore::mma_add_read_reuse(TilingState state) const -> Result<TilingStates> {
  if (options_.reuse_read.req == ReuseType::Req::No) { return one(std::move(state)); }
  TilingStates out;
  for (int level : options_.reuse_read.levels) {
    TilingState next = state.copy();
    if (static_cast<size_t>(level) > next.tiles.size() || next.tiles[static_cast<size_t>(level) - 1].empty()) { continue; }
    const LoopRV loop = next.tiles[static_cast<size_t>(level) - 1].back();
    LOOPSMITH_TRY(place, next.sch.get(next.block));
    const std::vector<int64_t> dimensions = read_dimensions(*place->block());
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i] == -1) { continue; }
      LOOPSMITH_TRY(cache, block_from(next.sch, "read_at", {loop, next.block, static_cast<int64_t>(i), options_.reuse_read.scope}));
      next.read_reuse.emplace(static_cast<int64_t>(i), cache);
      LOOPSMITH_CHECK(annotate(next.sch, cache, "permuted_layout", i == 0 ? "g2s_A" : "g2s_B"));
    }
    out.push_back(std::move(next));
  }
  return out;
}

}  // namespace

auto multi_level_tiling_tensor_core(const RuleMachine& machine, std::vector<TensorCoreGroup> groups, MultiLevelTilingOptions options,
                                    bool use_software_pipeline) -> RulePtr {
  return std::make_shared<MultiLevelTilingTensorCore>(machine, std::move(groups), std::move(options), use_software_pipeline);
}

}  // namespace loopsmith::tune::rules
