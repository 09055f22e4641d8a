// Makes loops over threads from launches, and moves the memory of blocks and threads: see launches_as_loops.h.
#include "transform/launches_as_loops.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/ops.h"
#include "ir/scratch.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "transform/returns.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

auto scope_of(const Var& data) -> std::string_view { return data->pointer ? data->pointer->scope.view() : std::string_view(); }

/// True for memory of which every thread has a copy: registers and fragments.
auto is_of_thread(const Var& data) -> bool {
  const auto family = memory_family(scope_of(data));
  return family == MemoryFamily::Local || family == MemoryFamily::WmmaA || family == MemoryFamily::WmmaB || family == MemoryFamily::WmmaAccumulator ||
         family == MemoryFamily::MmaA || family == MemoryFamily::MmaB || family == MemoryFamily::MmaC;
}

auto is_launch(const Stmt& stmt) -> bool {
  const auto* attr = stmt.as<AttrStmt>();
  return attr && attr->key == "thread_extent" && as_thread_loop(stmt);
}

/// A block without iter vars that allocates buffers around a statement.
auto with_memory(std::vector<Buffer> buffers, Stmt body) -> Stmt {
  const Origin origin = body.origin();
  Block::Fields fields;
  fields.body = std::move(body);
  fields.alloc_buffers = std::move(buffers);
  return make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(fields), origin), origin);
}

/// Takes allocations of shared memory out of the loops over the threads of a block.
class TakeShared : public Mutator {
 public:
  using Mutator::on;
  std::vector<Buffer> buffers;
  std::vector<const Allocate*> allocations;

  explicit TakeShared(const Stmt& threads) : is_launched_(is_launch(threads)) {
    post_order(
        threads,
        [&](const Stmt& s) {
          if (auto loop = as_thread_loop(s)) { inside_.insert(loop->var.get()); }
          if (const auto* n = s.as<For>()) { inside_.insert(n->var.get()); }
          if (const auto* n = s.as<LetStmt>()) { inside_.insert(n->var.get()); }
          if (const auto* n = s.as<Block>()) {
            for (const IterVar& v : n->iter_vars) { inside_.insert(v.var.get()); }
          }
        },
        [](const Expr&) {});
  }
  auto on(const Allocate& n) -> Stmt override {
    if (!is_shared_memory(scope_of(n.data)) || !is_of_block(n.body) || !is_known_outside(n.extents) || !is_one(n.condition)) { return Mutator::on(n); }
    allocations.push_back(&n);
    return mutate(n.body);
  }
  auto on(const Block& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    Block::Fields fields = out.as<Block>()->fields();
    std::vector<Buffer> stay;
    for (const Buffer& b : fields.alloc_buffers) {
      const bool moves = is_shared_memory(scope_of(b->data)) && is_of_block(n.body) && is_known_outside(b->shape);
      (moves ? buffers : stay).push_back(b);
    }
    if (stay.size() == n.alloc_buffers.size()) { return out; }
    fields.alloc_buffers = std::move(stay);
    return make<Block>(std::move(fields), n.origin, n.id);
  }

 private:
  [[nodiscard]] auto is_of_block(const Stmt& body) const -> bool {
    bool found = is_launched_;
    if (!found) { post_order(body, [&](const Stmt& s) { found = found || is_barrier(s); }, [](const Expr&) {}); }
    return found;
  }
  [[nodiscard]] auto is_known_outside(const Array<Expr>& sizes) const -> bool {
    return std::none_of(sizes.begin(), sizes.end(), [&](const Expr& e) { return uses_var(e, [&](const VarNode& v) { return inside_.contains(&v); }); });
  }
  bool is_launched_;
  std::unordered_set<const VarNode*> inside_;   // variables that the loops define
};

class ShareInBlocks : public Mutator {
 public:
  using Mutator::on;
  auto on(const For& n) -> Stmt override { return threads(self(n), [&] { return Mutator::on(n); }); }
  auto on(const AttrStmt& n) -> Stmt override { return threads(self(n), [&] { return Mutator::on(n); }); }

 private:
  template <class F>
  auto threads(const Stmt& stmt, F&& others) -> Stmt {
    auto loop = as_thread_loop(stmt);
    if (!loop || !is_thread_axis(loop->tag.view())) { return others(); }
    TakeShared take(stmt);
    Stmt out = take.mutate(stmt);
    if (!take.buffers.empty()) { out = with_memory(std::move(take.buffers), std::move(out)); }
    for (size_t i = take.allocations.size(); i-- > 0;) {
      const Allocate& n = *take.allocations[i];
      out = make<Allocate>(n.data, n.dtype, n.extents, n.condition, std::move(out), n.annotations, n.origin);
    }
    return out;
  }
};

/// The innermost of the launches of threads that follow one another around all uses of the memory; null: a use is outside of a launch.
auto launch_around_uses(const Stmt& body, const VarNode* data) -> const AttrStmt* {
  if (const auto* attr = body.as<AttrStmt>(); attr && is_launch(body)) {
    if (const AttrStmt* inner = launch_around_uses(attr->body, data)) { return inner; }
    return is_thread_axis(as_thread_loop(body)->tag.view()) ? attr : nullptr;
  }
  if (body.as<For>() || body.as<While>()) { return nullptr; }   // of loops on the host
  const Stmt only = only_user(body, data);
  return only ? launch_around_uses(only, data) : nullptr;
}

/// Allocates buffers around the body of a launch.
class AllocateInside : public Mutator {
 public:
  AllocateInside(const AttrStmt* launch, const Buffer& buffer) : launch_(launch), buffer_(buffer) {}
  using Mutator::on;
  auto on(const AttrStmt& n) -> Stmt override {
    if (&n != launch_) { return Mutator::on(n); }
    return make<AttrStmt>(n.node, n.key, n.value, with_memory({buffer_}, n.body), n.origin);
  }

 private:
  const AttrStmt* launch_;
  const Buffer& buffer_;
};

class OwnOfThreads : public Mutator {
 public:
  using Mutator::on;
  auto on(const Block& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    Block::Fields fields = out.as<Block>()->fields();
    std::vector<Buffer> stay;
    for (const Buffer& b : fields.alloc_buffers) {
      const AttrStmt* launch = is_of_thread(b->data) && !fields.init ? launch_around_uses(fields.body, b->data.get()) : nullptr;
      if (launch) { fields.body = AllocateInside(launch, b).mutate(fields.body); } else { stay.push_back(b); }
    }
    if (stay.size() == n.alloc_buffers.size()) { return out; }
    fields.alloc_buffers = std::move(stay);
    return make<Block>(std::move(fields), n.origin, n.id);
  }
};

/// The code of a thread without returns, each of which ends its thread. The statement itself where a return is in a loop whose iterations have no order.
auto without_returns(const Stmt& body) -> Stmt {
  if (count_returns(body) == 0) { return body; }
  const Stmt plain = without_values(body);
  if (auto branches = without_return(plain)) { return *branches; }
  Leaver leaver(DataType::void_(), body.origin(), Name("local"));
  auto flagged = leaver.run(plain);
  return flagged ? leaver.around(std::move(*flagged)) : body;
}

class Loops : public Mutator {
 public:
  using Mutator::on;
  auto on(const AttrStmt& n) -> Stmt override {
    if (!is_launch(self(n))) { return Mutator::on(n); }
    ThreadLoop loop = *as_thread_loop(self(n));
    IterVar iter{loop.var, from_zero(loop.extent), IterKind::ThreadIndex, loop.tag, n.origin};
    return make<For>(loop.var, int_imm(0, loop.var->dtype), cast(loop.var->dtype, loop.extent), ForKind::ThreadBinding, without_returns(mutate(n.body)), iter, with_attr(AttrMap(), Name(launched), Attr(int_imm(1))), n.origin);
  }
};

}  // namespace

auto launches_as_loops(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> {
    Stmt body = OwnOfThreads().mutate(func->body);
    body = ShareInBlocks().mutate(body);
    return with_body(func, Loops().mutate(body));
  });
}

}  // namespace loopsmith::transform
