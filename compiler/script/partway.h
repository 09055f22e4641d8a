// The schedule at a place inside a compound statement of a schedule function (`for`, `if`, `while`, `with`), as it is the first time that the script
// reaches the place. A run records the effect of such a statement as a whole; here the statement is run again from the state before it, on a copy, as
// far as the place.
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

/// The compound statement of the function's body whose inner statements a place is among; also in blank space below, where that is indented as they
/// are. None: the place is in no such statement. `at` counts bytes of the declaration's text, as `ScheduleFunction::text`.
[[nodiscard]] auto statement_around(const ScheduleFunction& function, uint32_t at) -> std::optional<size_t>;

struct PartwayRequest {
  const ScheduleFunction& function;      // its current text
  const ScheduleRun& run;                // a run up to statement `index`, with the same text so far
  size_t index = 0;                      // statement_around
  uint32_t at = 0;
  bool is_behind = false;                // runs the simple statement at the place, too
  std::function<bool()> stop = {};       // called between statements; true: give up
  CancelToken cancel = {};
};
/// None: the script does not reach the place, or a statement before it is not known, fails or takes too long.
[[nodiscard]] auto partway(const PartwayRequest& request) -> std::optional<Partway>;

/// Enters the contexts of the surrounding `with` statements (`syntax::contexts_of`).
void enter_contexts(eval::Evaluator& evaluator, const std::vector<const syntax::Expr*>& contexts, const eval::ScopeRef& scope);

/// The variable of a schedule that a value is, or the list of variables (`loops = sch.get_loops(c)`). None: another value. `schedule`: the schedule whose
/// axes count as their loops, where it is one of tensor expressions; null: none.
[[nodiscard]] auto variable_of(const eval::Value& value, const ScheduleObject* schedule = nullptr) -> std::optional<schedule::Value>;

}  // namespace loopsmith::script
