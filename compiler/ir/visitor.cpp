// Walking and rewriting TIR: see visitor.h.
#include "ir/visitor.h"

#include <algorithm>

#include "ir/ops.h"

namespace loopsmith {

// ---- children ------------------------------------------------------------------------------------------

namespace {

// Shared by visit_children and its recursive callers, so that nodes do not each cost a call through a std::function.
template <class F>
void each_child(const Expr& expr, const F& f) {
  switch (expr.kind()) {
    case NodeKind::VarNode:
    case NodeKind::IntImm:
    case NodeKind::FloatImm:
    case NodeKind::StringImm: return;
    case NodeKind::Cast: f(expr.as<Cast>()->value); return;
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind: { const auto& n = *expr.as<Kind>(); f(n.a); f(n.b); return; }
#include "ir/nodes.def"
    case NodeKind::Not: f(expr.as<Not>()->a); return;
    case NodeKind::Select: {
      const auto& n = *expr.as<Select>();
      f(n.condition); f(n.true_value); f(n.false_value);
      return;
    }
    case NodeKind::BufferLoad: {
      const auto& n = *expr.as<BufferLoad>();
      for (const Expr& i : n.indices) { f(i); }
      if (n.predicate) { f(n.predicate); }
      return;
    }
    case NodeKind::Ramp: { const auto& n = *expr.as<Ramp>(); f(n.base); f(n.stride); f(n.lanes); return; }
    case NodeKind::Broadcast: { const auto& n = *expr.as<Broadcast>(); f(n.value); f(n.lanes); return; }
    case NodeKind::Shuffle: {
      const auto& n = *expr.as<Shuffle>();
      for (const Expr& v : n.vectors) { f(v); }
      for (const Expr& i : n.indices) { f(i); }
      return;
    }
    case NodeKind::Let: { const auto& n = *expr.as<Let>(); f(n.value); f(n.body); return; }
    case NodeKind::Call: for (const Expr& a : expr.as<Call>()->args) { f(a); } return;
    case NodeKind::Reduce: {
      const auto& n = *expr.as<Reduce>();
      for (const Expr& s : n.source) { f(s); }
      for (const IterVar& a : n.axis) { f(a.dom.min); f(a.dom.extent); }
      if (n.condition) { f(n.condition); }
      for (const Expr& i : n.init) { f(i); }
      return;
    }
#define EXPR(Kind)
#define STMT(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      return;
  }
}

void post_order_of(const Expr& expr, const std::function<void(const Expr&)>& f) {
  each_child(expr, [&](const Expr& child) { post_order_of(child, f); });
  f(expr);
}

}  // namespace

void visit_children(const Expr& expr, const std::function<void(const Expr&)>& f) { each_child(expr, f); }

void visit_children(const Stmt& stmt, const std::function<void(const Expr&)>& f, const std::function<void(const Stmt&)>& s) {
  auto range = [&](const Range& r) {
    if (r.min) { f(r.min); }
    if (r.extent) { f(r.extent); }
  };
  auto region = [&](const BufferRegion& r) { for (const Range& x : r.region) { range(x); } };
  switch (stmt.kind()) {
    case NodeKind::LetStmt: { const auto& n = *stmt.as<LetStmt>(); f(n.value); s(n.body); return; }
    case NodeKind::AttrStmt: {
      const auto& n = *stmt.as<AttrStmt>();
      if (const Expr* e = std::get_if<Expr>(&n.node)) { if (*e) { f(*e); } }
      if (const IterVar* iter = std::get_if<IterVar>(&n.node)) { range(iter->dom); }
      f(n.value);
      s(n.body);
      return;
    }
    case NodeKind::AssertStmt: { const auto& n = *stmt.as<AssertStmt>(); f(n.condition); f(n.message); s(n.body); return; }
    case NodeKind::BufferStore: {
      const auto& n = *stmt.as<BufferStore>();
      f(n.value);
      for (const Expr& i : n.indices) { f(i); }
      if (n.predicate) { f(n.predicate); }
      return;
    }
    case NodeKind::BufferRealize: {
      const auto& n = *stmt.as<BufferRealize>();
      for (const Range& r : n.bounds) { range(r); }
      f(n.condition);
      s(n.body);
      return;
    }
    case NodeKind::Allocate: {
      const auto& n = *stmt.as<Allocate>();
      for (const Expr& e : n.extents) { f(e); }
      f(n.condition);
      s(n.body);
      return;
    }
    case NodeKind::AllocateConst: {
      const auto& n = *stmt.as<AllocateConst>();
      for (const Expr& e : n.extents) { f(e); }
      s(n.body);
      return;
    }
    case NodeKind::DeclBuffer: s(stmt.as<DeclBuffer>()->body); return;
    case NodeKind::SeqStmt: for (const Stmt& x : stmt.as<SeqStmt>()->seq) { s(x); } return;
    case NodeKind::Evaluate: f(stmt.as<Evaluate>()->value); return;
    case NodeKind::IfThenElse: {
      const auto& n = *stmt.as<IfThenElse>();
      f(n.condition);
      s(n.then_case);
      if (n.else_case) { s(n.else_case); }
      return;
    }
    case NodeKind::For: { const auto& n = *stmt.as<For>(); f(n.min); f(n.extent); s(n.body); return; }
    case NodeKind::While: { const auto& n = *stmt.as<While>(); f(n.condition); s(n.body); return; }
    case NodeKind::Break:
    case NodeKind::Continue: return;
    case NodeKind::Block: {
      const auto& n = *stmt.as<Block>();
      for (const IterVar& i : n.iter_vars) { range(i.dom); }
      for (const BufferRegion& r : n.reads) { region(r); }
      for (const BufferRegion& r : n.writes) { region(r); }
      for (const MatchBufferRegion& m : n.match_buffers) { region(m.source); }
      if (n.init) { s(n.init); }
      s(n.body);
      return;
    }
    case NodeKind::BlockRealize: {
      const auto& n = *stmt.as<BlockRealize>();
      for (const Expr& v : n.iter_values) { f(v); }
      f(n.predicate);
      s(Stmt(n.block));
      return;
    }
#define EXPR(Kind) case NodeKind::Kind:
#define STMT(Kind)
#include "ir/nodes.def"
      return;
  }
}

// ---- Visitor -------------------------------------------------------------------------------------------

void Visitor::visit(const Expr& expr) {
  switch (expr.kind()) {
#define EXPR(Kind) case NodeKind::Kind: on(*expr.as<Kind>()); return;
#define STMT(Kind) case NodeKind::Kind: return;
#include "ir/nodes.def"
  }
}
void Visitor::visit(const Stmt& stmt) {
  switch (stmt.kind()) {
#define EXPR(Kind) case NodeKind::Kind: return;
#define STMT(Kind) case NodeKind::Kind: on(*stmt.as<Kind>()); return;
#include "ir/nodes.def"
  }
}
void Visitor::visit_buffer(const Buffer& buffer) {
  for (const Expr& e : buffer->shape) { visit(e); }
  for (const Expr& e : buffer->strides) { visit(e); }
  if (buffer->elem_offset) { visit(buffer->elem_offset); }
}
void Visitor::visit(const Range& range) {
  if (range.min) { visit(range.min); }
  if (range.extent) { visit(range.extent); }
}
void Visitor::visit(const BufferRegion& region) {
  for (const Range& r : region.region) { visit(r); }
}
void Visitor::visit(const IterVar& iter) { visit(iter.dom); }

void Visitor::on(const VarNode&) {}
void Visitor::on(const IntImm&) {}
void Visitor::on(const FloatImm&) {}
void Visitor::on(const StringImm&) {}
void Visitor::on(const Cast& n) { visit(n.value); }
#define EXPR(Kind)
#define BINARY(Kind) void Visitor::on(const Kind& n) { visit(n.a); visit(n.b); }
#include "ir/nodes.def"
void Visitor::on(const Not& n) { visit(n.a); }
void Visitor::on(const Select& n) { visit(n.condition); visit(n.true_value); visit(n.false_value); }
void Visitor::on(const BufferLoad& n) {
  for (const Expr& i : n.indices) { visit(i); }
  if (n.predicate) { visit(n.predicate); }
}
void Visitor::on(const Ramp& n) { visit(n.base); visit(n.stride); visit(n.lanes); }
void Visitor::on(const Broadcast& n) { visit(n.value); visit(n.lanes); }
void Visitor::on(const Shuffle& n) {
  for (const Expr& e : n.vectors) { visit(e); }
  for (const Expr& e : n.indices) { visit(e); }
}
void Visitor::on(const Let& n) { visit(n.value); visit(n.body); }
void Visitor::on(const Call& n) { for (const Expr& a : n.args) { visit(a); } }
void Visitor::on(const Reduce& n) {
  for (const IterVar& a : n.axis) { visit(a); }
  for (const Expr& e : n.source) { visit(e); }
  for (const Expr& e : n.init) { visit(e); }
  if (n.condition) { visit(n.condition); }
}
void Visitor::on(const LetStmt& n) { visit(n.value); visit(n.body); }
void Visitor::on(const AttrStmt& n) {
  if (const Expr* e = std::get_if<Expr>(&n.node)) { if (*e) { visit(*e); } }
  if (const IterVar* iter = std::get_if<IterVar>(&n.node)) { visit(*iter); }
  visit(n.value);
  visit(n.body);
}
void Visitor::on(const AssertStmt& n) { visit(n.condition); visit(n.message); visit(n.body); }
void Visitor::on(const BufferStore& n) {
  visit(n.value);
  for (const Expr& i : n.indices) { visit(i); }
  if (n.predicate) { visit(n.predicate); }
}
void Visitor::on(const BufferRealize& n) {
  visit_buffer(n.buffer);
  for (const Range& r : n.bounds) { visit(r); }
  visit(n.condition);
  visit(n.body);
}
void Visitor::on(const Allocate& n) {
  for (const Expr& e : n.extents) { visit(e); }
  visit(n.condition);
  visit(n.body);
}
void Visitor::on(const AllocateConst& n) {
  for (const Expr& e : n.extents) { visit(e); }
  visit(n.body);
}
void Visitor::on(const DeclBuffer& n) { visit_buffer(n.buffer); visit(n.body); }
void Visitor::on(const SeqStmt& n) { for (const Stmt& s : n.seq) { visit(s); } }
void Visitor::on(const Evaluate& n) { visit(n.value); }
void Visitor::on(const IfThenElse& n) {
  visit(n.condition);
  visit(n.then_case);
  if (n.else_case) { visit(n.else_case); }
}
void Visitor::on(const For& n) { visit(n.min); visit(n.extent); visit(n.body); }
void Visitor::on(const While& n) { visit(n.condition); visit(n.body); }
void Visitor::on(const Break&) {}
void Visitor::on(const Continue&) {}
void Visitor::on(const Block& n) {
  for (const IterVar& i : n.iter_vars) { visit(i); }
  for (const BufferRegion& r : n.reads) { visit(r); }
  for (const BufferRegion& r : n.writes) { visit(r); }
  for (const Buffer& b : n.alloc_buffers) { visit_buffer(b); }
  for (const MatchBufferRegion& m : n.match_buffers) {
    visit_buffer(m.buffer);
    visit(m.source);
  }
  if (n.init) { visit(n.init); }
  visit(n.body);
}
void Visitor::on(const BlockRealize& n) {
  for (const Expr& v : n.iter_values) { visit(v); }
  visit(n.predicate);
  on(*n.block);
}

// ---- Mutator -------------------------------------------------------------------------------------------

namespace {
constexpr auto same = [](const auto& a, const auto& b) { return a.same_as(b); };
}

auto Mutator::mutate(const Expr& expr) -> Expr {
  switch (expr.kind()) {
#define EXPR(Kind) case NodeKind::Kind: return on(*expr.as<Kind>());
#define STMT(Kind) case NodeKind::Kind: break;
#include "ir/nodes.def"
  }
  return expr;
}
auto Mutator::mutate(const Stmt& stmt) -> Stmt {
  switch (stmt.kind()) {
#define EXPR(Kind) case NodeKind::Kind: break;
#define STMT(Kind) case NodeKind::Kind: return on(*stmt.as<Kind>());
#include "ir/nodes.def"
  }
  return stmt;
}
auto Mutator::mutate(const Array<Expr>& exprs) -> Array<Expr> {
  return exprs.map_same([this](const Expr& e) { return mutate(e); }, same);
}
auto Mutator::mutate(const Range& range) -> Range {
  return {range.min ? mutate(range.min) : Expr(), range.extent ? mutate(range.extent) : Expr()};
}
auto Mutator::mutate(const Array<Range>& ranges) -> Array<Range> {
  return ranges.map_same([this](const Range& r) { return mutate(r); }, same);
}
auto Mutator::mutate(const BufferRegion& region) -> BufferRegion {
  return {use(region.buffer), mutate(region.region), region.origin};
}
auto Mutator::mutate(const Array<BufferRegion>& regions) -> Array<BufferRegion> {
  return regions.map_same([this](const BufferRegion& r) { return mutate(r); }, same);
}
auto Mutator::mutate(const IterVar& iter) -> IterVar {
  return {declare(iter.var), mutate(iter.dom), iter.kind, iter.thread_tag, iter.origin};
}

auto Mutator::on(const VarNode& n) -> Expr { return self(n); }
auto Mutator::on(const IntImm& n) -> Expr { return self(n); }
auto Mutator::on(const FloatImm& n) -> Expr { return self(n); }
auto Mutator::on(const StringImm& n) -> Expr { return self(n); }
auto Mutator::on(const Cast& n) -> Expr {
  Expr value = mutate(n.value);
  if (value.same_as(n.value)) { return self(n); }
  return make<Cast>(n.dtype, std::move(value), n.origin);
}
#define EXPR(Kind)
#define BINARY(Kind)                                             \
  auto Mutator::on(const Kind& n) -> Expr {                      \
    Expr a = mutate(n.a);                                        \
    Expr b = mutate(n.b);                                        \
    if (a.same_as(n.a) && b.same_as(n.b)) { return self(n); }    \
    return make<Kind>(std::move(a), std::move(b), n.origin);     \
  }
#include "ir/nodes.def"
auto Mutator::on(const Not& n) -> Expr {
  Expr a = mutate(n.a);
  if (a.same_as(n.a)) { return self(n); }
  return make<Not>(std::move(a), n.origin);
}
auto Mutator::on(const Select& n) -> Expr {
  Expr c = mutate(n.condition);
  Expr t = mutate(n.true_value);
  Expr f = mutate(n.false_value);
  if (c.same_as(n.condition) && t.same_as(n.true_value) && f.same_as(n.false_value)) { return self(n); }
  return make<Select>(std::move(c), std::move(t), std::move(f), n.origin);
}
auto Mutator::on(const BufferLoad& n) -> Expr {
  Buffer buffer = use(n.buffer);
  Array<Expr> indices = mutate(n.indices);
  Expr predicate = n.predicate ? mutate(n.predicate) : Expr();
  if (buffer.same_as(n.buffer) && indices.same_as(n.indices) && predicate.same_as(n.predicate)) { return self(n); }
  return make<BufferLoad>(std::move(buffer), std::move(indices), n.origin, std::move(predicate));
}
auto Mutator::on(const Ramp& n) -> Expr {
  Expr base = mutate(n.base);
  Expr stride = mutate(n.stride);
  Expr lanes = mutate(n.lanes);
  if (base.same_as(n.base) && stride.same_as(n.stride) && lanes.same_as(n.lanes)) { return self(n); }
  return make<Ramp>(std::move(base), std::move(stride), std::move(lanes), n.origin);
}
auto Mutator::on(const Broadcast& n) -> Expr {
  Expr value = mutate(n.value);
  Expr lanes = mutate(n.lanes);
  if (value.same_as(n.value) && lanes.same_as(n.lanes)) { return self(n); }
  return make<Broadcast>(std::move(value), std::move(lanes), n.origin);
}
auto Mutator::on(const Shuffle& n) -> Expr {
  Array<Expr> vectors = mutate(n.vectors);
  Array<Expr> indices = mutate(n.indices);
  if (vectors.same_as(n.vectors) && indices.same_as(n.indices)) { return self(n); }
  return make<Shuffle>(std::move(vectors), std::move(indices), n.origin);
}
auto Mutator::on(const Let& n) -> Expr {
  Expr value = mutate(n.value);
  Var var = declare(n.var);
  Expr body = mutate(n.body);
  if (value.same_as(n.value) && var == n.var && body.same_as(n.body)) { return self(n); }
  return make<Let>(std::move(var), std::move(value), std::move(body), n.origin);
}
auto Mutator::on(const Call& n) -> Expr {
  Array<Expr> args = mutate(n.args);
  if (args.same_as(n.args)) { return self(n); }
  return make<Call>(n.dtype, n.op, std::move(args), n.origin);
}
auto Mutator::on(const Reduce& n) -> Expr {
  Array<IterVar> axis = n.axis.map_same([this](const IterVar& i) { return mutate(i); }, same);
  Array<Expr> source = mutate(n.source);
  Array<Expr> init = mutate(n.init);
  Expr condition = n.condition ? mutate(n.condition) : Expr();
  if (axis.same_as(n.axis) && source.same_as(n.source) && init.same_as(n.init) && condition.same_as(n.condition)) { return self(n); }
  return make<Reduce>(n.combiner, std::move(source), std::move(axis), std::move(condition), n.value_index, std::move(init), n.origin);
}

auto Mutator::on(const LetStmt& n) -> Stmt {
  Expr value = mutate(n.value);
  Var var = declare(n.var);
  Stmt body = mutate(n.body);
  if (value.same_as(n.value) && var == n.var && body.same_as(n.body)) { return self(n); }
  return make<LetStmt>(std::move(var), std::move(value), std::move(body), n.origin);
}
auto Mutator::on(const AttrStmt& n) -> Stmt {
  AttrStmt::Subject node = n.node;
  bool kept = true;
  if (auto* e = std::get_if<Expr>(&node)) {
    if (*e) {
      Expr changed = mutate(*e);
      kept = changed.same_as(*e);
      *e = std::move(changed);
    }
  } else if (auto* buffer = std::get_if<Buffer>(&node)) {
    Buffer changed = use(*buffer);
    kept = changed == *buffer;
    *buffer = std::move(changed);
  } else if (auto* iter = std::get_if<IterVar>(&node)) {
    IterVar changed = mutate(*iter);
    kept = changed.same_as(*iter);
    *iter = std::move(changed);
  }
  Expr value = mutate(n.value);
  Stmt body = mutate(n.body);
  if (kept && value.same_as(n.value) && body.same_as(n.body)) { return self(n); }
  return make<AttrStmt>(std::move(node), n.key, std::move(value), std::move(body), n.origin);
}
auto Mutator::on(const AssertStmt& n) -> Stmt {
  Expr condition = mutate(n.condition);
  Expr message = mutate(n.message);
  Stmt body = mutate(n.body);
  if (condition.same_as(n.condition) && message.same_as(n.message) && body.same_as(n.body)) { return self(n); }
  return make<AssertStmt>(std::move(condition), std::move(message), std::move(body), n.origin);
}
auto Mutator::on(const BufferStore& n) -> Stmt {
  Buffer buffer = use(n.buffer);
  Expr value = mutate(n.value);
  Array<Expr> indices = mutate(n.indices);
  Expr predicate = n.predicate ? mutate(n.predicate) : Expr();
  if (buffer == n.buffer && value.same_as(n.value) && indices.same_as(n.indices) && predicate.same_as(n.predicate)) { return self(n); }
  return make<BufferStore>(std::move(buffer), std::move(value), std::move(indices), n.origin, std::move(predicate));
}
auto Mutator::on(const BufferRealize& n) -> Stmt {
  Buffer buffer = declare(n.buffer);
  Array<Range> bounds = mutate(n.bounds);
  Expr condition = mutate(n.condition);
  Stmt body = mutate(n.body);
  if (buffer == n.buffer && bounds.same_as(n.bounds) && condition.same_as(n.condition) && body.same_as(n.body)) { return self(n); }
  return make<BufferRealize>(std::move(buffer), std::move(bounds), std::move(condition), std::move(body), n.origin);
}
auto Mutator::on(const Allocate& n) -> Stmt {
  Array<Expr> extents = mutate(n.extents);
  Expr condition = mutate(n.condition);
  Var data = declare(n.data);
  Stmt body = mutate(n.body);
  if (extents.same_as(n.extents) && condition.same_as(n.condition) && data == n.data && body.same_as(n.body)) { return self(n); }
  return make<Allocate>(std::move(data), n.dtype, std::move(extents), std::move(condition), std::move(body), n.annotations, n.origin);
}
auto Mutator::on(const AllocateConst& n) -> Stmt {
  Array<Expr> extents = mutate(n.extents);
  Var data = declare(n.data);
  Stmt body = mutate(n.body);
  if (extents.same_as(n.extents) && data == n.data && body.same_as(n.body)) { return self(n); }
  return make<AllocateConst>(std::move(data), n.dtype, std::move(extents), n.bytes, std::move(body), n.annotations, n.origin);
}
auto Mutator::on(const DeclBuffer& n) -> Stmt {
  Buffer buffer = declare(n.buffer);
  Stmt body = mutate(n.body);
  if (buffer == n.buffer && body.same_as(n.body)) { return self(n); }
  return make<DeclBuffer>(std::move(buffer), std::move(body), n.origin);
}
auto Mutator::on(const SeqStmt& n) -> Stmt {
  Sequence<Stmt> items = n.seq.map_same([this](const Stmt& s) { return mutate(s); }, same);
  if (items.same_as(n.seq)) { return self(n); }
  bool is_flat = std::none_of(items.begin(), items.end(), [](const Stmt& s) { return !s || s.as<SeqStmt>() || is_no_op(s); });
  return is_flat ? Stmt(make<SeqStmt>(std::move(items), n.origin)) : seq(items.to_vector(), n.origin);
}
auto Mutator::on(const Evaluate& n) -> Stmt {
  Expr value = mutate(n.value);
  if (value.same_as(n.value)) { return self(n); }
  return make<Evaluate>(std::move(value), n.origin);
}
auto Mutator::on(const IfThenElse& n) -> Stmt {
  Expr condition = mutate(n.condition);
  Stmt then_case = mutate(n.then_case);
  Stmt else_case = n.else_case ? mutate(n.else_case) : Stmt();
  if (condition.same_as(n.condition) && then_case.same_as(n.then_case) && else_case.same_as(n.else_case)) { return self(n); }
  return make<IfThenElse>(std::move(condition), std::move(then_case), std::move(else_case), n.origin);
}
auto Mutator::on(const For& n) -> Stmt {
  Expr min = mutate(n.min);
  Expr extent = mutate(n.extent);
  Var var = declare(n.var);
  std::optional<IterVar> thread;
  bool same_thread = true;
  if (n.thread) {
    thread = *n.thread;
    if (thread->dom.extent) { thread->dom = mutate(n.thread->dom); }
    same_thread = thread->same_as(*n.thread);
  }
  Stmt body = mutate(n.body);
  if (min.same_as(n.min) && extent.same_as(n.extent) && var == n.var && same_thread && body.same_as(n.body)) { return self(n); }
  return make<For>(std::move(var), std::move(min), std::move(extent), n.for_kind, std::move(body), std::move(thread), n.annotations,
                   n.origin, n.id);
}
auto Mutator::on(const While& n) -> Stmt {
  Expr condition = mutate(n.condition);
  Stmt body = mutate(n.body);
  if (condition.same_as(n.condition) && body.same_as(n.body)) { return self(n); }
  return make<While>(std::move(condition), std::move(body), n.origin);
}
auto Mutator::on(const Break& n) -> Stmt { return self(n); }
auto Mutator::on(const Continue& n) -> Stmt { return self(n); }
auto Mutator::on(const Block& n) -> Stmt {
  Block::Fields f = n.fields();
  f.iter_vars = f.iter_vars.map_same([this](const IterVar& i) { return mutate(i); }, same);
  f.alloc_buffers = f.alloc_buffers.map_same([this](const Buffer& b) { return declare(b); }, same);
  f.match_buffers = f.match_buffers.map_same(
      [this](const MatchBufferRegion& m) {
        BufferRegion source = mutate(m.source);
        return MatchBufferRegion{declare(m.buffer), std::move(source)};
      }, same);
  f.reads = mutate(f.reads);
  f.writes = mutate(f.writes);
  f.init = n.init ? mutate(n.init) : Stmt();
  f.body = mutate(n.body);
  if (f.iter_vars.same_as(n.iter_vars) && f.alloc_buffers.same_as(n.alloc_buffers) && f.match_buffers.same_as(n.match_buffers) &&
      f.reads.same_as(n.reads) && f.writes.same_as(n.writes) && f.init.same_as(n.init) && f.body.same_as(n.body)) {
    return self(n);
  }
  return make<Block>(std::move(f), n.origin, n.id);
}
auto Mutator::on(const BlockRealize& n) -> Stmt {
  Array<Expr> values = mutate(n.iter_values);
  Expr predicate = mutate(n.predicate);
  Stmt block = mutate(Stmt(n.block));
  if (values.same_as(n.iter_values) && predicate.same_as(n.predicate) && block.get() == n.block.get()) { return self(n); }
  return make<BlockRealize>(std::move(values), std::move(predicate), block.ref<Block>(), n.origin);
}

// ---- helpers -------------------------------------------------------------------------------------------

void post_order(const Expr& expr, const std::function<void(const Expr&)>& f) { post_order_of(expr, f); }
void post_order(const Stmt& stmt, const std::function<void(const Stmt&)>& on_stmt, const std::function<void(const Expr&)>& on_expr) {
  visit_children(
      stmt, [&](const Expr& child) { post_order(child, on_expr); },
      [&](const Stmt& child) { post_order(child, on_stmt, on_expr); });
  on_stmt(stmt);
}

namespace {

// Rebuilds buffers whose shape, strides or offset use a replaced variable, or whose data variable is replaced by another one, once each.
// In statements, casts an integer of another width to the variable's type, unless it is a whole index or the value of an iter var.
// In expressions, which are used in proofs, it stays unchanged.
class Substitute : public Mutator {
 public:
  explicit Substitute(const VarMap& map, bool keeps_types = false) : map_(map), keeps_types_(keeps_types) {}
  using Mutator::mutate;
  using Mutator::on;

  auto on(const VarNode& n) -> Expr override {
    auto found = map_.find(&n);
    if (found == map_.end()) { return self(n); }
    DataType from = found->second.dtype();
    bool differs = keeps_types_ && !(from == n.dtype) && from.is_integral() && n.dtype.is_integral() && from.is_scalar() && n.dtype.is_scalar();
    return differs ? cast(n.dtype, found->second) : found->second;
  }
  auto on(const BufferLoad& n) -> Expr override {
    Buffer buffer = use(n.buffer);
    Array<Expr> indices = as_they_are(n.indices);
    Expr predicate = n.predicate ? mutate(n.predicate) : Expr();
    if (buffer.same_as(n.buffer) && indices.same_as(n.indices) && predicate.same_as(n.predicate)) { return self(n); }
    return make<BufferLoad>(std::move(buffer), std::move(indices), n.origin, std::move(predicate));
  }
  auto on(const BufferStore& n) -> Stmt override {
    Buffer buffer = use(n.buffer);
    Expr value = mutate(n.value);
    Array<Expr> indices = as_they_are(n.indices);
    Expr predicate = n.predicate ? mutate(n.predicate) : Expr();
    if (buffer == n.buffer && value.same_as(n.value) && indices.same_as(n.indices) && predicate.same_as(n.predicate)) { return self(n); }
    return make<BufferStore>(std::move(buffer), std::move(value), std::move(indices), n.origin, std::move(predicate));
  }
  auto on(const BlockRealize& n) -> Stmt override {
    Array<Expr> values = as_they_are(n.iter_values);
    Expr predicate = mutate(n.predicate);
    Stmt block = mutate(Stmt(n.block));
    if (values.same_as(n.iter_values) && predicate.same_as(n.predicate) && block.get() == n.block.get()) { return self(n); }
    return make<BlockRealize>(std::move(values), std::move(predicate), block.ref<Block>(), n.origin);
  }

 protected:
  auto use(const Buffer& buffer) -> Buffer override {
    auto done = buffers_.find(buffer.get());
    if (done != buffers_.end()) { return done->second; }
    auto data = map_.find(buffer->data.get());
    Array<Expr> shape = mutate(buffer->shape);
    Array<Expr> strides = mutate(buffer->strides);
    Expr offset = buffer->elem_offset ? mutate(buffer->elem_offset) : Expr();
    Buffer out = buffer;
    bool new_data = data != map_.end() && data->second.as<VarNode>();
    if (new_data || !shape.same_as(buffer->shape) || !strides.same_as(buffer->strides) || !offset.same_as(buffer->elem_offset)) {
      BufferNode fields = *buffer;
      fields.shape = std::move(shape);
      fields.strides = std::move(strides);
      fields.elem_offset = std::move(offset);
      if (new_data) { fields.data = data->second.ref<VarNode>(); }
      out = make_buffer(std::move(fields));
    }
    buffers_.emplace(buffer.get(), out);
    return out;
  }
  auto declare(const Var& var) -> Var override {
    auto found = map_.find(var.get());
    if (found == map_.end() || !found->second.as<VarNode>()) { return var; }
    return found->second.ref<VarNode>();
  }
  using Mutator::declare;

 private:
  auto as_they_are(const Array<Expr>& all) -> Array<Expr> {
    auto one = [this](const Expr& e) {
      const auto* var = e.as<VarNode>();
      auto found = var ? map_.find(var) : map_.end();
      return found == map_.end() ? mutate(e) : found->second;
    };
    return all.map_same(one, [](const Expr& a, const Expr& b) { return a.same_as(b); });
  }
  const VarMap& map_;
  const bool keeps_types_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

class SubstituteBuffers : public Mutator {
 public:
  explicit SubstituteBuffers(const BufferMap& map) : map_(map) {
    for (const auto& [from, to] : map) {
      if (from->data != to->data) { data_.emplace(from->data.get(), to->data); }
    }
  }
  using Mutator::on;
  auto on(const VarNode& n) -> Expr override {
    auto found = data_.find(&n);
    return found == data_.end() ? self(n) : Expr(found->second);
  }

 protected:
  auto use(const Buffer& buffer) -> Buffer override {
    auto found = map_.find(buffer.get());
    return found == map_.end() ? buffer : found->second;
  }
  auto declare(const Var& var) -> Var override {
    auto found = data_.find(var.get());
    return found == data_.end() ? var : found->second;
  }
  using Mutator::declare;

 private:
  const BufferMap& map_;
  std::unordered_map<const VarNode*, Var> data_;
};

class UsesVar : public Visitor {
 public:
  explicit UsesVar(const std::function<bool(const VarNode&)>& f) : f_(f) {}
  using Visitor::on;
  using Visitor::visit;
  void on(const VarNode& n) override { found = found || f_(n); }
  void on(const BufferLoad& n) override {
    on(*n.buffer->data);
    if (!found) { Visitor::on(n); }
  }
  void on(const BufferStore& n) override {
    on(*n.buffer->data);
    if (!found) { Visitor::on(n); }
  }
  bool found = false;

 private:
  const std::function<bool(const VarNode&)>& f_;
};

}  // namespace

auto substitute(const Expr& expr, const VarMap& map) -> Expr { return map.empty() ? expr : Substitute(map).mutate(expr); }
auto substitute(const Stmt& stmt, const VarMap& map) -> Stmt { return map.empty() ? stmt : Substitute(map, true).mutate(stmt); }
auto substitute(const Range& range, const VarMap& map) -> Range { return map.empty() ? range : Substitute(map).mutate(range); }
auto substitute_buffers(const Stmt& stmt, const BufferMap& map) -> Stmt {
  return map.empty() ? stmt : SubstituteBuffers(map).mutate(stmt);
}
auto uses_var(const Expr& expr, const std::function<bool(const VarNode&)>& f) -> bool {
  UsesVar v(f);
  v.visit(expr);
  return v.found;
}
auto uses_var(const Stmt& stmt, const std::function<bool(const VarNode&)>& f) -> bool {
  UsesVar v(f);
  v.visit(stmt);
  return v.found;
}

auto has_load(const Expr& expr) -> bool {
  bool found = false;
  post_order(expr, [&](const Expr& e) { found = found || e.kind() == NodeKind::BufferLoad; });
  return found;
}

}  // namespace loopsmith
