// Help for words that are no variables of a program: dtypes, intrinsics, words of the language, constants and functions of
// the file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lsp/features/hover.h"

namespace loopsmith::lsp {

/// A member of a schedule that is not a primitive.
struct ScheduleWord {
  std::string_view name;
  std::string_view usage;
  std::string_view help;
};
[[nodiscard]] auto schedule_words() -> std::span<const ScheduleWord>;

/// The form of a word of `T`, and its meaning.
struct Usage {
  std::string form;   // "for i, j in T.grid(m, n)", "T.exp(x)"
  std::string help;
  std::optional<int> place = {};   // its index among the words of the language, in the order of their use in programs; none: an intrinsic or a dtype
};
/// For a path in the text: "T.grid", "T.axis.remap", "T.exp", "T.float32". None: the path is not known.
[[nodiscard]] auto usage_of(std::string_view path) -> std::optional<Usage>;

[[nodiscard]] auto hover_word(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<HoverInfo>;

}  // namespace loopsmith::lsp
