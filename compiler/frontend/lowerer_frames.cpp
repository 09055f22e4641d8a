// The stack of loops, blocks and other statements being built, and the queries and changes by the functions of `T`: see lowerer.h.
#include "frontend/lowerer.h"

#include "ir/ops.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::frontend {

using eval::make_object;
using namespace syntax;
using IrExpr = loopsmith::Expr;
using IrStmt = loopsmith::Stmt;

auto sequence_of(std::vector<IrStmt>&& stmts, Origin origin) -> IrStmt {
  if (stmts.empty()) { return make<Evaluate>(int_imm(0, DataType::int_(32), origin), origin); }
  if (stmts.size() == 1) { return std::move(stmts[0]); }
  for (const IrStmt& s : stmts) {
    if (s.as<SeqStmt>()) {
      std::vector<IrStmt> flat;
      for (const IrStmt& t : stmts) {
        if (const auto* inner = t.as<SeqStmt>()) { flat.insert(flat.end(), inner->seq.begin(), inner->seq.end()); } else { flat.push_back(t); }
      }
      return make<SeqStmt>(Sequence<IrStmt>(std::move(flat)), origin);
    }
  }
  return make<SeqStmt>(Sequence<IrStmt>(std::move(stmts)), origin);
}

void Lowerer::add(IrStmt stmt) {
  if (!frames_.empty()) { frames_.back().stmts.push_back(std::move(stmt)); }
}

void Lowerer::add_evaluated(IrExpr value, Origin where) {
  static const Name break_loop("break_loop"), continue_loop("continue_loop");
  const auto* call = value.as<Call>();
  for (const auto& [meant, store] : evaluated_as_) {
    if (meant.same_as(value)) { return add(store); }
  }
  bool is_flow = call && call->args.size() == 0 && (call->op == break_loop || call->op == continue_loop);
  if (!is_flow || !(in_frame(FrameKind::Loop) || in_frame(FrameKind::While))) { return add(make<Evaluate>(std::move(value), where)); }
  if (call->op == break_loop) { add(make<Break>(where)); } else { add(make<Continue>(where)); }
}

auto Lowerer::block() -> BlockSpec* {
  for (size_t i = frames_.size(); i-- > 0;) {
    if (frames_[i].kind == FrameKind::Block) { return frames_[i].block.get(); }
  }
  return nullptr;
}
auto Lowerer::is_in_unknown() const -> bool {
  if (unknown_frames_.empty()) { return false; }
  for (size_t i = unknown_frames_.back(); i < frames_.size(); ++i) {
    if (frames_[i].kind == FrameKind::Block) { return false; }
  }
  return true;
}
auto Lowerer::block_here() -> BlockSpec* {
  for (size_t i = frames_.size(); i-- > 0;) {
    switch (frames_[i].kind) {
      case FrameKind::Block: return frames_[i].block.get();
      case FrameKind::Let: case FrameKind::Attr: case FrameKind::Assert: case FrameKind::Allocate: case FrameKind::AllocateConst:
      case FrameKind::DeclBuffer: case FrameKind::Realize:
        continue;
      default: return nullptr;
    }
  }
  return nullptr;
}
auto Lowerer::in_frame(FrameKind kind) const -> bool {
  for (const BuildFrame& f : frames_) {
    if (f.kind == kind) { return true; }
  }
  return false;
}
auto Lowerer::symbol(Name name, Origin where) -> Var {
  ++symbols_asked_;
  if (scope_) {
    if (const Value* known = scope_->find(name)) {
      const auto* e = known->as<ExprObject>();
      if (e && e->expr.as<VarNode>()) { return Var(e->expr.as<VarNode>()); }
    }
  }
  for (const auto& [n, v] : symbols_) {
    if (n == name) { return v; }
  }
  Var made = make<VarNode>(name, DataType::int_(32), where);
  symbols_.emplace_back(name, made);
  (void)bind_var(made.get());
  if (scope_) { scope_->set(name, make_object<ExprObject>(IrExpr(made))); }
  return made;
}
auto Lowerer::find_loop(const VarNode* var) const -> const LoopSpec* {
  for (size_t i = frames_.size(); i-- > 0;) {
    for (const LoopSpec& loop : frames_[i].loops) {
      if (loop.var.get() == var) { return &loop; }
    }
  }
  return nullptr;
}
auto Lowerer::is_param(const VarNode* var) const -> bool {
  for (const Var& p : params_) {
    if (p.get() == var) { return true; }
  }
  return false;
}
void Lowerer::map_buffer(const Var& param, Buffer buffer) {
  for (auto& [p, b] : buffer_map_) {
    if (p == param) {
      evaluator_.report(error(Code::BadValue, buffer->origin).arg("action", "match `" + param->name.str() + "` a second time").arg("reason", "it is matched to `" + b->name.str() + "`")
                            .note(b->origin, "the first match is here").remedy("make another view of the memory: `T.decl_buffer(..., data=" + b->name.str() + ".data)`"));
      ++remapped_;
      b = std::move(buffer);
      return;
    }
  }
  buffer_map_.emplace_back(param, std::move(buffer));
}
void Lowerer::add_alloc(Buffer buffer) {
  if (BlockSpec* b = block()) { b->alloc_buffers.push_back(std::move(buffer)); } else { root_allocs_.push_back(std::move(buffer)); }
}
auto Lowerer::is_in_parallel_loop() const -> bool {
  for (size_t i = frames_.size(); i-- > 0 && frames_[i].kind != FrameKind::Block;) {
    if (frames_[i].kind == FrameKind::Thread) { return true; }
    for (const LoopSpec& loop : frames_[i].loops) {
      if (loop.kind != ForKind::Serial && loop.kind != ForKind::Unrolled) { return true; }
    }
  }
  return false;
}
auto Lowerer::allocates_in_place(Origin where) -> bool {
  if (rebinds_names_ || words().has_sblocks) { return true; }
  bool is_clear = options_.dialect_is_given || words().has_blocks;
  if (!is_clear && is_in_parallel_loop()) {
    evaluator_.report(error(Code::UnclearDialect, where).arg("word", "T.alloc_buffer").arg("meaning", "memory that all iterations share, as until TVM 0.23")
                          .remedy("import `tirx as T` for a buffer of each iteration, as since TVM 0.24; import `tir as T` for the shared one"));
  }
  return false;
}
void Lowerer::allocate_here(const Buffer& buffer, Origin where) {
  // The threads and lanes of a loop each have their own memory, so it is relevant if the statement is in such a loop.
  bool is_in_loop = false;
  for (size_t i = frames_.size(); i-- > 0 && frames_[i].kind != FrameKind::Block;) {
    is_in_loop |= frames_[i].kind == FrameKind::Loop || frames_[i].kind == FrameKind::While || frames_[i].kind == FrameKind::Thread;
  }
  if (words().has_blocks && !is_in_loop) { return add_alloc(buffer); }
  BuildFrame& f = frames_.emplace_back();
  f.kind = FrameKind::DeclBuffer;
  f.origin = where;
  f.buffer = buffer;
  f.owns_memory = true;
}
auto Lowerer::make_cell(DataType dtype, Name scope, Origin where) -> IrExpr {
  BufferNode node;
  node.origin = where;
  node.dtype = dtype;
  node.shape = Array<IrExpr>{int_imm(1)};
  node.data = make<VarNode>(Name(), DataType::handle(), where, PointerType{dtype, scope});
  node.data_alignment = 64;
  node.offset_factor = 1;
  Buffer buffer = make_buffer(std::move(node));
  cells_.insert(buffer.get());
  allocate_here(buffer, where);
  return make<BufferLoad>(buffer, Array<IrExpr>{int_imm(0)}, where);
}
auto Lowerer::cell(const Value& value) const -> Buffer {
  const auto* e = value.as<ExprObject>();
  const auto* load = e ? e->expr.as<BufferLoad>() : nullptr;
  return load && cells_.count(load->buffer.get()) != 0 ? load->buffer : Buffer();
}
auto Lowerer::cell(const syntax::Expr& target, const eval::ScopeRef& scope) -> Buffer {
  const auto* name = cells_.empty() && !rebinds_names_ ? nullptr : target.as<NameExpr>();
  const Value* known = name ? scope->find(name->name) : nullptr;
  if (!known) { return {}; }
  // Memory of one element can be assigned to as a whole.
  const auto* b = rebinds_names_ ? known->as<BufferObject>() : nullptr;
  if (b && b->buffer->shape.size() == 1 && is_one(b->buffer->shape[0])) { return b->buffer; }
  return cell(*known);
}
auto Lowerer::thread_axis(const VarNode* var) -> IterVar* {
  for (IterVar& iter : threads_) {
    if (iter.var.get() == var) { return &iter; }
  }
  return nullptr;
}

void Lowerer::use_thread_level(std::string_view word, Origin) {
  is_opaque_ = true;
  if (thread_word_.empty()) { thread_word_ = Name(word); }
}
auto Lowerer::launched(Name tag) const -> const BuildFrame* {
  for (size_t i = frames_.size(); i-- > 0;) {
    if (frames_[i].kind == FrameKind::Thread && frames_[i].thread.thread_tag == tag) { return &frames_[i]; }
  }
  return nullptr;
}

auto Lowerer::enter(const FrameObject& object, Origin where) -> Value {
  if (object.entered) {
    frames_.emplace_back();  // the caller fills in the frame that it entered, never one around it
    return evaluator_.report(error(Code::EnteredTwice, where).arg("what", object.what).remedy("call it again for every `with` or `for`"));
  }
  object.entered = true;
  // A single line can have a `T.grid` of thousands of loops, and passes recurse into the nest.
  constexpr size_t most_loops = 1000;
  size_t loops = object.frame.loops.size();
  for (const BuildFrame& around : frames_) { loops += around.loops.size(); }
  if (loops > most_loops) {
    frames_.emplace_back();
    return evaluator_.report(error(Code::NestedTooDeeply, where).arg("limit", static_cast<int64_t>(most_loops)));
  }
  frames_.push_back(std::move(object.frame));
  BuildFrame& f = frames_.back();
  switch (f.kind) {
    case FrameKind::Loop: {
      if (f.loops.size() == 1) { return make_object<ExprObject>(f.loops[0].value()); }
      std::vector<Value> vars;
      for (const LoopSpec& loop : f.loops) { vars.push_back(make_object<ExprObject>(loop.value())); }
      return Value::tuple(std::move(vars));
    }
    case FrameKind::Block: {
      if (!f.block->binds_by_name) { return {}; }
      std::vector<Value> vars;
      for (const IterVar& iter : f.block->iter_vars) { vars.push_back(make_object<ExprObject>(IrExpr(iter.var))); }
      return Value::list(std::move(vars));
    }
    case FrameKind::Let: case FrameKind::Allocate: case FrameKind::AllocateConst: return make_object<ExprObject>(IrExpr(f.var));
    case FrameKind::DeclBuffer: case FrameKind::Realize: return make_object<BufferObject>(f.buffer);
    case FrameKind::Thread: return make_object<ExprObject>(IrExpr(f.thread.var));
    default: return {};
  }
}

void Lowerer::exit_to(size_t depth) {
  while (frames_.size() > depth) { exit_frame(); }
}

auto Lowerer::with_loops(BlockSpec& spec, Origin where) -> std::vector<LoopSpec> {
  std::vector<LoopSpec> out;
  for (size_t i = 0; i < spec.iter_vars.size(); ++i) {
    if (spec.iter_values[i]) { continue; }
    LoopSpec loop;
    const IterVar& iter = spec.iter_vars[i];
    loop.var = make<VarNode>(Name("i" + std::to_string(i)), iter.var->dtype, where);
    loop.min = iter.dom.min;
    loop.extent = iter.dom.extent;
    spec.iter_values[i] = loop.var;
    out.push_back(std::move(loop));
  }
  return out;
}

auto Lowerer::close_block(BuildFrame& f, IrStmt body) -> IrStmt {
  static const Name default_var("v");
  static const Name default_buffer("buffer");
  BlockSpec& spec = *f.block;
  std::vector<LoopSpec> made = spec.binds_by_name ? with_loops(spec, f.origin) : std::vector<LoopSpec>();
  int missing = (spec.reads ? 0 : 1) | (spec.writes ? 0 : 2);
  loopsmith::Block::Fields fields;
  fields.name = spec.name;
  for (const IterVar& iter : spec.iter_vars) { (void)name_var(iter.var, default_var, f.origin); }
  fields.iter_vars = std::move(spec.iter_vars);
  if (spec.reads) { fields.reads = std::move(*spec.reads); }
  if (spec.writes) { fields.writes = std::move(*spec.writes); }
  fields.body = std::move(body);
  fields.init = std::move(spec.init);
  for (const Buffer& b : spec.alloc_buffers) { (void)name_buffer(b, default_buffer, f.origin); }
  fields.alloc_buffers = std::move(spec.alloc_buffers);
  for (const MatchBufferRegion& m : spec.match_buffers) { (void)name_buffer(m.buffer, default_buffer, f.origin); }
  fields.match_buffers = std::move(spec.match_buffers);
  fields.annotations = std::move(spec.annotations);
  if (missing) { fields.annotations = with_attr(fields.annotations, detect_access_key(), Attr(int_imm(missing, DataType::int_(64)))); }
  Ref<loopsmith::Block> block = make<loopsmith::Block>(std::move(fields), f.origin);
  IrStmt out = block;
  if (!spec.no_realize) {
    IrExpr predicate = spec.predicate ? spec.predicate : bool_imm(true, f.origin);
    out = make<BlockRealize>(std::move(spec.iter_values), std::move(predicate), std::move(block), f.origin);
  }
  for (size_t i = made.size(); i-- > 0;) {
    out = make<For>(made[i].var, made[i].min, made[i].extent, ForKind::Serial, std::move(out), std::nullopt, AttrMap(), f.origin);
  }
  return out;
}

void Lowerer::exit_frame() {
  BuildFrame f = std::move(frames_.back());
  frames_.pop_back();
  const Origin loose = f.stmts.empty() ? Origin() : f.stmts[0].origin();
  IrStmt body = sequence_of(std::move(f.stmts), f.origin);
  static const Name default_var("v");
  static const Name default_buffer("buffer");
  switch (f.kind) {
    case FrameKind::Loop:
      for (size_t i = f.loops.size(); i-- > 0;) {
        LoopSpec& loop = f.loops[i];
        (void)name_var(loop.var, default_var, f.origin);
        body = make<For>(loop.var, loop.min, loop.extent, loop.kind, std::move(body), loop.thread, loop.annotations, f.origin);
      }
      break;
    case FrameKind::Block: body = close_block(f, std::move(body)); break;
    case FrameKind::Init:
      if (BlockSpec* b = block()) { b->init = std::move(body); }
      return;
    case FrameKind::While: body = make<While>(f.a, std::move(body), f.origin); break;
    case FrameKind::Let:
      (void)name_var(f.var, default_var, f.origin);
      body = make<LetStmt>(f.var, f.a, std::move(body), f.origin);
      break;
    case FrameKind::Attr: body = make<AttrStmt>(f.subject, f.key, f.a, std::move(body), f.origin); break;
    case FrameKind::Assert: body = make<loopsmith::AssertStmt>(f.a, f.b, std::move(body), f.origin); break;
    case FrameKind::Allocate:
      (void)name_var(f.var, default_var, f.origin);
      body = make<Allocate>(f.var, f.dtype, f.extents, f.a, std::move(body), f.annotations, f.origin);
      break;
    case FrameKind::AllocateConst:
      (void)name_var(f.var, default_var, f.origin);
      body = make<AllocateConst>(f.var, f.dtype, f.extents, std::move(f.text), std::move(body), f.annotations, f.origin);
      break;
    case FrameKind::DeclBuffer:
      (void)name_buffer(f.buffer, default_buffer, f.origin);
      body = make<DeclBuffer>(f.buffer, std::move(body), f.origin);
      if (f.owns_memory) { body = make<Allocate>(f.buffer->data, f.buffer->dtype, f.buffer->shape, bool_imm(true), std::move(body), f.annotations, f.origin); }
      if (f.a) {
        // The address is computed: a let binds it to `B_data` in front of `B`.
        const_cast<VarNode&>(*f.buffer->data).name = Name(f.buffer->name.str() + "_data");
        body = make<LetStmt>(f.buffer->data, f.a, std::move(body), f.origin);
      }
      break;
    case FrameKind::Realize: {
      static const Name realize_scope("realize_scope");
      body = make<BufferRealize>(f.buffer, f.bounds, f.a, std::move(body), f.origin);
      body = make<AttrStmt>(AttrStmt::Subject(f.buffer), realize_scope, IrExpr(make<StringImm>(f.text, f.origin)), std::move(body), f.origin);
      break;
    }
    case FrameKind::Thread: body = make<AttrStmt>(AttrStmt::Subject(f.thread), f.key, f.a, std::move(body), f.origin); break;
    case FrameKind::Then:
    case FrameKind::Else: {
      IrStmt& branch = f.kind == FrameKind::Then ? frames_.back().then_case : frames_.back().else_case;
      if (branch) {
        evaluator_.report(error(Code::EnteredTwice, f.origin).arg("what", f.kind == FrameKind::Then ? "T.Then" : "T.Else")
                              .remedy("put all statements of the branch below the first"));
      }
      branch = std::move(body);
      return;
    }
    case FrameKind::If:
      if (loose.is_known()) {
        evaluator_.report(error(Code::BadValue, loose).arg("action", "put this statement directly below `T.If`").arg("reason", because(Why::NoBranch).text())
                              .remedy("move it below `with T.Then():` or `with T.Else():`"));
      }
      if (!f.then_case) {
        evaluator_.report(error(Code::NeedsBody, f.origin).arg("what", "T.If").remedy("add `with T.Then():` to it, with the statements below"));
        return;
      }
      body = make<IfThenElse>(f.a, f.then_case, f.else_case, f.origin);
      break;
    case FrameKind::Function: case FrameKind::Scope: break;
  }
  add(std::move(body));
}

auto needs_body(const FrameObject& object, Origin where) -> Diagnostic {
  const std::string keyword = object.frame.kind == FrameKind::Loop ? "for i in " : "with ";
  return error(Code::NeedsBody, where).arg("what", object.what).remedy("write `" + keyword + std::string(object.what) + "(...):`, with the statements below it");
}

}  // namespace loopsmith::frontend
