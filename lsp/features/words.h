// What a word of the text is where it names nothing that a program computes with: dtypes, intrinsics, the language's own words, constants and
// functions of the file.
#pragma once

#include "lsp/features/hover.h"

namespace loopsmith::lsp {

[[nodiscard]] auto hover_word(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<HoverInfo>;

}  // namespace loopsmith::lsp
