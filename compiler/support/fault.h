// Planted faults: places where a test makes the code wrong on purpose, to show that the gate finds the error. Only the gate's
// test build (tests/gate, LOOPSMITH_FAULTS) can enable them; in all other builds FAULT(name) is the constant false.
#pragma once

#ifdef LOOPSMITH_FAULTS
#include <string_view>

namespace loopsmith {
[[nodiscard]] auto is_planted(std::string_view name) -> bool;
}
#define FAULT(name) (::loopsmith::is_planted(#name))
#else
#define FAULT(name) false
#endif
