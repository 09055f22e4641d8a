// Values that all threads of a block have in common: see uniform.h.
#include "transform/device/uniform.h"

#include <algorithm>
#include <vector>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/scoped_value.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {

void WalkApart::on(const For& n) {
  ScopedValue apart(is_apart_, is_apart_ || !known_.is_uniform(n.min) || !known_.is_uniform(n.extent) || known_.jump_apart(n.body) != nullptr);
  Visitor::on(n);
}
void WalkApart::on(const While& n) {
  ScopedValue apart(is_apart_, is_apart_ || !known_.is_uniform(n.condition) || known_.jump_apart(n.body) != nullptr);
  Visitor::on(n);
}
void WalkApart::on(const IfThenElse& n) {
  visit(n.condition);
  ScopedValue apart(is_apart_, is_apart_ || !known_.is_uniform(n.condition));
  visit(n.then_case);
  if (n.else_case) { visit(n.else_case); }
}

/// Finds variables and memory that differ between threads, from those that are known to differ.
class Uniform::Spread : public WalkApart {
 public:
  using WalkApart::on;
  bool has_grown = false;
  explicit Spread(Uniform& to) : WalkApart(to), to_(to) {}

  void on(const For& n) override {
    if (auto loop = as_thread_loop(Stmt(Ref<StmtNode>(&n)))) { bind(*loop); }
    if (!to_.is_uniform(n.min) || !to_.is_uniform(n.extent)) { differs(n.var.get()); }
    WalkApart::on(n);
  }
  void on(const AttrStmt& n) override {
    if (auto loop = as_thread_loop(Stmt(Ref<StmtNode>(&n)))) { bind(*loop); }
    Visitor::on(n);
  }
  void on(const LetStmt& n) override {
    if (!to_.is_uniform(n.value)) { differs(n.var.get()); }
    Visitor::on(n);
  }
  void on(const Let& n) override {
    if (!to_.is_uniform(n.value)) { differs(n.var.get()); }
    Visitor::on(n);
  }
  void on(const Allocate& n) override {
    if (!n.data->pointer || !is_shared_memory(n.data->pointer->scope.view())) { to_.own_.insert(n.data.get()); }
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    const bool is_same = !is_apart_ && to_.is_uniform(n.value) && std::ranges::all_of(n.indices, [&](const Expr& e) { return to_.is_uniform(e); });
    if (!is_same && to_.own_.contains(n.buffer->data.get())) { differs(n.buffer->data.get()); }
    Visitor::on(n);
  }
  // A call may store by a pointer.
  void on(const VarNode& n) override {
    if (n.dtype.is_handle() && to_.own_.contains(&n)) { differs(&n); }
  }
  void on(const Call& n) override {
    for (const Expr& arg : n.args) {
      const auto* load = n.op == "address_of" ? arg.as<BufferLoad>() : nullptr;
      if (load && to_.own_.contains(load->buffer->data.get())) { differs(load->buffer->data.get()); }
    }
    Visitor::on(n);
  }

 private:
  void bind(const ThreadLoop& loop) {
    if (to_.dimension_.empty() ? !is_thread_index(loop.tag) : loop.tag != to_.dimension_) { return; }
    differs(loop.var.get());
    if (loop.alias) { differs(loop.alias.get()); }
  }
  void differs(const VarNode* v) { has_grown = to_.different_.insert(v).second || has_grown; }

  Uniform& to_;
};

Uniform::Uniform(const Stmt& kernel, Name dimension) : dimension_(dimension) {
  for (bool grows = true; grows;) {
    Spread spread(*this);
    spread.visit(kernel);
    grows = spread.has_grown;
  }
}

auto Uniform::is_uniform(const Expr& e) const -> bool {
  if (!e) { return true; }
  bool out = true;
  post_order(e, [&](const Expr& sub) {
    if (const auto* v = sub.as<VarNode>()) { out = out && !different_.contains(v); }
    if (const auto* load = sub.as<BufferLoad>()) { out = out && !different_.contains(load->buffer->data.get()); }
    out = out && !is_exchange(sub);
  });
  return out;
}

/// Checks the stores to a memory.
class Uniform::Fills : public WalkApart {
 public:
  using WalkApart::on;
  bool out = true;
  Fills(const Uniform& known, const Stmt& kernel, const VarNode& data) : WalkApart(known), data_(data) {
    post_order(kernel, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { stored_.insert(store->buffer->data.get()); } }, [](const Expr&) {});
  }
  void on(const BufferStore& n) override {
    if (n.buffer->data.get() != &data_) { return Visitor::on(n); }
    bool is_same = !is_apart_ && !n.predicate && known_.is_uniform(n.value) && std::ranges::all_of(n.indices, [&](const Expr& e) { return known_.is_uniform(e); });
    post_order(n.value, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      const auto* call = e.as<Call>();
      is_same = is_same && !(load && stored_.contains(load->buffer->data.get())) && !(call && (call->op == "call_extern" || call->op == "tvm_call_packed"));
    });
    out = out && is_same;
  }
  // A pointer may be stored to, unless the call only reads.
  void on(const Call& n) override {
    const bool reads = n.op == "tvm_load_matrix_sync" || n.op == "ptx_ldmatrix" || (n.op == "tvm_access_ptr" && n.args.size() == 5 && is_one(n.args[4]));
    ScopedValue inside(is_read_, is_read_ || reads);
    for (const Expr& arg : n.args) {
      const auto* load = n.op == "address_of" ? arg.as<BufferLoad>() : nullptr;
      out = out && (is_read_ || !load || load->buffer->data.get() != &data_);
    }
    Visitor::on(n);
  }
  void on(const VarNode& n) override { out = out && (is_read_ || &n != &data_); }

 private:
  const VarNode& data_;
  std::unordered_set<const VarNode*> stored_;
  bool is_read_ = false;           // inside of a call that only reads its pointers
};

auto Uniform::is_filled_alike(const Stmt& kernel, const VarNode& data) const -> bool {
  Fills fills(*this, kernel, data);
  fills.visit(kernel);
  return fills.out;
}

auto Uniform::jump_apart(const Stmt& body) const -> const StmtNode* {
  struct Find : Visitor {
    const Uniform& known;
    bool is_apart = false;
    bool is_inner = false;         // inside of a loop that the jumps leave
    const StmtNode* found = nullptr;
    explicit Find(const Uniform& k) : known(k) {}
    using Visitor::on;
    using Visitor::visit;
    void on(const For& n) override {
      ScopedValue inner(is_inner, true);
      visit(n.body);
    }
    void on(const While& n) override {
      ScopedValue inner(is_inner, true);
      visit(n.body);
    }
    void on(const IfThenElse& n) override {
      ScopedValue apart(is_apart, is_apart || !known.is_uniform(n.condition));
      visit(n.then_case);
      if (n.else_case) { visit(n.else_case); }
    }
    void on(const Break& n) override { jump(n); }
    void on(const Continue& n) override { jump(n); }
    void jump(const StmtNode& n) {
      if (is_apart && !is_inner && !found) { found = &n; }
    }
  } find(*this);
  find.visit(body);
  return find.found;
}

}  // namespace loopsmith::transform
