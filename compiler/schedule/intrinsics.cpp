// The form of tensor intrinsics: see intrinsics.h.
#include "schedule/intrinsics.h"

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/reasons.h"

namespace loopsmith::schedule {
namespace {

const IntrinsicTable* builtin_table = nullptr;

auto names_buffer(const Block& block, const Buffer& buffer) -> bool {
  for (const auto* regions : {&block.reads, &block.writes}) {
    for (const BufferRegion& region : *regions) {
      if (region.buffer == buffer) { return true; }
    }
  }
  return false;
}

// Copies each definition where it occurs, and maps its uses to the copy.
class FreshCopy : public Mutator {
 public:
  explicit FreshCopy(int index_bits) : widens_(index_bits == 64) {}
  using Mutator::declare;
  using Mutator::mutate;
  using Mutator::on;

  auto copy(const PrimFunc& func) -> PrimFunc {
    PrimFuncNode fields = *func;
    fields.refs = 0;
    std::vector<Var> params;
    for (const Var& param : func->params) { params.push_back(fresh(param, param->dtype)); }
    std::vector<std::pair<Var, Buffer>> buffers;
    for (const auto& [param, buffer] : func->buffer_map) { buffers.emplace_back(vars_.at(param.get()).ref<VarNode>(), use(buffer)); }
    fields.params = std::move(params);
    fields.buffer_map = std::move(buffers);
    fields.body = mutate(func->body);
    return make_func(std::move(fields));
  }

  auto on(const VarNode& n) -> Expr override {
    auto found = vars_.find(&n);
    return found == vars_.end() ? self(n) : found->second;
  }
  auto on(const LetStmt& n) -> Stmt override {
    Expr value = mutate(n.value);
    Var var = fresh(n.var, n.var->dtype);
    return make<LetStmt>(std::move(var), std::move(value), mutate(n.body), n.origin);
  }
  auto on(const Let& n) -> Expr override {
    Expr value = mutate(n.value);
    Var var = fresh(n.var, n.var->dtype);
    return make<Let>(std::move(var), std::move(value), mutate(n.body), n.origin);
  }
  auto on(const BufferLoad& n) -> Expr override {
    return make<BufferLoad>(use(n.buffer), wide(n.indices), n.origin, n.predicate ? mutate(n.predicate) : Expr());
  }
  auto on(const BufferStore& n) -> Stmt override {
    Expr value = mutate(n.value);
    return make<BufferStore>(use(n.buffer), std::move(value), wide(n.indices), n.origin, n.predicate ? mutate(n.predicate) : Expr());
  }
  auto on(const For& n) -> Stmt override {
    Expr min = wide(n.min);
    Expr extent = wide(n.extent);
    Var var = declare(n.var);
    std::optional<IterVar> thread = n.thread;
    if (thread) {
      auto known = vars_.find(thread->var.get());
      thread->var = known != vars_.end() ? known->second.ref<VarNode>() : declare(thread->var);
      if (thread->dom.extent) { thread->dom = {wide(thread->dom.min), wide(thread->dom.extent)}; }
    }
    Stmt body = mutate(n.body);
    return make<For>(std::move(var), std::move(min), std::move(extent), n.for_kind, std::move(body), std::move(thread), n.annotations, n.origin);
  }
  auto on(const Block& n) -> Stmt override {
    Block::Fields f = n.fields();
    std::vector<IterVar> iters;
    for (const IterVar& iter : n.iter_vars) {
      IterVar out = iter;
      out.dom = {wide(iter.dom.min), wide(iter.dom.extent)};
      out.var = declare(iter.var);
      iters.push_back(std::move(out));
    }
    f.iter_vars = std::move(iters);
    f.alloc_buffers = f.alloc_buffers.map_same([this](const Buffer& b) { return use(b); }, [](const Buffer& a, const Buffer& b) { return a == b; });
    std::vector<MatchBufferRegion> matches;
    for (const MatchBufferRegion& m : n.match_buffers) {
      BufferRegion source = region(m.source);
      matches.push_back({use(m.buffer), std::move(source)});
    }
    f.match_buffers = std::move(matches);
    f.reads = regions(n.reads);
    f.writes = regions(n.writes);
    f.init = n.init ? mutate(n.init) : Stmt();
    f.body = mutate(n.body);
    return make<Block>(std::move(f), n.origin);
  }
  auto on(const BlockRealize& n) -> Stmt override {
    std::vector<Expr> values;
    for (const Expr& v : n.iter_values) { values.push_back(wide(v)); }
    Expr predicate = mutate(n.predicate);
    Stmt block = mutate(Stmt(n.block));
    return make<BlockRealize>(Array<Expr>(std::move(values)), std::move(predicate), block.ref<Block>(), n.origin);
  }
  // Casts operands whose types now differ to one type.
#define EXPR(Kind)
#define BINARY(Kind) \
  auto on(const Kind& n) -> Expr override { return binary(n); }
#define COMPARE(Kind) \
  auto on(const Kind& n) -> Expr override { return binary(n); }
#include "ir/nodes.def"

 protected:
  auto use(const Buffer& buffer) -> Buffer override {
    auto done = buffers_.find(buffer.get());
    if (done != buffers_.end()) { return done->second; }
    BufferNode fields = *buffer;
    fields.data = vars_.count(buffer->data.get()) ? vars_.at(buffer->data.get()).ref<VarNode>() : fresh(buffer->data, buffer->data->dtype);
    auto part = [&](const Expr& e) {
      if (const auto* v = e.as<VarNode>(); v && !vars_.count(v)) { (void)declare(e.ref<VarNode>()); }
      return wide(e);
    };
    std::vector<Expr> shape, strides;
    for (const Expr& e : buffer->shape) { shape.push_back(part(e)); }
    for (const Expr& e : buffer->strides) { strides.push_back(part(e)); }
    fields.shape = std::move(shape);
    fields.strides = std::move(strides);
    if (buffer->elem_offset) { fields.elem_offset = part(buffer->elem_offset); }
    Buffer out = make_buffer(std::move(fields));
    buffers_.emplace(buffer.get(), out);
    return out;
  }
  // A variable used in indices: a loop variable, an iter var, a stride.
  auto declare(const Var& var) -> Var override {
    bool is_index = var->dtype == DataType::int_(32);
    return fresh(var, widens_ && is_index ? DataType::int_(64) : var->dtype);
  }

 private:
  auto fresh(const Var& var, DataType dtype) -> Var {
    Var out = make<VarNode>(var->name, dtype, var->origin, var->pointer);
    vars_[var.get()] = out;
    return out;
  }
  template <class N>
  auto binary(const N& n) -> Expr {
    Expr a = mutate(n.a);
    Expr b = mutate(n.b);
    if (a.same_as(n.a) && b.same_as(n.b)) { return self(n); }
    if (!(a.dtype() == b.dtype())) { (void)match_types(a, b); }
    return make<N>(std::move(a), std::move(b), n.origin);
  }
  // Widens the constants in an index.
  auto wide(const Expr& e) -> Expr {
    Expr out = mutate(e);
    if (!widens_) { return out; }
    if (const auto* ramp = out.as<Ramp>()) { return make<Ramp>(wide_scalar(ramp->base), wide_scalar(ramp->stride), ramp->lanes, ramp->origin); }
    return wide_scalar(out);
  }
  static auto wide_scalar(const Expr& e) -> Expr { return e.dtype() == DataType::int_(32) ? cast(DataType::int_(64), e) : e; }
  auto wide(const Array<Expr>& all) -> Array<Expr> {
    std::vector<Expr> out;
    for (const Expr& e : all) { out.push_back(wide(e)); }
    return Array<Expr>(std::move(out));
  }
  auto region(const BufferRegion& r) -> BufferRegion {
    std::vector<Range> ranges;
    for (const Range& range : r.region) { ranges.push_back({wide(range.min), wide(range.extent)}); }
    return {use(r.buffer), Array<Range>(std::move(ranges)), r.origin};
  }
  auto regions(const Array<BufferRegion>& all) -> Array<BufferRegion> {
    std::vector<BufferRegion> out;
    for (const BufferRegion& r : all) { out.push_back(region(r)); }
    return Array<BufferRegion>(std::move(out));
  }
  bool widens_;
  VarMap vars_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

}  // namespace

auto builtin_intrinsics() -> const IntrinsicTable* { return builtin_table; }
void set_builtin_intrinsics(const IntrinsicTable* table) { builtin_table = table; }

auto why_no_intrinsic(const PrimFunc& description, const PrimFunc& implementation) -> std::optional<Reason> {
  if (description->params.size() != implementation->params.size()) {
    return because(Why::ParameterCounts).arg("count", description->params.size()).arg("other", implementation->params.size());
  }
  for (const auto& [func, what] : {std::pair{description, "description"}, {implementation, "implementation"}}) {
    const Block* root = root_block(func);
    if (!root || !func->body.as<BlockRealize>()) { return because(Why::BodyNoBlock).arg("program", what); }
    for (const Var& param : func->params) {
      Buffer buffer = func->buffer_of(param);
      if (!buffer) { return because(Why::ParameterNoBuffer).arg("parameter", param->name.view()).arg("program", what); }
      if (!names_buffer(*root, buffer)) {
        return because(Why::RootWithoutAccess).arg("program", what).arg("buffer", buffer->name.view());
      }
    }
  }
  for (size_t i = 0; i < description->params.size(); ++i) {
    Buffer a = description->buffer_of(description->params[i]);
    Buffer b = implementation->buffer_of(implementation->params[i]);
    bool same = a->dtype == b->dtype && a->scope() == b->scope() && a->shape.size() == b->shape.size();
    for (size_t d = 0; same && d < a->shape.size(); ++d) {
      auto x = as_int(a->shape[d]), y = as_int(b->shape[d]);
      same = !x || !y || *x == *y;
    }
    if (!same) { return because(Why::ParameterKinds).arg("number", i).arg("buffer", a->name.view()); }
  }
  return {};
}

auto fresh_copy(const PrimFunc& func, int index_bits) -> PrimFunc { return FreshCopy(index_bits).copy(func); }

}  // namespace loopsmith::schedule
