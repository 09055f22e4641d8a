// Region cover: a block is covered if earlier writes of its scope produce every element that it reads.
#pragma once

#include <vector>

#include "ir/ir.h"
#include "schedule/facts/dependences.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

struct Cover {
  bool stage_pipeline = true;              // RAW dependences only, each covered
  std::vector<NodeId> uncovered;           // blocks that read more than their producers wrote, in the order of the text
  friend auto operator==(const Cover&, const Cover&) -> bool = default;
};

/// FuncState keeps the answer. `dependences`: of that scope.
[[nodiscard]] auto compute_cover(const FuncTree& func, const Place& scope, const Scope& dependences) -> Cover;
/// The same, from the answer `before`, which still holds for all blocks except the `changed` ones (in the order of the text).
[[nodiscard]] auto compute_cover(const FuncTree& func, const Place& scope, const Scope& dependences, const std::vector<NodeId>& changed, const Cover& before) -> Cover;

}  // namespace loopsmith::schedule
