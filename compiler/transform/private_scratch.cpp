// Moves scratch memory into iterations: see private_scratch.h.
#include "transform/private_scratch.h"

#include <functional>
#include <unordered_set>
#include <vector>

#include "ir/ops.h"
#include "ir/other_data.h"
#include "ir/scratch.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

auto runs_at_once(const For& loop, const Var& data) -> bool {
  if (loop.for_kind == ForKind::Parallel || loop.for_kind == ForKind::Vectorized) { return true; }
  if (!loop.thread) { return false; }
  // The threads of a block exchange values through shared memory.
  std::string_view scope = data->pointer ? data->pointer->scope.view() : std::string_view();
  return is_block_axis(loop.thread->thread_tag.view()) || scope.empty() || scope == "global" || scope == "local";
}

// The outermost loop whose iterations run at the same time and that contains all uses of the memory; null: none. `declarations`: those of buffers on
// the memory around that loop, the outermost first.
auto loop_around_uses(const Stmt& body, const Var& data, std::vector<const DeclBuffer*>& declarations) -> const For* {
  if (const auto* loop = body.as<For>()) {
    if (runs_at_once(*loop, data)) { return loop; }
    return loop_around_uses(loop->body, data, declarations);
  }
  if (const auto* n = body.as<DeclBuffer>()) {
    if (n->buffer->data == data) { declarations.push_back(n); }
    return loop_around_uses(n->body, data, declarations);
  }
  const Stmt only = only_user(body, data.get());
  return only ? loop_around_uses(only, data, declarations) : nullptr;
}

// Puts a statement around the body of one loop, and removes the declarations of buffers on its memory around that loop.
class Sink : public Mutator {
 public:
  Sink(const For* loop, const VarNode* data, std::function<Stmt(Stmt)> around) : loop_(loop), data_(data), around_(std::move(around)) {}
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    if (&n != loop_) { return Mutator::on(n); }
    return make<For>(n.var, n.min, n.extent, n.for_kind, around_(n.body), n.thread, n.annotations, n.origin, n.id);
  }
  auto on(const DeclBuffer& n) -> Stmt override { return n.buffer->data.get() == data_ ? mutate(n.body) : Mutator::on(n); }

 private:
  const For* loop_;
  const VarNode* data_;
  std::function<Stmt(Stmt)> around_;
};

// Gives allocated memory one name: buffers on `p`, after `p = x`, are on `x`.
class OneName : public OtherData {
 public:
  using OtherData::on;
  auto on(const Allocate& n) -> Stmt override {
    allocated_.insert(n.data.get());
    return OtherData::on(n);
  }
  auto on(const LetStmt& n) -> Stmt override {
    Expr value = mutate(n.value);
    const auto* data = value.as<VarNode>();
    if (!data || !allocated_.contains(data)) { return OtherData::on(n); }
    instead[n.var.get()] = Var(data);
    return mutate(n.body);
  }

 private:
  std::unordered_set<const VarNode*> allocated_;
};

class PrivateScratch : public Mutator {
 public:
  using Mutator::on;
  auto on(const Allocate& n) -> Stmt override {
    std::vector<const DeclBuffer*> declarations;
    const For* loop = is_one(n.condition) ? loop_around_uses(n.body, n.data, declarations) : nullptr;
    if (!loop) { return Mutator::on(n); }
    ScratchUse use = scratch_use(*loop, n.data.get());
    if (!use.is_scratch || !use.is_shared || FAULT(scratch_shared)) { return Mutator::on(n); }
    auto around = [&](Stmt body) -> Stmt {
      for (size_t i = declarations.size(); i-- > 0;) { body = make<DeclBuffer>(declarations[i]->buffer, std::move(body), declarations[i]->origin); }
      return make<Allocate>(n.data, n.dtype, n.extents, n.condition, std::move(body), n.annotations, n.origin);
    };
    // A loop inside may need a separate copy for each of its iterations.
    return mutate(Sink(loop, n.data.get(), around).mutate(n.body));
  }
};

}  // namespace

auto private_scratch(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, PrivateScratch().mutate(OneName().mutate(func->body))); });
}

}  // namespace loopsmith::transform
