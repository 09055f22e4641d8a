// Stages a buffer through another one: see staging.h.
#include "schedule/staging.h"

#include <algorithm>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "schedule/counted_races.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/instances.h"
#include "schedule/facts/regions.h"
#include "schedule/facts/writes.h"
#include "schedule/func_tree.h"
#include "schedule/index_map.h"
#include "schedule/rewriting.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/fault.h"

namespace loopsmith::schedule {

auto require_storage_scope(const Context& cx, const std::string& scope) -> Status {
  if (!scope.empty() && memory_family(scope)) { return ok(); }
  return cx.error(Code::StorageScope).arg("scope", scope).remedy("choose `global`, `shared`, `local`, `warp`, `wmma.matrix_a` or another scope that TVM knows");
}

// The same buffer, in another memory.
auto in_scope(const Buffer& buffer, const std::string& scope) -> Buffer {
  BufferNode fields = *buffer;
  fields.name = Name(buffer->name.str() + "_" + scope);
  PointerType pointer = buffer->data->pointer.value_or(PointerType{buffer->dtype, {}});
  pointer.scope = Name(scope);
  fields.data = make<VarNode>(Name(buffer->data->name.str() + "_" + scope), DataType::handle(), buffer->data->origin, pointer);
  return make_buffer(std::move(fields));
}

auto require_no_view(const Context& cx, const Place& block, const Buffer& buffer, const std::string& scope) -> Status {
  // A cache has the shape of the view, but not the strides of its source. A single stride of 1 is allowed.
  bool is_plain = buffer->strides.empty() || (buffer->strides.size() == 1 && is_one(buffer->strides[0]));
  if (!is_plain) {
    return note_block(cx.error(Code::CacheOfView).arg("buffer", buffer->name.view()).arg("view", buffer->name.view()).arg("scope", scope), block);
  }
  Buffer view;
  post_order(Stmt(Ref<Block>(block.block())), [&](const Stmt& stmt) {
    if (const auto* inner = stmt.as<Block>()) {
      for (const MatchBufferRegion& match : inner->match_buffers) {
        if (match.source.buffer == buffer && !(match.buffer->scope() == Name(scope))) { view = match.buffer; }
      }
    }
  }, [](const Expr&) {});
  if (!view) { return ok(); }
  return note_block(cx.error(Code::CacheOfView).arg("buffer", buffer->name.view()).arg("view", view->name.view()).arg("scope", scope), block);
}

namespace {

// The position of the statement in the body of `around` that contains a block.
auto statement_index(const FuncState& func, const Place& around, const Place& place) -> int {
  const Stmt* at = around.is_loop() ? &around.loop->body : &around.block()->body;
  while (true) {
    if (const auto* n = at->as<AllocateConst>()) { at = &n->body; } else if (const auto* m = at->as<DeclBuffer>()) { at = &m->body; } else { break; }
  }
  const auto* n = at->as<SeqStmt>();
  if (!n) { return 0; }
  const Place* top = &place;
  while (func.parent(*top) != &around) { top = func.parent(*top); }
  if (size_t found = position_of(func, n->seq, around, *top); found < n->seq.size()) { return static_cast<int>(found); }
  // The block is inside a statement that is neither loop nor block.
  int index = 0;
  for (const Stmt& item : n->seq) {
    bool found = false;
    std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
      if (found) { return; }
      const auto* realize = s.as<BlockRealize>();
      if (realize && realize == place.realize) { found = true; return; }
      if (realize) { return; }
      visit_children(s, [](const Expr&) {}, walk);
    };
    walk(item);
    if (found) { return index; }
    ++index;
  }
  return -1;
}

auto statement_count(const Stmt& body) -> int {
  const Stmt* at = &body;
  while (true) {
    if (const auto* n = at->as<AllocateConst>()) { at = &n->body; } else if (const auto* m = at->as<DeclBuffer>()) { at = &m->body; } else { break; }
  }
  const auto* n = at->as<SeqStmt>();
  return n ? static_cast<int>(n->seq.size()) : 1;
}

}  // namespace

void find_stage(const FuncState& func, const Place& writer, const std::vector<NodeId>& users, Stage& stage) {
  const Place* user = nullptr;
  for (NodeId id : users) {
    const Place* place = func.find(id);
    if (!place || !place->is_block() || place->index < writer.end || func.scope(*place) != stage.scope) { continue; }
    if (!user || place->index < user->index) { user = place; }
  }
  const Place* hidden = nullptr;
  for (const Dependence& d : func.scope_info(*stage.scope).of_src(writer.id)) {
    if (!d.is_hidden || d.kind != DependenceKind::Raw) { continue; }
    const Place* reader = func.find(d.dst);
    if (reader->index > writer.index && (!hidden || reader->index < hidden->index)) { hidden = reader; }
  }
  bool is_right_behind = !user && hidden;
  if (hidden && (!user || hidden->index < user->index)) { user = hidden; }
  if (!user) {
    stage.at = stage.scope;
    stage.position = statement_count(stage.scope->block()->body);
    return;
  }
  const Place* around = func.parent(writer);
  while (around != stage.scope && !func.is_below(*user, *around)) { around = func.parent(*around); }
  stage.at = around;
  stage.position = is_right_behind ? statement_index(func, *around, writer) + 1 : statement_index(func, *around, *user);
}

static auto is_bounded(const arith::IntSet& set) -> bool { return !set.is_nothing() && set.has_lower_bound() && set.has_upper_bound(); }

auto touched_in(const FuncState& func, const Place& at, const Place& loop, const BufferRegion& region) -> std::vector<arith::IntSet> {
  std::vector<arith::IntSet> sets;
  for (const Range& range : region.region) { sets.push_back(arith::IntSet::from_range(range)); }
  auto relax = [&](const arith::DomMap& domains) {
    for (arith::IntSet& set : sets) {
      if (!is_bounded(set) || domains.empty()) { continue; }
      Expr low = set.min();
      set = arith::eval_set(Range{low, add(sub(set.max(), low), one(low.dtype()))}, domains);
    }
  };
  arith::DomMap domains;
  for (const Place* here = &at; here && here != &loop; here = func.parent(*here)) {
    if (here->is_loop()) {
      domains.emplace(here->loop->var.get(), arith::IntSet::from_range(Range{here->loop->min, here->loop->extent}));
      continue;
    }
    // Outside of a block its iter vars are replaced by their iter values.
    relax(domains);
    domains.clear();
    VarMap bindings = bindings_of(*here->realize);
    for (arith::IntSet& set : sets) {
      if (is_bounded(set)) { set = arith::IntSet::interval(substitute(set.min(), bindings), substitute(set.max(), bindings)); }
    }
  }
  relax(domains);
  return sets;
}

auto stays_apart(const FuncState& func, const Place& loop, const std::vector<arith::IntSet>& sets) -> bool {
  arith::Analyzer analyzer;
  bind_loops(func, &loop, analyzer);
  const Var& var = loop.loop->var;
  VarMap next{{var.get(), add(var, one(var->dtype))}};
  return std::any_of(sets.begin(), sets.end(), [&](const arith::IntSet& set) {
    return is_bounded(set) && (analyzer.can_prove(less(set.max(), substitute(set.min(), next))) || analyzer.can_prove(less(substitute(set.max(), next), set.min())));
  });
}
auto stays_apart(const FuncState& func, const Place& at, const Place& loop, const BufferRegion& region) -> bool {
  return stays_apart(func, loop, touched_in(func, at, loop, region));
}

auto require_own_copies(const Context& cx, const FuncState& func, const Place& writer, const BufferRegion& write, const Stage& stage) -> Status {
  std::optional<bool> is_all_written;
  for (const Place* loop = stage.at; loop; loop = func.parent(*loop)) {
    if (!loop->is_loop() || !runs_at_once(*loop->loop)) { continue; }
    if (!is_all_written) { is_all_written = certainly_writes(func, writer, write, stage.at, stage.region, {}, stage.scope); }
    if (*is_all_written || stays_apart(func, *stage.at, *loop, stage.region)) { continue; }
    return note_loop(note_block(cx.error(Code::CopiesRace).arg("block", writer.name().view()).arg("loop", loop->name().view()).arg("buffer", write.buffer->name.view()), writer), *loop);
  }
  return ok();
}

auto require_one_buffer(const Context& cx, const FuncState& func, const Place& writer, const Place& at, const Buffer& buffer) -> Status {
  for (const Place* loop = func.parent(writer); loop && loop->index > at.index; loop = func.parent(*loop)) {
    if (!loop->is_loop() || !runs_at_once(*loop->loop)) { continue; }
    Races races = counted_races(func, *loop);
    bool is_own = std::find(races.own.begin(), races.own.end(), buffer) != races.own.end();
    // An instance without an init writes the same values when it runs again.
    if (!is_own && (races.is_known || !writer.block()->init || !repeats_instances(*writer.realize, *loop->loop))) { continue; }
    return note_loop(note_block(cx.error(Code::IterationsShare).arg("loop", loop->name().view()).arg("block", writer.name().view()), writer), *loop);
  }
  return ok();
}

auto relaxed_region(const FuncState& func, const Place& block, const BufferRegion& region, const Place* above, const Expr& only_where) -> BufferRegion {
  VarMap map = bindings_of(*block.realize);
  std::vector<Range> ranges;
  for (const Range& range : region.region) { ranges.push_back(substitute(range, map)); }
  Domains domains;
  Name storage = region.buffer->scope();
  const Place* at = func.parent(block);
  for (; at && at != above && at->is_loop(); at = func.parent(*at)) { domains.emplace_back(at->loop->var, Range{at->loop->min, at->loop->extent}); }
  for (; at; at = func.parent(*at)) {
    if (at->is_loop() && at->loop->thread && is_shared_across(storage, at->loop->thread->thread_tag)) {
      domains.emplace_back(at->loop->var, Range{at->loop->min, at->loop->extent});
    }
  }
  std::reverse(domains.begin(), domains.end());
  arith::Analyzer analyzer;
  Expr predicate = block.realize->predicate;
  if (only_where) { predicate = is_one(predicate) ? substitute(only_where, map) : logical_and(predicate, substitute(only_where, map)); }
  auto sets = arith::estimate_region_upper_bound(Array<Range>(std::move(ranges)), domains, predicate, analyzer);
  std::vector<Range> out;
  for (size_t i = 0; i < sets.size(); ++i) {
    out.push_back(sets[i].cover_range(from_zero(region.buffer->shape[i])));
    if (FAULT(cache_region_short) && i == 0 && !is_one(out[0].extent)) { out[0].extent = analyzer.simplify(sub(out[0].extent, one(out[0].extent.dtype()))); }
  }
  return {region.buffer, Array<Range>(std::move(out)), region.origin};
}

auto all_readers_below(const FuncState& func, const Place& scope, const Place& at, const Buffer& buffer) -> bool {
  for (const Place* block : func.blocks_mentioning(scope, buffer)) {
    const auto& hidden = func.hidden_reads(*block);
    bool reads = region_of(block->block()->reads, buffer) || std::find(hidden.begin(), hidden.end(), buffer) != hidden.end();
    if (reads && !func.is_below(*block, at)) { return false; }
  }
  return true;
}

// True if `extent` elements from `low` on end within the buffer. If the extent is the minimum of two expressions, one of them is enough.
auto ends_within(arith::Analyzer& analyzer, const Expr& low, const Expr& extent, const Expr& whole) -> bool {
  if (analyzer.can_prove(less_equal(add(low, extent), whole), arith::Strength::SymbolicBound)) { return true; }
  const auto* smaller = extent.as<Min>();
  return smaller && (ends_within(analyzer, low, smaller->a, whole) || ends_within(analyzer, low, smaller->b, whole));
}

// The nest that copies: for ax0 ...: with T.block("A_shared"): A_shared[v0] = A[v0]
auto make_copy(const FuncState& func, const Stage& stage, const Buffer& from, const Buffer& to, const std::string& storage, Origin origin) -> CopyNest {
  const Buffer& cached = stage.region.buffer;
  arith::Analyzer analyzer;
  bind_loops(func, stage.at, analyzer);
  for (const Place* at = stage.at; at; at = func.parent(*at)) {
    if (!at->is_block()) { continue; }
    for (const IterVar& iter : at->block()->iter_vars) { analyzer.bind(iter.var, iter.dom); }
  }
  // Regions are upper bounds: elements outside of the buffer are not copied.
  Expr predicate = bool_imm(true);
  Domains loops;
  std::vector<Expr> iter_values;
  std::vector<IterVar> iter_vars;
  std::vector<Expr> from_indices, to_indices;
  for (size_t i = 0; i < stage.region.region.size(); ++i) {
    const Range& range = stage.region.region[i];
    DataType dtype = range.extent.dtype();
    Var loop = make<VarNode>(Name(fmt::format("ax{}", i)), dtype, origin);
    // The iter var has the type of its domain: that of the buffer's extent, or of the copied region's extent.
    Var var = make<VarNode>(Name(fmt::format("v{}", i)), stage.is_full ? cached->shape[i].dtype() : dtype, origin);
    loops.emplace_back(loop, from_zero(range.extent));
    analyzer.bind(loop, from_zero(range.extent));
    auto whole = as_int(cached->shape[i]);
    bool fits = is_zero(range.min) && as_int(range.extent) && whole && *as_int(range.extent) <= *whole;
    if (Expr place = add(range.min, loop); !fits) {
      Expr above = less(place, cached->shape[i]);
      Expr below = less_equal(zero(dtype), place);
      if (!analyzer.can_prove(below, arith::Strength::SymbolicBound)) { predicate = logical_and(predicate, below); }
      if (!analyzer.can_prove(above) && !ends_within(analyzer, range.min, range.extent, cached->shape[i])) { predicate = logical_and(predicate, above); }
    }
    IterVar iter;
    iter.var = var;
    iter.origin = origin;
    if (stage.is_full) {
      iter_values.push_back(add(range.min, loop));
      iter.dom = from_zero(cached->shape[i]);
      from_indices.push_back(var);
      to_indices.push_back(var);
    } else {
      iter_values.push_back(loop);
      iter.dom = from_zero(range.extent);
      Expr shifted = add(range.min, var);
      from_indices.push_back(cached == from ? shifted : Expr(var));
      to_indices.push_back(cached == from ? Expr(var) : shifted);
    }
    iter_vars.push_back(std::move(iter));
  }
  auto points = [](const std::vector<Expr>& indices) {
    std::vector<Range> out;
    for (const Expr& index : indices) { out.push_back(point(index)); }
    return Array<Range>(std::move(out));
  };
  Block::Fields fields;
  fields.name = Name(cached->name.str() + "_" + storage);
  fields.iter_vars = std::move(iter_vars);
  fields.reads = {BufferRegion{from, points(from_indices), origin}};
  fields.writes = {BufferRegion{to, points(to_indices), origin}};
  fields.body = make<BufferStore>(to, Expr(make<BufferLoad>(from, Array<Expr>(from_indices), origin)), Array<Expr>(to_indices), origin);
  Ref<Block> block = make<Block>(std::move(fields), origin);
  NodeId id = block->id;
  Stmt stmt = make<BlockRealize>(Array<Expr>(std::move(iter_values)), std::move(predicate), std::move(block), origin);
  return {wrap_loops(std::move(stmt), loops, origin), id};
}

auto require_single_writer(const Context& cx, const FuncState& func, const Place& scope, const Buffer& buffer) -> Result<const Place*> {
  auto writers = func.scope_info(scope).writers(buffer.get());
  if (writers.empty()) { return static_cast<const Place*>(nullptr); }
  if (writers.size() == 1) { return func.find(writers.front()); }
  Diagnostic out = cx.error(Code::SeveralWriters).arg("buffer", buffer->name.view()).arg("count", static_cast<int64_t>(writers.size()));
  for (NodeId id : writers) {
    const Place* place = func.find(id);
    out.notes.push_back({place->block()->origin, fmt::format("`{}` writes it", place->name().view()), id});
    out.node_ids.push_back(id);
  }
  bool is_decomposed = std::any_of(writers.begin(), writers.end(), [&](NodeId id) { return func.find(id)->name().view().ends_with("_init"); });
  if (is_decomposed) { out.remedies.push_back(fmt::format("apply `{}` before `decompose_reduction`", cx.primitive.name)); }
  return out;
}

auto shrunk(Buffer buffer, const Stage& stage) -> Buffer {
  if (stage.is_full) { return buffer; }
  BufferNode fields = *buffer;
  std::vector<Expr> shape;
  for (const Range& range : stage.region.region) { shape.push_back(range.extent); }
  fields.shape = std::move(shape);
  return make_buffer(std::move(fields));
}

namespace {

// Replaces uses of one buffer by uses of its cache, except in blocks for which `skips` returns true.
class Redirect : public Mutator {
 public:
  Redirect(const Buffer& from, const Buffer& to, const Stage& stage, bool loads, bool stores)
      : from_(from), to_(to), stage_(stage), loads_(loads), stores_(stores) {}
  using Mutator::on;
  auto on(const BufferLoad& n) -> Expr override {
    Expr e = Mutator::on(n);
    if (!loads_ || !(n.buffer == from_)) { return e; }
    const auto& load = *e.as<BufferLoad>();
    return make<BufferLoad>(to_, moved(load.indices), load.origin, load.predicate);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Stmt s = Mutator::on(n);
    if (!stores_ || !(n.buffer == from_)) { return s; }
    const auto& store = *s.as<BufferStore>();
    return make<BufferStore>(to_, store.value, moved(store.indices), store.origin, store.predicate);
  }
  auto on(const VarNode& n) -> Expr override { return &n == from_->data.get() ? Expr(to_->data) : self(n); }
  auto on(const Block& n) -> Stmt override {
    // A block that writes the buffer which is cached for reading keeps using the original.
    if (!stores_ && region_of(n.writes, from_)) { return self(n); }
    Stmt stmt = Mutator::on(n);
    auto fields = stmt.as<Block>()->fields();
    // Loads also occur in regions of reads.
    if (loads_) { fields.reads = regions(stores_ ? n.reads : fields.reads); }
    if (stores_) { fields.writes = regions(n.writes); }
    fields.match_buffers = n.match_buffers.map_same(
        [&](const MatchBufferRegion& m) {
          if (!(m.source.buffer == from_)) { return m; }
          return MatchBufferRegion{m.buffer, moved(m.source)};
        },
        [](const auto& a, const auto& b) { return a.same_as(b); });
    const Block& now = *stmt.as<Block>();
    if (fields.body.same_as(n.body) && fields.init.same_as(n.init) && fields.reads.same_as(n.reads) && fields.writes.same_as(n.writes) &&
        fields.match_buffers.same_as(n.match_buffers)) {
      return stmt;
    }
    return make<Block>(std::move(fields), now.origin, n.id);
  }

 private:
  // Counts the index from the start of the copied region; if that is 0, the index keeps its type.
  auto moved(const Expr& index, size_t dimension) -> Expr {
    const Expr& min = stage_.region.region[dimension].min;
    return analyzer_.simplify(is_zero(min) ? index : index - min);
  }
  auto moved(const Array<Expr>& indices) -> Array<Expr> {
    if (stage_.is_full) { return indices; }
    std::vector<Expr> out;
    for (size_t i = 0; i < indices.size(); ++i) { out.push_back(moved(indices[i], i)); }
    return Array<Expr>(std::move(out));
  }
  auto moved(const BufferRegion& region) -> BufferRegion {
    if (stage_.is_full) { return {to_, region.region, region.origin}; }
    std::vector<Range> out;
    for (size_t i = 0; i < region.region.size(); ++i) {
      Expr min = moved(region.region[i].min, i);
      out.push_back({min, cast(min.dtype(), region.region[i].extent)});
    }
    return {to_, Array<Range>(std::move(out)), region.origin};
  }
  auto regions(const Array<BufferRegion>& all) -> Array<BufferRegion> {
    return all.map_same([&](const BufferRegion& r) { return r.buffer == from_ ? moved(r) : r; },
                        [](const auto& a, const auto& b) { return a.same_as(b); });
  }
  const Buffer& from_;
  const Buffer& to_;
  const Stage& stage_;
  bool loads_, stores_;
  arith::Analyzer analyzer_;
};

}  // namespace

auto redirected(const Place& block, const Buffer& from, const Buffer& to, const Stage& stage, bool loads, bool stores) -> Stmt {
  return Redirect(from, to, stage, loads, stores).mutate(Stmt(Ref<Block>(block.block())));
}

auto is_one_to_one(const Block& block, const std::vector<Expr>& indices, const std::vector<const VarNode*>& of) -> bool {
  IndexMapNode fields;
  std::vector<Expr> extents;
  std::vector<Var> initial;
  for (const IterVar& iter : block.iter_vars) {
    if (std::find(of.begin(), of.end(), iter.var.get()) == of.end()) { continue; }
    if (!is_zero(iter.dom.min)) { return false; }
    initial.push_back(iter.var);
    extents.push_back(iter.dom.extent);
  }
  fields.initial = std::move(initial);
  fields.final = indices;
  const IndexMap map = make_index_map(std::move(fields));
  arith::Analyzer analyzer;
  InverseResult inverse = inverse_with_padding(map, extents, analyzer);
  return is_injective(map, inverse.inverse ? inverse.inverse->map : IndexMap(), extents).value_or(false);
}

// True if a loop around a block may run no iteration in some iterations of another loop, as in the first row of a triangle.
static auto may_skip_iterations(const FuncState& func, const Place& place) -> bool {
  std::optional<arith::Analyzer> ranges;
  for (const Place* at = func.parent(place); at && at->is_loop(); at = func.parent(*at)) {
    if (as_int(at->loop->extent)) { continue; }
    bool is_dependent = false;
    for (const Place* around = func.parent(*at); around; around = func.parent(*around)) {
      is_dependent = is_dependent || (around->is_loop() && uses_var(at->loop->extent, [&](const VarNode& v) { return &v == around->loop->var.get(); }));
    }
    if (!is_dependent) { continue; }
    if (!ranges) { bind_loops(func, &place, ranges.emplace()); }
    if (!ranges->can_prove(less_equal(one(at->loop->extent.dtype()), at->loop->extent), arith::Strength::SymbolicBound)) { return true; }
  }
  return false;
}

auto runs_all_instances(const FuncState& func, const Place& place, const std::vector<const VarNode*>& of) -> bool {
  const Block& block = *place.block();
  if (may_skip_iterations(func, place)) { return counted_instances(func, place, of).value_or(false); }
  // The common case: each iter var is bound to a separate loop, which begins at 0 and is as long as the domain.
  std::vector<const VarNode*> seen;
  bool is_plain = is_one(place.realize->predicate);
  for (size_t i = 0; is_plain && i < block.iter_vars.size(); ++i) {
    if (std::find(of.begin(), of.end(), block.iter_vars[i].var.get()) == of.end()) { continue; }
    const auto* var = place.realize->iter_values[i].as<VarNode>();
    const Place* loop = func.parent(place);
    while (loop && loop->is_loop() && loop->loop->var.get() != var) { loop = func.parent(*loop); }
    is_plain = var && loop && loop->is_loop() && std::find(seen.begin(), seen.end(), var) == seen.end() && is_zero(loop->loop->min) &&
               is_zero(block.iter_vars[i].dom.min) && arith::deep_equal(loop->loop->extent, block.iter_vars[i].dom.extent);
    if (var) { seen.push_back(var); }
  }
  if (is_plain) { return true; }
  if (is_one(place.realize->predicate)) {
    std::vector<Expr> values;
    std::vector<Range> wanted;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (std::find(of.begin(), of.end(), block.iter_vars[i].var.get()) == of.end()) { continue; }
      values.push_back(place.realize->iter_values[i]);
      wanted.push_back(block.iter_vars[i].dom);
    }
    auto counts = written_with_digits(values, loop_domains(func, place));
    bool are_all = counts.has_value();
    for (size_t i = 0; are_all && i < wanted.size(); ++i) { are_all = is_zero(wanted[i].min) && as_int(wanted[i].extent) == (*counts)[i]; }
    if (are_all) { return true; }
  }
  if (auto counted = counted_instances(func, place, of)) { return *counted; }
  arith::Analyzer ranges;
  for (const auto& [var, range] : loop_domains(func, place)) { ranges.bind(var, range); }
  for (const Expr& condition : arith::split_conjunction(place.realize->predicate)) {
    // For quotients and remainders the estimate below uses only the bounds of iter vars.
    bool is_rough = false, is_bound = false;
    post_order(condition, [&](const Expr& e) { is_rough = is_rough || e.as<FloorMod>() || e.as<FloorDiv>(); });
    const auto* bound = condition.as<LT>();
    for (size_t i = 0; is_rough && bound && i < block.iter_vars.size(); ++i) {
      const Range& dom = block.iter_vars[i].dom;
      is_bound = is_bound || (ranges.can_prove_equal(bound->a, place.realize->iter_values[i]) && ranges.can_prove_equal(bound->b, dom.min + dom.extent));
    }
    if (is_rough && !is_bound && !of.empty() && !ranges.can_prove(condition)) { return false; }
  }
  std::vector<Range> values;
  std::vector<Expr> extents;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (std::find(of.begin(), of.end(), block.iter_vars[i].var.get()) == of.end()) { continue; }
    values.push_back(point(place.realize->iter_values[i]));
    extents.push_back(block.iter_vars[i].dom.extent);
  }
  arith::Analyzer analyzer;
  Domains domains = domains_around(func, place);
  // A condition on values that are fixed here (a loop around the scope) decides about all instances at once.
  for (const Expr& condition : arith::split_conjunction(place.realize->predicate)) {
    bool is_about_instances = uses_var(condition, [&](const VarNode& v) { return std::any_of(domains.begin(), domains.end(), [&](const auto& d) { return d.first.get() == &v; }); });
    if (!is_about_instances && !is_one(condition)) { return false; }
  }
  auto bound = arith::estimate_region_lower_bound(Array<Range>(std::move(values)), domains, place.realize->predicate, analyzer);
  if (!bound || bound->size() != extents.size()) { return extents.empty(); }
  for (size_t i = 0; i < extents.size(); ++i) {
    const arith::IntSet& set = (*bound)[i];
    if (!set.has_lower_bound() || !set.has_upper_bound() || !analyzer.can_prove(less_equal(set.min(), zero(set.min().dtype()))) ||
        !analyzer.can_prove(greater_equal(set.max(), extents[i] - one(extents[i].dtype())))) {
      return false;
    }
  }
  return true;
}

auto reads_hidden(const FuncState& func, const Place& block, const Buffer& buffer) -> bool {
  const auto& hidden = func.hidden_reads(block);
  return std::find(hidden.begin(), hidden.end(), buffer) != hidden.end();
}

auto reads_back(const FuncState& func, const Place& block, const Buffer& buffer) -> bool {
  if (reads_hidden(func, block, buffer)) { return true; }
  if (block.block()->init) { return false; }
  bool found = false;
  post_order(block.block()->body, [&](const Stmt& s) { const auto* inner = s.as<Block>(); found = found && !inner; },
             [&](const Expr& e) { const auto* load = e.as<BufferLoad>(); found = found || (load && load->buffer == buffer); });
  return found;
}

auto reads_own_sums(const Block& block, const Buffer& buffer) -> bool {
  if (!block.init || !block.match_buffers.empty() || !region_of(block.writes, buffer)) { return false; }
  const Array<Expr>* indices = nullptr;
  bool is_same = true;
  auto access = [&](const Buffer& accessed, const Array<Expr>& at) {
    if (!(accessed == buffer)) { return; }
    if (!indices) { indices = &at; }
    for (size_t i = 0; is_same && i < at.size(); ++i) { is_same = arith::deep_equal(at[i], (*indices)[i]); }
  };
  auto on_stmt = [&](const Stmt& s) {
    if (const auto* store = s.as<BufferStore>()) { access(store->buffer, store->indices); }
    is_same = is_same && !s.as<Block>();
  };
  auto on_expr = [&](const Expr& e) {
    if (const auto* load = e.as<BufferLoad>()) { access(load->buffer, load->indices); }
    is_same = is_same && e.get() != buffer->data.get();
  };
  post_order(block.init, on_stmt, on_expr);
  post_order(block.body, on_stmt, on_expr);
  return is_same;
}

auto uses_loops_outside(const FuncState& func, const Stage& stage) -> bool {
  for (const Place* at = stage.scope; at; at = func.parent(*at)) {
    if (!at->is_loop()) { continue; }
    auto is_this = [&](const VarNode& v) { return &v == at->loop->var.get(); };
    for (const Range& range : stage.region.region) {
      if (uses_var(range.min, is_this) || uses_var(range.extent, is_this)) { return true; }
    }
  }
  return false;
}

namespace {

auto uses_any(const Expr& e, const std::vector<const VarNode*>& vars) -> bool {
  return uses_var(e, [&](const VarNode& v) { return std::find(vars.begin(), vars.end(), &v) != vars.end(); });
}

// True if the form of an expression shows that it never decreases when one of the variables increases.
auto never_falls(const Expr& e, const std::vector<const VarNode*>& vars) -> bool {
  if (!uses_any(e, vars) || e.as<VarNode>()) { return true; }
  if (const auto* n = e.as<Add>()) { return never_falls(n->a, vars) && never_falls(n->b, vars); }
  auto is_positive = [](const Expr& factor) { return as_int(factor).value_or(0) > 0; };
  if (const auto* n = e.as<Mul>()) { return is_positive(n->b) && never_falls(n->a, vars); }
  if (const auto* n = e.as<FloorDiv>()) { return is_positive(n->b) && never_falls(n->a, vars); }
  return false;
}

// True if the form of a condition shows that it still holds when some of the variables decrease.
auto holds_for_less(const Expr& condition, const std::vector<const VarNode*>& vars) -> bool {
  if (!uses_any(condition, vars)) { return true; }
  if (const auto* n = condition.as<And>()) { return holds_for_less(n->a, vars) && holds_for_less(n->b, vars); }
  if (const auto* n = condition.as<Or>()) { return holds_for_less(n->a, vars) && holds_for_less(n->b, vars); }
  auto is_bound = [&](const Expr& small, const Expr& large) { return never_falls(small, vars) && !uses_any(large, vars); };
  if (const auto* n = condition.as<LT>()) { return is_bound(n->a, n->b); }
  if (const auto* n = condition.as<LE>()) { return is_bound(n->a, n->b); }
  if (const auto* n = condition.as<GT>()) { return is_bound(n->b, n->a); }
  if (const auto* n = condition.as<GE>()) { return is_bound(n->b, n->a); }
  return false;
}

// True if, for each instance that runs, the first instance of the same element runs before it: the one in which the loops that count the
// reduction are at their start. Other instances, at the end or in the middle of the reduction, need not run.
auto begins_where_loops_begin(const FuncState& func, const Place& block) -> bool {
  const BlockRealize& realize = *block.realize;
  const auto& iters = block.block()->iter_vars;
  const Domains loops = domains_around(func, block);
  for (const Place* at = &block; at && at != func.scope(block); at = func.parent(*at)) { if (!always_runs(func, *at)) { return false; } }
  // The loops that reduction iter vars use, and all loops that share an iter value with these loops.
  std::vector<const VarNode*> counting;
  auto add_loops_of = [&](const Expr& e) {
    bool grew = false;
    for (const auto& [var, range] : loops) {
      auto is_this = [&](const VarNode& v) { return &v == var.get(); };
      if (!uses_var(e, is_this) || std::find(counting.begin(), counting.end(), var.get()) != counting.end()) { continue; }
      counting.push_back(var.get());
      grew = true;
    }
    return grew;
  };
  for (size_t i = 0; i < iters.size(); ++i) { if (iters[i].kind == IterKind::Reduction) { add_loops_of(realize.iter_values[i]); } }
  const std::vector<const VarNode*> reducing = counting;
  bool shares = false;
  for (size_t i = 0; i < iters.size(); ++i) { shares = shares || (iters[i].kind != IterKind::Reduction && uses_any(realize.iter_values[i], reducing)); }
  for (bool grew = shares; grew;) {
    grew = false;
    for (const Expr& value : realize.iter_values) { if (uses_any(value, counting)) { grew = add_loops_of(value) || grew; } }
  }
  for (const auto& [var, range] : loops) { if (uses_any(range.min, counting) || uses_any(range.extent, counting)) { return false; } }
  if (!holds_for_less(realize.predicate, counting)) { return false; }
  if (!shares) {
    VarMap start;
    for (const auto& [var, range] : loops) { if (std::find(counting.begin(), counting.end(), var.get()) != counting.end()) { start[var.get()] = range.min; } }
    arith::Analyzer analyzer;
    for (const auto& [var, range] : loop_domains(func, block)) { analyzer.bind(var, range); }
    for (size_t i = 0; i < iters.size(); ++i) {
      if (iters[i].kind == IterKind::Reduction && !analyzer.can_prove_equal(substitute(realize.iter_values[i], start), iters[i].dom.min)) { return false; }
    }
    return true;
  }
  // For loops that count spatial and reduction iter vars: the reduction begins where its digits are 0; the other loops stay as they are.
  std::vector<Expr> values;
  for (size_t i = 0; i < iters.size(); ++i) {
    if (iters[i].kind == IterKind::Reduction && !is_zero(iters[i].dom.min)) { return false; }
    if (uses_any(realize.iter_values[i], counting)) { values.push_back(realize.iter_values[i]); }
    if (iters[i].kind == IterKind::Reduction && !uses_any(realize.iter_values[i], counting) && !is_zero(realize.iter_values[i])) { return false; }
  }
  return written_with_digits(values, loops).has_value();
}

}  // namespace

auto begins_reductions(const FuncState& func, const Place& block) -> bool {
  if (!block.block()->init) { return true; }
  if (auto counted = counted_beginnings(func, block)) { return *counted; }
  if (begins_where_loops_begin(func, block)) { return true; }
  std::vector<const VarNode*> reduced;
  for (const IterVar& iter : block.block()->iter_vars) {
    if (iter.kind == IterKind::Reduction) { reduced.push_back(iter.var.get()); }
  }
  if (!runs_all_instances(func, block, reduced)) { return false; }
  // A loop over rows and their elements may begin in the middle of a row, by its own start or by a loop around the scope: then it continues that row.
  const Domains here = domains_around(func, block);
  auto is_outside = [&](const VarNode& v) { return std::none_of(here.begin(), here.end(), [&](const auto& d) { return d.first.get() == &v; }); };
  for (const Place* at = func.parent(block); at && at->is_loop(); at = func.parent(*at)) {
    bool feeds_spatial = false, feeds_reduction = false, begins_elsewhere = !is_zero(at->loop->min);
    for (size_t i = 0; i < block.realize->iter_values.size(); ++i) {
      const Expr& value = block.realize->iter_values[i];
      if (!uses_var(value, [&](const VarNode& v) { return &v == at->loop->var.get(); })) { continue; }
      (block.block()->iter_vars[i].kind == IterKind::Reduction ? feeds_reduction : feeds_spatial) = true;
      begins_elsewhere = begins_elsewhere || uses_var(value, is_outside);
    }
    if (feeds_spatial && feeds_reduction && begins_elsewhere) { return false; }
  }
  return true;
}

auto statement_position(const FuncState& func, const Place& scope, const Place& top) -> int {
  const Stmt* at = &scope.block()->body;
  while (true) {
    if (const auto* n = at->as<AllocateConst>()) { at = &n->body; } else if (const auto* m = at->as<DeclBuffer>()) { at = &m->body; } else { break; }
  }
  const StmtNode* wanted = top.is_loop() ? static_cast<const StmtNode*>(top.loop) : top.realize;
  const auto* n = at->as<SeqStmt>();
  if (!n) { return at->get() == wanted ? 0 : -1; }
  size_t found = position_of(func, n->seq, scope, top);
  return found == n->seq.size() ? -1 : static_cast<int>(found);
}

}  // namespace loopsmith::schedule
