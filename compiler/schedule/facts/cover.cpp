// Reads that earlier writes of the same scope cover: see cover.h. The definition follows TensorIR and TVM 0.19.
#include "schedule/facts/cover.h"

#include <algorithm>
#include <optional>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "schedule/facts/regions.h"
#include "schedule/facts/writes.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

// True where a block reads only elements that its producers in the scope wrote before.
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
  // Binds the loops around all of them, once a proof is needed.
  std::optional<arith::Analyzer> made;
  auto analyzer = [&]() -> arith::Analyzer& {
    if (made) { return *made; }
    made.emplace();
    bind_loops(func, &consumer, *made);
    for (const Place* producer : producers) { bind_loops(func, producer, *made); }
    return *made;
  };
  std::vector<BufferRegion> reads = bound_regions(consumer, false);
  // For each loop around the consumer, the producers whose lowest common loop with it this is.
  for (const Place* lca = func.parent(consumer); lca; lca = func.parent(*lca)) {
    std::vector<const Place*> here;
    for (const Place* producer : producers) {
      const Place* common = func.parent(*producer);
      while (common && !func.is_below(consumer, *common)) { common = func.parent(*common); }
      if (common == lca && std::find(here.begin(), here.end(), producer) == here.end()) { here.push_back(producer); }
    }
    if (!here.empty()) {
      if (here.size() == 1 && is_one(here[0]->realize->predicate)) {
        // The usual case: one block produces just the region that is read, index by index.
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
      std::vector<std::pair<const BufferNode*, std::vector<std::vector<arith::IntSet>>>> produced;
      for (const BufferRegion& read : reads) { produced.emplace_back(read.buffer.get(), std::vector<std::vector<arith::IntSet>>()); }
      for (const Place* producer : here) {
        for (const BufferRegion& write : bound_regions(*producer, true)) {
          auto wanted = std::find_if(produced.begin(), produced.end(), [&](const auto& p) { return p.first == write.buffer.get(); });
          if (wanted == produced.end()) { continue; }
          auto bound = arith::estimate_region_lower_bound(write.region, domains_sharing_memory(func, *producer, lca, write.buffer->scope()),
                                                          producer->realize->predicate, analyzer());
          wanted->second.push_back(bound ? *bound : std::vector<arith::IntSet>(write.buffer->shape.size(), arith::IntSet::nothing()));
        }
      }
      for (const BufferRegion& read : reads) {
        auto of_read = std::find_if(produced.begin(), produced.end(), [&](const auto& p) { return p.first == read.buffer.get(); });
        if (of_read->second.empty()) { continue; }
        auto consumed = arith::estimate_region_upper_bound(read.region, domains_sharing_memory(func, consumer, lca, read.buffer->scope()),
                                                           consumer.realize->predicate, analyzer());
        if (!covers_region(read.buffer->shape, of_read->second, consumed, analyzer())) { return false; }
      }
    }
    if (lca == &scope) { break; }
  }
  return true;
}

// An uncovered block that did not change is still uncovered, if it is still in the scope.
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
