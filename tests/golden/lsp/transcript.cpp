// Reads and writes transcripts: see transcript.h.
#include "tests/golden/lsp/transcript.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "lsp/protocol/methods.h"
#include "tests/golden/lsp/notation.h"

namespace loopsmith::lsp::golden {
namespace {

constexpr std::string_view file_scheme = "file:///";

auto read_file(const std::string& path) -> std::string {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

auto unescaped(std::string_view text) -> std::string {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    char c = text[++i];
    out += c == 'n' ? '\n' : c == 'r' ? '\r' : c;
  }
  return out;
}

auto uri_of(const std::string& name) -> std::string { return name.find(':') == std::string::npos ? std::string(file_scheme) + name : name; }

/// The name for which `uri_of` returns this URI; empty: there is none.
auto name_of(const std::string& uri) -> std::string {
  if (uri.empty() || uri.find(' ') != std::string::npos) { return {}; }
  std::string name = uri.starts_with(file_scheme) ? uri.substr(file_scheme.size()) : uri;
  return uri_of(name) == uri && !name.starts_with("{") && !name.starts_with("\"") ? name : std::string();
}

auto language_of(const std::string& name) -> std::string { return name.ends_with(".py") ? "python" : "tirscript"; }

// ---- reading steps -------------------------------------------------------------------------------------------------

/// Splits a line into words; text in braces or quotes is one word up to the end of the line.
class Words {
 public:
  explicit Words(std::string_view line) : left_(line) {}
  [[nodiscard]] auto peek() const -> std::string {
    if (left_.starts_with('{') || left_.starts_with('"')) { return std::string(left_); }
    return std::string(left_.substr(0, left_.find(' ')));
  }
  auto take() -> std::string {
    std::string word = peek();
    left_.remove_prefix(std::min(word.size() + 1, left_.size()));
    return word;
  }
  [[nodiscard]] auto rest() const -> std::string { return std::string(left_); }
  [[nodiscard]] auto is_number() const -> bool {
    std::string word = peek();
    return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
  }
  [[nodiscard]] auto is_place() const -> bool {
    static const std::regex place(R"(\d+:\d+(-\d+:\d+)?)");
    return std::regex_match(peek(), place);
  }

 private:
  std::string_view left_;
};

/// The text below a step, without its indentation; `whole`: with a line end after the last line.
auto text_below(const std::vector<std::string>& below, bool whole) -> std::string {
  std::string out;
  for (const std::string& line : below) { out += (&line == &below.front() ? "" : "\n") + (line.empty() ? line : line.substr(indent)); }
  return whole ? out + "\n" : out;
}

auto place_from(const std::string& word) -> Json {
  Json place = word;
  expand_places(place);
  return place;
}

auto notification_of(std::string_view method, Json params) -> Json { return {{"method", method}, {"params", std::move(params)}}; }

auto read_open(Words words, const std::vector<std::string>& below, const std::string& sources) -> Json {
  std::string name = words.take();
  Json document = {{"uri", uri_of(name)}, {"version", 1}, {"languageId", language_of(name)}};
  if (words.is_number()) { document["version"] = std::stoll(words.take()); }
  std::string word = words.take();
  if (word == "from") {
    document["text"] = read_file(sources + "/" + words.take());
  } else if (word.starts_with('"')) {
    document["text"] = Json::parse(word, nullptr, false);
  } else {
    document["text"] = text_below(below, word != "|-");
  }
  return notification_of("textDocument/didOpen", {{"textDocument", std::move(document)}});
}

auto read_change(Words words, const std::vector<std::string>& below) -> Json {
  std::string name = words.take();
  Json version = Json::parse(words.take(), nullptr, false);
  Json change = Json::object();
  if (words.is_place()) { change["range"] = place_from(words.take()); }
  std::string word = words.take();
  change["text"] = word.starts_with('"') ? Json::parse(word, nullptr, false) : Json(text_below(below, word != "|-"));
  return notification_of("textDocument/didChange", {{"textDocument", {{"uri", uri_of(name)}, {"version", version}}}, {"contentChanges", Json::array({std::move(change)})}});
}

/// Reads a method with its parameters: a document, a place, further JSON, the shown members of the answer.
auto read_method(const std::string& method, Words words, Step& step) -> std::string {
  const MethodRow* row = find_method(method);
  if (row == nullptr) { return "the method is not known; write `message {...}`"; }
  step.is_request = row->kind == MethodKind::Request;
  Json params;
  auto is_more = [&] { return !words.peek().empty() && words.peek() != "show" && !words.peek().starts_with("{"); };
  if (is_more() && !words.is_place()) { params["textDocument"]["uri"] = uri_of(words.take()); }
  if (is_more() && words.is_place()) {
    Json place = place_from(words.take());
    const char* name = place.contains("start") ? "range" : "position";
    params[name] = std::move(place);
  }
  std::string rest = words.rest();
  // `show` is last, after the JSON.
  if (size_t show = rest.rfind("show "); show != std::string::npos && (show == 0 || rest[show - 1] == ' ') && rest.find('"', show) == std::string::npos) {
    std::istringstream names(rest.substr(show + 5));
    for (std::string name; std::getline(names, name, ',');) { step.shown.push_back(name); }
    rest.resize(show == 0 ? 0 : show - 1);
  }
  if (!rest.empty()) {
    Json more = Json::parse(rest, nullptr, false);
    if (!more.is_object()) { return "no JSON: " + rest; }
    expand_places(more);
    if (params.is_null()) { params = Json::object(); }
    params.update(more);
  }
  step.message = {{"method", method}};
  if (!params.is_null()) { step.message["params"] = std::move(params); }
  return {};
}

auto read_step(std::string_view line, const std::vector<std::string>& below, const std::string& sources, Step& step) -> std::string {
  Words words(line);
  std::string word = words.take();
  if (word == "raw") {
    step.kind = Step::Kind::Raw;
    step.bytes = unescaped(words.rest());
  } else if (word == "start") {
    step.kind = Step::Kind::Start;
    step.message = {{"processId", nullptr}, {"capabilities", Json::object()}};
    Json params = words.rest().empty() ? Json::object() : Json::parse(words.rest(), nullptr, false);
    if (!params.is_object()) { return "no JSON: " + words.rest(); }
    step.message.update(params);
  } else if (word == "message") {
    step.message = Json::parse(words.rest(), nullptr, false);
    if (step.message.is_discarded()) { return "no JSON: " + words.rest(); }
    expand_places(step.message);
    step.is_request = step.message.contains("id") && step.message.contains("method");
  } else if (word == "open") {
    step.message = read_open(words, below, sources);
  } else if (word == "change") {
    step.message = read_change(words, below);
  } else if (word == "close") {
    step.message = notification_of("textDocument/didClose", {{"textDocument", {{"uri", uri_of(words.take())}}}});
  } else if (word == "wait") {
    std::string name = words.take();
    step.message = notification_of("loopsmith/waitForState", {{"uri", uri_of(name)}, {"version", Json::parse(words.take(), nullptr, false)}});
    step.is_request = step.is_wait = true;
  } else {
    return read_method(word, words, step);
  }
  return {};
}

// ---- writing received messages -------------------------------------------------------------------------------------

/// A diagnostic: place, severity, code and message on a line; below it the rest of the message, related places and other members.
auto diagnostic_text(Json diagnostic) -> std::string {
  static constexpr const char* severities[] = {"", "error", "warning", "info", "hint"};
  auto taken = [&](const char* name) {
    Json value = diagnostic.contains(name) ? diagnostic[name] : Json();
    diagnostic.erase(name);
    return value;
  };
  std::string place = place_text(taken("range"));
  Json severity = taken("severity"), code = taken("code"), message = taken("message"), tags = taken("tags"), related = taken("relatedInformation"), source = taken("source");
  std::string text = message.is_string() ? message.get<std::string>() : message.dump();
  size_t end = text.find('\n');
  std::string out = fmt::format("{} {} {}", place, severity.is_number_integer() && severity >= 1 && severity <= 4 ? severities[severity.get<int>()] : severity.dump(),
                                code.is_string() ? code.get<std::string>() : code.dump());
  for (const Json& tag : tags) { out += tag == 1 ? " (unnecessary)" : tag == 2 ? " (deprecated)" : " (" + tag.dump() + ")"; }
  out += ": " + text.substr(0, end);
  while (end != std::string::npos) {
    size_t begin = end + 1;
    end = text.find('\n', begin);
    out += "\n" + std::string(indent, ' ') + text.substr(begin, end == std::string::npos ? end : end - begin);
  }
  for (const Json& one : related) {
    out += fmt::format("\n{}@ {} {} {}", std::string(indent, ' '), name_of(string_in(member(one, "location"), "uri")), place_text(member(member(one, "location"), "range")), string_in(one, "message"));
  }
  if (source != "loopsmith") { diagnostic["source"] = source; }
  if (!diagnostic.empty()) { out += "\n" + std::string(indent, ' ') + one_line(diagnostic); }
  return out;
}

auto diagnostics_text(const Json& params) -> std::string {
  std::string out = fmt::format("<-- diagnostics {}{}{}", name_of(string_in(params, "uri")), params.contains("version") ? " " : "", params.contains("version") ? params["version"].dump() : "");
  if (params["diagnostics"].empty()) { return out + ": none\n"; }
  for (const Json& one : params["diagnostics"]) {
    std::istringstream lines(diagnostic_text(one));
    for (std::string line; std::getline(lines, line);) { out += "\n" + std::string(indent, ' ') + line; }
  }
  return out + "\n";
}

/// The part of an answer that `show NAME,...` keeps: members with these names, and the members around them.
auto shown_part(const Json& value, const std::vector<std::string>& names) -> Json {
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& one : value) { out.push_back(one.is_structured() ? shown_part(one, names) : one); }
    return out;
  }
  if (!value.is_object()) { return value; }
  Json out = Json::object();
  for (const auto& [name, below] : value.items()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      out[name] = below;
    } else if (below.is_structured()) {
      Json part = shown_part(below, names);
      if (!part.empty() && !std::all_of(part.begin(), part.end(), [](const Json& one) { return !one.is_structured() || one.empty(); })) { out[name] = std::move(part); }
    }
  }
  return out;
}

}  // namespace

auto read_transcript(std::string_view text, const std::string& sources) -> std::vector<Piece> {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) { lines.push_back(line); }
  auto is_below = [&](size_t at) { return lines[at].starts_with(std::string(indent, ' ')); };
  std::vector<Piece> pieces;
  for (size_t at = 0; at < lines.size();) {
    const std::string& line = lines[at];
    // Blank lines belong to the indented lines around them.
    size_t end = at + 1;
    if (line.starts_with("--> ") || line.starts_with("<--")) {
      for (size_t next = end; next < lines.size() && (lines[next].empty() || is_below(next)); ++next) {
        if (!lines[next].empty()) { end = next + 1; }
      }
    }
    if (!line.starts_with("<--")) {
      Piece piece;
      for (size_t i = at; i < end; ++i) { piece.text += lines[i] + "\n"; }
      if (line.starts_with("--> ")) {
        piece.step.emplace();
        piece.problem = read_step(std::string_view(line).substr(4), {lines.begin() + static_cast<std::ptrdiff_t>(at) + 1, lines.begin() + static_cast<std::ptrdiff_t>(end)}, sources, *piece.step);
      }
      pieces.push_back(std::move(piece));
    }
    at = end;
  }
  return pieces;
}

auto received_text(const Json& message, const Step* answered) -> std::string {
  std::string begin = "<--";
  if (answered != nullptr) {
    if (message.contains("error")) {
      const Json& error = message["error"];
      std::string out = fmt::format("{} error {}: {}", begin, error["code"].dump(), error["message"].get<std::string>());
      return out + (error.contains("data") ? notation(error["data"], out.size()) : std::string()) + "\n";
    }
    Json result = message.contains("result") ? message["result"] : Json();
    const Json& params = member(answered->message, "params");
    if (answered->is_wait && result == Json({{"state", "done"}, {"uri", params["uri"]}, {"version", params["version"]}})) { return begin + " done\n"; }
    return begin + notation(answered->shown.empty() ? result : shown_part(result, answered->shown), begin.size()) + "\n";
  }
  std::string method = string_in(message, "method");
  const Json& params = member(message, "params");
  if (method == "textDocument/publishDiagnostics") { return diagnostics_text(params); }
  if (method.empty()) { return begin + " message" + notation(message, begin.size() + 8) + "\n"; }
  begin += " " + method;
  if (message.contains("id")) { begin += " " + (message["id"].is_string() ? message["id"].get<std::string>() : message["id"].dump()); }
  return begin + notation(params, begin.size()) + "\n";
}

auto sent_text(const Json& message) -> std::string {
  std::string method = string_in(message, "method");
  const Json& params = member(message, "params");
  const Json& document = member(params, "textDocument");
  std::string name = name_of(string_in(document, "uri"));
  auto text_behind = [](const Json& text) {
    const auto& whole = text.get_ref<const std::string&>();
    if (!is_block(whole)) { return " " + text.dump() + "\n"; }
    std::string lines = block(whole, indent).substr(2);
    return (lines.starts_with('-') ? " |" + lines : lines) + "\n";
  };
  if (method == "textDocument/didOpen" && !name.empty() && document.size() == 4 && document["languageId"] == language_of(name)) {
    std::string version = document["version"] == 1 ? "" : " " + document["version"].dump();
    std::string text = document["text"].get<std::string>();
    if (text.starts_with("@file:")) { return fmt::format("--> open {}{} from {}\n", name, version, text.substr(6)); }
    return fmt::format("--> open {}{}{}", name, version, text_behind(document["text"]));
  }
  if (method == "textDocument/didChange" && !name.empty() && params["contentChanges"].size() == 1) {
    const Json& change = params["contentChanges"][0];
    std::string range = change.contains("range") ? " " + place_text(change["range"]) : "";
    if (change.size() == 1 + change.contains("range") && range != " ") { return fmt::format("--> change {} {}{}{}", name, document["version"].dump(), range, text_behind(change["text"])); }
  }
  if (method == "textDocument/didClose" && !name.empty()) { return fmt::format("--> close {}\n", name); }
  if (method == "loopsmith/waitForState" && !name_of(string_in(params, "uri")).empty()) { return fmt::format("--> wait {} {}\n", name_of(string_in(params, "uri")), params["version"].dump()); }
  const MethodRow* row = find_method(method);
  bool is_plain = row != nullptr && (row->kind == MethodKind::Request) == message.contains("id") && (params.is_object() || !message.contains("params")) && method != "shutdown" && method != "exit" &&
                  method != "initialize" && method != "initialized";
  if (!is_plain) { return fmt::format("--> message {}\n", with_short_places(message).dump()); }
  std::string out = "--> " + method;
  Json more = params.is_null() ? Json::object() : params;
  if (document.size() == 1 && !name.empty()) {
    out += " " + name;
    more.erase("textDocument");
  }
  for (const char* place : {"position", "range"}) {
    std::string text = more.contains(place) ? place_text(more[place]) : "";
    if (text.empty() || (text.find('-') != std::string::npos) != (place == std::string_view("range"))) { continue; }
    out += " " + text;
    more.erase(place);
    break;
  }
  // Missing parameters and empty parameters differ.
  if (!more.empty() || (params.is_object() && params.empty())) { out += " " + with_short_places(more).dump(); }
  return out + "\n";
}

}  // namespace loopsmith::lsp::golden
