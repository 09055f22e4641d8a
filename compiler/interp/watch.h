// The detection of races: the last accesses to each element, and the order of two accesses. Iterations of parallel, vectorized
// and thread-bound loops form a tree of places: two places are unordered if the tree branches between them at iterations of the
// same run of such a loop, without a barrier in between. Keeping one writer and one reader per element suffices: a sequential run
// finds a race of the element if it has any (Feng and Leiserson, SPAA'97).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/name.h"

namespace loopsmith::interp {

/// The places of the last writer and the last reader of each granule of a memory. 0: none.
struct Shadow {
  int granule = 1;                    // bytes
  int shift = 0;                      // the granule's logarithm; -1: it is no power of two
  std::vector<uint32_t> writer, reader;

  [[nodiscard]] auto is_on() const -> bool { return !writer.empty(); }
  /// The first and the last granule of an access.
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
  /// A new number for a run of a loop.
  [[nodiscard]] auto fresh_instance() -> uint64_t { return ++instances_; }
  /// The place of an iteration of an unordered loop; `epoch` is the number of barriers passed.
  [[nodiscard]] auto enter(uint32_t from, const void* loop, Name name, uint64_t instance, int64_t iteration, uint32_t epoch = 0) -> uint32_t;
  /// The place of the same thread behind a barrier.
  [[nodiscard]] auto past_barrier(uint32_t place) -> uint32_t;
  /// The place of an instance of a block that reduces across the iterations of `loops`: these do not race with each other.
  [[nodiscard]] auto enter_reduction(uint32_t from, const void* block, const std::vector<const void*>* loops) -> uint32_t;

  struct Conflict {
    uint32_t first = 0, second = 0;   // iterations, as places
  };
  [[nodiscard]] auto unordered(uint32_t a, uint32_t b) const -> std::optional<Conflict>;
  /// The iterations of a place in words, as "tx=3".
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
  // The limit for the number of places; further iterations get the place around them.
  static constexpr size_t most = size_t{1} << 24;
  std::vector<Place> places_;
  uint64_t instances_ = 0;
};

}  // namespace loopsmith::interp
