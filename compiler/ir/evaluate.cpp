// Evaluates integer expressions: see evaluate.h.
#include "ir/evaluate.h"

#include <algorithm>

namespace loopsmith {

namespace {

using Value = std::optional<int64_t>;

auto floor_div(int64_t a, int64_t b) -> int64_t { return a / b - static_cast<int64_t>((a % b != 0) && ((a < 0) != (b < 0))); }

auto evaluate_binary(const BinaryNode& n, const Valuation& values) -> Value {
  const Value left = evaluate_integer(n.a, values);
  if (!left) { return {}; }
  const Value right = evaluate_integer(n.b, values);
  if (!right) { return {}; }
  const int64_t a = *left, b = *right;
  // The limit on operands, below which no operation overflows.
  constexpr int64_t most = int64_t{1} << 30;
  if (a > most || a < -most || b > most || b < -most) { return {}; }
  switch (n.kind) {
    case NodeKind::Add: return a + b;
    case NodeKind::Sub: return a - b;
    case NodeKind::Mul: return a * b;
    case NodeKind::FloorDiv: return b != 0 ? Value(floor_div(a, b)) : std::nullopt;
    case NodeKind::FloorMod: return b != 0 ? Value(a - b * floor_div(a, b)) : std::nullopt;
    case NodeKind::Min: return std::min(a, b);
    case NodeKind::Max: return std::max(a, b);
    case NodeKind::LT: return a < b;
    case NodeKind::LE: return a <= b;
    case NodeKind::GT: return a > b;
    case NodeKind::GE: return a >= b;
    case NodeKind::EQ: return a == b;
    case NodeKind::NE: return a != b;
    case NodeKind::And: return a != 0 && b != 0;
    case NodeKind::Or: return a != 0 || b != 0;
    default: return {};
  }
}

auto evaluate_choice(const Expr& condition, const Expr& yes, const Expr& no, const Valuation& values) -> Value {
  const Value holds = evaluate_integer(condition, values);
  return holds ? evaluate_integer(*holds != 0 ? yes : no, values) : std::nullopt;
}

auto evaluate_call(const Call& call, const Valuation& values) -> Value {
  static const Name if_then_else_name("if_then_else"), likely_name("likely");
  if (call.op == likely_name && call.args.size() == 1) { return evaluate_integer(call.args[0], values); }
  return call.op == if_then_else_name && call.args.size() == 3 ? evaluate_choice(call.args[0], call.args[1], call.args[2], values) : std::nullopt;
}

// Small numbers keep their value in any type of four bytes or more.
auto evaluate_cast(const Cast& cast, const Valuation& values) -> Value {
  if (!cast.dtype.is_integral() || cast.dtype.lanes != 1 || cast.dtype.bits < 32 || !cast.value.dtype().is_integral()) { return {}; }
  const Value value = evaluate_integer(cast.value, values);
  return value && *value >= 0 && *value < (int64_t{1} << 30) ? value : std::nullopt;
}

}  // namespace

// Walks over instances call this for millions of expressions, in builds without optimization too: one switch, and pointers in place of iterators.
auto evaluate_integer(const Expr& e, const Valuation& values) -> std::optional<int64_t> {
  const ExprNode* node = e.get();
  if (!node) { return {}; }
  switch (node->kind) {
    case NodeKind::IntImm: return static_cast<const IntImm*>(node)->value;
    case NodeKind::VarNode: {
      const auto* value = values.data();
      for (const auto* end = value + values.size(); value != end; ++value) {
        if (value->first == node) { return value->second; }
      }
      return {};
    }
    case NodeKind::Not: {
      const Value holds = evaluate_integer(static_cast<const Not*>(node)->a, values);
      return holds ? Value(*holds == 0) : std::nullopt;
    }
    case NodeKind::Select: {
      const auto& n = *static_cast<const Select*>(node);
      return evaluate_choice(n.condition, n.true_value, n.false_value, values);
    }
    case NodeKind::Cast: return evaluate_cast(*static_cast<const Cast*>(node), values);
    case NodeKind::Call: return evaluate_call(*static_cast<const Call*>(node), values);
    case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::FloorDiv: case NodeKind::FloorMod: case NodeKind::Min: case NodeKind::Max: case NodeKind::LT:
    case NodeKind::LE: case NodeKind::GT: case NodeKind::GE: case NodeKind::EQ: case NodeKind::NE: case NodeKind::And: case NodeKind::Or:
      return evaluate_binary(*static_cast<const BinaryNode*>(node), values);
    default: return {};
  }
}

}  // namespace loopsmith
