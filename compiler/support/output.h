// One writer for everything that a command prints. `stdout` and `stderr` are replaced by streams whose writes never fail, so no print in the middle
// of a command throws or ends it; the first failure of standard output is remembered, and the command reports it at its end.
#pragma once

#include <optional>
#include <string>

namespace loopsmith {

/// Replaces `stdout` and `stderr`; called once, before anything is printed. A descriptor that the caller closed is occupied, so that no file that is
/// opened later takes its number and receives what is printed.
void watch_output();

/// Writes what is still buffered. Returns the reason for which a part of standard output could not be written; none: all of it was.
[[nodiscard]] auto finish_output() -> std::optional<std::string>;

}  // namespace loopsmith
