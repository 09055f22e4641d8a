// The ends of inputs: lines that were typed, piped in or pasted, cut into pieces that are executed at once. Brackets, texts and blocks are
// recognised by their characters alone; the parser reports what is wrong with them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loopsmith::repl {

/// True of a whole input. An input goes on with an open bracket or text, a backslash at the end of the line, or a block that no empty line ended.
[[nodiscard]] auto is_complete_input(std::string_view input) -> bool;

/// True where a line that is not indented begins the next input after a block; a line that belongs to the block (`else:`) does not.
[[nodiscard]] auto ends_block(std::string_view input, std::string_view line) -> bool;

/// The inputs of a text, each as it would be typed. As in a file, an empty line ends a block only where the next line is not indented.
[[nodiscard]] auto split_inputs(std::string_view text) -> std::vector<std::string>;

}  // namespace loopsmith::repl
