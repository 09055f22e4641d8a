// One writer for all output of a command. Replaces `stdout` and `stderr` by streams whose writes never fail, so no print in the middle
// of a command throws or ends it. The first failure of standard output is recorded, and the command reports it at its end.
#pragma once

#include <optional>
#include <string>

namespace loopsmith {

/// Replaces `stdout` and `stderr`; called once, before any output. If the caller closed one of the descriptors, occupies its number: otherwise a file that
/// is opened later would get this number and receive the output.
void watch_output();

/// Writes the buffered output. Returns the reason why a part of standard output could not be written; none: all of it was written.
[[nodiscard]] auto finish_output() -> std::optional<std::string>;

/// While it lives, discards what the process writes to standard output and standard error, or to one of them.
class Muted {
 public:
  explicit Muted(bool also_output = true);
  Muted(const Muted&) = delete;
  auto operator=(const Muted&) -> Muted& = delete;
  ~Muted();

 private:
  int first_;
  int kept_[2] = {-1, -1};   // the descriptors of both streams
};

}  // namespace loopsmith
