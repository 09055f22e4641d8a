// Facts about the cost of a loop or block, from the IR: number of runs, arithmetic, memory touched. All facts are numbers; their readers
// put them into words. Counts are those of the program before any optimisation. If the runs of a loop differ, flops are those of the
// longest run, and touched memory is an upper bound. Facts that depend on symbolic extents are none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::cost {

/// The distance between the elements that an access touches in consecutive iterations.
struct Stride {
  Expr elements;                                // a number, or an expression of parameters; null: it varies
  bool is_read = false;
  bool is_written = false;
};

/// The elements of a buffer that a loop touches.
struct Touch {
  Buffer buffer;
  bool is_read = false;
  bool is_written = false;
  std::optional<int64_t> elements = {};         // the number of different elements over all iterations of the loop; that of their hull
  bool is_most = false;                         // `elements` is an upper bound: the exact number is unknown, or varies with the loops around
  std::vector<Stride> strides = {};             // of each access; equal ones once
  bool is_apart = false;                        // proved: no two iterations touch the same element
  bool is_moved_as_one = false;                 // proved: each iteration of a loop around shifts all touched elements by the same distance
  [[nodiscard]] auto bytes() const -> std::optional<int64_t>;
  /// The stride of all accesses, if it is the same number.
  [[nodiscard]] auto stride() const -> std::optional<int64_t>;
};

struct LoopFacts {
  std::optional<int64_t> extent;           // none: symbolic
  std::optional<int64_t> runs;             // the number of times that the loop is entered; for a block, its instances
  std::optional<int64_t> iterations;       // of all runs together
  bool is_most_runs = false;               // `runs` and `iterations` are upper bounds
  std::optional<double> flops;             // of one run: operations on real numbers, as the interpreter counts them
  bool is_most_flops = false;
  std::optional<int64_t> bytes;            // touched by one run, each element once
  bool is_most_bytes = false;
  std::vector<Touch> touches;
  /// Iter vars of blocks inside that the loop feeds, as "vi (spatial)".
  std::vector<std::string> feeds;

  /// Flops per byte; none if either number is only a bound.
  [[nodiscard]] auto intensity() const -> std::optional<double>;
};

/// The facts of a loop, of a block, or (0) of the whole function. None: the function does not contain the node.
[[nodiscard]] auto loop_facts(const PrimFunc& function, NodeId loop_or_block) -> std::optional<LoopFacts>;
/// `flops`, `bytes` and the elements of `touches` over all instances of a block. None: the function does not contain the block.
[[nodiscard]] auto block_total(const PrimFunc& function, NodeId block) -> std::optional<LoopFacts>;
/// The bytes in the hull of all elements that the first iterations of a loop touch. None: there is no such loop, or they are unknown.
[[nodiscard]] auto bytes_of_iterations(const PrimFunc& function, NodeId loop, int64_t iterations) -> std::optional<int64_t>;

}  // namespace loopsmith::cost
