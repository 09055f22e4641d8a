// The reference interpreter: what a TIR function means, at schedule level and after every lowering stage (ir/ir.h states
// the meaning in words). It is slow next to compiled code and exact: every access is checked, arithmetic is done in the
// program's own types, reductions in the order written. Schedules, passes and compiled kernels are tested against it.
//
// A function is first turned into a tree of small closures, then run: some nanoseconds a scalar operation.
// Loops of all kinds run in order; what depends on threads working together (barriers, cross-thread reductions) is
// refused. One run belongs to one thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ir/ir.h"
#include "ir/tensor_view.h"
#include "support/cancel.h"
#include "support/diagnostic.h"

namespace loopsmith::interp {

/// One per parameter of the function.
using Argument = std::variant<TensorView, int64_t, double>;

struct Options {
  int64_t max_steps = 0;          // statements; 0: no limit
  double max_seconds = 0;         // 0: no limit
  CancelToken cancel;
  /// Warn of elements that are read before anything was written to them (in buffers of the function's own).
  bool report_unwritten = false;
  /// Runs only the block instances whose spatial iter vars this accepts (given the block and the values of all its iter
  /// vars, in order); none: all. For computing a few elements of a large result.
  std::function<bool(const Block&, std::span<const int64_t>)> only;
};

struct Stats {
  int64_t statements = 0;         // stores and evaluations
  int64_t block_instances = 0;
  Diagnostics warnings;
};

/// Runs a function on its arguments, which it changes. Errors: an argument that does not fit its parameter, an access outside
/// a buffer, an assertion, a division by zero, a limit, something the interpreter does not know; always with the
/// iteration at fault.
[[nodiscard]] auto interpret(const IRModule& module, Name function, std::span<const Argument> arguments, const Options& options = {})
    -> Result<Stats>;

/// How many block instances a run would execute, from the extents; loops without constant extent count as `unknown`.
[[nodiscard]] auto count_instances(const IRModule& module, Name function, int64_t unknown = 1) -> double;

// Conversions of short floats, to nearest even. `bits` 8 kinds by type code.
[[nodiscard]] auto to_bits(DataType dtype, double value) -> uint64_t;
[[nodiscard]] auto from_bits(DataType dtype, uint64_t bits) -> double;
/// The nearest value of that type.
[[nodiscard]] auto round_to(DataType dtype, double value) -> double;

}  // namespace loopsmith::interp
