// Tasks of TVM's auto-scheduler (Ansor): `@auto_scheduler.register_workload` functions, and `auto_scheduler.SearchTask(func=, args=, target=)`, which is a
// program here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/value.h"
#include "frontend/file.h"
#include "frontend/te/tensors.h"

namespace loopsmith::script::auto_scheduler {

/// The namespace `auto_scheduler`.
[[nodiscard]] auto namespace_auto_scheduler() -> const eval::Value&;

struct Task {
  Name variable;                               // that holds the task: the name of its program; empty: none does
  std::string workload;                        // the name of the function
  std::vector<eval::Value> arguments;
  std::vector<eval::Value> tensors;            // that the function returns
  Origin where;
};
/// The tasks that a file makes, in the order of the text. Tasks whose tensors are not known are left out.
[[nodiscard]] auto tasks_of(frontend::File& file) -> std::vector<Task>;

/// The search that a file asks for: `task.tune(auto_scheduler.TuningOptions(num_measure_trials=..., measure_callbacks=[auto_scheduler.RecordToFile(F)]))`.
struct AskedTuning {
  bool is_asked = false;                       // the file calls `tune` of the task
  std::optional<int64_t> trials;
  std::string log;                             // of `RecordToFile`; empty: none
  std::vector<std::string> preloaded;          // the logs of `PreloadMeasuredStates`
};
[[nodiscard]] auto asked_tuning(frontend::File& file, const Task& task) -> AskedTuning;
/// `SearchTask(..., hardware_params=auto_scheduler.HardwareParams(max_threads_per_block=512))`: the parameters that a file gives.
struct AskedHardware { std::optional<int64_t> max_threads_per_block, max_vthread_extent, warp_size; };
[[nodiscard]] auto asked_hardware(frontend::File& file, const Task& task) -> AskedHardware;
/// True for a call of `auto_scheduler.SearchTask(...)`, or of `auto_scheduler.create_task(...)`, which is its name in the first version.
[[nodiscard]] auto makes_task(const syntax::CallExpr& call) -> bool;
/// The log that a call of `apply_best` or `auto_schedule` reads, or the one of the record whose state is applied; empty: its path is not known.
[[nodiscard]] auto log_of_call(frontend::File& file, const syntax::CallExpr& call) -> std::string;
/// The log of `task.apply_best(F)` or `task.print_best(F)`; empty: the file calls neither.
[[nodiscard]] auto applied_log(frontend::File& file) -> std::string;

/// The operations that no other one of the task reads.
[[nodiscard]] auto outputs_of(const std::vector<eval::Value>& tensors) -> std::vector<Ref<frontend::te::Operation>>;

}  // namespace loopsmith::script::auto_scheduler
