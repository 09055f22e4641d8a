// Primitives on reductions: decompose_reduction. They change when the accumulator is set up and in which order partial
// results are joined, never which products are summed. Source: TensorIR (ASPLOS'23).
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/analysis.h"
#include "schedule/primitives.h"
#include "schedule/rewriting.h"

namespace loopsmith::schedule::primitives {
namespace {

/// Takes the `T.init()` of a reduction out into a block of its own in front of a loop.
///
///     for i, k in T.grid(8, 4):              for i_init in range(8):
///         with T.block("C"):                     with T.block("C_init"):
///             with T.init():                         C[vi] = 0.0
///                 C[vi] = 0.0      ==>       for i, k in T.grid(8, 4):
///             C[vi] += A[vi, vk]                 with T.block("C_update"):
///                                                    C[vi] += A[vi, vk]
///
/// Needs  a reduction block; the loop is one of those around it, and no loop outside of it feeds a reduction iter var;
///        a predicate of the block that splits into bounds.
/// Keeps  the order of updates, so results are equal bit for bit.
struct DecomposeReduction {
  struct Args { BlockArg block; LoopArg loop; };
  struct Plan {
    std::vector<const Place*> init_loops;    // that the init block runs over, from outside to inside
    Expr predicate;
  };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    auto loops = func.loops(*args.block);
    auto at = std::find(loops.begin(), loops.end(), args.loop.place);
    if (at == loops.end()) {
      return note_block(note_loop(cx.error(Code::LoopNotAroundBlock).arg("loop", args.loop->name().view()).arg("block", args.block->name().view()),
                                  *args.loop), *args.block);
    }
    LOOPSMITH_CHECK(require_reduction(cx, func, *args.block));
    const BlockRealize& realize = *args.block->realize;
    const Block& block = args.block.block();
    auto feeds = [&](const Place* loop, IterKind kind) {
      for (size_t i = 0; i < realize.iter_values.size(); ++i) {
        if (block.iter_vars[i].kind == kind &&
            uses_var(realize.iter_values[i], [&](const VarNode& v) { return &v == loop->loop->var.get(); })) {
          return true;
        }
      }
      return false;
    };
    for (auto it = loops.begin(); it != at; ++it) {
      if (!feeds(*it, IterKind::Reduction)) { continue; }
      return note_block(note_loop(cx.error(Code::ReductionLoopOutside).arg("loop", args.loop->name().view()).arg("outer", (*it)->name().view())
                                      .arg("block", args.block->name().view()), **it), *args.block)
          .remedy(fmt::format("decompose at `{}` or a loop outside of it", (*it)->name().view()));
    }
    Plan plan;
    std::unordered_set<const VarNode*> dropped;
    for (auto it = at; it != loops.end(); ++it) {
      if (feeds(*it, IterKind::Spatial)) {
        plan.init_loops.push_back(*it);
      } else {
        dropped.insert((*it)->loop->var.get());
      }
    }
    // Bounds on dropped loops concern the updates only.
    plan.predicate = bool_imm(true);
    if (!is_one(realize.predicate)) {
      Expr rest = realize.predicate;
      std::vector<Expr> bounds;
      while (const And* both = rest.as<And>()) {
        bounds.push_back(both->b);
        rest = both->a;
      }
      bounds.push_back(rest);
      for (const Expr& bound : bounds) {
        const LT* less_than = bound.as<LT>();
        if (!less_than) { return note_block(cx.error(Code::PredicateForm).arg("block", args.block->name().view()), *args.block); }
        if (!uses_var(bound, [&](const VarNode& v) { return dropped.count(&v) != 0; })) { plan.predicate = logical_and(plan.predicate, bound); }
      }
    }
    return plan;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const BlockRealize& realize = *args.block->realize;
    const Block& block = args.block.block();
    Origin block_origin = cx.made_from(block.origin);

    Block::Fields init;
    init.name = Name(block.name.str() + "_init");
    init.annotations = block.annotations;
    std::vector<IterVar> iter_vars;
    std::vector<Expr> iter_values;
    VarMap block_vars;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      if (iter.kind != IterKind::Spatial) { continue; }
      IterVar copy = iter;
      copy.var = make<VarNode>(iter.var->name, iter.var->dtype, iter.var->origin);
      block_vars[iter.var.get()] = copy.var;
      iter_vars.push_back(std::move(copy));
      iter_values.push_back(realize.iter_values[i]);
    }
    init.iter_vars = std::move(iter_vars);
    init.body = substitute(block.init, block_vars);
    std::vector<BufferRegion> writes;
    for (const BufferRegion& write : block.writes) {
      std::vector<Range> region;
      for (const Range& range : write.region) { region.push_back(substitute(range, block_vars)); }
      writes.push_back({write.buffer, Array<Range>(std::move(region)), write.origin});
    }
    init.writes = std::move(writes);
    Ref<Block> init_block = make<Block>(std::move(init), block_origin);
    Stmt nest = make<BlockRealize>(Array<Expr>(std::move(iter_values)), plan.predicate, init_block, cx.made_from(realize.origin));
    VarMap loop_vars;
    for (auto it = plan.init_loops.rbegin(); it != plan.init_loops.rend(); ++it) {
      const For& loop = *(*it)->loop;
      Var var = make<VarNode>(Name(loop.var->name.str() + "_init"), loop.var->dtype, loop.var->origin);
      loop_vars[loop.var.get()] = var;
      std::optional<IterVar> thread = loop.thread;
      if (thread) { thread->var = make<VarNode>(thread->var->name, thread->var->dtype, thread->var->origin); }
      nest = make<For>(var, loop.min, loop.extent, loop.for_kind, std::move(nest), std::move(thread), AttrMap(), cx.made_from(loop.origin));
    }
    nest = substitute(nest, loop_vars);

    auto update = block.fields();
    update.name = Name(block.name.str() + "_update");
    update.init = {};
    // The accumulator is read now: an init made that needless.
    std::vector<BufferRegion> reads;
    for (const BufferRegion& write : block.writes) {
      bool is_read = std::any_of(block.reads.begin(), block.reads.end(), [&](const BufferRegion& read) { return read.buffer == write.buffer; });
      if (!is_read) { reads.push_back(write); }
    }
    for (const BufferRegion& read : block.reads) { reads.push_back(read); }
    update.reads = std::move(reads);

    Outcome out;
    out.func = args.block.func->name();
    out.rewrite.changes.push_back({args.block->id, make<Block>(std::move(update), block_origin, args.block->id)});
    out.rewrite.befores.push_back({args.loop->id, std::move(nest)});
    out.outputs.push_back(Output::block(init_block->id));
    return out;
  }
};

}  // namespace

const Primitive decompose_reduction = primitive<DecomposeReduction>("decompose_reduction", "DecomposeReduction", "takes the init of a reduction out into a block of its own")
    .input("block", &DecomposeReduction::Args::block)
    .input("loop", &DecomposeReduction::Args::loop)
    .block("init");

}  // namespace loopsmith::schedule::primitives
