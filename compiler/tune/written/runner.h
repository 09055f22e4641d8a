// Builders and runners that files write in TVM's form: classes that derive from `ms.builder.PyBuilder`, with the method `build`, and from `ms.runner.PyRunner`, with the
// method `run`.
#pragma once

#include <functional>
#include <memory>

#include "frontend/file.h"
#include "script/tuner/pieces.h"
#include "tune/cost/candidate_runner.h"

namespace loopsmith::tune {

/// `builder`: null where the runner takes candidates as they are. `file` must outlive the runner. `report` receives the errors of both during the search.
[[nodiscard]] auto written_runner(Ref<script::Piece> builder, Ref<script::Piece> runner, frontend::File& file, std::function<void(const Diagnostics&)> report) -> std::shared_ptr<CandidateRunner>;

}  // namespace loopsmith::tune
