// Parses the notation of the oracle's expressions into unchanged nodes, without folding.
#include "expression.h"

#include <algorithm>
#include <cctype>

#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"

namespace loopsmith::oracle {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const Scope& scope) : text_(text), scope_(scope) {}

  auto read() -> Expr {
    Expr e = disjunction();
    skip();
    return text_.empty() ? e : Expr();
  }

 private:
  void skip() { while (!text_.empty() && text_.front() == ' ') { text_.remove_prefix(1); } }
  static auto is_word(char c) -> bool { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  auto take(std::string_view token) -> bool {
    skip();
    if (text_.substr(0, token.size()) != token) { return false; }
    if (is_word(token.back()) && text_.size() > token.size() && is_word(text_[token.size()])) { return false; }
    text_.remove_prefix(token.size());
    return true;
  }
  template <class T>
  static auto node(Expr a, Expr b) -> Expr { return a && b && match_types(a, b) ? Expr(make<T>(a, b)) : Expr(); }

  auto disjunction() -> Expr {
    Expr a = conjunction();
    while (a && take("or")) { a = node<Or>(a, conjunction()); }
    return a;
  }
  auto conjunction() -> Expr {
    Expr a = negation();
    while (a && take("and")) { a = node<And>(a, negation()); }
    return a;
  }
  auto negation() -> Expr {
    if (take("not")) {
      Expr a = negation();
      return a ? Expr(make<Not>(a)) : Expr();
    }
    return comparison();
  }
  auto comparison() -> Expr {
    Expr a = sum();
    if (!a) { return a; }
    if (take("==")) { return node<EQ>(a, sum()); }
    if (take("!=")) { return node<NE>(a, sum()); }
    if (take("<=")) { return node<LE>(a, sum()); }
    if (take(">=")) { return node<GE>(a, sum()); }
    if (take("<")) { return node<LT>(a, sum()); }
    if (take(">")) { return node<GT>(a, sum()); }
    return a;
  }
  auto sum() -> Expr {
    Expr a = product();
    while (a) {
      if (take("+")) { a = node<Add>(a, product()); }
      else if (take("-")) { a = node<Sub>(a, product()); }
      else { break; }
    }
    return a;
  }
  auto product() -> Expr {
    Expr a = atom();
    while (a) {
      if (take("//")) { a = node<FloorDiv>(a, atom()); }
      else if (take("*")) { a = node<Mul>(a, atom()); }
      else if (take("%")) { a = node<FloorMod>(a, atom()); }
      else { break; }
    }
    return a;
  }
  auto arguments() -> std::vector<Expr> {
    std::vector<Expr> out;
    if (!take("(")) { return out; }
    do { out.push_back(disjunction()); } while (out.back() && take(","));
    if (!out.back() || !take(")")) { out.clear(); }
    return out;
  }
  template <class T>
  auto call() -> Expr {
    auto args = arguments();
    return args.size() == 2 ? node<T>(args[0], args[1]) : Expr();
  }
  auto number() -> std::optional<int64_t> {
    skip();
    bool negative = take("-");
    skip();
    if (text_.empty() || std::isdigit(static_cast<unsigned char>(text_.front())) == 0) { return {}; }
    uint64_t value = 0;
    while (!text_.empty() && std::isdigit(static_cast<unsigned char>(text_.front())) != 0) {
      value = value * 10 + static_cast<uint64_t>(text_.front() - '0');
      text_.remove_prefix(1);
    }
    return static_cast<int64_t>(negative ? 0 - value : value);
  }
  auto atom() -> Expr {
    skip();
    if (take("(")) {
      Expr e = disjunction();
      return e && take(")") ? e : Expr();
    }
    if (take("T.int64")) {
      if (!take("(")) { return {}; }
      auto value = number();
      return value && take(")") ? int_imm(*value, DataType::int_(64)) : Expr();
    }
    if (take("T.bool")) {
      if (!take("(")) { return {}; }
      bool value = take("True");
      if (!value && !take("False")) { return {}; }
      return take(")") ? bool_imm(value) : Expr();
    }
    if (take("T.min")) { return call<Min>(); }
    if (take("T.max")) { return call<Max>(); }
    if (take("T.Div") || take("T.truncdiv")) { return call<Div>(); }
    if (take("T.truncmod")) { return call<Mod>(); }
    if (take("T.floordiv")) { return call<FloorDiv>(); }
    if (take("T.floormod")) { return call<FloorMod>(); }
    if (take("T.Add")) { return call<Add>(); }
    if (take("T.Sub")) { return call<Sub>(); }
    if (take("T.Mul")) { return call<Mul>(); }
    if (take("T.EQ")) { return call<EQ>(); }
    if (take("T.NE")) { return call<NE>(); }
    if (take("T.LT")) { return call<LT>(); }
    if (take("T.LE")) { return call<LE>(); }
    if (take("T.GT")) { return call<GT>(); }
    if (take("T.GE")) { return call<GE>(); }
    if (take("T.And")) { return call<And>(); }
    if (take("T.Or")) { return call<Or>(); }
    if (take("T.Not")) {
      auto args = arguments();
      return args.size() == 1 ? Expr(make<Not>(args[0])) : Expr();
    }
    if (take("T.Select")) {
      auto args = arguments();
      if (args.size() != 3 || !match_types(args[1], args[2])) { return {}; }
      return make<Select>(args[0], args[1], args[2]);
    }
    if (take("T.Cast")) {
      if (!take("(\"")) { return {}; }
      std::string_view name = text_.substr(0, text_.find('"'));
      auto dtype = DataType::parse(name);
      text_.remove_prefix(name.size() + 1);
      if (!dtype || !take(",")) { return {}; }
      Expr value = disjunction();
      return value && take(")") ? Expr(make<Cast>(*dtype, value)) : Expr();
    }
    if (auto value = number()) { return int_imm(*value); }
    size_t length = 0;
    while (length < text_.size() && is_word(text_[length])) { ++length; }
    auto it = scope_.find(text_.substr(0, length));
    if (length == 0 || it == scope_.end()) { return {}; }
    text_.remove_prefix(length);
    return it->second;
  }

  std::string_view text_;
  const Scope& scope_;
};

}  // namespace

auto read_expression(std::string_view text, const Scope& scope) -> Expr { return Reader(text, scope).read(); }

auto evaluate(const Expr& expr, const Values& values) -> std::optional<int64_t> {
  auto wrap = [&](int64_t v) -> int64_t {
    return expr.dtype().is_int() && expr.dtype().bits == 32 ? static_cast<int32_t>(static_cast<uint64_t>(v)) : v;
  };
  switch (expr.kind()) {
    case NodeKind::IntImm: return expr.as<IntImm>()->value;
    case NodeKind::VarNode: {
      auto it = values.find(expr.as<VarNode>());
      if (it == values.end()) { return {}; }
      return it->second;
    }
    case NodeKind::Cast: return evaluate(expr.as<Cast>()->value, values);
    case NodeKind::Not: {
      auto a = evaluate(expr.as<Not>()->a, values);
      if (!a) { return {}; }
      return *a == 0;
    }
    case NodeKind::Select: {
      const auto* n = expr.as<Select>();
      auto c = evaluate(n->condition, values), t = evaluate(n->true_value, values), f = evaluate(n->false_value, values);
      if (!c || !t || !f) { return {}; }
      return *c != 0 ? t : f;
    }
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      break;
    default: return {};
  }
  const auto& n = *static_cast<const BinaryNode*>(expr.get());
  auto a = evaluate(n.a, values), b = evaluate(n.b, values);
  if (!a || !b) { return {}; }
  auto unsigned_of = [](int64_t v) { return static_cast<uint64_t>(v); };
  auto floor_div = [](int64_t x, int64_t y) { return x / y - ((x % y != 0) && ((x < 0) != (y < 0)) ? 1 : 0); };
  switch (expr.kind()) {
    case NodeKind::Add: return wrap(static_cast<int64_t>(unsigned_of(*a) + unsigned_of(*b)));
    case NodeKind::Sub: return wrap(static_cast<int64_t>(unsigned_of(*a) - unsigned_of(*b)));
    case NodeKind::Mul: return wrap(static_cast<int64_t>(unsigned_of(*a) * unsigned_of(*b)));
    case NodeKind::Div: if (*b == 0) { return {}; } return *b == -1 ? wrap(-*a) : *a / *b;
    case NodeKind::Mod: if (*b == 0) { return {}; } return *b == -1 ? 0 : *a % *b;
    case NodeKind::FloorDiv: if (*b == 0) { return {}; } return *b == -1 ? wrap(-*a) : floor_div(*a, *b);
    case NodeKind::FloorMod: if (*b == 0) { return {}; } return *b == -1 ? 0 : *a - floor_div(*a, *b) * *b;
    case NodeKind::Min: return std::min(*a, *b);
    case NodeKind::Max: return std::max(*a, *b);
    case NodeKind::EQ: return *a == *b;
    case NodeKind::NE: return *a != *b;
    case NodeKind::LT: return *a < *b;
    case NodeKind::LE: return *a <= *b;
    case NodeKind::GT: return *a > *b;
    case NodeKind::GE: return *a >= *b;
    case NodeKind::And: return *a != 0 && *b != 0;
    case NodeKind::Or: return *a != 0 || *b != 0;
    default: return {};
  }
}

auto size_of(const Expr& expr) -> size_t {
  size_t count = 0;
  post_order(expr, [&](const Expr&) { ++count; });
  return count;
}

auto text_of(const Expr& expr) -> std::string { return print_debug(expr, 100000); }

}  // namespace loopsmith::oracle
