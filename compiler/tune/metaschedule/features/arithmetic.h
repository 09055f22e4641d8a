// Operations of a stored value by kind, and the arithmetic intensity of the loops around.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/ir.h"
#include "tune/metaschedule/features/loop_nest.h"

namespace loopsmith::tune::metaschedule {

/// Numbers of operations, times the iterations of the loops around. The counts of multiply-adds stay 0, as in TVM.
struct Arithmetic {
  struct OfType { int64_t multiply_add = 0, add_sub = 0, mul = 0, div_mod = 0, compare = 0, math_call = 0, other_call = 0; };
  OfType real, integer;
  int64_t boolean = 0, select = 0;

  /// Operations on reals.
  [[nodiscard]] auto flops() const -> double;
  void export_to(std::vector<double>& out) const;
};
[[nodiscard]] auto arithmetic_of(const Expr& value, int64_t iterations) -> Arithmetic;

/// True for values without reads of memory and calls with effects, as TVM knows these.
[[nodiscard]] auto is_pure_value(const Expr& value) -> bool;

/// Samples of the curve of operations per byte touched, against operations: from the innermost loop to all loops. `bytes`: touched in one run of each
/// loop, the outermost first.
[[nodiscard]] auto intensity_curve(const Arithmetic& arithmetic, const LoopNest& nest, const std::vector<int64_t>& bytes, size_t samples) -> std::vector<double>;

/// log2(|x| + 1): the scale of all features that count.
[[nodiscard]] auto log_scale(double x) -> double;

}  // namespace loopsmith::tune::metaschedule
