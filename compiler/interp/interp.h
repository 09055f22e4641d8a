// The reference interpreter: what a TIR function means, at schedule level and after every lowering stage (ir/ir.h states
// the meaning in words). It is slow next to compiled code and exact: every access is checked, arithmetic is done in the
// program's own types, reductions in the order written. Schedules, passes and compiled kernels are tested against it.
//
// A function is first turned into a tree of small closures, then run: some nanoseconds a scalar operation.
// Loops of all kinds run in order, iteration by iteration; threads that wait for each other (barriers, reductions across
// threads, shuffles) take turns. One run belongs to one thread of ours.
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
  /// Warn where iterations of a parallel, vectorised or thread-bound loop depend on each other: one writes what another reads, or
  /// another value than it wrote. Across the threads that a block reduces over they may.
  bool report_races = false;
  /// Warn of accesses outside of the regions that the blocks around declare.
  bool check_regions = false;
  /// What stands for the body of a block that calls instructions of a machine: plain statements over the block's own buffers and
  /// iter vars, from the description of the instruction; none: the body as it is.
  std::function<Stmt(const Block&)> describe;
  /// Runs only the block instances whose spatial iter vars this accepts (given the block and the values of all its iter
  /// vars, in order); none: all. For computing a few elements of a large result.
  std::function<bool(const Block&, std::span<const int64_t>)> only;
};

/// Scalar operations and bytes of accesses that were carried out; conversions and moves count nothing, a call of a maths intrinsic one.
struct Counts {
  int64_t flops = 0;              // on real numbers
  int64_t int_ops = 0;            // on integers that are not indices
  int64_t index_ops = 0;
  int64_t bytes_read = 0, bytes_written = 0;
};
struct LoopCounts {
  NodeId id = 0;                  // of the For; 0: a launch
  Name name;
  Origin origin;
  int parent = -1;                // the loop around, in Stats::loops; -1: none
  int64_t iterations = 0;         // of all its runs
  Counts counts;                  // of all its runs, loops inside included
};

struct Stats {
  int64_t statements = 0;         // stores and evaluations
  int64_t block_instances = 0;
  Diagnostics warnings;
  Counts total;
  std::vector<LoopCounts> loops;  // in the order of the text
};

/// Runs a function on its arguments, which it changes. Errors: an argument that does not fit its parameter, an access outside
/// a buffer, an assertion, a division by zero, a limit, something the interpreter does not know; always with the
/// iteration at fault.
[[nodiscard]] auto interpret(const IRModule& module, Name function, std::span<const Argument> arguments, const Options& options = {})
    -> Result<Stats>;

/// How many block instances a run would execute, from the extents; loops without constant extent count as `unknown`.
[[nodiscard]] auto count_instances(const IRModule& module, Name function, int64_t unknown = 1) -> double;

}  // namespace loopsmith::interp
