// Removes statements without effect: see remove_no_op.h.
#include "transform/remove_no_op.h"

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

auto has_call(const Expr& expr) -> bool {
  bool found = false;
  post_order(expr, [&](const Expr& e) { found = found || e.as<Call>(); });
  return found;
}

class RemoveNoOp : public Mutator {
 public:
  using Mutator::on;

  auto on(const For& n) -> Stmt override {
    if (is_zero(n.extent) || (FAULT(no_op_short_loop) && is_int(n.extent, 2))) { return no_op(); }
    Stmt out = Mutator::on(n);
    return is_no_op(out.as<For>()->body) ? no_op() : out;
  }
  auto on(const IfThenElse& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto& branch = *out.as<IfThenElse>();
    bool no_else = !branch.else_case || is_no_op(branch.else_case);
    if (is_no_op(branch.then_case)) {
      if (no_else) { return no_op(); }
      return make<IfThenElse>(logical_not(branch.condition), branch.else_case, Stmt(), n.origin);
    }
    if (no_else && branch.else_case) { return make<IfThenElse>(branch.condition, branch.then_case, Stmt(), n.origin); }
    return out;
  }
  auto on(const Evaluate& n) -> Stmt override {
    if (has_call(n.value)) { return self(n); }
    return n.value.as<IntImm>() ? self(n) : no_op();
  }
  auto on(const LetStmt& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto& let = *out.as<LetStmt>();
    if (is_no_op(let.body) && !has_call(let.value)) { return no_op(); }
    return out;
  }
  auto on(const AttrStmt& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    return is_no_op(out.as<AttrStmt>()->body) ? no_op() : out;
  }
  auto on(const DeclBuffer& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto& declaration = *out.as<DeclBuffer>();
    return is_no_op(declaration.body) ? no_op() : out;
  }
  auto on(const Allocate& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto& allocation = *out.as<Allocate>();
    return is_no_op(allocation.body) ? no_op() : out;
  }
};

}  // namespace

auto remove_no_op(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, RemoveNoOp().mutate(func->body)); });
}

}  // namespace loopsmith::transform
