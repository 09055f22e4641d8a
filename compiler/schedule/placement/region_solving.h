// Region solving: which values of a block's iter vars make the parts of buffers that an iteration of the loop needs. Three ways, in this order:
// by inverting the map from iter vars to indices, where it is affine and bijective; each index by itself; no answer.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ir.h"
#include "schedule/state.h"

namespace loopsmith::schedule::placement {

using Box = std::vector<arith::IntSet>;      // a set per dimension

/// The regions of a buffer that an instance of the moved block provides (in terms of its iter vars), and those that an iteration of the loop
/// requires.
struct BufferNeed {
  const BufferNode* buffer = nullptr;
  std::vector<Box> provided, required;
};

/// The values of an iter var that are needed (`dom`), and those that are there (`bound`). Their intersection runs.
struct Needed {
  arith::IntSet dom = arith::IntSet::nothing();
  arith::IntSet bound = arith::IntSet::nothing();

  void unite(const Needed& other) {
    dom = arith::union_of({dom, other.dom});
    bound = arith::union_of({bound, other.bound});
  }
};
using NeededMap = std::vector<std::pair<const VarNode*, Needed>>;   // an entry per iter var, in their order

/// Exactly: no instance beyond the needed ones may run, and none may be left out.
enum class Precision : uint8_t { AtLeast, Exactly };
struct Solution {
  NeededMap needed;
  const BufferNeed* unsolved = nullptr;      // the first buffer without an answer
};
[[nodiscard]] auto solve_regions(const Block& moved, const std::vector<BufferNeed>& needs, Precision precision, arith::Analyzer& analyzer) -> Solution;

/// Splits the needed values of an iter var into the loop's domain (`dom`) and bounds that a predicate must check (`bound`; nothing: none).
void settle(Needed& needed, const Range& domain, arith::Analyzer& analyzer);

[[nodiscard]] auto unite(const std::vector<Box>& boxes) -> Box;
/// The region of an access while the loops below `under` run, and, with OfAllThatShare, the threads that share the buffer.
enum class Threads : uint8_t { AtOne, OfAllThatShare };
[[nodiscard]] auto relaxed(const FuncState& func, const Place& block, const Place& under, const BufferRegion& region, Threads threads) -> Box;

/// The first dimension in which instances of the block read overlapping windows of a buffer, while an iteration makes less than all of them
/// touch: some window then lies across the parts of several iterations. None: that is proved for no dimension.
[[nodiscard]] auto dimension_read_across(const Block& block, const Box& provided, const Box& required, arith::Analyzer& analyzer) -> std::optional<size_t>;

}  // namespace loopsmith::schedule::placement
