// Explanations of a refused step: is it illegal or only not proved legal, a concrete pair of iterations that shows a
// dependence, and repairs, each tried on a copy of the schedule.
//
// No step needs an explanation to be refused, so none is made where steps are judged by the thousand (moves, search).
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

/// Two instances of blocks that touch the same element, at least one of them writing it, though the step needs them apart.
struct Conflict {
  struct Instance {
    NodeId block = 0;
    std::vector<int64_t> iters;            // the values of its iter vars
    std::vector<std::pair<Name, int64_t>> loops;   // the loops around it, from outside to inside
    bool writes = false;
    Origin at = {};                        // the statement in the block that touches it; unknown: no statement does directly
  };
  Instance first, second;                  // in the order they run
  const BufferNode* buffer = nullptr;
  std::vector<int64_t> element;
  std::string text;                        // "`D` at i=3 reads `C[4]`, which `C` writes at i=4"
};
/// Instances of two blocks (or of one) in different iterations of a loop that touch the same element of a buffer, one of them
/// writing it. Found by enumerating at most some thousand instances of each; none: these hold no such pair.
[[nodiscard]] auto find_conflict(const FuncState& func, const Place& first, const Place& second, const Place& loop) -> std::optional<Conflict>;

/// A repair: calls to put before the refused one, or a call instead of it. It was tried on a copy, where the step then worked.
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
/// `values`: of the refused call, as matched to the row. `name_of`: names in the script. On cancellation returns the results so far.
[[nodiscard]] auto explain(const Schedule& schedule, const Primitive& primitive, const std::vector<Value>& values, const Diagnostics& why,
                           const NameOfPlace& name_of = {}, const CancelToken& cancel = {}) -> Explanation;
/// The diagnostics with the explanation added: the pair as a note, repairs as remedies (in front of the others), and a note
/// where the step was only not proved legal.
[[nodiscard]] auto with_explanation(Diagnostics why, const Explanation& explanation) -> Diagnostics;

}  // namespace loopsmith::schedule
