// Functions in place of their calls: see inline_calls.h.
#include "transform/inline_calls.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "transform/fold.h"

namespace loopsmith::transform {
namespace {

auto is_call_of_function(const Call& call) -> bool { return call.op.view().starts_with("@"); }
auto callee_of(const Call& call) -> Name { return Name(call.op.view().substr(1)); }

auto as_return(const Stmt& s) -> const Call* {
  static const Name ret("ret");
  const auto* evaluate = s.as<Evaluate>();
  const auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
  return call && call->op == ret ? call : nullptr;
}

auto count_returns(const Stmt& s) -> int {
  int n = 0;
  post_order(s, [&](const Stmt& x) { n += as_return(x) ? 1 : 0; }, [](const Expr&) {});
  return n;
}

// Without the `return` it ends in; none: it ends in something else.
auto without_last_return(const Stmt& s) -> std::optional<Stmt> {
  if (as_return(s)) { return no_op(); }
  if (const auto* all = s.as<SeqStmt>()) {
    auto last = without_last_return(all->seq[all->seq.size() - 1]);
    if (!last) { return std::nullopt; }
    std::vector<Stmt> kept(all->seq.begin(), all->seq.end());
    kept.back() = std::move(*last);
    return seq(std::move(kept), all->origin);
  }
  // What stands around the rest of a body.
  auto around = [](const auto* n, auto&& make_again) -> std::optional<Stmt> {
    auto body = without_last_return(n->body);
    return body ? std::optional<Stmt>(make_again(*n, std::move(*body))) : std::nullopt;
  };
  if (const auto* n = s.as<LetStmt>()) { return around(n, [](const LetStmt& x, Stmt body) { return Stmt(make<LetStmt>(x.var, x.value, std::move(body), x.origin)); }); }
  if (const auto* n = s.as<DeclBuffer>()) { return around(n, [](const DeclBuffer& x, Stmt body) { return Stmt(make<DeclBuffer>(x.buffer, std::move(body), x.origin)); }); }
  if (const auto* n = s.as<Allocate>()) {
    return around(n, [](const Allocate& x, Stmt body) { return Stmt(make<Allocate>(x.data, x.dtype, x.extents, x.condition, std::move(body), x.annotations, x.origin)); });
  }
  if (const auto* n = s.as<AttrStmt>()) { return around(n, [](const AttrStmt& x, Stmt body) { return Stmt(make<AttrStmt>(x.node, x.key, x.value, std::move(body), x.origin)); }); }
  return std::nullopt;
}

// A body that returns at its end or not at all, without that; none where it returns elsewhere.
auto without_return(const Stmt& s) -> std::optional<Stmt> {
  int returns = count_returns(s);
  return returns == 0 ? std::optional<Stmt>(s) : returns == 1 ? without_last_return(s) : std::nullopt;
}

// The value that a body returns; none where it does more than find one.
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
    // `if c: return a`, then the rest.
    const auto* branch = all->seq[0].as<IfThenElse>();
    if (!branch || branch->else_case) {
      // What follows a `return` is not reached.
      return branch || as_return(all->seq[0]) ? value_of(all->seq[0]) : Expr();
    }
    std::vector<Stmt> rest(all->seq.begin() + 1, all->seq.end());
    return choice(*branch, value_of(rest.size() == 1 ? rest[0] : Stmt(make<SeqStmt>(std::move(rest), all->origin))));
  }
  return {};
}

// Are both for one machine? A call of what another runs is a launch, and stays one.
auto same_target(const PrimFunc& a, const PrimFunc& b) -> bool {
  static const Name target("target");
  const Attr* of_a = find_attr(a->attrs, target);
  const Attr* of_b = find_attr(b->attrs, target);
  return !of_a || !of_b || structural_equal(*of_a, *of_b);
}

// May it be written several times?
auto is_plain(const Expr& e) -> bool { return e.as<VarNode>() || e.as<IntImm>() || e.as<FloatImm>(); }

class Inliner : public Mutator {
 public:
  Inliner(const IRModule& module, Name function) : module_(module) { open_.push_back(function); }
  using Mutator::mutate;
  using Mutator::on;

  auto on(const Evaluate& n) -> Stmt override {
    const auto* call = n.value.as<Call>();
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

 private:
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
    Expr value = value_of(func->body);
    if (!value || !(value.dtype() == call.dtype)) { return {}; }
    VarMap map;
    std::vector<std::pair<Var, Expr>> lets;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const Var& param = func->params[i];
      if (!(param->dtype == call.args[i].dtype())) { return {}; }
      if (is_plain(call.args[i])) { map[param.get()] = call.args[i]; continue; }
      Var own = make<VarNode>(param->name, param->dtype, param->origin, param->pointer);
      map[param.get()] = own;
      lets.emplace_back(own, call.args[i]);
    }
    ++made_;
    open_.push_back(callee_of(call));
    Expr out = mutate(fold(value, map));
    open_.pop_back();
    for (size_t i = lets.size(); i-- > 0;) { out = make<Let>(lets[i].first, lets[i].second, std::move(out), call.origin); }
    return out;
  }

  auto body_of(const Call& call, const Array<Expr>& args) -> Stmt {
    static const Name address_of("address_of");
    PrimFunc func = callee(call, args);
    std::optional<Stmt> inner = func ? without_return(func->body) : std::nullopt;
    if (!inner) { return {}; }
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
    // Sizes that only the caller's buffer would tell are not known here.
    auto is_open = [&](const VarNode& v) { return !known.contains(&v); };
    for (const Buffer& view : views) {
      for (const Expr& e : view->shape) { if (uses_var(e, is_open)) { return {}; } }
      for (const Expr& e : view->strides) { if (uses_var(e, is_open)) { return {}; } }
      if (view->elem_offset && uses_var(view->elem_offset, is_open)) { return {}; }
    }
    Stmt body = std::move(*inner);
    for (size_t i = views.size(); i-- > 0;) { body = make<DeclBuffer>(views[i], std::move(body), call.origin); }
    ++made_;
    open_.push_back(callee_of(call));
    body = mutate(fold(body, map, true));
    open_.pop_back();
    for (size_t i = lets.size(); i-- > 0;) { body = make<LetStmt>(lets[i].first, lets[i].second, std::move(body), call.origin); }
    return body;
  }

  const IRModule& module_;
  std::vector<Name> open_;   // functions whose bodies stand around, the one that is changed first
  int made_ = 0;
};

auto called_in(const IRModule& module) -> std::set<Name> {
  std::set<Name> out;
  for (const auto& [name, func] : module->functions) {
    post_order(func->body, [](const Stmt&) {}, [&](const Expr& e) {
      const auto* call = e.as<Call>();
      if (call && is_call_of_function(*call)) { out.insert(callee_of(*call)); }
    });
  }
  return out;
}

}  // namespace

auto inline_calls(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  std::set<Name> called = called_in(module);
  if (called.empty()) { return module; }
  std::vector<std::pair<Name, PrimFunc>> functions;
  for (const auto& [name, func] : module->functions) { functions.emplace_back(name, with_body(func, Inliner(module, name).mutate(func->body))); }
  IRModuleNode out = *module;
  out.functions = functions;
  std::set<Name> still = called_in(make_module(out));
  std::erase_if(functions, [&](const auto& entry) { return entry.second->is_private && called.contains(entry.first) && !still.contains(entry.first); });
  out.functions = std::move(functions);
  return make_module(std::move(out));
}

}  // namespace loopsmith::transform
