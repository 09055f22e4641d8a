// Primitives that turn one loop into several that run one after another, and back: loop_partition, merge. The same block instances
// run; merge changes their order, and checks that no result depends on it.
#include <algorithm>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "schedule/candidates.h"
#include "schedule/counted_races.h"
#include "schedule/examples.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/regions.h"
#include "schedule/func_tree.h"
#include "schedule/primitives.h"
#include "schedule/races.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"

namespace loopsmith::schedule::primitives {
namespace {

// For every buffer the variables that index it; null for an index that is not a variable; empty if accesses differ.
class IndexVariables : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;
  std::vector<std::pair<Name, std::vector<const VarNode*>>> found;
  void on(const BufferStore& n) override {
    add(n.buffer, n.indices);
    Visitor::on(n);
  }
  void on(const BufferLoad& n) override {
    add(n.buffer, n.indices);
    Visitor::on(n);
  }

 private:
  void add(const Buffer& buffer, const Array<Expr>& indices) {
    std::vector<const VarNode*> vars;
    for (const Expr& index : indices) { vars.push_back(index.as<VarNode>()); }
    auto entry = std::find_if(found.begin(), found.end(), [&](const auto& e) { return e.first == buffer->name; });
    if (entry == found.end()) {
      found.emplace_back(buffer->name, std::move(vars));
    } else if (entry->second != vars) {
      entry->second.clear();   // several accesses that differ
    }
  }
};

// A copy of the partitioned loop's body for one part of its range, with new loops, blocks and variables.
class PartCopy : public Mutator {
 public:
  PartCopy(const Var& from, const Var& to, Range part) : loop_(to), part_(std::move(part)) { map_[from.get()] = to; }
  using Mutator::mutate;
  using Mutator::on;
  auto on(const VarNode& n) -> Expr override {
    auto found = map_.find(&n);
    return found == map_.end() ? self(n) : found->second;
  }
  auto on(const LetStmt& n) -> Stmt override {
    Expr value = mutate(n.value);
    Var var = make<VarNode>(n.var->name, n.var->dtype, n.var->origin, n.var->pointer);
    map_[n.var.get()] = var;
    return make<LetStmt>(std::move(var), std::move(value), mutate(n.body), n.origin);
  }
  auto on(const For& n) -> Stmt override {
    Expr min = mutate(n.min);
    Expr extent = mutate(n.extent);
    Var var = make<VarNode>(n.var->name, n.var->dtype, n.var->origin);
    map_[n.var.get()] = var;
    return make<For>(std::move(var), std::move(min), std::move(extent), n.for_kind, mutate(n.body), n.thread, n.annotations, n.origin);
  }
  auto on(const BlockRealize& n) -> Stmt override {
    std::vector<Expr> values;
    size_t bound = n.iter_values.size();
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      values.push_back(mutate(n.iter_values[i]));
      if (bound == n.iter_values.size() && values.back().get() == loop_.get()) { bound = i; }
    }
    Expr predicate = mutate(n.predicate);
    const Block& old = *n.block;
    Block::Fields f = old.fields();
    f.name = Name(old.name.str() + "_" + loop_->name.str());
    std::vector<IterVar> iters;
    for (size_t i = 0; i < old.iter_vars.size(); ++i) {
      IterVar iter = old.iter_vars[i];
      Expr min = mutate(iter.dom.min);
      iter.dom = {std::move(min), mutate(iter.dom.extent)};
      iter.var = make<VarNode>(iter.var->name, iter.var->dtype, iter.var->origin);
      map_[old.iter_vars[i].var.get()] = iter.var;
      if (i == bound) { iter.dom = {cast(iter.var->dtype, part_.min), cast(iter.var->dtype, part_.extent)}; }
      iters.push_back(std::move(iter));
    }
    // Shapes may use the iter vars.
    f.alloc_buffers = f.alloc_buffers.map_same([this](const Buffer& b) { return own(b, false); }, [](const Buffer& a, const Buffer& b) { return a == b; });
    std::vector<MatchBufferRegion> matches;
    for (const MatchBufferRegion& m : old.match_buffers) {
      BufferRegion source = mutate(m.source);
      matches.push_back({own(m.buffer, true), std::move(source)});
    }
    f.match_buffers = std::move(matches);
    f.reads = mutate(f.reads);
    f.writes = mutate(f.writes);
    f.init = f.init ? mutate(f.init) : Stmt();
    f.body = mutate(f.body);
    if (bound < old.iter_vars.size()) {
      // Declares an access by iter vars alone for their whole domains, as TVM does.
      IndexVariables indices;
      indices.visit(f.body);
      for (auto* regions : {&f.writes, &f.reads}) { *regions = widened(*regions, indices, iters); }
    }
    f.iter_vars = std::move(iters);
    return make<BlockRealize>(Array<Expr>(std::move(values)), std::move(predicate), make<Block>(std::move(f), old.origin), n.origin);
  }

 protected:
  auto use(const Buffer& buffer) -> Buffer override {
    auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? buffer : found->second;
  }

 private:
  static auto widened(const Array<BufferRegion>& regions, const IndexVariables& indices, const std::vector<IterVar>& iters) -> Array<BufferRegion> {
    std::vector<BufferRegion> out;
    for (const BufferRegion& region : regions) {
      out.push_back(region);
      auto entry = std::find_if(indices.found.begin(), indices.found.end(), [&](const auto& e) { return e.first == region.buffer->name; });
      if (entry == indices.found.end()) { continue; }
      std::vector<Range> ranges;
      for (const VarNode* var : entry->second) {
        auto iter = std::find_if(iters.begin(), iters.end(), [&](const IterVar& i) { return i.var.get() == var; });
        if (iter == iters.end()) { break; }
        ranges.push_back(iter->dom);
      }
      if (ranges.size() == region.region.size()) { out.back().region = Array<Range>(std::move(ranges)); }
    }
    return Array<BufferRegion>(std::move(out));
  }
  // Each part has its own copies of a block's allocations and views.
  auto own(const Buffer& buffer, bool is_view) -> Buffer {
    BufferNode fields = *buffer;
    // Strides and offset of a view may be variables that it introduces.
    auto fresh = [&](const Expr& e) -> Expr {
      const auto* v = e.as<VarNode>();
      if (v && is_view && !map_.count(v)) { map_[v] = make<VarNode>(v->name, v->dtype, v->origin); }
      return mutate(e);
    };
    Var data = make<VarNode>(buffer->data->name, buffer->data->dtype, buffer->data->origin, buffer->data->pointer);
    map_[buffer->data.get()] = data;
    fields.data = data;
    std::vector<Expr> strides;
    for (const Expr& e : buffer->strides) { strides.push_back(fresh(e)); }
    fields.strides = std::move(strides);
    if (buffer->elem_offset) { fields.elem_offset = fresh(buffer->elem_offset); }
    fields.shape = mutate(buffer->shape);
    Buffer out = make_buffer(std::move(fields));
    buffers_[buffer.get()] = out;
    return out;
  }
  const Var& loop_;
  Range part_;
  VarMap map_;
  BufferMap buffers_;
};

/// Splits a loop into several loops that run one after another, each over a part of its range.
///
///     for i in range(30):              for i0 in range(24):
///         B[i] = A[i]          ==>         B[i0] = A[i0]
///                                      for i1 in range(24, 30):
///                                          B[i1] = A[i1]
///
/// Needs  a loop of known extent that starts at 0, is not bound to a thread or annotated, and does not carry a reduction that
///        has its init in the same block; lengths of all parts except one, positive, with a sum below the extent; no part in which the
///        predicate of a block never holds.
/// Keeps  the order of block instances, so results are equal bit for bit.
struct LoopPartition {
  struct Args {
    LoopArg loop;
    std::vector<std::optional<int64_t>> factors;
    bool preserve_unit_iters = true;
  };
  struct Plan { std::vector<int64_t> ends; Name block; };

  // For too many instances to run: finds a buffer that one of the blocks writes, that only code in a loop uses, and that several of its
  // iterations may touch.
  static auto buffer_of_iterations(const FuncState& func, const Place& loop, const std::vector<const Place*>& blocks) -> std::optional<Buffer> {
    for (const Place* block : blocks) {
      if (!func.is_below(*block, loop)) { continue; }
      for (const BufferRegion& write : block->block()->writes) {
        bool is_given = std::any_of(func.func()->buffer_map.begin(), func.func()->buffer_map.end(), [&](const auto& entry) { return entry.second == write.buffer; });
        if (!is_given && !is_used_outside(func, loop, write.buffer) && may_meet(func, loop, write.buffer)) { return write.buffer; }
      }
    }
    return {};
  }

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const For& loop = args.loop.loop();
    auto refuse = [&](const Reason& why) { return not_partitionable(cx, args, why); };
    auto extent = as_int(loop.extent);
    if (!extent || !as_int(loop.min)) { return refuse(because(Why::BoundsUnknown)); }
    LOOPSMITH_CHECK(require_plain_loop(cx, args.loop));
    LOOPSMITH_CHECK(require_starts_at_zero(cx, args.loop));
    for (int i = args.loop->index + 1; i < args.loop->end; ++i) {
      const Place& place = args.loop.func->places()[static_cast<size_t>(i)];
      if (place.is_block()) { LOOPSMITH_CHECK(require_own_domains(cx, *args.loop.func, place)); }
    }
    Plan plan;
    LOOPSMITH_TRY(ends, ends_of_parts(cx, args, *extent));
    plan.ends = std::move(ends);
    auto below = args.loop.func->child_blocks(*args.loop);
    if (below.empty()) { return note_loop(cx.error(Code::NotOneBlock).arg("loop", args.loop->name().view()).arg("count", 0), *args.loop); }
    plan.block = below.front()->name();
    // Includes blocks that hide their accesses: they use the loop.
    std::vector<const Place*> all;
    for (int i = args.loop->index + 1; i < args.loop->end; ++i) {
      const Place& place = args.loop.func->places()[static_cast<size_t>(i)];
      if (place.is_block()) { all.push_back(&place); }
    }
    LOOPSMITH_CHECK(require_shared_by_parts(cx, args, all));
    for (const Place* block : all) { LOOPSMITH_CHECK(require_parts_of_block(cx, args, plan, *block)); }
    return plan;
  }

  static auto not_partitionable(const Context& cx, const Args& args, const Reason& why) -> Diagnostic {
    return note_loop(cx.error(Code::PartitionPoints).arg("loop", args.loop->name().view()).arg("reason", why.text()), *args.loop);
  }

  // The iteration behind the last one of each part.
  static auto ends_of_parts(const Context& cx, const Args& args, int64_t extent) -> Result<std::vector<int64_t>> {
    auto refuse = [&](const Reason& why) { return not_partitionable(cx, args, why); };
    if (args.factors.empty()) { return refuse(because(Why::NoLengths)); }
    std::optional<size_t> inferred;
    int64_t sum = 0;
    for (size_t i = 0; i < args.factors.size(); ++i) {
      if (!args.factors[i]) {
        if (inferred) { return refuse(because(Why::SeveralLengthsOut)); }
        inferred = i;
        continue;
      }
      int64_t factor = *args.factors[i];
      if (factor <= 0) { return refuse(because(Why::LengthNotPositive).arg("length", factor)); }
      sum = factor > extent - sum ? extent : sum + factor;
    }
    if (sum >= extent) { return refuse(because(Why::LengthsExceed).arg("extent", extent)).remedy("leave the last length out: `None`"); }
    std::vector<int64_t> ends;
    int64_t end = 0;
    for (size_t i = 0; i < args.factors.size(); ++i) {
      end += args.factors[i] ? *args.factors[i] : extent - sum;
      ends.push_back(end);
    }
    if (!inferred) { ends.push_back(extent); }
    return ends;
  }

  // If iterations run at the same time, each may get a separate buffer if no code outside of the loop uses the buffer. The parts would then share it. Parts of
  // an inner loop hide their writes, so that the buffer would no longer count as private to an iteration.
  static auto require_shared_by_parts(const Context& cx, const Args& args, const std::vector<const Place*>& all) -> Status {
    auto refuse = [&](const Reason& why) { return not_partitionable(cx, args, why); };
    std::vector<const Place*> concurrent;
    for (int i = args.loop->index + 1; i < args.loop->end; ++i) { concurrent.push_back(&args.loop.func->places()[static_cast<size_t>(i)]); }
    for (const Place* at = args.loop.func->parent(*args.loop); at; at = args.loop.func->parent(*at)) { concurrent.push_back(at); }
    for (const Place* at : concurrent) {
      if (!at->is_loop() || !runs_at_once(*at->loop)) { continue; }
      Races races = counted_races(*args.loop.func, *at);
      auto is_made_here = [&](const Buffer& buffer) {
        return std::any_of(all.begin(), all.end(), [&](const Place* block) { return region_of(block->block()->writes, buffer) != nullptr; });
      };
      auto own = std::find_if(races.own.begin(), races.own.end(), is_made_here);
      bool may_repeat = !races.is_known && std::any_of(all.begin(), all.end(), [&](const Place* block) {
        return args.loop.func->is_below(*block, *at) && block->block()->init && repeats_instances(*block->realize, *at->loop);
      });
      std::optional<Buffer> shared = own == races.own.end() ? std::nullopt : std::optional<Buffer>(*own);
      if (!shared && !races.is_known) { shared = buffer_of_iterations(*args.loop.func, *at, all); }
      if (!shared && !may_repeat) { continue; }
      std::string what = shared ? fmt::format("`{}`", (*shared)->name.view()) : "a sum";
      return note_loop(refuse(because(Why::PartsShare).arg("loop", at->name().view()).arg("memory", what)), *at)
          .remedy(fmt::format("partition first, then make `{}` parallel or a vector", at->name().view()));
    }
    return ok();
  }

  // The parts of the loop run the same instances of a block as the whole loop, and each runs some.
  static auto require_parts_of_block(const Context& cx, const Args& args, const Plan& plan, const Place& block) -> Status {
    const For& loop = args.loop.loop();
    auto refuse = [&](const Reason& why) { return not_partitionable(cx, args, why); };
    for (size_t i = 0; i < block.realize->iter_values.size(); ++i) {
      const IterVar& iter = block.block()->iter_vars[i];
      if (!block.block()->init || iter.kind != IterKind::Reduction || block.realize->iter_values[i].get() != loop.var.get()) { continue; }
      return note_block(refuse(because(Why::PartsBeginAgain).arg("iter", iter.var->name.view()).arg("block", block.name().view())), block)
          .remedy(fmt::format("decompose first: `sch.decompose_reduction(\"{}\", {})`", block.name().view(), args.loop->name().view()));
    }
    if (is_one(block.realize->predicate)) { return ok(); }
    int64_t begin = 0;
    for (int64_t stop : plan.ends) {
      arith::Analyzer analyzer;
      for (const auto& [var, domain] : loop_domains(*args.loop.func, block)) {
        analyzer.bind(var, var == loop.var ? Range{int_imm(begin, var->dtype), int_imm(stop - begin, var->dtype)} : domain);
      }
      if (stop > begin && analyzer.can_prove(logical_not(block.realize->predicate))) {
        return note_block(refuse(because(Why::PartRunsNothing).arg("first", begin).arg("last", stop - 1).arg("block", block.name().view())), block);
      }
      begin = stop;
    }
    return ok();
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const For& loop = args.loop.loop();
    Origin origin = cx.made_from(loop.origin);
    std::string prefix = plan.block.str() + "_" + loop.var->name.str();
    DataType dtype = loop.var->dtype;
    Outcome out;
    out.func = args.loop.func->name();
    std::vector<Stmt> parts;
    int64_t begin = 0;
    auto opaque = [&](const std::string& name, Stmt body) -> Stmt {
      Block::Fields fields;
      fields.name = Name(name);
      fields.body = std::move(body);
      return make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(fields), origin), origin);
    };
    for (size_t i = 0; i < plan.ends.size(); ++i) {
      Var var = make<VarNode>(Name(loop.var->name.str() + std::to_string(i)), dtype, origin);
      Range part{int_imm(begin, dtype), int_imm(plan.ends[i] - begin - (FAULT(partition_last_lost) && i > 0 ? 1 : 0), dtype)};
      Stmt body = PartCopy(loop.var, var, part).mutate(loop.body);
      Ref<For> made = make<For>(var, part.min, part.extent, ForKind::Serial, std::move(body), std::optional<IterVar>(), AttrMap(), origin);
      out.outputs.push_back(Output::loop(made->id));
      parts.push_back(opaque(fmt::format("{}{}_partition", prefix, i), std::move(made)));
      begin = plan.ends[i];
    }
    out.rewrite.changes.push_back({args.loop->id, opaque(prefix + "_common", seq(std::move(parts), origin))});
    return out;
  }
};

/// Merges loops with equal extents into one loop, in the place of the last. Each iteration runs the bodies of the old loops in turn.
///
///     for i in range(8):               for i_m in range(8):
///         B[i] = A[i]          ==>         B[i_m] = A[i_m]
///     for i in range(8):                   C[i_m] = B[i_m]
///         C[i] = B[i]
///
/// Needs  separate loops, or the innermost loops of separate nests of equal depth, none in a condition; equal extents; all start
///        at 0; none is bound to a thread or annotated. No iteration depends on later iterations of the loops before it, and no statement
///        between the loops on the work that moves past it.
/// Keeps  the order of writes and reads of every element, so results are equal bit for bit.
struct Merge {
  struct Args { std::vector<LoopArg> loops; };
  struct Plan { const FuncState* func = nullptr; std::vector<std::vector<const Place*>> nests; };   // each nest from inside to outside

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const auto& loops = args.loops;
    if (loops.size() < 2) { return cx.error(Code::NoLoops).arg("needed", "two loops").arg("given", loops.empty() ? "none" : "one").remedy("name them: `sch.merge(i, j)`"); }
    const LoopArg& lead = loops[0];
    const FuncState& func = *lead.func;
    auto refuse = [&](const LoopArg& other, const Reason& why) {
      return note_loop(note_loop(cx.error(Code::LoopsDiffer).arg("loop", lead->name().view()).arg("other", other->name().view()).arg("reason", why.text()), *lead), *other);
    };
    const Place* around = func.parent(*lead);
    for (const LoopArg& loop : loops) {
      if (loop.func != &func || func.scope(*loop) != func.scope(*lead)) { return refuse(loop, because(Why::InDifferentBlocks)); }
      while (!func.is_below(*loop, *around)) { around = func.parent(*around); }
    }
    Plan plan{&func, {}};
    arith::Analyzer analyzer;
    for (const LoopArg& loop : loops) {
      std::vector<const Place*> nest;
      for (const Place* at = loop.place; at && at != around && at->is_loop(); at = func.parent(*at)) {
        LoopArg arg;
        arg.func = &func;
        arg.place = at;
        LOOPSMITH_CHECK(require_plain_loop(cx, arg));
        LOOPSMITH_CHECK(require_starts_at_zero(cx, arg));
        if (!nest.empty() && at->loop->body.get() != nest.back()->loop) {
          return note_loop(cx.error(Code::LoopNotOnlyChild).arg("outer", at->name().view()).arg("loop", nest.back()->name().view()), *nest.back());
        }
        nest.push_back(at);
      }
      plan.nests.push_back(std::move(nest));
      const auto& first = plan.nests.front();
      const auto& here = plan.nests.back();
      if (!is_plain_child(func, *here.back())) { return refuse(loop, because(Why::StandsInCondition).arg("loop", here.back()->name().view())); }
      if (here.size() != first.size()) { return refuse(loop, because(Why::DepthsDiffer).arg("depth", first.size()).arg("other", here.size())); }
      for (size_t i = 0; i < here.size(); ++i) {
        if (!analyzer.can_prove_equal(here[i]->loop->extent, first[i]->loop->extent)) {
          return refuse(loop, because(Why::ExtentsDiffer).arg("loop", first[i]->name().view()).arg("extent", print_script(first[i]->loop->extent))
                                  .arg("other", here[i]->name().view()).arg("found", print_script(here[i]->loop->extent)));
        }
      }
      for (size_t i = 0; i + 1 < plan.nests.size(); ++i) {
        if (plan.nests[i].back() == here.back()) { return refuse(loop, because(Why::Nested)); }
      }
    }
    LOOPSMITH_CHECK(require_order(cx, args, plan));
    return plan;
  }

  // Every element must be written and read in the same order as before.
  static auto require_order(const Context& cx, const Args& args, const Plan& plan) -> Status {
    const FuncState& func = *plan.func;
    const Place& target = *plan.nests.back().back();
    for (size_t i = 0; i < plan.nests.size(); ++i) {
      const Place& moved = *plan.nests[i].back();
      // The statements between the loops, which are passed by the move.
      int from = std::min(moved.end, target.end);
      int to = std::max(moved.index, target.index);
      for (int at = from; at < to;) {
        const Place* other = &func.places()[static_cast<size_t>(at)];
        at = other->is_block() ? other->end : at + 1;
        if (!other->is_block()) { continue; }
        bool is_merged = std::any_of(plan.nests.begin(), plan.nests.end(), [&](const auto& nest) { return func.is_below(*other, *nest.back()); });
        if (is_merged) { continue; }
        for (const Place* block : func.child_blocks(moved)) {
          if (const BufferNode* shared = conflict(func, *block, *other)) {
            return note_block(note_loop(cx.error(Code::LoopsDiffer).arg("loop", args.loops.front()->name().view()).arg("other", args.loops.back()->name().view())
                                            .arg("reason", because(Why::BlockBetween).arg("block", other->name().view()).arg("buffer", shared->name.view()).text()), *args.loops[i].place), *other);
          }
        }
      }
      for (size_t j = 0; j < plan.nests.size(); ++j) {
        bool is_before = moved.index < plan.nests[j].back()->index;
        if (i == j || !is_before || FAULT(merge_order_ignored)) { continue; }
        for (const Place* x : func.child_blocks(moved)) {
          for (const Place* y : func.child_blocks(*plan.nests[j].back())) {
            if (const BufferNode* shared = order_lost(func, *x, plan.nests[i], *y, plan.nests[j], i < j)) {
              return note_block(note_block(cx.error(Code::LoopsDiffer).arg("loop", args.loops[i]->name().view()).arg("other", args.loops[j]->name().view())
                                               .arg("reason", because(Why::NeedsLaterIteration).arg("block", y->name().view()).arg("other", x->name().view()).arg("buffer", shared->name.view()).text()), *x), *y);
            }
          }
        }
      }
    }
    return ok();
  }

  template <class F>
  static auto each_conflict(const FuncState& func, const Place& a, const Place& b, const F& f) -> const BufferNode* {
    const Block& x = *a.block();
    const Block& y = *b.block();
    auto reads = [&](const Place& place) {
      std::vector<BufferRegion> out = place.block()->reads.to_vector();
      for (const Buffer& hidden : func.hidden_reads(place)) { out.push_back(full_region(hidden)); }
      return Array<BufferRegion>(std::move(out));
    };
    auto all = [&](const Array<BufferRegion>& left, const Array<BufferRegion>& right) -> const BufferNode* {
      for (const BufferRegion& l : left) {
        for (const BufferRegion& r : right) {
          if ((l.buffer == r.buffer || l.buffer->data == r.buffer->data) && f(l, r)) { return l.buffer.get(); }
        }
      }
      return nullptr;
    };
    if (const BufferNode* found = all(x.writes, y.writes)) { return found; }
    if (const BufferNode* found = all(x.writes, reads(b))) { return found; }
    return all(reads(a), y.writes);
  }
  static auto conflict(const FuncState& func, const Place& a, const Place& b) -> const BufferNode* {
    return each_conflict(func, a, b, [](const BufferRegion&, const BufferRegion&) { return true; });
  }

  // Block x ran wholly before block y. In the merged loop, an instance of y runs before an instance of x if its loop variables are smaller (in the
  // order of the nest), or if they are equal and `x_first` is false. Such a pair must not touch the same element.
  static auto order_lost(const FuncState& func, const Place& x, const std::vector<const Place*>& x_nest, const Place& y, const std::vector<const Place*>& y_nest,
                         bool x_first) -> const BufferNode* {
    return each_conflict(func, x, y, [&](const BufferRegion& a, const BufferRegion& b) {
      if (!(a.buffer == b.buffer)) { return true; }
      size_t depth = x_nest.size();
      for (size_t k = 0; k < depth + (x_first ? 0 : 1); ++k) {
        // The case of loop number k (from outside): the loops outside of it are equal, loop k is larger for x, and the loops inside are arbitrary.
        if (k < depth && is_one(x_nest[depth - 1 - k]->loop->extent)) { continue; }
        arith::Analyzer analyzer;
        VarMap y_map;
        arith::DomMap x_free, y_free;
        Expr larger;
        for (size_t i = 0; i < depth; ++i) {
          const For& xl = *x_nest[depth - 1 - i]->loop;
          const For& yl = *y_nest[depth - 1 - i]->loop;
          Range range{xl.min, xl.extent};
          if (i > k) {
            x_free.emplace(xl.var.get(), arith::IntSet::from_range(range));
            y_free.emplace(yl.var.get(), arith::IntSet::from_range(Range{yl.min, yl.extent}));
            continue;
          }
          analyzer.bind(xl.var, range);
          if (i < k) { y_map[yl.var.get()] = cast(yl.var->dtype, xl.var); continue; }
          // x = y + 1 + more.
          Var y_var = make<VarNode>(yl.var->name, xl.var->dtype);
          analyzer.bind(y_var, range);
          y_map[yl.var.get()] = cast(yl.var->dtype, y_var);
          larger = less(Expr(y_var), Expr(xl.var));
        }
        add_inner(func, x, *x_nest.front(), x_free);
        add_inner(func, y, *y_nest.front(), y_free);
        auto touched = [&](const Place& block, const BufferRegion& region, const arith::DomMap& free, const VarMap& map) {
          auto sets = arith::eval_set(substitute_region(region, bindings_of(*block.realize)).region, free);
          std::vector<std::pair<Expr, Expr>> out;
          for (const arith::IntSet& set : sets) {
            bool known = set.has_lower_bound() && set.has_upper_bound();
            out.emplace_back(known ? substitute(set.min(), map) : Expr(), known ? substitute(set.max(), map) : Expr());
          }
          return out;
        };
        auto xs = touched(x, a, x_free, {});
        auto ys = touched(y, b, y_free, y_map);
        bool apart = false;
        std::optional<arith::Analyzer::Scope> scope;
        if (larger) { scope.emplace(analyzer.enter(larger)); }
        for (size_t d = 0; d < xs.size() && !apart; ++d) {
          if (!xs[d].first || !ys[d].first) { continue; }
          apart = analyzer.can_prove(less(ys[d].second, xs[d].first)) || analyzer.can_prove(less(xs[d].second, ys[d].first));
        }
        if (!apart) { return true; }
      }
      return false;
    });
  }
  static void add_inner(const FuncState& func, const Place& block, const Place& loop, arith::DomMap& out) {
    for (const Place* at = func.parent(block); at && at != &loop && at->is_loop(); at = func.parent(*at)) {
      out.emplace(at->loop->var.get(), arith::IntSet::from_range(Range{at->loop->min, at->loop->extent}));
    }
  }
  static auto substitute_region(const BufferRegion& region, const VarMap& map) -> BufferRegion {
    std::vector<Range> ranges;
    for (const Range& range : region.region) { ranges.push_back(substitute(range, map)); }
    return {region.buffer, Array<Range>(std::move(ranges)), region.origin};
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    Origin origin = cx.made_from(args.loops.front().loop().origin);
    std::vector<Var> vars;
    for (const Place* loop : plan.nests.front()) { vars.push_back(make<VarNode>(Name(loop->loop->var->name.str() + "_m"), loop->loop->var->dtype, origin)); }
    std::vector<Stmt> bodies;
    for (const auto& nest : plan.nests) {
      VarMap map;
      for (size_t i = 0; i < nest.size(); ++i) { map[nest[i]->loop->var.get()] = cast(nest[i]->loop->var->dtype, vars[i]); }
      bodies.push_back(substitute(nest.front()->loop->body, map));
    }
    Stmt stmt = seq(std::move(bodies), origin);
    Outcome out;
    out.func = plan.func->name();
    for (size_t i = 0; i < vars.size(); ++i) {
      const For& like = *plan.nests.front()[i]->loop;
      Ref<For> made = make<For>(vars[i], zero(vars[i]->dtype), like.extent, ForKind::Serial, std::move(stmt), std::optional<IterVar>(), AttrMap(), origin);
      if (i == 0) { out.outputs.push_back(Output::loop(made->id)); }
      stmt = std::move(made);
    }
    for (size_t i = 0; i < plan.nests.size(); ++i) {
      out.rewrite.changes.push_back({plan.nests[i].back()->id, i + 1 == plan.nests.size() ? stmt : Stmt()});
    }
    return out;
  }
};

// Half of the iterations, and all but the last one.
auto partitions(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  auto extent = at.is_loop() ? as_int(at.loop->extent) : std::nullopt;
  if (!extent || *extent < 2) { return {}; }
  std::vector<Value> out{Value(Value::List{Value(*extent / 2), Value()})};
  if (*extent > 2) { out.emplace_back(Value::List{Value(*extent - 1), Value()}); }
  return out;
}
// Pairs the loop with each other loop of its scope that has the same extent and the same depth.
auto loops_alike(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  if (!at.is_loop()) { return {}; }
  std::vector<Value> out;
  for (const Place& other : c.func.places()) {
    if (!other.is_loop() || other.index <= at.index || c.func.scope(other) != c.func.scope(at) || c.func.is_below(other, at)) { continue; }
    auto a = as_int(at.loop->extent), b = as_int(other.loop->extent);
    if (a && a == b) { out.emplace_back(Value::List{Choice::loop(at), Choice::loop(other)}); }
  }
  return out;
}

constexpr std::string_view two_alike = R"(@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,))
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] * T.float32(2)
    for j in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, j)
            C[vi] = B[vi] + T.float32(1)
)";

}  // namespace

const Primitive loop_partition = primitive<LoopPartition>("loop_partition", "LoopPartition", "makes a loop several, each over a part of its range",
    {Order::Changed, Hidden::Harmless})
    .moves_work()
    .input("loop", &LoopPartition::Args::loop)
    .spliced("factors", &LoopPartition::Args::factors).from(partitions)
    .attr("preserve_unit_iters", &LoopPartition::Args::preserve_unit_iters, true)
    .loops("loops")
    .example(examples::scale, "i, = sch.get_loops(\"B\")\nsch.loop_partition(i, factors=[24, None])");
const Primitive merge = primitive<Merge>("merge", "Merge", "makes loops side by side one loop", {Order::Merged, Hidden::MovesBlock | Hidden::GathersBelow})
    .moves_work()
    .inputs("loops", &Merge::Args::loops).from(loops_alike)
    .loop("merged")
    .example(two_alike, "i, = sch.get_loops(\"B\")\nj, = sch.get_loops(\"C\")\nsch.merge(i, j)");

}  // namespace loopsmith::schedule::primitives
