// Turns reductions in expressions into loops: see lower_reductions.h.
#include "transform/lower_reductions.h"

#include <vector>

#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::transform {
namespace {

// Extracts reductions from an expression.
class Pull : public Mutator {
 public:
  using Mutator::on;
  std::vector<Buffer> sums;
  std::vector<Stmt> before;

  auto on(const Reduce& n) -> Expr override {
    static const Name name("reduced"), scope("local");
    const CommReducerNode& combiner = *n.combiner;
    size_t count = n.source.size();
    Array<Expr> at{int_imm(0)};
    std::vector<Buffer> own;
    VarMap values;
    std::vector<Stmt> body;
    // Another reduction may use the same axis.
    VarMap own_axes;
    std::vector<Var> loops;
    for (const IterVar& iter : n.axis) {
      loops.push_back(make<VarNode>(iter.var->name, iter.var->dtype, iter.var->origin));
      own_axes[iter.var.get()] = loops.back();
    }
    for (size_t i = 0; i < count; ++i) {
      DataType t = n.source[i].dtype();
      BufferNode fields;
      fields.name = name;
      fields.data = make<VarNode>(name, DataType::handle(), n.origin, PointerType{t, scope});
      fields.dtype = t;
      fields.shape = Array<Expr>{int_imm(1)};
      fields.origin = n.origin;
      own.push_back(make_buffer(std::move(fields)));
      before.push_back(make<BufferStore>(own[i], n.init.size() == 0 ? combiner.identity[i] : n.init[i], at, n.origin));
      values[combiner.lhs[i].get()] = make<BufferLoad>(own[i], at, n.origin);
      values[combiner.rhs[i].get()] = substitute(n.source[i], own_axes);
    }
    // All values of a reduction over several values are computed before the first is stored.
    std::vector<Var> fresh;
    for (size_t i = 0; i < count; ++i) {
      Expr value = substitute(combiner.result[i], values);
      if (count > 1) {
        fresh.push_back(make<VarNode>(Name("next"), value.dtype(), n.origin));
        body.push_back(make<BufferStore>(own[i], Expr(fresh[i]), at, n.origin));
      } else {
        body.push_back(make<BufferStore>(own[i], std::move(value), at, n.origin));
      }
    }
    Stmt step = seq(std::move(body), n.origin);
    for (size_t i = fresh.size(); i-- > 0;) { step = make<LetStmt>(fresh[i], substitute(combiner.result[i], values), std::move(step), n.origin); }
    if (n.condition && !is_one(n.condition)) { step = make<IfThenElse>(substitute(n.condition, own_axes), std::move(step), Stmt(), n.origin); }
    for (size_t i = n.axis.size(); i-- > 0;) {
      step = make<For>(loops[i], n.axis[i].dom.min, n.axis[i].dom.extent, ForKind::Serial, std::move(step), std::optional<IterVar>(), AttrMap(), n.origin);
    }
    before.push_back(std::move(step));
    sums.insert(sums.end(), own.begin(), own.end());
    return make<BufferLoad>(own[static_cast<size_t>(n.value_index)], at, n.origin);
  }
  auto on(const Let& n) -> Expr override {
    Expr value = mutate(n.value);
    return value.same_as(n.value) ? self(n) : make<Let>(n.var, std::move(value), n.body, n.origin);
  }
  auto on(const Call& n) -> Expr override {
    static const Name choice("if_then_else");
    if (n.op != choice || n.args.size() != 3) { return Mutator::on(n); }
    Expr condition = mutate(n.args[0]);
    return condition.same_as(n.args[0]) ? self(n) : make<Call>(n.dtype, n.op, Array<Expr>{std::move(condition), n.args[1], n.args[2]}, n.origin);
  }
};

class LowerReductions : public Mutator {
 public:
  using Mutator::on;
  auto on(const BufferStore& n) -> Stmt override {
    Pull pull;
    Array<Expr> indices = pull.mutate(n.indices);
    Expr value = pull.mutate(n.value);
    return pull.sums.empty() ? self(n) : around(pull, make<BufferStore>(n.buffer, std::move(value), std::move(indices), n.origin, n.predicate), n.origin);
  }
  auto on(const Evaluate& n) -> Stmt override {
    Pull pull;
    Expr value = pull.mutate(n.value);
    return pull.sums.empty() ? self(n) : around(pull, make<Evaluate>(std::move(value), n.origin), n.origin);
  }
  auto on(const LetStmt& n) -> Stmt override {
    Pull pull;
    Expr value = pull.mutate(n.value);
    Stmt body = mutate(n.body);
    if (pull.sums.empty() && body.same_as(n.body)) { return self(n); }
    return around(pull, make<LetStmt>(n.var, std::move(value), std::move(body), n.origin), n.origin);
  }
  auto on(const IfThenElse& n) -> Stmt override {
    Pull pull;
    Expr condition = pull.mutate(n.condition);
    Stmt inner = Mutator::on(n);
    if (pull.sums.empty()) { return inner; }
    const auto& branch = *inner.as<IfThenElse>();
    return around(pull, make<IfThenElse>(std::move(condition), branch.then_case, branch.else_case, n.origin), n.origin);
  }

 private:
  // A source may contain further reductions.
  auto around(Pull& pull, Stmt last, Origin origin) -> Stmt {
    if (pull.sums.empty()) { return last; }
    std::vector<Stmt> all;
    for (const Stmt& s : pull.before) { all.push_back(mutate(s)); }
    all.push_back(std::move(last));
    Stmt out = seq(std::move(all), origin);
    for (size_t i = pull.sums.size(); i-- > 0;) {
      const Buffer& b = pull.sums[i];
      out = make<Allocate>(b->data, b->dtype, b->shape, bool_imm(true), make<DeclBuffer>(b, std::move(out), origin), AttrMap(), origin);
    }
    return out;
  }
};

}  // namespace

auto lower_reductions(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, LowerReductions().mutate(func->body)); });
}

}  // namespace loopsmith::transform
