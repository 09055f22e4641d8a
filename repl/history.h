// What was typed, kept in a file across sessions: a line of JSON for each input, with what it did to the program. Inputs are
// added as they are executed, so sessions side by side lose nothing, and nor does one that is killed; an input that is typed again
// moves to the end.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "repl/session.h"

namespace loopsmith::repl {

class History {
 public:
  /// Reads what there is; the file need not exist. Empty path: nothing is kept. A file with many that were typed again is written anew.
  explicit History(std::string path, size_t most);
  /// The newest last; each input once.
  [[nodiscard]] auto entries() const -> const std::vector<Typed>& { return entries_; }
  /// Adds an input, at the end. The index of the same input before it, else `entries().size()` as it was.
  auto add(const Typed& entry) -> size_t;

 private:
  void rewrite() const;
  std::string path_;
  size_t most_;
  std::vector<Typed> entries_;
};

}  // namespace loopsmith::repl
