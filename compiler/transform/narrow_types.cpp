// Computes indices in 32 bits: see narrow_types.h.
#include "transform/narrow_types.h"

#include <limits>

#include "ir/ops.h"
#include "ir/rewritten_buffer.h"
#include "ir/visitor.h"
#include "transform/affine.h"

namespace loopsmith::transform {
namespace {

constexpr int64_t least = std::numeric_limits<int32_t>::min();
constexpr int64_t most = std::numeric_limits<int32_t>::max();
auto fits(int64_t v) -> bool { return v >= least && v <= most; }
auto wide() -> DataType { return DataType::int_(64); }
auto narrow() -> DataType { return DataType::int_(32); }

class Narrow : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;

  auto on(const VarNode& n) -> Expr override {
    auto found = narrowed_.find(&n);
    return found == narrowed_.end() ? self(n) : cast(wide(), found->second);
  }
  auto on(const For& n) -> Stmt override {
    auto min = as_int(n.min), extent = as_int(n.extent);
    const bool plain = n.for_kind == ForKind::Serial || n.for_kind == ForKind::Unrolled || n.for_kind == ForKind::Vectorized || n.for_kind == ForKind::Parallel;
    if (!plain || !(n.var->dtype == wide()) || !min || !extent || !fits(*min) || !fits(*extent) || !fits(*min + *extent)) {
      domains_.push(n.var.get(), n.min, n.extent);
      Stmt out = Mutator::on(n);
      domains_.pop();
      return out;
    }
    Var var = make<VarNode>(n.var->name, narrow(), n.var->origin);
    domains_.push(n.var.get(), n.min, n.extent);
    narrowed_[n.var.get()] = var;
    Stmt body = mutate(n.body);
    narrowed_.erase(n.var.get());
    domains_.pop();
    return make<For>(std::move(var), int_imm(*min), int_imm(*extent), n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
  }
  auto on(const BufferLoad& n) -> Expr override {
    Buffer buffer = use(n.buffer);
    Array<Expr> indices = all(n.indices);
    Expr predicate = n.predicate ? mutate(n.predicate) : Expr();
    if (buffer == n.buffer && indices.same_as(n.indices) && predicate.same_as(n.predicate)) { return self(n); }
    return make<BufferLoad>(std::move(buffer), std::move(indices), n.origin, std::move(predicate));
  }
  auto on(const BufferStore& n) -> Stmt override {
    Buffer buffer = use(n.buffer);
    Array<Expr> indices = all(n.indices);
    Expr value = mutate(n.value);
    Expr predicate = n.predicate ? mutate(n.predicate) : Expr();
    if (buffer == n.buffer && indices.same_as(n.indices) && value.same_as(n.value) && predicate.same_as(n.predicate)) { return self(n); }
    return make<BufferStore>(std::move(buffer), std::move(value), std::move(indices), n.origin, std::move(predicate));
  }
#define COMPARISON(Kind)                                                   \
  auto on(const Kind& n) -> Expr override {                                \
    if (!narrowed_.empty() && n.a.dtype() == wide()) {                     \
      Expr a = in_32(n.a), b = in_32(n.b);                                 \
      if (a && b) { return make<Kind>(std::move(a), std::move(b), n.origin); } \
    }                                                                      \
    return Mutator::on(n);                                                 \
  }
  COMPARISON(EQ)
  COMPARISON(NE)
  COMPARISON(LT)
  COMPARISON(LE)
  COMPARISON(GT)
  COMPARISON(GE)
#undef COMPARISON
  auto on(const Cast& n) -> Expr override {
    if (!narrowed_.empty() && n.dtype == narrow() && n.value.dtype() == wide()) {
      if (Expr value = in_32(n.value)) { return value; }
    }
    return Mutator::on(n);
  }

 protected:
  // The shape of a buffer inside of a loop may use the loop's variable. Such a buffer is replaced once.
  auto use(const Buffer& buffer) -> Buffer override {
    if (narrowed_.empty()) { return buffer; }
    auto done = buffers_.find(buffer.get());
    if (done != buffers_.end()) { return done->second; }
    Buffer out = rewritten_buffer(buffer, [&](const Expr& e) { return mutate(e); });
    return out == buffer ? buffer : buffers_.emplace(buffer.get(), std::move(out)).first->second;
  }

 private:
  auto all(const Array<Expr>& indices) -> Array<Expr> {
    if (narrowed_.empty()) { return mutate(indices); }
    std::vector<Expr> out;
    bool same = true;
    for (const Expr& e : indices) {
      Expr index = e.dtype() == wide() ? in_32(e) : Expr();
      out.push_back(index ? std::move(index) : mutate(e));
      same = same && out.back().same_as(e);
    }
    return same ? indices : Array<Expr>(std::move(out));
  }
  // The same value in 32 bits; null if a part may not fit, or uses variables other than those of loops.
  auto in_32(const Expr& e) -> Expr {
    if (auto value = as_int(e)) { return fits(*value) ? int_imm(*value, narrow(), e.origin()) : Expr(); }
    if (const auto* v = e.as<VarNode>()) {
      auto found = narrowed_.find(v);
      return found == narrowed_.end() ? Expr() : Expr(found->second);
    }
    if (const auto* c = e.as<Cast>()) { return c->value.dtype() == narrow() ? mutate(c->value) : Expr(); }
    if (const auto* n = e.as<Add>()) { return binary(*n, e); }
    if (const auto* n = e.as<Sub>()) { return binary(*n, e); }
    if (const auto* n = e.as<Mul>()) { return binary(*n, e); }
    if (const auto* n = e.as<Min>()) { return binary(*n, e); }
    if (const auto* n = e.as<Max>()) { return binary(*n, e); }
    // A quotient by a positive constant is not larger than the dividend; but -2147483648 // -1 does not fit.
    if (const auto* n = e.as<FloorDiv>()) { return as_int(n->b).value_or(0) > 0 ? binary(*n, e) : Expr(); }
    if (const auto* n = e.as<FloorMod>()) { return as_int(n->b).value_or(0) > 0 ? binary(*n, e) : Expr(); }
    return {};
  }
  template <class N> auto binary(const N& n, const Expr& e) -> Expr {
    Expr a = in_32(n.a);
    if (!a) { return {}; }
    Expr b = in_32(n.b);
    if (!b || !within(e)) { return {}; }
    return make<N>(std::move(a), std::move(b), n.origin);
  }
  auto within(const Expr& e) const -> bool {
    // Quotients, remainders, minima and maxima of numbers that fit also fit.
    if (e.as<FloorDiv>() || e.as<FloorMod>() || e.as<Min>() || e.as<Max>()) { return true; }
    Affine sum = affine_of(e);
    auto low = constant_min(sum, domains_);
    auto high = constant_max(sum, domains_);
    return low && high && fits(*low) && fits(*high);
  }

  Domains domains_;
  std::unordered_map<const VarNode*, Var> narrowed_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

}  // namespace

auto narrow_types(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  if (context.options.stay_wide) { return module; }
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Narrow().mutate(func->body)); });
}

}  // namespace loopsmith::transform
