// The embedded scripts: families.cpp is made from the .tir files of this folder (CMakeLists.txt).
#pragma once

#include <string_view>
#include <vector>

namespace loopsmith::intrinsics {

struct Family { std::string_view name, script; };

/// In the order of the reference page.
[[nodiscard]] auto families() -> const std::vector<Family>&;

/// names.tir: what else of TVM's module of intrinsics schedules use.
[[nodiscard]] auto names_script() -> std::string_view;

}  // namespace loopsmith::intrinsics
