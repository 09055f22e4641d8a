// cache_index: computes repeated index expressions of a block once, into separate buffers.
#include <algorithm>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/purity.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/func_tree.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::schedule::primitives {
namespace {

auto node_count(const Expr& e) -> size_t {
  size_t count = 0;
  post_order(e, [&](const Expr&) { ++count; });
  return count;
}

// True for an expression without loads that is more than a variable or a constant.
auto is_computation(const Expr& e) -> bool {
  return !e.as<Ramp>() && !e.as<Broadcast>() && node_count(e) > 1 && arith::is_pure(e);
}

auto is_same_computation(const Expr& a, const Expr& b) -> bool {
  if (arith::deep_equal(a, b)) { return true; }
  if (!(a.dtype() == b.dtype())) { return false; }
  arith::Analyzer analyzer;
  return arith::deep_equal(analyzer.simplify(a), analyzer.simplify(b));
}

struct Counted { Expr expr; int64_t count; };

// The largest computations in an expression: those contained in no other.
void outermost(const Expr& e, std::vector<Expr>& out) {
  if (is_computation(e)) { out.push_back(e); return; }
  visit_children(e, [&](const Expr& child) { outermost(child, out); });
}

// Inserts a computation into the table, which is sorted from large to small; equal sizes keep their order.
void insert_sorted(std::vector<Counted>& table, const Expr& e, int64_t count) {
  for (Counted& known : table) {
    if (is_same_computation(known.expr, e)) { known.count += count; return; }
  }
  size_t size = node_count(e);
  auto at = std::lower_bound(table.begin(), table.end(), size, [](const Counted& left, size_t s) { return node_count(left.expr) >= s; });
  table.insert(at, {e, count});
}

/// Stores computed indices in buffers, in front of the block that uses them.
///
///     C[vi] = A[vi // 4 * 8 + vi % 4]   ==>      index_var_0[v0] = v0 // 4 * 8 + v0 % 4
///                                                C[vi] = A[index_var_0[vi]]
///
/// Needs  a computation of iter vars that occurs at least `cse_thresh` times in a value that the block stores; iter values
///        of loops with constant bounds, and never negative.
/// Keeps  results bit for bit.
struct CacheIndex {
  struct Args { BlockArg block; std::string storage_scope; int64_t cse_thresh = 0; };
  struct Cached {
    Expr expr;
    std::vector<Var> iters;                   // iter vars that it uses, in order
    std::vector<std::pair<Var, Range>> loops; // loops that the iter vars use, in order
    std::vector<Expr> shape;
  };
  struct Plan { const Place* scope; int position; std::vector<Cached> all; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    const Place& place = *args.block;
    const Block& block = *place.block();
    auto refuse = [&](const Reason& why) { return not_cacheable(cx, place, why); };
    LOOPSMITH_CHECK(require_storage_scope(cx, args.storage_scope));
    if (args.cse_thresh < 0) { return refuse(because(Why::NegativeThreshold).arg("found", args.cse_thresh)); }
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    if (place.end != place.index + 1) { return note_block(cx.error(Code::NotLeafBlock).arg("block", block.name.view()), place); }
    const std::vector<Expr> found = frequent_computations(block, args.cse_thresh);
    if (found.empty() && args.cse_thresh < 2) { return refuse(because(Why::NoComputation)); }
    if (found.empty()) { return refuse(because(Why::NoCommonComputation).arg("times", args.cse_thresh)).remedy("give a smaller `cse_thresh`"); }
    // If its reads are looked up by index, iterations no longer have buffers of their own for these reads.
    for (NodeId id : producers_of(func, place)) { LOOPSMITH_CHECK(require_one_sum(cx, func, *func.find(id), nullptr)); }
    Plan plan{scope, 0, {}};
    for (const Expr& e : found) {
      LOOPSMITH_TRY(cached, cached_values(cx, func, place, e));
      plan.all.push_back(std::move(cached));
    }
    const Place* top = &place;
    for (const Place* at = func.parent(place); at != scope; at = func.parent(*at)) { top = at; }
    plan.position = std::max(0, statement_position(func, *scope, *top));
    return plan;
  }

  static auto not_cacheable(const Context& cx, const Place& place, const Reason& why) -> Diagnostic {
    return note_block(cx.error(Code::CacheIndexForm).arg("block", place.name().view()).arg("reason", why.text()), place);
  }

  // The computations that occur at least `least` times in a store of the block, from large to small.
  static auto frequent_computations(const Block& block, int64_t least) -> std::vector<Expr> {
    std::vector<Expr> found;
    std::vector<const BufferStore*> stores;
    post_order(block.body, [&](const Stmt& stmt) {
      if (const auto* store = stmt.as<BufferStore>()) { stores.push_back(store); }
    }, [](const Expr&) {});
    for (const BufferStore* store : stores) {
      std::vector<Expr> outer;
      outermost(store->value, outer);
      for (const Expr& index : store->indices) { outermost(index, outer); }
      std::vector<Counted> table;
      for (const Expr& e : outer) {
        auto known = std::find_if(table.begin(), table.end(), [&](const Counted& c) { return is_same_computation(c.expr, e); });
        if (known == table.end()) { table.push_back({e, 1}); } else { ++known->count; }
      }
      for (size_t i = 0; i < table.size(); ++i) {
        Counted counted = table[i];
        if (counted.count >= least) { continue; }
        std::vector<Expr> parts;
        visit_children(counted.expr, [&](const Expr& child) { outermost(child, parts); });
        for (const Expr& part : parts) { insert_sorted(table, part, counted.count); }
        // Moves on when an entry is inserted in front; no entry is split twice.
        while (i < table.size() && !(table[i].expr.same_as(counted.expr))) { ++i; }
      }
      post_order(store->value, [&](const Expr& e) {
        for (const Counted& counted : table) {
          if (counted.count < least || !is_same_computation(e, counted.expr)) { continue; }
          bool is_known = std::any_of(found.begin(), found.end(), [&](const Expr& f) { return is_same_computation(f, counted.expr); });
          if (!is_known) { found.push_back(counted.expr); }
        }
      });
    }
    // From large to small; entries of one size keep their order.
    std::vector<std::pair<size_t, size_t>> order;
    for (size_t i = 0; i < found.size(); ++i) { order.emplace_back(node_count(found[i]), i); }
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    std::vector<Expr> sorted;
    for (const auto& [size, i] : order) { sorted.push_back(found[i]); }
    return sorted;
  }

  // The values of a computation that are cached: its iter vars, the loops that these depend on, and the shape of the buffer.
  static auto cached_values(const Context& cx, const FuncState& func, const Place& place, const Expr& e) -> Result<Cached> {
    auto refuse = [&](const Reason& why) { return not_cacheable(cx, place, why); };
    const VarMap bindings = bindings_of(*place.realize);
    const Domains around = domains_around(func, place);
    arith::DomMap domains;
    for (const auto& [var, domain] : around) { domains.emplace(var.get(), arith::IntSet::from_range(domain)); }
    arith::Analyzer bounds;
    Cached cached{e, {}, {}, {}};
    bool is_free = false;
    auto add_loop = [&](const Expr& x) {
      const auto* var = x.as<VarNode>();
      if (!var) { return; }
      auto loop = std::find_if(around.begin(), around.end(), [&](const auto& a) { return a.first.get() == var; });
      if (loop == around.end()) { is_free = true; return; }
      is_free |= !as_int(loop->second.extent) || !is_zero(loop->second.min);
      if (std::none_of(cached.loops.begin(), cached.loops.end(), [&](const auto& l) { return l.first == loop->first; })) { cached.loops.push_back(*loop); }
    };
    post_order(e, [&](const Expr& x) {
      const auto* var = x.as<VarNode>();
      if (!var || std::any_of(cached.iters.begin(), cached.iters.end(), [&](const Var& v) { return v.get() == var; })) { return; }
      auto binding = bindings.find(var);
      if (binding == bindings.end()) { is_free = true; return; }
      cached.iters.push_back(x.ref<VarNode>());
      post_order(binding->second, add_loop);
    });
    if (is_free || cached.iters.empty()) { return refuse(because(Why::ComputationOfOtherLoops).arg("count", cached.iters.size())); }
    for (const Var& iter : cached.iters) {
      arith::IntSet set = arith::eval_set(bindings.at(iter.get()), domains);
      // The buffers are filled for all values of the loops, even where the predicate is false.
      if (!set.has_lower_bound() || !bounds.can_prove(greater_equal(set.min(), zero(set.min().dtype())))) { return refuse(because(Why::MayBeNegative).arg("variable", iter->name.view())); }
      if (!set.has_upper_bound()) { return refuse(because(Why::ValuesUnbounded).arg("variable", iter->name.view())); }
      cached.shape.push_back(set.max() + one(set.max().dtype()));
    }
    if (passes_its_type(cached)) { return refuse(because(Why::PassesTypeWhenMasked).arg("expression", print_script(e)).arg("dtype", e.dtype().str())); }
    return cached;
  }

  // True when the computation overflows its type for some value of its iter vars, or for a value beyond their domains, which is computed too.
  static auto passes_its_type(const Cached& cached) -> bool {
    DataType t = cached.expr.dtype();
    if (!t.is_int() || !t.is_scalar() || t.bits >= 64) { return false; }
    arith::Analyzer analyzer;
    for (size_t i = 0; i < cached.iters.size(); ++i) { analyzer.bind(cached.iters[i], from_zero(cast(cached.iters[i]->dtype, cached.shape[i]))); }
    arith::ConstIntBound bound = analyzer.const_int_bound(cached.expr);
    return bound.max != arith::ConstIntBound::pos_inf && bound.max > *as_int(max_value(t));
  }

  class Replace : public Mutator {
   public:
    Replace(const std::vector<Cached>& all, const std::vector<Buffer>& buffers) : all_(all), buffers_(buffers) {}
    using Mutator::on;
    auto on(const BufferStore& n) -> Stmt override {
      Stmt s = self(n);
      for (size_t i = 0; i < all_.size(); ++i) {
        std::vector<Expr> indices(all_[i].iters.begin(), all_[i].iters.end());
        Expr load = make<BufferLoad>(buffers_[i], Array<Expr>(std::move(indices)), n.origin);
        const auto& store = *s.as<BufferStore>();
        std::vector<Expr> changed;
        for (const Expr& index : store.indices) { changed.push_back(replaced(index, all_[i].expr, load)); }
        s = make<BufferStore>(store.buffer, replaced(store.value, all_[i].expr, load), Array<Expr>(std::move(changed)), store.origin, store.predicate);
      }
      return s;
    }

   private:
    class One : public Mutator {
     public:
      One(const Expr& what, const Expr& with) : what_(what), with_(with) {}
      using Mutator::on;
#define EXPR(Kind)                                                                \
  auto on(const Kind& n) -> Expr override {                                       \
    Expr e = self(n);                                                             \
    return is_same_computation(e, what_) ? with_ : Mutator::on(n);                \
  }
#define STMT(Kind)
#include "ir/nodes.def"

     private:
      const Expr& what_;
      const Expr& with_;
    };
    static auto replaced(const Expr& e, const Expr& what, const Expr& with) -> Expr { return One(what, with).mutate(e); }
    const std::vector<Cached>& all_;
    const std::vector<Buffer>& buffers_;
  };

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const Block& block = args.block.block();
    Origin origin = cx.made_from(block.origin);
    Outcome out;
    out.func = args.block.func->name();
    VarMap bindings = bindings_of(*args.block->realize);
    std::vector<Stmt> nests;
    std::vector<Buffer> buffers;
    for (size_t k = 0; k < plan.all.size(); ++k) {
      const Cached& cached = plan.all[k];
      Name name("index_var_" + std::to_string(k));
      DataType dtype = cached.expr.dtype();
      BufferNode fields;
      fields.name = name;
      fields.data = make<VarNode>(name, DataType::handle(), origin, PointerType{dtype, Name(args.storage_scope)});
      fields.dtype = dtype;
      fields.shape = cached.shape;
      // Sets a stride of 1, as TVM does; for several dimensions this stride has no meaning.
      fields.strides = {int_imm(1)};
      fields.elem_offset = int_imm(0);
      fields.data_alignment = 64;
      fields.offset_factor = 1;
      fields.origin = origin;
      Buffer buffer = make_buffer(std::move(fields));
      VarMap to_loops, to_iters;
      Domains loops;
      for (const auto& [var, domain] : cached.loops) {
        Var loop = make<VarNode>(Name(fmt::format("ax{}", loops.size())), var->dtype, origin);
        to_loops[var.get()] = loop;
        loops.emplace_back(loop, domain);
      }
      std::vector<IterVar> iters;
      std::vector<Expr> values, indices;
      std::vector<Range> region;
      for (size_t i = 0; i < cached.iters.size(); ++i) {
        IterVar iter;
        iter.var = make<VarNode>(Name(fmt::format("v{}", i)), cached.iters[i]->dtype, origin);
        iter.dom = from_zero(cast(iter.var->dtype, cached.shape[i]));
        to_iters[cached.iters[i].get()] = iter.var;
        values.push_back(substitute(bindings.at(cached.iters[i].get()), to_loops));
        indices.emplace_back(iter.var);
        region.push_back(point(iter.var));
        iters.push_back(std::move(iter));
      }
      Block::Fields index;
      index.name = Name("index_" + std::to_string(k));
      index.iter_vars = std::move(iters);
      index.writes = {BufferRegion{buffer, Array<Range>(std::move(region)), origin}};
      index.body = make<BufferStore>(buffer, substitute(cached.expr, to_iters), Array<Expr>(std::move(indices)), origin);
      Ref<Block> index_block = make<Block>(std::move(index), origin);
      out.outputs.push_back(Output::block(index_block->id));
      nests.push_back(wrap_loops(make<BlockRealize>(Array<Expr>(std::move(values)), bool_imm(true), std::move(index_block), origin), loops, origin));
      out.rewrite.allocs.push_back({plan.scope->id, buffer, {}});
      buffers.push_back(std::move(buffer));
    }
    auto fields = block.fields();
    fields.body = Replace(plan.all, buffers).mutate(block.body);
    out.rewrite.changes.push_back({args.block->id, make<Block>(std::move(fields), block.origin, block.id)});
    out.rewrite.inserts.push_back({plan.scope->id, plan.position, seq(std::move(nests), origin)});
    return out;
  }
};

}  // namespace

const Primitive cache_index = primitive<CacheIndex>("cache_index", "CacheIndex", "computes indices into buffers ahead of a block",
    {Order::Changed, Hidden::RedirectsAccesses})
    .moves_work()
    .input("block", &CacheIndex::Args::block)
    .attr("storage_scope", &CacheIndex::Args::storage_scope).from(candidates::storage_scopes)
    .attr("cse_thresh", &CacheIndex::Args::cse_thresh, 0).from([](const Choice&) { return std::vector<Value>{0, 2}; })
    .blocks("indices")
    .example(examples::resize, "sch.cache_index(\"B\", \"global\")");

}  // namespace loopsmith::schedule::primitives
