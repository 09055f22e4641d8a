// The distance between two spellings, for guessing the known word that an unknown one stands for.
#pragma once

#include <cstddef>
#include <string_view>

namespace loopsmith {

/// The number of edits between two words: insertions, deletions, substitutions and swaps of neighbouring letters.
[[nodiscard]] auto edit_distance(std::string_view a, std::string_view b) -> size_t;

}  // namespace loopsmith
