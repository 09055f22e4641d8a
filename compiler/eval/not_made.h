// Effects of a script that are missing, since a value is unknown: for objects that collect the effects of calls, as a builder of statements does.
#pragma once

#include <cstdint>

namespace loopsmith::eval {

/// The number of calls and stores on this thread that were not made because a value is opaque. It only grows.
[[nodiscard]] auto not_made() -> uint64_t&;

}  // namespace loopsmith::eval
