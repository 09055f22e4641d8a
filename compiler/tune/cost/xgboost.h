// Trees by the library XGBoost, through its C functions. The library is loaded when a search first asks for the model, and is not needed otherwise.
#pragma once

#include <memory>
#include <string>

#include "tune/cost/model.h"

namespace loopsmith::tune {

/// The reason why the library cannot be used, and the way to install it; empty: it can.
[[nodiscard]] auto why_no_xgboost() -> std::string;
/// A model that XGBoost fits. Where the library is missing or fails, it predicts a common factor only.
[[nodiscard]] auto make_xgboost() -> std::unique_ptr<CostModel>;

}  // namespace loopsmith::tune
