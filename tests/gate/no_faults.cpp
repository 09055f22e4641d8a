// The gate for the code of users: no fault is planted. See faults.h.
#include "tests/gate/faults.h"

namespace loopsmith::gate {

void plant(const std::string&) {}
auto all_faults() -> std::vector<std::string> { return {}; }

}  // namespace loopsmith::gate
