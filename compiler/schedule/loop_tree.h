// The loops and blocks of a function drawn as a tree, one line each: extents, kinds, bindings and buffers of blocks, and names in the script.
// For terminals and other plain text.
#pragma once

#include <string>

#include "schedule/moves.h"

namespace loopsmith::schedule {

struct LoopTreeOptions {
  size_t width = 80;        // of a line; longer lines are cut
  bool color = false;
  bool ascii = false;       // lines drawn with | and `-
};

/// A loop or block in one line: "i_0 32 parallel", "block C  C <- A,B  vi:S=i".
[[nodiscard]] auto describe(const Place& place) -> std::string;

/// The lines, each with its line end; the root block first. Empty: the function cannot be scheduled.
[[nodiscard]] auto draw_loop_tree(const FuncState& func, const NameOfPlace& name_of = {}, const LoopTreeOptions& options = {}) -> std::string;

}  // namespace loopsmith::schedule
