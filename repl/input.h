// Divides lines that were typed, piped in or pasted into complete inputs, which are executed at once. Brackets, strings and blocks are
// recognised by their characters alone; the parser reports their errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loopsmith::repl {

/// True for a complete input. An input continues after an open bracket or string, a backslash at the end of the line, or a block without its final empty line.
[[nodiscard]] auto is_complete_input(std::string_view input) -> bool;

/// True if a line that is not indented begins the next input after a block; a line that belongs to the block (`else:`) does not.
[[nodiscard]] auto ends_block(std::string_view input, std::string_view line) -> bool;

/// The inputs of a text, each in its typed form. As in a file, an empty line ends a block only if the next line is not indented.
[[nodiscard]] auto split_inputs(std::string_view text) -> std::vector<std::string>;

}  // namespace loopsmith::repl
