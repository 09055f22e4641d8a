// The embedded scripts: CMakeLists.txt makes families.cpp from the .tir files of this folder.
#pragma once

#include <string_view>
#include <vector>

namespace loopsmith::intrinsics {

struct Family { std::string_view name, script; };

/// In the order of the reference page.
[[nodiscard]] auto families() -> const std::vector<Family>&;

/// names.tir: the other names in TVM's module of intrinsics that schedules use.
[[nodiscard]] auto names_script() -> std::string_view;

}  // namespace loopsmith::intrinsics
