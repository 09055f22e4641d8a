// Operations by kind, arithmetic intensity: see arithmetic.h.
#include "tune/metaschedule/features/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "arith/purity.h"
#include "ir/visitor.h"

namespace loopsmith::tune::metaschedule {
namespace {

// Operators that TVM registers as pure and that our provers leave alone.
constexpr std::array<std::string_view, 9> further_pure_calls = {"address_of", "call_llvm_pure_intrin", "call_pure_extern", "call_spirv_pure_glsl450", "dp4a",
                                                                 "get_active_lane_mask", "q_multiply_shift_per_axis", "vectorhigh", "vectorlow"};

// A call of an operator without effect; its arguments may have effects.
auto is_pure_call(const Call& n) -> bool {
  return std::find(further_pure_calls.begin(), further_pure_calls.end(), n.op.view()) != further_pure_calls.end() || arith::is_pure(make<Call>(n.dtype, n.op, Array<Expr>()));
}

class Count : public Visitor {
 public:
  using Visitor::on;
  Arithmetic out;
  explicit Count(int64_t iterations) : iterations_(iterations) {}

  void on(const Add& n) override { binary(n, &Arithmetic::OfType::add_sub); }
  void on(const Sub& n) override { binary(n, &Arithmetic::OfType::add_sub); }
  void on(const Mul& n) override { binary(n, &Arithmetic::OfType::mul); }
  void on(const Div& n) override { binary(n, &Arithmetic::OfType::div_mod); }
  void on(const Mod& n) override { binary(n, &Arithmetic::OfType::div_mod); }
  void on(const FloorDiv& n) override { binary(n, &Arithmetic::OfType::div_mod); }
  void on(const FloorMod& n) override { binary(n, &Arithmetic::OfType::div_mod); }
  void on(const Min& n) override { binary(n, &Arithmetic::OfType::compare); }
  void on(const Max& n) override { binary(n, &Arithmetic::OfType::compare); }
  // The type of a comparison is bool, so comparisons of reals count as integer ones.
  void on(const EQ& n) override { binary(n, &Arithmetic::OfType::compare); }
  void on(const NE& n) override { binary(n, &Arithmetic::OfType::compare); }
  void on(const LT& n) override { binary(n, &Arithmetic::OfType::compare); }
  void on(const LE& n) override { binary(n, &Arithmetic::OfType::compare); }
  void on(const GT& n) override { binary(n, &Arithmetic::OfType::compare); }
  void on(const GE& n) override { binary(n, &Arithmetic::OfType::compare); }
  void on(const And& n) override { simple(n, out.boolean); }
  void on(const Or& n) override { simple(n, out.boolean); }
  void on(const Not& n) override { simple(n, out.boolean); }
  void on(const Select& n) override { simple(n, out.select); }
  void on(const Call& n) override {
    Arithmetic::OfType& of = of_type(n.dtype);
    (is_pure_call(n) ? of.math_call : of.other_call) += iterations_;
    Visitor::on(n);
  }

 private:
  auto of_type(DataType type) -> Arithmetic::OfType& { return type.is_float() ? out.real : out.integer; }
  template <class T>
  void binary(const T& n, int64_t Arithmetic::OfType::* counter) {
    of_type(n.dtype).*counter += iterations_;
    Visitor::on(n);
  }
  template <class T>
  void simple(const T& n, int64_t& counter) {
    counter += iterations_;
    Visitor::on(n);
  }
  int64_t iterations_;
};

}  // namespace

auto is_pure_value(const Expr& value) -> bool {
  bool pure = true;
  post_order(value, [&](const Expr& e) {
    const auto* call = e.as<Call>();
    pure = pure && e.kind() != NodeKind::BufferLoad && (!call || is_pure_call(*call));
  });
  return pure;
}

auto log_scale(double x) -> double { return std::log2(std::abs(x) + 1); }

auto arithmetic_of(const Expr& value, int64_t iterations) -> Arithmetic {
  Count count(iterations);
  count.visit(value);
  return count.out;
}

auto Arithmetic::flops() const -> double {
  return static_cast<double>(real.multiply_add + real.add_sub + real.mul + real.div_mod + real.compare + real.math_call + real.other_call);
}

void Arithmetic::export_to(std::vector<double>& out) const {
  for (const OfType& of : {real, integer}) {
    for (int64_t n : {of.multiply_add, of.add_sub, of.mul, of.div_mod, of.compare, of.math_call, of.other_call}) { out.push_back(log_scale(static_cast<double>(n))); }
  }
  out.push_back(log_scale(static_cast<double>(boolean)));
  out.push_back(log_scale(static_cast<double>(select)));
}

auto intensity_curve(const Arithmetic& arithmetic, const LoopNest& nest, const std::vector<int64_t>& bytes, size_t samples) -> std::vector<double> {
  std::vector<double> out(samples, 0.0);
  size_t count = nest.loops.size();
  double ops = arithmetic.flops() / static_cast<double>(nest.product);
  std::vector<double> operations, memory;   // of the innermost loop first
  for (size_t i = count; i-- > 0;) {
    ops *= static_cast<double>(extent_of(*nest.loops[i]).value_or(1));
    operations.push_back(ops);
    memory.push_back(static_cast<double>(bytes[i]));
  }
  if (operations.empty() || !(ops > 0)) { return out; }
  constexpr double tolerance = 1e-4;
  size_t p = 0;
  for (size_t i = 0; i < samples; ++i) {
    double wanted = static_cast<double>(i + 1) / static_cast<double>(samples) * ops;
    while (p + 1 < count && operations[p] < wanted - tolerance) { ++p; }
    if (p == 0) {
      out[i] = log_scale(operations[0] / memory[0]);
      continue;
    }
    double base = operations[p - 1] / memory[p - 1];
    double slope = (operations[p] / memory[p] - base) / (operations[p] - operations[p - 1]);
    out[i] = log_scale(base + slope * (wanted - operations[p - 1]));
  }
  return out;
}

}  // namespace loopsmith::tune::metaschedule
