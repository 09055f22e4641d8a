// Task schedulers that files write in TVM's form: classes that derive from `ms.task_scheduler.PyTaskScheduler`, with the method `next_task_id`.
#pragma once

#include <functional>

#include "frontend/file.h"
#include "script/tuner/pieces.h"
#include "tune/session/several.h"

namespace loopsmith::tune {

/// `file` must outlive the function. `report` receives the errors of the scheduler.
[[nodiscard]] auto written_scheduler(Ref<script::Piece> piece, frontend::File& file, std::function<void(const Diagnostics&)> report) -> ChooseTask;

}  // namespace loopsmith::tune
