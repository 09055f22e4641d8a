// Reductions by their effect on values: known combiners, and updates that may run in another order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

/// A combiner: result over lhs and rhs, starting from identity.
struct Reducer {
  std::vector<Var> lhs, rhs;
  std::vector<Expr> result, identity;
};

/// The stores of a reduction: initial values and updates.
struct Updates {
  std::vector<Expr> identities;
  std::vector<const BufferStore*> stores;
  std::vector<Expr> values;                  // the let variables of tuple reductions are replaced
};
/// None: the block has no `T.init()`, or is not a single store (or a tuple of stores) to the same element.
[[nodiscard]] auto find_updates(const Block& block) -> std::optional<Updates>;

struct MatchedReducer {
  Reducer reducer;
  std::vector<Expr> lhs, rhs;                // the values of the combiner's variables: the old elements, and the values joined to them
};
/// Matches sums, products, extrema, pairs of sums, and the index of an extremum. None for others.
[[nodiscard]] auto match_reducer(const Updates& updates) -> std::optional<MatchedReducer>;

/// True if the updates of an element may run in another order, up to the rounding of reals: the block only joins values to
/// elements by commutative operations, and reads no other element that it writes. The index of an extremum counts as commutative, as in
/// TVM, although another one of equal values may then be found.
[[nodiscard]] auto updates_commute(const Block& block) -> bool;

/// True if instances of a block without `T.init()` must keep their order even across spatial iter vars: an instance may read
/// an element that an instance with other spatial values wrote. False if each instance has separate elements.
[[nodiscard]] auto instances_meet(const Block& block) -> bool;

}  // namespace loopsmith::schedule
