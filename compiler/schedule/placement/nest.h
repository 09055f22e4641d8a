// The loops of a moved block, made anew over the instances that an iteration of the loop around needs.
#pragma once

#include <vector>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ir.h"
#include "schedule/placement/region_solving.h"
#include "schedule/placement/relocation.h"

namespace loopsmith::schedule::placement {

struct Nest {
  Domains loops;                             // new, the outermost first
  std::vector<Expr> iter_values;             // an entry per iter var, as in the next two
  std::vector<Range> ranges;                 // the values that the loops run
  std::vector<arith::IntSet> bounds;         // those of them that the predicate lets run; nothing: all
  Expr predicate;
  bool covers_reduction = true;              // each iteration of the loop runs all of each reduction iter var

  /// The loops around the new place and these.
  [[nodiscard]] auto all_loops(const Relocation& move) const -> Domains;
  [[nodiscard]] auto uses(const Var& loop) const -> bool;
};

/// Loops of one iteration are left out, but with `preserve_unit_loops`. Binds the new loops.
[[nodiscard]] auto make_nest(const Relocation& move, NeededMap needed, bool preserve_unit_loops, arith::Analyzer& analyzer) -> Result<Nest>;

/// The statement: the new loops around the block.
[[nodiscard]] auto nest_stmt(const Context& cx, const BlockArg& block, const LoopArg& loop, const Nest& nest) -> Stmt;

}  // namespace loopsmith::schedule::placement
