// Answers questions about block instances by running them one by one, where they are few. Symbolic bounds are boxes around the accessed elements;
// predicates, conditions in bodies, remainders and triangles leave holes in these boxes that only the instances show. Answers are exact. There is none if
// a block has more instances than the limit, or if a value is unknown (a parameter, the contents of a buffer). Declared writes are ignored: bodies
// are executed.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/evaluate.h"
#include "ir/follow.h"
#include "ir/ir.h"
#include "ir/visitor.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

/// True if the instances of a block write every element of a region while the loops below `above` run (null: the loops of the block's scope). Holds for
/// all values of the loops further out, except that loops in `once` stay at their first. The region uses loops outside of `above`, and is clipped to the buffer.
[[nodiscard]] auto counted_writes(const FuncTree& func, const Place& block, const BufferRegion& region, const Place* above, const VarMap& once = {}) -> std::optional<bool>;

/// True if the loops of the block's scope run the block with every combination of values of the given iter vars, for all values of the loops further out.
[[nodiscard]] auto counted_instances(const FuncTree& func, const Place& block, const std::vector<const VarNode*>& of) -> std::optional<bool>;

/// True if, each time that the loops of its scope run the block, its reduction begins with the init: every instance comes after the instance
/// with the same spatial values and the first values of the other iter vars.
[[nodiscard]] auto counted_beginnings(const FuncTree& func, const Place& block) -> std::optional<bool>;

/// True if an instance of the block runs more than once in one iteration of the loops from `above` outwards.
[[nodiscard]] auto counted_repeats(const FuncTree& func, const Place& block, const Place* above) -> std::optional<bool>;

/// Gets the values of the loops and those of the iter vars; returns false to stop.
using EachInstance = std::function<bool(const Valuation& loops, Follower::Element instance)>;
/// Runs loops, the outermost first, and calls `f` wherever the predicate holds. Returns false if `f` stopped, or if some instance cannot be evaluated, or
/// if there are more than `most_steps` (instance_walk.h).
[[nodiscard]] auto each_instance(const Domains& loops, const std::vector<Expr>& iter_values, const Expr& predicate, const EachInstance& f) -> bool;

/// True if two iterations of the loop `of` give the same values, while the loops outside of it stay at one iteration. `values` are the iter values of a block,
/// which runs if its predicate holds.
[[nodiscard]] auto counted_sharing(const Domains& loops, const Var& of, const std::vector<Expr>& values, const Expr& predicate) -> std::optional<bool>;
/// True if they certainly do. Counts only the values and loops that have to do with `of`, so that large tiles are no obstacle.
[[nodiscard]] auto certainly_shares(const Domains& loops, const Var& of, const std::vector<Expr>& values, const Expr& predicate) -> bool;

/// True if an update of a reduction would run before its init, with these loops (the outermost first), iter values and predicate.
[[nodiscard]] auto counted_late_update(const Block& block, const Domains& loops, const std::vector<Expr>& iter_values, const Expr& predicate) -> std::optional<bool>;

/// Loops around a block (the outermost first), with its iter values and predicate.
struct BlockLoops { Domains loops; std::vector<Expr> iter_values; Expr predicate; };
/// True if the instances with the same spatial values, which update the same element, run in the same order and equally often under both.
[[nodiscard]] auto counted_same_order(const Block& block, const BlockLoops& before, const BlockLoops& now) -> std::optional<bool>;

/// True if the predicate of a block holds whenever its iter values are within their domains.
[[nodiscard]] auto counted_predicate(const FuncTree& func, const Place& block) -> std::optional<bool>;

}  // namespace loopsmith::schedule
