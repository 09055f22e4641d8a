// Asynchronous copies: see inject_async_copy.h.
#include "transform/device/inject_async_copy.h"

#include <cmath>
#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/fault.h"
#include "support/scoped_value.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

auto is_zero_value(const Expr& e) -> bool {
  const auto* real = e.as<FloatImm>();
  return real ? real->value == 0 && !std::signbit(real->value) : is_zero(e);
}

/// The index of the first element of a contiguous run of `count` elements over `lane`; none: the elements are not contiguous.
auto first_of_run(const Expr& index, const Var& lane, int64_t count) -> Expr {
  arith::Analyzer analyzer;
  if (!lane) { return index; }
  analyzer.bind(lane, from_zero(int_imm(count, lane->dtype)));
  Expr first = analyzer.simplify(substitute(index, {{lane.get(), zero(lane->dtype)}}));
  return analyzer.can_prove_equal(index, add(first, cast(index.dtype(), Expr(lane)))) ? first : Expr();
}

class Inject : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  explicit Inject(const Stmt& body) {
    post_order(
        body, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { written_.insert(store->buffer->data.get()); } },
        [&](const Expr& e) {
          const auto* call = e.as<Call>();
          if (!call) { return; }
          for (const Expr& arg : call->args) {
            if (const auto* v = arg.as<VarNode>(); v && call->op != "ptx_cp_async") { written_.insert(v); }
            if (const auto* element = arg.as<BufferLoad>(); element && call->op == "address_of") { written_.insert(element->buffer->data.get()); }
          }
        });
  }

  // Memory that is allocated outside of kernels is not memory of a block: several kernels may use it.
  auto on(const Allocate& n) -> Stmt override {
    if (in_kernel_) { of_kernel_.insert(n.data.get()); }
    return Mutator::on(n);
  }
  auto on(const AttrStmt& n) -> Stmt override {
    if (as_thread_loop(self(n))) {
      ScopedValue inside(in_kernel_, true);
      return Mutator::on(n);
    }
    if (n.key != "async_scope") { return Mutator::on(n); }
    ScopedValue inside(is_async_, true);
    return mutate(n.body);
  }
  auto on(const For& n) -> Stmt override {
    const auto* store = n.body.as<BufferStore>();
    auto extent = as_int(n.extent);
    if (is_async_ && n.for_kind == ForKind::Vectorized && store && extent && is_zero(n.min)) {
      if (Stmt made = copy(*store, n.var, *extent)) { return made; }
    }
    return Mutator::on(n);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Stmt made = is_async_ ? copy(n, {}, 1) : Stmt();
    return made ? made : Mutator::on(n);
  }

 private:
  /// A store of `count` elements as copies; none where it is another statement.
  auto copy(const BufferStore& store, const Var& lane, int64_t count) -> Stmt {
    Expr value = store.value, predicate;
    if (const auto* choice = value.as<Call>(); choice && choice->op == "if_then_else" && choice->args.size() == 3 && is_zero_value(choice->args[2])) {
      predicate = choice->args[0];
      value = choice->args[1];
    }
    const auto* load = value.as<BufferLoad>();
    if (!load || load->predicate || store.predicate || load->indices.size() != 1 || store.indices.size() != 1) { return {}; }
    const DataType element = store.buffer->dtype;
    if (load->buffer->dtype != element || element.bits < 8 || element.scalable || load->indices[0].dtype().lanes != 1 || store.indices[0].dtype().lanes != 1) { return {}; }
    const Var &to = store.buffer->data, &from = load->buffer->data;
    if (!to->pointer || !is_shared_memory(to->pointer->scope.view()) || (from->pointer && !is_global_memory(from->pointer->scope.view())) || written_.contains(from.get()) || !of_kernel_.contains(to.get())) { return {}; }
    if (predicate && lane && uses_var(predicate, [&](const VarNode& v) { return &v == lane.get(); })) { return {}; }
    Expr at = first_of_run(store.indices[0], lane, count), begin = first_of_run(load->indices[0], lane, count);
    if (!at || !begin) { return {}; }
    const int64_t each = element.element_bytes() * element.lanes;
    const int64_t bytes = widest(at, begin, each, count * each);
    if (bytes == 0) { return {}; }
    std::vector<Stmt> copies;
    for (int64_t k = 0; k < count * each / bytes; ++k) {
      const int64_t offset = k * (bytes / each);
      std::vector<Expr> args{Expr(to), add(at, int_imm(offset, at.dtype())), Expr(from), add(begin, int_imm(offset, begin.dtype())), int_imm(FAULT(async_copy_too_short) ? bytes / 2 : bytes)};
      if (predicate) { args.push_back(predicate); }
      copies.push_back(make<Evaluate>(make<Call>(element, Name("ptx_cp_async"), Array<Expr>(std::move(args)), store.origin), store.origin));
    }
    return seq(std::move(copies), store.origin);
  }
  /// The most bytes of a copy that both places are aligned to; 0: none.
  auto widest(const Expr& at, const Expr& begin, int64_t each, int64_t all) -> int64_t {
    arith::Analyzer analyzer;
    for (int64_t bytes : {16, 8, 4}) {
      if (all % bytes != 0 || bytes % each != 0 || all / bytes > most_copies) { continue; }
      auto is_aligned = [&](const Expr& index) {
        const arith::ModularSet set = analyzer.modular_set(index);
        return set.coeff % (bytes / each) == 0 && set.base % (bytes / each) == 0;
      };
      if (is_aligned(at) && is_aligned(begin)) { return bytes; }
    }
    return 0;
  }
  static constexpr int64_t most_copies = 16;

  std::unordered_set<const VarNode*> written_;   // memory that the function writes
  std::unordered_set<const VarNode*> of_kernel_; // memory that a kernel allocates
  bool is_async_ = false;
  bool in_kernel_ = false;
};

/// Copies that the program starts by name, as loads and stores, for devices without asynchronous copies. Each is done when its thread goes on.
class Plain : public Mutator {
 public:
  using Mutator::on;
  auto on(const AttrStmt& n) -> Stmt override { return n.key == "async_scope" ? mutate(n.body) : Mutator::on(n); }
  auto on(const Evaluate& n) -> Stmt override {
    const auto* call = n.value.as<Call>();
    if (!call) { return Mutator::on(n); }
    if (call->op == "ptx_commit_group" || call->op == "ptx_wait_group") { return make<Evaluate>(int_imm(0), n.origin); }
    const auto bytes = call->op == "ptx_cp_async" && call->args.size() >= 5 ? as_int(call->args[4]) : std::nullopt;
    const int64_t each = std::max(1, call->dtype.element_bytes() * call->dtype.lanes);
    const auto* to = bytes ? call->args[0].as<VarNode>() : nullptr;
    const auto* from = bytes ? call->args[2].as<VarNode>() : nullptr;
    if (!to || !from || *bytes < each || *bytes % each != 0) { return Mutator::on(n); }
    const int64_t count = *bytes / each;
    Buffer target = view_of(*to, call->dtype), source = view_of(*from, call->dtype);
    Var lane = var("v");
    auto at = [&](const Expr& offset) { return Array<Expr>{count == 1 ? offset : add(offset, cast(offset.dtype(), Expr(lane)))}; };
    Expr value = make<BufferLoad>(source, at(call->args[3]), n.origin);
    if (call->args.size() > 5) { value = if_then_else(cast(DataType::bool_(), call->args[5]), std::move(value), zero(call->dtype)); }
    Stmt out = make<BufferStore>(target, std::move(value), at(call->args[1]), n.origin);
    if (count > 1) { out = make<For>(lane, int_imm(0), int_imm(count), ForKind::Vectorized, std::move(out), std::nullopt, AttrMap(), n.origin); }
    return make<DeclBuffer>(target, make<DeclBuffer>(source, std::move(out), n.origin), n.origin);
  }

 private:
  static auto view_of(const VarNode& data, DataType element) -> Buffer {
    BufferNode fields;
    fields.data = Var(Ref<VarNode>(&data));
    fields.name = data.name;
    fields.dtype = element;
    fields.shape = Array<Expr>{int_imm(1)};
    return make_buffer(std::move(fields));
  }
};

}  // namespace

auto inject_async_copy(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> {
    return with_body(func, context.options.async_copies ? Inject(func->body).mutate(func->body) : Plain().mutate(func->body));
  });
}

}  // namespace loopsmith::transform
