// What a loop or block costs, read off the IR: how often it runs, what arithmetic it does, what memory it touches.
// Numbers, not words; those who show them have the words. Counts are of what the program says (before any optimisation). Where runs of a
// loop differ, flops are those of the longest; what is touched is bounded from above; what depends on symbolic extents is none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::cost {

/// How far apart an access is in one iteration and the next.
struct Stride {
  Expr elements;                                // a number, or an expression of parameters; none: not the same everywhere
  bool is_read = false;
  bool is_written = false;
};

/// What is touched of a buffer.
struct Touch {
  Buffer buffer;
  bool is_read = false;
  bool is_written = false;
  std::optional<int64_t> elements = {};         // different ones, over all iterations of the loop; a hull
  bool is_most = false;                         // no more than that: what decides it is not known, or differs with the loops around
  std::vector<Stride> strides = {};             // of each access; those that are alike once
  bool is_apart = false;                        // proved: no two iterations touch the same element
  bool is_moved_as_one = false;                 // proved: an iteration of a loop around moves all that is touched by the same
  [[nodiscard]] auto bytes() const -> std::optional<int64_t>;
  /// Of all accesses, where it is one number.
  [[nodiscard]] auto stride() const -> std::optional<int64_t>;
};

struct LoopFacts {
  std::optional<int64_t> extent;           // none: symbolic
  std::optional<int64_t> runs;             // how often the loop is entered; instances of a block
  std::optional<int64_t> iterations;       // of all runs together
  bool is_most_runs = false;               // runs and iterations: no more than that
  std::optional<double> flops;             // of one run, as the interpreter counts them: on real numbers
  bool is_most_flops = false;
  std::optional<int64_t> bytes;            // touched by one run, each element once
  bool is_most_bytes = false;
  std::vector<Touch> touches;
  /// Iter vars of blocks inside that the loop feeds, as "vi (spatial)".
  std::vector<std::string> feeds;

  /// Flops per byte; none where either is a bound.
  [[nodiscard]] auto intensity() const -> std::optional<double>;
};

/// Of a loop, a block, or (0) the whole function. None: the node is not in the function.
[[nodiscard]] auto loop_facts(const PrimFunc& function, NodeId loop_or_block) -> std::optional<LoopFacts>;
/// Of all instances of a block together: `flops`, `bytes` and the elements of `touches`. None: no such block.
[[nodiscard]] auto block_total(const PrimFunc& function, NodeId block) -> std::optional<LoopFacts>;
/// Bytes that the first iterations of a loop touch together, each element once; a hull. None: no such loop, or not known.
[[nodiscard]] auto bytes_of_iterations(const PrimFunc& function, NodeId loop, int64_t iterations) -> std::optional<int64_t>;

}  // namespace loopsmith::cost
