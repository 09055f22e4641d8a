// Primitives that stage a buffer in another order: reindex, reindex_cache_read, reindex_cache_write. Like
// cache_read and cache_write, they put a copying block between a buffer and the block that uses it; the copy has new
// indices.
#include <algorithm>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/counted_races.h"
#include "schedule/examples.h"
#include "schedule/facts/own_writes.h"
#include "schedule/facts/regions.h"
#include "schedule/func_tree.h"
#include "schedule/hidden.h"
#include "schedule/index_map.h"
#include "schedule/primitives.h"
#include "schedule/races.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/scoped_value.h"

namespace loopsmith::schedule::primitives {
namespace {

using VarSet = std::vector<const VarNode*>;

auto contains(const VarSet& set, const VarNode* var) -> bool { return std::find(set.begin(), set.end(), var) != set.end(); }

auto variables_of(const std::vector<Expr>& exprs) -> VarSet {
  VarSet out;
  for (const Expr& e : exprs) {
    post_order(e, [&](const Expr& x) {
      const auto* var = x.as<VarNode>();
      if (var && !contains(out, var)) { out.push_back(var); }
    });
  }
  return out;
}

auto points(const std::vector<Expr>& indices) -> Array<Range> {
  std::vector<Range> out;
  for (const Expr& index : indices) { out.push_back(point(index)); }
  return Array<Range>(std::move(out));
}

auto staging_error(const Context& cx, const Place& block, const Reason& why) -> Diagnostic {
  return note_block(cx.error(Code::CopyForm).arg("block", block.name().view()).arg("reason", why.text()), block);
}

// A diagnostic about the block and the buffer that would be copied.
auto copy_error(const Context& cx, Code code, const Place& block, const BufferNode& buffer) -> Diagnostic {
  return note_block(cx.error(code).arg("block", block.name().view()).arg("buffer", buffer.name.view()), block);
}

// Finds the indices by which a leaf block accesses a buffer, if they are the same everywhere.
class AccessFinder : public Visitor {
 public:
  explicit AccessFinder(const Buffer& buffer) : buffer_(buffer) {}
  using Visitor::visit;
  std::optional<Array<Expr>> indices;
  bool is_several = false, is_opaque = false, is_nested = false;
  bool is_conditional = false;              // some instances skip an access

 protected:
  using Visitor::on;
  void on(const VarNode& n) override { is_opaque |= &n == buffer_->data.get(); }
  void on(const BufferLoad& n) override {
    Visitor::on(n);
    if (n.buffer == buffer_) { access(n.indices); }
  }
  void on(const BufferStore& n) override {
    Visitor::on(n);
    if (n.buffer == buffer_) { access(n.indices); }
  }
  void on(const Block&) override { is_nested = true; }
  void on(const IfThenElse& n) override {
    visit(n.condition);
    ScopedValue<int> conditional(conditions_, conditions_ + 1);
    visit(n.then_case);
    if (n.else_case) { visit(n.else_case); }
  }
  void on(const For& n) override {
    // The loop's variable is not one of the block's, and the body may not run.
    ScopedValue<int> conditional(conditions_, conditions_ + 1);
    Visitor::on(n);
  }
  void on(const While& n) override {
    ScopedValue<int> conditional(conditions_, conditions_ + 1);
    Visitor::on(n);
  }
  void on(const Call& n) override {
    static const Name if_then_else_name("if_then_else");
    if (!(n.op == if_then_else_name) || n.args.size() != 3) { return Visitor::on(n); }
    visit(n.args[0]);
    ScopedValue<int> conditional(conditions_, conditions_ + 1);
    visit(n.args[1]);
    visit(n.args[2]);
  }

 private:
  void access(const Array<Expr>& found) {
    is_conditional |= conditions_ > 0;
    if (!indices) { indices = found; return; }
    is_several |= indices->size() != found.size();
    for (size_t i = 0; !is_several && i < found.size(); ++i) { is_several = !arith::deep_equal((*indices)[i], found[i]); }
  }
  const Buffer& buffer_;
  int conditions_ = 0;
};

// The buffer from which indices are loaded and that blocks of the same scope write; null: there is none.
auto looked_up_in(const FuncState& func, const Place& place, const std::vector<Expr>& indices) -> const BufferNode* {
  const BufferNode* found = nullptr;
  for (const Expr& index : indices) {
    post_order(index, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (load && func.scope_info(*func.scope(place)).is_written(load->buffer.get())) { found = load->buffer.get(); }
    });
  }
  return found;
}

// True if a statement stores to the buffer on every path.
auto stores_always(const Stmt& stmt, const Buffer& buffer) -> bool {
  if (const auto* n = stmt.as<BufferStore>()) { return n->buffer == buffer && !n->predicate; }
  if (const auto* n = stmt.as<SeqStmt>()) { return std::any_of(n->seq.begin(), n->seq.end(), [&](const Stmt& s) { return stores_always(s, buffer); }); }
  if (const auto* n = stmt.as<IfThenElse>()) { return n->else_case && stores_always(n->then_case, buffer) && stores_always(n->else_case, buffer); }
  if (const auto* n = stmt.as<LetStmt>()) { return stores_always(n->body, buffer); }
  if (const auto* n = stmt.as<AttrStmt>()) { return stores_always(n->body, buffer); }
  return false;
}

// An analyzer with the domains of the iter vars of the block and of the blocks around it.
auto block_analyzer(const FuncState& func, const Place& place) -> arith::Analyzer {
  arith::Analyzer analyzer;
  for (const Place* at = &place; at; at = func.scope(*at)) {
    for (const IterVar& iter : at->block()->iter_vars) { analyzer.bind(iter.var, iter.dom); }
  }
  return analyzer;
}

// True for a variable that stays the same while the scope of the block runs: an iter var of an outer block, or a variable of the function.
auto is_fixed_in_scope(const FuncState& func, const Place& place, const VarNode* var) -> bool {
  for (const Place* at = func.scope(place); at; at = func.scope(*at)) {
    for (const IterVar& iter : at->block()->iter_vars) {
      if (iter.var.get() == var) { return true; }
    }
  }
  for (const Var& param : func.func()->params) {
    if (param.get() == var) { return true; }
  }
  return false;
}

// Copies are made for every instance in the domains of iter vars, including instances that do not run and accesses that are guarded. So all
// elements must be within the buffer, and so must the elements that its indices load.
auto require_in_bounds(const Context& cx, const FuncState& func, const Place& place, const Buffer& buffer, const std::vector<Expr>& indices, bool is_certain) -> Status {
  if (is_certain) { return ok(); }
  arith::Analyzer analyzer = block_analyzer(func, place);
  const BufferNode* beyond = nullptr;
  auto check = [&](const Buffer& of, const auto& at) {
    for (size_t i = 0; i < at.size() && !beyond; ++i) {
      if (analyzer.can_prove(greater_equal(at[i], zero(at[i].dtype()))) && analyzer.can_prove(less(at[i], of->shape[i]))) { continue; }
      beyond = of.get();
    }
  };
  check(buffer, indices);
  for (const Expr& index : indices) {
    post_order(index, [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { check(load->buffer, load->indices); } });
  }
  if (!beyond) { return ok(); }
  return staging_error(cx, place, because(Why::CopyBeyondBuffer).arg("buffer", beyond->name.view()));
}

// The copy reads for all instances of the block, also for instances that do not run. In a loop whose iterations run at the same time, another iteration
// may be writing these elements. If there are few instances, including those of the copy, races are checked after the step instead.
auto require_unwritten_at_once(const Context& cx, const FuncState& func, const Place& place, const Place& scope, const Buffer& buffer, const VarSet& covered) -> Status {
  int64_t left = most_followed_instances, copied = 1;
  auto count = [&](const Expr& extent) {
    if (__builtin_mul_overflow(copied, std::max<int64_t>(as_int(extent).value_or(1), 1), &copied)) { copied = left; }
  };
  for (const IterVar& iter : place.block()->iter_vars) {
    if (contains(covered, iter.var.get())) { count(iter.dom.extent); }
  }
  for (const Place* at = func.parent(scope); at; at = func.parent(*at)) {
    if (at->is_loop()) { count(at->loop->extent); }
  }
  left -= std::min(left, copied);
  for (const Place* loop = func.parent(scope); loop; loop = func.parent(*loop)) {
    if (loop->is_block()) {
      if (func.allocates(*loop, buffer)) { return ok(); }
      continue;
    }
    if (!runs_at_once(*loop->loop) || (left > 0 && counted_races(func, *loop, left).is_known)) { continue; }
    for (int i = loop->index + 1; i < loop->end; ++i) {
      const Place& writer = func.places()[static_cast<size_t>(i)];
      if (!writer.is_block() || !region_of(writer.block()->writes, buffer)) { continue; }
      return note_block(note_loop(cx.error(Code::IterationsDepend).arg("loop", loop->name().view()).arg("producer", writer.name().view())
                                      .arg("consumer", place.name().view()), *loop), place);
    }
  }
  return ok();
}

/// Puts a copying block between a block and a buffer that it accesses, so that the block uses a buffer indexed by its iter vars.
///
///     C[vi] += A[vi // 4, vi % 4]  ==>       A_reindex[v0] = A[v0 // 4, v0 % 4]
///                                            C[vi] += A_reindex[vi]
///
/// Needs  a stage pipeline; a block in a separate chain of loops that accesses the buffer with the same indices everywhere, and not
///        both before and after writing it; a written buffer is written in every instance, by different instances at different places.
/// Keeps  results bit for bit.
struct ReIndex {
  struct Args { BlockArg block; BufferArg buffer; };
  struct Plan { Buffer buffer; Buffer copy; std::vector<Expr> indices; std::vector<IterVar> iters; const Place* scope; int position; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    const Place& place = *args.block;
    const Block& block = *place.block();
    LOOPSMITH_TRY(region, require_buffer(cx, place, args.buffer.index, args.buffer.is_write));
    const Buffer& buffer = region.buffer;
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    LOOPSMITH_CHECK(require_stage_pipeline(cx, func, *scope));
    AccessFinder finder(buffer);
    LOOPSMITH_CHECK(require_one_index(cx, place, buffer, finder));
    Plan plan{buffer, {}, {}, {}, scope, 0};
    arith::Analyzer analyzer = block_analyzer(func, place);
    for (const Expr& index : *finder.indices) {
      // Keeps constants and variables as they are.
      Expr simple = analyzer.simplify(index);
      plan.indices.push_back(simple.as<IntImm>() ? index : simple);
    }
    VarSet covered = variables_of(plan.indices);
    std::vector<Expr> shape;
    for (const IterVar& iter : block.iter_vars) {
      if (!contains(covered, iter.var.get())) { continue; }
      plan.iters.push_back(iter);
      shape.push_back(iter.dom.min + iter.dom.extent);
      LOOPSMITH_CHECK(require_own_domain(cx, func, place, iter));
    }
    for (const VarNode* var : covered) {
      bool is_iter = std::any_of(plan.iters.begin(), plan.iters.end(), [&](const IterVar& i) { return i.var.get() == var; });
      if (!is_iter && !is_fixed_in_scope(func, place, var)) { return staging_error(cx, place, because(Why::AccessedByOther).arg("buffer", buffer->name.view()).arg("variable", var->name.view())); }
    }
    LOOPSMITH_TRY(top, top_of_chain(cx, func, place, *scope, buffer));
    bool is_declared_read = region_of(block.reads, buffer) && !(args.buffer.is_write && reads_own_sums(block, buffer));
    bool also_read = is_declared_read || reads_hidden(func, place, buffer) || reads_back(func, place, buffer);
    also_read = also_read && (!args.buffer.is_write || reads_hidden(func, place, buffer) || !reads_own_writes_only(func, place, buffer));
    bool also_written = region_of(block.writes, buffer) != nullptr;
    if (also_read && also_written) { return copy_error(cx, Code::CopyReadsOwn, place, *buffer); }
    bool runs_all = runs_all_instances(func, place, covered);
    LOOPSMITH_CHECK(require_in_bounds(cx, func, place, buffer, plan.indices, runs_all && !finder.is_conditional));
    if (!args.buffer.is_write && !runs_all) { LOOPSMITH_CHECK(require_unwritten_at_once(cx, func, place, *scope, buffer, covered)); }
    if (args.buffer.is_write) {
      LOOPSMITH_CHECK(require_one_buffer(cx, func, place, *scope, buffer));
      if (!runs_all || !(block.init || stores_always(block.body, buffer))) { return copy_error(cx, Code::CopyIncomplete, place, *buffer); }
      if (skips_init(func, place)) { return copy_error(cx, Code::CopyPartOfReduction, place, *buffer); }
      if (!begins_reductions(func, place)) {
        return copy_error(cx, Code::CopyPartOfReduction, place, *buffer);
      }
      if (!is_one_to_one(block, plan.indices, covered)) { return staging_error(cx, place, because(Why::InstancesShareElement).arg("buffer", buffer->name.view())); }
    }
    LOOPSMITH_CHECK(require_indices_in_front(cx, func, place, *scope, *top, plan.indices));
    plan.position = std::max(0, statement_position(func, *scope, *top)) + (args.buffer.is_write ? 1 : 0);
    BufferNode fields = *buffer;
    fields.shape = std::move(shape);
    fields.strides = Array<Expr>();
    fields.name = Name(buffer->name.str() + "_reindex");
    fields.data = make<VarNode>(Name(buffer->data->name.str() + "_reindex"), DataType::handle(), buffer->data->origin, buffer->data->pointer);
    plan.copy = make_buffer(std::move(fields));
    return plan;
  }

  // The block accesses the buffer with the same indices everywhere, which the finder collects.
  static auto require_one_index(const Context& cx, const Place& place, const Buffer& buffer, AccessFinder& finder) -> Status {
    const Block& block = *place.block();
    finder.visit(block.body);
    if (finder.is_nested) { return note_block(cx.error(Code::NotLeafBlock).arg("block", block.name.view()), place); }
    if (finder.is_opaque || finder.is_several || !finder.indices) {
      return note_block(cx.error(Code::SeveralAccesses).arg("block", block.name.view()).arg("buffer", buffer->name.view()), place);
    }
    if (!block.match_buffers.empty() && std::any_of(block.match_buffers.begin(), block.match_buffers.end(), [&](const MatchBufferRegion& m) { return m.source.buffer == buffer; })) {
      return note_block(cx.error(Code::BufferUse).arg("buffer", buffer->name.view()).arg("use", "matched to another buffer").arg("block", block.name.view()), place);
    }
    // The init must use the same indices.
    if (block.init) {
      AccessFinder in_init(buffer);
      in_init.indices = finder.indices;
      in_init.visit(block.init);
      if (in_init.is_several || in_init.is_opaque || in_init.is_nested) {
        return note_block(cx.error(Code::SeveralAccesses).arg("block", block.name.view()).arg("buffer", buffer->name.view()), place);
      }
    }
    return ok();
  }

  // The outermost loop that is around the block alone, or the block. Other blocks may stand beside the block if they do not touch the buffer.
  static auto top_of_chain(const Context& cx, const FuncState& func, const Place& place, const Place& scope, const Buffer& buffer) -> Result<const Place*> {
    const Place* top = &place;
    for (const Place* at = func.parent(place); at != &scope; at = func.parent(*at)) {
      bool is_alone = at->loop->body.get() == (top->is_loop() ? static_cast<const StmtNode*>(top->loop) : top->realize);
      auto beside = func.child_blocks(*at);
      bool is_undisturbed = top == &place && std::none_of(beside.begin(), beside.end(), [&](const Place* other) {
        return other != &place && (region_of(other->block()->reads, buffer) || region_of(other->block()->writes, buffer) || reads_hidden(func, *other, buffer) ||
                                   hides_access_to(func, *other, buffer));
      });
      if (!is_alone && !is_undisturbed) {
        return staging_error(cx, place, because(Why::NotAloneInLoop).arg("loop", at->name().view()));
      }
      top = at;
    }
    return top;
  }

  // Loaded indices must exist when the copy is made, in front of the nest.
  static auto require_indices_in_front(const Context& cx, const FuncState& func, const Place& place, const Place& scope, const Place& top, const std::vector<Expr>& indices) -> Status {
    for (const Expr& index : indices) {
      const BufferNode* late = nullptr;
      std::vector<Buffer> loaded;
      post_order(index, [&](const Expr& e) {
        const auto* load = e.as<BufferLoad>();
        if (!load) { return; }
        loaded.push_back(load->buffer);
        auto writers = func.scope_info(scope).writers(load->buffer.get());
        if (std::any_of(writers.begin(), writers.end(), [&](NodeId writer) { return func.find(writer)->index > top.index; })) { late = load->buffer.get(); }
      });
      if (late) { return copy_error(cx, Code::CopyLooksUp, place, *late).arg("where", "which the same loops write"); }
      for (const Buffer& one : loaded) { LOOPSMITH_CHECK(require_no_hidden_writer(cx, place, one)); }
    }
    return ok();
  }

  class Rewriter : public Mutator {
   public:
    Rewriter(const Buffer& from, const Buffer& to, const Array<Expr>& indices) : from_(from), to_(to), indices_(indices) {}
    using Mutator::on;
    auto on(const BufferLoad& n) -> Expr override {
      return n.buffer == from_ ? Expr(make<BufferLoad>(to_, indices_, n.origin, n.predicate)) : Mutator::on(n);
    }
    auto on(const BufferStore& n) -> Stmt override {
      Stmt s = Mutator::on(n);
      if (!(n.buffer == from_)) { return s; }
      return make<BufferStore>(to_, s.as<BufferStore>()->value, indices_, n.origin, n.predicate);
    }
    auto on(const Block& n) -> Stmt override {
      Stmt s = Mutator::on(n);
      auto fields = s.as<Block>()->fields();
      auto moved = [&](const Array<BufferRegion>& regions) {
        return regions.map_same([&](const BufferRegion& r) { return r.buffer == from_ ? BufferRegion{to_, points(indices_.to_vector()), r.origin} : r; },
                                [](const auto& a, const auto& b) { return a.same_as(b); });
      };
      // Keeps the regions of other buffers.
      fields.reads = moved(n.reads);
      fields.writes = moved(n.writes);
      return make<Block>(std::move(fields), n.origin, n.id);
    }

   private:
    const Buffer& from_;
    const Buffer& to_;
    const Array<Expr>& indices_;
  };

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const FuncState& func = *args.block.func;
    Origin origin = cx.made_from(args.block.block().origin);
    VarMap to_copy;
    std::vector<Expr> own, values, copied;
    std::vector<IterVar> iters;
    Domains loops;
    for (const IterVar& old : plan.iters) {
      IterVar iter = old;
      iter.var = make<VarNode>(Name(fmt::format("v{}", iters.size())), old.var->dtype, origin);
      iter.kind = IterKind::Spatial;
      Var loop = make<VarNode>(Name(fmt::format("ax{}", iters.size())), old.var->dtype, origin);
      own.emplace_back(old.var);
      copied.emplace_back(iter.var);
      to_copy[old.var.get()] = iter.var;
      values.emplace_back(loop);
      loops.emplace_back(loop, old.dom);
      iters.push_back(std::move(iter));
    }
    std::vector<Expr> target;
    for (const Expr& index : plan.indices) { target.push_back(substitute(index, to_copy)); }
    bool is_write = args.buffer.is_write;
    const Buffer& from = is_write ? plan.copy : plan.buffer;
    const Buffer& to = is_write ? plan.buffer : plan.copy;
    const auto& from_indices = is_write ? copied : target;
    const auto& to_indices = is_write ? target : copied;
    Block::Fields fields;
    fields.name = Name(to->name.str() + "_reindex");
    fields.iter_vars = std::move(iters);
    fields.reads = {BufferRegion{from, points(from_indices), origin}};
    fields.writes = {BufferRegion{to, points(to_indices), origin}};
    fields.body = make<BufferStore>(to, Expr(make<BufferLoad>(from, Array<Expr>(from_indices), origin)), Array<Expr>(to_indices), origin);
    Ref<Block> block = make<Block>(std::move(fields), origin);
    Outcome out;
    out.func = func.name();
    out.outputs.push_back(Output::block(block->id));
    Array<Expr> own_indices(std::move(own));
    out.rewrite.changes.push_back({args.block->id, Rewriter(plan.buffer, plan.copy, own_indices).mutate(Stmt(Ref<Block>(args.block->block())))});
    Stmt nest = wrap_loops(make<BlockRealize>(Array<Expr>(std::move(values)), bool_imm(true), std::move(block), origin), loops, origin);
    out.rewrite.inserts.push_back({plan.scope->id, plan.position, std::move(nest)});
    out.rewrite.allocs.push_back({plan.scope->id, plan.copy, {}});
    return out;
  }
};

// The common part of reindex_cache_read and reindex_cache_write.
struct ReindexCachePlan {
  Buffer buffer, copy;
  Stage stage;
  std::vector<Expr> old_indices, new_indices;
  std::vector<size_t> iters;                // the positions of the block's iter vars that the indices use
  Domains loops;                            // the loops around the block, under the stage, that the iter vars use
};

auto plan_reindex_cache(const Context& cx, const BlockArg& arg, const BufferRegion& region, const IndexMap& index_map, const std::string& storage, Stage stage)
    -> Result<ReindexCachePlan> {
  const FuncState& func = *arg.func;
  const Place& place = *arg;
  const Block& block = *place.block();
  const Buffer& buffer = region.buffer;
  LOOPSMITH_CHECK(require_no_view(cx, place, buffer, storage));
  for (const Range& range : region.region) {
    if (!is_one(range.extent)) { return staging_error(cx, place, because(Why::AccessesSeveral).arg("buffer", buffer->name.view())); }
  }
  ReindexCachePlan plan{buffer, {}, std::move(stage), {}, {}, {}, {}};
  for (const Range& range : region.region) { plan.old_indices.push_back(range.min); }
  // The copy would load indices before they exist.
  if (const BufferNode* looked_up = looked_up_in(func, place, plan.old_indices)) { return copy_error(cx, Code::CopyLooksUp, place, *looked_up).arg("where", "which another block of the scope writes"); }
  std::vector<Buffer> loaded;
  for (const Expr& index : plan.old_indices) {
    post_order(index, [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { loaded.push_back(load->buffer); } });
  }
  for (const Buffer& one : loaded) { LOOPSMITH_CHECK(require_no_hidden_writer(cx, place, one)); }
  LOOPSMITH_CHECK(require_arity(cx, index_map, block.iter_vars.size()));
  std::vector<Expr> vars, extents;
  for (const IterVar& iter : block.iter_vars) {
    vars.emplace_back(iter.var);
    extents.push_back(iter.dom.extent);
    // The copy of a triangle's rows has space for the longest row.
    if (require_own_domains(cx, func, place).ok()) { continue; }
    arith::DomMap around;
    for (const auto& [var, domain] : loop_domains(func, place)) { around.emplace(var.get(), arith::IntSet::from_range(domain)); }
    arith::IntSet longest = arith::eval_set(iter.dom.extent, around);
    if (!longest.has_upper_bound()) { return require_own_domains(cx, func, place).diagnostics(); }
    extents.back() = longest.max();
  }
  arith::Analyzer analyzer;
  plan.new_indices = map_indices(index_map, vars, analyzer);
  auto shape = map_shape(retyped(index_map, Array<Expr>(vars)), extents, analyzer);
  if (!shape) { return note_block(cx.error(Code::MapNotBijective).arg("reason", because(Why::MapNotFromZero).text()), place); }
  VarSet in_old = variables_of(plan.old_indices);
  VarSet in_new = variables_of(plan.new_indices);
  std::vector<Expr> values;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const VarNode* var = block.iter_vars[i].var.get();
    if (contains(in_old, var) != contains(in_new, var)) {
      return staging_error(cx, place, because(Why::IterInOneOnly).arg("iter", var->name.view()).arg("user", contains(in_old, var) ? "the access" : "the index map").arg("other", contains(in_old, var) ? "the index map" : "the access"));
    }
    if (!contains(in_new, var)) { continue; }
    plan.iters.push_back(i);
    values.push_back(place.realize->iter_values[i]);
  }
  // The declared access must be the actual one, and the only one.
  AccessFinder finder(buffer);
  finder.visit(block.body);
  if (block.init) { finder.visit(block.init); }
  bool is_same = finder.indices && finder.indices->size() == plan.old_indices.size() && !finder.is_several && !finder.is_opaque && !finder.is_nested;
  for (size_t i = 0; is_same && i < plan.old_indices.size(); ++i) { is_same = analyzer.can_prove_equal((*finder.indices)[i], plan.old_indices[i]); }
  if (!is_same) { return note_block(cx.error(Code::SeveralAccesses).arg("block", block.name.view()).arg("buffer", buffer->name.view()), place); }
  // If two instances share an element of the copy, they share an element of the buffer, so no value is lost.
  if (!is_one_to_one(block, plan.new_indices, in_new)) { return note_block(cx.error(Code::MapNotBijective).arg("reason", because(Why::InstancesShareCopy).text()), place); }
  // Conditions on instances apply to their copies too.
  if (!is_one(place.realize->predicate)) { values.push_back(place.realize->predicate); }
  VarSet used = variables_of(values);
  for (const Place* at = func.parent(place); at && at->is_loop() && at != plan.stage.at; at = func.parent(*at)) {
    if (!contains(used, at->loop->var.get())) { continue; }
    plan.loops.insert(plan.loops.begin(), {at->loop->var, Range{at->loop->min, at->loop->extent}});
    // Adds loops further out that bounds depend on.
    for (const VarNode* var : variables_of({at->loop->min, at->loop->extent})) {
      if (!contains(used, var)) { used.push_back(var); }
    }
  }
  // The copy runs for the instances of the block, under the block's predicate.
  LOOPSMITH_CHECK(require_in_bounds(cx, func, place, buffer, plan.old_indices, !finder.is_conditional));
  plan.copy = in_scope(buffer, storage);
  BufferNode fields = *plan.copy;
  fields.shape = std::move(*shape);
  plan.copy = make_buffer(std::move(fields));
  return plan;
}

auto apply_reindex_cache(const Context& cx, const BlockArg& arg, const ReindexCachePlan& plan, const std::string& storage, bool is_write) -> Outcome {
  const FuncState& func = *arg.func;
  const Block& old = arg.block();
  Origin origin = cx.made_from(old.origin);
  VarMap map;
  Domains loops;
  for (const auto& [var, domain] : plan.loops) {
    Var loop = make<VarNode>(var->name, var->dtype, origin);
    loops.emplace_back(loop, substitute(domain, map));
    map[var.get()] = loop;
  }
  std::vector<IterVar> iters;
  std::vector<Expr> values;
  for (size_t i : plan.iters) {
    IterVar iter = old.iter_vars[i];
    iter.var = make<VarNode>(iter.var->name, iter.var->dtype, origin);
    iter.kind = IterKind::Spatial;
    iter.dom = {substitute(iter.dom.min, map), substitute(iter.dom.extent, map)};
    map[old.iter_vars[i].var.get()] = iter.var;
    values.push_back(substitute(arg->realize->iter_values[i], map));
    iters.push_back(std::move(iter));
  }
  auto moved = [&](const std::vector<Expr>& indices) {
    std::vector<Expr> out;
    for (const Expr& index : indices) { out.push_back(substitute(index, map)); }
    return out;
  };
  std::vector<Expr> buffer_indices = moved(plan.old_indices);
  std::vector<Expr> copy_indices = moved(plan.new_indices);
  const Buffer& from = is_write ? plan.copy : plan.buffer;
  const Buffer& to = is_write ? plan.buffer : plan.copy;
  const auto& from_indices = is_write ? copy_indices : buffer_indices;
  const auto& to_indices = is_write ? buffer_indices : copy_indices;
  Block::Fields fields;
  fields.name = Name(plan.buffer->name.str() + "_" + storage);
  fields.iter_vars = std::move(iters);
  fields.reads = {BufferRegion{from, points(from_indices), origin}};
  fields.writes = {BufferRegion{to, points(to_indices), origin}};
  fields.body = make<BufferStore>(to, Expr(make<BufferLoad>(from, Array<Expr>(from_indices), origin)), Array<Expr>(to_indices), origin);
  Ref<Block> block = make<Block>(std::move(fields), origin);
  Outcome out;
  out.func = func.name();
  out.outputs.push_back(Output::block(block->id));
  Array<Expr> own(plan.new_indices);
  out.rewrite.changes.push_back({arg->id, ReIndex::Rewriter(plan.buffer, plan.copy, own).mutate(Stmt(Ref<Block>(&old)))});
  Expr predicate = substitute(arg->realize->predicate, map);
  Stmt nest = wrap_loops(make<BlockRealize>(Array<Expr>(std::move(values)), std::move(predicate), std::move(block), origin), loops, origin);
  out.rewrite.inserts.push_back({plan.stage.at->id, plan.stage.position, std::move(nest)});
  out.rewrite.allocs.push_back({plan.stage.scope->id, plan.copy, {}});
  return out;
}

/// Reads a buffer through a copy in another memory, laid out by a map from the block's iter vars.
///
///     C[vi] += A[vi // 4, vi % 4]  ==>       A_shared[vi % 4, vi // 4] = A[vi // 4, vi % 4]
///                                            C[vi] += A_shared[vi % 4, vi // 4]
///
/// Needs  a stage pipeline; a block that reads one element of the buffer per instance, with the same indices everywhere; a map that uses
///        the same iter vars as those indices, and gives different elements to different instances.
/// Keeps  results bit for bit.
struct ReindexCacheRead {
  struct Args { BlockArg block; int64_t read_buffer_index = 0; std::string storage_scope; IndexMap index_map; };
  using Plan = ReindexCachePlan;
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    LOOPSMITH_CHECK(require_storage_scope(cx, args.storage_scope));
    LOOPSMITH_TRY(region, require_buffer(cx, *args.block, args.read_buffer_index, false));
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    LOOPSMITH_CHECK(require_stage_pipeline(cx, func, *scope));
    LOOPSMITH_TRY(writer, require_single_writer(cx, func, *scope, region.buffer));
    if (region_of(args.block.block().writes, region.buffer)) {
      return copy_error(cx, Code::CopyReadsOwn, *args.block, *region.buffer);
    }
    Stage stage;
    stage.scope = stage.at = scope;
    if (writer) { find_stage(func, *writer, {args.block->id}, stage); }
    return plan_reindex_cache(cx, args.block, region, args.index_map, args.storage_scope, std::move(stage));
  }
  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome { return apply_reindex_cache(cx, args.block, plan, args.storage_scope, false); }
};

/// Writes a buffer through a copy in another memory, laid out by a map from the block's iter vars.
///
///     B[vi] = A[vi] * 2.0          ==>       B_shared[vi // 4, vi % 4] = A[vi] * 2.0
///                                            B[vi] = B_shared[vi // 4, vi % 4]
///
/// Needs  a stage pipeline; a block that alone writes the buffer, one element in each instance that runs, with the same indices
///        everywhere; a map that uses the same iter vars as those indices, and gives different elements to different instances.
/// Keeps  results bit for bit.
struct ReindexCacheWrite {
  struct Args { BlockArg block; int64_t write_buffer_index = 0; std::string storage_scope; IndexMap index_map; };
  using Plan = ReindexCachePlan;
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    const Place& place = *args.block;
    LOOPSMITH_CHECK(require_storage_scope(cx, args.storage_scope));
    LOOPSMITH_TRY(region, require_buffer(cx, place, args.write_buffer_index, true));
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    LOOPSMITH_CHECK(require_stage_pipeline(cx, func, *scope));
    LOOPSMITH_TRY(writer, require_single_writer(cx, func, *scope, region.buffer));
    if (writer != args.block.place) { return cx.error(Code::Internal).arg("what", "the writer of a buffer is not in its scope"); }
    bool is_declared_read = region_of(place.block()->reads, region.buffer) && !reads_own_sums(*place.block(), region.buffer);
    if (is_declared_read || reads_back(func, place, region.buffer)) {
      return copy_error(cx, Code::CopyReadsOwn, place, *region.buffer);
    }
    if (!begins_reductions(func, place)) {
      return copy_error(cx, Code::CopyPartOfReduction, place, *region.buffer);
    }
    std::vector<NodeId> users;
    for (const Dependence& d : func.scope_info(*scope).of_src(place.id)) {
      if (d.kind == DependenceKind::Raw && !d.is_hidden) { users.push_back(d.dst); }
    }
    Stage stage;
    stage.scope = scope;
    find_stage(func, place, users, stage);
    LOOPSMITH_CHECK(require_one_buffer(cx, func, place, *stage.at, region.buffer));
    LOOPSMITH_TRY(plan, plan_reindex_cache(cx, args.block, region, args.index_map, args.storage_scope, std::move(stage)));
    if (!place.block()->init && !stores_always(place.block()->body, region.buffer)) { return copy_error(cx, Code::CopyIncomplete, place, *region.buffer); }
    if (!is_one_to_one(*place.block(), plan.old_indices, variables_of(plan.old_indices))) {
      return staging_error(cx, place, because(Why::InstancesShareElement).arg("buffer", region.buffer->name.view()));
    }
    return plan;
  }
  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome { return apply_reindex_cache(cx, args.block, plan, args.storage_scope, true); }
};

}  // namespace

const Primitive reindex = primitive<ReIndex>("reindex", "ReIndex", "puts a copy indexed by the block's iter vars before or behind a block",
    {Order::Changed, Hidden::Harmless})
    .moves_work()
    .input("block", &ReIndex::Args::block)
    .attr("buffer", &ReIndex::Args::buffer).from(candidates::buffers)
    .block("copy")
    .example(examples::matmul, "sch.reindex(\"C\", (\"read\", 1))");
const Primitive reindex_cache_read = primitive<ReindexCacheRead>("reindex_cache_read", "ReindexCacheRead", "reads a buffer through a copy laid out by an index map",
    {Order::Changed, Hidden::RedirectsAccesses})
    .moves_work()
    .input("block", &ReindexCacheRead::Args::block)
    .attr("read_buffer_index", &ReindexCacheRead::Args::read_buffer_index).indexes("read").from(candidates::read_indices)
    .attr("storage_scope", &ReindexCacheRead::Args::storage_scope).from(candidates::storage_scopes)
    .input("index_map", &ReindexCacheRead::Args::index_map).from(candidates::read_maps)
    .block("cache")
    .example(examples::matmul, "sch.reindex_cache_read(\"C\", 1, \"shared\", lambda i, j, k: (j, k))");
const Primitive reindex_cache_write = primitive<ReindexCacheWrite>("reindex_cache_write", "ReindexCacheWrite", "writes a buffer through a copy laid out by an index map",
    {Order::Changed, Hidden::RedirectsAccesses})
    .moves_work()
    .input("block", &ReindexCacheWrite::Args::block)
    .attr("write_buffer_index", &ReindexCacheWrite::Args::write_buffer_index).indexes("write").from(candidates::write_indices)
    .attr("storage_scope", &ReindexCacheWrite::Args::storage_scope).from(candidates::storage_scopes)
    .input("index_map", &ReindexCacheWrite::Args::index_map).from(candidates::write_maps)
    .block("cache")
    .example(examples::matmul, "sch.reindex_cache_write(\"C\", 0, \"local\", lambda i, j, k: (j, i))");

}  // namespace loopsmith::schedule::primitives
