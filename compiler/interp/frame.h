// The state of a run of the interpreter: slots of variables, memory, bindings of buffers; and the three kinds of closures of a
// compiled program. A run has one frame, except for kernels whose threads wait for each other: they have a frame per thread.
#pragma once

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "interp/interp.h"
#include "interp/watch.h"
#include "ir/reals.h"
#include "support/codes.h"

namespace loopsmith::interp {

constexpr int max_lanes = 4096;

union Slot {
  int64_t i;
  double f;
};

struct Memory {
  char* data = nullptr;
  int64_t bytes = 0;
  std::unique_ptr<char[]> owned;
  int64_t capacity = 0;              // of `owned`, in bytes
  int64_t charged = 0;               // the bytes counted in Frame::allocated
  bool is_of_thread = false;         // local memory: each thread of a launched kernel has a copy
  std::vector<uint8_t> written;      // one flag per byte; empty: reads of unwritten elements are not reported
  Shadow shadow;                     // the last accesses; empty: races are not reported
};

/// A place in memory: the value of a variable of type handle. Arithmetic of the program may put it anywhere, so sums with it may overflow.
struct Pointer {
  Memory* memory = nullptr;
  int64_t byte = 0;

  /// True if `size` bytes from `more` bytes behind the place are in the memory.
  [[nodiscard]] auto has(int64_t size, int64_t more = 0) const -> bool {
    int64_t at = 0, end = 0;
    return memory != nullptr && size >= 0 && !__builtin_add_overflow(byte, more, &at) && at >= 0 && !__builtin_add_overflow(at, size, &end) && end <= memory->bytes;
  }
  /// The number of elements of this size from the place to the end of the memory; 0: the place is outside.
  [[nodiscard]] auto elements(int64_t element_bytes) const -> int64_t {
    return memory != nullptr && byte >= 0 && byte <= memory->bytes ? (memory->bytes - byte) / element_bytes : 0;
  }
};

/// A copy that was started and has not completed yet (copies.h).
struct Copy {
  Pointer to, from;
  int64_t bytes = 0;
  uint32_t place = 0;                       // in the watch's tree; 0: not watched
};
struct Copies {
  std::vector<Copy> started;                // since the last group
  bool is_grouped = false;                  // a group was begun; false: each copy is a group
  std::vector<std::vector<Copy>> groups;    // the earliest first
};

struct Binding {
  Memory* memory = nullptr;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;      // in elements
  int64_t offset = 0;                // in elements
  int64_t start = 0;                 // in bytes: the address to which the buffer's data variable points
  int64_t count = 0;                 // elements from that place on
};

enum class Flow : uint8_t { Next, Break, Continue, Return };

struct LoopInProgress {
  Name name;
  uint32_t slot;
  uint32_t counter = UINT32_MAX;     // in Frame::trips
};

class Kernel;
struct Branch;

struct Frame {
  std::vector<Slot> slots;
  std::vector<Pointer> pointers;     // by the slot of the variable
  std::vector<Binding> bindings;
  std::vector<std::unique_ptr<Memory>> storages;   // memory of allocations, by number; the next execution of the allocation reuses it
  std::vector<LoopInProgress> loops;
  std::vector<int64_t> counts;       // executions of each piece of straight-line code
  std::vector<int64_t> iterations;   // of each loop
  std::vector<int64_t> regions;      // declared regions of the running blocks, by place: begin and end of each dimension
  int lane = 0;
  int depth = 0;                     // the depth of recursive calls
  bool failed = false;
  Flow flow = Flow::Next;
  Slot returned;                     // the value of the function that returned last
  bool has_returned = false;         // the function returned a value
  int64_t steps = 0;
  int64_t step_limit = INT64_MAX;
  int64_t next_check = 0;
  int64_t* allocated = nullptr;      // bytes, shared by all threads
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const Options* options = nullptr;
  std::vector<char> tiles;           // tile registers of a processor: 8 of 16 rows of 64 bytes; empty before the first use
  Copies copies;
  std::map<int64_t, Copies> queues;  // of copy engines, by their number
  std::map<int64_t, int64_t> phases; // of barriers in memory: the number of phases that this thread has waited for
  std::vector<Pointer> stored;       // pointers that were written to memory; the first is represented by the number 1
  Kernel* kernel = nullptr;          // the kernel of this thread; null: none
  int thread = 0;
  Watch* watch = nullptr;            // null: races are not reported
  uint32_t position = 0;             // in the watch's tree
  uint32_t thread_place = 0;         // the place of this thread of a kernel in that tree; 0: none
  /// The path of a kernel's thread, to explain a barrier that other threads do not reach: the branches around it; and, by
  /// counter, the last direction of each branch (1: taken, 2: not taken) and the last number of iterations of each loop, plus 1.
  std::vector<const Branch*> branches;
  std::vector<uint8_t> ways;
  std::vector<int64_t> trips;
  Stats stats;
  Diagnostics errors;
  std::unordered_set<const void*> warned;
  std::unordered_set<uint32_t> raced;  // numbers of accesses with a reported race

  auto iteration() const -> std::string {
    std::string out;
    for (const LoopInProgress& loop : loops) {
      out += (out.empty() ? "" : ", ") + loop.name.str() + "=" + std::to_string(slots[loop.slot].i);
    }
    return out.empty() ? "the beginning" : out;
  }
  /// Continues behind a barrier.
  void pass_barrier(Watch::Barrier barrier) {
    if (!watch || thread_place == 0) { return; }
    uint32_t before = thread_place;
    thread_place = watch->past_barrier(before, barrier);
    position_behind_barriers(position, before);
  }
  /// Moves a place that was recorded at `thread_place` behind the barriers that the thread has passed since then.
  void position_behind_barriers(uint32_t& place, uint32_t& at) const {
    if (at == thread_place) { return; }
    place = watch->moved(place, thread_place);
    at = thread_place;
  }
  void fail(Diagnostic diagnostic) {
    if (!failed) { errors.push_back(std::move(diagnostic)); }
    failed = true;
  }
  /// Called from time to time: stops the run after a cancellation or at a limit. `at`: the statement that runs, for the message.
  void check_limits(Origin at = {});
};

struct IntExpr {
  virtual ~IntExpr() = default;
  virtual auto eval(Frame& f) const -> int64_t = 0;
  // Most indices are variables and constants: they are read without a call.
  enum class Plain : uint8_t { No, Slot, Constant } plain = Plain::No;
  int64_t plain_value = 0;           // the slot's number, or the constant
};
inline auto value_of(const IntExpr& e, Frame& f) -> int64_t {
  if (e.plain == IntExpr::Plain::Slot) { return f.slots[static_cast<size_t>(e.plain_value)].i; }
  if (e.plain == IntExpr::Plain::Constant) { return e.plain_value; }
  return e.eval(f);
}
struct RealExpr {
  virtual ~RealExpr() = default;
  virtual auto eval(Frame& f) const -> double = 0;
};
struct PointerExpr {
  virtual ~PointerExpr() = default;
  virtual auto eval(Frame& f) const -> Pointer = 0;
};
struct Code {   // exactly one of the three is set
  const IntExpr* i = nullptr;
  const RealExpr* f = nullptr;
  DataType type;
  const PointerExpr* p = nullptr;
};
struct Statement {
  virtual ~Statement() = default;
  virtual void run(Frame& f) const = 0;
};

inline auto wrap_to(DataType t, int64_t v) -> int64_t {
  if (t.bits >= 64) { return v; }
  if (t.bits == 1) { return v & 1; }
  if (t.is_int()) { return static_cast<int64_t>(static_cast<uint64_t>(v) << (64 - t.bits)) >> (64 - t.bits); }
  return static_cast<int64_t>(static_cast<uint64_t>(v) & ((uint64_t{1} << t.bits) - 1));
}

}  // namespace loopsmith::interp
