// Reductions by their effect on values: known combiners, and updates that may come in another order.
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
  std::vector<Expr> values;                  // with the let variables of tuple reductions replaced
};
/// None: the block has no `T.init()`, or is not one store (or one tuple of stores) of the same element.
[[nodiscard]] auto find_updates(const Block& block) -> std::optional<Updates>;

struct MatchedReducer {
  Reducer reducer;
  std::vector<Expr> lhs, rhs;                // the expressions for its variables: the old elements, and the values joined to them
};
/// Sums, products, extrema, pairs of sums, the place of an extremum. None for others.
[[nodiscard]] auto match_reducer(const Updates& updates) -> std::optional<MatchedReducer>;

/// True where the updates of an element may come in another order, up to the rounding of reals: the block only joins values to
/// elements by commutative operations, and reads no other element that it writes. The place of an extremum counts as well, as in
/// TVM, though another one of equal values may then be found.
[[nodiscard]] auto updates_commute(const Block& block) -> bool;

/// The reason why instances of a block without `T.init()` must keep their order even across spatial iter vars: an instance may read
/// an element that another one with other spatial iter values wrote. None: each has elements of its own.
[[nodiscard]] auto why_instances_meet(const Block& block) -> std::optional<std::string>;

}  // namespace loopsmith::schedule
