// Finds conditions, and assumes that they hold: see conditions.h.
#include "transform/conditions.h"

#include <algorithm>

#include "ir/ops.h"

namespace loopsmith::transform {
namespace {

// Replaces conditions that are known to hold, by identity of nodes.
class Assume : public Mutator {
 public:
  explicit Assume(const std::unordered_set<const ExprNode*>& holds) : holds_(holds) {}
  using Mutator::mutate;
  using Mutator::on;
#define KNOWN(Kind) \
  auto on(const Kind& n) -> Expr override { return holds_.count(&n) ? bool_imm(true) : Mutator::on(n); }
  KNOWN(LT)
  KNOWN(LE)
  KNOWN(GT)
  KNOWN(GE)
#undef KNOWN

 private:
  const std::unordered_set<const ExprNode*>& holds_;
};

}  // namespace

void conjuncts(const Expr& condition, std::vector<Expr>& out) {
  static const Name likely("likely");
  if (const auto* both = condition.as<And>()) {
    conjuncts(both->a, out);
    conjuncts(both->b, out);
  } else if (const auto* call = condition.as<Call>(); call && call->op == likely && call->args.size() == 1) {
    conjuncts(call->args[0], out);
  } else {
    out.push_back(condition);
  }
}

void FindConditions::on(const For& n) {
  domains_.push(n.var.get(), n.min, n.extent);
  inner_.insert(n.var.get());
  defined.insert(n.var.get());
  int64_t outer = repeated_;
  if (auto extent = as_int(n.extent); extent && n.for_kind == ForKind::Unrolled) { repeated_ = std::min<int64_t>(repeated_ * std::clamp<int64_t>(*extent, 1, 1 << 20), 1 << 20); }
  Visitor::on(n);
  repeated_ = outer;
  inner_.erase(n.var.get());
  domains_.pop();
}
void FindConditions::on(const IfThenElse& n) {
  take(n.condition);
  Visitor::on(n);
}
void FindConditions::on(const Call& n) {
  static const Name name("if_then_else");
  if (n.op == name && n.args.size() == 3) { take(n.args[0]); }
  Visitor::on(n);
}
void FindConditions::on(const BufferStore& n) {
  ++statements;
  written_out += repeated_;
  Visitor::on(n);
}
void FindConditions::on(const Evaluate& n) {
  ++statements;
  written_out += repeated_;
  Visitor::on(n);
}
void FindConditions::on(const LetStmt& n) {
  defined.insert(n.var.get());
  Visitor::on(n);
}
void FindConditions::on(const Let& n) {
  defined.insert(n.var.get());
  Visitor::on(n);
}
void FindConditions::on(const Break&) { leaves = true; }
void FindConditions::on(const Continue&) { leaves = true; }

void FindConditions::take(const Expr& condition) {
  std::vector<Expr> parts;
  conjuncts(condition, parts);
  for (const Expr& e : parts) {
    if (e.as<LT>() || e.as<LE>() || e.as<GT>() || e.as<GE>()) { found.push_back({e, domains_, inner_}); }
  }
}

auto assuming(const Stmt& stmt, const std::unordered_set<const ExprNode*>& holds) -> Stmt { return Assume(holds).mutate(stmt); }

}  // namespace loopsmith::transform
