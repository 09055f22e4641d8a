// Kernels of cooperating threads: a loop nest over threadIdx whose body waits at barriers, reduces across threads or shuffles. Each
// thread has its own stack and frame. Threads run one at a time and in order, each up to the point where it must wait.
// Waiting for threads that never arrive is an error of the program.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "interp/frame.h"

namespace loopsmith::interp {

class Kernel {
 public:
  struct Dimension { Name name; int64_t extent; Name variable = {}; };
  enum class Wait : uint8_t { BlockBarrier, WarpBarrier, Exchange };

  Kernel(Frame& parent, std::vector<Dimension> dimensions, Origin origin);
  ~Kernel();
  /// Runs the body once per thread. Adds counts, warnings and errors to the parent's frame. `is_launch`: the program contains all barriers that it needs.
  void run(const Statement& body, bool is_launch);

  [[nodiscard]] auto thread_count() const -> int { return count_; }
  [[nodiscard]] auto has_dimension(std::string_view name) const -> bool {
    return std::any_of(dimensions_.begin(), dimensions_.end(), [&](const Dimension& d) { return d.name.view() == name; });
  }
  /// The index of a thread in a dimension; the first dimension changes fastest.
  [[nodiscard]] auto index(int thread, size_t dimension) const -> int64_t;
  /// Memory that all threads share, by the allocation's number; `second` is true when it is new.
  [[nodiscard]] auto storage(uint32_t number) -> std::pair<Memory*, bool>;

  /// Waits for all threads that have the same number in `group` as this one. `site` identifies the place of the wait. A barrier of the block needs
  /// every thread; an exchange of values (a shuffle) does not wait for threads that have ended. A barrier of a warp waits for those threads of the
  /// warp that reach it.
  void wait(Frame& f, const void* site, const std::vector<int>& group, Origin origin, Wait kind);
  /// Waits until `holds` returns true.
  void wait_until(Frame& f, const std::function<bool()>& holds, Origin origin);
  /// A barrier in memory for copies to shared memory: a phase ends when all awaited threads and bytes have arrived.
  struct MachineBarrier {
    int64_t awaited = 0, missing = 0;        // numbers of threads
    int64_t bytes = 0;                       // the bytes that copies still have to bring
    int64_t phases = 0;                      // completed phases
    std::vector<Copy> copies;
    Watch::Clock arrived = {}, completed = {};   // the clocks of the arrivals in this phase, and in the last one
  };
  std::map<int64_t, MachineBarrier> barriers;
  /// The values that each thread offers to others; none after the thread has ended.
  std::vector<std::vector<Slot>> posted;
  /// Every thread in one group.
  std::vector<int> everybody;
  /// Groups of threads that differ only in these dimensions.
  [[nodiscard]] auto across(const std::vector<size_t>& dimensions) -> const std::vector<int>&;
  [[nodiscard]] auto warps(int64_t size) -> const std::vector<int>&;

 private:
  struct Fiber;
  void resume(Fiber& fiber);
  void suspend(Fiber& fiber);
  auto release(bool is_stuck) -> bool;
  [[nodiscard]] auto diverged(const Fiber& waiting) const -> Diagnostic;
  [[nodiscard]] auto thread_text(int thread) const -> std::string;
  void give_up();
  void start_threads(bool is_launch);
  void own_local_memory(Frame& frame) const;
  void keep_local_memory();
  void collect();
  static void enter(unsigned high, unsigned low);

  Frame& parent_;
  std::vector<Dimension> dimensions_;
  Origin origin_;
  int count_ = 1;
  const Statement* body_ = nullptr;
  Fiber* current_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<std::unique_ptr<Memory>> storages_;
  std::map<std::vector<size_t>, std::vector<int>> across_;
  std::map<int64_t, std::vector<int>> warps_;
  struct Context;
  std::unique_ptr<Context> scheduler_;
};

}  // namespace loopsmith::interp
