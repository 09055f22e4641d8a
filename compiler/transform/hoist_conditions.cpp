// Moves conditions in front of loops: see hoist_conditions.h.
#include "transform/hoist_conditions.h"

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/fault.h"
#include "transform/conditions.h"
#include "transform/fold.h"

namespace loopsmith::transform {
namespace {

class Hoist : public Mutator {
 public:
  using Mutator::on;

  auto on(const For& n) -> Stmt override {
    Stmt body = mutate(n.body);
    // Loops over threads stay outermost, because threads wait for each other inside.
    const auto* branch = n.for_kind == ForKind::ThreadBinding ? nullptr : body.as<IfThenElse>();
    if (!branch) { return loop(n, std::move(body)); }
    if (branch->else_case) {
      if (!may_move(branch->condition, n)) { return loop(n, std::move(body)); }
      return make<IfThenElse>(branch->condition, loop(n, branch->then_case), fold(loop(n, branch->else_case), {}, /*copy=*/true), branch->origin);
    }
    std::vector<Expr> parts;
    conjuncts(branch->condition, parts);
    Expr outside, rest;
    for (Expr& part : parts) {
      Expr& to = may_move(part, n) ? outside : rest;
      to = to ? logical_and(to, part) : part;
    }
    if (!outside) { return loop(n, std::move(body)); }
    if (FAULT(hoist_rest_lost)) { rest = {}; }
    Stmt inner = rest ? Stmt(make<IfThenElse>(rest, branch->then_case, Stmt(), branch->origin)) : branch->then_case;
    return make<IfThenElse>(outside, loop(n, std::move(inner)), Stmt(), branch->origin);
  }

 private:
  static auto loop(const For& n, Stmt body) -> Stmt {
    if (body.same_as(n.body)) { return self(n); }
    return make<For>(n.var, n.min, n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
  }
  static auto may_move(const Expr& condition, const For& n) -> bool {
    if (!condition.dtype().is_scalar()) { return false; }
    bool fine = true;
    bool reads = false;
    post_order(condition, [&](const Expr& e) {
      const auto* v = e.as<VarNode>();
      if (v && v == n.var.get()) { fine = false; }
      if (e.as<Call>() || e.as<Let>()) { fine = false; }
      if (e.as<BufferLoad>()) { reads = true; }
      const bool divides = e.as<Div>() || e.as<Mod>() || e.as<FloorDiv>() || e.as<FloorMod>();
      if (divides && e.dtype().is_integral() && as_int(static_cast<const BinaryNode*>(e.get())->b).value_or(0) <= 0) { fine = false; }
    });
    if (!fine || !reads) { return fine; }
    auto extent = as_int(n.extent);
    return extent && *extent > 0 && !writes_any(n.body, condition);
  }
  static auto writes_any(const Stmt& body, const Expr& condition) -> bool {
    std::unordered_set<const VarNode*> read;
    post_order(condition, [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { read.insert(load->buffer->data.get()); } });
    bool found = false;
    post_order(
        body, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { found = found || read.contains(store->buffer->data.get()); } },
        // A function that gets the address of a buffer may write to it.
        [&](const Expr& e) { found = found || e.as<Call>() != nullptr; });
    return found;
  }
};

}  // namespace

auto hoist_conditions(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Hoist().mutate(func->body)); });
}

}  // namespace loopsmith::transform
