// The state of a schedule at a place inside a compound statement of a schedule function (`for`, `if`, `while`, `with`), when the script reaches the place
// for the first time. A run records the effect of such a statement as a whole; this file runs the statement again from the state before it, on a copy, up to
// the place.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "script/run.h"

namespace loopsmith::script {

struct Partway {
  std::shared_ptr<const schedule::Schedule> schedule;
  /// Variables that the statement has named so far, with their last values, and the inner statement that named each.
  struct Named { Name name; schedule::Value variable; Origin where; };
  std::vector<Named> named;
};

/// The compound statement of the function's body whose inner statements contain a place; also for blank space below, if it has the same indentation as
/// they have. None: the place is in no such statement. `at` counts bytes of the declaration's text, as does `ScheduleFunction::text`.
[[nodiscard]] auto statement_around(const ScheduleFunction& function, uint32_t at) -> std::optional<size_t>;

struct PartwayRequest {
  const ScheduleFunction& function;      // its current text
  const ScheduleRun& run;                // a run up to statement `index`, with the same text up to there
  size_t index = 0;                      // statement_around
  uint32_t at = 0;
  bool is_behind = false;                // also runs the simple statement at the place
  std::function<bool()> stop = {};       // called between statements; true: ends the run without a result
  CancelToken cancel = {};
};
/// None: the script does not reach the place, or a statement before it is unknown, fails or takes too long.
[[nodiscard]] auto partway(const PartwayRequest& request) -> std::optional<Partway>;

/// Enters the contexts of the surrounding `with` statements (`syntax::contexts_of`).
void enter_contexts(eval::Evaluator& evaluator, const std::vector<const syntax::Expr*>& contexts, const eval::ScopeRef& scope);

/// The variable of a schedule in a value, or a list of such variables (`loops = sch.get_loops(c)`). None for other values.
/// In a schedule of tensor expressions, `schedule`, an axis counts as its loop.
[[nodiscard]] auto variable_of(const eval::Value& value, const ScheduleObject* schedule = nullptr) -> std::optional<schedule::Value>;

}  // namespace loopsmith::script
