// Which fault is planted (support/fault.h). In a build without faults there are none.
#pragma once

#include <string>
#include <vector>

namespace loopsmith::gate {

/// Of all faults only this one; none where empty.
void plant(const std::string& name);
[[nodiscard]] auto all_faults() -> std::vector<std::string>;

}  // namespace loopsmith::gate
