// Statements of programs, one function per kind of statement. Assignments to names are in lowerer_names.cpp.
#include "frontend/lowerer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/stores.h"
#include "frontend/thread_level.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::make_object;
using namespace syntax;
using IrExpr = loopsmith::Expr;
using IrStmt = loopsmith::Stmt;

// A loop or a `with` whose block is not indented; this error has been reported.
auto lacks_block(const syntax::Node& s) -> bool {
  const auto* loop = s.as<ForStmt>();
  const auto* with = s.as<WithStmt>();
  return (loop && loop->body.empty()) || (with && with->body.empty());
}

void Lowerer::body(const syntax::Block& block, const eval::ScopeRef& scope) {
  body(std::span<const StmtPtr>(block.begin(), block.end()), scope);
}

void Lowerer::body(std::span<const StmtPtr> block, const eval::ScopeRef& scope) {
  size_t depth = frames_.size();
  for (size_t i = 0; i < block.size(); ++i) {
    if (!evaluator_.step(block[i]->origin())) { break; }
    // The statements below a head without a block were probably meant as its block.
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
        evaluator_.report(error(Code::OutsideLoop, stmt.origin()).arg("what", stmt.kind == Kind::Break ? "break" : "continue").remedy("remove it, or move it into a loop"));
        return;
      }
      if (stmt.kind == Kind::Break) { add(make<Break>(stmt.origin())); } else { add(make<Continue>(stmt.origin())); }
      return;
    case Kind::BrokenStmt: {
      const auto& broken = static_cast<const BrokenStmt&>(stmt);
      size_t depth = frames_.size();
      frames_.emplace_back().origin = stmt.origin();
      eval::ScopeRef inner = evaluator_.new_scope(scope);
      // The names in the broken line become unknown, so that their uses below are not reported.
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

void Lowerer::on_expr(const ExprStmt& s, const eval::ScopeRef& scope) {
  Argument value = evaluator_.eval_argument(*s.value, scope);
  const Value& v = value.value;
  is_opaque_ |= v.is_opaque();
  if (v.is_unknown() || v.is_none() || v.string() || v.as<ThreadWord>()) { return; }
  if (const auto* f = v.as<FrameObject>()) {
    if (f->frame.kind == FrameKind::Block || f->frame.kind == FrameKind::Loop || f->frame.kind == FrameKind::Init ||
        f->frame.kind == FrameKind::If) {
      evaluator_.report(needs_body(*f, value.where));
      return;
    }
    (void)enter(*f, value.where);
    frames_.back().origin = s.origin();
    return;
  }
  if (const auto* stmt = v.as<StmtObject>()) { return add(stmt->stmt); }
  if (v.as<ExprObject>() || v.as<RegionObject>() || v.is_int() || v.is_bool()) {
    if (const auto* e = v.as<ExprObject>()) {
      // A fresh variable of an axis or a declaration that is never used.
      if (const auto* var = e->expr.as<VarNode>(); var && var->name.empty()) { return; }
    }
    if (IrExpr e = to_expr(evaluator_, value); e && is_within_limits(evaluator_, e, value.where)) { add_evaluated(std::move(e), s.origin()); }
    return;
  }
  // The buffer of `T.alloc_buffer(...)`, and the results of calls in a list.
  bool is_made = v.as<BufferObject>() && s.value->kind == Kind::Call;
  const auto* items = v.items();
  if (is_made || (items && std::all_of(items->begin(), items->end(), [](const Value& item) { return item.is_none() || item.is_unknown(); }))) { return; }
  evaluator_.report(error(Code::NotAStatement, value.where).arg("what", describe(v)).remedy("store it, as in `B[i] = ...`, or remove it"));
}

auto Lowerer::loop_items(const Argument& iterable, const ForStmt& s, const eval::ScopeRef& scope) -> bool {
  if (const auto* range = iterable.value.as<eval::RangeObject>()) {
    if (range->step < 1) {
      evaluator_.report(error(Code::LoopStep, iterable.where).arg("step", range->step).remedy("count upwards, and compute the index from the loop variable"));
      return false;
    }
    auto narrow = [](int64_t x) { return x >= std::numeric_limits<int32_t>::min() && x <= std::numeric_limits<int32_t>::max(); };
    int64_t distance = 0;
    const bool is_narrow = narrow(range->start) && narrow(range->stop) && !__builtin_sub_overflow(range->stop, range->start, &distance) && narrow(distance);
    DataType t = DataType::int_(is_narrow ? 32 : 64);
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
                            .remedy("loop over `range`, `T.serial`, `T.grid`, `T.parallel`, `T.vectorized`, `T.unroll` or `T.thread_binding`"));
    }
    return false;
  }
  return !enter(*frame, iterable.where).is_unknown();
}

namespace {

// `for ... else` and `while ... else`: a loop of a program has no such branch, and TVM ignores it.
void refuse_else(Evaluator& evaluator, const syntax::Block& otherwise, const char* keyword) {
  if (otherwise.empty()) { return; }
  evaluator.report(error(Code::LoopElse, otherwise[0]->origin()).arg("keyword", keyword)
                       .remedy("write these statements after the loop; where a `break` must skip them, set a flag in memory and test it"));
}

}  // namespace

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
    // The text names an expression of the variable of a loop with a step: the variable gets the same name here.
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
    // The body is checked anyway; its loop variables are unknown.
    frames_.emplace_back().origin = s.origin();
    bind(*s.target, {iterable.value.is_opaque() ? Value::opaque() : Value::error(), s.target->origin(), {}}, Binding::Target, inner);
  }
  body_of(s.body, inner);
  exit_to(depth);
  refuse_else(evaluator_, s.otherwise, "for");
}

namespace {

auto condition_of(Evaluator& evaluator, const Argument& value) -> IrExpr {
  IrExpr e = to_expr(evaluator, value);
  if (!e || !is_within_limits(evaluator, e, value.where)) { return {}; }
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
  refuse_else(evaluator_, s.otherwise, "while");
}

void Lowerer::on_if(const IfStmt& s, const eval::ScopeRef& scope) {
  Argument condition = evaluator_.eval_argument(*s.condition, scope);
  is_opaque_ |= condition.value.is_opaque();
  const Value& v = condition.value;
  // A condition of the script is decided here, as in TVM.
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
  eval::ScopeRef inner = evaluator_.new_scope(scope);
  eval::ScopeRef other = evaluator_.new_scope(scope);
  body(s.then, inner);
  exit_to(depth + 1);
  if (!s.otherwise.empty()) {
    BuildFrame& otherwise = frames_.emplace_back();
    otherwise.kind = FrameKind::Else;
    otherwise.origin = s.origin();
    body(s.otherwise, other);
  }
  exit_to(depth);
  if (!v.is_opaque()) { return; }
  // Python decides while the program is read, so the names of the chosen branch are visible below; the chosen branch is unknown.
  for (const eval::ScopeRef& branch : {inner, other}) {
    for (const auto& [name, value] : branch->slots()) { scope->set(name, Value::opaque()); }
  }
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
      // Names a value that opens no scope, as in `with T.alloc_buffer(...) as A:`.
      bound = context.value;
      frames_.emplace_back().origin = s.origin();
    } else if (f) {
      bound = enter(*f, context.where);
      frames_.back().origin = s.origin();
      if (item.target && bound.is_none()) {
        bound = evaluator_.report(error(Code::NothingToName, item.target->origin()).arg("function", f->what).remedy("remove `as`"));
      }
    } else {
      // `with T.cta():` of the thread-level language.
      const auto* word = context.value.as<ThreadWord>();
      if (word) { use_thread_level(word->path.view(), context.where); }
      if (!context.value.is_unknown() && !word) { evaluator_.report(error(Code::NotAFrame, context.where).arg("what", describe(context.value)).remedy("open a scope, as in `with T.block(\"C\"):`")); }
      // It may have been meant as a block: functions that need a block are not reported inside of it.
      unknown_frames_.push_back(frames_.size());
      frames_.emplace_back().origin = s.origin();
    }
    if (context.value.as<ThreadWord>()) { bound = Value::opaque(); }
    if (item.target) { bind(*item.target, {std::move(bound), context.where, {}}, Binding::Target, inner); }
  }
  body_of(s.body, inner);
  exit_to(depth);
  while (!unknown_frames_.empty() && unknown_frames_.back() >= depth) { unknown_frames_.pop_back(); }
}

namespace {

// The message of an assert: a text, or the kind of error with the parts of the text, `("ValueError", ["too", " large"])`.
auto message_of(Evaluator& evaluator, const Argument& message) -> IrExpr {
  const auto* pair = message.value.as<eval::Tuple>();
  if (!pair || pair->items.size() != 2 || !pair->items[0].string()) { return to_expr(evaluator, message); }
  std::string text;
  const auto* parts = pair->items[1].items();
  for (const Value& part : parts ? *parts : std::vector<Value>{pair->items[1]}) {
    if (!part.string()) { return to_expr(evaluator, {part, message.where, {}}); }
    text += *part.string();
  }
  IrExpr words = make<StringImm>(text, message.where);
  if (*pair->items[0].string() == "RuntimeError") { return words; }
  static const Name tuple("tvm_tuple");
  IrExpr kind = make<StringImm>(*pair->items[0].string(), message.where);
  return make<Call>(DataType::handle(), tuple, Array<IrExpr>{kind, words}, message.where);
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
                          .remedy("make the buffer a parameter: a program returns only numbers"));
    return;
  }
  IrExpr e = to_expr(evaluator_, value);
  if (e) {
    DataType t = e.dtype();
    add(make<Evaluate>(IrExpr(make<Call>(t, ret, Array<IrExpr>{e}, s.origin())), s.origin()));
  }
}

namespace {

// False: an error was reported. A literal of reals in a buffer of integers must be one of its values.
auto real_fits(Evaluator& evaluator, double value, DataType type, Origin where) -> bool {
  DataType t = type.element();
  if (!t.is_integral() || t.is_bool()) { return true; }
  const double low = t.is_uint() ? 0 : -std::ldexp(1, t.bits - 1), end = std::ldexp(1, t.is_uint() ? t.bits : t.bits - 1);
  const bool is_whole = value == std::floor(value);
  if (is_whole && value >= low && value < end) { return true; }
  evaluator.report(error(Code::NumberDoesNotFit, where).arg("value", fmt::format("{}", value)).arg("type", t.str()).arg("low", fmt::format("{:.0f}", low))
                       .arg("high", std::to_string(UINT64_MAX >> (64 - (t.is_uint() ? t.bits : t.bits - 1))))
                       .remedy(is_whole ? "write a number that fits, or use another type" : "write a whole number, or store to a buffer of reals"));
  return false;
}

}  // namespace

auto store_of(Evaluator& evaluator, const Buffer& buffer, const std::vector<Argument>& indices, const Argument& value, Origin where) -> IrStmt {
  std::vector<IrExpr> at;
  bool good = to_indices(evaluator, buffer, indices, where, at);
  DataType wanted = buffer->dtype;
  if (good && !at.empty()) {
    wanted.lanes = static_cast<uint16_t>(wanted.lanes * at.back().dtype().lanes);
    wanted.scalable = at.back().dtype().scalable || wanted.scalable;
  }
  if (value.value.is_float() && !real_fits(evaluator, value.value.float_value(), buffer->dtype, value.where)) { return {}; }
  IrExpr e = to_expr_like(evaluator, value, buffer->dtype);
  if (!e || !good || !is_within_limits(evaluator, e, value.where)) { return {}; }
  for (const IrExpr& index : at) {
    if (!is_within_limits(evaluator, index, where)) { return {}; }
  }
  if (!(e.dtype() == wanted)) {
    DataType t = e.dtype();
    bool lanes_agree = t.lanes == wanted.lanes && t.scalable == wanted.scalable;
    if (t.is_handle() || t.is_void() || wanted.is_handle() || (!lanes_agree && !t.is_scalar())) {
      Diagnostic d = error(Code::StoreMismatch, value.where).arg("buffer", buffer->name.view()).arg("expected", wanted.str()).arg("found", e.as<StringImm>() ? "text" : t.str());
      if (buffer->origin.is_known()) { (void)std::move(d).note(buffer->origin, "`" + buffer->name.str() + "` is declared here"); }
      evaluator.report(std::move(d));
      return {};
    }
    if (!lanes_agree) {
      e = cast(wanted.element(), e, value.where);
      const auto* ramp = at.back().as<Ramp>();
      e = make<Broadcast>(std::move(e), ramp ? ramp->lanes : int_imm(wanted.lanes), value.where);
    } else {
      e = cast(wanted, e, value.where);
    }
  }
  return make<BufferStore>(buffer, std::move(e), std::move(at), where);
}

void Lowerer::store(const Buffer& buffer, const std::vector<Argument>& indices, const Argument& value, Origin where) {
  if (IrStmt made = store_of(evaluator_, buffer, indices, value, where)) { add(std::move(made)); }
}

}  // namespace loopsmith::frontend
