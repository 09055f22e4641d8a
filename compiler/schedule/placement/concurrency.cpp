// Checks loops around a moved block whose iterations run at the same time: see concurrency.h.
#include "schedule/placement/concurrency.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "schedule/block_classes.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/instances.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/threads.h"
#include "support/codes.h"

namespace loopsmith::schedule::placement {

namespace {

// True if two iterations of a loop certainly run a common instance of the moved block.
auto shares_instances(const Relocation& move, const Nest& nest, const Place& at) -> bool {
  if (!nest.uses(at.loop->var)) { return true; }
  return certainly_shares(nest.all_loops(move), at.loop->var, nest.iter_values, nest.predicate);
}

// True if several threads along a loop would run the same instances of a reduction, and the result is in a memory that these threads share.
// `is_global_shared`: global memory is such a memory too; else each thread gets a copy of a buffer there.
auto repeats_in_threads(const Relocation& move, const Nest& nest, const Place& at, bool is_global_shared) -> bool {
  const Block& block = *move.block->block();
  auto thread = at.loop->thread ? thread_axis(at.loop->thread->thread_tag.view()) : std::nullopt;
  if (!thread || is_one(at.loop->extent) || !block.init) { return false; }
  const bool is_seen = std::any_of(block.writes.begin(), block.writes.end(), [&](const BufferRegion& write) {
    auto memory = memory_family(write.buffer->scope().view()).value_or(MemoryFamily::Global);
    return (memory == MemoryFamily::Global && is_global_shared) || (memory == MemoryFamily::Shared && thread->family != ThreadFamily::Block);
  });
  return is_seen && repeats_reduction(nest.all_loops(move), *at.loop, block, nest.iter_values, nest.predicate);
}

// True if an iteration of a loop and a later one certainly run common instances: either every iteration, or the first one. Compares boxes of iter
// values under the loops below. The later iteration is the next one, or follows at a distance equal to the period of a remainder in the iter values.
auto meets_later(const For& loop, const std::vector<Expr>& iter_values, const Domains& below) -> bool {
  arith::DomMap domains;
  for (const auto& [var, domain] : below) { domains.emplace(var.get(), arith::IntSet::from_range(domain)); }
  auto follows = [&](const Expr& e) { return uses_var(e, [&](const VarNode& v) { return &v == loop.var.get(); }); };
  std::vector<arith::IntSet> sets;
  std::set<int64_t> distances{1};
  for (const Expr& value : iter_values) {
    sets.push_back(arith::eval_set(value, domains));
    if (!sets.back().has_lower_bound() || !sets.back().has_upper_bound()) { return false; }
    post_order(value, [&](const Expr& e) {
      const auto* mod = e.as<FloorMod>();
      auto period = mod ? as_int(mod->b) : std::nullopt;
      if (period && *period > 1 && follows(mod->a)) { distances.insert(*period); }
    });
  }
  const DataType dtype = loop.var->dtype;
  auto meets = [&](arith::Analyzer& analyzer, const Expr& at, const Expr& distance) {
    const VarMap here{{loop.var.get(), at}}, later{{loop.var.get(), at + distance}};
    return std::all_of(sets.begin(), sets.end(), [&](const arith::IntSet& set) {
      // A value that does not use the loop is the same in both iterations.
      if (!follows(set.min()) && !follows(set.max())) { return true; }
      return analyzer.can_prove(less_equal(substitute(set.min(), here), substitute(set.max(), later))) &&
             analyzer.can_prove(less_equal(substitute(set.min(), later), substitute(set.max(), here)));
    });
  };
  return std::any_of(distances.begin(), distances.end(), [&](int64_t steps) {
    const Expr distance = int_imm(steps, dtype);
    arith::Analyzer any, first;
    if (any.can_prove(less_equal(loop.extent, distance))) { return false; }
    any.bind(loop.var, Range{loop.min, loop.extent - distance});
    return meets(any, loop.var, distance) || meets(first, loop.min, distance);
  });
}

auto refuse(Code code, const Relocation& move, const Place& loop) -> Diagnostic {
  return note_block(note_loop(move.cx.error(code).arg("block", move.block->name().view()).arg("loop", loop.name().view()), loop), *move.block)
      .remedy(fmt::format("choose a loop outside of `{}`, or keep that loop serial", loop.name().view()));
}

// Iterations of the loop must not run different parts of one reduction.
auto require_reduction_not_spread(const Relocation& move, const Nest& nest, const Place& at) -> Status {
  auto is_this = [&](const VarNode& v) { return &v == at.loop->var.get(); };
  for (size_t i = 0; i < nest.iter_values.size(); ++i) {
    const IterVar& iter = move.moved().iter_vars[i];
    if (iter.kind == IterKind::Spatial || !uses_var(nest.iter_values[i], is_this) || is_complete(move.func, *move.block)) { continue; }
    return note_block(note_loop(move.cx.error(Code::LoopCarried).arg("loop", at.name().view()).arg("block", move.block->name().view()).arg("iter", iter.var->name.view()), at), *move.block);
  }
  return ok();
}

// Each iteration has its own elements of the producers' buffers, so the producers must run whenever the block reads these elements: no condition
// from outside of the loop may skip a producer but not the block.
auto require_producers_run(const Relocation& move, const Nest& nest, const Place& at, arith::Analyzer& analyzer) -> Status {
  // The predicate of the block holds whenever the block runs.
  auto own_conditions = analyzer.enter(nest.predicate);
  for (NodeId id : move.producers) {
    const Place& producer = *move.func.find(id);
    if (!move.func.is_below(producer, at)) { continue; }
    for (const Expr& condition : arith::split_conjunction(producer.realize->predicate)) {
      bool is_from_outside = !uses_var(condition, [&](const VarNode& v) {
        for (const Place* inner = move.func.parent(producer); inner && inner != &at; inner = move.func.parent(*inner)) {
          if (inner->is_loop() && inner->loop->var.get() == &v) { return true; }
        }
        return false;
      });
      if (!is_from_outside || analyzer.can_prove(condition)) { continue; }
      return note_loop(note_block(move.cx.error(Code::RunsWithoutProducer).arg("block", move.block->name().view()).arg("producer", producer.name().view())
                                      .arg("loop", at.name().view()).arg("condition", print_script(condition)), *move.block), at)
          .remedy(fmt::format("split the loops of `{}` by factors that divide their extents, so that it runs without the condition", producer.name().view()));
    }
  }
  return ok();
}

// Iterations must not write the same elements of buffers that outlive the scope, even if they run different instances.
auto require_own_outputs(const Relocation& move, const Nest& nest, const Place& at) -> Status {
  const Block& moved = move.moved();
  auto is_this = [&](const VarNode& v) { return &v == at.loop->var.get(); };
  auto follows = [&](const VarNode& v) {
    for (size_t i = 0; i < nest.iter_values.size(); ++i) {
      if (moved.iter_vars[i].var.get() == &v) { return uses_var(nest.iter_values[i], is_this); }
    }
    return false;
  };
  for (const BufferRegion& write : moved.writes) {
    if (move.func.allocates(move.scope, write.buffer)) { continue; }
    bool is_apart = std::any_of(write.region.begin(), write.region.end(), [&](const Range& r) { return uses_var(r.min, follows) || uses_var(r.extent, follows); });
    if (!is_apart) { return refuse(Code::IterationsWrite, move, at).arg("buffer", write.buffer->name.view()); }
  }
  return ok();
}

// The block must not read, from outside of a loop, a sum of which each iteration of that loop makes its own.
auto require_whole_sums(const Relocation& move, const std::vector<NodeId>& makers) -> Status {
  for (NodeId id : makers) { LOOPSMITH_CHECK(require_one_sum(move.cx, move.func, *move.func.find(id), move.loop.place)); }
  return ok();
}

auto is_parallel(const For& loop) -> bool { return loop.for_kind == ForKind::Parallel || loop.for_kind == ForKind::Vectorized; }

// The error if iterations would run the same instances of the block.
auto same_instances_in_several(const Relocation& move, const Place& at) -> Diagnostic {
  return refuse(is_complete(move.func, *move.block) ? Code::IterationsShare : Code::ReductionShared, move, at);
}

}  // namespace

auto require_apart_from_makers(const Relocation& move, const Nest& nest) -> Status {
  std::vector<NodeId> makers = producers_of(move.func, *move.block);
  LOOPSMITH_CHECK(require_whole_sums(move, makers));
  for (const Place* at = move.loop.place; at && at->is_loop(); at = move.func.parent(*at)) {
    bool has_makers = std::any_of(makers.begin(), makers.end(), [&](NodeId id) { return move.func.is_below(*move.func.find(id), *at); });
    if (repeats_in_threads(move, nest, *at, /*is_global_shared=*/false)) { return refuse(Code::ReductionShared, move, *at); }
    if (move.consumers.empty() && has_makers && is_bound_to_threads(*at->loop) && shares_instances(move, nest, *at)) { return same_instances_in_several(move, *at); }
    bool is_grid = (move.consumers.empty() || has_makers) && is_bound_to_grid(*at->loop);
    if ((!is_parallel(*at->loop) && !is_grid) || is_one(at->loop->extent)) { continue; }
    LOOPSMITH_CHECK(require_reduction_not_spread(move, nest, *at));
    bool is_spread = nest.uses(at->loop->var);
    if (!is_spread && move.consumers.empty()) { return same_instances_in_several(move, *at); }
    if (!is_spread || !has_makers) { continue; }
    // If other iterations make the same elements, each iteration computes them from the operands that it made itself.
    Domains all = nest.all_loops(move);
    auto shared = counted_sharing(all, at->loop->var, nest.iter_values, nest.predicate);
    bool is_apart = shared ? !*shared : tells_iterations_apart(nest.iter_values, all, nest.predicate, at->loop->var.get());
    if (!is_apart) { return refuse(Code::IterationsShare, move, *at); }
  }
  return ok();
}

auto require_apart_from_others(const Relocation& move, const Nest& nest, arith::Analyzer& analyzer) -> Status {
  LOOPSMITH_CHECK(require_whole_sums(move, producers_of(move.func, *move.block)));
  for (const Place* at = move.loop.place; at && at->is_loop(); at = move.func.parent(*at)) {
    if (repeats_in_threads(move, nest, *at, /*is_global_shared=*/true)) { return refuse(Code::ReductionShared, move, *at); }
    // A thread would read elements that other threads make, perhaps later.
    const bool has_makers = std::any_of(move.producers.begin(), move.producers.end(), [&](NodeId id) { return move.func.is_below(*move.func.find(id), *at); });
    if (is_bound_to_threads(*at->loop) && has_makers && nest.uses(at->loop->var) && shares_instances(move, nest, *at)) { return refuse(Code::IterationsShare, move, *at); }
    if ((!is_parallel(*at->loop) && !is_bound_to_grid(*at->loop)) || is_one(at->loop->extent)) { continue; }
    LOOPSMITH_CHECK(require_reduction_not_spread(move, nest, *at));
    if (!nest.uses(at->loop->var)) { return same_instances_in_several(move, *at); }
    LOOPSMITH_CHECK(require_producers_run(move, nest, *at, analyzer));
    // Iterations that share instances would read elements that others make. An element excluded by a producer's predicate counts as made.
    Domains all = nest.all_loops(move);
    auto shared = counted_sharing(all, at->loop->var, nest.iter_values, nest.predicate);
    bool is_guessed = std::any_of(move.producers.begin(), move.producers.end(), [&](NodeId id) { return !is_one(move.func.find(id)->realize->predicate); });
    bool is_apart = shared ? !*shared
                           : tells_iterations_apart(nest.iter_values, all, nest.predicate, at->loop->var.get(), true) ||
                                 (!is_guessed && !meets_later(*at->loop, nest.iter_values, nest.loops));
    if (!is_apart) { return same_instances_in_several(move, *at); }
    LOOPSMITH_CHECK(require_own_outputs(move, nest, *at));
  }
  return ok();
}

}  // namespace loopsmith::schedule::placement
