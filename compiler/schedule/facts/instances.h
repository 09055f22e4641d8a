// Block instances, run one by one where they are few. Symbolic bounds are boxes around the elements that are touched; predicates, conditions
// in bodies, remainders and triangles leave holes in them that only the instances show. Answers are exact or none: none where a block has more
// instances than are looked at, or where a value is not known (a parameter, the contents of a buffer). Declared writes do not count: bodies are
// followed.
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"
#include "ir/visitor.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

/// Do the instances of a block write every element of a region (in terms of the loops outside of `above`, clipped to the buffer), while the
/// loops below `above` run (null: those of its scope), whatever the values of the loops further out (those in `once` stay at their first)?
[[nodiscard]] auto counted_writes(const FuncTree& func, const Place& block, const BufferRegion& region, const Place* above, const VarMap& once = {}) -> std::optional<bool>;

/// Do the loops of its scope run the block with every combination of values of the given iter vars, whatever the loops further out?
[[nodiscard]] auto counted_instances(const FuncTree& func, const Place& block, const std::vector<const VarNode*>& of) -> std::optional<bool>;

/// Each time that the loops of its scope run the block, do its reductions begin with their init: does every instance come after the one with
/// the same spatial iter vars whose others are at their first values?
[[nodiscard]] auto counted_beginnings(const FuncTree& func, const Place& block) -> std::optional<bool>;

/// Does an iteration of the loops from `above` outwards run an instance of the block more than once?
[[nodiscard]] auto counted_repeats(const FuncTree& func, const Place& block, const Place* above) -> std::optional<bool>;

/// Do two iterations of the loop `of` give the same values (those of a block's iter vars, where its predicate holds), while the loops
/// outside of it stay at the same iterations?
[[nodiscard]] auto counted_sharing(const Domains& loops, const Var& of, const std::vector<Expr>& values, const Expr& predicate) -> std::optional<bool>;

/// Would an update of a reduction run before its init, with these loops (the outermost first), iter values and predicate?
[[nodiscard]] auto counted_late_update(const Block& block, const Domains& loops, const std::vector<Expr>& iter_values, const Expr& predicate) -> std::optional<bool>;

/// Loops around a block (the outermost first), with its iter values and predicate.
struct BlockLoops { Domains loops; std::vector<Expr> iter_values; Expr predicate; };
/// Do the instances of each element, those with the same spatial iter vars, run in the same order and as often under both?
[[nodiscard]] auto counted_same_order(const Block& block, const BlockLoops& before, const BlockLoops& now) -> std::optional<bool>;

/// Does the predicate of a block hold wherever its iter values are within their domains?
[[nodiscard]] auto counted_predicate(const FuncTree& func, const Place& block) -> std::optional<bool>;

}  // namespace loopsmith::schedule
