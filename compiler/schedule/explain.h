// What else there is to say of a step that was refused: whether it is illegal or could only not be proved legal, one concrete
// pair of iterations that shows a dependence, and repairs, each tried on a copy of the schedule.
//
// Nothing here is needed to refuse a step, so nothing of it costs where steps are judged by the thousand (moves, search).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/moves.h"
#include "schedule/schedule.h"
#include "support/cancel.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

/// Illegal: it would change results, or has no meaning. NotProved: no proof was found within the budget, it may be legal.
/// Usage: an argument is wrong (a name, an index, a variable that is gone).
enum class Verdict : uint8_t { Illegal, NotProved, Usage };
[[nodiscard]] auto verdict_of(Code code) -> Verdict;

/// Two instances of blocks that touch the same element, at least one of them writing, where the step needs them apart.
struct Conflict {
  struct Instance {
    NodeId block = 0;
    std::vector<int64_t> iters;            // the values of its iter vars
    std::vector<std::pair<Name, int64_t>> loops;   // the loops around it, from outside to inside
    bool writes = false;
    Origin at = {};                        // the statement in the block that does it; not known: none there does
  };
  Instance first, second;                  // in the order they run
  const BufferNode* buffer = nullptr;
  std::vector<int64_t> element;
  std::string text;                        // "`D` at i=3 reads `C[4]`, which `C` writes at i=4"
};
/// Instances of two blocks (or of one) in different iterations of a loop that touch the same element of a buffer, one of them
/// writing it. Found by enumeration, of at most some thousand instances of each; none: there is none among those.
[[nodiscard]] auto find_conflict(const FuncState& func, const Place& first, const Place& second, const Place& loop) -> std::optional<Conflict>;

/// A repair: calls to put before the refused one, or a call instead of it. Tried on a copy: the step then works.
struct Repair {
  std::string before;                      // "sch.reorder(k, j)"; empty: none
  std::string instead;                     // "sch.compute_at(b, i)"; empty: the call stays
  Move move;                               // that one
  [[nodiscard]] auto text() const -> std::string { return before.empty() ? "`" + instead + "` works" : "`" + before + "` first: then it works"; }
};

struct Explanation {
  Verdict verdict = Verdict::Illegal;
  std::optional<Conflict> conflict;
  std::vector<Repair> repairs;             // at most three, the nearest first
};
/// `values`: of the refused call, as matched to the row. `name_of`: what a script calls loops and blocks. Cancelled: what was found so far.
[[nodiscard]] auto explain(const Schedule& schedule, const Primitive& primitive, const std::vector<Value>& values, const Diagnostics& why,
                           const NameOfPlace& name_of = {}, const CancelToken& cancel = {}) -> Explanation;
/// The diagnostics with what `explain` found: the pair as a note, repairs as remedies (before those there are), and a note
/// where the step could only not be proved.
[[nodiscard]] auto with_explanation(Diagnostics why, const Explanation& explanation) -> Diagnostics;

}  // namespace loopsmith::schedule
