// Texts of the catalogues of diagnostics and reasons, with their arguments filled in.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopsmith {

/// Replaces each `{name}` by the argument of that name. A noun after the count 1 becomes singular ("1 item").
[[nodiscard]] auto fill_message(std::string_view text, const std::vector<std::pair<std::string, std::string>>& args) -> std::string;

}  // namespace loopsmith
