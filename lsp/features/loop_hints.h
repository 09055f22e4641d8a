// Hints that the editor can switch on: the reason why each innermost loop is not vectorized, and the vectors that are gathered lane by lane. They
// come from the checks of the primitives and the strides of the accesses; nothing is compiled.
#pragma once

#include <string>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct LoopHint {
  Span span;                 // of the loop's head, or of the statement that made it
  std::string code;          // "not-vectorized", "gathered"
  std::string message;
  std::vector<std::pair<Span, std::string>> related = {};
};

/// Hints for the innermost loops of every program without a schedule, and of the result of every schedule that runs to its end. In the order
/// of the text.
[[nodiscard]] auto loop_hints(const workspace::Snapshot& snapshot) -> std::vector<LoopHint>;

}  // namespace loopsmith::lsp
