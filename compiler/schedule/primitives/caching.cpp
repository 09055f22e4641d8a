// Primitives that stage a buffer through another memory: cache_read, cache_write, cache_inplace. They put a copying block between
// the buffer and its users.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "ir/dialects.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/candidates.h"
#include "schedule/counted_races.h"
#include "schedule/examples.h"
#include "schedule/facts/own_writes.h"
#include "schedule/facts/regions.h"
#include "schedule/facts/writes.h"
#include "schedule/func_tree.h"
#include "schedule/hidden.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"

namespace loopsmith::schedule::primitives {
namespace {

// True if a region contains another one, for all iterations of the loops around a place and of the place itself.
auto holds_region(const FuncState& func, const Place& around, const BufferRegion& held, const BufferRegion& wanted) -> bool {
  arith::Analyzer analyzer;
  bind_loops(func, &around, analyzer);
  for (size_t i = 0; i < held.region.size(); ++i) {
    const Range& w = wanted.region[i];
    const Range& h = held.region[i];
    if (!analyzer.can_prove(less_equal(h.min, w.min)) || !analyzer.can_prove(less_equal(add(w.min, w.extent), add(h.min, h.extent)))) { return false; }
  }
  return true;
}

// The part of a region that lies within its buffer: a program accesses no other elements.
auto within_buffer(const BufferRegion& region) -> BufferRegion {
  arith::Analyzer analyzer;
  std::vector<Range> out;
  for (size_t d = 0; d < region.region.size(); ++d) {
    const Range& range = region.region[d];
    Expr nothing = zero(range.min.dtype());
    Expr low = analyzer.simplify(max(range.min, nothing));
    Expr end = analyzer.simplify(min(range.min + cast(range.min.dtype(), range.extent), cast(range.min.dtype(), region.buffer->shape[d])));
    Expr extent = analyzer.simplify(max(end - low, nothing));
    out.push_back({std::move(low), std::move(extent)});
  }
  return {region.buffer, Array<Range>(std::move(out)), region.origin};
}

// Proves that each load of a buffer in a block without inner blocks stays within a region, given the conditions around the load.
class LoadsWithin : public Visitor {
 public:
  LoadsWithin(const FuncState& func, const Place& block, const BufferRegion& held) : held_(held), bindings_(bindings_of(*block.realize)) {
    bind_loops(func, &block, analyzer_);
    is_within_ = block.end == block.index + 1 && block.block()->match_buffers.empty();
    auto runs = analyzer_.enter(block.realize->predicate);
    if (block.block()->init) { visit(block.block()->init); }
    visit(block.block()->body);
  }
  [[nodiscard]] auto holds() const -> bool { return is_within_; }

 protected:
  using Visitor::on;
  using Visitor::visit;
  void on(const VarNode& n) override { is_within_ = is_within_ && &n != held_.buffer->data.get(); }
  void on(const BufferLoad& n) override {
    Visitor::on(n);
    if (!(n.buffer == held_.buffer)) { return; }
    for (size_t d = 0; is_within_ && d < n.indices.size(); ++d) {
      Expr index = substitute(n.indices[d], bindings_);
      const Range& range = held_.region[d];
      is_within_ = index.dtype().lanes == 1 && analyzer_.can_prove(less_equal(range.min, index)) && analyzer_.can_prove(less(index, range.min + cast(range.min.dtype(), range.extent)));
    }
  }
  void on(const For& n) override {
    visit(n.min);
    visit(n.extent);
    analyzer_.bind(n.var, Range{substitute(n.min, bindings_), substitute(n.extent, bindings_)});
    visit(n.body);
  }
  void on(const IfThenElse& n) override {
    visit(n.condition);
    under(n.condition, [&] { visit(n.then_case); });
    if (n.else_case) { under(logical_not(n.condition), [&] { visit(n.else_case); }); }
  }
  void on(const Call& n) override {
    static const Name if_then_else_name("if_then_else");
    if (!(n.op == if_then_else_name) || n.args.size() != 3) { return Visitor::on(n); }
    visit(n.args[0]);
    under(n.args[0], [&] { visit(n.args[1]); });
    under(logical_not(n.args[0]), [&] { visit(n.args[2]); });
  }

 private:
  template <class F>
  void under(const Expr& condition, const F& f) {
    bool looks_up = false;
    post_order(condition, [&](const Expr& e) { looks_up = looks_up || e.as<BufferLoad>() || e.as<Call>(); });
    auto known = looks_up ? arith::Analyzer::Scope() : analyzer_.enter(substitute(condition, bindings_));
    f();
  }
  const BufferRegion& held_;
  const VarMap bindings_;
  arith::Analyzer analyzer_;
  bool is_within_ = true;
};

// The copy into a buffer that threads share covers the elements of all threads of the loops around. From a shared cache a barrier makes that right; a cache in a
// thread's own memory has no elements of others.
auto require_made_by_thread(const Context& cx, const FuncState& func, const Place& writer, const Stage& stage, const std::string& storage) -> Status {
  for (const Place* loop = stage.at; loop && loop->is_loop(); loop = func.parent(*loop)) {
    if (!is_bound_to_threads(*loop->loop) || !is_shared_across(stage.region.buffer->scope(), loop->loop->thread->thread_tag) || !func.is_below(writer, *loop)) { continue; }
    if (is_shared_across(Name(storage), loop->loop->thread->thread_tag)) { continue; }
    auto is_index = [&](const VarNode& v) { return &v == loop->loop->var.get(); };
    const bool is_own = std::any_of(stage.region.region.begin(), stage.region.region.end(), [&](const Range& r) { return uses_var(r.min, is_index); });
    const bool differs = std::any_of(writer.realize->iter_values.begin(), writer.realize->iter_values.end(), [&](const Expr& e) { return uses_var(e, is_index); });
    if (is_own || !differs) { continue; }
    return note_loop(note_block(cx.error(Code::CopiesRace).arg("block", writer.name().view()).arg("loop", loop->name().view()).arg("buffer", stage.region.buffer->name.view()), writer), *loop);
  }
  return ok();
}

// If only one block inside the outer block uses a buffer: the part of that block's predicate that limits the iter vars of the outer block. None: there is no such
// part. Dialects with `T.sblock` copy only that part; earlier versions copied the whole region that the outer block declares.
auto where_used_inside(const Context& cx, const FuncState& func, const Place& block, const Buffer& buffer, bool reads) -> Expr {
  if (!dialects::is_recent(cx.state.module()->dialect)) { return {}; }
  const auto& views = block.block()->match_buffers;
  if (std::any_of(views.begin(), views.end(), [&](const MatchBufferRegion& m) { return m.source.buffer == buffer; })) { return {}; }
  const Place* user = nullptr;
  for (int i = block.index + 1; i < block.end; ++i) {
    const Place& inner = func.places()[static_cast<size_t>(i)];
    if (!inner.is_block()) { continue; }
    bool is_user = region_of(reads ? inner.block()->reads : inner.block()->writes, buffer) != nullptr;
    if (is_user && user) { return {}; }
    if (is_user) { user = &inner; }
  }
  if (!user || is_one(user->realize->predicate)) { return {}; }
  bool is_used_beside = false;
  std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
    if (const auto* realize = s.as<BlockRealize>(); realize && realize->block->id == user->id) { return; }
    const auto* store = s.as<BufferStore>();
    is_used_beside = is_used_beside || (store && store->buffer == buffer);
    visit_children(s, [&](const Expr& e) {
      post_order(e, [&](const Expr& x) { const auto* load = x.as<BufferLoad>(); is_used_beside = is_used_beside || (load && load->buffer == buffer) || x.get() == buffer->data.get(); });
    }, walk);
  };
  walk(block.block()->body);
  if (is_used_beside) { return {}; }
  Expr out = substitute(user->realize->predicate, bindings_of(*user->realize));
  for (const Place* at = func.parent(*user); at != &block; at = func.parent(*at)) {
    auto is_from_inside = [&](const VarNode& v) {
      return at->is_loop() ? &v == at->loop->var.get()
                           : std::any_of(at->block()->iter_vars.begin(), at->block()->iter_vars.end(), [&](const IterVar& iter) { return iter.var.get() == &v; });
    };
    if (uses_var(out, is_from_inside)) { return {}; }
  }
  bool is_looked_up = false;
  post_order(out, [&](const Expr& e) { is_looked_up = is_looked_up || e.as<BufferLoad>() || e.as<Call>(); });
  return is_looked_up ? Expr() : out;
}

// True if an instance of a block reads values of a buffer from before it ran. False if inner blocks read elements that other inner
// blocks have written.
auto reads_older(const FuncState& func, const Place& block, const Buffer& buffer) -> bool {
  if (!region_of(block.block()->reads, buffer) && !reads_back(func, block, buffer)) { return false; }
  if (reads_own_sums(*block.block(), buffer) || reads_own_writes_only(func, block, buffer)) { return false; }
  const auto inside = func.child_blocks(block);
  bool is_viewed = std::any_of(block.block()->match_buffers.begin(), block.block()->match_buffers.end(), [&](const MatchBufferRegion& m) { return m.source.buffer == buffer; });
  if (inside.empty() || is_viewed || block.block()->init || reads_hidden(func, block, buffer)) { return true; }
  for (const Place* inner : inside) {
    if (reads_hidden(func, *inner, buffer)) { return true; }
    if (!region_of(inner->block()->reads, buffer)) { continue; }
    bool is_made = false;
    for (const Dependence& d : func.scope_info(block).of_dst(inner->id)) {
      const Place* maker = func.find(d.src);
      is_made = is_made || (d.kind == DependenceKind::Raw && maker->index < inner->index && region_of(maker->block()->writes, buffer));
    }
    if (!is_made || !func.region_cover(*inner)) { return true; }
  }
  bool found = false;
  std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
    if (s.as<BlockRealize>()) { return; }
    visit_children(s, [&](const Expr& e) {
      post_order(e, [&](const Expr& x) { const auto* load = x.as<BufferLoad>(); found = found || (load && load->buffer == buffer) || x.get() == buffer->data.get(); });
    }, walk);
  };
  walk(block.block()->body);
  return found;
}

// Changes the region of a copy so that bounds of its loops never divide by 0: where a bound divides by an unknown size, the whole dimension is
// copied. (The loops of the block itself do not run if that size is 0.)
auto without_division_by_zero(BufferRegion region) -> BufferRegion {
  arith::Analyzer analyzer;
  auto may_fail = [&](const Expr& end) {
    bool found = false;
    auto look_at = [&](const Expr& divisor) { found = found || is_zero(divisor) || (!as_int(divisor) && !analyzer.can_prove(not_equal(divisor, zero(divisor.dtype())))); };
    post_order(end, [&](const Expr& e) {
      if (const auto* quotient = e.as<FloorDiv>()) { look_at(quotient->b); }
      if (const auto* rest = e.as<FloorMod>()) { look_at(rest->b); }
    });
    return found;
  };
  std::vector<Range> ranges = region.region.to_vector();
  for (size_t d = 0; d < ranges.size(); ++d) {
    if (may_fail(ranges[d].min) || may_fail(ranges[d].extent)) { ranges[d] = from_zero(region.buffer->shape[d]); }
  }
  region.region = std::move(ranges);
  return region;
}

// The loops of a copy run even where the predicate of the block is false. Bounds that are loaded from a buffer are then loaded
// as well, perhaps from outside of that buffer.
auto require_known_region(const Context& cx, const Place& block, const Stage& stage) -> Status {
  if (is_one(block.realize->predicate)) { return ok(); }
  const BufferNode* looked_up = nullptr;
  for (const Range& range : stage.region.region) {
    for (const Expr& end : {range.min, range.extent}) {
      post_order(end, [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { looked_up = load->buffer.get(); } });
    }
  }
  if (!looked_up) { return ok(); }
  return note_block(cx.error(Code::CopyLooksUp).arg("block", block.name().view()).arg("buffer", looked_up->name.view())
                        .arg("where", "also where its predicate keeps it from running"), block);
}

/// Reads a buffer through a copy of it in another memory.
///
///     for i in range(8):                     for ax0 in range(8):
///         B[i] = A[i] * 2.0        ==>           A_shared[ax0] = A[ax0]
///                                            for i in range(8):
///                                                B[i] = A_shared[i] * 2.0
///
/// Needs  a buffer that at most one block of the scope writes, and that covers all reads by its writes; named consumers that
///        all run behind that block, or all before it; if iterations run at the same time, each copies only elements that it made or that are its own;
///        if the writing block has a predicate, indices of the copied region that are not loaded from a buffer.
/// Keeps  results bit for bit.
struct CacheRead {
  struct Args { BlockArg block; int64_t read_buffer_index = 0; std::string storage_scope; std::vector<BlockArg> consumer_blocks; };
  struct Plan { Buffer buffer; Stage stage; int last_before = -1; };   // the last place that runs before the copy

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    LOOPSMITH_CHECK(require_storage_scope(cx, args.storage_scope));
    LOOPSMITH_TRY(read, require_buffer(cx, *args.block, args.read_buffer_index, false));
    const Buffer& buffer = read.buffer;
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    std::vector<const Place*> mentioning = func.blocks_mentioning(*scope, buffer);
    for (const Place* block : mentioning) {
      if (region_of(block->block()->reads, buffer) && !func.region_cover(*block)) {
        return note_block(cx.error(Code::NotCovered).arg("block", block->name().view()).arg("buffer", buffer->name.view()), *block);
      }
    }
    for (const Place* block : mentioning) {
      bool is_consumer = args.consumer_blocks.empty();
      for (const BlockArg& consumer : args.consumer_blocks) { is_consumer |= consumer.place == block; }
      if (is_consumer) { LOOPSMITH_CHECK(require_no_view(cx, *block, buffer, args.storage_scope)); }
    }
    Plan plan{buffer, {}, -1};
    plan.stage.scope = scope;
    LOOPSMITH_TRY(writer, require_single_writer(cx, func, *scope, buffer));
    if (writer) {
      LOOPSMITH_TRY(before, plan_beside_writer(cx, func, args, *writer, mentioning, plan));
      if (before) { return plan; }
    } else {
      LOOPSMITH_CHECK(plan_at_scope(cx, func, args, read, mentioning, plan));
    }
    plan.stage.is_full = plan.stage.at->is_loop() || uses_loops_outside(func, plan.stage) || !all_readers_below(func, *scope, *plan.stage.at, buffer);
    return plan;
  }

  // The copy is made behind the writer. Blocks that read before it, or in place, cannot read the copy, and count as consumers
  // only if named. If all named consumers run before the writer, the copy is made before both, at the scope's start.
  // Returns true in the second case: the plan is then complete.
  static auto plan_beside_writer(const Context& cx, const FuncState& func, const Args& args, const Place& writer, const std::vector<const Place*>& mentioning, Plan& plan) -> Result<bool> {
    const Buffer& buffer = plan.buffer;
    const Place& scope = *plan.stage.scope;
    plan.last_before = writer.index;
    const Place* before = nullptr;
    const Place* behind = nullptr;
    for (const Place* block : mentioning) {
      bool is_consumer = false;
      for (const BlockArg& consumer : args.consumer_blocks) { is_consumer |= consumer.place == block; }
      if (!is_consumer || !(region_of(block->block()->reads, buffer) || reads_hidden(func, *block, buffer))) { continue; }
      // A block that works in place reads and writes.
      if (block->index <= writer.index) { before = block; }
      if (block->index >= writer.index) { behind = block; }
    }
    if (before && behind) {
      return note_block(cx.error(Code::NotCovered).arg("block", before->name().view()).arg("buffer", buffer->name.view()), *before)
          .note(writer.block()->origin, fmt::format("`{}` writes `{}`, and the copy is made behind it", writer.name().view(), buffer->name.view()), writer.id);
    }
    if (before) {
      plan.stage.at = &scope;
      plan.stage.position = 0;
      plan.stage.region = without_division_by_zero(relaxed_region(func, writer, *region_of(writer.block()->writes, buffer), &scope));
      plan.stage.is_full = uses_loops_outside(func, plan.stage) || !all_readers_below(func, scope, scope, buffer);
      LOOPSMITH_CHECK(require_known_region(cx, writer, plan.stage));
      for (const BlockArg& consumer : args.consumer_blocks) { LOOPSMITH_CHECK(require_read_first(cx, func, writer, *consumer, plan.stage)); }
      return true;
    }
    std::vector<NodeId> users;
    for (const BlockArg& consumer : args.consumer_blocks) { users.push_back(consumer->id); }
    if (users.empty()) {
      for (const Dependence& d : func.scope_info(scope).of_src(writer.id)) {
        if (d.kind == DependenceKind::Raw && !d.is_hidden) { users.push_back(d.dst); }
      }
    }
    find_stage(func, writer, users, plan.stage);
    LOOPSMITH_CHECK(require_one_buffer(cx, func, writer, *plan.stage.at, buffer));
    const BufferRegion& write = *region_of(writer.block()->writes, buffer);
    plan.stage.region = without_division_by_zero(relaxed_region(func, writer, write, plan.stage.at));
    LOOPSMITH_CHECK(require_known_region(cx, writer, plan.stage));
    LOOPSMITH_CHECK(require_own_copies(cx, func, writer, write, plan.stage));
    // Blocks with hidden reads may read more than was written.
    for (const Place* block : mentioning) {
      bool is_consumer = args.consumer_blocks.empty() && block->index > plan.last_before;
      for (const BlockArg& consumer : args.consumer_blocks) { is_consumer |= consumer.place == block; }
      if (!is_consumer || region_of(block->block()->reads, buffer) || !reads_hidden(func, *block, buffer)) { continue; }
      if (!holds_region(func, scope, relaxed_region(func, writer, write, &scope), full_region(buffer))) {
        return note_block(cx.error(Code::NotCovered).arg("block", block->name().view()).arg("buffer", buffer->name.view()), *block);
      }
    }
    return false;
  }

  // Without a writer in the scope, the copy is made at its start.
  static auto plan_at_scope(const Context& cx, const FuncState& func, const Args& args, const BufferRegion& read, const std::vector<const Place*>& mentioning, Plan& plan) -> Status {
    const Buffer& buffer = plan.buffer;
    const Place& scope = *plan.stage.scope;
    plan.stage.at = &scope;
    plan.stage.position = 0;
    const BufferRegion* declared = region_of(scope.block()->reads, buffer);
    plan.stage.region = declared ? *declared : full_region(buffer);
    bool is_only_reader = std::all_of(mentioning.begin(), mentioning.end(), [&](const Place* block) {
      return block == args.block.place || func.is_below(*block, *args.block) || !(region_of(block->block()->reads, buffer) || reads_hidden(func, *block, buffer));
    });
    if (Expr where = is_only_reader ? where_used_inside(cx, func, *args.block, buffer, true) : Expr()) {
      plan.stage.region = without_division_by_zero(relaxed_region(func, *args.block, read, &scope, where));
    }
    LOOPSMITH_CHECK(require_unwritten_beside(cx, func, scope, declared, buffer, args.block));
    return ok();
  }

  // Iterations that run at the same time as the scope must not write elements of the copied region. The copied region is the one that the scope declares
  // to read, which may be larger than needed, or the whole buffer if it declares none.
  static auto require_unwritten_beside(const Context& cx, const FuncState& func, const Place& scope, const BufferRegion* declared, const Buffer& buffer, const BlockArg& block) -> Status {
    for (const Place* at = func.parent(scope); at; at = func.parent(*at)) {
      if (at->is_block()) {
        if (func.allocates(*at, buffer)) { return ok(); }
        continue;
      }
      if (!runs_at_once(*at->loop)) { continue; }
      for (int i = at->index + 1; i < at->end; ++i) {
        const Place& writer = func.places()[static_cast<size_t>(i)];
        if (!writer.is_block() || !region_of(writer.block()->writes, buffer)) { continue; }
        // If instances can be counted, the races of the result are checked after the step instead.
        if (declared && (stays_apart(func, scope, *at, *declared) || counted_races(func, *at).is_known)) { break; }
        return note_block(note_loop(cx.error(Code::IterationsDepend).arg("loop", at->name().view()).arg("producer", writer.name().view())
                                        .arg("consumer", block->name().view()), *at), writer);
      }
    }
    return ok();
  }

  // For a copy at the start of the scope: no instance of the writer runs before one of the consumer, and the consumer reads only copied
  // elements.
  static auto require_read_first(const Context& cx, const FuncState& func, const Place& writer, const Place& consumer, const Stage& stage) -> Status {
    const Buffer& buffer = stage.region.buffer;
    const BufferRegion* read = region_of(consumer.block()->reads, buffer);
    if (!read && !reads_hidden(func, consumer, buffer)) { return ok(); }
    auto refuse = [&] { return note_block(cx.error(Code::NotCovered).arg("block", consumer.name().view()).arg("buffer", buffer->name.view()), consumer); };
    for (const Place* at = func.parent(consumer); at && at->is_loop(); at = func.parent(*at)) {
      if (func.is_below(writer, *at) && !is_one(at->loop->extent)) {
        return note_loop(refuse(), *at).note(writer.block()->origin, fmt::format("`{}` writes `{}` in earlier iterations of `{}`", writer.name().view(), buffer->name.view(), at->name().view()), writer.id);
      }
    }
    if (!holds_region(func, *stage.scope, stage.region, read ? relaxed_region(func, consumer, *read, stage.scope) : full_region(buffer))) { return refuse(); }
    return ok();
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const FuncState& func = *args.block.func;
    const Stage& stage = plan.stage;
    Buffer cache = shrunk(in_scope(plan.buffer, args.storage_scope), stage);
    Origin origin = cx.made_from(args.block.block().origin);
    CopyNest copy = make_copy(func, stage, plan.buffer, cache, args.storage_scope, origin);
    Outcome out;
    out.func = func.name();
    for (const Place* block : func.blocks_mentioning(*stage.scope, plan.buffer)) {
      bool is_consumer = args.consumer_blocks.empty() && block->index > plan.last_before;
      for (const BlockArg& consumer : args.consumer_blocks) { is_consumer |= consumer.place == block; }
      if (!is_consumer) { continue; }
      Stmt changed = redirected(*block, plan.buffer, cache, stage, true, false);
      if (changed.get() != block->block()) { out.rewrite.changes.push_back({block->id, std::move(changed)}); }
    }
    out.rewrite.inserts.push_back({stage.at->id, stage.position, std::move(copy.stmt)});
    out.rewrite.allocs.push_back({stage.scope->id, cache, {}});
    out.outputs.push_back(Output::block(copy.block));
    return out;
  }
};

/// Writes a buffer through a copy of it in another memory.
///
///     for i in range(8):                     for i in range(8):
///         B[i] = A[i] * 2.0        ==>           B_local[i] = A[i] * 2.0
///                                            for ax0 in range(8):
///                                                B[ax0] = B_local[ax0]
///
/// Needs  the only block of its scope that writes the buffer, and that reads no earlier elements of it; if the scope does not
///        allocate the buffer, writes to every element that is copied; no block in front of it in a loop that reads in a later iteration what it
///        wrote; named consumers that read only elements which the block writes;
///        if it has a predicate, indices of the written region that are not loaded from a buffer.
/// Keeps  results bit for bit.
struct CacheWrite {
  struct Args { BlockArg block; int64_t write_buffer_index = 0; std::string storage_scope; std::vector<BlockArg> consumer_blocks; };
  struct Plan { Buffer buffer; Stage stage; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    LOOPSMITH_CHECK(require_storage_scope(cx, args.storage_scope));
    LOOPSMITH_TRY(write, require_buffer(cx, *args.block, args.write_buffer_index, true));
    const Buffer& buffer = write.buffer;
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    LOOPSMITH_TRY(writer, require_single_writer(cx, func, *scope, buffer));
    if (writer != args.block.place) { return cx.error(Code::Internal).arg("what", "the writer of a buffer is not in its scope"); }
    LOOPSMITH_CHECK(require_no_view(cx, *args.block, buffer, args.storage_scope));
    for (const BlockArg& consumer : args.consumer_blocks) {
      if (func.is_below(*consumer.place, *scope)) { continue; }
      return note_block(cx.error(Code::CacheReader).arg("block", writer->name().view()).arg("consumer", consumer->name().view()).arg("reason", because(Why::InOtherBlock).text()), *writer);
    }
    // A block that works in place reads elements that were in the buffer before, and that the cache would lack.
    if (reads_older(func, *writer, buffer) && !FAULT(cache_write_in_place)) {
      return note_block(cx.error(Code::CopyReadsOwn).arg("block", writer->name().view()).arg("buffer", buffer->name.view()), *writer);
    }
    if (!begins_reductions(func, *writer)) {
      return note_block(cx.error(Code::CopyPartOfReduction).arg("block", writer->name().view()).arg("buffer", buffer->name.view()), *writer);
    }
    Plan plan{buffer, {}};
    plan.stage.scope = scope;
    std::vector<NodeId> users;
    for (const Dependence& d : func.scope_info(*scope).of_src(writer->id)) {
      bool is_given = std::any_of(args.consumer_blocks.begin(), args.consumer_blocks.end(), [&](const BlockArg& b) { return b->id == d.dst; });
      if (d.kind == DependenceKind::Raw && !d.is_hidden && !is_given) { users.push_back(d.dst); }
    }
    for (const Place* block : func.silent_blocks(*scope)) { if (hides_access_to(func, *block, buffer)) { users.push_back(block->id); } }
    find_stage(func, *writer, users, plan.stage);
    LOOPSMITH_CHECK(require_no_later_reads(cx, func, *writer, write, plan.stage));
    LOOPSMITH_CHECK(require_one_buffer(cx, func, *writer, *plan.stage.at, buffer));
    plan.stage.region = without_division_by_zero(relaxed_region(func, *writer, write, plan.stage.at, where_used_inside(cx, func, *writer, buffer, false)));
    LOOPSMITH_CHECK(require_known_region(cx, *writer, plan.stage));
    LOOPSMITH_CHECK(require_own_copies(cx, func, *writer, write, plan.stage));
    LOOPSMITH_CHECK(require_made_by_thread(cx, func, *writer, plan.stage, args.storage_scope));
    plan.stage.is_full = plan.stage.at->is_loop() || uses_loops_outside(func, plan.stage) || !all_readers_below(func, *scope, *plan.stage.at, buffer);
    // The copy writes the whole region. Elements of it that the block does not write would lose their values: those of the caller, or of an
    // earlier run of the scope. A buffer that the scope allocates has no earlier values.
    bool is_own = func.allocates(*scope, buffer);
    if (!is_own && !certainly_writes(func, *writer, write, plan.stage.at, plan.stage.region, {}, plan.stage.scope)) {
      return note_block(cx.error(Code::CopyIncomplete).arg("block", writer->name().view()).arg("buffer", buffer->name.view()), *writer);
    }
    for (const BlockArg& consumer : args.consumer_blocks) {
      if (consumer.place != writer && !func.is_below(*consumer, *writer)) { LOOPSMITH_CHECK(require_in_cache(cx, func, *writer, write, *consumer, plan.stage, is_own)); }
    }
    return plan;
  }

  // The copy stands behind the loops around the writer. No block in these loops, in front of the writer, reads in one iteration what the writer wrote in an
  // earlier one: the buffer does not have it yet.
  static auto require_no_later_reads(const Context& cx, const FuncState& func, const Place& writer, const BufferRegion& write, const Stage& stage) -> Status {
    const Buffer& buffer = write.buffer;
    for (const Place* reader : func.blocks_mentioning(*stage.scope, buffer)) {
      const BufferRegion* read = region_of(reader->block()->reads, buffer);
      if (reader->index >= writer.index || func.is_below(writer, *reader) || !(read || reads_hidden(func, *reader, buffer))) { continue; }
      for (const Place* loop = func.parent(writer); loop && loop->index > stage.at->index; loop = func.parent(*loop)) {
        if (!loop->is_loop() || is_one(loop->loop->extent) || !func.is_below(*reader, *loop)) { continue; }
        Races races = counted_races(func, *loop);
        bool is_met = races.block && races.buffer == buffer;
        for (const Races::Pair& pair : races.further) { is_met = is_met || pair.buffer == buffer; }
        if (!is_met && (races.is_known || is_apart(func, *loop, *reader, read, writer, write))) { continue; }
        return note_loop(note_block(cx.error(Code::IterationsDepend).arg("loop", loop->name().view()).arg("producer", writer.name().view()).arg("consumer", reader->name().view()), writer), *loop)
            .at_node(reader->id).note(reader->block()->origin, fmt::format("`{}` reads `{}` here, before the copy", reader->name().view(), buffer->name.view()), reader->id);
      }
    }
    return ok();
  }
  // True if no two iterations of the loop touch the same element.
  static auto is_apart(const FuncState& func, const Place& loop, const Place& reader, const BufferRegion* read, const Place& writer, const BufferRegion& write) -> bool {
    if (!read) { return false; }
    std::vector<arith::IntSet> sets = touched_in(func, writer, loop, write), other = touched_in(func, reader, loop, *read);
    for (size_t d = 0; d < sets.size() && d < other.size(); ++d) { sets[d] = arith::union_of({sets[d], other[d]}); }
    return stays_apart(func, loop, sets);
  }

  // A block that is to read the cache runs after the writer, and reads only elements that it wrote. A buffer that the scope allocates has no others.
  static auto require_in_cache(const Context& cx, const FuncState& func, const Place& writer, const BufferRegion& write, const Place& consumer, const Stage& stage, bool is_own) -> Status {
    auto refuse = [&](const Reason& why) {
      return note_block(cx.error(Code::CacheReader).arg("block", writer.name().view()).arg("consumer", consumer.name().view()).arg("reason", why.text()), consumer);
    };
    const BufferRegion* read = region_of(consumer.block()->reads, write.buffer);
    bool is_hidden = reads_hidden(func, consumer, write.buffer);
    if (!read && !is_hidden) { return ok(); }
    if (consumer.index < writer.index) { return refuse(because(Why::RunsBefore).arg("block", writer.name().view())); }
    const Place* above = func.is_below(consumer, *stage.at) ? stage.at : stage.scope;
    BufferRegion all = full_region(write.buffer);
    BufferRegion wanted = is_hidden ? all : relaxed_region(func, consumer, *read, above);
    BufferRegion held = relaxed_region(func, writer, write, above);
    // The consumer may declare a region that is larger than the buffer, or larger than the part that a condition in its body lets it load.
    bool is_held = holds_region(func, *above, held, wanted) || holds_region(func, *above, held, wanted = within_buffer(wanted));
    if (!is_held && !is_hidden && LoadsWithin(func, consumer, held).holds()) {
      wanted = held;
      is_held = true;
    }
    if (!is_held || (!is_own && !certainly_writes(func, writer, write, above, wanted, {}, stage.scope))) { return refuse(because(Why::ReadsBeyondCache)); }
    return ok();
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const FuncState& func = *args.block.func;
    const Stage& stage = plan.stage;
    Buffer cache = shrunk(in_scope(plan.buffer, args.storage_scope), stage);
    Origin origin = cx.made_from(args.block.block().origin);
    CopyNest copy = make_copy(func, stage, cache, plan.buffer, args.storage_scope, origin);
    Outcome out;
    out.func = func.name();
    auto redirect = [&](const Place& block) {
      Stmt changed = redirected(block, plan.buffer, cache, stage, true, true);
      if (changed.get() != block.block()) { out.rewrite.changes.push_back({block.id, std::move(changed)}); }
    };
    redirect(*args.block);
    for (const BlockArg& consumer : args.consumer_blocks) {
      if (consumer.place != args.block.place && consumer.func == &func) { redirect(*consumer); }
    }
    out.rewrite.inserts.push_back({stage.at->id, FAULT(cache_write_too_early) ? 0 : stage.position, std::move(copy.stmt)});
    out.rewrite.allocs.push_back({stage.scope->id, cache, {}});
    out.outputs.push_back(Output::block(copy.block));
    return out;
  }
};

/// Lets a block that reads and writes a buffer in place work on a copy in another memory.
///
///     with T.block("B"):           ==>       A_local[...] = A[...]
///         A[vi] = A[vi] + 1.0                A_local[vi] = A_local[vi] + 1.0
///                                            A[...] = A_local[...]
///
/// Needs  a block that reads every element of the buffer that it may write; reads covered by earlier writes; if iterations run at the same time and a
///        copy has more than the element that an instance works on, copies of elements that no other iteration uses.
/// Keeps  results bit for bit.
struct CacheInplace {
  struct Args { BlockArg block; int64_t read_buffer_index = 0; std::string storage_scope; };
  struct Plan { Stage read, write; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    const Place& place = *args.block;
    LOOPSMITH_CHECK(require_storage_scope(cx, args.storage_scope));
    LOOPSMITH_TRY(read, require_buffer(cx, place, args.read_buffer_index, false));
    const Buffer& buffer = read.buffer;
    auto refuse = [&](const Reason& why) { return note_block(cx.error(Code::CopyForm).arg("block", place.name().view()).arg("reason", why.text()), place); };
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    for (const Place* block : func.blocks_mentioning(*scope, buffer)) {
      if (region_of(block->block()->reads, buffer) && !func.region_cover(*block)) {
        return note_block(cx.error(Code::NotCovered).arg("block", block->name().view()).arg("buffer", buffer->name.view()), *block);
      }
    }
    const BufferRegion* write = region_of(place.block()->writes, buffer);
    if (!write) { return refuse(because(Why::NotReadAndWritten).arg("buffer", buffer->name.view())); }
    LOOPSMITH_CHECK(require_no_view(cx, place, buffer, args.storage_scope));
    VarMap map = bindings_of(*place.realize);
    auto bound = [&](const BufferRegion& region) {
      std::vector<Range> ranges;
      for (const Range& range : region.region) { ranges.push_back(substitute(range, map)); }
      return BufferRegion{buffer, Array<Range>(std::move(ranges)), region.origin};
    };
    Plan plan;
    for (Stage* stage : {&plan.read, &plan.write}) {
      stage->scope = scope;
      stage->at = func.parent(place);
      stage->region = bound(stage == &plan.read ? read : *write);
    }
    arith::Analyzer analyzer;
    bool is_point = true;
    for (const auto& [var, domain] : loop_domains(func, place)) { analyzer.bind(var, domain); }
    for (size_t i = 0; i < write->region.size(); ++i) {
      const Range& in = plan.read.region.region[i];
      const Range& back = plan.write.region.region[i];
      is_point &= is_one(in.extent) && is_one(back.extent);
      if (!analyzer.can_prove(less_equal(in.min, back.min)) || !analyzer.can_prove(less_equal(back.min + back.extent, in.min + in.extent))) {
        return refuse(because(Why::WritesBeyondReads).arg("buffer", buffer->name.view()));
      }
    }
    // An outer block that begins with its init reads nothing from outside: a copy of more elements than the init writes would copy undefined elements.
    for (const Place* around = scope; around && !is_point; around = func.scope(*around)) {
      const Block& outer = *around->block();
      if (!outer.init || !region_of(outer.writes, buffer) || region_of(outer.reads, buffer)) { continue; }
      return note_block(refuse(because(Why::CopyBeyondInit).arg("buffer", buffer->name.view()).arg("block", around->name().view())), *around);
    }
    // Copies have no predicate: where the block does not run, they copy an element of another iteration.
    bool is_own = is_point && is_one(place.realize->predicate);
    for (const Place* at = func.parent(place); at && !is_own; at = func.parent(*at)) {
      if (!at->is_loop() || is_one(at->loop->extent)) { continue; }
      bool is_in_order = at->loop->for_kind == ForKind::Serial || at->loop->for_kind == ForKind::Unrolled;
      bool is_of_scope = at->index > scope->index;
      if (is_in_order || (!is_of_scope && !runs_at_once(*at->loop)) || stays_apart(func, *plan.read.at, *at, plan.read.region)) { continue; }
      return note_loop(note_block(cx.error(Code::CopiesRace).arg("block", place.name().view()).arg("loop", at->name().view()).arg("buffer", buffer->name.view()), place), *at);
    }
    return plan;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const FuncState& func = *args.block.func;
    const Place& place = *args.block;
    const Buffer& buffer = plan.read.region.buffer;
    Buffer cache = in_scope(buffer, args.storage_scope);
    Origin origin = cx.made_from(place.block()->origin);
    CopyNest in = make_copy(func, plan.read, buffer, cache, args.storage_scope, origin);
    CopyNest back = make_copy(func, plan.write, cache, buffer, args.storage_scope, origin);
    const BlockRealize& realize = *place.realize;
    Stmt block = redirected(place, buffer, cache, plan.read, true, true);
    Stmt middle = make<BlockRealize>(realize.iter_values, realize.predicate, block.ref<Block>(), realize.origin);
    Outcome out;
    out.func = func.name();
    out.rewrite.changes.push_back({place.id, seq({std::move(in.stmt), std::move(middle), std::move(back.stmt)}, realize.origin)});
    out.rewrite.allocs.push_back({plan.read.scope->id, cache, {}});
    out.outputs = {Output::block(in.block), Output::block(back.block)};
    return out;
  }
};

}  // namespace

const Primitive cache_inplace = primitive<CacheInplace>("cache_inplace", "CacheInplace", "lets a block that works in place work on a copy in another memory",
    {Order::Changed, Hidden::RedirectsAccesses})
    .moves_work()
    .input("block", &CacheInplace::Args::block)
    .attr("read_buffer_index", &CacheInplace::Args::read_buffer_index).indexes("read").from(candidates::read_indices)
    .attr("storage_scope", &CacheInplace::Args::storage_scope).from(candidates::storage_scopes)
    .blocks("caches")
    .example(examples::in_place, "sch.cache_inplace(\"A\", 0, \"local\")");
const Primitive cache_read = primitive<CacheRead>("cache_read", "CacheRead", "reads a buffer through a copy in another memory",
    {Order::Changed, Hidden::RedirectsAccesses})
    .moves_work()
    .input("block", &CacheRead::Args::block)
    .attr("read_buffer_index", &CacheRead::Args::read_buffer_index).indexes("read").from(candidates::read_indices)
    .attr("storage_scope", &CacheRead::Args::storage_scope).from(candidates::storage_scopes)
    .input("consumer_blocks", &CacheRead::Args::consumer_blocks, Value(Value::List())).omit_empty()
    .block("cache")
    .example(examples::matmul, "sch.cache_read(\"C\", 0, \"local\")");
const Primitive cache_write = primitive<CacheWrite>("cache_write", "CacheWrite", "writes a buffer through a copy in another memory",
    {Order::Changed, Hidden::RedirectsAccesses | Hidden::CopiesBeforeReaders})
    .moves_work()
    .input("block", &CacheWrite::Args::block)
    .attr("write_buffer_index", &CacheWrite::Args::write_buffer_index).indexes("write").from(candidates::write_indices)
    .attr("storage_scope", &CacheWrite::Args::storage_scope).from(candidates::storage_scopes)
    .input("consumer_blocks", &CacheWrite::Args::consumer_blocks, Value(Value::List())).omit_empty()
    .block("cache")
    .example(examples::matmul, "sch.cache_write(\"C\", 0, \"local\")");

}  // namespace loopsmith::schedule::primitives
