// Why loops are not vectorized, and which vectors are gathered: what a person who tunes by hand looks for first, shown as hints where the editor
// is asked to. By the checks of the primitives and the strides of the accesses; nothing is compiled.
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

/// Of the innermost loops of every program that has no schedule, and of what every schedule that runs to its end makes of its program. In the order
/// of the text.
[[nodiscard]] auto loop_hints(const workspace::Snapshot& snapshot) -> std::vector<LoopHint>;

}  // namespace loopsmith::lsp
