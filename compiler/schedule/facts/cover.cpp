// Reads of elements that earlier writes of the same scope cover: see cover.h. The definition follows TensorIR and TVM 0.19.
#include "schedule/facts/cover.h"

#include <algorithm>
#include <optional>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/facts/regions.h"
#include "schedule/facts/writes.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

// The part of a region that is certainly accessed. If a loop does not choose the element, one of its iterations may stand for all: that iteration
// runs the instance if the predicate holds there. `Every` uses all iterations together; `First` and `Last` fix such loops at their first or last iteration.
enum class Iterations : uint8_t { Every, First, Last };
static auto certain_part(const Array<Range>& region, const Domains& domains, const Expr& predicate, Iterations which, arith::Analyzer& analyzer)
    -> std::optional<std::vector<arith::IntSet>> {
  if (which == Iterations::Every) { return arith::estimate_region_lower_bound(region, domains, predicate, analyzer); }
  VarMap at;
  Domains rest;
  for (const auto& [var, range] : domains) {
    auto is_this = [&](const VarNode& v) { return &v == var.get(); };
    bool chooses = std::any_of(region.begin(), region.end(), [&](const Range& r) { return uses_var(r.min, is_this) || uses_var(r.extent, is_this); });
    Range here = substitute(range, at);
    if (chooses || as_int(here.extent).value_or(0) < 1) { rest.emplace_back(var, std::move(here)); continue; }
    at[var.get()] = which == Iterations::First ? here.min : analyzer.simplify(here.min + here.extent - one(here.extent.dtype()));
  }
  Expr holds = analyzer.simplify(substitute(predicate, at));
  auto is_from_outside = [&](const VarNode& v) { return std::none_of(rest.begin(), rest.end(), [&](const auto& d) { return d.first.get() == &v; }); };
  if (at.empty() || is_zero(holds) || uses_var(holds, is_from_outside)) { return {}; }
  return arith::estimate_region_lower_bound(region, rest, holds, analyzer);
}

namespace {

/// The question whether blocks write all elements that a reader of the same scope reads.
struct Question {
  const FuncTree& func;
  const Place& consumer;
  std::vector<const Place*> producers;   // all of them, for the bounds of loops
  std::vector<BufferRegion> reads;       // in terms of loops; made once a proof is needed
  std::optional<arith::Analyzer> made;

  /// Binds the loops around all blocks, only once a proof is needed.
  auto analyzer() -> arith::Analyzer& {
    if (made) { return *made; }
    made.emplace();
    bind_loops(func, &consumer, *made);
    for (const Place* producer : producers) { bind_loops(func, producer, *made); }
    return *made;
  }
};

auto bound_regions(const Place& place, bool writes) -> std::vector<BufferRegion> {
  VarMap map = bindings_of(*place.realize);
  std::vector<BufferRegion> regions;
  for (const BufferRegion& region : writes ? place.block()->writes : place.block()->reads) {
    regions.push_back(substitute_region(writes ? certain_write(*place.block(), region) : region, map));
  }
  return regions;
}

/// The usual case: one block produces exactly the region that is read, index by index.
auto is_covered_plainly(const Question& q, const Place* lca, const Place& producer) -> bool {
  if (!is_one(producer.realize->predicate)) { return false; }
  std::vector<BufferRegion> writes = bound_regions(producer, true);
  for (const BufferRegion& read : q.reads) {
    for (const BufferRegion& write : writes) {
      if (!(write.buffer == read.buffer)) { continue; }
      const bool is_plain = covers_plainly(write.region, domains_sharing_memory(q.func, producer, lca, write.buffer->scope()),
                                           read.region, domains_sharing_memory(q.func, q.consumer, lca, read.buffer->scope()));
      if (!is_plain) { return false; }
    }
  }
  return true;
}

/// The proof for the producers `here`, whose lowest common loop with the consumer is `lca`.
auto prove_covered(Question& q, const Place* lca, const std::vector<const Place*>& here) -> bool {
  auto produced = [&](const Buffer& buffer, Iterations which) {
    std::vector<std::vector<arith::IntSet>> out;
    for (const Place* producer : here) {
      for (const BufferRegion& write : bound_regions(*producer, true)) {
        if (!(write.buffer == buffer)) { continue; }
        auto bound = certain_part(write.region, domains_sharing_memory(q.func, *producer, lca, buffer->scope()), producer->realize->predicate,
                                  is_one(producer->realize->predicate) ? Iterations::Every : which, q.analyzer());
        out.push_back(bound ? *bound : std::vector<arith::IntSet>(buffer->shape.size(), arith::IntSet::nothing()));
      }
    }
    return out;
  };
  bool has_predicate = std::any_of(here.begin(), here.end(), [](const Place* producer) { return !is_one(producer->realize->predicate); });
  for (const BufferRegion& read : q.reads) {
    auto made = produced(read.buffer, Iterations::Every);
    if (made.empty()) { continue; }
    auto consumed = arith::estimate_region_upper_bound(read.region, domains_sharing_memory(q.func, q.consumer, lca, read.buffer->scope()),
                                                       q.consumer.realize->predicate, q.analyzer());
    auto covers = [&](const std::vector<std::vector<arith::IntSet>>& regions) { return covers_region(read.buffer->shape, regions, consumed, q.analyzer()); };
    bool is_covered = covers(made) || (has_predicate && (covers(produced(read.buffer, Iterations::First)) || covers(produced(read.buffer, Iterations::Last))));
    if (!is_covered) { return false; }
  }
  return true;
}

/// Adds the loops and blocks around a block. Loops and blocks around both sides count too: threads share memory, and values of the blocks are in the regions.
void add_path(KnownCovers::Key& key, const FuncTree& func, const Place& block, const Place* lca) {
  key.add(*block.realize);
  for (const Place* at = func.parent(block); at; at = func.parent(*at)) {
    if (at == lca) { key.end_part(); }
    if (at->is_loop()) { key.add(*at->loop); } else { key.add_around(*at->realize); }
  }
  key.end_part();
}

auto key_of(const Question& q, const Place* lca, const std::vector<const Place*>& here) -> KnownCovers::Key {
  KnownCovers::Key key;
  add_path(key, q.func, q.consumer, lca);
  for (const Place* producer : here) { add_path(key, q.func, *producer, lca); }
  return key;
}

// A key costs more than a plain answer, so most programs make none.
auto is_covered_below(Question& q, const Place* lca, const std::vector<const Place*>& here, KnownCovers* known) -> bool {
  if (known && known->size() > 0) {
    if (const bool* found = known->find(key_of(q, lca, here))) { return *found; }
  }
  if (q.reads.empty()) { q.reads = bound_regions(q.consumer, false); }
  if (here.size() == 1 && is_covered_plainly(q, lca, *here[0])) { return true; }
  const bool is_covered = prove_covered(q, lca, here);
  if (known) { known->keep(key_of(q, lca, here), is_covered); }
  return is_covered;
}

/// True if a block reads only elements that its producers in the scope wrote before.
auto is_covered(const FuncTree& func, const Place& scope, const Place& consumer, std::span<const Dependence> dependences, KnownCovers* known) -> bool {
  Question q{func, consumer, {}, {}, {}};
  for (const Dependence& d : dependences) {
    if (d.kind == DependenceKind::Raw) { q.producers.push_back(func.find(d.src)); }
  }
  if (q.producers.empty()) { return true; }
  // For each loop around the consumer: the producers that have this loop as their lowest common loop with the consumer.
  for (const Place* lca = func.parent(consumer); lca; lca = func.parent(*lca)) {
    std::vector<const Place*> here;
    for (const Place* producer : q.producers) {
      const Place* common = func.parent(*producer);
      while (common && !func.is_below(consumer, *common)) { common = func.parent(*common); }
      if (common == lca && std::find(here.begin(), here.end(), producer) == here.end()) { here.push_back(producer); }
    }
    if (!here.empty() && !is_covered_below(q, lca, here, known)) { return false; }
    if (lca == &scope) { break; }
  }
  return true;
}

}  // namespace

void KnownCovers::Key::add(const For& loop) {
  // The kind of a loop counts only where it binds a thread: which threads share a memory depends on the axis.
  for (const Expr& e : {Expr(loop.var), loop.min, loop.extent}) {
    pointers_.push_back(e.get());
    exprs_.push_back(e);
  }
  pointers_.push_back(loop.thread ? loop.thread->thread_tag.view().data() : nullptr);
}

void KnownCovers::Key::add_around(const BlockRealize& realize) {
  pointers_.insert(pointers_.end(), {realize.iter_values.begin(), realize.predicate.get(), realize.block->iter_vars.begin()});
  lists_.push_back(realize.iter_values);
  exprs_.push_back(realize.predicate);
  iter_vars_.push_back(realize.block->iter_vars);
}

void KnownCovers::Key::add(const BlockRealize& realize) {
  pointers_.insert(pointers_.end(), {realize.iter_values.begin(), realize.predicate.get(), realize.block.get()});
  lists_.push_back(realize.iter_values);
  exprs_.push_back(realize.predicate);
  blocks_.push_back(realize.block);
}

auto KnownCovers::find(const Key& key) const -> const bool* {
  auto found = entries_.find(key.pointers_);
  return found == entries_.end() ? nullptr : &found->second.is_covered;
}

void KnownCovers::keep(Key key, bool is_covered) {
  std::vector<const void*> pointers = key.pointers_;
  entries_.emplace(std::move(pointers), Entry{std::move(key), is_covered});
}

// A block that is not covered and did not change is still not covered, if it is still in the scope.
auto compute_cover(const FuncTree& func, const Place& scope, const Scope& dependences, const std::vector<NodeId>& changed, const Cover& before,
                   KnownCovers* known) -> Cover {
  Cover out;
  for (NodeId id : before.uncovered) {
    const Place* place = func.find(id);
    if (place && place->scope == scope.index && std::find(changed.begin(), changed.end(), id) == changed.end()) { out.uncovered.push_back(id); }
  }
  for (NodeId id : changed) {
    if (!is_covered(func, scope, *func.find(id), dependences.of_dst(id), known)) { out.uncovered.push_back(id); }
  }
  if (!before.uncovered.empty()) {
    std::sort(out.uncovered.begin(), out.uncovered.end(), [&](NodeId a, NodeId b) { return func.places().index_of(a) < func.places().index_of(b); });
  }
  out.stage_pipeline = !dependences.overwrites() && out.uncovered.empty();
  return out;
}

namespace {

auto blocks_of(const FuncTree& func, const Place& scope) -> std::vector<NodeId> {
  std::vector<NodeId> all;
  for (const BlockRealize* realize : func.places().blocks_below(scope)) { all.push_back(realize->block->id); }
  return all;
}

}  // namespace

auto compute_cover(const FuncTree& func, const Place& scope, const Scope& dependences) -> Cover {
  return compute_cover(func, scope, dependences, blocks_of(func, scope), {}, nullptr);
}
auto compute_cover(const FuncTree& func, const Place& scope, const Scope& dependences, KnownCovers& known) -> Cover {
  return compute_cover(func, scope, dependences, blocks_of(func, scope), {}, &known);
}

}  // namespace loopsmith::schedule
