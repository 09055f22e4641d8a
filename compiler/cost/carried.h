// Dependences that a loop carries from one iteration to another, and the reuse distance of its buffers in iterations. Both are found by following
// the iterations with numbers (ir/follow.h), as for races (schedule/counted_races.h). The loops around stay at their first iteration; if that
// iteration may differ from others, their middle iterations are followed, too.
//
// Long loops are followed in part: some iterations of the loop and of long loops inside. The dependences found exist; more may exist
// unless a proof excludes them (Touch::is_apart).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::cost {

/// Two accesses to the same element in different iterations, at least one of them a write, without a followed write in between.
struct Dependence {
  enum class Kind : uint8_t { Flow, Anti, Output };   // a read after a write; a write after a read; a write after an unread write
  Kind kind = Kind::Flow;
  Buffer buffer;
  std::string first, second;               // the accesses in terms of loops, "C[i, j]", in the order of execution
  int64_t least = 0, most = 0;             // iterations from the first to the second
};

/// The reuse of a buffer's elements.
struct Reuse {
  Buffer buffer;
  std::optional<int64_t> distance = {};    // the fewest iterations to the next use; none: no element is used again
  std::optional<int64_t> bytes = {};       // bytes touched in that many iterations, the element included; none: unknown
};

struct Carried {
  bool is_whole = false;                   // every iteration was followed and is independent of the loops around: the lists are complete
  bool is_none_proved = false;             // no dependence exists: all iterations were followed, or they provably touch different elements
  int64_t followed = 0;                    // the number of followed iterations
  std::vector<Dependence> dependences;     // in the order of discovery, each pair of accesses once
  std::vector<Reuse> reuses;               // for the buffers with known indices
  std::vector<Buffer> unknown;             // buffers with an index of unknown value
};

/// Dependences and reuse of a loop. None when the function lacks it or its bounds are unknown. Follows at most `most_accesses` accesses.
[[nodiscard]] auto carried_by(const PrimFunc& function, NodeId loop, int64_t most_accesses = 1 << 15) -> std::optional<Carried>;

}  // namespace loopsmith::cost
