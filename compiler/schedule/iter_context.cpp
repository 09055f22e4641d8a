// Rewriting under the domains of loops and iter vars: see iter_context.h.
#include "schedule/iter_context.h"

#include <algorithm>

#include "ir/ops.h"

namespace loopsmith::schedule {

void IterContextMutator::enter(const Var& var, const Range& domain) {
  analyzer_.bind(var, domain, true);
  auto known = std::find_if(iters_.begin(), iters_.end(), [&](const auto& i) { return i.first == var; });
  if (known == iters_.end()) { iters_.emplace_back(var, domain); } else { known->second = domain; }
}

auto IterContextMutator::is_iter_condition(const Expr& condition) const -> bool {
  return uses_var(condition, [&](const VarNode& v) {
    return std::any_of(iters_.begin(), iters_.end(), [&](const auto& i) { return i.first.get() == &v; });
  });
}

auto IterContextMutator::on(const For& n) -> Stmt {
  enter(n.var, Range{n.min, n.extent});
  return Mutator::on(n);
}

auto IterContextMutator::on(const Block& n) -> Stmt {
  for (const IterVar& iter : n.iter_vars) { enter(iter.var, iter.dom); }
  return Mutator::on(n);
}

auto IterContextMutator::on(const IfThenElse& n) -> Stmt {
  Expr condition = mutate(n.condition);
  bool counts = is_iter_condition(condition);
  Stmt then_case, else_case;
  {
    auto scope = analyzer_.enter(condition);
    if (counts) { conditions_.push_back(condition); }
    then_case = mutate(n.then_case);
    if (counts) { conditions_.pop_back(); }
  }
  if (n.else_case) {
    auto scope = analyzer_.enter(analyzer_.rewrite_simplify(logical_not(condition)));
    else_case = mutate(n.else_case);
  }
  if (condition.same_as(n.condition) && then_case.same_as(n.then_case) && else_case.same_as(n.else_case)) { return self(n); }
  return make<IfThenElse>(std::move(condition), std::move(then_case), std::move(else_case), n.origin);
}

auto IterContextMutator::on(const Call& n) -> Expr {
  static const Name if_then_else_name("if_then_else");
  if (!(n.op == if_then_else_name) || n.args.size() != 3) { return Mutator::on(n); }
  Expr condition = mutate(n.args[0]);
  auto branch = [&](const Expr& value, const Expr& holds) {
    auto scope = analyzer_.enter(holds);
    bool counts = is_iter_condition(holds);
    if (counts) { conditions_.push_back(holds); }
    Expr out = mutate(value);
    if (counts) { conditions_.pop_back(); }
    return out;
  };
  Expr t = branch(n.args[1], condition);
  Expr f = branch(n.args[2], logical_not(condition));
  if (is_zero(condition)) { return f; }
  if (is_one(condition)) { return t; }
  if (condition.same_as(n.args[0]) && t.same_as(n.args[1]) && f.same_as(n.args[2])) { return self(n); }
  return make<Call>(n.dtype, n.op, Array<Expr>{std::move(condition), std::move(t), std::move(f)}, n.origin);
}

auto IterContextMutator::simplify_indices(const std::vector<Expr>& indices) -> std::vector<Expr> {
  Expr predicate = bool_imm(true);
  for (const Expr& condition : conditions_) { predicate = logical_and(predicate, condition); }
  std::vector<Expr> out = arith::iter_map_simplify(indices, iters_, predicate, arith::IterMapLevel::Surjective, analyzer_);
  for (size_t i = 0; i < indices.size(); ++i) {
    if (out[i].as<IntImm>() && indices[i].as<VarNode>()) { out[i] = indices[i]; }
  }
  return out;
}

namespace {

class AccessSimplifier : public IterContextMutator {
 public:
  using IterContextMutator::on;
  auto on(const BufferLoad& n) -> Expr override {
    Expr e = IterContextMutator::on(n);
    const auto& load = *e.as<BufferLoad>();
    return make<BufferLoad>(load.buffer, Array<Expr>(simplify_indices(load.indices.to_vector())), load.origin, load.predicate);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Stmt s = IterContextMutator::on(n);
    const auto& store = *s.as<BufferStore>();
    return make<BufferStore>(store.buffer, store.value, Array<Expr>(simplify_indices(store.indices.to_vector())), store.origin, store.predicate);
  }
  auto on(const Block& n) -> Stmt override {
    Stmt s = IterContextMutator::on(n);
    auto fields = s.as<Block>()->fields();
    fields.reads = regions(fields.reads);
    fields.writes = regions(fields.writes);
    return make<Block>(std::move(fields), n.origin, n.id);
  }

 private:
  auto regions(const Array<BufferRegion>& all) -> Array<BufferRegion> {
    std::vector<BufferRegion> out;
    for (const BufferRegion& region : all) {
      std::vector<Expr> mins;
      for (const Range& range : region.region) { mins.push_back(range.min); }
      mins = simplify_indices(mins);
      std::vector<Range> ranges;
      for (size_t i = 0; i < mins.size(); ++i) { ranges.push_back({mins[i], analyzer_.simplify(region.region[i].extent)}); }
      out.push_back({region.buffer, Array<Range>(std::move(ranges)), region.origin});
    }
    return Array<BufferRegion>(std::move(out));
  }
};

}  // namespace

auto simplify_accesses(const Stmt& stmt) -> Stmt { return AccessSimplifier().mutate(stmt); }

}  // namespace loopsmith::schedule
