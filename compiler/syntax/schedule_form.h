// Which functions are schedules, by their text: `def tiled(sch: tir.Schedule)`, `@ls.schedule(program) def tiled(sch)`, and
// functions of Python that make a schedule themselves, `sch = tir.Schedule(program)`, as tests and libraries do. At the top of a file such
// statements are a declaration of their own (lines.h), which is looked at as a function without a head; so is `if __name__ == "__main__":` with such
// statements in it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "syntax/ast.h"

namespace loopsmith::syntax {

struct ScheduleForm {
  Name variable;                         // what holds the schedule: `sch`
  Span variable_span;                    // where it is made; empty: it is the parameter
  const CallExpr* decorator = nullptr;   // `@ls.schedule(...)`; null: there is none
  const CallExpr* made = nullptr;        // `tir.Schedule(PROGRAM)`; null: the first parameter is the schedule
  size_t made_at = 0;                    // the statement of the body that makes it
  bool is_nested = false;                // made somewhere in that statement: in a loop, a branch, a function of its own
  bool is_call = false;                  // `made` calls a function of the file that gives back the schedule it makes
};

/// Empty where the function is no schedule; of several, the first. Looks at the statements of the body itself, not at those in their blocks.
[[nodiscard]] auto schedule_form(const FunctionDef& def) -> std::optional<ScheduleForm>;

/// All schedules that a function makes and names, in the order of the text, those in blocks and inner functions too. `gives`: the functions of the
/// file that give back a schedule they make.
[[nodiscard]] auto made_schedules(const FunctionDef& def, const std::function<bool(Name)>& gives = {}) -> std::vector<ScheduleForm>;
/// `tir.Schedule(PROGRAM)`, by its text.
[[nodiscard]] auto is_schedule_made(const CallExpr& call) -> bool;
/// Of each statement of `function_of(item)`, what the `with` statements that were looked through have around it, the outermost first. Empty: nothing
/// was looked through.
[[nodiscard]] auto contexts_of(const ItemPtr& item) -> std::vector<std::vector<const Expr*>>;

/// The parameter of a function that is handed a schedule (`def halves(sch, loop)`): by its annotation, or since it is called `sch`. Empty: it
/// has none.
[[nodiscard]] auto schedule_parameter(const FunctionDef& def) -> Name;

/// The function that a declaration is, or stands for: the statements of a schedule at the top, with its variable for a name. Null: it is
/// neither. It keeps the declaration. Statements of a `with` or an `if __name__ == "__main__":` around `sch = tir.Schedule(PROGRAM)` are statements of
/// the function; `contexts_of` has what stood around them.
[[nodiscard]] auto function_of(const ItemPtr& item) -> std::shared_ptr<const FunctionDef>;
/// A schedule at the top of the file: statements from `sch = tir.Schedule(PROGRAM)` on, or a statement that has others in it, and such a one among
/// them.
[[nodiscard]] auto is_script(const Item& item) -> bool;

/// `if __name__ == "__main__":` and nothing behind it: what a file does that is run by itself.
[[nodiscard]] auto is_main(const Stmt& stmt) -> bool;

/// The PROGRAM of `tir.Schedule(PROGRAM, ...)`; null: the call has none.
[[nodiscard]] auto scheduled_program(const CallExpr& made) -> const Expr*;

}  // namespace loopsmith::syntax
