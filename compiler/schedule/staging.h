// Staging a buffer through another one: the place of the copy, its region, and the blocks that use the copy. Shared by
// the primitives that cache and reindex.
#pragma once

#include <string>
#include <vector>

#include "arith/int_set.h"
#include "ir/ir.h"
#include "schedule/primitive.h"
#include "schedule/state.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

/// The place of a copy, and the region that it copies.
struct Stage {
  const Place* scope = nullptr;
  const Place* at = nullptr;               // the loop or scope block whose body gets the copy
  int position = 0;
  BufferRegion region;                     // of the cached buffer
  bool is_full = true;                     // the cache has the buffer's shape; otherwise the region's
};

/// A loop nest that copies, and the id of its block.
struct CopyNest { Stmt stmt; NodeId block; };

[[nodiscard]] auto require_storage_scope(const Context& cx, const std::string& scope) -> Status;
/// Refuses a buffer with views: a view has the memory of its source, so a cache in another memory cannot replace it.
[[nodiscard]] auto require_no_view(const Context& cx, const Place& block, const Buffer& buffer, const std::string& scope) -> Status;
/// The block of a scope that writes a buffer; null: there is none; an error: several blocks do.
[[nodiscard]] auto require_single_writer(const Context& cx, const FuncState& func, const Place& scope, const Buffer& buffer) -> Result<const Place*>;

/// The same buffer in another memory, named after it ("A_shared").
[[nodiscard]] auto in_scope(const Buffer& buffer, const std::string& scope) -> Buffer;
/// The buffer with the shape of the region that a stage copies.
[[nodiscard]] auto shrunk(Buffer buffer, const Stage& stage) -> Buffer;
/// True if all readers of a buffer in its scope are below the place.
[[nodiscard]] auto all_readers_below(const FuncState& func, const Place& scope, const Place& at, const Buffer& buffer) -> bool;
/// The region that a block touches while the loops below `above` run. `only_where`: a condition on its iter vars that holds whenever the block runs,
/// in addition to its predicate.
[[nodiscard]] auto relaxed_region(const FuncState& func, const Place& block, const BufferRegion& region, const Place* above, const Expr& only_where = {}) -> BufferRegion;

/// The position of the statement in a block's body that contains a place; -1: no statement does.
[[nodiscard]] auto statement_position(const FuncState& func, const Place& scope, const Place& top) -> int;
/// True if the loops of the scope run every value in the domains of the given iter vars.
[[nodiscard]] auto runs_all_instances(const FuncState& func, const Place& block, const std::vector<const VarNode*>& of) -> bool;

/// True if instances of a block that differ in the given iter vars certainly access different elements by these indices. If they may not, the last
/// instance decides the value, and a replacement must keep their order.
[[nodiscard]] auto is_one_to_one(const Block& block, const std::vector<Expr>& indices, const std::vector<const VarNode*>& of) -> bool;

/// True if a block loads a buffer without declaring it.
[[nodiscard]] auto reads_hidden(const FuncState& func, const Place& block, const Buffer& buffer) -> bool;
/// True if a block loads a buffer that it writes, except to continue a reduction that its init began.
[[nodiscard]] auto reads_back(const FuncState& func, const Place& block, const Buffer& buffer) -> bool;
/// True if a block reads a buffer that it writes only to continue a reduction that its init began, with the same indices everywhere. Older
/// programs declare such reads.
[[nodiscard]] auto reads_own_sums(const Block& block, const Buffer& buffer) -> bool;
/// True if the region of a stage depends on loops around its scope, as in a part of a partitioned loop.
[[nodiscard]] auto uses_loops_outside(const FuncState& func, const Stage& stage) -> bool;
/// True if a reduction with an init runs the init first in its loops. A part that does not begin with the init adds to the values in the output.
[[nodiscard]] auto begins_reductions(const FuncState& func, const Place& block) -> bool;

/// Sets the place of the copy: behind the writer and in front of the first of `users` after it, in the innermost body that contains both; at the
/// scope's end if there are no users. If all readers are hidden ones, the copy is placed right behind the writer.
void find_stage(const FuncState& func, const Place& writer, const std::vector<NodeId>& users, Stage& stage);
/// A copy outside of a loop whose iterations run at the same time copies one buffer, so no iteration may have a private one.
[[nodiscard]] auto require_one_buffer(const Context& cx, const FuncState& func, const Place& writer, const Place& at, const Buffer& buffer) -> Status;
/// In a loop whose iterations run at the same time, each iteration copies only elements that `writer` makes in that iteration, or that no other one touches.
[[nodiscard]] auto require_own_copies(const Context& cx, const FuncState& func, const Place& writer, const BufferRegion& write, const Stage& stage) -> Status;
/// The part of a region that an iteration of `loop` touches. `loop` is around `at` or is `at`; the region uses variables that are defined in the body of `at`.
[[nodiscard]] auto touched_in(const FuncState& func, const Place& at, const Place& loop, const BufferRegion& region) -> std::vector<arith::IntSet>;
/// True if no two iterations of `loop` touch the same element. `touched`: the result of `touched_in`.
[[nodiscard]] auto stays_apart(const FuncState& func, const Place& loop, const std::vector<arith::IntSet>& touched) -> bool;
/// The same for the part of a region that each iteration of `loop` touches.
[[nodiscard]] auto stays_apart(const FuncState& func, const Place& at, const Place& loop, const BufferRegion& region) -> bool;
/// for ax0 ...: with T.block("A_shared"): A_shared[v0] = A[v0]
[[nodiscard]] auto make_copy(const FuncState& func, const Stage& stage, const Buffer& from, const Buffer& to, const std::string& storage, Origin origin) -> CopyNest;
/// The block with its loads, or stores, of one buffer redirected to the copy.
[[nodiscard]] auto redirected(const Place& block, const Buffer& from, const Buffer& to, const Stage& stage, bool loads, bool stores) -> Stmt;

}  // namespace loopsmith::schedule
