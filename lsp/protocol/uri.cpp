// Escapes of URIs: see uri.h.
#include "lsp/protocol/uri.h"

namespace loopsmith::lsp {
namespace {

constexpr std::string_view scheme = "file://";
constexpr std::string_view view_scheme = "loopsmith-ir:";

auto unescaped(std::string_view uri) -> std::string {
  auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
  std::string path;
  for (size_t i = 0; i < uri.size(); ++i) {
    bool is_escaped = uri[i] == '%' && i + 2 < uri.size() && digit(uri[i + 1]) >= 0 && digit(uri[i + 2]) >= 0;
    path += is_escaped ? static_cast<char>(digit(uri[i + 1]) * 16 + digit(uri[i + 2])) : uri[i];
    i += is_escaped ? 2 : 0;
  }
  return path;
}

}  // namespace

auto path_of(std::string_view uri) -> std::string { return uri.starts_with(scheme) ? unescaped(uri.substr(scheme.size())) : std::string(uri); }

auto parse_view(std::string_view uri) -> std::optional<ViewAddress> {
  if (!uri.starts_with(view_scheme)) { return std::nullopt; }
  uri.remove_prefix(view_scheme.size());
  // Editors may write the `#` of an address as `%23` and escape the part behind it.
  for (std::string_view mark : {"#", "%23"}) {
    size_t hash = uri.rfind(mark);
    if (hash != std::string_view::npos) { return ViewAddress{std::string(uri.substr(0, hash)), unescaped(uri.substr(hash + mark.size()))}; }
  }
  return ViewAddress{std::string(uri), {}};
}

auto uri_of(std::string_view path) -> std::string {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string uri(scheme);
  for (char c : path) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      uri += c;
    } else {
      uri += {'%', digits[static_cast<unsigned char>(c) >> 4U], digits[static_cast<unsigned char>(c) & 15U]};
    }
  }
  return uri;
}

}  // namespace loopsmith::lsp
