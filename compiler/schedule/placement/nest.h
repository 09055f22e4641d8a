// The new loops around a moved block: they run the instances that one iteration of the target loop needs.
#pragma once

#include <vector>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ir.h"
#include "schedule/placement/region_solving.h"
#include "schedule/placement/relocation.h"

namespace loopsmith::schedule::placement {

struct Nest {
  Domains loops;                             // the new loops, the outermost first
  std::vector<Expr> iter_values;             // one entry for each iter var, as in the next two members
  std::vector<Range> ranges;                 // the values that the loops run
  std::vector<arith::IntSet> bounds;         // the values of `ranges` that the predicate lets run; nothing: all
  Expr predicate;
  bool covers_reduction = true;              // each iteration of the target loop runs all values of each reduction iter var

  /// The loops around the new place, and the new loops.
  [[nodiscard]] auto all_loops(const Relocation& move) const -> Domains;
  [[nodiscard]] auto uses(const Var& loop) const -> bool;
};

/// Leaves out loops of one iteration, unless `preserve_unit_loops`. Binds the new loops in the analyzer.
[[nodiscard]] auto make_nest(const Relocation& move, NeededMap needed, bool preserve_unit_loops, arith::Analyzer& analyzer) -> Result<Nest>;

/// The new loops as a statement, with the block inside.
[[nodiscard]] auto nest_stmt(const Context& cx, const BlockArg& block, const LoopArg& loop, const Nest& nest) -> Stmt;

}  // namespace loopsmith::schedule::placement
