// Races between iterations of a loop, counted instance by instance (facts/instances.h): two iterations touch an element, and one of them
// writes it.
#pragma once

#include <vector>

#include "ir/ir.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

/// `block` is the second to touch an element. Buffers of the function that no other code uses and that each iteration fills before it reads
/// them are no race: lowering gives each iteration one of its own. Nor is an instance of a block without a reduction that several iterations
/// run: it writes the same each time.
struct Races {
  bool is_known = false;                     // all iterations were looked at
  const Place* block = nullptr;              // null: no race was found among the iterations looked at
  const Place* other = nullptr;              // the block that touched the element before
  Buffer buffer = {};
  std::vector<Buffer> own = {};              // several iterations touch these, and each has one of its own
  struct Pair { const Place* block; const Place* other; Buffer buffer; };
  std::vector<Pair> further = {};            // races on other buffers
  bool is_counted = true;                    // found among instances, not guessed from regions
};
/// `most`: the number of instances below the loop, all in all, that are looked at; 0: the largest number allowed here. The state keeps answers,
/// since several primitives ask about one loop in turn.
[[nodiscard]] auto counted_races(const FuncState& func, const Place& loop, int64_t most = 0) -> Races;

/// Iterations of directly nested loops taken together, from `top` to `bottom`: a block in one reads an element that another block wrote in another.
[[nodiscard]] auto counted_crossings(const FuncState& func, const Place& top, const Place& bottom) -> Races;

/// True where a block neither below a loop nor around it touches the buffer, or loops around add to it.
[[nodiscard]] auto is_used_outside(const FuncState& func, const Place& loop, const Buffer& buffer) -> bool;
/// True where anything outside of a loop touches the buffer, a statement in no block included. Reads the whole function.
[[nodiscard]] auto is_used_between_blocks(const FuncTree& func, const Place& loop, const Buffer& buffer) -> bool;

}  // namespace loopsmith::schedule
