// Equality of expressions as trees, with variables and buffers compared by identity. Not the structural
// equality of functions (ir/equal.h), which binds variables.
#include "arith/state.h"

namespace loopsmith::arith {
namespace {

// An expression with shared nodes may be exponentially large as a tree: two expressions with more nodes than this count as different.
constexpr int max_nodes = 100'000;

auto same_list(const Array<Expr>& a, const Array<Expr>& b, int& left, int depth) -> bool;

auto same(const Expr& a, const Expr& b, int& left, int depth) -> bool {
  if (a.get() == b.get()) { return true; }
  if (!a || !b || a.kind() != b.kind() || !(a.dtype() == b.dtype()) || depth > 1000 || --left < 0) { return false; }
  switch (a.kind()) {
    case NodeKind::VarNode: return false;
    case NodeKind::IntImm: return a.as<IntImm>()->value == b.as<IntImm>()->value;
    case NodeKind::FloatImm: return a.as<FloatImm>()->value == b.as<FloatImm>()->value;
    case NodeKind::StringImm: return a.as<StringImm>()->value == b.as<StringImm>()->value;
    case NodeKind::Cast: return same(a.as<Cast>()->value, b.as<Cast>()->value, left, depth + 1);
    case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::Div: case NodeKind::Mod:
    case NodeKind::FloorDiv: case NodeKind::FloorMod: case NodeKind::Min: case NodeKind::Max: case NodeKind::EQ:
    case NodeKind::NE: case NodeKind::LT: case NodeKind::LE: case NodeKind::GT: case NodeKind::GE:
    case NodeKind::And: case NodeKind::Or: {
      const auto* x = static_cast<const BinaryNode*>(a.get());
      const auto* y = static_cast<const BinaryNode*>(b.get());
      return same(x->a, y->a, left, depth + 1) && same(x->b, y->b, left, depth + 1);
    }
    case NodeKind::Not: return same(a.as<Not>()->a, b.as<Not>()->a, left, depth + 1);
    case NodeKind::Select: {
      const auto* x = a.as<Select>();
      const auto* y = b.as<Select>();
      return same(x->condition, y->condition, left, depth + 1) && same(x->true_value, y->true_value, left, depth + 1) &&
             same(x->false_value, y->false_value, left, depth + 1);
    }
    case NodeKind::BufferLoad: {
      const auto* x = a.as<BufferLoad>();
      const auto* y = b.as<BufferLoad>();
      return x->buffer == y->buffer && same_list(x->indices, y->indices, left, depth) &&
             (x->predicate ? y->predicate && same(x->predicate, y->predicate, left, depth + 1) : !y->predicate);
    }
    case NodeKind::Ramp: {
      const auto* x = a.as<Ramp>();
      const auto* y = b.as<Ramp>();
      return same(x->base, y->base, left, depth + 1) && same(x->stride, y->stride, left, depth + 1) && same(x->lanes, y->lanes, left, depth + 1);
    }
    case NodeKind::Broadcast:
      return same(a.as<Broadcast>()->value, b.as<Broadcast>()->value, left, depth + 1) &&
             same(a.as<Broadcast>()->lanes, b.as<Broadcast>()->lanes, left, depth + 1);
    case NodeKind::Shuffle:
      return same_list(a.as<Shuffle>()->vectors, b.as<Shuffle>()->vectors, left, depth) &&
             same_list(a.as<Shuffle>()->indices, b.as<Shuffle>()->indices, left, depth);
    case NodeKind::Call: return a.as<Call>()->op == b.as<Call>()->op && same_list(a.as<Call>()->args, b.as<Call>()->args, left, depth);
    // Two Lets are equal only if they bind the same variable. Reductions, which bind several, always count as different.
    case NodeKind::Let: {
      const auto* x = a.as<Let>();
      const auto* y = b.as<Let>();
      return x->var.same_as(y->var) && same(x->value, y->value, left, depth + 1) && same(x->body, y->body, left, depth + 1);
    }
    case NodeKind::Reduce: return false;
#define EXPR(Kind)
#define STMT(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      return false;
  }
  return false;
}

auto same_list(const Array<Expr>& a, const Array<Expr>& b, int& left, int depth) -> bool {
  if (a.size() != b.size()) { return false; }
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i], left, depth + 1)) { return false; }
  }
  return true;
}

}  // namespace

auto deep_equal(const Expr& a, const Expr& b) -> bool {
  int left = max_nodes;
  return same(a, b, left, 0);
}

auto deep_equal(Analyzer::State& state, const Expr& a, const Expr& b) -> bool {
  if (a.get() == b.get()) { return true; }
  int left = max_nodes;
  bool result = same(a, b, left, 0);
  state.work -= (max_nodes - left) / 4;
  return result;
}

}  // namespace loopsmith::arith
