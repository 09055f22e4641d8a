// Hover: what is known about the thing under the cursor: a loop, a block, a buffer, a program, or a variable of a schedule
// as it is at its line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct Fact {
  std::string label;  // "flops", "memory": what a test asks for
  std::string text;   // a phrase for people; code in backticks
};

struct HoverInfo {
  Span span;
  std::string title;  // "loop `k`: serial, extent 512"
  std::vector<Fact> facts;
};

/// What what is touched is compared with: bytes of each level of cache, the nearest first. Empty: nothing is said of caches.
using Caches = std::vector<uint64_t>;

/// Empty where the cursor is on nothing that has a meaning (blank space, a comment).
[[nodiscard]] auto hover(const workspace::Snapshot& snapshot, uint32_t at, const Caches& caches = {}) -> std::optional<HoverInfo>;

}  // namespace loopsmith::lsp
