// Questions about blocks, loops and scopes that several primitives ask. Terms are TensorIR's:
//   complete block    data-parallel, the only writer of what it writes, reads nothing that it writes
//   reduction block   has an init, affine bindings, spatial and reduction iter vars only, the only writer of what it
//                     writes, whose indices use no reduction iter var
//   compact dataflow  every block below is complete or a reduction
//   stage pipeline    the blocks of a scope depend on each other by RAW only, each read covered by earlier writes
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/ir.h"
#include "ir/visitor.h"
#include "schedule/primitive.h"
#include "schedule/state.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

// What FuncState keeps answers of.
[[nodiscard]] auto compute_hidden_reads(const Block& block) -> std::vector<Buffer>;
[[nodiscard]] auto compute_affine_binding(const FuncState& func, const Place& block) -> bool;
/// Which of the statements in the body of `around` a loop or block is; their number where it is none of them.
[[nodiscard]] auto position_of(const FuncState& func, const Sequence<Stmt>& items, const Place& around, const Place& wanted) -> size_t;
[[nodiscard]] auto compute_cover(const FuncState& func, const Place& scope) -> Cover;
/// The same, where what was known before holds of all blocks but those of some numbers (in increasing order).
[[nodiscard]] auto compute_cover(const FuncState& func, const Place& scope, const std::vector<NodeId>& changed, const Cover& before) -> Cover;

/// Which rule of the definition a block breaks, in words; none where it is one.
[[nodiscard]] auto why_not_complete(const FuncState& func, const Place& block) -> std::optional<std::string>;
[[nodiscard]] auto why_not_reduction(const FuncState& func, const Place& block) -> std::optional<std::string>;
[[nodiscard]] inline auto is_complete(const FuncState& func, const Place& block) -> bool { return !why_not_complete(func, block); }
[[nodiscard]] inline auto is_reduction(const FuncState& func, const Place& block) -> bool { return !why_not_reduction(func, block); }

/// The block around, or an error for the root block.
[[nodiscard]] auto require_scope(const Context& cx, const PlaceArg& at) -> Result<const Place*>;
[[nodiscard]] auto require_stage_pipeline(const Context& cx, const FuncState& func, const Place& scope) -> Status;
[[nodiscard]] auto require_complete(const Context& cx, const FuncState& func, const Place& block) -> Status;
[[nodiscard]] auto require_reduction(const Context& cx, const FuncState& func, const Place& block) -> Status;
[[nodiscard]] auto require_complete_or_reduction(const Context& cx, const FuncState& func, const Place& block) -> Status;
/// All blocks directly below a loop or block are complete or reductions.
[[nodiscard]] auto require_compact_dataflow(const Context& cx, const FuncState& func, const Place& subtree) -> Status;
/// What a block below a loop reads of other blocks below it, they wrote in the same iteration. `leaves_threads`: where threads run the iterations
/// now, they will no longer, and what they fill together none of them has any more.
[[nodiscard]] auto require_local_dependences(const Context& cx, const FuncState& func, const Place& loop, bool leaves_threads = false) -> Status;
/// No bound of a loop around a block depends on another one (a triangle).
[[nodiscard]] auto require_independent_loops(const Context& cx, const FuncState& func, const Place& block) -> Status;
[[nodiscard]] auto require_affine_binding(const Context& cx, const FuncState& func, const Place& block) -> Status;

/// Does it write a buffer that its scope does not allocate?
[[nodiscard]] auto is_output_block(const FuncState& func, const Place& block, const Place& scope) -> bool;
[[nodiscard]] auto producers_of(const FuncState& func, const Place& block) -> std::vector<NodeId>;
[[nodiscard]] auto consumers_of(const FuncState& func, const Place& block) -> std::vector<NodeId>;

/// The buffer of an access, by index; an error says how many there are.
[[nodiscard]] auto require_buffer(const Context& cx, const Place& block, int64_t index, bool is_write) -> Result<BufferRegion>;

/// Does a reduction not run its init here, because the loops around hold only a later part of it?
[[nodiscard]] auto adds_to_what_is_there(const FuncState& func, const Place& block) -> bool;
/// Does the loop run the same block instances again: no iter value tells its iterations apart, or only some of them (fused with a loop
/// that is used)?
[[nodiscard]] auto repeats_instances(const BlockRealize& realize, const For& loop) -> bool;
/// The sums of a block, as seen from a place outside of its loops: iterations that run at the same time must not each have made them for
/// their own. `outside`: the loops around it are shared; null: no loop is.
[[nodiscard]] auto require_one_sum(const Context& cx, const FuncState& func, const Place& producer, const Place* outside) -> Status;
/// Where the domain of an iter var depends on a loop around, as of a triangle's rows, a buffer or a loop made of it would know no bounds.
[[nodiscard]] auto require_own_domains(const Context& cx, const FuncState& func, const Place& block) -> Status;
/// Is a condition of a block's predicate only that an iter var is in its domain?
[[nodiscard]] auto keeps_domain(const BlockRealize& realize, const Expr& condition) -> bool;
/// Does the predicate of a block only keep its iter vars in their domains? Else it says that some instances do not run.
[[nodiscard]] auto keeps_domains(const FuncState& func, const Place& block) -> bool;

/// Does a block certainly write all of a region, while the loops below `above` run? `once`: values of loops around for which it is
/// enough that a condition holds which decides about all of those instances at once (a VarMap; none: it must hold always). Threads that
/// share the memory write together, but for those around `made_in`: what is made there, each of them has for its own (null: there are none).
[[nodiscard]] auto certainly_writes(const FuncState& func, const Place& block, const BufferRegion& write, const Place* above, const BufferRegion& region,
                                    const VarMap& once = {}, const Place* made_in = nullptr) -> bool;

/// Is it one of the statements in the body of the loop or block around, not in a condition or another statement of that?
[[nodiscard]] auto is_plain_child(const FuncState& func, const Place& place) -> bool;
/// Does it run whenever the loop or block around does: is it in no condition (in declarations it may be)?
[[nodiscard]] auto always_runs(const FuncState& func, const Place& place) -> bool;

/// The domains of the loops around a block within its scope (or up to but not including `above`), and beyond its
/// scope those bound to threads.
[[nodiscard]] auto loop_domains(const FuncState& func, const Place& block, const Place* above = nullptr) -> std::vector<std::pair<Var, Range>>;

/// Are the iter values independent affine functions of loops with these domains?
[[nodiscard]] auto is_affine_binding(const BlockRealize& realize, const std::vector<std::pair<Var, Range>>& domains) -> bool;

/// How many numbers from 0 each value takes, where each is written with digits of the loops' variables: all digits of those that are used, each
/// once. The form that tiles and fused loops have; any two iterations then differ in some value, but for loops that no value follows.
/// `allows_offset`: to values may be added what follows none of the loops; they are then counted from that.
[[nodiscard]] auto written_with_digits(std::span<const Expr> values, const std::vector<std::pair<Var, Range>>& domains, bool allows_offset = false) -> std::optional<std::vector<int64_t>>;

/// Do any two iterations of the loops give different values, as far as it can be proved? Of one loop (`of`): no two of its iterations
/// share only some of their values, as sums do that overlap (`i + j`); they may share all of them (`i // 2`), but not where `by_all_digits`.
[[nodiscard]] auto tells_iterations_apart(const std::vector<Expr>& values, const std::vector<std::pair<Var, Range>>& domains, const Expr& predicate, const VarNode* of = nullptr,
                                          bool by_all_digits = false) -> bool;

/// Is a variable known at a place and below: an iter var of a block or a loop around (those of the place itself too), a parameter, or
/// an unknown size that parameters bring along?
[[nodiscard]] auto is_known_at(const FuncState& func, const Place* place, const VarNode& var) -> bool;

/// Iter var to iter value.
[[nodiscard]] auto bindings_of(const BlockRealize& realize) -> std::unordered_map<const VarNode*, Expr>;

/// "a" and "b": a list of names for messages.
[[nodiscard]] auto in_words(const std::vector<std::string>& names) -> std::string;

}  // namespace loopsmith::schedule
