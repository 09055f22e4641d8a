// docs/diagnostics.md, which the build puts into the program.
#pragma once

#include <string_view>

namespace loopsmith::driver {

/// The text under the heading `## CODE`, without the heading; empty where there is none.
[[nodiscard]] auto manual_section(std::string_view code) -> std::string_view;

}  // namespace loopsmith::driver
