// Planted faults: places where the code can be made wrong on purpose, so that the gate shows that it finds them. Only the test
// build of the gate (tests/gate, LOOPSMITH_FAULTS) knows them; everywhere else FAULT(name) is the constant false.
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
