// Checks of well-formedness: see well_formed.h.
#include "frontend/well_formed.h"

#include <fmt/format.h>

#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frontend/parts.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/guards.h"

namespace loopsmith::frontend {
namespace {

class Checker : public Visitor {
 public:
  explicit Checker(Diagnostics& out) : out_(out) {}

  void run(const PrimFunc& func) {
    for (const Var& p : func->params) { define(p); }
    for (const auto& [param, buffer] : func->buffer_map) { define_buffer(*buffer); }
    for (const auto& [key, value] : func->attrs) { attribute(value); }
    visit(func->body);
  }

  /// Reuses the kept results of statements, and keeps new ones.
  void with(PartCache* parts) { parts_ = parts; }
  /// True when a kept result was inconsistent: the whole function must be checked.
  [[nodiscard]] auto is_confused() const -> bool { return is_confused_; }

  using Visitor::on;
  void on(const SeqStmt& node) override {
    for (const Stmt& stmt : node.seq) {
      KnownStmt* known = parts_ && loops_.empty() && blocks_.empty() ? parts_->known_completed(stmt) : nullptr;
      if (known && !known->is_checked) { learn(*known); }
      if (!known) {
        visit(stmt);
      } else if (!known->is_sound || !take(*known)) {
        is_confused_ = true;
        return;
      }
    }
  }
  void on(const VarNode& node) override { use(node); }
  void on(const BufferLoad& node) override {
    Temporarily access(at_, node.origin);
    use(*node.buffer->data);
    Visitor::on(node);
  }
  void on(const BufferStore& node) override {
    use(*node.buffer->data);
    visit(node.value);
    Temporarily access(at_, node.origin);
    for (const Expr& i : node.indices) { visit(i); }
    if (node.predicate) { visit(node.predicate); }
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
    if (learning_) { learning_->lets.push_back(node.var.get()); }
    // A variable may be defined once in the whole function, even if the scopes do not overlap.
    if (!bound_.insert(node.var.get()).second && !defined_.count(node.var.get()) && reported_.insert(node.var.get()).second) {
      out_.push_back(error(Code::DefinedTwice, node.var->origin).arg("name", node.var->name.view()).remedy("use another name for one of them"));
    }
    define(node.var);
    visit(node.body);
    undefine(node.var);
  }
  void on(const For& node) override {
    visit(node.min);
    visit(node.extent);
    define(node.var);
    if (node.thread) { defined_.insert(node.thread->var.get()); }
    loops_[node.var.get()] = {&node, blocks_.size()};
    visit(node.body);
    loops_.erase(node.var.get());
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
    const auto* iter = std::get_if<IterVar>(&node.node);
    if (iter) { defined_.insert(iter->var.get()); }
    static const Name thread_extent("thread_extent");
    if (!iter || node.key != thread_extent || iter->thread_tag.empty()) { return Visitor::on(node); }
    // Each kernel has its own variable for a thread index; a second variable inside of one would be the same index.
    const VarNode* var = iter->var.get();
    const VarNode* around = std::exchange(threads_[iter->thread_tag], var);
    if (learning_) { learning_->threads.emplace_back(iter->thread_tag, var); }
    if (around && around != var) {
      out_.push_back(error(Code::ThreadTwice, node.origin).arg("name", var->name.view()).arg("tag", iter->thread_tag.view())
                         .note(around->origin, "the first is `" + around->name.str() + "`")
                         .remedy("use one variable for the thread index: make it with `T.env_thread(\"" + iter->thread_tag.str() + "\")` and launch that"));
    }
    Visitor::on(node);
    threads_[iter->thread_tag] = around;
  }
  void on(const BlockRealize& node) override {
    for (const Expr& v : node.iter_values) { visit(v); }
    check_axes(node);
    predicate_of_ = &node;
    visit(node.predicate);
    predicate_of_ = nullptr;
    visit(Stmt(node.block));
  }
  void on(const Block& node) override {
    for (const IterVar& iter : node.iter_vars) {
      if (iter.dom.min) { visit(iter.dom.min); }
      if (iter.dom.extent) { visit(iter.dom.extent); }
      define(iter.var);
    }
    // A block without iter vars is opaque: it may use the loops around it.
    bool closed = !node.iter_vars.empty();
    if (closed) { blocks_.push_back(&node); }
    for (const Buffer& b : node.alloc_buffers) {
      for (const Expr& e : b->shape) { visit(e); }
      define_buffer(*b);
    }
    for (const MatchBufferRegion& m : node.match_buffers) { define_buffer(*m.buffer); }
    if (node.init) { visit(node.init); }
    visit(node.body);
    // Visits regions after the body: a variable is reported where the body uses it.
    for (const auto* regions : {&node.reads, &node.writes}) {
      for (const BufferRegion& r : *regions) {
        use(*r.buffer->data);
        for (const Range& range : r.region) {
          visit(range.min);
          visit(range.extent);
        }
      }
    }
    if (closed) { blocks_.pop_back(); }
    for (const IterVar& iter : node.iter_vars) { undefine(iter.var); }
  }

 private:
  // Two loops bound to one axis of threads run only the iterations in which their variables are equal: a block that uses both misses the others.
  void check_axes(const BlockRealize& node) {
    std::unordered_map<Name, const For*> gone_by;
    // Only iter vars that a written region uses count: other iter vars repeat the same writes.
    std::unordered_set<const VarNode*> written_by;
    auto note = [&](const Expr& e) {
      if (const auto* var = e.as<VarNode>()) { written_by.insert(var); }
    };
    for (const BufferRegion& write : node.block->writes) {
      for (const Range& range : write.region) {
        post_order(range.min, note);
        post_order(range.extent, note);
      }
    }
    for (size_t k = 0; k < node.iter_values.size() && k < node.block->iter_vars.size(); ++k) {
      if (written_by.count(node.block->iter_vars[k].var.get()) == 0) { continue; }
      post_order(node.iter_values[k], [&](const Expr& e) {
        const auto* var = e.as<VarNode>();
        auto open = var ? loops_.find(var) : loops_.end();
        const For* loop = open != loops_.end() ? open->second.first : nullptr;
        if (!loop || !loop->thread || is_virtual_axis(loop->thread->thread_tag.view()) || is_one(loop->extent)) { return; }
        auto [first, is_first] = gone_by.emplace(loop->thread->thread_tag, loop);
        if (is_first || first->second == loop || !twice_.insert({var, first->second->var.get()}).second) { return; }
        out_.push_back(error(Code::ThreadTwice, loop->origin).arg("name", var->name.view()).arg("tag", loop->thread->thread_tag.view())
                           .note(first->second->origin, "the first is `" + first->second->var->name.str() + "`")
                           .note(node.origin, "block `" + node.block->name.str() + "` uses both: a thread has one index of an axis, so the block would run only where they are equal")
                           .remedy("bind one of them to another axis, or fuse both"));
      });
    }
  }
  void attribute(const Attr& value) {
    if (const Expr e = value.expr()) { visit(e); }
    if (const Array<Attr>* list = value.list()) {
      for (const Attr& item : *list) { attribute(item); }
    }
    if (const auto* map = std::get_if<AttrMap>(&value.value)) {
      for (const auto& [key, item] : *map) { attribute(item); }
    }
  }
  void use(const VarNode& var) {
    if (auto loop = loops_.find(&var); loop != loops_.end() && loop->second.second < blocks_.size()) {
      if (!mixed_.insert({&var, blocks_.back()}).second) { return; }
      const std::string name = var.name.str();
      std::string extent = print_debug(loop->second.first->extent, 40);
      out_.push_back(error(Code::LoopVarInBlock, at_.is_known() ? at_ : var.origin).arg("block", blocks_.back()->name.view()).arg("name", name)
                         .note(var.origin, "`" + name + "` is the variable of this loop")
                         .remedy("bind it to an iter var of the block, and use that: `v" + name + " = T.axis.spatial(" + extent + ", " + name + ")`"));
      return;
    }
    if (defined_.count(&var) || !reported_.insert(&var).second) { return; }
    if (learning_) {
      learning_->uses.push_back(&var);
      return;
    }
    Diagnostic d = error(Code::FreeVariable, var.origin).arg("name", var.name.empty() ? "T." + var.dtype.str() + "()" : var.name.str());
    if (at_.is_known()) { (void)std::move(d).note(at_, "it is used here"); }
    // A predicate stands outside of its block.
    for (size_t i = 0; predicate_of_ && i < predicate_of_->iter_values.size() && i < predicate_of_->block->iter_vars.size(); ++i) {
      if (predicate_of_->block->iter_vars[i].var.get() != &var) { continue; }
      out_.push_back(std::move(d).remedy(fmt::format("`T.where` decides whether the block runs, so it takes the loops: write `{}` in place of `{}`", print_debug(predicate_of_->iter_values[i], 40), var.name.view())));
      return;
    }
    out_.push_back(std::move(d).remedy("make it a parameter, an extent of a buffer that is matched, or a `let`; for a fragment of a program use `T.prim_func(check_well_formed=False)`"));
  }
  void define(const Var& var) {
    if (learning_) { learning_->defines.push_back(var.get()); }
    if (defined_.insert(var.get()).second || !reported_.insert(var.get()).second) { return; }
    out_.push_back(error(Code::DefinedTwice, var->origin).arg("name", var->name.view()).remedy("use another name for one of them"));
  }
  const BlockRealize* predicate_of_ = nullptr;   // the block whose predicate is visited
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

  // Checks a statement alone, and takes the variables that it uses as defined outside.
  static void learn(KnownStmt& known) {
    known.is_checked = true;
    known.uses.clear();
    known.defines.clear();
    known.leaves.clear();
    known.lets.clear();
    known.threads.clear();
    Diagnostics found;
    Checker alone(found);
    alone.learning_ = &known;
    alone.visit(known.completed);
    known.leaves.assign(alone.defined_.begin(), alone.defined_.end());
    known.is_sound = found.empty();
  }
  auto take(const KnownStmt& known) -> bool {
    for (const VarNode* var : known.uses) {
      if (defined_.count(var) == 0) { return false; }
    }
    for (const VarNode* var : known.defines) {
      if (defined_.count(var) != 0) { return false; }
    }
    for (const VarNode* var : known.lets) {
      if (!bound_.insert(var).second) { return false; }
    }
    for (const auto& [tag, var] : known.threads) {
      auto around = threads_.find(tag);
      if (around != threads_.end() && around->second && around->second != var) { return false; }
    }
    defined_.insert(known.leaves.begin(), known.leaves.end());
    return true;
  }

  Diagnostics& out_;
  PartCache* parts_ = nullptr;
  KnownStmt* learning_ = nullptr;
  bool is_confused_ = false;
  std::unordered_set<const VarNode*> defined_;
  std::unordered_set<const VarNode*> reported_;
  std::unordered_set<const VarNode*> bound_;             // by a let, here or before
  Origin at_;                                            // the access around
  std::unordered_map<const VarNode*, std::pair<const For*, size_t>> loops_;   // open loops, and the blocks around them that are not opaque
  std::vector<const Block*> blocks_;                     // open blocks that are not opaque
  std::set<std::pair<const VarNode*, const Block*>> mixed_;
  std::set<std::pair<const VarNode*, const VarNode*>> twice_;   // loops of one axis of threads that were reported
  std::unordered_map<Name, const VarNode*> threads_;     // launched around, by tag; null: not launched
};

}  // namespace

auto well_formed(const PrimFunc& func, PartCache* parts, bool is_newer) -> Diagnostics {
  Diagnostics out;
  if (!func) { return out; }
  if (parts) {
    Checker checker(out);
    checker.with(parts);
    checker.run(func);
    if (!checker.is_confused() && out.empty()) { return out; }
    // Checks the whole function, which gives the right order of the reports, and one report for each variable.
    out.clear();
  }
  Checker(out).run(func);
  if (is_newer) { std::erase_if(out, [](const Diagnostic& d) { return d.code == Code::ThreadTwice; }); }
  return out;
}

}  // namespace loopsmith::frontend
