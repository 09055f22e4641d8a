// Operators of wide integers: see wide_int.h.
#include "eval/wide_int.h"

#include <limits>

namespace loopsmith::eval {

const TypeTag WideInt::type_tag{"int"};

namespace {

__extension__ using Int128 = __int128;

auto to_wide(const Value& v) -> std::optional<Int128> {
  if (const auto* w = v.as<WideInt>()) { return static_cast<Int128>(w->bits); }
  if (auto i = v.to_int()) { return static_cast<Int128>(*i); }
  return {};
}
auto from_wide(Int128 x) -> std::optional<Value> {
  if (x >= std::numeric_limits<int64_t>::min() && x <= std::numeric_limits<int64_t>::max()) { return Value(static_cast<int64_t>(x)); }
  if (x > 0 && x <= static_cast<Int128>(std::numeric_limits<uint64_t>::max())) { return Value(make_object<WideInt>(static_cast<uint64_t>(x))); }
  return {};
}
auto floor_div(Int128 a, Int128 b) -> Int128 {
  Int128 q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

}  // namespace

auto WideInt::binary(Evaluator&, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin) const
    -> std::optional<Value> {
  auto a = to_wide(reflected ? other.value : self.value);
  auto b = to_wide(reflected ? self.value : other.value);
  if (!a || !b) { return {}; }
  Int128 out = 0;
  switch (op) {
    case syntax::BinaryOp::Add: out = *a + *b; break;
    case syntax::BinaryOp::Sub: out = *a - *b; break;
    case syntax::BinaryOp::Mul:
      if (__builtin_mul_overflow(*a, *b, &out)) { return {}; }
      break;
    case syntax::BinaryOp::FloorDiv: case syntax::BinaryOp::Mod: {
      if (*b == 0) { return {}; }
      Int128 q = floor_div(*a, *b);
      out = op == syntax::BinaryOp::FloorDiv ? q : *a - q * *b;
      break;
    }
    case syntax::BinaryOp::BitAnd: out = *a & *b; break;
    case syntax::BinaryOp::BitOr: out = *a | *b; break;
    case syntax::BinaryOp::BitXor: out = *a ^ *b; break;
    case syntax::BinaryOp::ShiftRight:
      if (*b < 0) { return {}; }
      out = *b > 126 ? (*a < 0 ? -1 : 0) : *a >> static_cast<int>(*b);
      break;
    case syntax::BinaryOp::ShiftLeft: case syntax::BinaryOp::Div: case syntax::BinaryOp::Pow: case syntax::BinaryOp::MatMul: return {};
  }
  return from_wide(out);
}

auto WideInt::compare(Evaluator&, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin) const
    -> std::optional<Value> {
  auto a = to_wide(reflected ? other.value : self.value);
  auto b = to_wide(reflected ? self.value : other.value);
  if (!a || !b) { return {}; }
  switch (op) {
    case syntax::CompareOp::Eq: return Value(*a == *b);
    case syntax::CompareOp::Ne: return Value(*a != *b);
    case syntax::CompareOp::Lt: return Value(*a < *b);
    case syntax::CompareOp::Le: return Value(*a <= *b);
    case syntax::CompareOp::Gt: return Value(*a > *b);
    case syntax::CompareOp::Ge: return Value(*a >= *b);
    default: return {};
  }
}

auto WideInt::equals(const Object& other) const -> bool {
  const auto* o = other.as<WideInt>();
  return o && o->bits == bits;
}

auto wide_literal(std::string_view text) -> std::optional<uint64_t> {
  unsigned base = 10;
  if (text.size() > 2 && text[0] == '0') {
    char c = static_cast<char>(text[1] | 0x20);
    base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
    if (base != 10) { text.remove_prefix(2); }
  }
  uint64_t out = 0;
  for (char c : text) {
    if (c == '_') { continue; }
    char lower = static_cast<char>(c | 0x20);
    unsigned digit = c >= '0' && c <= '9' ? static_cast<unsigned>(c - '0') : lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a' + 10) : 99;
    if (digit >= base || __builtin_mul_overflow(out, uint64_t{base}, &out) || __builtin_add_overflow(out, uint64_t{digit}, &out)) { return {}; }
  }
  if (out <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) { return {}; }
  return out;
}

}  // namespace loopsmith::eval
