// Primitives that make blocks of loop nests and of neighbouring blocks: blockize. Code inside of the new block uses the outer loops only
// through the iter vars of the block, so a tensor unit can replace the whole nest. Affine reasoning is in arith/iter_map.h.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/rewritten_buffer.h"
#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "schedule/blockize.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/instances.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"

namespace loopsmith::schedule::primitives {
namespace {

// Substitutes variables, and simplifies each expression that changed.
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

 protected:
  // The sizes of buffers that inner blocks allocate may use the variables.
  auto use(const Buffer& buffer) -> Buffer override {
    auto done = buffers_.find(buffer.get());
    if (done != buffers_.end()) { return done->second; }
    return buffers_.emplace(buffer.get(), rewritten_buffer(buffer, [&](const Expr& e) { return mutate(e); })).first->second;
  }

 private:
  const VarMap& map_;
  arith::Analyzer& analyzer_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

// Divides a binding that needs no affine form, because it uses only outer loops or only inner loops.
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

/// Makes one block of a loop and everything below it, or of neighbouring blocks and the loops around each of them alone.
///
///     for i0, i1 in T.grid(4, 8):            for i0 in range(4):
///         with T.block("B"):       ==>           with T.block("B_o"):
///             B[vi] = A[vi]                          for i1 in range(8):
///                                                        with T.block("B"):
///                                                            B[vi_o * 8 + vi_i] = A[vi_o * 8 + vi_i]
///
/// Needs  of a loop: one block below it, in directly nested loops; iter values that divide into a part of the loops outside
///        and one of those inside; no loop that repeats a reduction together with its init. Several blocks must stand next to
///        each other, in the order given, each alone in its loops; they use the loops around all of them in the same way, and for spatial iter vars only.
/// Keeps  the order of block instances, so results are equal bit for bit.
struct Blockize {
  struct Args { Value target; bool preserve_unit_iters = true; };
  // A block to be divided, with its loops from inside to outside.
  struct Part {
    const Place* block = nullptr;
    std::vector<const Place*> loops;
    arith::SubspaceDivision division;
    std::vector<int64_t> outer_min;   // the first value of the outer part of each iter value, if the loops do not begin at 0
    std::vector<int64_t> inner_min;   // the same for the inner part
  };
  struct Plan {
    const FuncState* func = nullptr;
    NodeId at = 0;                           // the loop or block to be replaced; for several blocks: the loop or block around
    bool is_loop = true;
    std::vector<Part> parts;
  };

  static auto uses_loop(const Expr& e, const Place& loop) -> bool {
    return uses_var(e, [&](const VarNode& v) { return &v == loop.loop->var.get(); });
  }
  // True if the init needs the loop, because the loop feeds a spatial iter var that the init uses.
  static auto feeds_init(const Part& part, const Place& loop) -> bool {
    const Block& block = *part.block->block();
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (block.iter_vars[i].kind == IterKind::Spatial && uses_loop(part.division.bindings[i].inner, loop)) { return true; }
    }
    return false;
  }

  static auto domains_have(const Domains& domains, const Var& v) -> bool {
    return std::any_of(domains.begin(), domains.end(), [&](const auto& d) { return d.first == v; });
  }

  // Divides the iter values of a block between the loops below `outside` and the others.
  static auto divide(const Context& cx, const FuncState& func, const Place& block, const Place* outside, bool preserve_unit_iters, const Place& blame) -> Result<Part> {
    Part part{&block, {}, {}, {}, {}};
    std::vector<Var> outer, inner;
    Domains domains;
    bool is_inside = true;
    for (const Place* at = func.parent(block); at && at->is_loop(); at = func.parent(*at)) {
      is_inside = is_inside && at != outside;
      (is_inside ? inner : outer).push_back(at->loop->var);
      if (is_inside) { part.loops.push_back(at); }
      domains.insert(domains.begin(), {at->loop->var, Range{at->loop->min, at->loop->extent}});
    }
    // A block without iter vars, as a part of a partitioned loop has, may use the loops around it directly.
    for (const Place* at = func.parent(block); at; at = func.parent(*at)) {
      bool is_known = !at->is_loop() || domains_have(domains, at->loop->var);
      const auto& values = block.realize->iter_values;
      bool is_used = !is_known && (uses_loop(block.realize->predicate, *at) || std::any_of(values.begin(), values.end(), [&](const Expr& e) { return uses_loop(e, *at); }));
      if (!is_used) { continue; }
      outer.push_back(at->loop->var);
      domains.insert(domains.begin(), {at->loop->var, Range{at->loop->min, at->loop->extent}});
    }
    LOOPSMITH_CHECK(require_own_nest(cx, func, part, outside));
    arith::Analyzer analyzer;
    auto division = arith::subspace_divide(block.realize->iter_values.to_vector(), domains, inner, block.realize->predicate,
                                           arith::IterMapLevel::Surjective, analyzer, !preserve_unit_iters);
    if (!division) { division = divide_plainly(*block.realize, outer, inner); }
    const bool is_divided = division.has_value();
    if (is_divided) { part.division = std::move(*division); }
    if (!is_divided || !find_starts(part, domains, analyzer)) {
      // If there are several blocks, reports the outermost loop that goes into the new block.
      const Place& at_fault = blame.is_loop() || part.loops.empty() ? blame : *part.loops.back();
      Diagnostic out = cx.error(Code::NotDivisible).arg("loop", at_fault.name().view()).arg("block", block.name().view());
      return note_block(at_fault.is_loop() ? note_loop(std::move(out), at_fault) : std::move(out), block);
    }
    if (block.block()->init) { LOOPSMITH_CHECK(require_init_in_front(cx, func, part, blame)); }
    return part;
  }

  // The loops that go into the new block hold nothing but the block, and their bounds do not depend on loops outside.
  static auto require_own_nest(const Context& cx, const FuncState& func, const Part& part, const Place* outside) -> Status {
    const StmtNode* expected = part.block->realize;
    for (const Place* loop : part.loops) {
      if (loop->loop->body.get() != expected) {
        return note_loop(cx.error(Code::NotOneBlock).arg("loop", loop->name().view()).arg("count", static_cast<int64_t>(func.child_blocks(*loop).size())), *loop);
      }
      expected = loop->loop;
      // Inner loops must not depend on outer loops, nor on loops around blocks without iter vars.
      for (const Place* at = outside; at; at = func.parent(*at)) {
        if (at->is_loop() && (uses_loop(loop->loop->extent, *at) || uses_loop(loop->loop->min, *at))) {
          return note_loop(cx.error(Code::LoopDependent).arg("loop", loop->name().view()).arg("on", at->name().view()), *loop);
        }
      }
    }
    return ok();
  }

  // Adds the first values of both parts of each iter value; false: they are not known. If loops do not begin at 0, the division lost the offset: it is
  // added to the outer part if that has one iteration. The two parts must together give the iter value at the first iteration.
  static auto find_starts(Part& part, const Domains& domains, arith::Analyzer& analyzer) -> bool {
    const Place& block = *part.block;
    arith::Analyzer around;
    for (const auto& [v, range] : domains) { around.bind(v, range); }
    VarMap start;
    for (const auto& [v, range] : domains) { start[v.get()] = range.min; }
    auto at_start = [&](const Expr& e) { return as_int(analyzer.simplify(substitute(substitute(e, start), start))); };
    auto least = [&](const Expr& e) -> int64_t {
      // For unknown extents only the bounds of their type are available.
      auto first = at_start(e);
      bool is_bounded = std::all_of(domains.begin(), domains.end(), [](const auto& d) { return as_int(d.second.min) && as_int(d.second.extent); });
      if (!is_bounded) { return first.value_or(0); }
      int64_t bound = around.const_int_bound(e).min;
      return bound == arith::ConstIntBound::neg_inf ? 0 : bound;
    };
    // If the predicate excludes the first iteration, values begin at the first allowed iteration.
    bool runs_first = at_start(block.realize->predicate) != 0;
    std::optional<arith::Analyzer::Scope> within;
    if (!runs_first) { within.emplace(around.enter(block.realize->predicate)); }
    auto is_beyond = [&](const Expr& e, const Expr& extent) {
      auto count = as_int(extent);
      return count && around.const_int_bound(e).max - least(e) >= *count;
    };
    for (size_t i = 0; i < part.division.bindings.size(); ++i) {
      arith::DividedIter& one = part.division.bindings[i];
      auto whole = at_start(block.realize->iter_values[i]), outer_start = at_start(one.outer), inner_start = at_start(one.inner), extent = as_int(one.inner_extent);
      bool is_known = whole && outer_start && inner_start && extent;
      // Omits an inner part of one iteration.
      if (!runs_first) {
        if (is_beyond(one.outer, one.outer_extent) || is_beyond(one.inner, one.inner_extent)) { return false; }
        if (int64_t first = least(one.inner); extent == 1 && first != 0) {
          one.outer = analyzer.simplify(add(one.outer, constant_int(one.outer.dtype(), first)));
          one.inner = zero(one.inner.dtype());
        }
      } else if (is_known && (*outer_start * *extent + *inner_start != *whole || (*extent == 1 && *inner_start != 0))) {
        if (!is_one(one.outer_extent) || *extent != 1) { return false; }
        one.outer = constant_int(one.outer.dtype(), *whole);
        one.inner = zero(one.inner.dtype());
      } else if (!is_known) {
        // The first values follow from iter vars of blocks around.
        auto at_first = [&](const Expr& e) { return substitute(substitute(e, start), start); };
        Expr first = is_one(one.inner_extent) ? at_first(one.outer) : add(mul(at_first(one.outer), one.inner_extent), at_first(one.inner));
        if (!around.can_prove_equal(first, at_first(block.realize->iter_values[i]))) { return false; }
        // If such iter vars make values negative, the first value that the predicate allows is unknown.
        if (least(one.outer) < 0 || least(one.inner) < 0) { return false; }
      }
      part.outer_min.push_back(least(one.outer));
      part.inner_min.push_back(is_one(one.inner_extent) ? 0 : least(one.inner));
    }
    return true;
  }

  // The init moves in front of all loops. If a loop repeats the reduction, it would add to its earlier result; and a part of a
  // partitioned loop may lack the instance that runs the init.
  static auto require_init_in_front(const Context& cx, const FuncState& func, const Part& part, const Place& blame) -> Status {
    const Place& block = *part.block;
    auto refuse = [&](const Place* loop) {
      Diagnostic out = cx.error(Code::NotDivisible).arg("loop", blame.name().view()).arg("block", block.name().view());
      return note_loop(note_block(std::move(out), block), *loop);
    };
    // The kinds of iter vars show the loops of the reduction, if all are spatial or reduction; rolling_buffer makes other kinds.
    bool is_plain = std::all_of(block.block()->iter_vars.begin(), block.block()->iter_vars.end(), [](const IterVar& iter) { return iter.kind == IterKind::Spatial || iter.kind == IterKind::Reduction; });
    if (!is_plain && !part.loops.empty()) { return refuse(part.loops.back()); }
    for (const Place* loop : part.loops) {
      if (repeats_instances(*block.realize, *loop->loop)) { return refuse(loop).remedy("decompose the reduction first, with `decompose_reduction`"); }
    }
    if (!part.loops.empty() && counted_repeats(func, block, func.parent(*part.loops.back())) == true) { return refuse(part.loops.back()); }
    if (skips_init(func, block) || !begins_reductions(func, block)) { return refuse(part.loops.front()); }
    // The init runs once for the whole reduction, so it must not depend on the part of the predicate that uses the reduction's loops.
    for (const Expr& condition : arith::split_conjunction(part.division.inner_predicate)) {
      bool has_init = false, has_other = false;
      for (const Place* loop : part.loops) { (feeds_init(part, *loop) ? has_init : has_other) |= uses_loop(condition, *loop); }
      if (has_init && has_other) {
        return note_block(cx.error(Code::PredicateForm).arg("block", block.name().view()).arg("predicate", print_script(block.realize->predicate)), block);
      }
    }
    return ok();
  }

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const Param& param = cx.primitive.params.front();
    if (const auto* list = args.target.as<Value::List>()) { return check_blocks(cx, args, *list); }
    LoopArg target;
    LOOPSMITH_CHECK(convert(cx, param, args.target, target));
    const FuncState& func = *target.func;
    auto below = func.child_blocks(*target);
    if (below.size() != 1) {
      return note_loop(cx.error(Code::NotOneBlock).arg("loop", target->name().view()).arg("count", static_cast<int64_t>(below.size())), *target);
    }
    LOOPSMITH_TRY(part, divide(cx, func, *below.front(), func.parent(*target), args.preserve_unit_iters, *target));
    return Plan{&func, target->id, true, {std::move(part)}};
  }

  static auto check_blocks(const Context& cx, const Args& args, const Value::List& list) -> Result<Plan> {
    std::vector<BlockArg> blocks(list.size());
    for (size_t i = 0; i < list.size(); ++i) { LOOPSMITH_CHECK(convert(cx, cx.primitive.params.front(), list[i], blocks[i])); }
    if (blocks.empty()) { return cx.error(Code::NoLoops).arg("needed", "one block").arg("given", "none"); }
    const FuncState& func = *blocks.front().func;
    auto refuse = [&](const Place& block, const Reason& why) { return note_block(cx.error(Code::BlocksApart).arg("block", block.name().view()).arg("reason", why.text()), block); };
    const Place* around = func.parent(*blocks.front());
    for (const BlockArg& block : blocks) {
      if (block.func != &func || block->parent < 0) { return root_block_error(cx, *block.func, *block); }
      while (around && !func.is_below(*block, *around)) { around = func.parent(*around); }
    }
    // Loops around only one of the blocks go into the new block; a block without neighbours keeps its own loops.
    Plan plan{&func, around->id, around->is_loop(), {}};
    const Stmt& body = around->is_loop() ? around->loop->body : around->block()->body;
    std::vector<Stmt> items = body.as<SeqStmt>() ? body.as<SeqStmt>()->seq.to_vector() : std::vector<Stmt>{body};
    std::optional<size_t> last;
    for (const BlockArg& block : blocks) {
      if (func.scope(*block) != (around->is_block() ? around : func.scope(*around))) { return refuse(*block, because(Why::InsideOtherBlock)); }
      LOOPSMITH_TRY(part, divide(cx, func, *block, around, args.preserve_unit_iters, *block));
      const StmtNode* top = part.loops.empty() ? static_cast<const StmtNode*>(block->realize) : part.loops.back()->loop;
      size_t place = 0;
      while (place < items.size() && items[place].get() != top) { ++place; }
      if (place == items.size() || (last && place != *last + 1)) { return refuse(*block, because(Why::NotNeighbours)); }
      last = place;
      const arith::SubspaceDivision* first = plan.parts.empty() ? nullptr : &plan.parts.front().division;
      arith::Analyzer analyzer;
      for (size_t i = 0; i < part.division.bindings.size(); ++i) {
        const arith::DividedIter& iter = part.division.bindings[i];
        if (block.block().iter_vars[i].kind != IterKind::Spatial && !is_one(iter.outer_extent)) {
          return refuse(*block, because(Why::ReductionFedOutside).arg("iter", block.block().iter_vars[i].var->name.view()));
        }
        if (!first) { continue; }
        bool is_same = i < first->bindings.size() ? analyzer.can_prove_equal(first->bindings[i].outer_extent, iter.outer_extent) &&
                                                        analyzer.can_prove_equal(first->bindings[i].outer, iter.outer)
                                                  : is_one(iter.outer_extent);
        if (!is_same) { return refuse(*block, because(Why::UsesLoopsDifferently)); }
      }
      if (!is_one(part.division.outer_predicate)) { return refuse(*block, because(Why::PredicateOfOuterLoops)); }
      plan.parts.push_back(std::move(part));
    }
    return plan;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    Outer outer;
    Outcome out;
    out.func = plan.func->name();
    bool is_one_loop = !args.target.as<Value::List>();
    std::vector<Stmt> nests;
    for (const Part& part : plan.parts) { nests.push_back(make_inner(cx, part, args.preserve_unit_iters, is_one_loop, outer)); }
    if (!is_one_loop) {
      // Reverses the regions of several blocks: TVM lists them in this order.
      std::reverse(outer.reads.begin(), outer.reads.end());
      std::reverse(outer.writes.begin(), outer.writes.end());
    }
    const Part& first = plan.parts.front();
    const BlockRealize& realize = *first.block->realize;
    Block::Fields fields;
    fields.name = is_one_loop ? Name(realize.block->name.str() + "_o") : Name("outer_" + outer.names);
    fields.iter_vars = outer.iters;
    fields.reads = std::move(outer.reads);
    fields.writes = std::move(outer.writes);
    fields.init = FAULT(blockize_init_lost) ? Stmt() : std::move(outer.init);
    fields.body = is_one_loop ? std::move(nests.front()) : seq(nests, cx.made_from(realize.block->origin));
    Ref<Block> block = make<Block>(std::move(fields), cx.made_from(realize.block->origin));
    out.outputs.push_back(Output::block(block->id));
    Stmt made = make<BlockRealize>(Array<Expr>(std::move(outer.values)), FAULT(blockize_predicate_lost) ? bool_imm(true) : first.division.outer_predicate, std::move(block), cx.made_from(realize.origin));
    if (is_one_loop) {
      out.rewrite.changes.push_back({plan.at, std::move(made)});
      return out;
    }
    for (size_t i = 0; i < plan.parts.size(); ++i) {
      const Part& part = plan.parts[i];
      NodeId top = part.loops.empty() ? part.block->id : part.loops.back()->id;
      out.rewrite.changes.push_back({top, i == 0 ? made : Stmt()});
    }
    return out;
  }

  // The regions, iter vars and statements of the new block, from its parts.
  struct Outer {
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    std::vector<BufferRegion> reads, writes;
    Stmt init;
    std::string names;
  };

  // The iter vars of a part inside of the new block.
  struct Inner {
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    VarMap map;                   // the iter vars of the old block in terms of outer and inner ones
    arith::DomMap domains;
    bool has_reduction = false;   // an outer iter var is a reduction
  };

  // Divides each iter var of a part into an outer and an inner one. The first part makes the iter vars of the new block.
  static auto divide_iters(const Part& plan, bool preserve_unit_iters, bool is_alone, Outer& all, arith::Analyzer& analyzer) -> Inner {
    const Block& block = *plan.block->block();
    Inner out;
    bool is_first = all.iters.empty();
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      const arith::DividedIter& part = plan.division.bindings[i];
      int64_t outer_min = plan.outer_min[i];
      auto make_iter = [&](const char* suffix, const Expr& extent, int64_t min = 0) {
        IterVar made = iter;
        made.var = make<VarNode>(Name(iter.var->name.str() + suffix), iter.var->dtype, iter.var->origin);
        made.dom = from_zero(cast(iter.var->dtype, extent));
        if (min != 0) { made.dom.min = int_imm(min, iter.var->dtype); }
        return made;
      };
      bool is_outer_zero = is_one(part.outer_extent) && outer_min == 0;
      if (is_first || i >= all.iters.size()) {
        // If the outer part is the whole iter var, it has the same domain: the predicate that bounds it may stay outside.
        bool is_all = is_one(part.inner_extent) && outer_min == 0 && is_zero(iter.dom.min);
        auto wide = as_int(part.outer_extent), own = as_int(iter.dom.extent);
        all.iters.push_back(make_iter("_o", is_all && wide && own && *own < *wide ? iter.dom.extent : part.outer_extent, outer_min));
        all.values.push_back(cast(iter.var->dtype, part.outer));
        if (!is_alone) { all.iters.back().kind = IterKind::Spatial; }
      }
      const IterVar& outer = all.iters[i];
      out.has_reduction |= is_alone && outer.kind == IterKind::Reduction;
      if (is_one(part.inner_extent)) {
        bool is_folded = is_outer_zero && !preserve_unit_iters;
        out.map[iter.var.get()] = is_folded ? zero(iter.var->dtype) : Expr(outer.var);
        continue;
      }
      IterVar inner = make_iter("_i", part.inner_extent, plan.inner_min[i]);
      out.values.push_back(cast(iter.var->dtype, part.inner));
      out.map[iter.var.get()] = is_outer_zero ? Expr(inner.var) : Expr(outer.var) * cast(iter.var->dtype, part.inner_extent) + Expr(inner.var);
      out.domains.emplace(inner.var.get(), arith::IntSet::from_range(inner.dom));
      analyzer.bind(inner.var, inner.dom);
      out.iters.push_back(std::move(inner));
    }
    return out;
  }

  // Adds the regions of a part, over all of its inner iter vars, to those of the new block.
  static void add_regions(const Part& plan, const Array<BufferRegion>& regions, const arith::DomMap& inner_domains, bool is_alone, std::vector<BufferRegion>& out) {
    for (const BufferRegion& region : regions) {
      auto sets = arith::eval_set(region.region, inner_domains);
      std::vector<Range> ranges;
      for (size_t i = 0; i < sets.size(); ++i) { ranges.push_back(sets[i].cover_range(from_zero(region.buffer->shape[i]))); }
      // The domain of an iter var may use a loop that moves inside (a triangle): outside, it is the union over that loop.
      for (const Place* loop : plan.loops) {
        if (std::none_of(ranges.begin(), ranges.end(), [&](const Range& range) { return uses_loop(range.min, *loop) || uses_loop(range.extent, *loop); })) { continue; }
        auto wider = arith::eval_set(Array<Range>(ranges), {{loop->loop->var.get(), arith::IntSet::from_range(Range{loop->loop->min, loop->loop->extent})}});
        for (size_t i = 0; i < wider.size(); ++i) { ranges[i] = wider[i].cover_range(from_zero(region.buffer->shape[i])); }
      }
      auto found = is_alone ? out.end() : std::find_if(out.begin(), out.end(), [&](const BufferRegion& r) { return r.buffer == region.buffer; });
      if (found == out.end()) {
        out.push_back({region.buffer, Array<Range>(std::move(ranges)), region.origin});
        continue;
      }
      std::vector<Range> hull;
      for (size_t i = 0; i < ranges.size(); ++i) {
        auto both = arith::union_of({arith::IntSet::from_range(found->region[i]), arith::IntSet::from_range(ranges[i])});
        hull.push_back(both.cover_range(from_zero(region.buffer->shape[i])));
      }
      found->region = Array<Range>(std::move(hull));
    }
  }

  // A part inside of the new block, with its loops.
  static auto make_inner(const Context& cx, const Part& plan, bool preserve_unit_iters, bool is_alone, Outer& all) -> Stmt {
    const Block& block = *plan.block->block();
    Origin origin = cx.made_from(block.origin);
    arith::Analyzer analyzer;
    Inner inner = divide_iters(plan, preserve_unit_iters, is_alone, all, analyzer);
    Stmt substituted = SimplifyingSubstitution(inner.map, analyzer).mutate(Stmt(Ref<Block>(&block)));
    auto fields = substituted.as<Block>()->fields();
    Stmt init = fields.init;
    Array<BufferRegion> reads = fields.reads;
    fields.iter_vars = inner.iters;
    if (is_alone) { fields.init = {}; }
    if (init && (inner.has_reduction || is_alone)) {
      std::vector<BufferRegion> both = fields.writes.to_vector();
      both.insert(both.end(), reads.begin(), reads.end());
      fields.reads = std::move(both);
    }
    Ref<Block> inner_block = make<Block>(fields, origin, block.id);
    Stmt nest = make<BlockRealize>(Array<Expr>(inner.values), plan.division.inner_predicate, inner_block, plan.block->realize->origin);
    for (const Place* loop : plan.loops) { nest = with_parts(*loop->loop, {.body = std::move(nest), .kind = {}, .thread = {}}, loop->loop->origin); }
    add_regions(plan, reads, inner.domains, is_alone, all.reads);
    add_regions(plan, fields.writes, inner.domains, is_alone, all.writes);
    all.names += block.name.str() + "_";
    if (init && is_alone) { all.init = make_init(plan, init, inner.iters, inner.values, fields.writes, block.name, origin); }
    return nest;
  }

  // The old init as a separate block, under copies of the loops that it needs.
  static auto make_init(const Part& plan, const Stmt& init, const std::vector<IterVar>& inner_iters, const std::vector<Expr>& inner_values,
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
    Expr predicate = plan.division.inner_predicate;
    bool is_split = false;
    for (const Place* loop : plan.loops) { is_split |= !feeds_init(plan, *loop) && uses_loop(predicate, *loop); }
    if (is_split) {
      Expr kept = bool_imm(true);
      for (const Expr& condition : arith::split_conjunction(predicate)) {
        bool is_of_init = true;
        for (const Place* loop : plan.loops) { is_of_init = is_of_init && (feeds_init(plan, *loop) || !uses_loop(condition, *loop)); }
        if (is_of_init) { kept = logical_and(kept, condition); }
      }
      predicate = kept;
    }
    Expr condition = predicate;
    Stmt stmt = make<BlockRealize>(Array<Expr>(values), std::move(predicate), make<Block>(std::move(fields), origin), origin);
    for (const Place* place : plan.loops) {
      const For& loop = *place->loop;
      auto is_this = [&](const VarNode& x) { return &x == loop.var.get(); };
      bool is_needed = uses_var(condition, is_this) || std::any_of(values.begin(), values.end(), [&](const Expr& v) { return uses_var(v, is_this); });
      if (!is_needed) { continue; }
      Var var = make<VarNode>(loop.var->name, loop.var->dtype, loop.var->origin);
      map[loop.var.get()] = var;
      stmt = make<For>(var, loop.min, loop.extent, loop.for_kind, std::move(stmt), loop.thread, loop.annotations, origin);
    }
    return substitute(stmt, map);
  }
};

}  // namespace

const Primitive blockize = primitive<Blockize>("blockize", "Blockize", "makes a block of a loop and all below it, or of neighbouring blocks",
    {Order::LoopsReshaped, Hidden::GathersBelow})
    .input("target", &Blockize::Args::target).of(ValueKind::BlockOrLoop).from(candidates::loops_and_pairs)
    .attr("preserve_unit_iters", &Blockize::Args::preserve_unit_iters, true)
    .block("block")
    .example(examples::two_stages, "i0, i1 = sch.get_loops(\"C\")\nsch.blockize(i1)");

}  // namespace loopsmith::schedule::primitives

namespace loopsmith::schedule {

auto blockize_loop(const Context& cx, const Value& loop, bool preserve_unit_iters) -> Result<Ref<BlockRealize>> {
  using primitives::Blockize;
  Blockize::Args args{loop, preserve_unit_iters};
  LOOPSMITH_TRY(plan, Blockize::check(cx, args));
  return Blockize::apply(cx, args, plan).rewrite.changes.front().with.ref<BlockRealize>();
}

}  // namespace loopsmith::schedule
