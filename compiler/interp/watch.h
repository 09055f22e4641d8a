// Who touched an element last, and whether two accesses may run in any order. Iterations of parallel, vectorised and
// thread-bound loops make a tree of places: two places are unordered where the tree parts at iterations of one run of one such
// loop, with no barrier between them. One writer and one reader per element are kept: in a run in order, some race of an
// element is found where it has one (Feng and Leiserson, SPAA'97).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/name.h"

namespace loopsmith::interp {

/// Of a memory, by granule: the places of its last writer and reader. 0: nobody.
struct Shadow {
  int granule = 1;                    // bytes
  int shift = 0;                      // its logarithm; -1: no power of two
  std::vector<uint32_t> writer, reader;

  [[nodiscard]] auto is_on() const -> bool { return !writer.empty(); }
  /// The first and the last granule of some bytes.
  [[nodiscard]] auto granules(int64_t at, int bytes) const -> std::pair<size_t, size_t> {
    if (shift >= 0) { return {static_cast<size_t>(at >> shift), static_cast<size_t>((at + bytes - 1) >> shift)}; }
    return {static_cast<size_t>(at / granule), static_cast<size_t>((at + bytes - 1) / granule)};
  }
  void reset(int64_t bytes, int granule_bytes);
};

class Watch {
 public:
  Watch() { places_.push_back({}); places_.push_back({}); }

  static constexpr uint32_t beginning = 1;
  /// A number for one run of a loop.
  [[nodiscard]] auto fresh_instance() -> uint64_t { return ++instances_; }
  /// An iteration of a run of a loop whose iterations may run in any order; `epoch` counts barriers.
  [[nodiscard]] auto enter(uint32_t from, const void* loop, Name name, uint64_t instance, int64_t iteration, uint32_t epoch = 0) -> uint32_t;
  /// The same thread behind a barrier.
  [[nodiscard]] auto past_barrier(uint32_t place) -> uint32_t;
  /// An instance of a block that reduces across the iterations of `loops`: those do not race with each other.
  [[nodiscard]] auto enter_reduction(uint32_t from, const void* block, const std::vector<const void*>* loops) -> uint32_t;

  struct Conflict {
    uint32_t first = 0, second = 0;   // iterations, as places
  };
  [[nodiscard]] auto unordered(uint32_t a, uint32_t b) const -> std::optional<Conflict>;
  /// "tx=3": the iteration of the loop at which the two part, and those around.
  [[nodiscard]] auto in_words(uint32_t place) const -> std::string;

 private:
  struct Place {
    uint32_t parent = 0;
    uint32_t depth = 0;
    const void* loop = nullptr;       // null: a reduction
    Name name;
    uint64_t instance = 0;
    int64_t iteration = 0;
    uint32_t epoch = 0;
    const void* reducing = nullptr;   // the block
    const std::vector<const void*>* reduced = nullptr;
  };
  // More iterations than this are not told apart.
  static constexpr size_t most = size_t{1} << 24;
  std::vector<Place> places_;
  uint64_t instances_ = 0;
};

}  // namespace loopsmith::interp
