// Inside a statement of a schedule function that has statements in it (`for`, `if`, `while`, `with`): the schedule as it is at a place in there
// the first time that the script comes by. A run knows of such a statement what it did as a whole; here it is run again from the state before it,
// on a copy, as far as the place.
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
  /// Variables that the statement has given names to so far, by what was last given, and the statement inside that did it.
  struct Named { Name name; schedule::Value variable; Origin where; };
  std::vector<Named> named;
};

/// The statement of the function's body that a place is inside of, behind its head; also in blank space below, where it is indented as what is
/// inside. None: the place is in no such statement. `at` counts bytes of the declaration's text, as `ScheduleFunction::text`.
[[nodiscard]] auto statement_around(const ScheduleFunction& function, uint32_t at) -> std::optional<size_t>;

struct PartwayRequest {
  const ScheduleFunction& function;      // as it is written now
  const ScheduleRun& run;                // which ran up to statement `index`, the same text so far
  size_t index = 0;                      // statement_around
  uint32_t at = 0;
  bool is_behind = false;                // with the statement at the place, where it has none in it
  std::function<bool()> stop = {};       // asked between statements
  CancelToken cancel = {};
};
/// None: the script does not come by, or what it does before is not known, fails or takes too long.
[[nodiscard]] auto partway(const PartwayRequest& request) -> std::optional<Partway>;

/// What the `with` statements around (`syntax::contexts_of`) say, for what is evaluated next.
void enter_contexts(eval::Evaluator& evaluator, const std::vector<const syntax::Expr*>& contexts, const eval::ScopeRef& scope);

/// What a value is to a schedule: a variable, or a list of nothing else (`loops = sch.get_loops(c)`). None: something else.
[[nodiscard]] auto variable_of(const eval::Value& value) -> std::optional<schedule::Value>;

}  // namespace loopsmith::script
