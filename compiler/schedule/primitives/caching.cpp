// Primitives that stage a buffer through another memory: cache_read, cache_write. A block that copies is put between
// the buffer and those who use it.
#include <algorithm>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/analysis.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/primitives.h"
#include "schedule/rewriting.h"
#include "schedule/threads.h"
#include "support/codes.h"

namespace loopsmith::schedule::primitives {
namespace {

auto require_storage_scope(const Context& cx, const std::string& scope) -> Status {
  if (!scope.empty() && storage_rank(Name(scope))) { return ok(); }
  return cx.error(Code::StorageScope).arg("scope", scope).remedy("there are `global`, `shared`, `local`, `warp`, `wmma.matrix_a` and others");
}

auto region_of(const Array<BufferRegion>& regions, const Buffer& buffer) -> const BufferRegion* {
  for (const BufferRegion& region : regions) {
    if (region.buffer == buffer) { return &region; }
  }
  return nullptr;
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

// A view keeps the memory of what it is a view of, so a cache in another memory cannot stand in for a viewed buffer.
auto require_no_view(const Context& cx, const Place& block, const Buffer& buffer, const std::string& scope) -> Status {
  // Memory of its own has the shape of the view, not the strides of what it is a view of.
  if (!buffer->strides.empty()) {
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

// Where a copy goes, and what it copies.
struct Stage {
  const Place* scope = nullptr;
  const Place* at = nullptr;               // the loop or scope block into whose body it is put
  int position = 0;
  BufferRegion region;                     // of the cached buffer
  bool is_full = true;                     // the cache has the buffer's shape; otherwise the region's
};

// The number of the statement of a body that a place stands in.
auto statement_index(const Stmt& body, const Place& place) -> int {
  const Stmt* at = &body;
  while (true) {
    if (const auto* n = at->as<AllocateConst>()) { at = &n->body; } else if (const auto* m = at->as<DeclBuffer>()) { at = &m->body; } else { break; }
  }
  const auto* n = at->as<SeqStmt>();
  if (!n) { return 0; }
  for (size_t i = 0; i < n->seq.size(); ++i) {
    bool found = false;
    std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
      if (found) { return; }
      const auto* realize = s.as<BlockRealize>();
      if (realize && realize == place.realize) { found = true; return; }
      if (realize) { return; }
      visit_children(s, [](const Expr&) {}, walk);
    };
    walk(n->seq[i]);
    if (found) { return static_cast<int>(i); }
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

// In front of the first of `users` behind the writer, in the innermost body that holds both; at the scope's end if there
// are none.
void find_stage(const FuncState& func, const Place& writer, const std::vector<NodeId>& users, Stage& stage) {
  const Place* user = nullptr;
  for (int i = writer.end; i < stage.scope->end && !user;) {
    const Place& place = func.places()[static_cast<size_t>(i)];
    if (place.is_block()) {
      if (std::find(users.begin(), users.end(), place.id) != users.end()) { user = &place; }
      i = place.end;
    } else {
      ++i;
    }
  }
  if (!user) {
    stage.at = stage.scope;
    stage.position = statement_count(stage.scope->block()->body);
    return;
  }
  const Place* around = func.parent(writer);
  while (around != stage.scope && !func.is_below(*user, *around)) { around = func.parent(*around); }
  stage.at = around;
  const Stmt& body = around->is_loop() ? around->loop->body : around->block()->body;
  stage.position = statement_index(body, *user);
}

// What a block touches while the loops below `above` run.
auto relaxed_region(const FuncState& func, const Place& block, const BufferRegion& region, const Place* above) -> BufferRegion {
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
  auto sets = arith::estimate_region_upper_bound(Array<Range>(std::move(ranges)), domains, block.realize->predicate, analyzer);
  std::vector<Range> out;
  for (size_t i = 0; i < sets.size(); ++i) { out.push_back(sets[i].cover_range(from_zero(region.buffer->shape[i]))); }
  return {region.buffer, Array<Range>(std::move(out)), region.origin};
}

// Are all readers of a buffer in its scope below the place?
auto all_readers_below(const FuncState& func, const Place& scope, const Place& at, const Buffer& buffer) -> bool {
  for (const Place* block : func.child_blocks(scope)) {
    if (region_of(block->block()->reads, buffer) && !func.is_below(*block, at)) { return false; }
  }
  return true;
}

// The nest that copies: for ax0 ...: with T.block("A_shared"): A_shared[v0] = A[v0]
struct CopyNest { Stmt stmt; NodeId block; };
auto make_copy(const FuncState& func, const Stage& stage, const Buffer& from, const Buffer& to, const std::string& storage, Origin origin) -> CopyNest {
  const Buffer& cached = stage.region.buffer;
  arith::Analyzer analyzer;
  for (const Place* at = stage.at; at; at = func.parent(*at)) {
    if (at->is_loop()) {
      analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent});
    } else {
      for (const IterVar& iter : at->block()->iter_vars) { analyzer.bind(iter.var, iter.dom); }
    }
  }
  // Regions are bounds from above: what of them lies outside of the buffer is not copied.
  Expr predicate = bool_imm(true);
  Domains loops;
  std::vector<Expr> iter_values;
  std::vector<IterVar> iter_vars;
  std::vector<Expr> from_indices, to_indices;
  for (size_t i = 0; i < stage.region.region.size(); ++i) {
    const Range& range = stage.region.region[i];
    DataType dtype = range.extent.dtype();
    Var loop = make<VarNode>(Name(fmt::format("ax{}", i)), dtype, origin);
    Var var = make<VarNode>(Name(fmt::format("v{}", i)), dtype, origin);
    loops.emplace_back(loop, from_zero(range.extent));
    analyzer.bind(loop, from_zero(range.extent));
    auto whole = as_int(cached->shape[i]);
    bool fits = is_zero(range.min) && as_int(range.extent) && whole && *as_int(range.extent) <= *whole;
    if (Expr place = add(range.min, loop); whole && !fits) {
      Expr above = less(place, cached->shape[i]);
      Expr below = less_equal(zero(dtype), place);
      if (!analyzer.can_prove(below)) { predicate = logical_and(predicate, below); }
      if (!analyzer.can_prove(above)) { predicate = logical_and(predicate, above); }
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

// Uses of one buffer become uses of its cache. Blocks for which `skips` says so stay as they are.
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
    // A block that itself makes what is cached for reading keeps the original.
    if (!stores_ && region_of(n.writes, from_)) { return self(n); }
    Stmt stmt = Mutator::on(n);
    auto fields = stmt.as<Block>()->fields();
    if (loads_) { fields.reads = regions(n.reads); }
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
  auto moved(const Array<Expr>& indices) -> Array<Expr> {
    if (stage_.is_full) { return indices; }
    std::vector<Expr> out;
    for (size_t i = 0; i < indices.size(); ++i) { out.push_back(analyzer_.simplify(indices[i] - stage_.region.region[i].min)); }
    return Array<Expr>(std::move(out));
  }
  auto moved(const BufferRegion& region) -> BufferRegion {
    if (stage_.is_full) { return {to_, region.region, region.origin}; }
    std::vector<Range> out;
    for (size_t i = 0; i < region.region.size(); ++i) {
      out.push_back({analyzer_.simplify(region.region[i].min - stage_.region.region[i].min), region.region[i].extent});
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

auto require_single_writer(const Context& cx, const FuncState& func, const Place& scope, const Buffer& buffer) -> Result<const Place*> {
  const auto* writers = func.scope_info(scope).writers(buffer.get());
  if (!writers) { return static_cast<const Place*>(nullptr); }
  if (writers->size() == 1) { return func.find(writers->front()); }
  Diagnostic out = cx.error(Code::SeveralWriters).arg("buffer", buffer->name.view()).arg("count", static_cast<int64_t>(writers->size()));
  for (NodeId id : *writers) {
    const Place* place = func.find(id);
    out.notes.push_back({place->block()->origin, fmt::format("`{}` writes it", place->name().view()), id});
    out.node_ids.push_back(id);
  }
  return out;
}

// Allocated by a block around, so that nobody outside of the function sees what is in it.
auto is_local_to_function(const FuncState& func, const Place& block, const Buffer& buffer) -> bool {
  for (const Place* at = func.parent(block); at; at = func.parent(*at)) {
    if (!at->is_block()) { continue; }
    for (const Buffer& allocated : at->block()->alloc_buffers) {
      if (allocated == buffer) { return true; }
    }
  }
  return false;
}

auto shrunk(Buffer buffer, const Stage& stage) -> Buffer {
  if (stage.is_full) { return buffer; }
  BufferNode fields = *buffer;
  std::vector<Expr> shape;
  for (const Range& range : stage.region.region) { shape.push_back(range.extent); }
  fields.shape = std::move(shape);
  return make_buffer(std::move(fields));
}

/// Reads a buffer through a copy of it in another memory.
///
///     for i in range(8):                     for ax0 in range(8):
///         B[i] = A[i] * 2.0        ==>           A_shared[ax0] = A[ax0]
///                                            for i in range(8):
///                                                B[i] = A_shared[i] * 2.0
///
/// Needs  a buffer that at most one block of the scope writes, all of whose reads are covered by what it writes.
/// Keeps  results bit for bit.
struct CacheRead {
  struct Args { BlockArg block; int64_t read_buffer_index = 0; std::string storage_scope; std::vector<BlockArg> consumer_blocks; };
  struct Plan { Buffer buffer; Stage stage; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    LOOPSMITH_CHECK(require_storage_scope(cx, args.storage_scope));
    LOOPSMITH_TRY(read, require_buffer(cx, *args.block, args.read_buffer_index, false));
    const Buffer& buffer = read.buffer;
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    for (const Place* block : func.child_blocks(*scope)) {
      if (region_of(block->block()->reads, buffer) && !func.region_cover(*block)) {
        return note_block(cx.error(Code::NotCovered).arg("block", block->name().view()).arg("buffer", buffer->name.view()), *block);
      }
    }
    for (const Place* block : func.child_blocks(*scope)) {
      bool is_consumer = args.consumer_blocks.empty();
      for (const BlockArg& consumer : args.consumer_blocks) { is_consumer |= consumer.place == block; }
      if (is_consumer) { LOOPSMITH_CHECK(require_no_view(cx, *block, buffer, args.storage_scope)); }
    }
    Plan plan{buffer, {}};
    plan.stage.scope = scope;
    LOOPSMITH_TRY(writer, require_single_writer(cx, func, *scope, buffer));
    if (writer) {
      std::vector<NodeId> users;
      for (const BlockArg& consumer : args.consumer_blocks) { users.push_back(consumer->id); }
      if (users.empty()) {
        for (const Dependence& d : func.scope_info(*scope).of_src(writer->id)) {
          if (d.kind == DependenceKind::Raw) { users.push_back(d.dst); }
        }
      }
      find_stage(func, *writer, users, plan.stage);
      plan.stage.region = relaxed_region(func, *writer, *region_of(writer->block()->writes, buffer), plan.stage.at);
    } else {
      plan.stage.at = scope;
      plan.stage.position = 0;
      const BufferRegion* declared = region_of(scope->block()->reads, buffer);
      plan.stage.region = declared ? *declared : full_region(buffer);
    }
    plan.stage.is_full = plan.stage.at->is_loop() || !all_readers_below(func, *scope, *plan.stage.at, buffer);
    return plan;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const FuncState& func = *args.block.func;
    const Stage& stage = plan.stage;
    Buffer cache = shrunk(in_scope(plan.buffer, args.storage_scope), stage);
    Origin origin = cx.made_from(args.block.block().origin);
    CopyNest copy = make_copy(func, stage, plan.buffer, cache, args.storage_scope, origin);
    Outcome out;
    out.func = func.name();
    for (const Place* block : func.child_blocks(*stage.scope)) {
      bool is_consumer = args.consumer_blocks.empty();
      for (const BlockArg& consumer : args.consumer_blocks) { is_consumer |= consumer.place == block; }
      if (!is_consumer) { continue; }
      Stmt changed = Redirect(plan.buffer, cache, stage, true, false).mutate(Stmt(Ref<Block>(block->block())));
      if (changed.get() != block->block()) { out.rewrite.changes.push_back({block->id, std::move(changed)}); }
    }
    out.rewrite.inserts.push_back({stage.at->id, stage.position, std::move(copy.stmt)});
    out.rewrite.allocs.push_back({stage.scope->id, cache, {}});
    out.outputs.push_back(Output::block(copy.block));
    return out;
  }
};

/// Writes a buffer through a copy of it in another memory.
///
///     for i in range(8):                     for i in range(8):
///         B[i] = A[i] * 2.0        ==>           B_local[i] = A[i] * 2.0
///                                            for ax0 in range(8):
///                                                B[ax0] = B_local[ax0]
///
/// Needs  the block is the only one of its scope that writes the buffer, and does not read it; of a parameter it writes all
///        that would be copied.
/// Keeps  results bit for bit.
struct CacheWrite {
  struct Args { BlockArg block; int64_t write_buffer_index = 0; std::string storage_scope; std::vector<BlockArg> consumer_blocks; };
  struct Plan { Buffer buffer; Stage stage; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.block.func;
    LOOPSMITH_CHECK(require_storage_scope(cx, args.storage_scope));
    LOOPSMITH_TRY(write, require_buffer(cx, *args.block, args.write_buffer_index, true));
    const Buffer& buffer = write.buffer;
    LOOPSMITH_TRY(scope, require_scope(cx, args.block));
    LOOPSMITH_TRY(writer, require_single_writer(cx, func, *scope, buffer));
    if (writer != args.block.place) { return cx.error(Code::Internal).arg("what", "the writer of a buffer is not in its scope"); }
    LOOPSMITH_CHECK(require_no_view(cx, *args.block, buffer, args.storage_scope));
    // In place: what it reads of the buffer was there before, and would not be in the cache.
    if (region_of(writer->block()->reads, buffer)) {
      return note_block(cx.error(Code::PaddingForm).arg("block", writer->name().view())
                            .arg("why", fmt::format("it also reads `{}`, which the cache does not hold yet", buffer->name.view())), *writer);
    }
    Plan plan{buffer, {}};
    plan.stage.scope = scope;
    std::vector<NodeId> users;
    for (const Dependence& d : func.scope_info(*scope).of_src(writer->id)) {
      bool is_given = std::any_of(args.consumer_blocks.begin(), args.consumer_blocks.end(), [&](const BlockArg& b) { return b->id == d.dst; });
      if (d.kind == DependenceKind::Raw && !is_given) { users.push_back(d.dst); }
    }
    find_stage(func, *writer, users, plan.stage);
    plan.stage.region = relaxed_region(func, *writer, write, plan.stage.at);
    plan.stage.is_full = plan.stage.at->is_loop() || !all_readers_below(func, *scope, *plan.stage.at, buffer);
    // The copy writes all of the region. Where the block does not, the caller's values would be lost.
    if (!is_local_to_function(func, *writer, buffer) && !certainly_writes(func, *writer, write, plan.stage.at, plan.stage.region)) {
      return note_block(cx.error(Code::PaddingForm).arg("block", writer->name().view())
                            .arg("why", fmt::format("it may write only a part of what would be copied to `{}`", buffer->name.view())), *writer);
    }
    return plan;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const FuncState& func = *args.block.func;
    const Stage& stage = plan.stage;
    Buffer cache = shrunk(in_scope(plan.buffer, args.storage_scope), stage);
    Origin origin = cx.made_from(args.block.block().origin);
    CopyNest copy = make_copy(func, stage, cache, plan.buffer, args.storage_scope, origin);
    Outcome out;
    out.func = func.name();
    auto redirect = [&](const Place& block) {
      Stmt changed = Redirect(plan.buffer, cache, stage, true, true).mutate(Stmt(Ref<Block>(block.block())));
      if (changed.get() != block.block()) { out.rewrite.changes.push_back({block.id, std::move(changed)}); }
    };
    redirect(*args.block);
    for (const BlockArg& consumer : args.consumer_blocks) {
      if (consumer.place != args.block.place && consumer.func == &func) { redirect(*consumer); }
    }
    out.rewrite.inserts.push_back({stage.at->id, stage.position, std::move(copy.stmt)});
    out.rewrite.allocs.push_back({stage.scope->id, cache, {}});
    out.outputs.push_back(Output::block(copy.block));
    return out;
  }
};

}  // namespace

const Primitive cache_read = primitive<CacheRead>("cache_read", "CacheRead", "reads a buffer through a copy in another memory")
    .input("block", &CacheRead::Args::block)
    .attr("read_buffer_index", &CacheRead::Args::read_buffer_index).from(candidates::read_indices)
    .attr("storage_scope", &CacheRead::Args::storage_scope).from(candidates::storage_scopes)
    .input("consumer_blocks", &CacheRead::Args::consumer_blocks, Value(Value::List())).omit_empty()
    .block("cache")
    .example(examples::matmul, "sch.cache_read(\"C\", 0, \"local\")");
const Primitive cache_write = primitive<CacheWrite>("cache_write", "CacheWrite", "writes a buffer through a copy in another memory")
    .input("block", &CacheWrite::Args::block)
    .attr("write_buffer_index", &CacheWrite::Args::write_buffer_index).from(candidates::write_indices)
    .attr("storage_scope", &CacheWrite::Args::storage_scope).from(candidates::storage_scopes)
    .input("consumer_blocks", &CacheWrite::Args::consumer_blocks, Value(Value::List())).omit_empty()
    .block("cache")
    .example(examples::matmul, "sch.cache_write(\"C\", 0, \"local\")");

}  // namespace loopsmith::schedule::primitives
