// The schedules of a file: its schedule functions, the program of each, and their runs. They are kept from one version of the
// file to the next: a schedule with unchanged text, program and helpers is not run again; a schedule with changed text is run
// again from the first changed statement.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/file.h"
#include "script/names.h"
#include "script/run.h"
#include "support/cancel.h"

namespace loopsmith::script {

/// `ls` and the other names that this room adds to every file, for frontend::File.
[[nodiscard]] auto predeclared(Name name) -> const eval::Value*;

/// The state of a schedule between its text and its result. `Schedules::update` sets it to NoProgram, Waiting, Interrupted or, if nothing
/// changed, Settled; running it ends in Interrupted, Limited or Settled.
enum class ScheduleState : uint8_t {
  NoProgram,     // `program` is unknown; `diagnostics` has the reason. It cannot run
  Waiting,       // to be run. `run` belongs to an earlier text, program or helper, or is null
  Interrupted,   // a run was cancelled: `interrupted` is its beginning, `run` as for Waiting
  Limited,       // `run` belongs to this text, up to the requested number of statements
  Settled,       // `run` belongs to exactly this text, program, target and helpers, and is complete
};

struct FileSchedule {
  // Its text.
  Name name;                       // of the function; in a class with the class: `TestTile.test_split`; at the top that of the variable: `sch`, then `sch.2`;
                                   // for further schedules that a function makes `test_split.2`, in the order of the text
  DeclId decl = 0;
  Origin where;                    // its name in the text; for further schedules, the variable that holds it
  syntax::ItemPtr item;            // its declaration
  size_t place = SIZE_MAX;         // of statements at the top: the index of their declaration in the file
  syntax::ScheduleForm form;       // the form of its construction, in the tree of `item`
  std::vector<syntax::ScheduleForm> others;   // the other schedules that the function makes; each is also a schedule of the file
  size_t number = 0;               // its number among those, in the order of the text
  bool makes_its_own = false;      // `sch = tir.Schedule(program)` in its body
  uint64_t context = 0;            // hash of everything that it may use apart from its program
  std::string template_name;       // of `@autotvm.template(NAME)`; empty: it is not a template
  std::vector<eval::Value> arguments;   // of the task of a template

  // Its program, set by `Schedules::update`.
  Name program_name;               // the declaration that contains the program; empty: unknown
  DeclId program_decl = 0;
  IRModule program;                // null: see diagnostics. If it continues another schedule: the module from which it was made when it last ran
  IRModule first_program;          // the original program: the same as `program`; or, if it continues another schedule, the program of that schedule
  bool goes_on_from_other = false; // `tir.Schedule(sch.mod)`
  std::string target;              // as written; empty: not given
  Diagnostics diagnostics;         // the reasons why it cannot run at all

  // Its run, set by `Schedules::run_one`.
  ScheduleState state = ScheduleState::NoProgram;
  std::shared_ptr<const ScheduleRun> run;           // null: it has not run
  std::shared_ptr<const ScheduleRun> interrupted;   // the beginning of the next `run`, which was cancelled; null: none was

  [[nodiscard]] auto is_settled() const -> bool { return state == ScheduleState::Settled; }
  /// The last run, which may have been cancelled; null: it has not run.
  [[nodiscard]] auto newest_run() const -> const ScheduleRun* { return interrupted ? interrupted.get() : run.get(); }
  /// Takes over the run of the schedule in an earlier version of the file; null: there was none. `is_same`: it is also the run of this version.
  void take_run_of(const FileSchedule* last, bool is_same);
  void end_run(std::shared_ptr<const ScheduleRun> ended, bool is_cancelled, bool is_limited);

 private:
  /// Asserts the properties of the states, in checked builds.
  void check() const;
};

class Schedules {
 public:
  /// Finds the schedule functions of a file and their programs; runs nothing.
  void update(frontend::File& file);
  /// Runs the schedules that need it. False: cancelled; finished runs are kept, and the next call continues. Until then a schedule keeps its last run.
  auto run_all(frontend::File& file, const CancelToken& cancel, const StepWatch& watch = {}) -> bool;
  /// Runs one schedule, up to a number of statements if requested.
  auto run_one(frontend::File& file, FileSchedule& schedule, const CancelToken& cancel, std::optional<size_t> steps = {}, const StepWatch& watch = {}) -> void;
  /// Runs a template with other choices of its knobs; its last run stays.
  [[nodiscard]] auto run_with(frontend::File& file, const FileSchedule& schedule, std::shared_ptr<const autotvm::Decisions> decisions) const -> ScheduleRun;

  [[nodiscard]] auto all() -> std::vector<FileSchedule>& { return schedules_; }
  [[nodiscard]] auto all() const -> const std::vector<FileSchedule>& { return schedules_; }
  [[nodiscard]] auto find(Name name) -> FileSchedule*;
  /// Functions that make a schedule of a program that is unknown before they run, and the expression for the program: they are ignored like
  /// other Python.
  struct LeftAlone { Name name; Origin program; std::string why; };
  [[nodiscard]] auto left_alone() const -> const std::vector<LeftAlone>& { return left_alone_; }
  /// The number of primitives executed by the last `run_all`; for tests and timing tables.
  [[nodiscard]] auto executed() const -> uint64_t { return executed_; }

  /// Errors and hints that need no run: about tensor intrinsics that the file registers, schedules that are not followed, names and
  /// calls of schedules.
  [[nodiscard]] auto diagnostics() const -> const Diagnostics& { return diagnostics_; }
  /// Tensor intrinsics that the file registers; null: there are none.
  [[nodiscard]] auto intrinsics() const -> const std::shared_ptr<const std::vector<schedule::TensorIntrin>>& { return intrinsics_; }

 private:
  void update_intrinsics(frontend::File& file);
  [[nodiscard]] auto request_for(frontend::File& file, const FileSchedule& schedule) const -> RunRequest;
  std::vector<FileSchedule> schedules_;
  std::vector<LeftAlone> left_alone_;
  Diagnostics diagnostics_;
  Names names_;
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics_;
  uint64_t executed_ = 0;
};

}  // namespace loopsmith::script
