// Closures for expressions: arithmetic in the program's own types, wrapped or rounded to their width after each operation.
// Vectors are evaluated lane by lane: `Frame::lane` is the number of the lane.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "interp/frame.h"
#include "interp/instructions.h"
#include "interp/intrinsics.h"

namespace loopsmith::interp {

struct IntConst final : IntExpr {
  int64_t value;
  explicit IntConst(int64_t v) : value(v) {
    plain = Plain::Constant;
    plain_value = v;
  }
  auto eval(Frame&) const -> int64_t override { return value; }
};
struct RealConst final : RealExpr {
  double value;
  explicit RealConst(double v) : value(v) {}
  auto eval(Frame&) const -> double override { return value; }
};
template <class Base, bool vector>
struct VarRef final : Base {
  uint32_t slot;
  explicit VarRef(uint32_t s) : slot(s) {
    if constexpr (std::is_same_v<Base, IntExpr> && !vector) {
      this->plain = IntExpr::Plain::Slot;
      this->plain_value = s;
    }
  }
  auto eval(Frame& f) const -> decltype(std::declval<Base&>().eval(f)) override {
    const Slot& s = f.slots[slot + (vector ? static_cast<uint32_t>(f.lane) : 0)];
    if constexpr (std::is_same_v<Base, IntExpr>) { return s.i; } else { return s.f; }
  }
};

// The wrapping of integer results to their width.
enum class Width : uint8_t { W64, W32, Any };
inline auto width_of(DataType t) -> Width { return t.bits == 64 ? Width::W64 : t.bits == 32 && t.is_int() ? Width::W32 : Width::Any; }

template <class F, Width width>
struct IntBinary final : IntExpr {
  const IntExpr* a;
  const IntExpr* b;
  DataType type;
  IntBinary(const IntExpr* x, const IntExpr* y, DataType t) : a(x), b(y), type(t) {}
  auto eval(Frame& f) const -> int64_t override {
    int64_t x = value_of(*a, f);
    int64_t v = F::apply(x, value_of(*b, f));
    if constexpr (width == Width::W64) { return v; }
    if constexpr (width == Width::W32) { return static_cast<int32_t>(v); }
    return wrap_to(type, v);
  }
};
template <class F>
struct IntDivision final : IntExpr {
  const IntExpr* a;
  const IntExpr* b;
  DataType type;
  Origin origin;
  IntDivision(const IntExpr* x, const IntExpr* y, DataType t, Origin o) : a(x), b(y), type(t), origin(o) {}
  auto eval(Frame& f) const -> int64_t override {
    int64_t x = value_of(*a, f);
    int64_t y = value_of(*b, f);
    if (y == 0) {
      if (!f.failed) { f.fail(error(loopsmith::Code::InterpDivision, origin).arg("iteration", f.iteration())); }
      return 0;
    }
    if (type.is_uint() && type.bits == 64) { return F::apply_unsigned(static_cast<uint64_t>(x), static_cast<uint64_t>(y)); }
    if (y == -1) { return F::remainder ? 0 : wrap_to(type, static_cast<int64_t>(0 - static_cast<uint64_t>(x))); }
    return wrap_to(type, F::apply(x, y));
  }
};
template <class F>
struct RealCompare final : IntExpr {
  const RealExpr* a;
  const RealExpr* b;
  RealCompare(const RealExpr* x, const RealExpr* y) : a(x), b(y) {}
  auto eval(Frame& f) const -> int64_t override { return F::apply(a->eval(f), b->eval(f)); }
};

enum class Round : uint8_t { F64, F32, Any };
inline auto round_of(DataType t) -> Round {
  if (!t.is_float()) { return Round::Any; }
  return t.bits == 64 ? Round::F64 : t.bits == 32 ? Round::F32 : Round::Any;
}
template <class F, Round round>
struct RealBinary final : RealExpr {
  const RealExpr* a;
  const RealExpr* b;
  DataType type;
  RealBinary(const RealExpr* x, const RealExpr* y, DataType t) : a(x), b(y), type(t) {}
  auto eval(Frame& f) const -> double override {
    double v = F::apply(a->eval(f), b->eval(f));
    if constexpr (round == Round::F64) { return v; }
    if constexpr (round == Round::F32) { return static_cast<float>(v); }
    return round_to(type, v);
  }
};

// Wrapping arithmetic uses unsigned integers.
struct AddOp {
  static auto apply(int64_t a, int64_t b) -> int64_t { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
  static auto apply(double a, double b) -> double { return a + b; }
};
struct SubOp {
  static auto apply(int64_t a, int64_t b) -> int64_t { return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
  static auto apply(double a, double b) -> double { return a - b; }
};
struct MulOp {
  static auto apply(int64_t a, int64_t b) -> int64_t { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
  static auto apply(double a, double b) -> double { return a * b; }
};
struct DivOp {
  static constexpr bool remainder = false;
  static auto apply(int64_t a, int64_t b) -> int64_t { return a / b; }
  static auto apply_unsigned(uint64_t a, uint64_t b) -> int64_t { return static_cast<int64_t>(a / b); }
  static auto apply(double a, double b) -> double { return a / b; }
};
struct ModOp {
  static constexpr bool remainder = true;
  static auto apply(int64_t a, int64_t b) -> int64_t { return a % b; }
  static auto apply_unsigned(uint64_t a, uint64_t b) -> int64_t { return static_cast<int64_t>(a % b); }
  static auto apply(double a, double b) -> double { return std::fmod(a, b); }
};
struct FloorDivOp {
  static constexpr bool remainder = false;
  static auto apply(int64_t a, int64_t b) -> int64_t { int64_t q = a / b; return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q; }
  static auto apply_unsigned(uint64_t a, uint64_t b) -> int64_t { return static_cast<int64_t>(a / b); }
  static auto apply(double a, double b) -> double { return std::floor(a / b); }
};
struct FloorModOp {
  static constexpr bool remainder = true;
  static auto apply(int64_t a, int64_t b) -> int64_t { int64_t r = a % b; return r != 0 && ((r < 0) != (b < 0)) ? r + b : r; }
  static auto apply_unsigned(uint64_t a, uint64_t b) -> int64_t { return static_cast<int64_t>(a % b); }
  static auto apply(double a, double b) -> double { return a - b * std::floor(a / b); }
};
struct MinOp {
  static auto apply(int64_t a, int64_t b) -> int64_t { return a < b ? a : b; }
  static auto apply(double a, double b) -> double { return a < b ? a : b; }
};
struct MaxOp {
  static auto apply(int64_t a, int64_t b) -> int64_t { return a > b ? a : b; }
  static auto apply(double a, double b) -> double { return a > b ? a : b; }
};
template <bool take_max>
struct UnsignedPick {
  static auto apply(int64_t a, int64_t b) -> int64_t { return (static_cast<uint64_t>(a) > static_cast<uint64_t>(b)) == take_max ? a : b; }
};
#define COMPARISON(Name, op)                                                              \
  struct Name {                                                                           \
    static auto apply(int64_t a, int64_t b) -> int64_t { return a op b; }                 \
    static auto apply(double a, double b) -> int64_t { return a op b; }                   \
  };                                                                                      \
  struct Unsigned##Name {                                                                 \
    static auto apply(int64_t a, int64_t b) -> int64_t { return static_cast<uint64_t>(a) op static_cast<uint64_t>(b); } \
  };
COMPARISON(EqOp, ==)
COMPARISON(NeOp, !=)
COMPARISON(LtOp, <)
COMPARISON(LeOp, <=)
COMPARISON(GtOp, >)
COMPARISON(GeOp, >=)
#undef COMPARISON
struct AndOp { static auto apply(int64_t a, int64_t b) -> int64_t { return a & b; } };
struct OrOp { static auto apply(int64_t a, int64_t b) -> int64_t { return a | b; } };

struct NotExpr final : IntExpr {
  const IntExpr* a;
  explicit NotExpr(const IntExpr* x) : a(x) {}
  auto eval(Frame& f) const -> int64_t override { return a->eval(f) == 0; }
};
template <class Base, bool both>
struct Choose final : Base {
  const IntExpr* condition;
  const Base* t;
  const Base* e;
  uint32_t t_counter, e_counter;   // counters of the two values, of which only the selected one is evaluated
  Choose(const IntExpr* c, const Base* x, const Base* y, uint32_t tc = 0, uint32_t ec = 0) : condition(c), t(x), e(y), t_counter(tc), e_counter(ec) {}
  auto eval(Frame& f) const -> decltype(std::declval<Base&>().eval(f)) override {
    if constexpr (both) {
      auto c = condition->eval(f);
      auto x = t->eval(f);
      auto y = e->eval(f);
      return c ? x : y;
    }
    bool yes = condition->eval(f) != 0;
    ++f.counts[yes ? t_counter : e_counter];
    return yes ? t->eval(f) : e->eval(f);
  }
};
struct RampExpr final : IntExpr {
  const IntExpr* base;
  const IntExpr* stride;
  DataType type;
  RampExpr(const IntExpr* b, const IntExpr* s, DataType t) : base(b), stride(s), type(t) {}
  auto eval(Frame& f) const -> int64_t override {
    int lane = f.lane;
    f.lane = 0;
    int64_t v = base->eval(f) + lane * stride->eval(f);
    f.lane = lane;
    return wrap_to(type, v);
  }
};
template <class Base>
struct LaneOf final : Base {   // Shuffle: lane l is element index[l] of the vectors side by side
  std::vector<std::pair<const Base*, int>> lanes;   // an expression and its lane
  explicit LaneOf(std::vector<std::pair<const Base*, int>> l) : lanes(std::move(l)) {}
  auto eval(Frame& f) const -> decltype(std::declval<Base&>().eval(f)) override {
    int lane = f.lane;
    auto [expr, inner] = lanes[static_cast<size_t>(lane) % lanes.size()];
    f.lane = inner;
    auto v = expr->eval(f);
    f.lane = lane;
    return v;
  }
};
template <class Base>
struct LetExpr final : Base {
  uint32_t slot;
  const IntExpr* int_value;
  const RealExpr* real_value;
  const Base* body;
  LetExpr(uint32_t s, const IntExpr* i, const RealExpr* r, const Base* b) : slot(s), int_value(i), real_value(r), body(b) {}
  auto eval(Frame& f) const -> decltype(std::declval<Base&>().eval(f)) override {
    if (int_value) { f.slots[slot].i = int_value->eval(f); } else { f.slots[slot].f = real_value->eval(f); }
    return body->eval(f);
  }
};
/// A reduction in an expression: a combiner joins the values of all points of the axes at which the condition holds.
struct Fold {
  struct Axis { uint32_t slot; const IntExpr* min; const IntExpr* extent; };
  std::vector<Axis> axes;
  std::vector<uint32_t> lhs, rhs;            // the combiner's variables
  std::vector<Code> start, source, result;
  const IntExpr* condition = nullptr;
  size_t wanted = 0;
  [[nodiscard]] auto run(Frame& f) const -> Slot {
    int lane = f.lane;
    f.lane = 0;
    std::vector<Slot> next(start.size());
    for (size_t i = 0; i < start.size(); ++i) { next[i] = value(start[i], f); }
    for (size_t i = 0; i < start.size(); ++i) { f.slots[lhs[i]] = next[i]; }
    // A nested reduction may use the same axis: its value is restored afterwards.
    std::vector<Slot> outer;
    for (const Axis& axis : axes) { outer.push_back(f.slots[axis.slot]); }
    step(0, next, f);
    for (size_t i = 0; i < axes.size(); ++i) { f.slots[axes[i].slot] = outer[i]; }
    f.lane = lane;
    return f.slots[lhs[wanted]];
  }

 private:
  static auto value(const Code& c, Frame& f) -> Slot {
    Slot s{};
    if (c.i) { s.i = c.i->eval(f); } else { s.f = c.f->eval(f); }
    return s;
  }
  void step(size_t axis, std::vector<Slot>& next, Frame& f) const {
    if (axis < axes.size()) {
      int64_t begin = axes[axis].min->eval(f);
      int64_t count = axes[axis].extent->eval(f);
      for (int64_t i = 0; i < count && !f.failed; ++i) {
        f.slots[axes[axis].slot].i = static_cast<int64_t>(static_cast<uint64_t>(begin) + static_cast<uint64_t>(i));
        // Inner axes may be empty: these iterations count as steps as well.
        if (axis + 1 < axes.size() && ++f.steps >= f.next_check) { f.check_limits(); }
        step(axis + 1, next, f);
      }
      return;
    }
    if (++f.steps >= f.next_check) { f.check_limits(); }
    if (f.failed || condition->eval(f) == 0) { return; }
    for (size_t i = 0; i < source.size(); ++i) { next[i] = value(source[i], f); }
    for (size_t i = 0; i < source.size(); ++i) { f.slots[rhs[i]] = next[i]; }
    for (size_t i = 0; i < source.size(); ++i) { next[i] = value(result[i], f); }
    for (size_t i = 0; i < source.size(); ++i) { f.slots[lhs[i]] = next[i]; }
  }
};
struct FoldInt final : IntExpr {
  Fold fold;
  auto eval(Frame& f) const -> int64_t override { return fold.run(f).i; }
};
struct FoldReal final : RealExpr {
  Fold fold;
  auto eval(Frame& f) const -> double override { return fold.run(f).f; }
};

struct IntToInt final : IntExpr {
  const IntExpr* a;
  DataType to;
  IntToInt(const IntExpr* x, DataType t) : a(x), to(t) {}
  auto eval(Frame& f) const -> int64_t override {
    int64_t v = a->eval(f);
    return to.is_bool() ? v != 0 : wrap_to(to, v);
  }
};
struct RealToInt final : IntExpr {
  const RealExpr* a;
  DataType to;
  RealToInt(const RealExpr* x, DataType t) : a(x), to(t) {}
  auto eval(Frame& f) const -> int64_t override {
    double v = a->eval(f);
    if (to.is_bool()) { return v != 0; }
    if (std::isnan(v)) { return 0; }
    // In C, conversions out of range are undefined; here they saturate.
    if (to.is_uint() && to.bits == 64) { return v <= 0 ? 0 : v >= 18446744073709551615.0 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(v)); }
    if (v >= 9223372036854775807.0) { return wrap_to(to, INT64_MAX); }
    if (v <= -9223372036854775808.0) { return wrap_to(to, INT64_MIN); }
    return wrap_to(to, static_cast<int64_t>(v));
  }
};
struct IntToReal final : RealExpr {
  const IntExpr* a;
  DataType from, to;
  IntToReal(const IntExpr* x, DataType f, DataType t) : a(x), from(f), to(t) {}
  auto eval(Frame& f) const -> double override {
    int64_t v = a->eval(f);
    double real = from.is_uint() && from.bits == 64 ? static_cast<double>(static_cast<uint64_t>(v)) : static_cast<double>(v);
    if (to.is_float() && to.bits == 32) {
      return from.is_uint() && from.bits == 64 ? static_cast<float>(static_cast<uint64_t>(v)) : static_cast<float>(v);
    }
    return round_to(to, real);
  }
};
struct RealToReal final : RealExpr {
  const RealExpr* a;
  DataType to;
  RealToReal(const RealExpr* x, DataType t) : a(x), to(t) {}
  auto eval(Frame& f) const -> double override { return round_to(to, a->eval(f)); }
};
struct RealCall final : RealExpr {
  RealFunction function;
  std::vector<const RealExpr*> args;
  DataType type;
  auto eval(Frame& f) const -> double override {
    double values[4] = {};
    for (size_t i = 0; i < args.size(); ++i) { values[i] = args[i]->eval(f); }
    return round_to(type, function(values, type));
  }
};
struct RealPredicate final : IntExpr {
  RealFunction function;
  const RealExpr* arg = nullptr;
  DataType type;
  auto eval(Frame& f) const -> int64_t override {
    double value = arg->eval(f);
    return static_cast<int64_t>(function(&value, type));
  }
};
struct IntCall final : IntExpr {
  IntFunction function;
  std::vector<const IntExpr*> args;
  DataType type;
  auto eval(Frame& f) const -> int64_t override {
    int64_t values[7] = {};
    for (size_t i = 0; i < args.size(); ++i) { values[i] = args[i]->eval(f); }
    return wrap_to(type, function(values, type));
  }
};
struct Reinterpret final : IntExpr {
  Code a;
  DataType to;
  auto eval(Frame& f) const -> int64_t override {
    return wrap_to(to, a.i ? a.i->eval(f) : static_cast<int64_t>(to_bits(a.type.element(), a.f->eval(f))));
  }
};
struct ReinterpretReal final : RealExpr {
  Code a;
  DataType to;
  auto eval(Frame& f) const -> double override {
    uint64_t bits = a.i ? static_cast<uint64_t>(a.i->eval(f)) : to_bits(a.type.element(), a.f->eval(f));
    return from_bits(to.element(), to.bits >= 64 ? bits : bits & ((uint64_t{1} << to.bits) - 1));
  }
};

// A reinterpretation with another number of lanes: lane 0 holds the lowest bits.
struct OtherLanes {
  Code a;
  DataType to;
  [[nodiscard]] auto bits(Frame& f) const -> uint64_t {
    int lane = f.lane;
    DataType from = a.type.element();
    uint64_t out = 0;
    for (int done = 0; done < to.bits;) {
      int64_t bit = static_cast<int64_t>(to.lanes > 1 ? lane : 0) * to.bits + done;
      f.lane = static_cast<int>(bit / from.bits);
      uint64_t part = a.i ? static_cast<uint64_t>(a.i->eval(f)) : to_bits(from, a.f->eval(f));
      int begin = static_cast<int>(bit % from.bits);
      int width = std::min<int>(from.bits - begin, to.bits - done);
      out |= ((part >> begin) & (width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1)) << done;
      done += width;
    }
    f.lane = lane;
    return out;
  }
};
struct ReinterpretLanes final : IntExpr {
  OtherLanes other;
  auto eval(Frame& f) const -> int64_t override { return wrap_to(other.to.element(), static_cast<int64_t>(other.bits(f))); }
};
struct ReinterpretRealLanes final : RealExpr {
  OtherLanes other;
  auto eval(Frame& f) const -> double override { return from_bits(other.to.element(), other.bits(f)); }
};
// The arguments of a machine instruction, lane by lane.
struct ArgumentLanes final : Lanes {
  const std::vector<Code>& args;
  Frame& f;
  ArgumentLanes(const std::vector<Code>& a, Frame& frame) : args(a), f(frame) {}
  auto at(size_t arg, int lane) const -> int64_t override {
    f.lane = args[arg].type.lanes > 1 ? lane : 0;
    return args[arg].i->eval(f);
  }
  auto real(size_t arg, int lane) const -> double override {
    f.lane = args[arg].type.lanes > 1 ? lane : 0;
    return args[arg].f->eval(f);
  }
};
template <class Call>
auto one_lane(Call call, const std::vector<Code>& args, DataType type, Frame& f) {
  int lane = f.lane;
  auto value = call(ArgumentLanes(args, f), type.lanes > 1 ? lane : 0, type.lanes);
  f.lane = lane;
  return value;
}
struct InstructionCall final : IntExpr {
  Instruction instruction = nullptr;
  std::vector<Code> args;
  DataType type;
  auto eval(Frame& f) const -> int64_t override { return wrap_to(type.element(), one_lane(instruction, args, type, f)); }
};
struct RealInstructionCall final : RealExpr {
  RealInstruction instruction = nullptr;
  std::vector<Code> args;
  DataType type;
  auto eval(Frame& f) const -> double override { return one_lane(instruction, args, type, f); }
};

}  // namespace loopsmith::interp
