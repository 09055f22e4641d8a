// Bytes as text of 64 characters (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace loopsmith::tune::metaschedule {

[[nodiscard]] auto to_base64(std::string_view bytes) -> std::string;
/// None for a text of another form.
[[nodiscard]] auto from_base64(std::string_view text) -> std::optional<std::string>;

}  // namespace loopsmith::tune::metaschedule
