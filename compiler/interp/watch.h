// The detection of races: the last accesses to each element, and the order of two accesses.
//
// Iterations of parallel, vectorized and thread-bound loops form a tree of places. Two places are unordered if the tree branches between them
// at iterations of the same run of such a loop. For loops alone, keeping the last writer and reader of an element suffices: a sequential run
// finds a race of the element if it has any (Feng and Leiserson, SPAA'97).
//
// Threads of a kernel have a richer order: a barrier of the block orders everything before it with everything after it, a barrier of a warp
// does so for the threads of the warp, and a barrier in memory (mbarrier) orders the arrivals of a phase before the waits for it. A thread's
// place therefore has epochs, as in FastTrack (Flanagan and Freund, PLDI'09): the numbers of barriers of its block and of its warp that it has passed,
// and a clock of its own, which is compared with the clocks of other threads if barriers in memory are used.
//
// An asynchronous copy has a separate place, unordered with everything after its start until the thread that started it waits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/name.h"
#include "support/origin.h"

namespace loopsmith::interp {

/// An access in the program's text.
struct AccessInText { Name buffer; Origin origin; };

/// The units that have separate memory, or that run the iterations of a loop.
enum class Runner : uint8_t { Device, Block, Thread, Other };

/// The last accesses to each granule of a memory.
struct Shadow {
  /// The place in the watch's tree and the number of the access in the text. Place 0: none.
  struct Use { uint32_t place = 0, access = 0; };
  /// Two readers are kept, because readers need not be ordered with each other: the first one, and the latest one that is unordered with the first.
  struct Granule { Use writer, reader, latest_reader; };
  Runner owner = Runner::Device;      // each block, or each thread, has a copy; otherwise all use one
  int granule = 1;                    // bytes
  int shift = 0;                      // the logarithm of the granule's size; -1: it is not a power of two
  std::vector<Granule> uses;

  [[nodiscard]] auto is_on() const -> bool { return !uses.empty(); }
  /// The first and the last granule of an access.
  [[nodiscard]] auto granules(int64_t at, int64_t bytes) const -> std::pair<size_t, size_t> {
    if (shift >= 0) { return {static_cast<size_t>(at >> shift), static_cast<size_t>((at + bytes - 1) >> shift)}; }
    return {static_cast<size_t>(at / granule), static_cast<size_t>((at + bytes - 1) / granule)};
  }
  void reset(int64_t bytes, int granule_bytes);
};

class Watch {
 public:
  explicit Watch(const std::vector<AccessInText>& accesses) : accesses_(accesses) { places_.resize(2); }

  static constexpr uint32_t beginning = 1;
  /// A new number for a run of a loop.
  [[nodiscard]] auto fresh_instance() -> uint64_t { return ++instances_; }
  /// The place of an iteration of an unordered loop. `is_launch`: the iterations are threads or blocks of a kernel with explicit barriers.
  [[nodiscard]] auto enter(uint32_t from, const void* loop, Name name, uint64_t instance, int64_t iteration, Runner runner = Runner::Other, bool is_launch = false) -> uint32_t;
  /// The place of an instance of a block that reduces across the iterations of `loops`: these do not race with each other.
  [[nodiscard]] auto enter_reduction(uint32_t from, const void* block, const std::vector<const void*>* loops) -> uint32_t;

  // ---- threads of a kernel
  struct ThreadDimension { Name variable; int64_t extent; };
  /// Starts a kernel; one runs at a time.
  void begin_kernel(uint64_t instance, std::vector<ThreadDimension> dimensions);
  [[nodiscard]] auto enter_thread(uint32_t from, const void* kernel, uint64_t instance, int64_t thread, bool is_launch) -> uint32_t;
  enum class Barrier : uint8_t { Block, Warp, Memory };
  /// The place of the same thread behind a barrier.
  [[nodiscard]] auto past_barrier(uint32_t thread_place, Barrier barrier) -> uint32_t;
  /// Moves `place`, in or at a place of a thread, into the thread's new place.
  [[nodiscard]] auto moved(uint32_t place, uint32_t thread_place) -> uint32_t;

  /// The clocks of all threads, as far as one thread has received them.
  using Clock = std::vector<uint32_t>;
  /// Called when a thread arrives at a barrier in memory: adds its own clock, and the clocks that it has received, to `into`.
  void release(uint32_t thread_place, Clock& into);
  /// Called when the thread has waited for arrivals with these clocks.
  void acquire(uint32_t thread_place, const Clock& from);

  // ---- asynchronous copies
  /// The place of a copy that is started at `from`, unordered with everything later.
  [[nodiscard]] auto start_copy(uint32_t from) -> uint32_t;
  /// Records that the copy completed before everything that follows `at`, where its thread has waited for it.
  void finish_copy(uint32_t copy, uint32_t at);

  struct Conflict {
    uint32_t first = 0, second = 0;   // iterations, as places
    Runner runner = Runner::Other;    // the unit that runs the iterations
    bool is_launch = false;           // between threads or blocks of a kernel with explicit barriers
    bool is_copy = false;             // the earlier access is by a copy for which no thread waited
  };
  /// `now` is the place of an access that happens now, `before` that of an earlier one.
  [[nodiscard]] auto unordered(uint32_t before, uint32_t now) const -> std::optional<Conflict>;
  /// The iterations of a place as text, as "tx=3".
  [[nodiscard]] auto in_words(uint32_t place) const -> std::string;
  [[nodiscard]] auto access(uint32_t number) const -> const AccessInText& { return accesses_[number]; }

 private:
  struct Place {
    uint32_t parent = 0;
    uint32_t depth = 0;
    const void* loop = nullptr;       // null: a reduction
    Name name;
    uint64_t instance = 0;
    int64_t iteration = 0;
    const void* reducing = nullptr;   // the block
    const std::vector<const void*>* reduced = nullptr;
    // For a thread: the numbers of barriers that it has passed, and its clock.
    uint32_t block_epoch = 0, warp_epoch = 0, clock = 0;
    bool is_thread = false;           // of a kernel
    Runner runner = Runner::Other;
    bool is_launch = false;
    bool is_unfinished = false;       // a copy for which no thread has waited
  };
  /// The run of the kernel whose thread is at the place; 0: none.
  [[nodiscard]] auto kernel_of(uint32_t place) const -> uint64_t;
  [[nodiscard]] auto is_ordered_by_barriers(const Place& before, const Place& now) const -> bool;
  auto add(const Place& place) -> uint32_t;

  // The most places. Further iterations get the place around them; at a barrier beyond them the watch ends, and no more races are found.
  static constexpr size_t most = size_t{1} << 24;
  static constexpr int64_t warp = 32;
  const std::vector<AccessInText>& accesses_;
  std::vector<Place> places_;
  bool is_full_ = false;
  uint64_t instances_ = 0;
  std::map<uint64_t, std::vector<ThreadDimension>> kernels_;
  // For the running kernel: the clocks of other threads that each thread has received. Empty: no barrier in memory was used.
  std::vector<Clock> known_;
};

}  // namespace loopsmith::interp
