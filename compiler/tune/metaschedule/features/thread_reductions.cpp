// Reductions over threads: see `with_thread_reductions` in prepared.h.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/facts/bindings.h"
#include "schedule/reducers.h"
#include "tune/metaschedule/features/prepared.h"
#include "tune/metaschedule/loop_roles.h"

namespace loopsmith::tune::metaschedule {
namespace {

// A memory of one element for a partial result of a thread.
auto scratch(const Buffer& of, const std::string& prefix) -> Buffer {
  return make_buffer(Name(prefix + "_thread_" + of->name.str()), of->dtype, {int_imm(1)}, "local");
}

auto first_element(const Buffer& buffer) -> Expr { return make<BufferLoad>(buffer, Array<Expr>{int_imm(0)}); }

// Replaces accesses of some buffers by accesses of the only element of other buffers.
class ReplaceBuffers : public Mutator {
 public:
  using Mutator::on;
  explicit ReplaceBuffers(const std::unordered_map<const BufferNode*, Buffer>& by) : by_(by) {}
  auto on(const BufferLoad& n) -> Expr override {
    auto found = by_.find(n.buffer.get());
    return found == by_.end() ? Mutator::on(n) : first_element(found->second);
  }
  auto on(const BufferStore& n) -> Stmt override {
    auto found = by_.find(n.buffer.get());
    if (found == by_.end()) { return Mutator::on(n); }
    return make<BufferStore>(found->second, mutate(n.value), Array<Expr>{int_imm(0)}, n.origin);
  }

 private:
  const std::unordered_map<const BufferNode*, Buffer>& by_;
};

// The reduction loops of one thread, with the block replaced; bound loops around it fall away.
class MakeInThread : public Mutator {
 public:
  using Mutator::on;
  MakeInThread(const BlockRealize* from, Stmt to) : from_(from), to_(std::move(to)) {}
  auto on(const BlockRealize& n) -> Stmt override { return &n == from_ ? to_ : self(n); }
  auto on(const For& n) -> Stmt override {
    Stmt inner = Mutator::on(n);
    return n.for_kind == ForKind::ThreadBinding ? inner.as<For>()->body : inner;
  }

 private:
  const BlockRealize* from_;
  Stmt to_;
};

auto block_of(const std::string& name, Stmt body, Array<IterVar> iters = {}, Array<Expr> values = {}) -> Stmt {
  Block::Fields fields;
  fields.name = Name(name);
  fields.iter_vars = std::move(iters);
  fields.body = std::move(body);
  return make<BlockRealize>(std::move(values), bool_imm(true), make<Block>(std::move(fields)));
}

class LowerReductions : public Mutator {
 public:
  using Mutator::on;

  auto on(const For& n) -> Stmt override {
    loops_.push_back(&n);
    Stmt inner = Mutator::on(n);
    loops_.pop_back();
    auto replaced = replaced_.find(&n);
    return replaced == replaced_.end() ? inner : replaced->second;
  }
  auto on(const Block& n) -> Stmt override {
    std::vector<const For*> outside = std::exchange(loops_, {});
    scopes_.push_back(&n);
    Stmt inner = Mutator::on(n);
    scopes_.pop_back();
    loops_ = std::move(outside);
    return inner;
  }
  auto on(const BlockRealize& n) -> Stmt override {
    std::vector<const For*> over = bound_reduction(n);
    if (over.empty()) { return Mutator::on(n); }
    if (Stmt lowered = lower(n, over)) { replaced_[over.front()] = std::move(lowered); }
    return self(n);
  }

 private:
  // The loops that drive the reduction of a block, where some are bound to threads; else none.
  auto bound_reduction(const BlockRealize& n) -> std::vector<const For*> {
    if (scopes_.empty() || !n.block->init || !is_lone_writer(*n.block)) { return {}; }
    schedule::Domains domains;
    for (const For* loop : loops_) { domains.emplace_back(loop->var, Range{loop->min, loop->extent}); }
    if (!schedule::is_affine_binding(n, domains)) { return {}; }
    std::vector<const For*> out;
    bool is_bound = false;
    for (const For* loop : loops_) {
      bool is_used = false;
      for (size_t i = 0; i < n.iter_values.size(); ++i) {
        IterKind kind = n.block->iter_vars[i].kind;
        if (kind != IterKind::Spatial && kind != IterKind::Reduction) { return {}; }
        is_used = is_used || (kind == IterKind::Reduction && uses_var(n.iter_values[i], [&](const VarNode& v) { return &v == loop->var.get(); }));
      }
      if (!is_used) { continue; }
      out.push_back(loop);
      is_bound = is_bound || loop->for_kind == ForKind::ThreadBinding;
    }
    return is_bound ? out : std::vector<const For*>();
  }

  // No other block of the scope writes the buffers of the block.
  [[nodiscard]] auto is_lone_writer(const Block& block) const -> bool {
    class CountWriters : public Visitor {
     public:
      using Visitor::on;
      std::unordered_map<const BufferNode*, int> writers;
      void on(const Block& n) override {
        for (const BufferRegion& w : n.writes) { ++writers[w.buffer.get()]; }
      }
    } count;
    count.visit(scopes_.back()->body);
    return std::all_of(block.writes.begin(), block.writes.end(), [&](const BufferRegion& w) { return count.writers[w.buffer.get()] == 1; });
  }

  // None where the reduction has no known combiner.
  static auto lower(const BlockRealize& n, const std::vector<const For*>& over) -> Stmt {
    auto updates = schedule::find_updates(*n.block);
    auto matched = updates ? schedule::match_reducer(*updates) : std::nullopt;
    if (!matched || updates->stores.empty()) { return {}; }
    size_t count = updates->stores.size();
    bool is_partial = !is_one(n.predicate) || std::any_of(over.begin(), over.end(), [](const For* loop) { return loop->for_kind != ForKind::ThreadBinding; });
    std::vector<Buffer> results, partial;
    std::unordered_map<const BufferNode*, Buffer> replaced;
    for (const BufferStore* store : updates->stores) {
      results.push_back(scratch(store->buffer, "cross"));
      partial.push_back(scratch(store->buffer, "in"));
      replaced[store->buffer.get()] = partial.back();
    }
    std::vector<Stmt> all;
    std::vector<Expr> exchanged;
    if (is_partial) {
      std::vector<Stmt> inits;
      for (size_t i = 0; i < count; ++i) { inits.push_back(make<BufferStore>(partial[i], matched->reducer.identity[i], Array<Expr>{int_imm(0)})); }
      all.push_back(block_of(n.block->name.str() + "_in_thread_init", seq(std::move(inits))));
      Block::Fields fields = n.block->fields();
      fields.body = ReplaceBuffers(replaced).mutate(fields.body);
      fields.init = {};
      Stmt in_thread = make<BlockRealize>(n.iter_values, n.predicate, make<Block>(std::move(fields), n.block->origin));
      all.push_back(MakeInThread(&n, in_thread).mutate(Stmt(Ref<For>(over.front()))));
      for (const Buffer& b : partial) { exchanged.push_back(first_element(b)); }
    } else {
      exchanged = matched->rhs;
    }
    for (const Buffer& b : results) { exchanged.push_back(first_element(b)); }
    Stmt exchange = make<Evaluate>(make<Call>(DataType::handle(), Name("tvm_thread_allreduce"), Array<Expr>(std::move(exchanged))));
    all.push_back(is_partial ? block_of(n.block->name.str() + "_cross_thread", exchange)
                             : block_of(n.block->name.str() + "_cross_thread", exchange, n.block->iter_vars, n.iter_values));
    all.push_back(write_back(n, *updates, results));
    Stmt out = seq(std::move(all));
    for (size_t i = over.size(); i-- > 0;) {
      const For& loop = *over[i];
      if (loop.for_kind == ForKind::ThreadBinding) { out = make<For>(loop.var, loop.min, loop.extent, loop.for_kind, out, loop.thread, loop.annotations, loop.origin, loop.id); }
    }
    return out;
  }

  static auto write_back(const BlockRealize& n, const schedule::Updates& updates, const std::vector<Buffer>& results) -> Stmt {
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      if (n.block->iter_vars[i].kind == IterKind::Reduction) { continue; }
      iters.push_back(n.block->iter_vars[i]);
      values.push_back(n.iter_values[i]);
    }
    std::vector<Stmt> stores;
    for (size_t i = 0; i < results.size(); ++i) { stores.push_back(make<BufferStore>(updates.stores[i]->buffer, first_element(results[i]), updates.stores[i]->indices)); }
    return block_of(n.block->name.str() + "_write_back", seq(std::move(stores)), Array<IterVar>(std::move(iters)), Array<Expr>(std::move(values)));
  }

  std::vector<const For*> loops_;            // within the innermost block
  std::vector<const Block*> scopes_;
  std::unordered_map<const For*, Stmt> replaced_;
};

}  // namespace

auto with_thread_reductions(const Stmt& body) -> Stmt { return LowerReductions().mutate(body); }

}  // namespace loopsmith::tune::metaschedule
