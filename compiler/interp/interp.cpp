// The interpreter: TIR turned into a tree of closures (virtual calls on small nodes), then run. See interp.h.
//
// Every variable has a slot, every buffer a binding (memory, extents, strides, offset) that its declaration fills in when it
// is reached. Vectors are evaluated lane by lane: expressions have no side effects, so a store computes all lanes,
// then writes them.
#include "interp/interp.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "interp/intrinsics.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::interp {
namespace {

constexpr int max_lanes = 4096;
// Deepest nesting of statements and expressions that is run.
constexpr int max_depth = 2000;

union Slot {
  int64_t i;
  double f;
};

struct Memory {
  char* data = nullptr;
  int64_t bytes = 0;
  std::unique_ptr<char[]> owned;
  std::vector<uint8_t> written;      // per byte; empty: not watched
};

struct Binding {
  Memory* memory = nullptr;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;      // in elements
  int64_t offset = 0;                // in elements
  int64_t count = 0;                 // elements in the memory
};

enum class Flow : uint8_t { Next, Break, Continue, Return };

struct LoopInProgress { Name name; uint32_t slot; };

struct Frame {
  std::vector<Slot> slots;
  std::vector<Memory*> memories;     // by the slot of their variable
  std::vector<Binding> bindings;
  std::vector<LoopInProgress> loops;
  int lane = 0;
  bool failed = false;
  Flow flow = Flow::Next;
  int64_t steps = 0;
  int64_t step_limit = INT64_MAX;
  int64_t next_check = 0;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const Options* options = nullptr;
  Stats stats;
  Diagnostics errors;
  std::unordered_set<const BufferNode*> warned;

  auto iteration() const -> std::string {
    std::string out;
    for (const LoopInProgress& loop : loops) {
      out += (out.empty() ? "" : ", ") + loop.name.str() + "=" + std::to_string(slots[loop.slot].i);
    }
    return out.empty() ? "the beginning" : out;
  }
  void fail(Diagnostic diagnostic) {
    if (!failed) { errors.push_back(std::move(diagnostic)); }
    failed = true;
  }
};

struct IntExpr {
  virtual ~IntExpr() = default;
  virtual auto eval(Frame& f) const -> int64_t = 0;
};
struct RealExpr {
  virtual ~RealExpr() = default;
  virtual auto eval(Frame& f) const -> double = 0;
};
struct Code {   // one of the two
  const IntExpr* i = nullptr;
  const RealExpr* f = nullptr;
  DataType type;
};
struct Statement {
  virtual ~Statement() = default;
  virtual void run(Frame& f) const = 0;
};

auto wrap_to(DataType t, int64_t v) -> int64_t {
  if (t.bits >= 64) { return v; }
  if (t.bits == 1) { return v & 1; }
  if (t.is_int()) { return static_cast<int64_t>(static_cast<uint64_t>(v) << (64 - t.bits)) >> (64 - t.bits); }
  return static_cast<int64_t>(static_cast<uint64_t>(v) & ((uint64_t{1} << t.bits) - 1));
}

// ---- expressions ---------------------------------------------------------------------------------------

struct IntConst final : IntExpr {
  int64_t value;
  explicit IntConst(int64_t v) : value(v) {}
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
  explicit VarRef(uint32_t s) : slot(s) {}
  auto eval(Frame& f) const -> decltype(std::declval<Base&>().eval(f)) override {
    const Slot& s = f.slots[slot + (vector ? static_cast<uint32_t>(f.lane) : 0)];
    if constexpr (std::is_same_v<Base, IntExpr>) { return s.i; } else { return s.f; }
  }
};

// How an integer result is brought back to its width.
enum class Width : uint8_t { W64, W32, Any };
auto width_of(DataType t) -> Width { return t.bits == 64 ? Width::W64 : t.bits == 32 && t.is_int() ? Width::W32 : Width::Any; }

template <class F, Width width>
struct IntBinary final : IntExpr {
  const IntExpr* a;
  const IntExpr* b;
  DataType type;
  IntBinary(const IntExpr* x, const IntExpr* y, DataType t) : a(x), b(y), type(t) {}
  auto eval(Frame& f) const -> int64_t override {
    int64_t v = F::apply(a->eval(f), b->eval(f));
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
    int64_t x = a->eval(f);
    int64_t y = b->eval(f);
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
auto round_of(DataType t) -> Round {
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

// Wrapping arithmetic is done unsigned.
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
  Choose(const IntExpr* c, const Base* x, const Base* y) : condition(c), t(x), e(y) {}
  auto eval(Frame& f) const -> decltype(std::declval<Base&>().eval(f)) override {
    if constexpr (both) {
      auto c = condition->eval(f);
      auto x = t->eval(f);
      auto y = e->eval(f);
      return c ? x : y;
    }
    return condition->eval(f) ? t->eval(f) : e->eval(f);
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
  std::vector<std::pair<const Base*, int>> lanes;   // expression and its lane
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
    // Out of range: what C leaves open saturates here.
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
    int64_t values[6] = {};
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

// ---- memory --------------------------------------------------------------------------------------------

struct AccessSite {
  uint32_t binding = 0;
  const BufferNode* buffer = nullptr;
  std::vector<const IntExpr*> indices;
  const IntExpr* predicate = nullptr;
  int element_lanes = 1;      // of the buffer's type
  int element_bytes = 4;
  DataType element;
  Origin origin;

  /// Bytes from the start of the memory, or -1 after an error. `lane` counts lanes of the whole access.
  auto locate(Frame& f, int lane) const -> int64_t {
    const Binding& b = f.bindings[binding];
    int inner = 0;
    int saved = f.lane;
    if (element_lanes > 1) {
      inner = lane % element_lanes;
      f.lane = lane / element_lanes;
    } else {
      f.lane = lane;
    }
    int64_t place = b.offset;
    size_t n = indices.size();
    if (n != b.extents.size()) {
      f.lane = saved;
      if (!f.failed) { f.fail(error(loopsmith::Code::InterpUnsupported, origin).arg("what", "an access to `" + buffer->name.str() + "` before its declaration")); }
      return -1;
    }
    for (size_t d = 0; d < n; ++d) {
      int64_t index = indices[d]->eval(f);
      if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(b.extents[d])) {
        f.lane = saved;
        if (!f.failed) {
          f.fail(error(loopsmith::Code::InterpOutOfBounds, origin).arg("index", index).arg("buffer", buffer->name.view())
                     .arg("extent", b.extents[d]).arg("dimension", static_cast<int64_t>(d)).arg("iteration", f.iteration()));
        }
        return -1;
      }
      place += index * b.strides[d];
    }
    f.lane = saved;
    if (static_cast<uint64_t>(place) >= static_cast<uint64_t>(b.count)) {
      if (!f.failed) {
        f.fail(error(loopsmith::Code::InterpOutOfBounds, origin).arg("index", place).arg("buffer", buffer->name.view())
                   .arg("extent", b.count).arg("dimension", "memory").arg("iteration", f.iteration()));
      }
      return -1;
    }
    return (place * element_lanes + inner) * element_bytes;
  }
  auto wanted(Frame& f, int lane) const -> bool {
    if (!predicate) { return true; }
    int saved = f.lane;
    f.lane = lane;
    bool yes = predicate->eval(f) != 0;
    f.lane = saved;
    return yes;
  }
  void check_written(Frame& f, const Memory& memory, int64_t at) const {
    if (memory.written.empty() || memory.written[static_cast<size_t>(at)]) { return; }
    if (f.warned.insert(buffer).second) {
      f.stats.warnings.push_back(error(loopsmith::Code::InterpUnwritten, origin).arg("buffer", buffer->name.view()).arg("iteration", f.iteration()));
    }
  }
};

template <class T>
auto read_as(const char* at) -> T {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

struct LoadInt final : IntExpr {
  AccessSite site;
  auto eval(Frame& f) const -> int64_t override {
    if (!site.wanted(f, f.lane)) { return 0; }
    int64_t at = site.locate(f, f.lane);
    if (at < 0) { return 0; }
    const Memory& memory = *f.bindings[site.binding].memory;
    site.check_written(f, memory, at);
    const char* p = memory.data + at;
    bool is_signed = site.element.is_int();
    switch (site.element_bytes) {
      case 1: {
        int64_t v = is_signed ? read_as<int8_t>(p) : read_as<uint8_t>(p);
        return site.element.bits == 8 ? v : wrap_to(site.element, v);
      }
      case 2: return is_signed ? read_as<int16_t>(p) : read_as<uint16_t>(p);
      case 4: return is_signed ? read_as<int32_t>(p) : static_cast<int64_t>(read_as<uint32_t>(p));
      default: return read_as<int64_t>(p);
    }
  }
};
struct LoadReal final : RealExpr {
  AccessSite site;
  auto eval(Frame& f) const -> double override {
    if (!site.wanted(f, f.lane)) { return 0; }
    int64_t at = site.locate(f, f.lane);
    if (at < 0) { return 0; }
    const Memory& memory = *f.bindings[site.binding].memory;
    site.check_written(f, memory, at);
    const char* p = memory.data + at;
    if (site.element.is_float() && site.element_bytes == 4) { return read_as<float>(p); }
    if (site.element.is_float() && site.element_bytes == 8) { return read_as<double>(p); }
    return from_bits(site.element, site.element_bytes == 1 ? read_as<uint8_t>(p) : read_as<uint16_t>(p));
  }
};

void write_bits(char* at, int bytes, uint64_t bits) { std::memcpy(at, &bits, static_cast<size_t>(bytes)); }   // little-endian hosts

struct Store final : Statement {
  AccessSite site;
  Code value;
  int lanes = 1;
  void put(Frame& f, int lane, Slot v) const {
    int64_t at = site.locate(f, lane);
    if (at < 0) { return; }
    Memory& memory = *f.bindings[site.binding].memory;
    char* p = memory.data + at;
    if (value.i) {
      write_bits(p, site.element_bytes, static_cast<uint64_t>(v.i));
    } else if (site.element.is_float() && site.element_bytes == 4) {
      auto single = static_cast<float>(v.f);
      std::memcpy(p, &single, 4);
    } else {
      write_bits(p, site.element_bytes, to_bits(site.element, v.f));
    }
    if (!memory.written.empty()) { std::fill_n(memory.written.begin() + at, site.element_bytes, uint8_t{1}); }
  }
  void run(Frame& f) const override {
    if (++f.steps >= f.next_check) { check_limits(f); }
    ++f.stats.statements;
    if (lanes == 1) {
      f.lane = 0;
      if (!site.wanted(f, 0)) { return; }
      Slot v;
      if (value.i) { v.i = value.i->eval(f); } else { v.f = value.f->eval(f); }
      if (!f.failed) { put(f, 0, v); }
      return;
    }
    Slot values[max_lanes];
    for (int l = 0; l < lanes && !f.failed; ++l) {
      f.lane = l;
      if (!site.wanted(f, l)) { continue; }
      if (value.i) { values[l].i = value.i->eval(f); } else { values[l].f = value.f->eval(f); }
    }
    for (int l = 0; l < lanes && !f.failed; ++l) {
      if (site.wanted(f, l)) { put(f, l, values[l]); }
    }
    f.lane = 0;
  }
  static void check_limits(Frame& f);
};

void Store::check_limits(Frame& f) {
  f.next_check = std::min(f.step_limit, f.steps + 4096);
  if (f.options->cancel.is_cancelled()) {
    f.fail(error(loopsmith::Code::Cancelled));
  } else if (f.steps >= f.step_limit) {
    f.fail(error(loopsmith::Code::InterpLimit).arg("what", std::to_string(f.steps) + " statements").arg("iteration", f.iteration()));
  } else if (std::chrono::steady_clock::now() >= f.deadline) {
    f.fail(error(loopsmith::Code::InterpLimit).arg("what", "its time limit").arg("iteration", f.iteration()));
  }
}

// ---- statements ----------------------------------------------------------------------------------------

struct Sequence final : Statement {
  std::vector<const Statement*> items;
  void run(Frame& f) const override {
    for (const Statement* s : items) {
      s->run(f);
      if (f.failed || f.flow != Flow::Next) { return; }
    }
  }
};
struct Nothing final : Statement {
  void run(Frame&) const override {}
};
struct EvaluateStatement final : Statement {
  Code value;
  bool is_return = false;
  void run(Frame& f) const override {
    ++f.stats.statements;
    f.lane = 0;
    if (value.i) { (void)value.i->eval(f); } else if (value.f) { (void)value.f->eval(f); }
    if (is_return) { f.flow = Flow::Return; }
  }
};
struct FlowStatement final : Statement {
  Flow flow;
  explicit FlowStatement(Flow x) : flow(x) {}
  void run(Frame& f) const override { f.flow = flow; }
};
struct Loop final : Statement {
  Name name;
  uint32_t slot = 0;
  const IntExpr* min = nullptr;
  const IntExpr* extent = nullptr;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    f.lane = 0;
    int64_t begin = min->eval(f);
    int64_t end = begin + extent->eval(f);
    f.loops.push_back({name, slot});
    for (int64_t i = begin; i < end; ++i) {
      f.slots[slot].i = i;
      body->run(f);
      if (f.failed) { return; }
      if (f.flow != Flow::Next) {
        if (f.flow == Flow::Return) { break; }
        bool stop = f.flow == Flow::Break;
        f.flow = Flow::Next;
        if (stop) { break; }
      }
    }
    f.loops.pop_back();
  }
};
struct WhileLoop final : Statement {
  const IntExpr* condition = nullptr;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    while (!f.failed && condition->eval(f)) {
      if (++f.steps >= f.next_check) { Store::check_limits(f); }
      body->run(f);
      if (f.flow != Flow::Next) {
        if (f.flow == Flow::Return) { return; }
        bool stop = f.flow == Flow::Break;
        f.flow = Flow::Next;
        if (stop) { return; }
      }
    }
  }
};
struct Branch final : Statement {
  const IntExpr* condition = nullptr;
  const Statement* then_case = nullptr;
  const Statement* else_case = nullptr;
  void run(Frame& f) const override {
    f.lane = 0;
    if (condition->eval(f)) { then_case->run(f); }
    else if (else_case) { else_case->run(f); }
  }
};
struct AssertThat final : Statement {
  const IntExpr* condition = nullptr;
  std::string message;
  Origin origin;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    f.lane = 0;
    if (!condition->eval(f)) {
      if (!f.failed) { f.fail(error(loopsmith::Code::InterpAssert, origin).arg("message", message).arg("iteration", f.iteration())); }
      return;
    }
    body->run(f);
  }
};
struct LetStatement final : Statement {
  uint32_t slot = 0;
  Code value;
  int lanes = 1;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    for (int l = 0; l < lanes; ++l) {
      f.lane = l;
      Slot v;
      if (value.i) { v.i = value.i->eval(f); } else { v.f = value.f->eval(f); }
      f.slots[slot + static_cast<uint32_t>(l)] = v;
    }
    f.lane = 0;
    body->run(f);
  }
};

// Fills in a binding from a buffer's own shape, strides and offset.
struct BindBuffer {
  uint32_t binding = 0;
  uint32_t memory = 0;                     // slot of the data variable
  const BufferNode* buffer = nullptr;
  std::vector<const IntExpr*> shape, strides;
  const IntExpr* offset = nullptr;
  void run(Frame& f) const {
    Binding& b = f.bindings[binding];
    f.lane = 0;
    b.memory = f.memories[memory];
    b.extents.resize(shape.size());
    b.strides.resize(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) { b.extents[d] = shape[d]->eval(f); }
    if (!strides.empty()) {
      for (size_t d = 0; d < shape.size(); ++d) { b.strides[d] = strides[d]->eval(f); }
    } else {
      int64_t stride = 1;
      for (size_t d = shape.size(); d-- > 0;) {
        b.strides[d] = stride;
        stride *= b.extents[d];
      }
    }
    b.offset = offset ? offset->eval(f) : 0;
    int64_t bytes = std::max(1, buffer->dtype.element_bytes() * buffer->dtype.lanes);
    b.count = b.memory ? b.memory->bytes / bytes : 0;
  }
};

constexpr int64_t allocation_limit = int64_t{4} << 30;

// Memory of its own for a variable, for as long as the body runs; kept for the next time.
struct AllocateMemory {
  uint32_t memory = 0;
  std::vector<const IntExpr*> extents;
  int64_t element_bytes = 4;
  std::string constant;                    // contents, if it has any
  Origin origin;
  std::vector<BindBuffer> bind;            // buffers that live in it
  mutable Memory storage;
  void run(Frame& f) const {
    f.lane = 0;
    int64_t bytes = element_bytes;
    for (const IntExpr* e : extents) {
      int64_t n = std::max<int64_t>(0, e->eval(f));
      if (__builtin_mul_overflow(bytes, n, &bytes) || bytes > allocation_limit) {
        f.fail(error(loopsmith::Code::InterpLimit, origin).arg("what", "asking for too much memory").arg("iteration", f.iteration()));
        return;
      }
    }
    if (!storage.owned || storage.bytes < bytes) { storage.owned.reset(new char[static_cast<size_t>(std::max<int64_t>(bytes, 1))]); }
    storage.bytes = bytes;
    storage.data = storage.owned.get();
    if (!constant.empty()) {
      std::memcpy(storage.data, constant.data(), std::min(constant.size(), static_cast<size_t>(bytes)));
    } else {
      // What nobody wrote is not a number, so that it shows.
      std::memset(storage.data, 0xFF, static_cast<size_t>(bytes));
      if (f.options->report_unwritten) { storage.written.assign(static_cast<size_t>(bytes), 0); }
    }
    f.memories[memory] = &storage;
    for (const BindBuffer& b : bind) { b.run(f); }
  }
};
struct AllocateStatement final : Statement {
  AllocateMemory allocate;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    allocate.run(f);
    if (!f.failed) { body->run(f); }
  }
};
struct DeclareStatement final : Statement {
  BindBuffer bind;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    bind.run(f);
    body->run(f);
  }
};

// A view of a region, within a block.
struct MatchRegion {
  uint32_t target = 0, source = 0;
  const BufferNode* buffer = nullptr;
  uint32_t memory = 0;                                     // slot of the view's data variable
  uint32_t source_memory = 0;
  std::vector<const IntExpr*> mins, extents;
  // Variables that the view's shape, strides and offset introduce.
  std::vector<std::pair<uint32_t, size_t>> shape_vars, stride_vars;
  std::optional<uint32_t> offset_var;
  Origin origin;
  void run(Frame& f) const {
    f.lane = 0;
    const Binding from = f.bindings[source];
    Binding& to = f.bindings[target];
    to.memory = from.memory;
    f.memories[memory] = from.memory;
    to.count = from.count;
    to.offset = from.offset;
    size_t rank = buffer->shape.size();
    size_t skip = mins.size() - rank;
    to.extents.resize(rank);
    to.strides.resize(rank);
    for (size_t d = 0; d < mins.size(); ++d) {
      to.offset += mins[d]->eval(f) * from.strides[d];
      if (d < skip) { continue; }
      to.extents[d - skip] = extents[d]->eval(f);
      to.strides[d - skip] = from.strides[d];
    }
    for (auto [slot, d] : shape_vars) { f.slots[slot].i = to.extents[d]; }
    for (auto [slot, d] : stride_vars) { f.slots[slot].i = to.strides[d]; }
    if (offset_var) { f.slots[*offset_var].i = to.offset; }
  }
};

struct BlockInstance final : Statement {
  const Block* block = nullptr;
  std::vector<std::pair<uint32_t, const IntExpr*>> iters;    // slot, value
  std::vector<std::pair<uint32_t, const IntExpr*>> starts;   // reduction iter vars and where they begin
  const IntExpr* predicate = nullptr;                        // null: true
  std::vector<std::unique_ptr<AllocateMemory>> allocations;
  std::vector<MatchRegion> matches;
  const Statement* init = nullptr;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    f.lane = 0;
    if (predicate && !predicate->eval(f)) { return; }
    // All values are of the outside: none sees another's new one.
    constexpr size_t few = 16;
    int64_t small[few];
    std::vector<int64_t> large;
    int64_t* values = small;
    if (iters.size() > few) {
      large.resize(iters.size());
      values = large.data();
    }
    for (size_t i = 0; i < iters.size(); ++i) { values[i] = iters[i].second->eval(f); }
    for (size_t i = 0; i < iters.size(); ++i) { f.slots[iters[i].first].i = values[i]; }
    if (f.failed) { return; }
    if (f.options->only && !f.options->only(*block, {values, iters.size()})) { return; }
    ++f.stats.block_instances;
    for (const auto& a : allocations) {
      a->run(f);
      if (f.failed) { return; }
    }
    for (const MatchRegion& m : matches) { m.run(f); }
    if (init) {
      bool first = true;
      for (auto [slot, start] : starts) { first = first && f.slots[slot].i == start->eval(f); }
      if (first) { init->run(f); }
    }
    if (!f.failed) { body->run(f); }
  }
};

// ---- from TIR to closures ------------------------------------------------------------------------------

class Compiler {
 public:
  Compiler() = default;

  Diagnostics errors;
  uint32_t slot_count = 0;
  uint32_t binding_count = 0;

  auto slot(const VarNode* v) -> uint32_t {
    auto [place, is_new] = slots_.try_emplace(v, slot_count);
    if (is_new) { slot_count += std::max<uint32_t>(1, v->dtype.lanes); }
    return place->second;
  }
  auto binding(const BufferNode* b) -> uint32_t {
    auto [place, is_new] = bindings_.try_emplace(b, binding_count);
    if (is_new) { ++binding_count; }
    return place->second;
  }

  void find_implicit(const PrimFuncNode& func);
  auto statement(const Stmt& s) -> const Statement*;
  auto expr(const Expr& e) -> Code;
  auto int_expr(const Expr& e) -> const IntExpr*;
  auto bind_buffer(const Buffer& buffer) -> BindBuffer;
  auto implicit_of(const VarNode* data) -> std::vector<BindBuffer> {
    std::vector<BindBuffer> out;
    auto found = implicit_.find(data);
    if (found != implicit_.end()) { for (const Buffer& b : found->second) { out.push_back(bind_buffer(b)); } }
    return out;
  }

 private:
  template <class T, class... Args>
  auto make_int(Args&&... args) -> const IntExpr* {
    ints_.push_back(std::make_unique<T>(std::forward<Args>(args)...));
    return ints_.back().get();
  }
  template <class T, class... Args>
  auto make_real(Args&&... args) -> const RealExpr* {
    reals_.push_back(std::make_unique<T>(std::forward<Args>(args)...));
    return reals_.back().get();
  }
  template <class T, class... Args>
  auto make_stmt(Args&&... args) -> T* {
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    T* raw = made.get();
    statements_.push_back(std::move(made));
    return raw;
  }
  auto unsupported(Origin where, const std::string& what) -> Code {
    errors.push_back(error(loopsmith::Code::InterpUnsupported, where).arg("what", what));
    return {make_int<IntConst>(0), nullptr, DataType::int_(32)};
  }
  template <class F> auto binary(const BinaryNode& n) -> Code;
  template <class F> auto division(const BinaryNode& n) -> Code;
  template <class F, class U> auto comparison(const BinaryNode& n) -> Code;
  auto call(const Call& n) -> Code;
  auto site(const Buffer& buffer, const Array<Expr>& indices, const Expr& predicate, Origin origin) -> AccessSite;
  auto make_allocation(const Var& data, const Array<Expr>& extents, DataType dtype, Origin origin, std::string contents) -> std::unique_ptr<AllocateMemory>;
  auto block(const BlockRealize& realize) -> const Statement*;

  int depth_ = 0;
  std::unordered_map<const VarNode*, uint32_t> slots_;
  std::unordered_map<const BufferNode*, uint32_t> bindings_;
  std::unordered_set<const BufferNode*> declared_;
  std::unordered_map<const VarNode*, std::vector<Buffer>> implicit_;
  std::unordered_set<const VarNode*> defined_;
  std::deque<std::unique_ptr<IntExpr>> ints_;
  std::deque<std::unique_ptr<RealExpr>> reals_;
  std::deque<std::unique_ptr<Statement>> statements_;

 public:
  void define(const VarNode* v) { defined_.insert(v); }
  [[nodiscard]] auto is_defined(const VarNode* v) const -> bool { return defined_.contains(v); }
};

// Buffers that are used without a declaration of their own are bound where their memory is.
void Compiler::find_implicit(const PrimFuncNode& func) {
  struct Uses : Visitor {
    using Visitor::on;
    using Visitor::visit;
    std::vector<Buffer> used;
    std::unordered_set<const BufferNode*> seen, declared;
    void use(const Buffer& b) { if (seen.insert(b.get()).second) { used.push_back(b); } }
    void visit_buffer(const Buffer& b) override { declared.insert(b.get()); Visitor::visit_buffer(b); }
    void on(const BufferLoad& n) override { use(n.buffer); Visitor::on(n); }
    void on(const BufferStore& n) override { use(n.buffer); Visitor::on(n); }
  } uses;
  for (const auto& [param, buffer] : func.buffer_map) { uses.declared.insert(buffer.get()); }
  uses.visit(func.body);
  for (const Buffer& b : uses.used) {
    if (!uses.declared.contains(b.get())) { implicit_[b->data.get()].push_back(b); }
  }
}

auto Compiler::int_expr(const Expr& e) -> const IntExpr* {
  Code code = expr(e);
  if (code.i) { return code.i; }
  unsupported(e.origin(), "a real number where an integer is needed");
  return make_int<IntConst>(0);
}

template <class F>
auto Compiler::binary(const BinaryNode& n) -> Code {
  Code a = expr(n.a);
  Code b = expr(n.b);
  if (a.i && b.i) {
    switch (width_of(n.dtype)) {
      case Width::W64: return {make_int<IntBinary<F, Width::W64>>(a.i, b.i, n.dtype), nullptr, n.dtype};
      case Width::W32: return {make_int<IntBinary<F, Width::W32>>(a.i, b.i, n.dtype), nullptr, n.dtype};
      case Width::Any: return {make_int<IntBinary<F, Width::Any>>(a.i, b.i, n.dtype), nullptr, n.dtype};
    }
  }
  if (a.f && b.f) {
    switch (round_of(n.dtype)) {
      case Round::F64: return {nullptr, make_real<RealBinary<F, Round::F64>>(a.f, b.f, n.dtype), n.dtype};
      case Round::F32: return {nullptr, make_real<RealBinary<F, Round::F32>>(a.f, b.f, n.dtype), n.dtype};
      case Round::Any: return {nullptr, make_real<RealBinary<F, Round::Any>>(a.f, b.f, n.dtype), n.dtype};
    }
  }
  return unsupported(n.origin, "operands of different kinds");
}

template <class F>
auto Compiler::division(const BinaryNode& n) -> Code {
  Code a = expr(n.a);
  Code b = expr(n.b);
  if (a.i && b.i) { return {make_int<IntDivision<F>>(a.i, b.i, n.dtype, n.origin), nullptr, n.dtype}; }
  if (a.f && b.f) { return {nullptr, make_real<RealBinary<F, Round::Any>>(a.f, b.f, n.dtype), n.dtype}; }
  return unsupported(n.origin, "operands of different kinds");
}

template <class F, class U>
auto Compiler::comparison(const BinaryNode& n) -> Code {
  Code a = expr(n.a);
  Code b = expr(n.b);
  if (a.f && b.f) { return {make_int<RealCompare<F>>(a.f, b.f), nullptr, n.dtype}; }
  if (!a.i || !b.i) { return unsupported(n.origin, "a comparison of different kinds"); }
  if (a.type.is_uint() && a.type.bits == 64) { return {make_int<IntBinary<U, Width::W64>>(a.i, b.i, n.dtype), nullptr, n.dtype}; }
  return {make_int<IntBinary<F, Width::W64>>(a.i, b.i, n.dtype), nullptr, n.dtype};
}

auto Compiler::site(const Buffer& buffer, const Array<Expr>& indices, const Expr& predicate, Origin origin) -> AccessSite {
  AccessSite s;
  s.binding = binding(buffer.get());
  s.buffer = buffer.get();
  for (const Expr& i : indices) { s.indices.push_back(int_expr(i)); }
  if (predicate) { s.predicate = int_expr(predicate); }
  s.element = buffer->dtype.element();
  s.element_lanes = buffer->dtype.lanes;
  s.element_bytes = buffer->dtype.element_bytes();
  s.origin = origin;
  if (buffer->dtype.bits % 8 != 0 && !buffer->dtype.is_bool()) {
    unsupported(origin, "elements of `" + buffer->name.str() + "` that are not whole bytes");
  }
  return s;
}

auto Compiler::expr(const Expr& e) -> Code {
  if (++depth_ > max_depth) {
    --depth_;
    return unsupported(e.origin(), "an expression nested this deeply");
  }
  struct Guard { int& d; ~Guard() { --d; } } guard{depth_};
  DataType t = e.dtype();
  if (t.lanes > max_lanes) { return unsupported(e.origin(), "vectors of more than 4096 lanes"); }
  if (t.scalable) { return unsupported(e.origin(), "scalable vectors"); }
  switch (e.kind()) {
    case NodeKind::VarNode: {
      const auto& n = *e.as<VarNode>();
      uint32_t s = slot(&n);
      if (t.is_real()) {
        return t.lanes > 1 ? Code{nullptr, make_real<VarRef<RealExpr, true>>(s), t} : Code{nullptr, make_real<VarRef<RealExpr, false>>(s), t};
      }
      return t.lanes > 1 ? Code{make_int<VarRef<IntExpr, true>>(s), nullptr, t} : Code{make_int<VarRef<IntExpr, false>>(s), nullptr, t};
    }
    case NodeKind::IntImm: return {make_int<IntConst>(e.as<IntImm>()->value), nullptr, t};
    case NodeKind::FloatImm: return {nullptr, make_real<RealConst>(round_to(t, e.as<FloatImm>()->value)), t};
    case NodeKind::StringImm: return {make_int<IntConst>(0), nullptr, t};
    case NodeKind::Cast: {
      Code a = expr(e.as<Cast>()->value);
      DataType to = t.element();
      if (to.is_real()) {
        if (a.i) { return {nullptr, make_real<IntToReal>(a.i, a.type.element(), to), t}; }
        return {nullptr, make_real<RealToReal>(a.f, to), t};
      }
      if (a.i) { return {make_int<IntToInt>(a.i, to), nullptr, t}; }
      return {make_int<RealToInt>(a.f, to), nullptr, t};
    }
    case NodeKind::Add: return binary<AddOp>(*e.as<Add>());
    case NodeKind::Sub: return binary<SubOp>(*e.as<Sub>());
    case NodeKind::Mul: return binary<MulOp>(*e.as<Mul>());
    case NodeKind::Div: return division<DivOp>(*e.as<Div>());
    case NodeKind::Mod: return division<ModOp>(*e.as<Mod>());
    case NodeKind::FloorDiv: return division<FloorDivOp>(*e.as<FloorDiv>());
    case NodeKind::FloorMod: return division<FloorModOp>(*e.as<FloorMod>());
    case NodeKind::Min: 
    case NodeKind::Max: {
      bool max = e.kind() == NodeKind::Max;
      const auto& n = static_cast<const BinaryNode&>(*e);
      if (t.is_uint() && t.bits == 64) {
        Code a = expr(n.a);
        Code b = expr(n.b);
        if (max) { return {make_int<IntBinary<UnsignedPick<true>, Width::W64>>(a.i, b.i, t), nullptr, t}; }
        return {make_int<IntBinary<UnsignedPick<false>, Width::W64>>(a.i, b.i, t), nullptr, t};
      }
      return max ? binary<MaxOp>(n) : binary<MinOp>(n);
    }
    case NodeKind::EQ: return comparison<EqOp, UnsignedEqOp>(*e.as<EQ>());
    case NodeKind::NE: return comparison<NeOp, UnsignedNeOp>(*e.as<NE>());
    case NodeKind::LT: return comparison<LtOp, UnsignedLtOp>(*e.as<LT>());
    case NodeKind::LE: return comparison<LeOp, UnsignedLeOp>(*e.as<LE>());
    case NodeKind::GT: return comparison<GtOp, UnsignedGtOp>(*e.as<GT>());
    case NodeKind::GE: return comparison<GeOp, UnsignedGeOp>(*e.as<GE>());
    case NodeKind::And: return {make_int<IntBinary<AndOp, Width::W64>>(int_expr(e.as<And>()->a), int_expr(e.as<And>()->b), t), nullptr, t};
    case NodeKind::Or: return {make_int<IntBinary<OrOp, Width::W64>>(int_expr(e.as<Or>()->a), int_expr(e.as<Or>()->b), t), nullptr, t};
    case NodeKind::Not: return {make_int<NotExpr>(int_expr(e.as<Not>()->a)), nullptr, t};
    case NodeKind::Select: {
      const auto& n = *e.as<Select>();
      const IntExpr* c = int_expr(n.condition);
      Code a = expr(n.true_value);
      Code b = expr(n.false_value);
      if (a.i && b.i) { return {make_int<Choose<IntExpr, true>>(c, a.i, b.i), nullptr, t}; }
      if (a.f && b.f) { return {nullptr, make_real<Choose<RealExpr, true>>(c, a.f, b.f), t}; }
      return unsupported(n.origin, "a choice between different kinds");
    }
    case NodeKind::BufferLoad: {
      const auto& n = *e.as<BufferLoad>();
      AccessSite s = site(n.buffer, n.indices, n.predicate, n.origin);
      if (s.element.is_real()) {
        auto load = std::make_unique<LoadReal>();
        load->site = std::move(s);
        reals_.push_back(std::move(load));
        return {nullptr, reals_.back().get(), t};
      }
      auto load = std::make_unique<LoadInt>();
      load->site = std::move(s);
      ints_.push_back(std::move(load));
      return {ints_.back().get(), nullptr, t};
    }
    case NodeKind::Ramp: {
      const auto& n = *e.as<Ramp>();
      return {make_int<RampExpr>(int_expr(n.base), int_expr(n.stride), t.element()), nullptr, t};
    }
    case NodeKind::Broadcast: {
      Code a = expr(e.as<Broadcast>()->value);
      a.type = t;
      return a;
    }
    case NodeKind::Shuffle: {
      const auto& n = *e.as<Shuffle>();
      std::vector<std::pair<const IntExpr*, int>> int_lanes;
      std::vector<std::pair<const RealExpr*, int>> real_lanes;
      for (const Expr& v : n.vectors) {
        Code c = expr(v);
        for (int l = 0; l < v.dtype().lanes; ++l) {
          if (c.i) { int_lanes.emplace_back(c.i, l); } else { real_lanes.emplace_back(c.f, l); }
        }
      }
      std::vector<std::pair<const IntExpr*, int>> ints;
      std::vector<std::pair<const RealExpr*, int>> reals;
      for (const Expr& i : n.indices) {
        auto at = as_int(i);
        size_t all = int_lanes.size() + real_lanes.size();
        if (!at || *at < 0 || static_cast<size_t>(*at) >= all) { return unsupported(n.origin, "a shuffle whose indices are not constant"); }
        if (!int_lanes.empty()) { ints.push_back(int_lanes[static_cast<size_t>(*at)]); } else { reals.push_back(real_lanes[static_cast<size_t>(*at)]); }
      }
      if (!ints.empty()) { return {make_int<LaneOf<IntExpr>>(std::move(ints)), nullptr, t}; }
      return {nullptr, make_real<LaneOf<RealExpr>>(std::move(reals)), t};
    }
    case NodeKind::Let: {
      const auto& n = *e.as<Let>();
      if (n.value.dtype().lanes > 1) { return expr(substitute(n.body, {{n.var.get(), n.value}})); }
      Code value = expr(n.value);
      uint32_t s = slot(n.var.get());
      Code body = expr(n.body);
      if (body.i) { return {make_int<LetExpr<IntExpr>>(s, value.i, value.f, body.i), nullptr, t}; }
      return {nullptr, make_real<LetExpr<RealExpr>>(s, value.i, value.f, body.f), t};
    }
    case NodeKind::Call: return call(*e.as<Call>());
    case NodeKind::Reduce: return unsupported(e.origin(), "a reduction of tensor expressions");
#define EXPR(Kind)
#define STMT(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      break;
  }
  return unsupported(e.origin(), "this expression");
}

auto Compiler::call(const Call& n) -> Code {
  DataType t = n.dtype;
  static const Name if_then_else("if_then_else"), likely("likely"), reinterpret("reinterpret"), ret("ret"), large("large_uint_imm");
  if (n.op == if_then_else && n.args.size() == 3) {
    const IntExpr* c = int_expr(n.args[0]);
    Code a = expr(n.args[1]);
    Code b = expr(n.args[2]);
    if (a.i && b.i) { return {make_int<Choose<IntExpr, false>>(c, a.i, b.i), nullptr, t}; }
    if (a.f && b.f) { return {nullptr, make_real<Choose<RealExpr, false>>(c, a.f, b.f), t}; }
    return unsupported(n.origin, "a choice between different kinds");
  }
  if ((n.op == likely || n.op == ret) && n.args.size() == 1) { return expr(n.args[0]); }
  if (n.op == large && n.args.size() == 2) {
    auto low = as_int(n.args[0]);
    auto high = as_int(n.args[1]);
    if (low && high) { return {make_int<IntConst>(static_cast<int64_t>((static_cast<uint64_t>(*high) << 32) | static_cast<uint64_t>(*low))), nullptr, t}; }
  }
  if (n.op == reinterpret && n.args.size() == 1) {
    Code a = expr(n.args[0]);
    if (a.type.lanes != t.lanes) { return unsupported(n.origin, "a reinterpretation that changes the number of lanes"); }
    if (t.is_real()) {
      auto r = std::make_unique<ReinterpretReal>();
      r->a = a;
      r->to = t;
      reals_.push_back(std::move(r));
      return {nullptr, reals_.back().get(), t};
    }
    auto r = std::make_unique<Reinterpret>();
    r->a = a;
    r->to = t.element();
    ints_.push_back(std::move(r));
    return {ints_.back().get(), nullptr, t};
  }
  std::vector<Code> args;
  Name name = n.op;
  size_t first = 0;
  // call_pure_extern("float32", "expf", x): by its C name.
  if (n.op == "call_pure_extern" || n.op == "call_extern") {
    const auto* symbol = n.args.empty() ? nullptr : n.args[0].as<StringImm>();
    if (!symbol) { return unsupported(n.origin, "an external call without a name"); }
    name = Name(c_function_name(symbol->value));
    first = 1;
  }
  for (size_t i = first; i < n.args.size(); ++i) { args.push_back(expr(n.args[i])); }
  bool all_real = std::all_of(args.begin(), args.end(), [](const Code& c) { return c.f != nullptr; });
  bool all_int = std::all_of(args.begin(), args.end(), [](const Code& c) { return c.i != nullptr; });
  if (!args.empty() && all_real && args.size() <= 4) {
    if (t.is_real()) {
      if (RealFunction function = find_real_function(name, args.size())) {
        auto r = std::make_unique<RealCall>();
        r->function = function;
        for (const Code& c : args) { r->args.push_back(c.f); }
        r->type = t.element();
        reals_.push_back(std::move(r));
        return {nullptr, reals_.back().get(), t};
      }
    } else if (args.size() == 1) {
      if (RealFunction function = find_real_predicate(name)) {
        auto r = std::make_unique<RealPredicate>();
        r->function = function;
        r->arg = args[0].f;
        r->type = args[0].type.element();
        ints_.push_back(std::move(r));
        return {ints_.back().get(), nullptr, t};
      }
    }
  }
  if (all_int && args.size() <= 6 && !t.is_real()) {
    if (IntFunction function = find_int_function(name, args.size())) {
      auto r = std::make_unique<IntCall>();
      r->function = function;
      for (const Code& c : args) { r->args.push_back(c.i); }
      r->type = t.element();
      ints_.push_back(std::move(r));
      return {ints_.back().get(), nullptr, t};
    }
  }
  return unsupported(n.origin, "the intrinsic `" + name.str() + "`");
}

auto Compiler::bind_buffer(const Buffer& buffer) -> BindBuffer {
  BindBuffer b;
  b.binding = binding(buffer.get());
  b.memory = slot(buffer->data.get());
  b.buffer = buffer.get();
  for (const Expr& e : buffer->shape) { b.shape.push_back(int_expr(e)); }
  for (const Expr& e : buffer->strides) { b.strides.push_back(int_expr(e)); }
  if (buffer->elem_offset) { b.offset = int_expr(buffer->elem_offset); }
  return b;
}

auto Compiler::make_allocation(const Var& data, const Array<Expr>& extents, DataType dtype, Origin origin, std::string contents)
    -> std::unique_ptr<AllocateMemory> {
  auto a = std::make_unique<AllocateMemory>();
  a->memory = slot(data.get());
  for (const Expr& e : extents) { a->extents.push_back(int_expr(e)); }
  a->element_bytes = std::max(1, dtype.element_bytes() * dtype.lanes);
  a->constant = std::move(contents);
  a->origin = origin;
  a->bind = implicit_of(data.get());
  return a;
}

auto Compiler::block(const BlockRealize& realize) -> const Statement* {
  const Block& b = *realize.block;
  auto* out = make_stmt<BlockInstance>();
  out->block = &b;
  if (!is_one(realize.predicate)) { out->predicate = int_expr(realize.predicate); }
  for (size_t i = 0; i < b.iter_vars.size(); ++i) {
    uint32_t s = slot(b.iter_vars[i].var.get());
    define(b.iter_vars[i].var.get());
    out->iters.emplace_back(s, int_expr(realize.iter_values[i]));
    if (b.iter_vars[i].kind == IterKind::Reduction) { out->starts.emplace_back(s, int_expr(b.iter_vars[i].dom.min)); }
  }
  for (const Buffer& buffer : b.alloc_buffers) {
    auto a = make_allocation(buffer->data, buffer->shape, buffer->dtype, buffer->origin, {});
    // Strides other than compact ones need the room they span.
    if (!buffer->strides.empty()) {
      a->extents.clear();
      a->extents.push_back(int_expr(mul(buffer->strides[0], buffer->shape[0])));
    }
    a->bind.push_back(bind_buffer(buffer));
    out->allocations.push_back(std::move(a));
  }
  for (const MatchBufferRegion& m : b.match_buffers) {
    MatchRegion match;
    match.target = binding(m.buffer.get());
    match.source = binding(m.source.buffer.get());
    match.buffer = m.buffer.get();
    match.memory = slot(m.buffer->data.get());
    match.source_memory = slot(m.source.buffer->data.get());
    for (const Range& r : m.source.region) {
      match.mins.push_back(int_expr(r.min));
      match.extents.push_back(int_expr(r.extent));
    }
    auto introduces = [&](const Expr& e) -> const VarNode* {
      const auto* v = e ? e.as<VarNode>() : nullptr;
      return v && !is_defined(v) ? v : nullptr;
    };
    for (size_t d = 0; d < m.buffer->shape.size(); ++d) {
      if (const auto* v = introduces(m.buffer->shape[d])) { match.shape_vars.emplace_back(slot(v), d); }
    }
    for (size_t d = 0; d < m.buffer->strides.size(); ++d) {
      if (const auto* v = introduces(m.buffer->strides[d])) { match.stride_vars.emplace_back(slot(v), d); }
    }
    if (const auto* v = introduces(m.buffer->elem_offset)) { match.offset_var = slot(v); }
    out->matches.push_back(std::move(match));
  }
  if (b.init) { out->init = statement(b.init); }
  out->body = statement(b.body);
  return out;
}

auto Compiler::statement(const Stmt& s) -> const Statement* {
  if (++depth_ > max_depth) {
    --depth_;
    unsupported(s.origin(), "statements nested this deeply");
    return make_stmt<Nothing>();
  }
  struct Guard { int& d; ~Guard() { --d; } } guard{depth_};
  switch (s.kind()) {
    case NodeKind::LetStmt: {
      const auto& n = *s.as<LetStmt>();
      auto* out = make_stmt<LetStatement>();
      // An alias of memory, or the address of it.
      if (n.var->dtype.is_handle()) {
        unsupported(n.origin, "a pointer variable");
        return out;
      }
      out->value = expr(n.value);
      out->lanes = n.var->dtype.lanes;
      out->slot = slot(n.var.get());
      define(n.var.get());
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::AttrStmt: {
      const auto& n = *s.as<AttrStmt>();
      // launch_thread: a loop over the threads.
      if (n.key == "thread_extent" || n.key == "virtual_thread") {
        if (const auto* iter = std::get_if<IterVar>(&n.node)) {
          auto* out = make_stmt<Loop>();
          out->name = iter->var->name;
          out->slot = slot(iter->var.get());
          define(iter->var.get());
          out->min = make_int<IntConst>(0);
          out->extent = int_expr(n.value);
          out->body = statement(n.body);
          return out;
        }
      }
      return statement(n.body);
    }
    case NodeKind::AssertStmt: {
      const auto& n = *s.as<AssertStmt>();
      auto* out = make_stmt<AssertThat>();
      out->condition = int_expr(n.condition);
      if (const auto* text = n.message.as<StringImm>()) { out->message = text->value; }
      out->origin = n.origin;
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::BufferStore: {
      const auto& n = *s.as<BufferStore>();
      auto* out = make_stmt<Store>();
      out->site = site(n.buffer, n.indices, n.predicate, n.origin);
      out->value = expr(n.value);
      out->lanes = n.value.dtype().lanes;
      if ((out->value.f != nullptr) != n.buffer->dtype.is_real()) {
        unsupported(n.origin, "a store of another kind of number than `" + n.buffer->name.str() + "` holds");
      }
      return out;
    }
    case NodeKind::BufferRealize: {
      const auto& n = *s.as<BufferRealize>();
      auto* out = make_stmt<AllocateStatement>();
      auto a = make_allocation(n.buffer->data, n.buffer->shape, n.buffer->dtype, n.origin, {});
      out->allocate.memory = a->memory;
      out->allocate.extents = a->extents;
      out->allocate.element_bytes = a->element_bytes;
      out->allocate.origin = n.origin;
      out->allocate.bind = std::move(a->bind);
      out->allocate.bind.push_back(bind_buffer(n.buffer));
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::Allocate: {
      const auto& n = *s.as<Allocate>();
      auto* out = make_stmt<AllocateStatement>();
      auto a = make_allocation(n.data, n.extents, n.dtype, n.origin, {});
      out->allocate.memory = a->memory;
      out->allocate.extents = a->extents;
      out->allocate.element_bytes = a->element_bytes;
      out->allocate.origin = n.origin;
      out->allocate.bind = std::move(a->bind);
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::AllocateConst: {
      const auto& n = *s.as<AllocateConst>();
      auto* out = make_stmt<AllocateStatement>();
      auto a = make_allocation(n.data, n.extents, n.dtype, n.origin, n.bytes);
      out->allocate.memory = a->memory;
      out->allocate.extents = a->extents;
      out->allocate.element_bytes = a->element_bytes;
      out->allocate.origin = n.origin;
      out->allocate.constant = n.bytes;
      out->allocate.bind = std::move(a->bind);
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::DeclBuffer: {
      const auto& n = *s.as<DeclBuffer>();
      auto* out = make_stmt<DeclareStatement>();
      out->bind = bind_buffer(n.buffer);
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::SeqStmt: {
      auto* out = make_stmt<Sequence>();
      for (const Stmt& x : s.as<SeqStmt>()->seq) { out->items.push_back(statement(x)); }
      return out;
    }
    case NodeKind::Evaluate: {
      const auto& n = *s.as<Evaluate>();
      if (n.value.as<IntImm>()) { return make_stmt<Nothing>(); }
      auto* out = make_stmt<EvaluateStatement>();
      const auto* c = n.value.as<Call>();
      out->is_return = c && c->op == "ret";
      // Hints that compute nothing.
      if (c && (c->op == "prefetch" || c->op == "assume" || c->op == "tvm_storage_sync")) {
        if (c->op == "tvm_storage_sync") { unsupported(n.origin, "barriers between threads"); }
        return make_stmt<Nothing>();
      }
      out->value = expr(n.value);
      return out;
    }
    case NodeKind::IfThenElse: {
      const auto& n = *s.as<IfThenElse>();
      auto* out = make_stmt<Branch>();
      out->condition = int_expr(n.condition);
      out->then_case = statement(n.then_case);
      if (n.else_case) { out->else_case = statement(n.else_case); }
      return out;
    }
    case NodeKind::For: {
      const auto& n = *s.as<For>();
      auto* out = make_stmt<Loop>();
      out->name = n.var->name;
      out->min = int_expr(n.min);
      out->extent = int_expr(n.extent);
      out->slot = slot(n.var.get());
      define(n.var.get());
      // The thread index may be used by its own variable as well.
      if (n.thread && !(n.thread->var == n.var)) {
        auto* let = make_stmt<LetStatement>();
        let->slot = slot(n.thread->var.get());
        let->value = {make_int<VarRef<IntExpr, false>>(out->slot), nullptr, n.var->dtype};
        let->body = statement(n.body);
        out->body = let;
        return out;
      }
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::While: {
      const auto& n = *s.as<While>();
      auto* out = make_stmt<WhileLoop>();
      out->condition = int_expr(n.condition);
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::Break: return make_stmt<FlowStatement>(Flow::Break);
    case NodeKind::Continue: return make_stmt<FlowStatement>(Flow::Continue);
    case NodeKind::Block: {
      // A block without its realize stands for one instance of one without iter vars.
      return block(BlockRealize({}, bool_imm(true), s.ref<Block>()));
    }
    case NodeKind::BlockRealize: return block(*s.as<BlockRealize>());
#define EXPR(Kind) case NodeKind::Kind:
#define STMT(Kind)
#include "ir/nodes.def"
      break;
  }
  unsupported(s.origin(), "this statement");
  return make_stmt<Nothing>();
}

auto shape_text(const std::vector<int64_t>& shape) -> std::string {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) { out += (i ? ", " : "") + std::to_string(shape[i]); }
  return out + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

auto interpret(const IRModule& module, Name function, std::span<const Argument> arguments, const Options& options) -> Result<Stats> {
  PrimFunc func = module->find(function);
  if (!func) { return error(loopsmith::Code::InterpArgument).arg("name", function.view()).arg("why", "there is no such function"); }
  if (arguments.size() != func->params.size()) {
    return error(loopsmith::Code::InterpArgument, func->origin).arg("name", function.view())
        .arg("why", "it takes " + std::to_string(func->params.size()) + " arguments and got " + std::to_string(arguments.size()));
  }
  Compiler compiler;
  compiler.find_implicit(*func);
  // Parameters: memory for buffers, numbers for the rest; shape variables take what the arguments have.
  struct ParamBuffer { Buffer buffer; size_t index; };
  std::vector<ParamBuffer> buffers;
  for (size_t i = 0; i < func->params.size(); ++i) {
    (void)compiler.slot(func->params[i].get());
    compiler.define(func->params[i].get());
    if (Buffer b = func->buffer_of(func->params[i])) { buffers.push_back({b, i}); }
  }
  struct SetVar { uint32_t slot; int64_t value; };
  std::vector<SetVar> sets;
  std::vector<std::pair<const IntExpr*, int64_t>> expectations;
  std::vector<std::string> expectation_names;
  auto misfit = [&](size_t i, const std::string& why) {
    return error(loopsmith::Code::InterpArgument, func->params[i]->origin).arg("name", func->params[i]->name.view()).arg("why", why);
  };
  for (const ParamBuffer& p : buffers) {
    const auto* view = std::get_if<TensorView>(&arguments[p.index]);
    if (!view) { return misfit(p.index, "it is a buffer and got a number"); }
    if (!(view->dtype == p.buffer->dtype)) { return misfit(p.index, "its elements are " + p.buffer->dtype.str() + " and it got " + view->dtype.str()); }
    if (view->shape.size() != p.buffer->shape.size()) {
      return misfit(p.index, "it has " + std::to_string(p.buffer->shape.size()) + " dimensions and got shape " + shape_text(view->shape));
    }
    std::vector<int64_t> strides(view->shape.size());
    int64_t stride = 1;
    for (size_t d = view->shape.size(); d-- > 0;) { strides[d] = stride; stride *= view->shape[d]; }
    auto match = [&](const Expr& e, int64_t value) {
      if (const auto* v = e.as<VarNode>(); v && !compiler.is_defined(v)) {
        compiler.define(v);
        sets.push_back({compiler.slot(v), value});
        return;
      }
      expectations.emplace_back(compiler.int_expr(e), value);
      expectation_names.push_back(p.buffer->name.str());
    };
    for (size_t d = 0; d < view->shape.size(); ++d) { match(p.buffer->shape[d], view->shape[d]); }
    for (size_t d = 0; d < p.buffer->strides.size(); ++d) {
      if (view->shape[d] != 1 || p.buffer->strides[d].as<VarNode>()) { match(p.buffer->strides[d], strides[d]); }
    }
    if (p.buffer->elem_offset) { match(p.buffer->elem_offset, 0); }
  }
  std::vector<BindBuffer> binds;
  for (const ParamBuffer& p : buffers) {
    binds.push_back(compiler.bind_buffer(p.buffer));
    for (BindBuffer& b : compiler.implicit_of(p.buffer->data.get())) { binds.push_back(std::move(b)); }
  }
  for (const Var& param : func->params) {
    for (BindBuffer& b : compiler.implicit_of(param.get())) { binds.push_back(std::move(b)); }
  }
  const Statement* body = compiler.statement(func->body);
  if (!compiler.errors.empty()) { return std::move(compiler.errors); }

  Frame frame;
  frame.options = &options;
  frame.slots.resize(compiler.slot_count);
  frame.memories.resize(compiler.slot_count, nullptr);
  frame.bindings.resize(compiler.binding_count);
  if (options.max_steps > 0) { frame.step_limit = options.max_steps; }
  if (options.max_seconds > 0) {
    frame.deadline = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(options.max_seconds));
  }
  std::deque<Memory> memories;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const VarNode* param = func->params[i].get();
    if (const auto* view = std::get_if<TensorView>(&arguments[i])) {
      Buffer buffer = func->buffer_of(func->params[i]);
      memories.emplace_back();
      memories.back().data = static_cast<char*>(view->data);
      memories.back().bytes = view->bytes();
      frame.memories[compiler.slot(buffer ? buffer->data.get() : param)] = &memories.back();
      frame.memories[compiler.slot(param)] = &memories.back();
    } else if (param->dtype.is_real()) {
      const auto* real = std::get_if<double>(&arguments[i]);
      double value = real ? *real : static_cast<double>(std::get<int64_t>(arguments[i]));
      frame.slots[compiler.slot(param)].f = round_to(param->dtype, value);
    } else {
      const auto* integer = std::get_if<int64_t>(&arguments[i]);
      if (!integer) { return misfit(i, "it is an integer and got a real number"); }
      frame.slots[compiler.slot(param)].i = wrap_to(param->dtype, *integer);
    }
  }
  for (const SetVar& s : sets) { frame.slots[s.slot].i = s.value; }
  for (size_t i = 0; i < expectations.size(); ++i) {
    int64_t wanted = expectations[i].first->eval(frame);
    if (wanted != expectations[i].second) {
      return error(loopsmith::Code::InterpArgument, func->origin).arg("name", expectation_names[i])
          .arg("why", "an extent or stride is " + std::to_string(expectations[i].second) + " where " + std::to_string(wanted) + " is declared");
    }
  }
  for (const BindBuffer& b : binds) { b.run(frame); }
  body->run(frame);
  if (frame.failed) { return std::move(frame.errors); }
  return std::move(frame.stats);
}

auto count_instances(const IRModule& module, Name function, int64_t unknown) -> double {
  PrimFunc func = module->find(function);
  if (!func) { return 0; }
  double total = 0;
  std::function<void(const Stmt&, double)> walk = [&](const Stmt& s, double times) {
    if (const auto* loop = s.as<For>()) {
      walk(loop->body, times * static_cast<double>(as_int(loop->extent).value_or(unknown)));
      return;
    }
    if (const auto* realize = s.as<BlockRealize>()) {
      total += times;
      walk(realize->block->body, times);
      return;
    }
    if (s.as<BufferStore>() && root_block(func) == nullptr) { total += times; }
    visit_children(s, [](const Expr&) {}, [&](const Stmt& child) { walk(child, times); });
  };
  walk(func->body, 1);
  return total;
}

}  // namespace loopsmith::interp
