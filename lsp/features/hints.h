// Inlay hints: behind each statement of a schedule, what the loops and numbers it names are now; in one that is refused, behind variables
// whose loop is gone, which line took it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct Hint {
  uint32_t offset = 0;       // the end of the statement, or of the variable
  std::string text;          // "=> i0:64 i1:8", at most about forty columns
  std::string tooltip;       // whole sentences, a line each
  /// Pieces of `text` that stand for something of the text: where that is.
  struct Link {
    size_t begin = 0, end = 0;
    Span target;
  };
  std::vector<Link> links;
  /// What the hint knows and the statement leaves open, put into the statement: the factor that `None` is.
  struct Fill {
    Span span;
    std::string text;
  };
  std::optional<Fill> fill;
};

/// Of the steps that touch `within`, in the order of the text. Those whose run is of an older text are left out.
[[nodiscard]] auto inlay_hints(const workspace::Snapshot& snapshot, Span within) -> std::vector<Hint>;

}  // namespace loopsmith::lsp
