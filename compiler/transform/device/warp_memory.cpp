// Memory of warps as registers: see warp_memory.h.
#include "transform/device/warp_memory.h"

#include <unordered_map>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/scoped_value.h"
#include "transform/device/uniform.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

constexpr int64_t lanes = 32;

auto is_of_warp(const Var& data) -> bool { return data->pointer && memory_family(data->pointer->scope.view()) == MemoryFamily::Warp; }

/// Collects memory of the scope, and drops what registers cannot hold.
class Find : public WalkApart {
 public:
  using WalkApart::on;
  std::unordered_set<const VarNode*> found, refused;
  explicit Find(const Uniform& known) : WalkApart(known) {}

  void on(const Allocate& n) override {
    const bool fits = n.extents.size() == 1 && as_int(n.extents[0]) == lanes && n.dtype.lanes == 1 && n.dtype.bits == 32;
    if (is_of_warp(n.data)) { (fits ? found : refused).insert(n.data.get()); }
    Visitor::on(n);
  }
  void on(const For& n) override {
    auto loop = as_thread_loop(Stmt{Ref<StmtNode>(&n)});
    if (loop && loop->tag == "threadIdx.x") {
      ScopedValue lane(lane_, as_int(loop->extent) == lanes ? loop->var : Var());
      return visit(n.body);
    }
    ScopedValue apart(is_apart_, is_apart_ || n.for_kind == ForKind::Vectorized);
    WalkApart::on(n);
  }
  void on(const BufferStore& n) override {
    if (is_of_warp(n.buffer->data) && !(n.buffer->dtype.lanes == 1 && n.indices.size() == 1 && is_lane(n.indices[0]))) { refused.insert(n.buffer->data.get()); }
    Visitor::on(n);
  }
  void on(const BufferLoad& n) override {
    const bool is_plain = n.indices.size() == 1 && n.indices[0].dtype().lanes == 1 && lane_;
    const bool is_own = is_plain && is_lane(n.indices[0]);
    if (is_of_warp(n.buffer->data) && !is_own && (!is_plain || is_apart_)) { refused.insert(n.buffer->data.get()); }
    Visitor::on(n);
  }
  void on(const Select& n) override { choice([&] { Visitor::on(n); }); }
  void on(const And& n) override { choice([&] { Visitor::on(n); }); }
  void on(const Or& n) override { choice([&] { Visitor::on(n); }); }
  void on(const Call& n) override {
    if (n.op == "if_then_else") { return choice([&] { Visitor::on(n); }); }
    Visitor::on(n);
  }
  void on(const VarNode& n) override {
    if (n.dtype.is_handle()) { refused.insert(&n); }
  }

 private:
  template <class F>
  void choice(F&& inside) {
    ScopedValue apart(is_apart_, true);
    inside();
  }
  auto is_lane(const Expr& index) const -> bool {
    arith::Analyzer analyzer;
    if (!lane_ || index.dtype().lanes != 1) { return false; }
    analyzer.bind(lane_, from_zero(int_imm(lanes, lane_->dtype)));
    return analyzer.can_prove_equal(index, cast(index.dtype(), Expr(lane_)));
  }
  Var lane_;                       // the index of the loop around over the 32 threads of `threadIdx.x`; null: none
};

class Replace : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  Replace(const std::unordered_set<const VarNode*>& memory, Var lane) : memory_(memory), lane_(std::move(lane)) {}
  auto on(const Allocate& n) -> Stmt override {
    if (!memory_.contains(n.data.get())) { return Mutator::on(n); }
    return make<Allocate>(renamed(n.data), n.dtype, Array<Expr>{int_imm(1)}, n.condition, mutate(n.body), n.annotations, n.origin);
  }
  auto on(const BufferStore& n) -> Stmt override {
    if (!memory_.contains(n.buffer->data.get())) { return Mutator::on(n); }
    return make<BufferStore>(use(n.buffer), mutate(n.value), Array<Expr>{int_imm(0)}, n.origin);
  }
  auto on(const BufferLoad& n) -> Expr override {
    if (!memory_.contains(n.buffer->data.get())) { return Mutator::on(n); }
    Expr own = make<BufferLoad>(use(n.buffer), Array<Expr>{int_imm(0)}, n.origin);
    Expr index = mutate(n.indices[0]);
    arith::Analyzer analyzer;
    analyzer.bind(lane_, from_zero(int_imm(lanes, lane_->dtype)));
    if (analyzer.can_prove_equal(index, cast(index.dtype(), Expr(lane_)))) { return own; }
    const Expr all = int_imm(-1), width = int_imm(lanes);
    return make<Call>(n.dtype, Name("tvm_warp_shuffle"), Array<Expr>{all, own, cast(DataType::int_(32), std::move(index)), width, width}, n.origin);
  }

 protected:
  auto use(const Buffer& b) -> Buffer override {
    if (!memory_.contains(b->data.get())) { return b; }
    Buffer& made = buffers_[b.get()];
    if (!made) {
      BufferNode fields = *b;
      fields.data = renamed(b->data);
      fields.shape = Array<Expr>{int_imm(1)};
      made = make_buffer(std::move(fields));
    }
    return made;
  }

 private:
  auto renamed(const Var& v) -> Var {
    Var& made = variables_[v.get()];
    if (!made) { made = make<VarNode>(v->name, v->dtype, v->origin, PointerType{v->pointer->element, Name("local")}); }
    return made;
  }
  const std::unordered_set<const VarNode*>& memory_;
  Var lane_;
  std::unordered_map<const VarNode*, Var> variables_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

}  // namespace

auto memory_of_lanes(const Stmt& kernel) -> std::unordered_set<const VarNode*> {
  bool has_any = false;
  post_order(kernel, [&](const Stmt& s) { has_any = has_any || (s.as<Allocate>() && is_of_warp(s.as<Allocate>()->data)); }, [](const Expr&) {});
  if (!has_any) { return {}; }
  const Uniform known(kernel);
  Find find(known);
  find.visit(kernel);
  for (const VarNode* data : find.refused) { find.found.erase(data); }
  return std::move(find.found);
}

auto in_registers(const Stmt& kernel, const std::unordered_set<const VarNode*>& memory, const Var& lane) -> Stmt {
  return memory.empty() ? kernel : Replace(memory, lane).mutate(kernel);
}

}  // namespace loopsmith::transform
