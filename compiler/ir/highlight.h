// Colours for script text on a terminal: a scan of words, numbers, strings and comments, for printed text and for
// text that people type. It does not parse; editors have their own highlighting.
#pragma once

#include <string>
#include <string_view>

namespace loopsmith {

/// The text with ANSI colour codes in it; every line ends with colours off.
[[nodiscard]] auto colored_script(std::string_view text) -> std::string;

}  // namespace loopsmith
