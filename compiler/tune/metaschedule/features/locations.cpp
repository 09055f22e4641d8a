// Places of allocations: see locations.h.
#include "tune/metaschedule/features/locations.h"

#include <deque>
#include <unordered_set>

#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "tune/metaschedule/features/prepared.h"
#include "tune/metaschedule/loop_roles.h"

namespace loopsmith::tune::metaschedule {
namespace {

struct Scope {
  const Scope* parent;
  const StmtNode* node;   // a loop or a block; null: the function
  int depth;
};

auto common(const Scope* a, const Scope* b) -> const Scope* {
  if (!a || !b) { return a ? a : b; }
  while (a != b) {
    if (a->depth >= b->depth) { a = a->parent; } else { b = b->parent; }
  }
  return a;
}

class FindLocations : public Visitor {
 public:
  using Visitor::on;
  explicit FindLocations(const PrimFunc& func) {
    for (const auto& [param, buffer] : func->buffer_map) { given_.insert(buffer.get()); }
    scopes_.push_back({nullptr, nullptr, 0});
    here_ = &scopes_.back();
    visit(func->body);
  }

  // Global memory that blocks of threads access is allocated outside of their loops.
  auto places() -> AllocationsByPlace {
    AllocationsByPlace out;
    for (const Buffer& buffer : order_) {
      const Scope* place = found_[buffer.get()];
      if (is_global_memory(buffer->scope().view())) {
        for (const Scope* kernel : kernels_) { place = common(place, kernel->parent); }
      }
      out[place->node].push_back(buffer);
    }
    return out;
  }

  void on(const For& n) override {
    if (is_unit_loop(n)) { return visit(n.body); }
    const Scope* outside = enter(&n);
    if (is_bound_to_blocks(n)) { kernels_.push_back(here_); }
    loops_[n.var.get()] = here_;
    Visitor::on(n);
    loops_.erase(n.var.get());
    here_ = outside;
  }
  void on(const BlockRealize& n) override {
    for (const Buffer& b : n.block->alloc_buffers) { by_data_[b->data.get()] = b; }
    for (const Expr& value : n.iter_values) { visit(value); }
    visit(n.predicate);
    const Scope* outside = enter(n.block.get());
    lift_by_opaque_iters(n);
    for (const MatchBufferRegion& match : n.block->match_buffers) {
      use(match.source.buffer, here_);
      views_.insert(match.buffer.get());
    }
    if (n.block->init) { visit(n.block->init); }
    visit(n.block->body);
    here_ = outside;
  }
  void on(const BufferLoad& n) override {
    use(n.buffer, here_);
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    use(n.buffer, here_);
    Visitor::on(n);
  }
  void on(const VarNode& n) override {
    auto known = by_data_.find(&n);
    if (known != by_data_.end()) { use(known->second, here_); }
  }

 private:
  auto enter(const StmtNode* node) -> const Scope* {
    const Scope* outside = here_;
    scopes_.push_back({outside, node, outside->depth + 1});
    here_ = &scopes_.back();
    return outside;
  }
  void use(const Buffer& buffer, const Scope* scope) {
    if (given_.count(buffer.get()) > 0 || views_.count(buffer.get()) > 0) { return; }
    auto [known, is_new] = found_.emplace(buffer.get(), scope);
    if (is_new) { order_.push_back(buffer); }
    known->second = common(known->second, scope);
  }
  // Buffers that are indexed with iter vars of other kinds than spatial and reduction live outside of the loops that drive these.
  void lift_by_opaque_iters(const BlockRealize& n) {
    std::unordered_map<const VarNode*, const Scope*> outermost;
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      const IterVar& iter = n.block->iter_vars[i];
      if (iter.kind == IterKind::Spatial || iter.kind == IterKind::Reduction) { continue; }
      post_order(n.iter_values[i], [&](const Expr& e) {
        auto loop = loops_.find(e.as<VarNode>());
        if (loop == loops_.end()) { return; }
        const Scope*& at = outermost[iter.var.get()];
        if (!at || loop->second->parent->depth < at->depth) { at = loop->second->parent; }
      });
    }
    if (outermost.empty()) { return; }
    for (const auto* regions : {&n.block->reads, &n.block->writes}) {
      for (const BufferRegion& region : *regions) {
        const Scope* scope = here_;
        auto lift = [&](const Expr& e) {
          auto at = outermost.find(e.as<VarNode>());
          if (at != outermost.end() && at->second->depth < scope->depth) { scope = at->second; }
        };
        for (const Range& r : region.region) {
          post_order(r.min, lift);
          post_order(r.extent, lift);
        }
        use(region.buffer, scope);
      }
    }
  }

  std::deque<Scope> scopes_;
  const Scope* here_ = nullptr;
  std::vector<const Scope*> kernels_;
  std::unordered_map<const VarNode*, const Scope*> loops_;
  std::unordered_map<const VarNode*, Buffer> by_data_;
  std::unordered_map<const BufferNode*, const Scope*> found_;
  std::vector<Buffer> order_;
  std::unordered_set<const BufferNode*> given_, views_;
};

}  // namespace

auto find_locations(const PrimFunc& func) -> AllocationsByPlace { return FindLocations(func).places(); }

}  // namespace loopsmith::tune::metaschedule
