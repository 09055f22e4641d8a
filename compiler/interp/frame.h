// What a run of the interpreter works on: slots of variables, memory, bindings of buffers, and the three kinds of closure
// that a program is made of. One frame per thread of the program: one in all, but for kernels whose threads wait for each other.
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
  std::vector<uint8_t> written;      // per byte; empty: not watched
  Shadow shadow;                     // who touched what; empty: not watched
};

/// A place in memory: what a variable of type handle stands for.
struct Pointer {
  Memory* memory = nullptr;
  int64_t byte = 0;
};

/// Copies that were started and are not done (copies.h).
struct Copy { Pointer to, from; int64_t bytes = 0; };
struct Copies {
  std::vector<Copy> started;                // since the last group
  bool is_grouped = false;                  // a group was begun; else each copy is one
  std::vector<std::vector<Copy>> groups;    // the earliest first
};

struct Binding {
  Memory* memory = nullptr;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;      // in elements
  int64_t offset = 0;                // in elements
  int64_t start = 0;                 // in bytes: where the buffer's data variable points to
  int64_t count = 0;                 // elements from there
};

enum class Flow : uint8_t { Next, Break, Continue, Return };

struct LoopInProgress { Name name; uint32_t slot; };

class Kernel;

struct Frame {
  std::vector<Slot> slots;
  std::vector<Pointer> pointers;     // by the slot of their variable
  std::vector<Binding> bindings;
  std::vector<std::unique_ptr<Memory>> storages;   // of allocations, by their number; kept for the next time
  std::vector<LoopInProgress> loops;
  std::vector<int64_t> counts;       // how often each piece of straight-line code ran
  std::vector<int64_t> iterations;   // of each loop
  std::vector<int64_t> regions;      // declared regions of the blocks that run, by their place: begin and end of each dimension
  int lane = 0;
  int depth = 0;                     // of calls of functions by themselves
  bool failed = false;
  Flow flow = Flow::Next;
  Slot returned;                     // by the function that was left last
  bool has_returned = false;         // was there a value?
  int64_t steps = 0;
  int64_t step_limit = INT64_MAX;
  int64_t next_check = 0;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const Options* options = nullptr;
  std::vector<char> tiles;           // tile registers of a processor, 8 of 16 rows of 64 bytes; empty: never used
  Copies copies;
  std::map<int64_t, Copies> queues;  // of engines that copy, by their number
  std::map<int64_t, int64_t> phases; // of barriers in memory: how many this thread has waited for
  std::vector<Pointer> stored;       // pointers that were written to memory: the first stands there as 1
  Kernel* kernel = nullptr;          // of whose threads this is one
  int thread = 0;
  Watch* watch = nullptr;            // null: races are not looked for
  uint32_t position = 0;             // in the watch's tree
  Stats stats;
  Diagnostics errors;
  std::unordered_set<const void*> warned;

  auto iteration() const -> std::string {
    std::string out;
    for (const LoopInProgress& loop : loops) {
      out += (out.empty() ? "" : ", ") + loop.name.str() + "=" + std::to_string(slots[loop.slot].i);
    }
    return out.empty() ? "the beginning" : out;
  }
  void fail(Diagnostic diagnostic) {
    if (!failed) { errors.push_back(std::move(diagnostic)); }
    failed = true;
  }
  /// Now and then: has it been asked to stop?
  void check_limits();
};

struct IntExpr {
  virtual ~IntExpr() = default;
  virtual auto eval(Frame& f) const -> int64_t = 0;
  // Most indices are variables and numbers: those are read without a call.
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
struct Code {   // one of the three
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
