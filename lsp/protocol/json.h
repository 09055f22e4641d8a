// JSON for the server: a parser for untrusted text, and the envelopes of JSON-RPC. The depth of
// parsed values is limited, so that no later walk over them can overflow the stack.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "lsp/protocol/encoding.h"

namespace loopsmith::lsp {

using Json = nlohmann::json;

/// The error codes of JSON-RPC and LSP that the server uses.
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

/// The deepest nesting of arrays and objects; deeper text is a parse error.
inline constexpr int depth_limit = 256;

/// None: the text is not JSON, or too deep; `why` has the reason. Lone surrogates, which JavaScript strings may contain but
/// UTF-8 may not, become U+FFFD, which has the same width in UTF-16; `text` is changed to match.
[[nodiscard]] auto parse_json(std::string& text, std::string& why) -> std::optional<Json>;

/// On one line. Bytes in strings that are not UTF-8 become U+FFFD.
[[nodiscard]] auto to_text(const Json& json) -> std::string;

// Members of a value; the value may be no object, or lack the member, or have a member of another type.
[[nodiscard]] auto member(const Json& json, const char* name) -> const Json&;  // null if it is missing
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

/// True when the client requests diagnostics itself: it has the capability, and the option `pullDiagnostics` is on. The server then does not
/// publish them, because the editor would show each twice.
[[nodiscard]] auto pulls_diagnostics(const Json& capabilities, const Json& options) -> bool;

/// True when the client can show questions of a command to the user (capability `experimental.interactiveResolve.inputTypes`, earlier `interactiveInputTypes`).
[[nodiscard]] auto asks_forms(const Json& capabilities) -> bool;

/// The answer to `initialize`.
[[nodiscard]] auto server_capabilities(Encoding encoding, bool pulls = false) -> Json;

}  // namespace loopsmith::lsp
