// Runs a schedule function statement by statement, records each statement, and runs it again from the first
// statement that an edit changed.
//
// A schedule function is a `def` whose first parameter is a schedule (annotated `tir.Schedule` or `T.Schedule`, and the other parameters have
// defaults; or decorated with `@ls.schedule(program, target=...)`), or one that makes its schedule itself, `sch = tir.Schedule(program)`.
// Each of its statements is a step. A snapshot of the call is kept before every step; schedules share unchanged parts,
// so snapshots are cheap. In functions that make their own schedule, only refused primitives are reported: the rest may be any Python.
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

namespace autotvm {
struct Decisions;
struct Space;
}  // namespace autotvm

/// A schedule function of a file: the syntax that gives its program, its target and its schedules.
struct ScheduleFunction {
  const syntax::FunctionDef* def = nullptr;
  syntax::ScheduleForm form;
  std::shared_ptr<const void> tree;            // owner of def
  std::string_view text;                       // of the declaration; spans in def count from its first byte
  const syntax::Expr* program = nullptr;       // the program to schedule; null: not given
  const syntax::Expr* target = nullptr;        // null: not given
  std::vector<syntax::ScheduleForm> others;    // the other schedules that its body makes; each has a separate run
  std::vector<std::vector<const syntax::Expr*>> contexts;   // syntax::contexts_of
  std::vector<eval::Value> arguments;          // of its first parameters, given by the task of a template; the others have the values of tests
};
/// None if the function is not a schedule function.
[[nodiscard]] auto as_schedule_function(const syntax::FunctionDef& def, std::shared_ptr<const void> tree, std::string_view text)
    -> std::optional<ScheduleFunction>;
/// The same for one of the schedules that the function makes.
[[nodiscard]] auto as_schedule_function(const syntax::FunctionDef& def, std::shared_ptr<const void> tree, std::string_view text, const syntax::ScheduleForm& form)
    -> ScheduleFunction;

/// `@pytest.mark.xfail(...)`: a test that is known to fail.
[[nodiscard]] auto expects_failure(const syntax::FunctionDef& def) -> bool;

/// Begins a call of the function: with a schedule as its first argument or, if it makes its own, with the first value that a test would use
/// for each parameter. Runs no statement. None: an error was reported.
[[nodiscard]] auto start_call(eval::Evaluator& evaluator, const ScheduleFunction& function, const Ref<eval::Function>& callee, const eval::Value& schedule)
    -> std::optional<eval::Frame>;

enum class StepState : uint8_t { Done, Failed, NotRun, Unknown };   // Unknown: uses Python that is not checked

/// One statement of a schedule function, and its effect.
struct Step {
  size_t index = 0;
  Origin where;                                // the statement
  StepState state = StepState::NotRun;
  std::shared_ptr<const schedule::Schedule> after;   // the schedule after it; null if it did not run
  Diagnostics diagnostics;                     // of this statement
  /// If Unknown: the place of the Python that is not evaluated, in the statement or in a function that it calls; and the diagnostic with the
  /// reason, if there is one.
  Origin unknown_at;
  std::optional<Diagnostic> unknown_because;
  double seconds = 0;
  uint64_t primitives = 0;                     // executed by this statement, in this run or in the run from which it was taken over
  std::string printed;                         // the output of `print` and `show`, in this run or in the run from which it was taken over
  /// Variables that the statement named ("i0", a loop; "c", a block; "loops", a list of loops), for hints and hovers; for a loop of the script,
  /// their values after its last iteration.
  struct Named { Name name; schedule::Value variable; };
  std::vector<Named> named;
  std::optional<TuneRequest> hole;             // the statement is `sch.tune(...)`, or `...`
};

struct ScheduleRun {
  Name name;                                   // of the function
  DeclId decl = 0;
  std::vector<DeclId> earlier_decls;           // ids of the declaration in steps taken over from earlier runs
  IRModule program;                            // the program from which the schedule was made
  IRModule asked;                              // the program of the request
  std::string target;
  std::vector<Step> steps;
  std::shared_ptr<const schedule::Schedule> result;   // after the last step that worked; null: there is none
  Diagnostics diagnostics;                     // of the function as a whole (parameters, program); steps have their own
  /// Errors of later steps, if the step that failed only marks a loop (`parallel`, `bind`): they remain after that step is repaired.
  Diagnostics further_on;
  bool makes_its_own = false;                  // `sch = tir.Schedule(program)` in its body
  std::shared_ptr<const autotvm::Space> space; // the knobs that a template defines; null: there are none
  bool is_complete = false;                    // every step ran
  size_t first_step = 0;                       // the first step that this run executed; earlier steps were taken over
  uint64_t primitives = 0;                     // executed by this run

  [[nodiscard]] auto all_diagnostics() const -> Diagnostics;
  /// The diagnostic that names the Python that was not evaluated, and its place. None: the effect of every step is known.
  [[nodiscard]] auto why_incomplete() const -> std::optional<Diagnostic>;
  // For the next run.
  /// Before each step that ran, and after the last. A frame contains the variables of the script. If a long function has many variables, only some frames are
  /// kept to save memory, and the others have no scope.
  std::vector<eval::Frame> frames;
  /// The distance, in steps, between kept frames.
  size_t frame_gap = 1;
  size_t frame_values = 0;                     // the values in the frames that are kept
  std::string text;
  uint64_t context = 0;
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics;
};

/// Adds the frame before a step, if one is to be kept.
void keep_frame(ScheduleRun& run, size_t step, const eval::Frame& frame);
/// The frame before a step: kept, or computed by running the steps from the last kept frame on. None: there is none.
[[nodiscard]] auto frame_before(const ScheduleRun& run, size_t step) -> std::optional<eval::Frame>;

/// Called before each step, with the run so far and the index of the step.
using StepWatch = std::function<void(const ScheduleRun& run, size_t step)>;

struct RunRequest {
  ScheduleFunction function;
  IRModule program;
  /// The schedule continues the module of another schedule of the function, which began with `program`: `tir.Schedule(sch.mod)`.
  bool goes_on_from_other = false;
  std::string target;
  eval::Environment* globals = nullptr;
  std::shared_ptr<eval::Heap> heap;            // outlives the run; shared by all runs of a file
  /// Hash of everything outside of the function that it may use (helpers, constants). If it differs, all steps run again.
  uint64_t context = 0;
  /// Tensor intrinsics of the file; null: none. If the pointer differs, all steps run again.
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics;
  CancelToken cancel;
  /// Stops after this many steps (REPL, `--until`); none: runs all.
  std::optional<size_t> steps;
  int64_t seed = 1;
  /// The choices of a template's knobs; null: those of the fallback.
  std::shared_ptr<const autotvm::Decisions> decisions = {};
  StepWatch watch = {};                        // may be empty
  /// The schedule statement of new nodes; none: the number of the step, from 1.
  std::optional<uint32_t> number = {};
  /// Receives printed text at once; empty: the text is only kept in the steps.
  std::function<void(std::string_view)> output = {};
};

/// Runs the function. `before` is its last run, or null: takes over its steps before the first changed byte.
[[nodiscard]] auto run_schedule(const RunRequest& request, const ScheduleRun* before = nullptr) -> ScheduleRun;

}  // namespace loopsmith::script
