// Multi-level tiling of a reduction with data reuse (matmul, convolution), with the blocks around it.
//
//     parallel s0 | r0 | s1 | r1 | s2            s: spatial loops, r: reduction loops, each split into tiles
//
// The innermost spatial tile s2 is the register tile: its last loop is vectorized, the others are unrolled, so that its
// accumulators stay in registers while r1 runs. An operand can be packed: copied at an s1 loop into a compact tile that
// the loops inside reuse. Elementwise consumers are inlined into the last of them, which runs on the tile while it is
// hot; elementwise producers (padding) stay outside, move under the parallel loop, or are inlined. MetaSchedule's rule of the
// same name (NeurIPS'22) has the structure SSRSRS; the roles of packing and register tile follow Goto and van de Geijn
// (TOMS 2008).
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tune/space/analysis.h"
#include "tune/space/sketch.h"
#include "tune/space/steps.h"

namespace loopsmith::tune {
namespace {

using schedule::BlockRV;
using schedule::LoopRV;
using schedule::Schedule;
using schedule::Value;

constexpr int64_t max_register_rows = 16;
constexpr size_t max_choices = 400;
// Blocks smaller than this are not worth a parallel loop.
constexpr int64_t parallel_from = 16384;

auto ceil_div(int64_t a, int64_t b) -> int64_t { return (a + b - 1) / b; }

// All ways to split a spatial loop into [outer, middle, register].
auto spatial_choices(int64_t extent, const std::vector<int64_t>& register_sizes) -> std::vector<std::vector<int64_t>> {
  std::vector<std::vector<int64_t>> out;
  for (int64_t r : register_sizes) {
    int64_t tiles = ceil_div(extent, r);
    std::vector<int64_t> middles = divisors(tiles);
    for (int64_t m : middles) { out.push_back({tiles / m, m, r}); }
  }
  if (out.size() > max_choices) {
    // Keeps evenly spaced choices, since neighbours take similar times.
    std::vector<std::vector<int64_t>> thin;
    for (size_t i = 0; i < max_choices; ++i) { thin.push_back(out[i * out.size() / max_choices]); }
    out = std::move(thin);
  }
  return out;
}

auto row_sizes(int64_t extent) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (int64_t d : divisors(extent)) {
    if (d <= max_register_rows) { out.push_back(d); }
  }
  // If no divisor lies between 3 and 16, uses tiles with a predicated tail.
  if (extent > max_register_rows && (out.empty() || out.back() < 4)) {
    for (int64_t r : {4, 6, 8}) { out.push_back(r); }
  }
  return out;
}

auto vector_sizes(int64_t extent, int lanes) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (int64_t v = 1; v <= 4; ++v) {
    if (extent % (v * lanes) == 0) { out.push_back(v * lanes); }
  }
  if (!out.empty()) { return out; }
  for (int64_t d : divisors(extent)) {
    if (d <= 4 * lanes && d >= std::min<int64_t>(extent, lanes / 4)) { out.push_back(d); }
  }
  if (extent > lanes) {
    out.push_back(lanes);
    out.push_back(2 * lanes);
  }
  if (out.empty()) { out.push_back(extent); }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

auto reduction_choices(int64_t extent) -> std::vector<std::vector<int64_t>> {
  std::vector<std::vector<int64_t>> out;
  for (int64_t outer : divisors(extent)) {
    int64_t inner = extent / outer;
    if (outer == 1 || inner >= 32) { out.push_back({outer, inner}); }
  }
  return out;
}

class TileSketch : public Sketch {
 public:
  TileSketch(const SpaceContext& context, std::vector<BlockFact> blocks, size_t anchor, size_t vector_loop)
      : blocks_(std::move(blocks)), anchor_(blocks_[anchor]), core_(context.core), vector_loop_(vector_loop) {
    name_ = "tile " + anchor_.name;
    lanes_ = static_cast<int>(core_.lanes);
    find_neighbours(anchor, context.taken);
    for (size_t l = 0; l < anchor_.loops.size(); ++l) {
      const LoopFact& loop = anchor_.loops[l];
      Knob knob;
      knob.name = "tile " + loop.name;
      if (loop.is_reduction) { knob.choices = reduction_choices(loop.extent); }
      else if (l == vector_loop) { knob.choices = spatial_choices(loop.extent, vector_sizes(loop.extent, lanes_)); }
      else { knob.choices = spatial_choices(loop.extent, row_sizes(loop.extent)); }
      knobs_.push_back(std::move(knob));
    }
    order_knob_ = add_knob("vector loop outermost in the middle", 2);
    for (size_t a = 0; a < anchor_.accesses.size(); ++a) {
      const AccessFact& access = anchor_.accesses[a];
      bool moves = false;
      for (const auto& d : access.strides) { moves = moves || d[vector_loop] != 0; }
      if (access.is_write || !access.is_affine || !moves || total_bytes(access) < core_.l1 / 2) { continue; }
      packable_.push_back({a, add_knob("pack " + access.buffer->name.str(), 2)});
    }
    for (Producer& producer : producers_) {
      producer.knob = add_knob("place " + producer.name, producer.can_inline ? 3 : 2);
    }
  }

  auto apply(Schedule& sch, const Point& point) const -> Status override;
  auto draft(const Point& point) const -> double override;
  auto features(const Point& point) const -> std::vector<double> override;

 private:
  struct Producer { std::string name; bool can_inline; size_t knob; double bytes; };
  struct Packable { size_t access; size_t knob; };
  /// The copying blocks of `apply`: the one that runs on the finished tile, if there is one, and the packed operands.
  struct Copies { std::optional<BlockRV> last; std::vector<BlockRV> packs; };
  /// The loops of the tiled block: the fused outer tiles, and the groups inside.
  struct Tiles { std::optional<LoopRV> tasks; std::vector<LoopRV> middle, reduction_outer, reduction_inner, registers; };

  // The steps of `apply`, in their order.
  auto inline_blocks(Schedule& sch, const Point& point) const -> Status;
  auto add_copies(Schedule& sch, const Point& point, BlockRV block) const -> Result<Copies>;
  auto tile_loops(Schedule& sch, const Point& point, BlockRV block) const -> Result<Tiles>;
  auto move_blocks(Schedule& sch, const Point& point, const Copies& copies, const Tiles& tiles) const -> Status;
  auto vectorize_blocks(Schedule& sch, const Point& point, BlockRV block, const Copies& copies, const Tiles& tiles) const -> Status;

  /// The part of an anchor's loop that a new loop counts: the loop's index, and the distance of two iterations of the part in that loop.
  struct LoopPart { size_t loop; int64_t stride; };

  // The parts of `draft`.
  /// An access of the anchor, with its strides in the new loops.
  static auto nest_access(const AccessFact& fact, const std::vector<LoopPart>& from) -> NestAccess;
  /// The bytes that copies of a packed operand read and write.
  auto packed_bytes(const Point& point, const AccessFact& fact) const -> double;

  auto add_knob(std::string name, int64_t choices) -> size_t {
    Knob knob{std::move(name), {}};
    for (int64_t i = 0; i < choices; ++i) { knob.choices.push_back({i}); }
    knobs_.push_back(std::move(knob));
    return knobs_.size() - 1;
  }

  static auto total_bytes(const AccessFact& access) -> double {
    double bytes = access.bytes;
    for (int64_t extent : access.shape) { bytes *= static_cast<double>(std::max<int64_t>(1, extent)); }
    return bytes;
  }

  /// True for a block that runs once for each element that the tiled block writes.
  [[nodiscard]] auto has_space_of_anchor(const BlockFact& block) const -> bool {
    double elements = 1;
    for (const LoopFact& loop : anchor_.loops) { elements *= loop.is_reduction ? 1 : static_cast<double>(loop.extent); }
    return block.instances == elements;
  }
  /// True for a block that reads the result of a reduction along rows, such as the last step of a softmax. It belongs to those rows.
  [[nodiscard]] auto ends_rows(const BlockFact& block) const -> bool {
    return std::any_of(block.producers.begin(), block.producers.end(), [&](size_t p) { return blocks_[p].has_reduction && !reuses_data(blocks_[p]); });
  }

  // Elementwise consumers up to the last one, and elementwise producers.
  void find_neighbours(size_t anchor, const std::set<std::string>& taken) {
    std::set<size_t> seen = {anchor};
    size_t at = anchor;
    while (!blocks_[at].is_output) {
      std::set<size_t> consumers(blocks_[at].consumers.begin(), blocks_[at].consumers.end());
      if (consumers.size() != 1) { break; }
      size_t next = *consumers.begin();
      const BlockFact& block = blocks_[next];
      if (!block.is_simple || block.has_reduction || taken.contains(block.name) || !has_space_of_anchor(block)) { break; }
      if (at != anchor) { inlined_.push_back(blocks_[at].name); }
      fused_ = block.name;
      seen.insert(next);
      at = next;
    }
    for (size_t p : blocks_[anchor].producers) {
      const BlockFact& block = blocks_[p];
      std::set<size_t> consumers(block.consumers.begin(), block.consumers.end());
      if (seen.contains(p) || !block.is_simple || block.has_reduction || consumers.size() != 1) { continue; }
      if (taken.contains(block.name) || ends_rows(block)) { continue; }
      seen.insert(p);
      double bytes = 0;
      for (const AccessFact& access : block.accesses) { bytes += total_bytes(access); }
      producers_.push_back({block.name, !block.uses_branch && !block.is_expensive, 0, bytes});
    }
    for (size_t i : seen) { covered_.insert(blocks_[i].name); }
  }

  [[nodiscard]] auto has_outer_reduction(const Point& point) const -> bool {
    for (size_t l = 0; l < anchor_.loops.size(); ++l) {
      if (anchor_.loops[l].is_reduction && chosen(point, l)[0] > 1) { return true; }
    }
    return false;
  }
  // The order of spatial loops in the middle and register tiles: the vector loop is innermost; in the middle tiles it is outermost if requested.
  [[nodiscard]] auto spatial_order(bool vector_first) const -> std::vector<size_t> {
    std::vector<size_t> order;
    if (vector_first) { order.push_back(vector_loop_); }
    for (size_t l = 0; l < anchor_.loops.size(); ++l) {
      if (!anchor_.loops[l].is_reduction && l != vector_loop_) { order.push_back(l); }
    }
    if (!vector_first) { order.push_back(vector_loop_); }
    return order;
  }

  std::vector<BlockFact> blocks_;
  BlockFact anchor_;
  CoreModel core_;
  size_t vector_loop_;
  int lanes_ = 16;
  std::vector<std::string> inlined_;   // inlined consumers
  std::string fused_;                  // the last consumer; empty: none
  std::vector<Producer> producers_;
  size_t order_knob_ = 0;
  std::vector<Packable> packable_;
};

auto step(Result<Value> result) -> Status {
  if (!result.ok()) { return std::move(result).diagnostics(); }
  return ok();
}

auto TileSketch::inline_blocks(Schedule& sch, const Point& point) const -> Status {
  for (const std::string& name : inlined_) {
    LOOPSMITH_TRY(consumer, get_block(sch, name));
    LOOPSMITH_CHECK(step(sch.call("compute_inline", {consumer})));
  }
  for (const Producer& producer : producers_) {
    if (chosen(point, producer.knob)[0] != 2) { continue; }
    LOOPSMITH_TRY(inlined, get_block(sch, producer.name));
    LOOPSMITH_CHECK(step(sch.call("compute_inline", {inlined})));
  }
  return ok();
}

auto TileSketch::add_copies(Schedule& sch, const Point& point, BlockRV block) const -> Result<Copies> {
  Copies copies;
  if (!fused_.empty()) {
    LOOPSMITH_TRY(consumer, get_block(sch, fused_));
    copies.last = consumer;
  } else if (!has_outer_reduction(point)) {
    LOOPSMITH_TRY(written, sch.call("cache_write", {block, Value(0), Value("local")}));
    copies.last = *written.as<BlockRV>();
  }
  for (const Packable& packable : packable_) {
    if (chosen(point, packable.knob)[0] == 0) { continue; }
    LOOPSMITH_TRY(place, sch.get(block));
    const Array<BufferRegion>& reads = place->block()->reads;
    for (size_t i = 0; i < reads.size(); ++i) {
      if (reads[i].buffer->name.view() != anchor_.accesses[packable.access].buffer->name.view()) { continue; }
      LOOPSMITH_TRY(packed, sch.call("cache_read", {block, Value(static_cast<int64_t>(i)), Value("global")}));
      copies.packs.push_back(*packed.as<BlockRV>());
      break;
    }
  }
  return copies;
}

auto TileSketch::tile_loops(Schedule& sch, const Point& point, BlockRV block) const -> Result<Tiles> {
  LOOPSMITH_TRY(loops, get_loops(sch, block));
  bool vector_first = chosen(point, order_knob_)[0] == 1;
  Tiles tiles;
  std::vector<std::vector<LoopRV>> parts;
  std::vector<LoopRV> outer;
  for (size_t l = 0; l < loops.size(); ++l) {
    if (anchor_.loops[l].is_reduction && chosen(point, l)[0] == 1) {
      // The loop is not split: a unit loop outside would count as a reduction loop there.
      tiles.reduction_inner.push_back(loops[l]);
      parts.emplace_back();
      continue;
    }
    LOOPSMITH_TRY(cut, split(sch, loops[l], chosen(point, l)));
    if (anchor_.loops[l].is_reduction) {
      tiles.reduction_outer.push_back(cut[0]);
      tiles.reduction_inner.push_back(cut[1]);
    }
    parts.push_back(std::move(cut));
  }
  for (size_t l : spatial_order(false)) { outer.push_back(parts[l][0]); }
  for (size_t l : spatial_order(vector_first)) { tiles.middle.push_back(parts[l][1]); }
  for (size_t l : spatial_order(false)) { tiles.registers.push_back(parts[l][2]); }
  std::vector<Value> order;
  for (const auto* group : {&outer, &tiles.reduction_outer, &tiles.middle, &tiles.reduction_inner, &tiles.registers}) {
    order.insert(order.end(), group->begin(), group->end());
  }
  LOOPSMITH_CHECK(step(sch.call("reorder", order)));
  LOOPSMITH_TRY(tasks, fuse(sch, outer));
  tiles.tasks = tasks;
  return tiles;
}

auto TileSketch::move_blocks(Schedule& sch, const Point& point, const Copies& copies, const Tiles& tiles) const -> Status {
  bool outer_reduction = has_outer_reduction(point);
  bool vector_first = chosen(point, order_knob_)[0] == 1;
  if (copies.last) { LOOPSMITH_CHECK(step(sch.call("reverse_compute_at", {*copies.last, outer_reduction ? *tiles.tasks : tiles.middle.back()}))); }
  for (BlockRV pack : copies.packs) {
    LOOPSMITH_CHECK(step(sch.call("compute_at", {pack, vector_first ? tiles.middle.front() : outer_reduction ? tiles.reduction_outer.back() : *tiles.tasks})));
  }
  for (const Producer& producer : producers_) {
    if (chosen(point, producer.knob)[0] != 1) { continue; }
    LOOPSMITH_TRY(moved, get_block(sch, producer.name));
    LOOPSMITH_CHECK(step(sch.call("compute_at", {moved, *tiles.tasks})));
  }
  return ok();
}

auto TileSketch::vectorize_blocks(Schedule& sch, const Point& point, BlockRV block, const Copies& copies, const Tiles& tiles) const -> Status {
  bool outer_reduction = has_outer_reduction(point);
  // Straight-line vector code on the tile.
  LOOPSMITH_CHECK(vectorize_inner(sch, block, tiles.registers.size(), lanes_, true));
  if (copies.last) {
    LOOPSMITH_TRY(last_loops, get_loops(sch, *copies.last));
    LOOPSMITH_TRY(attached, sch.get(outer_reduction ? *tiles.tasks : tiles.middle.back()));
    size_t inside = 0;
    for (size_t i = last_loops.size(); i-- > 0; ++inside) {
      LOOPSMITH_TRY(place, sch.get(last_loops[i]));
      if (place->id == attached->id) { break; }
    }
    LOOPSMITH_CHECK(vectorize_inner(sch, *copies.last, inside, lanes_, !outer_reduction));
  }
  for (BlockRV pack : copies.packs) { LOOPSMITH_CHECK(vectorize_inner(sch, pack, 1, lanes_, false)); }
  for (const Producer& producer : producers_) {
    int64_t place = chosen(point, producer.knob)[0];
    if (place == 2) { continue; }
    LOOPSMITH_TRY(moved, get_block(sch, producer.name));
    if (place == 1) { LOOPSMITH_CHECK(vectorize_inner(sch, moved, 1, lanes_, false)); }
    else { LOOPSMITH_CHECK(flatten_block(sch, moved, lanes_, parallel_from)); }
  }
  return ok();
}

auto TileSketch::apply(Schedule& sch, const Point& point) const -> Status {
  LOOPSMITH_TRY(block, get_block(sch, anchor_.name));
  LOOPSMITH_CHECK(inline_blocks(sch, point));
  LOOPSMITH_TRY(copies, add_copies(sch, point, block));
  LOOPSMITH_TRY(tiles, tile_loops(sch, point, block));
  LOOPSMITH_CHECK(move_blocks(sch, point, copies, tiles));
  LOOPSMITH_CHECK(vectorize_blocks(sch, point, block, copies, tiles));
  LOOPSMITH_CHECK(step(sch.call("parallel", {*tiles.tasks})));
  // This comes last: afterwards the block is not a reduction, and its loops could not be vectorized.
  return step(sch.call("decompose_reduction", {block, has_outer_reduction(point) ? tiles.reduction_outer.front() : tiles.reduction_inner.front()}));
}

auto TileSketch::nest_access(const AccessFact& fact, const std::vector<LoopPart>& from) -> NestAccess {
  NestAccess access;
  access.bytes = fact.bytes;
  access.shape = fact.shape;
  access.is_write = fact.is_write;
  access.in_registers = fact.is_write;
  for (const auto& of_dimension : fact.strides) {
    std::vector<int64_t> strides;
    for (auto [l, stride] : from) { strides.push_back(of_dimension[l] * stride); }
    access.strides.push_back(std::move(strides));
  }
  return access;
}

auto TileSketch::packed_bytes(const Point& point, const AccessFact& fact) const -> double {
  const bool vector_first = chosen(point, order_knob_)[0] == 1;
  // The copy runs once per run of the loops around it.
  double runs = 1;
  double tile = fact.bytes;
  for (size_t l = 0; l < anchor_.loops.size(); ++l) {
    const std::vector<int64_t>& f = chosen(point, l);
    int64_t inside = f.back();
    bool moves = false;
    for (const auto& d : fact.strides) { moves = moves || d[l] != 0; }
    runs *= static_cast<double>(f[0]);
    if (!anchor_.loops[l].is_reduction) {
      bool outside = vector_first && l == vector_loop_;
      if (outside) { runs *= static_cast<double>(f[1]); } else { inside *= f[1]; }
    }
    if (moves) { tile *= static_cast<double>(inside); }
  }
  return runs * tile * 2;
}

auto TileSketch::draft(const Point& point) const -> double {
  size_t count = anchor_.loops.size();
  Nest nest;
  nest.flops_per_iteration = std::max(1.0, anchor_.flops);
  nest.is_multiply_add = anchor_.is_multiply_add;
  std::vector<LoopPart> from;   // for each new loop
  bool vector_first = chosen(point, order_knob_)[0] == 1;
  auto add = [&](size_t l, size_t part, NestLoop loop) {
    const std::vector<int64_t>& factors = chosen(point, l);
    loop.extent = factors[part];
    loop.is_reduction = anchor_.loops[l].is_reduction;
    int64_t stride = 1;
    for (size_t i = part + 1; i < factors.size(); ++i) { stride *= factors[i]; }
    nest.loops.push_back(loop);
    from.push_back({l, stride});
  };
  double needed = 1;
  double run = 1;
  for (size_t l = 0; l < count; ++l) {
    needed *= static_cast<double>(anchor_.loops[l].extent);
    for (int64_t f : chosen(point, l)) { run *= static_cast<double>(f); }
  }
  nest.waste = 1;
  for (size_t l : spatial_order(false)) { add(l, 0, {.is_parallel = true}); }
  for (size_t l = 0; l < count; ++l) { if (anchor_.loops[l].is_reduction) { add(l, 0, {}); } }
  for (size_t l : spatial_order(vector_first)) { add(l, 1, {}); }
  for (size_t l = 0; l < count; ++l) { if (anchor_.loops[l].is_reduction) { add(l, 1, {}); } }
  double rows = 1;
  for (size_t l : spatial_order(false)) {
    add(l, 2, {.is_unrolled = l != vector_loop_, .is_vector = l == vector_loop_});
    if (l != vector_loop_) { rows *= static_cast<double>(chosen(point, l)[2]); }
  }
  double vectors = std::ceil(static_cast<double>(chosen(point, vector_loop_)[2]) / core_.lanes);
  if (rows * vectors > core_.registers * 1.25 || rows > 64) { return std::numeric_limits<double>::infinity(); }

  double tasks = 1;
  for (size_t l : spatial_order(false)) { tasks *= static_cast<double>(chosen(point, l)[0]); }
  if (tasks < core_.cores && needed > 1e5) { return std::numeric_limits<double>::infinity(); }

  for (size_t a = 0; a < anchor_.accesses.size(); ++a) {
    const AccessFact& fact = anchor_.accesses[a];
    NestAccess access = nest_access(fact, from);
    for (const Packable& packable : packable_) {
      if (packable.access != a || chosen(point, packable.knob)[0] == 0) { continue; }
      access.is_packed = true;
      nest.extra_bytes += packed_bytes(point, fact);
    }
    nest.accesses.push_back(std::move(access));
  }
  for (const Producer& producer : producers_) {
    int64_t place = chosen(point, producer.knob)[0];
    if (place == 0) { nest.extra_bytes += producer.bytes; }
    if (place == 1) { nest.extra_bytes += producer.bytes * 0.7; }
  }
  double seconds = cost::draft_seconds(nest, core_) * (1 + 0.1 * (run / needed - 1));
  // Predicated tails use masks.
  return run > needed ? seconds * 1.3 : seconds;
}

auto TileSketch::features(const Point& point) const -> std::vector<double> {
  std::vector<double> out;
  double rows = 1;
  double tasks = 1;
  double inner_reduction = 1;
  for (size_t l = 0; l < anchor_.loops.size(); ++l) {
    const std::vector<int64_t>& f = chosen(point, l);
    for (size_t i = 1; i < f.size(); ++i) { out.push_back(std::log2(static_cast<double>(f[i]))); }
    if (anchor_.loops[l].is_reduction) { inner_reduction *= static_cast<double>(f[1]); continue; }
    tasks *= static_cast<double>(f[0]);
    if (l != vector_loop_) { rows *= static_cast<double>(f[2]); }
  }
  double vectors = std::ceil(static_cast<double>(chosen(point, vector_loop_)[2]) / core_.lanes);
  double accumulators = rows * vectors;
  out.push_back(std::log2(accumulators));
  out.push_back(std::max(0.0, accumulators + vectors + 1 - core_.registers));
  out.push_back(std::log2(rows) * std::log2(vectors + 1));
  out.push_back(std::log2(tasks));
  out.push_back(std::fmod(tasks, core_.cores) != 0 ? 1 : 0);
  out.push_back(std::log2(inner_reduction));
  out.push_back(has_outer_reduction(point) ? 1 : 0);
  for (size_t k = order_knob_; k < knobs_.size(); ++k) { out.push_back(static_cast<double>(point[k])); }
  if (!packable_.empty()) {
    out.push_back(static_cast<double>(point[packable_.front().knob]) * static_cast<double>(point[order_knob_]));
    out.push_back(static_cast<double>(point[packable_.front().knob]) * std::log2(inner_reduction));
  }
  return out;
}

}  // namespace

void add_tile_sketches(const SpaceContext& context, Sketches& out) {
  schedule::State state(context.module);
  const schedule::FuncState* func = state.func(context.function);
  if (!func) { return; }
  std::vector<BlockFact> blocks = analyze(*func);
  // The block with the most work that reuses data along some spatial loop.
  size_t anchor = blocks.size();
  double most = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const BlockFact& block = blocks[i];
    if (!block.is_simple || context.taken.contains(block.name) || !reuses_data(block)) { continue; }
    double work = block.instances * block.flops;
    if (work > most) { most = work; anchor = i; }
  }
  if (anchor == blocks.size()) { return; }
  // Vectors run along the last dimension of the output.
  const BlockFact& block = blocks[anchor];
  size_t vector_loop = block.loops.size();
  for (const AccessFact& access : block.accesses) {
    if (!access.is_write || access.strides.empty()) { continue; }
    for (size_t l = 0; l < block.loops.size(); ++l) {
      if (!block.loops[l].is_reduction && access.strides.back()[l] == 1) { vector_loop = l; }
    }
  }
  if (vector_loop == block.loops.size()) { return; }
  out.push_back(std::make_unique<TileSketch>(context, std::move(blocks), anchor, vector_loop));
}

}  // namespace loopsmith::tune
