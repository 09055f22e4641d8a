// The rewriting simplifier: the steps around the rules for each kind of node. See rewrite.h and rules/.
//
// Comparisons are reduced to equality and less-than: a <= b is not (b < a), a != b is not (a == b). If no rule decides a
// comparison, the bounds of the difference may.
#include "arith/rewrite.h"

#include <algorithm>
#include <cmath>

#include "arith/rule.h"
#include "arith/walk.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

auto children(const Expr& e) -> const BinaryNode& { return *static_cast<const BinaryNode*>(e.get()); }

auto is_constant(const Expr& e) -> bool { return e.kind() == NodeKind::IntImm || e.kind() == NodeKind::FloatImm; }

// True when an if_then_else inside guards a division or a read, or when the index of a read is computed. Both values of a Select are
// evaluated, so the facts of its condition must not simplify such a guard or index.
auto guards_something(const Expr& e) -> bool {
  auto may_fail = [](const Expr& x) {
    switch (x.kind()) {
      case NodeKind::Div: case NodeKind::Mod: case NodeKind::FloorDiv: case NodeKind::FloorMod: return !is_constant(children(x).b);
      case NodeKind::BufferLoad: return true;
      default: return false;
    }
  };
  return any_node(e, [&](const Expr& x) {
    if (const auto* load = x.as<BufferLoad>()) {
      return std::any_of(load->indices.begin(), load->indices.end(), [](const Expr& i) { return !is_constant(i) && !i.as<VarNode>(); });
    }
    const auto* c = x.as<Call>();
    return c && c->op == "if_then_else" && any_node(x, may_fail);
  });
}

// The most rounds in which each side of an `and` or `or` is simplified under the other.
constexpr int boolean_turns = 4;
constexpr int max_recursive_rewrites = 5;

}  // namespace

auto make_raw(NodeKind kind, Expr a, Expr b) -> Expr {
  switch (kind) {
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind: return make<Kind>(std::move(a), std::move(b));
#include "ir/nodes.def"
    default: return {};
  }
}

auto try_fold(NodeKind kind, const Expr& a, const Expr& b) -> Expr {
  const auto* ia = a.as<IntImm>();
  const auto* ib = b.as<IntImm>();
  if (!ia && !ib) {
    if ((kind == NodeKind::Min || kind == NodeKind::Max) && a.same_as(b)) { return a; }
    if (!a.as<FloatImm>() && !b.as<FloatImm>()) { return {}; }
    Expr folded = make_binary(kind, a, b);
    return folded.kind() == kind ? Expr() : folded;
  }
  if (ia && ib) {
    // Does not fold a result that overflows its type: a correct program never evaluates it, and in a difference that only serves a proof it
    // would give the opposite answer.
    if (is_index_type(a.dtype()) && !fold_is_exact(kind, a.dtype(), ia->value, ib->value)) { return {}; }
    Expr folded = make_binary(kind, a, b);
    return folded.kind() == kind ? Expr() : folded;
  }
  int64_t value = ia ? ia->value : ib->value;
  switch (kind) {
    case NodeKind::Add: return value != 0 ? Expr() : ia ? b : a;
    case NodeKind::Sub: return ib && value == 0 ? a : Expr();
    case NodeKind::Mul: return value == 1 ? (ia ? b : a) : value == 0 ? (ia ? a : b) : Expr();
    case NodeKind::Div: case NodeKind::FloorDiv: return ia ? (value == 0 ? a : Expr()) : (value == 1 ? a : Expr());
    case NodeKind::Mod: case NodeKind::FloorMod: return ia ? (value == 0 ? a : Expr()) : (value == 1 ? zero(a.dtype()) : Expr());
    case NodeKind::And: return ia ? (value != 0 ? b : a) : (value != 0 ? a : b);
    case NodeKind::Or: return ia ? (value != 0 ? a : b) : (value != 0 ? b : a);
    default: return {};
  }
}

auto Rewriter::run(const Expr& expr) -> Expr {
  Expr result = expr;
  for (int i = 0; i < 2; ++i) {
    Expr next = visit(result);
    if (next.same_as(result)) { break; }
    result = std::move(next);
  }
  return !result.same_as(expr) && deep_equal(result, expr) ? expr : result;
}

auto Rewriter::visit(const Expr& expr) -> Expr { return rewrite(expr); }

auto Rewriter::again(const Expr& expr) -> Expr {
  if (recursion_ >= max_recursive_rewrites) { return expr; }
  ++recursion_;
  Expr result = visit(expr);
  --recursion_;
  return result;
}

auto Rewriter::compare(const Expr& a, const Expr& b) -> Order {
  auto decided = [](Order o) { return o == Order::EQ || o == Order::LT || o == Order::GT; };
  const auto* x = a.as<IntImm>();
  const auto* y = b.as<IntImm>();
  if (x && y && is_index_type(a.dtype())) { return x->value == y->value ? Order::EQ : x->value > y->value ? Order::GT : Order::LT; }
  Order order = compare(sub(a, b), 0);
  if (decided(order)) { return order; }
  order = order & compare_by_knowns(state_, a, b);
  if (decided(order) || !(state_.extensions & comparison_of_product_and_sum)) { return order; }
  return order & compare_product_and_sum(a, b);
}

auto Rewriter::compare(const Expr& e, int64_t value) -> Order {
  Expr simplified = visit(e);
  if (const auto* imm = simplified.as<IntImm>()) {
    return imm->value == value ? Order::EQ : imm->value > value ? Order::GT : Order::LT;
  }
  ConstIntBound bound = const_int_bound(state_, simplified);
  if (bound.min == value && bound.max == value) { return Order::EQ; }
  if (bound.min > value) { return Order::GT; }
  if (bound.max < value) { return Order::LT; }
  if (bound.min >= value) { return Order::GE; }
  if (bound.max <= value) { return Order::LE; }
  if (value == 0 && modular_set(state_, simplified).base != 0) { return Order::NE; }
  return Order::Unknown;
}

// Compares (a + b) * c with a * b * d by the size of 1/a + 1/b: the order holds for large enough symbolic extents.
auto Rewriter::compare_product_and_sum(const Expr& x, const Expr& y) -> Order {
  Expr diff = visit(sub(x, y));
  const auto* total = diff.as<Add>();
  if (!total) { return Order::Unknown; }
  // Recognises the side (a + b) * c, and the side a * b * d with d at the right or absent.
  auto as_sum = [](const Expr& e) -> const Mul* { const auto* m = e.as<Mul>(); return m && m->a.as<Add>() ? m : nullptr; };
  const Mul* sum = as_sum(total->a);
  const Expr& product = sum ? total->b : total->a;
  if (!sum) { sum = as_sum(total->b); }
  const auto* outer = product.as<Mul>();
  if (!sum || !outer) { return Order::Unknown; }
  const auto* ab = sum->a.as<Add>();
  auto is_ab = [&](const Mul* m) {
    return m && ((deep_equal(m->a, ab->a) && deep_equal(m->b, ab->b)) || (deep_equal(m->a, ab->b) && deep_equal(m->b, ab->a)));
  };
  ConstIntBound a = const_int_bound(state_, ab->a), b = const_int_bound(state_, ab->b), c = const_int_bound(state_, sum->b);
  ConstIntBound d;
  if (is_ab(outer->a.as<Mul>())) { d = const_int_bound(state_, sub(zero(outer->b.dtype()), outer->b)); }
  else if (is_ab(outer)) { d = {-1, -1}; }
  else { return Order::Unknown; }
  auto negate = [](ConstIntBound v) { return ConstIntBound{-v.max, -v.min}; };
  bool upper = d.max < 0;
  if (upper) { c = negate(c); d = negate(d); }
  if (c.max < 0) { a = negate(a); b = negate(b); c = negate(c); }
  if (a.min <= 0 || b.min <= 0 || c.min <= 0 || d.min <= 0 || d.max == ConstIntBound::pos_inf) { return Order::Unknown; }
  auto product_of = [](int64_t p, int64_t q) { int64_t r; return __builtin_mul_overflow(p, q, &r) ? ConstIntBound::pos_inf : r; };
  bool positive = product_of(std::min(a.max, b.max), d.max) <= c.min;
  if (!positive && a.max != ConstIntBound::pos_inf && b.max != ConstIntBound::pos_inf) {
    int64_t left = product_of(product_of(a.max, b.max), d.max);
    positive = left != ConstIntBound::pos_inf && left < product_of(c.min, wrap_add(a.max, b.max));
  }
  return !positive ? Order::Unknown : upper ? Order::LT : Order::GT;
}

auto Rewriter::literally(const Expr& condition) -> Expr {
  if (!knows_literals_ || state_.literals.empty()) { return {}; }
  state_.work -= static_cast<int64_t>(state_.literals.size()) / 8;
  for (const Expr& literal : state_.literals) {
    if (deep_equal(state_, literal, condition)) { return constant_int(condition.dtype(), 1); }
    const auto* negated = literal.as<Not>();
    if (negated && deep_equal(state_, negated->a, condition)) { return constant_int(condition.dtype(), 0); }
  }
  return {};
}

// A new node that no other node refers to gets the origin of the replaced expression; other nodes keep their origin.
auto with_origin(Expr result, const Expr& replaced) -> Expr {
  if (result.get() != replaced.get() && result.get()->refs == 1 && !result.origin().is_known()) {
    const_cast<ExprNode*>(result.get())->origin = replaced.origin();
  }
  return result;
}

auto Rewriter::rewrite(const Expr& expr) -> Expr { return with_origin(rewrite_kind(expr), expr); }

auto Rewriter::rewrite_kind(const Expr& expr) -> Expr {
  if (--state_.work < 0 || state_.depth >= Analyzer::State::max_depth) { return expr; }
  struct Depth { int& d; explicit Depth(int& x) : d(x) { ++d; } ~Depth() { --d; } } depth(state_.depth);
  switch (expr.kind()) {
    case NodeKind::IntImm: case NodeKind::FloatImm: case NodeKind::StringImm: return expr;
    case NodeKind::VarNode: {
      if (expr.dtype().is_bool()) { if (Expr known = literally(expr)) { return known; } }
      const VarFacts* facts = state_.find(expr.as<VarNode>());
      return facts && facts->value ? facts->value : expr;
    }
    case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::Div: case NodeKind::Mod:
    case NodeKind::FloorDiv: case NodeKind::FloorMod: case NodeKind::Min: case NodeKind::Max: return arithmetic(expr);
    case NodeKind::EQ: return equality(expr);
    case NodeKind::NE: return inequality(expr);
    case NodeKind::LT: return less_than(expr);
    case NodeKind::LE: return less_or_equal(expr);
    case NodeKind::GT: return visit(less(children(expr).b, children(expr).a));
    case NodeKind::GE: return visit(less_equal(children(expr).b, children(expr).a));
    case NodeKind::And: case NodeKind::Or: return connective(expr);
    case NodeKind::Not: return negation(expr);
    case NodeKind::Select: return selection(expr);
    case NodeKind::Cast: {
      const auto* n = expr.as<Cast>();
      Expr value = visit(n->value);
      if (!value.same_as(n->value) || is_constant(value) || value.dtype() == n->dtype) { return cast(n->dtype, value); }
      return expr;
    }
    case NodeKind::Call: return call(expr);
    case NodeKind::Let: return let(expr);
    case NodeKind::BufferLoad: case NodeKind::Ramp: case NodeKind::Broadcast: case NodeKind::Shuffle: return operands(expr);
    case NodeKind::Reduce:
#define EXPR(Kind)
#define STMT(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      return expr;
  }
  return expr;
}

auto Rewriter::arithmetic(const Expr& expr) -> Expr {
  NodeKind kind = expr.kind();
  const BinaryNode& n = children(expr);
  Expr a = visit(n.a);
  Expr b = visit(n.b);
  if (Expr folded = try_fold(kind, a, b)) { return folded; }
  if (kind == NodeKind::Div) {
    if (const auto* f = b.as<FloatImm>(); f && f->value != 0) { return mul(a, float_imm(1.0 / f->value, b.dtype())); }
  }
  Expr same = a.same_as(n.a) && b.same_as(n.b) ? expr : make_raw(kind, a, b);
  const RuleSet& rules = kind == NodeKind::Add        ? add_rules()
                         : kind == NodeKind::Sub      ? sub_rules()
                         : kind == NodeKind::Mul      ? mul_rules()
                         : kind == NodeKind::FloorDiv ? floordiv_rules()
                         : kind == NodeKind::FloorMod ? floormod_rules()
                         : kind == NodeKind::Min      ? min_rules()
                         : kind == NodeKind::Max      ? max_rules()
                         : kind == NodeKind::Div      ? div_rules()
                                                      : mod_rules();
  if (Expr result = rules.apply(*this, same)) { return result; }
  return same;
}

auto Rewriter::from_eq_rules(const Expr& expr) -> Expr {
  const BinaryNode& n = children(expr);
  if (is_index_type(n.a.dtype())) {
    Order order = compare(n.a, n.b);
    if (order == Order::EQ) { return constant_int(expr.dtype(), 1); }
    if (order == Order::NE || order == Order::GT || order == Order::LT) { return constant_int(expr.dtype(), 0); }
  }
  if (Expr result = eq_rules().apply(*this, expr)) { return result; }
  return expr;
}

auto Rewriter::from_lt_rules(const Expr& expr) -> Expr {
  const BinaryNode& n = children(expr);
  if (is_index_type(n.a.dtype())) {
    Order order = compare(n.a, n.b);
    if (order == Order::LT) { return constant_int(expr.dtype(), 1); }
    if (order == Order::EQ || order == Order::GT || order == Order::GE) { return constant_int(expr.dtype(), 0); }
  }
  if (Expr result = lt_rules().apply(*this, expr)) { return result; }
  return expr;
}

auto Rewriter::from_not_rules(const Expr& expr) -> Expr {
  if (Expr result = not_rules().apply(*this, expr)) { return result; }
  return expr;
}

auto Rewriter::equality(const Expr& expr) -> Expr {
  const BinaryNode& n = children(expr);
  Expr a = visit(n.a), b = visit(n.b);
  if (Expr folded = try_fold(NodeKind::EQ, a, b)) { return folded; }
  Expr same = a.same_as(n.a) && b.same_as(n.b) ? expr : Expr(make<EQ>(a, b));
  if (Expr known = literally(same)) { return known; }
  return from_eq_rules(same);
}

auto Rewriter::inequality(const Expr& expr) -> Expr {
  const BinaryNode& n = children(expr);
  Expr a = visit(n.a), b = visit(n.b);
  if (Expr folded = try_fold(NodeKind::NE, a, b)) { return folded; }
  Expr same = a.same_as(n.a) && b.same_as(n.b) ? expr : Expr(make<NE>(a, b));
  if (Expr known = literally(same)) { return known; }
  if (is_index_type(a.dtype())) {
    Order order = compare(a, b);
    if (order == Order::NE || order == Order::GT || order == Order::LT) { return constant_int(expr.dtype(), 1); }
    if (order == Order::EQ) { return constant_int(expr.dtype(), 0); }
    if (order == Order::GE) { return from_lt_rules(make<LT>(b, a)); }
    if (order == Order::LE) { return from_lt_rules(make<LT>(a, b)); }
  }
  Expr result = from_not_rules(make<Not>(from_eq_rules(make<EQ>(a, b))));
  return deep_equal(result, same) ? same : result;
}

auto Rewriter::less_than(const Expr& expr) -> Expr {
  const BinaryNode& n = children(expr);
  Expr a = visit(n.a), b = visit(n.b);
  if (Expr folded = try_fold(NodeKind::LT, a, b)) { return folded; }
  Expr same = a.same_as(n.a) && b.same_as(n.b) ? expr : Expr(make<LT>(a, b));
  if (Expr known = literally(same)) { return known; }
  return from_lt_rules(same);
}

auto Rewriter::less_or_equal(const Expr& expr) -> Expr {
  const BinaryNode& n = children(expr);
  Expr a = visit(n.a), b = visit(n.b);
  if (Expr folded = try_fold(NodeKind::LE, a, b)) { return folded; }
  Expr same = a.same_as(n.a) && b.same_as(n.b) ? expr : Expr(make<LE>(a, b));
  if (Expr known = literally(same)) { return known; }
  // The rules come first: a <= b * x becomes ceildiv(a, b) <= x; the proof below would change that form.
  Expr result = from_not_rules(make<Not>(from_lt_rules(make<LT>(b, a))));
  const auto* le = result.as<LE>();
  if (le && is_index_type(le->a.dtype())) {
    Order order = compare(le->a, le->b);
    if (order == Order::LE || order == Order::LT || order == Order::EQ) { return constant_int(expr.dtype(), 1); }
    if (order == Order::GT) { return constant_int(expr.dtype(), 0); }
    if (order == Order::NE) { return from_lt_rules(make<LT>(le->a, le->b)); }
    if (order == Order::GE) { return from_eq_rules(make<EQ>(le->a, le->b)); }
  }
  return deep_equal(result, same) ? same : result;
}

auto Rewriter::negation(const Expr& expr) -> Expr {
  const auto* n = expr.as<Not>();
  Expr a = visit(n->a);
  if (const auto* imm = a.as<IntImm>()) { return bool_imm(imm->value == 0); }
  Expr same = a.same_as(n->a) ? expr : Expr(make<Not>(a));
  if (Expr known = literally(same)) { return known; }
  return from_not_rules(same);
}

auto Rewriter::connective(const Expr& expr) -> Expr {
  NodeKind kind = expr.kind();
  const BinaryNode& n = children(expr);
  Expr a = n.a, b = n.b;
  // Computes the normal form for the whole condition only.
  bool is_outermost = !inside_boolean_;
  struct Inside { bool& flag; bool before; ~Inside() { flag = before; } } inside{inside_boolean_, inside_boolean_};
  inside_boolean_ = true;
  if (state_.extensions & apply_constraints_to_boolean_branches) {
    int unchanged = 0;
    for (int i = 0; i < boolean_turns && unchanged < 2; ++i) {
      Expr& side = i % 2 == 0 ? a : b;
      const Expr& other = i % 2 == 0 ? b : a;
      Analyzer::Scope scope = state_.owner->enter(kind == NodeKind::And ? other : normalize_booleans(make<Not>(other)));
      Expr updated = visit(side);
      unchanged = updated.same_as(side) ? unchanged + 1 : 0;
      side = std::move(updated);
    }
  } else {
    a = visit(a);
    b = visit(b);
  }
  if (Expr folded = try_fold(kind, a, b)) { return folded; }
  Expr same = a.same_as(n.a) && b.same_as(n.b) ? expr : make_raw(kind, a, b);
  if (Expr known = literally(same)) { return known; }
  if (is_outermost && (state_.extensions & convert_boolean_to_and_of_ors) && expr.dtype().is_scalar()) {
    Expr result = simplify_as_and_of_ors(state_, same);
    return deep_equal(result, same) ? same : result;
  }
  if (Expr result = (kind == NodeKind::And ? and_rules() : or_rules()).apply(*this, same)) { return result; }
  return same;
}

auto Rewriter::selection(const Expr& expr) -> Expr {
  const auto* n = expr.as<Select>();
  Expr condition = visit(n->condition);
  Expr t, f;
  if (guards_something(n->true_value)) { t = visit(n->true_value); }
  else {
    Analyzer::Scope scope = state_.owner->enter(condition);
    t = visit(n->true_value);
  }
  if (guards_something(n->false_value)) { f = visit(n->false_value); }
  else {
    Analyzer::Scope scope = state_.owner->enter(state_.owner->rewrite_simplify(make<Not>(condition)));
    f = visit(n->false_value);
  }
  if (is_zero(condition)) { return f; }
  if (is_one(condition)) { return t; }
  if (deep_equal(t, f)) { return t; }
  if (condition.same_as(n->condition) && t.same_as(n->true_value) && f.same_as(n->false_value)) { return expr; }
  return make<Select>(condition, t, f);
}

auto Rewriter::call(const Expr& expr) -> Expr {
  const auto* n = expr.as<Call>();
  if (n->op == "if_then_else" && n->args.size() == 3) {
    Expr condition = visit(n->args[0]);
    Expr t, f;
    {
      Analyzer::Scope scope = state_.owner->enter(condition);
      t = visit(n->args[1]);
    }
    {
      Analyzer::Scope scope = state_.owner->enter(make<Not>(condition));
      f = visit(n->args[2]);
    }
    if (is_zero(condition)) { return f; }
    if (is_one(condition)) { return t; }
    // Merges nested if_then_else that have the same constant as the other value.
    const auto* inner = t.as<Call>();
    if (inner && inner->op == "if_then_else" && is_constant(inner->args[2]) && deep_equal(inner->args[2], f)) {
      return if_then_else(logical_and(condition, inner->args[0]), inner->args[1], f);
    }
    if (condition.same_as(n->args[0]) && t.same_as(n->args[1]) && f.same_as(n->args[2])) { return expr; }
    return make<Call>(n->dtype, n->op, Array<Expr>{condition, t, f}, n->origin);
  }
  Expr same = operands(expr);
  n = same.as<Call>();
  if (n->args.empty()) { return same; }
  const auto* first = n->args[0].as<IntImm>();
  if (n->op == "likely") {
    if (first) { return n->args[0]; }
    if (Expr known = literally(n->args[0])) { return known; }
  }
  if (first && n->args.size() == 2) {
    const auto* second = n->args[1].as<IntImm>();
    if (second && second->value >= 0 && second->value < n->dtype.bits && n->dtype.is_integral()) {
      if (n->op == "shift_left") { return int_imm(wrap_mul(first->value, int64_t{1} << second->value), n->dtype); }
      if (n->op == "shift_right" && n->dtype.is_int()) { return int_imm(first->value >> second->value, n->dtype); }
    }
  }
  if (n->op == "ceil") {
    if (first) { return cast(n->dtype, n->args[0]); }
    if (const auto* f = n->args[0].as<FloatImm>()) { return cast(n->dtype, float_imm(std::ceil(f->value), f->dtype)); }
    const auto* log2 = n->args[0].as<Call>();
    const auto* f = log2 && log2->op == "log2" && log2->args.size() == 1 ? log2->args[0].as<FloatImm>() : nullptr;
    if (f && f->value > 0) { return float_imm(std::ceil(std::log2(f->value)), n->dtype); }
  }
  if (n->op == "clz" && first) {
    int bits = first->dtype.bits;
    uint64_t value = static_cast<uint64_t>(first->value) & (bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
    return int_imm(value == 0 ? bits : bits - (64 - __builtin_clzll(value)), n->dtype);
  }
  return same;
}

auto Rewriter::let(const Expr& expr) -> Expr {
  const auto* n = expr.as<Let>();
  Expr value = visit(n->value);
  if (is_constant(n->value) || n->value.kind() == NodeKind::VarNode) {
    state_.owner->bind(n->var, value, true);
    return visit(n->body);
  }
  Expr body = visit(n->body);
  if (value.same_as(n->value) && body.same_as(n->body)) { return expr; }
  return make<Let>(n->var, value, body, n->origin);
}

auto Rewriter::operands(const Expr& expr) -> Expr {
  auto each = [&](const Array<Expr>& list) {
    return list.map_same([&](const Expr& e) { return visit(e); }, [](const Expr& a, const Expr& b) { return a.same_as(b); });
  };
  switch (expr.kind()) {
    case NodeKind::BufferLoad: {
      const auto* n = expr.as<BufferLoad>();
      Array<Expr> indices = each(n->indices);
      if (indices.same_as(n->indices)) { return expr; }
      return make<BufferLoad>(n->buffer, indices, n->origin, n->predicate);
    }
    case NodeKind::Ramp: {
      const auto* n = expr.as<Ramp>();
      Expr base = visit(n->base), stride = visit(n->stride), lanes = visit(n->lanes);
      if (base.same_as(n->base) && stride.same_as(n->stride) && lanes.same_as(n->lanes)) { return expr; }
      return make<Ramp>(base, stride, lanes, n->origin);
    }
    case NodeKind::Broadcast: {
      const auto* n = expr.as<Broadcast>();
      Expr value = visit(n->value), lanes = visit(n->lanes);
      if (value.same_as(n->value) && lanes.same_as(n->lanes)) { return expr; }
      return make<Broadcast>(value, lanes, n->origin);
    }
    case NodeKind::Call: {
      const auto* n = expr.as<Call>();
      Array<Expr> args = each(n->args);
      if (args.same_as(n->args)) { return expr; }
      return make<Call>(n->dtype, n->op, args, n->origin);
    }
    case NodeKind::Shuffle: {
      const auto* n = expr.as<Shuffle>();
      Array<Expr> vectors = each(n->vectors), indices = each(n->indices);
      if (vectors.same_as(n->vectors) && indices.same_as(n->indices)) { return expr; }
      return make<Shuffle>(vectors, indices, n->origin);
    }
    default: return expr;
  }
}

}  // namespace loopsmith::arith
