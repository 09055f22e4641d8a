// Inlay hints: behind each statement of a schedule the loops and numbers that it binds; in a refused statement, behind variables whose loop no
// longer exists, the line that consumed the loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct Hint {
  uint32_t offset = 0;       // the end of the statement, or of the variable
  std::string text;          // "=> i0:64 i1:8", at most about forty columns
  std::string tooltip;       // sentences, one per line
  /// Parts of `text` that are links to a place in the file.
  struct Link {
    size_t begin = 0, end = 0;
    Span target;
  };
  std::vector<Link> links;
  /// An edit that replaces `None` in `factors=` by the factor that was computed for it.
  struct Fill {
    Span span;
    std::string text;
  };
  std::optional<Fill> fill;
};

/// Hints of the steps that touch `within`, in the order of the text. Schedules that have not run since the last edit have none.
[[nodiscard]] auto inlay_hints(const workspace::Snapshot& snapshot, Span within) -> std::vector<Hint>;

}  // namespace loopsmith::lsp
