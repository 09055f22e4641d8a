// Moves inits in front of their loops: see separate_init.h.
#include "transform/separate_init.h"

#include <set>

#include "arith/iter_map.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "transform/fold.h"

namespace loopsmith::transform {
namespace {

/// The stores of a body that consists only of stores; else empty.
auto stores_of(const Stmt& body) -> std::vector<const BufferStore*> {
  std::vector<const BufferStore*> out;
  if (const auto* store = body.as<BufferStore>()) { return {store}; }
  if (const auto* all = body.as<SeqStmt>()) {
    for (const Stmt& s : all->seq) {
      const auto* store = s.as<BufferStore>();
      if (store == nullptr) { return {}; }
      out.push_back(store);
    }
  }
  return out;
}

/// A reduction and the loops from the outermost one that feeds its reduction axes; they contain no other statement.
struct Nest {
  std::vector<const For*> loops;           // outermost first
  const BlockRealize* realize = nullptr;
  std::set<const VarNode*> reducing;       // variables of the loops that feed a reduction axis
};

auto same(const Array<Expr>& a, const Array<Expr>& b) -> bool {
  if (a.size() != b.size()) { return false; }
  for (size_t i = 0; i < a.size(); ++i) { if (!structural_equal(a[i], b[i])) { return false; } }
  return true;
}

// True when each spatial instance writes separate elements, and the block reads its result only there.
auto is_complete(const Block& block) -> bool {
  std::vector<const BufferStore*> stores = stores_of(block.body);
  std::vector<const BufferStore*> inits = stores_of(block.init);
  if (stores.empty() || inits.empty() || block.match_buffers.size() != 0) { return false; }
  std::set<const VarNode*> reduction;
  for (const IterVar& iter : block.iter_vars) { if (iter.kind == IterKind::Reduction) { reduction.insert(iter.var.get()); } }
  auto names_axes = [&](const BufferStore& store) {
    std::set<const VarNode*> named;
    for (const Expr& index : store.indices) {
      const auto* v = index.as<VarNode>();
      if (v != nullptr ? reduction.contains(v) || !named.insert(v).second : !as_int(index)) { return false; }
    }
    for (const IterVar& iter : block.iter_vars) {
      if (iter.kind == IterKind::Spatial && !named.contains(iter.var.get()) && !is_one(iter.dom.extent)) { return false; }
    }
    return true;
  };
  for (const BufferStore* store : stores) { if (!names_axes(*store)) { return false; } }
  // Each init must store to an element that the body stores to.
  for (const BufferStore* init : inits) {
    bool is_written = false;
    for (const BufferStore* store : stores) { is_written = is_written || (store->buffer.get() == init->buffer.get() && same(store->indices, init->indices)); }
    if (!is_written) { return false; }
  }
  bool is_own = true;
  auto look = [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    if (load == nullptr) {
      const auto* call = e.as<Call>();
      // Calls other than arithmetic may access any memory.
      is_own = is_own && (call == nullptr || !call->dtype.is_handle());
      return;
    }
    for (const BufferStore* store : stores) {
      if (load->buffer->data.get() != store->buffer->data.get()) { continue; }
      is_own = is_own && load->buffer.get() == store->buffer.get() && same(load->indices, store->indices);
    }
  };
  for (const BufferStore* store : stores) { post_order(store->value, look); }
  for (const BufferStore* init : inits) { post_order(init->value, look); }
  return is_own;
}

auto find_nest(const For& outermost) -> std::optional<Nest> {
  Nest nest;
  const BlockRealize* realize = nullptr;
  for (const For* loop = &outermost;;) {
    nest.loops.push_back(loop);
    realize = loop->body.as<BlockRealize>();
    if (realize != nullptr) { break; }
    loop = loop->body.as<For>();
    if (loop == nullptr) { return {}; }
  }
  const Block& block = *realize->block;
  if (!block.init) { return {}; }
  nest.realize = realize;
  std::set<const VarNode*> loops;
  for (const For* loop : nest.loops) { loops.insert(loop->var.get()); }
  std::set<const VarNode*> spatial;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    IterKind kind = block.iter_vars[i].kind;
    if (kind != IterKind::Spatial && kind != IterKind::Reduction) { return {}; }
    post_order(realize->iter_values[i], [&](const Expr& e) {
      const auto* v = e.as<VarNode>();
      if (loops.contains(v)) { (kind == IterKind::Reduction ? nest.reducing : spatial).insert(v); }
    });
  }
  if (!nest.reducing.contains(outermost.var.get())) { return {}; }
  for (const VarNode* v : nest.reducing) { if (spatial.contains(v)) { return {}; } }
  for (const For* loop : nest.loops) {
    auto extent = as_int(loop->extent);
    if (!extent || *extent < 1 || loop->for_kind == ForKind::ThreadBinding) { return {}; }
    bool is_plain = loop->for_kind == ForKind::Serial || loop->for_kind == ForKind::Unrolled;
    if (nest.reducing.contains(loop->var.get()) && !is_plain) { return {}; }
  }
  return is_complete(block) ? std::optional(nest) : std::nullopt;
}

// True when each iteration of the loops is a different instance, and the first iteration of the reducing loops starts the reduction.
auto starts_once(const Nest& nest) -> bool {
  arith::Analyzer analyzer;
  arith::IterDomains domains;
  VarMap first;
  for (const For* loop : nest.loops) {
    analyzer.bind(loop->var, Range{loop->min, loop->extent});
    if (is_one(loop->extent)) { continue; }
    domains.emplace_back(loop->var, Range{loop->min, loop->extent});
  }
  for (const For* loop : nest.loops) { if (nest.reducing.contains(loop->var.get())) { first[loop->var.get()] = loop->min; } }
  const Block& block = *nest.realize->block;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (block.iter_vars[i].kind != IterKind::Reduction) { continue; }
    Expr start = substitute(nest.realize->iter_values[i], first);
    // An outer loop that feeds the axis would change its start.
    if (!analyzer.can_prove_equal(start, block.iter_vars[i].dom.min)) { return false; }
  }
  auto found = arith::detect_iter_map(nest.realize->iter_values.to_vector(), domains, bool_imm(true), arith::IterMapLevel::Bijective, analyzer);
  return !found.indices.empty() || domains.empty();
}

/// The init as a block with its own axes and loops.
auto init_of(const Nest& nest) -> Stmt {
  const Block& block = *nest.realize->block;
  VarMap at;      // replaces reducing loops by their start, the others by fresh variables
  std::vector<std::pair<const For*, Var>> kept;
  for (const For* loop : nest.loops) {
    if (nest.reducing.contains(loop->var.get())) { at[loop->var.get()] = loop->min; continue; }
    Var fresh = make<VarNode>(loop->var->name, loop->var->dtype, loop->var->origin);
    at[loop->var.get()] = fresh;
    kept.emplace_back(loop, fresh);
  }
  VarMap axes;
  std::vector<IterVar> iters;
  std::vector<Expr> values;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (iter.kind == IterKind::Reduction) { continue; }
    IterVar fresh = iter;
    fresh.var = make<VarNode>(iter.var->name, iter.var->dtype, iter.var->origin);
    axes[iter.var.get()] = fresh.var;
    iters.push_back(std::move(fresh));
    values.push_back(fold(nest.realize->iter_values[i], at));
  }
  Block::Fields fields;
  fields.name = Name(block.name.str() + "_init");
  fields.iter_vars = Array<IterVar>(std::move(iters));
  std::vector<BufferRegion> writes;
  for (const BufferStore* store : stores_of(block.init)) {
    std::vector<Range> region;
    for (const Expr& index : store->indices) {
      Expr begin = substitute(index, axes);
      region.push_back(Range{begin, one(begin.dtype())});
    }
    writes.push_back(BufferRegion{store->buffer, Array<Range>(std::move(region)), store->origin});
  }
  fields.writes = Array<BufferRegion>(std::move(writes));
  fields.body = substitute(block.init, axes);
  Stmt out = make<BlockRealize>(Array<Expr>(std::move(values)), fold(nest.realize->predicate, at), make<Block>(std::move(fields), block.init.origin()),
                                nest.realize->origin);
  for (size_t i = kept.size(); i-- > 0;) {
    const For& loop = *kept[i].first;
    out = make<For>(kept[i].second, fold(loop.min, at), loop.extent, loop.for_kind, std::move(out), std::nullopt, loop.annotations, loop.origin);
  }
  return out;
}

class SeparateInit : public Mutator {
 public:
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    std::optional<Nest> nest = find_nest(n);
    if (!nest || !starts_once(*nest)) { return Mutator::on(n); }
    Block::Fields fields = nest->realize->block->fields();
    Stmt init = init_of(*nest);
    fields.init = {};
    Stmt update = make<BlockRealize>(nest->realize->iter_values, nest->realize->predicate,
                                     make<Block>(std::move(fields), nest->realize->block->origin, nest->realize->block->id), nest->realize->origin);
    for (size_t i = nest->loops.size(); i-- > 0;) {
      const For& loop = *nest->loops[i];
      update = make<For>(loop.var, loop.min, loop.extent, loop.for_kind, std::move(update), loop.thread, loop.annotations, loop.origin, loop.id);
    }
    return seq({std::move(init), std::move(update)}, n.origin);
  }
};

}  // namespace

auto separate_init(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, SeparateInit().mutate(func->body)); });
}

}  // namespace loopsmith::transform
