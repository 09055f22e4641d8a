// Rewrites a schedule of tensor expressions as a program and a schedule of its blocks, to edit and go on from.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The edits append the program that the schedule is made of, and the primitives that its stages became. No edits: no such schedule is at the offset, or its run is not complete.
[[nodiscard]] auto as_block_schedule(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite;
/// The title of that rewrite, without the time that its edits take; empty: there is none.
[[nodiscard]] auto block_schedule_title(const workspace::Snapshot& snapshot, uint32_t at) -> std::string;

}  // namespace loopsmith::lsp
