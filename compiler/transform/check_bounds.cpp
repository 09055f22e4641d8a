// Tests before accesses: see check_bounds.h.
#include "transform/check_bounds.h"

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::transform {
namespace {

class Check : public Mutator {
 public:
  explicit Check(const LowerContext& context) : context_(context) {}
  using Mutator::mutate;
  using Mutator::on;

  auto on(const BufferStore& n) -> Stmt override {
    std::vector<Stmt> out = of(n.value);
    for (const Expr& index : n.indices) { of(index, {}, out); }
    if (n.predicate) { of(n.predicate, {}, out); }
    std::vector<Expr> wanted;
    if (n.predicate && n.predicate.dtype().is_scalar()) { wanted.push_back(n.predicate); }
    access(n.buffer, n.indices, wanted, "written", n.origin, out);
    return before(std::move(out), self(n));
  }
  auto on(const Evaluate& n) -> Stmt override { return before(of(n.value), self(n)); }
  auto on(const LetStmt& n) -> Stmt override { return before(of(n.value), Mutator::on(n)); }
  auto on(const IfThenElse& n) -> Stmt override { return before(of(n.condition), Mutator::on(n)); }
  auto on(const AssertStmt& n) -> Stmt override { return before(of(n.condition), Mutator::on(n)); }
  auto on(const For& n) -> Stmt override {
    std::vector<Stmt> out = of(n.min);
    of(n.extent, {}, out);
    return before(std::move(out), Mutator::on(n));
  }
  auto on(const While& n) -> Stmt override {
    std::vector<Stmt> tests = of(n.condition);
    if (tests.empty()) { return Mutator::on(n); }
    // The tests run before the first evaluation of the condition and before every further one.
    Stmt body = seq({mutate(n.body), seq(tests)});
    return before(std::move(tests), make<While>(n.condition, std::move(body), n.origin));
  }

 private:
  static auto before(std::vector<Stmt> tests, Stmt stmt) -> Stmt {
    if (tests.empty()) { return stmt; }
    Origin origin = stmt.origin();
    tests.push_back(std::move(stmt));
    return seq(std::move(tests), origin);
  }
  auto of(const Expr& e) -> std::vector<Stmt> {
    std::vector<Stmt> out;
    of(e, {}, out);
    return out;
  }
  /// Adds the tests for the loads in an expression, innermost first. The expression is evaluated only if all conditions in `reached`
  /// hold; each of them is evaluated only if the ones before it hold.
  void of(const Expr& e, const std::vector<Expr>& reached, std::vector<Stmt>& out) {
    if (const auto* call = e.as<Call>(); call && call->op == "if_then_else" && call->args.size() == 3 && call->args[0].dtype().is_scalar()) {
      of(call->args[0], reached, out);
      auto under = [&](const Expr& c) {
        std::vector<Expr> both = reached;
        if (c.dtype().is_scalar()) { both.push_back(c); }
        return both;
      };
      of(call->args[1], under(call->args[0]), out);
      of(call->args[2], under(logical_not(call->args[0])), out);
      return;
    }
    // Taking an address is no access.
    if (const auto* call = e.as<Call>(); call && call->op == "address_of" && !call->args.empty()) {
      if (const auto* place = call->args[0].as<BufferLoad>()) {
        for (const Expr& index : place->indices) { of(index, reached, out); }
        return;
      }
    }
    if (const auto* let = e.as<Let>()) {
      of(let->value, reached, out);
      of(substitute(let->body, {{let->var.get(), let->value}}), reached, out);
      return;
    }
    visit_children(e, [&](const Expr& child) { of(child, reached, out); });
    if (const auto* load = e.as<BufferLoad>()) {
      std::vector<Expr> wanted = reached;
      if (load->predicate && load->predicate.dtype().is_scalar()) { wanted.push_back(load->predicate); }
      access(load->buffer, load->indices, wanted, "read", load->origin, out);
    }
  }
  void access(const Buffer& buffer, const Array<Expr>& indices, const std::vector<Expr>& reached, const char* how, Origin origin, std::vector<Stmt>& out) {
    if (indices.size() != buffer->shape.size()) { return; }
    std::string line = context_.where ? context_.where(origin) : "";
    for (size_t d = 0; d < indices.size(); ++d) {
      // Of a vector, the first and the last lane are tested.
      std::vector<Expr> ends = {indices[d]};
      if (const auto* ramp = indices[d].as<Ramp>()) { ends = {ramp->base, add(ramp->base, mul(ramp->stride, int_imm(ramp->dtype.lanes - 1, ramp->stride.dtype())))}; }
      if (!ends[0].dtype().is_scalar()) { continue; }
      for (const Expr& index : ends) {
        Expr extent = cast(index.dtype(), buffer->shape[d]);
        Expr fits = logical_and(less_equal(zero(index.dtype()), index), less(index, extent));
        if (is_one(fits)) { continue; }
        std::string text = fmt::format("index {{index}} of `{}`, {} here, is outside of its extent {{extent}} (dimension {}){}{}", buffer->name.str(), how, d,
                                       line.empty() ? "" : ", ", line);
        DataType i64 = DataType::int_(64);
        Stmt print = make<Evaluate>(make<Call>(DataType::int_(32), Name("call_extern"),
                                              Array<Expr>{make<StringImm>("loopsmith_out_of_bounds"), make<StringImm>(text), cast(i64, index), cast(i64, extent)}, origin), origin);
        Stmt stop = make<AssertStmt>(bool_imm(false), make<StringImm>(""), no_op(), origin);
        Stmt test = make<IfThenElse>(logical_not(std::move(fits)), seq({std::move(print), std::move(stop)}), Stmt(), origin);
        // Nested branches, because `a and b` evaluates both operands.
        for (auto it = reached.rbegin(); it != reached.rend(); ++it) { test = make<IfThenElse>(*it, std::move(test)); }
        out.push_back(std::move(test));
      }
    }
  }
  const LowerContext& context_;
};

}  // namespace

auto check_bounds(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  if (!context.options.check_bounds) { return module; }
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Check(context).mutate(func->body)); });
}

}  // namespace loopsmith::transform
