// Operators on expressions, with constants folded and types matched as TVM does: see ops.h.
#include "ir/ops.h"

#include <cmath>
#include <limits>

#include "ir/reals.h"
#include "ir/wrapped.h"

namespace loopsmith {
namespace {

// Wraps a constant at its width.
auto wrap(DataType dtype, int64_t value) -> int64_t {
  if (dtype.bits >= 64) { return value; }
  if (dtype.is_bool()) { return value != 0; }
  uint64_t mask = (uint64_t{1} << dtype.bits) - 1;
  uint64_t low = static_cast<uint64_t>(value) & mask;
  if (dtype.is_int() && (low >> (dtype.bits - 1))) { low |= ~mask; }
  return static_cast<int64_t>(low);
}

// Rounds a folded float32 constant to float32, as TVM does.
auto round_real(DataType dtype, double value) -> double {
  return dtype.is_float() && dtype.bits == 32 ? static_cast<double>(static_cast<float>(value)) : value;
}

struct Pair { const IntImm* a; const IntImm* b; const FloatImm* fa; const FloatImm* fb; };
auto constants(const Expr& a, const Expr& b) -> Pair {
  return {a.as<IntImm>(), b.as<IntImm>(), a.as<FloatImm>(), b.as<FloatImm>()};
}

auto floor_div(int64_t a, int64_t b) -> int64_t {
  int64_t q = a / b;
  return (a % b != 0) && ((a < 0) != (b < 0)) ? q - 1 : q;
}
auto floor_mod(int64_t a, int64_t b) -> int64_t {
  int64_t r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}
// The result of an operation on constants, wrapped at its width.
auto folded(DataType t, __int128 exact, Origin origin) -> Expr {
  auto low = static_cast<int64_t>(static_cast<uint64_t>(static_cast<unsigned __int128>(exact)));
  if (t.is_int() && t.bits == 64 && low != exact) { note_wrapped(t, exact); }
  return int_imm(low, t, origin);
}
auto divides_safely(int64_t a, int64_t b) -> bool { return b != 0 && !(b == -1 && a == std::numeric_limits<int64_t>::min()); }


// Constants of uint64 are stored as int64.
auto is_uint64(DataType t) -> bool { return t.is_uint() && t.bits == 64; }
auto unsigned_of(int64_t v) -> uint64_t { return static_cast<uint64_t>(v); }
auto is_less(DataType t, int64_t a, int64_t b) -> bool { return is_uint64(t) ? unsigned_of(a) < unsigned_of(b) : a < b; }
// For uint64, where the direction of rounding has no effect. Precondition: b != 0.
auto divide_constants(DataType t, int64_t a, int64_t b, int64_t (*signed_division)(int64_t, int64_t)) -> int64_t {
  return is_uint64(t) ? static_cast<int64_t>(unsigned_of(a) / unsigned_of(b)) : signed_division(a, b);
}
auto remainder_of_constants(DataType t, int64_t a, int64_t b, int64_t (*signed_remainder)(int64_t, int64_t)) -> int64_t {
  return is_uint64(t) ? static_cast<int64_t>(unsigned_of(a) % unsigned_of(b)) : signed_remainder(a, b);
}

auto is_float_value(const FloatImm* imm, double value) -> bool { return imm && imm->value == value; }
auto is_int_value(const IntImm* imm, int64_t value) -> bool { return imm && imm->value == value; }

auto origin_or(Origin origin, const Expr& a) -> Origin { return origin.is_known() ? origin : a.origin(); }

template <class T>
auto compare(Expr a, Expr b, Origin origin, bool (*on_ints)(int64_t, int64_t), bool (*on_reals)(double, double)) -> Expr {
  (void)match_types(a, b);
  auto [ia, ib, fa, fb] = constants(a, b);
  if (ia && ib) {
    // Flipping the top bit maps the order of unsigned 64-bit constants to that of signed ones.
    constexpr int64_t top = std::numeric_limits<int64_t>::min();
    if (is_uint64(a.dtype())) { return bool_imm(on_ints(ia->value ^ top, ib->value ^ top), origin); }
    return bool_imm(on_ints(ia->value, ib->value), origin);
  }
  if (fa && fb) { return bool_imm(on_reals(fa->value, fb->value), origin); }
  return make<T>(std::move(a), std::move(b), origin);
}

}  // namespace

auto int_imm(int64_t value, DataType dtype, Origin origin) -> Expr {
  const int64_t kept = wrap(dtype, value);
  if (kept != value && dtype.is_int() && dtype.bits == 32) { note_wrapped(dtype, value); }
  return make<IntImm>(dtype, kept, origin);
}
auto float_imm(double value, DataType dtype, Origin origin) -> Expr { return make<FloatImm>(dtype, value, origin); }
auto bool_imm(bool value, Origin origin) -> Expr { return make<IntImm>(DataType::bool_(), value ? 1 : 0, origin); }
auto constant(DataType dtype, double value, Origin origin) -> Expr {
  Expr scalar = dtype.is_real() ? float_imm(value, dtype.element(), origin)
                                : int_imm(static_cast<int64_t>(value), dtype.element(), origin);
  if (!dtype.is_vector()) { return scalar; }
  return make<Broadcast>(std::move(scalar), int_imm(dtype.lanes), origin);
}
auto constant_int(DataType dtype, int64_t value, Origin origin) -> Expr {
  if (dtype.is_real()) { return constant(dtype, static_cast<double>(value), origin); }
  Expr scalar = int_imm(value, dtype.element(), origin);
  if (!dtype.is_vector()) { return scalar; }
  return make<Broadcast>(std::move(scalar), int_imm(dtype.lanes), origin);
}

auto min_value(DataType t) -> Expr {
  if (t.is_uint()) { return constant_int(t, 0); }
  if (t.is_int()) { return constant_int(t, t.bits >= 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (t.bits - 1))); }
  if (t.is_float() && t.bits == 64) { return constant(t, std::numeric_limits<double>::lowest()); }
  if (t.is_float() && t.bits == 32) { return constant(t, std::numeric_limits<float>::lowest()); }
  if (t.is_float() && t.bits == 16) { return constant(t, -65504.0); }
  if (t.is_bfloat16()) { return constant(t, -3.38953139e38); }
  if (t.code == TypeCode::Float8E8M0FNU) { return constant(t, from_bits(t, 0)); }
  return constant(t, -from_bits(t, real_format(t).largest()));
}
auto max_value(DataType t) -> Expr {
  if (t.is_bool()) { return constant_int(t, 1); }
  if (t.is_uint()) { return constant_int(t, t.bits >= 64 ? -1 : (int64_t{1} << t.bits) - 1); }
  if (t.is_int()) { return constant_int(t, t.bits >= 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (t.bits - 1)) - 1); }
  if (t.is_float() && t.bits == 64) { return constant(t, std::numeric_limits<double>::max()); }
  if (t.is_float() && t.bits == 32) { return constant(t, std::numeric_limits<float>::max()); }
  if (t.is_float() && t.bits == 16) { return constant(t, 65504.0); }
  if (t.is_bfloat16()) { return constant(t, 3.38953139e38); }
  if (t.code == TypeCode::Float8E8M0FNU) { return constant(t, from_bits(t, 254)); }
  return constant(t, from_bits(t, real_format(t).largest()));
}

auto as_int(const Expr& expr) -> std::optional<int64_t> {
  if (!expr) { return {}; }
  if (const auto* imm = expr.as<IntImm>()) { return imm->value; }
  if (const auto* broadcast = expr.as<Broadcast>()) { return as_int(broadcast->value); }
  return {};
}

auto match_types(Expr& a, Expr& b) -> bool {
  if (a.dtype() == b.dtype()) { return !a.dtype().is_void(); }
  DataType ta = a.dtype();
  DataType tb = b.dtype();
  auto lanes_of = [](DataType t) -> Expr {
    if (!t.scalable) { return int_imm(t.lanes); }
    return make<Mul>(Expr(make<Call>(DataType::int_(32), Name("vscale"), Array<Expr>{})), int_imm(t.lanes));
  };
  if (ta.is_vector() && tb.is_scalar()) { b = make<Broadcast>(b, lanes_of(ta), b.origin()); }
  else if (ta.is_scalar() && tb.is_vector()) { a = make<Broadcast>(a, lanes_of(tb), a.origin()); }
  ta = a.dtype();
  tb = b.dtype();
  if (ta.lanes != tb.lanes || ta.scalable != tb.scalable) { return false; }
  if (ta == tb) { return true; }
  if (ta.is_handle() || tb.is_handle() || ta.is_void() || tb.is_void()) { return false; }
  if (ta.is_float() && tb.is_float()) {
    if (ta.bits < tb.bits) { a = cast(tb, a); } else { b = cast(ta, b); }
  } else if (!ta.is_float() && tb.is_real()) {
    a = cast(tb, a);
  } else if (ta.is_real() && !tb.is_float()) {
    b = cast(ta, b);
  } else if (ta.is_real()) {
    a = cast(tb, a);
  } else if (ta.code == tb.code) {
    if (ta.bits < tb.bits) { a = cast(tb, a); } else { b = cast(ta, b); }
  } else if (ta.bits < tb.bits) {
    a = cast(tb, a);
  } else if (ta.bits > tb.bits) {
    b = cast(ta, b);
  } else if (ta.is_uint()) {
    b = cast(ta, b);
  } else {
    a = cast(tb, a);
  }
  return true;
}

auto cast(DataType dtype, Expr value, Origin origin) -> Expr {
  DataType from = value.dtype();
  if (from == dtype) { return value; }
  origin = origin_or(origin, value);
  if (dtype.is_scalar()) {
    if (const auto* imm = value.as<IntImm>()) {
      if (dtype.is_bool()) { return bool_imm(imm->value != 0, origin); }
      if (dtype.is_integral()) { return int_imm(imm->value, dtype, origin); }
      if (dtype.is_real()) {
        double real = from.is_uint() ? static_cast<double>(static_cast<uint64_t>(imm->value)) : static_cast<double>(imm->value);
        return float_imm(round_real(dtype, real), dtype, origin);
      }
    }
    if (const auto* imm = value.as<FloatImm>()) {
      if (dtype.is_real()) { return float_imm(round_real(dtype, imm->value), dtype, origin); }
      if (dtype.is_integral() && !dtype.is_bool() && std::abs(imm->value) < 9.2e18) {
        return int_imm(static_cast<int64_t>(imm->value), dtype, origin);
      }
    }
  }
  if (dtype.is_vector() && from.is_scalar()) {
    Expr element = cast(dtype.element(), value, origin);
    return make<Broadcast>(std::move(element), int_imm(dtype.lanes), origin);
  }
  if (const auto* broadcast = value.as<Broadcast>(); broadcast && dtype.lanes == from.lanes && !dtype.scalable && !from.scalable) {
    return make<Broadcast>(cast(dtype.element(), broadcast->value, origin), broadcast->lanes, origin);
  }
  if (const auto* ramp = value.as<Ramp>(); ramp && dtype.is_integral() && !dtype.is_bool() && dtype.lanes == from.lanes && dtype.scalable == from.scalable) {
    return make<Ramp>(cast(dtype.element(), ramp->base, origin), cast(dtype.element(), ramp->stride, origin), ramp->lanes, origin);
  }
  return make<Cast>(dtype, std::move(value), origin);
}

auto add(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  auto [ia, ib, fa, fb] = constants(a, b);
  DataType t = a.dtype();
  if (ia && ib) { return folded(t, __int128{ia->value} + ib->value, origin); }
  if (is_int_value(ia, 0)) { return b; }
  if (is_int_value(ib, 0)) { return a; }
  if (fa && fb) { return float_imm(round_real(t, fa->value + fb->value), t, origin); }
  if (is_float_value(fa, 0)) { return b; }
  if (is_float_value(fb, 0)) { return a; }
  return make<Add>(std::move(a), std::move(b), origin);
}
auto sub(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  auto [ia, ib, fa, fb] = constants(a, b);
  DataType t = a.dtype();
  if (ia && ib) { return folded(t, __int128{ia->value} - ib->value, origin); }
  if (is_int_value(ib, 0)) { return a; }
  if (fa && fb) { return float_imm(round_real(t, fa->value - fb->value), t, origin); }
  if (is_float_value(fb, 0)) { return a; }
  return make<Sub>(std::move(a), std::move(b), origin);
}
auto mul(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  auto [ia, ib, fa, fb] = constants(a, b);
  DataType t = a.dtype();
  if (ia && ib) { return folded(t, __int128{ia->value} * ib->value, origin); }
  if (is_int_value(ia, 1)) { return b; }
  if (is_int_value(ia, 0)) { return a; }
  if (is_int_value(ib, 1)) { return a; }
  if (is_int_value(ib, 0)) { return b; }
  if (fa && fb) { return float_imm(round_real(t, fa->value * fb->value), t, origin); }
  if (is_float_value(fa, 1)) { return b; }
  if (is_float_value(fa, 0)) { return a; }
  if (is_float_value(fb, 1)) { return a; }
  if (is_float_value(fb, 0)) { return b; }
  return make<Mul>(std::move(a), std::move(b), origin);
}
auto div(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  auto [ia, ib, fa, fb] = constants(a, b);
  DataType t = a.dtype();
  if (ia && ib && divides_safely(ia->value, ib->value)) {
    return int_imm(divide_constants(t, ia->value, ib->value, [](int64_t x, int64_t y) { return x / y; }), t, origin);
  }
  if (is_int_value(ia, 0)) { return a; }
  if (is_int_value(ib, 1)) { return a; }
  if (fa && fb && fb->value != 0) { return float_imm(round_real(t, fa->value / fb->value), t, origin); }
  if (is_float_value(fa, 0)) { return a; }
  if (is_float_value(fb, 1)) { return a; }
  return make<Div>(std::move(a), std::move(b), origin);
}
auto truncmod(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  auto [ia, ib, fa, fb] = constants(a, b);
  if (ia && ib && divides_safely(ia->value, ib->value)) { return int_imm(remainder_of_constants(a.dtype(), ia->value, ib->value, [](int64_t x, int64_t y) { return x % y; }), a.dtype(), origin); }
  if (is_int_value(ia, 0)) { return a; }
  if (is_int_value(ib, 1)) { return zero(a.dtype()); }
  return make<Mod>(std::move(a), std::move(b), origin);
}
auto floordiv(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  auto [ia, ib, fa, fb] = constants(a, b);
  if (ia && ib && divides_safely(ia->value, ib->value)) { return int_imm(divide_constants(a.dtype(), ia->value, ib->value, floor_div), a.dtype(), origin); }
  if (is_int_value(ia, 0)) { return a; }
  if (is_int_value(ib, 1)) { return a; }
  return make<FloorDiv>(std::move(a), std::move(b), origin);
}
auto floormod(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  auto [ia, ib, fa, fb] = constants(a, b);
  if (ia && ib && divides_safely(ia->value, ib->value)) { return int_imm(remainder_of_constants(a.dtype(), ia->value, ib->value, floor_mod), a.dtype(), origin); }
  if (is_int_value(ia, 0)) { return a; }
  if (is_int_value(ib, 1)) { return zero(a.dtype()); }
  return make<FloorMod>(std::move(a), std::move(b), origin);
}
auto ceildiv(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  Expr less_one = sub(b, one(b.dtype()));
  return floordiv(add(std::move(a), std::move(less_one), origin), std::move(b), origin);
}
auto min(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  auto [ia, ib, fa, fb] = constants(a, b);
  if (ia && ib) { return is_less(a.dtype(), ia->value, ib->value) ? a : b; }
  if (fa && fb) { return fa->value < fb->value ? a : b; }
  if (a.same_as(b)) { return a; }
  return make<Min>(std::move(a), std::move(b), origin);
}
auto max(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  auto [ia, ib, fa, fb] = constants(a, b);
  if (ia && ib) { return is_less(a.dtype(), ib->value, ia->value) ? a : b; }
  if (fa && fb) { return fa->value > fb->value ? a : b; }
  if (a.same_as(b)) { return a; }
  return make<Max>(std::move(a), std::move(b), origin);
}

auto equal(Expr a, Expr b, Origin o) -> Expr {
  return compare<EQ>(std::move(a), std::move(b), o, [](int64_t x, int64_t y) { return x == y; }, [](double x, double y) { return x == y; });
}
auto not_equal(Expr a, Expr b, Origin o) -> Expr {
  return compare<NE>(std::move(a), std::move(b), o, [](int64_t x, int64_t y) { return x != y; }, [](double x, double y) { return x != y; });
}
auto less(Expr a, Expr b, Origin o) -> Expr {
  return compare<LT>(std::move(a), std::move(b), o, [](int64_t x, int64_t y) { return x < y; }, [](double x, double y) { return x < y; });
}
auto less_equal(Expr a, Expr b, Origin o) -> Expr {
  return compare<LE>(std::move(a), std::move(b), o, [](int64_t x, int64_t y) { return x <= y; }, [](double x, double y) { return x <= y; });
}
auto greater(Expr a, Expr b, Origin o) -> Expr {
  return compare<GT>(std::move(a), std::move(b), o, [](int64_t x, int64_t y) { return x > y; }, [](double x, double y) { return x > y; });
}
auto greater_equal(Expr a, Expr b, Origin o) -> Expr {
  return compare<GE>(std::move(a), std::move(b), o, [](int64_t x, int64_t y) { return x >= y; }, [](double x, double y) { return x >= y; });
}

auto logical_and(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  const auto* ia = a.as<IntImm>();
  const auto* ib = b.as<IntImm>();
  if (ia) { return ia->value ? b : a; }
  if (ib) { return ib->value ? a : b; }
  return make<And>(std::move(a), std::move(b), origin);
}
auto logical_or(Expr a, Expr b, Origin origin) -> Expr {
  (void)match_types(a, b);
  const auto* ia = a.as<IntImm>();
  const auto* ib = b.as<IntImm>();
  if (ia) { return ia->value ? a : b; }
  if (ib) { return ib->value ? b : a; }
  return make<Or>(std::move(a), std::move(b), origin);
}
auto logical_not(Expr a, Origin origin) -> Expr {
  if (const auto* imm = a.as<IntImm>()) { return bool_imm(imm->value == 0, origin); }
  return make<Not>(std::move(a), origin);
}
auto select(Expr condition, Expr t, Expr f, Origin origin) -> Expr {
  (void)match_types(t, f);
  if (const auto* imm = condition.as<IntImm>()) { return imm->value ? t : f; }
  return make<Select>(std::move(condition), std::move(t), std::move(f), origin);
}
auto if_then_else(Expr condition, Expr t, Expr f, Origin origin) -> Expr {
  (void)match_types(t, f);
  if (const auto* imm = condition.as<IntImm>()) { return imm->value ? t : f; }
  DataType dtype = t.dtype();
  return make<Call>(dtype, Name("if_then_else"), Array<Expr>{std::move(condition), std::move(t), std::move(f)}, origin);
}

auto seq(std::vector<Stmt> stmts, Origin origin) -> Stmt {
  std::vector<Stmt> flat;
  flat.reserve(stmts.size());
  for (Stmt& stmt : stmts) {
    if (!stmt || is_no_op(stmt)) { continue; }
    if (const auto* inner = stmt.as<SeqStmt>()) {
      flat.insert(flat.end(), inner->seq.begin(), inner->seq.end());
    } else {
      flat.push_back(std::move(stmt));
    }
  }
  if (flat.empty()) { return no_op(); }
  if (flat.size() == 1) { return flat.front(); }
  return make<SeqStmt>(Sequence<Stmt>(std::move(flat)), origin);
}
auto no_op() -> Stmt { return make<Evaluate>(int_imm(0)); }
auto is_no_op(const Stmt& stmt) -> bool {
  const auto* evaluate = stmt.as<Evaluate>();
  return evaluate && evaluate->value.as<IntImm>();
}

auto point(Expr index) -> Range {
  Expr extent = one(index.dtype().element());
  return {std::move(index), std::move(extent)};
}
auto from_zero(Expr extent) -> Range {
  Expr start = zero(extent.dtype());
  return {std::move(start), std::move(extent)};
}
auto full_region(const Buffer& buffer) -> BufferRegion {
  std::vector<Range> region;
  for (const Expr& extent : buffer->shape) { region.push_back(from_zero(extent)); }
  return {buffer, std::move(region), buffer->origin};
}

}  // namespace loopsmith
