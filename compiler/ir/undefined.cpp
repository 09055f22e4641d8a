// Checks the scopes of variables and memory: see undefined.h.
#include "ir/undefined.h"

#include <unordered_map>
#include <vector>

#include "ir/visitor.h"

namespace loopsmith {
namespace {

class Scopes : public Visitor {
 public:
  std::unordered_set<const VarNode*> undefined;

  void run(const PrimFunc& func) {
    for (const Var& param : func->params) { ++defined_[param.get()]; }
    for (const auto& [param, buffer] : func->buffer_map) { declare(*buffer); }
    visit(func->body);
  }

  using Visitor::on;
  using Visitor::visit;
  void on(const VarNode& n) override {
    auto loop = loops_.find(&n);
    bool is_hidden = loop != loops_.end() && loop->second < closed_blocks_;
    if (is_hidden || defined_.count(&n) == 0) { undefined.insert(&n); }
  }
  void on(const BufferLoad& n) override {
    use(*n.buffer);
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    use(*n.buffer);
    Visitor::on(n);
  }
  void on(const Let& n) override {
    visit(n.value);
    inside(n.var, [&] { visit(n.body); });
  }
  void on(const LetStmt& n) override {
    visit(n.value);
    inside(n.var, [&] { visit(n.body); });
  }
  void on(const Reduce& n) override {
    for (const IterVar& axis : n.axis) {
      Visitor::visit(axis);
      ++defined_[axis.var.get()];
    }
    for (const Expr& e : n.source) { visit(e); }
    for (const Expr& e : n.init) { visit(e); }
    if (n.condition) { visit(n.condition); }
    for (const IterVar& axis : n.axis) { leave(axis.var.get()); }
  }
  void on(const For& n) override {
    visit(n.min);
    visit(n.extent);
    // Several loops, one behind the other, may use the same variable.
    if (n.thread) { ++defined_[n.thread->var.get()]; }
    auto [loop, is_new] = loops_.emplace(n.var.get(), closed_blocks_);
    inside(n.var, [&] { visit(n.body); });
    if (is_new) { loops_.erase(n.var.get()); }
  }
  void on(const Allocate& n) override {
    for (const Expr& e : n.extents) { visit(e); }
    visit(n.condition);
    inside(n.data, [&] { visit(n.body); });
  }
  void on(const AllocateConst& n) override {
    inside(n.data, [&] { visit(n.body); });
  }
  // The memory of a declared buffer is defined elsewhere, or it is an external pointer that the declaration introduces.
  void on(const DeclBuffer& n) override {
    declare(*n.buffer);
    visit(n.body);
  }
  void on(const BufferRealize& n) override {
    declare(*n.buffer);
    Visitor::on(n);
  }
  void on(const AttrStmt& n) override {
    if (const auto* iter = std::get_if<IterVar>(&n.node)) { ++defined_[iter->var.get()]; }
    Visitor::on(n);
  }
  void on(const Block& n) override {
    for (const IterVar& iter : n.iter_vars) {
      Visitor::visit(iter);
      ++defined_[iter.var.get()];
    }
    const bool is_closed = !n.iter_vars.empty();
    closed_blocks_ += is_closed ? 1 : 0;
    for (const Buffer& b : n.alloc_buffers) {
      for (const Expr& e : b->shape) { visit(e); }
      declare(*b);
    }
    for (const MatchBufferRegion& m : n.match_buffers) {
      access(m.source);
      declare(*m.buffer);
    }
    for (const BufferRegion& r : n.reads) { access(r); }
    for (const BufferRegion& r : n.writes) { access(r); }
    if (n.init) { visit(n.init); }
    visit(n.body);
    for (const MatchBufferRegion& m : n.match_buffers) { leave(m.buffer->data.get()); }
    for (const Buffer& b : n.alloc_buffers) { leave(b->data.get()); }
    closed_blocks_ -= is_closed ? 1 : 0;
    for (const IterVar& iter : n.iter_vars) { leave(iter.var.get()); }
  }

 private:
  template <class F> void inside(const Var& var, F visit_body) {
    ++defined_[var.get()];
    visit_body();
    leave(var.get());
  }
  void leave(const VarNode* var) {
    auto found = defined_.find(var);
    if (found != defined_.end() && --found->second == 0) { defined_.erase(found); }
  }
  void use(const BufferNode& buffer) { on(*buffer.data); }
  void access(const BufferRegion& region) {
    use(*region.buffer);
    Visitor::visit(region);
  }
  // A declared buffer defines the variables in its layout that have no value yet.
  void declare(const BufferNode& buffer) {
    ++defined_[buffer.data.get()];
    auto define = [&](const Expr& e) {
      post_order(e, [&](const Expr& part) {
        const auto* var = part.as<VarNode>();
        if (var && defined_.count(var) == 0) { ++defined_[var]; }
      });
    };
    for (const Expr& e : buffer.shape) { define(e); }
    for (const Expr& e : buffer.strides) { define(e); }
    if (buffer.elem_offset) { define(buffer.elem_offset); }
  }

  std::unordered_map<const VarNode*, int> defined_;      // the number of definitions around
  std::unordered_map<const VarNode*, int> loops_;        // the loops around, each with the number of closed blocks around it
  int closed_blocks_ = 0;                                // the number of blocks with iter vars around
};

}  // namespace

auto undefined_variables(const PrimFunc& func) -> std::unordered_set<const VarNode*> {
  Scopes scopes;
  scopes.run(func);
  return std::move(scopes.undefined);
}

auto lost_definition(const PrimFunc& before, const PrimFunc& after) -> std::optional<std::string> {
  std::unordered_set<const VarNode*> now = undefined_variables(after);
  if (now.empty()) { return {}; }
  std::unordered_set<const VarNode*> then = undefined_variables(before);
  for (const VarNode* var : now) {
    if (then.count(var) == 0) { return var->name.empty() ? var->dtype.str() : var->name.str(); }
  }
  return {};
}

}  // namespace loopsmith
