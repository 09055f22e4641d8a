// Replaces calls by function bodies: see inline_calls.h.
#include "transform/inline_calls.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/calls.h"
#include "ir/visitor.h"
#include "transform/fold.h"
#include "transform/returns.h"

namespace loopsmith::transform {
namespace {

auto is_call_of_function(const Call& call) -> bool { return call.op.view().starts_with("@"); }
auto callee_of(const Call& call) -> Name { return Name(call.op.view().substr(1)); }

// True when every path through the statement ends in a `return`.
auto always_ends_in_return(const Stmt& s) -> bool {
  const auto* all = s.as<SeqStmt>();
  return always_returns(all && !all->seq.empty() ? all->seq[all->seq.size() - 1] : s);
}

// True for functions that write only local memory and call no function with other effects.
auto only_reads(const PrimFunc& func) -> bool {
  static const Name ret("ret");
  std::set<const VarNode*> own;
  bool good = true;
  post_order(func->body, [&](const Stmt& s) {
    if (const auto* n = s.as<Allocate>()) { own.insert(n->data.get()); }
    if (const auto* n = s.as<BlockRealize>()) {
      for (const Buffer& b : n->block->alloc_buffers) { own.insert(b->data.get()); }
    }
    const auto* evaluated = s.as<Evaluate>();
    good = good && (!evaluated || as_return(s) || evaluated->value.as<IntImm>());
  }, [&](const Expr& e) {
    const auto* call = e.as<Call>();
    good = good && !(call && (is_call_of_function(*call) || call->op.view().starts_with("call_") || call->op.view().starts_with("tvm_")));
  });
  post_order(func->body, [&](const Stmt& s) {
    const auto* store = s.as<BufferStore>();
    good = good && (!store || own.contains(store->buffer->data.get()));
  }, [](const Expr&) {});
  return good;
}

// The value that a body returns, as an expression; null for bodies with other effects.
auto value_of(const Stmt& s) -> Expr {
  static const Name if_then_else("if_then_else");
  if (const Call* ret = as_return(s)) { return ret->args.size() == 1 ? ret->args[0] : Expr(); }
  if (const auto* let = s.as<LetStmt>()) {
    Expr body = value_of(let->body);
    return body ? Expr(make<Let>(let->var, let->value, std::move(body), let->origin)) : Expr();
  }
  auto choice = [&](const IfThenElse& branch, const Expr& otherwise) -> Expr {
    Expr then = value_of(branch.then_case);
    if (!then || !otherwise || !(then.dtype() == otherwise.dtype())) { return {}; }
    return make<Call>(then.dtype(), if_then_else, Array<Expr>{branch.condition, then, otherwise}, branch.origin);
  };
  if (const auto* branch = s.as<IfThenElse>()) { return choice(*branch, branch->else_case ? value_of(branch->else_case) : Expr()); }
  if (const auto* all = s.as<SeqStmt>()) {
    // `if c: return a`, followed by other statements.
    const auto* branch = all->seq[0].as<IfThenElse>();
    if (!branch || branch->else_case) {
      // Statements behind a `return` are never reached.
      return branch || as_return(all->seq[0]) ? value_of(all->seq[0]) : Expr();
    }
    std::vector<Stmt> rest(all->seq.begin() + 1, all->seq.end());
    return choice(*branch, value_of(rest.size() == 1 ? rest[0] : Stmt(make<SeqStmt>(std::move(rest), all->origin))));
  }
  return {};
}

// True for functions with the same target. A call of a function for another target is a launch, and stays.
auto same_target(const PrimFunc& a, const PrimFunc& b) -> bool {
  static const Name target("target");
  const Attr* of_a = find_attr(a->attrs, target);
  const Attr* of_b = find_attr(b->attrs, target);
  return !of_a || !of_b || structural_equal(*of_a, *of_b);
}

// True for expressions that are cheap enough to duplicate.
auto is_plain(const Expr& e) -> bool { return e.as<VarNode>() || e.as<IntImm>() || e.as<FloatImm>(); }

class Inliner : public Mutator {
 public:
  Inliner(const IRModule& module, Name function) : module_(module) { open_.push_back(function); }
  using Mutator::mutate;
  using Mutator::on;

  // Converts literals to the types of their parameters.
  auto fitted(const PrimFunc& func, const Array<Expr>& args) -> Array<Expr> {
    std::vector<Expr> out;
    for (size_t i = 0; i < args.size(); ++i) {
      DataType wanted = func->params[i]->dtype;
      bool is_literal = (args[i].as<IntImm>() && wanted.is_integral()) || (args[i].as<FloatImm>() && wanted.is_real());
      out.push_back(is_literal && !(args[i].dtype() == wanted) ? cast(wanted, args[i]) : args[i]);
    }
    return Array<Expr>(std::move(out));
  }

  auto on(const Evaluate& n) -> Stmt override {
    const auto* call = n.value.as<Call>();
    if (auto packed = call ? find_packed(*module_, *call) : std::nullopt) {
      Expr plain = make<Call>(call->dtype, Name("@" + packed->function.str()), mutate(packed->args), call->origin);
      for (auto& [size, value] : packed->sizes) { value = mutate(value); }
      Stmt body = body_of(*plain.as<Call>(), plain.as<Call>()->args, packed->sizes);
      return body ? body : Mutator::on(n);
    }
    if (!call || !is_call_of_function(*call)) { return Mutator::on(n); }
    Array<Expr> args = mutate(call->args);
    Stmt body = body_of(*call, args);
    if (body) { return body; }
    if (args.same_as(call->args)) { return self(n); }
    return make<Evaluate>(make<Call>(call->dtype, call->op, std::move(args), call->origin), n.origin);
  }
  auto on(const Call& n) -> Expr override {
    Expr changed = Mutator::on(n);
    if (!is_call_of_function(n)) { return changed; }
    Expr value = value_of_call(*changed.as<Call>());
    return value ? value : changed;
  }

  // Calls whose value is not a plain expression are evaluated before the statement.
  auto on(const BufferStore& n) -> Stmt override {
    Stmt changed = Mutator::on(n);
    const auto& store = *changed.as<BufferStore>();
    return lifted(store.value, std::move(changed), [&](Expr value) { return Stmt(make<BufferStore>(store.buffer, std::move(value), store.indices, store.origin, store.predicate)); });
  }
  auto on(const LetStmt& n) -> Stmt override {
    Stmt changed = Mutator::on(n);
    const auto& let = *changed.as<LetStmt>();
    return lifted(let.value, std::move(changed), [&](Expr value) { return Stmt(make<LetStmt>(let.var, std::move(value), let.body, let.origin)); });
  }
  auto on(const IfThenElse& n) -> Stmt override {
    Stmt changed = Mutator::on(n);
    const auto& branch = *changed.as<IfThenElse>();
    return lifted(branch.condition, std::move(changed), [&](Expr value) { return Stmt(make<IfThenElse>(std::move(value), branch.then_case, branch.else_case, branch.origin)); });
  }

 private:
  template <class Rebuild>
  auto lifted(const Expr& value, Stmt statement, Rebuild&& rebuild) -> Stmt {
    Lift lift(*this);
    Expr changed = lift.mutate(value);
    if (lift.before.empty()) { return statement; }
    std::vector<Stmt> all = std::move(lift.before);
    all.push_back(rebuild(std::move(changed)));
    Stmt out = seq(std::move(all), statement.origin());
    for (size_t i = lift.cells.size(); i-- > 0;) { out = lift.cells[i].around(std::move(out)); }
    return out;
  }
  // Moves calls that are evaluated unconditionally in front of the statement. Functions that only read may be called earlier.
  struct Lift : Mutator {
    using Mutator::on;
    Inliner& inliner;
    std::vector<Stmt> before;
    std::vector<Leaver> cells;
    explicit Lift(Inliner& i) : inliner(i) {}
    auto on(const Select& n) -> Expr override { return self(n); }
    auto on(const And& n) -> Expr override { return self(n); }
    auto on(const Or& n) -> Expr override { return self(n); }
    auto on(const Let& n) -> Expr override { return self(n); }
    auto on(const Reduce& n) -> Expr override { return self(n); }
    auto on(const Call& n) -> Expr override {
      static const Name if_then_else("if_then_else");
      if (n.op == if_then_else) { return self(n); }
      Expr changed = Mutator::on(n);
      const Call& call = *changed.as<Call>();
      if (!is_call_of_function(call)) { return changed; }
      PrimFunc func = inliner.callee(call, call.args);
      if (!func || !only_reads(func) || !(func->ret_type == call.dtype)) { return changed; }
      Leaver leaver(call.dtype, call.origin);
      std::optional<Stmt> inner = leaver.value() && always_ends_in_return(func->body) ? leaver.run(func->body) : std::nullopt;
      Stmt body = inner ? inliner.placed(call, func, std::move(*inner), call.args, {}) : Stmt();
      if (!body) { return changed; }
      before.push_back(std::move(body));
      cells.push_back(leaver);
      return make<BufferLoad>(leaver.value(), Array<Expr>{int_imm(0)}, call.origin);
    }
  };

  auto callee(const Call& call, const Array<Expr>& args) -> PrimFunc {
    Name name = callee_of(call);
    PrimFunc func = module_->find(name);
    bool is_open = std::find(open_.begin(), open_.end(), name) != open_.end();
    bool fits = func && args.size() == func->params.size() && same_target(module_->find(open_.front()), func);
    return fits && !is_open && made_ < inline_limit ? func : PrimFunc();
  }

  auto value_of_call(const Call& call) -> Expr {
    PrimFunc func = callee(call, call.args);
    if (!func || !func->buffer_map.empty()) { return {}; }
    Array<Expr> args = fitted(func, call.args);
    Expr value = value_of(func->body);
    if (!value || !(value.dtype() == call.dtype)) { return {}; }
    VarMap map;
    std::vector<std::pair<Var, Expr>> lets;
    for (size_t i = 0; i < args.size(); ++i) {
      const Var& param = func->params[i];
      if (!(param->dtype == args[i].dtype())) { return {}; }
      if (is_plain(args[i])) { map[param.get()] = args[i]; continue; }
      Var own = make<VarNode>(param->name, param->dtype, param->origin, param->pointer);
      map[param.get()] = own;
      lets.emplace_back(own, args[i]);
    }
    ++made_;
    open_.push_back(callee_of(call));
    Expr out = mutate(fold(value, map));
    open_.pop_back();
    for (size_t i = lets.size(); i-- > 0;) { out = make<Let>(lets[i].first, lets[i].second, std::move(out), call.origin); }
    return out;
  }

  auto body_of(const Call& call, const Array<Expr>& given_args, const std::vector<std::pair<Var, Expr>>& sizes = {}) -> Stmt {
    PrimFunc func = callee(call, given_args);
    if (!func) { return {}; }
    if (std::optional<Stmt> inner = without_return(func->body)) { return placed(call, func, std::move(*inner), given_args, sizes); }
    // The function returns inside a loop, so the statements after the return need a flag that leaves them out.
    Leaver leaver(DataType::void_(), call.origin);
    std::optional<Stmt> inner = leaver.run(without_values(func->body));
    Stmt body = inner ? placed(call, func, std::move(*inner), given_args, sizes) : Stmt();
    return body ? leaver.around(std::move(body)) : Stmt();
  }

  // The body of the function, with the call's arguments in place of its parameters.
  auto placed(const Call& call, const PrimFunc& func, Stmt body, const Array<Expr>& given_args, const std::vector<std::pair<Var, Expr>>& sizes) -> Stmt {
    static const Name address_of("address_of");
    Array<Expr> args = fitted(func, given_args);
    VarMap map;
    std::vector<std::pair<Var, Expr>> lets;
    std::set<const VarNode*> known;
    std::vector<Buffer> views;
    for (size_t i = 0; i < args.size(); ++i) {
      const Var& param = func->params[i];
      Buffer buffer = func->buffer_of(param);
      const Var& memory = buffer ? buffer->data : param;
      Expr given = args[i].as<BufferLoad>() && memory->dtype.is_handle() ? Expr(make<Call>(DataType::handle(), address_of, Array<Expr>{args[i]}, call.origin)) : args[i];
      if (!(memory->dtype == given.dtype())) { return {}; }
      known.insert(param.get());
      if (buffer) { views.push_back(buffer); }
      if (is_plain(given)) {
        map[memory.get()] = given;
      } else {
        Var own = make<VarNode>(memory->name, memory->dtype, memory->origin, memory->pointer);
        map[memory.get()] = own;
        lets.emplace_back(own, given);
      }
      if (buffer) { map[param.get()] = map[memory.get()]; }
    }
    for (const auto& [size, value] : sizes) {
      known.insert(size.get());
      if (is_plain(value)) { map[size.get()] = value; continue; }
      Var own = make<VarNode>(size->name, size->dtype, size->origin);
      map[size.get()] = own;
      lets.emplace_back(own, value);
    }
    // Sizes that depend on the caller's buffer are unknown here.
    auto is_open = [&](const VarNode& v) { return !known.contains(&v); };
    for (const Buffer& view : views) {
      for (const Expr& e : view->shape) { if (uses_var(e, is_open)) { return {}; } }
      for (const Expr& e : view->strides) { if (uses_var(e, is_open)) { return {}; } }
      if (view->elem_offset && uses_var(view->elem_offset, is_open)) { return {}; }
    }
    for (size_t i = views.size(); i-- > 0;) { body = make<DeclBuffer>(views[i], std::move(body), call.origin); }
    ++made_;
    open_.push_back(callee_of(call));
    body = mutate(fold(body, map, true));
    open_.pop_back();
    for (size_t i = lets.size(); i-- > 0;) { body = make<LetStmt>(lets[i].first, lets[i].second, std::move(body), call.origin); }
    return body;
  }

  const IRModule& module_;
  std::vector<Name> open_;   // the functions whose bodies are around this place, outermost first
  int made_ = 0;
};

auto all_called(const IRModule& module) -> std::set<Name> {
  std::set<Name> out;
  for (const auto& [name, func] : module->functions) {
    for (Name called : called_in(*module, func)) { out.insert(called); }
  }
  return out;
}

}  // namespace

auto inline_calls(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  std::set<Name> called = all_called(module);
  if (called.empty()) { return module; }
  std::vector<std::pair<Name, PrimFunc>> functions;
  for (const auto& [name, func] : module->functions) { functions.emplace_back(name, with_body(func, Inliner(module, name).mutate(func->body))); }
  IRModuleNode out = *module;
  out.functions = functions;
  std::set<Name> still = all_called(make_module(out));
  std::erase_if(functions, [&](const auto& entry) { return entry.second->is_private && called.contains(entry.first) && !still.contains(entry.first); });
  out.functions = std::move(functions);
  return make_module(std::move(out));
}

}  // namespace loopsmith::transform
