// One search for several programs: each gets trials by the gain that is still expected of it, times its weight. A program whose curve is flat, or whose best
// time is near the roof of the machine, gets no more.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "target/peaks.h"
#include "tune/session/session.h"

namespace loopsmith::tune {

struct TuningTask {
  IRModule module;
  Name function;
  target::Target target;
  std::string label;
  double weight = 1;            // the number of runs of the program, relative to the others
  double roof_seconds = 0;      // the least time of a call on this machine; 0: not known
  std::function<Result<Sketches>(const SpaceContext&)> space = {};   // see SessionOptions
};

/// The reason why a task got no more trials.
enum class TaskEnd : uint8_t { Budget, Roof, Flat, Exhausted, Failed };
[[nodiscard]] auto text_of(TaskEnd end) -> const char*;

struct TaskResult {
  SessionResult result;
  TaskEnd end = TaskEnd::Budget;
  std::string why;              // of `Failed`
  int trials = 0;
  double roof_seconds = 0;
  /// The expected relative gain of further trials, from the course of the best time and the distance to the roof.
  double gain_left = 0;
};

/// The course of one task, as far as the allotment of trials needs it.
struct TaskCurve {
  double first_seconds = 0;     // after the first slice
  double best_seconds = 0;
  double roof_seconds = 0;
  double weight = 1;
  double last_gain = 0;         // of the last slice, relative
  int flat_slices = 0;          // slices since the last gain of half a percent
};
/// The seconds that another slice of trials is expected to save, times the weight. 0: none.
[[nodiscard]] auto expected_gain(const TaskCurve& curve) -> double;

/// A task as a scheduler of others sees it.
struct TaskView {
  const TuningTask* task = nullptr;
  const std::vector<double>* trial_seconds = nullptr;   // of each trial, in order; 0: it has no time
  double flops = 0;             // of a call; 0: the task has not begun
  bool has_ended = false;       // its space is exhausted, or it failed
};
/// The number of the task that gets the next slice, among those that have not ended; -1 ends the search. None: the scheduler failed, and is not called again.
using ChooseTask = std::function<std::optional<int64_t>(const std::vector<TaskView>&)>;

/// The way in which slices of trials are divided among tasks. With all but the first, a task ends only with its space.
struct TaskScheduler {
  enum class Kind : uint8_t {
    Gain,         // to the largest expected gain; tasks that are flat or at the roof get none
    Gradient,     // to the largest gradient of weight x best time, from the last slices and from the mean of all
    RoundRobin,   // in turns
    Given,        // as `choose` says, from the first slice on; by Gain once it has failed
  };
  Kind kind = Kind::Gain;
  double alpha = 0.2;           // of Gradient: the weight of the last slices
  int window_size = 3;          // of Gradient: the number of the last slices
  ChooseTask choose = {};       // of Given
};
/// Reads "gain", "round-robin", "gradient" or "gradient(alpha=0.3, window_size=5)". None: `problem` is the mistake.
[[nodiscard]] auto read_scheduler(std::string_view text, std::string& problem) -> std::optional<TaskScheduler>;
/// The gradient of a task by its best time after each slice, as in TVM's GradientBased.
[[nodiscard]] auto gradient_of(const std::vector<double>& best_after_slices, double weight, const TaskScheduler& scheduler) -> double;

/// Options hold for all together: `trials` and `seconds` are the whole budget. `on_task` is called before each slice, with the number of the task.
[[nodiscard]] auto tune_several(const std::vector<TuningTask>& tasks, const SessionOptions& options, const std::function<void(size_t, const Progress&)>& on_task, const TaskScheduler& scheduler = {})
    -> std::vector<TaskResult>;

/// A table with a line per task: trials, best, as written, share of the roof, gain left, and the reason for its end.
[[nodiscard]] auto table_of(const std::vector<TuningTask>& tasks, const std::vector<TaskResult>& results) -> std::string;

}  // namespace loopsmith::tune
