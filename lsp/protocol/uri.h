// `file:` URIs and paths. Editors escape URIs differently, so texts are identified by their paths.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace loopsmith::lsp {

/// The path of a `file:` URI; any other URI unchanged.
[[nodiscard]] auto path_of(std::string_view uri) -> std::string;

/// The address of a view, "loopsmith-ir:/a.tir#tiled@3" (features/views.h): the text and the part of it that is shown. None: the URI is no such address.
struct ViewAddress {
  std::string text;       // "/a.tir": the path of a `file:` URI, still escaped; or another URI
  std::string fragment;   // "tiled@3"
};
[[nodiscard]] auto parse_view(std::string_view uri) -> std::optional<ViewAddress>;

/// The URI of an absolute path.
[[nodiscard]] auto uri_of(std::string_view path) -> std::string;

}  // namespace loopsmith::lsp
