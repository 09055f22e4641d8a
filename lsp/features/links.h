// Links from comments to documents and records: codes of diagnostics, primitives, measurements of a program.
#pragma once

#include <string>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// A place in a text that links to a page or a record.
struct Mention {
  enum class Of : uint8_t {
    Code,        // of a diagnostic: ignored in a comment, or expected by one
    Primitive,   // its name in backticks in a comment
    Records,     // "# Tuned: ..." in a schedule: the measurement of its program
  };
  Span span;
  Of of{};
  std::string name;   // "data-race", "split", "matmul"
};
/// In the order of the text.
[[nodiscard]] auto mentions(const workspace::Snapshot& snapshot) -> std::vector<Mention>;

}  // namespace loopsmith::lsp
