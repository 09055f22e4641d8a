// Chains over common outer loops (softmax, normalisations, pooling and the blocks after it): the last block's outer loops
// become one parallel loop over rows; the blocks before it move under that loop, so that a row stays in the cache, or are inlined.
// A reduction along a row can be factored into several running results (rfactor). Only then can it use vectors: in a single chain each addition
// waits for the previous one.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "ir/visitor.h"
#include "tune/space/analysis.h"
#include "tune/space/sketch.h"
#include "tune/space/steps.h"

namespace loopsmith::tune {
namespace {

using schedule::BlockRV;
using schedule::LoopRV;
using schedule::Schedule;
using schedule::Value;

enum Place : int64_t { under_row = 0, at_root = 1, inlined = 2 };

auto step(Result<Value> result) -> Status {
  if (!result.ok()) { return std::move(result).diagnostics(); }
  return ok();
}

class RowSketch : public Sketch {
 public:
  /// `members`: the blocks of the chain without its last one, in the order of the text.
  RowSketch(const SpaceContext& context, std::vector<BlockFact> blocks, const std::vector<size_t>& members, size_t last, size_t row_loops)
      : blocks_(std::move(blocks)), last_(last), row_loops_(row_loops), core_(context.core), lanes_(static_cast<int>(context.core.lanes)) {
    name_ = "rows of " + blocks_[last_].name;
    covered_.insert(blocks_[last_].name);
    for (size_t i : members) {
      const BlockFact& block = blocks_[i];
      covered_.insert(block.name);
      Part part{i, knobs_.size(), none};
      Knob place{"place " + block.name, {{under_row}, {at_root}}};
      if (!block.has_reduction && block.is_simple && !block.is_output) { place.choices.push_back({inlined}); }
      knobs_.push_back(std::move(place));
      // Only the innermost reduction loop can be split for vectors.
      if (block.is_simple && block.has_reduction && block.loops.back().is_reduction && can_factor(context, block.name, block.loops.size() - 1)) {
        Knob factor{"side by side in " + block.name, {{1}}};
        for (int64_t d : divisors(block.loops.back().extent)) {
          if (d >= 4 && d <= 4 * lanes_ && d < block.loops.back().extent) { factor.choices.push_back({d}); }
        }
        part.factor_knob = knobs_.size();
        knobs_.push_back(std::move(factor));
      }
      parts_.push_back(part);
    }
    Knob spread{"rows in parallel", {{1}, {0}}};
    spread_knob_ = knobs_.size();
    knobs_.push_back(std::move(spread));
  }

  auto apply(Schedule& sch, const Point& point) const -> Status override {
    LOOPSMITH_TRY(last, get_block(sch, blocks_[last_].name));
    struct Placed { BlockRV block; bool reduction; bool factored; };
    std::vector<Placed> placed;
    for (const Part& part : parts_) {
      const BlockFact& fact = blocks_[part.block];
      int64_t place = chosen(point, part.place_knob)[0];
      LOOPSMITH_TRY(block, get_block(sch, fact.name));
      if (place == inlined) {
        LOOPSMITH_CHECK(step(sch.call("compute_inline", {block})));
        continue;
      }
      int64_t factor = part.factor_knob == none ? 1 : chosen(point, part.factor_knob)[0];
      if (factor > 1) {
        LOOPSMITH_TRY(loops, get_loops(sch, block));
        LOOPSMITH_TRY(cut, split(sch, loops.back(), {fact.loops.back().extent / factor, factor}));
        LOOPSMITH_TRY(factored, sch.call("rfactor", {cut.back(), Value(static_cast<int64_t>(loops.size() - 1))}));
        placed.push_back({*factored.as<BlockRV>(), true, true});
      }
      if (place == at_root) {
        LOOPSMITH_CHECK(spread_at_root(sch, block, fact));
        if (factor > 1) { LOOPSMITH_CHECK(vectorize_factored(sch, placed.back().block)); placed.pop_back(); }
        continue;
      }
      placed.push_back({block, fact.has_reduction, false});
    }
    LOOPSMITH_TRY(loops, get_loops(sch, last));
    LOOPSMITH_TRY(row, fuse(sch, {loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(row_loops_)}));
    for (size_t i = placed.size(); i-- > 0;) { LOOPSMITH_CHECK(step(sch.call("compute_at", {placed[i].block, row}))); }
    // This must happen before a reduction is decomposed: afterwards, no loop around it could be parallel.
    if (chosen(point, spread_knob_)[0] == 1) { LOOPSMITH_CHECK(step(sch.call("parallel", {row}))); }
    for (const Placed& p : placed) {
      if (p.factored) { LOOPSMITH_CHECK(vectorize_factored(sch, p.block)); }
      else if (!p.reduction) { LOOPSMITH_CHECK(vectorize_inner(sch, p.block, 1, lanes_, false)); }
    }
    return loops.size() > row_loops_ ? vectorize_inner(sch, last, 1, lanes_, false) : ok();
  }

  auto draft(const Point& point) const -> double override {
    if (has_early_reader(point)) { return std::numeric_limits<double>::infinity(); }
    double cycles = 0;
    double bytes = 0;
    double outside = 0;
    auto size_of = [](const AccessFact& access) {
      double all = access.bytes;
      for (int64_t e : access.shape) { all *= static_cast<double>(std::max<int64_t>(1, e)); }
      return all;
    };
    for (const AccessFact& access : blocks_[last_].accesses) { bytes += size_of(access); }
    cycles += blocks_[last_].instances * (blocks_[last_].flops + 1) / core_.lanes;
    for (const Part& part : parts_) {
      const BlockFact& fact = blocks_[part.block];
      int64_t place = chosen(point, part.place_knob)[0];
      double work = fact.instances * (fact.flops + 1);
      if (place == inlined) {
        // Counts once for every element that each consumer reads.
        double uses = 0;
        for (size_t c : fact.consumers) { uses += blocks_[c].instances; }
        cycles += (fact.flops + 1) * uses / core_.lanes;
        continue;
      }
      int64_t factor = part.factor_knob == none ? 1 : chosen(point, part.factor_knob)[0];
      if (!fact.has_reduction) { cycles += work / core_.lanes; }
      else if (factor == 1) { cycles += fact.instances * core_.fma_latency + work * 0.5; }
      else {
        double vectors = static_cast<double>(factor) / core_.lanes;
        cycles += work / std::min(static_cast<double>(factor), core_.lanes) * std::max(1.0, core_.fma_latency / std::max(1.0, vectors) / 2);
        cycles += fact.instances / static_cast<double>(fact.loops.back().extent) * static_cast<double>(factor) * core_.fma_latency;
      }
      for (const AccessFact& access : fact.accesses) { (place == at_root ? outside : bytes) += size_of(access); }
    }
    double cores = chosen(point, spread_knob_)[0] == 1 ? core_.cores : 1;
    return cycles / core_.clock / cores + (bytes / core_.l2_bytes + outside / core_.l3_bytes * 2) / core_.clock / cores + core_.fork_seconds;
  }

  auto features(const Point& point) const -> std::vector<double> override {
    std::vector<double> out;
    for (size_t k = 0; k < knobs_.size(); ++k) {
      const auto& choice = knobs_[k].choices[point[k]];
      out.push_back(std::log2(static_cast<double>(choice[0]) + 1));
      out.push_back(choice[0] == 1 ? 1 : 0);
    }
    return out;
  }

 private:
  static constexpr size_t none = static_cast<size_t>(-1);
  struct Part { size_t block; size_t place_knob; size_t factor_knob; };

  [[nodiscard]] auto place_of(const Point& point, size_t block) const -> int64_t {
    for (const Part& part : parts_) { if (part.block == block) { return chosen(point, part.place_knob)[0]; } }
    return under_row;
  }
  /// True if a block at the root reads a block under the rows, directly or through inlined blocks: the latter then runs before the rows.
  [[nodiscard]] auto has_early_reader(const Point& point) const -> bool {
    std::function<bool(size_t)> is_read_at_root = [&](size_t block) {
      return std::any_of(blocks_[block].consumers.begin(), blocks_[block].consumers.end(), [&](size_t c) {
        int64_t place = place_of(point, c);
        return place == at_root || (place == inlined && is_read_at_root(c));
      });
    };
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) { return place_of(point, part.block) == under_row && is_read_at_root(part.block); });
  }

  // The running results become the last loop, vectorized; their initial values get a separate loop. Under a row, the loops are in the order
  // of the iter vars, and the reduction loops come last.
  auto vectorize_factored(Schedule& sch, BlockRV block) const -> Status {
    LOOPSMITH_TRY(loops, get_loops(sch, block));
    if (loops.size() < 2) { return ok(); }
    LOOPSMITH_TRY(place, sch.get(block));
    std::vector<Value> order;
    LoopRV first_reduction = loops[loops.size() - 2];
    for (size_t l = loops.size(); l-- > 0 && order.size() + 1 < loops.size();) {
      LOOPSMITH_TRY(loop, sch.get(loops[l]));
      bool is_reduction = false;
      for (size_t i = 0; i < place->block()->iter_vars.size(); ++i) {
        is_reduction = is_reduction || (place->block()->iter_vars[i].kind == IterKind::Reduction &&
                                        uses_var(place->realize->iter_values[i], [&](const VarNode& v) { return &v == loop->loop->var.get(); }));
      }
      order.insert(order.begin(), loops[l]);
      if (is_reduction) { first_reduction = loops[l]; continue; }
      std::rotate(order.begin(), order.begin() + 1, order.end());
      break;
    }
    if (order.size() > 1) { LOOPSMITH_CHECK(step(sch.call("reorder", order))); }
    LOOPSMITH_CHECK(vectorize_inner(sch, block, 1, lanes_, false));
    return step(sch.call("decompose_reduction", {block, first_reduction}));
  }

  auto spread_at_root(Schedule& sch, BlockRV block, const BlockFact& fact) const -> Status {
    if (!fact.is_simple) { return ok(); }
    if (!fact.has_reduction) { return flatten_block(sch, block, lanes_, 16384); }
    LOOPSMITH_TRY(loops, get_loops(sch, block));
    if (fact.loops.empty() || fact.loops.front().is_reduction) { return ok(); }
    return step(sch.call("parallel", {loops.front()}));
  }

  std::vector<BlockFact> blocks_;
  size_t last_;
  size_t row_loops_;
  CoreModel core_;
  int lanes_;
  std::vector<Part> parts_;
  size_t spread_knob_ = 0;
};

}  // namespace

namespace {

/// The blocks of a chain that ends in `last`, without `last`: blocks on which it depends and whose consumers are all in the chain.
auto chain_before(const std::vector<BlockFact>& blocks, size_t last, const std::set<std::string>& taken) -> std::vector<size_t> {
  std::set<size_t> chain = {last};
  for (size_t i = last; i-- > 0;) {
    const BlockFact& block = blocks[i];
    if (taken.contains(block.name) || block.is_output || block.consumers.empty()) { continue; }
    if (std::all_of(block.consumers.begin(), block.consumers.end(), [&](size_t c) { return chain.contains(c); })) { chain.insert(i); }
  }
  chain.erase(last);
  return {chain.begin(), chain.end()};
}

}  // namespace

void add_row_sketches(const SpaceContext& context, Sketches& out) {
  schedule::State state(context.module);
  const schedule::FuncState* func = state.func(context.function);
  if (!func) { return; }
  std::vector<BlockFact> blocks = analyze(*func);
  for (size_t last = blocks.size(); last-- > 0;) {
    const BlockFact& end = blocks[last];
    if (context.taken.contains(end.name) || !end.is_simple || end.has_reduction || end.loops.size() < 2) { continue; }
    std::vector<size_t> members = chain_before(blocks, last, context.taken);
    if (std::none_of(members.begin(), members.end(), [&](size_t i) { return blocks[i].has_reduction; })) { continue; }
    size_t most = std::min<size_t>(end.loops.size() - 1, 3);
    for (size_t rows = 1; rows <= most; ++rows) { out.push_back(std::make_unique<RowSketch>(context, blocks, members, last, rows)); }
    return;
  }
}

}  // namespace loopsmith::tune
