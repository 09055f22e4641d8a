// The forms of schedules in a text: `def tiled(sch: tir.Schedule)`, `@ls.schedule(program) def tiled(sch)`, and Python functions that make a
// schedule themselves, `sch = tir.Schedule(program)`, as in tests and libraries. At the top of a file such statements are one declaration
// (lines.h), which counts as a function without a head. So does `if __name__ == "__main__":` with such statements inside.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "syntax/ast.h"

namespace loopsmith::syntax {

struct ScheduleForm {
  Name variable;                         // the variable of the schedule: `sch`
  Span variable_span;                    // the variable in the statement that makes the schedule; empty: it is the parameter
  const CallExpr* decorator = nullptr;   // `@ls.schedule(...)`; null: none
  const CallExpr* made = nullptr;        // `tir.Schedule(PROGRAM)`; null: the first parameter is the schedule
  size_t made_at = 0;                    // the number of the body's statement that makes the schedule
  bool is_nested = false;                // it is made inside of that statement: in a loop, a branch, an inner function
  bool is_call = false;                  // `made` calls a function of the file that makes a schedule and returns it
};

/// The first schedule of a function; none if it has none. Searches the statements of the body itself, not those in nested blocks.
[[nodiscard]] auto schedule_form(const FunctionDef& def) -> std::optional<ScheduleForm>;

/// All schedules that a function makes and names, in the order of the text, including those in blocks and inner functions. `gives`: true for functions of the
/// file that make a schedule and return it.
[[nodiscard]] auto made_schedules(const FunctionDef& def, const std::function<bool(Name)>& gives = {}) -> std::vector<ScheduleForm>;
/// True for the text `tir.Schedule(PROGRAM)`.
[[nodiscard]] auto is_schedule_made(const CallExpr& call) -> bool;
/// For each statement of `function_of(item)`: the contexts of the `with` statements around it that were removed, outermost first. Empty: none was
/// removed.
[[nodiscard]] auto contexts_of(const ItemPtr& item) -> std::vector<std::vector<const Expr*>>;

/// The parameter of a function that takes a schedule (`def halves(sch, loop)`): recognised by its annotation, or by the name `sch`. Empty: the function
/// has none.
[[nodiscard]] auto schedule_parameter(const FunctionDef& def) -> Name;

/// The function of a declaration. For a schedule at the top of a file: a function with its statements, named after its variable. Null for other
/// declarations. The function keeps the declaration alive. Statements of a `with` or an `if __name__ == "__main__":` around
/// `sch = tir.Schedule(PROGRAM)` become statements of the function; `contexts_of` has the contexts around them.
[[nodiscard]] auto function_of(const ItemPtr& item) -> std::shared_ptr<const FunctionDef>;
/// True for a schedule at the top of the file: statements from `sch = tir.Schedule(PROGRAM)` on, or a compound statement that contains such
/// statements.
[[nodiscard]] auto is_script(const Item& item) -> bool;

/// True for `if __name__ == "__main__":` without an `else`: code that runs when the file is executed.
[[nodiscard]] auto is_main(const Stmt& stmt) -> bool;

/// The PROGRAM of `tir.Schedule(PROGRAM, ...)`; null if the call has none.
[[nodiscard]] auto scheduled_program(const CallExpr& made) -> const Expr*;

}  // namespace loopsmith::syntax
