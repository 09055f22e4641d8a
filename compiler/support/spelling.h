// How far two spellings are apart: what was meant by a word that is not known.
#pragma once

#include <cstddef>
#include <string_view>

namespace loopsmith {

/// Edits between two words: insertions, deletions, substitutions, neighbours exchanged.
[[nodiscard]] auto edit_distance(std::string_view a, std::string_view b) -> size_t;

}  // namespace loopsmith
