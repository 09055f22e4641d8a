// The reference interpreter: it defines the meaning of a TIR function, at schedule level and after every lowering stage
// (ir/ir.h states the meaning in words). It is much slower than compiled code, and exact: it checks every access, computes in
// the program's own types, and reduces in the order of the text. Schedules, passes and compiled kernels are tested against it.
//
// A function is first compiled to a tree of small closures, then run: a scalar operation takes some nanoseconds. Loops of all
// kinds run in order, iteration by iteration; threads that wait for each other (barriers, reductions across threads, shuffles)
// take turns. A run uses one thread of this process.
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

/// The argument for a parameter of the function.
using Argument = std::variant<TensorView, int64_t, double>;

struct Options {
  int64_t max_steps = 0;          // statements; 0: no limit
  double max_seconds = 0;         // 0: no limit
  /// The memory of the program's allocations, and of the records about all memory that the reports below need.
  int64_t max_bytes = int64_t{4} << 30;
  CancelToken cancel;
  /// Warns of reads of unwritten elements, in buffers that the function allocates.
  bool report_unwritten = false;
  /// Warns if iterations of a parallel, vectorized or thread-bound loop depend on each other: one writes an element that another one
  /// reads, or to which another one writes a different value. The threads across which a block reduces are exempt.
  bool report_races = false;
  /// Warns of accesses outside of the regions that the blocks around declare.
  bool check_regions = false;
  /// Returns a replacement for the body of a block that calls machine instructions: plain statements over the block's buffers and
  /// iter vars, from the description of the instruction; null keeps the body.
  std::function<Stmt(const Block&)> describe;
  /// Selects block instances by the values of all iter vars of the block, in order; the others are skipped. Empty: all run.
  /// For computing a few elements of a large result.
  std::function<bool(const Block&, std::span<const int64_t>)> only;
};

/// The executed scalar operations and the bytes of accesses. Conversions and moves count 0, a call of a maths intrinsic counts 1.
struct Counts {
  int64_t flops = 0;              // on real numbers
  int64_t int_ops = 0;            // on integers other than indices
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

/// Runs a function on its arguments, which it changes. Errors: an argument that does not fit its parameter, an access outside of
/// a buffer, a failed assertion, a division by zero, a limit, an unknown construct. The diagnostic names the iteration.
[[nodiscard]] auto interpret(const IRModule& module, Name function, std::span<const Argument> arguments, const Options& options = {})
    -> Result<Stats>;

/// The number of block instances of a run, computed from the extents; loops without constant extent count as `unknown` iterations.
[[nodiscard]] auto count_instances(const IRModule& module, Name function, int64_t unknown = 1) -> double;

}  // namespace loopsmith::interp
