// Checks that dependences between the blocks below a loop stay within one iteration: `require_local_dependences` of requirements.h.
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
  // The predicate excludes values of an iter var beyond its domain.
  if (!is_one(block.realize->predicate) && keeps_domains(func, block)) {
    arith::Analyzer analyzer;
    bind_loops(func, &loop, analyzer);
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
// One block writes elements of a buffer and another reads them, in the same iteration of the loop. True if no other iteration touches these
// elements.
auto own_elements_in_iteration(const FuncState& func, const Place& src, const Place& dst, const Place& loop, const BufferNode* buffer) -> bool {
  arith::Analyzer analyzer;
  bind_loops(func, &loop, analyzer);
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
// True if a condition bounds an iter var that alone is an index of the buffer. Then no block writes the elements outside of the bound in any
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

// An analyzer with the ranges of the loop and of the loops around it.
auto bound_around(const FuncState& func, const Place& loop) -> arith::Analyzer {
  arith::Analyzer analyzer;
  bind_loops(func, &loop, analyzer);
  return analyzer;
}

// Two blocks below the loop that depend on each other, and the buffer of that dependence.
struct Pair {
  const FuncState& func;
  const Place& loop;
  const Dependence& dependence;
  const Place& src;
  const Place& dst;
  [[nodiscard]] auto is_raw() const -> bool { return dependence.kind == DependenceKind::Raw; }
  [[nodiscard]] auto writer() const -> const Place& { return is_raw() ? src : dst; }
  [[nodiscard]] auto reader() const -> const Place& { return is_raw() ? dst : src; }
  [[nodiscard]] auto has_own_elements() const -> bool { return own_elements_in_iteration(func, src, dst, loop, dependence.buffer); }
};

// True if the writer, in an iteration, certainly writes the whole box that the reader reads. Boxes are only bounds. The writer may fill a smaller
// part: if accesses wrap around (a fused layout), if the box is the same in each iteration but each writes a part of it, or if the box has holes
// that other iterations fill (rows some steps apart).
auto fills_box(const Pair& pair, const BufferRegion& read, const BufferRegion& write, const std::vector<arith::IntSet>& read_box, const std::vector<arith::IntSet>& written_box,
               arith::Analyzer& analyzer) -> bool {
  const For& loop = *pair.loop.loop;
  bool is_rough = std::none_of(read_box.begin(), read_box.end(), [&](const arith::IntSet& set) { return uses_var(set.min(), [&](const VarNode& v) { return &v == loop.var.get(); }); });
  VarMap bindings = bindings_of(*pair.src.realize);
  for (const Range& range : write.region) {
    post_order(substitute(range.min, bindings), [&](const Expr& e) { is_rough = is_rough || e.as<FloorMod>() || e.as<FloorDiv>(); });
  }
  if (!is_rough && !stays_apart(pair.func, pair.loop, written_box)) {
    arith::Analyzer plain;
    BufferRegion written = substitute_region(write, bindings);
    is_rough = !arith::estimate_region_strict_bound(written.region, loop_domains(pair.func, pair.src, &pair.loop), bool_imm(true), plain);
  }
  if (!is_rough) { return true; }
  std::vector<Range> ranges;
  for (const arith::IntSet& set : read_box) { ranges.push_back({set.min(), analyzer.simplify(sub(add(set.max(), one(set.max().dtype())), set.min()))}); }
  return certainly_writes(pair.func, pair.src, write, &pair.loop, {read.buffer, Array<Range>(std::move(ranges)), {}});
}

// True if both blocks touch the same elements in an iteration, or only elements that no other iteration touches.
auto touch_same_elements(const Pair& pair) -> bool {
  arith::Analyzer analyzer = bound_around(pair.func, pair.loop);
  const BufferNode* buffer = pair.dependence.buffer;
  bool is_local = true;
  for (const BufferRegion& read : pair.reader().block()->reads) {
    if (read.buffer.get() != buffer) { continue; }
    for (const BufferRegion& write : pair.writer().block()->writes) {
      if (write.buffer.get() != buffer) { continue; }
      auto a = touched_in_iteration(pair.func, pair.reader(), pair.loop, read);
      auto b = touched_in_iteration(pair.func, pair.writer(), pair.loop, write);
      for (size_t i = 0; is_local && i < a.size() && i < b.size(); ++i) {
        is_local = a[i].has_lower_bound() && a[i].has_upper_bound() && b[i].has_lower_bound() && b[i].has_upper_bound() &&
                   analyzer.can_prove_equal(a[i].min(), b[i].min()) && analyzer.can_prove_equal(a[i].max(), b[i].max());
      }
      if (!is_local) {
        is_local = pair.is_raw() && pair.has_own_elements();
      } else if (pair.dependence.kind == DependenceKind::War) {
        // No other iteration may read elements that this iteration reads and then overwrites.
        is_local = own_elements_in_iteration(pair.func, pair.dst, pair.src, pair.loop, buffer);
      } else {
        is_local = fills_box(pair, read, write, a, b, analyzer);
      }
    }
  }
  return is_local;
}

// True for each condition in the writer's predicate: where it is false, the reader does not run either, or it excludes no element of the buffer.
auto reader_runs_with_writer(const Pair& pair) -> bool {
  arith::Analyzer analyzer = bound_around(pair.func, pair.loop);
  VarMap first, last;
  for (const Place* at = pair.func.parent(pair.writer()); at && at != &pair.loop; at = pair.func.parent(*at)) {
    if (!at->is_loop()) { continue; }
    if (pair.func.is_below(pair.reader(), *at)) {
      analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent});
      continue;
    }
    first[at->loop->var.get()] = at->loop->min;
    last[at->loop->var.get()] = add(at->loop->min, sub(at->loop->extent, one(at->loop->extent.dtype())));
  }
  std::vector<Expr> conditions = arith::split_conjunction(pair.writer().realize->predicate);
  return std::all_of(conditions.begin(), conditions.end(), [&](const Expr& condition) {
    auto reader_runs = analyzer.enter(pair.reader().realize->predicate);
    return analyzer.can_prove(condition) || is_about_elements(pair.writer(), pair.dependence.buffer, condition) || analyzer.can_prove(substitute(condition, first)) || analyzer.can_prove(substitute(condition, last));
  });
}

// True if another block writes the whole region that is read, in the same iteration (constant padding, for example).
auto is_made_by_another(const Pair& pair, const Place& scope) -> bool {
  const FuncState& func = pair.func;
  const Place& reader = pair.dst;
  for (const Dependence& other : func.scope_info(scope).of_dst(reader.id)) {
    if (other.kind != DependenceKind::Raw || other.src == pair.dependence.src || other.buffer != pair.dependence.buffer) { continue; }
    const Place& writer = *func.find(other.src);
    if (!func.is_below(writer, pair.loop)) { continue; }
    for (const BufferRegion& read : reader.block()->reads) {
      if (read.buffer.get() != pair.dependence.buffer) { continue; }
      std::vector<Range> ranges;
      for (const arith::IntSet& set : touched_in_iteration(func, reader, pair.loop, read)) {
        if (!set.has_lower_bound() || !set.has_upper_bound()) { return false; }
        ranges.push_back({set.min(), sub(add(set.max(), one(set.max().dtype())), set.min())});
      }
      const BufferRegion* write = region_of(writer.block()->writes, read.buffer);
      if (write && certainly_writes(func, writer, *write, &pair.loop, {read.buffer, Array<Range>(std::move(ranges)), {}})) { return true; }
    }
  }
  return false;
}

// True if the dependence stays within an iteration of the loop.
auto is_local_dependence(const Pair& pair, const Place& scope, bool leaves_threads) -> bool {
  bool is_declared_raw = pair.is_raw() && !pair.dependence.is_hidden;
  // The predicate skips the write in some iterations, and the reader does not have the same predicate.
  bool is_partial = is_declared_raw && !keeps_domains(pair.func, pair.src) && !arith::deep_equal(pair.src.realize->predicate, pair.dst.realize->predicate);
  if (is_partial && !pair.has_own_elements()) { return false; }
  // Elements that threads fill together are visible to each thread, as long as threads run the iterations.
  bool is_covered = pair.func.region_cover(pair.dst) && !(leaves_threads && pair.loop.loop->thread);
  bool is_local = is_declared_raw && is_covered;
  if (!is_local && !pair.dependence.is_hidden) { is_local = touch_same_elements(pair); }
  if (is_local && reader_runs_with_writer(pair)) { return true; }
  return is_declared_raw && (pair.has_own_elements() || is_made_by_another(pair, scope));
}

}  // namespace

auto require_local_dependences(const Context& cx, const FuncState& func, const Place& loop, bool leaves_threads) -> Status {
  const Place* scope = func.scope(loop);
  // A single iteration depends on no other.
  if (!scope || is_one(loop.loop->extent)) { return ok(); }
  std::vector<Dependence> below;
  for (const Place* block : func.child_blocks(loop)) {
    for (const Dependence& d : func.scope_info(*scope).of_dst(block->id)) { below.push_back(d); }
  }
  for (const Dependence& d : below) {
    Pair pair{func, loop, d, *func.find(d.src), *func.find(d.dst)};
    if (!func.is_below(pair.src, loop) || d.kind == DependenceKind::Waw || is_local_dependence(pair, *scope, leaves_threads)) { continue; }
    return at_block(cx.error(Code::IterationsDepend).arg("loop", loop.name().view()).arg("producer", pair.writer().name().view())
                        .arg("consumer", pair.reader().name().view()), pair.dst).at_node(loop.id);
  }
  return ok();
}

}  // namespace loopsmith::schedule
