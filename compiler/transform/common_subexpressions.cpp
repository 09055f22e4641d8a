// Binds repeated values once: see common_subexpressions.h.
#include "transform/common_subexpressions.h"

#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/fault.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

constexpr int most_at_a_place = 64;

auto nodes_of(const Expr& e) -> int64_t {
  int64_t count = 0;
  post_order(e, [&](const Expr&) { ++count; });
  return count;
}

// True for arithmetic that cannot fail and is worth a variable.
auto is_shareable(const Expr& e) -> bool {
  if (!e.dtype().is_scalar() || e.dtype().is_handle() || e.as<VarNode>() || e.as<IntImm>() || e.as<FloatImm>() || e.as<Cast>()) { return false; }
  bool fine = true;
  post_order(e, [&](const Expr& x) {
    switch (x.kind()) {
      case NodeKind::BufferLoad:
      case NodeKind::Call:
      case NodeKind::Let:
      case NodeKind::Reduce:
      case NodeKind::Shuffle:
      case NodeKind::Ramp:
      case NodeKind::Broadcast:
      case NodeKind::StringImm: fine = false; break;
      case NodeKind::Div:
      case NodeKind::Mod:
      case NodeKind::FloorDiv:
      case NodeKind::FloorMod:
        fine = fine && (!x.dtype().is_integral() || as_int(static_cast<const BinaryNode*>(x.get())->b).value_or(0) > 0);
        break;
      default: break;
    }
  });
  return fine;
}

struct Candidate {
  Expr value;
  int64_t count = 0;
  int64_t size = 0;
};

// Collects the values of a body that could be bound in front of it.
class Collect : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;
  std::vector<Candidate> found;

  void run(const Stmt& stmt) {
    post_order(
        stmt,
        [&](const Stmt& s) {
          if (const auto* loop = s.as<For>()) { defined_.insert(loop->var.get()); }
          if (const auto* let = s.as<LetStmt>()) { defined_.insert(let->var.get()); }
          if (auto launch = as_thread_loop(s)) { defined_.insert(launch->var.get()); }
        },
        [&](const Expr& e) { if (const auto* let = e.as<Let>()) { defined_.insert(let->var.get()); } });
    post_order(stmt, [](const Stmt&) {}, [&](const Expr& e) { take(e); });
  }
  void take(const Expr& e) {
    if (!is_shareable(e) || uses_var(e, [&](const VarNode& v) { return defined_.contains(&v); })) { return; }
    auto& bucket = by_hash_[structural_hash(e)];
    for (size_t i : bucket) {
      if (!arith::deep_equal(found[i].value, e)) { continue; }
      ++found[i].count;
      return;
    }
    bucket.push_back(found.size());
    found.push_back({e, 1, nodes_of(e)});
  }

 private:
  std::unordered_set<const VarNode*> defined_;
  std::unordered_map<uint64_t, std::vector<size_t>> by_hash_;
};

class Replace : public Mutator {
 public:
  Replace(const Expr& value, const Var& var) : value_(value), var_(var), hash_(structural_hash(value)) {}
  using Mutator::mutate;
  using Mutator::on;
#define BINARY(Kind) \
  auto on(const Kind& n) -> Expr override { return same(self(n)) ? Expr(var_) : Mutator::on(n); }
#include "ir/nodes.def"
  auto on(const Not& n) -> Expr override { return same(self(n)) ? Expr(var_) : Mutator::on(n); }
  auto on(const Select& n) -> Expr override { return same(self(n)) ? Expr(var_) : Mutator::on(n); }

 private:
  auto same(const Expr& e) const -> bool { return e.dtype() == value_.dtype() && structural_hash(e) == hash_ && arith::deep_equal(e, value_); }
  const Expr& value_;
  const Var& var_;
  uint64_t hash_;
};

class Share : public Mutator {
 public:
  using Mutator::on;

  auto at_place(Stmt stmt) -> Stmt {
    std::vector<std::pair<Var, Expr>> lets;   // innermost first
    for (int i = 0; i < most_at_a_place; ++i) {
      Collect collect;
      collect.run(stmt);
      for (const auto& [v, value] : lets) { post_order(value, [&](const Expr& e) { collect.take(e); }); }
      const Candidate* best = nullptr;
      for (const Candidate& c : collect.found) {
        if (c.count > 1 && (!best || c.size > best->size)) { best = &c; }
      }
      if (!best) { break; }
      Expr value = best->value;
      Var name = var("cse", value.dtype(), value.origin());
      Replace replace(value, name);
      stmt = replace.mutate(stmt);
      for (auto& let : lets) { let.second = replace.mutate(let.second); }
      lets.emplace_back(std::move(name), FAULT(cse_wrong_value) && value.dtype() == DataType::int_(32) ? add(value, one(value.dtype())) : value);
    }
    stmt = mutate(stmt);
    for (auto& [v, value] : lets) { stmt = make<LetStmt>(v, value, std::move(stmt), value.origin()); }
    return stmt;
  }

  auto on(const For& n) -> Stmt override {
    Stmt body = at_place(n.body);
    if (body.same_as(n.body)) { return self(n); }
    return make<For>(n.var, n.min, n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
  }
  auto on(const IfThenElse& n) -> Stmt override {
    Stmt yes = at_place(n.then_case);
    Stmt no = n.else_case ? at_place(n.else_case) : Stmt();
    if (yes.same_as(n.then_case) && no.same_as(n.else_case)) { return self(n); }
    return make<IfThenElse>(n.condition, std::move(yes), std::move(no), n.origin);
  }
  auto on(const LetStmt& n) -> Stmt override {
    Stmt body = at_place(n.body);
    return body.same_as(n.body) ? self(n) : Stmt(make<LetStmt>(n.var, n.value, std::move(body), n.origin));
  }
  // Inside of all launches, which stand together.
  auto on(const AttrStmt& n) -> Stmt override {
    if (!as_thread_loop(self(n)) || as_thread_loop(n.body)) { return Mutator::on(n); }
    Stmt body = at_place(n.body);
    return body.same_as(n.body) ? self(n) : Stmt(make<AttrStmt>(n.node, n.key, n.value, std::move(body), n.origin));
  }
  // The variables go inside of allocations and declarations of buffers, which their values may use.
  auto on(const Allocate& n) -> Stmt override { return Mutator::on(n); }
};

}  // namespace

auto common_subexpressions(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  if (!context.options.share_subexpressions) { return module; }
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Share().at_place(func->body)); });
}

}  // namespace loopsmith::transform
