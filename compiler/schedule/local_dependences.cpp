// Dependences between the blocks below a loop that stay within one of its iterations: `require_local_dependences` of requirements.h.
#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/facts/predicates.h"
#include "schedule/facts/regions.h"
#include "schedule/facts/writes.h"
#include "schedule/func_tree.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "support/codes.h"

#include <algorithm>
#include <set>


namespace loopsmith::schedule {

namespace {
// The region that an access touches in one iteration of a loop: the loops below it run, the loops around it stay at one value.
auto touched_in_iteration(const FuncState& func, const Place& block, const Place& loop, const BufferRegion& region) -> std::vector<arith::IntSet> {
  arith::DomMap domains;
  for (const Place* at = func.parent(block); at && at != &loop && at->is_loop(); at = func.parent(*at)) {
    domains.emplace(at->loop->var.get(), arith::IntSet::from_range(Range{at->loop->min, at->loop->extent}));
  }
  // The predicate cuts off the values of an iter var beyond its domain.
  if (!is_one(block.realize->predicate) && keeps_domains(func, block)) {
    arith::Analyzer analyzer;
    for (const Place* at = &loop; at; at = func.parent(*at)) {
      if (at->is_loop()) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
    }
    arith::DomMap iters;
    bool is_cut = false;
    for (size_t i = 0; i < block.realize->iter_values.size(); ++i) {
      const IterVar& iter = block.block()->iter_vars[i];
      arith::IntSet set = arith::eval_set(block.realize->iter_values[i], domains);
      Expr last = add(iter.dom.min, sub(iter.dom.extent, one(iter.dom.extent.dtype())));
      if (set.has_lower_bound() && set.has_upper_bound() && analyzer.can_prove(less(last, set.max()))) {
        set = arith::IntSet::interval(set.min(), last);
        is_cut = true;
      }
      iters.emplace(iter.var.get(), std::move(set));
    }
    if (is_cut) { return arith::eval_set(region.region, iters); }
  }
  return arith::eval_set(substitute_region(region, bindings_of(*block.realize)).region, domains);
}
// True where the elements of a buffer that one block writes and another reads in an iteration of the loop belong to it: no other iteration
// touches them.
auto own_elements_in_iteration(const FuncState& func, const Place& src, const Place& dst, const Place& loop, const BufferNode* buffer) -> bool {
  arith::Analyzer analyzer;
  for (const Place* at = &loop; at; at = func.parent(*at)) {
    if (at->is_loop()) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
  }
  const Var& var = loop.loop->var;
  VarMap next{{var.get(), Expr(var) + one(var->dtype)}};
  for (const BufferRegion& write : src.block()->writes) {
    for (const BufferRegion& read : dst.block()->reads) {
      if (write.buffer.get() != buffer || read.buffer.get() != buffer) { continue; }
      auto a = touched_in_iteration(func, src, loop, write);
      auto b = touched_in_iteration(func, dst, loop, read);
      bool is_own = false;
      for (size_t i = 0; i < a.size() && i < b.size() && !is_own; ++i) {
        if (!a[i].has_lower_bound() || !a[i].has_upper_bound() || !b[i].has_lower_bound() || !b[i].has_upper_bound()) { continue; }
        Expr low = min(a[i].min(), b[i].min()), high = max(a[i].max(), b[i].max());
        is_own = analyzer.can_prove(less(high, substitute(low, next)));
      }
      if (!is_own) { return false; }
    }
  }
  return true;
}
// True where a condition bounds an iter var that alone is an index of the buffer: no block writes the elements outside of the bound, in any
// iteration.
auto is_about_elements(const Place& writer, const BufferNode* buffer, const Expr& condition) -> bool {
  auto variables = [](const Expr& e) {
    std::set<const VarNode*> out;
    post_order(e, [&](const Expr& part) { if (const auto* v = part.as<VarNode>()) { out.insert(v); } });
    return out;
  };
  const auto asked = variables(condition);
  const auto& iters = writer.block()->iter_vars;
  for (size_t i = 0; i < iters.size(); ++i) {
    if (variables(writer.realize->iter_values[i]) != asked) { continue; }
    for (const BufferRegion& write : writer.block()->writes) {
      if (write.buffer.get() != buffer) { continue; }
      if (std::any_of(write.region.begin(), write.region.end(), [&](const Range& r) { return is_one(r.extent) && variables(r.min) == std::set<const VarNode*>{iters[i].var.get()}; })) { return true; }
    }
  }
  return false;
}
}  // namespace

auto require_local_dependences(const Context& cx, const FuncState& func, const Place& loop, bool leaves_threads) -> Status {
  const Place* scope = func.scope(loop);
  if (!scope) { return ok(); }
  auto depends = [&](const Dependence& d, const Place& src, const Place& dst) {
    return at_block(cx.error(Code::IterationsDepend).arg("loop", loop.name().view())
                        .arg("producer", (d.kind == DependenceKind::Raw ? src : dst).name().view())
                        .arg("consumer", (d.kind == DependenceKind::Raw ? dst : src).name().view()), dst).at_node(loop.id);
  };
  // True where another block has written the whole region that is read, in the same iteration (constant padding, say).
  auto is_made_by_another = [&](const Dependence& d, const Place& reader) {
    for (const Dependence& other : func.scope_info(*scope).of_dst(reader.id)) {
      if (other.kind != DependenceKind::Raw || other.src == d.src || other.buffer != d.buffer) { continue; }
      const Place& writer = *func.find(other.src);
      if (!func.is_below(writer, loop)) { continue; }
      for (const BufferRegion& read : reader.block()->reads) {
        if (read.buffer.get() != d.buffer) { continue; }
        std::vector<Range> ranges;
        for (const arith::IntSet& set : touched_in_iteration(func, reader, loop, read)) {
          if (!set.has_lower_bound() || !set.has_upper_bound()) { return false; }
          ranges.push_back({set.min(), sub(add(set.max(), one(set.max().dtype())), set.min())});
        }
        const BufferRegion* write = region_of(writer.block()->writes, read.buffer);
        if (write && certainly_writes(func, writer, *write, &loop, {read.buffer, Array<Range>(std::move(ranges)), {}})) { return true; }
      }
    }
    return false;
  };
  std::vector<Dependence> below;
  for (const Place* block : func.child_blocks(loop)) {
    for (const Dependence& d : func.scope_info(*scope).of_dst(block->id)) { below.push_back(d); }
  }
  for (const Dependence& d : below) {
    const Place& src = *func.find(d.src);
    const Place& dst = *func.find(d.dst);
    if (!func.is_below(src, loop) || d.kind == DependenceKind::Waw) { continue; }
    // Elements that threads fill together are there for each thread, as long as threads run the iterations.
    bool is_covered = func.region_cover(dst) && !(leaves_threads && loop.loop->thread);
    bool is_local = d.kind == DependenceKind::Raw && !d.is_hidden && is_covered;
    // A write that some iterations leave out.
    bool is_partial = d.kind == DependenceKind::Raw && !keeps_domains(func, src) && !arith::deep_equal(src.realize->predicate, dst.realize->predicate);
    if (is_partial && !d.is_hidden && !own_elements_in_iteration(func, src, dst, loop, d.buffer)) { return depends(d, src, dst); }
    if (!is_local && !d.is_hidden) {
      // Both touch the same elements in an iteration.
      arith::Analyzer analyzer;
      for (const Place* at = &loop; at; at = func.parent(*at)) {
        if (at->is_loop()) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
      }
      is_local = true;
      for (const BufferRegion& read : d.kind == DependenceKind::Raw ? dst.block()->reads : src.block()->reads) {
        if (read.buffer.get() != d.buffer) { continue; }
        for (const BufferRegion& write : d.kind == DependenceKind::Raw ? src.block()->writes : dst.block()->writes) {
          if (write.buffer.get() != d.buffer) { continue; }
          auto a = touched_in_iteration(func, d.kind == DependenceKind::Raw ? dst : src, loop, read);
          auto b = touched_in_iteration(func, d.kind == DependenceKind::Raw ? src : dst, loop, write);
          for (size_t i = 0; is_local && i < a.size() && i < b.size(); ++i) {
            is_local = a[i].has_lower_bound() && a[i].has_upper_bound() && b[i].has_lower_bound() && b[i].has_upper_bound() &&
                       analyzer.can_prove_equal(a[i].min(), b[i].min()) && analyzer.can_prove_equal(a[i].max(), b[i].max());
          }
          if (!is_local) {
            is_local = d.kind == DependenceKind::Raw && own_elements_in_iteration(func, src, dst, loop, d.buffer);
            continue;
          }
          // No other iteration may read elements that are overwritten after they were read.
          if (d.kind == DependenceKind::War) {
            is_local = own_elements_in_iteration(func, dst, src, loop, d.buffer);
            continue;
          }
          // Boxes are bounds. Accesses that wrap around (a fused layout) need not fill them, and a box that is the same in each iteration may be larger
          // than the region that one iteration writes.
          bool is_rough = std::none_of(a.begin(), a.end(), [&](const arith::IntSet& set) { return uses_var(set.min(), [&](const VarNode& v) { return &v == loop.loop->var.get(); }); });
          VarMap bindings = bindings_of(*src.realize);
          for (const Range& range : write.region) {
            post_order(substitute(range.min, bindings), [&](const Expr& e) { is_rough = is_rough || e.as<FloorMod>() || e.as<FloorDiv>(); });
          }
          // So may a box with holes that other iterations fill: rows some steps apart.
          if (!is_rough && !stays_apart(func, loop, b)) {
            arith::Analyzer plain;
            BufferRegion written = substitute_region(write, bindings);
            is_rough = !arith::estimate_region_strict_bound(written.region, loop_domains(func, src, &loop), bool_imm(true), plain);
          }
          if (!is_rough) { continue; }
          std::vector<Range> ranges;
          for (const arith::IntSet& set : a) { ranges.push_back({set.min(), analyzer.simplify(sub(add(set.max(), one(set.max().dtype())), set.min()))}); }
          is_local = certainly_writes(func, src, write, &loop, {read.buffer, Array<Range>(std::move(ranges)), {}});
        }
      }
    }
    // Where a condition on the loop keeps the writer from running, it must keep the reader from running too.
    if (is_local) {
      arith::Analyzer analyzer;
      for (const Place* at = &loop; at; at = func.parent(*at)) {
        if (at->is_loop()) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
      }
      const Place& writer = d.kind == DependenceKind::Raw ? src : dst;
      const Place& reader = d.kind == DependenceKind::Raw ? dst : src;
      std::vector<Expr> shared = arith::split_conjunction(reader.realize->predicate);
      VarMap first, last;
      for (const Place* at = func.parent(writer); at && at != &loop; at = func.parent(*at)) {
        if (!at->is_loop()) { continue; }
        if (func.is_below(reader, *at)) {
          analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent});
          continue;
        }
        first[at->loop->var.get()] = at->loop->min;
        last[at->loop->var.get()] = add(at->loop->min, sub(at->loop->extent, one(at->loop->extent.dtype())));
      }
      for (const Expr& condition : arith::split_conjunction(writer.realize->predicate)) {
        bool is_same = std::any_of(shared.begin(), shared.end(), [&](const Expr& e) { return arith::deep_equal(e, condition); });
        is_local = is_local && (is_same || is_about_elements(writer, d.buffer, condition) || analyzer.can_prove(substitute(condition, first)) || analyzer.can_prove(substitute(condition, last)));
      }
    }
    if (is_local || (d.kind == DependenceKind::Raw && !d.is_hidden && (own_elements_in_iteration(func, src, dst, loop, d.buffer) || is_made_by_another(d, dst)))) { continue; }
    return depends(d, src, dst);
  }
  return ok();
}

}  // namespace loopsmith::schedule
