// The new loops of a moved block: see nest.h.
#include "schedule/placement/nest.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/rewriting.h"
#include "support/fault.h"

namespace loopsmith::schedule::placement {

using arith::IntSet;

auto Nest::all_loops(const Relocation& move) const -> Domains {
  Domains out = move.outer;
  out.insert(out.end(), loops.begin(), loops.end());
  return out;
}

auto Nest::uses(const Var& loop) const -> bool {
  return std::any_of(iter_values.begin(), iter_values.end(), [&](const Expr& value) { return uses_var(value, [&](const VarNode& v) { return &v == loop.get(); }); });
}

auto make_nest(const Relocation& move, NeededMap needed, bool preserve_unit_loops, arith::Analyzer& analyzer) -> Result<Nest> {
  const Block& moved = move.moved();
  Nest out;
  out.predicate = bool_imm(true);
  for (size_t i = 0; i < moved.iter_vars.size(); ++i) {
    const IterVar& iter = moved.iter_vars[i];
    Needed& wanted = needed[i].second;
    settle(wanted, iter.dom, analyzer);
    if (wanted.dom.is_nothing()) { return move.region_not_solved(iter.var->name.view()); }
    Range range = wanted.dom.cover_range(iter.dom);
    if (iter.kind != IterKind::Spatial) {
      out.covers_reduction &= wanted.bound.is_nothing() && analyzer.can_prove_equal(range.min, iter.dom.min) && analyzer.can_prove_equal(range.extent, iter.dom.extent);
    }
    if (preserve_unit_loops || !is_one(range.extent)) {
      int bits = std::max(range.min.dtype().bits, range.extent.dtype().bits);
      DataType dtype = DataType::int_(bits);
      Var var = make<VarNode>(Name(fmt::format("ax{}", out.loops.size())), dtype, move.cx.made_from(moved.origin));
      Expr extent = analyzer.simplify(range.extent);
      if (FAULT(compute_at_region_short) && !is_one(extent)) { extent = analyzer.simplify(sub(extent, one(extent.dtype()))); }
      out.loops.emplace_back(var, Range{zero(dtype), cast(dtype, extent)});
      out.iter_values.push_back(range.min + var);
      analyzer.bind(var, Range{zero(dtype), cast(dtype, range.extent)});
    } else {
      // A constant gets the iter var's type, as when the program is parsed.
      out.iter_values.push_back(as_int(range.min) ? cast(iter.var->dtype, range.min) : range.min);
    }
    out.ranges.push_back(range);
    out.bounds.push_back(wanted.bound);
    if (wanted.bound.is_nothing() || FAULT(compute_at_bound_lost)) { continue; }
    if (wanted.bound.has_lower_bound()) {
      Expr lower = greater_equal(out.iter_values[i], wanted.bound.min());
      if (!analyzer.can_prove(lower, arith::Strength::SymbolicBound)) { out.predicate = logical_and(out.predicate, lower); }
    }
    if (wanted.bound.has_upper_bound()) {
      Expr upper = less(out.iter_values[i], wanted.bound.max() + one(wanted.bound.max().dtype()));
      if (!analyzer.can_prove(upper, arith::Strength::SymbolicBound)) { out.predicate = logical_and(out.predicate, upper); }
    }
  }
  out.predicate = analyzer.simplify(out.predicate);
  return out;
}

auto nest_stmt(const Context& cx, const BlockArg& block, const LoopArg& loop, const Nest& nest) -> Stmt {
  Stmt realize = make<BlockRealize>(Array<Expr>(nest.iter_values), nest.predicate, Ref<Block>(&block.block()), cx.made_from(block->realize->origin));
  return wrap_loops(std::move(realize), nest.loops, cx.made_from(loop.loop().origin));
}

}  // namespace loopsmith::schedule::placement
