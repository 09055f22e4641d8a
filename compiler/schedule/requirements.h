// Conditions that several primitives check. Each returns ok, or a diagnostic with the blocks and loops that break it. Terms are TensorIR's:
//   compact dataflow  every block below is complete or a reduction
//   stage pipeline    the blocks of a scope depend on each other by RAW only, and earlier writes cover each read
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"
#include "schedule/primitive.h"
#include "schedule/state.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

/// Adds the block to the diagnostic: as an argument, as the node that it points at, and as a note.
[[nodiscard]] auto at_block(Diagnostic diagnostic, const Place& block) -> Diagnostic;

/// For an argument of the call. No jump skips the loop or block, and no `while` loop repeats it; no jump leaves a loop below a loop. A block touches no
/// buffer that a plain statement of its scope touches, if one of the two writes it. A loop contains no such statement, unless the primitive keeps the
/// order of its statements. No written memory that a block accesses has a second buffer.
[[nodiscard]] auto require_nothing_between(const Context& cx, const PlaceArg& at) -> Status;
/// The memory that the block writes has no second buffer: a change of the memory would reach only one of the two.
[[nodiscard]] auto require_no_second_buffer(const Context& cx, const PlaceArg& block) -> Status;
/// All statements with an effect below the loop belong to blocks. With `no_loads`, so do all loads.
[[nodiscard]] auto require_blocks_only(const Context& cx, const PlaceArg& loop, bool no_loads = false) -> Status;
/// The error that a primitive cannot change the root block; its remedy names a block inside.
[[nodiscard]] auto root_block_error(const Context& cx, const FuncState& func, const Place& root) -> Diagnostic;
/// The block around a loop or block; an error for the root block.
[[nodiscard]] auto require_scope(const Context& cx, const PlaceArg& at) -> Result<const Place*>;
[[nodiscard]] auto require_stage_pipeline(const Context& cx, const FuncState& func, const Place& scope) -> Status;
[[nodiscard]] auto require_complete(const Context& cx, const FuncState& func, const Place& block) -> Status;
[[nodiscard]] auto require_reduction(const Context& cx, const FuncState& func, const Place& block) -> Status;
[[nodiscard]] auto require_complete_or_reduction(const Context& cx, const FuncState& func, const Place& block) -> Status;
/// All blocks directly below a loop or block are complete or reductions.
[[nodiscard]] auto require_compact_dataflow(const Context& cx, const FuncState& func, const Place& subtree) -> Status;
/// A block below a loop reads from other blocks below it only elements that these wrote in the same iteration. `leaves_threads`: threads that run
/// the iterations now will no longer do so, and lose access to the memory that they filled together.
[[nodiscard]] auto require_local_dependences(const Context& cx, const FuncState& func, const Place& loop, bool leaves_threads = false) -> Status;
/// No bound of a loop around a block depends on another of these loops (a triangle).
[[nodiscard]] auto require_independent_loops(const Context& cx, const FuncState& func, const Place& block) -> Status;
[[nodiscard]] auto require_affine_binding(const Context& cx, const FuncState& func, const Place& block) -> Status;
/// The domain of an iter var (of each iter var) depends on no loop around, as it would in the rows of a triangle: a buffer or loop made from it would have
/// no bounds.
[[nodiscard]] auto require_own_domain(const Context& cx, const FuncState& func, const Place& block, const IterVar& iter) -> Status;
[[nodiscard]] auto require_own_domains(const Context& cx, const FuncState& func, const Place& block) -> Status;
/// Outside of a block's loops there is only one sum: iterations that run at the same time do not make one each. `outside`: the loops around it
/// are shared; null: no loop is.
[[nodiscard]] auto require_one_sum(const Context& cx, const FuncState& func, const Place& producer, const Place* outside) -> Status;

/// The buffer of an access, by index; an error message includes the number of accesses.
[[nodiscard]] auto require_buffer(const Context& cx, const Place& block, int64_t index, bool is_write) -> Result<BufferRegion>;

/// `a`, `b` and `c`: a list of names for messages.
[[nodiscard]] auto in_words(const std::vector<std::string>& names) -> std::string;

}  // namespace loopsmith::schedule
