// Primitives that copy a tile of a buffer at a loop, as one block for a lowering pass to spread over threads: read_at, write_at. The
// copy has the buffer's shape in another memory; the block that fills it is annotated `auto_copy`. Source: TVM's AutoCopy.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/dialects.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/facts/own_writes.h"
#include "schedule/facts/regions.h"
#include "schedule/facts/writes.h"
#include "schedule/func_tree.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::schedule::primitives {
namespace {

// The tile and the place of its copy: before statement `position` of the loop's body. Statements [first, last) use the copy.
struct TilePlan {
  const FuncState* func = nullptr;
  const Place* scope = nullptr;
  Buffer buffer;
  std::vector<Stmt> statements;
  size_t position = 0, first = 0, last = 0;
  std::vector<Range> tile;
};

auto statements_of(const Stmt& body) -> std::vector<Stmt> {
  if (const auto* n = body.as<SeqStmt>()) { return n->seq.to_vector(); }
  return {body};
}

// Adds the outermost blocks below a statement.
void outer_blocks(const Stmt& stmt, std::vector<const BlockRealize*>& out) {
  if (const auto* n = stmt.as<BlockRealize>()) { out.push_back(n); return; }
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& s) { outer_blocks(s, out); });
}

// The region of a block while all loops from it up to the loop run, and outside of it the threads that share the memory.
auto touched(const FuncState& func, const Place& block, const BufferRegion& region, const Place& loop, Name storage) -> std::vector<arith::IntSet> {
  arith::DomMap domains;
  auto add = [&](const Place& at) { domains.emplace(at.loop->var.get(), arith::IntSet::from_range(Range{at.loop->min, at.loop->extent})); };
  const Place* at = func.parent(block);
  for (; at && at != &loop && at->is_loop(); at = func.parent(*at)) { add(*at); }
  for (; at; at = func.parent(*at)) {
    if (at->is_loop() && at->loop->thread && is_shared_across(storage, at->loop->thread->thread_tag)) { add(*at); }
  }
  std::vector<Range> ranges;
  VarMap map = bindings_of(*block.realize);
  for (const Range& range : region.region) { ranges.push_back(substitute(range, map)); }
  return arith::eval_set(Array<Range>(std::move(ranges)), domains);
}

// True where an expression is no less than 0 in all iterations of the loops around a place: the innermost loop is relaxed first, since its bounds
// may use the loops around it, as those of a triangle do.
auto is_never_negative(const FuncState& func, const Place* innermost, Expr e) -> bool {
  arith::Analyzer analyzer;
  for (const Place* at = innermost; at; at = func.parent(*at)) {
    if (!at->is_loop()) { continue; }
    arith::IntSet set = arith::eval_set(analyzer.simplify(e), {{at->loop->var.get(), arith::IntSet::from_range(Range{at->loop->min, at->loop->extent})}});
    if (!set.has_lower_bound()) { return false; }
    e = analyzer.simplify(set.min());
  }
  return analyzer.can_prove(greater_equal(e, zero(e.dtype())));
}

// Plans a copy step by step; each step refuses where the copy would change results.
class TilePlanner {
 public:
  TilePlanner(const Context& cx, const LoopArg& loop, const BlockArg& block, const std::string& storage, bool is_read)
      : cx_(cx), func_(*loop.func), loop_(loop), block_(block), storage_(storage), is_read_(is_read) {}

  auto plan(int64_t index) -> Result<TilePlan> {
    LOOPSMITH_CHECK(require_storage_scope(cx_, storage_));
    LOOPSMITH_TRY(region, require_buffer(cx_, *block_, index, !is_read_));
    LOOPSMITH_TRY(scope, require_scope(cx_, loop_));
    plan_ = {&func_, scope, region.buffer, statements_of(loop_.loop().body), 0, 0, 0, {}};
    LOOPSMITH_CHECK(collect_uses());
    LOOPSMITH_CHECK(is_read_ ? place_before_reads() : place_behind_writes());
    bind_loops(func_, loop_.place, analyzer_);
    for (size_t d = 0; d < plan_.buffer->shape.size(); ++d) { LOOPSMITH_CHECK(measure(d)); }
    if (is_read_) {
      LOOPSMITH_CHECK(require_declared());
      LOOPSMITH_CHECK(require_no_writes_at_once());
    } else {
      LOOPSMITH_CHECK(require_tiles_apart());
      LOOPSMITH_CHECK(require_begun_below());
      LOOPSMITH_CHECK(require_whole_tile_written());
      LOOPSMITH_CHECK(require_reads_of_the_copy());
    }
    return std::move(plan_);
  }

 private:
  struct Read { const Place* block; BufferRegion region; };

  auto name() const -> std::string_view { return plan_.buffer->name.view(); }

  auto refuse(const Reason& why, const Place* at) const -> Diagnostic {
    Diagnostic out = note_loop(cx_.error(Code::CopyPlace).arg("loop", loop_->name().view()).arg("reason", why.text()), *loop_);
    if (!at) { return out; }
    return at->is_loop() ? note_loop(std::move(out), *at) : note_block(std::move(out), *at);
  }

  // True for a loop over threads that share the memory of the copy.
  auto shares_copy(const Place& at) const -> bool { return at.loop->thread && is_shared_across(Name(storage_), at.loop->thread->thread_tag); }

  // Reads and writes of the buffer below the loop.
  auto collect_uses() -> Status {
    for (size_t i = 0; i < plan_.statements.size(); ++i) {
      std::vector<const BlockRealize*> blocks;
      outer_blocks(plan_.statements[i], blocks);
      for (const BlockRealize* realize : blocks) {
        const Place* place = func_.find(realize->block->id);
        if (!place) { continue; }
        for (const BufferRegion& region : realize->block->reads) { add_use(i, *place, region, true); }
        for (const BufferRegion& region : realize->block->writes) { add_use(i, *place, region, false); }
        LOOPSMITH_CHECK(require_no_view(cx_, *place, plan_.buffer, storage_));
        bool is_own = !is_read_ && schedule::region_of(place->block()->writes, plan_.buffer) && reads_own_writes_only(func_, *place, plan_.buffer);
        if (reads_hidden(func_, *place, plan_.buffer) && !is_own) {
          return refuse(because(Why::BelowReadsUndeclared).arg("block", place->name().view()).arg("buffer", name()), place);
        }
      }
    }
    return ok();
  }

  void add_use(size_t statement, const Place& place, const BufferRegion& region, bool is_reading) {
    if (!(region.buffer == plan_.buffer)) { return; }
    if (!is_read_ && is_reading && (reads_own_sums(*place.block(), plan_.buffer) || reads_own_writes_only(func_, place, plan_.buffer))) { return; }
    auto& seen = is_reading ? reads_ : writes_;
    if (seen.empty() || seen.back() != statement) { seen.push_back(statement); }
    if (is_reading == is_read_) { regions_.push_back(touched(func_, place, region, *loop_, Name(storage_))); }
    if (is_reading != is_read_) { user_ = &place; }
    if (!is_reading) { writers_.push_back(&place); }
    if (is_reading) { readers_.push_back({&place, region}); }
  }

  auto place_before_reads() -> Status {
    if (reads_.empty()) { return refuse(because(Why::NoReaderBelow).arg("buffer", name()), block_.place); }
    if (!writes_.empty() && writes_.back() >= reads_.front()) {
      return refuse(because(Why::BelowWritesAfterRead).arg("block", user_->name().view()).arg("buffer", name()), user_);
    }
    plan_.position = plan_.first = reads_.front();
    plan_.last = plan_.statements.size();
    return ok();
  }

  auto place_behind_writes() -> Status {
    if (writes_.empty()) { return refuse(because(Why::NoWriterBelow).arg("buffer", name()), block_.place); }
    if (!reads_.empty() && reads_.back() > writes_.back()) {
      return refuse(because(Why::BelowReadsAfterWrite).arg("block", user_->name().view()).arg("buffer", name()), user_);
    }
    plan_.position = plan_.last = writes_.back() + 1;
    return ok();
  }

  // Adds the range of the tile in one dimension.
  auto measure(size_t dimension) -> Status {
    std::vector<arith::IntSet> sets;
    for (const auto& region : regions_) { sets.push_back(region[dimension]); }
    arith::IntSet all = arith::union_of(sets);
    if (!all.has_lower_bound() || !all.has_upper_bound()) { return refuse(because(Why::RegionUnbounded).arg("buffer", name()), block_.place); }
    arith::Analyzer plain;
    Expr min = plain.simplify(all.min());
    Expr extent = plain.simplify(sub(add(all.max(), one(all.max().dtype())), min));
    // Iter vars of outer blocks cannot be bound to the copy's own iter vars.
    auto is_foreign = [&](const VarNode& v) {
      if (is_known_at(func_, &func_.root(), v)) { return false; }
      for (const Place* at = loop_.place; at && at->is_loop(); at = func_.parent(*at)) {
        if (at->loop->var.get() == &v) { return false; }
      }
      return true;
    };
    if (uses_var(min, is_foreign) || uses_var(extent, is_foreign)) {
      return refuse(because(Why::TileDependsOnOther).arg("buffer", name()), block_.place);
    }
    if (!(extent.dtype() == DataType::int_(32))) {
      return refuse(because(Why::TileIndexType).arg("buffer", name()).arg("dtype", extent.dtype().str()), block_.place);
    }
    // Blocks with a predicate declare more elements than their instances touch, and the copy has no predicate.
    auto holds = [&](const Expr& small, const Expr& large) {
      return analyzer_.can_prove(less_equal(small, large)) || is_never_negative(func_, loop_.place, sub(large, small));
    };
    if (!holds(zero(min.dtype()), min) || !holds(add(min, extent), cast(min.dtype(), plan_.buffer->shape[dimension]))) {
      return refuse(because(Why::TileBeyondBuffer).arg("buffer", name()).arg("dimension", dimension), block_.place);
    }
    plan_.tile.push_back({std::move(min), std::move(extent)});
    return ok();
  }

  // The outer block must read no more of the buffer than it declares.
  auto require_declared() -> Status {
    const Place& scope = *plan_.scope;
    const BufferRegion* declared = scope.parent < 0 ? nullptr : schedule::region_of(scope.block()->reads, plan_.buffer);
    for (size_t d = 0; declared && d < plan_.tile.size(); ++d) {
      auto end = [](const Range& r) { return add(r.min, cast(r.min.dtype(), r.extent)); };
      const Range& all = declared->region[d];
      if (analyzer_.can_prove(less_equal(all.min, plan_.tile[d].min)) && analyzer_.can_prove(less_equal(end(plan_.tile[d]), end(all)))) { continue; }
      return refuse(because(Why::TileBeyondRegion).arg("buffer", name()).arg("block", scope.name().view()).arg("dimension", d), &scope);
    }
    return ok();
  }

  // No iteration may copy elements that another one writes at the same time. The copy takes the whole tile, also where its
  // readers do not run: either the iteration has made the tile before, or no other iteration touches it.
  auto require_no_writes_at_once() -> Status {
    BufferRegion tile{plan_.buffer, Array<Range>(plan_.tile), {}};
    for (const Place* at = loop_.place; at; at = func_.parent(*at)) {
      if (!at->is_loop() || !runs_at_once(*at->loop)) { continue; }
      std::vector<arith::IntSet> copied = touched_in(func_, *loop_, *at, tile);
      for (int i = at->index + 1; i < at->end; ++i) {
        const Place& other = func_.places()[static_cast<size_t>(i)];
        const BufferRegion* write = other.is_block() ? schedule::region_of(other.block()->writes, plan_.buffer) : nullptr;
        if (!write || func_.is_below(*loop_, other)) { continue; }
        std::vector<arith::IntSet> both = touched_in(func_, other, *at, *write);
        std::vector<Range> all;
        for (size_t d = 0; d < both.size(); ++d) {
          both[d] = arith::union_of({both[d], copied[d]});
          all.push_back(copied[d].cover_range(from_zero(plan_.buffer->shape[d])));
        }
        bool is_made_here = other.index < loop_->index && certainly_writes(func_, other, *write, at, {plan_.buffer, Array<Range>(std::move(all)), {}});
        if (is_made_here || stays_apart(func_, *at, both)) { continue; }
        return refuse(because(Why::WritesAtOnce).arg("block", other.name().view()).arg("buffer", name()).arg("loop", at->name().view()), &other);
      }
    }
    return ok();
  }

  // True where the tile depends on the loop's variable.
  auto chooses_tile(const Place& loop) const -> bool {
    auto is_its_var = [&](const VarNode& v) { return loop.loop->var.get() == &v; };
    return std::any_of(plan_.tile.begin(), plan_.tile.end(), [&](const Range& r) { return uses_var(r.min, is_its_var) || uses_var(r.extent, is_its_var); });
  }

  // Iterations that run at the same time must not share a tile of the copy.
  auto require_tiles_apart() -> Status {
    for (const Place* at = loop_.place; at && at->is_loop(); at = func_.parent(*at)) {
      bool is_concurrent = (at->loop->for_kind == ForKind::Parallel || at->loop->for_kind == ForKind::Vectorized) && !is_one(at->loop->extent);
      auto is_its_var = [&](const VarNode& v) { return at->loop->var.get() == &v; };
      if (!is_concurrent || std::any_of(plan_.tile.begin(), plan_.tile.end(), [&](const Range& r) { return uses_var(r.min, is_its_var); })) { continue; }
      return refuse(because(Why::TileShared).arg("loop", at->name().view()).arg("buffer", name()), at);
    }
    return ok();
  }

  auto continues(const Place& writer) const -> Diagnostic {
    return refuse(because(Why::BelowContinues).arg("block", writer.name().view()).arg("buffer", name()), &writer);
  }

  // A block that goes on with values from outside of the loop would find none in the copy. One that goes on with values that an earlier block wrote
  // below the loop declares to read them: require_reads_of_the_copy looks at it.
  auto require_begun_below() -> Status {
    for (const Place* writer : writers_) {
      bool is_reader = std::any_of(readers_.begin(), readers_.end(), [&](const Read& read) { return read.block == writer; });
      bool goes_on = reads_back(func_, *writer, plan_.buffer) && !is_reader && !reads_own_writes_only(func_, *writer, plan_.buffer);
      if (goes_on || !begins_reductions(func_, *writer)) { return continues(*writer); }
    }
    for (const Place* writer : writers_) { LOOPSMITH_CHECK(require_one_buffer(cx_, func_, *writer, *loop_, plan_.buffer)); }
    return ok();
  }

  // If no other code touches the buffer, copy and buffer agree on every tile that was copied back. An iteration without writes may then
  // copy a tile again: it is enough that all of it was written in the first iteration of the loops that do not choose the tile, as far as
  // these are inside of the loops whose iterations have a copy of their own. Maps the variables of these loops to their first values.
  auto first_iteration() const -> VarMap {
    VarMap first;
    if (!readers_.empty() || writers_.size() != 1 || func_.scope_info(*plan_.scope).writers(plan_.buffer.get()).size() != 1) { return first; }
    for (const Place* at = loop_.place; at && at->is_loop(); at = func_.parent(*at)) {
      bool is_in_order = at->loop->for_kind == ForKind::Serial || at->loop->for_kind == ForKind::Unrolled;
      if (!is_in_order && !shares_copy(*at)) { break; }
      if (!chooses_tile(*at) && is_in_order) { first[at->loop->var.get()] = at->loop->min; }
    }
    return first;
  }

  // All elements that are copied back must have been written to the copy before, in this iteration.
  auto require_whole_tile_written() -> Status {
    BufferRegion tile{plan_.buffer, Array<Range>(plan_.tile), {}};
    VarMap first = first_iteration();
    // Threads that share the memory fill the tile together, if only thread loops stand between them and the loop.
    const Place* together = loop_.place;
    while (together && together->is_loop() && shares_copy(*together)) { together = func_.parent(*together); }
    bool is_written = std::any_of(writers_.begin(), writers_.end(), [&](const Place* writer) {
      const BufferRegion* write = schedule::region_of(writer->block()->writes, plan_.buffer);
      auto writes_below = [&](const Place* at) { return certainly_writes(func_, *writer, *write, at, tile, first, plan_.scope); };
      return write && (writes_below(loop_.place) || (together != loop_.place && writes_below(together)));
    });
    if (is_written) { return ok(); }
    return refuse(because(Why::TilePartlyWritten).arg("buffer", name()), writers_.front());
  }

  // Blocks below the loop that read the buffer must find in the copy the elements that they read.
  auto require_reads_of_the_copy() -> Status {
    for (const Read& read : readers_) {
      std::vector<Range> ranges;
      for (const arith::IntSet& set : touched(func_, *read.block, read.region, *loop_, Name(storage_))) {
        if (!set.has_lower_bound() || !set.has_upper_bound()) { break; }
        ranges.push_back({set.min(), analyzer_.simplify(sub(add(set.max(), one(set.max().dtype())), set.min()))});
      }
      BufferRegion wanted{plan_.buffer, Array<Range>(ranges), {}};
      bool is_held = ranges.size() == plan_.buffer->shape.size() && std::any_of(writers_.begin(), writers_.end(), [&](const Place* writer) {
        const BufferRegion* write = schedule::region_of(writer->block()->writes, plan_.buffer);
        return writer->index < read.block->index && write && certainly_writes(func_, *writer, *write, loop_.place, wanted, {}, plan_.scope);
      });
      if (is_held) { continue; }
      if (std::find(writers_.begin(), writers_.end(), read.block) != writers_.end()) { return continues(*read.block); }
      return refuse(because(Why::BelowReadsEarly).arg("block", read.block->name().view()).arg("buffer", name()), read.block);
    }
    return ok();
  }

  const Context& cx_;
  const FuncState& func_;
  const LoopArg& loop_;
  const BlockArg& block_;
  const std::string& storage_;
  bool is_read_;
  arith::Analyzer analyzer_;
  TilePlan plan_;
  std::vector<size_t> reads_, writes_;                 // statements of the loop's body that use the buffer
  std::vector<std::vector<arith::IntSet>> regions_;    // of the uses that the copy serves
  const Place* user_ = nullptr;                        // the last block that uses the buffer the other way
  std::vector<Read> readers_;
  std::vector<const Place*> writers_;
};

auto plan_tile(const Context& cx, const LoopArg& loop, const BlockArg& block, int64_t index, const std::string& storage, bool is_read) -> Result<TilePlan> {
  return TilePlanner(cx, loop, block, storage, is_read).plan(index);
}

// Loads, stores and regions of a buffer become those of its copy, with the same indices.
class UseCopy : public Mutator {
 public:
  UseCopy(const Buffer& from, const Buffer& to) : from_(from), to_(to) {}
  using Mutator::on;

 protected:
  auto use(const Buffer& buffer) -> Buffer override { return buffer == from_ ? to_ : buffer; }

 private:
  const Buffer& from_;
  const Buffer& to_;
};

auto apply_tile(const Context& cx, const LoopArg& loop, const TilePlan& plan, const std::string& storage, bool is_read) -> Outcome {
  const FuncState& func = *plan.func;
  Origin origin = cx.made_from(loop.loop().origin);
  Buffer copy = in_scope(plan.buffer, storage);
  std::vector<Stmt> statements = plan.statements;
  for (size_t i = plan.first; i < plan.last; ++i) { statements[i] = UseCopy(plan.buffer, copy).mutate(statements[i]); }

  // The loops that the tile depends on become iter vars, in the order of appearance.
  VarMap map;
  std::vector<IterVar> iters;
  std::vector<Expr> values;
  auto bind = [&](const Expr& e) {
    post_order(e, [&](const Expr& part) {
      const auto* var = part.as<VarNode>();
      if (!var || map.count(var)) { return; }
      for (const Place* at = loop.place; at && at->is_loop(); at = func.parent(*at)) {
        if (at->loop->var.get() != var) { continue; }
        IterVar iter;
        iter.var = make<VarNode>(Name(fmt::format("v{}", iters.size())), var->dtype, origin);
        iter.dom = {at->loop->min, at->loop->extent};
        iter.origin = origin;
        map[var] = iter.var;
        values.push_back(part);
        iters.push_back(std::move(iter));
      }
    });
    return substitute(e, map);
  };
  std::vector<Range> tile;
  for (const Range& range : plan.tile) {
    Expr min = bind(range.min);
    Expr extent = bind(range.extent);
    tile.push_back({std::move(min), std::move(extent)});
  }
  Domains loops;
  std::vector<Expr> indices;
  for (size_t d = 0; d < tile.size(); ++d) {
    Var var = make<VarNode>(Name(fmt::format("ax{}", d)), DataType::int_(32), origin);
    loops.emplace_back(var, from_zero(tile[d].extent));
    indices.push_back(add(tile[d].min, var));
  }
  const Buffer& from = is_read ? plan.buffer : copy;
  const Buffer& to = is_read ? copy : plan.buffer;
  Block::Fields fields;
  fields.name = Name(plan.buffer->name.str() + "_" + storage);
  fields.iter_vars = std::move(iters);
  fields.reads = {BufferRegion{from, Array<Range>(tile), origin}};
  fields.writes = {BufferRegion{to, Array<Range>(tile), origin}};
  // Versions that spell blocks `T.sblock` write true in place of 1.
  bool is_recent = dialects::is_recent(cx.state.module()->dialect);
  fields.annotations = with_attr({}, Name("auto_copy"), Attr(is_recent ? bool_imm(true) : int_imm(1)));
  fields.body = wrap_loops(make<BufferStore>(to, Expr(make<BufferLoad>(from, Array<Expr>(indices), origin)), Array<Expr>(indices), origin), loops, origin);
  Ref<Block> block = make<Block>(std::move(fields), origin);
  NodeId id = block->id;
  statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(plan.position),
                    Stmt(make<BlockRealize>(Array<Expr>(std::move(values)), bool_imm(true), std::move(block), origin)));
  Outcome out;
  out.func = func.name();
  out.rewrite.changes.push_back({loop->id, with_parts(loop.loop(), {.body = seq(std::move(statements), loop.loop().body.origin()), .kind = {}, .thread = {}}, loop.loop().origin)});
  out.rewrite.allocs.push_back({plan.scope->id, copy, {}});
  out.outputs.push_back(Output::block(id));
  return out;
}

/// Reads a buffer below a loop through a copy, whose tile is filled at the start of each iteration.
///
///     for i in range(8):                     for i in range(8):
///         for j in range(64):      ==>           with T.block("A_shared"):   # auto_copy
///             B[i, j] = A[i, j]                      A_shared[i, 0:64] = A[i, 0:64]
///                                                for j in range(64):
///                                                    B[i, j] = A_shared[i, j]
///
/// Needs  blocks below the loop read the buffer, and none writes it after; a tile within the buffer, whose bounds depend on loops
///        and parameters alone.
/// Keeps  results bit for bit.
struct ReadAt {
  struct Args { LoopArg loop; BlockArg block; int64_t read_buffer_index = 0; std::string storage_scope; };
  using Plan = TilePlan;
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    return plan_tile(cx, args.loop, args.block, args.read_buffer_index, args.storage_scope, true);
  }
  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome { return apply_tile(cx, args.loop, plan, args.storage_scope, true); }
};

/// Writes a buffer below a loop through a copy, whose tile is copied back at the end of each iteration.
///
///     for i in range(8):                     for i in range(8):
///         for j in range(64):      ==>           for j in range(64):
///             B[i, j] = A[i, j]                      B_shared[i, j] = A[i, j]
///                                                with T.block("B_shared"):   # auto_copy
///                                                    B[i, 0:64] = B_shared[i, 0:64]
///
/// Needs  blocks below the loop write the buffer, each iteration (or all threads that share the memory) all of the tile before any of it is
///        read; a tile within the buffer, whose bounds depend on loops and parameters alone.
/// Keeps  results bit for bit.
struct WriteAt {
  struct Args { LoopArg loop; BlockArg block; int64_t write_buffer_index = 0; std::string storage_scope; };
  using Plan = TilePlan;
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    return plan_tile(cx, args.loop, args.block, args.write_buffer_index, args.storage_scope, false);
  }
  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome { return apply_tile(cx, args.loop, plan, args.storage_scope, false); }
};

// The blocks below the loop before.
auto blocks_below(const Choice& c) -> std::vector<Value> {
  std::vector<Value> out;
  const Place& at = c.subject();
  if (!at.is_loop()) { return out; }
  for (const Place* block : c.func.child_blocks(at)) { out.push_back(Choice::block(*block)); }
  return out;
}

}  // namespace

const Primitive read_at = primitive<ReadAt>("read_at", "ReadAt", "reads a buffer below a loop through a copy of the tile that an iteration needs",
    {Order::Changed, Hidden::GathersBelow | Hidden::RedirectsAccesses})
    .moves_work()
    .input("loop", &ReadAt::Args::loop)
    .input("block", &ReadAt::Args::block).from(blocks_below)
    .attr("read_buffer_index", &ReadAt::Args::read_buffer_index).indexes("read").from(candidates::read_indices)
    .attr("storage_scope", &ReadAt::Args::storage_scope).from(candidates::storage_scopes)
    .block("copy")
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nsch.read_at(i, \"C\", 0, \"shared\")");
const Primitive write_at = primitive<WriteAt>("write_at", "WriteAt", "writes a buffer below a loop through a copy, back at the end of an iteration",
    {Order::Changed, Hidden::GathersBelow | Hidden::RedirectsAccesses})
    .moves_work()
    .input("loop", &WriteAt::Args::loop)
    .input("block", &WriteAt::Args::block).from(blocks_below)
    .attr("write_buffer_index", &WriteAt::Args::write_buffer_index).indexes("write").from(candidates::write_indices)
    .attr("storage_scope", &WriteAt::Args::storage_scope).from(candidates::storage_scopes)
    .block("copy")
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nsch.write_at(i, \"C\", 0, \"local\")");

}  // namespace loopsmith::schedule::primitives
