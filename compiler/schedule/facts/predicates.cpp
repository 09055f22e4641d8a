// Predicates that only keep iter vars in their domains: see predicates.h.
#include "schedule/facts/predicates.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "schedule/facts/instances.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

auto keeps_domain(const BlockRealize& realize, const Expr& condition) -> bool {
  arith::Analyzer analyzer;
  const auto* bound = condition.as<LT>();
  for (size_t i = 0; bound && i < realize.iter_values.size(); ++i) {
    const Range& dom = realize.block->iter_vars[i].dom;
    if (analyzer.can_prove_equal(bound->a, realize.iter_values[i]) && analyzer.can_prove_equal(bound->b, dom.min + dom.extent)) { return true; }
  }
  return false;
}

auto is_bound_of_domains(const BlockRealize& realize) -> bool {
  std::vector<Expr> parts = arith::split_conjunction(realize.predicate);
  return std::all_of(parts.begin(), parts.end(), [&](const Expr& part) { return keeps_domain(realize, part); });
}

auto keeps_domains(const FuncTree& func, const Place& block) -> bool {
  if (is_one(block.realize->predicate)) { return true; }
  if (auto counted = counted_predicate(func, block)) { return *counted; }
  const auto& iters = block.block()->iter_vars;
  const auto& values = block.realize->iter_values;
  arith::Analyzer analyzer;
  for (const auto& [var, range] : loop_domains(func, block)) { analyzer.bind(var, range); }
  std::vector<arith::Analyzer::Scope> known;
  for (size_t i = 0; i < iters.size(); ++i) {
    known.push_back(analyzer.enter(greater_equal(values[i], iters[i].dom.min)));
    known.push_back(analyzer.enter(less(values[i], iters[i].dom.min + iters[i].dom.extent)));
  }
  bool keeps = true;
  for (const Expr& part : arith::split_conjunction(block.realize->predicate)) {
    bool is_bound = false;
    for (size_t i = 0; i < iters.size() && !is_bound; ++i) {
      Expr end = iters[i].dom.min + iters[i].dom.extent;
      const auto* bound = part.as<LT>();
      is_bound = arith::deep_equal(part, less(values[i], end)) || (bound && analyzer.can_prove_equal(bound->a, values[i]) && analyzer.can_prove_equal(bound->b, end));
    }
    keeps = keeps && (is_bound || analyzer.can_prove(part));
  }
  while (!known.empty()) { known.pop_back(); }
  return keeps;
}

}  // namespace loopsmith::schedule
