// Compute DAGs of the auto-scheduler as values of scripts (`task.compute_dag`, `auto_scheduler.ComputeDAG(...)`), and the methods of tasks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eval/evaluator.h"
#include "script/auto_scheduler/steps.h"

namespace loopsmith::script::auto_scheduler {

/// The tensors of a task, with the program that computes them.
class DagObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  DagObject(std::shared_ptr<const std::vector<eval::Value>> t, Prepared p) : Object(&type_tag), tensors(std::move(t)), prepared(std::move(p)) {}
  const std::shared_ptr<const std::vector<eval::Value>> tensors;
  const Prepared prepared;
  auto get_attribute(eval::Evaluator&, Name name, Origin where) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto repr() const -> std::string override { return "<auto_scheduler.ComputeDAG>"; }
  /// Each tensor with the value of its elements.
  auto to_str() const -> std::string override;
};

/// A task as a value: the methods of its program.
struct TaskValue {
  std::string workload;                        // the name of the function
  std::vector<eval::Value> arguments;
  std::shared_ptr<const std::vector<eval::Value>> tensors;
  eval::Value target;
  Origin where;
};
/// The program of a task with the members of the task: `task.compute_dag`, `task.apply_best` ...
[[nodiscard]] auto with_task(const frontend::ProgramObject& program, TaskValue task) -> eval::Value;

/// `auto_scheduler.ComputeDAG(TENSORS or WORKLOAD_KEY)`.
auto compute_dag(eval::Evaluator& evaluator, const eval::Arguments& arguments) -> eval::Value;
/// `auto_scheduler.make_workload_key(FUNC, ARGS)`.
auto make_workload_key(eval::Evaluator& evaluator, const eval::Arguments& arguments) -> eval::Value;
/// `auto_scheduler.load_best_record(LOG, WORKLOAD_KEY)`, or `load_best`: an input with the `state` of the fastest record and its `task`, and a result with its `costs`.
auto load_best_record(eval::Evaluator& evaluator, const eval::Arguments& arguments) -> eval::Value;
/// The tensors of a workload key; null: the value is none.
[[nodiscard]] auto task_of_key(const eval::Value& key) -> const TaskValue*;

/// The file whose statements run on this thread: `apply_best` reads logs beside it.
class RunningFile {
 public:
  explicit RunningFile(const frontend::File& file);
  ~RunningFile();
  RunningFile(const RunningFile&) = delete;
  auto operator=(const RunningFile&) -> RunningFile& = delete;

 private:
  const frontend::File* before_;
};

}  // namespace loopsmith::script::auto_scheduler
