// Region solving: a block moves under a loop. Finds the values of its iter vars for the regions that one iteration of the loop needs, in three ways:
// invert the map from iter vars to indices, if it is affine and bijective; solve each index by itself; give no answer.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ir.h"
#include "schedule/state.h"

namespace loopsmith::schedule::placement {

using Box = std::vector<arith::IntSet>;      // one set for each dimension

/// The regions of a buffer that an instance of the moved block provides (in terms of its iter vars), and the regions that an iteration of the loop
/// requires.
struct BufferNeed {
  const BufferNode* buffer = nullptr;
  std::vector<Box> provided, required;
};

/// The values of an iter var that are needed (`dom`), and the values that exist (`bound`). The loops run their intersection.
struct Needed {
  arith::IntSet dom = arith::IntSet::nothing();
  arith::IntSet bound = arith::IntSet::nothing();

  void unite(const Needed& other) {
    dom = arith::union_of({dom, other.dom});
    bound = arith::union_of({bound, other.bound});
  }
};
using NeededMap = std::vector<std::pair<const VarNode*, Needed>>;   // one entry for each iter var, in their order

/// Exactly: runs the needed instances and no others. AtLeast: may run others too.
enum class Precision : uint8_t { AtLeast, Exactly };
struct Solution {
  NeededMap needed;
  const BufferNeed* unsolved = nullptr;      // the first buffer that could not be solved
};
[[nodiscard]] auto solve_regions(const Block& moved, const std::vector<BufferNeed>& needs, Precision precision, arith::Analyzer& analyzer) -> Solution;

/// Splits the needed values of an iter var into the loop's domain (`dom`) and bounds that a predicate must check (`bound`; nothing: no bounds).
void settle(Needed& needed, const Range& domain, arith::Analyzer& analyzer);

[[nodiscard]] auto unite(const std::vector<Box>& boxes) -> Box;
/// The region of an access while the loops below `under` run. With OfAllThatShare, the threads that share the buffer run as well.
enum class Threads : uint8_t { AtOne, OfAllThatShare };
[[nodiscard]] auto relaxed(const FuncState& func, const Place& block, const Place& under, const BufferRegion& region, Threads threads) -> Box;

/// The first dimension in which instances of the block read overlapping windows of a buffer, while an iteration makes only a part of the elements that all
/// windows touch: then some window contains elements of several iterations. None: this is proved for no dimension.
[[nodiscard]] auto dimension_read_across(const Block& block, const Box& provided, const Box& required, arith::Analyzer& analyzer) -> std::optional<size_t>;

}  // namespace loopsmith::schedule::placement
