// The facts in a condition, normal forms of negations, side effects of expressions.
#include <algorithm>
#include <array>
#include <string_view>

#include "arith/state.h"
#include "arith/walk.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

void collect_facts(const Expr& condition, bool parts_only, int depth, std::vector<Expr>& out) {
  if (!parts_only) { out.push_back(condition); }
  const auto* conjunction = condition.as<And>();
  const auto* negation = condition.as<Not>();
  const auto* negated = negation ? negation->a.as<Or>() : nullptr;
  if (conjunction && depth < Analyzer::State::max_depth) {
    collect_facts(conjunction->a, parts_only, depth + 1, out);
    collect_facts(conjunction->b, parts_only, depth + 1, out);
  } else if (negated && depth < Analyzer::State::max_depth) {
    collect_facts(normalize_booleans(make<Not>(negated->a)), parts_only, depth + 1, out);
    collect_facts(normalize_booleans(make<Not>(negated->b)), parts_only, depth + 1, out);
  } else if (parts_only) {
    out.push_back(condition);
  }
}

auto normalize(Expr e, int depth) -> Expr {
  while (true) {
    if (const auto* ge = e.as<GE>()) { return less_equal(ge->b, ge->a); }
    if (const auto* gt = e.as<GT>()) { return less(gt->b, gt->a); }
    const auto* n = e.as<Not>();
    if (!n || depth > Analyzer::State::max_depth) { return e; }
    Expr x = n->a;
    if (const auto* inner = x.as<Not>()) { e = inner->a; continue; }
    if (const auto* o = x.as<Or>()) { return logical_and(normalize(logical_not(o->a), depth + 1), normalize(logical_not(o->b), depth + 1)); }
    if (const auto* a = x.as<And>()) { return logical_or(normalize(logical_not(a->a), depth + 1), normalize(logical_not(a->b), depth + 1)); }
    if (const auto* c = x.as<LT>()) { return less_equal(c->b, c->a); }
    if (const auto* c = x.as<GT>()) { return less_equal(c->a, c->b); }
    if (const auto* c = x.as<LE>()) { return less(c->b, c->a); }
    if (const auto* c = x.as<GE>()) { return less(c->a, c->b); }
    if (const auto* c = x.as<EQ>()) { return not_equal(c->a, c->b); }
    if (const auto* c = x.as<NE>()) { return equal(c->a, c->b); }
    return e;
  }
}

// Calls that only compute a value from their arguments.
constexpr std::array<std::string_view, 56> pure_calls = {
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "ceil", "clz", "copysign", "cos", "cosh", "div", "erf", "exp", "exp10", "exp2", "fabs",
    "floor", "fma", "fmod", "hypot", "if_then_else", "isfinite", "isinf", "isnan", "large_uint_imm", "ldexp",
    "likely", "log", "log10", "log1p", "log2", "nearbyint", "nextafter", "popcount", "pow", "q_multiply_shift",
    "reinterpret", "round", "rsqrt", "shift_left", "shift_right", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh",
    "trunc", "vscale"};

auto has_effect(const Expr& expr, bool reads_count) -> bool {
  return any_node(expr, [&](const Expr& e) {
    if (const auto* call = e.as<Call>()) { return !std::binary_search(pure_calls.begin(), pure_calls.end(), call->op.view()); }
    return reads_count && e.kind() == NodeKind::BufferLoad;
  });
}

// A fast path for arithmetic with few nodes.
auto is_plain(const Expr& e, int& left) -> bool {
  if (--left < 0) { return false; }
  switch (e.kind()) {
    case NodeKind::VarNode: case NodeKind::IntImm: case NodeKind::FloatImm: return true;
    case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::Div: case NodeKind::Mod:
    case NodeKind::FloorDiv: case NodeKind::FloorMod: case NodeKind::Min: case NodeKind::Max: case NodeKind::EQ:
    case NodeKind::NE: case NodeKind::LT: case NodeKind::LE: case NodeKind::GT: case NodeKind::GE:
    case NodeKind::And: case NodeKind::Or: {
      const auto* x = static_cast<const BinaryNode*>(e.get());
      return is_plain(x->a, left) && is_plain(x->b, left);
    }
    default: return false;
  }
}

auto is_plain(const Expr& e) -> bool {
  int left = 64;
  return is_plain(e, left);
}

}  // namespace

auto facts_of(const Expr& condition, bool parts_only) -> std::vector<Expr> {
  std::vector<Expr> out;
  collect_facts(condition, parts_only, 0, out);
  return out;
}

auto normalize_booleans(Expr condition) -> Expr { return normalize(std::move(condition), 0); }

auto is_pure(Analyzer::State& state, const Expr& expr) -> bool {
  if (is_plain(expr)) { return true; }
  state.work -= static_cast<int64_t>(count_nodes(expr));
  return state.work > 0 && !has_effect(expr, true);
}
auto is_pure(const Expr& expr) -> bool { return is_plain(expr) || !has_effect(expr, true); }
auto is_read_only(const Expr& expr) -> bool { return is_plain(expr) || !has_effect(expr, false); }

auto split_conjunction(const Expr& condition) -> std::vector<Expr> {
  std::vector<Expr> out;
  std::vector<Expr> todo = {condition};
  while (!todo.empty()) {
    Expr e = std::move(todo.back());
    todo.pop_back();
    if (const auto* a = e.as<And>()) {
      todo.push_back(a->b);
      todo.push_back(a->a);
    } else {
      out.push_back(std::move(e));
    }
  }
  return out;
}

auto split_disjunction(const Expr& condition) -> std::vector<Expr> {
  std::vector<Expr> out;
  std::vector<Expr> todo = {condition};
  while (!todo.empty()) {
    Expr e = std::move(todo.back());
    todo.pop_back();
    if (const auto* o = e.as<Or>()) {
      todo.push_back(o->b);
      todo.push_back(o->a);
    } else {
      out.push_back(std::move(e));
    }
  }
  return out;
}

}  // namespace loopsmith::arith
