// Primitives that change the layout of elements and the order of instances, by an index map: transform_layout,
// transform_block_layout, set_axis_separator. Index maps are computed in schedule/index_map.h.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "schedule/access_regions.h"
#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/facts/regions.h"
#include "schedule/facts/store_order.h"
#include "schedule/index_map.h"
#include "schedule/iter_context.h"
#include "schedule/primitives.h"
#include "schedule/reducers.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"
#include "support/scoped_value.h"

namespace loopsmith::schedule::primitives {
namespace {

// The origin of a buffer: the block that allocates it, or the root block for a parameter.
struct Definition { const Place* site = nullptr; bool is_parameter = false; };

auto require_definition(const Context& cx, const BlockArg& block, const Buffer& buffer) -> Result<Definition> {
  const FuncState& func = *block.func;
  for (const Place* at = block.place; at; at = func.parent(*at)) {
    if (!at->is_block()) { continue; }
    if (func.allocates(*at, buffer)) { return Definition{at, false}; }
    for (const MatchBufferRegion& match : at->block()->match_buffers) {
      if (match.buffer == buffer) { return note_block(cx.error(Code::BufferOfView).arg("buffer", buffer->name.view()), *at); }
    }
  }
  for (const auto& [param, mapped] : func.func()->buffer_map) {
    if (mapped == buffer) {
      LOOPSMITH_CHECK(require_scope(cx, block));
      return Definition{&func.root(), true};
    }
  }
  return note_block(cx.error(Code::NotAllocated).arg("buffer", buffer->name.view()), *block);
}

// The function with another buffer for a parameter.
auto with_parameter(const PrimFunc& func, const Buffer& from, const Buffer& to) -> PrimFunc {
  PrimFuncNode fields = *func;
  std::vector<std::pair<Var, Buffer>> map = func->buffer_map.to_vector();
  for (auto& [param, buffer] : map) {
    if (buffer == from) { buffer = to; }
  }
  fields.buffer_map = std::move(map);
  return make_func(std::move(fields));
}

auto with_shape(const Buffer& buffer, std::vector<Expr> shape) -> Buffer {
  BufferNode fields = *buffer;
  fields.shape = std::move(shape);
  return make_buffer(std::move(fields));
}

// Uses that name no element: a new layout cannot be applied to them.
struct OtherUse { std::string_view what; Name block; };
class OtherUses : public Visitor {
 public:
  OtherUses(const Buffer& buffer, Name block) : buffer_(buffer), block_(block) {}
  using Visitor::visit;
  std::optional<OtherUse> found;

 protected:
  using Visitor::on;
  void on(const VarNode& n) override {
    if (&n == buffer_->data.get()) { add("used as a pointer"); }
  }
  void on(const BufferLoad& n) override { access(n.buffer, n.indices); Visitor::on(n); }
  void on(const BufferStore& n) override { access(n.buffer, n.indices); Visitor::on(n); }
  void on(const Block& n) override {
    ScopedValue<Name> inside(block_, n.name);
    for (const MatchBufferRegion& match : n.match_buffers) {
      if (match.source.buffer->data == buffer_->data) { add("matched to another buffer"); }
    }
    Visitor::on(n);
  }
  void on(const DeclBuffer& n) override {
    if (n.buffer->data == buffer_->data) { add("declared again as another buffer"); }
    Visitor::on(n);
  }

 private:
  void access(const Buffer& buffer, const Array<Expr>& indices) {
    if (!(buffer->data == buffer_->data)) { return; }
    if (!(buffer == buffer_)) { add("accessed under another shape"); }
    for (const Expr& index : indices) {
      if (!index.dtype().is_scalar()) { add("accessed as a vector"); }
    }
  }
  void add(std::string_view what) {
    if (!found) { found = {what, block_}; }
  }
  const Buffer& buffer_;
  Name block_;
};

// ---- padding -------------------------------------------------------------------------------------------
// If no element of the old layout maps to a position of the new layout, that position gets the pad value. In order of preference:
//  - the buffer is written nowhere (an input): a block at the start states with `T.assume` that callers put the pad value there;
//  - a loop nest that only stores each element in row-major order runs over the new layout instead, and stores the pad value at
//    the other positions;
//  - a block behind the last writer fills these positions.

struct Write {
  const BufferStore* store = nullptr;
  const BlockRealize* realize = nullptr;    // the innermost around
  std::vector<const For*> nest;             // from the first to the last loop that the indices depend on
  bool is_row_major = false;
};

class WriteFinder : public Visitor {
 public:
  explicit WriteFinder(const Buffer& buffer) : buffer_(buffer) {}
  using Visitor::visit;
  std::vector<Write> writes;

 protected:
  using Visitor::on;
  using Depths = std::optional<std::pair<size_t, size_t>>;
  void on(const For& n) override {
    depths_[n.var.get()] = {loops_.size(), loops_.size()};
    loops_.push_back(&n);
    Visitor::on(n);
    loops_.pop_back();
    depths_.erase(n.var.get());
  }
  void on(const LetStmt& n) override {
    bind(n.var, n.value);
    Visitor::on(n);
    unbind(n.var);
  }
  void on(const BlockRealize& n) override {
    for (size_t i = 0; i < n.iter_values.size(); ++i) { bind(n.block->iter_vars[i].var, n.iter_values[i]); }
    {
      ScopedValue<const BlockRealize*> inside(realize_, &n);
      Visitor::on(n);
    }
    for (const IterVar& iter : n.block->iter_vars) { unbind(iter.var); }
  }
  void on(const BufferStore& n) override {
    if (!(n.buffer == buffer_)) { return; }
    Depths range;
    for (const Expr& index : n.indices) { range = joined(range, depths_of(index)); }
    Write write{&n, realize_, {}, false};
    if (range) { write.nest.assign(loops_.begin() + static_cast<ptrdiff_t>(range->first), loops_.begin() + static_cast<ptrdiff_t>(range->second) + 1); }
    write.is_row_major = !write.nest.empty() && write.nest.size() == buffer_->shape.size() && write.nest.size() == n.indices.size();
    for (size_t i = 0; write.is_row_major && i < write.nest.size(); ++i) {
      const For& loop = *write.nest[i];
      Expr index = substitute(n.indices[i], bindings_);
      write.is_row_major = index.get() == loop.var.get() && is_zero(loop.min) && arith::deep_equal(loop.extent, buffer_->shape[i]) && loop.for_kind == ForKind::Serial;
      // No other statement may be between the loops, since the loops are removed.
      if (i + 1 < write.nest.size()) { write.is_row_major = write.is_row_major && loop.body.as<For>() == write.nest[i + 1]; }
    }
    writes.push_back(std::move(write));
  }

 private:
  static auto joined(const Depths& a, const Depths& b) -> Depths {
    if (!a) { return b; }
    if (!b) { return a; }
    return std::pair{std::min(a->first, b->first), std::max(a->second, b->second)};
  }
  auto depths_of(const Expr& e) const -> Depths {
    Depths out;
    post_order(e, [&](const Expr& x) {
      if (const auto* var = x.as<VarNode>()) {
        if (auto found = depths_.find(var); found != depths_.end()) { out = joined(out, found->second); }
      }
    });
    return out;
  }
  void bind(const Var& var, const Expr& value) {
    if (auto depths = depths_of(value)) {
      depths_[var.get()] = *depths;
      bindings_[var.get()] = substitute(value, bindings_);
    }
  }
  void unbind(const Var& var) {
    depths_.erase(var.get());
    bindings_.erase(var.get());
  }
  const Buffer& buffer_;
  const BlockRealize* realize_ = nullptr;
  std::vector<const For*> loops_;
  std::unordered_map<const VarNode*, std::pair<size_t, size_t>> depths_;
  VarMap bindings_;
};

struct Layout {
  Buffer from, to;
  IndexMap map;
  IndexMap inverse;                         // (axis0, ...) -> the old indices; none if it is not needed
  Expr padding;                             // the condition for padding, over the inverse's variables
  IndexMap pad_value;                       // none: no padding is filled
};

// Rewrites the body of a row-major nest to run over the new layout.
class NestReplacer : public Mutator {
 public:
  NestReplacer(const Write& write, const Layout& layout) : write_(write), layout_(layout), padding_(layout.padding) {
    for (size_t i = 0; i < write.nest.size(); ++i) { values_[write.nest[i]->var.get()] = cast(write.nest[i]->var->dtype, layout.inverse->final[i]); }
    for (const Var& axis : layout.inverse->initial) { indices_.emplace_back(axis); }
    find_iters();
  }
  /// False: the nest contains more than stores that can be guarded.
  bool is_complete = true;

  using Mutator::on;
  auto on(const VarNode& n) -> Expr override {
    auto found = values_.find(&n);
    return found == values_.end() ? self(n) : found->second;
  }
  auto on(const Evaluate& n) -> Stmt override {
    if (!is_no_op(self(n))) { is_complete = false; }
    return self(n);
  }
  auto on(const BufferStore& n) -> Stmt override {
    bool is_same = n.buffer == layout_.from && !n.predicate;
    for (size_t i = 0; is_same && i < n.indices.size(); ++i) { is_same = arith::deep_equal(n.indices[i], write_.store->indices[i]); }
    if (!is_same) {
      is_complete = false;
      return Mutator::on(n);
    }
    arith::Analyzer analyzer;
    Expr pad = map_indices(layout_.pad_value, indices_, analyzer)[0];
    return make<BufferStore>(layout_.to, if_then_else(padding_, std::move(pad), mutate(n.value)), Array<Expr>(indices_), n.origin);
  }
  auto on(const BlockRealize& n) -> Stmt override {
    if (!is_one(n.predicate)) { is_complete = false; }
    Stmt stmt = Mutator::on(n);
    if (&n != write_.realize) {
      // A block around the store gets iter vars for the removed loops.
      is_complete = is_complete && n.block->iter_vars.empty();
      return stmt;
    }
    if (iter_vars_.empty()) {
      // An opaque block uses the loops themselves.
      is_complete = is_complete && n.block->iter_vars.empty();
      return stmt;
    }
    const auto& realize = *stmt.as<BlockRealize>();
    auto fields = realize.block->fields();
    fields.iter_vars = iter_vars_;
    return make<BlockRealize>(Array<Expr>(iter_values_), realize.predicate, make<Block>(std::move(fields), n.block->origin, n.block->id), n.origin);
  }

 private:
  // If the store's indices are iter vars of its block, replaces these by iter vars over the new layout.
  void find_iters() {
    if (!write_.realize) { return; }
    const auto& old = write_.realize->block->iter_vars;
    const auto& indices = write_.store->indices;
    if (indices.empty() || old.size() < indices.size()) { return; }
    size_t first = 0;
    while (first < old.size() - indices.size() && indices[0].get() != old[first].var.get()) { ++first; }
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i].get() != old[first + i].var.get() || old[first + i].kind != IterKind::Spatial) { return; }
    }
    VarMap to_iters;
    std::vector<Expr> new_indices;
    const auto& axes = layout_.inverse->initial;
    auto keep = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        iter_vars_.push_back(old[i]);
        iter_values_.push_back(write_.realize->iter_values[i]);
      }
    };
    keep(0, first);
    for (size_t i = 0; i < axes.size(); ++i) {
      Var var = make<VarNode>(Name("v_" + axes[i]->name.str()), axes[i]->dtype);
      to_iters[axes[i].get()] = var;
      new_indices.emplace_back(var);
      IterVar iter;
      iter.var = var;
      iter.dom = from_zero(cast(var->dtype, layout_.to->shape[i]));
      iter_vars_.push_back(std::move(iter));
      iter_values_.emplace_back(axes[i]);
    }
    keep(first + indices.size(), old.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      const auto* iter = indices[i].as<VarNode>();
      values_[iter] = cast(iter->dtype, substitute(layout_.inverse->final[i], to_iters));
    }
    padding_ = substitute(padding_, to_iters);
    indices_ = std::move(new_indices);
  }
  const Write& write_;
  const Layout& layout_;
  VarMap values_;
  std::vector<Expr> indices_;
  Expr padding_;
  std::vector<IterVar> iter_vars_;
  std::vector<Expr> iter_values_;
};

// for axis0, ...: with T.block(name): statement(v_axis0, ...)
struct FillNest {
  std::vector<IterVar> iters;
  std::vector<Expr> indices;
  VarMap to_iters;
};
auto fill_nest(const Layout& layout) -> FillNest {
  FillNest out;
  for (size_t i = 0; i < layout.inverse->initial.size(); ++i) {
    const Var& axis = layout.inverse->initial[i];
    IterVar iter;
    iter.var = make<VarNode>(Name("v_" + axis->name.str()), axis->dtype);
    iter.dom = from_zero(cast(iter.var->dtype, layout.to->shape[i]));
    out.to_iters[axis.get()] = iter.var;
    out.indices.emplace_back(iter.var);
    out.iters.push_back(std::move(iter));
  }
  return out;
}
auto points(const std::vector<Expr>& indices) -> Array<Range> {
  std::vector<Range> out;
  for (const Expr& index : indices) { out.push_back(point(index)); }
  return Array<Range>(std::move(out));
}
auto over_layout(const Layout& layout, Block::Fields fields, Expr predicate, Origin origin) -> Stmt {
  std::vector<Expr> values(layout.inverse->initial.begin(), layout.inverse->initial.end());
  Stmt stmt = make<BlockRealize>(Array<Expr>(std::move(values)), std::move(predicate), make<Block>(std::move(fields), origin), origin);
  Domains loops;
  for (size_t i = 0; i < layout.to->shape.size(); ++i) { loops.emplace_back(layout.inverse->initial[i], from_zero(layout.to->shape[i])); }
  return wrap_loops(std::move(stmt), loops, origin);
}

struct PaddingPlan {
  Stmt prologue;
  std::unordered_map<const StmtNode*, Stmt> replacements;
  const StmtNode* insert_after = nullptr;
  Stmt epilogue;
};

auto plan_padding(const std::vector<Stmt>& statements, const Layout& layout, Origin origin) -> PaddingPlan {
  PaddingPlan plan;
  if (!layout.pad_value || is_zero(layout.padding)) { return plan; }
  WriteFinder finder(layout.from);
  for (const Stmt& stmt : statements) { finder.visit(stmt); }
  arith::Analyzer analyzer;
  FillNest nest = fill_nest(layout);
  Expr pad = map_indices(layout.pad_value, nest.indices, analyzer)[0];
  Block::Fields fields;
  fields.iter_vars = nest.iters;
  if (finder.writes.empty()) {
    Expr is_pad = equal(make<BufferLoad>(layout.to, Array<Expr>(nest.indices), origin), std::move(pad));
    Expr condition = logical_or(logical_not(substitute(layout.padding, nest.to_iters)), std::move(is_pad));
    fields.name = Name("buffer_" + layout.to->name.str() + "_assumptions");
    fields.reads = {BufferRegion{layout.to, points(nest.indices), origin}};
    fields.body = make<Evaluate>(Expr(make<Call>(DataType::bool_(), Name("assume"), Array<Expr>{std::move(condition)}, origin)), origin);
    plan.prologue = over_layout(layout, std::move(fields), bool_imm(true), origin);
    return plan;
  }
  for (const Write& write : finder.writes) {
    if (!write.is_row_major) { continue; }
    NestReplacer replacer(write, layout);
    Stmt body = replacer.mutate(write.nest.back()->body);
    if (!replacer.is_complete) { continue; }
    // Each nest has separate loop variables.
    VarMap own;
    Domains loops;
    for (size_t i = 0; i < layout.to->shape.size(); ++i) {
      const Var& axis = layout.inverse->initial[i];
      Var var = make<VarNode>(axis->name, axis->dtype, axis->origin);
      own[axis.get()] = var;
      loops.emplace_back(std::move(var), from_zero(layout.to->shape[i]));
    }
    plan.replacements[write.nest.front()] = wrap_loops(substitute(body, own), loops, origin);
  }
  if (!plan.replacements.empty()) { return plan; }
  const Write& last = finder.writes.back();
  plan.insert_after = last.nest.empty() ? static_cast<const StmtNode*>(last.realize) : last.nest.front();
  fields.name = Name("buffer_" + layout.to->name.str() + "_padding");
  fields.writes = {BufferRegion{layout.to, points(nest.indices), origin}};
  fields.body = make<BufferStore>(layout.to, std::move(pad), Array<Expr>(nest.indices), origin);
  plan.epilogue = over_layout(layout, std::move(fields), layout.padding, origin);
  return plan;
}

class LayoutRewriter : public IterContextMutator {
 public:
  LayoutRewriter(const Layout& layout, const PaddingPlan& plan) : layout_(layout), plan_(plan) {}
  using IterContextMutator::on;
  auto on(const For& n) -> Stmt override {
    if (auto found = plan_.replacements.find(&n); found != plan_.replacements.end()) { return mutate(found->second); }
    return with_epilogue(n, IterContextMutator::on(n));
  }
  auto on(const BlockRealize& n) -> Stmt override { return with_epilogue(n, IterContextMutator::on(n)); }
  auto on(const BufferLoad& n) -> Expr override {
    Expr e = IterContextMutator::on(n);
    const auto& load = *e.as<BufferLoad>();
    if (!(load.buffer == layout_.from)) { return e; }
    return make<BufferLoad>(layout_.to, FAULT(layout_load_first) ? mapped(Array<Expr>(std::vector<Expr>(load.indices.size(), zero(load.indices[0].dtype())))) : mapped(load.indices), load.origin, load.predicate);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Stmt s = IterContextMutator::on(n);
    const auto& store = *s.as<BufferStore>();
    if (!(store.buffer == layout_.from)) { return s; }
    return make<BufferStore>(layout_.to, store.value, mapped(store.indices), store.origin, store.predicate);
  }
  auto on(const Block& n) -> Stmt override {
    Stmt stmt = IterContextMutator::on(n);
    auto mentions = [&](const Array<BufferRegion>& regions) {
      return std::any_of(regions.begin(), regions.end(), [&](const BufferRegion& r) { return r.buffer == layout_.from; });
    };
    const Block& now = *stmt.as<Block>();
    bool allocates = std::find(now.alloc_buffers.begin(), now.alloc_buffers.end(), layout_.from) != now.alloc_buffers.end();
    bool accesses = mentions(now.reads) || mentions(now.writes);
    if (!allocates && !accesses) { return stmt; }
    auto fields = now.fields();
    if (accesses) {
      AccessRegions found = find_access_regions(now, {layout_.to});
      fields.reads = moved(fields.reads, found.reads);
      fields.writes = moved(fields.writes, found.writes);
    }
    fields.alloc_buffers = fields.alloc_buffers.map_same([&](const Buffer& b) { return b == layout_.from ? layout_.to : b; },
                                                         [](const Buffer& a, const Buffer& b) { return a.same_as(b); });
    return make<Block>(std::move(fields), now.origin, now.id);
  }

 private:
  auto with_epilogue(const StmtNode& n, Stmt out) const -> Stmt { return plan_.insert_after == &n ? seq({std::move(out), plan_.epilogue}, n.origin) : out; }
  auto mapped(const Array<Expr>& indices) -> Array<Expr> { return Array<Expr>(simplify_indices(map_indices(layout_.map, indices.to_vector(), plain_))); }
  auto moved(const Array<BufferRegion>& regions, const std::vector<BufferRegion>& found) const -> Array<BufferRegion> {
    return regions.map_same(
        [&](const BufferRegion& r) {
          if (!(r.buffer == layout_.from)) { return r; }
          // The access is declared but not visible in the body: it may be anywhere.
          return found.size() == 1 ? found[0] : full_region(layout_.to);
        },
        [](const auto& a, const auto& b) { return a.same_as(b); });
  }
  const Layout& layout_;
  const PaddingPlan& plan_;
  arith::Analyzer plain_;                   // without facts, as in TVM
};

auto is_identity(const IndexMapNode& map) -> bool {
  bool same = map.initial.size() == map.final.size();
  for (size_t i = 0; same && i < map.final.size(); ++i) { same = map.final[i].get() == map.initial[i].get(); }
  return same;
}

void know_shapes(const PrimFunc& func, arith::Analyzer& analyzer) {
  for (const auto& [param, buffer] : func->buffer_map) {
    for (const Expr& extent : buffer->shape) {
      if (auto var = extent.ref<VarNode>()) { analyzer.mark_non_negative(var, true); }
    }
  }
}

/// Changes the layout of a buffer, everywhere it is used. The new layout of a parameter changes the tensor that callers pass.
///
///     B = T.alloc_buffer((16, 8))            B = T.alloc_buffer((8, 4, 4))
///     B[vi, vj] = A[vi, vj]        ==>       B[vj, vi // 4, vi % 4] = A[vi, vj]
///
/// Needs  a buffer that a block allocates, or a parameter; it is accessed element by element only; an injective affine map, and a
///        pad value if positions of the new layout get no element (or the promise that the map is injective).
/// Keeps  results bit for bit, apart from the layout of a parameter.
struct TransformLayout {
  struct Args {
    BlockArg block;
    BufferArg buffer;
    IndexMap index_map;
    std::optional<IndexMap> pad_value;
    bool assume_injective_transform = false;
  };
  struct Plan { Definition definition; Layout layout; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_TRY(region, require_buffer(cx, *args.block, args.buffer.index, args.buffer.is_write));
    const Buffer& buffer = region.buffer;
    auto about = [&](Code code) { return cx.error(code).arg("buffer", buffer->name.view()).at_node(args.block->id); };
    LOOPSMITH_CHECK(require_arity(cx, args.index_map, buffer->shape.size()));
    LOOPSMITH_TRY(definition, require_definition(cx, args.block, buffer));
    if (!buffer->strides.empty()) { return about(Code::BufferStrides); }
    OtherUses uses(buffer, definition.site->name());
    for (const Stmt& stmt : statements_with(*args.block.func, *definition.site, buffer)) { uses.visit(stmt); }
    // If every element stays in place, all uses remain valid. Separators may come with such a map.
    if (uses.found && is_identity(*args.index_map)) { return Plan{definition, {buffer, buffer, args.index_map, {}, bool_imm(false), {}}}; }
    if (uses.found) { return about(Code::BufferUse).arg("use", uses.found->what).arg("block", uses.found->block.view()); }
    IndexMap map = retyped(args.index_map, buffer->shape);
    if (args.pad_value) {
      const IndexMap& pad = *args.pad_value;
      if (pad->final.size() != 1) { return about(Code::PadValue).arg("reason", because(Why::PadValueCount).arg("count", pad->final.size()).text()); }
      if (!(pad->final[0].dtype() == buffer->dtype)) {
        return about(Code::PadValue).arg("reason", because(Why::PadValueType).arg("dtype", buffer->dtype.str()).arg("found", pad->final[0].dtype().str()).text())
            .remedy(fmt::format("give a `T.{}`", buffer->dtype.str()));
      }
      bool has_load = false;
      post_order(pad->final[0], [&](const Expr& e) { has_load |= e.as<BufferLoad>() != nullptr; });
      if (has_load) { return about(Code::PadValue).arg("reason", because(Why::PadValueLoads).text()); }
      LOOPSMITH_CHECK(require_arity(cx, pad, map->final.size()));
    }
    arith::Analyzer analyzer;
    know_shapes(args.block.func->func(), analyzer);
    Plan plan{definition, {buffer, {}, map, {}, bool_imm(false), {}}};
    std::vector<Expr> shape = buffer->shape.to_vector();
    IndexMap inverse;
    if (!args.assume_injective_transform) {
      InverseResult found = inverse_with_padding(map, shape, analyzer);
      if (!found.inverse) { return cx.error(Code::MapNotBijective).arg("reason", found.why.text()).at_node(args.block->id); }
      plan.layout.inverse = inverse = found.inverse->map;
      plan.layout.padding = found.inverse->padding;
    }
    auto injective = is_injective(map, inverse, shape);
    if ((injective && !*injective) || (!injective && !args.assume_injective_transform)) {
      return cx.error(Code::MapNotBijective).arg("reason", because(Why::ElementsMeet).text()).at_node(args.block->id);
    }
    if (!is_zero(plan.layout.padding) && !args.pad_value) {
      return about(Code::MapPads).arg("where", print_script(plan.layout.padding)).remedy("give the value of the new elements: `pad_value=...`");
    }
    if (args.pad_value && args.assume_injective_transform) {
      return about(Code::PadValue).arg("reason", because(Why::PadPlaceUnknown).text());
    }
    // The block that fills the padding is outside of all loops, and uses the same buffer as the other writers.
    if (!is_zero(plan.layout.padding)) {
      for (const Place* writer : args.block.func->blocks_mentioning(*definition.site, buffer)) {
        if (region_of(writer->block()->writes, buffer)) { LOOPSMITH_CHECK(require_one_buffer(cx, *args.block.func, *writer, *definition.site, buffer)); }
      }
    }
    auto new_shape = map_shape(map, shape, analyzer);
    if (!new_shape) { return cx.error(Code::MapNotBijective).arg("reason", because(Why::MapNotFromZero).text()).at_node(args.block->id); }
    plan.layout.to = with_shape(buffer, std::move(*new_shape));
    if (args.pad_value) { plan.layout.pad_value = *args.pad_value; }
    return plan;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    if (plan.layout.from == plan.layout.to) { return {}; }
    const FuncState& func = *args.block.func;
    const Place& site = *plan.definition.site;
    Outcome out;
    out.func = func.name();
    PaddingPlan padding = plan_padding(statements_with(func, site, plan.layout.from), plan.layout, cx.made_from(args.block.block().origin));
    LayoutRewriter rewriter(plan.layout, padding);
    bool is_whole = false;
    out.rewrite = with_buffer_changed(func, site, plan.layout.from, plan.layout.to, [&](const Stmt& stmt) {
      Stmt changed = rewriter.mutate(stmt);
      if (!stmt.as<Block>() || !padding.prologue) { return changed; }
      is_whole = true;
      auto fields = changed.as<Block>()->fields();
      fields.body = seq({padding.prologue, fields.body}, fields.body.origin());
      return Stmt(make<Block>(std::move(fields), changed.origin(), site.id));
    });
    if (padding.prologue && !is_whole) { out.rewrite.inserts.push_back({site.id, 0, padding.prologue}); }
    if (plan.definition.is_parameter) { out.rewrite.signature = with_parameter(func.func(), plan.layout.from, plan.layout.to); }
    return out;
  }
};

// The kind of an index over iter vars: the kind that they have in common. A constant index has one value, so any kind fits.
auto kind_of(const Expr& e, const Block& block) -> std::optional<IterKind> {
  if (e.as<IntImm>()) { return IterKind::Spatial; }
  std::optional<IterKind> kind;
  bool is_mixed = false;
  post_order(e, [&](const Expr& x) {
    for (const IterVar& iter : block.iter_vars) {
      if (x.get() != iter.var.get()) { continue; }
      is_mixed |= kind && *kind != iter.kind;
      kind = iter.kind;
    }
  });
  if (is_mixed || kind == IterKind::Opaque) { return {}; }
  return kind;
}

// The position of an index tuple in row-major order.
auto row_major(const std::vector<Expr>& indices, const std::vector<Expr>& shape) -> Expr {
  Expr out = int_imm(0, indices.empty() ? DataType::int_(32) : indices[0].dtype());
  for (size_t i = 0; i < indices.size(); ++i) { out = out * shape[i] + indices[i]; }
  return out;
}

/// Numbers the instances of a block by other iter vars, in new loops over these.
///
///     for i, j in T.grid(4, 8):              for ax0 in range(32):
///         with T.block("B"):                     with T.block("B"):
///             vi, vj = ...         ==>               v0 = T.axis.spatial(32, ax0)
///             B[vi, vj] = A[vi, vj]                  B[v0 // 8, v0 % 8] = A[v0 // 8, v0 % 8]
///
/// Needs  a block alone in its loops, which start at 0, with one loop for each iter var in order; a bijective affine map that
///        does not mix kinds of iter vars; if the order of instances changes, instances that work on separate elements, or leave
///        the same values in the elements that they share; and if the order of a reduction changes, updates that commute.
/// Keeps  results; reductions may be reassociated.
struct TransformBlockLayout {
  struct Args { BlockArg block; IndexMap index_map; };
  struct Plan { NodeId at; std::vector<IterVar> iters; std::vector<Expr> old_values; std::vector<Expr> extents; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    const Place& place = *args.block;
    const Block& block = *place.block();
    auto refuse = [&](const Reason& why) { return block_iters(cx, place, why); };
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    LOOPSMITH_CHECK(require_own_domains(cx, func, place));
    std::vector<const Place*> loops = func.loops(place);
    LOOPSMITH_CHECK(require_plain_nest(cx, func, place, loops));
    std::vector<Expr> extents, vars;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      if (!is_zero(iter.dom.min)) { return refuse(because(Why::IterNotFromZero).arg("iter", iter.var->name.view())); }
      // The new loops run over the whole domain.
      arith::Analyzer analyzer;
      if (!analyzer.can_prove_equal(loops[i]->loop->extent, iter.dom.extent)) { return refuse(because(Why::LoopShorter).arg("loop", loops[i]->name().view()).arg("iter", iter.var->name.view())); }
      extents.push_back(iter.dom.extent);
      vars.emplace_back(iter.var);
    }
    LOOPSMITH_CHECK(require_arity(cx, args.index_map, vars.size()));
    arith::Analyzer analyzer;
    know_shapes(func.func(), analyzer);
    IndexMap map = retyped(args.index_map, Array<Expr>(vars));
    std::vector<Expr> images = map_indices(map, vars, analyzer);
    auto new_extents = map_shape(map, extents, analyzer);
    auto not_bijective = [&](const Reason& why) { return note_block(cx.error(Code::MapNotBijective).arg("reason", why.text()), place); };
    if (!new_extents) { return not_bijective(because(Why::MapNotFromZero)); }
    Plan plan{loops.empty() ? place.id : loops.front()->id, {}, {}, *new_extents};
    std::vector<Expr> new_vars;
    // An index with one value is spatial, for all kinds of iter vars.
    arith::Analyzer within;
    for (const IterVar& iter : block.iter_vars) { within.bind(iter.var, iter.dom); }
    for (size_t i = 0; i < images.size(); ++i) {
      auto kind = kind_of(within.simplify(images[i]), block);
      if (!kind) { return refuse(because(Why::MixesKinds).arg("expression", print_script(images[i]))); }
      IterVar iter;
      iter.var = make<VarNode>(Name("v" + std::to_string(i)), images[i].dtype());
      iter.dom = from_zero(cast(images[i].dtype(), (*new_extents)[i]));
      iter.kind = *kind;
      new_vars.emplace_back(iter.var);
      plan.iters.push_back(std::move(iter));
    }
    InverseResult inverse = inverse_of_bijection(map, extents, analyzer);
    if (!inverse.inverse) { return not_bijective(inverse.why); }
    bool has_sizes = std::any_of(extents.begin(), extents.end(), [](const Expr& e) { return !as_int(e); });
    auto injective = is_injective(map, inverse.inverse->map, extents);
    if (!injective && has_sizes) { injective = is_injective_for_some_sizes(map, extents); }
    if (!injective || !*injective) { return not_bijective(because(Why::InstancesMeet)); }
    plan.old_values = map_indices(inverse.inverse->map, new_vars, analyzer);
    // The order of instances changes.
    arith::Analyzer bound;
    for (const IterVar& iter : block.iter_vars) { bound.bind(iter.var, iter.dom); }
    if (bound.can_prove_equal(row_major(vars, extents), row_major(images, *new_extents))) { return plan; }
    LOOPSMITH_CHECK(require_any_order(cx, func, place, plan, {vars, extents, images, *new_extents}, bound));
    return plan;
  }

  static auto block_iters(const Context& cx, const Place& place, const Reason& why) -> Diagnostic {
    return note_block(cx.error(Code::BlockIters).arg("block", place.name().view()).arg("reason", why.text()), place);
  }

  // The block is alone in its loops, which start at 0 and are its iter values, in their order.
  static auto require_plain_nest(const Context& cx, const FuncState& func, const Place& place, const std::vector<const Place*>& loops) -> Status {
    const BlockRealize& realize = *place.realize;
    auto refuse = [&](const Reason& why) { return block_iters(cx, place, why); };
    for (const Place* loop : loops) {
      LoopArg arg;
      arg.func = &func;
      arg.place = loop;
      LOOPSMITH_CHECK(require_starts_at_zero(cx, arg));
    }
    const StmtNode* expected = &realize;
    for (auto it = loops.rbegin(); it != loops.rend(); ++it) {
      if ((*it)->loop->body.get() != expected) { return note_loop(refuse(because(Why::NotAloneInLoop).arg("loop", (*it)->name().view())), **it); }
      expected = (*it)->loop;
    }
    bool is_trivial = loops.size() == realize.iter_values.size();
    for (size_t i = 0; is_trivial && i < loops.size(); ++i) { is_trivial = realize.iter_values[i].get() == loops[i]->loop->var.get(); }
    if (!is_trivial) { return refuse(because(Why::IterValuesNotLoops)); }
    return ok();
  }

  // The iter vars of the block and their extents, and the new indices with theirs.
  struct Indices { const std::vector<Expr>& vars; const std::vector<Expr>& extents; const std::vector<Expr>& images; const std::vector<Expr>& new_extents; };

  // The instances may run in the new order.
  static auto require_any_order(const Context& cx, const FuncState& func, const Place& place, const Plan& plan, const Indices& now, arith::Analyzer& bound) -> Status {
    const Block& block = *place.block();
    auto is_any_order = require_complete_or_reduction(cx, func, place);
    if (!is_any_order.ok()) {
      // Each instance works on separate elements: then any order is allowed for every kind of block.
      if (instances_meet(block)) { return std::move(is_any_order).diagnostics(); }
    }
    // Compares the orders in which an element is updated.
    std::vector<Expr> old_order, old_extents, new_order, reduction_extents;
    for (size_t i = 0; i < now.vars.size(); ++i) {
      if (block.iter_vars[i].kind != IterKind::Reduction) { continue; }
      old_order.push_back(now.vars[i]);
      old_extents.push_back(now.extents[i]);
    }
    for (size_t i = 0; i < now.images.size(); ++i) {
      if (plan.iters[i].kind != IterKind::Reduction) { continue; }
      new_order.push_back(now.images[i]);
      reduction_extents.push_back(now.new_extents[i]);
    }
    bool keeps_order = old_order.empty() || bound.can_prove_equal(row_major(old_order, old_extents), row_major(new_order, reduction_extents));
    if (!keeps_order && !updates_commute(block)) { return block_iters(cx, place, because(Why::OrderMatters)); }
    return require_same_stores(cx, place, plan, now);
  }

  // Instances that store different values to one element keep their order, as far as the order decides which value stays.
  static auto require_same_stores(const Context& cx, const Place& place, const Plan& plan, const Indices& indices) -> Status {
    const Block& block = *place.block();
    if (stores_apart(block)) { return ok(); }
    BlockLoops before{{}, indices.vars, bool_imm(true)}, now{{}, plan.old_values, bool_imm(true)};
    for (size_t i = 0; i < indices.vars.size(); ++i) { before.loops.emplace_back(block.iter_vars[i].var, block.iter_vars[i].dom); }
    for (const IterVar& iter : plan.iters) { now.loops.emplace_back(iter.var, iter.dom); }
    // The new nest may run past the old domains; a predicate that restricts it there is not compared.
    for (size_t i = 0; i < plan.old_values.size(); ++i) { now.predicate = logical_and(now.predicate, less(plan.old_values[i], indices.extents[i])); }
    const StoresMeet meet = changed_stores(block, before, now);
    if (meet.answer != StoresMeet::Answer::Differ) { return ok(); }
    return block_iters(cx, place, because(Why::OrderMatters)).note(block.body->origin, meet.text(block));
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const Block& block = args.block.block();
    const BlockRealize& realize = *args.block->realize;
    Origin origin = cx.made_from(block.origin);
    VarMap to_new, loops_to_new;
    Domains loops;
    std::vector<Expr> values;
    VarMap iters_to_loops;
    for (size_t i = 0; i < plan.iters.size(); ++i) {
      Var loop = make<VarNode>(Name("ax" + std::to_string(i)), plan.iters[i].var->dtype, origin);
      loops.emplace_back(loop, from_zero(plan.iters[i].dom.extent));
      values.emplace_back(loop);
      iters_to_loops[plan.iters[i].var.get()] = loop;
    }
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      to_new[block.iter_vars[i].var.get()] = plan.old_values[i];
      const auto* loop = realize.iter_values[i].as<VarNode>();
      if (loop) { loops_to_new[loop] = cast(loop->dtype, substitute(plan.old_values[i], iters_to_loops)); }
    }
    auto fields = substitute(Stmt(Ref<Block>(&block)), to_new).as<Block>()->fields();
    fields.iter_vars = plan.iters;
    Stmt changed = simplify_accesses(make<Block>(std::move(fields), origin, block.id));
    Stmt stmt = make<BlockRealize>(Array<Expr>(std::move(values)), FAULT(block_layout_predicate_lost) ? bool_imm(true) : substitute(realize.predicate, loops_to_new), changed.ref<Block>(), realize.origin);
    Outcome out;
    out.func = args.block.func->name();
    out.rewrite.changes.push_back({plan.at, wrap_loops(std::move(stmt), loops, origin)});
    return out;
  }
};

/// Splits the dimensions of a buffer among several axes of memory, for memories that have more than one.
///
///     B = T.alloc_buffer((16, 8))  ==>       B = T.alloc_buffer((16, 8), axis_separators=[1])
///
/// Needs  a buffer that a block allocates, or a parameter; positions of dimensions in ascending order.
/// Keeps  results bit for bit.
struct SetAxisSeparator {
  struct Args { BlockArg block; BufferArg buffer; std::vector<int64_t> axis_separators; };
  struct Plan { Definition definition; Buffer buffer; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_TRY(region, require_buffer(cx, *args.block, args.buffer.index, args.buffer.is_write));
    const Buffer& buffer = region.buffer;
    LOOPSMITH_TRY(definition, require_definition(cx, args.block, buffer));
    auto refuse = [&](const Reason& why) { return cx.error(Code::AxisSeparator).arg("buffer", buffer->name.view()).arg("reason", why.text()).at_node(args.block->id); };
    int64_t before = 0;
    for (int64_t separator : args.axis_separators) {
      if (separator < before || separator > static_cast<int64_t>(buffer->shape.size())) {
        return refuse(because(Why::SeparatorRange).arg("separator", separator).arg("low", before).arg("high", buffer->shape.size()));
      }
      before = separator;
    }
    return Plan{definition, buffer};
  }

  static auto apply(const Context&, const Args& args, const Plan& plan) -> Outcome {
    std::vector<int> separators(args.axis_separators.begin(), args.axis_separators.end());
    // A view with other dimensions gets as many separators, in front of all of its dimensions.
    auto separated = [&](const Buffer& buffer) {
      BufferNode fields = *buffer;
      fields.axis_separators = buffer->shape.size() == plan.buffer->shape.size() ? separators : std::vector<int>(separators.size(), 0);
      return make_buffer(std::move(fields));
    };
    Buffer changed = separated(plan.buffer);
    BufferMap map{{plan.buffer.get(), changed}};
    // Views of the buffer use the same memory.
    const FuncState& func = *args.block.func;
    std::vector<Stmt> statements = statements_with(func, *plan.definition.site, plan.buffer);
    auto add_views = [&](const Stmt& stmt) {
      const auto* inner = stmt.as<Block>();
      if (!inner) { return false; }
      bool has_grown = false;
      for (const MatchBufferRegion& match : inner->match_buffers) {
        if (!map.count(match.source.buffer.get()) || map.count(match.buffer.get())) { continue; }
        map.emplace(match.buffer.get(), separated(match.buffer));
        has_grown = true;
      }
      return has_grown;
    };
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      for (const Stmt& statement : statements) {
        post_order(statement, [&](const Stmt& s) { has_grown = add_views(s) || has_grown; }, [](const Expr&) {});
      }
    }
    Outcome out;
    out.func = func.name();
    out.rewrite = with_buffer_changed(func, *plan.definition.site, plan.buffer, changed, [&](const Stmt& stmt) { return substitute_buffers(stmt, map); });
    if (plan.definition.is_parameter) { out.rewrite.signature = with_parameter(func.func(), plan.buffer, changed); }
    return out;
  }
};

}  // namespace

const Primitive transform_layout = primitive<TransformLayout>("transform_layout", "TransformLayout", "lays the elements of a buffer out anew",
    {Order::LoopsReshaped, Hidden::RedirectsAccesses | Hidden::ChangesParameter})
    .input("block", &TransformLayout::Args::block)
    .attr("buffer", &TransformLayout::Args::buffer).from(candidates::own_buffers)
    .input("index_map", &TransformLayout::Args::index_map).maps(MapOf::Buffer).from(candidates::layouts)
    .attr("pad_value", &TransformLayout::Args::pad_value, Value()).maps(MapOf::Image).from(candidates::pad_values)
    .attr("assume_injective_transform", &TransformLayout::Args::assume_injective_transform, false)
    .separators_to(&set_axis_separator)
    .example(examples::two_stages, "sch.transform_layout(\"B\", (\"write\", 0), lambda i: (i // 8, i % 8))");
const Primitive transform_block_layout = primitive<TransformBlockLayout>("transform_block_layout", "TransformBlockLayout", "counts the instances of a block by other iter vars",
    {Order::LoopsReshaped, Hidden::ReordersIterations})
    .input("block", &TransformBlockLayout::Args::block)
    .attr("index_map", &TransformBlockLayout::Args::index_map).from(candidates::iter_layouts)
    .example(examples::matmul_relu, "sch.transform_block_layout(\"D\", lambda i, j: (i * 32 + j,))");
const Primitive set_axis_separator = primitive<SetAxisSeparator>("set_axis_separator", "SetAxisSeparator", "splits the dimensions of a buffer among several axes of memory",
    {Order::Changed, Hidden::Harmless})
    .input("block", &SetAxisSeparator::Args::block)
    .attr("buffer", &SetAxisSeparator::Args::buffer).from(candidates::own_buffers)
    .attr("axis_separators", &SetAxisSeparator::Args::axis_separators).from([](const Choice&) { return std::vector<Value>{Value::List{}, Value::List{1}}; })
    .example(examples::matmul_relu, "sch.set_axis_separator(\"C\", (\"write\", 0), [1])");

}  // namespace loopsmith::schedule::primitives
