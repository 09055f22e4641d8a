// Which functions are schedules, by their text: `def tiled(sch: tir.Schedule)`, `@ls.schedule(program) def tiled(sch)`, and
// functions of Python that make a schedule themselves, `sch = tir.Schedule(program)`, as tests and libraries do.
#pragma once

#include <cstddef>
#include <optional>

#include "syntax/ast.h"

namespace loopsmith::syntax {

struct ScheduleForm {
  Name variable;                         // what holds the schedule: `sch`
  const CallExpr* decorator = nullptr;   // `@ls.schedule(...)`; null: there is none
  const CallExpr* made = nullptr;        // `tir.Schedule(PROGRAM)`; null: the first parameter is the schedule
  size_t made_at = 0;                    // the statement of the body that makes it
};

/// Empty where the function is no schedule. Looks at the statements of the body itself, not at those in their blocks.
[[nodiscard]] auto schedule_form(const FunctionDef& def) -> std::optional<ScheduleForm>;

/// The PROGRAM of `tir.Schedule(PROGRAM, ...)`; null: the call has none.
[[nodiscard]] auto scheduled_program(const CallExpr& made) -> const Expr*;

}  // namespace loopsmith::syntax
