// What every lowering pass is given besides the module, and the little that passes share.
#pragma once

#include <functional>

#include "ir/ir.h"
#include "support/cancel.h"
#include "support/diagnostic.h"

namespace loopsmith::transform {

/// What a target asks of lowering. Filled from a target by those who know one.
struct LowerOptions {
  /// Vectorized loops become vector code; off: serial loops.
  bool vectorize = true;
  /// Conditions on a vector's lanes become masks of loads and stores; off: such loops become serial.
  bool masked_memory = true;
  /// A vectorized loop longer than this stays a loop of chunks of a divisor of its extent, at most this many lanes.
  int max_lanes = 64;
  /// Statements that unrolling without an explicit mark may make of one loop (`pragma_auto_unroll_max_step` says so too).
  int64_t unroll_steps = 0;
  /// Statements that loops marked `unroll` may make of one function; beyond it they stay loops.
  int64_t unroll_limit = 16384;
  /// Statements that may be written twice so that whole tiles need no conditions.
  int64_t unswitch_limit = 256;
  /// Statements that taking loops apart where a condition changes may add to a function.
  int64_t partition_limit = 64;
  /// Bytes of one allocation, and of all of a function, that may lie on the stack.
  int64_t stack_bytes_each = 64 << 10;
  int64_t stack_bytes_all = 256 << 10;
  /// Loops over int64 stay as they are.
  bool stay_wide = false;
  /// Scalar arithmetic that occurs several times gets a name.
  bool share_subexpressions = false;
  /// Loops down to this depth call the profiler; 0: none.
  int profile_depth = 0;
  /// Every access is tested before it is made.
  bool check_bounds = false;
};

struct LowerContext {
  LowerOptions options = {};
  CancelToken cancel = {};
  /// Where a node stands in the person's text ("softmax.tir:7"), for messages of the running program; none: not said.
  std::function<std::string(const Origin&)> where = {};
};

/// The module with f applied to every function; the same module where f changed none. Diagnostics of all
/// functions are collected.
[[nodiscard]] auto map_functions(const IRModule& module, const std::function<Result<PrimFunc>(const PrimFunc&)>& f) -> Result<IRModule>;

/// What messages call a function: its symbol, where it has one, else its name in the module.
[[nodiscard]] auto called(Name name, const PrimFunc& func) -> std::string;

}  // namespace loopsmith::transform
