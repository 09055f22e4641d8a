// Widens the indices of a program to 64 bits, for `te.create_prim_func(..., index_dtype_override="int64")`.
#include "frontend/te/tensors.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/guards.h"

namespace loopsmith::frontend::te {

namespace {

class Widen : public Mutator {
 public:
  using Mutator::on;
  auto buffer(const Buffer& b) -> Buffer {
    if (auto found = buffers_.find(b.get()); found != buffers_.end()) { return found->second; }
    BufferNode fields = *b;
    fields.shape = indices(b->shape);
    fields.strides = indices(b->strides);
    if (fields.elem_offset) { fields.elem_offset = index(fields.elem_offset); }
    return buffers_[b.get()] = make_buffer(std::move(fields));
  }
  auto index(const Expr& x) -> Expr {
    Temporarily in_index(is_index_, true);
    return mutate(x);
  }
  auto on(const VarNode& node) -> Expr override {
    if (auto found = vars_.find(&node); found != vars_.end()) { return found->second; }
    return is_index_ && node.dtype == DataType::int_(32) ? Expr(wide(Var(&node))) : self(node);
  }
  auto on(const IntImm& node) -> Expr override { return is_index_ && node.dtype == DataType::int_(32) ? int_imm(node.value, long_, node.origin) : self(node); }
#define EXPR(Kind)
#define BINARY(Kind)                                                       \
  auto on(const Kind& node) -> Expr override {                             \
    Expr a = mutate(node.a);                                               \
    Expr b = mutate(node.b);                                               \
    if (a.same_as(node.a) && b.same_as(node.b)) { return self(node); }     \
    if (!(a.dtype() == b.dtype())) { (void)match_types(a, b); }            \
    return make<Kind>(a, b, node.origin);                                  \
  }
#include "ir/nodes.def"
  auto on(const Select& node) -> Expr override {
    Expr t = mutate(node.true_value);
    Expr f = mutate(node.false_value);
    if (!(t.dtype() == f.dtype())) { (void)match_types(t, f); }
    return make<Select>(mutate(node.condition), t, f, node.origin);
  }
  auto on(const Cast& node) -> Expr override {
    // The operand of a cast keeps its type.
    Expr value = [&] {
      Temporarily in_value(is_index_, false);
      return mutate(node.value);
    }();
    DataType to = is_index_ && node.dtype == DataType::int_(32) ? long_ : node.dtype;
    return value.dtype() == to ? value : Expr(make<Cast>(to, value, node.origin));
  }
  auto on(const BufferLoad& node) -> Expr override {
    Expr load = make<BufferLoad>(use(node.buffer), indices(node.indices), node.origin, node.predicate);
    return is_index_ && load.dtype() == DataType::int_(32) ? cast(long_, load) : load;
  }
  auto on(const BufferStore& node) -> Stmt override {
    return make<BufferStore>(use(node.buffer), as_before(node.value), indices(node.indices), node.origin, node.predicate);
  }
  auto on(const LetStmt& node) -> Stmt override { return make<LetStmt>(node.var, as_before(node.value), mutate(node.body), node.origin); }
  auto on(const For& node) -> Stmt override {
    Expr low = index(node.min);
    Expr extent = index(node.extent);
    Var var = wide(node.var);
    return make<For>(var, low, extent, node.for_kind, mutate(node.body), node.thread, node.annotations, node.origin, node.id);
  }
  auto on(const BlockRealize& node) -> Stmt override {
    Array<Expr> values = indices(node.iter_values);
    Block::Fields fields = node.block->fields();
    std::vector<IterVar> iters;
    for (IterVar iter : fields.iter_vars) {
      iter.dom = {index(iter.dom.min), index(iter.dom.extent)};
      iter.var = wide(iter.var);
      iters.push_back(std::move(iter));
    }
    fields.iter_vars = std::move(iters);
    auto regions = [&](const Array<BufferRegion>& of) {
      std::vector<BufferRegion> out;
      for (const BufferRegion& r : of) {
        std::vector<Range> ranges;
        for (const Range& x : r.region) { ranges.push_back({index(x.min), index(x.extent)}); }
        out.push_back({use(r.buffer), std::move(ranges), r.origin});
      }
      return Array<BufferRegion>(std::move(out));
    };
    std::vector<Buffer> allocs;
    for (const Buffer& b : fields.alloc_buffers) { allocs.push_back(buffer(b)); }
    fields.alloc_buffers = std::move(allocs);
    fields.reads = regions(fields.reads);
    fields.writes = regions(fields.writes);
    if (fields.init) { fields.init = mutate(fields.init); }
    fields.body = mutate(fields.body);
    return make<BlockRealize>(std::move(values), mutate(node.predicate), make<Block>(std::move(fields), node.block->origin, node.block->id), node.origin);
  }
  auto wide(const Var& var) -> Var {
    if (!(var->dtype == DataType::int_(32))) { return var; }
    auto found = vars_.find(var.get());
    if (found != vars_.end()) { return Var(found->second.as<VarNode>()); }
    Var made = make<VarNode>(var->name, long_, var->origin);
    vars_.emplace(var.get(), Expr(made));
    return made;
  }

 protected:
  auto use(const Buffer& b) -> Buffer override { return buffer(b); }

 private:
  auto indices(const Array<Expr>& of) -> Array<Expr> {
    std::vector<Expr> out;
    for (const Expr& x : of) { out.push_back(index(x)); }
    return out;
  }
  // A stored value keeps its type: a wide result is cast back.
  auto as_before(const Expr& value) -> Expr {
    Expr out = mutate(value);
    return out.dtype() == value.dtype() ? out : Expr(make<Cast>(value.dtype(), out, value.origin()));
  }
  DataType long_ = DataType::int_(64);
  bool is_index_ = false;
  std::unordered_map<const VarNode*, Expr> vars_;
  BufferMap buffers_;
};

}  // namespace

auto with_wide_indices(const PrimFunc& func) -> PrimFunc {
  Widen widen;
  PrimFuncNode fields = *func;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const auto& [param, buffer] : func->buffer_map) { map.emplace_back(param, widen.buffer(buffer)); }
  for (const Var& p : func->params) { params.push_back(widen.wide(p)); }
  fields.params = std::move(params);
  fields.buffer_map = std::move(map);
  fields.body = widen.mutate(func->body);
  return make_func(std::move(fields));
}

}  // namespace loopsmith::frontend::te
