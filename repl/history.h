// The history of inputs, kept in a file across sessions: a line of JSON for each input, with its effect on the program. Inputs are
// added as they are executed, so parallel sessions and a killed session lose nothing; a repeated input moves to the end.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "repl/session.h"

namespace loopsmith::repl {

class History {
 public:
  /// Reads the file, which need not exist. Empty path: no file is kept. A file with many repeated inputs is rewritten.
  explicit History(std::string path, size_t most);
  /// The newest last; each input once.
  [[nodiscard]] auto entries() const -> const std::vector<Typed>& { return entries_; }
  /// Adds an input at the end. Returns the index of the same input before it, else the number of entries before.
  auto add(const Typed& entry) -> size_t;

 private:
  void rewrite() const;
  std::string path_;
  size_t most_;
  std::vector<Typed> entries_;
};

}  // namespace loopsmith::repl
