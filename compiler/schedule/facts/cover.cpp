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

// True if a block reads only elements that its producers in the scope wrote before.
static auto is_covered(const FuncTree& func, const Place& scope, const Place& consumer, std::span<const Dependence> dependences) -> bool {
  std::vector<const Place*> producers;
  for (const Dependence& d : dependences) {
    if (d.kind == DependenceKind::Raw) { producers.push_back(func.find(d.src)); }
  }
  if (producers.empty()) { return true; }
  auto bound_regions = [&](const Place& place, bool writes) {
    VarMap map = bindings_of(*place.realize);
    std::vector<BufferRegion> regions;
    for (const BufferRegion& region : writes ? place.block()->writes : place.block()->reads) {
      regions.push_back(substitute_region(writes ? certain_write(*place.block(), region) : region, map));
    }
    return regions;
  };
  // Binds the loops around all blocks, only once a proof is needed.
  std::optional<arith::Analyzer> made;
  auto analyzer = [&]() -> arith::Analyzer& {
    if (made) { return *made; }
    made.emplace();
    bind_loops(func, &consumer, *made);
    for (const Place* producer : producers) { bind_loops(func, producer, *made); }
    return *made;
  };
  std::vector<BufferRegion> reads = bound_regions(consumer, false);
  // For each loop around the consumer: the producers that have this loop as their lowest common loop with the consumer.
  for (const Place* lca = func.parent(consumer); lca; lca = func.parent(*lca)) {
    std::vector<const Place*> here;
    for (const Place* producer : producers) {
      const Place* common = func.parent(*producer);
      while (common && !func.is_below(consumer, *common)) { common = func.parent(*common); }
      if (common == lca && std::find(here.begin(), here.end(), producer) == here.end()) { here.push_back(producer); }
    }
    if (!here.empty()) {
      if (here.size() == 1 && is_one(here[0]->realize->predicate)) {
        // The usual case: one block produces exactly the region that is read, index by index.
        bool is_plain = true;
        std::vector<BufferRegion> writes = bound_regions(*here[0], true);
        for (const BufferRegion& read : reads) {
          for (const BufferRegion& write : writes) {
            is_plain = is_plain && (!(write.buffer == read.buffer) ||
                                    covers_plainly(write.region, domains_sharing_memory(func, *here[0], lca, write.buffer->scope()),
                                                   read.region, domains_sharing_memory(func, consumer, lca, read.buffer->scope())));
          }
        }
        if (is_plain) {
          if (lca == &scope) { break; }
          continue;
        }
      }
      auto produced = [&](const Buffer& buffer, Iterations which) {
        std::vector<std::vector<arith::IntSet>> out;
        for (const Place* producer : here) {
          for (const BufferRegion& write : bound_regions(*producer, true)) {
            if (!(write.buffer == buffer)) { continue; }
            auto bound = certain_part(write.region, domains_sharing_memory(func, *producer, lca, buffer->scope()), producer->realize->predicate,
                                      is_one(producer->realize->predicate) ? Iterations::Every : which, analyzer());
            out.push_back(bound ? *bound : std::vector<arith::IntSet>(buffer->shape.size(), arith::IntSet::nothing()));
          }
        }
        return out;
      };
      bool has_predicate = std::any_of(here.begin(), here.end(), [](const Place* producer) { return !is_one(producer->realize->predicate); });
      for (const BufferRegion& read : reads) {
        auto made = produced(read.buffer, Iterations::Every);
        if (made.empty()) { continue; }
        auto consumed = arith::estimate_region_upper_bound(read.region, domains_sharing_memory(func, consumer, lca, read.buffer->scope()),
                                                           consumer.realize->predicate, analyzer());
        auto covers = [&](const std::vector<std::vector<arith::IntSet>>& regions) { return covers_region(read.buffer->shape, regions, consumed, analyzer()); };
        bool is_covered = covers(made) || (has_predicate && (covers(produced(read.buffer, Iterations::First)) || covers(produced(read.buffer, Iterations::Last))));
        if (!is_covered) { return false; }
      }
    }
    if (lca == &scope) { break; }
  }
  return true;
}

// A block that is not covered and did not change is still not covered, if it is still in the scope.
auto compute_cover(const FuncTree& func, const Place& scope, const Scope& dependences, const std::vector<NodeId>& changed, const Cover& before) -> Cover {
  Cover out;
  for (NodeId id : before.uncovered) {
    const Place* place = func.find(id);
    if (place && place->scope == scope.index && std::find(changed.begin(), changed.end(), id) == changed.end()) { out.uncovered.push_back(id); }
  }
  for (NodeId id : changed) {
    if (!is_covered(func, scope, *func.find(id), dependences.of_dst(id))) { out.uncovered.push_back(id); }
  }
  if (!before.uncovered.empty()) {
    std::sort(out.uncovered.begin(), out.uncovered.end(), [&](NodeId a, NodeId b) { return func.places().index_of(a) < func.places().index_of(b); });
  }
  out.stage_pipeline = !dependences.overwrites() && out.uncovered.empty();
  return out;
}

auto compute_cover(const FuncTree& func, const Place& scope, const Scope& dependences) -> Cover {
  std::vector<NodeId> all;
  for (const BlockRealize* realize : func.places().blocks_below(scope)) { all.push_back(realize->block->id); }
  return compute_cover(func, scope, dependences, all, {});
}

}  // namespace loopsmith::schedule
