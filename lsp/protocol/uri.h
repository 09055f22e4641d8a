// `file:` URIs and paths. Editors escape differently; a path is what they agree on.
#pragma once

#include <string>
#include <string_view>

namespace loopsmith::lsp {

/// The path that a `file:` URI means; another URI is its own name.
[[nodiscard]] auto path_of(std::string_view uri) -> std::string;

/// The URI of an absolute path.
[[nodiscard]] auto uri_of(std::string_view path) -> std::string;

}  // namespace loopsmith::lsp
