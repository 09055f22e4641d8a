// Splits loops into parts: see loop_partition.h.
#include "transform/loop_partition.h"

#include <limits>

#include "ir/ops.h"
#include "support/fault.h"
#include "transform/conditions.h"
#include "transform/fold.h"

namespace loopsmith::transform {
namespace {

// The iterations in which a condition holds for all inner iterations: from `begin` on, or before `end`, in terms of outer variables.
struct Part {
  Expr begin, end;   // exactly one of the two is set
};

class Partition : public Mutator {
 public:
  explicit Partition(const LowerOptions& options) : budget_(options.partition_limit) {}
  using Mutator::on;

  auto on(const AttrStmt& n) -> Stmt override {
    static const Name hint("pragma_loop_partition_hint");
    const auto* loop = n.body.as<For>();
    if (!(n.key == hint) || !loop) { return Mutator::on(n); }
    wanted_ = loop;
    return mutate(n.body);
  }
  auto on(const For& n) -> Stmt override {
    const bool wanted = wanted_ == &n;
    if (n.for_kind == ForKind::Serial && n.annotations.empty()) {
      if (Stmt parts = in_parts(n, wanted)) { return parts; }
    }
    if (n.for_kind == ForKind::Vectorized) { return self(n); }
    return with_body(n, inside(n));
  }

 private:
  static auto with_body(const For& n, Stmt body) -> Stmt {
    if (body.same_as(n.body)) { return self(n); }
    return make<For>(n.var, n.min, n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
  }
  auto inside(const For& n) -> Stmt {
    domains_.push(n.var.get(), n.min, n.extent);
    Stmt body = mutate(n.body);
    domains_.pop();
    return body;
  }

  auto in_parts(const For& n, bool wanted) -> Stmt {
    auto extent = as_int(n.extent);
    if ((extent && *extent < 3 && !wanted) || !n.var->dtype.is_int()) { return {}; }
    domains_.push(n.var.get(), n.min, n.extent);
    FindConditions find(domains_);
    find.visit(n.body);
    domains_.pop();
    if (find.leaves || find.found.empty()) { return {}; }
    if (!wanted && 2 * find.written_out > budget_) { return {}; }
    Expr begin = n.min;
    Expr end = add(n.min, n.extent);
    const Expr first = begin, last = end;
    std::unordered_set<const ExprNode*> holds;
    for (const FoundCondition& f : find.found) {
      auto part = solve(f, n.var.get(), find.defined);
      if (!part) { continue; }
      // Does not use a condition that would leave the middle part empty.
      Expr b = part->begin ? max_of(begin, part->begin) : begin;
      Expr e = part->end ? min_of(end, part->end) : end;
      auto constant_b = as_int(b), constant_e = as_int(e);
      if (constant_b && constant_e && *constant_b >= *constant_e) { continue; }
      begin = std::move(b);
      end = std::move(e);
      holds.insert(f.condition.get());
    }
    if (holds.empty() || (begin.same_as(first) && end.same_as(last))) { return {}; }
    budget_ -= 2 * find.written_out;
    // Computed ends may lie outside of the loop, or be in the wrong order.
    if (!begin.same_as(first)) { begin = min_of(begin, last); }
    if (!end.same_as(last)) { end = max_of(end, begin); }
    if (FAULT(partition_late)) { end = min_of(add(end, one(end.dtype())), last); }
    std::vector<Stmt> parts;
    if (!begin.same_as(first)) { add_part(parts, n, fold(n.body, {}, /*copy=*/true), first, begin); }
    {
      Stmt body = fold(assuming(n.body, holds));
      domains_.push(n.var.get(), begin, sub(end, begin));
      body = mutate(body);
      domains_.pop();
      add_part(parts, n, std::move(body), begin, end);
    }
    if (!end.same_as(last)) { add_part(parts, n, fold(n.body, {}, /*copy=*/true), end, last); }
    return seq(std::move(parts), n.origin);
  }
  static void add_part(std::vector<Stmt>& parts, const For& n, Stmt body, const Expr& begin, const Expr& end) {
    Expr extent = sub(end, begin);
    if (auto known = as_int(extent); known && *known <= 0) { return; }
    if (is_one(extent)) {
      parts.push_back(fold(body, {{n.var.get(), begin}}, /*copy=*/true));
      return;
    }
    Var var = loopsmith::var(n.var->name, n.var->dtype, n.var->origin);
    // The new loop starts at 0; its beginning is added to the indices.
    VarMap map{{n.var.get(), add(Expr(var), begin)}};
    parts.push_back(make<For>(var, zero(n.var->dtype), extent, n.for_kind, fold(body, map, /*copy=*/true), n.thread, n.annotations, n.origin));
  }
  // Folding does not simplify `max(max(0, 1), 1)`.
  static auto max_of(const Expr& a, const Expr& b) -> Expr { return extreme(a, b, false); }
  static auto min_of(const Expr& a, const Expr& b) -> Expr { return extreme(a, b, true); }
  static auto extreme(const Expr& a, const Expr& b, bool least) -> Expr {
    Affine d = affine_of(a);
    d.add(affine_of(b), -1);
    if (d.is_constant()) { return (d.constant <= 0) == least ? a : b; }
    return least ? min(a, b) : max(a, b);
  }

  // Solves D < 0 for all inner iterations, where D = c * var + rest, for a bound of var.
  auto solve(const FoundCondition& f, const VarNode* var, const std::unordered_set<const VarNode*>& defined) const -> std::optional<Part> {
    const auto& cmp = *static_cast<const BinaryNode*>(f.condition.get());
    DataType t = cmp.a.dtype();
    if (!t.is_int() || !t.is_scalar() || !(t == var->dtype)) { return {}; }
    bool mentions = uses_var(f.condition, [&](const VarNode& v) { return &v == var; });
    if (!mentions) { return {}; }
    std::unordered_map<const VarNode*, bool> relaxed;
    for (const VarNode* v : f.inner) { relaxed[v] = true; }
    auto a = interval_of(cmp.a, f.domains, relaxed);
    auto b = interval_of(cmp.b, f.domains, relaxed);
    if (!a || !b) { return {}; }
    Affine d;
    switch (f.condition.kind()) {
      case NodeKind::LT: d = a->high; d.add(b->low, -1); break;
      case NodeKind::LE: d = a->high; d.add(b->low, -1); d.has_wrapped = __builtin_sub_overflow(d.constant, 1, &d.constant) || d.has_wrapped; break;
      case NodeKind::GT: d = b->high; d.add(a->low, -1); break;
      case NodeKind::GE: d = b->high; d.add(a->low, -1); d.has_wrapped = __builtin_sub_overflow(d.constant, 1, &d.constant) || d.has_wrapped; break;
      default: return {};
    }
    int64_t c = d.coefficient_of(var);
    if (c == 0 || c == std::numeric_limits<int64_t>::min()) { return {}; }
    d.add(Expr(Ref<ExprNode>(var)), -c);
    // All variables of the rest must be defined in front of the loop.
    for (const Affine::Term& term : d.terms) {
      if (uses_var(term.atom, [&](const VarNode& v) { return &v == var || defined.contains(&v); })) { return {}; }
    }
    if (c > 0) {
      // var < -rest / c
      Affine negated;
      negated.add(d, -1);
      negated.has_wrapped = __builtin_add_overflow(negated.constant, c - 1, &negated.constant) || negated.has_wrapped;
      if (!fits_type(negated, t, f.domains)) { return {}; }
      return Part{{}, floordiv(negated.expr(t), constant_int(t, c))};
    }
    // rest < -c * var
    if (!fits_type(d, t, f.domains)) { return {}; }
    return Part{add(floordiv(d.expr(t), constant_int(t, -c)), one(t)), {}};
  }

  Domains domains_;
  int64_t budget_;
  const For* wanted_ = nullptr;
};

}  // namespace

auto loop_partition(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Partition(context.options).mutate(func->body)); });
}

}  // namespace loopsmith::transform
