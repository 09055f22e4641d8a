// Statements of programs to TIR: see lowerer.h.
#include "frontend/lowerer.h"

#include <limits>

#include "eval/evaluator.h"
#include "frontend/inside.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::make_object;
using namespace syntax;
using IrExpr = loopsmith::Expr;
using IrStmt = loopsmith::Stmt;

const char Lowerer::tag = 0;

namespace {

constexpr uint32_t deepest_expansion = 60;
constexpr uint32_t most_expansions = 20'000;

auto as_stmt(std::vector<IrStmt>&& stmts, Origin origin) -> IrStmt {
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

// `range` inside of a program: over expressions it is a loop; over integers it is both.
auto program_range(Evaluator& evaluator, const Arguments& a) -> Value {
  bool plain = true;
  for (const Argument& x : a.all) { plain &= x.value.is_int() || x.value.is_bool(); }
  static const Name range("range");
  static const Name serial("serial");
  if (plain || a.positional != a.all.size() || a.positional == 0 || a.positional > 3) {
    return evaluator.call(Argument{*eval::builtin(range), a.callee, {}}, a);
  }
  static const Name step("step");
  if (a.positional == 3) {
    Arguments with_step = a;
    with_step.all[2].keyword = step;
    with_step.positional = 2;
    return evaluator.call(Argument{*namespace_t().as<eval::Namespace>()->find(serial), a.callee, {}}, with_step);
  }
  return evaluator.call(Argument{*namespace_t().as<eval::Namespace>()->find(serial), a.callee, {}}, a);
}

}  // namespace

Lowerer::Lowerer(Evaluator& evaluator, eval::ScopeRef around, PartCache* parts)
    : evaluator_(evaluator), around_(std::move(around)), saved_host_(evaluator.host), saved_tag_(evaluator.host_tag), parts_(parts) {
  evaluator.host = this;
  evaluator.host_tag = &tag;
}
Lowerer::~Lowerer() {
  evaluator_.host = saved_host_;
  evaluator_.host_tag = saved_tag_;
}

auto Lowerer::name_var(const Var& var, Name name, Origin where) -> bool {
  if (!var->name.empty()) { return false; }
  // The node is not shared with anything finished yet: naming it is the last step of making it.
  auto& fields = const_cast<VarNode&>(*var);
  fields.name = name;
  if (where.is_known()) { fields.origin = where; }
  return true;
}
auto Lowerer::name_buffer(const Buffer& buffer, Name name, Origin where) -> bool {
  if (!buffer->name.empty()) { return false; }
  auto& fields = const_cast<BufferNode&>(*buffer);
  fields.name = name;
  if (where.is_known()) { fields.origin = where; }
  (void)name_var(buffer->data, name, where);
  static const Name elem_offset("_elem_offset");
  if (const auto* offset = buffer->elem_offset ? buffer->elem_offset.as<VarNode>() : nullptr; offset && offset->name.empty()) {
    const_cast<VarNode*>(offset)->name = Name(name.str() + "_elem_offset");
  }
  return true;
}

// ---- frames ------------------------------------------------------------------------------------------------------

void Lowerer::add(IrStmt stmt) {
  if (!frames_.empty()) { frames_.back().stmts.push_back(std::move(stmt)); }
}

void Lowerer::add_evaluated(IrExpr value, Origin where) {
  static const Name break_loop("break_loop"), continue_loop("continue_loop");
  const auto* call = value.as<Call>();
  for (const auto& [meant, store] : meant_) {
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
  add_alloc(buffer);
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

auto Lowerer::enter(const FrameObject& object, Origin where) -> Value {
  if (object.entered) {
    return evaluator_.report(error(Code::BadValue, where).arg("what", "this was entered before"));
  }
  object.entered = true;
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

void Lowerer::exit_frame() {
  BuildFrame f = std::move(frames_.back());
  frames_.pop_back();
  IrStmt body = as_stmt(std::move(f.stmts), f.origin);
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
    case FrameKind::Block: {
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
      if (spec.no_realize) {
        body = block;
      } else {
        IrExpr predicate = spec.predicate ? spec.predicate : bool_imm(true, f.origin);
        body = make<BlockRealize>(std::move(spec.iter_values), std::move(predicate), std::move(block), f.origin);
      }
      for (size_t i = made.size(); i-- > 0;) {
        body = make<For>(made[i].var, made[i].min, made[i].extent, ForKind::Serial, std::move(body), std::nullopt, AttrMap(), f.origin);
      }
      break;
    }
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
        // The address was computed: `B_data` is what `B` is at.
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
    case FrameKind::Then: frames_.back().then_case = std::move(body); return;
    case FrameKind::Else: frames_.back().else_case = std::move(body); return;
    case FrameKind::If:
      if (!f.then_case) { return; }
      body = make<IfThenElse>(f.a, f.then_case, f.else_case, f.origin);
      break;
    case FrameKind::Function: case FrameKind::Scope: break;
  }
  add(std::move(body));
}

// ---- statements --------------------------------------------------------------------------------------------------

namespace {

// A loop or a `with` whose block is not indented, which has been reported.
auto lacks_block(const syntax::Node& s) -> bool {
  const auto* loop = s.as<ForStmt>();
  const auto* with = s.as<WithStmt>();
  return (loop && loop->body.empty()) || (with && with->body.empty());
}

}  // namespace

void Lowerer::body(const syntax::Block& block, const eval::ScopeRef& scope) {
  body(std::span<const StmtPtr>(block.begin(), block.end()), scope);
}

void Lowerer::body(std::span<const StmtPtr> block, const eval::ScopeRef& scope) {
  size_t depth = frames_.size();
  for (size_t i = 0; i < block.size(); ++i) {
    if (!evaluator_.step(block[i]->origin())) { break; }
    // What is below one without a block was meant for it.
    lost_body_ = lacks_block(*block[i]) ? block.subspan(i + 1) : std::span<const StmtPtr>();
    if (!lost_body_.empty()) {
      statement(*block[i], scope);
      break;
    }
    statement(*block[i], scope);
  }
  exit_to(depth);
}

void Lowerer::body_of(const syntax::Block& block, const eval::ScopeRef& scope) {
  auto lost = std::exchange(lost_body_, {});
  if (block.empty()) { body(lost, scope); } else { body(block, scope); }
}

auto Lowerer::bind_var(const VarNode* var) -> bool {
  if (!bound_.insert(var).second) { return false; }
  if (parts_) { bound_in_order_.emplace_back(var); }
  return true;
}

// ---- parts of long programs ----------------------------------------------------------------------------------------

struct Lowerer::Mark {
  size_t frames, stmts, slots, params, buffer_map, root_allocs, symbols, bound, diagnostics;
  uint64_t steps, calls;
  uint32_t symbols_asked, remapped;
  bool had_attrs, is_opaque, uses_sblock;
  DataType ret_type;
  Name global_symbol;
};

auto Lowerer::mark(const eval::ScopeRef& scope) const -> Mark {
  return {frames_.size(), frames_.back().stmts.size(), scope->slots().size(), params_.size(), buffer_map_.size(), root_allocs_.size(), symbols_.size(),
          bound_in_order_.size(), evaluator_.diagnostics.size(), evaluator_.steps(), evaluator_.calls(), symbols_asked_, remapped_, !attrs_.empty(), is_opaque_,
          uses_sblock_, ret_type_, global_symbol_};
}

auto Lowerer::meaning(Name name, const eval::ScopeRef& scope) -> std::optional<Value> {
  if (const Value* found = scope->find(name)) { return *found; }
  auto [known, is_new] = outside_.try_emplace(name);
  if (is_new && evaluator_.globals) { known->second = evaluator_.globals->lookup(evaluator_, name, {}); }
  return known->second;
}

auto Lowerer::take(const LoweredPart& known, const eval::ScopeRef& scope) -> bool {
  if ((known.attrs && !attrs_.empty()) || known.rebinds_names != rebinds_names_) { return false; }
  for (const auto& [name, before] : known.needs) {
    std::optional<Value> now = meaning(name, scope);
    if (now.has_value() != before.has_value() || (now && !is_same_meaning(*now, *before))) { return false; }
  }
  auto& assigned = assigned_[scope.get()];
  assigned.first = scope;
  for (const auto& [name, where] : known.assigned) {
    if (assigned.second.count(name) != 0) { return false; }
  }
  if (!evaluator_.spend(known.steps)) { return false; }
  auto& stmts = frames_.back().stmts;
  stmts.insert(stmts.end(), known.stmts.begin(), known.stmts.end());
  frames_.insert(frames_.end(), known.frames.begin(), known.frames.end());
  for (const auto& [name, value] : known.binds) { scope->set(name, value); }
  for (const auto& [name, where] : known.assigned) { assigned.second.emplace(name, where); }
  params_.insert(params_.end(), known.params.begin(), known.params.end());
  buffer_map_.insert(buffer_map_.end(), known.buffer_map.begin(), known.buffer_map.end());
  root_allocs_.insert(root_allocs_.end(), known.root_allocs.begin(), known.root_allocs.end());
  symbols_.insert(symbols_.end(), known.symbols.begin(), known.symbols.end());
  for (const Var& var : known.bound) { (void)bind_var(var.get()); }
  if (known.attrs) { attrs_ = *known.attrs; }
  if (!known.ret_type.is_void()) { ret_type_ = known.ret_type; }
  uses_sblock_ = uses_sblock_ || known.uses_sblock;
  return true;
}

void Lowerer::keep(DeclId decl, const Mark& before, std::vector<std::pair<Name, std::optional<Value>>> needs, const std::vector<const syntax::Node*>& nodes,
                   const eval::ScopeRef& scope) {
  bool is_head = decl == frames_.front().origin.decl;
  bool is_told = evaluator_.diagnostics.size() == before.diagnostics && evaluator_.calls() == before.calls && is_opaque_ == before.is_opaque &&
                 global_symbol_ == before.global_symbol && threads_.empty() && cells_.empty() && ahead_.empty() && remapped_ == before.remapped && !(attrs_changed_ && before.had_attrs) &&
                 (is_head || (symbols_asked_ == before.symbols_asked && ret_type_ == before.ret_type));
  if (!is_told) { return; }
  for (const auto& [name, value] : needs) {
    if (value && !is_lasting(*value)) { return; }
  }
  LoweredPart out;
  const auto& stmts = frames_[before.frames - 1].stmts;
  out.stmts.assign(stmts.begin() + static_cast<std::ptrdiff_t>(before.stmts), stmts.end());
  for (size_t i = before.frames; i < frames_.size(); ++i) {
    if (frames_[i].block || frames_[i].kind == FrameKind::Loop || frames_[i].kind == FrameKind::Thread) { return; }
    out.frames.push_back(frames_[i]);
  }
  std::vector<Name> names;
  for (const syntax::Node* node : nodes) {
    if (!node->is_expr()) { bound_names(static_cast<const syntax::Stmt&>(*node), names); }
  }
  for (size_t i = before.slots; i < scope->slots().size(); ++i) { names.push_back(scope->slots()[i].first); }
  auto assigned = assigned_.find(scope.get());
  for (Name name : names) {
    const Value* value = scope->find_here(name);
    if (value == nullptr) { continue; }
    if (!is_lasting(*value)) { return; }
    out.binds.emplace_back(name, *value);
    if (assigned == assigned_.end()) { continue; }
    auto at = assigned->second.second.find(name);
    if (at != assigned->second.second.end() && at->second.decl == decl) { out.assigned.emplace_back(name, at->second); }
  }
  auto since = [](const auto& all, size_t first) { return std::vector(all.begin() + static_cast<std::ptrdiff_t>(first), all.end()); };
  out.params = since(params_, before.params);
  out.buffer_map = since(buffer_map_, before.buffer_map);
  out.root_allocs = since(root_allocs_, before.root_allocs);
  out.symbols = since(symbols_, before.symbols);
  out.bound = since(bound_in_order_, before.bound);
  if (attrs_changed_) { out.attrs = attrs_; }
  if (is_head) { out.ret_type = ret_type_; }
  out.uses_sblock = uses_sblock_;
  out.rebinds_names = rebinds_names_;
  out.steps = evaluator_.steps() - before.steps;
  out.needs = std::move(needs);
  parts_->keep(decl, std::move(out));
}

template <class F>
void Lowerer::part(DeclId decl, const std::vector<const syntax::Node*>& nodes, const eval::ScopeRef& scope, F&& lower) {
  if (const LoweredPart* known = parts_->find(decl)) {
    if (take(*known, scope)) {
      ++parts_->work.reused;
      return;
    }
  }
  ++parts_->work.lowered;
  auto names = names_in(nodes);
  std::vector<std::pair<Name, std::optional<Value>>> needs;
  if (names) {
    for (Name name : *names) { needs.emplace_back(name, meaning(name, scope)); }
  }
  Mark before = mark(scope);
  attrs_changed_ = false;
  uses_sblock_ = false;
  lower();
  if (names) { keep(decl, before, std::move(needs), nodes, scope); }
  uses_sblock_ = uses_sblock_ || before.uses_sblock;
}

void Lowerer::statement(const syntax::Stmt& stmt, const eval::ScopeRef& scope) {
  here_ = scope;
  switch (stmt.kind) {
    case Kind::Assign: return on_assign(static_cast<const AssignStmt&>(stmt), scope);
    case Kind::AnnAssign: return on_ann_assign(static_cast<const AnnAssignStmt&>(stmt), scope);
    case Kind::AugAssign: return on_aug_assign(static_cast<const AugAssignStmt&>(stmt), scope);
    case Kind::ExprStmt: return on_expr(static_cast<const ExprStmt&>(stmt), scope);
    case Kind::For: return on_for(static_cast<const ForStmt&>(stmt), scope);
    case Kind::While: return on_while(static_cast<const WhileStmt&>(stmt), scope);
    case Kind::If: return on_if(static_cast<const IfStmt&>(stmt), scope);
    case Kind::With: return on_with(static_cast<const WithStmt&>(stmt), scope);
    case Kind::Assert: return on_assert(static_cast<const syntax::AssertStmt&>(stmt), scope);
    case Kind::Return: return on_return(static_cast<const ReturnStmt&>(stmt), scope);
    case Kind::Pass: return;
    case Kind::Break:
    case Kind::Continue:
      if (!in_frame(FrameKind::Loop) && !in_frame(FrameKind::While)) {
        evaluator_.report(error(Code::OutsideLoop, stmt.origin()).arg("what", stmt.kind == Kind::Break ? "break" : "continue"));
        return;
      }
      if (stmt.kind == Kind::Break) { add(make<Break>(stmt.origin())); } else { add(make<Continue>(stmt.origin())); }
      return;
    case Kind::BrokenStmt: {
      const auto& broken = static_cast<const BrokenStmt&>(stmt);
      size_t depth = frames_.size();
      frames_.emplace_back().origin = stmt.origin();
      eval::ScopeRef inner = evaluator_.new_scope(scope);
      // What the broken line would have named is unknown, so that what uses it is not reported.
      for (ExprPtr part : broken.parts) {
        walk(*part, [&](const Node& n) {
          if (const auto* name = n.as<NameExpr>(); name && !scope->find(name->name)) { scope->set(name->name, Value::error()); }
          return true;
        });
      }
      body(broken.body, inner);
      exit_to(depth);
      return;
    }
    case Kind::FunctionDef: case Kind::ClassDef: case Kind::Import: case Kind::ImportFrom: case Kind::Del: {
      Value ignored;
      (void)evaluator_.exec(stmt, scope, ignored);
      return;
    }
    case Kind::OpaqueStmt:
      evaluator_.opaque(stmt.origin());
      for (const Identifier& name : static_cast<const OpaqueStmt&>(stmt).binds) { scope->set(name.name, Value::opaque()); }
      is_opaque_ = true;
      return;
    default:
      evaluator_.opaque(stmt.origin());
      is_opaque_ = true;
      return;
  }
}

auto Lowerer::let(Name name, IrExpr value, Origin where) -> Value {
  if (!is_bearable(evaluator_, value, where)) { return Value::error(); }
  BuildFrame f;
  f.kind = FrameKind::Let;
  f.origin = where;
  f.var = make<VarNode>(name, value.dtype(), where);
  if (const auto* v = value.as<VarNode>()) {
    const_cast<VarNode&>(*f.var).pointer = v->pointer;
  } else if (const auto* load = value.as<Call>(); load && load->dtype.is_handle()) {
    static const Name access_ptr("tvm_access_ptr");
    if (load->op == access_ptr && !load->args.empty()) {
      const auto* data = load->args.size() > 1 ? load->args[1].as<VarNode>() : nullptr;
      const_cast<VarNode&>(*f.var).pointer = PointerType{load->args[0].dtype(), data && data->pointer ? data->pointer->scope : Name()};
    }
  }
  f.a = std::move(value);
  (void)bind_var(f.var.get());
  Value out = make_object<ExprObject>(IrExpr(f.var));
  frames_.push_back(std::move(f));
  return out;
}

auto Lowerer::bind_name(Name name, const Argument& value, Binding how, Origin where) -> Value {
  const Value& v = value.value;
  if (v.is_unknown() || v.is_none()) { return v; }
  if (const auto* meta = v.as<MetaObject>()) { return meta->value; }
  if (const auto* e = v.as<ExprObject>()) {
    if (const auto* var = e->expr.as<VarNode>()) {
      // A variable that has no name in the text yet gets this one; of others, an assignment makes a copy.
      if (bind_var(var) || how == Binding::Target) {
        (void)name_var(Var(var), name, where);
        return v;
      }
    }
    if (how == Binding::Target) { return v; }
    // The first name of such memory is its own.
    if (Buffer memory = cell(v); memory && name_buffer(memory, name, where)) { return v; }
    return let(name, e->expr, where);
  }
  if (const auto* b = v.as<BufferObject>()) {
    (void)name_buffer(b->buffer, name, where);
    return v;
  }
  if (const auto* i = v.as<IterVarObject>()) {
    (void)name_var(i->iter.var, name, where);
    (void)bind_var(i->iter.var.get());
    if (how == Binding::Assign) { return v; }
    return make_object<ExprObject>(IrExpr(i->iter.var));
  }
  if (const auto* f = v.as<FrameObject>()) {
    if (how == Binding::Target || f->entered) { return v; }
    if (f->frame.kind == FrameKind::Block || f->frame.kind == FrameKind::Loop) {
      return evaluator_.report(error(Code::NeedsBody, value.where).arg("what", f->what));
    }
    Value entered = enter(*f, value.where);
    return bind_name(name, {entered, value.where, {}}, Binding::Target, where);
  }
  if (const auto* items = v.items()) {
    for (size_t i = 0; i < items->size(); ++i) {
      const Value& item = (*items)[i];
      const auto* e = item.as<ExprObject>();
      bool fresh = (e && e->expr.as<VarNode>()) || item.as<BufferObject>() || item.as<IterVarObject>();
      if (fresh) { (void)bind_name(Name(name.str() + "_" + std::to_string(i)), {item, value.where, {}}, Binding::Target, where); }
    }
    return v;
  }
  if (how == Binding::Target) { return v; }
  if (v.as<RegionObject>() || v.is_int() || v.is_bool() || v.is_float()) {
    IrExpr e = to_expr(evaluator_, value);
    return e ? let(name, std::move(e), where) : Value::error();
  }
  return v;
}

void Lowerer::bind(const syntax::Expr& target, const Argument& value, Binding how, const eval::ScopeRef& scope) {
  if (const auto* name = target.as<NameExpr>()) {
    bool is_value = !value.value.is_unknown() && !value.value.as<FrameObject>() && !value.value.as<BufferObject>();
    if (Buffer memory = how == Binding::Assign && is_value ? cell(target, scope) : Buffer()) {
      return store(memory, {Argument{Value(0), target.origin(), {}}}, value, target.origin());
    }
    scope->set(name->name, bind_name(name->name, value, how, name->origin()));
    return;
  }
  const syntax::List<ExprPtr>* targets = nullptr;
  if (const auto* tuple = target.as<TupleExpr>()) { targets = &tuple->elements; }
  if (const auto* list = target.as<ListExpr>()) { targets = &list->elements; }
  if (const auto* meta = targets ? value.value.as<MetaObject>() : nullptr) {
    return bind(target, {meta->value, value.where, {}}, Binding::Target, scope);
  }
  if (targets) {
    bool has_star = false;
    for (ExprPtr t : *targets) { has_star |= t->kind == Kind::Starred; }
    std::optional<std::vector<Value>> items;
    if (!value.value.is_unknown()) {
      Argument source = value;
      if (const auto* f = value.value.as<FrameObject>(); f && how == Binding::Assign) { source.value = enter(*f, value.where); }
      if (source.value.as<ExprObject>()) {
        items = std::vector<Value>{source.value};
      } else {
        items = evaluator_.iterate(source);
      }
    }
    if (items && !has_star && items->size() != targets->size()) {
      evaluator_.report(error(Code::UnpackCount, target.origin()).arg("targets", static_cast<int64_t>(targets->size())).arg("values", static_cast<int64_t>(items->size())));
      // The names that have a value get it.
      items->resize(targets->size(), Value::error());
    }
    if (!items) { items = std::vector<Value>(targets->size(), value.value.is_opaque() ? Value::opaque() : Value::error()); }
    size_t next = 0;
    for (size_t i = 0; i < targets->size(); ++i) {
      const syntax::Expr& t = *(*targets)[i];
      if (const auto* star = t.as<StarredExpr>()) {
        size_t after = targets->size() - i - 1;
        std::vector<Value> rest;
        while (next + after < items->size()) { rest.push_back((*items)[next++]); }
        bind(*star->value, {Value::list(std::move(rest)), value.where, {}}, how, scope);
        continue;
      }
      bind(t, {next < items->size() ? (*items)[next] : Value::error(), value.where, {}}, how, scope);
      ++next;
    }
    return;
  }
  if (value.value.is_opaque()) { is_opaque_ = true; return; }
  if (value.value.is_error()) {
    // Still look at the target for mistakes of its own.
    if (const auto* subscript = target.as<SubscriptExpr>()) {
      Value ignored = evaluator_.eval(*subscript, scope);
      is_opaque_ |= ignored.is_opaque();
    }
    return;
  }
  (void)evaluator_.assign(target, value, scope);
}

void Lowerer::on_assign(const AssignStmt& s, const eval::ScopeRef& scope) {
  Argument value = evaluator_.eval_argument(*s.value, scope);
  is_opaque_ |= value.value.is_opaque();
  for (ExprPtr target : s.targets) {
    if (Buffer memory = value.value.is_unknown() ? Buffer() : cell(*target, scope); memory && !value.value.as<FrameObject>() && !value.value.as<BufferObject>()) {
      store(memory, {Argument{Value(0), target->origin(), {}}}, value, s.origin());
      continue;
    }
    // A value with a mistake is reported by itself.
    if (!value.value.is_error()) { check_new(*target, scope); }
    bind(*target, value, Binding::Assign, scope);
  }
}

namespace {

auto is_of_program(const Value& v) -> bool { return v.as<ExprObject>() || v.as<BufferObject>() || v.as<IterVarObject>(); }

}  // namespace

void Lowerer::check_new(const syntax::Expr& target, const eval::ScopeRef& scope, bool changes) {
  const syntax::List<ExprPtr>* parts = nullptr;
  if (const auto* tuple = target.as<TupleExpr>()) { parts = &tuple->elements; }
  if (const auto* list = target.as<ListExpr>()) { parts = &list->elements; }
  for (size_t i = 0; parts && i < parts->size(); ++i) { check_new(*(*parts)[i], scope); }
  const auto* name = target.as<NameExpr>();
  if (!name) { return; }
  auto& known = assigned_[scope.get()];
  known.first = scope;
  auto [at, is_new] = known.second.emplace(name->name, name->origin());
  if (is_new) { return; }
  const Value* before = scope->find_here(name->name);
  if (rebinds_names_ || (before && !is_of_program(*before))) { return; }
  if (changes) {
    evaluator_.report(error(Code::RedefinedName, name->origin()).arg("name", name->name.view())
                          .note(at->second, "it is given its meaning here")
                          .remedy("what changes is memory: `" + name->name.str() + " = T.alloc_buffer((1,), \"float32\")`, and `" + name->name.str() + "[0] += ...`"));
    return;
  }
  evaluator_.report(error(Code::RedefinedName, name->origin()).arg("name", name->name.view())
                        .note(at->second, "it is given its meaning here")
                        .remedy("use another name: a program names each variable and buffer once"));
}

void Lowerer::has_named(const syntax::Expr& target, const eval::ScopeRef& scope) {
  auto& known = assigned_[scope.get()];
  known.first = scope;
  walk(target, [&](const Node& n) {
    if (const auto* name = n.as<NameExpr>()) { known.second.emplace(name->name, name->origin()); }
    return true;
  });
}

void Lowerer::on_ann_assign(const AnnAssignStmt& s, const eval::ScopeRef& scope) {
  Argument annotation = evaluator_.eval_argument(*s.annotation, scope);
  Argument value = s.value ? evaluator_.eval_argument(*s.value, scope) : Argument{};
  const auto* name = s.target->as<NameExpr>();
  is_opaque_ |= value.value.is_opaque() || annotation.value.is_opaque();
  if (annotation.value.is_unknown() || value.value.is_unknown()) {
    if (name) { scope->set(name->name, annotation.value.is_error() || value.value.is_error() ? Value::error() : Value::opaque()); }
    return;
  }
  if (!name) {
    evaluator_.report(error(Code::WrongType, s.target->origin()).arg("expected", "a name").arg("found", "another target"));
    return;
  }
  Var var;
  if (const auto* t = annotation.value.as<DtypeObject>(); t && t->declares_cell && !t->dtype.is_handle()) {
    Value made = make_object<ExprObject>(make_cell(t->dtype, Name("local"), name->origin()));
    Buffer memory = cell(made);
    (void)name_buffer(memory, name->name, name->origin());
    if (s.value) { store(memory, {Argument{Value(0), name->origin(), {}}}, value, s.origin()); }
    scope->set(name->name, std::move(made));
    return;
  }
  if (const auto* b = annotation.value.as<BufferObject>(); b && !s.value && s.annotation->kind == Kind::Subscript) {
    static const Name local("local");
    if (b->buffer->scope() == local) {
      (void)name_buffer(b->buffer, name->name, name->origin());
      add_alloc(b->buffer);
      scope->set(name->name, annotation.value);
      return;
    }
  }
  if (const auto* t = annotation.value.as<DtypeObject>()) {
    var = make<VarNode>(name->name, t->dtype, name->origin());
  } else if (const auto* e = annotation.value.as<ExprObject>(); e && e->expr.as<VarNode>() && e->expr.as<VarNode>()->name.empty()) {
    var = Var(e->expr.as<VarNode>());
    (void)name_var(var, name->name, name->origin());
  } else if (annotation.value.as<BufferObject>() || annotation.value.as<MetaObject>() || annotation.value.as<eval::Builtin>() || is_let_annotation(annotation.value)) {
    // `A: T.Buffer(...) = ...`, `x: T.meta_var = ...` and `x: T.let = ...` say no more than the value does.
    bool makes_variable = annotation.value.as<BufferObject>() || is_let_annotation(annotation.value);
    if (s.value) { scope->set(name->name, bind_name(name->name, value, makes_variable ? Binding::Assign : Binding::Target, name->origin())); }
    return;
  } else {
    evaluator_.report(error(Code::WrongType, annotation.where).arg("expected", "a data type").arg("found", describe(annotation.value)));
    scope->set(name->name, Value::error());
    return;
  }
  if (!s.value) {
    // `x: T.int32` says what `x = T.int32()` says: there is such a variable.
    (void)bind_var(var.get());
    scope->set(name->name, make_object<ExprObject>(IrExpr(var)));
    return;
  }
  IrExpr e = to_expr_like(evaluator_, value, var->dtype);
  if (e && !(e.dtype() == var->dtype) && !(e.dtype().is_handle() && var->dtype.is_handle())) {
    if (e.as<IntImm>() || e.as<FloatImm>()) {
      e = cast(var->dtype, e, value.where);
    } else {
      evaluator_.report(error(Code::TypeMismatch, value.where).arg("op", "=").arg("left", var->dtype.str()).arg("right", e.dtype().str())
                            .note(annotation.where, "this says `" + var->dtype.str() + "`"));
    }
  }
  (void)bind_var(var.get());
  scope->set(name->name, make_object<ExprObject>(IrExpr(var)));
  if (!e || !is_bearable(evaluator_, e, value.where)) { return; }
  BuildFrame f;
  f.kind = FrameKind::Let;
  f.origin = s.origin();
  f.var = std::move(var);
  f.a = std::move(e);
  frames_.push_back(std::move(f));
}

void Lowerer::on_aug_assign(const AugAssignStmt& s, const eval::ScopeRef& scope) {
  Argument old = evaluator_.eval_argument(*s.target, scope);
  Argument right = evaluator_.eval_argument(*s.value, scope);
  is_opaque_ |= old.value.is_opaque() || right.value.is_opaque();
  if (old.value.is_unknown() || right.value.is_unknown()) { return; }
  Value value = evaluator_.binary(s.op, old, right, s.origin());
  if (value.is_unknown()) { return; }
  if (Buffer memory = cell(*s.target, scope)) { return store(memory, {Argument{Value(0), s.target->origin(), {}}}, {value, s.origin(), {}}, s.origin()); }
  check_new(*s.target, scope, true);
  bind(*s.target, {std::move(value), s.origin(), {}}, Binding::Assign, scope);
}

void Lowerer::on_expr(const ExprStmt& s, const eval::ScopeRef& scope) {
  Argument value = evaluator_.eval_argument(*s.value, scope);
  const Value& v = value.value;
  is_opaque_ |= v.is_opaque();
  if (v.is_unknown() || v.is_none() || v.string()) { return; }
  if (const auto* f = v.as<FrameObject>()) {
    if (f->frame.kind == FrameKind::Block || f->frame.kind == FrameKind::Loop || f->frame.kind == FrameKind::Init) {
      evaluator_.report(error(Code::NeedsBody, value.where).arg("what", f->what));
      return;
    }
    (void)enter(*f, value.where);
    frames_.back().origin = s.origin();
    return;
  }
  if (const auto* stmt = v.as<StmtObject>()) { return add(stmt->stmt); }
  if (v.as<ExprObject>() || v.as<RegionObject>() || v.is_int() || v.is_bool()) {
    if (const auto* e = v.as<ExprObject>()) {
      // A variable that an axis or a declaration gave, unused.
      if (const auto* var = e->expr.as<VarNode>(); var && var->name.empty()) { return; }
    }
    if (IrExpr e = to_expr(evaluator_, value); e && is_bearable(evaluator_, e, value.where)) { add_evaluated(std::move(e), s.origin()); }
    return;
  }
  if (v.as<BufferObject>() || v.items()) { return; }
  evaluator_.report(error(Code::NotAStatement, value.where).arg("what", describe(v)));
}

auto Lowerer::loop_items(const Argument& iterable, const ForStmt& s, const eval::ScopeRef& scope) -> bool {
  if (const auto* range = iterable.value.as<eval::RangeObject>()) {
    if (range->step < 1) {
      evaluator_.report(error(Code::BadValue, iterable.where).arg("what", "the step of a loop is at least 1"));
      return false;
    }
    auto narrow = [](int64_t x) { return x >= std::numeric_limits<int32_t>::min() && x <= std::numeric_limits<int32_t>::max(); };
    DataType t = DataType::int_(narrow(range->start) && narrow(range->stop) ? 32 : 64);
    BuildFrame f;
    f.kind = FrameKind::Loop;
    LoopSpec loop;
    loop.var = make<VarNode>(Name(), t);
    loop.min = int_imm(range->start, t, iterable.where);
    loop.extent = int_imm(range->stop - range->start, t, iterable.where);
    if (range->step != 1) {
      loop.start = loop.min;
      loop.min = int_imm(0, t, iterable.where);
      loop.extent = int_imm(*range->length(), t, iterable.where);
      loop.step = int_imm(range->step, t, iterable.where);
    }
    f.loops.push_back(std::move(loop));
    frames_.push_back(std::move(f));
    return true;
  }
  const auto* frame = iterable.value.as<FrameObject>();
  if (!frame || frame->frame.kind != FrameKind::Loop) {
    if (!iterable.value.is_unknown()) {
      evaluator_.report(error(Code::NotALoop, iterable.where).arg("what", describe(iterable.value))
                            .remedy("loops of a program are `range`, `T.serial`, `T.grid`, `T.parallel`, `T.vectorized`, `T.unroll`, `T.thread_binding`"));
    }
    return false;
  }
  (void)enter(*frame, iterable.where);
  return true;
}

void Lowerer::on_for(const ForStmt& s, const eval::ScopeRef& scope) {
  Argument iterable = evaluator_.eval_argument(*s.iterable, scope);
  is_opaque_ |= iterable.value.is_opaque();
  size_t depth = frames_.size();
  eval::ScopeRef inner = evaluator_.new_scope(scope);
  if (loop_items(iterable, s, scope)) {
    BuildFrame& f = frames_.back();
    f.origin = {s.decl, s.header_span.begin, s.header_span.end, 0};
    f.origin = s.origin();
    Value vars;
    // The variable of a loop with a step is named here: what the text names is an expression of it.
    if (f.loops.size() == 1 && f.loops[0].step) {
      if (const auto* name = s.target->as<NameExpr>()) { (void)name_var(f.loops[0].var, name->name, name->origin()); }
    }
    if (f.loops.size() == 1) {
      vars = make_object<ExprObject>(f.loops[0].value());
    } else {
      std::vector<Value> items;
      for (const LoopSpec& loop : f.loops) { items.push_back(make_object<ExprObject>(loop.value())); }
      vars = Value::tuple(std::move(items));
    }
    bind(*s.target, {std::move(vars), s.target->origin(), {}}, Binding::Target, inner);
    has_named(*s.target, inner);
  } else {
    // The body is still looked at; its loop variables are unknown.
    frames_.emplace_back().origin = s.origin();
    bind(*s.target, {iterable.value.is_opaque() ? Value::opaque() : Value::error(), s.target->origin(), {}}, Binding::Target, inner);
  }
  body_of(s.body, inner);
  exit_to(depth);
  if (!s.otherwise.empty()) {
    evaluator_.opaque(s.origin());
    is_opaque_ = true;
  }
}

namespace {

auto condition_of(Evaluator& evaluator, const Argument& value) -> IrExpr {
  IrExpr e = to_expr(evaluator, value);
  if (!e || !is_bearable(evaluator, e, value.where)) { return {}; }
  if (e.dtype().is_bool() && e.dtype().is_scalar()) { return e; }
  if (e.dtype().is_integral() && e.dtype().is_scalar()) { return cast(DataType::bool_(), e, value.where); }
  evaluator.report(error(Code::WrongType, value.where).arg("expected", "a condition").arg("found", describe(value.value)));
  return {};
}

}  // namespace

void Lowerer::on_while(const WhileStmt& s, const eval::ScopeRef& scope) {
  Argument condition = evaluator_.eval_argument(*s.condition, scope);
  is_opaque_ |= condition.value.is_opaque();
  size_t depth = frames_.size();
  BuildFrame& f = frames_.emplace_back();
  f.origin = s.origin();
  if (IrExpr e = condition.value.is_unknown() ? IrExpr() : condition_of(evaluator_, condition)) {
    frames_.back().kind = FrameKind::While;
    frames_.back().a = std::move(e);
  }
  body(s.body, evaluator_.new_scope(scope));
  exit_to(depth);
}

void Lowerer::on_if(const IfStmt& s, const eval::ScopeRef& scope) {
  Argument condition = evaluator_.eval_argument(*s.condition, scope);
  is_opaque_ |= condition.value.is_opaque();
  const Value& v = condition.value;
  // A condition of the script is decided here, as TVM does.
  if (v.is_bool() || v.is_int() || v.is_none() || v.string() || v.items()) {
    auto holds = evaluator_.truth(condition);
    const syntax::Block& chosen = holds.value_or(false) ? s.then : s.otherwise;
    for (StmtPtr stmt : chosen) { statement(*stmt, scope); }
    return;
  }
  IrExpr e = v.is_unknown() ? IrExpr() : condition_of(evaluator_, condition);
  size_t depth = frames_.size();
  BuildFrame& f = frames_.emplace_back();
  f.kind = FrameKind::If;
  f.origin = s.origin();
  f.a = e ? e : bool_imm(true);
  BuildFrame& then = frames_.emplace_back();
  then.kind = FrameKind::Then;
  then.origin = s.origin();
  body(s.then, evaluator_.new_scope(scope));
  exit_to(depth + 1);
  if (!s.otherwise.empty()) {
    BuildFrame& otherwise = frames_.emplace_back();
    otherwise.kind = FrameKind::Else;
    otherwise.origin = s.origin();
    body(s.otherwise, evaluator_.new_scope(scope));
  }
  exit_to(depth);
}

void Lowerer::on_with(const WithStmt& s, const eval::ScopeRef& scope) {
  size_t depth = frames_.size();
  eval::ScopeRef inner = evaluator_.new_scope(scope);
  for (const WithItem& item : s.items) {
    Argument context = evaluator_.eval_argument(*item.context, inner);
    is_opaque_ |= context.value.is_opaque();
    Value bound = context.value.is_opaque() ? Value::opaque() : Value::error();
    const auto* f = context.value.as<FrameObject>();
    if (const auto* b = context.value.as<BufferObject>(); b && b->buffer->name.empty()) {
      // `with T.alloc_buffer(...) as A:`
      bound = context.value;
      frames_.emplace_back().origin = s.origin();
    } else if (f) {
      bound = enter(*f, context.where);
      frames_.back().origin = s.origin();
      if (item.target && bound.is_none()) {
        bound = evaluator_.report(error(Code::BadValue, item.target->origin()).arg("what", "`" + std::string(f->what) + "` gives nothing that `as` could name"));
      }
    } else {
      if (!context.value.is_unknown()) { evaluator_.report(error(Code::NotAFrame, context.where).arg("what", describe(context.value))); }
      // It may have been meant for a block: what has a meaning in blocks only is not reported once more.
      unknown_frames_.push_back(frames_.size());
      frames_.emplace_back().origin = s.origin();
    }
    if (item.target) { bind(*item.target, {std::move(bound), context.where, {}}, Binding::Target, inner); }
  }
  body_of(s.body, inner);
  exit_to(depth);
  while (!unknown_frames_.empty() && unknown_frames_.back() >= depth) { unknown_frames_.pop_back(); }
}

namespace {

// The message of an assert; `("ValueError", ["too", " large"])` says which error it is, and the message in parts.
auto message_of(Evaluator& evaluator, const Argument& message) -> IrExpr {
  const auto* pair = message.value.as<eval::Tuple>();
  if (!pair || pair->items.size() != 2 || !pair->items[0].string()) { return to_expr(evaluator, message); }
  std::string text;
  const auto* parts = pair->items[1].items();
  for (const Value& part : parts ? *parts : std::vector<Value>{pair->items[1]}) {
    if (!part.string()) { return to_expr(evaluator, {part, message.where, {}}); }
    text += *part.string();
  }
  IrExpr said = make<StringImm>(text, message.where);
  if (*pair->items[0].string() == "RuntimeError") { return said; }
  static const Name tuple("tvm_tuple");
  IrExpr kind = make<StringImm>(*pair->items[0].string(), message.where);
  return make<Call>(DataType::handle(), tuple, Array<IrExpr>{kind, said}, message.where);
}

}  // namespace

void Lowerer::on_assert(const syntax::AssertStmt& s, const eval::ScopeRef& scope) {
  Argument condition = evaluator_.eval_argument(*s.condition, scope);
  Argument message = s.message ? evaluator_.eval_argument(*s.message, scope) : Argument{Value::str(""), s.origin(), {}};
  is_opaque_ |= condition.value.is_opaque() || message.value.is_opaque();
  if (condition.value.is_unknown() || message.value.is_unknown()) { return; }
  IrExpr c = condition_of(evaluator_, condition);
  IrExpr m = message_of(evaluator_, message);
  if (!c || !m) { return; }
  BuildFrame f;
  f.kind = FrameKind::Assert;
  f.origin = s.origin();
  f.a = std::move(c);
  f.b = std::move(m);
  frames_.push_back(std::move(f));
}

void Lowerer::on_return(const ReturnStmt& s, const eval::ScopeRef& scope) {
  static const Name ret("ret");
  if (!s.value) {
    add(make<Evaluate>(IrExpr(make<Call>(DataType::void_(), ret, Array<IrExpr>{}, s.origin())), s.origin()));
    return;
  }
  Argument value = evaluator_.eval_argument(*s.value, scope);
  is_opaque_ |= value.value.is_opaque();
  if (value.value.is_unknown() || (is_opaque_ && value.value.as<BufferObject>())) { return; }
  if (value.value.as<BufferObject>()) {
    evaluator_.report(error(Code::WrongType, value.where).arg("expected", "an expression").arg("found", describe(value.value))
                          .remedy("a program returns numbers at most: what it fills is a buffer among its parameters"));
    return;
  }
  IrExpr e = to_expr(evaluator_, value);
  if (e) {
    DataType t = e.dtype();
    add(make<Evaluate>(IrExpr(make<Call>(t, ret, Array<IrExpr>{e}, s.origin())), s.origin()));
  }
}

void Lowerer::store(const Buffer& buffer, const std::vector<Argument>& indices, const Argument& value, Origin where) {
  std::vector<IrExpr> at;
  bool good = to_indices(evaluator_, buffer, indices, where, at);
  DataType wanted = buffer->dtype;
  if (good && !at.empty()) {
    wanted.lanes = static_cast<uint16_t>(wanted.lanes * at.back().dtype().lanes);
    wanted.scalable = at.back().dtype().scalable || wanted.scalable;
  }
  IrExpr e = to_expr_like(evaluator_, value, buffer->dtype);
  if (!e || !good || !is_bearable(evaluator_, e, value.where)) { return; }
  for (const IrExpr& index : at) {
    if (!is_bearable(evaluator_, index, where)) { return; }
  }
  if (!(e.dtype() == wanted)) {
    DataType t = e.dtype();
    bool lanes_agree = t.lanes == wanted.lanes && t.scalable == wanted.scalable;
    if (t.is_handle() || t.is_void() || wanted.is_handle() || (!lanes_agree && !t.is_scalar())) {
      Diagnostic d = error(Code::StoreMismatch, value.where).arg("buffer", buffer->name.view()).arg("expected", wanted.str()).arg("found", e.as<StringImm>() ? "text" : t.str());
      if (buffer->origin.is_known()) { (void)std::move(d).note(buffer->origin, "`" + buffer->name.str() + "` is declared here"); }
      evaluator_.report(std::move(d));
      return;
    }
    if (!lanes_agree) {
      e = cast(wanted.element(), e, value.where);
      const auto* ramp = at.back().as<Ramp>();
      e = make<Broadcast>(std::move(e), ramp ? ramp->lanes : int_imm(wanted.lanes), value.where);
    } else {
      e = cast(wanted, e, value.where);
    }
  }
  add(make<BufferStore>(buffer, std::move(e), std::move(at), where));
}

auto Lowerer::expand(const MacroObject& macro, const Arguments& arguments) -> Value {
  if (depth_ >= deepest_expansion) {
    // What ends it may be what is not known.
    if (is_opaque_) { return evaluator_.opaque(arguments.call); }
    return evaluator_.report(error(Code::TooDeep, arguments.call).arg("limit", static_cast<int64_t>(deepest_expansion)));
  }
  if (++expansions_ > most_expansions) {
    if (expansions_ > most_expansions + 1) { return Value::error(); }
    return evaluator_.report(error(Code::TooMuchWork, arguments.call).arg("what", "more than " + std::to_string(most_expansions) + " expansions of macros in a program"));
  }
  Ref<eval::Function> function = macro.function;
  // Names that the macro does not bind are those of its definition, or, where it is not hygienic, those of its caller.
  eval::ScopeRef here = here_;
  auto frame = evaluator_.start(function, arguments, macro.hygienic ? function->captured : here);
  if (!frame) { return Value::error(); }
  ++depth_;
  eval::Environment* globals = std::exchange(evaluator_.globals, function->globals);
  auto tree = std::exchange(evaluator_.tree, function->keep_alive);
  size_t depth = frames_.size();
  for (StmtPtr stmt : function->def->body) { statement(*stmt, frame->scope); }
  // What the macro leaves open (a let, an allocation) covers the rest of the macro only.
  exit_to(depth);
  evaluator_.globals = globals;
  evaluator_.tree = std::move(tree);
  here_ = std::move(here);
  --depth_;
  return {};
}

// ---- functions ---------------------------------------------------------------------------------------------------

void Lowerer::param(const Param& p, const eval::ScopeRef& scope) {
  if (!p.annotation) { return; }
  Origin at = p.annotation->origin();
  at.begin = p.name.span.begin;
  at.end = p.name.span.end;
  Argument annotation = evaluator_.eval_argument(*p.annotation, scope);
  const Value& v = annotation.value;
  is_opaque_ |= v.is_opaque();
  if (v.is_unknown()) {
    scope->set(p.name.name, v);
    return;
  }
  if (const auto* b = v.as<BufferObject>()) {
    (void)name_buffer(b->buffer, p.name.name, at);
    Var handle = make<VarNode>(Name(p.name.name.str() + "_handle"), DataType::handle(), at);
    params_.push_back(handle);
    buffer_map_.emplace_back(handle, b->buffer);
    scope->set(p.name.name, v);
    return;
  }
  Var var;
  if (const auto* t = v.as<DtypeObject>()) { var = make<VarNode>(p.name.name, t->dtype, at); }
  if (auto known = ahead_.find(p.name.name); known != ahead_.end() && var) { var = known->second; }
  if (const auto* e = v.as<ExprObject>()) {
    if (const auto* node = e->expr.as<VarNode>()) {
      var = Var(node);
      // `n: n`, the variable that the file made for shapes.
      bool is_its_own = node->name == p.name.name && bound_.count(node) == 0;
      if (!name_var(var, p.name.name, at) && !is_its_own) { var = {}; }
    }
  }
  if (!var) {
    Diagnostic d = error(Code::WrongType, annotation.where).arg("expected", "the type of a parameter").arg("found", describe(v));
    static const std::pair<std::string_view, std::string_view> pythons[] = {{"int", "T.int32"}, {"float", "T.float32"}, {"bool", "T.bool"}};
    const auto* written = p.annotation ? p.annotation->as<NameExpr>() : nullptr;
    for (auto [python, ours] : pythons) {
      if (written && written->name.view() == python) { (void)std::move(d).remedy("the type of a number says its bits: `" + std::string(ours) + "`").fix(annotation.where, std::string(ours)); }
    }
    if (v.as<BufferTypeObject>()) { (void)std::move(d).remedy("say its shape and type: `T.Buffer((128, 128), \"float32\")`"); }
    evaluator_.report(std::move(d));
    scope->set(p.name.name, Value::error());
    return;
  }
  params_.push_back(var);
  (void)bind_var(var.get());
  scope->set(p.name.name, make_object<ExprObject>(IrExpr(var)));
}

void Lowerer::type_param(const Param& p, const eval::ScopeRef& scope) {
  DataType t = DataType::int_(64);
  if (p.annotation) {
    Argument bound = evaluator_.eval_argument(*p.annotation, scope);
    if (const auto* known = bound.value.as<DtypeObject>()) { t = known->dtype; }
  }
  Origin at{frames_.front().origin.decl, p.name.span.begin, p.name.span.end, 0};
  Var var = make<VarNode>(p.name.name, t, at);
  symbols_.emplace_back(p.name.name, var);
  (void)bind_var(var.get());
  scope->set(p.name.name, make_object<ExprObject>(IrExpr(var)));
}

void Lowerer::declare_ahead(const FunctionDef& def, const eval::ScopeRef& scope) {
  std::unordered_set<Name> used;
  for (const Param& p : def.params) {
    const auto* type = p.annotation ? p.annotation->as<AttributeExpr>() : nullptr;
    auto t = type ? DataType::parse(type->attr.name.view()) : std::nullopt;
    if (t && t->is_integral() && used.count(p.name.name) != 0 && !meaning(p.name.name, scope)) {
      Var var = make<VarNode>(p.name.name, *t, Origin{def.decl, p.name.span.begin, p.name.span.end, 0});
      ahead_.emplace(p.name.name, var);
      scope->set(p.name.name, make_object<ExprObject>(IrExpr(var)));
    }
    if (!p.annotation) { continue; }
    walk(*p.annotation, [&](const Node& n) {
      if (const auto* name = n.as<NameExpr>()) { used.insert(name->name); }
      return true;
    });
  }
}

void Lowerer::signature(const FunctionDef& def, const eval::ScopeRef& scope) {
  for (const Param& p : def.type_params) { type_param(p, scope); }
  declare_ahead(def, scope);
  for (size_t i = 0; i < def.params.size(); ++i) {
    const Param& p = def.params[i];
    const Param* same = nullptr;
    for (size_t k = 0; k < i; ++k) { same = def.params[k].name.name == p.name.name ? &def.params[k] : same; }
    if (same && !p.name.name.empty()) {
      evaluator_.report(error(Code::RedefinedName, {def.decl, p.name.span.begin, p.name.span.end, 0}).arg("name", p.name.name.view())
                            .note({def.decl, same->name.span.begin, same->name.span.end, 0}, "it is given its meaning here")
                            .remedy("use another name: every parameter has its own"));
      continue;
    }
    if (p.kind != ParamKind::Plain) {
      evaluator_.opaque({def.decl, p.span.begin, p.span.end, 0});
      is_opaque_ = true;
      continue;
    }
    if (!p.annotation) {
      evaluator_.report(error(Code::MissingAnnotation, {def.decl, p.name.span.begin, p.name.span.end, 0}).arg("name", p.name.name.view())
                            .remedy("say what it is: `" + p.name.name.str() + ": T.Buffer((128, 128), \"float32\")`, or `" + p.name.name.str() + ": T.int32`"));
      scope->set(p.name.name, Value::error());
      continue;
    }
    param(p, scope);
    auto& known = assigned_[scope.get()];
    known.first = scope;
    known.second.emplace(p.name.name, Origin{def.decl, p.name.span.begin, p.name.span.end, 0});
  }
  if (def.returns) {
    Argument returns = evaluator_.eval_argument(*def.returns, scope);
    // A function that gives a buffer is of a higher level.
    is_opaque_ |= returns.value.is_opaque() || returns.value.as<BufferObject>() != nullptr;
    if (const auto* t = returns.value.as<DtypeObject>()) { ret_type_ = t->dtype; }
    else if (const auto* e = returns.value.as<ExprObject>()) { ret_type_ = e->expr.dtype(); }
  }
}

auto Lowerer::run(const FunctionDef& def, FunctionOptions options) -> LoweredFunction {
  size_t errors_before = evaluator_.diagnostics.size();
  eval::ScopeRef scope = evaluator_.new_scope(around_);
  static const Name range("range");
  if (!around_ || !around_->find(range)) { scope->set(range, make_object<eval::Builtin>(range, program_range)); }
  global_symbol_ = def.name.name;
  rebinds_names_ = options.rebinds_names;
  scope_ = scope;
  Origin name_at{def.decl, def.name.span.begin, def.name.span.end, 0};
  BuildFrame& f = frames_.emplace_back();
  f.kind = FrameKind::Function;
  f.origin = def.origin();
  bool in_parts = parts_ != nullptr && !def.body.empty() && def.body.front()->decl != def.decl &&
                  std::none_of(def.body.begin(), def.body.end(), [](StmtPtr stmt) { return lacks_block(*stmt); });
  if (!in_parts) {
    parts_ = nullptr;
    signature(def, scope);
    body(def.body, scope);
  } else {
    std::vector<const syntax::Node*> head;
    for (const Param& p : def.type_params) {
      if (p.annotation) { head.push_back(p.annotation); }
    }
    for (const Param& p : def.params) {
      if (p.annotation) { head.push_back(p.annotation); }
    }
    if (def.returns) { head.push_back(def.returns); }
    part(def.decl, head, scope, [&] { signature(def, scope); });
    for (size_t i = 0; i < def.body.size();) {
      DeclId decl = def.body[i]->decl;
      std::vector<const syntax::Node*> nodes;
      for (; i < def.body.size() && def.body[i]->decl == decl; ++i) { nodes.push_back(def.body[i]); }
      part(decl, nodes, scope, [&] {
        for (const syntax::Node* node : nodes) {
          if (!evaluator_.step(node->origin())) { break; }
          statement(static_cast<const syntax::Stmt&>(*node), scope);
        }
      });
    }
  }
  exit_to(1);
  IrStmt stmt = as_stmt(std::move(frames_.back().stmts), def.origin());
  frames_.pop_back();
  static const Name default_buffer("buffer");
  for (const Buffer& b : root_allocs_) { (void)name_buffer(b, default_buffer, name_at); }

  PrimFuncNode node;
  node.params = params_;
  // In the order of the parameters, whatever the order of the match_buffers.
  std::vector<std::pair<Var, Buffer>> ordered;
  for (const Var& p : params_) {
    for (const auto& entry : buffer_map_) {
      if (entry.first == p) {
        (void)name_buffer(entry.second, default_buffer, name_at);
        ordered.push_back(entry);
      }
    }
  }
  node.buffer_map = std::move(ordered);
  node.body = std::move(stmt);
  node.ret_type = ret_type_;
  static const Name global_symbol("global_symbol");
  if (const Attr* symbol = find_attr(attrs_, global_symbol); symbol && symbol->string() && *symbol->string() == def.name.name.view()) {
    attrs_ = without_attr(attrs_, global_symbol);
  }
  node.attrs = attrs_;
  node.is_private = options.is_private;
  node.origin = def.origin();
  LoweredFunction out;
  out.uses_sblock = uses_sblock_;
  out.is_opaque = is_opaque_;
  out.partial = complete(std::move(node), std::move(root_allocs_), evaluator_, parts_);
  bool failed = def.has_error;
  for (size_t i = errors_before; i < evaluator_.diagnostics.size(); ++i) {
    const Diagnostic& d = evaluator_.diagnostics[i];
    failed |= d.severity == Severity::Error && d.code != Code::IndexOutOfBounds;
  }
  if (!failed && !is_opaque_) { out.func = out.partial; }
  return out;
}

auto lower_function(Evaluator& evaluator, const FunctionDef& def, const eval::ScopeRef& scope, FunctionOptions options, PartCache* parts) -> LoweredFunction {
  Lowerer lowerer(evaluator, scope, parts);
  return lowerer.run(def, options);
}

}  // namespace loopsmith::frontend
