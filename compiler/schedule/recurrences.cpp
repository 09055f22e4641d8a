// Recurrences whose iterations are apart: see recurrences.h.
#include "schedule/recurrences.h"

#include <algorithm>
#include <optional>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::schedule {
namespace {

auto uses(const Expr& e, const VarNode* var) -> bool {
  return uses_var(e, [&](const VarNode& v) { return &v == var; });
}

// True when the value of an iter var differs between iterations of a loop, whatever the loops inside do: it grows by a constant with the loop, and by less with all loops inside.
auto differs_by_iteration(const FuncState& func, const Place& block, const Place& loop, const Expr& value) -> bool {
  const Var& var = loop.loop->var;
  arith::Analyzer analyzer;
  VarMap at_begin;
  for (const Place* at : func.loops(block)) {
    analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent});
    if (at->index > loop.index) { at_begin.emplace(at->loop->var.get(), at->loop->min); }
  }
  const Expr next = substitute(value, {{var.get(), var + one(var->dtype)}});
  const auto step = as_int(analyzer.simplify(next - value));
  if (!step || *step < 1) { return false; }
  const auto inside = analyzer.const_int_bound(analyzer.simplify(value - substitute(value, at_begin)));
  return inside.min >= 0 && inside.max < *step;
}

// True when every access of the block to a buffer has the iter var alone as the index of one dimension, the same for all.
auto has_own_dimension(const Block& block, const Buffer& buffer, const VarNode* iter) -> bool {
  std::vector<bool> is_own(buffer->shape.size(), true);
  for (const auto& regions : {block.reads, block.writes}) {
    for (const BufferRegion& region : regions) {
      if (!(region.buffer == buffer)) { continue; }
      for (size_t d = 0; d < is_own.size(); ++d) {
        const Range& range = region.region[d];
        is_own[d] = is_own[d] && range.min.get() == iter && is_one(range.extent);
      }
    }
  }
  return std::find(is_own.begin(), is_own.end(), true) != is_own.end();
}

}  // namespace

auto is_apart_in_recurrence(const FuncState& func, const Place& loop) -> bool {
  const std::vector<const Place*> blocks = func.child_blocks(loop);
  if (blocks.size() != 1 || !blocks[0]->block()) { return false; }
  const Place& place = *blocks[0];
  const Block& block = *place.block();
  for (int i = place.index + 1; i < place.end; ++i) { if (func.places()[static_cast<size_t>(i)].is_block()) { return false; } }
  if (block.init || std::none_of(block.iter_vars.begin(), block.iter_vars.end(), [](const IterVar& iter) { return iter.kind == IterKind::Scan; })) { return false; }
  std::optional<size_t> follows;
  for (size_t k = 0; k < block.iter_vars.size(); ++k) {
    if (!uses(place.realize->iter_values[k], loop.loop->var.get())) { continue; }
    if (follows || block.iter_vars[k].kind != IterKind::Spatial) { return false; }
    follows = k;
  }
  if (!follows || !differs_by_iteration(func, place, loop, place.realize->iter_values[*follows])) { return false; }
  const VarNode* iter = block.iter_vars[*follows].var.get();
  return std::all_of(block.writes.begin(), block.writes.end(), [&](const BufferRegion& write) { return has_own_dimension(block, write.buffer, iter); });
}

}  // namespace loopsmith::schedule
