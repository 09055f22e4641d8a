// Iterations beyond the old end of a loop: see surplus.h.
#include "schedule/surplus.h"

#include <algorithm>
#include <functional>

#include "arith/analyzer.h"
#include "arith/purity.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/facts/regions.h"
#include "schedule/staging.h"
#include "schedule/threads.h"

namespace loopsmith::schedule {

namespace {

// True if a statement consists of loops and blocks only.
auto holds_blocks_only(const Stmt& stmt) -> bool {
  if (const auto* loop = stmt.as<For>()) { return !loop->thread && holds_blocks_only(loop->body); }
  const auto* all = stmt.as<SeqStmt>();
  return all ? std::all_of(all->seq.begin(), all->seq.end(), holds_blocks_only) : stmt.as<BlockRealize>() != nullptr;
}

// Replaces the loads in an expression by 0.
class WithoutLoads final : public Mutator {
 public:
  using Mutator::on;
  auto on(const BufferLoad& n) -> Expr override { return n.dtype.lanes == 1 ? zero(n.dtype) : Mutator::on(n); }
};

// True if a block stores the same values when it runs again: its body only stores values computed from loads, and loads no buffer that it stores.
auto repeats_itself(const FuncState& func, const Place& place) -> bool {
  const Block& block = *place.block();
  bool is_leaf = place.end == place.index + 1 && !block.init && block.match_buffers.empty() && block.alloc_buffers.empty() && func.hidden_reads(place).empty();
  bool is_spatial = std::all_of(block.iter_vars.begin(), block.iter_vars.end(), [](const IterVar& iter) { return iter.kind == IterKind::Spatial; });
  if (!is_leaf || !is_spatial) { return false; }
  for (const BufferRegion& write : block.writes) { if (region_of(block.reads, write.buffer)) { return false; } }
  WithoutLoads plain;
  std::function<bool(const Stmt&)> only_stores = [&](const Stmt& s) {
    if (const auto* all = s.as<SeqStmt>()) { return std::all_of(all->seq.begin(), all->seq.end(), only_stores); }
    if (const auto* let = s.as<LetStmt>()) { return arith::is_pure(plain.mutate(let->value)) && only_stores(let->body); }
    const auto* store = s.as<BufferStore>();
    return store && region_of(block.writes, store->buffer) && arith::is_pure(plain.mutate(store->value)) &&
           std::all_of(store->indices.begin(), store->indices.end(), [&](const Expr& index) { return arith::is_pure(plain.mutate(index)); });
  };
  return only_stores(block.body);
}

// True if the body of a block uses the loops of its scope only through iter vars.
auto uses_iter_vars_only(const FuncState& func, const Place& place) -> bool {
  const std::vector<const Place*> loops = func.loops(place);
  bool found = false;
  post_order(Stmt(Ref<Block>(place.block())), [](const Stmt&) {}, [&](const Expr& e) {
    found = found || std::any_of(loops.begin(), loops.end(), [&](const Place* loop) { return loop->loop->var.get() == e.get(); });
  });
  return !found;
}

// True if the iter values of a block stay within their domains although the loop runs longer, wherever the predicate of the block holds.
auto stays_in_domains(const FuncState& func, const Place& place, const Place& loop, int64_t extent) -> bool {
  arith::Analyzer analyzer;
  std::vector<const Place*> around;
  for (const Place* at = func.parent(place); at; at = func.parent(*at)) { if (at->is_loop()) { around.insert(around.begin(), at); } }
  for (const Place* at : around) {
    const For& n = *at->loop;
    analyzer.bind(n.var, Range{n.min, at == &loop ? int_imm(extent, n.extent.dtype()) : n.extent});
  }
  auto runs = analyzer.enter(place.realize->predicate);
  for (size_t i = 0; i < place.realize->iter_values.size(); ++i) {
    const Range& domain = place.block()->iter_vars[i].dom;
    const Expr& value = place.realize->iter_values[i];
    if (!analyzer.can_prove(less_equal(domain.min, value)) || !analyzer.can_prove(less(value, domain.min + domain.extent))) { return false; }
  }
  return true;
}

}  // namespace

auto surplus_changes_nothing(const FuncState& func, const Place& loop, int64_t extent) -> bool {
  const Place* scope = func.scope(loop);
  if (!scope || !holds_blocks_only(loop.loop->body)) { return false; }
  // Instances that run twice at the same time would race.
  const Place* top = &loop;
  for (const Place* at = &loop; at != scope; at = func.parent(*at)) {
    if (!at->is_loop() || runs_at_once(*at->loop) || at->loop->thread || !always_runs(func, *at)) { return false; }
    top = at;
  }
  const std::vector<const Place*> together = func.child_blocks(*top);
  for (const Place* block : func.child_blocks(loop)) {
    if (!repeats_itself(func, *block) || !uses_iter_vars_only(func, *block) || !stays_in_domains(func, *block, loop, extent)) { return false; }
    std::vector<const VarNode*> iters;
    for (const IterVar& iter : block->block()->iter_vars) { iters.push_back(iter.var.get()); }
    if (!runs_all_instances(func, *block, iters)) { return false; }
    // An instance may run earlier or later than before: so no other block of these loops may touch its output, or write its input.
    for (const Place* other : together) {
      if (other == block) { continue; }
      auto touches = [&](const Array<BufferRegion>& regions, const Buffer& buffer) { return region_of(regions, buffer) != nullptr; };
      bool is_apart = other->end == other->index + 1 && func.hidden_reads(*other).empty();
      for (const BufferRegion& write : block->block()->writes) { is_apart = is_apart && !touches(other->block()->reads, write.buffer) && !touches(other->block()->writes, write.buffer); }
      for (const BufferRegion& read : block->block()->reads) { is_apart = is_apart && !touches(other->block()->writes, read.buffer); }
      if (!is_apart) { return false; }
    }
  }
  return true;
}

}  // namespace loopsmith::schedule
