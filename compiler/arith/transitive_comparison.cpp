// Comparisons that follow from known ones: from the bound ranges of variables and from entered conditions. With
// `transitively_prove_inequalities`, also from chains of them.
#include <algorithm>

#include "arith/state.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

auto reverse(Order o) -> Order {
  auto bits = static_cast<uint8_t>(o);
  return static_cast<Order>((bits & 1) | ((bits & 2) << 1) | ((bits & 4) >> 1));
}

auto comparison(size_t lhs, size_t rhs, int64_t offset, Order order) -> Comparison {
  if (order == Order::LT) { return {lhs, rhs, wrap_sub(offset, 1), Order::LE}; }
  if (order == Order::GT) { return {lhs, rhs, wrap_add(offset, 1), Order::GE}; }
  return {lhs, rhs, offset, order};
}

auto with_lhs(const Comparison& c, size_t lhs) -> std::optional<Comparison> {
  if (c.lhs == lhs) { return c; }
  if (c.rhs == lhs) { return comparison(c.rhs, c.lhs, wrap_sub(0, c.offset), reverse(c.order)); }
  return {};
}

auto implies(const Comparison& a, const Comparison& b) -> bool {
  if (a.order == b.order && a.offset == b.offset) { return true; }
  if (b.order == Order::LE && a.offset <= b.offset) { return a.order == Order::EQ || a.order == Order::LE; }
  if (b.order == Order::GE && a.offset >= b.offset) { return a.order == Order::EQ || a.order == Order::GE; }
  if (b.order == Order::NE) {
    return (a.order == Order::EQ && a.offset != b.offset) || (a.order == Order::LE && a.offset < b.offset) ||
           (a.order == Order::GE && a.offset > b.offset);
  }
  return false;
}

// Splits x + c into x and c; a constant into null and c.
auto split_offset(const Expr& e) -> std::pair<Expr, int64_t> {
  if (const auto* n = e.as<Add>()) {
    if (const auto* c = n->b.as<IntImm>()) { return {n->a, c->value}; }
  } else if (const auto* s = e.as<Sub>()) {
    if (const auto* c = s->b.as<IntImm>()) { return {s->a, wrap_sub(0, c->value)}; }
  } else if (const auto* c = e.as<IntImm>()) {
    return {Expr(), c->value};
  }
  return {e, 0};
}

constexpr size_t unknown_key = static_cast<size_t>(-1);

// Offsets are limited so that the sum of two does not wrap around; comparisons with larger offsets are dropped.
auto offset_between(int64_t to, int64_t from) -> std::optional<int64_t> {
  constexpr int64_t most = int64_t{1} << 61;
  int64_t out;
  if (__builtin_sub_overflow(to, from, &out) || out >= most || out <= -most) { return {}; }
  return out;
}

auto find_key(Analyzer::State& state, const Expr& e) -> size_t {
  state.work -= static_cast<int64_t>(state.keys.size() + state.scoped_comparisons.size()) / 8;
  for (size_t i = 0; i < state.keys.size(); ++i) {
    const Expr& key = state.keys[i];
    if (key.get() == e.get() || (key && e && key.kind() == e.kind() && deep_equal(state, key, e))) { return i; }
  }
  return unknown_key;
}
auto key_of(Analyzer::State& state, const Expr& e) -> size_t {
  size_t found = find_key(state, e);
  if (found != unknown_key) { return found; }
  state.keys.push_back(e);
  return state.keys.size() - 1;
}

auto from_expr(Analyzer::State& state, const Expr& e) -> std::optional<Comparison> {
  Order order;
  switch (e.kind()) {
    case NodeKind::LE: order = Order::LE; break;
    case NodeKind::GE: order = Order::GE; break;
    case NodeKind::LT: order = Order::LT; break;
    case NodeKind::GT: order = Order::GT; break;
    case NodeKind::EQ: order = Order::EQ; break;
    case NodeKind::NE: order = Order::NE; break;
    default: return {};
  }
  const auto* n = static_cast<const BinaryNode*>(e.get());
  if (n->a.as<IntImm>() && n->b.as<IntImm>()) { return {}; }
  auto [lhs, lhs_offset] = split_offset(n->a);
  auto [rhs, rhs_offset] = split_offset(n->b);
  auto offset = offset_between(rhs_offset, lhs_offset);
  if (!offset) { return {}; }
  size_t a = key_of(state, lhs);
  size_t b = key_of(state, rhs);
  return comparison(a, b, *offset, order);
}

void add_known(Analyzer::State& state, const Expr& condition, std::vector<Comparison>& out) {
  if (!is_pure(state, condition)) { return; }
  for (const Expr& fact : facts_of(condition, false)) {
    if (--state.work <= 0) { return; }
    if (auto c = from_expr(state, fact)) { out.push_back(*c); }
  }
}

template <class F>
void each_known(const Analyzer::State& state, F&& f) {
  for (const Comparison& c : state.comparisons) { f(c); }
  for (const Comparison& c : state.scoped_comparisons) { f(c); }
}

auto direct(const Analyzer::State& state, size_t lhs, size_t rhs) -> std::vector<Comparison> {
  std::vector<Comparison> out;
  each_known(state, [&](const Comparison& known) {
    auto c = with_lhs(known, lhs);
    if (c && c->rhs == rhs) { out.push_back(*c); }
  });
  return out;
}

// All comparisons of lhs that follow from known ones, found by a search.
auto indirect(const Analyzer::State& state, size_t lhs, size_t rhs) -> std::vector<Comparison> {
  std::vector<std::vector<Comparison>> about(state.keys.size());
  std::vector<bool> seen(state.keys.size());
  std::vector<size_t> todo;
  auto declare = [&](const Comparison& c) {
    auto& knowns = about[c.rhs];
    for (const Comparison& k : knowns) { if (implies(k, c)) { return; } }
    if (c.rhs != rhs && !seen[c.rhs]) { seen[c.rhs] = true; todo.push_back(c.rhs); }
    for (Comparison& k : knowns) { if (implies(c, k)) { k = c; return; } }
    knowns.push_back(c);
  };
  each_known(state, [&](const Comparison& known) { if (auto c = with_lhs(known, lhs)) { declare(*c); } });
  while (!todo.empty()) {
    size_t middle = todo.back();
    todo.pop_back();
    std::vector<Comparison> found;
    each_known(state, [&](const Comparison& known) {
      auto c = with_lhs(known, middle);
      if (!c || c->rhs == lhs) { return; }
      for (const Comparison& prev : about[middle]) {
        Order order = prev.order == Order::EQ                     ? c->order
                      : c->order == Order::EQ                     ? prev.order
                      : prev.order == c->order && prev.order != Order::NE ? prev.order
                                                                  : Order::Unknown;
        auto offset = offset_between(prev.offset, wrap_sub(0, c->offset));
        if (order != Order::Unknown && offset) { found.push_back(comparison(lhs, c->rhs, *offset, order)); }
      }
    });
    for (const Comparison& c : found) { declare(c); }
  }
  return about[rhs];
}

auto merge(const std::vector<Comparison>& knowns, int64_t offset) -> Order {
  Order result = Order::Unknown;
  for (const Comparison& known : knowns) {
    switch (known.order) {
      case Order::EQ: result = result & (offset == known.offset ? Order::EQ : Order::NE); break;
      case Order::LE:
        if (known.offset < offset) { result = result & Order::LT; }
        else if (known.offset <= offset) { result = result & Order::LE; }
        break;
      case Order::GE:
        if (known.offset > offset) { result = result & Order::GT; }
        else if (known.offset >= offset) { result = result & Order::GE; }
        break;
      case Order::NE:
        if (offset == known.offset) { result = result & Order::NE; }
        break;
      case Order::Inconsistent: case Order::LT: case Order::GT: case Order::Unknown: break;
    }
  }
  return result;
}

}  // namespace

auto compare_by_knowns(Analyzer::State& state, const Expr& a, const Expr& b) -> Order {
  if (!a.dtype().is_int() || !b.dtype().is_int()) { return Order::Unknown; }
  if (state.comparisons.empty() && state.scoped_comparisons.empty()) { return Order::Unknown; }
  auto [lhs, lhs_offset] = split_offset(a);
  auto [rhs, rhs_offset] = split_offset(b);
  size_t lhs_key = find_key(state, lhs);
  if (lhs_key == unknown_key) { return Order::Unknown; }
  size_t rhs_key = find_key(state, rhs);
  if (rhs_key == unknown_key) { return Order::Unknown; }
  auto offset = offset_between(rhs_offset, lhs_offset);
  if (!offset) { return Order::Unknown; }
  if (state.extensions & transitively_prove_inequalities) { return merge(indirect(state, lhs_key, rhs_key), *offset); }
  return merge(direct(state, lhs_key, rhs_key), *offset);
}

// Adds `min <= var < min + extent` directly, without building expressions. False near the ends of types.
static auto bind_constants(Analyzer::State& state, const Var& var, int64_t min, int64_t extent) -> bool {
  constexpr int64_t most = int64_t{1} << 30;
  if (min < -most || min > most || extent < 0 || extent > most) { return false; }
  state.work -= 2;
  if (state.work <= 0) { return true; }
  size_t lhs = key_of(state, var);
  size_t rhs = key_of(state, Expr());
  state.comparisons.push_back(comparison(lhs, rhs, min, Order::GE));
  state.comparisons.push_back(comparison(lhs, rhs, min + extent, Order::LT));
  return true;
}

void bind_comparisons(Analyzer::State& state, const Var& var, const Range& range) {
  VarFacts& facts = state.facts(var);
  if (facts.range && !(deep_equal(facts.range->min, range.min) && deep_equal(facts.range->extent, range.extent))) {
    size_t key = find_key(state, var);
    std::erase_if(state.comparisons, [&](const Comparison& c) { return c.lhs == key; });
  }
  facts.range = range;
  if (is_one(range.extent)) {
    add_known(state, equal(var, range.min), state.comparisons);
  } else {
    const auto* min = range.min.as<IntImm>();
    const auto* extent = range.extent.as<IntImm>();
    if (min && extent && bind_constants(state, var, min->value, extent->value)) { return; }
    add_known(state, greater_equal(var, range.min), state.comparisons);
    bool has_end = !min || !extent || fold_is_exact(NodeKind::Add, min->dtype, min->value, extent->value);   // false at the end of the type
    if (has_end) { add_known(state, less(var, range.min + range.extent), state.comparisons); }
  }
}

void enter_comparisons(Analyzer::State& state, const Expr& constraint) {
  add_known(state, constraint, state.scoped_comparisons);
}

}  // namespace loopsmith::arith
