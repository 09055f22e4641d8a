// The schedules of a file: its schedule functions, the program of each, and their runs. They are kept from one version of the
// file to the next: a schedule whose text, program and helpers are as before is not run again; one whose text changed is run
// from the first changed statement.
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

/// Where a schedule of a file stands between its text and its result. `Schedules::update` makes it NoProgram, Waiting, Interrupted or, where nothing
/// changed, Settled; running it ends in Interrupted, Limited or Settled.
enum class ScheduleState : uint8_t {
  NoProgram,     // `program` is not known; `diagnostics` has the reason. It cannot run
  Waiting,       // to be run. `run` is that of an earlier text, program or helper, or null
  Interrupted,   // a run was cancelled: `interrupted` is its beginning, `run` as in Waiting
  Limited,       // `run` is of this text, up to the number of statements that was asked for
  Settled,       // `run` is of this very text, program, target and helpers, to its end
};

struct FileSchedule {
  // Its text.
  Name name;                       // of the function; in a class, with the class's: `TestTile.test_split`; at the top of the variable: `sch`, then `sch.2`;
                                   // of the further ones that a function makes `test_split.2`, in the order of the text
  DeclId decl = 0;
  Origin where;                    // its name in the text; of further ones the variable they are made for
  syntax::ItemPtr item;            // its declaration
  size_t place = SIZE_MAX;         // of statements at the top: the index of their declaration in the file
  syntax::ScheduleForm form;       // the way in which it is made, in the tree of `item`
  std::vector<syntax::ScheduleForm> others;   // the other schedules that the function makes; each is a schedule of the file beside this one
  size_t number = 0;               // among those, in the order of the text
  bool makes_its_own = false;      // `sch = tir.Schedule(program)` in its body
  uint64_t context = 0;            // hash of everything that it may use besides its program

  // Its program, set by `Schedules::update`.
  Name program_name;               // the declaration that holds the program; empty: not known
  DeclId program_decl = 0;
  IRModule program;                // none: see diagnostics. Of one that goes on from another schedule, the module that it was made of when it last ran
  IRModule first_program;          // the program that is scheduled in the end: the same, or, of one that goes on from another schedule, the program of that
  bool goes_on_from_other = false; // `tir.Schedule(sch.mod)`
  std::string target;              // as written; empty: not given
  Diagnostics diagnostics;         // the reasons that it cannot run at all

  // Its run, set by `Schedules::run_one`.
  ScheduleState state = ScheduleState::NoProgram;
  std::shared_ptr<const ScheduleRun> run;           // null: it has not run
  std::shared_ptr<const ScheduleRun> interrupted;   // the beginning of the next `run`, which was cancelled; null: none was

  [[nodiscard]] auto is_settled() const -> bool { return state == ScheduleState::Settled; }
  /// The last run, which may have been cancelled; null: it has not run.
  [[nodiscard]] auto newest_run() const -> const ScheduleRun* { return interrupted ? interrupted.get() : run.get(); }
  /// Takes over the run of the schedule in an earlier version of the file; null: there was none. `is_same`: that is the run of this version too.
  void take_run_of(const FileSchedule* last, bool is_same);
  void end_run(std::shared_ptr<const ScheduleRun> ended, bool is_cancelled, bool is_limited);

 private:
  /// Asserts what the states promise, in checked builds.
  void check() const;
};

class Schedules {
 public:
  /// Finds the schedule functions of a file and their programs; runs nothing.
  void update(frontend::File& file);
  /// Runs those that need it. False: cancelled; finished runs are kept, and the next call goes on. Until then a schedule's last run stands.
  auto run_all(frontend::File& file, const CancelToken& cancel, const StepWatch& watch = {}) -> bool;
  /// Runs one, up to a number of statements where asked.
  auto run_one(frontend::File& file, FileSchedule& schedule, const CancelToken& cancel, std::optional<size_t> steps = {}, const StepWatch& watch = {}) -> void;

  [[nodiscard]] auto all() -> std::vector<FileSchedule>& { return schedules_; }
  [[nodiscard]] auto all() const -> const std::vector<FileSchedule>& { return schedules_; }
  [[nodiscard]] auto find(Name name) -> FileSchedule*;
  /// Functions that make a schedule of a program which is not known before they run, and the expression that names it: they are left alone, as
  /// any Python is.
  struct LeftAlone { Name name; Origin program; std::string why; };
  [[nodiscard]] auto left_alone() const -> const std::vector<LeftAlone>& { return left_alone_; }
  /// Primitives executed by the last `run_all`: for tests and timing tables.
  [[nodiscard]] auto executed() const -> uint64_t { return executed_; }

  /// Errors and hints that are known before anything runs: of tensor intrinsics that the file registers, schedules that are not followed, names and
  /// calls of schedules.
  [[nodiscard]] auto diagnostics() const -> const Diagnostics& { return diagnostics_; }
  /// Tensor intrinsics that the file registers; null: none.
  [[nodiscard]] auto intrinsics() const -> const std::shared_ptr<const std::vector<schedule::TensorIntrin>>& { return intrinsics_; }

 private:
  void update_intrinsics(frontend::File& file);
  std::vector<FileSchedule> schedules_;
  std::vector<LeftAlone> left_alone_;
  Diagnostics diagnostics_;
  Names names_;
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics_;
  uint64_t executed_ = 0;
};

}  // namespace loopsmith::script
