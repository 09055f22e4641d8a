// Records the steps of a run: the effect of each statement of a function on the schedule that the run follows. One recorder serves schedule functions
// (run.h) and the statements of a session (statements.h).
#pragma once

#include <chrono>
#include <vector>

#include "script/run.h"

namespace loopsmith::script {

/// A new schedule of a program for a run: with the seed, the intrinsics and the target of the request.
[[nodiscard]] auto make_schedule(const RunRequest& request, IRModule program, std::optional<int64_t> seed = {}, ScheduleObject::Part part = ScheduleObject::Part::Own)
    -> Ref<ScheduleObject>;

/// Fills `run.steps` and `run.frames` while an evaluator runs the statements of the request's function.
class Recorder final : public eval::Observer {
 public:
  Recorder(ScheduleRun& run, const RunRequest& request);

  /// The index of the first statement that is not run.
  size_t limit = 0;
  /// The followed schedule has been made. Until then no other schedule is mistaken for it.
  bool is_made = false;

  void before(eval::Evaluator& evaluator, eval::Frame& frame, size_t index, const syntax::Stmt& stmt) override;
  auto after(eval::Evaluator& evaluator, eval::Frame& frame, size_t index, const syntax::Stmt& stmt, eval::Flow flow) -> bool override;

  /// Enters the target contexts of the `with` statements around a statement, for statements that `syntax::function_of` extracted from them.
  void enter_contexts(eval::Evaluator& evaluator, const eval::Frame& frame, size_t index) const;

 private:
  void find_schedule(const eval::Frame& frame);
  void set_state(const eval::Evaluator& evaluator, const eval::Frame& frame, Step& step, eval::Flow flow);
  void find_hole(const syntax::Stmt& stmt, Step& step) const;
  /// Handles `tir.Schedule(PROGRAM)` in a helper, a loop or a branch. None: the call is another one, or its program is unknown.
  auto made_by(const eval::Value& callee, const syntax::CallExpr& written, const eval::Arguments& arguments) -> std::optional<eval::Value>;
  [[nodiscard]] auto is_made_here(const ScheduleObject* object) const -> bool;
  /// The schedule that refused a call of this statement: the followed one, or another one. Null: there is none.
  [[nodiscard]] auto find_refused(const eval::Frame& frame, const Step& step) const -> const ScheduleObject*;
  /// The names of the followed schedule, without those of other schedules: loops have the same numbers in each.
  [[nodiscard]] auto names_of_own(eval::Evaluator& evaluator, const eval::Frame& frame) const -> eval::ScopeRef;
  /// The number of primitives that other schedules of the function ran; 0 if the function makes no others.
  [[nodiscard]] auto executed_of_others(const eval::Frame& frame) const -> uint64_t;

  ScheduleRun& run_;
  const RunRequest& request_;
  const syntax::ScheduleForm& form_;
  bool is_python_;
  bool is_meant_to_fail_;
  const ScheduleObject* schedule_ = nullptr;   // null: not made yet
  // For the current statement:
  size_t index_ = 0;
  Ref<ScheduleObject> before_;                 // the schedule before it
  uint64_t executed_ = 0;
  uint64_t executed_of_others_ = 0;
  std::vector<Ref<ScheduleObject>> made_here_; // schedules made by this statement, including functions that it calls
  size_t diagnostics_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace loopsmith::script
