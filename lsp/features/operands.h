// What the statements of a schedule work on, in the text of the program: the loops and blocks that their primitives are given.
#pragma once

#include <cstdint>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// For a statement of a schedule that has run: the loops (their variables) and blocks (their headers) of the text that it worked on, in the order
/// of the text. Empty: the byte is in no such statement, or the program is in another file.
[[nodiscard]] auto operands_at(const workspace::Snapshot& snapshot, uint32_t at) -> std::vector<Span>;

/// For a loop or block of a program, by the bytes that bind its name: the calls in the file's schedules that work on it; of a block, those too
/// that work on a loop around it.
[[nodiscard]] auto calls_on(const workspace::Snapshot& snapshot, Span bound) -> std::vector<Span>;

}  // namespace loopsmith::lsp
