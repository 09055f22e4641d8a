// Which functions are schedules, by their text: `def tiled(sch: tir.Schedule)`, `@ls.schedule(program) def tiled(sch)`, and
// functions of Python that make a schedule themselves, `sch = tir.Schedule(program)`, as tests and libraries do. At the top of a file such
// statements are a declaration of their own (lines.h), which is looked at as a function without a head.
#pragma once

#include <cstddef>
#include <memory>
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

/// The parameter of a function that is handed a schedule (`def halves(sch, loop)`): by its annotation, or since it is called `sch`. Empty: it
/// has none.
[[nodiscard]] auto schedule_parameter(const FunctionDef& def) -> Name;

/// The function that a declaration is, or stands for: the statements of a schedule at the top, with its variable for a name. Null: it is
/// neither. It keeps the declaration. Statements of a `with` around `sch = tir.Schedule(PROGRAM)` are statements of the function: their context
/// (a target, options of a build) changes nothing here.
[[nodiscard]] auto function_of(const ItemPtr& item) -> std::shared_ptr<const FunctionDef>;
/// A schedule at the top of the file.
[[nodiscard]] auto is_script(const Item& item) -> bool;

/// The PROGRAM of `tir.Schedule(PROGRAM, ...)`; null: the call has none.
[[nodiscard]] auto scheduled_program(const CallExpr& made) -> const Expr*;

}  // namespace loopsmith::syntax
