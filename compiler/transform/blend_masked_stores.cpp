// Replaces masks by selects: see blend_masked_stores.h.
#include "transform/blend_masked_stores.h"

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/fault.h"
#include "support/scoped_value.h"
#include "transform/affine.h"

namespace loopsmith::transform {
namespace {

class Blend : public Mutator {
 public:
  using Mutator::on;

  auto on(const For& n) -> Stmt override {
    const bool threads = n.for_kind == ForKind::Parallel || n.for_kind == ForKind::ThreadBinding;
    std::unordered_map<const VarNode*, int64_t> outer;
    if (threads) { outer = std::exchange(own_, {}); }
    domains_.push(n.var.get(), n.min, n.extent);
    Stmt out = Mutator::on(n);
    domains_.pop();
    if (threads) { own_ = std::move(outer); }
    return out;
  }
  auto on(const Allocate& n) -> Stmt override {
    int64_t elements = 1;
    for (const Expr& e : n.extents) {
      auto extent = as_int(e);
      if (!extent || *extent <= 0 || *extent > (int64_t{1} << 30) || elements > (int64_t{1} << 30)) { elements = 0; break; }
      elements *= *extent;
    }
    if (elements > 0) { own_[n.data.get()] = elements * n.dtype.element_bytes() * n.dtype.lanes; }
    Stmt out = Mutator::on(n);
    own_.erase(n.data.get());
    return out;
  }
  auto on(const BufferStore& n) -> Stmt override {
    if (!n.predicate || !is_whole(n.buffer, n.indices)) { return Mutator::on(n); }
    // The select discards the values of unmasked lanes, so loads of local memory in the value need no mask.
    Expr value;
    {
      ScopedValue inside(discarded_, n.predicate);
      value = mutate(n.value);
    }
    Expr predicate = mutate(n.predicate);
    if (predicate.dtype().is_scalar() && value.dtype().is_vector()) { predicate = make<Broadcast>(predicate, int_imm(value.dtype().lanes), predicate.origin()); }
    Expr old = make<BufferLoad>(n.buffer, n.indices, n.origin);
    if (FAULT(blend_swapped)) { std::swap(value, old); }
    return make<BufferStore>(n.buffer, make<Select>(std::move(predicate), std::move(value), std::move(old), n.origin), n.indices, n.origin);
  }
  auto on(const BufferLoad& n) -> Expr override {
    if (!n.predicate || !is_whole(n.buffer, n.indices)) { return Mutator::on(n); }
    Expr plain = make<BufferLoad>(n.buffer, n.indices, n.origin);
    if (discarded_ && (discarded_.same_as(n.predicate) || arith::deep_equal(discarded_, n.predicate))) { return plain; }
    Expr predicate = mutate(n.predicate);
    if (predicate.dtype().is_scalar() && plain.dtype().is_vector()) { predicate = make<Broadcast>(predicate, int_imm(plain.dtype().lanes), predicate.origin()); }
    Expr nothing = constant(plain.dtype(), 0);
    return make<Select>(std::move(predicate), std::move(plain), std::move(nothing), n.origin);
  }

 private:
  // True for accesses to neighbouring elements that all lie in local memory.
  auto is_whole(const Buffer& buffer, const Array<Expr>& indices) const -> bool {
    auto own = own_.find(buffer->data.get());
    if (own == own_.end() || indices.size() != 1 || buffer->elem_offset || !buffer->strides.empty() || buffer->dtype.is_vector()) { return false; }
    const auto* ramp = indices[0].as<Ramp>();
    if (!ramp || !is_one(ramp->stride)) { return false; }
    Affine base = affine_of(ramp->base);
    auto low = constant_min(base, domains_);
    auto high = constant_max(base, domains_);
    return low && high && *low >= 0 && (*high + indices[0].dtype().lanes) * buffer->dtype.element_bytes() <= own->second;
  }

  Domains domains_;
  std::unordered_map<const VarNode*, int64_t> own_;   // bytes of buffers that only this thread accesses
  Expr discarded_;                                    // the mask of the store around: lanes in which it is false are discarded
};

}  // namespace

auto blend_masked_stores(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Blend().mutate(func->body)); });
}

}  // namespace loopsmith::transform
