// The tree of loops and blocks at a place of a schedule, for an editor's loop view.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct LoopViewNode {
  size_t place = 0;        // its index, for `moves_offered_on`
  size_t depth = 0;        // 0: the root block
  bool is_block = false;
  std::string kind;        // "serial", "parallel", "vectorized", "unrolled", "bound", "block"
  std::string text;        // "i_0 32 parallel"; "block C  C <- A,B"
  std::string name;        // the script's variable; empty: none
  std::string facts;       // "65,536 iterations, 2.1 Mflop, 3 MiB"
  Origin where;            // the place of the text or the statement that made it
};

struct LoopView {
  std::string title;       // "tiled after 3 of 12 statements"
  std::string function;
  std::vector<LoopViewNode> nodes;   // in the order of the text
};

/// In a schedule the tree after the statement at the cursor; in a program the tree at the end of its last schedule, else as written. None: no
/// program that can be scheduled is there.
[[nodiscard]] auto loop_view_at(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<LoopView>;

}  // namespace loopsmith::lsp
