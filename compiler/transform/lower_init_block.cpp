// Turns reduction inits into conditions: see lower_init_block.h.
#include "transform/lower_init_block.h"

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

class LowerInit : public Mutator {
 public:
  using Mutator::on;
  auto on(const Block& n) -> Stmt override {
    Stmt inner = Mutator::on(n);
    const Block& block = *inner.as<Block>();
    if (!block.init) { return inner; }
    Expr first;
    for (const IterVar& iter : block.iter_vars) {
      if (iter.kind != IterKind::Reduction) { continue; }
      Expr at_start = equal(Expr(iter.var), iter.dom.min);
      if (FAULT(init_at_end)) { at_start = equal(Expr(iter.var), sub(add(iter.dom.min, iter.dom.extent), one(iter.var->dtype))); }
      auto join = FAULT(init_too_often) ? logical_or : logical_and;
      first = first ? join(std::move(first), std::move(at_start), {}) : std::move(at_start);
    }
    Block::Fields fields = block.fields();
    Stmt init = first ? Stmt(make<IfThenElse>(std::move(first), block.init, Stmt(), block.init.origin())) : block.init;
    fields.body = seq({std::move(init), block.body}, block.body.origin());
    fields.init = {};
    return make<Block>(std::move(fields), block.origin, block.id);
  }
};

}  // namespace

auto lower_init_block(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, LowerInit().mutate(func->body)); });
}

}  // namespace loopsmith::transform
