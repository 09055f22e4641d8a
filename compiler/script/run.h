// Running a schedule function: statement by statement, with what every statement did, and again from the first statement
// that an edit touched.
//
// A schedule function is a `def` whose first parameter is a schedule (annotated `tir.Schedule` or `T.Schedule`, the others having
// defaults; or decorated with `@ls.schedule(program, target=...)`), or one that makes its schedule itself, `sch = tir.Schedule(program)`.
// Each of its statements is a step. Before every step a snapshot of the call is kept; schedules share what did not change, so
// snapshots are cheap. Of functions that make their own, only what primitives refuse is reported: the rest is any Python.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/evaluator.h"
#include "schedule/schedule.h"
#include "script/objects.h"
#include "support/cancel.h"
#include "syntax/schedule_form.h"

namespace loopsmith::script {

/// Where a file says what is scheduled, and how.
struct ScheduleFunction {
  const syntax::FunctionDef* def = nullptr;
  syntax::ScheduleForm form;
  std::shared_ptr<const void> tree;            // owner of def
  std::string_view text;                       // of the declaration; spans in def count from its first byte
  const syntax::Expr* program = nullptr;       // what it schedules; null: not said
  const syntax::Expr* target = nullptr;        // null: not said
  std::vector<syntax::ScheduleForm> others;    // what else its body makes, followed by runs of their own
  std::vector<std::vector<const syntax::Expr*>> contexts;   // syntax::contexts_of
};
/// Empty where the function is no schedule function.
[[nodiscard]] auto as_schedule_function(const syntax::FunctionDef& def, std::shared_ptr<const void> tree, std::string_view text)
    -> std::optional<ScheduleFunction>;
/// The same for one of the schedules that it makes.
[[nodiscard]] auto as_schedule_function(const syntax::FunctionDef& def, std::shared_ptr<const void> tree, std::string_view text, const syntax::ScheduleForm& form)
    -> ScheduleFunction;

/// `@pytest.mark.xfail(...)`: a test that is known to fail.
[[nodiscard]] auto expects_failure(const syntax::FunctionDef& def) -> bool;

/// A call of the function with nothing run: with a schedule as its first argument; or, where it makes its own, with what a test would run it
/// with first for its parameters. None: reported.
[[nodiscard]] auto start_call(eval::Evaluator& evaluator, const ScheduleFunction& function, const Ref<eval::Function>& callee, const eval::Value& schedule)
    -> std::optional<eval::Frame>;

enum class StepState : uint8_t { Done, Failed, NotRun, Unknown };   // Unknown: uses Python that is not checked

/// What one statement of a schedule function did.
struct Step {
  size_t index = 0;
  Origin where;                                // the statement
  StepState state = StepState::NotRun;
  std::shared_ptr<const schedule::Schedule> after;   // null where it did not run
  Diagnostics diagnostics;                     // of this statement
  /// Where it is Unknown: the Python that is not evaluated, in the statement or in what it calls; and what was found wrong there, if
  /// that is why.
  Origin unknown_at;
  std::optional<Diagnostic> unknown_because;
  double seconds = 0;
  uint64_t primitives = 0;                     // executed by it, this time or when it last ran
  std::string printed;                         // by `print`, `show` and the like, this time or when it last ran
  /// Variables the statement gave names to ("i0", a loop; "c", a block; "loops", a list of them), for hints and hovers; of a loop of the script,
  /// as they are after its last iteration.
  struct Named { Name name; schedule::Value variable; };
  std::vector<Named> named;
  std::optional<Hole> hole;                    // the statement is `sch.tune(...)`, or `...`
};

struct ScheduleRun {
  Name name;                                   // of the function
  DeclId decl = 0;
  std::vector<DeclId> earlier_decls;           // under which steps taken over from earlier runs know the declaration
  IRModule program;                            // what the schedule was made of
  IRModule asked;                              // the request's
  std::string target;
  std::vector<Step> steps;
  std::shared_ptr<const schedule::Schedule> result;   // after the last step that worked; null: none
  Diagnostics diagnostics;                     // of the function as a whole (parameters, program); steps have theirs
  /// What is refused further on where the step that failed only says how a loop runs (`parallel`, `bind`): the same is refused once that is mended.
  Diagnostics further_on;
  bool makes_its_own = false;                  // `sch = tir.Schedule(program)` in its body
  bool is_complete = false;                    // every step ran
  size_t first_step = 0;                       // the first one executed now; those before were taken over
  uint64_t primitives = 0;                     // executed now

  [[nodiscard]] auto all_diagnostics() const -> Diagnostics;
  /// Says which Python was not evaluated, and where. Empty: every step that ran is known.
  [[nodiscard]] auto why_incomplete() const -> std::optional<Diagnostic>;
  // For the next run.
  std::vector<eval::Frame> frames;             // before each step that ran, and after the last
  std::string text;
  uint64_t context = 0;
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics;
};

/// Told before each step that is run: the run so far, and which step begins.
using StepWatch = std::function<void(const ScheduleRun& run, size_t step)>;

struct RunRequest {
  ScheduleFunction function;
  IRModule program;
  /// The schedule is made of what another one of the function has made of `program` by then: `tir.Schedule(sch.mod)`.
  bool goes_on_from_other = false;
  std::string target;
  eval::Environment* globals = nullptr;
  std::shared_ptr<eval::Heap> heap;            // outlives the run; shared by all runs of a file
  /// Hash of everything outside of the function that it may use (helpers, constants). Another value: run from the start.
  uint64_t context = 0;
  /// Tensor intrinsics of the file; null: none. Another pointer: run from the start.
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics;
  CancelToken cancel;
  /// Stop after this many steps (REPL, `--until`); none: all.
  std::optional<size_t> steps;
  int64_t seed = 1;
  StepWatch watch = {};                        // null: nobody
};

/// `before`: the last run of this function, or null. Steps before the first changed byte are taken over from it.
[[nodiscard]] auto run_schedule(const RunRequest& request, const ScheduleRun* before = nullptr) -> ScheduleRun;

}  // namespace loopsmith::script
