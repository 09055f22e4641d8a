// `file:` URIs and paths. Editors escape differently; a path is what they agree on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace loopsmith::lsp {

/// The path that a `file:` URI means; another URI is its own name.
[[nodiscard]] auto path_of(std::string_view uri) -> std::string;

/// The address of a view (as features/views.h writes them), "loopsmith-ir:/a.tir#tiled@3": whose text it is of, and what of it. None: it is none.
struct ViewAddress {
  std::string text;       // "/a.tir": the path in a `file:` URI, as escaped there; or another URI
  std::string fragment;   // "tiled@3"
};
[[nodiscard]] auto parse_view(std::string_view uri) -> std::optional<ViewAddress>;

/// The URI of an absolute path.
[[nodiscard]] auto uri_of(std::string_view path) -> std::string;

}  // namespace loopsmith::lsp
