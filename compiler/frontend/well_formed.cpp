// Checks of well-formedness: see well_formed.h.
#include "frontend/well_formed.h"

#include <unordered_set>

#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::frontend {
namespace {

class Checker : public Visitor {
 public:
  explicit Checker(Diagnostics& out) : out_(out) {}

  void run(const PrimFunc& func) {
    for (const Var& p : func->params) { define(p); }
    for (const auto& [param, buffer] : func->buffer_map) { define_buffer(*buffer); }
    visit(func->body);
  }

  using Visitor::on;
  void on(const VarNode& node) override { use(node); }
  void on(const BufferLoad& node) override {
    use(*node.buffer->data);
    Visitor::on(node);
  }
  void on(const BufferStore& node) override {
    use(*node.buffer->data);
    Visitor::on(node);
  }
  void on(const Let& node) override {
    visit(node.value);
    define(node.var);
    visit(node.body);
    undefine(node.var);
  }
  void on(const Reduce& node) override {
    for (const IterVar& axis : node.axis) {
      visit(axis.dom.min);
      visit(axis.dom.extent);
      defined_.insert(axis.var.get());
    }
    for (const Expr& source : node.source) { visit(source); }
    for (const Expr& init : node.init) { visit(init); }
    visit(node.condition);
    for (const IterVar& axis : node.axis) { defined_.erase(axis.var.get()); }
  }
  void on(const LetStmt& node) override {
    visit(node.value);
    define(node.var);
    visit(node.body);
    undefine(node.var);
  }
  void on(const For& node) override {
    visit(node.min);
    visit(node.extent);
    define(node.var);
    if (node.thread) { defined_.insert(node.thread->var.get()); }
    visit(node.body);
    undefine(node.var);
  }
  void on(const Allocate& node) override {
    for (const Expr& e : node.extents) { visit(e); }
    visit(node.condition);
    define(node.data);
    visit(node.body);
    undefine(node.data);
  }
  void on(const AllocateConst& node) override {
    define(node.data);
    visit(node.body);
    undefine(node.data);
  }
  void on(const DeclBuffer& node) override {
    define_buffer(*node.buffer);
    visit(node.body);
  }
  void on(const BufferRealize& node) override {
    define_buffer(*node.buffer);
    Visitor::on(node);
  }
  void on(const AttrStmt& node) override {
    // A thread index may be launched in several places.
    if (const auto* iter = std::get_if<IterVar>(&node.node)) { defined_.insert(iter->var.get()); }
    Visitor::on(node);
  }
  void on(const BlockRealize& node) override {
    for (const Expr& v : node.iter_values) { visit(v); }
    visit(node.predicate);
    visit(Stmt(node.block));
  }
  void on(const Block& node) override {
    for (const IterVar& iter : node.iter_vars) {
      if (iter.dom.min) { visit(iter.dom.min); }
      if (iter.dom.extent) { visit(iter.dom.extent); }
      define(iter.var);
    }
    for (const Buffer& b : node.alloc_buffers) {
      for (const Expr& e : b->shape) { visit(e); }
      define_buffer(*b);
    }
    for (const auto* regions : {&node.reads, &node.writes}) {
      for (const BufferRegion& r : *regions) {
        use(*r.buffer->data);
        for (const Range& range : r.region) {
          visit(range.min);
          visit(range.extent);
        }
      }
    }
    for (const MatchBufferRegion& m : node.match_buffers) { define_buffer(*m.buffer); }
    if (node.init) { visit(node.init); }
    visit(node.body);
    for (const IterVar& iter : node.iter_vars) { undefine(iter.var); }
  }

 private:
  void use(const VarNode& var) {
    if (defined_.count(&var) || !reported_.insert(&var).second) { return; }
    out_.push_back(error(Code::FreeVariable, var.origin).arg("name", var.name.view()));
  }
  void define(const Var& var) {
    if (defined_.insert(var.get()).second || !reported_.insert(var.get()).second) { return; }
    out_.push_back(error(Code::DefinedTwice, var->origin).arg("name", var->name.view()));
  }
  void undefine(const Var& var) { defined_.erase(var.get()); }
  void define_expr(const Expr& e) {
    post_order(e, [&](const Expr& x) {
      if (const auto* v = x.as<VarNode>()) { defined_.insert(v); }
    });
  }
  void define_buffer(const BufferNode& buffer) {
    defined_.insert(buffer.data.get());
    for (const Expr& e : buffer.shape) { define_expr(e); }
    for (const Expr& e : buffer.strides) { define_expr(e); }
    if (buffer.elem_offset) { define_expr(buffer.elem_offset); }
  }

  Diagnostics& out_;
  std::unordered_set<const VarNode*> defined_;
  std::unordered_set<const VarNode*> reported_;
};

}  // namespace

auto well_formed(const PrimFunc& func) -> Diagnostics {
  Diagnostics out;
  if (func) { Checker(out).run(func); }
  return out;
}

}  // namespace loopsmith::frontend
