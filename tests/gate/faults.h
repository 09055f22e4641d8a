// The choice of the planted fault (support/fault.h). A build without faults has none.
#pragma once

#include <string>
#include <vector>

namespace loopsmith::gate {

/// Plants only the fault with this name; empty: no fault.
void plant(const std::string& name);
[[nodiscard]] auto all_faults() -> std::vector<std::string>;

}  // namespace loopsmith::gate
