// The context of lowering passes: options of the target, and helpers that passes share.
#pragma once

#include <functional>

#include "ir/ir.h"
#include "support/cancel.h"
#include "support/diagnostic.h"

namespace loopsmith::transform {

/// Options of lowering. The caller sets them from a target.
struct LowerOptions {
  /// Vectorized loops become vector code; if false, serial loops.
  bool vectorize = true;
  /// Conditions on a vector's lanes become masks of loads and stores; if false, such loops become serial.
  bool masked_memory = true;
  /// A vectorized loop with more lanes becomes a loop over chunks; the lanes of a chunk divide the extent.
  int max_lanes = 64;
  /// The limit of statements for automatic unrolling of a loop (as `pragma_auto_unroll_max_step`).
  int64_t unroll_steps = 0;
  /// The limit of statements in a function for unrolling loops that are marked `unroll`; beyond it they stay loops.
  int64_t unroll_limit = 16384;
  /// The limit of statements that may be duplicated so that whole tiles need no conditions.
  int64_t unswitch_limit = 256;
  /// The limit of statements that loop partitioning may add to a function.
  int64_t partition_limit = 64;
  /// The limits of stack memory, for a single allocation and for a function.
  int64_t stack_bytes_each = 64 << 10;
  int64_t stack_bytes_all = 256 << 10;
  /// Keeps loops over int64.
  bool stay_wide = false;
  /// Binds repeated scalar arithmetic to variables.
  bool share_subexpressions = false;
  /// Loops down to this depth call the profiler; 0: no loops.
  int profile_depth = 0;
  /// The device copies from global to shared memory while its threads go on (`cp.async`); only where the target has such copies at all.
  bool async_copies = true;
  /// Tests every access against the buffer's extents.
  bool check_bounds = false;
};

struct LowerContext {
  LowerOptions options = {};
  CancelToken cancel = {};
  /// The source place of a node ("softmax.tir:7"), for messages of the running program; may be empty.
  std::function<std::string(const Origin&)> where = {};
};

/// Applies f to every function of a module; returns the same module if f changed no function. Collects the
/// diagnostics of all functions.
[[nodiscard]] auto map_functions(const IRModule& module, const std::function<Result<PrimFunc>(const PrimFunc&)>& f) -> Result<IRModule>;

/// The name of a function in messages: its symbol, or else its name in the module.
[[nodiscard]] auto called(Name name, const PrimFunc& func) -> std::string;

}  // namespace loopsmith::transform
