// Evaluation at all points of small domains: see space.h. The operators of ir/ir.h are implemented a second time on
// purpose: no code here comes from the tested room.
#include "space.h"

#include <algorithm>
#include <limits>

#include "ir/ops.h"

namespace loopsmith::fuzz {
namespace {

auto wrapped(DataType t, __int128 v) -> int64_t {
  if (t.is_bool()) { return v != 0; }
  auto low = static_cast<uint64_t>(v);
  if (t.bits >= 64) { return static_cast<int64_t>(low); }
  uint64_t mask = (uint64_t{1} << t.bits) - 1;
  low &= mask;
  if (t.is_int() && (low >> (t.bits - 1)) != 0) { low |= ~mask; }
  return static_cast<int64_t>(low);
}

auto is_index(DataType t) -> bool { return t.is_int() && t.bits >= 32; }

// Bits of `defined`: it has a value, and the value is known.
constexpr uint8_t known = 3, beyond = 1;

}  // namespace

Space::Space(std::vector<Domain> domains) : domains_(std::move(domains)) {
  for (const Domain& d : domains_) { size_ *= static_cast<size_t>(d.high - d.low); }
  columns_.resize(domains_.size());
  size_t repeat = 1;
  for (size_t i = 0; i < domains_.size(); ++i) {
    auto extent = static_cast<size_t>(domains_[i].high - domains_[i].low);
    for (size_t p = 0; p < size_; ++p) { columns_[i].push_back(domains_[i].low + static_cast<int64_t>(p / repeat % extent)); }
    repeat *= extent;
  }
}

auto Space::of(const Var& var) const -> const std::vector<int64_t>& {
  for (size_t i = 0; i < domains_.size(); ++i) { if (domains_[i].var.same_as(var)) { return columns_[i]; } }
  std::abort();
}

auto Space::point(size_t at) const -> std::string {
  std::string out;
  for (size_t i = 0; i < domains_.size(); ++i) {
    out += (i ? ", " : "") + std::string(domains_[i].var->name.view()) + " = " + std::to_string(columns_[i][at]);
  }
  return out;
}

auto Space::of_integers() const -> Space {
  Space out = *this;
  out.is_of_integers_ = true;
  return out;
}

auto Space::evaluate(const Expr& e, int lane) const -> Column {
  auto fill = [&](int64_t v, bool is_defined) { return Column{std::vector<int64_t>(size_, v), std::vector<uint8_t>(size_, is_defined ? known : 0)}; };
  // A value in the type: wraps around, or is undefined if signed index arithmetic overflows.
  auto settle = [&](DataType t, __int128 v, uint8_t& defined) -> int64_t {
    if (is_of_integers_ && is_index(t)) {
      if (v != static_cast<int64_t>(v)) { defined &= beyond; }
      return static_cast<int64_t>(v);
    }
    int64_t out = wrapped(t, v);
    if (is_index(t) && v != out) { defined = 0; }
    return out;
  };
  DataType t = e.dtype();
  switch (e.kind()) {
    case NodeKind::IntImm: return fill(e.as<IntImm>()->value, 1);
    case NodeKind::VarNode:
      for (size_t i = 0; i < domains_.size(); ++i) {
        if (domains_[i].var.get() == e.as<VarNode>()) { return {columns_[i], std::vector<uint8_t>(size_, known)}; }
      }
      return fill(0, 0);
    case NodeKind::Cast: {
      Column c = evaluate(e.as<Cast>()->value, lane);
      for (size_t p = 0; p < size_; ++p) { c.value[p] = settle(t, c.value[p], c.defined[p]); }
      return c;
    }
    case NodeKind::Not: {
      Column c = evaluate(e.as<Not>()->a, lane);
      for (size_t p = 0; p < size_; ++p) { c.value[p] = c.value[p] == 0; }
      return c;
    }
    case NodeKind::Broadcast: return evaluate(e.as<Broadcast>()->value, 0);
    case NodeKind::Ramp: {
      const auto* n = e.as<Ramp>();
      Column base = evaluate(n->base), stride = evaluate(n->stride);
      for (size_t p = 0; p < size_; ++p) {
        base.defined[p] &= stride.defined[p];
        base.value[p] = settle(t, base.value[p] + __int128(stride.value[p]) * lane, base.defined[p]);
      }
      return base;
    }
    case NodeKind::Select: {
      const auto* n = e.as<Select>();
      Column c = evaluate(n->condition, lane), a = evaluate(n->true_value, lane), b = evaluate(n->false_value, lane);
      for (size_t p = 0; p < size_; ++p) {
        if (c.value[p] == 0) { a.value[p] = b.value[p]; }
        a.defined[p] &= b.defined[p] & c.defined[p];
      }
      return a;
    }
    case NodeKind::Let: {
      // A substitution by columns: a space with one more variable, whose column is the value's column.
      const auto* n = e.as<Let>();
      Column value = evaluate(n->value, lane);
      Space inner = *this;
      inner.domains_.push_back({n->var, 0, 1});
      inner.columns_.push_back(value.value);
      Column body = inner.evaluate(n->body, lane);
      for (size_t p = 0; p < size_; ++p) { body.defined[p] &= value.defined[p]; }
      return body;
    }
    case NodeKind::Call: {
      const auto* n = e.as<Call>();
      if (n->op == "likely" && n->args.size() == 1) { return evaluate(n->args[0], lane); }
      if (n->op == "if_then_else" && n->args.size() == 3) {
        Column c = evaluate(n->args[0], lane), a = evaluate(n->args[1], lane), b = evaluate(n->args[2], lane);
        for (size_t p = 0; p < size_; ++p) {
          if (c.value[p] == 0) { a.value[p] = b.value[p]; a.defined[p] = b.defined[p]; }
          a.defined[p] &= c.defined[p];
        }
        return a;
      }
      if (n->args.size() != 2) { return fill(0, 0); }
      Column a = evaluate(n->args[0], lane), b = evaluate(n->args[1], lane);
      for (size_t p = 0; p < size_; ++p) {
        a.defined[p] &= b.defined[p];
        int64_t x = a.value[p], y = b.value[p];
        if (n->op == "shift_left" || n->op == "shift_right") {
          if (y < 0 || y >= t.bits) { a.defined[p] = 0; continue; }
          bool logical = n->op == "shift_right" && t.is_uint();
          if (n->op == "shift_left") { a.value[p] = settle(t, __int128(x) * (__int128(1) << y), a.defined[p]); }
          else { a.value[p] = logical ? static_cast<int64_t>(static_cast<uint64_t>(x) >> y) : x >> y; }
        } else if (n->op == "bitwise_and") { a.value[p] = x & y; }
        else if (n->op == "bitwise_or") { a.value[p] = x | y; }
        else if (n->op == "bitwise_xor") { a.value[p] = x ^ y; }
        else { a.defined[p] = 0; }
      }
      return a;
    }
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      break;
    default: return fill(0, 0);
  }
  const auto& n = *static_cast<const BinaryNode*>(e.get());
  Column a = evaluate(n.a, lane);
  Column b = evaluate(n.b, lane);
  bool large = n.a.dtype().is_uint() && n.a.dtype().bits == 64;   // held as int64: compared and divided as unsigned
  auto wide = [&](int64_t v) { return large ? __int128(static_cast<uint64_t>(v)) : __int128(v); };
  auto each = [&](auto f) {
    for (size_t p = 0; p < size_; ++p) {
      a.defined[p] &= b.defined[p];
      a.value[p] = f(wide(a.value[p]), wide(b.value[p]), a.defined[p]);
    }
  };
  using D = uint8_t&;
  auto floor = [](__int128 x, __int128 y) { __int128 q = x / y; return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q; };
  auto nonzero = [](__int128 y, D d) { if (y == 0) { d = 0; } return y != 0; };
  switch (e.kind()) {
    case NodeKind::Add: each([&](auto x, auto y, D d) { return settle(t, x + y, d); }); break;
    case NodeKind::Sub: each([&](auto x, auto y, D d) { return settle(t, x - y, d); }); break;
    case NodeKind::Mul: each([&](auto x, auto y, D d) { return settle(t, large ? __int128(static_cast<uint64_t>(x) * static_cast<uint64_t>(y)) : x * y, d); }); break;
    case NodeKind::Div: each([&](auto x, auto y, D d) { return nonzero(y, d) ? settle(t, x / y, d) : 0; }); break;
    case NodeKind::Mod: each([&](auto x, auto y, D d) { return nonzero(y, d) ? settle(t, x % y, d) : 0; }); break;
    case NodeKind::FloorDiv: each([&](auto x, auto y, D d) { return nonzero(y, d) ? settle(t, floor(x, y), d) : 0; }); break;
    case NodeKind::FloorMod: each([&](auto x, auto y, D d) { return nonzero(y, d) ? settle(t, x - floor(x, y) * y, d) : 0; }); break;
    case NodeKind::Min: each([&](auto x, auto y, D) { return static_cast<int64_t>(std::min(x, y)); }); break;
    case NodeKind::Max: each([&](auto x, auto y, D) { return static_cast<int64_t>(std::max(x, y)); }); break;
    case NodeKind::EQ: each([&](auto x, auto y, D) { return int64_t(x == y); }); break;
    case NodeKind::NE: each([&](auto x, auto y, D) { return int64_t(x != y); }); break;
    case NodeKind::LT: each([&](auto x, auto y, D) { return int64_t(x < y); }); break;
    case NodeKind::LE: each([&](auto x, auto y, D) { return int64_t(x <= y); }); break;
    case NodeKind::GT: each([&](auto x, auto y, D) { return int64_t(x > y); }); break;
    case NodeKind::GE: each([&](auto x, auto y, D) { return int64_t(x >= y); }); break;
    case NodeKind::And: each([&](auto x, auto y, D) { return int64_t(x != 0 && y != 0); }); break;
    case NodeKind::Or: each([&](auto x, auto y, D) { return int64_t(x != 0 || y != 0); }); break;
    default: return fill(0, 0);
  }
  return a;
}

}  // namespace loopsmith::fuzz
