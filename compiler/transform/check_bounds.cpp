// Tests before accesses: see check_bounds.h.
#include "transform/check_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/element_bytes.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/strides.h"
#include "ir/visitor.h"

namespace loopsmith::transform {
namespace {

class Check : public Mutator {
 public:
  Check(const LowerContext& context, const PrimFunc& func) : context_(context) {
    for (const auto& [param, buffer] : func->buffer_map) {
      if (buffer->strides.empty() && !buffer->elem_offset) { memory_.emplace(buffer->data.get(), Memory{buffer->dtype, buffer->shape}); }
    }
  }
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
  auto on(const Allocate& n) -> Stmt override {
    memory_.emplace(n.data.get(), Memory{n.dtype, n.extents});
    return Mutator::on(n);
  }
  auto on(const LetStmt& n) -> Stmt override {
    // `p = A.data`
    if (auto known = memory_.find(n.value.as<VarNode>()); known != memory_.end()) {
      Memory same = known->second;
      memory_.emplace(n.var.get(), std::move(same));
    }
    return before(of(n.value), Mutator::on(n));
  }
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
  /// A test with a message, under the conditions for which the access runs.
  static auto test(Expr fits, std::string text, Expr index, Expr extent, const std::vector<Expr>& reached, Origin origin) -> Stmt {
    DataType i64 = DataType::int_(64);
    Stmt print = make<Evaluate>(make<Call>(DataType::int_(32), Name("call_extern"),
                                          Array<Expr>{make<StringImm>("loopsmith_out_of_bounds"), make<StringImm>(std::move(text)), cast(i64, std::move(index)), cast(i64, std::move(extent))}, origin), origin);
    Stmt stop = make<AssertStmt>(bool_imm(false), make<StringImm>(""), no_op(), origin);
    Stmt out = make<IfThenElse>(logical_not(std::move(fits)), seq({std::move(print), std::move(stop)}), Stmt(), origin);
    // Nested branches, because `a and b` evaluates both operands.
    for (auto it = reached.rbegin(); it != reached.rend(); ++it) { out = make<IfThenElse>(*it, std::move(out)); }
    return out;
  }
  void access(const Buffer& buffer, const Array<Expr>& indices, const std::vector<Expr>& reached, const char* how, Origin origin, std::vector<Stmt>& out) {
    if (indices.size() != buffer->shape.size()) { return; }
    std::string line = context_.where ? context_.where(origin) : "";
    if (!line.empty()) { line = ", " + line; }
    std::vector<Expr> last;
    for (size_t d = 0; d < indices.size(); ++d) {
      // The first and the last lane of a vector are tested.
      std::vector<Expr> ends = {indices[d]};
      if (const auto* ramp = indices[d].as<Ramp>()) { ends = {ramp->base, add(ramp->base, mul(ramp->stride, int_imm(ramp->dtype.lanes - 1, ramp->stride.dtype())))}; }
      if (!ends[0].dtype().is_scalar()) { continue; }
      last.push_back(ends.back());
      for (const Expr& index : ends) {
        Expr extent = cast(index.dtype(), buffer->shape[d]);
        Expr fits = logical_and(less_equal(zero(index.dtype()), index), less(index, extent));
        if (is_one(fits)) { continue; }
        out.push_back(test(std::move(fits), fmt::format("index {{index}} of `{}`, {} here, is outside of its extent {{extent}} (dimension {}){}", buffer->name.str(), how, d, line), index, std::move(extent), reached, origin));
      }
    }
    if (last.size() == indices.size()) { within_memory(buffer, last, reached, fmt::format("{} here, is outside of its memory of {{extent}} elements{}", how, line), origin, out); }
  }

  /// Adds a test that the element lies in the memory on which its buffer is declared; none if the buffer is known to fit there.
  void within_memory(const Buffer& buffer, const std::vector<Expr>& indices, const std::vector<Expr>& reached, const std::string& text, Origin origin, std::vector<Stmt>& out) {
    auto memory = memory_.find(buffer->data.get());
    auto size = bytes_of_element(*buffer);
    if (memory == memory_.end() || !size) { return; }
    const DataType i64 = DataType::int_(64);
    auto product = [&](const Array<Expr>& shape) {
      Expr all = int_imm(1, i64);
      for (const Expr& e : shape) { all = mul(all, cast(i64, e)); }
      return all;
    };
    Expr offset = buffer->elem_offset ? cast(i64, buffer->elem_offset) : int_imm(0, i64);
    Expr held = floordiv(mul(product(memory->second.shape), int_imm(int64_t{memory->second.dtype.element_bytes()} * memory->second.dtype.lanes, i64)), int_imm(*size, i64));
    if (!is_strided(buffer)) {
      const bool is_same = memory->second.dtype == buffer->dtype && is_zero(offset) && memory->second.shape.size() == buffer->shape.size() &&
                           std::equal(buffer->shape.begin(), buffer->shape.end(), memory->second.shape.begin(), [](const Expr& a, const Expr& b) { return structural_equal(a, b); });
      if (is_same || is_one(less_equal(add(offset, product(buffer->shape)), held))) { return; }
    }
    Expr at = offset, step = int_imm(1, i64);
    for (size_t d = indices.size(); d-- > 0;) {
      at = add(at, mul(cast(i64, indices[d]), is_strided(buffer) ? cast(i64, buffer->strides[d]) : step));
      step = mul(step, cast(i64, buffer->shape[d]));
    }
    Expr fits = logical_and(less_equal(int_imm(0, i64), at), less(at, held));
    if (!is_one(fits)) { out.push_back(test(std::move(fits), fmt::format("element {{index}} of `{}`, {}", buffer->name.str(), text), at, held, reached, origin)); }
  }

  struct Memory { DataType dtype; Array<Expr> shape; };
  std::unordered_map<const VarNode*, Memory> memory_;
  const LowerContext& context_;
};

}  // namespace

auto check_bounds(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  if (!context.options.check_bounds) { return module; }
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Check(context, func).mutate(func->body)); });
}

}  // namespace loopsmith::transform
