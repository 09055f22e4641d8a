// For every variable and buffer of a program: the chain of statements, from the function inwards, that contain all its uses. The printer
// declares a variable without a definition in the innermost of them.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/visitor.h"

namespace loopsmith {

class UseScopes : public Visitor {
 public:
  using Path = std::vector<const void*>;

  explicit UseScopes(const void* root) { path_.push_back(root); }
  using Visitor::visit;

  void enter(const Stmt& stmt) { visit_at(stmt); }
  void note(const Buffer& buffer) {
    use(buffer.get());
    if (!seen_.insert(buffer.get()).second) { return; }
    use(buffer->data.get());
    for (const Expr& e : buffer->shape) { visit(e); }
    for (const Expr& e : buffer->strides) { visit(e); }
    if (buffer->elem_offset) { visit(buffer->elem_offset); }
  }
  void note(const Var& var) { use(var.get()); }

  [[nodiscard]] auto of(const void* object) const -> const Path* {
    auto found = paths_.find(object);
    return found == paths_.end() ? nullptr : &found->second;
  }

  void on(const VarNode& node) override { use(&node); }
  void on(const BufferLoad& node) override {
    note(node.buffer);
    for (const Expr& e : node.indices) { visit(e); }
    if (node.predicate) { visit(node.predicate); }
  }
  void on(const Let& node) override {
    use(node.var.get());
    visit(node.value);
    visit(node.body);
  }
  void on(const BufferStore& node) override {
    note(node.buffer);
    visit(node.value);
    for (const Expr& e : node.indices) { visit(e); }
    if (node.predicate) { visit(node.predicate); }
  }
  void on(const LetStmt& node) override {
    use(node.var.get());
    visit(node.value);
    visit_at(node.body);
  }
  void on(const AttrStmt& node) override {
    if (const auto* e = std::get_if<Expr>(&node.node)) { visit(*e); }
    if (const auto* b = std::get_if<Buffer>(&node.node)) { note(*b); }
    if (const auto* i = std::get_if<IterVar>(&node.node)) { note_iter(*i); }
    visit(node.value);
    visit_at(node.body);
  }
  void on(const AssertStmt& node) override {
    visit(node.condition);
    visit(node.message);
    visit_at(node.body);
  }
  void on(const BufferRealize& node) override {
    note(node.buffer);
    for (const Range& r : node.bounds) { note_range(r); }
    visit(node.condition);
    visit_at(node.body);
  }
  void on(const Allocate& node) override {
    use(node.data.get());
    for (const Expr& e : node.extents) { visit(e); }
    visit(node.condition);
    visit_at(node.body);
  }
  void on(const AllocateConst& node) override {
    use(node.data.get());
    for (const Expr& e : node.extents) { visit(e); }
    visit_at(node.body);
  }
  void on(const DeclBuffer& node) override {
    note(node.buffer);
    visit_at(node.body);
  }
  void on(const SeqStmt& node) override {
    for (const Stmt& s : node.seq) { visit_at(s); }
  }
  void on(const IfThenElse& node) override {
    visit(node.condition);
    visit_at(node.then_case);
    if (node.else_case) { visit_at(node.else_case); }
  }
  void on(const For& node) override {
    use(node.var.get());
    visit(node.min);
    visit(node.extent);
    if (node.thread) { note_iter(*node.thread); }
    visit_at(node.body);
  }
  void on(const While& node) override {
    visit(node.condition);
    visit_at(node.body);
  }
  void on(const BlockRealize& node) override {
    for (const Expr& e : node.iter_values) { visit(e); }
    visit(node.predicate);
    visit_at(Stmt(node.block));
  }
  void on(const Block& node) override {
    for (const IterVar& i : node.iter_vars) { note_iter(i); }
    for (const BufferRegion& r : node.reads) { note_region(r); }
    for (const BufferRegion& r : node.writes) { note_region(r); }
    for (const Buffer& b : node.alloc_buffers) { note(b); }
    for (const MatchBufferRegion& m : node.match_buffers) {
      note(m.buffer);
      note_region(m.source);
    }
    if (node.init) { visit_at(node.init); }
    visit_at(node.body);
  }

 private:
  void visit_at(const Stmt& stmt) {
    path_.push_back(stmt.get());
    visit(stmt);
    path_.pop_back();
  }
  void note_range(const Range& r) {
    if (r.min) { visit(r.min); }
    if (r.extent) { visit(r.extent); }
  }
  void note_iter(const IterVar& i) {
    use(i.var.get());
    note_range(i.dom);
  }
  void note_region(const BufferRegion& r) {
    note(r.buffer);
    for (const Range& x : r.region) { note_range(x); }
  }
  void use(const void* object) {
    auto [place, fresh] = paths_.emplace(object, path_);
    if (fresh) { return; }
    Path& known = place->second;
    size_t n = 0;
    while (n < known.size() && n < path_.size() && known[n] == path_[n]) { ++n; }
    known.resize(n);
  }

  Path path_;
  std::unordered_map<const void*, Path> paths_;
  std::unordered_set<const void*> seen_;
};

}  // namespace loopsmith
