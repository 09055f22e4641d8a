// Substitution with folding: see fold.h.
#include "transform/fold.h"

#include <algorithm>

#include "ir/ops.h"

namespace loopsmith::transform {
namespace {

// Splits x + c into x and c, for adding up constants.
auto split_constant(const Expr& e) -> std::pair<Expr, int64_t> {
  if (const auto* sum = e.as<Add>()) {
    if (const auto* c = sum->b.as<IntImm>()) { return {sum->a, c->value}; }
  }
  return {e, 0};
}

class Folder : public Mutator {
 public:
  Folder(const VarMap& map, bool copy) : map_(map), copy_(copy) {}
  using Mutator::mutate;
  using Mutator::on;

  auto on(const VarNode& n) -> Expr override {
    auto local = renamed_.find(&n);
    if (local != renamed_.end()) { return local->second; }
    auto found = map_.find(&n);
    return found == map_.end() ? self(n) : found->second;
  }
  auto on(const Cast& n) -> Expr override {
    Expr value = mutate(n.value);
    if (value.as<IntImm>() && n.dtype.is_integral()) { return cast(n.dtype, value, n.origin); }
    if (value.same_as(n.value)) { return self(n); }
    return make<Cast>(n.dtype, std::move(value), n.origin);
  }
#define FOLD(Kind, function)                                                         \
  auto on(const Kind& n) -> Expr override {                                          \
    Expr a = mutate(n.a);                                                            \
    Expr b = mutate(n.b);                                                            \
    bool kept = a.same_as(n.a) && b.same_as(n.b);                                    \
    bool constant = a.as<IntImm>() || b.as<IntImm>();                                \
    if (kept && !constant) { return self(n); }                                       \
    if (!a.dtype().is_integral()) {                                                  \
      return kept ? self(n) : Expr(make<Kind>(std::move(a), std::move(b), n.origin)); \
    }                                                                                \
    return function(std::move(a), std::move(b), n.origin);                           \
  }
  FOLD(Sub, sub)
  FOLD(Mul, mul)
  FOLD(Div, div)
  FOLD(Mod, truncmod)
  FOLD(FloorDiv, floordiv)
  FOLD(FloorMod, floormod)
  FOLD(Min, min)
  FOLD(Max, max)
  FOLD(EQ, equal)
  FOLD(NE, not_equal)
  FOLD(LT, less)
  FOLD(LE, less_equal)
  FOLD(GT, greater)
  FOLD(GE, greater_equal)
  FOLD(And, logical_and)
  FOLD(Or, logical_or)
#undef FOLD
  auto on(const Add& n) -> Expr override {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    bool kept = a.same_as(n.a) && b.same_as(n.b);
    if (!n.dtype.is_integral() || !n.dtype.is_scalar()) {
      return kept ? self(n) : Expr(make<Add>(std::move(a), std::move(b), n.origin));
    }
    if (a.as<IntImm>() && b.as<IntImm>()) { return add(std::move(a), std::move(b), n.origin); }
    if (a.as<IntImm>()) { std::swap(a, b); }
    auto [ra, ca] = split_constant(a);
    auto [rb, cb] = b.as<IntImm>() ? std::pair<Expr, int64_t>(Expr(), b.as<IntImm>()->value) : split_constant(b);
    if (rb && ca == 0 && cb == 0) { return kept ? self(n) : add(std::move(a), std::move(b), n.origin); }
    if (kept && !rb && ca == 0 && cb != 0) { return self(n); }
    Expr rest = rb ? add(ra, rb, n.origin) : ra;
    return add(std::move(rest), int_imm(ca + cb, n.dtype), n.origin);
  }
  auto on(const Not& n) -> Expr override {
    Expr a = mutate(n.a);
    if (a.as<IntImm>()) { return logical_not(std::move(a), n.origin); }
    return a.same_as(n.a) ? self(n) : Expr(make<Not>(std::move(a), n.origin));
  }
  auto on(const Select& n) -> Expr override {
    Expr c = mutate(n.condition);
    if (const auto* imm = c.as<IntImm>()) { return mutate(imm->value ? n.true_value : n.false_value); }
    Expr t = mutate(n.true_value);
    Expr f = mutate(n.false_value);
    if (c.same_as(n.condition) && t.same_as(n.true_value) && f.same_as(n.false_value)) { return self(n); }
    return make<Select>(std::move(c), std::move(t), std::move(f), n.origin);
  }
  auto on(const Call& n) -> Expr override {
    static const Name if_then_else_name("if_then_else");
    static const Name likely_name("likely");
    if (n.op == if_then_else_name && n.args.size() == 3) {
      Expr c = mutate(n.args[0]);
      if (const auto* imm = c.as<IntImm>()) { return mutate(imm->value ? n.args[1] : n.args[2]); }
    }
    if (n.op == likely_name && n.args.size() == 1) {
      Expr c = mutate(n.args[0]);
      if (c.as<IntImm>()) { return c; }
    }
    return Mutator::on(n);
  }
  auto on(const IfThenElse& n) -> Stmt override {
    Expr c = mutate(n.condition);
    if (const auto* imm = c.as<IntImm>()) {
      if (imm->value) { return mutate(n.then_case); }
      return n.else_case ? mutate(n.else_case) : no_op();
    }
    Stmt t = mutate(n.then_case);
    Stmt e = n.else_case ? mutate(n.else_case) : Stmt();
    if (e && is_no_op(e)) { e = {}; }
    if (is_no_op(t) && !e) { return no_op(); }
    if (c.same_as(n.condition) && t.same_as(n.then_case) && e.same_as(n.else_case)) { return self(n); }
    return make<IfThenElse>(std::move(c), std::move(t), std::move(e), n.origin);
  }
  auto on(const For& n) -> Stmt override {
    if (!copy_) { return Mutator::on(n); }
    Var var = declare(n.var);
    Expr min = mutate(n.min);
    Expr extent = mutate(n.extent);
    Stmt body = mutate(n.body);
    return make<For>(std::move(var), std::move(min), std::move(extent), n.for_kind, std::move(body), n.thread, n.annotations, n.origin);
  }

 protected:
  auto use(const Buffer& buffer) -> Buffer override {
    auto done = buffers_.find(buffer.get());
    if (done != buffers_.end()) { return done->second; }
    // Keeps buffers declared outside of the statement, unless they contain a replaced variable.
    auto is_replaced = [&](const VarNode& v) { return map_.contains(&v) || renamed_.contains(&v); };
    auto changes = [&](const Expr& e) { return e && uses_var(e, is_replaced); };
    if (!is_replaced(*buffer->data) && !changes(buffer->elem_offset) && std::none_of(buffer->shape.begin(), buffer->shape.end(), changes) &&
        std::none_of(buffer->strides.begin(), buffer->strides.end(), changes)) {
      return buffer;
    }
    BufferNode fields = *buffer;
    fields.shape = mutate(buffer->shape);
    fields.strides = mutate(buffer->strides);
    fields.elem_offset = buffer->elem_offset ? mutate(buffer->elem_offset) : Expr();
    Expr data = on(*buffer->data);
    if (data.as<VarNode>()) { fields.data = data.ref<VarNode>(); }
    Buffer out = buffer;
    if (!fields.shape.same_as(buffer->shape) || !fields.strides.same_as(buffer->strides) ||
        !fields.elem_offset.same_as(buffer->elem_offset) || fields.data != buffer->data) {
      out = make_buffer(std::move(fields));
    }
    buffers_.emplace(buffer.get(), out);
    kept_.push_back(buffer);
    return out;
  }
  // Each copy declares its own variables.
  auto declare(const Var& var) -> Var override {
    if (!copy_) {
      auto found = map_.find(var.get());
      return found != map_.end() && found->second.as<VarNode>() ? found->second.ref<VarNode>() : var;
    }
    Var fresh = make<VarNode>(var->name, var->dtype, var->origin, var->pointer);
    renamed_[var.get()] = fresh;
    return fresh;
  }
  using Mutator::declare;

 private:
  const VarMap& map_;
  bool copy_;
  VarMap renamed_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
  std::vector<Buffer> kept_;
};

}  // namespace

auto fold(const Expr& expr, const VarMap& map) -> Expr { return Folder(map, false).mutate(expr); }
auto fold(const Stmt& stmt, const VarMap& map, bool copy) -> Stmt { return Folder(map, copy).mutate(stmt); }

}  // namespace loopsmith::transform
