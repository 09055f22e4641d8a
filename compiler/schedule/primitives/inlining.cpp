// Primitives that merge a block into another one: compute_inline, reverse_compute_inline. The buffer between the two
// is removed; its elements are computed where they were read (or stored on at once).
#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/access_regions.h"
#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/facts/predicates.h"
#include "schedule/facts/regions.h"
#include "schedule/func_tree.h"
#include "schedule/placement.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"
#include "support/scoped_value.h"

namespace loopsmith::schedule {
namespace primitives {
namespace {

auto body_error(const Context& cx, const Place& block, const Reason& why) -> Diagnostic {
  return note_block(cx.error(Code::InlineBody).arg("block", block.name().view()).arg("reason", why.text()), block);
}

auto require_no_init(const Context& cx, const Place& block) -> Status {
  if (!block.block()->init) { return ok(); }
  return note_block(cx.error(Code::InlineReduction).arg("block", block.name().view()), block)
      .remedy("move it under a loop of its neighbour instead: `sch.compute_at(...)` or `sch.reverse_compute_at(...)`");
}

// A store whose value reads the stored buffer takes part in an order of updates, which inlining would lose. Declared regions may omit this
// read, as those of a block with an init do.
auto reads_stored(const BufferStore& store) -> bool {
  bool found = false;
  post_order(store.value, [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    found = found || (load && load->buffer->data == store.buffer->data);
  });
  return found;
}

// Loads of a buffer, and other uses that inlining cannot follow.
struct Uses {
  int loads = 0;
  bool is_opaque = false;
};
class UseCounter : public Visitor {
 public:
  /// `mentioning`: the statements directly below the scope that mention the buffer. Others are not visited.
  UseCounter(const Buffer& buffer, const std::vector<const Place*>& mentioning) : buffer_(buffer), mentioning_(mentioning) {}
  using Visitor::visit;
  Uses all, outside;

 protected:
  using Visitor::on;
  void on(const For& n) override { if (enter(&n)) { Visitor::on(n); leave(&n); } }
  void on(const VarNode& n) override { all.is_opaque |= &n == buffer_->data.get(); }
  void on(const Call& n) override {
    // A value has no address.
    static const Name address_of("address_of");
    const auto* place = n.op == address_of && !n.args.empty() ? n.args[0].as<BufferLoad>() : nullptr;
    all.is_opaque |= place && place->buffer == buffer_;
    Visitor::on(n);
  }
  void on(const BufferLoad& n) override {
    if (n.buffer == buffer_) {
      ++all.loads;
      if (depth_ == 0) { ++outside.loads; }
    }
    Visitor::on(n);
  }
  void on(const Block& n) override {
    for (const MatchBufferRegion& match : n.match_buffers) { all.is_opaque |= match.source.buffer == buffer_; }
    ScopedValue<int> inside(depth_, depth_ + 1);
    Visitor::on(n);
  }
  // Visits the predicate as a part of its block.
  void on(const BlockRealize& n) override {
    if (!enter(&n)) { return; }
    for (const Expr& value : n.iter_values) { visit(value); }
    {
      ScopedValue<int> inside(depth_, depth_ + 1);
      visit(n.predicate);
    }
    visit(n.block);
    leave(&n);
  }

 private:
  auto enter(const StmtNode* node) -> bool {
    if (strand_) { return true; }
    bool mentions = std::any_of(mentioning_.begin(), mentioning_.end(), [&](const Place* p) { return p->loop == node || p->realize == node; });
    if (mentions) { strand_ = node; }
    return mentions;
  }
  void leave(const StmtNode* node) { if (strand_ == node) { strand_ = nullptr; } }
  const Buffer& buffer_;
  const std::vector<const Place*>& mentioning_;
  const StmtNode* strand_ = nullptr;
  int depth_ = 0;
};

auto check_uses(const Context& cx, const FuncState& func, const Place& scope, const Buffer& buffer, const Place& block) -> Status {
  std::vector<const Place*> mentioning = func.mentioning(scope, buffer);
  UseCounter counter(buffer, mentioning);
  if (func.has_plain_body(scope)) {
    for (const Place* place : mentioning) { counter.visit(place->stmt()); }
  } else {
    counter.visit(scope.block()->body);
  }
  if (!counter.all.is_opaque && counter.outside.loads == 0) { return ok(); }
  return note_block(cx.error(Code::OpaqueAccess).arg("buffer", buffer->name.view()), block);
}

// The pointers to elements of all buffers that are mentioned, each once.
class Touching : public Visitor {
 public:
  std::vector<const VarNode*> data;
  using Visitor::on;
  void on(const VarNode& n) override { if (n.dtype.is_handle()) { add(&n); } }
  void on(const BufferLoad& n) override {
    add(n.buffer->data.get());
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    add(n.buffer->data.get());
    Visitor::on(n);
  }
  void on(const Block& n) override {
    for (const BufferRegion& region : n.reads) { add(region.buffer->data.get()); }
    for (const BufferRegion& region : n.writes) { add(region.buffer->data.get()); }
    for (const MatchBufferRegion& match : n.match_buffers) { add(match.source.buffer->data.get()); }
    Visitor::on(n);
  }

 private:
  void add(const VarNode* v) { if (std::find(data.begin(), data.end(), v) == data.end()) { data.push_back(v); } }
};

// Rewrites accesses of one buffer in a block and the blocks in it, and finds their regions anew.
class Inliner : public Mutator {
 public:
  Inliner(const Buffer& buffer, std::vector<Buffer> known) : buffer_(buffer), known_(std::move(known)) {}
  using Mutator::on;
  auto on(const Block& n) -> Stmt override {
    Stmt stmt = Mutator::on(n);
    auto mentions = [&](const Array<BufferRegion>& regions) {
      return std::any_of(regions.begin(), regions.end(), [&](const BufferRegion& r) { return r.buffer == buffer_; });
    };
    if (!mentions(n.reads) && !mentions(n.writes)) { return stmt; }
    auto fields = stmt.as<Block>()->fields();
    AccessRegions regions = find_access_regions(*stmt.as<Block>(), known_);
    // Ignores buffers that the block itself allocates.
    auto is_own = [&](const BufferRegion& r) { return std::find(n.alloc_buffers.begin(), n.alloc_buffers.end(), r.buffer) != n.alloc_buffers.end(); };
    std::erase_if(regions.reads, is_own);
    std::erase_if(regions.writes, is_own);
    fields.reads = std::move(regions.reads);
    fields.writes = std::move(regions.writes);
    return make<Block>(std::move(fields), n.origin, n.id);
  }

 protected:
  const Buffer& buffer_;
  std::vector<Buffer> known_;
};

/// Computes the values of a block wherever they are read, and removes the block.
///
///     B[vi] = A[vi] * 2.0                    C[vi] = A[vi] * 2.0 + 1.0
///     C[vi] = B[vi] + 1.0          ==>
///
/// Needs  a stage pipeline; a complete block that writes one buffer, allocated in its scope, by one store whose indices
///        are distinct iter vars, all that it uses, or a bijective affine map of them; no use of the buffer as a pointer or in a
///        match_buffer; a value that does not read the stored buffer.
/// Keeps  results bit for bit.
struct ComputeInline {
  struct Args { BlockArg block; };
  struct Plan {
    const Place* scope;
    const BufferStore* store;
    std::vector<Var> indices;                // the variables in which the element's value is written
    Expr value;
    Rewrite::Change removal;
  };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    const Place& block = *args.block;
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    LOOPSMITH_CHECK(require_no_init(cx, block));
    if (block.block()->writes.size() != 1) {
      return note_block(cx.error(Code::SingleBuffer).arg("block", block.name().view()).arg("access", "writes")
                            .arg("count", static_cast<int64_t>(block.block()->writes.size())), block);
    }
    LOOPSMITH_CHECK(require_stage_pipeline(cx, func, *scope));
    if (is_output_block(func, block, *scope)) {
      return note_block(cx.error(Code::OutputBlock).arg("block", block.name().view()).arg("buffer", block.block()->writes[0].buffer->name.view()), block);
    }
    LOOPSMITH_CHECK(require_complete(cx, func, block));
    const BufferStore* store = block.block()->body.as<BufferStore>();
    if (!store) { return body_error(cx, block, because(Why::BodyNotSingleStore)); }
    Plan plan{scope, store, {}, store->value, {}};
    if (auto why = find_value(*block.block(), *store, plan)) { return body_error(cx, block, *why); }
    const VarNode* other = nullptr;
    auto is_other = [&](const VarNode& v) {
      if (v.dtype.is_handle() || is_known_at(func, scope, v) || std::any_of(plan.indices.begin(), plan.indices.end(), [&](const Var& index) { return index.get() == &v; })) { return false; }
      other = &v;
      return true;
    };
    if (uses_var(plan.value, is_other)) { return body_error(cx, block, because(Why::VariableNotIndex).arg("variable", other->name.view())); }
    if (store->predicate) { return body_error(cx, block, because(Why::StoreHasMask)); }
    if (reads_stored(*store)) { return body_error(cx, block, because(Why::ReadsItsResult).arg("buffer", store->buffer->name.view())); }
    LOOPSMITH_CHECK(check_uses(cx, func, *scope, store->buffer, block));
    // A read that replaces a hidden read is hidden as well. If the reader declares other reads of that buffer, it would go unnoticed.
    for (const Place* user : func.mentioning(*scope, store->buffer)) {
      for (int i = user->index; i < user->end; ++i) {
        const Place& place = func.places()[static_cast<size_t>(i)];
        if (!place.is_block() || !reads_hidden(func, place, store->buffer)) { continue; }
        bool declares_others = false;
        post_order(plan.value, [&](const Expr& e) {
          const auto* load = e.as<BufferLoad>();
          declares_others = declares_others || (load && region_of(place.block()->reads, load->buffer));
        });
        if (!declares_others) { continue; }
        return note_block(body_error(cx, block, because(Why::ReadsUndeclared).arg("block", place.name().view()).arg("buffer", store->buffer->name.view())), place);
      }
    }
    if (auto found = read_beyond(func, block, *scope, plan)) {
      return note_block(body_error(cx, block, because(Why::ReadsUnwritten).arg("reader", found->reader->name().view()).arg("buffer", store->buffer->name.view()).arg("operands", found->buffer->name.view())), *found->reader);
    }
    LOOPSMITH_TRY(removal, plan_removal(cx, func, block));
    plan.removal = std::move(removal);
    return plan;
  }

  struct Beyond { const Place* reader; Buffer buffer; };

  /// A reader may read elements that the block does not write, and ignore them. After inlining, the values of these elements would be computed, from
  /// operands that may not exist.
  static auto read_beyond(const FuncState& func, const Place& block, const Place& scope, const Plan& plan) -> std::optional<Beyond> {
    // Elements that the block's loops leave out are not written either.
    const bool may_skip = !keeps_domains(func, block);
    arith::Analyzer any;       // for any element of the buffer
    std::vector<std::pair<size_t, int64_t>> written;   // dimensions with more elements than are written, and the number of written ones
    for (size_t i = 0; i < plan.indices.size(); ++i) {
      auto size = as_int(plan.store->buffer->shape[i]);
      std::optional<int64_t> count;
      for (const IterVar& iter : block.block()->iter_vars) {
        if (iter.var.get() == plan.indices[i].get() && is_zero(iter.dom.min)) { count = as_int(iter.dom.extent); }
      }
      if (!size || (!count && !may_skip)) { return may_skip ? read_beyond_by_proof(func, block, scope, plan) : std::nullopt; }
      any.bind(plan.indices[i], Range{zero(plan.indices[i]->dtype), plan.store->buffer->shape[i]});
      if (count && *count < *size) { written.emplace_back(i, *count); }
    }
    if (written.empty() && !may_skip) { return {}; }
    Buffer left;
    post_order(plan.value, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (!load || left) { return; }
      for (size_t d = 0; d < load->indices.size(); ++d) {
        auto size = as_int(load->buffer->shape[d]);
        auto bound = any.const_int_bound(load->indices[d]);
        if (size && (bound.min < 0 || bound.max >= *size)) { left = load->buffer; }
      }
    });
    if (!left) { return {}; }
    for (const Place* user : func.mentioning(scope, plan.store->buffer)) {
      for (int i = user->index; i < user->end; ++i) {
        const Place& place = func.places()[static_cast<size_t>(i)];
        if (!place.is_block() || &place == &block) { continue; }
        arith::Analyzer there;
        for (const IterVar& iter : place.block()->iter_vars) { there.bind(iter.var, iter.dom); }
        bool reads = false;
        post_order(place.block()->body, [](const Stmt&) {}, [&](const Expr& e) {
          const auto* load = e.as<BufferLoad>();
          if (!load || !(load->buffer == plan.store->buffer)) { return; }
          reads = reads || may_skip;
          for (auto [d, count] : written) { reads = reads || there.const_int_bound(load->indices[d]).max >= count; }
        });
        if (reads) { return Beyond{&place, left}; }
      }
    }
    return {};
  }

  // The same for unknown sizes: proves that each operand of the value exists, in the loops of the reader.
  static auto read_beyond_by_proof(const FuncState& func, const Place& block, const Place& scope, const Plan& plan) -> std::optional<Beyond> {
    std::vector<const BufferLoad*> needed;
    post_order(plan.value, [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { needed.push_back(load); } });
    if (needed.empty()) { return {}; }
    for (const Place* user : func.mentioning(scope, plan.store->buffer)) {
      for (int i = user->index; i < user->end; ++i) {
        const Place& place = func.places()[static_cast<size_t>(i)];
        if (!place.is_block() || &place == &block) { continue; }
        arith::Analyzer there;
        for (const auto& [var, range] : loop_domains(func, place)) { there.bind(var, range); }
        const VarMap bindings = bindings_of(*place.realize);
        auto holds = there.enter(place.realize->predicate);
        Buffer left;
        post_order(place.block()->body, [](const Stmt&) {}, [&](const Expr& e) {
          const auto* read = e.as<BufferLoad>();
          if (left || !read || !(read->buffer == plan.store->buffer)) { return; }
          VarMap at;
          for (size_t d = 0; d < read->indices.size(); ++d) { at[plan.indices[d].get()] = cast(plan.indices[d]->dtype, substitute(read->indices[d], bindings)); }
          for (const BufferLoad* load : needed) {
            for (size_t d = 0; d < load->indices.size() && !left; ++d) {
              Expr index = substitute(load->indices[d], at);
              bool is_there = there.can_prove(less_equal(zero(index.dtype()), index)) && there.can_prove(less(index, cast(index.dtype(), load->buffer->shape[d])));
              if (!is_there) { left = load->buffer; }
            }
          }
        });
        if (left) { return Beyond{&place, left}; }
      }
    }
    return {};
  }

  // The value of an element in terms of its indices, or the reason why there is no such value.
  static auto find_value(const Block& block, const BufferStore& store, Plan& plan) -> std::optional<Reason> {
    const VarNode* twice = nullptr;
    bool is_plain = true;
    for (const Expr& index : store.indices) {
      Var var = index.ref<VarNode>();
      is_plain &= var != nullptr;
      if (!is_plain) { break; }
      if (std::find(plan.indices.begin(), plan.indices.end(), var) != plan.indices.end()) { twice = var.get(); }
      plan.indices.push_back(std::move(var));
    }
    if (twice) { return because(Why::IndexTwice).arg("variable", twice->name.view()); }
    if (is_plain) { return {}; }
    plan.indices.clear();
    arith::IterDomains domains;
    for (const IterVar& iter : block.iter_vars) { domains.emplace_back(iter.var, iter.dom); }
    arith::Analyzer analyzer;
    auto map = arith::detect_iter_map(store.indices.to_vector(), domains, bool_imm(true), arith::IterMapLevel::Bijective, analyzer, false);
    if (!map.errors.empty() || map.indices.size() != store.indices.size() || !is_invertible(map.indices)) {
      return because(Why::StoreIndicesNotBijective);
    }
    std::vector<Expr> holes;
    for (const Expr& index : store.indices) {
      plan.indices.push_back(make<VarNode>(Name(fmt::format("i{}", holes.size())), index.dtype()));
      holes.emplace_back(plan.indices.back());
    }
    VarMap inverse;
    for (auto& [var, value] : arith::inverse_affine_iter_map(map.indices, holes)) { inverse[var] = value; }
    for (const IterVar& iter : block.iter_vars) {
      if (as_int(iter.dom.min) && analyzer.can_prove_equal(iter.dom.extent, one(iter.dom.extent.dtype()))) { inverse[iter.var.get()] = iter.dom.min; }
    }
    plan.value = substitute(store.value, inverse);
    return {};
  }

  class IntoConsumer : public Inliner {
   public:
    IntoConsumer(const Plan& plan, std::vector<Buffer> known) : Inliner(plan.store->buffer, std::move(known)), plan_(plan) {}
    using Inliner::on;
    auto on(const BufferLoad& n) -> Expr override {
      Expr load = Mutator::on(n);
      if (!(n.buffer == buffer_)) { return load; }
      VarMap map;
      const auto& indices = load.as<BufferLoad>()->indices;
      for (size_t i = 0; i < indices.size(); ++i) {
        const Expr& index = FAULT(inline_indices_swapped) ? indices[indices.size() - 1 - i] : indices[i];
        map[plan_.indices[i].get()] = cast(plan_.indices[i]->dtype, index);
      }
      return substitute(plan_.value, map);
    }

   private:
    const Plan& plan_;
  };

  static auto apply(const Context&, const Args& args, const Plan& plan) -> Outcome {
    const FuncState& func = *args.block.func;
    const Buffer& buffer = plan.store->buffer;
    Outcome out;
    out.func = func.name();
    std::vector<Buffer> known;
    add_signature_buffers(args.block.block(), known);
    for (const BufferRegion& r : plan.scope->block()->reads) { known.push_back(r.buffer); }
    for (const BufferRegion& r : plan.scope->block()->writes) { known.push_back(r.buffer); }
    // Blocks may have hidden reads of the buffer.
    std::vector<const Place*> mentioning = func.blocks_mentioning(*plan.scope, buffer);
    // These blocks touch few of the buffers in the scope.
    Touching touching;
    for (const Place* place : mentioning) { touching.visit(place->stmt()); }
    for (const VarNode* data : touching.data) {
      for (Buffer& b : func.allocated_on(*plan.scope, data)) { known.push_back(std::move(b)); }
    }
    for (const Place* place : mentioning) {
      if (place == args.block.place) { continue; }
      std::vector<Buffer> buffers = known;
      add_signature_buffers(*place->block(), buffers);
      IntoConsumer inliner(plan, std::move(buffers));
      Stmt block = inliner.mutate(Stmt(Ref<Block>(place->block())));
      const BlockRealize& realize = *place->realize;
      Expr predicate = inliner.mutate(realize.predicate);
      if (!predicate.same_as(realize.predicate)) {
        block = make<BlockRealize>(realize.iter_values, std::move(predicate), block.ref<Block>(), realize.origin);
      }
      if (block.get() != place->block()) { out.rewrite.changes.push_back({place->id, std::move(block)}); }
    }
    out.rewrite.changes.push_back(plan.removal);
    out.rewrite.allocs.push_back({plan.scope->id, {}, buffer});
    return out;
  }
};

/// Lets the producer of a block apply the computation of the block and store its result, and removes the block.
///
///     B[vi, vj] = A[vi, vj] * 2.0            C[vj, vi] = A[vi, vj] * 2.0 + 1.0
///     C[vj, vi] = B[vi, vj] + 1.0  ==>
///
/// Needs  a stage pipeline; a complete block without predicate, all of whose instances run, that reads one produced buffer, everywhere
///        with the same indices, an injective affine map of its iter vars; one producer, which is complete, stores once a
///        value that does not read the stored buffer, and has no other consumer.
/// Keeps  results bit for bit.
struct ReverseComputeInline {
  struct Args { BlockArg block; };
  struct Plan {
    const Place* scope;
    const Place* producer;
    const BufferStore* consumer_store;
    const BufferStore* producer_store;       // may be below loops of the producer's body
    std::vector<const For*> producer_loops;
    VarMap substitution;                     // the consumer's iter vars in terms of the producer's
    Expr predicate;                          // the new predicate of the producer
    Expr condition;                          // the condition of the store, if it uses loops of the producer's body; none: always true
    Rewrite::Change removal;
  };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    const Place& block = *args.block;
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    LOOPSMITH_CHECK(require_no_init(cx, block));
    LOOPSMITH_CHECK(require_stage_pipeline(cx, func, *scope));
    LOOPSMITH_TRY(buffer, only_produced_buffer(cx, block, func.scope_info(*scope)));
    LOOPSMITH_CHECK(require_complete(cx, func, block));
    LOOPSMITH_TRY(producer, only_producer(cx, func, *scope, block));
    // The buffer between the two goes away, so no other code may use it.
    if (!func.allocates(*scope, buffer)) {
      return note_block(cx.error(Code::OutputBlock).arg("block", producer->name().view()).arg("buffer", buffer->name.view()), *producer);
    }
    LOOPSMITH_TRY(store, only_store(cx, func, block));
    LOOPSMITH_TRY(indices, indices_of_reads(cx, block, *store, buffer));
    Plan plan{scope, producer, store, nullptr, {}, {}, {}, {}, {}};
    find_producer_store(*producer->block(), plan);
    arith::Analyzer analyzer;
    LOOPSMITH_CHECK(solve_indices(cx, block, buffer, indices, plan, analyzer));
    LOOPSMITH_CHECK(require_made(cx, block, plan, analyzer));
    LOOPSMITH_CHECK(require_known_variables(cx, func, block, plan));
    LOOPSMITH_CHECK(plan_predicate(cx, block, indices, plan, analyzer));
    LOOPSMITH_CHECK(check_uses(cx, func, *scope, buffer, block));
    LOOPSMITH_TRY(removal, plan_removal(cx, func, block));
    plan.removal = std::move(removal);
    return plan;
  }

  // The buffer that the block reads and a block of the scope writes.
  static auto only_produced_buffer(const Context& cx, const Place& block, const Scope& info) -> Result<Buffer> {
    Buffer buffer;
    int produced = 0;
    for (const BufferRegion& read : block.block()->reads) {
      if (read.buffer == buffer || !info.is_written(read.buffer.get())) { continue; }
      ++produced;
      buffer = read.buffer;
    }
    if (produced == 1) { return buffer; }
    return note_block(cx.error(Code::SingleBuffer).arg("block", block.name().view()).arg("access", "reads").arg("count", produced), block);
  }

  static auto only_producer(const Context& cx, const FuncState& func, const Place& scope, const Place& block) -> Result<const Place*> {
    const Scope info = func.scope_info(scope);
    auto dependences = info.of_dst(block.id);
    if (dependences.size() == 1 && dependences[0].kind == DependenceKind::Raw) {
      const Place* candidate = func.find(dependences[0].src);
      if (is_complete(func, *candidate) && info.of_src(candidate->id).size() == 1) { return candidate; }
    }
    Diagnostic out = note_block(cx.error(Code::SingleProducer).arg("block", block.name().view()), block);
    for (const Dependence& d : dependences) {
      const Place* p = func.find(d.src);
      out.notes.push_back({p->block()->origin, why_not_single(func, scope, block, d, dependences.size() > 1), d.src});
    }
    return std::move(out).remedy(fmt::format("move `{}` under a loop of its producers instead: `sch.reverse_compute_at(...)`", block.name().view()));
  }

  // The store that is the body of a block, all of whose instances run.
  static auto only_store(const Context& cx, const FuncState& func, const Place& block) -> Result<const BufferStore*> {
    if (!is_one(block.realize->predicate)) { return body_error(cx, block, because(Why::HasPredicate)); }
    LOOPSMITH_CHECK(require_independent_loops(cx, func, block));
    std::vector<const VarNode*> iters;
    for (const IterVar& iter : block.block()->iter_vars) { iters.push_back(iter.var.get()); }
    if (!runs_all_instances(func, block, iters)) { return body_error(cx, block, because(Why::LoopsLeaveOut)); }
    const BufferStore* store = block.block()->body.as<BufferStore>();
    if (!store || store->predicate) { return body_error(cx, block, because(Why::BodyNotSingleStore)); }
    return store;
  }

  // The indices with which the store reads the buffer, the same in all of its loads.
  static auto indices_of_reads(const Context& cx, const Place& block, const BufferStore& store, const Buffer& buffer) -> Result<std::vector<Expr>> {
    std::vector<const BufferLoad*> loads;
    auto collect = [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (load && load->buffer == buffer) { loads.push_back(load); }
    };
    for (const Expr& index : store.indices) { post_order(index, collect); }
    post_order(store.value, collect);
    if (loads.empty()) { return body_error(cx, block, because(Why::DoesNotLoad).arg("buffer", buffer->name.view())); }
    const auto& indices = loads.front()->indices;
    for (const BufferLoad* load : loads) {
      bool same = load->indices.size() == indices.size();
      for (size_t i = 0; same && i < indices.size(); ++i) { same = arith::deep_equal(load->indices[i], indices[i]); }
      if (!same) { return body_error(cx, block, because(Why::LoadsAtSeveralIndices).arg("buffer", buffer->name.view())); }
    }
    return indices.to_vector();
  }

  // Expresses the block's iter vars by those of its producer.
  static auto solve_indices(const Context& cx, const Place& block, const Buffer& buffer, const std::vector<Expr>& indices, Plan& plan, arith::Analyzer& analyzer) -> Status {
    Domains domains;
    for (const IterVar& iter : block.block()->iter_vars) {
      domains.emplace_back(iter.var, iter.dom);
      if (is_one(iter.dom.extent) && as_int(iter.dom.min)) { plan.substitution[iter.var.get()] = iter.dom.min; }
    }
    // The buffer may be larger than the part that the block reads. It is enough that different instances have different indices.
    auto map = arith::detect_iter_map(indices, domains, bool_imm(true), arith::IterMapLevel::Bijective, analyzer, false);
    bool is_bijective = !map.indices.empty() && is_invertible(map.indices);
    if (!is_bijective) { map = arith::detect_iter_map(indices, domains, bool_imm(true), arith::IterMapLevel::NoCheck, analyzer, false); }
    bool tells_apart = is_bijective || (!map.indices.empty() && is_invertible(map.indices));
    if (tells_apart && !is_bijective) {
      arith::Analyzer inside;
      VarMap back = plan.substitution;
      for (auto& [var, value] : arith::inverse_affine_iter_map(map.indices, indices)) { back[var] = value; }
      for (const IterVar& iter : block.block()->iter_vars) { inside.bind(iter.var, iter.dom); }
      for (const IterVar& iter : block.block()->iter_vars) {
        auto found = back.find(iter.var.get());
        tells_apart = tells_apart && found != back.end() && inside.can_prove_equal(found->second, is_one(iter.dom.extent) ? iter.dom.min : Expr(iter.var));
      }
    }
    if (!tells_apart) { return body_error(cx, block, because(Why::IndicesNotInjective).arg("buffer", buffer->name.view())); }
    if (!plan.producer_store || plan.producer_store->predicate) { return body_error(cx, *plan.producer, because(Why::BodyNotSingleStore)); }
    for (const auto& [place, written] : {std::pair(plan.producer, plan.producer_store), std::pair(&block, plan.consumer_store)}) {
      if (reads_stored(*written)) { return body_error(cx, *place, because(Why::ReadsItsResult).arg("buffer", written->buffer->name.view())); }
    }
    for (auto& [var, value] : arith::inverse_affine_iter_map(map.indices, plan.producer_store->indices.to_vector())) { plan.substitution[var] = value; }
    return ok();
  }

  // Every instance of the block has an instance of its producer.
  static auto require_made(const Context& cx, const Place& block, const Plan& plan, arith::Analyzer& analyzer) -> Status {
    arith::DomMap producer_domains;
    for (const IterVar& iter : plan.producer->block()->iter_vars) { producer_domains.emplace(iter.var.get(), arith::IntSet::from_range(iter.dom)); }
    for (const For* loop : plan.producer_loops) { producer_domains.emplace(loop->var.get(), arith::IntSet::from_range(Range{loop->min, loop->extent})); }
    for (const IterVar& iter : block.block()->iter_vars) {
      auto found = plan.substitution.find(iter.var.get());
      if (found == plan.substitution.end()) { return body_error(cx, block, because(Why::IterNotDetermined).arg("buffer", plan.producer_store->buffer->name.view()).arg("iter", iter.var->name.view())); }
      arith::IntSet range = arith::eval_set(found->second, producer_domains);
      bool is_short = (range.has_lower_bound() && analyzer.can_prove(greater(range.min(), iter.dom.min))) ||
                      (range.has_upper_bound() && analyzer.can_prove(less(range.max(), iter.dom.min + iter.dom.extent - one(iter.dom.extent.dtype()))));
      if (is_short) { return body_error(cx, block, because(Why::IterBeyondProducer).arg("iter", iter.var->name.view())); }
    }
    return ok();
  }

  // All variables of the store have a value in the producer.
  static auto require_known_variables(const Context& cx, const FuncState& func, const Place& block, const Plan& plan) -> Status {
    const VarNode* other = nullptr;
    auto is_other = [&](const VarNode& v) {
      return !plan.substitution.count(&v) && !v.dtype.is_handle() && !is_known_at(func, plan.scope, v) && (other = &v, true);
    };
    bool uses_other = uses_var(plan.consumer_store->value, is_other);
    for (const Expr& index : plan.consumer_store->indices) { uses_other = uses_other || uses_var(index, is_other); }
    return uses_other ? Status(body_error(cx, block, because(Why::VariableNotIndex).arg("variable", other->name.view()))) : ok();
  }

  // Limits the producer to the instances that the block reads: by its predicate, or by a condition of its store.
  static auto plan_predicate(const Context& cx, const Place& block, const std::vector<Expr>& indices, Plan& plan, arith::Analyzer& analyzer) -> Status {
    const Place* producer = plan.producer;
    Expr in_bound = bool_imm(true);
    for (const IterVar& iter : block.block()->iter_vars) {
      in_bound = logical_and(in_bound, logical_and(greater_equal(iter.var, iter.dom.min), less(iter.var, iter.dom.min + iter.dom.extent)));
    }
    VarMap to_loops;
    for (size_t i = 0; i < producer->realize->iter_values.size(); ++i) {
      const IterVar& iter = producer->block()->iter_vars[i];
      analyzer.bind(iter.var, iter.dom);
      // In the predicate numbers are compared, of one type each.
      to_loops[iter.var.get()] = cast(iter.var->dtype, producer->realize->iter_values[i]);
    }
    for (const For* loop : plan.producer_loops) { analyzer.bind(loop->var, Range{loop->min, loop->extent}); }
    VarMap typed;
    for (const auto& [var, value] : plan.substitution) { typed.emplace(var, cast(var->dtype, value)); }
    Expr read_here = substitute(in_bound, typed);
    // No block reads elements of the producer apart from those that such instances read: the block reads one element only, or some
    // in each row of a buffer with longer rows.
    for (size_t i = 0; i < indices.size(); ++i) {
      const Expr& made = plan.producer_store->indices[i];
      Expr place = substitute(indices[i], plan.substitution);
      auto known = analyzer.enter(read_here);
      if (!analyzer.can_prove_equal(made, place)) { read_here = logical_and(read_here, equal(made, place)); }
    }
    read_here = analyzer.simplify(read_here);
    // The loops of the producer's body are unknown to its predicate.
    auto is_inner = [&](const VarNode& v) { return std::any_of(plan.producer_loops.begin(), plan.producer_loops.end(), [&](const For* loop) { return loop->var.get() == &v; }); };
    if (uses_var(read_here, is_inner)) { plan.condition = std::exchange(read_here, bool_imm(true)); }
    plan.predicate = substitute(read_here, to_loops);
    // The condition of an instance is computed for all instances, including those whose loads leave the buffer.
    const BufferNode* loaded = nullptr;
    auto note_load = [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { loaded = load->buffer.get(); } };
    post_order(plan.predicate, note_load);
    if (plan.condition) { post_order(plan.condition, note_load); }
    if (loaded) { return body_error(cx, block, because(Why::ContentsDecide).arg("buffer", loaded->name.view())); }
    if (FAULT(reverse_inline_predicate_lost)) { plan.predicate = bool_imm(true); }
    // The producer's own predicate still holds. No block reads elements that it leaves out, since reads are covered.
    bool is_implied = true;
    {
      auto known = analyzer.enter(plan.predicate);
      is_implied = analyzer.can_prove(producer->realize->predicate);
    }
    if (!is_implied && !FAULT(reverse_inline_predicate_lost)) { plan.predicate = logical_and(producer->realize->predicate, plan.predicate); }
    return ok();
  }

  // The reason why a block in front of the one to be inlined does not allow it; none: it does.
  static auto why_not_single(const FuncState& func, const Place& scope, const Place& block, const Dependence& d, bool has_others) -> std::string {
    const Place& before = *func.find(d.src);
    std::string_view name = before.name().view(), buffer = d.buffer ? d.buffer->name.view() : "";
    if (d.kind == DependenceKind::War) { return fmt::format("`{}` reads `{}`, which `{}` writes: the two keep their order", name, buffer, block.name().view()); }
    if (d.kind == DependenceKind::Waw) { return fmt::format("`{}` writes `{}`, too", name, buffer); }
    if (d.kind != DependenceKind::Raw) { return fmt::format("the order of `{}` and `{}` may matter", name, block.name().view()); }
    if (auto why = why_not_complete(func, before)) { return fmt::format("`{}` is not complete: {}", name, why->text()); }
    for (const Dependence& other : func.scope_info(scope).of_src(before.id)) {
      if (other.dst != block.id) { return fmt::format("`{}` uses what `{}` writes, too", func.find(other.dst)->name().view(), name); }
    }
    return has_others ? fmt::format("`{}` is one of several blocks that come before it", name) : fmt::format("`{}` comes before it", name);
  }

  // Finds the only store of a producer: the whole body, or below loops of the body, as in a block that copies a tile.
  static void find_producer_store(const Block& producer, Plan& plan) {
    Stmt at = producer.body;
    while (const auto* loop = at.as<For>()) {
      if (loop->thread) { return; }
      plan.producer_loops.push_back(loop);
      at = Stmt(loop->body);
    }
    plan.producer_store = at.as<BufferStore>();
  }

  // The consumer's store, with iter vars and the loaded value replaced.
  class Substituter : public Mutator {
   public:
    Substituter(const Plan& plan, const Buffer& buffer, Expr value) : plan_(plan), buffer_(buffer), value_(std::move(value)) {}
    using Mutator::on;
    auto on(const VarNode& n) -> Expr override {
      auto found = plan_.substitution.find(&n);
      return found == plan_.substitution.end() ? self(n) : found->second;
    }
    auto on(const BufferLoad& n) -> Expr override { return n.buffer == buffer_ ? value_ : Mutator::on(n); }

   private:
    const Plan& plan_;
    const Buffer& buffer_;
    Expr value_;
  };
  class IntoProducer : public Inliner {
   public:
    IntoProducer(const Plan& plan, std::vector<Buffer> known) : Inliner(plan.producer_store->buffer, std::move(known)), plan_(plan) {}
    using Inliner::on;
    auto on(const BufferStore& n) -> Stmt override {
      Stmt stmt = Mutator::on(n);
      if (!(n.buffer == buffer_)) { return stmt; }
      Substituter substituter(plan_, buffer_, stmt.as<BufferStore>()->value);
      Stmt inlined = substituter.mutate(Stmt(Ref<BufferStore>(plan_.consumer_store)));
      return plan_.condition ? Stmt(make<IfThenElse>(plan_.condition, std::move(inlined), Stmt(), n.origin)) : inlined;
    }

   private:
    const Plan& plan_;
  };

  static auto apply(const Context&, const Args& args, const Plan& plan) -> Outcome {
    const Buffer& buffer = plan.producer_store->buffer;
    std::vector<Buffer> known;
    add_signature_buffers(args.block.block(), known);
    add_signature_buffers(*plan.producer->block(), known);
    Stmt block = IntoProducer(plan, std::move(known)).mutate(Stmt(Ref<Block>(plan.producer->block())));
    const BlockRealize& realize = *plan.producer->realize;
    Outcome out;
    out.func = args.block.func->name();
    out.rewrite.changes.push_back({plan.producer->id, make<BlockRealize>(realize.iter_values, plan.predicate, block.ref<Block>(), realize.origin)});
    out.rewrite.changes.push_back(plan.removal);
    out.rewrite.allocs.push_back({plan.scope->id, {}, buffer});
    return out;
  }
};

}  // namespace

}  // namespace primitives

auto plan_inline(const Context& cx, const BlockArg& block, bool reverse) -> Result<Outcome> {
  if (reverse) {
    primitives::ReverseComputeInline::Args args{block};
    LOOPSMITH_TRY(plan, primitives::ReverseComputeInline::check(cx, args));
    return primitives::ReverseComputeInline::apply(cx, args, plan);
  }
  primitives::ComputeInline::Args args{block};
  LOOPSMITH_TRY(plan, primitives::ComputeInline::check(cx, args));
  return primitives::ComputeInline::apply(cx, args, plan);
}

namespace primitives {

const Primitive compute_inline = primitive<ComputeInline>("compute_inline", "ComputeInline", "computes the values of a block wherever they are read",
    {Order::Changed, Hidden::MovesBlock})
    .moves_work()
    .input("block", &ComputeInline::Args::block)
    .example(examples::two_stages, "sch.compute_inline(\"B\")");
const Primitive reverse_compute_inline = primitive<ReverseComputeInline>("reverse_compute_inline", "ReverseComputeInline", "merges a block into its producer",
    {Order::Changed, Hidden::MovesBlock | Hidden::ChangesBuffer})
    .moves_work()
    .input("block", &ReverseComputeInline::Args::block)
    .example(examples::two_stages, "sch.reverse_compute_inline(\"C\")");

}  // namespace primitives
}  // namespace loopsmith::schedule
