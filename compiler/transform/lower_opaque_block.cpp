// Turns blocks into plain statements: see lower_opaque_block.h.
#include "transform/lower_opaque_block.h"

#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/rewritten_buffer.h"
#include "ir/strides.h"
#include "ir/visitor.h"
#include "transform/fold.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

auto is_pragma(Name key) -> bool { return key.view().starts_with("pragma_"); }

// Wraps a statement in attributes for the pragmas among the annotations, sorted by name from outside inwards.
auto with_pragmas(const AttrMap& annotations, Stmt body, Origin origin) -> Stmt {
  for (size_t i = annotations.size(); i-- > 0;) {
    const auto& [key, value] = annotations[i];
    if (!is_pragma(key)) { continue; }
    Expr argument = value.expr();
    if (!argument && value.string()) { argument = make<StringImm>(*value.string()); }
    if (argument) { body = make<AttrStmt>(AttrStmt::Subject(int_imm(0)), key, std::move(argument), std::move(body), origin); }
  }
  return body;
}
auto without_pragmas(const AttrMap& annotations) -> AttrMap {
  AttrMap out = annotations;
  for (const auto& [key, value] : annotations) {
    if (is_pragma(key)) { out = without_attr(out, key); }
  }
  return out;
}

// The extents of an allocation, large enough for strided rows.
auto allocation_extents(const Buffer& buffer) -> Array<Expr> {
  if (!is_strided(buffer)) { return buffer->shape; }
  std::vector<Expr> out;
  for (size_t i = 1; i < buffer->shape.size(); ++i) {
    auto outer = as_int(buffer->strides[i - 1]), inner = as_int(buffer->strides[i]);
    if (outer && inner && (*inner == 0 || *outer % *inner != 0)) { return {buffer->shape[0], buffer->strides[0]}; }
  }
  for (size_t i = 0; i < buffer->shape.size(); ++i) {
    out.push_back(i == 0 ? buffer->shape[0] : floordiv(buffer->strides[i - 1], buffer->strides[i]));
  }
  if (!out.empty()) { out.back() = mul(out.back(), buffer->strides[buffer->strides.size() - 1]); }
  return out;
}

class LowerBlocks : public Mutator {
 public:
  using Mutator::on;

  auto on(const VarNode& n) -> Expr override {
    auto found = unit_.find(&n);
    return found == unit_.end() ? self(n) : found->second;
  }
  auto on(const BlockRealize& n) -> Stmt override {
    const Block& block = *n.block;
    Expr predicate = mutate(n.predicate);
    Stmt body = mutate(block.body);
    if (!is_one(predicate) && !FAULT(block_predicate_lost)) { body = make<IfThenElse>(std::move(predicate), std::move(body), Stmt(), n.origin); }
    body = with_pragmas(block.annotations, std::move(body), block.origin);
    for (size_t i = block.alloc_buffers.size(); i-- > 0;) {
      Buffer buffer = use(block.alloc_buffers[i]);
      Origin origin = buffer->origin.is_known() ? buffer->origin : block.origin;
      body = make<DeclBuffer>(buffer, std::move(body), origin);
      body = make<Allocate>(buffer->data, buffer->dtype, allocation_extents(buffer), bool_imm(true), std::move(body), AttrMap(), origin);
    }
    return body;
  }
  auto on(const For& n) -> Stmt override {
    Expr min = mutate(n.min);
    Expr extent = mutate(n.extent);
    AttrMap annotations = without_pragmas(n.annotations);
    // A jump out of the body needs the loop.
    bool unit = is_one(extent) && annotations.empty() && n.for_kind != ForKind::ThreadBinding && !loop_jumps_out_of(n.body).any();
    if (unit) { unit_[n.var.get()] = cast(n.var->dtype, min); }
    Stmt body = mutate(n.body);
    Stmt out;
    if (unit) {
      out = std::move(body);
    } else if (min.same_as(n.min) && extent.same_as(n.extent) && body.same_as(n.body) && annotations.same_as(n.annotations)) {
      out = self(n);
    } else {
      out = make<For>(n.var, std::move(min), std::move(extent), n.for_kind, std::move(body), n.thread, annotations, n.origin, n.id);
    }
    return with_pragmas(n.annotations, std::move(out), n.origin);
  }

 protected:
  // Shapes may use the variable of a removed loop.
  auto use(const Buffer& buffer) -> Buffer override {
    auto done = buffers_.find(buffer.get());
    if (done != buffers_.end()) { return done->second; }
    return buffers_.emplace(buffer.get(), rewritten_buffer(buffer, [&](const Expr& e) { return fold(mutate(e)); })).first->second;
  }

 private:
  VarMap unit_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

}  // namespace

auto lower_opaque_block(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> {
    Stmt body = LowerBlocks().mutate(func->body);
    return with_body(func, body.same_as(func->body) ? body : fold(body));
  });
}

}  // namespace loopsmith::transform
