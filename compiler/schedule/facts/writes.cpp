// The elements that a block certainly writes: see writes.h.
#include "schedule/facts/writes.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "schedule/facts/instances.h"
#include "schedule/facts/own_writes.h"
#include "schedule/facts/predicates.h"
#include "schedule/facts/regions.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

namespace {

// True if a store to the buffer is under a condition, or under loops whose bounds vary: the block may then write less than it declares.
auto stores_under_conditions(const Stmt& stmt, const Buffer& buffer, bool is_conditional) -> bool {
  if (const auto* n = stmt.as<BufferStore>()) { return is_conditional && n->buffer == buffer; }
  if (const auto* n = stmt.as<For>()) { return stores_under_conditions(n->body, buffer, is_conditional || !as_int(n->min) || !as_int(n->extent)); }
  if (const auto* n = stmt.as<IfThenElse>()) {
    return stores_under_conditions(n->then_case, buffer, true) || (n->else_case && stores_under_conditions(n->else_case, buffer, true));
  }
  // A predicate that holds for the whole domain leaves no instance out.
  if (const auto* n = stmt.as<BlockRealize>(); n && !is_conditional && !is_one(n->predicate)) { is_conditional = !is_bound_of_domains(*n); }
  bool found = false;
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& s) { found = found || stores_under_conditions(s, buffer, is_conditional); });
  return found;
}

// True if a condition in the statement may skip a store to the buffer, because the other branch does not store the same element.
auto stores_in_one_branch(const Stmt& stmt, const Buffer& buffer) -> bool {
  auto stores_in = [&](const Stmt& branch) {
    std::vector<const BufferStore*> out;
    if (branch) { post_order(branch, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>(); store && store->buffer == buffer) { out.push_back(store); } }, [](const Expr&) {}); }
    return out;
  };
  if (const auto* n = stmt.as<IfThenElse>()) {
    auto first = stores_in(n->then_case), second = stores_in(n->else_case);
    if (first.empty() && second.empty()) { return false; }
    const auto* yes = n->then_case.as<BufferStore>();
    const auto* no = n->else_case.as<BufferStore>();
    return !yes || !no || first.size() != 1 || second.size() != 1 ||
           !std::equal(yes->indices.begin(), yes->indices.end(), no->indices.begin(), no->indices.end(), [](const Expr& a, const Expr& b) { return arith::deep_equal(a, b); });
  }
  bool found = false;
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& s) { found = found || stores_in_one_branch(s, buffer); });
  return found;
}

// True if a jump or a `while` loop may skip stores.
auto has_jumps(const Stmt& body) -> bool {
  bool found = false;
  post_order(body, [&](const Stmt& s) { found = found || s.as<While>() || s.as<Break>() || s.as<Continue>() || is_return(s); }, [](const Expr&) {});
  return found;
}

// The most elements of a buffer that a statement may store, computed from the loops in it; none if other code may store elements, or without limit.
auto most_stored(const Stmt& stmt, const Buffer& buffer) -> std::optional<int64_t> {
  if (const auto* n = stmt.as<BufferStore>()) { return n->buffer == buffer ? n->value.dtype().lanes : 0; }
  if (const auto* n = stmt.as<Block>(); n && !n->match_buffers.empty()) { return {}; }
  bool is_known = !stmt.as<While>();
  int64_t sum = 0;
  auto add_expr = [&](const Expr& e) {
    post_order(e, [&](const Expr& part) {
      const auto* var = part.as<VarNode>();
      is_known = is_known && !(var && buffer->data.get() == var);
    });
  };
  visit_children(stmt, add_expr, [&](const Stmt& s) {
    auto inside = is_known ? most_stored(s, buffer) : std::nullopt;
    is_known = inside && !__builtin_add_overflow(sum, *inside, &sum);
  });
  const auto* loop = stmt.as<For>();
  if (!is_known || !loop || sum == 0) { return is_known ? std::optional<int64_t>(sum) : std::nullopt; }
  auto extent = as_int(loop->extent);
  if (!extent || __builtin_mul_overflow(sum, std::max<int64_t>(*extent, 0), &sum)) { return {}; }
  return sum;
}
auto size_of(const BufferRegion& region) -> std::optional<int64_t> {
  int64_t size = 1;
  for (const Range& range : region.region) {
    auto extent = as_int(range.extent);
    if (!extent || __builtin_mul_overflow(size, *extent, &size)) { return {}; }
  }
  return size;
}
auto nothing_of(const BufferRegion& region) -> BufferRegion {
  std::vector<Range> ranges;
  for (const Range& range : region.region) { ranges.push_back({range.min, zero(range.extent.dtype())}); }
  return {region.buffer, Array<Range>(std::move(ranges)), region.origin};
}

// True if each instance certainly stores every element of a region.
auto stores_all_of(const Block& block, const BufferRegion& region) -> bool {
  arith::Analyzer analyzer;
  for (const IterVar& iter : block.iter_vars) { analyzer.bind(iter.var, iter.dom); }
  auto end = [](const Range& r) { return add(r.min, cast(r.min.dtype(), r.extent)); };
  for (const BufferRegion& stored : certain_stores(block, region.buffer)) {
    bool holds = stored.region.size() == region.region.size();
    for (size_t d = 0; holds && d < region.region.size(); ++d) {
      holds = analyzer.can_prove(less_equal(stored.region[d].min, region.region[d].min)) && analyzer.can_prove(less_equal(end(region.region[d]), end(stored.region[d])));
    }
    if (holds) { return true; }
  }
  return false;
}

}  // namespace

auto certain_write(const Block& block, const BufferRegion& declared) -> BufferRegion {
  if (has_jumps(block.body)) { return nothing_of(declared); }
  bool is_point = std::all_of(declared.region.begin(), declared.region.end(), [](const Range& r) { return is_one(r.extent); });
  if (is_point) { return declared; }
  auto of_store = [&](const Stmt& s) -> std::optional<BufferRegion> {
    const auto* store = s.as<BufferStore>();
    if (!store || !(store->buffer == declared.buffer) || store->value.dtype().lanes > 1) { return {}; }
    std::vector<Range> ranges;
    for (const Expr& index : store->indices) { ranges.push_back({index, one(index.dtype())}); }
    return BufferRegion{declared.buffer, Array<Range>(std::move(ranges)), declared.origin};
  };
  if (auto found = of_store(block.body)) { return *found; }
  if (stores_all_of(block, declared)) { return declared; }
  if (const auto* all = block.body.as<SeqStmt>()) {
    for (const Stmt& s : all->seq) {
      if (auto found = of_store(s)) { return *found; }
    }
  }
  // With fewer stores than elements there are gaps.
  auto size = size_of(declared);
  auto stored = size && block.match_buffers.empty() ? most_stored(block.body, declared.buffer) : std::nullopt;
  if (stored && *stored < *size) { return nothing_of(declared); }
  // If a single statement stores to the buffer, and it is a block: the region that the loops around this block write together.
  Domains loops;
  Stmt body = block.body;
  auto stores = [&](const Stmt& stmt) {
    bool found = false;
    post_order(stmt, [&](const Stmt& s) {
      const auto* store = s.as<BufferStore>();
      found = found || (store && store->buffer == declared.buffer);
    }, [](const Expr&) {});
    return found;
  };
  while (true) {
    if (const auto* loop = body.as<For>()) {
      loops.emplace_back(loop->var, Range{loop->min, loop->extent});
      body = loop->body;
    } else if (const auto* all = body.as<SeqStmt>()) {
      const Stmt* only = nullptr;
      for (const Stmt& s : all->seq) {
        if (!stores(s)) { continue; }
        if (only) { return declared; }
        only = &s;
      }
      if (!only) { return declared; }
      body = Stmt(*only);
    } else {
      break;
    }
  }
  const auto* inner = body.as<BlockRealize>();
  const BufferRegion* inner_write = inner ? region_of(inner->block->writes, declared.buffer) : nullptr;
  if (!inner_write) { return declared; }
  BufferRegion within = certain_write(*inner->block, *inner_write);
  VarMap bindings = bindings_of(*inner);
  std::vector<Range> ranges;
  for (const Range& range : within.region) { ranges.push_back(substitute(range, bindings)); }
  arith::Analyzer analyzer;
  auto bound = arith::estimate_region_lower_bound(Array<Range>(std::move(ranges)), loops, inner->predicate, analyzer);
  std::vector<Range> found;
  for (size_t i = 0; i < declared.region.size(); ++i) {
    if (!bound || !(*bound)[i].has_lower_bound() || !(*bound)[i].has_upper_bound()) { return nothing_of(declared); }
    found.push_back((*bound)[i].cover_range(declared.region[i]));
  }
  return {declared.buffer, Array<Range>(std::move(found)), declared.origin};
}

auto certainly_writes(const FuncTree& func, const Place& block, const BufferRegion& write, const Place* above, const BufferRegion& region, const VarMap& once,
                      const Place* made_in) -> bool {
  for (const Place* at = &block; at && at != above; at = func.parent(*at)) {
    if (!always_runs(func, *at)) { return false; }
    if (!above && at->is_block() && at != &block) { break; }
  }
  if (auto counted = counted_writes(func, block, region, above, once)) { return *counted; }
  arith::Analyzer analyzer;
  bind_loops(func, func.parent(block), analyzer);
  // A block that holds other blocks or loops may write less than it declares: a triangle fills no rectangle.
  const bool is_leaf = block.end == block.index + 1;
  if (is_leaf ? stores_in_one_branch(block.block()->body, write.buffer) : stores_under_conditions(block.block()->body, write.buffer, false)) { return false; }
  BufferRegion here = substitute_region(certain_write(*block.block(), write), bindings_of(*block.realize));
  // If each instance writes the region itself, no estimate is needed.
  bool is_fixed = is_one(block.realize->predicate);
  for (size_t i = 0; is_fixed && i < here.region.size(); ++i) {
    is_fixed = arith::deep_equal(here.region[i].min, region.region[i].min) && arith::deep_equal(here.region[i].extent, region.region[i].extent);
  }
  if (is_fixed) { return true; }
  auto domains = domains_sharing_memory(func, block, above, write.buffer->scope());
  // One thread runs virtual threads in turn. Each virtual thread has its own copy of allocations below it, in any memory.
  for (const Place* at = above; at; at = func.parent(*at)) {
    if (!at->is_loop() || !at->loop->thread || !is_virtual_axis(at->loop->thread->thread_tag.view())) { continue; }
    std::erase_if(domains, [&](const auto& domain) { return domain.first == at->loop->var; });
  }
  for (const Place* at = made_in; at; at = func.parent(*at)) {
    if (at->is_loop()) { std::erase_if(domains, [&](const auto& domain) { return domain.first == at->loop->var; }); }
  }
  if (is_one(block.realize->predicate) && covers_plainly(here.region, domains, region.region, {})) { return true; }
  // A condition on values that are fixed here decides about all instances at once.
  const Expr predicate = analyzer.simplify(block.realize->predicate);
  bool is_cut = false;                        // the domains of iter vars limit the written elements
  for (const Expr& condition : arith::split_conjunction(predicate)) {
    bool is_about_instances = uses_var(condition, [&](const VarNode& v) {
      return std::any_of(domains.begin(), domains.end(), [&](const auto& d) { return d.first.get() == &v; });
    });
    if (!is_about_instances && !analyzer.can_prove(substitute(condition, once))) { return false; }
    // For quotients and remainders the estimate below uses bounds of iter vars only.
    bool is_rough = false;
    post_order(condition, [&](const Expr& e) { is_rough = is_rough || e.as<FloorMod>() || e.as<FloorDiv>(); });
    if (is_about_instances && is_rough && !keeps_domain(*block.realize, condition) && !analyzer.can_prove(condition)) { return false; }
    is_cut = is_cut || (is_about_instances && is_rough);
    // The estimate assumes that at least one instance runs.
    if (analyzer.can_prove(logical_not(condition))) { return false; }
    // If the condition does not depend on the written elements, it must be proved that an instance runs: the first or the last.
    auto is_in_condition = [&](const VarNode& v) { return uses_var(condition, [&](const VarNode& used) { return &used == &v; }); };
    bool tells_elements = std::any_of(here.region.begin(), here.region.end(), [&](const Range& range) { return uses_var(range.min, is_in_condition); });
    if (!is_about_instances || tells_elements) { continue; }
    VarMap first = once;
    VarMap last = once;
    for (const auto& [var, range] : domains) {
      first[var.get()] = range.min;
      last[var.get()] = analyzer.simplify(range.min + range.extent - one(range.extent.dtype()));
    }
    if (!analyzer.can_prove(substitute(condition, first)) && !analyzer.can_prove(substitute(condition, last))) { return false; }
  }
  auto bound = arith::estimate_region_lower_bound(here.region, domains, predicate, analyzer);
  if (!bound) { return false; }
  if (is_cut) {
    // The estimate ignores such a condition. Limits the estimate to the elements within the domains of iter vars.
    arith::DomMap iters;
    for (const IterVar& iter : block.block()->iter_vars) {
      for (const auto& [var, range] : domains) {
        auto is_this = [&](const VarNode& v) { return &v == var.get(); };
        if (uses_var(iter.dom.min, is_this) || uses_var(iter.dom.extent, is_this)) { return false; }
      }
      iters.emplace(iter.var.get(), arith::IntSet::from_range(iter.dom));
    }
    const std::vector<arith::IntSet> most = arith::eval_set(write.region, iters);
    for (size_t i = 0; i < bound->size() && i < most.size(); ++i) { (*bound)[i] = arith::intersect({(*bound)[i], most[i]}, analyzer); }
  }
  std::vector<arith::IntSet> wanted;
  for (const Range& range : region.region) { wanted.push_back(arith::IntSet::from_range(range)); }
  return covers_region(write.buffer->shape, {*bound}, wanted, analyzer);
}

}  // namespace loopsmith::schedule
