// Instances of one block that store to the same element. Spatial iter vars promise that instances are independent, not that they write different elements:
// `B[(vi + vj) % 64] = A[vi, vj]` keeps the value of the last one. A step that changes the order of the instances is correct only if it keeps
// the last store of each element, or if the stored values are equal. Answers by running the instances, where they are few.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "ir/follow.h"
#include "schedule/facts/instances.h"

namespace loopsmith::schedule {

/// An answer, and for `Differ` an example: two instances, given by the values of their iter vars, that store different values to an element.
struct StoresMeet {
  enum class Answer : uint8_t {
    Same,                                      // the result is the same
    Differ,                                    // another value would be the last
    Unknown,                                   // too many instances, or a body that cannot be followed
    LooksUp,                                   // the contents of a buffer decide about the indices
  };
  Answer answer = Answer::Same;
  Buffer buffer = {};
  Follower::Element element = {}, first = {}, second = {};

  bool is_read = false;                        // `first` reads the element that `second` stores to
  /// "`B[1]` keeps the value that `b` stores at vi=1, vj=0; it would keep the one at vi=0, vj=1", or "`b` at vi=3 reads `A[4]`, which it stores at vi=4: their
  /// order would change".
  [[nodiscard]] auto text(const Block& block) const -> std::string;
};

/// True if the indices alone show that each instance stores to elements of its own. False: it may, or not. It is cheap: callers ask it
/// before they compare stores.
[[nodiscard]] auto stores_apart(const Block& block) -> bool;

/// Compares the stores of a block under two nests of loops, each with the iter values of the block. The last store to an element decides; all stores count if some
/// run under a condition that is not known, or if the block is a reduction.
[[nodiscard]] auto changed_stores(const Block& block, const BlockLoops& before, const BlockLoops& now) -> StoresMeet;

/// True if the block loads elements of a buffer that it stores to.
[[nodiscard]] auto reads_what_it_stores(const Block& block) -> bool;
/// For such a block: compares the order of each instance's loads with the stores of other instances to the same elements, and the order of those stores.
[[nodiscard]] auto changed_accesses(const Block& block, const BlockLoops& before, const BlockLoops& now) -> StoresMeet;

/// Compares the stores of iterations of the loop `of`, which run in any order. `apart`: buffers of which each iteration has its own; null: none.
[[nodiscard]] auto meeting_stores(const Block& block, const BlockLoops& nest, const Var& of, const std::function<bool(const Buffer&)>& apart = {}) -> StoresMeet;

}  // namespace loopsmith::schedule
