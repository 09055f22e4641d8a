// The gate for the code of users: no fault is planted. See faults.h.
#include "tests/gate/device_faults.h"
#include "tests/gate/faults.h"

namespace loopsmith::gate {

void plant(const std::string&) {}
auto all_faults() -> std::vector<std::string> { return {}; }

auto planted_in_kernels(const IRModule& kernels, uint64_t) -> IRModule { return kernels; }
auto planted_in_text(const std::string& text, uint64_t) -> std::string { return text; }
auto planted_in_launch(const runtime::LaunchSize& size, uint64_t) -> runtime::LaunchSize { return size; }
auto all_device_faults() -> std::vector<std::string> { return {}; }

}  // namespace loopsmith::gate
