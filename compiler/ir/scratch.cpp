// Proves that a buffer is scratch memory of a loop: see scratch.h.
#include "ir/scratch.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "ir/element_bytes.h"
#include "ir/equal.h"
#include "ir/follow.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith {
namespace {

// The elements of one piece of memory, with the same number for the same place in all buffers on it.
class Places {
 public:
  using Element = Follower::Element;
  Places(const Stmt& body, const VarNode* data, const std::vector<const VarNode*>& names) : pointers_(names) {
    pointers_.push_back(data);
    post_order(
        body,
        [&](const Stmt& s) {
          if (const auto* store = s.as<BufferStore>()) { know(store->buffer); }
          if (const auto* block = s.as<Block>()) { for (const MatchBufferRegion& m : block->match_buffers) { know(m.source.buffer); } }
        },
        [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { know(load->buffer); } });
    for (const BufferNode* buffer : buffers_) { unit_ = std::gcd(unit_, bytes_of_element(*buffer).value_or(1)); }
  }
  [[nodiscard]] auto contains(const VarNode* data) const -> bool { return std::find(pointers_.begin(), pointers_.end(), data) != pointers_.end(); }
  [[nodiscard]] auto contains(const Buffer& buffer) const -> bool { return contains(buffer->data.get()); }
  /// The places of an element. Empty: they are not known.
  [[nodiscard]] auto of(const Buffer& buffer, const Element& at) const -> std::vector<Element> {
    if (buffers_.size() == 1) { return {at}; }
    auto byte = first_byte(*buffer, at);
    if (!byte) { return {}; }
    std::vector<Element> out;
    for (int64_t end = *byte + *bytes_of_element(*buffer); *byte < end; *byte += unit_) { out.push_back({*byte / unit_}); }
    return out;
  }

 private:
  void know(const Buffer& buffer) {
    if (contains(buffer) && std::find(buffers_.begin(), buffers_.end(), buffer.get()) == buffers_.end()) { buffers_.push_back(buffer.get()); }
  }
  std::vector<const VarNode*> pointers_;
  std::vector<const BufferNode*> buffers_;
  int64_t unit_ = 0;                         // bytes
};

// Follows one iteration, and checks that each loaded element was stored before: for certain, or where the load runs only if the store has run.
class Iteration : public Follower {
 public:
  Iteration(const Places& places, int64_t steps) : places_(places) { steps_left = steps; }
  [[nodiscard]] auto is_proved(const Stmt& body) -> bool { return follow(body) && is_fine_; }
  std::set<Element> touched;                 // places of stores

 protected:
  void load(const Buffer& buffer, const Element& at) override {
    for (const Element& place : known(buffer, at)) { is_fine_ = is_fine_ && stored_.contains(place); }
  }
  void load_somewhere(const Buffer& buffer) override { is_fine_ = is_fine_ && !places_.contains(buffer); }
  void store(const Buffer& buffer, const Element& at, bool certain) override {
    for (const Element& place : known(buffer, at)) {
      touched.insert(place);
      if (is_whole && stored_.insert(place).second && !certain) { in_region_.push_back(place); }
    }
  }
  // Stores in a region hold for the loads behind them in it.
  auto begin_region() -> size_t override { return in_region_.size(); }
  void end_region(size_t begin) override {
    for (; in_region_.size() > begin; in_region_.pop_back()) { stored_.erase(in_region_.back()); }
  }
  void store_somewhere(const Buffer& buffer) override { is_fine_ = is_fine_ && !places_.contains(buffer); }
  void hand_out(const VarNode* data) override { is_fine_ = is_fine_ && !places_.contains(data); }

 private:
  // Empty for other memory.
  auto known(const Buffer& buffer, const Element& at) -> std::vector<Element> {
    if (!is_fine_ || !places_.contains(buffer)) { return {}; }
    std::vector<Element> out = places_.of(buffer, at);
    is_fine_ = !out.empty();
    return out;
  }
  const Places& places_;
  std::set<Element> stored_;
  std::vector<Element> in_region_;           // stored there, and not before
  bool is_fine_ = true;
};

// Finds for each load a store with the same indices that certainly runs before it in the iteration.
class Dominated : public Visitor {
 public:
  Dominated(const Places& places, const VarNode* loop) : places_(places), loop_(loop) {}
  using Visitor::on;
  using Visitor::visit;
  bool is_fine = true;
  bool is_shared = true;

  void on(const VarNode& n) override { is_fine = is_fine && !places_.contains(&n); }
  void on(const BufferLoad& n) override {
    Visitor::on(n);
    if (!places_.contains(n.buffer)) { return; }
    is_fine = is_fine && !n.predicate && std::any_of(stored_.begin(), stored_.end(), [&](const BufferStore* s) {
      return s->buffer == n.buffer && std::equal(s->indices.begin(), s->indices.end(), n.indices.begin(), n.indices.end(), [](const Expr& a, const Expr& b) { return structural_equal(a, b); });
    });
  }
  void on(const BufferStore& n) override {
    Visitor::on(n);
    if (!places_.contains(n.buffer) || n.predicate) { return; }
    bool loads = false;
    for (const Expr& index : n.indices) {
      // Each iteration has a separate element.
      if (index.get() == loop_) { is_shared = false; }
      post_order(index, [&](const Expr& e) { loads = loads || e.as<BufferLoad>() || e.as<Call>(); });
    }
    if (!loads) { stored_.push_back(&n); }
  }
  void on(const For& n) override { inside([&] { Visitor::on(n); }); }
  void on(const While& n) override { inside([&] { Visitor::on(n); }); }
  void on(const IfThenElse& n) override {
    visit(n.condition);
    inside([&] { visit(n.then_case); });
    if (n.else_case) { inside([&] { visit(n.else_case); }); }
  }
  // Does not enter blocks: iter vars would have to be replaced by their values.
  void on(const BlockRealize& n) override {
    is_fine = is_fine && n.block->iter_vars.empty() && n.block->match_buffers.empty() && !n.block->init && is_one(n.predicate);
    if (is_fine) { visit(n.block->body); }
  }

 private:
  // Stores inside may not run, or may use variables that are undefined afterwards.
  template <class F> void inside(const F& f) {
    size_t before = stored_.size();
    f();
    stored_.resize(before);
  }
  const Places& places_;
  const VarNode* loop_;
  std::vector<const BufferStore*> stored_;
};

}  // namespace

auto scratch_use(const For& loop, const VarNode* data, const std::vector<const VarNode*>& names) -> ScratchUse {
  constexpr int64_t most_steps = 1 << 16;
  // With an unknown loop variable, the elements that are still known are the same in every iteration.
  Places places(loop.body, data, names);
  Iteration any(places, most_steps);
  if (any.is_proved(loop.body)) { return {true, !any.touched.empty()}; }
  auto min = as_int(loop.min), extent = as_int(loop.extent);
  if (min && extent && *extent <= 256) {
    std::set<Follower::Element> all;
    bool is_proved = true, is_shared = false;
    int64_t steps = most_steps;
    for (int64_t i = *min; i < *min + *extent && is_proved; ++i) {
      Iteration one(places, steps);
      one.values.emplace_back(loop.var.get(), i);
      is_proved = one.is_proved(loop.body);
      steps = one.steps_left;
      for (const auto& at : one.touched) { is_shared = !all.insert(at).second || is_shared; }
    }
    if (is_proved) { return {true, is_shared}; }
  }
  Dominated dominated(places, loop.var.get());
  dominated.visit(loop.body);
  return {dominated.is_fine, dominated.is_shared};
}

auto uses_memory(const Stmt& stmt, const VarNode* data) -> bool {
  bool found = false;
  auto meet = [&](const Buffer& b) { found = found || b->data.get() == data; };
  post_order(
      stmt,
      [&](const Stmt& s) {
        if (const auto* n = s.as<BufferStore>()) { meet(n->buffer); }
        if (const auto* n = s.as<DeclBuffer>()) { meet(n->buffer); }
        if (const auto* n = s.as<Block>()) {
          for (const BufferRegion& r : n->reads) { meet(r.buffer); }
          for (const BufferRegion& r : n->writes) { meet(r.buffer); }
          for (const MatchBufferRegion& m : n->match_buffers) { meet(m.source.buffer); }
        }
        if (const auto* n = s.as<AttrStmt>()) {
          const auto* subject = std::get_if<Expr>(&n->node);
          found = found || (subject && subject->get() == data);
        }
      },
      [&](const Expr& e) {
        if (const auto* n = e.as<BufferLoad>()) { meet(n->buffer); }
        found = found || e.get() == data;
      });
  return found;
}

auto only_user(const Stmt& stmt, const VarNode* data) -> Stmt {
  Stmt only;
  bool is_elsewhere = false;
  visit_children(
      stmt,
      [&](const Expr& e) {
        post_order(e, [&](const Expr& x) {
          const auto* load = x.as<BufferLoad>();
          is_elsewhere = is_elsewhere || x.get() == data || (load && load->buffer->data.get() == data);
        });
      },
      [&](const Stmt& s) {
        if (!uses_memory(s, data)) { return; }
        is_elsewhere = is_elsewhere || only;
        only = s;
      });
  const auto* attr = stmt.as<AttrStmt>();
  const auto* subject = attr ? std::get_if<Expr>(&attr->node) : nullptr;
  if (is_elsewhere || (subject && subject->get() == data)) { return {}; }
  const bool is_path = stmt.as<SeqStmt>() || stmt.as<IfThenElse>() || stmt.as<LetStmt>() || attr || stmt.as<AssertStmt>() || stmt.as<Allocate>() || stmt.as<AllocateConst>() ||
                       stmt.as<While>() || stmt.as<For>() || stmt.as<DeclBuffer>();
  return is_path ? only : Stmt();
}

}  // namespace loopsmith
