// The order of lowering passes, as a table per kind of target, and the function that runs them.
//
// The result, which code generators take, is "the lowered form":
//  - A PrimFunc keeps its params and buffer_map; the buffers in it keep their shapes, strides and offsets, so
//    that a generator can check arguments. Shape variables are those of the buffers in buffer_map.
//  - The body holds SeqStmt, For, While, Break, Continue, IfThenElse, LetStmt, AssertStmt, Evaluate, Allocate,
//    AllocateConst, DeclBuffer, BufferStore, and AttrStmt that may be ignored (other keys are removed). No
//    blocks, no BufferRealize.
//  - For is Serial or Parallel (ThreadBinding on targets with threads); Unrolled only if expanding it would
//    exceed `unroll_limit`: a hint. There is no Vectorized. Loops start at any `min`; there are no unit loops.
//  - Every BufferLoad and BufferStore has exactly one index into a buffer with one dimension (none for 0-d
//    becomes index 0), no strides and no elem_offset: element `index` of the memory that `buffer->data` points
//    to. Flat views of parameters are declared by DeclBuffer at the top of the body with the parameter buffer's
//    data variable; those of allocations right inside their Allocate.
//  - Vectors: the index is `Ramp(base, stride, lanes)` (stride 1: contiguous; `base` need not be aligned), or any
//    int vector (gather, scatter). `predicate`, if there, is a bool vector: lanes where it is false are neither
//    read nor written; a masked load gives 0 there. Broadcast, Ramp and Shuffle occur as values too.
//    Comparisons, And, Or, Not, Select work lane by lane; Calls of maths intrinsics too.
//  - Allocate has constant or symbolic extents (one), a true condition, and annotations["storage"] = "stack" (constant
//    size, to be an alloca in the entry block of the function or parallel body, so that it can live in registers) or
//    "workspace" (from the runtime; freed at the end of the body).
//  - Operands of Add, Sub ... have the same type; FloorDiv and FloorMod remain where they were not proved
//    to be truncating. bool elements take one byte. Types are those of the program (float16 arithmetic too).
//  - func->attrs "tir.noalias" = true: parameters do not overlap.
//
// `loopsmith lower --stage NAME`, `--list-stages` and `--diff` show this table, so names are stable.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "ir/ir.h"
#include "transform/context.h"

namespace loopsmith::transform {

using Pass = Result<IRModule> (*)(const IRModule&, const LowerContext&);

struct Stage {
  const char* name;      // the argument of --stage; a pass that runs twice has two names ("simplify", "simplify_again")
  Pass pass;
  const char* summary;   // one line, for --list-stages
};

/// The stages for a kind of target ("llvm"; unknown kinds get llvm's).
[[nodiscard]] auto pipeline(std::string_view target_kind = "llvm") -> std::span<const Stage>;

struct StageReport {
  const Stage* stage;
  IRModule before;
  IRModule after;        // the same node if the pass changed nothing
  double seconds;
  [[nodiscard]] auto is_unchanged() const -> bool { return before.same_as(after); }
};

struct LowerRequest {
  std::string_view target_kind = "llvm";
  /// Stops after the stage with this name; empty: runs all. An unknown name is an error that lists the names.
  std::string_view until = {};
  /// Called after every stage.
  std::function<void(const StageReport&)> on_stage = {};
};

/// The module after the pipeline. Private and opaque functions are lowered too.
[[nodiscard]] auto lower(const IRModule& module, const LowerContext& context = {}, const LowerRequest& request = {}) -> Result<IRModule>;

/// True for functions in lowered form: without blocks and other constructs of schedule level.
[[nodiscard]] auto is_lowered(const PrimFunc& func) -> bool;

}  // namespace loopsmith::transform
