// The memory of open texts, counted on request, as a tree of names and bytes. A node that several texts share counts for the first of them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct MemoryNode {
  std::string name;
  uint64_t bytes = 0;                  // including its children
  std::vector<MemoryNode> children = {};
};

/// A text, its tree, its programs and the states of its schedules. `counted`: nodes that were already counted.
[[nodiscard]] auto memory_of(const workspace::Snapshot& snapshot, std::unordered_set<const void*>& counted) -> MemoryNode;

/// Indented lines, the largest first: "  12.3 MiB  file:///a.tir". Entries below a hundredth of the total are summed in one line.
[[nodiscard]] auto memory_text(const MemoryNode& tree) -> std::string;

}  // namespace loopsmith::lsp
