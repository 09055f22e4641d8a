// The reason of a refused primitive.
#pragma once

#include <string>
#include <string_view>

#include "support/diagnostic.h"
#include "support/message_text.h"

namespace loopsmith::lsp {

/// "it feeds `vk` of block `C`" of "cannot apply `vectorize` to `k`: it feeds `vk` of block `C`"; the whole message if it gives no reason. In the catalogue, the reason
/// stands behind the first colon of a text.
[[nodiscard]] inline auto refusal_reason(const Diagnostic& refusal) -> std::string {
  const std::string_view text = code_text(refusal.code);
  const size_t colon = text.find(": ");
  return fill_message(colon == std::string_view::npos ? text : text.substr(colon + 2), refusal.args);
}

}  // namespace loopsmith::lsp
