// JSON for the server: parsing what may be anything, and the small envelopes of JSON-RPC. A door, not a data model:
// what is parsed here is bounded in depth, so that no later walk over it can overflow the stack.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "lsp/protocol/encoding.h"

namespace loopsmith::lsp {

using Json = nlohmann::json;

/// JSON-RPC's and LSP's codes that we answer with.
enum class ErrorCode : int {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602,
  InternalError = -32603,
  ServerNotInitialized = -32002,
  RequestFailed = -32803,
  ServerCancelled = -32802,
  ContentModified = -32801,
  RequestCancelled = -32800,
};

/// Nesting of arrays and objects that is read; deeper is a parse error.
inline constexpr int depth_limit = 256;

/// None: the text is no JSON, or too deep, and `why` has the reason. Lone surrogates, which JavaScript's strings may hold
/// and UTF-8 may not, become U+FFFD, which is as wide in UTF-16; then `text` is changed to match.
[[nodiscard]] auto parse_json(std::string& text, std::string& why) -> std::optional<Json>;

/// One line; what is not UTF-8 in strings becomes U+FFFD.
[[nodiscard]] auto to_text(const Json& json) -> std::string;

// Reading members of a value that may be no object, may lack them, or may have other types.
[[nodiscard]] auto member(const Json& json, const char* name) -> const Json&;  // null where absent
[[nodiscard]] auto string_in(const Json& json, const char* name) -> std::string;
[[nodiscard]] auto int_in(const Json& json, const char* name) -> std::optional<int64_t>;
[[nodiscard]] auto bool_in(const Json& json, const char* name) -> bool;

[[nodiscard]] auto position_from(const Json& json) -> std::optional<Position>;
[[nodiscard]] auto range_from(const Json& json) -> std::optional<TextRange>;
[[nodiscard]] auto to_json(Position at) -> Json;
[[nodiscard]] auto to_json(TextRange range) -> Json;

[[nodiscard]] auto response(const Json& id, Json result) -> Json;
[[nodiscard]] auto error_response(const Json& id, ErrorCode code, std::string_view message) -> Json;
[[nodiscard]] auto notification(std::string_view method, Json params) -> Json;

/// True when the client asks for diagnostics instead of getting them published: it can ask, and the option `pullDiagnostics` is on. An editor that
/// did both would show each twice.
[[nodiscard]] auto pulls_diagnostics(const Json& capabilities, const Json& options) -> bool;

/// True when the client can ask the user questions for us (`experimental.interactiveResolve.inputTypes`, or as it was called before `interactiveInputTypes`)?
[[nodiscard]] auto asks_forms(const Json& capabilities) -> bool;

/// The answer to `initialize`.
[[nodiscard]] auto server_capabilities(Encoding encoding, bool pulls = false) -> Json;

}  // namespace loopsmith::lsp
