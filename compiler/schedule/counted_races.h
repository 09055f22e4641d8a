// Races between iterations of a loop, found by running block instances one by one (facts/instances.h): two iterations touch an element, and one of
// them writes to it.
#pragma once

#include <vector>

#include "ir/ir.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

/// `block` is the second block to touch an element. Two cases are no races. First, buffers of the function that only code below the loop uses, and that each
/// iteration fills before it reads them: lowering gives each iteration a buffer of its own. Second, an instance of a block without a reduction that
/// several iterations run: it writes the same value each time.
struct Races {
  bool is_known = false;                     // all iterations were looked at
  const Place* block = nullptr;              // null: no race was found among the iterations looked at
  const Place* other = nullptr;              // the block that touched the element first
  Buffer buffer = {};
  std::vector<Buffer> own = {};              // several iterations use these buffers, and each iteration gets a buffer of its own
  struct Pair { const Place* block; const Place* other; Buffer buffer; };
  std::vector<Pair> further = {};            // races on other buffers
  bool is_counted = true;                    // found by running instances, not guessed from regions
};
/// `most`: the largest number of instances below the loop to run; 0: the limit of this file. The state keeps answers, since several primitives
/// query the same loop.
[[nodiscard]] auto counted_races(const FuncState& func, const Place& loop, int64_t most = 0) -> Races;

/// Takes the nested loops from `top` to `bottom` as one loop. Finds a block that reads in one iteration an element that another block wrote in another one.
[[nodiscard]] auto counted_crossings(const FuncState& func, const Place& top, const Place& bottom) -> Races;

/// True if a block that is neither below the loop nor around it touches the buffer, or where loops around add to it.
[[nodiscard]] auto is_used_outside(const FuncState& func, const Place& loop, const Buffer& buffer) -> bool;
/// True if anything outside of the loop touches the buffer, also a statement that is in no block. Reads the whole function.
[[nodiscard]] auto is_used_between_blocks(const FuncTree& func, const Place& loop, const Buffer& buffer) -> bool;

}  // namespace loopsmith::schedule
