// What open texts take of memory, counted when it is asked for: a tree of names and bytes. What several share counts for the first one.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct MemoryNode {
  std::string name;
  uint64_t bytes = 0;                  // with those of its children
  std::vector<MemoryNode> children = {};
};

/// A text, its tree, its programs and the states of its schedules. `counted`: nodes that were counted before.
[[nodiscard]] auto memory_of(const workspace::Snapshot& snapshot, std::unordered_set<const void*>& counted) -> MemoryNode;

/// Indented lines, the largest first: "  12.3 MiB  file:///a.tir". What is less than a hundredth of all is one line.
[[nodiscard]] auto memory_text(const MemoryNode& tree) -> std::string;

}  // namespace loopsmith::lsp
