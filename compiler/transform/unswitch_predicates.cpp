// Tests conditions once per tile: see unswitch_predicates.h.
#include "transform/unswitch_predicates.h"

#include <unordered_set>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "transform/affine.h"
#include "transform/conditions.h"
#include "transform/fold.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

// The condition under which a comparison holds for all values of the inner loops.
auto for_all(const FoundCondition& f) -> Expr {
  const auto& cmp = *static_cast<const BinaryNode*>(f.condition.get());
  if (!cmp.a.dtype().is_int() || !cmp.a.dtype().is_scalar()) { return {}; }
  std::unordered_map<const VarNode*, bool> relaxed;
  for (const VarNode* v : f.inner) { relaxed[v] = true; }
  auto a = interval_of(cmp.a, f.domains, relaxed);
  auto b = interval_of(cmp.b, f.domains, relaxed);
  if (!a || !b) { return {}; }
  DataType t = cmp.a.dtype();
  for (const Affine* end : {&a->low, &a->high, &b->low, &b->high}) {
    if (!fits_type(*end, t, f.domains)) { return {}; }
  }
  switch (f.condition.kind()) {
    case NodeKind::LT: return less(a->high.expr(t), b->low.expr(t), f.condition.origin());
    case NodeKind::LE: return less_equal(a->high.expr(t), b->low.expr(t), f.condition.origin());
    case NodeKind::GT: return greater(a->low.expr(t), b->high.expr(t), f.condition.origin());
    case NodeKind::GE: return greater_equal(a->low.expr(t), b->high.expr(t), f.condition.origin());
    default: return {};
  }
}

class Unswitch : public Mutator {
 public:
  explicit Unswitch(int64_t budget) : budget_(budget) {}
  using Mutator::on;

  auto on(const For& n) -> Stmt override {
    if (n.for_kind == ForKind::Vectorized || n.for_kind == ForKind::Unrolled) { return self(n); }
    domains_.push(n.var.get(), n.min, n.extent);
    Stmt body = here(n.body);
    domains_.pop();
    if (body.same_as(n.body)) { return self(n); }
    return make<For>(n.var, n.min, n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
  }

 private:
  auto here(const Stmt& body) -> Stmt {
    FindConditions find(domains_);
    find.visit(body);
    std::vector<const FoundCondition*> mixed;   // conditions on loops inside
    std::unordered_set<const VarNode*> mentioned;
    for (const FoundCondition& f : find.found) {
      bool inside = false;
      post_order(f.condition, [&](const Expr& e) {
        const auto* v = e.as<VarNode>();
        if (!v) { return; }
        mentioned.insert(v);
        inside = inside || f.inner.count(v) != 0;
      });
      if (inside) { mixed.push_back(&f); }
    }
    if (mixed.empty()) { return mutate(body); }
    if (!is_place(body, mentioned)) { return mutate(body); }
    Expr test;
    std::unordered_set<const ExprNode*> holds;
    for (const FoundCondition& f : find.found) {
      Expr all = for_all(f);
      if (!all) { continue; }
      if (const auto* known = all.as<IntImm>()) {
        if (known->value) { holds.insert(f.condition.get()); }
        continue;
      }
      if (never(all)) { continue; }
      holds.insert(f.condition.get());
      if (!contains(test, all)) { test = test ? logical_and(test, all) : all; }
    }
    if (!test || holds.empty() || find.statements > budget_) { return mutate(body); }
    budget_ -= find.statements;
    return split(body, test, holds);
  }
  auto split(const Stmt& body, const Expr& test, const std::unordered_set<const ExprNode*>& holds) -> Stmt {
    // Duplicates allocations, too: masked accesses to shared memory would keep the fast version's buffers out of registers.
    Stmt fast = fold(assuming(body, holds));
    if (FAULT(unswitch_untested)) { return fast; }
    return make<IfThenElse>(test, std::move(fast), fold(body, {}, /*copy=*/true), body.origin());
  }
  // True when no condition uses a loop directly inside, or that loop will be vectorized or unrolled.
  auto is_place(const Stmt& body, const std::unordered_set<const VarNode*>& mentioned) -> bool {
    if (const auto* loop = body.as<For>()) {
      return loop->for_kind == ForKind::Vectorized || loop->for_kind == ForKind::Unrolled || !mentioned.count(loop->var.get());
    }
    if (const auto* a = body.as<Allocate>()) { return is_place(a->body, mentioned); }
    if (const auto* d = body.as<DeclBuffer>()) { return is_place(d->body, mentioned); }
    if (const auto* a = body.as<AttrStmt>()) { return is_place(a->body, mentioned); }
    if (const auto* s = body.as<SeqStmt>()) {
      // Statements that share an allocation around them are tested together.
      for (const Stmt& child : s->seq) {
        if (is_place(child, mentioned)) { return true; }
      }
    }
    return false;
  }
  static auto contains(const Expr& conjunction, const Expr& part) -> bool {
    if (!conjunction) { return false; }
    std::vector<Expr> parts;
    conjuncts(conjunction, parts);
    for (const Expr& e : parts) {
      if (e.kind() != part.kind()) { continue; }
      const auto& x = *static_cast<const BinaryNode*>(e.get());
      const auto& y = *static_cast<const BinaryNode*>(part.get());
      Affine d = affine_of(x.a);
      d.add(affine_of(x.b), -1);
      d.add(affine_of(y.a), -1);
      d.add(affine_of(y.b), 1);
      if (d.is_constant() && d.constant == 0) { return true; }
    }
    return false;
  }
  // True when the test is false for all outer iterations.
  auto never(const Expr& test) const -> bool {
    const auto& cmp = *static_cast<const BinaryNode*>(test.get());
    Affine d = affine_of(cmp.a);
    d.add(affine_of(cmp.b), -1);
    auto low = constant_min(d, domains_);
    auto high = constant_max(d, domains_);
    switch (test.kind()) {
      case NodeKind::LT: return low && *low >= 0;
      case NodeKind::LE: return low && *low > 0;
      case NodeKind::GT: return high && *high <= 0;
      case NodeKind::GE: return high && *high < 0;
      default: return false;
    }
  }

  Domains domains_;
  int64_t budget_;
};

}  // namespace

auto unswitch_predicates(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> {
    return with_body(func, Unswitch(context.options.unswitch_limit).mutate(func->body));
  });
}

}  // namespace loopsmith::transform
