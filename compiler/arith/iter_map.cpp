// Detection of affine iteration maps, and constraints from predicates: see iter_map.h. After TVM 0.19's iter_affine_map.
//
// Detection takes two rounds: the first collects the padding of iterators that makes divisions exact, the second
// rewrites with the padding. The predicate's constraints (bounds of sums of iterators) are applied first, smaller
// ones before the larger ones that contain them.
#include "arith/iter_map.h"

#include <algorithm>

#include "arith/iter_map_rewriter.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

auto is_comparison(NodeKind k) -> bool { return k == NodeKind::LT || k == NodeKind::LE || k == NodeKind::GT || k == NodeKind::GE; }

// Reads a conjunction of comparisons: bounds of single iterators narrow their domains, others become constraints.
// False for other conditions.
auto read_constraints(Expr predicate, IterDomains& iters, std::vector<Constraint>& out) -> bool {
  auto uses_iter = [&](const Expr& e) {
    return any_variable(e, [&](const VarNode& v) { return std::any_of(iters.begin(), iters.end(), [&](const auto& i) { return i.first.get() == &v; }); });
  };
  while (true) {
    Expr comparison, rest;
    if (const auto* both = predicate.as<And>()) {
      // The order of kinds and sides is significant, because constraints of equal size keep their order.
      for (NodeKind kind : {NodeKind::LT, NodeKind::LE, NodeKind::GT, NodeKind::GE}) {
        if (both->b.kind() == kind) { comparison = both->b; rest = both->a; break; }
        if (both->a.kind() == kind) { comparison = both->a; rest = both->b; break; }
      }
    } else if (is_comparison(predicate.kind())) {
      comparison = predicate;
    }
    if (!comparison) { return false; }
    const auto& n = *static_cast<const BinaryNode*>(comparison.get());
    Expr lhs = n.a, rhs = n.b;
    if (!lhs.dtype().is_integral() || !rhs.dtype().is_integral()) { return false; }
    bool is_greater = comparison.kind() == NodeKind::GT || comparison.kind() == NodeKind::GE;
    bool is_equal = comparison.kind() == NodeKind::LE || comparison.kind() == NodeKind::GE;
    bool left_varies = uses_iter(lhs), right_varies = uses_iter(rhs);
    if (left_varies || right_varies) {
      bool bound_at_left = !left_varies;
      if (left_varies && right_varies) {
        // Moves iterators to the left, the rest to the right.
        Expr difference = sub(lhs, rhs);
        lhs = zero(difference.dtype());
        rhs = zero(difference.dtype());
        std::vector<std::pair<Expr, bool>> todo = {{difference, true}};
        while (!todo.empty()) {
          auto [part, positive] = std::move(todo.back());
          todo.pop_back();
          if (const auto* a = part.as<Add>()) {
            todo.emplace_back(a->b, positive);
            todo.emplace_back(a->a, positive);
          } else if (const auto* s = part.as<Sub>()) {
            todo.emplace_back(s->b, !positive);
            todo.emplace_back(s->a, positive);
          } else if (uses_iter(part)) {
            lhs = positive ? add(lhs, part) : sub(lhs, part);
          } else {
            rhs = positive ? sub(rhs, part) : add(rhs, part);
          }
        }
        Analyzer analyzer;
        lhs = analyzer.simplify(lhs);
        rhs = analyzer.simplify(rhs);
      }
      const Expr& bound = bound_at_left ? lhs : rhs;
      Constraint c;
      c.iter = bound_at_left ? rhs : lhs;
      Expr unit = one(bound.dtype());
      // `bound OP iter` with the sides exchanged is `iter OP' bound`.
      if (is_greater == bound_at_left) { c.upper = is_equal ? add(bound, unit) : bound; }
      else { c.lower = is_equal ? bound : add(bound, unit); }
      const auto* var = c.iter.as<VarNode>();
      auto domain = std::find_if(iters.begin(), iters.end(), [&](const auto& i) { return i.first.get() == var; });
      if (var && domain != iters.end()) {
        Expr min = domain->second.min;
        Expr max = add(domain->second.min, domain->second.extent);
        if (c.lower) { min = loopsmith::max(min, c.lower); }
        if (c.upper) { max = loopsmith::min(max, c.upper); }
        domain->second = Range{min, is_zero(min) ? max : sub(max, min)};
      } else if (!var) {
        out.push_back(std::move(c));
      }
    }
    if (!rest) { return true; }
    predicate = rest;
  }
}

auto domains_are_independent(const IterDomains& iters) -> bool {
  auto is_iter = [&](const VarNode& v) { return std::any_of(iters.begin(), iters.end(), [&](const auto& i) { return i.first.get() == &v; }); };
  return std::none_of(iters.begin(), iters.end(), [&](const auto& i) { return any_variable(i.second.min, is_iter) || any_variable(i.second.extent, is_iter); });
}

}  // namespace

auto detect_iter_map(const std::vector<Expr>& indices, const IterDomains& iters, const Expr& predicate, IterMapLevel level,
                     Analyzer& analyzer, bool simplify_trivial) -> IterMapResult {
  IterMapResult result;
  result.padding_predicate = bool_imm(false);
  if (!domains_are_independent(iters)) {
    result.errors.push_back("iterators may not be expressions of each other");
    return result;
  }
  IterDomains domains = iters;
  std::vector<Constraint> constraints;
  if (predicate && !is_one(predicate) && !read_constraints(predicate, domains, constraints)) {
    result.errors.push_back("the predicate cannot be read as constraints on the iterators");
    return result;
  }
  for (Constraint& c : constraints) { c.size = count_nodes(c.iter); }
  insertion_sort(constraints, [](const Constraint& a, const Constraint& b) { return a.size < b.size; });
  MapRewriter rewriter(analyzer, domains, level, simplify_trivial, result.errors);
  for (const Constraint& c : constraints) {
    rewriter.constrain(c.iter, c.lower, c.upper);
    if (!result.errors.empty()) { return result; }
  }
  if (!rewriter.constraints_nest()) {
    result.errors.push_back("two constraints overlap and neither contains the other");
    return result;
  }
  std::vector<IterSum> rewritten;
  bool may_pad = level != IterMapLevel::Bijective;
  if (may_pad) {
    for (const Expr& index : indices) {
      rewritten.push_back(std::make_shared<IterSumNode>(rewriter.rewrite_and_pad(index)));
      if (!result.errors.empty()) { return result; }
    }
  }
  if (!may_pad || rewriter.requires_padding()) {
    rewritten.clear();
    for (const Expr& index : indices) {
      rewritten.push_back(std::make_shared<IterSumNode>(rewriter.rewrite(index)));
      if (!result.errors.empty()) { return result; }
    }
  }
  result.padding_predicate = rewriter.padding_predicate();
  if (!rewriter.check(rewritten)) {
    result.errors.push_back(level == IterMapLevel::Bijective ? "the indices are not a bijection of the iterators" : "the indices are not independent");
    return result;
  }
  result.indices = std::move(rewritten);
  return result;
}

auto normalize_iter_map_to_expr(const IterSum& sum, Analyzer& analyzer) -> Expr { return ToExpr(analyzer).convert(*sum); }
auto normalize_iter_map_to_expr(const IterSplit& split, Analyzer& analyzer) -> Expr { return ToExpr(analyzer).convert(split); }

auto normalize_to_iter_sum(const Expr& index, const IterDomains& iters, Analyzer& analyzer) -> IterSum {
  std::vector<std::string> errors;
  MapRewriter rewriter(analyzer, iters, IterMapLevel::NoCheck, true, errors);
  return std::make_shared<IterSumNode>(rewriter.rewrite_to_sum(index));
}

auto iter_map_simplify(const std::vector<Expr>& indices, const IterDomains& iters, const Expr& predicate, IterMapLevel level,
                       Analyzer& analyzer, bool simplify_trivial, bool swaps_products) -> std::vector<Expr> {
  if (!domains_are_independent(iters)) { return indices; }
  std::vector<IterSum> map = detect_iter_map(indices, iters, predicate, level, analyzer, simplify_trivial).indices;
  // A predicate can make the detection fail; a map that is found without it is also valid under it.
  if (map.empty() && predicate && !is_one(predicate) && level != IterMapLevel::Bijective) {
    map = detect_iter_map(indices, iters, bool_imm(true), level, analyzer, simplify_trivial).indices;
  }
  if (map.empty()) { return indices; }
  std::vector<Expr> out;
  for (const IterSum& sum : map) { out.push_back(ToExpr(analyzer, swaps_products).convert(*sum)); }
  return out;
}

}  // namespace loopsmith::arith
