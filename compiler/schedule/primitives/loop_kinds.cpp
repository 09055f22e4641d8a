// Primitives that set the kind of a loop: parallel, vectorize, bind, unroll. The loops stay where they are. unroll keeps
// the order of iterations; the others do not, so no iteration may need another one.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "schedule/candidates.h"
#include "schedule/counted_races.h"
#include "schedule/examples.h"
#include "schedule/facts/store_order.h"
#include "schedule/func_tree.h"
#include "schedule/primitives.h"
#include "schedule/races.h"
#include "schedule/recurrences.h"
#include "schedule/reducers.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/fault.h"

namespace loopsmith::schedule::primitives {
namespace {

// Evaluates sums, products, quotients and remainders with `var` as a number and all other variables as 0.
auto sample(const Expr& e, const VarNode* var, int64_t number) -> std::optional<int64_t> {
  if (auto constant = as_int(e)) { return constant; }
  if (const auto* v = e.as<VarNode>()) { return v == var ? number : 0; }
  auto both = [&](const Expr& a, const Expr& b, const auto& f) -> std::optional<int64_t> {
    auto x = sample(a, var, number), y = sample(b, var, number);
    if (!x || !y || std::max(std::abs(*x), std::abs(*y)) > (int64_t{1} << 30)) { return {}; }
    return f(*x, *y);
  };
  using Number = std::optional<int64_t>;
  if (const auto* n = e.as<Add>()) { return both(n->a, n->b, [](int64_t x, int64_t y) -> Number { return x + y; }); }
  if (const auto* n = e.as<Sub>()) { return both(n->a, n->b, [](int64_t x, int64_t y) -> Number { return x - y; }); }
  if (const auto* n = e.as<Mul>()) { return both(n->a, n->b, [](int64_t x, int64_t y) -> Number { return x * y; }); }
  if (const auto* n = e.as<FloorDiv>()) { return both(n->a, n->b, [](int64_t x, int64_t y) -> Number { return x < 0 || y <= 0 ? Number() : x / y; }); }
  if (const auto* n = e.as<FloorMod>()) { return both(n->a, n->b, [](int64_t x, int64_t y) -> Number { return x < 0 || y <= 0 ? Number() : x % y; }); }
  return {};
}

constexpr int64_t most_iterations = 4096;

// The same for more iterations (`f % 12`): runs them with all other loops at their first iteration, if all bounds and iter values are numbers there.
auto repeats_values(const FuncState& func, const Place& place, const LoopArg& loop, int64_t count) -> bool {
  if (func.is_affine_binding(place)) {
    arith::Analyzer analyzer;
    auto map = arith::detect_iter_map(place.realize->iter_values.to_vector(), loop_domains(func, place), place.realize->predicate, arith::IterMapLevel::Bijective, analyzer, false);
    if (!map.indices.empty()) { return false; }
  }
  std::vector<const Place*> path;
  for (const Place* at = &place; at; at = func.parent(*at)) { path.insert(path.begin(), at); }
  std::set<std::vector<int64_t>> seen;
  for (int64_t i = 0; i < count; ++i) {
    Valuation values;
    std::vector<int64_t> instance;
    bool is_run = false;
    for (const Place* at : path) {
      if (at->is_loop()) {
        auto min = evaluate_integer(at->loop->min, values);
        if (!min) { return false; }
        values.emplace_back(at->loop->var.get(), at == loop.place ? *min + i : *min);
        continue;
      }
      auto runs = evaluate_integer(at->realize->predicate, values);
      if (!runs) { return false; }
      if (*runs == 0) { break; }
      instance.clear();
      for (size_t k = 0; k < at->realize->iter_values.size(); ++k) {
        auto value = evaluate_integer(at->realize->iter_values[k], values);
        if (!value) { return false; }
        values.emplace_back(at->realize->block->iter_vars[k].var.get(), *value);
        instance.push_back(*value);
      }
      is_run = at == &place;
    }
    if (is_run && !seen.insert(std::move(instance)).second) { return true; }
  }
  return false;
}

// True if two iterations of a loop that the block's iter vars use run the same instances (`f // 2`, `f % 3`).
auto shares_instances(const FuncState& func, const Place& place, const LoopArg& loop) -> bool {
  const VarNode* var = loop.loop().var.get();
  auto extent = as_int(loop.loop().extent);
  // If a value is a multiple of the loop variable plus terms without it, no two iterations have the same value.
  std::function<bool(const Expr&)> counts = [&](const Expr& e) {
    if (e.get() == var) { return true; }
    auto follows = [&](const Expr& x) { return uses_var(x, [&](const VarNode& v) { return &v == var; }); };
    if (const auto* sum = e.as<Add>()) { return (counts(sum->a) && !follows(sum->b)) || (counts(sum->b) && !follows(sum->a)); }
    const auto* product = e.as<Mul>();
    return product && as_int(product->b).value_or(0) != 0 && counts(product->a);
  };
  if (std::any_of(place.realize->iter_values.begin(), place.realize->iter_values.end(), counts)) { return false; }
  arith::Analyzer analyzer;
  const int64_t few = extent ? std::min<int64_t>(*extent, 9) : 0;
  const auto& values = place.realize->iter_values;
  auto min = as_int(loop.loop().min);
  // Samples that differ need no proof. Compares the values of consecutive iterations.
  std::vector<std::optional<int64_t>> samples;
  for (int64_t i = 0; min && i < few; ++i) {
    for (const Expr& value : values) { samples.push_back(sample(value, var, *min + i)); }
  }
  auto differs = [&](int64_t i, int64_t j) {
    for (size_t k = 0; min && k < values.size(); ++k) {
      const auto &here = samples[static_cast<size_t>(i) * values.size() + k], &there = samples[static_cast<size_t>(j) * values.size() + k];
      if (here && there && *here != *there) { return true; }
    }
    return false;
  };
  for (int64_t i = 0; i < few; ++i) {
    for (int64_t j = i + 1; j < few; ++j) {
      if (differs(i, j)) { continue; }
      DataType dtype = loop.loop().var->dtype;
      Expr here = loop.loop().min + constant_int(dtype, i), there = loop.loop().min + constant_int(dtype, j);
      bool is_same = std::all_of(values.begin(), values.end(), [&](const Expr& value) {
        return analyzer.can_prove_equal(substitute(value, {{var, here}}), substitute(value, {{var, there}}));
      });
      if (is_same) { return true; }
    }
  }
  return extent && *extent > few && repeats_values(func, place, loop, std::min(*extent, most_iterations));
}

// True if another block below the loop writes a buffer that the block writes, as when one fills a buffer and another writes a part of it.
auto is_written_twice(const FuncState& func, const Place& place, const LoopArg& loop) -> bool {
  auto is_leaf = [&](const Place& p) {
    for (int i = p.index + 1; i < p.end; ++i) { if (func.places()[i].is_block()) { return false; } }
    return p.is_block();
  };
  if (!is_leaf(place)) { return false; }
  arith::Analyzer analyzer;
  auto is_before = [&](const arith::IntSet& a, const arith::IntSet& b) {
    return !a.is_nothing() && !b.is_nothing() && a.has_upper_bound() && b.has_lower_bound() && analyzer.can_prove(less(a.max(), b.min()));
  };
  for (int i = loop->index + 1; i < loop->end; ++i) {
    const Place& other = func.places()[i];
    if (i == place.index || !is_leaf(other)) { continue; }
    for (const BufferRegion& write : place.block()->writes) {
      for (const BufferRegion& theirs : other.block()->writes) {
        if (!(write.buffer == theirs.buffer)) { continue; }
        auto here = touched_in(func, place, *loop.place, write), there = touched_in(func, other, *loop.place, theirs);
        bool is_apart = false;
        for (size_t d = 0; d < here.size() && d < there.size(); ++d) { is_apart = is_apart || is_before(here[d], there[d]) || is_before(there[d], here[d]); }
        if (!is_apart) { return true; }
      }
    }
  }
  return false;
}

// If each iteration runs a reduction again, it would mix with that of another iteration in the same memory. Either its output must be used
// below the loop only (then each iteration gets a separate buffer), or each iteration must write separate elements. The same holds for
// elements that are computed from incomplete sums, and for elements that several blocks write one after the other.
auto check_not_repeated(const Context& cx, const LoopArg& loop, const Place& place) -> Status {
  const FuncState& func = *loop.func;
  const VarNode* var = loop.loop().var.get();
  if (is_one(loop.loop().extent) || (!place.block()->init && !rewrites(func, place, *loop.place) && !is_written_twice(func, place, loop))) { return ok(); }
  // Code in blocks without iter vars, as in parts of a partitioned loop, uses the loop directly.
  const Place* scope = func.scope(place);
  while (scope && scope->index > loop->index && scope->block()->iter_vars.empty()) { scope = func.scope(*scope); }
  if (!scope || scope->index != loop->scope) { return ok(); }
  bool is_followed = false;
  for (const Expr& value : place.realize->iter_values) { is_followed |= uses_var(value, [&](const VarNode& v) { return &v == var; }); }
  if (is_followed && !shares_instances(func, place, loop)) { return ok(); }
  // The predicate may allow only the first iteration.
  arith::Analyzer analyzer;
  for (const auto& [v, range] : loop_domains(func, place)) {
    if (v.get() == var) { analyzer.bind(v, Range{range.min, range.extent - one(range.extent.dtype())}); } else { analyzer.bind(v, range); }
  }
  Expr later = substitute(place.realize->predicate, {{var, loop.loop().var + one(loop.loop().var->dtype)}});
  if (is_zero(analyzer.simplify(later))) { return ok(); }
  for (const BufferRegion& write : place.block()->writes) {
    bool is_seen = true;
    for (const Place& p : func.places()) {
      if (!p.is_block()) { continue; }
      for (const Buffer& own : p.block()->alloc_buffers) { is_seen = is_seen && !(own == write.buffer); }
    }
    // Statements between blocks belong to no block.
    is_seen = is_seen || is_used_outside(func, *loop, write.buffer) || is_used_between_blocks(func, *loop, write.buffer);
    if (is_seen) { return note_block(note_loop(cx.error(place.block()->init ? Code::ReductionShared : Code::IterationsShare).arg("block", place.name().view()).arg("loop", loop->name().view()), *loop), place); }
  }
  return ok();
}

// Spatial iter vars promise that instances are independent, not that they write different elements: `C[0] = A[vi]` keeps the last value. In
// parallel the result would be any of the values.
auto check_elements_apart(const Context& cx, const LoopArg& loop, const Place& place) -> Status {
  const BlockRealize& realize = *place.realize;
  // An outer block declares more than an instance touches; its inner blocks are checked instead.
  if (is_one(loop.loop().extent)) { return ok(); }
  for (int i = place.index + 1; i < place.end; ++i) { if (loop.func->places()[i].is_block()) { return ok(); } }
  const VarNode* var = loop.loop().var.get();
  std::vector<const VarNode*> following;                      // iter vars that use the loop
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (!uses_var(realize.iter_values[i], [&](const VarNode& v) { return &v == var; })) { continue; }
    if (realize.block->iter_vars[i].kind != IterKind::Spatial) { return ok(); }
    following.push_back(realize.block->iter_vars[i].var.get());
  }
  // An instance that runs again writes the same values, unless it copies elements that other blocks change in between.
  auto is_made_here = [&](const BufferRegion& read) {
    for (int i = loop->index + 1; i < loop->end; ++i) {
      const Place& other = loop.func->places()[i];
      if (!other.is_block() || &other == &place) { continue; }
      bool writes = std::any_of(other.block()->writes.begin(), other.block()->writes.end(), [&](const BufferRegion& write) { return write.buffer == read.buffer; });
      auto is_this = [&](const VarNode& v) { return &v == var; };
      if (writes && std::any_of(other.realize->iter_values.begin(), other.realize->iter_values.end(), [&](const Expr& e) { return uses_var(e, is_this); })) { return true; }
    }
    return false;
  };
  static const Name copies("auto_copy");
  bool is_copy = find_attr(place.block()->annotations, copies) != nullptr;
  if (following.empty() && !(is_copy && std::any_of(place.block()->reads.begin(), place.block()->reads.end(), is_made_here))) { return ok(); }
  for (const BufferRegion& write : place.block()->writes) {
    const auto& map = loop.func->func()->buffer_map;
    bool is_given = std::any_of(map.begin(), map.end(), [&](const auto& entry) { return entry.second == write.buffer; });
    auto follows = [&](const VarNode& v) { return &v == var || std::find(following.begin(), following.end(), &v) != following.end(); };
    bool is_apart = std::any_of(write.region.begin(), write.region.end(), [&](const Range& r) { return uses_var(r.min, follows) || uses_var(r.extent, follows); });
    // Copies write the whole declared region.
    bool is_element = is_copy || std::all_of(write.region.begin(), write.region.end(), [](const Range& r) { return is_one(r.extent); });
    if (is_apart || !is_element || !(is_given || is_used_between_blocks(*loop.func, *loop, write.buffer))) { continue; }
    return race_error(cx, *loop, {.is_known = false, .block = &place, .other = &place, .buffer = write.buffer});
  }
  return ok();
}

// Instances of a block in different iterations that store different values to one element: in parallel, any of the values would stay.
auto check_stores_apart(const Context& cx, const LoopArg& loop, const Place& place, ForKind kind) -> Status {
  const FuncState& func = *loop.func;
  const Block& block = *place.block();
  if (stores_apart(block)) { return ok(); }
  for (int i = place.index + 1; i < place.end; ++i) { if (func.places()[i].is_block()) { return ok(); } }
  bool is_spatial = std::all_of(block.iter_vars.begin(), block.iter_vars.end(), [](const IterVar& iter) { return iter.kind == IterKind::Spatial; });
  if (is_one(loop.loop().extent) || block.init || !is_spatial) { return ok(); }
  BlockLoops nest{loop_domains(func, place), place.realize->iter_values.to_vector(), place.realize->predicate};
  // The loops around stay at one iteration.
  for (auto& [var, range] : nest.loops) {
    if (var.get() == loop.loop().var.get()) { break; }
    range.extent = one(range.extent.dtype());
  }
  // Lowering gives each iteration its own copy of buffers that only blocks below the loop use.
  auto is_own = [&](const Buffer& buffer) {
    const auto& map = func.func()->buffer_map;
    bool is_given = std::any_of(map.begin(), map.end(), [&](const auto& entry) { return entry.second == buffer; });
    return !is_given && !is_used_outside(func, *loop, buffer) && !is_used_between_blocks(func, *loop, buffer);
  };
  const StoresMeet meet = meeting_stores(block, nest, loop.loop().var, is_own);
  if (meet.answer == StoresMeet::Answer::Differ) {
    return note_block(note_loop(cx.error(Code::IterationsWrite).arg("loop", loop->name().view()).arg("buffer", meet.buffer->name.view()).arg("block", place.name().view())
                                    .arg("shown", "instances"), *loop), place);
  }
  if (meet.answer == StoresMeet::Answer::LooksUp && cx.doubts) {
    std::string_view called = kind == ForKind::Vectorized ? "vectorized" : kind == ForKind::Parallel ? "parallel" : "thread";
    cx.doubts->push_back(note_block(cx.error(Code::PossibleRace).arg("kind", called).arg("loop", loop->name().view()).arg("buffer", block.writes.empty() ? std::string_view("?") : block.writes.front().buffer->name.view()), place)
                   .remedy(fmt::format("make sure that the indices differ, or keep `{}` serial", loop->name().view())));
  }
  return ok();
}

// Each block below is a complete or reduction block, and the loop feeds spatial iter vars only (or, if bound to the threads
// of a block, reduction iter vars: a cross-thread reduction). `is_lone`: no work that threads share lies between iterations.
auto check_independent(const Context& cx, const LoopArg& loop, bool allows_reduction, bool is_lone, ForKind kind) -> Status {
  const FuncState& func = *loop.func;
  if (is_apart_in_recurrence(func, *loop)) { return ok(); }
  LOOPSMITH_CHECK(require_compact_dataflow(cx, func, *loop));
  if (!FAULT(parallel_dependence_dropped)) { LOOPSMITH_CHECK(require_local_dependences(cx, func, *loop, is_lone)); }
  const VarNode* var = loop.loop().var.get();
  for (int i = loop->index + 1; i < loop->end; ++i) {
    const Place& place = func.places()[i];
    if (!place.is_block()) { continue; }
    const BlockRealize& realize = *place.realize;
    LOOPSMITH_CHECK(check_not_repeated(cx, loop, place));
    if (!FAULT(parallel_dependence_dropped)) {
      LOOPSMITH_CHECK(check_stores_apart(cx, loop, place, kind));
      LOOPSMITH_CHECK(check_elements_apart(cx, loop, place));
    }
    for (size_t k = 0; k < realize.iter_values.size(); ++k) {
      const IterVar& iter = realize.block->iter_vars[k];
      if (iter.kind == IterKind::Spatial || (iter.kind == IterKind::Reduction && (allows_reduction || FAULT(parallel_reduction)))) { continue; }
      if (!uses_var(realize.iter_values[k], [&](const VarNode& v) { return &v == var; })) { continue; }
      Diagnostic out = note_block(note_loop(cx.error(Code::LoopCarried).arg("loop", loop->name().view()).arg("block", place.name().view())
                                                .arg("iter", iter.var->name.view()), *loop), place);
      if (iter.kind == IterKind::Reduction) { out.remedies.push_back("apply `sch.rfactor` first: its partial results can be computed in parallel"); }
      return out;
    }
  }
  if (!is_lone || FAULT(parallel_dependence_dropped) || FAULT(parallel_reduction)) { return ok(); }
  if (Races races = counted_races(func, *loop); races.block) { return race_error(cx, *loop, races); }
  return ok();
}

// Each thread of a cross-thread reduction begins with the value of `T.init()`, and then all results are combined. A value that is loaded
// in the init, such as a bias, would count once per thread. For an extremum this does no harm.
auto check_begins_with_identity(const Context& cx, const LoopArg& loop) -> Status {
  const FuncState& func = *loop.func;
  const VarNode* var = loop.loop().var.get();
  if (is_one(loop.loop().extent)) { return ok(); }
  for (int i = loop->index + 1; i < loop->end; ++i) {
    const Place& place = func.places()[i];
    if (!place.is_block() || !place.block()->init) { continue; }
    bool is_reduced = false;
    for (size_t k = 0; k < place.realize->iter_values.size(); ++k) {
      is_reduced = is_reduced || (place.block()->iter_vars[k].kind == IterKind::Reduction && uses_var(place.realize->iter_values[k], [&](const VarNode& v) { return &v == var; }));
    }
    auto updates = is_reduced ? find_updates(*place.block()) : std::nullopt;
    for (size_t k = 0; updates && k < updates->identities.size(); ++k) {
      bool is_loaded = false;
      post_order(updates->identities[k], [&](const Expr& e) { is_loaded = is_loaded || e.kind() == NodeKind::BufferLoad; });
      NodeKind combiner = updates->values[k].kind();
      if (!is_loaded || combiner == NodeKind::Min || combiner == NodeKind::Max) { continue; }
      return note_block(note_loop(cx.error(Code::BeginsWithValue).arg("loop", loop->name().view()).arg("block", place.name().view())
                                      .arg("value", print_script(updates->identities[k])), *loop), place)
          .remedy("let the reduction begin with its identity, and join the value in a block behind it (`reverse_compute_at` instead of `fuse_reduction_epilogue`)");
    }
  }
  return ok();
}

// A thread has one index per axis. If two loops around a block are bound to one axis, iterations in which their variables differ would never run. If the
// block writes by only one of them, as in a copy that threads make together, the other loop is a repetition.
auto check_axis_alone(const Context& cx, const LoopArg& loop, Name axis) -> Status {
  const FuncState& func = *loop.func;
  const VarNode* var = loop.loop().var.get();
  if (is_one(loop.loop().extent)) { return ok(); }
  auto goes_there = [&](const Place& place) {
    return place.is_loop() && place.loop->thread && place.loop->thread->thread_tag == axis && !is_one(place.loop->extent) && place.index != loop->index;
  };
  for (int i = loop->index + 1; i < loop->end; ++i) {
    const Place& place = func.places()[i];
    if (!place.is_block()) { continue; }
    // Only the writes count: an iter var that they do not use is a repetition.
    auto follows = [&](const VarNode* of) {
      const Block& block = *place.block();
      for (size_t k = 0; k < block.iter_vars.size(); ++k) {
        auto is_it = [&](const VarNode& v) { return &v == block.iter_vars[k].var.get(); };
        bool is_written_by = std::any_of(block.writes.begin(), block.writes.end(), [&](const BufferRegion& write) {
          return std::any_of(write.region.begin(), write.region.end(), [&](const Range& r) { return uses_var(r.min, is_it) || uses_var(r.extent, is_it); });
        });
        if (is_written_by && uses_var(place.realize->iter_values[k], [&](const VarNode& v) { return &v == of; })) { return true; }
      }
      return false;
    };
    if (!follows(var)) { continue; }
    for (const Place* other = func.parent(place); other; other = func.parent(*other)) {
      if (!goes_there(*other) || !follows(other->loop->var.get())) { continue; }
      return note_block(note_loop(note_loop(cx.error(Code::ThreadTwice).arg("name", loop->name().view()).arg("tag", axis.view()), *loop), *other), place)
          .remedy("bind it to another axis, or `fuse` both loops and bind the result");
    }
  }
  return ok();
}

auto with_kind(const Context& cx, const LoopArg& loop, ForKind kind, std::optional<IterVar> thread) -> Outcome {
  // A loop that already has this kind stays unchanged.
  const For& old = loop.loop();
  if (old.for_kind == kind && (thread ? old.thread && old.thread->thread_tag == thread->thread_tag : !old.thread)) { return {}; }
  Outcome out;
  out.func = loop.func->name();
  out.rewrite.changes.push_back(
      {loop->id, with_parts(loop.loop(), {.body = {}, .kind = kind, .thread = std::move(thread)}, cx.made_from(loop.loop().origin))});
  return out;
}

/// Runs the iterations of a loop on several cores.
///
///     for i in range(8):           ==>       for i in T.parallel(8):
///
/// Needs  blocks below that are complete or reductions, and that read from each other only elements of the same iteration; the loop
///        feeds spatial iter vars only.
/// Keeps  results bit for bit: no iteration needs another one.
struct Parallel {
  struct Args { LoopArg loop; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_CHECK(check_independent(cx, args.loop, false, true, ForKind::Parallel));
    return Plan{};
  }
  static auto apply(const Context& cx, const Args& args, const Plan&) -> Outcome { return with_kind(cx, args.loop, ForKind::Parallel, {}); }
};

/// Runs the iterations of a loop as lanes of vectors.
///
///     for i in range(8):           ==>       for i in T.vectorized(8):
///
/// Needs  blocks below that are complete or reductions, and that read from each other only elements of the same iteration; the loop
///        feeds spatial iter vars only.
/// Keeps  results bit for bit.
struct Vectorize {
  struct Args { LoopArg loop; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_CHECK(check_independent(cx, args.loop, false, true, ForKind::Vectorized));
    return Plan{};
  }
  static auto apply(const Context& cx, const Args& args, const Plan&) -> Outcome { return with_kind(cx, args.loop, ForKind::Vectorized, {}); }
};

/// Runs the iterations of a loop on the threads of an axis.
///
///     for i in range(8):           ==>       for i in T.thread_binding(8, thread="threadIdx.x"):
///
/// Needs  blocks below that are complete or reductions, and that read from each other only elements of the same iteration; the loop
///        feeds spatial iter vars only; on `threadIdx` it may feed reduction iter vars too (cross-thread
///        reduction); no block below whose writes use another loop bound to that axis as well.
/// Keeps  results; a cross-thread reduction accumulates in another order.
struct Bind {
  struct Args { LoopArg loop; std::string thread_axis; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    auto thread = loopsmith::thread_axis(args.thread_axis);
    if (!thread) {
      // Reports a loop that fits no axis at all first.
      LOOPSMITH_CHECK(check_independent(cx, args.loop, /*allows_reduction=*/false, /*is_lone=*/true, ForKind::ThreadBinding));
      return note_loop(cx.error(Code::ThreadAxis).arg("axis", args.thread_axis), *args.loop)
          .remedy("choose `blockIdx.x`, `.y`, `.z`, `threadIdx.x`, `.y`, `.z` or `vthread.x`, `.y`, `.z`");
    }
    LOOPSMITH_CHECK(check_independent(cx, args.loop, thread->family == ThreadFamily::Thread, thread->family == ThreadFamily::Block, ForKind::ThreadBinding));
    LOOPSMITH_CHECK(check_begins_with_identity(cx, args.loop));
    if (thread->dimension != -1) { LOOPSMITH_CHECK(check_axis_alone(cx, args.loop, Name(args.thread_axis))); }
    return Plan{};
  }
  static auto apply(const Context& cx, const Args& args, const Plan&) -> Outcome {
    const For& loop = args.loop.loop();
    IterVar thread{make<VarNode>(Name(args.thread_axis), loop.var->dtype, loop.var->origin), Range{}, IterKind::ThreadIndex,
                   Name(args.thread_axis), cx.made_from(loop.origin)};
    return with_kind(cx, args.loop, ForKind::ThreadBinding, std::move(thread));
  }
};

/// Replaces a loop, when it is lowered, by its iterations one after the other.
///
///     for i in range(8):           ==>       for i in T.unroll(8):
///
/// Keeps  the order of block instances.
struct Unroll {
  struct Args { LoopArg loop; };
  struct Plan {};
  static auto check(const Context&, const Args&) -> Result<Plan> { return Plan{}; }
  static auto apply(const Context& cx, const Args& args, const Plan&) -> Outcome { return with_kind(cx, args.loop, ForKind::Unrolled, {}); }
};

}  // namespace

const Primitive parallel = primitive<Parallel>("parallel", "Parallel", "runs the iterations of a loop on several cores",
    {Order::Changed, Hidden::ReordersIterations})
    .input("loop", &Parallel::Args::loop)
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nsch.parallel(i)");
const Primitive vectorize = primitive<Vectorize>("vectorize", "Vectorize", "runs the iterations of a loop as lanes of vectors",
    {Order::Changed, Hidden::ReordersIterations})
    .input("loop", &Vectorize::Args::loop)
    .example(examples::two_stages, "i0, i1 = sch.get_loops(\"C\")\nsch.vectorize(i1)");
const Primitive bind = primitive<Bind>("bind", "Bind", "runs the iterations of a loop on the threads of an axis", {Order::Changed, Hidden::ReordersIterations})
    .input("loop", &Bind::Args::loop)
    .attr("thread_axis", &Bind::Args::thread_axis).from(candidates::thread_axes)
    .example(examples::two_stages, "i0, i1 = sch.get_loops(\"C\")\nsch.bind(i0, \"blockIdx.x\")");
const Primitive unroll = primitive<Unroll>("unroll", "Unroll", "writes the iterations of a loop out one after the other", {Order::Kept, Hidden::Harmless})
    .input("loop", &Unroll::Args::loop)
    .example(examples::two_stages, "i0, i1 = sch.get_loops(\"C\")\nsch.unroll(i1)");

}  // namespace loopsmith::schedule::primitives
