// Closures for statements: loops, blocks, allocations, views.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "interp/access.h"
#include "support/saturate.h"

namespace loopsmith::interp {

struct Sequence final : Statement {
  std::vector<const Statement*> items;
  void run(Frame& f) const override {
    for (const Statement* s : items) {
      s->run(f);
      if (f.failed || f.flow != Flow::Next) { return; }
    }
  }
};
struct Nothing final : Statement {
  void run(Frame&) const override {}
};
struct EvaluateStatement final : Statement {
  Code value;
  uint32_t counter = 0;
  bool is_return = false;
  void run(Frame& f) const override {
    ++f.stats.statements;
    ++f.counts[counter];
    f.lane = 0;
    Slot v;
    if (value.i) { v.i = value.i->eval(f); } else if (value.f) { v.f = value.f->eval(f); }
    if (is_return) {
      f.returned = v;
      f.has_returned = true;
      f.flow = Flow::Return;
    }
  }
};
struct FlowStatement final : Statement {
  Flow flow;
  explicit FlowStatement(Flow x) : flow(x) {}
  void run(Frame& f) const override { f.flow = flow; }
};
/// The end of a range; if it overflows 64 bits, the largest number, which no loop reaches.
inline auto end_of(int64_t begin, int64_t count) -> int64_t {
  int64_t end = 0;
  return __builtin_add_overflow(begin, count, &end) ? std::numeric_limits<int64_t>::max() : end;
}
struct Loop final : Statement {
  Name name;
  uint32_t slot = 0;
  uint32_t counter = 0;
  bool any_order = false;                  // parallel, vectorised, bound to threads
  Runner runner = Runner::Other;           // the unit that runs an iteration
  bool is_launch = false;                  // the kernel has launches: its barriers are explicit
  const IntExpr* min = nullptr;
  const IntExpr* extent = nullptr;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    f.lane = 0;
    int64_t begin = value_of(*min, f);
    const int64_t count = std::max<int64_t>(0, value_of(*extent, f));
    const int64_t end = end_of(begin, count);
    f.loops.push_back({name, slot, counter});
    f.iterations[counter] = saturating_add(f.iterations[counter], count);
    if (!f.trips.empty()) { f.trips[counter] = count + 1; }
    bool watched = any_order && f.watch;
    uint32_t around = f.position;
    uint32_t thread_place = f.thread_place;
    uint64_t instance = watched ? f.watch->fresh_instance() : 0;
    for (int64_t i = begin; i < end; ++i) {
      f.slots[slot].i = i;
      if (watched) {
        f.position_behind_barriers(around, thread_place);
        f.position = f.watch->enter(around, this, name, instance, i, runner, is_launch);
      }
      int64_t steps = f.steps;
      body->run(f);
      // An iteration without statements, for example behind a false predicate, counts as a step, too.
      if (f.steps == steps && ++f.steps >= f.next_check) { f.check_limits(); }
      if (f.failed) { return; }
      if (f.flow != Flow::Next) {
        // A return in a launched kernel ends its thread only.
        if (f.flow == Flow::Return && !is_launch) { break; }
        bool stop = f.flow == Flow::Break;
        f.flow = Flow::Next;
        if (stop) { break; }
      }
    }
    if (watched) {
      f.position_behind_barriers(around, thread_place);
      f.position = around;
    }
    f.loops.pop_back();
  }
};
struct WhileLoop final : Statement {
  Origin origin;
  const IntExpr* condition = nullptr;
  const Statement* body = nullptr;
  uint32_t counter = 0;
  void run(Frame& f) const override {
    while (!f.failed && condition->eval(f)) {
      if (++f.steps >= f.next_check) { f.check_limits(origin); }
      ++f.counts[counter];
      body->run(f);
      if (f.flow != Flow::Next) {
        if (f.flow == Flow::Return) { return; }
        bool stop = f.flow == Flow::Break;
        f.flow = Flow::Next;
        if (stop) { return; }
      }
    }
  }
};
struct Branch final : Statement {
  uint32_t counter = 0;
  Origin origin;                           // of the condition
  const IntExpr* condition = nullptr;
  const Statement* then_case = nullptr;
  const Statement* else_case = nullptr;
  void run(Frame& f) const override {
    f.lane = 0;
    ++f.counts[counter];
    const bool holds = condition->eval(f) != 0;
    const Statement* way = holds ? then_case : else_case;
    if (f.ways.empty()) {
      if (way) { way->run(f); }
      return;
    }
    f.ways[counter] = holds ? 1 : 2;
    if (!way) { return; }
    f.branches.push_back(this);
    way->run(f);
    f.branches.pop_back();
  }
};
struct AssertThat final : Statement {
  const IntExpr* condition = nullptr;
  std::string message;
  Origin origin;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    f.lane = 0;
    if (!condition->eval(f)) {
      if (!f.failed) { f.fail(error(loopsmith::Code::InterpAssert, origin).arg("message", message).arg("iteration", f.iteration())); }
      return;
    }
    body->run(f);
  }
};
struct LetStatement final : Statement {
  uint32_t slot = 0;
  Code value;
  int lanes = 1;
  uint32_t counter = 0;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    f.counts[counter] += lanes;
    for (int l = 0; l < lanes; ++l) {
      f.lane = l;
      Slot v;
      if (value.i) { v.i = value.i->eval(f); } else { v.f = value.f->eval(f); }
      f.slots[slot + static_cast<uint32_t>(l)] = v;
    }
    f.lane = 0;
    body->run(f);
  }
};

// Fills in a binding from a buffer's shape, strides and offset.
struct BindBuffer {
  uint32_t binding = 0;
  uint32_t memory = 0;                     // slot of the data variable
  const BufferNode* buffer = nullptr;
  std::vector<const IntExpr*> shape, strides;
  const IntExpr* offset = nullptr;
  void run(Frame& f) const {
    Binding& b = f.bindings[binding];
    f.lane = 0;
    Pointer pointer = f.pointers[memory];
    b.memory = pointer.memory;
    b.start = pointer.byte;
    b.extents.resize(shape.size());
    b.strides.resize(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) { b.extents[d] = shape[d]->eval(f); }
    bool is_too_large = false;
    if (!strides.empty()) {
      for (size_t d = 0; d < shape.size(); ++d) { b.strides[d] = strides[d]->eval(f); }
    } else {
      int64_t stride = 1;
      for (size_t d = shape.size(); d-- > 0;) {
        b.strides[d] = stride;
        if (__builtin_mul_overflow(stride, b.extents[d], &stride)) { is_too_large = true; }
      }
    }
    b.offset = offset ? offset->eval(f) : 0;
    int64_t bytes = std::max(1, buffer->dtype.element_bytes() * buffer->dtype.lanes);
    b.count = pointer.elements(bytes);
    if (is_too_large) {
      // No memory can contain such a buffer: all its accesses are out of bounds.
      std::fill(b.strides.begin(), b.strides.end(), 0);
      b.count = 0;
    }
  }
};

/// Counts memory of that size, with the records about it, as allocated. False: it exceeds the limit.
[[nodiscard]] auto reserve(Frame& f, Memory& storage, int64_t bytes, int element_bytes) -> bool;

// Allocates memory for a variable while the body runs.
struct AllocateMemory {
  uint32_t memory = 0;
  uint32_t number = 0;                     // in Frame::storages
  std::vector<const IntExpr*> extents;
  int64_t element_bytes = 4;
  bool is_shared = false;                  // shared by the threads of a kernel
  Runner owner = Runner::Device;           // each block, or each thread, has a separate copy
  std::string constant;                    // initial contents; empty: none
  Origin origin;
  std::vector<BindBuffer> bind;            // buffers in this memory
  void run(Frame& f) const;

 private:
  void make(Frame& f, Memory& storage) const;
};
struct AllocateStatement final : Statement {
  AllocateMemory allocate;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    allocate.run(f);
    if (!f.failed) { body->run(f); }
  }
};
struct PointerStatement final : Statement {
  uint32_t slot = 0;
  const PointerExpr* value = nullptr;
  std::vector<BindBuffer> bind;            // buffers in the memory to which it points
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    f.pointers[slot] = value->eval(f);
    for (const BindBuffer& b : bind) { b.run(f); }
    body->run(f);
  }
};
struct DeclareStatement final : Statement {
  BindBuffer bind;
  const Statement* body = nullptr;
  void run(Frame& f) const override {
    bind.run(f);
    body->run(f);
  }
};

// A view of a region, within a block.
struct MatchRegion {
  uint32_t target = 0, source = 0;
  const BufferNode* buffer = nullptr;
  uint32_t memory = 0;                                     // slot of the view's data variable
  std::vector<const IntExpr*> mins, extents;
  // Variables that the view's shape, strides and offset define.
  std::vector<std::pair<uint32_t, size_t>> shape_vars, stride_vars;
  std::optional<uint32_t> offset_var;
  std::vector<BindBuffer> bind;                            // buffers without a declaration in the view's memory
  Origin origin;
  void run(Frame& f) const {
    f.lane = 0;
    const Binding from = f.bindings[source];
    if (from.strides.size() != mins.size()) {
      f.fail(error(loopsmith::Code::InterpUnsupported, origin).arg("what", "a view of a buffer that is not declared before it"));
      return;
    }
    Binding& to = f.bindings[target];
    to.memory = from.memory;
    f.pointers[memory] = {from.memory, from.start};
    to.start = from.start;
    // In elements of the view, whose type may differ from that of the buffer.
    int64_t bytes = std::max(1, buffer->dtype.element_bytes() * buffer->dtype.lanes);
    to.count = Pointer{from.memory, from.start}.elements(bytes);
    to.offset = from.offset;
    size_t rank = buffer->shape.size();
    size_t skip = mins.size() - rank;
    to.extents.resize(rank);
    to.strides.resize(rank);
    for (size_t d = 0; d < mins.size(); ++d) {
      to.offset += mins[d]->eval(f) * from.strides[d];
      if (d < skip) { continue; }
      to.extents[d - skip] = extents[d]->eval(f);
      to.strides[d - skip] = from.strides[d];
    }
    for (auto [slot, d] : shape_vars) { f.slots[slot].i = to.extents[d]; }
    for (auto [slot, d] : stride_vars) { f.slots[slot].i = to.strides[d]; }
    if (offset_var) { f.slots[*offset_var].i = to.offset; }
    for (const BindBuffer& b : bind) { b.run(f); }
  }
};

// A region that a block declares, and its place in Frame::regions.
struct DeclaredRegion {
  size_t first = 0;
  std::vector<const IntExpr*> mins, extents;
};

struct BlockInstance final : Statement {
  const Block* block = nullptr;
  std::vector<std::pair<uint32_t, const IntExpr*>> iters;    // slot, value
  std::vector<std::pair<uint32_t, const IntExpr*>> moved;    // those of `iters` that have a separate slot
  std::vector<std::pair<uint32_t, const IntExpr*>> starts;   // reduction iter vars and their first values
  const IntExpr* predicate = nullptr;                        // null: true
  std::vector<std::unique_ptr<AllocateMemory>> allocations;
  std::vector<BindBuffer> views;                             // buffers without a declaration that use iter vars
  std::vector<MatchRegion> matches;
  std::vector<DeclaredRegion> declared;                      // the declared regions, for checks of accesses
  std::vector<const void*> reduced;                          // loops over threads across which it reduces
  const Statement* init = nullptr;
  const Statement* body = nullptr;
  void run(Frame& f) const override;

 private:
  [[nodiscard]] auto is_wanted(Frame& f) const -> bool;
};

}  // namespace loopsmith::interp
