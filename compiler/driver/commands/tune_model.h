// The attributes of a model that a file writes, kept between searches: `loopsmith tune --model-state F`.
#pragma once

#include <optional>

#include "driver/program.h"
#include "tune/session/session.h"

namespace loopsmith::driver::commands {

/// Gives a written model the attributes of the file `--model-state`, if there is one. Returns the exit status of a mistake.
[[nodiscard]] auto restore_model(const Arguments& arguments, const tune::SessionOptions& options) -> std::optional<int>;

/// Writes the attributes of a written model into the file `--model-state`. Returns the exit status of a failure.
[[nodiscard]] auto keep_model(const Arguments& arguments, const tune::SessionOptions& options) -> std::optional<int>;

}  // namespace loopsmith::driver::commands
