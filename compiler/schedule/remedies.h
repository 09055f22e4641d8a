// The actions that usually help against errors of primitives. explain.h adds them to refusals for which it finds no call that works and which have no
// remedy of their own.
#pragma once

#include <string_view>

#include "support/diagnostic.h"

namespace loopsmith::schedule {

/// An action for the user. Empty: the action depends on the place that reports the error, which gives its own.
[[nodiscard]] auto usual_remedy(Code code) -> std::string_view;

}  // namespace loopsmith::schedule
