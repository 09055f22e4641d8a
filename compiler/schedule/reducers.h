// Reductions by what they do with values: known combiners, and whether updates may come in another order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

/// What a reduction does with values: result over lhs and rhs, starting from identity.
struct Reducer {
  std::vector<Var> lhs, rhs;
  std::vector<Expr> result, identity;
};

/// The stores of a reduction: what each starts from, and how it is updated.
struct Updates {
  std::vector<Expr> identities;
  std::vector<const BufferStore*> stores;
  std::vector<Expr> values;                  // with the let variables of tuple reductions replaced
};
/// None: the block has no `T.init()`, or is not one store (or one tuple of stores) of the same element.
[[nodiscard]] auto find_updates(const Block& block) -> std::optional<Updates>;

struct MatchedReducer {
  Reducer reducer;
  std::vector<Expr> lhs, rhs;                // what stands for its variables: the old elements, what is joined to them
};
/// Sums, products, extrema, pairs of sums, the place of an extremum. None for others.
[[nodiscard]] auto match_reducer(const Updates& updates) -> std::optional<MatchedReducer>;

/// May the updates of an element come in another order, up to the rounding of reals? True where the block only joins values to
/// elements by operations that commute, and reads nothing else of what it writes. The place of an extremum counts as well, as in TVM:
/// of equal values another one may then be found.
[[nodiscard]] auto updates_commute(const Block& block) -> bool;

/// Why the instances of a block without `T.init()` may not be counted anew even where the order of its reduction is kept: an
/// instance may see what another one with other spatial iter values wrote. None: each has elements of its own.
[[nodiscard]] auto why_instances_meet(const Block& block) -> std::optional<std::string>;

}  // namespace loopsmith::schedule
