// Cost models that files write in TVM's form: a class that derives from `ms.cost_model.PyCostModel`, with the methods `predict` and `update`.
#pragma once

#include <functional>
#include <memory>

#include "frontend/file.h"
#include "script/tuner/pieces.h"
#include "tune/cost/candidate_model.h"

namespace loopsmith::tune {

/// `file` must outlive the model. `report` receives the errors of the model during the search. A model that ran out of steps or time is not called again.
[[nodiscard]] auto written_model(Ref<script::Piece> piece, frontend::File& file, std::function<void(const Diagnostics&)> report) -> std::shared_ptr<CandidateModel>;

}  // namespace loopsmith::tune
