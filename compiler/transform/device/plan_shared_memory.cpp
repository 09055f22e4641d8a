// Shared memory of kernels: see plan_shared_memory.h.
#include "transform/device/plan_shared_memory.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/ops.h"
#include "ir/other_data.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/fault.h"
#include "support/saturate.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

/// A shared buffer, and the times of its accesses; each statement has a time.
struct Memory {
  const Allocate* node = nullptr;
  std::vector<const StmtNode*> path;   // the statements around, outermost first
  int64_t bytes = 0;
  int64_t element_bytes = 0;
  size_t depth = 0;                    // of loops around
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = -1;
  std::unordered_set<const StmtNode*> thread_loops = {};   // the innermost around the accesses
};

/// Finds the shared buffers of a kernel.
class Survey {
 public:
  std::vector<Memory> found;

  void walk(const Stmt& stmt) {
    ++now_;
    const StmtNode* node = stmt.get();
    if (const auto* n = stmt.as<Allocate>()) { add(*n); }
    const bool is_loop = repeats(stmt);
    path_.push_back(node);
    if (is_loop) { loops_.push_back({now_, {}}); }
    if (const auto* store = stmt.as<BufferStore>()) { touch(store->buffer->data.get()); }
    visit_children(stmt, [&](const Expr& e) { touch_all(e); }, [&](const Stmt& s) { walk(s); });
    if (is_loop) { leave_loop(); }
    path_.pop_back();
  }

 private:
  /// True for loops whose iterations run one after the other, in the end: virtual threads may, and threads inside of a loop over the same dimension.
  auto repeats(const Stmt& stmt) const -> bool {
    auto loop = as_thread_loop(stmt);
    if (!loop) { return stmt.as<For>() || stmt.as<While>(); }
    if (is_virtual_axis(loop->tag.view())) { return true; }
    return std::any_of(path_.begin(), path_.end(), [&](const StmtNode* around) {
      auto outer = as_thread_loop(Stmt(Ref<StmtNode>(around)));
      return outer && outer->tag == loop->tag;
    });
  }
  struct Loop { int64_t begin; std::unordered_set<size_t> touched; };

  void add(const Allocate& n) {
    if (!n.data->pointer || !is_plain_shared(n.data->pointer->scope) || !is_one(n.condition)) { return; }
    const int64_t element = n.dtype.element_bytes() * n.dtype.lanes;
    int64_t bytes = element;
    for (const Expr& e : n.extents) {
      auto extent = as_int(e);
      if (!extent || *extent < 0) { return; }
      bytes = saturating_mul(bytes, *extent);
    }
    numbers_[n.data.get()] = found.size();
    found.push_back({.node = &n, .path = path_, .bytes = bytes, .element_bytes = element, .depth = loops_.size()});
  }
  static auto is_plain_shared(Name scope) -> bool { return scope == "shared" || scope == "shared.dyn"; }
  void touch_all(const Expr& expr) {
    post_order(expr, [&](const Expr& e) {
      if (const auto* load = e.as<BufferLoad>()) { touch(load->buffer->data.get()); }
      if (const auto* v = e.as<VarNode>()) { touch(v); }
    });
  }
  void touch(const VarNode* data) {
    auto number = numbers_.find(data);
    if (number == numbers_.end()) { return; }
    Memory& m = found[number->second];
    m.first = std::min(m.first, now_);
    m.last = std::max(m.last, now_);
    for (size_t i = path_.size(); i-- > 0;) {
      auto loop = as_thread_loop(Stmt(Ref<StmtNode>(path_[i])));
      if (!loop || is_virtual_axis(loop->tag.view())) { continue; }
      m.thread_loops.insert(path_[i]);
      break;
    }
    if (loops_.size() > m.depth) { loops_.back().touched.insert(number->second); }
  }
  /// The next iteration may read elements that this one wrote.
  void leave_loop() {
    Loop loop = std::move(loops_.back());
    loops_.pop_back();
    for (size_t i : loop.touched) {
      Memory& m = found[i];
      m.first = std::min(m.first, loop.begin);
      m.last = std::max(m.last, now_);
      if (loops_.size() > m.depth) { loops_.back().touched.insert(i); }
    }
  }

  int64_t now_ = 0;
  std::vector<const StmtNode*> path_;
  std::vector<Loop> loops_;
  std::unordered_map<const VarNode*, size_t> numbers_;
};

/// An allocation of several buffers.
struct Slot {
  std::vector<size_t> members;
  std::vector<const StmtNode*> path;   // the statements around all members
  int64_t bytes = 0;
  int64_t last = -1;
  std::unordered_set<const StmtNode*> thread_loops;
};

auto common_path(const Memory& a, const Slot& slot) -> std::vector<const StmtNode*> {
  size_t length = 0;
  while (length < a.path.size() && length < slot.path.size() && a.path[length] == slot.path[length]) { ++length; }
  return {a.path.begin(), a.path.begin() + static_cast<std::ptrdiff_t>(length)};
}
auto threads_around(const std::vector<const StmtNode*>& path) -> std::vector<const StmtNode*> {
  std::vector<const StmtNode*> out;
  for (const StmtNode* node : path) {
    auto loop = as_thread_loop(Stmt(Ref<StmtNode>(node)));
    if (loop) { out.push_back(node); }
  }
  return out;
}

auto slots_of(const std::vector<Memory>& all) -> std::vector<Slot> {
  std::vector<size_t> order;
  for (size_t i = 0; i < all.size(); ++i) { if (all[i].last >= 0) { order.push_back(i); } }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return std::pair(all[a].first, a) < std::pair(all[b].first, b); });
  std::vector<Slot> out;
  for (size_t i : order) {
    const Memory& m = all[i];
    Slot* best = nullptr;
    for (Slot& slot : out) {
      const Memory& other = all[slot.members.front()];
      const bool is_free = FAULT(shared_memory_shared_too_early) ? slot.last <= m.last : slot.last < m.first;
      if (!is_free || other.element_bytes != m.element_bytes || other.node->data->pointer->scope != m.node->data->pointer->scope) { continue; }
      // One thread may be behind in the same loop, and no barrier stands between.
      if (std::any_of(m.thread_loops.begin(), m.thread_loops.end(), [&](const StmtNode* loop) { return slot.thread_loops.contains(loop); })) { continue; }
      // Inside of a loop over threads, memory may be that of a thread.
      if (threads_around(other.path) != threads_around(m.path)) { continue; }
      // The slot whose size is nearest.
      auto waste = [&](const Slot& s) { return std::max(s.bytes, m.bytes) - std::min(s.bytes, m.bytes); };
      if (best == nullptr || waste(slot) < waste(*best)) { best = &slot; }
    }
    if (best == nullptr) {
      out.push_back({{i}, m.path, m.bytes, m.last, m.thread_loops});
      out.back().path.push_back(m.node);
      continue;
    }
    best->path = common_path(m, *best);
    best->members.push_back(i);
    best->bytes = std::max(best->bytes, m.bytes);
    best->last = m.last;
    best->thread_loops.insert(m.thread_loops.begin(), m.thread_loops.end());
  }
  std::erase_if(out, [](const Slot& slot) { return slot.members.size() < 2; });
  return out;
}

/// Puts the allocations of slots in place of those of their members.
class Merge : public OtherData {
 public:
  using Mutator::mutate;
  using OtherData::on;
  Merge(const std::vector<Memory>& all, const std::vector<Slot>& slots) {
    for (const Slot& slot : slots) {
      const Allocate& first = *all[slot.members.front()].node;
      const int64_t elements = slot.bytes / all[slot.members.front()].element_bytes;
      auto made = [&, elements](Stmt body) -> Stmt { return make<Allocate>(first.data, first.dtype, Array<Expr>{int_imm(elements)}, first.condition, std::move(body), first.annotations, first.origin); };
      for (size_t i : slot.members) {
        if (all[i].node->data != first.data) { instead.emplace(all[i].node->data.get(), first.data); }
        left_out_.insert(all[i].node);
      }
      at_[slot.path.back()].emplace_back(made);
    }
  }
  auto run(const Stmt& stmt) -> Stmt { return mutate(stmt); }

  // The place of a slot is a member, or a statement around members.
#define LOOPSMITH_PLACE(Kind) auto on(const Kind& n) -> Stmt override { return placed(n, [&] { return Mutator::on(n); }); }
  LOOPSMITH_PLACE(SeqStmt)
  LOOPSMITH_PLACE(IfThenElse)
  LOOPSMITH_PLACE(For)
  LOOPSMITH_PLACE(While)
  LOOPSMITH_PLACE(LetStmt)
  LOOPSMITH_PLACE(AttrStmt)
  LOOPSMITH_PLACE(AssertStmt)
  LOOPSMITH_PLACE(AllocateConst)
  LOOPSMITH_PLACE(DeclBuffer)
#undef LOOPSMITH_PLACE
  auto on(const Allocate& n) -> Stmt override {
    return placed(n, [&] { return left_out_.contains(&n) ? mutate(n.body) : Mutator::on(n); });
  }

 private:
  template <class Node, class F>
  auto placed(const Node& n, F&& inside) -> Stmt {
    Stmt out = inside();
    auto found = at_.find(&n);
    if (found == at_.end()) { return out; }
    for (const auto& allocate : found->second) { out = allocate(std::move(out)); }
    return out;
  }
  std::unordered_set<const StmtNode*> left_out_;
  std::unordered_map<const StmtNode*, std::vector<std::function<Stmt(Stmt)>>> at_;
};

class Plan : public Mutator {
 public:
  using Mutator::on;
  auto on(const For& n) -> Stmt override { return n.for_kind == ForKind::ThreadBinding ? kernel(self(n)) : Mutator::on(n); }
  auto on(const AttrStmt& n) -> Stmt override { return as_thread_loop(self(n)) ? kernel(self(n)) : Mutator::on(n); }

 private:
  static auto kernel(const Stmt& nest) -> Stmt {
    Survey survey;
    survey.walk(nest);
    std::vector<Slot> slots = slots_of(survey.found);
    return slots.empty() ? nest : Merge(survey.found, slots).run(nest);
  }
};

}  // namespace

auto plan_shared_memory(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Plan().mutate(func->body)); });
}

}  // namespace loopsmith::transform
