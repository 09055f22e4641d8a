// Rewrites calls as plain accesses, and guards values that masks exclude: see plain_accesses.h.
#include "transform/plain_accesses.h"

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/plain.h"
#include "ir/visitor.h"
#include "transform/affine.h"

namespace loopsmith::transform {
namespace {

// True when all lanes of the load lie in the buffer.
auto is_inside(const BufferLoad& load, const Domains& domains) -> bool {
  if (load.buffer->elem_offset || load.indices.size() != load.buffer->shape.size()) { return false; }
  for (size_t d = 0; d < load.indices.size(); ++d) {
    const auto* ramp = load.indices[d].as<Ramp>();
    auto extent = as_int(load.buffer->shape[d]);
    auto stride = ramp ? as_int(ramp->stride) : std::optional<int64_t>(0);
    Affine base = affine_of(ramp ? ramp->base : load.indices[d]);
    auto low = constant_min(base, domains);
    auto high = constant_max(base, domains);
    if (!extent || !stride || *stride < 0 || !low || !high || *low < 0 || *high + *stride * (load.indices[d].dtype().lanes - 1) >= *extent) { return false; }
  }
  return true;
}

// True when an expression may fail in lanes outside of the mask: it reads memory, divides by a possible 0, or calls an unknown function.
auto can_fail(const Expr& e, const Expr& mask, const Domains& domains) -> bool {
  bool found = false;
  post_order(e, [&](const Expr& x) {
    if (const auto* load = x.as<BufferLoad>()) { found = found || (load->dtype.lanes == mask.dtype().lanes && (!load->predicate || !structural_equal(load->predicate, mask)) && !is_inside(*load, domains)); }
    if (const auto* call = x.as<Call>()) { found = found || call->op.view().starts_with("@") || call->op == "call_extern" || call->op == "call_pure_extern"; }
    switch (x.kind()) {
      case NodeKind::Div: case NodeKind::Mod: case NodeKind::FloorDiv: case NodeKind::FloorMod: {
        const Expr& by = static_cast<const BinaryNode&>(*x).b;
        const auto* all = by.as<Broadcast>();
        auto number = as_int(all ? all->value : by);
        found = found || (x.dtype().is_integral() && (!number || *number == 0));
        break;
      }
      default: break;
    }
  });
  return found;
}

class Guard : public Mutator {
 public:
  using Mutator::on;

  auto on(const For& n) -> Stmt override {
    domains_.push(n.var.get(), n.min, n.extent);
    Stmt out = Mutator::on(n);
    domains_.pop();
    return out;
  }
  auto on(const BufferStore& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto& store = *out.as<BufferStore>();
    if (!store.predicate) { return out; }
    Expr value = guarded(store.value, store.predicate);
    Array<Expr> indices = guarded(store.indices, store.predicate);
    if (value.same_as(store.value) && indices.same_as(store.indices)) { return out; }
    return make<BufferStore>(store.buffer, std::move(value), std::move(indices), store.origin, store.predicate);
  }
  auto on(const BufferLoad& n) -> Expr override {
    Expr out = Mutator::on(n);
    const auto& load = *out.as<BufferLoad>();
    if (!load.predicate) { return out; }
    Array<Expr> indices = guarded(load.indices, load.predicate);
    return indices.same_as(load.indices) ? out : Expr(make<BufferLoad>(load.buffer, std::move(indices), load.origin, load.predicate));
  }

 private:
  auto guarded(const Expr& e, const Expr& mask) const -> Expr {
    int lanes = mask.dtype().lanes;
    if (!can_fail(e, mask, domains_) || e.dtype().is_handle() || (lanes != 1 && e.dtype().lanes != 1 && e.dtype().lanes != lanes)) { return e; }
    Expr value = lanes > 1 && e.dtype().lanes == 1 ? Expr(make<Broadcast>(e, int_imm(lanes), e.origin())) : e;
    Expr nothing = constant(value.dtype(), 0, e.origin());
    return if_then_else(mask, std::move(value), std::move(nothing), e.origin());
  }
  auto guarded(const Array<Expr>& all, const Expr& mask) const -> Array<Expr> {
    std::vector<Expr> out;
    bool is_same = true;
    for (const Expr& e : all) {
      out.push_back(guarded(e, mask));
      is_same = is_same && out.back().same_as(e);
    }
    return is_same ? all : Array<Expr>(std::move(out));
  }
  Domains domains_;
};

}  // namespace

auto plain_accesses(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> {
    PrimFunc plain = with_plain_accesses(func);
    return with_body(plain, Guard().mutate(plain->body));
  });
}

}  // namespace loopsmith::transform
