// Complete blocks and reductions, producers and consumers: see block_classes.h. The definitions follow TensorIR and TVM 0.19: these
// classes decide which schedules are accepted.
#include "schedule/block_classes.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/reasons.h"

namespace loopsmith::schedule {

static auto neighbours(const FuncState& func, const Place& block, bool producers) -> std::vector<NodeId> {
  std::vector<NodeId> out;
  const Place* scope = func.scope(block);
  if (!scope) { return out; }
  const Scope info = func.scope_info(*scope);
  auto from = producers ? info.of_dst(block.id) : std::span<const Dependence>();
  std::vector<Dependence> all = producers ? std::vector<Dependence>(from.begin(), from.end()) : info.of_src(block.id);
  for (const Dependence& d : all) {
    NodeId there = producers ? d.src : d.dst;
    if ((d.kind != DependenceKind::Raw && d.kind != DependenceKind::Waw)) { continue; }
    if (std::find(out.begin(), out.end(), there) == out.end()) { out.push_back(there); }
  }
  return out;
}
auto producers_of(const FuncState& func, const Place& block) -> std::vector<NodeId> { return neighbours(func, block, true); }
auto consumers_of(const FuncState& func, const Place& block) -> std::vector<NodeId> { return neighbours(func, block, false); }

namespace {

// True if no other block of the scope writes to the block's output buffers.
auto is_dominant(const FuncState& func, const Place& block) -> bool {
  const Place* scope = func.scope(block);
  if (!scope) { return true; }
  const Scope info = func.scope_info(*scope);
  for (const BufferRegion& write : block.block()->writes) {
    if (info.writers(write.buffer.get()).size() > 1) { return false; }
  }
  return true;
}

auto overlapping_buffer(const Block& block) -> const BufferNode* {
  for (const BufferRegion& read : block.reads) {
    for (const BufferRegion& write : block.writes) {
      if (read.buffer == write.buffer) { return read.buffer.get(); }
    }
  }
  return nullptr;
}

// A reduction iter var that indexes an output; null if no output has one.
auto reduction_index(const Block& block) -> const VarNode* {
  std::unordered_set<const VarNode*> reduction_vars;
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind == IterKind::Reduction) { reduction_vars.insert(iter.var.get()); }
  }
  if (reduction_vars.empty()) { return nullptr; }
  const VarNode* found = nullptr;
  auto is_reduction_var = [&](const VarNode& var) {
    if (!reduction_vars.count(&var)) { return false; }
    found = &var;
    return true;
  };
  std::unordered_set<const BufferNode*> written;
  for (const BufferRegion& write : block.writes) {
    written.insert(write.buffer.get());
    for (const Range& range : write.region) {
      if (uses_var(range.min, is_reduction_var) || uses_var(range.extent, is_reduction_var)) { return found; }
    }
  }
  for (const MatchBufferRegion& match : block.match_buffers) {
    if (!written.count(match.source.buffer.get())) { continue; }
    for (const Range& range : match.source.region) {
      if (uses_var(range.min, is_reduction_var) || uses_var(range.extent, is_reduction_var)) { return found; }
    }
  }
  post_order(block.body, [&](const Stmt& stmt) {
    const auto* store = stmt.as<BufferStore>();
    if (!store || found) { return; }
    for (const Expr& index : store->indices) {
      if (uses_var(index, is_reduction_var)) { return; }
    }
  }, [](const Expr&) {});
  return found;
}

}  // namespace

auto why_not_complete_locally(const Block& block) -> std::optional<Reason> {
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind != IterKind::Spatial) { return because(Why::IterNotSpatial).arg("iter", iter.var->name.view()); }
  }
  if (const BufferNode* both = overlapping_buffer(block)) { return because(Why::ReadsAndWrites).arg("buffer", both->name.view()); }
  return {};
}

namespace {

// True if an iter value uses a loop outside of the block's scope.
auto is_loop_outside(const FuncState& func, const Place& place, const Expr& value) -> bool {
  const Place* scope = func.scope(place);
  for (const Place* at = scope ? func.parent(*scope) : nullptr; at; at = func.parent(*at)) {
    if (at->is_loop() && !is_one(at->loop->extent) && uses_var(value, [&](const VarNode& v) { return &v == at->loop->var.get(); })) { return true; }
  }
  return false;
}

// A reduction iter var that does not start at its first value here, so that this block never runs its init: in a partitioned loop, another
// part may run it. Null: every reduction starts at its first value.
auto late_reduction(const FuncState& func, const Place& place) -> const VarNode* {
  const Block& block = *place.block();
  VarMap first;
  std::unordered_set<const VarNode*> moved;
  auto begin_at_first = [&](const Place& at) {
    first[at.loop->var.get()] = at.loop->min;
    if (!is_zero(at.loop->min)) { moved.insert(at.loop->var.get()); }
  };
  for (const Place* at : func.loops(place)) { begin_at_first(*at); }
  // Loops of one iteration around the scope count too: the last part of a partitioned loop may stand in one.
  const Place* scope = func.scope(place);
  for (const Place* at = scope ? func.parent(*scope) : nullptr; at; at = func.parent(*at)) {
    if (at->is_loop() && is_one(at->loop->extent)) { begin_at_first(*at); }
  }
  arith::Analyzer analyzer;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    const Expr& value = place.realize->iter_values[i];
    if (iter.kind == IterKind::Spatial) { continue; }
    // A part of a partitioned loop uses loops around its scope directly, without an iter var of the enclosing block.
    if (uses_var(value, [&](const VarNode& v) { return !first.contains(&v); }) && is_loop_outside(func, place, value)) { return iter.var.get(); }
    // The start of a loop of one iteration may be folded into the value.
    auto at_first = as_int(analyzer.simplify(substitute(value, first))), begin = as_int(iter.dom.min);
    if (at_first && begin && *at_first != *begin) { return iter.var.get(); }
    if (!uses_var(value, [&](const VarNode& v) { return moved.contains(&v); })) { continue; }
    if (!analyzer.can_prove_equal(substitute(value, first), iter.dom.min)) { return iter.var.get(); }
  }
  return nullptr;
}

// Each iter value is a loop of its own. That is independent and affine also where the bounds of a loop use another one (triangles).
auto binds_own_loops(const Place& place) -> bool {
  std::unordered_set<const VarNode*> seen;
  return std::all_of(place.realize->iter_values.begin(), place.realize->iter_values.end(), [&](const Expr& value) {
    const auto* loop = value.as<VarNode>();
    return loop && seen.insert(loop).second;
  });
}

}  // namespace

auto why_not_reduction_locally(const FuncState& func, const Place& place) -> std::optional<Reason> {
  const Block& block = *place.block();
  if (!block.init) { return because(Why::NoInit); }
  if (!func.is_affine_binding(place) && !binds_own_loops(place)) { return because(Why::IterValuesNotAffine); }
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind != IterKind::Spatial && iter.kind != IterKind::Reduction) {
      return because(Why::IterOfOtherKind).arg("iter", iter.var->name.view());
    }
  }
  if (const VarNode* var = late_reduction(func, place)) { return because(Why::IterBeginsLate).arg("iter", var->name.view()); }
  if (const VarNode* var = reduction_index(block)) { return because(Why::OutputByReduction).arg("iter", var->name.view()); }
  return {};
}

auto why_not_complete(const FuncState& func, const Place& block) -> std::optional<Reason> {
  if (auto why = why_not_complete_locally(*block.block())) { return why; }
  for (const Buffer& hidden : func.hidden_reads(block)) {
    for (const BufferRegion& write : block.block()->writes) {
      if (write.buffer == hidden) { return because(Why::ReadsAndWritesUndeclared).arg("buffer", hidden->name.view()); }
    }
  }
  if (!is_dominant(func, block)) { return because(Why::OtherWriter); }
  return {};
}

auto why_not_reduction(const FuncState& func, const Place& block) -> std::optional<Reason> {
  if (auto why = why_not_reduction_locally(func, block)) { return why; }
  if (!is_dominant(func, block)) { return because(Why::OtherWriter); }
  return {};
}

auto skips_init(const FuncState& func, const Place& block) -> bool { return block.block()->init && late_reduction(func, block); }

auto is_output_block(const FuncState& func, const Place& block, const Place& scope) -> bool {
  const auto& writes = block.block()->writes;
  return std::any_of(writes.begin(), writes.end(), [&](const BufferRegion& write) { return !func.allocates(scope, write.buffer); });
}

}  // namespace loopsmith::schedule
