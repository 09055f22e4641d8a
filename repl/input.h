// Where an input of the REPL ends: lines that were typed, piped in or pasted, cut into what is executed at once. Brackets, texts and blocks
// are followed here by their characters alone; what they mean, and what is wrong with them, the parser says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loopsmith::repl {

/// Is the input whole, or does it go on: an open bracket or text, a line that ends with a backslash, a block that no empty line ended?
[[nodiscard]] auto is_complete_input(std::string_view input) -> bool;

/// Does a line that is not indented begin what comes after the block that the input is? What belongs to the block (`else:`) does not.
[[nodiscard]] auto ends_block(std::string_view input, std::string_view line) -> bool;

/// A text of several inputs, each as it would be typed. As in a file, an empty line ends a block only where what follows is not indented.
[[nodiscard]] auto split_inputs(std::string_view text) -> std::vector<std::string>;

}  // namespace loopsmith::repl
