// Checks the instances of a moved block and their order: see moved_instances.h.
#include "schedule/placement/moved_instances.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/instances.h"
#include "schedule/facts/predicates.h"
#include "schedule/facts/regions.h"
#include "schedule/facts/replacement.h"
#include "schedule/reducers.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "support/codes.h"
#include "support/fault.h"

namespace loopsmith::schedule::placement {

namespace {

// `max` or `min` if a block keeps the largest or smallest of the values that it loads; none for other updates.
auto extremum_of(const Block& block) -> std::optional<NodeKind> {
  const auto* store = block.body.as<BufferStore>();
  if (!store || !block.init) { return {}; }
  NodeKind kind = store->value.kind();
  if (kind != NodeKind::Max && kind != NodeKind::Min) { return {}; }
  const Expr& a = kind == NodeKind::Max ? store->value.as<Max>()->a : store->value.as<Min>()->a;
  const Expr& b = kind == NodeKind::Max ? store->value.as<Max>()->b : store->value.as<Min>()->b;
  const auto* kept = a.as<BufferLoad>();
  if (!kept || !(kept->buffer == store->buffer) || !b.as<BufferLoad>() || b.as<BufferLoad>()->buffer == store->buffer) { return {}; }
  return kind;
}

// True if an element of a reduction is initialised again, because instances that differ in a spatial iter var make the same element.
auto begins_again(const Block& block) -> bool {
  const auto* store = block.body.as<BufferStore>();
  return !store || std::any_of(block.iter_vars.begin(), block.iter_vars.end(), [&](const IterVar& iter) {
    bool is_index = std::any_of(store->indices.begin(), store->indices.end(), [&](const Expr& e) { return uses_var(e, [&](const VarNode& v) { return &v == iter.var.get(); }); });
    return iter.kind == IterKind::Spatial && !is_one(iter.dom.extent) && !is_index;
  });
}

// True if the init writes every buffer that the block both loads and writes, so that no value of an earlier run remains.
auto begins_all_anew(const Block& block) -> bool {
  auto is_begun = [&](const Buffer& buffer) {
    bool found = false;
    auto on_stmt = [&](const Stmt& s) {
      const auto* store = s.as<BufferStore>();
      found = found || (store && store->buffer == buffer);
    };
    if (block.init) { post_order(block.init, on_stmt, [](const Expr&) {}); }
    return found;
  };
  bool is_anew = true;
  post_order(block.body, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    is_anew = is_anew && (!load || !region_of(block.writes, load->buffer) || is_begun(load->buffer));
  });
  return is_anew;
}

// True if iterations of a loop, or of one around it, compute a block's elements again, while its producers still run in the same loop.
auto is_still_made(const FuncState& func, const Place& block, const Place& loop) -> bool {
  const std::vector<NodeId> makers = producers_of(func, block);
  for (const Place* at = &loop; at && at->is_loop(); at = func.parent(*at)) {
    bool has_maker = func.is_below(block, *at) && std::any_of(makers.begin(), makers.end(), [&](NodeId id) { return func.is_below(*func.find(id), *at); });
    if (has_maker && repeats_instances(*block.realize, *at->loop)) { return true; }
  }
  return false;
}

// True if instances of a reduction may run more than once and read unfinished elements of its producers, because reduction and producers all keep
// the largest (smallest) value: then an early value is no larger than the final one. After the last init of an element all its instances run
// again, since the loops that repeat them are not used in the iter values.
auto may_run_again(const FuncState& func, const Block& block, const Place& loop, const std::vector<NodeId>& producers, const std::vector<Expr>& iter_values, const Domains& domains,
                   const Expr& predicate) -> bool {
  auto kind = extremum_of(block);
  if (!kind) { return false; }
  for (NodeId id : producers) {
    const Place& producer = *func.find(id);
    if (!is_complete(func, producer) && (extremum_of(*producer.block()) != kind || begins_again(*producer.block()))) { return false; }
    if (is_complete(func, producer) && is_still_made(func, producer, loop)) { return false; }
    // An element that a predicate excludes does not exist yet.
    if (!keeps_domains(func, producer)) { return false; }
  }
  arith::Analyzer analyzer;
  return !arith::detect_iter_map(iter_values, domains, predicate, arith::IterMapLevel::NoCheck, analyzer, false).indices.empty();
}

// True if loops (the outermost first) run the instances of a reduction in the order of its iter vars: each iter value is a sum of loops that count
// its digits, from the highest digit to the lowest.
auto in_order_of_iters(const Block& block, const std::vector<Expr>& iter_values, const Domains& loops) -> bool {
  size_t next = 0;                           // the first loop that may count the next digit
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (iter.kind == IterKind::Spatial || is_one(iter.dom.extent)) { continue; }
    struct Digit { int64_t unit; size_t loop; };
    std::vector<Digit> digits;
    std::function<bool(const Expr&, int64_t)> add_digits = [&](const Expr& e, int64_t unit) -> bool {
      if (const auto* sum = e.as<Add>()) { return add_digits(sum->a, unit) && add_digits(sum->b, unit); }
      if (as_int(e)) { return true; }
      constexpr int64_t most = int64_t{1} << 31;
      if (const auto* product = e.as<Mul>()) {
        auto factor = as_int(product->b);
        return factor && *factor > 0 && *factor < most && unit < most && add_digits(product->a, unit * *factor);
      }
      auto loop = std::find_if(loops.begin(), loops.end(), [&](const auto& l) { return l.first.get() == e.get(); });
      if (loop == loops.end()) { return false; }
      digits.push_back({unit, static_cast<size_t>(loop - loops.begin())});
      return true;
    };
    if (!add_digits(iter_values[i], 1)) { return false; }
    std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.unit < b.unit; });
    // From the lowest digit up: the unit of each digit is larger than the largest sum of the digits below.
    int64_t reach = 0;
    for (size_t k = 0; k < digits.size(); ++k) {
      if (digits[k].unit <= reach) { return false; }
      if (k + 1 == digits.size()) { break; }
      auto extent = as_int(loops[digits[k].loop].second.extent);
      int64_t more = 0;
      if (!extent || __builtin_mul_overflow(digits[k].unit, std::max<int64_t>(*extent - 1, 0), &more) || __builtin_add_overflow(reach, more, &reach)) { return false; }
    }
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
      if (digit->loop < next) { return false; }
      next = digit->loop + 1;
    }
  }
  return true;
}

// True if an update of a reduction may run before its init. If there are too many iterations to count, true if the remainder of a remainder
// feeds spatial and reduction iter vars at once, so that the updates of an element may come in any order.
auto may_update_early(const Block& block, const Domains& loops, const std::vector<Expr>& iter_values, const Expr& predicate) -> bool {
  if (auto counted = counted_late_update(block, loops, iter_values, predicate)) { return *counted; }
  std::unordered_set<const VarNode*> spatial;
  for (size_t i = 0; i < iter_values.size(); ++i) {
    if (block.iter_vars[i].kind == IterKind::Reduction) { continue; }
    post_order(iter_values[i], [&](const Expr& e) { if (const auto* v = e.as<VarNode>()) { spatial.insert(v); } });
  }
  auto is_spatial = [&](const VarNode& v) { return spatial.contains(&v); };
  auto wraps = [](const Expr& e) {
    bool found = false;
    post_order(e, [&](const Expr& part) { found = found || part.as<FloorMod>() != nullptr; });
    return found;
  };
  bool found = false;
  for (size_t i = 0; i < iter_values.size(); ++i) {
    if (block.iter_vars[i].kind != IterKind::Reduction) { continue; }
    post_order(iter_values[i], [&](const Expr& e) {
      const auto* mod = e.as<FloorMod>();
      found = found || (mod && uses_var(mod->a, is_spatial) && wraps(mod->a));
    });
  }
  return found;
}

// An iter var of which the loops around certainly run only a part of the domain, while the new loops may run values outside of that part. Null: none
// was found.
auto iter_in_part(const FuncState& func, const Place& block, const std::vector<Expr>& new_values, const Domains& new_loops) -> const IterVar* {
  arith::Analyzer analyzer;
  auto sets = [](const Domains& loops) {
    arith::DomMap out;
    for (const auto& [var, domain] : loops) { out.emplace(var.get(), arith::IntSet::from_range(domain)); }
    return out;
  };
  const arith::DomMap old_domains = sets(domains_around(func, block)), new_domains = sets(new_loops);
  for (size_t i = 0; i < block.realize->iter_values.size(); ++i) {
    const IterVar& iter = block.block()->iter_vars[i];
    const arith::IntSet ran = arith::eval_set(block.realize->iter_values[i], old_domains);
    bool begins_late = ran.has_lower_bound() && analyzer.can_prove(greater(ran.min(), iter.dom.min));
    bool ends_early = ran.has_upper_bound() && analyzer.can_prove(less(ran.max() + one(ran.max().dtype()), iter.dom.min + iter.dom.extent));
    // The loops may run only every second value, for example.
    const arith::ModularSet stride = analyzer.modular_set(block.realize->iter_values[i]);
    if (stride.coeff > 1) {
      const arith::ModularSet there = analyzer.modular_set(new_values[i]);
      if (there.coeff % stride.coeff != 0 || (there.base - stride.base) % stride.coeff != 0) { return &iter; }
    }
    if (!begins_late && !ends_early) { continue; }
    const arith::IntSet runs = arith::eval_set(new_values[i], new_domains);
    bool begins_there = !begins_late || (runs.has_lower_bound() && analyzer.can_prove(greater_equal(runs.min(), ran.min())));
    bool ends_there = !ends_early || (runs.has_upper_bound() && analyzer.can_prove(less_equal(runs.max(), ran.max())));
    if (!begins_there || !ends_there) { return &iter; }
  }
  return nullptr;
}

}  // namespace

auto require_all_output_runs(const Relocation& move, const Nest& nest, arith::Analyzer& analyzer) -> Status {
  arith::DomMap around;
  for (const auto& [var, range] : move.outer) { around.emplace(var.get(), arith::IntSet::from_range(range)); }
  for (size_t i = 0; i < nest.ranges.size(); ++i) {
    const IterVar& iter = move.moved().iter_vars[i];
    if (iter.kind != IterKind::Spatial) { continue; }
    Expr last = add(iter.dom.min, sub(iter.dom.extent, one(iter.dom.extent.dtype())));
    auto loses_values = [&](const arith::IntSet& run) {
      return (run.has_lower_bound() && analyzer.can_prove(less(iter.dom.min, run.min()))) || (run.has_upper_bound() && analyzer.can_prove(less(run.max(), last)));
    };
    // Values outside of the bounds are excluded by the predicate of a producer: they do not run either.
    const arith::IntSet& bound = nest.bounds[i];
    if (!loses_values(arith::eval_set(nest.ranges[i], around, analyzer)) && (bound.is_nothing() || !loses_values(bound))) { continue; }
    return note_block(move.error(Code::InstancesLost), *move.block);
  }
  return ok();
}

auto require_update_order(const Relocation& move, const Nest& nest) -> Status {
  const BlockRealize& realize = *move.block->realize;
  const Domains before = domains_around(move.func, *move.block), now = nest.all_loops(move);
  if (is_complete(move.func, *move.block) || updates_commute(move.moved())) { return ok(); }
  bool keeps_order = in_order_of_iters(move.moved(), realize.iter_values.to_vector(), before) &&
                     (nest.covers_reduction || in_order_of_iters(move.moved(), nest.iter_values, now));
  if (keeps_order || counted_same_order(move.moved(), {before, realize.iter_values.to_vector(), realize.predicate}, {now, nest.iter_values, nest.predicate}).value_or(false)) { return ok(); }
  return note_block(move.error(Code::MovedUpdateOrder), *move.block);
}

auto require_instances_once(const Relocation& move, const Nest& nest, const std::vector<NodeId>& unfinished) -> Status {
  const Block& moved = move.moved();
  bool may_repeat = (is_complete(move.func, *move.block) || nest.covers_reduction) && begins_all_anew(moved);
  if (may_repeat || FAULT(compute_at_reduction_repeated)) { return ok(); }
  Domains all = nest.all_loops(move);
  arith::Analyzer fresh;
  auto once = arith::detect_iter_map(nest.iter_values, all, nest.predicate, arith::IterMapLevel::Bijective, fresh, false);
  if (!once.indices.empty() || may_run_again(move.func, moved, *move.loop.place, unfinished, nest.iter_values, all, nest.predicate)) { return ok(); }
  return note_block(note_loop(move.error(begins_all_anew(moved) ? Code::ReductionRepeated : Code::InstancesRepeated), *move.loop), *move.block);
}

auto require_ran_before(const Relocation& move, InstancesOf of) -> Status {
  std::vector<const VarNode*> iters;
  for (const IterVar& iter : move.moved().iter_vars) {
    if (of == InstancesOf::AllIters || iter.kind == IterKind::Reduction) { iters.push_back(iter.var.get()); }
  }
  if (iters.empty() || FAULT(reverse_compute_at_predicate_lost) || runs_all_instances(move.func, *move.block, iters)) { return ok(); }
  return note_block(move.cx.error(Code::PredicateLost).arg("block", move.block->name().view()), *move.block);
}

auto require_no_new_values(const Relocation& move, const Nest& nest) -> Status {
  const IterVar* part = iter_in_part(move.func, *move.block, nest.iter_values, nest.all_loops(move));
  if (!part || FAULT(reverse_compute_at_predicate_lost)) { return ok(); }
  return note_block(move.error(Code::DomainPart).arg("iter", part->var->name.view()), *move.block);
}

auto require_plain_predicate(const Relocation& move) -> Status {
  if (FAULT(reverse_compute_at_predicate_lost) || keeps_domains(move.func, *move.block)) { return ok(); }
  return note_block(move.cx.error(Code::PredicateLost).arg("block", move.block->name().view()), *move.block);
}

auto require_init_first(const Relocation& move, const Nest& nest) -> Status {
  if (!move.moved().init || !may_update_early(move.moved(), nest.all_loops(move), nest.iter_values, nest.predicate)) { return ok(); }
  return note_block(move.error(Code::InitLate), *move.block);
}

auto require_good_iterations(const Relocation& move, const Nest& nest) -> Status {
  const Block& moved = move.moved();
  // Each update of a reduction counts, unless the reduction keeps the largest value and its producers only make values larger.
  auto goes_on = [&](NodeId id) { return extremum_of(*move.func.find(id)->block()) == extremum_of(moved) && !begins_again(*move.func.find(id)->block()); };
  bool each_time = moved.init && !(extremum_of(moved) && std::all_of(move.producers.begin(), move.producers.end(), goes_on));
  auto counted = counted_replacement(move.func, *move.loop, moved, nest.loops, nest.iter_values, nest.predicate, each_time);
  if (!counted) { return require_init_first(move, nest); }
  if (moved.init && counted->begins_late) { return note_block(move.error(Code::InitLate), *move.block); }
  if (!counted->runs_all && !FAULT(compute_at_region_short)) { return note_block(move.error(Code::InstancesLost), *move.block); }
  if (counted->reads_early && !FAULT(reverse_compute_at_too_early)) {
    Diagnostic out = note_loop(move.error(Code::ReadsTooEarly).arg("buffer", moved.reads.empty() ? "" : moved.reads[0].buffer->name.view())
                                   .arg("producer", move.producers.empty() ? "" : move.func.find(move.producers[0])->name().view()), *move.loop);
    out.node_ids.push_back(move.block->id);
    return std::move(out).remedy(fmt::format("choose a loop outside of `{}`", move.loop->name().view()));
  }
  return ok();
}

}  // namespace loopsmith::schedule::placement
