// Compiles and applies rewrite rules: see rule.h.
#include "arith/rule.h"

#include <cassert>
#include <cstring>
#include <memory>
#include <string_view>

#include "arith/rewrite.h"
#include "ir/ops.h"
#include "support/text.h"

namespace loopsmith::arith {
namespace {

// The classes of operands, for choosing candidate rules.
constexpr int other_class = 0;
auto class_of(NodeKind kind) -> int {
  switch (kind) {
    case NodeKind::Add: return 1;
    case NodeKind::Sub: return 2;
    case NodeKind::Mul: return 3;
    case NodeKind::Div: return 4;
    case NodeKind::Mod: return 5;
    case NodeKind::FloorDiv: return 6;
    case NodeKind::FloorMod: return 7;
    case NodeKind::Min: return 8;
    case NodeKind::Max: return 9;
    case NodeKind::Select: return 10;
    case NodeKind::IntImm: return 11;
    case NodeKind::Ramp: return 12;
    case NodeKind::Broadcast: return 13;
    case NodeKind::EQ: return 14;
    case NodeKind::NE: return 15;
    case NodeKind::LT: return 16;
    case NodeKind::LE: return 17;
    case NodeKind::GT: return 18;
    case NodeKind::GE: return 19;
    case NodeKind::Not: return 20;
    case NodeKind::And: return 21;
    case NodeKind::Or: return 22;
    default: return other_class;
  }
}
constexpr int class_count = 23;
enum : int { index_types, vector_types, other_types, type_classes };

auto is_binary(NodeKind kind) -> bool {
  switch (kind) {
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      return true;
    default: return false;
  }
}

constexpr uint16_t no_node = 0xffff;
constexpr int proof_ge0 = 0, proof_ge1 = 1, proof_eq0 = 2, proof_index = 3;

}  // namespace

auto make_binary(NodeKind kind, Expr a, Expr b) -> Expr {
  switch (kind) {
    case NodeKind::Add: return add(std::move(a), std::move(b));
    case NodeKind::Sub: return sub(std::move(a), std::move(b));
    case NodeKind::Mul: return mul(std::move(a), std::move(b));
    case NodeKind::Div: return div(std::move(a), std::move(b));
    case NodeKind::Mod: return truncmod(std::move(a), std::move(b));
    case NodeKind::FloorDiv: return floordiv(std::move(a), std::move(b));
    case NodeKind::FloorMod: return floormod(std::move(a), std::move(b));
    case NodeKind::Min: return min(std::move(a), std::move(b));
    case NodeKind::Max: return max(std::move(a), std::move(b));
    case NodeKind::EQ: return equal(std::move(a), std::move(b));
    case NodeKind::NE: return not_equal(std::move(a), std::move(b));
    case NodeKind::LT: return less(std::move(a), std::move(b));
    case NodeKind::LE: return less_equal(std::move(a), std::move(b));
    case NodeKind::GT: return greater(std::move(a), std::move(b));
    case NodeKind::GE: return greater_equal(std::move(a), std::move(b));
    case NodeKind::And: return logical_and(std::move(a), std::move(b));
    case NodeKind::Or: return logical_or(std::move(a), std::move(b));
    default: assert(false); return {};
  }
}

// Recursive descent over the notation of rules: or, and, not, comparisons, + -, * // %, calls and names.
class RuleSet::Parser {
 public:
  Parser(std::vector<Node>& nodes, std::string_view text, std::array<bool, slot::count>* bound)
      : nodes_(nodes), text_(text), bound_(bound) {}

  auto parse() -> uint16_t {
    uint16_t root = disjunction();
    skip();
    assert(text_.empty() && "rule not read to its end");
    return root;
  }

 private:
  auto push(Node node) -> uint16_t { nodes_.push_back(node); return static_cast<uint16_t>(nodes_.size() - 1); }
  auto binary(NodeKind kind, uint16_t a, uint16_t b) -> uint16_t {
    return push({.op = Node::Op::Binary, .kind = kind, .child = {a, b, 0}});
  }
  void skip() { while (!text_.empty() && text_.front() == ' ') { text_.remove_prefix(1); } }
  auto take(std::string_view token) -> bool {
    skip();
    if (text_.substr(0, token.size()) != token) { return false; }
    if (is_name_part(token.front()) && text_.size() > token.size() && is_name_part(text_[token.size()])) { return false; }
    text_.remove_prefix(token.size());
    return true;
  }
  auto disjunction() -> uint16_t {
    uint16_t a = conjunction();
    while (take("or")) { uint16_t b = conjunction(); a = binary(NodeKind::Or, a, b); }
    return a;
  }
  auto conjunction() -> uint16_t {
    uint16_t a = negation();
    while (take("and")) { uint16_t b = negation(); a = binary(NodeKind::And, a, b); }
    return a;
  }
  auto negation() -> uint16_t {
    if (take("not")) { uint16_t a = negation(); return push({.op = Node::Op::Not, .child = {a, 0, 0}}); }
    return comparison();
  }
  auto comparison() -> uint16_t {
    uint16_t a = sum();
    NodeKind kind;
    if (take("==")) { kind = NodeKind::EQ; }
    else if (take("!=")) { kind = NodeKind::NE; }
    else if (take("<=")) { kind = NodeKind::LE; }
    else if (take(">=")) { kind = NodeKind::GE; }
    else if (take("<")) { kind = NodeKind::LT; }
    else if (take(">")) { kind = NodeKind::GT; }
    else { return a; }
    uint16_t b = sum();
    return binary(kind, a, b);
  }
  auto sum() -> uint16_t {
    uint16_t a = product();
    while (true) {
      if (take("+")) { uint16_t b = product(); a = binary(NodeKind::Add, a, b); }
      else if (take("-")) { uint16_t b = product(); a = binary(NodeKind::Sub, a, b); }
      else { return a; }
    }
  }
  auto product() -> uint16_t {
    uint16_t a = atom();
    while (true) {
      if (take("//")) { uint16_t b = atom(); a = binary(NodeKind::FloorDiv, a, b); }
      else if (take("*")) { uint16_t b = atom(); a = binary(NodeKind::Mul, a, b); }
      else if (take("%")) { uint16_t b = atom(); a = binary(NodeKind::FloorMod, a, b); }
      else { return a; }
    }
  }
  auto arguments(int count) -> std::array<uint16_t, 3> {
    std::array<uint16_t, 3> out{};
    for (int i = 0; i < count; ++i) {
      if (i > 0) { [[maybe_unused]] bool comma = take(","); assert(comma); }
      out[i] = disjunction();
    }
    [[maybe_unused]] bool closed = take(")");
    assert(closed && "rule: parenthesis not closed");
    return out;
  }
  auto atom() -> uint16_t {
    if (take("(")) { return arguments(1)[0]; }
    if (take("-")) {
      uint16_t zero = push({.op = Node::Op::Literal});
      uint16_t a = atom();
      return binary(NodeKind::Sub, zero, a);
    }
    static constexpr std::pair<std::string_view, NodeKind> functions[] = {
        {"min(", NodeKind::Min}, {"max(", NodeKind::Max}, {"truncdiv(", NodeKind::Div}, {"truncmod(", NodeKind::Mod}};
    for (auto [name, kind] : functions) {
      if (take_call(name)) { auto args = arguments(2); return binary(kind, args[0], args[1]); }
    }
    if (take_call("select(")) { return push({.op = Node::Op::Select, .child = arguments(3)}); }
    if (take_call("ramp(")) { return push({.op = Node::Op::Ramp, .child = arguments(3)}); }
    if (take_call("broadcast(")) { return push({.op = Node::Op::Broadcast, .child = arguments(2)}); }
    if (take_call("ge0(")) { return push({.op = Node::Op::Proof, .value = proof_ge0, .child = arguments(1)}); }
    if (take_call("ge1(")) { return push({.op = Node::Op::Proof, .value = proof_ge1, .child = arguments(1)}); }
    if (take_call("eq0(")) { return push({.op = Node::Op::Proof, .value = proof_eq0, .child = arguments(1)}); }
    if (take_call("index(")) { return push({.op = Node::Op::Proof, .value = proof_index, .child = arguments(1)}); }
    if (take("true")) { return push({.op = Node::Op::Truth, .value = 1}); }
    if (take("false")) { return push({.op = Node::Op::Truth, .value = 0}); }
    static constexpr std::string_view names[slot::count] = {"x", "y", "z", "b1", "b2", "s1", "s2", "lanes", "c1", "c2", "c3", "f"};
    for (uint8_t i = 0; i < slot::count; ++i) {
      if (take(names[i])) { return name(i); }
    }
    skip();
    int64_t value = 0;
    size_t digits = 0;
    while (digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9') { value = value * 10 + (text_[digits++] - '0'); }
    assert(digits > 0 && "rule: unknown name");
    text_.remove_prefix(digits);
    return push({.op = Node::Op::Literal, .value = value});
  }
  auto take_call(std::string_view token) -> bool {
    skip();
    if (text_.substr(0, token.size()) != token) { return false; }
    text_.remove_prefix(token.size());
    return true;
  }
  auto name(uint8_t slot) -> uint16_t {
    bool is_int = slot >= slot::c1 && slot <= slot::c3;
    bool first = bound_ && !(*bound_)[slot];
    if (bound_) { (*bound_)[slot] = true; }
    Node::Op op = slot == slot::f ? Node::Op::BindFloat
                  : is_int        ? (first ? Node::Op::BindInt : Node::Op::SameInt)
                                  : (first ? Node::Op::Bind : Node::Op::Same);
    return push({.op = op, .name = slot});
  }

  std::vector<Node>& nodes_;
  std::string_view text_;
  std::array<bool, slot::count>* bound_;
};

RuleSet::RuleSet(const std::vector<Rule>& rules) {
  static size_t next_id = 0;
  id_ = next_id++;
  for (const Rule& rule : rules) {
    std::string_view patterns = rule.pattern;
    while (!patterns.empty()) {
      size_t bar = patterns.find(" | ");
      std::string_view pattern = patterns.substr(0, bar);
      patterns = bar == std::string_view::npos ? std::string_view() : patterns.substr(bar + 3);
      std::array<bool, slot::count> bound{};
      Compiled compiled{.pattern = Parser(nodes_, pattern, &bound).parse(), .result = no_node, .condition = no_node,
                        .has_condition = *rule.condition != 0, .then = rule.then, .on = rule.on, .native = rule.native};
      if (!rule.native) { compiled.result = Parser(nodes_, rule.result, nullptr).parse(); }
      if (compiled.has_condition) { compiled.condition = Parser(nodes_, rule.condition, nullptr).parse(); }
      rules_.push_back(compiled);
    }
  }
}

// Matches one rule, evaluates its condition, builds its result.
class RuleSet::Engine {
 public:
  Engine(const Node* nodes, Rewriter* rewriter) : nodes_(nodes), rewriter_(rewriter) {}

  Match match;

  auto fits(uint16_t at, const Expr& e) -> bool {
    const Node& n = nodes_[at];
    switch (n.op) {
      case Node::Op::Bind: match.at[n.name] = &e; return true;
      case Node::Op::Same: return deep_equal(rewriter_->state(), *match.at[n.name], e);
      case Node::Op::BindInt: {
        const auto* imm = e.as<IntImm>();
        match.at[n.name] = &e;
        return imm && (imm->value >= 0 || !imm->dtype.is_uint());   // uint64 beyond int64 is not a constant of a rule
      }
      case Node::Op::SameInt: { const auto* imm = e.as<IntImm>(); return imm && imm->value == match.integer(n.name); }
      case Node::Op::BindFloat: match.at[n.name] = &e; return e.kind() == NodeKind::FloatImm;
      case Node::Op::Literal: { const auto* imm = e.as<IntImm>(); return imm && imm->value == n.value; }
      case Node::Op::Binary: {
        if (e.kind() != n.kind) { return false; }
        const auto* node = static_cast<const BinaryNode*>(e.get());
        return fits(n.child[0], node->a) && fits(n.child[1], node->b);
      }
      case Node::Op::Not: { const auto* node = e.as<Not>(); return node && fits(n.child[0], node->a); }
      case Node::Op::Select: {
        const auto* node = e.as<Select>();
        return node && fits(n.child[0], node->condition) && fits(n.child[1], node->true_value) && fits(n.child[2], node->false_value);
      }
      case Node::Op::Ramp: {
        const auto* node = e.as<Ramp>();
        return node && fits(n.child[0], node->base) && fits(n.child[1], node->stride) && fits(n.child[2], node->lanes);
      }
      case Node::Op::Broadcast: {
        const auto* node = e.as<Broadcast>();
        return node && fits(n.child[0], node->value) && fits(n.child[1], node->lanes);
      }
      case Node::Op::Truth: case Node::Op::Proof: return false;
    }
    return false;
  }

  auto build(uint16_t at, DataType like) -> Expr {
    const Node& n = nodes_[at];
    switch (n.op) {
      case Node::Op::Bind: case Node::Op::Same: case Node::Op::BindInt: case Node::Op::SameInt: case Node::Op::BindFloat:
        return *match.at[n.name];
      case Node::Op::Literal: return constant_int(like, n.value);
      case Node::Op::Truth: return constant_int(like, n.value);
      case Node::Op::Binary: {
        bool logical = n.kind == NodeKind::And || n.kind == NodeKind::Or;
        // A literal gets the type of the other side.
        if (nodes_[n.child[0]].op == Node::Op::Literal && !logical) {
          Expr b = build(n.child[1], like);
          return combine(n.kind, constant_int(b.dtype(), nodes_[n.child[0]].value), b);
        }
        Expr a = build(n.child[0], like);
        Expr b = build(n.child[1], logical ? like : a.dtype());
        return combine(n.kind, std::move(a), std::move(b));
      }
      case Node::Op::Not: return make<Not>(build(n.child[0], like));
      case Node::Op::Select: {
        Expr condition = build(n.child[0], DataType::bool_());
        if (nodes_[n.child[1]].op == Node::Op::Literal) {
          Expr f = build(n.child[2], like);
          return make<Select>(condition, constant_int(f.dtype(), nodes_[n.child[1]].value), f);
        }
        Expr t = build(n.child[1], like);
        Expr f = build(n.child[2], t.dtype());
        return make<Select>(condition, t, f);
      }
      case Node::Op::Ramp: {
        Expr base = build(n.child[0], like.element());
        Expr stride = build(n.child[1], base.dtype());
        return make<Ramp>(base, stride, build(n.child[2], DataType::int_(32)));
      }
      case Node::Op::Broadcast: {
        Expr value = build(n.child[0], like.element());
        return make<Broadcast>(value, build(n.child[1], DataType::int_(32)));
      }
      case Node::Op::Proof: break;
    }
    assert(false && "rule: not an expression");
    return {};
  }

  auto holds(uint16_t at) -> bool { return number(at) != 0 && !overflow; }

  // Set when a constant overflows its type: the rule then does not apply.
  bool overflow = false;

 private:
  // Folds constants in their type; a rule does not apply if one would wrap around.
  auto combine(NodeKind kind, Expr a, Expr b) -> Expr {
    const auto* x = a.as<IntImm>();
    const auto* y = b.as<IntImm>();
    if (x && y && !fold_is_exact(kind, a.dtype(), x->value, y->value)) { overflow = true; }
    return make_binary(kind, std::move(a), std::move(b));
  }

  auto exactly(bool (*overflows)(int64_t, int64_t, int64_t&), int64_t a, int64_t b) -> int64_t {
    int64_t result = 0;
    overflow = overflows(a, b, result) || overflow;
    return result;
  }

  auto number(uint16_t at) -> int64_t {
    const Node& n = nodes_[at];
    switch (n.op) {
      case Node::Op::Literal: case Node::Op::Truth: return n.value;
      case Node::Op::BindInt: case Node::Op::SameInt: return match.integer(n.name);
      case Node::Op::Not: return number(n.child[0]) == 0;
      case Node::Op::BindFloat: case Node::Op::Bind: case Node::Op::Same: case Node::Op::Select: case Node::Op::Ramp:
      case Node::Op::Broadcast: break;
      case Node::Op::Proof: {
        const Node& inner = nodes_[n.child[0]];
        bool is_name = inner.op == Node::Op::Bind || inner.op == Node::Op::Same;
        Expr e = is_name ? *match.at[inner.name] : build(n.child[0], like);
        if (n.value == proof_index) { return is_index_type(e.dtype()); }
        if (n.value == proof_eq0) { return rewriter_->prove_equal(e, 0); }
        return rewriter_->prove_ge(e, n.value == proof_ge1 ? 1 : 0);
      }
      case Node::Op::Binary: {
        if (n.kind == NodeKind::And) { return number(n.child[0]) != 0 && number(n.child[1]) != 0; }
        if (n.kind == NodeKind::Or) { return number(n.child[0]) != 0 || number(n.child[1]) != 0; }
        int64_t a = number(n.child[0]), b = number(n.child[1]);
        switch (n.kind) {
          case NodeKind::Add: return exactly([](int64_t x, int64_t y, int64_t& r) { return __builtin_add_overflow(x, y, &r); }, a, b);
          case NodeKind::Sub: return exactly([](int64_t x, int64_t y, int64_t& r) { return __builtin_sub_overflow(x, y, &r); }, a, b);
          case NodeKind::Mul: return exactly([](int64_t x, int64_t y, int64_t& r) { return __builtin_mul_overflow(x, y, &r); }, a, b);
          // A division by zero gives 0: the conditions only compare remainders with 0.
          case NodeKind::FloorDiv: return b == 0 ? 0 : trunc_div(a, b);
          case NodeKind::FloorMod: return b == 0 ? 1 : trunc_mod(a, b);
          case NodeKind::EQ: return a == b;
          case NodeKind::NE: return a != b;
          case NodeKind::LT: return a < b;
          case NodeKind::LE: return a <= b;
          case NodeKind::GT: return a > b;
          case NodeKind::GE: return a >= b;
          default: break;
        }
      }
    }
    assert(false && "rule: not a condition");
    return 0;
  }

 public:
  DataType like;

 private:
  const Node* nodes_;
  Rewriter* rewriter_;
};

auto RuleSet::may_fit(const Compiled& rule, int type_class, int a_class, int b_class) const -> bool {
  if (rule.on == On::Index && type_class != index_types) { return false; }
  if (rule.on == On::Vector && type_class != vector_types) { return false; }
  auto operand = [&](const Node& n, int cls) {
    switch (n.op) {
      case Node::Op::Bind: case Node::Op::Same: return true;
      case Node::Op::BindInt: case Node::Op::SameInt: case Node::Op::Literal: return cls == class_of(NodeKind::IntImm);
      case Node::Op::BindFloat: return cls == other_class;
      case Node::Op::Binary: return cls == class_of(n.kind);
      case Node::Op::Not: return cls == class_of(NodeKind::Not);
      case Node::Op::Select: return cls == class_of(NodeKind::Select);
      case Node::Op::Ramp: return cls == class_of(NodeKind::Ramp);
      case Node::Op::Broadcast: return cls == class_of(NodeKind::Broadcast);
      case Node::Op::Truth: case Node::Op::Proof: return false;
    }
    return false;
  };
  const Node& root = nodes_[rule.pattern];
  if (!operand(nodes_[root.child[0]], a_class)) { return false; }
  return root.op == Node::Op::Not || operand(nodes_[root.child[1]], b_class);
}

// The candidate rules for operands of these kinds, in order; computed once per thread.
auto RuleSet::candidates(const Expr& expr) const -> const std::vector<uint16_t>& {
  thread_local std::vector<std::vector<std::unique_ptr<std::vector<uint16_t>>>> memo;
  const Expr& a = is_binary(expr.kind()) ? static_cast<const BinaryNode*>(expr.get())->a : expr.as<Not>()->a;
  int a_class = class_of(a.kind());
  int b_class = is_binary(expr.kind()) ? class_of(static_cast<const BinaryNode*>(expr.get())->b.kind()) : other_class;
  int type_class = is_index_type(a.dtype()) ? index_types : a.dtype().is_vector() ? vector_types : other_types;
  if (memo.size() <= id_) { memo.resize(id_ + 1); }
  auto& table = memo[id_];
  if (table.empty()) { table.resize(size_t{type_classes} * class_count * class_count); }
  auto& entry = table[(size_t(type_class) * class_count + a_class) * class_count + b_class];
  if (!entry) {
    entry = std::make_unique<std::vector<uint16_t>>();
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (may_fit(rules_[i], type_class, a_class, b_class)) { entry->push_back(static_cast<uint16_t>(i)); }
    }
  }
  return *entry;
}

auto RuleSet::apply(Rewriter& rewriter, const Expr& expr) const -> Expr {
  const auto& list = candidates(expr);
  if (list.empty()) { return {}; }
  Engine engine(nodes_.data(), &rewriter);
  const Expr& a = is_binary(expr.kind()) ? static_cast<const BinaryNode*>(expr.get())->a : expr.as<Not>()->a;
  engine.like = a.dtype();
  for (uint16_t index : list) {
    const Compiled& rule = rules_[index];
    engine.match = {};
    engine.overflow = false;
    if (!engine.fits(rule.pattern, expr)) { continue; }
    if (rule.has_condition && !engine.holds(rule.condition)) { continue; }
    if (rule.native) {
      if (Expr result = rule.native(rewriter, expr, engine.match)) { return result; }
      continue;
    }
    Expr result = engine.build(rule.result, expr.dtype());
    if (engine.overflow) { continue; }
    return rule.then == Then::Again ? rewriter.again(result) : result;
  }
  return {};
}

auto RuleSet::example(size_t index, const Match& parts, DataType like) const -> Expr {
  const Compiled& rule = rules_[index];
  if (rule.on == On::Vector) { return {}; }
  Engine engine(nodes_.data(), nullptr);
  engine.match = parts;
  return engine.build(rule.pattern, like);
}

}  // namespace loopsmith::arith
