// What a word of the text is where it names nothing that a program computes with: dtypes, intrinsics, the language's own words, constants and
// functions of the file.
#pragma once

#include <span>
#include <string_view>

#include "lsp/features/hover.h"

namespace loopsmith::lsp {

/// What a schedule has beside its primitives.
struct ScheduleWord {
  std::string_view name;
  std::string_view usage;
  std::string_view help;
};
[[nodiscard]] auto schedule_words() -> std::span<const ScheduleWord>;

[[nodiscard]] auto hover_word(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<HoverInfo>;

}  // namespace loopsmith::lsp
