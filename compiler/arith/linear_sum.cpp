// The fast path for linear sums: see linear_sum.h.
#include "arith/linear_sum.h"

#include <array>

#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

constexpr int max_nodes = 64;
constexpr size_t max_terms = 12;
constexpr int64_t max_number = int64_t{1} << 30;   // sums of numbers within it do not overflow

class LinearSum {
 public:
  explicit LinearSum(DataType dtype) : dtype_(dtype) {}

  // False for other expressions.
  auto take(const Expr& e, int64_t scale) -> bool {
    if (--nodes_ < 0 || !(e.dtype() == dtype_) || !is_small(scale)) { return false; }
    switch (e.kind()) {
      case NodeKind::VarNode: return take_term(e, scale);
      case NodeKind::IntImm: {
        int64_t value = e.as<IntImm>()->value;
        if (!is_small(value) || !is_small(value * scale)) { return false; }
        number_ += value * scale;
        return is_small(number_);
      }
      case NodeKind::Add: return take(e.as<Add>()->a, scale) && take(e.as<Add>()->b, scale);
      case NodeKind::Sub: return take(e.as<Sub>()->a, scale) && take(e.as<Sub>()->b, -scale);
      case NodeKind::Mul: {
        const auto& n = *e.as<Mul>();
        const auto* factor = n.b.as<IntImm>();
        return factor && is_small(factor->value) && take(n.a, scale * factor->value);
      }
      default: return false;
    }
  }
  // True when no rule can change the sum. Cancelled terms have been removed.
  auto is_plain(const Analyzer::State& state) -> bool {
    size_t kept = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (terms_[i].factor == 0) { continue; }
      if (terms_[i].factor < 0 || (kept > 0 && terms_[kept - 1].factor <= terms_[i].factor)) { return false; }
      const VarFacts* facts = state.find(terms_[i].var->as<VarNode>());
      if (facts && (facts->value || (facts->bound && facts->bound->min == facts->bound->max))) { return false; }
      terms_[kept++] = terms_[i];
    }
    count_ = kept;
    return number_ >= 0;
  }
  [[nodiscard]] auto has_terms_of(const LinearSum& other) const -> bool {
    if (count_ != other.count_) { return false; }
    for (size_t i = 0; i < count_; ++i) {
      if (!terms_[i].var->same_as(*other.terms_[i].var) || terms_[i].factor != other.terms_[i].factor) { return false; }
    }
    return true;
  }
  [[nodiscard]] auto number() const -> int64_t { return number_; }
  [[nodiscard]] auto expr() const -> Expr {
    Expr sum;
    for (size_t i = 0; i < count_; ++i) {
      Expr part = terms_[i].factor == 1 ? *terms_[i].var : mul(*terms_[i].var, constant_int(dtype_, terms_[i].factor));
      sum = sum ? add(std::move(sum), std::move(part)) : std::move(part);
    }
    if (!sum) { return constant_int(dtype_, number_); }
    return number_ == 0 ? sum : add(std::move(sum), constant_int(dtype_, number_));
  }

 private:
  struct Term { const Expr* var; int64_t factor; };
  static auto is_small(int64_t value) -> bool { return -max_number < value && value < max_number; }
  auto take_term(const Expr& var, int64_t scale) -> bool {
    for (size_t i = 0; i < count_; ++i) {
      if (terms_[i].var->same_as(var)) {
        terms_[i].factor += scale;
        return is_small(terms_[i].factor);
      }
    }
    if (count_ == max_terms) { return false; }
    terms_[count_++] = {&var, scale};
    return true;
  }
  DataType dtype_;
  int nodes_ = max_nodes;
  std::array<Term, max_terms> terms_;
  size_t count_ = 0;
  int64_t number_ = 0;
};

}  // namespace

auto simplified_linear_sum(const Analyzer::State& state, const Expr& expr) -> Expr {
  const DataType dtype = expr.dtype();
  if (!state.marks.empty() || state.extensions != no_extensions || !(dtype == DataType::int_(32) || dtype == DataType::int_(64))) { return {}; }
  const auto* least = expr.as<Min>();
  const auto* greatest = expr.as<Max>();
  if (least || greatest) {
    LinearSum a(dtype), b(dtype);
    if (!a.take(least ? least->a : greatest->a, 1) || !b.take(least ? least->b : greatest->b, 1) || !a.is_plain(state) || !b.is_plain(state) ||
        !a.has_terms_of(b)) {
      return {};
    }
    return ((a.number() <= b.number()) == (least != nullptr) ? a : b).expr();
  }
  LinearSum sum(dtype);
  return sum.take(expr, 1) && sum.is_plain(state) ? sum.expr() : Expr();
}

}  // namespace loopsmith::arith
