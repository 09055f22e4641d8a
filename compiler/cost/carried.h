// What iterations of a loop share: dependences that the loop carries, and after how many iterations it uses an element again. Iterations
// are followed with numbers (ir/follow.h), as races are found (schedule/counted_races.h), with the loops around at their first iteration; where
// what is touched or run depends on which one it is, in the middle too.
//
// Long loops are followed in part: some iterations of the loop, some of the longer ones inside. What is found in these is there;
// what is not, may be, where nothing proves otherwise (Touch::is_apart).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::cost {

/// Two accesses of an element in different iterations of which one writes, with no write to it between the two (of those that were followed).
struct Dependence {
  enum class Kind : uint8_t { Flow, Anti, Output };   // written then read; read then written; written then written, unread
  Kind kind = Kind::Flow;
  Buffer buffer;
  std::string first, second;               // the accesses in terms of loops, "C[i, j]"; in the order they run
  int64_t least = 0, most = 0;             // iterations from the first to the second
};

/// An element that is used again.
struct Reuse {
  Buffer buffer;
  std::optional<int64_t> distance = {};    // iterations to the next use, the least; none: not used again
  std::optional<int64_t> bytes = {};       // touched in so many iterations, the element itself among them; none: not known
};

struct Carried {
  bool is_whole = false;                   // every iteration was followed, and is like that whatever the loops around: what is not listed is not there
  bool is_none_proved = false;             // no dependence, as all was followed or iterations write apart from one another
  int64_t followed = 0;                    // iterations
  std::vector<Dependence> dependences;     // in the order they were met, each pair of accesses once
  std::vector<Reuse> reuses;               // buffers of which it is known
  std::vector<Buffer> unknown;             // accessed where no number says
};

/// Of a loop. None: it is not in the function, or its bounds are not known. `most_accesses`: that are followed, all in all.
[[nodiscard]] auto carried_by(const PrimFunc& function, NodeId loop, int64_t most_accesses = 1 << 15) -> std::optional<Carried>;

}  // namespace loopsmith::cost
