// Explanations of a refused step: a verdict (illegal, or only not proved legal), a concrete pair of iterations that shows a
// dependence, and repairs, each tried on a copy of the schedule.
//
// A refusal needs no explanation, so code that judges thousands of steps (moves, search) makes none.
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

/// Two block instances that touch the same element, at least one of which writes it. The step would change their order.
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
/// Finds instances of two blocks (or of one) in different iterations of a loop that touch the same element of a buffer, one of them
/// writing it. Visits at most some thousand instances of each block; none: no such pair among these.
[[nodiscard]] auto find_conflict(const FuncState& func, const Place& first, const Place& second, const Place& loop) -> std::optional<Conflict>;

/// A repair: calls to put before the refused one, or a call to replace it. It was tried on a copy of the schedule, where it worked.
struct Repair {
  std::string before;                      // "sch.reorder(k, j)"; empty: none
  std::string instead;                     // "sch.compute_at(b, i)"; empty: the call stays
  Move move;                               // the call in `instead`
  [[nodiscard]] auto text() const -> std::string { return before.empty() ? "`" + instead + "` works" : "`" + before + "` first: then it works"; }
};

struct Explanation {
  Verdict verdict = Verdict::Illegal;
  std::optional<Conflict> conflict;
  std::vector<Repair> repairs;             // at most three, the nearest first
};
/// `values`: the arguments of the refused call, one per parameter. `name_of`: names in the script. On cancellation returns the results so far.
[[nodiscard]] auto explain(const Schedule& schedule, const Primitive& primitive, const std::vector<Value>& values, const Diagnostics& why,
                           const NameOfPlace& name_of = {}, const CancelToken& cancel = {}) -> Explanation;
/// Adds the explanation to the diagnostics: the pair as a note, repairs as remedies (in front of the others), the usual
/// remedy of the error if there is none, and a note if the step was only not proved legal.
[[nodiscard]] auto with_explanation(Diagnostics why, const Explanation& explanation) -> Diagnostics;

}  // namespace loopsmith::schedule
