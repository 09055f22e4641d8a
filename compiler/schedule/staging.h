// Staging a buffer through another one: where the copy goes, what it copies, and who uses the copy from then on. Shared by the
// primitives that cache and reindex.
#pragma once

#include <string>
#include <vector>

#include "arith/int_set.h"
#include "ir/ir.h"
#include "schedule/primitive.h"
#include "schedule/state.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

/// Where a copy goes, and what it copies.
struct Stage {
  const Place* scope = nullptr;
  const Place* at = nullptr;               // the loop or scope block into whose body it is put
  int position = 0;
  BufferRegion region;                     // of the cached buffer
  bool is_full = true;                     // the cache has the buffer's shape; otherwise the region's
};

/// A loop nest that copies, and the id of its block.
struct CopyNest { Stmt stmt; NodeId block; };

[[nodiscard]] auto require_storage_scope(const Context& cx, const std::string& scope) -> Status;
/// A view keeps the memory of what it is a view of, so a cache in another memory cannot stand in for a viewed buffer.
[[nodiscard]] auto require_no_view(const Context& cx, const Place& block, const Buffer& buffer, const std::string& scope) -> Status;
/// The block of a scope that writes a buffer, null where there is none; an error where there are several.
[[nodiscard]] auto require_single_writer(const Context& cx, const FuncState& func, const Place& scope, const Buffer& buffer) -> Result<const Place*>;

/// The same buffer in another memory, named after it ("A_shared").
[[nodiscard]] auto in_scope(const Buffer& buffer, const std::string& scope) -> Buffer;
/// The buffer with the shape of what a stage copies.
[[nodiscard]] auto shrunk(Buffer buffer, const Stage& stage) -> Buffer;
/// Are all readers of a buffer in its scope below the place?
[[nodiscard]] auto all_readers_below(const FuncState& func, const Place& scope, const Place& at, const Buffer& buffer) -> bool;
/// What a block touches while the loops below `above` run. `only_where`: of its iter vars, what holds whenever it does; none: nothing more
/// than its predicate.
[[nodiscard]] auto relaxed_region(const FuncState& func, const Place& block, const BufferRegion& region, const Place* above, const Expr& only_where = {}) -> BufferRegion;

/// The number of the statement of a block's body that holds a place; -1: none does.
[[nodiscard]] auto statement_position(const FuncState& func, const Place& scope, const Place& top) -> int;
/// Do the loops of the scope run every instance of the given iter vars' domains?
[[nodiscard]] auto runs_all_instances(const FuncState& func, const Place& block, const std::vector<const VarNode*>& of) -> bool;

/// Do instances of a block that differ in the given iter vars certainly access different elements by these indices? Otherwise the one that
/// comes last counts, and what takes its place must keep their order.
[[nodiscard]] auto is_one_to_one(const Block& block, const std::vector<Expr>& indices, const std::vector<const VarNode*>& of) -> bool;

/// Does a block load a buffer without declaring so?
[[nodiscard]] auto reads_hidden(const FuncState& func, const Place& block, const Buffer& buffer) -> bool;
/// Does a block load a buffer that it writes, other than to go on with a reduction which its init began?
[[nodiscard]] auto reads_back(const FuncState& func, const Place& block, const Buffer& buffer) -> bool;
/// Does a block read a buffer that it writes only to go on with a reduction which its init began, by the same indices everywhere? Older
/// programs declare such reads.
[[nodiscard]] auto reads_own_sums(const Block& block, const Buffer& buffer) -> bool;
/// Does the region of a stage depend on loops around its scope, as those around a part of a partitioned loop?
[[nodiscard]] auto uses_loops_outside(const FuncState& func, const Stage& stage) -> bool;
/// Do the loops around a reduction with an init run all of it? A part that does not begin with the init goes on with what is there.
[[nodiscard]] auto begins_reductions(const FuncState& func, const Place& block) -> bool;

/// Sets where the copy stands: in front of the first of `users` behind the writer, in the innermost body that holds both; at the
/// scope's end if there are none. Who reads without declaring so counts where there are no others: then right behind the writer.
void find_stage(const FuncState& func, const Place& writer, const std::vector<NodeId>& users, Stage& stage);
/// A copy outside of a loop whose iterations run at the same time sees one buffer: no iteration may have counted on one of its own.
[[nodiscard]] auto require_one_buffer(const Context& cx, const FuncState& func, const Place& writer, const Place& at, const Buffer& buffer) -> Status;
/// Of a copy in a loop whose iterations run at the same time: an iteration copies only what `writer` makes in it, or what is its own.
[[nodiscard]] auto require_own_copies(const Context& cx, const FuncState& func, const Place& writer, const BufferRegion& write, const Stage& stage) -> Status;
/// What an iteration of `loop`, around `at` or `at` itself, touches of a region, which is said in terms of what is around the body of `at`.
[[nodiscard]] auto touched_in(const FuncState& func, const Place& at, const Place& loop, const BufferRegion& region) -> std::vector<arith::IntSet>;
/// Do two iterations of `loop` never touch an element of what each of them touches (`touched_in`)?
[[nodiscard]] auto stays_apart(const FuncState& func, const Place& loop, const std::vector<arith::IntSet>& touched) -> bool;
/// Do iterations of `loop`, around `at` or `at` itself, each touch elements of their own of a region, which is said in terms of what is around the body of `at`?
[[nodiscard]] auto stays_apart(const FuncState& func, const Place& at, const Place& loop, const BufferRegion& region) -> bool;
/// for ax0 ...: with T.block("A_shared"): A_shared[v0] = A[v0]
[[nodiscard]] auto make_copy(const FuncState& func, const Stage& stage, const Buffer& from, const Buffer& to, const std::string& storage, Origin origin) -> CopyNest;
/// The block with uses of one buffer (its loads, its stores) made uses of the copy.
[[nodiscard]] auto redirected(const Place& block, const Buffer& from, const Buffer& to, const Stage& stage, bool loads, bool stores) -> Stmt;

}  // namespace loopsmith::schedule
