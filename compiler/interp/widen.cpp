// Converts programs to wider types: see widen.h.
#include "interp/widen.h"

#include <algorithm>
#include <unordered_map>

#include "ir/visitor.h"

namespace loopsmith::interp {
namespace {

class Widen final : public Mutator {
 public:
  explicit Widen(int bits) : bits_(bits) {}
  using Mutator::mutate;
  using Mutator::on;
  bool is_possible = true;

  auto on(const VarNode& n) -> Expr override { return Expr(declare(Var(&n))); }
  auto on(const FloatImm& n) -> Expr override { return is_short(n.dtype) ? make<FloatImm>(widened(n.dtype), n.value, n.origin) : self(n); }
  auto on(const Cast& n) -> Expr override {
    Expr value = mutate(n.value);
    return value.same_as(n.value) && !is_short(n.dtype) ? self(n) : make<Cast>(widened(n.dtype), std::move(value), n.origin);
  }
  auto on(const Call& n) -> Expr override {
    static const Name bits[] = {"reinterpret", "call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "call_packed", "tvm_call_packed"};
    bool is_concerned = is_short(n.dtype) || std::any_of(n.args.begin(), n.args.end(), [&](const Expr& e) { return is_short(e.dtype()); });
    if (is_concerned && std::find(std::begin(bits), std::end(bits), n.op) != std::end(bits)) { is_possible = false; }
    Array<Expr> args = mutate(n.args);
    return args.same_as(n.args) && !is_short(n.dtype) ? self(n) : make<Call>(widened(n.dtype), n.op, std::move(args), n.origin);
  }
  auto on(const Allocate& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto* a = out.as<Allocate>();
    return !is_short(n.dtype) ? out : make<Allocate>(a->data, widened(n.dtype), a->extents, a->condition, a->body, a->annotations, a->origin);
  }
  auto on(const AllocateConst& n) -> Stmt override {
    is_possible = is_possible && !is_short(n.dtype);
    return Mutator::on(n);
  }

  auto function(const PrimFunc& func) -> PrimFunc {
    PrimFuncNode fields = *func;
    std::vector<Var> params;
    for (const Var& v : func->params) { params.push_back(declare(v)); }
    std::vector<std::pair<Var, Buffer>> buffers;
    for (const auto& [v, buffer] : func->buffer_map) { buffers.emplace_back(declare(v), use(buffer)); }
    fields.params = Array<Var>(std::move(params));
    fields.buffer_map = Array<std::pair<Var, Buffer>>(std::move(buffers));
    fields.body = mutate(func->body);
    fields.ret_type = widened(func->ret_type);
    return make_func(std::move(fields));
  }

 protected:
  auto declare(const Var& var) -> Var override {
    if (auto known = vars_.find(var.get()); known != vars_.end()) { return known->second; }
    std::optional<PointerType> pointer = var->pointer;
    if (pointer) { pointer->element = widened(pointer->element); }
    bool same = !is_short(var->dtype) && (!pointer || pointer->element == var->pointer->element);
    return vars_.emplace(var.get(), same ? var : make<VarNode>(var->name, widened(var->dtype), var->origin, std::move(pointer))).first->second;
  }
  auto use(const Buffer& buffer) -> Buffer override {
    if (auto known = buffers_.find(buffer.get()); known != buffers_.end()) { return known->second; }
    BufferNode fields = *buffer;
    fields.data = declare(buffer->data);
    fields.dtype = widened(buffer->dtype);
    fields.shape = mutate(buffer->shape);
    fields.strides = mutate(buffer->strides);
    fields.elem_offset = buffer->elem_offset ? mutate(buffer->elem_offset) : Expr();
    bool same = fields.dtype == buffer->dtype && fields.data == buffer->data && fields.shape.same_as(buffer->shape) && fields.strides.same_as(buffer->strides) &&
                fields.elem_offset.same_as(buffer->elem_offset);
    return buffers_.emplace(buffer.get(), same ? buffer : make_buffer(std::move(fields))).first->second;
  }

 private:
  [[nodiscard]] auto is_short(const DataType& t) const -> bool { return t.is_real() && t.bits < bits_; }
  [[nodiscard]] auto widened(const DataType& t) const -> DataType { return is_short(t) ? DataType::float_(bits_).with_lanes(t.lanes) : t; }

  int bits_;
  std::unordered_map<const VarNode*, Var> vars_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

}  // namespace

auto has_short_reals(const PrimFunc& func) -> bool {
  return std::any_of(func->buffer_map.begin(), func->buffer_map.end(), [](const auto& entry) { return entry.second->dtype.is_real() && entry.second->dtype.bits < 32; });
}

auto with_wide_reals(const IRModule& module, int bits) -> IRModule {
  IRModule out = module;
  for (const auto& [name, func] : module->functions) {
    Widen widen(bits);
    PrimFunc wide = widen.function(func);
    if (!widen.is_possible) { return {}; }
    out = with_function(out, name, std::move(wide));
  }
  return out;
}

}  // namespace loopsmith::interp
