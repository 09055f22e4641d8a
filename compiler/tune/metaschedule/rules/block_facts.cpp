// Facts about a block that decide which rules apply to it: see block_facts.h.
#include "tune/metaschedule/rules/block_facts.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "tune/metaschedule/calls.h"
#include "tune/metaschedule/loop_roles.h"

namespace loopsmith::tune::rules {

using metaschedule::LoopRole;

auto is_tiled(const Block& block) -> bool { return metaschedule::string_attr(block.annotations, "meta_schedule.tiling_structure").has_value(); }

auto is_spatial(const Block& block) -> bool {
  return std::all_of(block.iter_vars.begin(), block.iter_vars.end(), [](const IterVar& iter) { return iter.kind == IterKind::Spatial; });
}

auto is_spatial(const PrimFunc& func) -> bool {
  bool all = true;
  post_order(func->body, [&](const Stmt& s) { if (const auto* realize = s.as<BlockRealize>()) { all = all && is_spatial(*realize->block); } }, [](const Expr&) {});
  return all;
}

auto has_trivial_binding(const FuncState& func, const Place& block) -> bool {
  const std::vector<const Place*> loops = func.loops(block);
  const auto& values = block.realize->iter_values;
  if (loops.size() != values.size()) { return false; }
  for (size_t i = 0; i < loops.size(); ++i) {
    if (values[i].get() != loops[i]->loop->var.get()) { return false; }
  }
  return true;
}

auto needs_multi_level_tiling(const FuncState& func, const Place& place) -> bool {
  const Block& block = *place.block();
  if (is_tiled(block) || block.writes.size() != 1 || block.reads.empty() || is_spatial(block) || !has_trivial_binding(func, place)) { return false; }
  std::vector<const VarNode*> spatial;
  for (const IterVar& iter : block.iter_vars) {
    const bool is_unit = is_zero(iter.dom.min) && is_one(iter.dom.extent);
    if (iter.kind == IterKind::Spatial && !is_unit) { spatial.push_back(iter.var.get()); }
  }
  const BufferNode* written = block.writes[0].buffer.get();
  std::unordered_set<const BufferNode*> read;
  size_t unused = 0;
  for (const BufferRegion& region : block.reads) {
    if (!read.insert(region.buffer.get()).second) { return false; }
    if (region.buffer.get() == written) { continue; }
    std::unordered_set<const VarNode*> used;
    for (const Range& range : region.region) {
      if (!as_int(range.extent)) { return false; }
      post_order(range.min, [&](const Expr& e) { if (const auto* v = e.as<VarNode>()) { used.insert(v); } });
    }
    unused += static_cast<size_t>(std::count_if(spatial.begin(), spatial.end(), [&](const VarNode* v) { return !used.contains(v); }));
  }
  return unused >= 1;
}

auto needs_rfactor_or_cross_thread_reduction(const FuncState& func, const Place& place, int64_t max_parallel_extent, int64_t max_parallel_basic) -> bool {
  (void)max_parallel_basic;   // a parameter of TVM's that has no effect
  const Block& block = *place.block();
  if (block.writes.empty() || place.parent < 0) { return false; }
  if (!schedule::is_reduction(func, place) || !has_trivial_binding(func, place) || is_tiled(block)) { return false; }
  const std::vector<const Place*> loops = func.loops(place);
  int64_t spatial = 1, reduction = 1;
  bool reduces = false;
  for (size_t i = 0; i < loops.size(); ++i) {
    const LoopRole role = metaschedule::role_of(*loops[i]->loop);
    if (role == LoopRole::Mixed) { return false; }
    reduces = reduces || role == LoopRole::Reduction;
    // The loops are nested directly, with the block alone in the innermost one.
    const StmtNode* body = loops[i]->loop->body.get();
    const StmtNode* expected = i + 1 < loops.size() ? static_cast<const StmtNode*>(loops[i + 1]->loop) : static_cast<const StmtNode*>(place.realize);
    if (body != expected) { return false; }
    auto extent = as_int(loops[i]->loop->extent);
    if (!extent || *extent == -1) { return false; }
    (role == LoopRole::Spatial ? spatial : reduction) *= *extent;
  }
  if (!reduces) { return false; }
  if (needs_multi_level_tiling(func, place)) { return spatial < reduction && spatial <= max_parallel_extent; }
  return reduction > 1;
}

namespace {

/// The variable of `v`, `v + 3`, `3 + v` or `v - 3`; null: the expression has another form.
auto variable_with_shift(const Expr& expr) -> const VarNode* {
  if (const auto* v = expr.as<VarNode>()) { return v; }
  if (const auto* sum = expr.as<Add>()) {
    if (sum->b.as<IntImm>()) { return sum->a.as<VarNode>(); }
    if (sum->a.as<IntImm>()) { return sum->b.as<VarNode>(); }
  }
  if (const auto* difference = expr.as<Sub>(); difference && difference->b.as<IntImm>()) { return difference->a.as<VarNode>(); }
  return nullptr;
}

}  // namespace

auto read_write_pattern(const BufferRegion& read, const BufferRegion& write) -> ReadWritePattern {
  std::unordered_map<const VarNode*, int> dimension_of;
  for (size_t i = 0; i < write.region.size(); ++i) {
    const auto* v = write.region[i].min.as<VarNode>();
    if (!as_int(write.region[i].extent) || !v) { return {}; }
    dimension_of.emplace(v, static_cast<int>(i));
  }
  std::vector<int> uses(write.region.size(), 0);
  bool ordered = true;
  int last = -1;
  for (const Range& range : read.region) {
    if (!as_int(range.extent)) { return {}; }
    if (as_int(range.min)) { continue; }
    const VarNode* v = variable_with_shift(range.min);
    auto found = v ? dimension_of.find(v) : dimension_of.end();
    if (found == dimension_of.end()) { return {}; }
    ++uses[static_cast<size_t>(found->second)];
    if (last > found->second) { ordered = false; }
    last = found->second;
  }
  const bool injective = std::all_of(uses.begin(), uses.end(), [](int n) { return n < 2; });
  return {true, injective, ordered};
}

auto is_write_cache(const Block& block) -> bool {
  if (block.writes.size() != 1) { return false; }
  return std::all_of(block.reads.begin(), block.reads.end(), [&](const BufferRegion& read) {
    const ReadWritePattern pattern = read_write_pattern(read, block.writes[0]);
    return pattern.injective && pattern.ordered;
  });
}

auto calls_any(const Stmt& stmt, const std::vector<std::string>& ops) -> bool {
  bool found = false;
  post_order(stmt, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* call = e.as<Call>();
    found = found || (call && std::find(ops.begin(), ops.end(), call->op.str()) != ops.end());
  });
  return found;
}

auto has_branch(const Stmt& stmt) -> bool {
  bool found = false;
  post_order(
      stmt,
      [&](const Stmt& s) {
        const auto* realize = s.as<BlockRealize>();
        found = found || s.as<IfThenElse>() || (realize && !is_one(realize->predicate));
      },
      [&](const Expr& e) {
        const auto* call = e.as<Call>();
        found = found || e.as<Select>() || (call && call->op == "if_then_else");
      });
  return found;
}

}  // namespace loopsmith::tune::rules
