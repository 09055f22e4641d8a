// Copies around a function whose parameters have a new layout: see caller_layouts.h.
#include "schedule/caller_layouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "schedule/index_map.h"
#include "schedule/schedule.h"

namespace loopsmith::schedule {
namespace {

// The map of a parameter from the old layout to the new one.
struct Moved {
  size_t param = 0;                         // its number
  Buffer from;
  std::vector<Var> loops;
  std::vector<Expr> at;                     // the new indices of the element `loops` of the old layout
  Expr pad;
};

auto nest(const std::vector<Var>& loops, const Array<Expr>& shape, Stmt body) -> Stmt {
  for (size_t i = loops.size(); i-- > 0;) {
    body = make<For>(loops[i], zero(loops[i]->dtype), cast(loops[i]->dtype, shape[i]), ForKind::Serial, std::move(body), std::optional<IterVar>(), AttrMap(), Origin());
  }
  return body;
}

auto loops_over(const Array<Expr>& shape) -> std::vector<Var> {
  std::vector<Var> out;
  for (const Expr& extent : shape) { out.push_back(make<VarNode>(Name(fmt::format("e{}", out.size())), extent.dtype())); }
  return out;
}

auto buffer_of(const PrimFunc& func, const Var& param) -> Buffer { return func->buffer_of(param); }

}  // namespace

auto with_layouts_before(const IRModule& before, const IRModule& after, const Trace& trace, int64_t seed, Name function) -> IRModule {
  std::vector<Moved> all;
  Schedule sch(before, seed);
  auto watch = [&](const Instruction& step, const IRModule& last) {
    if (step.primitive->name != "transform_layout") { return; }
    PrimFunc old_func = last->find(function), new_func = sch.module()->find(function), original = before->find(function);
    const auto* map = step.values[2].as<IndexMap>();
    if (!old_func || !new_func || !original || !map) { return; }
    for (size_t i = 0; i < old_func->params.size(); ++i) {
      Buffer from = buffer_of(old_func, old_func->params[i]);
      Buffer to = buffer_of(new_func, new_func->params[i]);
      if (!from || !to || from == to) { continue; }
      auto known = std::find_if(all.begin(), all.end(), [&](const Moved& m) { return m.param == i; });
      if (known == all.end()) {
        Moved moved{i, buffer_of(original, original->params[i]), {}, {}, {}};
        moved.loops = loops_over(moved.from->shape);
        for (const Var& loop : moved.loops) { moved.at.emplace_back(loop); }
        known = all.insert(all.end(), std::move(moved));
      }
      arith::Analyzer analyzer;
      known->at = map_indices(retyped(*map, from->shape), known->at, analyzer);
      if (const auto* pad = step.values[3].as<IndexMap>()) { known->pad = (*pad)->final[0]; }
    }
  };
  if (!sch.replay(trace, false, watch).ok()) { return after; }
  if (all.empty()) { return after; }
  PrimFunc func = after->find(function);
  const auto* realize = func->body.as<BlockRealize>();
  if (!realize) { return after; }
  PrimFuncNode fields = *func;
  Block::Fields root = realize->block->fields();
  std::vector<Buffer> allocated = root.alloc_buffers.to_vector();
  std::vector<std::pair<Var, Buffer>> buffers = func->buffer_map.to_vector();
  std::vector<Stmt> front, behind;
  for (const Moved& moved : all) {
    Buffer to = buffer_of(func, func->params[moved.param]);
    allocated.push_back(to);
    BufferNode own = *moved.from;
    own.data = make<VarNode>(Name(moved.from->name.str() + "_before"), DataType::handle(), Origin(), moved.from->data->pointer);
    Buffer from = make_buffer(std::move(own));
    for (auto& [param, buffer] : buffers) {
      if (param == func->params[moved.param]) { buffer = from; }
    }
    std::vector<Var> everywhere = loops_over(to->shape);
    Expr pad = moved.pad ? moved.pad : zero(to->dtype);
    front.push_back(nest(everywhere, to->shape, make<BufferStore>(to, pad, Array<Expr>(std::vector<Expr>(everywhere.begin(), everywhere.end())))));
    Array<Expr> here(std::vector<Expr>(moved.loops.begin(), moved.loops.end()));
    front.push_back(nest(moved.loops, from->shape, make<BufferStore>(to, Expr(make<BufferLoad>(from, here)), Array<Expr>(moved.at))));
    behind.push_back(nest(moved.loops, from->shape, make<BufferStore>(from, Expr(make<BufferLoad>(to, Array<Expr>(moved.at))), here)));
  }
  front.push_back(root.body);
  front.insert(front.end(), behind.begin(), behind.end());
  root.body = seq(std::move(front));
  root.alloc_buffers = std::move(allocated);
  fields.buffer_map = std::move(buffers);
  fields.body = make<BlockRealize>(realize->iter_values, realize->predicate, make<Block>(std::move(root), realize->block->origin), realize->origin);
  return with_function(after, function, make_func(std::move(fields)));
}

}  // namespace loopsmith::schedule
