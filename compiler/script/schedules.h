// The schedules of a file: which functions are schedules, which program each is for, and what running them did. Kept from one
// version of the file to the next: a schedule whose text, program and helpers are as before is not run again, one whose text
// changed is run from the first changed statement.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/file.h"
#include "script/names.h"
#include "script/run.h"
#include "support/cancel.h"

namespace loopsmith::script {

/// `ls` and what else this room adds to every file: to be handed to frontend::File.
[[nodiscard]] auto predeclared(Name name) -> const eval::Value*;

struct FileSchedule {
  Name name;                       // of the function; in a class, with the class's: `TestTile.test_split`; at the top of the variable: `sch`, then `sch.2`;
                                   // of the further ones that a function makes `test_split.2`, in the order of the text
  DeclId decl = 0;
  Origin where;                    // its name in the text; of further ones the variable they are made for
  Name program_name;               // the declaration that holds the program; empty: not known
  DeclId program_decl = 0;
  IRModule program;                // none: see diagnostics. Of one that goes on from another schedule, what it was made of when it last ran
  IRModule first_program;          // what is scheduled in the end: the same, or, of one that goes on from another schedule, the program of that
  bool goes_on_from_other = false; // `tir.Schedule(sch.mod)`
  std::string target;              // as written; empty: not said
  Diagnostics diagnostics;         // why it could not be run at all
  std::shared_ptr<const ScheduleRun> run;   // null: not run (yet)
  std::shared_ptr<const ScheduleRun> interrupted;   // the beginning of the next `run`, cancelled; null: there is none
  bool makes_its_own = false;      // `sch = tir.Schedule(program)` in its body
  syntax::ScheduleForm form;       // how it is made, in the tree of `item`
  std::vector<syntax::ScheduleForm> others;   // what else the function makes; each is a schedule of the file beside this one
  size_t number = 0;               // among those, in the order of the text
  syntax::ItemPtr item;            // its declaration
  size_t place = SIZE_MAX;         // of statements at the top: which declaration of the file they are
  uint64_t context = 0;            // hash of what it may use besides its program
  bool is_settled = false;         // `run` is of this very text, program, target and helpers, to its end
};

class Schedules {
 public:
  /// Finds the schedule functions of a file and their programs; runs nothing.
  void update(frontend::File& file);
  /// Runs those that need it. False: cancelled; what ran is kept, calling again goes on. Until then a schedule's last run stands.
  auto run_all(frontend::File& file, const CancelToken& cancel, const StepWatch& watch = {}) -> bool;
  /// Runs one, up to a number of statements where asked.
  auto run_one(frontend::File& file, FileSchedule& schedule, const CancelToken& cancel, std::optional<size_t> steps = {}, const StepWatch& watch = {}) -> void;

  [[nodiscard]] auto all() -> std::vector<FileSchedule>& { return schedules_; }
  [[nodiscard]] auto all() const -> const std::vector<FileSchedule>& { return schedules_; }
  [[nodiscard]] auto find(Name name) -> FileSchedule*;
  /// Functions that make a schedule of a program which is not known before they run, and the place that says which: they are left alone, as
  /// any Python is.
  struct LeftAlone { Name name; Origin program; std::string why; };
  [[nodiscard]] auto left_alone() const -> const std::vector<LeftAlone>& { return left_alone_; }
  /// Primitives executed by the last `run_all`: for tests and timing tables.
  [[nodiscard]] auto executed() const -> uint64_t { return executed_; }

  /// What is wrong before anything runs: with tensor intrinsics that the file registers, schedules that are not followed, names and calls of schedules.
  [[nodiscard]] auto diagnostics() const -> const Diagnostics& { return diagnostics_; }
  /// Tensor intrinsics that the file registers; null: none.
  [[nodiscard]] auto intrinsics() const -> const std::shared_ptr<const std::vector<schedule::TensorIntrin>>& { return intrinsics_; }

 private:
  void find_program(frontend::File& file, const ScheduleFunction& function, FileSchedule& out);
  auto find_made_program(frontend::File& file, const ScheduleFunction& function, const FileSchedule* before, FileSchedule& out) -> bool;
  void update_intrinsics(frontend::File& file);
  std::vector<FileSchedule> schedules_;
  std::vector<LeftAlone> left_alone_;
  Diagnostics diagnostics_;
  Names names_;
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics_;
  uint64_t executed_ = 0;
};

}  // namespace loopsmith::script
