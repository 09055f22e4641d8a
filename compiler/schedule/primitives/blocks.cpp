// Primitives that make blocks of loop nests: blockize. What is inside of the new block no longer sees the loops outside but
// through its iter vars, so a nest can be taken as a whole by tensor units. Affine reasoning is in arith/iter_map.h.
#include <algorithm>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/analysis.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/primitives.h"
#include "schedule/rewriting.h"
#include "support/codes.h"

namespace loopsmith::schedule::primitives {
namespace {

// Substitutes variables and brings each expression that changed to its simplest form.
class SimplifyingSubstitution : public Mutator {
 public:
  SimplifyingSubstitution(const VarMap& map, arith::Analyzer& analyzer) : map_(map), analyzer_(analyzer) {}
  using Mutator::on;
#define EXPR(Kind)                                                       \
  auto on(const Kind& n) -> Expr override {                              \
    if constexpr (std::is_same_v<Kind, VarNode>) {                       \
      auto found = map_.find(reinterpret_cast<const VarNode*>(&n));      \
      return found == map_.end() ? self(n) : found->second;              \
    } else {                                                             \
      Expr out = Mutator::on(n);                                         \
      return out.get() == &n ? out : analyzer_.simplify(out);            \
    }                                                                    \
  }
#define STMT(Kind)
#include "ir/nodes.def"

 private:
  const VarMap& map_;
  arith::Analyzer& analyzer_;
};

// A binding that needs no affine form: it lies wholly outside or wholly inside.
auto divide_plainly(const BlockRealize& realize, const std::vector<Var>& outer, const std::vector<Var>& inner) -> std::optional<arith::SubspaceDivision> {
  if (!is_one(realize.predicate)) { return {}; }
  auto uses_any = [](const Expr& e, const std::vector<Var>& vars) {
    return uses_var(e, [&](const VarNode& v) { return std::any_of(vars.begin(), vars.end(), [&](const Var& x) { return x.get() == &v; }); });
  };
  arith::SubspaceDivision out;
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Expr& value = realize.iter_values[i];
    const Expr& extent = realize.block->iter_vars[i].dom.extent;
    bool is_outer = uses_any(value, outer);
    bool is_inner = uses_any(value, inner);
    if (is_outer && is_inner) { return {}; }
    Expr nothing = zero(extent.dtype());
    Expr unit = one(extent.dtype());
    if (is_outer) { out.bindings.push_back({value, extent, nothing, unit}); }
    else if (is_inner) { out.bindings.push_back({nothing, unit, value, extent}); }
    else { out.bindings.push_back({nothing, unit, nothing, unit}); }
  }
  out.outer_predicate = bool_imm(true);
  out.inner_predicate = bool_imm(true);
  return out;
}

/// Makes a block of a loop and all below it.
///
///     for i0, i1 in T.grid(4, 8):            for i0 in range(4):
///         with T.block("B"):       ==>           with T.block("B_o"):
///             B[vi] = A[vi]                          for i1 in range(8):
///                                                        with T.block("B"):
///                                                            B[vi_o * 8 + vi_i] = A[vi_o * 8 + vi_i]
///
/// Needs  one block below the loop, in directly nested loops; iter values that divide into a part of the loops outside and
///        one of those inside.
/// Keeps  the order of block instances, so results are equal bit for bit.
struct Blockize {
  struct Args { LoopArg target; bool preserve_unit_iters = true; };
  struct Plan { const Place* block; std::vector<const Place*> loops; arith::SubspaceDivision division; };   // loops from inside to outside

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.target.func;
    auto below = func.child_blocks(*args.target);
    if (below.size() != 1) {
      return note_loop(cx.error(Code::NotOneBlock).arg("loop", args.target->name().view()).arg("count", static_cast<int64_t>(below.size())), *args.target);
    }
    Plan plan{below.front(), {}, {}};
    std::vector<Var> outer, inner;
    Domains domains;
    bool is_inside = true;
    for (const Place* at = func.parent(*plan.block); at && at->is_loop(); at = func.parent(*at)) {
      (is_inside ? inner : outer).push_back(at->loop->var);
      if (is_inside) { plan.loops.push_back(at); }
      domains.insert(domains.begin(), {at->loop->var, Range{at->loop->min, at->loop->extent}});
      if (at == args.target.place) { is_inside = false; }
    }
    const StmtNode* expected = plan.block->realize;
    for (const Place* loop : plan.loops) {
      if (loop->loop->body.get() != expected) {
        return note_loop(cx.error(Code::NotOneBlock).arg("loop", loop->name().view()).arg("count", 1), *loop);
      }
      expected = loop->loop;
    }
    arith::Analyzer analyzer;
    auto division = arith::subspace_divide(plan.block->realize->iter_values.to_vector(), domains, inner, plan.block->realize->predicate,
                                           arith::IterMapLevel::Surjective, analyzer, !args.preserve_unit_iters);
    if (!division) { division = divide_plainly(*plan.block->realize, outer, inner); }
    if (!division) {
      return note_block(note_loop(cx.error(Code::NotDivisible).arg("loop", args.target->name().view()).arg("block", plan.block->name().view()), *args.target), *plan.block);
    }
    plan.division = std::move(*division);
    return plan;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const Block& block = *plan.block->block();
    Origin origin = cx.made_from(block.origin);
    arith::Analyzer analyzer;
    std::vector<IterVar> outer_iters, inner_iters;
    std::vector<Expr> outer_values, inner_values;
    VarMap map;
    arith::DomMap inner_domains;
    bool has_reduction = false;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      const arith::DividedIter& part = plan.division.bindings[i];
      auto make_iter = [&](const char* suffix, const Expr& extent) {
        IterVar out = iter;
        out.var = make<VarNode>(Name(iter.var->name.str() + suffix), iter.var->dtype, iter.var->origin);
        out.dom = from_zero(cast(iter.var->dtype, extent));
        return out;
      };
      IterVar outer = make_iter("_o", part.outer_extent);
      has_reduction |= outer.kind == IterKind::Reduction;
      outer_values.push_back(cast(iter.var->dtype, part.outer));
      outer_iters.push_back(outer);
      if (is_one(part.inner_extent)) {
        bool is_folded = is_one(part.outer_extent) && !args.preserve_unit_iters;
        map[iter.var.get()] = is_folded ? zero(iter.var->dtype) : Expr(outer.var);
        continue;
      }
      IterVar inner = make_iter("_i", part.inner_extent);
      inner_values.push_back(cast(iter.var->dtype, part.inner));
      map[iter.var.get()] = is_one(part.outer_extent) ? Expr(inner.var) : Expr(outer.var) * cast(iter.var->dtype, part.inner_extent) + Expr(inner.var);
      inner_domains.emplace(inner.var.get(), arith::IntSet::from_range(inner.dom));
      analyzer.bind(inner.var, inner.dom);
      inner_iters.push_back(std::move(inner));
    }
    Stmt substituted = SimplifyingSubstitution(map, analyzer).mutate(Stmt(Ref<Block>(&block)));
    auto fields = substituted.as<Block>()->fields();
    Stmt init = fields.init;
    Array<BufferRegion> reads = fields.reads;
    fields.iter_vars = inner_iters;
    fields.init = {};
    if (init && has_reduction) {
      std::vector<BufferRegion> all = fields.writes.to_vector();
      all.insert(all.end(), reads.begin(), reads.end());
      fields.reads = std::move(all);
    }
    Ref<Block> inner_block = make<Block>(fields, origin, block.id);
    Stmt nest = make<BlockRealize>(Array<Expr>(inner_values), plan.division.inner_predicate, inner_block, plan.block->realize->origin);
    for (const Place* loop : plan.loops) { nest = with_parts(*loop->loop, {.body = std::move(nest), .kind = {}, .thread = {}}, loop->loop->origin); }

    auto relaxed = [&](const Array<BufferRegion>& regions) {
      std::vector<BufferRegion> out;
      for (const BufferRegion& region : regions) {
        auto sets = arith::eval_set(region.region, inner_domains);
        std::vector<Range> ranges;
        for (size_t i = 0; i < sets.size(); ++i) { ranges.push_back(sets[i].cover_range(from_zero(region.buffer->shape[i]))); }
        out.push_back({region.buffer, Array<Range>(std::move(ranges)), region.origin});
      }
      return Array<BufferRegion>(std::move(out));
    };
    Block::Fields outer;
    outer.name = Name(block.name.str() + "_o");
    outer.iter_vars = outer_iters;
    outer.reads = relaxed(reads);
    outer.writes = relaxed(fields.writes);
    outer.body = std::move(nest);
    if (init) { outer.init = make_init(plan, init, inner_iters, inner_values, fields.writes, block.name, origin); }
    Ref<Block> outer_block = make<Block>(std::move(outer), origin);
    Outcome out;
    out.func = args.target.func->name();
    out.outputs.push_back(Output::block(outer_block->id));
    out.rewrite.changes.push_back({args.target->id, make<BlockRealize>(Array<Expr>(std::move(outer_values)), plan.division.outer_predicate, std::move(outer_block),
                                                                       cx.made_from(plan.block->realize->origin))});
    return out;
  }

  // The old init, in a block of its own under copies of those loops that it needs.
  static auto make_init(const Plan& plan, const Stmt& init, const std::vector<IterVar>& inner_iters, const std::vector<Expr>& inner_values,
                        const Array<BufferRegion>& writes, Name name, Origin origin) -> Stmt {
    VarMap map;
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    for (size_t i = 0; i < inner_iters.size(); ++i) {
      const IterVar& old = inner_iters[i];
      if (old.kind != IterKind::Spatial || !uses_var(init, [&](const VarNode& v) { return &v == old.var.get(); })) { continue; }
      IterVar iter = old;
      iter.var = make<VarNode>(Name(old.var->name.str() + "_init"), old.var->dtype, old.var->origin);
      map[old.var.get()] = iter.var;
      iters.push_back(std::move(iter));
      values.push_back(inner_values[i]);
    }
    Block::Fields fields;
    fields.name = Name(name.str() + "_init");
    fields.iter_vars = std::move(iters);
    fields.writes = writes;
    fields.body = init;
    Stmt stmt = make<BlockRealize>(Array<Expr>(values), plan.division.inner_predicate, make<Block>(std::move(fields), origin), origin);
    for (const Place* place : plan.loops) {
      const For& loop = *place->loop;
      bool is_needed = std::any_of(values.begin(), values.end(), [&](const Expr& v) { return uses_var(v, [&](const VarNode& x) { return &x == loop.var.get(); }); });
      if (!is_needed) { continue; }
      Var var = make<VarNode>(loop.var->name, loop.var->dtype, loop.var->origin);
      map[loop.var.get()] = var;
      stmt = make<For>(var, loop.min, loop.extent, loop.for_kind, std::move(stmt), loop.thread, loop.annotations, origin);
    }
    return substitute(stmt, map);
  }
};

}  // namespace

const Primitive blockize = primitive<Blockize>("blockize", "Blockize", "makes a block of a loop and all below it")
    .input("target", &Blockize::Args::target)
    .attr("preserve_unit_iters", &Blockize::Args::preserve_unit_iters, true)
    .block("block")
    .example(examples::two_stages, "i0, i1 = sch.get_loops(\"C\")\nsch.blockize(i1)");

}  // namespace loopsmith::schedule::primitives
