// A reduction that reads each element once (a norm, sums of rows or columns): memory limits its speed, so all cores must read, with vector loads.
//
// The vector loop is the one along which the largest operand is contiguous. A spatial loop is vectorized directly. A reduction loop is split, and its inner part
// is factored into several running results (rfactor). If there are too few spatial iterations for the cores, a second factor makes parts that run in parallel.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tune/space/analysis.h"
#include "tune/space/sketch.h"
#include "tune/space/steps.h"

namespace loopsmith::tune {
namespace {

using schedule::BlockRV;
using schedule::LoopRV;
using schedule::Schedule;
using schedule::Value;

constexpr int64_t most_parts_per_core = 16;
// The number of running results in vector registers: a chain of additions needs several to hide their latency.
constexpr int64_t most_registers = 8;

auto step(Result<Value> result) -> Status {
  if (!result.ok()) { return std::move(result).diagnostics(); }
  return ok();
}

enum class Role : uint8_t { Spatial, Reduction, Vector };

class ReduceSketch : public Sketch {
 public:
  ReduceSketch(const SpaceContext& context, BlockFact block, size_t vector_loop, size_t parts_loop)
      : block_(std::move(block)), core_(context.core), vector_loop_(vector_loop), parts_loop_(parts_loop), lanes_(static_cast<int>(context.core.lanes)) {
    name_ = "reduce " + block_.name;
    covered_.insert(block_.name);
    bool has_parts = can_factor(context, block_.name, parts_loop_);
    double spatial = 1;
    for (const LoopFact& loop : block_.loops) { spatial *= loop.is_reduction ? 1 : static_cast<double>(loop.extent); }
    Knob parts{"parts of " + block_.loops[parts_loop_].name, {{1}}};
    if (has_parts && spatial < static_cast<double>(most_parts_per_core) * core_.cores) {
      for (int64_t d : divisors(block_.loops[parts_loop_].extent)) {
        if (d > 1 && d <= most_parts_per_core * core_.cores) { parts.choices.push_back({d}); }
      }
    }
    Knob width{"vectors of " + block_.loops[vector_loop_].name, {{1}}};
    bool has_vectors = !block_.loops[vector_loop_].is_reduction || can_factor(context, block_.name, vector_loop_);
    for (int64_t d : divisors(has_vectors ? block_.loops[vector_loop_].extent : 1)) {
      if (d >= 4 && d <= most_registers * lanes_ && (d % lanes_ == 0 || d < lanes_)) { width.choices.push_back({d}); }
    }
    Knob spread{"in parallel", {{1}, {0}}};
    knobs_ = {std::move(parts), std::move(width), std::move(spread)};
  }

  auto apply(Schedule& sch, const Point& point) const -> Status override {
    LOOPSMITH_TRY(block, get_block(sch, block_.name));
    std::vector<Role> roles;
    for (const LoopFact& loop : block_.loops) { roles.push_back(loop.is_reduction ? Role::Reduction : Role::Spatial); }
    // In the results, a factor becomes the last dimension.
    int64_t axis = 0;
    for (const AccessFact& access : block_.accesses) {
      if (access.is_write) { axis = static_cast<int64_t>(access.strides.size()); }
    }
    size_t vector_loop = vector_loop_;
    if (int64_t parts = chosen(point, parts_knob)[0]; parts > 1) {
      LOOPSMITH_TRY(loops, get_loops(sch, block));
      LOOPSMITH_TRY(cut, split(sch, loops[parts_loop_], {parts, block_.loops[parts_loop_].extent / parts}));
      LOOPSMITH_TRY(factored, sch.call("rfactor", {cut.front(), Value(axis++)}));
      block = *factored.as<BlockRV>();
      roles.insert(roles.begin() + static_cast<std::ptrdiff_t>(parts_loop_), Role::Spatial);
      if (vector_loop >= parts_loop_) { ++vector_loop; }
    }
    if (int64_t width = chosen(point, width_knob)[0]; width > 1) {
      LOOPSMITH_TRY(loops, get_loops(sch, block));
      int64_t extent = extent_of(sch, loops[vector_loop]);
      LOOPSMITH_TRY(cut, split(sch, loops[vector_loop], {extent / width, width}));
      if (roles[vector_loop] == Role::Reduction) {
        LOOPSMITH_TRY(factored, sch.call("rfactor", {cut.back(), Value(axis)}));
        block = *factored.as<BlockRV>();
      }
      roles.insert(roles.begin() + static_cast<std::ptrdiff_t>(vector_loop) + 1, Role::Vector);
    }
    return run_in_order(sch, point, block, roles);
  }

  auto draft(const Point& point) const -> double override {
    double parts = static_cast<double>(chosen(point, parts_knob)[0]);
    double width = static_cast<double>(chosen(point, width_knob)[0]);
    const LoopFact& vector = block_.loops[vector_loop_];
    if (vector_loop_ == parts_loop_ && static_cast<int64_t>(width) > 1 && vector.extent % static_cast<int64_t>(parts * width) != 0) {
      return std::numeric_limits<double>::infinity();
    }
    double tasks = parts;
    for (const LoopFact& loop : block_.loops) { tasks *= loop.is_reduction ? 1 : static_cast<double>(loop.extent); }
    if (!vector.is_reduction) { tasks /= width; }
    double cores = chosen(point, spread_knob)[0] == 1 ? std::min(tasks, static_cast<double>(core_.cores)) : 1;
    double bytes = 0;
    for (const AccessFact& access : block_.accesses) {
      double all = access.bytes;
      for (int64_t extent : access.shape) { all *= static_cast<double>(std::max<int64_t>(1, extent)); }
      bytes += all;
    }
    double chain = std::max(1.0, core_.fma_latency / std::max(1.0, width / core_.lanes) / 2);
    double cycles = block_.instances * (block_.flops + 1) / std::min(width, core_.lanes) * chain;
    double rate = bytes > core_.l3 ? core_.memory_bytes : core_.l3_bytes;
    return std::max(cycles, bytes / rate) / core_.clock / cores + core_.fork_seconds;
  }

  auto features(const Point& point) const -> std::vector<double> override {
    std::vector<double> out;
    for (size_t k = 0; k < knobs_.size(); ++k) { out.push_back(std::log2(static_cast<double>(chosen(point, k)[0]) + 1)); }
    return out;
  }

 private:
  static constexpr size_t parts_knob = 0, width_knob = 1, spread_knob = 2;

  // Fuses the spatial loops into one parallel loop; the reduction loops run inside, around the vector loop.
  auto run_in_order(Schedule& sch, const Point& point, BlockRV block, const std::vector<Role>& roles) const -> Status {
    LOOPSMITH_TRY(loops, get_loops(sch, block));
    std::vector<LoopRV> spatial, order;
    for (size_t l = 0; l < loops.size(); ++l) { if (roles[l] == Role::Spatial) { spatial.push_back(loops[l]); } }
    order = spatial;
    for (Role role : {Role::Reduction, Role::Vector}) {
      for (size_t l = 0; l < loops.size(); ++l) { if (roles[l] == role) { order.push_back(loops[l]); } }
    }
    LoopRV first_reduction = order[spatial.size()];
    if (loops.size() > 1) { LOOPSMITH_CHECK(step(sch.call("reorder", std::vector<Value>(order.begin(), order.end())))); }
    if (roles.end() != std::find(roles.begin(), roles.end(), Role::Vector)) { LOOPSMITH_CHECK(vectorize_inner(sch, block, 1, lanes_, false)); }
    if (chosen(point, spread_knob)[0] == 1 && !spatial.empty()) {
      LOOPSMITH_TRY(tasks, fuse(sch, spatial));
      LOOPSMITH_CHECK(step(sch.call("parallel", {tasks})));
    }
    return step(sch.call("decompose_reduction", {block, first_reduction}));
  }

  BlockFact block_;
  CoreModel core_;
  size_t vector_loop_;
  size_t parts_loop_;
  int lanes_;
};

/// The loop along which the largest operand is contiguous; the number of loops if there is none.
auto contiguous_loop(const BlockFact& block) -> size_t {
  size_t found = block.loops.size();
  double most = 0;
  for (const AccessFact& access : block.accesses) {
    if (access.is_write || !access.is_affine || access.strides.empty()) { continue; }
    double size = access.bytes;
    for (int64_t extent : access.shape) { size *= static_cast<double>(std::max<int64_t>(1, extent)); }
    for (size_t l = 0; l < block.loops.size(); ++l) {
      if (access.strides.back()[l] == 1 && size > most) {
        most = size;
        found = l;
      }
    }
  }
  return found;
}

}  // namespace

void add_reduce_sketches(const SpaceContext& context, Sketches& out) {
  schedule::State state(context.module);
  const schedule::FuncState* func = state.func(context.function);
  if (!func) { return; }
  const BlockFact* heaviest = nullptr;
  std::vector<BlockFact> blocks = analyze(*func);
  for (const BlockFact& block : blocks) {
    if (context.taken.contains(block.name) || !block.is_simple || !block.has_reduction) { continue; }
    if (!heaviest || block.instances * block.flops > heaviest->instances * heaviest->flops) { heaviest = &block; }
  }
  if (!heaviest) { return; }
  size_t vector_loop = contiguous_loop(*heaviest);
  if (vector_loop == heaviest->loops.size()) { return; }
  auto outermost = std::find_if(heaviest->loops.begin(), heaviest->loops.end(), [](const LoopFact& loop) { return loop.is_reduction; });
  out.push_back(std::make_unique<ReduceSketch>(context, *heaviest, vector_loop, static_cast<size_t>(outermost - heaviest->loops.begin())));
}

}  // namespace loopsmith::tune
