// The compiler from TIR to closures: statements, blocks, loops and calls of functions. See compiler.h.
#include <algorithm>

#include "interp/compiler.h"
#include "interp/copies.h"
#include "interp/expressions.h"
#include "interp/host.h"
#include "interp/threads.h"
#include "ir/calls.h"
#include "ir/operations.h"
#include "ir/ops.h"
#include "ir/strides.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/scoped_value.h"

namespace loopsmith::interp {
namespace {

auto runner_of(std::string_view tag) -> Runner { return is_block_axis(tag) ? Runner::Block : is_thread_axis(tag) ? Runner::Thread : Runner::Other; }

}  // namespace

auto Compiler::statement(const Stmt& s) -> const Statement* {
  if (++depth_ > max_depth) {
    --depth_;
    unsupported(s.origin(), "statements nested this deeply");
    return make_stmt<Nothing>();
  }
  struct Guard { int& d; ~Guard() { --d; } } guard{depth_};
  switch (s.kind()) {
    case NodeKind::LetStmt: return let_statement(*s.as<LetStmt>());
    case NodeKind::AttrStmt: return attribute(*s.as<AttrStmt>());
    case NodeKind::AssertStmt: {
      const auto& n = *s.as<AssertStmt>();
      auto* out = make_stmt<AssertThat>();
      out->condition = int_expr(n.condition);
      if (const auto* text = n.message.as<StringImm>()) { out->message = text->value; }
      out->origin = n.origin;
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::BufferStore: return store(*s.as<BufferStore>());
    case NodeKind::BufferRealize: {
      const auto& n = *s.as<BufferRealize>();
      auto* out = make_stmt<AllocateStatement>();
      auto a = make_allocation(n.buffer->data, n.buffer->shape, n.buffer->dtype, n.origin, {});
      out->allocate = std::move(*a);
      out->allocate.bind.push_back(bind_buffer(n.buffer));
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::Allocate: {
      const auto& n = *s.as<Allocate>();
      auto* out = make_stmt<AllocateStatement>();
      auto a = make_allocation(n.data, n.extents, n.dtype, n.origin, {});
      out->allocate = std::move(*a);
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::AllocateConst: {
      const auto& n = *s.as<AllocateConst>();
      auto* out = make_stmt<AllocateStatement>();
      auto a = make_allocation(n.data, n.extents, n.dtype, n.origin, n.bytes);
      out->allocate = std::move(*a);
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::DeclBuffer: {
      const auto& n = *s.as<DeclBuffer>();
      if (!blocks_.empty()) { blocks_.back().own.insert(n.buffer.get()); }
      auto* out = make_stmt<DeclareStatement>();
      out->bind = bind_buffer(n.buffer);
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::SeqStmt: {
      auto* out = make_stmt<Sequence>();
      for (const Stmt& x : s.as<SeqStmt>()->seq) { out->items.push_back(statement(x)); }
      return out;
    }
    case NodeKind::Evaluate: return evaluate(*s.as<Evaluate>());
    case NodeKind::IfThenElse: return branch(*s.as<IfThenElse>());
    case NodeKind::For: return loop(*s.as<For>());
    case NodeKind::While: {
      const auto& n = *s.as<While>();
      auto* out = make_stmt<WhileLoop>();
      out->origin = s.origin();
      {
        NewPiece piece(*this);
        out->counter = piece.number();
        out->condition = int_expr(n.condition);
      }
      out->body = statement(n.body);
      return out;
    }
    case NodeKind::Break: return make_stmt<FlowStatement>(Flow::Break);
    case NodeKind::Continue: return make_stmt<FlowStatement>(Flow::Continue);
    case NodeKind::Block: {
      // A block without a realize runs as one instance; it must have no iter vars.
      if (const auto* b = s.as<Block>(); !b->iter_vars.empty()) {
        unsupported(b->origin, "block `" + b->name.str() + "`, which is a part of a program (`no_realize=True`): its iter vars have no values");
        return make_stmt<FlowStatement>(Flow::Continue);
      }
      return block(BlockRealize({}, bool_imm(true), s.ref<Block>()));
    }
    case NodeKind::BlockRealize: return block(*s.as<BlockRealize>());
#define EXPR(Kind) case NodeKind::Kind:
#define STMT(Kind)
#include "ir/nodes.def"
      break;
  }
  unsupported(s.origin(), "this statement");
  return make_stmt<Nothing>();
}

auto Compiler::let_statement(const LetStmt& n) -> const Statement* {
  if (n.var->dtype.is_handle()) {
    auto* out = make_stmt<PointerStatement>();
    out->value = pointer(n.value);
    out->slot = slot(n.var.get());
    define(n.var.get());
    out->bind = implicit_of(n.var.get());
    out->body = statement(n.body);
    return out;
  }
  auto* out = make_stmt<LetStatement>();
  {
    NewPiece piece(*this);
    out->counter = piece.number();
    out->value = expr(n.value);
  }
  out->lanes = n.var->dtype.lanes;
  out->slot = slot(n.var.get());
  define(n.var.get());
  out->body = scope_of(n.var.get(), n.body);
  return out;
}

namespace {

/// The tag of a launch, or of a loop over threads or blocks; empty for other statements.
auto launch_tag(const Stmt& stmt) -> std::string_view {
  if (const auto* loop = stmt.as<For>()) { return loop->for_kind == ForKind::ThreadBinding && loop->thread ? loop->thread->thread_tag.view() : std::string_view(); }
  const auto* attr = stmt.as<AttrStmt>();
  const auto* iter = attr && attr->key == "thread_extent" ? std::get_if<IterVar>(&attr->node) : nullptr;
  return iter ? iter->thread_tag.view() : std::string_view();
}
auto with_launch_body(const Stmt& launch, Stmt body) -> Stmt {
  if (const auto* n = launch.as<For>()) { return make<For>(n->var, n->min, n->extent, n->for_kind, std::move(body), n->thread, n->annotations, n->origin, n->id); }
  const auto& n = *launch.as<AttrStmt>();
  return make<AttrStmt>(n.node, n.key, n.value, std::move(body), n.origin);
}
/// Takes the launches of blocks out of a chain of launches and allocations.
auto without_blocks(const Stmt& stmt, std::vector<Stmt>& blocks) -> Stmt {
  if (const std::string_view tag = launch_tag(stmt); !tag.empty()) {
    const bool is_block = is_block_axis(tag);
    if (is_block) { blocks.push_back(stmt); }
    Stmt body = without_blocks(stmt.as<For>() ? stmt.as<For>()->body : stmt.as<AttrStmt>()->body, blocks);
    return is_block ? body : with_launch_body(stmt, std::move(body));
  }
  if (const auto* n = stmt.as<Allocate>()) { return make<Allocate>(n->data, n->dtype, n->extents, n->condition, without_blocks(n->body, blocks), n->annotations, n->origin); }
  if (const auto* n = stmt.as<DeclBuffer>()) { return make<DeclBuffer>(n->buffer, without_blocks(n->body, blocks), n->origin); }
  return stmt;
}
/// A nest whose launches of threads come first, with those of blocks around: each block has threads and shared memory of its own, in any order of launches.
/// The statement itself where that is so.
auto blocks_outside(const Stmt& stmt) -> Stmt {
  std::vector<Stmt> blocks;
  Stmt out = without_blocks(stmt, blocks);
  if (blocks.empty()) { return stmt; }
  for (size_t i = blocks.size(); i-- > 0;) { out = with_launch_body(blocks[i], std::move(out)); }
  return out;
}

}  // namespace

auto Compiler::attribute(const AttrStmt& n) -> const Statement* {
  // launch_thread: a loop over the threads.
  if (n.key == "thread_extent" || n.key == "virtual_thread") {
    if (const Stmt nest{Ref<StmtNode>(&n)}; !in_kernel_ && is_thread_axis(launch_tag(nest))) {
      if (Stmt ordered = blocks_outside(nest); ordered.get() != &n) { return statement(ordered); }
    }
    if (const auto* iter = std::get_if<IterVar>(&n.node)) {
      bool is_thread = is_thread_axis(iter->thread_tag.view());
      if (is_thread && (in_kernel_ || needs_threads(n.body) || allocates_shared(n.body))) { return launch(iter->var, iter->thread_tag, n.value, n.body, n.origin, true); }
      auto* out = make_stmt<Loop>();
      out->name = iter->var->name;
      out->any_order = has_unordered = true;
      out->runner = runner_of(iter->thread_tag.view());
      out->is_launch = n.key == "thread_extent";
      out->slot = slot(iter->var.get());
      define(iter->var.get());
      out->min = make_int<IntConst>(0);
      out->extent = int_expr(n.value);
      out->counter = static_cast<uint32_t>(loops.size());
      loops.push_back({0, {}, iter->var->name, loop_});
      ScopedValue inside(loop_, static_cast<int>(out->counter));
      out->body = scope_of(iter->var.get(), n.body);
      return out;
    }
  }
  if (n.key == "reduce_scope") {
    const auto* subject = std::get_if<Expr>(&n.node);
    ScopedValue inside(reducer_, subject ? subject->as<Reduce>() : nullptr);
    return statement(n.body);
  }
  return statement(n.body);
}

auto Compiler::store(const BufferStore& n) -> const Statement* {
  NewPiece piece(*this);
  auto* out = make_stmt<Store>();
  out->counter = piece.number();
  out->site = site(n.buffer, n.indices, n.predicate, n.origin, true);
  out->value = expr(n.value);
  out->lanes = n.value.dtype().lanes;
  pieces[piece_].bytes_written += n.buffer->dtype.element_bytes();
  if ((out->value.f != nullptr) != n.buffer->dtype.is_real() || out->value.p) {
    unsupported(n.origin, "a store to `" + n.buffer->name.str() + "` of a value with an unsuitable type");
  }
  return out;
}

auto Compiler::branch(const IfThenElse& n) -> const Statement* {
  auto* out = make_stmt<Branch>();
  {
    NewPiece piece(*this);
    out->counter = piece.number();
    out->condition = int_expr(n.condition);
    out->origin = n.condition.origin().is_known() ? n.condition.origin() : n.origin;
  }
  out->then_case = statement(n.then_case);
  if (n.else_case) { out->else_case = statement(n.else_case); }
  return out;
}

auto Compiler::block(const BlockRealize& realize) -> const Statement* {
  const Block& b = *realize.block;
  auto* out = make_stmt<BlockInstance>();
  out->block = &b;
  is_index_ = true;
  if (!is_one(realize.predicate)) { out->predicate = int_expr(realize.predicate); }
  add_iters(realize, *out);
  is_index_ = false;
  for (const Buffer& buffer : b.alloc_buffers) { out->allocations.push_back(block_allocation(buffer)); }
  for (const IterVar& iter : b.iter_vars) {
    for (BindBuffer& view : views_of(iter.var.get())) { out->views.push_back(std::move(view)); }
  }
  for (const MatchBufferRegion& m : b.match_buffers) { out->matches.push_back(match_region(m)); }
  // The root block of a function declares no regions; neither does a block that lowering made around other blocks.
  bool is_checked = options_.check_regions && !b.iter_vars.empty();
  if (is_checked) {
    blocks_.push_back(declared_regions(b, *out));
  } else if (!blocks_.empty()) {
    // The regions of the block around name the sources of views in this one.
    for (const Buffer& buffer : b.alloc_buffers) { blocks_.back().own.insert(buffer.get()); }
    for (const MatchBufferRegion& m : b.match_buffers) { blocks_.back().own.insert(m.buffer.get()); }
  }
  Stmt described = options_.describe ? options_.describe(b) : Stmt();
  if (described) {
    out->body = statement(described);
  } else {
    if (b.init) { out->init = statement(b.init); }
    out->body = statement(b.body);
  }
  if (is_checked) {
    const std::unordered_set<size_t>& used = blocks_.back().used;
    std::erase_if(out->declared, [&](const DeclaredRegion& d) { return !used.contains(d.first); });
    blocks_.pop_back();
  }
  return out;
}

// Adds the iter vars of a block: their slots and values, the first values of reductions, and the loops over threads that they reduce.
void Compiler::add_iters(const BlockRealize& realize, BlockInstance& out) {
  const Block& b = *realize.block;
  for (size_t i = 0; i < b.iter_vars.size(); ++i) {
    const VarNode* iter = b.iter_vars[i].var.get();
    // An iter var that equals a loop variable uses the variable's slot. Another realize of the block may use another slot.
    const auto* same = realize.iter_values[i].as<VarNode>();
    slots_.erase(iter);
    if (same && same->dtype == iter->dtype) { slots_[iter] = slot(same); }
    uint32_t s = slot(iter);
    define(iter);
    out.iters.emplace_back(s, int_expr(realize.iter_values[i]));
    if (!same || !(same->dtype == iter->dtype)) { out.moved.push_back(out.iters.back()); }
    if (b.iter_vars[i].kind != IterKind::Reduction) { continue; }
    out.starts.emplace_back(s, int_expr(b.iter_vars[i].dom.min));
    post_order(realize.iter_values[i], [&](const Expr& e) {
      auto found = e.as<VarNode>() ? thread_loops_.find(e.as<VarNode>()) : thread_loops_.end();
      if (found != thread_loops_.end()) { out.reduced.push_back(found->second); }
    });
  }
}

auto Compiler::block_allocation(const Buffer& buffer) -> std::unique_ptr<AllocateMemory> {
  auto a = make_allocation(buffer->data, buffer->shape, buffer->dtype, buffer->origin, {});
  // Buffers with strides need memory for their whole span.
  if (is_strided(buffer)) {
    a->extents.clear();
    a->extents.push_back(int_expr(mul(buffer->strides[0], buffer->shape[0])));
  }
  a->bind.push_back(bind_buffer(buffer));
  if (buffer->shape.size() > 1) { row_of_[buffer->data.get()] = is_strided(buffer) ? buffer->strides[buffer->strides.size() - 2] : buffer->shape.back(); }
  return a;
}

auto Compiler::match_region(const MatchBufferRegion& m) -> MatchRegion {
  MatchRegion match;
  match.target = binding(m.buffer.get());
  match.source = binding(m.source.buffer.get());
  match.buffer = m.buffer.get();
  match.memory = slot(m.buffer->data.get());
  match.origin = m.source.origin;
  match.bind = implicit_of(m.buffer->data.get());
  for (const Range& r : m.source.region) {
    match.mins.push_back(int_expr(r.min));
    match.extents.push_back(int_expr(r.extent));
  }
  auto introduces = [&](const Expr& e) -> const VarNode* {
    const auto* v = e ? e.as<VarNode>() : nullptr;
    return v && !is_defined(v) ? v : nullptr;
  };
  for (size_t d = 0; d < m.buffer->shape.size(); ++d) {
    if (const auto* v = introduces(m.buffer->shape[d])) { match.shape_vars.emplace_back(slot(v), d); }
  }
  for (size_t d = 0; d < m.buffer->strides.size(); ++d) {
    if (const auto* v = introduces(m.buffer->strides[d])) { match.stride_vars.emplace_back(slot(v), d); }
  }
  if (const auto* v = introduces(m.buffer->elem_offset)) { match.offset_var = slot(v); }
  if (m.buffer->strides.size() > 1) { row_of_[m.buffer->data.get()] = m.buffer->strides[m.buffer->strides.size() - 2]; }
  return match;
}

// The regions that a block declares, for the checks of accesses inside.
auto Compiler::declared_regions(const Block& b, BlockInstance& out) -> BlockAround {
  BlockAround around;
  around.block = &b;
  for (const Buffer& buffer : b.alloc_buffers) { around.own.insert(buffer.get()); }
  for (const MatchBufferRegion& m : b.match_buffers) { around.own.insert(m.buffer.get()); }
  auto declare = [&](const Array<BufferRegion>& regions, auto& to) {
    for (const BufferRegion& region : regions) {
      DeclaredRegion declared;
      declared.first = region_count;
      region_count += 2 * region.region.size();
      for (const Range& r : region.region) {
        declared.mins.push_back(int_expr(r.min));
        declared.extents.push_back(int_expr(r.extent));
      }
      to.push_back({&region, declared.first});
      out.declared.push_back(std::move(declared));
    }
  };
  {
    // Loads in the indices of a region are not checked against the block's regions.
    ScopedValue without_blocks(blocks_, std::vector<BlockAround>());
    declare(b.reads, around.reads);
    declare(b.writes, around.writes);
  }
  return around;
}

auto Compiler::loop(const For& n) -> const Statement* {
  if (const Stmt nest{Ref<StmtNode>(&n)}; !in_kernel_ && is_thread_axis(launch_tag(nest))) {
    if (Stmt ordered = blocks_outside(nest); ordered.get() != &n) { return statement(ordered); }
  }
  if (n.for_kind == ForKind::ThreadBinding && n.thread && is_thread_axis(n.thread->thread_tag.view()) && (in_kernel_ || needs_threads(n.body))) {
    Stmt body = n.body;
    if (!(n.thread->var == n.var)) {
      body = make<LetStmt>(n.thread->var, n.var, body, n.origin);
      auto known = std::find(dimensions_.begin(), dimensions_.end(), n.thread->thread_tag);
      thread_dimensions_[n.thread->var.get()] = in_kernel_ ? static_cast<size_t>(known - dimensions_.begin()) : 0;
    }
    if (!is_zero(n.min)) { unsupported(n.origin, "threads that do not count from 0"); }
    return launch(n.var, n.thread->thread_tag, n.extent, body, n.origin, false);
  }
  auto* out = make_stmt<Loop>();
  out->name = n.var->name;
  has_unordered = has_unordered || n.for_kind == ForKind::Parallel || n.for_kind == ForKind::Vectorized || n.for_kind == ForKind::ThreadBinding;
  out->runner = n.thread ? runner_of(n.thread->thread_tag.view()) : Runner::Other;
  out->any_order = n.for_kind == ForKind::Parallel || n.for_kind == ForKind::Vectorized || n.for_kind == ForKind::ThreadBinding;
  is_index_ = true;
  out->min = int_expr(n.min);
  out->extent = int_expr(n.extent);
  is_index_ = false;
  out->slot = slot(n.var.get());
  out->counter = static_cast<uint32_t>(loops.size());
  loops.push_back({n.id, n.origin, n.var->name, loop_});
  ScopedValue inside(loop_, static_cast<int>(out->counter));
  define(n.var.get());
  bool is_thread = n.for_kind == ForKind::ThreadBinding && n.thread && is_thread_axis(n.thread->thread_tag.view());
  if (is_thread) {
    thread_loops_[n.var.get()] = out;
    thread_loops_[n.thread->var.get()] = out;
  }
  // The body may also use the thread's own variable.
  if (n.thread && !(n.thread->var == n.var)) {
    auto* let = make_stmt<LetStatement>();
    let->slot = slot(n.thread->var.get());
    let->value = {make_int<VarRef<IntExpr, false>>(out->slot), nullptr, n.var->dtype};
    let->body = scope_of(n.var.get(), n.body);
    out->body = let;
  } else {
    out->body = scope_of(n.var.get(), n.body);
  }
  return out;
}

// `for v in T.thread_binding(extent, tag)`, or `v = T.launch_thread(tag, extent)`, for threads that wait for each other: every thread
// of the nest runs the whole body of its outermost loop.
auto Compiler::launch(Var var, Name tag, const Expr& extent, const Stmt& body, Origin origin, bool is_launch) -> const Statement* {
  define(var.get());
  has_unordered = true;
  if (in_kernel_) {
    // The loop is over a new dimension, or over a known one again.
    auto known = std::find_if(dimensions_.begin(), dimensions_.end(), [&](Name d) { return d == tag; });
    if (known == dimensions_.end()) {
      unsupported(origin, "a kernel whose number of threads is unknown at its beginning");
      return make_stmt<Nothing>();
    }
    auto* out = make_stmt<ThreadIndex>();
    out->name = var->name;
    out->slot = slot(var.get());
    out->dimension = static_cast<size_t>(known - dimensions_.begin());
    thread_dimensions_[var.get()] = out->dimension;
    if (Name& variable = kernel_->dimensions[out->dimension].variable; variable.empty()) { variable = var->name; }
    out->body = scope_of(var.get(), body);
    return out;
  }
  auto* out = make_stmt<KernelStatement>();
  out->origin = origin;
  out->is_launch = is_launch || has_barriers(body);
  std::vector<std::pair<Name, Expr>> found;
  auto add = [&](Name t, const Expr& e) {
    if (std::none_of(found.begin(), found.end(), [&](const auto& d) { return d.first == t; })) { found.emplace_back(t, e); }
  };
  add(tag, extent);
  post_order(
      body,
      [&](const Stmt& s) {
        if (const auto* inner = s.as<For>(); inner && inner->thread && is_thread_axis(inner->thread->thread_tag.view())) { add(inner->thread->thread_tag, inner->extent); }
        if (const auto* attr = s.as<AttrStmt>(); attr && attr->key == "thread_extent") {
          const auto* iter = std::get_if<IterVar>(&attr->node);
          if (iter && is_thread_axis(iter->thread_tag.view())) { add(iter->thread_tag, attr->value); }
        }
      },
      [](const Expr&) {});
  // Threads are numbered along `threadIdx.x` first, regardless of the order of loops: that determines the warps.
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first.view() < b.first.view(); });
  dimensions_.clear();
  for (const auto& [t, e] : found) {
    dimensions_.push_back(t);
    out->dimensions.push_back({t, int_expr(e), t == tag ? var->name : Name()});
  }
  in_kernel_ = true;
  ScopedValue kernel_around(kernel_, out);
  auto* index = make_stmt<ThreadIndex>();
  index->name = var->name;
  index->slot = slot(var.get());
  index->dimension = static_cast<size_t>(std::find(dimensions_.begin(), dimensions_.end(), tag) - dimensions_.begin());
  thread_dimensions_[var.get()] = index->dimension;
  index->body = scope_of(var.get(), body);
  in_kernel_ = false;
  out->body = index;
  return out;
}

auto Compiler::evaluate(const Evaluate& n) -> const Statement* {
  static const Name ret("ret"), prefetch("prefetch"), assume("assume"), sync("tvm_storage_sync"), allreduce("tvm_thread_allreduce"),
      call_extern("call_extern"), call_pure_extern("call_pure_extern"), profile_start("start_profile_intrinsic"), profile_end("end_profile_intrinsic");
  if (n.value.as<IntImm>()) { return make_stmt<Nothing>(); }
  const auto* c = n.value.as<Call>();
  // Hints have no effect.
  if (c && (c->op == prefetch || c->op == assume || c->op == profile_start || c->op == profile_end)) { return make_stmt<Nothing>(); }
  if (c && c->op == sync) {
    // A single thread does not wait.
    if (!in_kernel_) { return make_stmt<Nothing>(); }
    auto* out = make_stmt<Barrier>();
    out->origin = n.origin;
    const auto* scope = c->args.empty() ? nullptr : c->args[0].as<StringImm>();
    out->is_warp = scope && scope->value == "warp";
    return out;
  }
  if (c && c->op == allreduce) { return reduce_across_threads(*c); }
  if (c) {
    if (const Statement* tile = tile_operation(*c)) { return tile; }
  }
  if (c) {
    if (const Statement* copies = copy_statement(*c)) { return copies; }
    if (const Statement* host = host_statement(*c)) { return host; }
  }
  if (c && c->op.view().starts_with("@")) {
    const Statement* call = call_function(*c);
    return call ? call : make_stmt<Nothing>();
  }
  if (c && (c->op == call_extern || c->op == call_pure_extern) && !c->args.empty()) {
    const auto* symbol = c->args[0].as<StringImm>();
    // The call that transform/check_bounds.h inserts for an index out of bounds.
    if (symbol && symbol->value == "loopsmith_out_of_bounds" && c->args.size() == 4) {
      const auto* text = c->args[1].as<StringImm>();
      auto* out = make_stmt<AssertThat>();
      out->condition = make_int<IntConst>(0);
      out->message = text ? text->value : "an index is out of bounds";
      out->origin = n.origin;
      out->body = make_stmt<Nothing>();
      return out;
    }
    if (symbol && c->args.size() == 4 && (symbol->value == "memcpy" || symbol->value == "memmove" || symbol->value == "memset")) {
      auto* out = make_stmt<MemoryCall>();
      out->origin = n.origin;
      out->name = Name(symbol->value);
      out->to = pointer(c->args[1]);
      if (symbol->value == "memset") { out->byte = int_expr(c->args[2]); } else { out->from = pointer(c->args[2]); }
      out->bytes = int_expr(c->args[3]);
      return out;
    }
  }
  NewPiece piece(*this);
  auto* out = make_stmt<EvaluateStatement>();
  out->counter = piece.number();
  out->is_return = c && c->op == ret;
  if (out->is_return && c->args.size() == 0) { return out; }
  out->value = expr(n.value);
  if (out->is_return) { (out->value.f ? returns_.reals : returns_.ints) = true; }
  return out;
}

// tvm_thread_allreduce(count, values ..., condition, results ..., thread indices ...), the combiner in the attribute around.
auto Compiler::reduce_across_threads(const Call& n) -> const Statement* {
  auto count = n.args.empty() ? std::nullopt : as_int(n.args[0]);
  if (!in_kernel_ || !reducer_ || !count || *count < 1 || n.args.size() < static_cast<size_t>(2 + 2 * *count)) {
    unsupported(n.origin, !in_kernel_ ? "a reduction across threads outside of a launch" : "a reduction across threads without its combiner");
    return make_stmt<Nothing>();
  }
  auto size = static_cast<size_t>(*count);
  const CommReducerNode& combiner = *reducer_->combiner;
  auto* out = make_stmt<AllReduce>();
  out->origin = n.origin;
  for (size_t i = 0; i < size; ++i) {
    out->values.push_back(expr(n.args[1 + i]));
    out->lhs.push_back(slot(combiner.lhs[i].get()));
    out->rhs.push_back(slot(combiner.rhs[i].get()));
    define(combiner.lhs[i].get());
    define(combiner.rhs[i].get());
  }
  out->condition = int_expr(n.args[1 + size]);
  for (size_t i = 0; i < size; ++i) {
    out->identity.push_back(expr(combiner.identity[i]));
    out->result.push_back(expr(combiner.result[i]));
    // The target is an element of a buffer, or the buffer's data for the first element.
    const Expr& to = n.args[2 + size + i];
    const auto* load = to.as<BufferLoad>();
    if (const auto* address = to.as<Call>(); address && address->op == "address_of" && !address->args.empty()) { load = address->args[0].as<BufferLoad>(); }
    if (!load) {
      unsupported(n.origin, "a reduction across threads into something other than an element of a buffer");
      return make_stmt<Nothing>();
    }
    out->results.push_back(site(load->buffer, load->indices, {}, n.origin, true));
  }
  for (size_t i = 2 + 2 * size; i < n.args.size(); ++i) {
    const auto* v = n.args[i].as<VarNode>();
    auto found = v ? thread_dimensions_.find(v) : thread_dimensions_.end();
    if (found != thread_dimensions_.end()) { out->dimensions.push_back(found->second); }
  }
  return out;
}

auto Compiler::call_function(const Call& n, const std::vector<std::pair<Var, Expr>>& sizes) -> const CallStatement* {
  Name name(n.op.view().substr(1));
  PrimFunc func = module_->find(name);
  if (!func || n.args.size() != func->params.size()) {
    unsupported(n.origin, func ? "a call of `" + name.str() + "` with another number of arguments" : "the function `" + name.str() + "`");
    return nullptr;
  }
  // A recursive function is compiled once; each call has separate variables.
  // Compiling the arguments may change the list of active calls.
  const bool is_recursive = std::find(calling_.begin(), calling_.end(), name) != calling_.end();
  auto* out = make_stmt<CallStatement>();
  out->origin = n.origin;
  for (size_t i = 0; i < func->params.size(); ++i) {
    const Var& param = func->params[i];
    define(param.get());
    Buffer buffer = func->buffer_of(param);
    if (buffer || param->dtype.is_handle()) {
      const auto* load = n.args[i].as<BufferLoad>();
      Expr from = load ? Expr(make<Call>(DataType::handle(), Name("address_of"), Array<Expr>{n.args[i]})) : n.args[i];
      const PointerExpr* p = pointer(from);
      out->pointers.emplace_back(slot(param.get()), p);
      if (buffer) { out->pointers.emplace_back(slot(buffer->data.get()), p); }
    } else {
      // Numbers are converted to the type of the parameter.
      bool is_other = !(n.args[i].dtype() == param->dtype) && !n.args[i].dtype().is_handle() && n.args[i].dtype().is_scalar();
      out->values.emplace_back(slot(param.get()), expr(is_other ? cast(param->dtype, n.args[i]) : n.args[i]));
    }
  }
  for (const auto& [size, value] : sizes) {
    define(size.get());
    out->values.emplace_back(slot(size.get()), expr(value));
  }
  find_implicit(*func);
  for (const auto& [param, buffer] : func->buffer_map) {
    for (const Expr& e : buffer->shape) {
      if (const auto* v = e.as<VarNode>(); v && !is_defined(v)) { unsupported(n.origin, "a call of `" + name.str() + "`: the shape of its argument `" + buffer->name.str() + "` is unknown"); }
    }
    out->bind.push_back(bind_buffer(buffer));
    for (BindBuffer& b : implicit_of(buffer->data.get())) { out->bind.push_back(std::move(b)); }
  }
  for (const Var& param : func->params) { for (BindBuffer& b : implicit_of(param.get())) { out->bind.push_back(std::move(b)); } }
  if (is_recursive) {
    out->recurs = true;
    out->returns_ints = func->ret_type.is_integral();
    out->returns_reals = func->ret_type.is_real();
    recursive_.emplace_back(out, name);
    return out;
  }
  calling_.push_back(name);
  {
    ScopedValue without_blocks(blocks_, std::vector<BlockAround>());
    ScopedValue own_returns(returns_, Returns());
    out->body = statement(func->body);
    out->returns_ints = returns_.ints;
    out->returns_reals = returns_.reals;
  }
  calling_.pop_back();
  enclose(name, out->body);
  return out;
}

void Compiler::enclose(Name function, const Statement* body) {
  for (auto& [call, name] : recursive_) {
    if (name == function && !call->body) { call->body = body; }
  }
}

}  // namespace loopsmith::interp
