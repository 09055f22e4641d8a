// Calls of written task schedulers: see task_scheduler.h.
#include "tune/written/task_scheduler.h"

#include "frontend/objects.h"
#include "script/tuner/call.h"
#include "script/tuner/members.h"

namespace loopsmith::tune {
namespace {

auto facts_of(const TaskView& view) -> script::TaskFacts {
  const TuningTask& task = *view.task;
  return {.program = script::value_of(eval::make_object<frontend::ProgramObject>(task.module, task.function, task.module->functions.size() == 1, Origin())),
          .name = task.label,
          .target = task.target.str(),
          .weight = task.weight,
          .flops = view.flops,
          .trial_seconds = *view.trial_seconds,
          .has_ended = view.has_ended};
}

}  // namespace

auto written_scheduler(Ref<script::Piece> piece, frontend::File& file, std::function<void(const Diagnostics&)> report) -> ChooseTask {
  return [piece = std::move(piece), file = &file, report = std::move(report)](const std::vector<TaskView>& views) -> std::optional<int64_t> {
    std::vector<script::TaskFacts> tasks;
    for (const TaskView& view : views) { tasks.push_back(facts_of(view)); }
    auto chosen = script::run_next_task(*piece, *file, tasks);
    if (chosen.ok()) { return *chosen ? static_cast<int64_t>(**chosen) : -1; }
    if (report) { report(chosen.diagnostics()); }
    return std::nullopt;
  };
}

}  // namespace loopsmith::tune
