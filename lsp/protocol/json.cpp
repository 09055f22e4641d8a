// Parsing and building JSON: see json.h.
#include "lsp/protocol/json.h"

#include <algorithm>

#include "lsp/protocol/methods.h"

namespace loopsmith::lsp {
namespace {

/// Deepest nesting of brackets outside strings.
auto depth_of(std::string_view text) -> int {
  int depth = 0;
  int deepest = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          if (text[i] == '\\') { ++i; }
        }
        break;
      case '[':
      case '{':
        deepest = std::max(deepest, ++depth);
        break;
      case ']':
      case '}':
        --depth;
        break;
      default: break;
    }
  }
  return deepest;
}

auto hex_value(std::string_view digits) -> std::optional<uint32_t> {
  uint32_t value = 0;
  for (char digit : digits) {
    value <<= 4U;
    if (digit >= '0' && digit <= '9') {
      value |= static_cast<uint32_t>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      value |= static_cast<uint32_t>(digit - 'a' + 10);
    } else if (digit >= 'A' && digit <= 'F') {
      value |= static_cast<uint32_t>(digit - 'A' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

/// Length of the well-formed UTF-8 sequence at a place; 0: there is none.
auto sequence_length(std::string_view text, size_t at) -> size_t {
  auto byte = [&](size_t i) -> unsigned { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  auto follows = [&](size_t i, unsigned low = 0x80, unsigned high = 0xBF) { return byte(i) >= low && byte(i) <= high; };
  unsigned first = byte(at);
  if (first < 0x80) { return 1; }
  if (first >= 0xC2 && first <= 0xDF) { return follows(at + 1) ? 2 : 0; }
  if (first >= 0xE0 && first <= 0xEF) {
    unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    unsigned high = first == 0xED ? 0x9F : 0xBF;
    return follows(at + 1, low, high) && follows(at + 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    unsigned low = first == 0xF0 ? 0x90 : 0x80;
    unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return follows(at + 1, low, high) && follows(at + 2) && follows(at + 3) ? 4 : 0;
  }
  return 0;
}

/// The text with lone surrogate escapes and bytes that are not UTF-8 replaced.
auto mended(std::string_view text) -> std::string {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      auto unit = text[i + 1] == 'u' ? hex_value(text.substr(i + 2, 4)) : std::nullopt;
      if (!unit || text.size() < i + 6) {
        out += text.substr(i, 2);
        i += 2;
        continue;
      }
      bool high = *unit >= 0xD800 && *unit <= 0xDBFF;
      bool low = *unit >= 0xDC00 && *unit <= 0xDFFF;
      if (high && text.substr(i + 6, 2) == "\\u") {
        auto second = hex_value(text.substr(i + 8, 4));
        if (second && *second >= 0xDC00 && *second <= 0xDFFF) {
          out += text.substr(i, 12);
          i += 12;
          continue;
        }
      }
      out += high || low ? std::string_view("\\ufffd") : text.substr(i, 6);
      i += 6;
      continue;
    }
    size_t length = sequence_length(text, i);
    out += length > 0 ? text.substr(i, length) : std::string_view("\xEF\xBF\xBD");
    i += std::max<size_t>(length, 1);
  }
  return out;
}

}  // namespace

auto parse_json(std::string& text, std::string& why) -> std::optional<Json> {
  if (depth_of(text) > depth_limit) {
    why = "the message is nested too deeply";
    return std::nullopt;
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    std::string mended_text = mended(text);
    if (mended_text != text) {
      json = Json::parse(mended_text, nullptr, false);
      if (!json.is_discarded()) { text = std::move(mended_text); }
    }
  }
  if (json.is_discarded()) {
    why = "the message is not valid JSON";
    return std::nullopt;
  }
  return json;
}

auto to_text(const Json& json) -> std::string { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

auto member(const Json& json, const char* name) -> const Json& {
  static const Json none;
  if (!json.is_object()) { return none; }
  auto found = json.find(name);
  return found == json.end() ? none : *found;
}

auto string_in(const Json& json, const char* name) -> std::string {
  const Json& value = member(json, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

auto int_in(const Json& json, const char* name) -> std::optional<int64_t> {
  const Json& value = member(json, name);
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) { return std::nullopt; }
  if (value.is_number_integer()) { return value.get<int64_t>(); }
  return std::nullopt;
}

auto bool_in(const Json& json, const char* name) -> bool {
  const Json& value = member(json, name);
  return value.is_boolean() && value.get<bool>();
}

auto position_from(const Json& json) -> std::optional<Position> {
  auto line = int_in(json, "line");
  auto character = int_in(json, "character");
  if (!line || !character || *line < 0 || *character < 0) { return std::nullopt; }
  auto capped = [](int64_t value) { return static_cast<uint32_t>(std::min<int64_t>(value, UINT32_MAX)); };
  return Position{capped(*line), capped(*character)};
}

auto range_from(const Json& json) -> std::optional<TextRange> {
  auto start = position_from(member(json, "start"));
  auto end = position_from(member(json, "end"));
  if (!start || !end) { return std::nullopt; }
  return TextRange{*start, *end};
}

auto to_json(Position at) -> Json { return {{"line", at.line}, {"character", at.character}}; }
auto to_json(TextRange range) -> Json { return {{"start", to_json(range.start)}, {"end", to_json(range.end)}}; }

auto response(const Json& id, Json result) -> Json {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

auto error_response(const Json& id, ErrorCode code, std::string_view message) -> Json {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(code)}, {"message", message}}}};
}

auto notification(std::string_view method, Json params) -> Json {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

auto pulls_diagnostics(const Json& capabilities, const Json& options) -> bool {
  return member(member(capabilities, "textDocument"), "diagnostic").is_object() && bool_in(options, "pullDiagnostics");
}

auto asks_forms(const Json& capabilities) -> bool {
  const Json& ours = member(capabilities, "experimental");
  return member(member(ours, "interactiveResolve"), "inputTypes").is_array() || member(ours, "interactiveInputTypes").is_array();
}

auto server_capabilities(Encoding encoding, bool pulls) -> Json {
  Json all = {
      {"positionEncoding", encoding_name(encoding)},
      {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", {{"includeText", false}}}}},
      {"hoverProvider", true},
      {"codeActionProvider", {{"codeActionKinds", {"quickfix", "refactor.extract", "refactor.inline", "refactor.rewrite"}}, {"resolveProvider", true}}},
      {"workspaceSymbolProvider", {{"workDoneProgress", true}}},
      {"callHierarchyProvider", true},
      {"documentLinkProvider", {{"resolveProvider", false}}},
      {"documentSymbolProvider", true},
      {"foldingRangeProvider", true},
      {"selectionRangeProvider", true},
      {"completionProvider", {{"triggerCharacters", {".", "\"", "'", "["}}, {"resolveProvider", true}, {"completionItem", {{"labelDetailsSupport", true}}}}},
      {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
      {"codeLensProvider", {{"resolveProvider", false}}},
      {"workspace",
       {{"textDocumentContent", {{"schemes", {"loopsmith-ir"}}}},
        {"workspaceFolders", {{"supported", true}, {"changeNotifications", true}}},
        {"fileOperations", {{"willRename", {{"filters", {{{"scheme", "file"}, {"pattern", {{"glob", "**/*.{tir,py}"}}}}, {{"scheme", "file"}, {"pattern", {{"glob", "**"}, {"matches", "folder"}}}}}}}}}}}},
      {"documentFormattingProvider", true},
      {"documentRangeFormattingProvider", {{"rangesSupport", true}}},
      {"documentOnTypeFormattingProvider", {{"firstTriggerCharacter", "\n"}}},
      {"declarationProvider", true},
      {"definitionProvider", true},
      {"typeDefinitionProvider", true},
      {"implementationProvider", true},
      {"referencesProvider", {{"workDoneProgress", true}}},
      {"documentHighlightProvider", true},
      {"renameProvider", {{"prepareProvider", true}, {"workDoneProgress", true}}},
      {"semanticTokensProvider",
       {{"legend", {{"tokenTypes", token_types}, {"tokenModifiers", token_modifiers}}}, {"full", {{"delta", true}}}, {"range", true}}},
      {"inlayHintProvider", {{"resolveProvider", false}}},
      {"executeCommandProvider", {{"commands", {tune_command, run_command, interpret_command, bench_command, verify_command, sizes_command, stop_tune_command, pause_tune_command, resume_tune_command, insert_schedule_command, replay_to_command, explain_records_command, records_history_command, compare_schedules_command, split_command, apply_schedule_command, toggle_hints_command, report_bundle_command, attach_repl_command}}}},
  };
  if (pulls) { all["diagnosticProvider"] = {{"identifier", "loopsmith"}, {"interFileDependencies", true}, {"workspaceDiagnostics", true}}; }
  return all;
}

}  // namespace loopsmith::lsp
