// Walks over the nodes of an expression, in bounded time: visits each shared node once, and does not recurse. For the
// files of this room only.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/visitor.h"

namespace loopsmith::arith {

/// True when f holds for some node, the root included.
template <class F>
auto any_node(const Expr& root, F&& f) -> bool {
  // Small expressions need no set of visited nodes.
  constexpr size_t small = 64;
  std::vector<Expr> todo = {root};
  std::unordered_set<const ExprNode*> seen;
  for (size_t count = 0; !todo.empty(); ++count) {
    Expr e = std::move(todo.back());
    todo.pop_back();
    if (count >= small && e.as<VarNode>() == nullptr && e.as<IntImm>() == nullptr && !seen.insert(e.get()).second) { continue; }
    if (f(e)) { return true; }
    visit_children(e, [&](const Expr& child) { todo.push_back(child); });
  }
  return false;
}

template <class F>
auto any_variable(const Expr& root, F&& f) -> bool {
  if (root.kind() == NodeKind::IntImm) { return false; }
  if (const auto* v = root.as<VarNode>()) { return f(*v); }
  return any_node(root, [&](const Expr& e) { const auto* v = e.as<VarNode>(); return v && f(*v); });
}

/// The factors of a product, left to right; only the first max_factors of them.
constexpr int max_factors = 256;
template <class F>
void each_factor(const Expr& e, F&& f) {
  std::vector<Expr> todo = {e};
  for (int count = 0; !todo.empty() && count <= max_factors; ) {
    Expr top = std::move(todo.back());
    todo.pop_back();
    if (const auto* m = top.as<Mul>()) {
      todo.push_back(m->b);
      todo.push_back(m->a);
    } else {
      ++count;
      f(top);
    }
  }
}
inline auto has_many_factors(const Expr& e) -> bool {
  int count = 0;
  each_factor(e, [&](const Expr&) { ++count; });
  return count > max_factors;
}

/// The number of nodes, shared ones counted once in large expressions.
inline auto count_nodes(const Expr& e) -> size_t {
  size_t count = 0;
  (void)any_node(e, [&](const Expr&) { ++count; return false; });
  return count;
}

}  // namespace loopsmith::arith
