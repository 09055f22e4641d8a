// Replaces iter vars by their bindings: see convert_blocks_to_opaque.h.
#include "transform/convert_blocks_to_opaque.h"

#include "ir/ops.h"
#include "ir/rewritten_buffer.h"
#include "ir/visitor.h"
#include "transform/fold.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

class ToOpaque : public Mutator {
 public:
  using Mutator::on;

  auto on(const VarNode& n) -> Expr override {
    auto found = values_.find(&n);
    return found == values_.end() ? self(n) : found->second;
  }
  auto on(const BlockRealize& n) -> Stmt override {
    Array<Expr> values = mutate(n.iter_values);
    Expr predicate = FAULT(opaque_predicate_lost) ? bool_imm(true) : mutate(n.predicate);
    for (size_t i = 0; i < values.size(); ++i) {
      const Var& iter = n.block->iter_vars[i].var;
      values_[iter.get()] = cast(iter->dtype, values[i]);
    }
    Stmt block = Mutator::on(*n.block);
    if (n.iter_values.empty()) {
      if (predicate.same_as(n.predicate) && block.get() == n.block.get()) { return self(n); }
      return make<BlockRealize>(Array<Expr>(), std::move(predicate), block.ref<Block>(), n.origin);
    }
    Block::Fields fields = block.as<Block>()->fields();
    fields.iter_vars = {};
    return make<BlockRealize>(Array<Expr>(), std::move(predicate), make<Block>(std::move(fields), n.block->origin, n.block->id), n.origin);
  }

 protected:
  // The shapes of match_buffer's views may use iter vars.
  auto use(const Buffer& buffer) -> Buffer override {
    auto done = buffers_.find(buffer.get());
    if (done != buffers_.end()) { return done->second; }
    return buffers_.emplace(buffer.get(), rewritten_buffer(buffer, [&](const Expr& e) { return fold(mutate(e)); })).first->second;
  }

 private:
  VarMap values_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

}  // namespace

auto convert_blocks_to_opaque(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> {
    Stmt body = ToOpaque().mutate(func->body);
    return with_body(func, body.same_as(func->body) ? body : fold(body));
  });
}

}  // namespace loopsmith::transform
