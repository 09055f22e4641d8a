// Block instances, one by one, where they are few. Symbolic bounds are boxes around what is touched: where predicates, conditions in
// bodies, remainders or triangles leave holes in them, only the instances themselves say what is there. Answers are exact or none: none
// where there are more instances than are looked at, or where something follows from what is not known here (a parameter, the contents of
// a buffer). Nothing here depends on what blocks declare of their writes: bodies are followed.
#pragma once

#include <optional>
#include <vector>

#include "ir/ir.h"
#include "ir/visitor.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

/// Do the instances of a block write every element of a region (in terms of the loops outside of `above`, clipped to the buffer), while the
/// loops below `above` run (null: those of its scope), whatever the values of the loops further out (of those in `once`: at their first)?
[[nodiscard]] auto counted_writes(const FuncState& func, const Place& block, const BufferRegion& region, const Place* above, const VarMap& once = {}) -> std::optional<bool>;

/// Do the loops of its scope run the block with every combination of values of the given iter vars, whatever the loops further out?
[[nodiscard]] auto counted_instances(const FuncState& func, const Place& block, const std::vector<const VarNode*>& of) -> std::optional<bool>;

/// Each time that the loops of its scope run the block, do its reductions begin with their init: does no instance come before the one with
/// the same spatial iter vars whose others are at their first values?
[[nodiscard]] auto counted_beginnings(const FuncState& func, const Place& block) -> std::optional<bool>;

/// Does an iteration of the loops from `above` outwards run an instance of the block more than once?
[[nodiscard]] auto counted_repeats(const FuncState& func, const Place& block, const Place* above) -> std::optional<bool>;

/// Two iterations of a loop touch an element, and one of them writes it: `block` is the second to touch it. Buffers of the function that no
/// other code uses and that each iteration fills before it reads them are an iteration's own, as lowering gives each iteration one; an
/// instance of a block without a reduction that several iterations run writes the same each time.
struct Races {
  bool is_known = false;                     // all iterations were looked at
  const Place* block = nullptr;              // null: there are no such two among those that were
  const Place* other = nullptr;              // the block that touched the element before
  Buffer buffer = {};
  std::vector<Buffer> own = {};              // touched by several iterations, and each has one
  struct Pair { const Place* block; const Place* other; Buffer buffer; };
  std::vector<Pair> further = {};            // of other buffers
  bool is_counted = true;                    // the two were found among instances, not guessed from regions
};
/// `most`: instances below the loop, all in all, that are looked at; 0: as many as anywhere here.
[[nodiscard]] auto counted_races(const FuncState& func, const Place& loop, int64_t most = 0) -> Races;

/// Does a block that is neither below a loop nor around it touch the buffer, or do loops around add to it?
[[nodiscard]] auto is_used_outside(const FuncState& func, const Place& loop, const Buffer& buffer) -> bool;
/// Does anything outside of a loop touch the buffer, a statement that belongs to no block included? Reads the whole function.
[[nodiscard]] auto is_used_between_blocks(const FuncState& func, const Place& loop, const Buffer& buffer) -> bool;

/// Of iterations of directly nested loops together, from `top` to `bottom`: a block of one reads what another block of another one wrote.
[[nodiscard]] auto counted_crossings(const FuncState& func, const Place& top, const Place& bottom) -> Races;

/// Do two iterations of one of the loops give the same values (those of a block's iter vars, where its predicate holds), with those
/// outside of it at the same iterations?
[[nodiscard]] auto counted_sharing(const std::vector<std::pair<Var, Range>>& loops, const Var& of, const std::vector<Expr>& values, const Expr& predicate) -> std::optional<bool>;

/// Would an update of a reduction run before its init, with these loops (the outermost first), values of the block's iter vars and predicate?
[[nodiscard]] auto counted_late_update(const Block& block, const std::vector<std::pair<Var, Range>>& loops, const std::vector<Expr>& iter_values, const Expr& predicate) -> std::optional<bool>;

/// What comes of a block that stands anew under a loop, behind what else is there, with loops, values of iter vars and a predicate.
struct Replaced {
  bool begins_late = false;                  // an update runs before the init of its reduction
  bool runs_all = true;                      // every instance in the domains of its iter vars
  bool reads_early = false;                  // when an instance has run for the last time (`each_time`: at all), something that it declares to read gets another value later
  bool reads_unmade = false;                 // an instance runs before anything was written to an element that it declares to read, and that is written later
};
[[nodiscard]] auto counted_replacement(const FuncState& func, const Place& loop, const Block& block, const std::vector<std::pair<Var, Range>>& loops,
                                       const std::vector<Expr>& iter_values, const Expr& predicate, bool each_time) -> std::optional<Replaced>;

/// Does the predicate of a block hold wherever its iter values are within their domains?
[[nodiscard]] auto counted_predicate(const FuncState& func, const Place& block) -> std::optional<bool>;

}  // namespace loopsmith::schedule
