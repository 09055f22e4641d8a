// Blocks as nests, and their estimated times: see estimate.h.
#include "cost/estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"

namespace loopsmith::cost {
namespace {

using schedule::FuncState;
using schedule::Place;

// ---- loops and indices ---------------------------------------------------------------------------------------------

/// A loop, or a digit of a fused loop: its variable moves by `step` per iteration.
struct Level {
  double extent = 1;
  ForKind kind = ForKind::Serial;
  size_t loop = 0;               // the index of its loop
  double step = 1;               // in iterations of that loop
};

/// An index, as its step for each level. `is_sum` is false for other forms than sums; the steps are then a guess.
struct Index {
  std::map<size_t, double> steps;
  double constant = 0;
  bool is_sum = true;
};

/// The work of one block instance.
class Body : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;
  struct Found { Buffer buffer; Array<Expr> indices; bool is_write; };
  std::vector<Found> accesses;
  std::vector<const For*> loops;
  double operations = 0;         // instructions per lane
  bool has_branch = false;
  bool is_float = false;
  bool is_opaque = false;        // it calls functions other than arithmetic

  void on(const BufferLoad& n) override { accesses.push_back({n.buffer, n.indices, false}); }
  void on(const BufferStore& n) override {
    accesses.push_back({n.buffer, n.indices, true});
    is_float = is_float || n.buffer->dtype.is_real();
    const auto* sum = n.value.as<Add>();
    auto product = [](const Expr& e) { return e.as<Mul>() != nullptr; };
    // A multiply-add is one instruction.
    if (sum != nullptr && (product(sum->a) || product(sum->b))) { operations -= 1; }
    visit(n.value);
  }
  void on(const For& n) override {
    loops.push_back(&n);
    visit(n.body);
  }
  void on(const Div& n) override { operations += 4; Visitor::on(n); }
  void on(const Select& n) override { operations += 1; Visitor::on(n); }
  void on(const Cast& n) override { operations += 0.5; Visitor::on(n); }
  void on(const Call& n) override {
    if (n.op == "if_then_else") { has_branch = true; operations += 1; }
    else if (n.op == "exp" || n.op == "log" || n.op == "tanh" || n.op == "erf" || n.op == "pow" || n.op == "sigmoid") { operations += 16; }
    else if (n.dtype.is_handle() || n.dtype.is_void()) { is_opaque = true; }
    else { operations += 3; }
    Visitor::on(n);
  }
  void on(const Add& n) override { operations += 1; Visitor::on(n); }
  void on(const Sub& n) override { operations += 1; Visitor::on(n); }
  void on(const Mul& n) override { operations += 1; Visitor::on(n); }
  void on(const Min& n) override { operations += 1; Visitor::on(n); }
  void on(const Max& n) override { operations += 1; Visitor::on(n); }
};

/// The loops around a block as levels, and its variables as indices over them.
class Frame {
 public:
  /// False: the extent is not a constant, or the loop runs on a device.
  auto add(const For& loop) -> bool {
    auto extent = as_int(loop.extent);
    if (!extent || *extent < 1 || loop.for_kind == ForKind::ThreadBinding) { return false; }
    loop_of_[loop.var.get()] = loops_.size();
    loops_.push_back({static_cast<double>(*extent), loop.for_kind, static_cast<double>(as_int(loop.min).value_or(0))});
    cuts_.emplace_back();
    return true;
  }
  void bind(const VarNode* iter, Expr value) { bindings_.emplace_back(iter, std::move(value)); }

  /// Must be called after all loops and bindings were added.
  void settle() {
    for (const auto& [iter, value] : bindings_) { whole_[iter] = find_cuts(value); }
    for (size_t l = 0; l < loops_.size(); ++l) {
      std::vector<double> at(cuts_[l].begin(), cuts_[l].end());
      std::vector<double> kept;
      for (double cut : at) { if (kept.empty() || std::fmod(cut, kept.back()) == 0) { kept.push_back(cut); } }
      double above = loops_[l].extent;
      first_.push_back(levels_.size());
      for (size_t i = kept.size(); i-- > 0;) {
        levels_.push_back({above / kept[i], loops_[l].kind, l, kept[i]});
        above = kept[i];
      }
      levels_.push_back({above, loops_[l].kind, l, 1});
    }
    first_.push_back(levels_.size());
    for (const auto& [iter, value] : bindings_) { values_[iter] = index(value); }
  }

  [[nodiscard]] auto levels() const -> const std::vector<Level>& { return levels_; }
  /// The first level of the loop number `l`.
  [[nodiscard]] auto first(size_t l) const -> size_t { return first_[l]; }

  /// The value of an index in the first iteration of all loops.
  [[nodiscard]] auto begin(const Index& index) const -> double {
    double out = index.constant;
    for (size_t l = 0; l < loops_.size(); ++l) {
      if (auto step = index.steps.find(first_[l + 1] - 1); step != index.steps.end()) { out += step->second * loops_[l].min; }
    }
    return out;
  }

  [[nodiscard]] auto index(const Expr& e) const -> Index {
    if (auto value = as_int(e)) { return Index{{}, static_cast<double>(*value), true}; }
    if (const auto* v = e.as<VarNode>()) {
      if (auto bound = values_.find(v); bound != values_.end()) { return bound->second; }
      Index out;
      if (auto loop = loop_of_.find(v); loop != loop_of_.end()) {
        for (size_t i = first_[loop->second]; i < first_[loop->second + 1]; ++i) { out.steps[i] = levels_[i].step; }
      }
      return out;
    }
    if (const auto* n = e.as<Add>()) { return sum(index(n->a), index(n->b), 1); }
    if (const auto* n = e.as<Sub>()) { return sum(index(n->a), index(n->b), -1); }
    if (const auto* n = e.as<Mul>()) {
      Index a = index(n->a), b = index(n->b);
      if (a.steps.empty()) { std::swap(a, b); }
      if (!b.steps.empty()) { return guess(sum(a, b, 1)); }
      for (auto& [level, step] : a.steps) { step *= b.constant; }
      a.constant *= b.constant;
      return a;
    }
    if (const auto* n = e.as<FloorDiv>()) { return divided(index(n->a), n->b, false); }
    if (const auto* n = e.as<FloorMod>()) { return divided(index(n->a), n->b, true); }
    if (const auto* n = e.as<Cast>()) { return index(n->value); }
    if (const auto* n = e.as<Min>()) { return larger(index(n->a), index(n->b)); }
    if (const auto* n = e.as<Max>()) { return larger(index(n->a), index(n->b)); }
    // A load or a conditional value: it may point anywhere.
    Index out;
    out.is_sum = false;
    return out;
  }

 private:
  struct Loop { double extent; ForKind kind; double min; };

  static auto sum(Index a, const Index& b, double sign) -> Index {
    for (auto [level, step] : b.steps) {
      double& mine = a.steps[level];
      mine += sign * step;
      if (mine == 0) { a.steps.erase(level); }
    }
    a.constant += sign * b.constant;
    a.is_sum = a.is_sum && b.is_sum;
    return a;
  }
  static auto guess(Index a) -> Index { a.is_sum = false; return a; }
  static auto larger(Index a, Index b) -> Index { return a.steps.size() >= b.steps.size() ? a : b; }

  auto divided(Index a, const Expr& by, bool is_rest) const -> Index {
    auto c = as_int(by);
    if (!c || *c <= 0) { return guess(a); }
    auto divisor = static_cast<double>(*c);
    Index out;
    out.is_sum = a.is_sum;
    double below = std::fmod(a.constant, divisor);
    for (auto [level, step] : a.steps) {
      if (std::fmod(step, divisor) == 0) {
        if (!is_rest) { out.steps[level] = step / divisor; }
        continue;
      }
      below += std::abs(step) * (levels_[level].extent - 1);
      if (is_rest) { out.steps[level] = step; }
    }
    if (below >= divisor) { out.is_sum = false; }
    out.constant = is_rest ? std::fmod(a.constant, divisor) : std::floor(a.constant / divisor);
    return out;
  }

  // Finds the places where divisions in a binding split loops; steps are per whole loop, and fractions after a division.
  auto find_cuts(const Expr& e) -> std::map<size_t, double> {
    if (const auto* v = e.as<VarNode>()) {
      if (auto bound = whole_.find(v); bound != whole_.end()) { return bound->second; }
      if (auto loop = loop_of_.find(v); loop != loop_of_.end()) { return {{loop->second, 1.0}}; }
      return {};
    }
    auto both = [&](const Expr& x, const Expr& y) {
      auto out = find_cuts(x);
      for (auto [l, step] : find_cuts(y)) { out[l] += step; }
      return out;
    };
    auto division = [&](const Expr& x, const Expr& y, bool is_rest) {
      auto out = find_cuts(x);
      auto c = as_int(y);
      if (!c || *c <= 0) { return out; }
      for (auto& [l, step] : out) {
        double cut = std::round(static_cast<double>(*c) / std::abs(step == 0 ? 1 : step));
        if (cut > 1 && cut < loops_[l].extent && std::fmod(loops_[l].extent, cut) == 0) { cuts_[l].insert(cut); }
        if (!is_rest) { step /= static_cast<double>(*c); }
      }
      return out;
    };
    if (const auto* n = e.as<Add>()) { return both(n->a, n->b); }
    if (const auto* n = e.as<Sub>()) { return both(n->a, n->b); }
    if (const auto* n = e.as<Mul>()) {
      auto out = both(n->a, n->b);
      auto c = as_int(n->b);
      for (auto& [l, step] : out) { step *= static_cast<double>(c.value_or(1)); }
      return out;
    }
    if (const auto* n = e.as<FloorDiv>()) { return division(n->a, n->b, false); }
    if (const auto* n = e.as<FloorMod>()) { return division(n->a, n->b, true); }
    return {};
  }

  std::vector<Loop> loops_;
  std::vector<std::set<double>> cuts_;
  std::map<const VarNode*, size_t> loop_of_;
  std::vector<std::pair<const VarNode*, Expr>> bindings_;
  std::map<const VarNode*, std::map<size_t, double>> whole_;
  std::map<const VarNode*, Index> values_;
  std::vector<Level> levels_;
  std::vector<size_t> first_;
};

// ---- a nest --------------------------------------------------------------------------------------------------------

/// A buffer's access in a nest, and the consequences of the buffer's place in the function.
struct Stream {
  Buffer buffer;
  double bytes = 4;                              // of an element
  std::vector<std::vector<double>> steps;        // [dimension][level]
  std::vector<double> shape;
  std::vector<double> begin;                     // of each index, in the first iteration of all loops
  bool is_write = false;
  bool is_sum = true;
  size_t kept_from = 0;                          // the buffer is allocated inside of the levels before this one; 0: it outlives the call
  bool is_internal = false;

  [[nodiscard]] auto moves(size_t level) const -> bool {
    return std::any_of(steps.begin(), steps.end(), [&](const auto& d) { return d[level] != 0; });
  }
};

struct BlockNest;
/// Another nest under some of the same loops: it runs in every iteration of these. `level` maps levels of this nest to the neighbour's.
struct Neighbour { const BlockNest* nest = nullptr; std::vector<size_t> level; };

struct BlockNest {
  NodeId block = 0;
  std::vector<Neighbour> neighbours = {};
  std::vector<Level> levels;
  std::vector<Stream> streams;
  double operations = 0;
  bool has_branch = false;
  bool has_guard = false;
  bool is_tested = false;        // a guard is tested in every iteration; guards that inner loops do not change are tested outside of them
  bool has_init = false;
  bool is_float = false;
  bool is_opaque = false;
  size_t guard_level = 0;        // the innermost level that a guard depends on
  double share = 1;              // the part of the iterations that passes the guards
  double divisions = 0;          // cycles of index arithmetic in an iteration
};

constexpr double line = 64;
constexpr double usable = 1;         // the usable part of a cache
// Fitted to measured times of random states on Zen 5 (`bench-cost --times`, seeds 1 to 7), and checked with other seeds.
constexpr double exposed = 0.6;      // the part of the smaller terms that does not overlap with the largest
constexpr double scattered_near = 3.75;   // the cost factor of a line from the second cache without prefetching
constexpr double scattered = 6;      // the same from the third cache
constexpr double scattered_far = 2;  // the same from memory, whose rate is low in any case
constexpr double owned = 1.6;        // the same for written lines: they are fetched first, and written back
constexpr double gather = 3;         // instructions per lane of a gather
constexpr double update = 10.5;      // instructions per lane of a read-modify-write to scattered addresses
constexpr double guard = 1;          // cycles to test a guard
constexpr double guarded = 1.1;      // the cost factor of a guard for the code around it
constexpr double longest_vector = 64;   // lanes (transform/context.h)
constexpr double in_memory = 10;     // cycles per step of a sum that is kept in memory

struct Cache { double bytes; double sets; double scattered; };

/// The data that a stream touches in the levels from `depth` inwards: bytes in whole lines, and the bytes of cache that they occupy. The latter are
/// more if rows at distances of a power of two share sets.
struct Footprint { double bytes = 0; double taken = 0; bool is_scattered = false; };

auto footprint(const BlockNest& nest, const Stream& stream, size_t depth, double sets = 1) -> Footprint {
  double all = stream.bytes;
  for (double extent : stream.shape) { all *= extent; }
  if (!stream.is_sum) {
    double touched = line;
    for (size_t l = depth; l < nest.levels.size(); ++l) { touched *= nest.levels[l].extent; }
    double bytes = std::min(all, touched);
    return {bytes, bytes, true};
  }
  double rows = 1;
  double run = stream.bytes;
  for (size_t d = 0; d < stream.steps.size(); ++d) {
    double reach = 1;
    double points = 1;
    for (size_t l = depth; l < nest.levels.size(); ++l) {
      if (stream.steps[d][l] == 0) { continue; }
      reach += std::abs(stream.steps[d][l]) * (nest.levels[l].extent - 1);
      points *= nest.levels[l].extent;
    }
    reach = std::min(reach, stream.shape[d]);
    // With gaps: only the points count, and in the last dimension each point takes a line.
    if (d + 1 < stream.steps.size()) { rows *= std::min(reach, points); continue; }
    run = std::min(reach * stream.bytes, points * std::max(line, stream.bytes));
  }
  double whole = run <= line ? line : run + line / 2;
  Footprint out{rows * whole, rows * whole, run <= line && rows > 1};
  if (rows > 8 && stream.shape.size() > 1) {
    double apart = stream.shape.back() * stream.bytes / line;   // the distance of rows, in lines
    double power = 1;
    while (power < sets && std::fmod(apart, power * 2) == 0) { power *= 2; }
    out.taken *= std::max(1.0, power / std::max(1.0, whole / line));
  }
  return out;
}

/// The cache space that neighbours occupy in an iteration around `depth`, in addition to this nest's own data: a loop that was distributed over
/// several nests still touches as much. A buffer that both nests traverse from the same element counts once.
auto taken_beside(const BlockNest& nest, size_t depth, double sets) -> double {
  double taken = 0;
  for (const Neighbour& neighbour : nest.neighbours) {
    if (depth >= neighbour.level.size()) { continue; }
    const size_t there = neighbour.level[depth];
    for (const Stream& stream : neighbour.nest->streams) {
      double more = footprint(*neighbour.nest, stream, there, sets).taken;
      for (const Stream& own : nest.streams) {
        if (own.buffer.get() == stream.buffer.get() && own.begin == stream.begin) { more -= footprint(nest, own, depth, sets).taken; break; }
      }
      taken += std::max(0.0, more);
    }
  }
  return taken;
}

/// The bytes fetched into a cache; scattered lines count several times.
auto traffic(const BlockNest& nest, Cache cache) -> double {
  size_t count = nest.levels.size();
  size_t depth = count;
  for (size_t d = 0; d <= count; ++d) {
    double total = 0;
    for (const Stream& stream : nest.streams) { total += footprint(nest, stream, d, cache.sets).taken; }
    if (total <= cache.bytes * usable) { total += taken_beside(nest, d, cache.sets); }
    if (total <= cache.bytes * usable) { depth = d; break; }
  }
  double bytes = 0;
  for (const Stream& stream : nest.streams) {
    if (stream.is_internal && footprint(nest, stream, stream.kept_from, cache.sets).taken <= cache.bytes * usable / 2) { continue; }
    // Outwards from the tile that fits: loops that do not move the stream keep it in the cache. For the first loop that does move it, the data
    // that two iterations share is fetched once.
    size_t at = depth;
    while (at > 0 && !stream.moves(at - 1)) { --at; }
    if (at > 0) { --at; }
    double runs = 1;
    for (size_t l = 0; l < at; ++l) { runs *= nest.levels[l].extent; }
    Footprint once = footprint(nest, stream, at, cache.sets);
    Footprint tile = footprint(nest, stream, depth, cache.sets);
    double steps = 1;
    for (size_t l = at; l < depth; ++l) { steps *= nest.levels[l].extent; }
    double fetched = std::min(once.bytes, steps * tile.bytes);
    bytes += runs * fetched * (stream.is_write ? 2 : 1) * (!once.is_scattered ? 1 : stream.is_write ? cache.scattered * owned : cache.scattered);
  }
  return bytes;
}

/// Lowering turns the statements inside of a vectorized loop into vectors, in chunks if the loop is long: the loop over chunks stays in its place,
/// lanes become the innermost level.
void move_lanes_inwards(BlockNest& nest) {
  size_t at = nest.levels.size();
  for (size_t l = 0; l < nest.levels.size(); ++l) { if (nest.levels[l].kind == ForKind::Vectorized && nest.levels[l].extent > 1) { at = l; } }
  if (at == nest.levels.size()) { return; }
  // A vectorized loop around a parallel one runs iteration by iteration: lanes cannot start threads.
  if (std::any_of(nest.levels.begin() + static_cast<std::ptrdiff_t>(at), nest.levels.end(), [](const Level& level) { return level.kind == ForKind::Parallel; })) {
    nest.levels[at].kind = ForKind::Serial;
    return;
  }
  Level lanes = nest.levels[at];
  double chunk = lanes.extent;
  while (chunk > longest_vector) { chunk = std::ceil(chunk / 2); }
  nest.levels[at].extent = std::ceil(lanes.extent / chunk);
  nest.levels[at].kind = ForKind::Serial;
  lanes.extent = chunk;
  nest.levels.push_back(lanes);
  for (Stream& stream : nest.streams) {
    for (std::vector<double>& steps : stream.steps) {
      steps.push_back(steps[at]);
      steps[at] *= chunk;
    }
  }
}

/// The instructions of a nest: the vector, and the copies of the body that unrolling places into the innermost loop.
struct Tile {
  size_t begin = 0;              // first level of the tile
  size_t around = 0;             // the nearest level around the tile with more than one iteration; the number of levels: none
  size_t vector_level = 0;       // the number of levels: no vector
  double vector = 1;             // lanes
  double vectors = 1;            // registers for the lanes
  double copies = 1;             // copies of the body, apart from lanes
  double accumulators = 1;       // written registers
  bool is_reduction = false;     // the nest is a reduction
  bool sums_around = false;      // the level `around` is a reduction loop
  bool sums_inside = false;      // the tile has a reduction loop
  bool is_through_memory = false;   // each step stores its sum and loads it again
  [[nodiscard]] auto lanes() const -> double { return vector * copies; }
};

auto contiguous(const Stream& stream, size_t level) -> bool {
  for (size_t d = 0; d < stream.steps.size(); ++d) {
    double step = stream.steps[d][level];
    if (d + 1 == stream.steps.size() ? step != 1 && step != 0 : step != 0) { return false; }
  }
  return stream.is_sum;
}

auto tile_of(const BlockNest& nest, const CoreModel& core) -> Tile {
  const size_t count = nest.levels.size();
  double width = 4;
  const Stream* write = nullptr;
  for (const Stream& stream : nest.streams) {
    width = std::max(width, stream.bytes);
    if (stream.is_write) { write = &stream; }
  }
  auto is_idle = [&](size_t l) { return nest.levels[l].extent <= 1; };
  auto sums = [&](size_t l) { return !is_idle(l) && write != nullptr && !write->moves(l); };

  Tile tile;
  tile.vector_level = tile.begin = tile.around = count;
  // Only vectorized loops become vectors: code generation runs no vectoriser (codegen/llvm/passes.cpp).
  for (size_t l = 0; l < count; ++l) {
    if (nest.levels[l].kind == ForKind::Vectorized && !is_idle(l)) { tile.vector *= nest.levels[l].extent; tile.vector_level = l; }
  }
  if (tile.vector_level < count) {
    tile.vectors = std::ceil(tile.vector / std::max(1.0, core.lanes * 4 / width));
    if (!sums(tile.vector_level)) { tile.accumulators = tile.vectors; }
  }
  // The tile consists of the innermost levels that are vectorized, unrolled, or have few iterations.
  for (size_t l = count; l-- > 0;) {
    const Level& level = nest.levels[l];
    if (level.kind != ForKind::Vectorized && !is_idle(l)) {
      bool is_copied = level.kind == ForKind::Unrolled || (level.kind == ForKind::Serial && level.extent * tile.copies <= 4);
      if (!is_copied || tile.copies * level.extent > 512) { break; }
      tile.copies *= level.extent;
      if (!sums(l)) { tile.accumulators *= level.extent; }
    }
    tile.begin = l;
  }
  size_t sum_loops = 0;
  bool sums_outside = false;
  size_t innermost = count;
  for (size_t l = 0; l < count; ++l) {
    if (is_idle(l)) { continue; }
    innermost = l;
    sum_loops += sums(l) ? 1 : 0;
    if (l < tile.begin) {
      tile.around = l;
      sums_outside = sums_outside || sums(l);
    }
    else { tile.sums_inside = tile.sums_inside || sums(l); }
  }
  tile.is_reduction = sum_loops > 0;
  tile.sums_around = tile.around < count && sums(tile.around);
  // A test in the loop keeps the sum out of a register: the test for the first step, or the test of a guard.
  bool starts_inside = nest.has_init && sum_loops > 1 && innermost < count && sums(innermost);
  bool adds_or_not = nest.is_tested || (nest.has_guard && nest.guard_level > 0 && nest.guard_level >= tile.around);
  // So does a fused loop over both reduction and spatial levels.
  bool sums_here = false;
  bool goes_on_here = false;
  for (size_t l = 0; l < count && innermost < count; ++l) {
    if (is_idle(l) || nest.levels[l].loop != nest.levels[innermost].loop) { continue; }
    (sums(l) ? sums_here : goes_on_here) = true;
  }
  tile.is_through_memory = sums_outside && (starts_inside || adds_or_not || (sums_here && goes_on_here));
  return tile;
}

/// The loads and stores of one run of the tile, and the number of live registers.
struct Moves { double loads = 0; double live = 0; };

auto moves_of(const BlockNest& nest, const Tile& tile) -> Moves {
  const size_t count = nest.levels.size();
  Moves out{0, tile.accumulators};
  for (const Stream& stream : nest.streams) {
    double distinct = 1;
    for (size_t l = tile.begin; l < count; ++l) {
      if (nest.levels[l].kind != ForKind::Vectorized && stream.moves(l)) { distinct *= nest.levels[l].extent; }
    }
    bool is_wide = tile.vector_level < count && stream.moves(tile.vector_level);
    bool is_apart = is_wide && !contiguous(stream, tile.vector_level);
    // Sums stay in registers while only the reduction runs; small buffers of a single run always do.
    bool stays = stream.is_write && tile.sums_around && !nest.is_tested && !is_apart;
    if (stays || (stream.is_internal && footprint(nest, stream, stream.kept_from).bytes <= 2 * line)) { continue; }
    bool is_updated = stream.is_write && tile.is_reduction;
    if (is_apart && is_updated) {
      out.loads += distinct * tile.vector * update;
      continue;
    }
    double each = !is_wide ? 1 : is_apart ? tile.vector * gather * (stream.is_write ? 2 : 1) : tile.vectors;
    out.loads += distinct * each * (is_updated ? 3 : stream.is_write ? 2 : 1);
    if (!stream.is_write && is_wide) { out.live += tile.vectors; }
  }
  return out;
}

auto seconds(const BlockNest& nest, const CoreModel& core) -> double {
  double iterations = 1;
  double parallel = 1;
  double entries = 1;            // the number of times that the outermost parallel loop is entered
  for (const Level& level : nest.levels) {
    iterations *= level.extent;
    if (level.kind == ForKind::Parallel) { parallel *= level.extent; }
    else if (parallel == 1) { entries *= level.extent; }
  }
  const Tile tile = tile_of(nest, core);
  const Moves moves = moves_of(nest, tile);
  const double runs = iterations / tile.lanes();

  // Arithmetic: full registers at the rate of the units, slower where sums wait for their previous step.
  double instructions = iterations / tile.vector * tile.vectors * std::max(0.5, nest.operations);
  bool waits = tile.sums_around || tile.sums_inside;
  double in_flight = waits ? std::min(1.0, tile.accumulators / (core.fma_latency * core.vector_fma)) : 1;
  double arithmetic = instructions / (core.vector_fma * in_flight);
  if (tile.is_through_memory) { arithmetic = std::max(arithmetic, iterations / tile.vector * in_memory); }
  double loading = moves.loads * runs / core.vector_loads;
  if (double spilled = moves.live + 1 - core.registers; tile.vector > 1 && spilled > 0 && tile.sums_around) {
    loading += spilled * 2 * runs / core.vector_loads;
    arithmetic *= 1 + 0.5 * spilled / core.registers;
  }
  if (nest.is_tested && tile.vector > 1) { arithmetic *= 1.3; }

  // Loop control, tests, divisions in indices.
  double stepping = runs * (1 + (nest.is_tested ? guard : 0) + nest.divisions);
  if (nest.is_tested) { stepping /= nest.share; }
  if (nest.has_branch) { stepping += iterations * tile.vectors / tile.vector; }
  if (nest.has_init && tile.is_reduction && !tile.sums_around) { stepping += runs; }

  // The caches have eight ways; the third level selects its sets by a hash.
  double into_l1 = traffic(nest, {core.l1, core.l1 / line / 8, scattered_near}) / core.l2_bytes;
  double into_l2 = traffic(nest, {core.l2, core.l2 / line / 8, scattered}) / core.l3_bytes;
  double from_memory = traffic(nest, {core.l3, 1, scattered_far}) / core.memory_bytes;
  double terms[] = {arithmetic + 0.5 * stepping, loading, into_l1, into_l2, from_memory};
  double largest = *std::max_element(std::begin(terms), std::end(terms));
  double total = 0;
  for (double term : terms) { total += term; }
  double cycles = nest.share * (largest + exposed * (total - largest));
  if (nest.has_guard) { cycles *= guarded; }

  double rounds = std::ceil(parallel / core.cores);
  double time = std::max(cycles * (rounds / parallel), from_memory * 0.6) / core.clock;
  if (parallel > 1) {
    // The first fork wakes the threads; later forks find them awake.
    time += core.fork_seconds + (entries - 1) * core.fork_seconds / 6;
  }
  return time;
}

// ---- a function ----------------------------------------------------------------------------------------------------

auto is_leaf(const FuncState& func, const Place& place) -> bool {
  for (int i = place.index + 1; i < place.end; ++i) { if (func.places()[static_cast<size_t>(i)].is_block()) { return false; } }
  return true;
}

/// The places from the root to this one, without the root block.
auto path_to(const FuncState& func, const Place& place) -> std::vector<const Place*> {
  std::vector<const Place*> path;
  for (const Place* p = &place; p != nullptr && p->parent >= 0; p = func.parent(*p)) { path.push_back(p); }
  std::reverse(path.begin(), path.end());
  return path;
}

/// The cycles of divisions: a shift for powers of two, a multiplication and more for other constants.
auto division_cycles(const Expr& value) -> double {
  double cycles = 0;
  post_order(value, [&](const Expr& e) {
    const Expr* by = e.as<FloorDiv>() != nullptr ? &e.as<FloorDiv>()->b : e.as<FloorMod>() != nullptr ? &e.as<FloorMod>()->b : nullptr;
    if (by == nullptr) { return; }
    int64_t c = as_int(*by).value_or(3);
    cycles += (c & (c - 1)) == 0 ? 1 : 5;
  });
  return cycles;
}

/// Records a block's predicate: its cost, the part of the iterations that passes, the innermost loop that it depends on.
void look_at_guard(const Expr& predicate, const Frame& frame, BlockNest& nest) {
  if (is_one(predicate)) { return; }
  if (const auto* both = predicate.as<And>()) {
    look_at_guard(both->a, frame, nest);
    look_at_guard(both->b, frame, nest);
    return;
  }
  const auto* less = predicate.as<LT>();
  bool is_bounded = less != nullptr && as_int(less->b);
  Index index = is_bounded ? frame.index(less->a) : Index{};
  nest.has_guard = true;
  if (!is_bounded || !index.is_sum) { nest.is_tested = true; return; }
  size_t changed_by = 0;
  double reach = index.constant + 1;
  for (auto [level, step] : index.steps) {
    const Level& one = frame.levels()[level];
    if (one.extent <= 1 || step == 0) { continue; }
    reach += std::max(0.0, step) * (one.extent - 1);
    changed_by = std::max(changed_by, level);
    if (one.kind == ForKind::Vectorized) { nest.is_tested = true; }
  }
  if (auto bound = static_cast<double>(*as_int(less->b)); bound > 0 && bound < reach) { nest.share *= bound / reach; }
  nest.guard_level = std::max(nest.guard_level, changed_by);
  bool is_innermost = true;
  for (size_t l = changed_by + 1; l < frame.levels().size(); ++l) {
    const Level& inside = frame.levels()[l];
    is_innermost = is_innermost && (inside.extent <= 1 || inside.kind == ForKind::Vectorized);
  }
  nest.is_tested = nest.is_tested || is_innermost;
}

struct Made {
  BlockNest nest;
  Frame frame;
  std::vector<const Place*> path;
};

auto make_nest(const FuncState& func, const Place& place) -> std::optional<Made> {
  Made made;
  made.path = path_to(func, place);
  for (const Place* p : made.path) {
    if (p->is_loop() && !made.frame.add(*p->loop)) { return {}; }
  }
  Body body;
  body.visit(place.block()->body);
  for (const For* loop : body.loops) { if (!made.frame.add(*loop)) { return {}; } }
  BlockNest& nest = made.nest;
  for (const Place* p : made.path) {
    if (!p->is_block()) { continue; }
    const Block& block = *p->block();
    nest.has_init = nest.has_init || static_cast<bool>(block.init);
    for (size_t i = 0; i < block.iter_vars.size(); ++i) { made.frame.bind(block.iter_vars[i].var.get(), p->realize->iter_values[i]); }
    for (const Expr& value : p->realize->iter_values) { nest.divisions += division_cycles(value); }
  }
  made.frame.settle();
  for (const Place* p : made.path) { if (p->is_block()) { look_at_guard(p->realize->predicate, made.frame, nest); } }
  nest.block = place.id;
  nest.levels = made.frame.levels();
  nest.operations = body.operations;
  nest.has_branch = body.has_branch;
  nest.is_float = body.is_float;
  nest.is_opaque = body.is_opaque;
  for (const Body::Found& found : body.accesses) {
    Stream stream;
    stream.buffer = found.buffer;
    stream.bytes = found.buffer->dtype.element_bytes();
    stream.is_write = found.is_write;
    for (size_t d = 0; d < found.indices.size(); ++d) {
      Index index = made.frame.index(found.indices[d]);
      stream.is_sum = stream.is_sum && index.is_sum;
      std::vector<double> steps(nest.levels.size(), 0);
      for (auto [level, step] : index.steps) { steps[level] = step; }
      stream.steps.push_back(std::move(steps));
      stream.begin.push_back(made.frame.begin(index));
      stream.shape.push_back(static_cast<double>(as_int(found.buffer->shape[d]).value_or(1 << 20)));
    }
    if (stream.steps.empty()) {
      stream.steps.emplace_back(nest.levels.size(), 0.0);
      stream.begin.push_back(0);
      stream.shape.push_back(1);
    }
    bool is_new = true;
    for (Stream& known : nest.streams) {
      if (known.buffer.get() == stream.buffer.get() && known.steps == stream.steps) {
        known.is_write = known.is_write || stream.is_write;
        is_new = false;
        break;
      }
    }
    if (is_new) { nest.streams.push_back(std::move(stream)); }
  }
  // Lowering puts an init in front of the reduction's loops if these contain no other statement (transform/separate_init.h).
  for (size_t i = 0, loop = 0; nest.has_init && i < made.path.size(); ++i) {
    if (!made.path[i]->is_loop()) { continue; }
    size_t level = made.frame.first(loop++);
    bool moves = std::any_of(nest.streams.begin(), nest.streams.end(), [&](const Stream& stream) { return stream.is_write && stream.moves(level); });
    if (moves || is_one(made.path[i]->loop->extent)) { continue; }
    if (made.path[i]->end == place.end && static_cast<size_t>(place.index - made.path[i]->index) + i + 1 == made.path.size()) { nest.has_init = false; }
    break;
  }
  return made;
}

}  // namespace

auto estimate(const FuncState& func, const CoreModel& core) -> std::optional<Estimate> {
  if (core.is_device || !func.is_schedulable()) { return {}; }
  std::vector<Made> all;
  for (const Place& place : func.places()) {
    if (place.parent < 0 || !place.is_block() || !is_leaf(func, place)) { continue; }
    auto made = make_nest(func, place);
    if (!made) { return {}; }
    all.push_back(std::move(*made));
  }
  if (all.empty()) { return {}; }

  // A buffer that the function allocates lives inside of the innermost loop around all of its accesses.
  std::set<const BufferNode*> outer;
  for (const auto& [param, buffer] : func.func()->buffer_map) { outer.insert(buffer.get()); }
  std::map<const BufferNode*, std::vector<const Place*>> shared;
  for (const Made& made : all) {
    for (const Stream& stream : made.nest.streams) {
      if (outer.contains(stream.buffer.get())) { continue; }
      auto [known, is_first] = shared.try_emplace(stream.buffer.get(), made.path);
      if (is_first) { continue; }
      size_t common = 0;
      while (common < known->second.size() && common < made.path.size() && known->second[common] == made.path[common]) { ++common; }
      known->second.resize(common);
    }
  }
  Estimate out;
  for (Made& made : all) {
    for (Stream& stream : made.nest.streams) {
      auto known = shared.find(stream.buffer.get());
      if (known == shared.end()) { continue; }
      stream.is_internal = true;
      size_t loops = 0;
      for (const Place* p : known->second) { loops += p->is_loop() ? 1 : 0; }
      stream.kept_from = made.frame.first(loops);
    }
    move_lanes_inwards(made.nest);
  }
  // Neighbours are the nearest nests; a few of them are enough.
  constexpr size_t most_neighbours = 8;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = i + 1; k < all.size() && k <= i + most_neighbours; ++k) {
      size_t common = 0;
      size_t loops = 0;
      for (; common < all[i].path.size() && common < all[k].path.size() && all[i].path[common] == all[k].path[common]; ++common) { loops += all[i].path[common]->is_loop() ? 1 : 0; }
      if (loops == 0) { break; }
      auto meet = [loops](Made& one, const Made& other) {
        Neighbour out{&other.nest, {}};
        for (size_t l = 0; l < loops; ++l) { out.level.resize(one.frame.first(l + 1), other.frame.first(l)); }
        out.level.push_back(other.frame.first(loops));
        one.nest.neighbours.push_back(std::move(out));
      };
      meet(all[i], all[k]);
      meet(all[k], all[i]);
    }
  }
  for (Made& made : all) {
    double time = seconds(made.nest, core);
    out.blocks.push_back({made.nest.block, time});
    out.seconds += time;
  }
  return out;
}

auto core_of(const target::Target& target) -> CoreModel {
  if (std::getenv("LOOPSMITH_TEST_CORE") != nullptr) {
    CoreModel core;
    core.cores = 4;
    return core;
  }
  // Querying the hardware takes longer than an estimate.
  thread_local std::map<std::string, CoreModel> known;
  auto [place, is_new] = known.try_emplace(target.str());
  if (is_new) { place->second = core_model(target::hardware(target)); }
  return place->second;
}

auto core_for(std::string_view target) -> CoreModel {
  if (is_gpu_target(target)) { return {.is_device = true}; }
  auto read = target.empty() ? Result<target::Target>(target::host()) : target::parse(target);
  return core_of(read.ok() ? *read : target::host());
}

auto gain(const FuncState& before, const FuncState& after, const CoreModel& core) -> std::optional<double> {
  auto first = estimate(before, core);
  auto second = estimate(after, core);
  if (!first || !second || second->seconds <= 0) { return {}; }
  return first->seconds / second->seconds;
}

auto gain_text(double gain) -> std::string {
  // Smaller differences are within the model's error.
  constexpr double noticed = 1.25;
  // Two digits, and no exponent: 1.4, 37, 370.
  auto times = [](double factor) {
    if (factor < 100) { return fmt::format("{:.2g}", factor); }
    double unit = std::pow(10, std::floor(std::log10(factor)) - 1);
    return fmt::format("{:.0f}", std::round(factor / unit) * unit);
  };
  if (gain >= noticed) { return fmt::format("about {}x faster", times(gain)); }
  if (gain <= 1 / noticed) { return fmt::format("about {}x slower", times(1 / gain)); }
  return {};
}

}  // namespace loopsmith::cost
