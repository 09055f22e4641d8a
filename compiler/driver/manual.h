// docs/diagnostics.md, which the build embeds in the program, and the sections of such a page.
#pragma once

#include <string>
#include <string_view>

namespace loopsmith::driver {

/// The page at the time of the program's build.
[[nodiscard]] auto manual() -> std::string_view;

/// The text under the heading `## CODE` of a page, without the heading; empty: the page has no such heading. Programs of the page that
/// its example schedules stand in front of the example (`shared_programs`).
[[nodiscard]] auto manual_section(std::string_view page, std::string_view code) -> std::string;

/// The programs outside all sections that an example schedules and does not define: they go in front of the example.
[[nodiscard]] auto shared_programs(std::string_view page, std::string_view example) -> std::string;

}  // namespace loopsmith::driver
