// Operands of statements in a schedule: the loops and blocks that their primitives work on, as places in the text of the program.
#pragma once

#include <cstdint>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The loops (as their variables) and blocks (as their headers) that the statement at a byte worked on when it ran, in the order
/// of the text. Empty: no statement of a schedule is there, or the program is in another file.
[[nodiscard]] auto operands_at(const workspace::Snapshot& snapshot, uint32_t at) -> std::vector<Span>;

/// The calls in the file's schedules that work on a loop or block, given by the span that binds its name; for a block also the calls that
/// work on a loop around it.
[[nodiscard]] auto calls_on(const workspace::Snapshot& snapshot, Span bound) -> std::vector<Span>;

}  // namespace loopsmith::lsp
