// Makes vector code from loops: see vectorize_loop.h.
#include "transform/vectorize_loop.h"

#include <numeric>
#include <unordered_set>

#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/scoped_value.h"
#include "transform/fold.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

// True for intrinsics that work lane by lane and cannot fail.
auto works_by_lane(Name op) -> bool {
  static const std::unordered_set<Name> names = [] {
    std::unordered_set<Name> out;
    for (const char* n : {"exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "tanh", "sigmoid", "sin", "cos", "tan",
                          "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2", "erf", "pow", "fabs", "abs", "floor",
                          "ceil", "round", "trunc", "nearbyint", "fma", "fmod", "copysign", "hypot", "ldexp", "nextafter", "isnan", "isinf",
                          "isfinite", "popcount", "clz", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left",
                          "shift_right", "reinterpret", "likely", "q_multiply_shift"}) {
      out.insert(Name(n));
    }
    return out;
  }();
  return names.count(op) != 0;
}


// Turns `lanes` iterations var = base + 0, base + 1, ... into vector code.
class Vectorizer : public Mutator {
 public:
  Vectorizer(Var var, Expr base, int lanes, bool masked) : var_(std::move(var)), base_(std::move(base)), lanes_(lanes), masked_(masked) {
    ramp_ = make<Ramp>(base_, one(base_.dtype()), int_imm(lanes_));
  }
  using Mutator::mutate;
  using Mutator::on;

  /// Vector code, or a loop over the lanes where that is impossible.
  auto statement(const Stmt& stmt) -> Stmt {
    // A mask cannot express a jump in only some lanes.
    if (mask_ && jumps_out_of(stmt).any() && !FAULT(vector_jump_lost)) {
      failed_ = true;
      return stmt;
    }
    if (!depends(stmt)) {
      // All active lanes have the same effect. Once is enough, unless the statement reads its own result or has another effect.
      if (is_idempotent(stmt) && (!mask_ || first_lane_)) { return fold(stmt); }
      if (mask_) {
        failed_ = true;
        return stmt;
      }
      return scalarized(stmt);
    }
    bool outer = std::exchange(failed_, false);
    Stmt out = mutate(stmt);
    bool failed = std::exchange(failed_, outer);
    if (!failed) { return out; }
    // Under a mask or a vector let, the serial loop must contain that statement. It must not be between a jump and its target either.
    if (mask_ || !lets_.empty() || jumps_out_of(stmt).any()) {
      failed_ = true;
      return stmt;
    }
    return scalarized(stmt);
  }

  auto on(const VarNode& n) -> Expr override {
    if (&n == var_.get()) { return ramp_; }
    auto let = lets_.find(&n);
    return let == lets_.end() ? self(n) : Expr(let->second);
  }

#define ARITHMETIC(Kind)                                                                  \
  auto on(const Kind& n) -> Expr override {                                               \
    Expr a = mutate(n.a);                                                                 \
    Expr b = mutate(n.b);                                                                 \
    if (a.same_as(n.a) && b.same_as(n.b)) { return self(n); }                             \
    widen(a, b);                                                                          \
    return make<Kind>(std::move(a), std::move(b), n.origin);                              \
  }
  ARITHMETIC(Min)
  ARITHMETIC(Max)
  ARITHMETIC(EQ)
  ARITHMETIC(NE)
  ARITHMETIC(LT)
  ARITHMETIC(LE)
  ARITHMETIC(GT)
  ARITHMETIC(GE)
  ARITHMETIC(And)
  ARITHMETIC(Or)
#undef ARITHMETIC
  auto on(const Add& n) -> Expr override {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    if (a.same_as(n.a) && b.same_as(n.b)) { return self(n); }
    const auto* ra = a.as<Ramp>();
    const auto* rb = b.as<Ramp>();
    if (ra && b.dtype().is_scalar()) { return make<Ramp>(add(ra->base, b), ra->stride, ra->lanes, n.origin); }
    if (rb && a.dtype().is_scalar()) { return make<Ramp>(add(a, rb->base), rb->stride, rb->lanes, n.origin); }
    if (ra && rb) { return make<Ramp>(add(ra->base, rb->base), add(ra->stride, rb->stride), ra->lanes, n.origin); }
    widen(a, b);
    return make<Add>(std::move(a), std::move(b), n.origin);
  }
  auto on(const Sub& n) -> Expr override {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    if (a.same_as(n.a) && b.same_as(n.b)) { return self(n); }
    const auto* ra = a.as<Ramp>();
    const auto* rb = b.as<Ramp>();
    if (ra && b.dtype().is_scalar()) { return make<Ramp>(sub(ra->base, b), ra->stride, ra->lanes, n.origin); }
    if (rb && a.dtype().is_scalar()) { return make<Ramp>(sub(a, rb->base), sub(zero(rb->stride.dtype()), rb->stride), rb->lanes, n.origin); }
    widen(a, b);
    return make<Sub>(std::move(a), std::move(b), n.origin);
  }
  auto on(const Mul& n) -> Expr override {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    if (a.same_as(n.a) && b.same_as(n.b)) { return self(n); }
    const auto* ra = a.as<Ramp>();
    const auto* rb = b.as<Ramp>();
    if (ra && b.dtype().is_scalar()) { return make<Ramp>(mul(ra->base, b), mul(ra->stride, b), ra->lanes, n.origin); }
    if (rb && a.dtype().is_scalar()) { return make<Ramp>(mul(a, rb->base), mul(a, rb->stride), rb->lanes, n.origin); }
    widen(a, b);
    return make<Mul>(std::move(a), std::move(b), n.origin);
  }
  auto on(const Div& n) -> Expr override { return divide(n); }
  auto on(const Mod& n) -> Expr override { return divide(n); }
  auto on(const FloorDiv& n) -> Expr override {
    // All lanes of a ramp may have the same quotient: (8 * x + [0 .. 7]) // 8 is x.
    if (auto part = aligned(n.a, n.b)) { return part->quotient; }
    return divide(n);
  }
  auto on(const FloorMod& n) -> Expr override {
    if (auto part = aligned(n.a, n.b)) { return make<Ramp>(part->first, part->stride, int_imm(lanes_), n.origin); }
    return divide(n);
  }
  auto on(const Not& n) -> Expr override {
    Expr a = mutate(n.a);
    return a.same_as(n.a) ? self(n) : Expr(make<Not>(std::move(a), n.origin));
  }
  auto on(const Cast& n) -> Expr override {
    Expr value = mutate(n.value);
    if (value.same_as(n.value)) { return self(n); }
    if (const auto* ramp = value.as<Ramp>(); ramp && n.dtype.is_int() && n.dtype.bits >= value.dtype().bits) {
      DataType scalar = n.dtype.element();
      return make<Ramp>(cast(scalar, ramp->base), cast(scalar, ramp->stride), ramp->lanes, n.origin);
    }
    return make<Cast>(n.dtype.with_lanes(value.dtype().lanes), std::move(value), n.origin);
  }
  auto on(const Select& n) -> Expr override {
    Expr c = mutate(n.condition);
    Expr t = mutate(n.true_value);
    Expr f = mutate(n.false_value);
    if (c.same_as(n.condition) && t.same_as(n.true_value) && f.same_as(n.false_value)) { return self(n); }
    widen(t, f);
    if (c.dtype().is_vector()) { t = wide(t); f = wide(f); }
    return make<Select>(t.dtype().is_vector() ? wide(std::move(c)) : std::move(c), std::move(t), std::move(f), n.origin);
  }
  auto on(const Ramp& n) -> Expr override { return failing(n, n.base, n.stride); }
  auto on(const Broadcast& n) -> Expr override { return failing(n, n.value, n.value); }
  auto on(const Shuffle& n) -> Expr override { return fail(self(n)); }
  auto on(const Reduce& n) -> Expr override { return fail(self(n)); }
  auto on(const Let& n) -> Expr override {
    Expr value = mutate(n.value);
    if (value.same_as(n.value)) {
      Expr body = mutate(n.body);
      return body.same_as(n.body) ? self(n) : Expr(make<Let>(n.var, std::move(value), std::move(body), n.origin));
    }
    Var wide_var = make<VarNode>(n.var->name, value.dtype(), n.var->origin);
    lets_[n.var.get()] = wide_var;
    Expr body = mutate(n.body);
    lets_.erase(n.var.get());
    return make<Let>(std::move(wide_var), std::move(value), std::move(body), n.origin);
  }
  auto on(const BufferLoad& n) -> Expr override {
    if (n.predicate || n.indices.size() != 1) { return fail(self(n)); }
    Expr index = mutate(n.indices[0]);
    if (index.dtype().is_scalar()) {
      // All lanes load the same element. Under a mask, where possibly no lane is active, it becomes a masked vector load.
      if (!mask_ || first_lane_) { return index.same_as(n.indices[0]) ? self(n) : Expr(make<BufferLoad>(n.buffer, Array<Expr>{index}, n.origin)); }
      index = wide(std::move(index));
    }
    if (n.buffer->dtype.is_vector()) { return fail(self(n)); }
    return make<BufferLoad>(n.buffer, Array<Expr>{std::move(index)}, n.origin, mask_);
  }
  auto on(const Call& n) -> Expr override {
    static const Name if_then_else_name("if_then_else");
    if (n.op == if_then_else_name && n.args.size() == 3) { return on_if_then_else(n); }
    Array<Expr> args = mutate(n.args);
    if (args.same_as(n.args)) {
      if (mask_ && !works_by_lane(n.op)) { return fail(self(n)); }
      return self(n);
    }
    if (!works_by_lane(n.op)) { return fail(self(n)); }
    static const Name q_multiply_shift("q_multiply_shift");
    std::vector<Expr> wide_args;
    for (size_t i = 0; i < args.size(); ++i) { wide_args.push_back(n.op == q_multiply_shift && i > 1 ? args[i] : wide(args[i])); }
    return make<Call>(n.dtype.with_lanes(lanes_), n.op, Array<Expr>(std::move(wide_args)), n.origin);
  }

  auto on(const BufferStore& n) -> Stmt override {
    if (n.predicate || n.indices.size() != 1 || n.buffer->dtype.is_vector()) { return fail(self(n)); }
    Expr value = mutate(n.value);
    Expr index = mutate(n.indices[0]);
    // All lanes store to the same element: the last one counts, and each may read the store of the one before it.
    if (index.dtype().is_scalar()) { return fail(self(n)); }
    return make<BufferStore>(n.buffer, wide(std::move(value)), Array<Expr>{std::move(index)}, n.origin, FAULT(vector_mask_lost) ? Expr() : mask_);
  }
  auto on(const SeqStmt& n) -> Stmt override {
    std::vector<Stmt> out;
    for (const Stmt& s : n.seq) { out.push_back(statement(s)); }
    return seq(std::move(out), n.origin);
  }
  auto on(const IfThenElse& n) -> Stmt override {
    Condition c = split(n.condition);
    if (!c.lanes) {
      Stmt then_case = statement(n.then_case);
      Stmt else_case = n.else_case ? statement(n.else_case) : Stmt();
      return make<IfThenElse>(std::move(c.scalar), std::move(then_case), std::move(else_case), n.origin);
    }
    if (!masked_ || (n.else_case && writes_what(n.then_case, n.condition))) { return fail(self(n)); }
    if (n.else_case) {
      Expr all = c.scalar ? Expr(make<And>(wide(c.scalar), c.lanes)) : c.lanes;
      Stmt then_case = under(all, false, n.then_case);
      Stmt else_case = under(make<Not>(all), false, n.else_case);
      return seq({std::move(then_case), std::move(else_case)}, n.origin);
    }
    // The part of the condition that is the same for all lanes stays a branch; only the rest becomes a mask.
    Stmt out = under(c.lanes, bool(c.first), n.then_case);
    Expr guard = c.scalar && c.first ? Expr(make<And>(c.scalar, c.first)) : c.scalar ? c.scalar : c.first;
    return guard ? Stmt(make<IfThenElse>(std::move(guard), std::move(out), Stmt(), n.origin)) : out;
  }
  auto on(const LetStmt& n) -> Stmt override {
    Expr value = mutate(n.value);
    if (value.dtype().lanes == n.value.dtype().lanes) {
      return make<LetStmt>(n.var, std::move(value), statement(n.body), n.origin);
    }
    Var wide_var = make<VarNode>(n.var->name, value.dtype(), n.var->origin);
    lets_[n.var.get()] = wide_var;
    Stmt body = statement(n.body);
    lets_.erase(n.var.get());
    return make<LetStmt>(std::move(wide_var), std::move(value), std::move(body), n.origin);
  }
  auto on(const For& n) -> Stmt override {
    Expr min = mutate(n.min);
    Expr extent = mutate(n.extent);
    if (min.dtype().is_vector() || extent.dtype().is_vector() || n.for_kind == ForKind::Parallel) { return fail(self(n)); }
    Stmt body = statement(n.body);
    return make<For>(n.var, std::move(min), std::move(extent), n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
  }
  auto on(const AttrStmt& n) -> Stmt override {
    return make<AttrStmt>(n.node, n.key, n.value, statement(n.body), n.origin);
  }
  auto on(const DeclBuffer& n) -> Stmt override { return make<DeclBuffer>(n.buffer, statement(n.body), n.origin); }
  auto on(const Allocate& n) -> Stmt override { return fail(self(n)); }
  auto on(const AllocateConst& n) -> Stmt override { return fail(self(n)); }
  auto on(const AssertStmt& n) -> Stmt override { return fail(self(n)); }
  auto on(const Evaluate& n) -> Stmt override { return fail(self(n)); }
  auto on(const While& n) -> Stmt override { return fail(self(n)); }
  auto on(const Break& n) -> Stmt override { return fail(self(n)); }
  auto on(const Continue& n) -> Stmt override { return fail(self(n)); }
  auto on(const BufferRealize& n) -> Stmt override { return fail(self(n)); }
  auto on(const Block& n) -> Stmt override { return fail(self(n)); }
  auto on(const BlockRealize& n) -> Stmt override { return fail(self(n)); }

 private:
  template <class T> auto fail(T node) -> T {
    failed_ = true;
    return node;
  }
  template <class N> auto failing(const N& n, const Expr& a, const Expr& b) -> Expr {
    bool kept = mutate(a).same_as(a) && mutate(b).same_as(b);
    return kept ? self(n) : fail(self(n));
  }
  auto depends(const Stmt& stmt) const -> bool {
    return uses_var(stmt, [&](const VarNode& v) { return &v == var_.get() || lets_.count(&v) != 0; });
  }
  auto wide(Expr e) const -> Expr {
    if (e.dtype().is_vector()) { return e; }
    Origin origin = e.origin();
    return make<Broadcast>(std::move(e), int_imm(lanes_), origin);
  }
  void widen(Expr& a, Expr& b) const {
    if (a.dtype().is_vector()) { b = wide(std::move(b)); }
    else if (b.dtype().is_vector()) { a = wide(std::move(a)); }
  }
  static auto without_likely(Expr e) -> Expr {
    static const Name likely("likely");
    const auto* call = e.as<Call>();
    return call && call->op == likely ? Expr(call->args[0]) : e;
  }
  template <class N> auto divide(const N& n) -> Expr {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    if (a.same_as(n.a) && b.same_as(n.b)) {
      if (mask_ && n.dtype.is_integral() && !(as_int(n.b) && !is_zero(n.b))) { return fail(self(n)); }
      return self(n);
    }
    // The mask may exclude a zero divisor.
    if (mask_ && n.dtype.is_integral() && !(as_int(b) && !is_zero(b))) { return fail(self(n)); }
    widen(a, b);
    return make<N>(std::move(a), std::move(b), n.origin);
  }
  // Lanes that all lie between two multiples of the divisor c have the same quotient, and a ramp of remainders. This is the case if the
  // first lane is g * x + r, g divides c, and r plus the lanes stay below g: (8 * x + [0 .. 7]) // 32 is 8 * x // 32, and the remainders
  // begin at 8 * x % 32.
  struct Between { Expr quotient, first, stride; };
  auto aligned(const Expr& e, const Expr& divisor) -> std::optional<Between> {
    auto c = as_int(divisor);
    if (!c || *c <= 0) { return {}; }
    Expr a = mutate(e);
    const auto* ramp = a.as<Ramp>();
    auto stride = ramp != nullptr ? as_int(ramp->stride) : std::nullopt;
    if (!stride || *stride <= 0 || *stride >= *c) { return {}; }
    Sum sum{.step = *c, .quotient = zero(e.dtype())};
    take_terms(ramp->base, *c, sum);
    int64_t first = ((sum.rest % sum.step) + sum.step) % sum.step;
    if (first + (lanes_ - 1) * *stride >= sum.step) { return {}; }
    if (sum.step < *c) { return Between{floordiv(ramp->base, divisor), floormod(ramp->base, divisor), ramp->stride}; }
    return Between{add(sum.quotient, constant_int(e.dtype(), (sum.rest - first) / *c)), constant_int(e.dtype(), first), ramp->stride};
  }
  // A sum c * quotient + rest + a multiple of `step`, where `step` divides c.
  struct Sum {
    int64_t step;
    Expr quotient;
    int64_t rest = 0;
  };
  static void take_terms(const Expr& e, int64_t c, Sum& sum) {
    if (auto value = as_int(e)) {
      sum.rest += *value;
      return;
    }
    if (const auto* both = e.as<Add>()) {
      take_terms(both->a, c, sum);
      take_terms(both->b, c, sum);
      return;
    }
    int64_t factor = 1;
    Expr other = e;
    if (const auto* product = e.as<Mul>()) {
      auto right = as_int(product->b);
      auto left = as_int(product->a);
      factor = right ? *right : left ? *left : 1;
      other = right ? product->a : left ? product->b : e;
    }
    if (factor % c == 0) {
      sum.quotient = add(sum.quotient, mul(other, constant_int(e.dtype(), factor / c)));
    } else {
      sum.step = std::gcd(sum.step, factor);
    }
  }
  auto on_if_then_else(const Call& n) -> Expr {
    Expr condition = mutate(n.args[0]);
    if (condition.dtype().is_scalar()) {
      Expr t = mutate(n.args[1]);
      Expr f = mutate(n.args[2]);
      if (condition.same_as(n.args[0]) && t.same_as(n.args[1]) && f.same_as(n.args[2])) { return self(n); }
      widen(t, f);
      DataType dtype = t.dtype();
      return make<Call>(dtype, n.op, Array<Expr>{std::move(condition), std::move(t), std::move(f)}, n.origin);
    }
    if (!masked_) { return fail(self(n)); }
    condition = without_likely(std::move(condition));
    Condition parts = split(n.args[0]);
    if (parts.scalar) {
      // `a and lanes`: a selects for all lanes at once; under it each lane selects.
      Expr t = under_value(parts.lanes, n.args[1]);
      Expr f = under_value(make<Not>(parts.lanes), n.args[2]);
      Expr none = mutate(n.args[2]);
      Expr chosen = make<Select>(parts.lanes, wide(std::move(t)), wide(std::move(f)), n.origin);
      DataType dtype = chosen.dtype();
      return make<Call>(dtype, n.op, Array<Expr>{parts.scalar, std::move(chosen), wide(std::move(none))}, n.origin);
    }
    Expr t = under_value(condition, n.args[1]);
    Expr f = under_value(make<Not>(condition), n.args[2]);
    return make<Select>(std::move(condition), wide(std::move(t)), wide(std::move(f)), n.origin);
  }
  // A condition in parts: `scalar` is the same for all lanes, `lanes` is not. `first`, if it is known, is a scalar
  // condition that holds exactly if `lanes` holds for the first lane; no later lane is then active without it.
  struct Condition { Expr scalar, lanes, first; };
  auto split(const Expr& condition) -> Condition {
    Condition out;
    bool ordered = true;
    split(condition, out, ordered);
    if (!ordered) { out.first = {}; }
    return out;
  }
  void split(const Expr& condition, Condition& out, bool& ordered) {
    Expr plain = without_likely(condition);
    if (const auto* both = plain.as<And>()) {
      split(both->a, out, ordered);
      split(both->b, out, ordered);
      return;
    }
    Expr part = mutate(plain);
    auto join = [](Expr& to, Expr e) { to = to ? Expr(make<And>(to, e)) : std::move(e); };
    if (part.dtype().is_scalar()) {
      join(out.scalar, std::move(part));
      return;
    }
    auto at_first = [&](const Expr& a, const Expr& b) -> Expr {
      const auto* ramp = a.as<Ramp>();
      const auto* limit = b.as<Broadcast>();
      if (!ramp || !limit || as_int(ramp->stride).value_or(-1) < 0) { return {}; }
      return ramp->base;
    };
    Expr first;
    if (const auto* lt = part.as<LT>()) {
      if (Expr base = at_first(lt->a, lt->b)) { first = less(base, lt->b.as<Broadcast>()->value); }
    } else if (const auto* le = part.as<LE>()) {
      if (Expr base = at_first(le->a, le->b)) { first = less_equal(base, le->b.as<Broadcast>()->value); }
    }
    if (first) { join(out.first, std::move(first)); } else { ordered = false; }
    join(out.lanes, std::move(part));
  }
  auto combine(const Expr& condition) const -> Expr { return mask_ ? Expr(make<And>(mask_, condition)) : condition; }
  auto under_value(const Expr& condition, const Expr& value) -> Expr {
    ScopedValue mask(mask_, combine(condition));
    ScopedValue first(first_lane_, false);
    return mutate(value);
  }
  // `first_lane`: the first lane is known to be active.
  auto under(const Expr& condition, bool first_lane, const Stmt& stmt) -> Stmt {
    first_lane = first_lane && (!mask_ || first_lane_);
    ScopedValue mask(mask_, combine(condition));
    ScopedValue first(first_lane_, first_lane);
    return depends(stmt) ? statement(stmt) : fail(stmt);
  }
  static auto writes_what(const Stmt& stmt, const Expr& condition) -> bool {
    std::unordered_set<const VarNode*> read;
    post_order(condition, [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { read.insert(load->buffer->data.get()); } });
    if (read.empty()) { return false; }
    bool found = false;
    post_order(
        stmt, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { found = found || read.count(store->buffer->data.get()); } },
        [](const Expr&) {});
    return found;
  }
  // True for statements whose repetition changes nothing: they read no memory that they write, and call no functions.
  static auto is_idempotent(const Stmt& stmt) -> bool {
    std::unordered_set<const VarNode*> read, written;
    bool plain = true;
    post_order(
        stmt,
        [&](const Stmt& s) {
          if (const auto* store = s.as<BufferStore>()) { written.insert(store->buffer->data.get()); }
          if (s.as<Evaluate>() || s.as<While>() || s.as<AssertStmt>()) { plain = plain && is_no_op(s); }
        },
        [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { read.insert(load->buffer->data.get()); } });
    for (const VarNode* data : written) { plain = plain && !read.count(data); }
    return plain;
  }
  auto scalarized(const Stmt& stmt) -> Stmt {
    Var lane = var(var_->name, var_->dtype, var_->origin);
    VarMap map{{var_.get(), add(base_, Expr(lane))}};
    if (is_zero(base_)) { map[var_.get()] = lane; }
    Stmt body = fold(stmt, map, /*copy=*/true);
    return make<For>(lane, zero(lane->dtype), constant_int(lane->dtype, lanes_), ForKind::Serial, std::move(body), std::optional<IterVar>(),
                     AttrMap(), stmt.origin());
  }

  Var var_;
  Expr base_;
  Expr ramp_;
  int lanes_;
  bool masked_;
  bool failed_ = false;
  Expr mask_;
  bool first_lane_ = false;   // the first lane is active under the mask
  std::unordered_map<const VarNode*, Var> lets_;
};

auto largest_power(int64_t limit) -> int64_t {
  int64_t power = 1;
  while (power <= limit / 2) { power *= 2; }
  return power;
}

class VectorizeLoops : public Mutator {
 public:
  explicit VectorizeLoops(const LowerOptions& options) : options_(options) {}
  using Mutator::on;

  auto on(const For& n) -> Stmt override {
    if (n.for_kind != ForKind::Vectorized) { return Mutator::on(n); }
    // Inner vectorized loops come first; the outer one then contains vectors, and stays a loop around them.
    Stmt body = mutate(n.body);
    auto extent = as_int(n.extent);
    // Lanes run together: a jump that skips the rest of an iteration, or later ones, needs a serial loop.
    if (!options_.vectorize || !extent || *extent <= 1 || (jumps_out_of(n.body).any() && !FAULT(vector_jump_lost))) { return serial(n, std::move(body)); }
    std::vector<Stmt> parts;
    for (int64_t done = 0; done < *extent && !(FAULT(vector_tail_lost) && done > 0);) {
      int64_t lanes = std::min<int64_t>(largest_power(*extent - done), largest_power(options_.max_lanes));
      int64_t chunks = (*extent - done) / lanes;
      Expr start = add(n.min, constant_int(n.var->dtype, done));
      // Each part declares its own inner loops.
      if (done > 0) { body = fold(body, {}, /*copy=*/true); }
      if (lanes == 1) {
        parts.push_back(fold(body, {{n.var.get(), start}}, true));
      } else if (chunks == 1) {
        parts.push_back(Vectorizer(n.var, start, static_cast<int>(lanes), options_.masked_memory).statement(body));
      } else {
        Var chunk = var(Name(n.var->name.str() + "_o"), n.var->dtype, n.var->origin);
        Expr base = add(start, mul(Expr(chunk), constant_int(chunk->dtype, FAULT(vector_chunks_overlap) ? lanes - 1 : lanes)));
        Stmt inner = Vectorizer(n.var, base, static_cast<int>(lanes), options_.masked_memory).statement(body);
        ForKind kind = chunks <= 8 ? ForKind::Unrolled : ForKind::Serial;
        parts.push_back(make<For>(chunk, zero(chunk->dtype), constant_int(chunk->dtype, chunks), kind, std::move(inner),
                                  std::optional<IterVar>(), AttrMap(), n.origin));
      }
      done += chunks * lanes;
    }
    return seq(std::move(parts), n.origin);
  }

 private:
  static auto serial(const For& n, Stmt body) -> Stmt {
    return make<For>(n.var, n.min, n.extent, ForKind::Serial, std::move(body), n.thread, n.annotations, n.origin, n.id);
  }
  const LowerOptions& options_;
};

}  // namespace

auto vectorize_loop(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> {
    return with_body(func, VectorizeLoops(context.options).mutate(func->body));
  });
}

}  // namespace loopsmith::transform
