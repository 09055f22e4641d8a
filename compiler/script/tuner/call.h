// Runs pieces of the tuner that are written in script. A piece may loop, raise, return nothing or break off: each is an error with its place, and the schedule
// stays as it was. A piece that runs out of steps or time is closed, and not run again.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/file.h"
#include "schedule/schedule.h"
#include "script/tuner/candidates.h"
#include "script/tuner/pieces.h"
#include "support/diagnostic.h"

namespace loopsmith::script {

/// The limits of one call of a piece.
[[nodiscard]] constexpr auto piece_limits() -> eval::Limits { return {.steps = 2'000'000, .seconds = 5}; }
/// Those of a cost model, which looks at many candidates in one call.
[[nodiscard]] constexpr auto model_limits() -> eval::Limits { return {.steps = 20'000'000, .seconds = 20}; }

// `file` is the file that names the piece. The piece sees the names of this file, even if it is defined in another one.

/// Calls the method `_initialize_with_tune_context` of a piece, if it has one, with the context of a search, which has its `target`.
[[nodiscard]] auto initialize(const Piece& piece, frontend::File& file, const eval::Value& context) -> Status;

/// The schedules that a rule makes of a schedule: one for each way to schedule the block. A closed rule returns the schedule as it is.
[[nodiscard]] auto run_rule(const Piece& rule, frontend::File& file, const schedule::Schedule& sch, schedule::BlockRV block) -> Result<std::vector<schedule::Schedule>>;
/// Runs a post-processor on a schedule. False: the schedule is rejected. A closed post-processor is an error.
[[nodiscard]] auto run_postproc(const Piece& postproc, frontend::File& file, schedule::Schedule& sch) -> Result<bool>;
/// Another trace; none: the mutator has none. `seed` is the random state that TVM passes to functions with a parameter for it.
[[nodiscard]] auto run_mutator(const Piece& mutator, frontend::File& file, const schedule::Trace& trace, int64_t seed) -> Result<std::optional<schedule::Trace>>;

/// `f_block_filter` of a space: true for a block that the rules visit.
[[nodiscard]] auto run_block_filter(const Piece& filter, frontend::File& file, const Ref<Block>& block) -> Result<bool>;
/// `filter_fn` of MultiLevelTiling, which is called with the schedule and `sch.get_sref(block)`: true for a block that is tiled in any case.
[[nodiscard]] auto run_tiling_filter(const Piece& filter, frontend::File& file, const schedule::Schedule& sch, schedule::BlockRV block) -> Result<bool>;
/// The function of `ScheduleFn(...)`: it changes the schedule and returns nothing, or returns a schedule or a list of schedules.
[[nodiscard]] auto run_space_function(const Piece& function, frontend::File& file, const schedule::Schedule& sch) -> Result<std::vector<schedule::Schedule>>;

/// The scores that a cost model gives candidates, one for each: the larger, the faster. A closed model is an error.
[[nodiscard]] auto run_predict(const Piece& model, frontend::File& file, const eval::Value& context, const std::vector<eval::Value>& candidates) -> Result<std::vector<double>>;
/// Passes measurements to a cost model, if it has a method `update`.
[[nodiscard]] auto run_update(const Piece& model, frontend::File& file, const eval::Value& context, const std::vector<eval::Value>& candidates, const std::vector<eval::Value>& results) -> Status;

/// Calls a function `f_alloc_argument(device, args_info, alloc_repeat)`. Returns the elements of each buffer parameter; an empty list: random elements.
[[nodiscard]] auto run_alloc_argument(const Piece& function, frontend::File& file, const schedule::Schedule& program) -> Result<std::vector<std::vector<double>>>;

/// The artefact that a builder made of a candidate, a text of the builder's choice, or the reason why there is none.
struct BuildOutcome { std::string artifact = {}, error = {}; };
/// Calls the method `build` of a builder: a `BuilderResult` for each input.
[[nodiscard]] auto run_builder(const Piece& builder, frontend::File& file, const std::vector<eval::Value>& inputs) -> Result<std::vector<BuildOutcome>>;

/// The mean of the times of a candidate in seconds, or the reason why there is none.
struct RunOutcome { std::optional<double> seconds = {}; std::string error = {}; };
/// Calls the method `run` of a runner: for each input a `RunnerResult`, or an object with the methods `done` and `result` that returns one.
[[nodiscard]] auto run_runner(const Piece& runner, frontend::File& file, const std::vector<eval::Value>& inputs) -> Result<std::vector<RunOutcome>>;

/// A task as schedulers see it: TVM's `TaskRecord`.
struct TaskFacts {
  eval::Value program = {};                    // a program
  std::string name = {}, target = {};
  double weight = 1;
  double flops = 0;                            // 0: not known yet
  std::vector<double> trial_seconds = {};      // of each trial, in order; 0: it failed
  bool has_ended = false;                      // its space is exhausted, or it failed
};
/// Calls the method `next_task_id` of a task scheduler, which sees the tasks as `self.tasks_`. Returns the number of a task that has not ended; none: the scheduler ends the search.
[[nodiscard]] auto run_next_task(const Piece& scheduler, frontend::File& file, const std::vector<TaskFacts>& tasks) -> Result<std::optional<size_t>>;

/// The rules that a file registers for blocks with the annotation `schedule_rule`, with the names in the annotation: functions with `@ls.rule`, and those with
/// `@register_func("meta_schedule.cpu.NAME")`, where `cpu` is one of the keys of the target.
[[nodiscard]] auto rules_for_annotations(frontend::File& file, const std::vector<std::string>& target_keys) -> std::vector<std::pair<std::string, Ref<Piece>>>;

}  // namespace loopsmith::script
