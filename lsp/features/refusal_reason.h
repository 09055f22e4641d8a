// The reason in the message of a refused primitive.
#pragma once

#include <string>
#include <string_view>

namespace loopsmith::lsp {

/// "it feeds `vk` of block `C`" of "cannot apply `vectorize` to `k`: it feeds `vk` of block `C`"; the whole message where it gives no reason.
[[nodiscard]] inline auto refusal_reason(std::string_view message) -> std::string {
  size_t colon = message.find(": ");
  return std::string(colon == std::string_view::npos ? message : message.substr(colon + 2));
}

}  // namespace loopsmith::lsp
