// The distance between two spellings, and the known word that is closest to an unknown one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace loopsmith {

/// The number of edits between two words: insertions, deletions, substitutions and swaps of neighbouring letters.
[[nodiscard]] auto edit_distance(std::string_view a, std::string_view b) -> size_t;

/// The most similar candidate, if it is similar enough that the user probably meant it; empty otherwise.
[[nodiscard]] auto closest(std::string_view wanted, const std::vector<std::string>& candidates) -> std::string;

}  // namespace loopsmith
