// Prints the values of messages in a readable form: see notation.h.
#include "tests/golden/lsp/notation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>

namespace loopsmith::lsp::golden {
namespace {

constexpr size_t width = 150;

auto is_position(const Json& value) -> bool {
  return value.is_object() && value.size() == 2 && value.contains("line") && value.contains("character") && value["line"].is_number_integer() && value["character"].is_number_integer();
}

auto is_name(std::string_view text) -> bool {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '$'; });
}

auto member_name(const std::string& name) -> std::string { return is_name(name) ? name : Json(name).dump(); }

auto has_block(const Json& value) -> bool {
  if (value.is_string()) { return is_block(value.get_ref<const std::string&>()); }
  return value.is_structured() && std::any_of(value.begin(), value.end(), [](const Json& below) { return has_block(below); });
}

auto spaces(size_t depth) -> std::string { return std::string(depth, ' '); }

/// Lines of numbers, with as many as fit.
auto wrapped(const Json& numbers, size_t depth) -> std::string {
  std::string out, line;
  for (const Json& number : numbers) {
    std::string next = number.dump();
    if (!line.empty() && depth + line.size() + next.size() + 1 > width) {
      out += "\n" + spaces(depth) + line;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + next;
  }
  return out + "\n" + spaces(depth) + line;
}

auto members(const Json& object, size_t depth, bool first_is_placed) -> std::string;

/// The value after a name or a dash at `depth`: on the same line, or on lines below.
auto value_behind(const Json& value, size_t depth, size_t width_before) -> std::string {
  if (value.is_string() && is_block(value.get_ref<const std::string&>())) { return block(value.get_ref<const std::string&>(), depth + indent); }
  std::string line = one_line(value);
  bool fits = width_before + 1 + line.size() <= width;
  if (!value.is_structured() || (fits && !has_block(value))) { return " " + line; }
  if (value.is_object()) { return members(value, depth + indent, false); }
  if (std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_number(); })) { return wrapped(value, depth + indent); }
  std::string out;
  for (const Json& one : value) {
    out += "\n" + spaces(depth + indent) + "-";
    std::string flat = one_line(one);
    bool stands = one.is_object() && (has_block(one) || depth + indent + 2 + flat.size() > width);
    out += stands ? " " + members(one, depth + indent + 2, true) : value_behind(one, depth + indent, depth + indent + 1);
  }
  return out;
}

auto members(const Json& object, size_t depth, bool first_is_placed) -> std::string {
  std::string out;
  for (const auto& [name, value] : object.items()) {
    std::string begin = member_name(name) + ":";
    if (!std::exchange(first_is_placed, false)) { out += "\n" + spaces(depth); }
    out += begin + value_behind(value, depth, depth + begin.size());
  }
  return out;
}

}  // namespace

auto place_text(const Json& value) -> std::string {
  if (is_position(value)) { return fmt::format("{}:{}", value["line"].dump(), value["character"].dump()); }
  if (value.is_object() && value.size() == 2 && value.contains("start") && value.contains("end") && is_position(value["start"]) && is_position(value["end"])) {
    return place_text(value["start"]) + "-" + place_text(value["end"]);
  }
  return {};
}

auto one_line(const Json& value) -> std::string {
  if (std::string place = place_text(value); !place.empty()) { return place; }
  std::string out;
  if (value.is_object()) {
    for (const auto& [name, below] : value.items()) { out += (out.empty() ? "" : ", ") + member_name(name) + ": " + one_line(below); }
    return "{" + out + "}";
  }
  if (value.is_array()) {
    for (const Json& below : value) { out += (out.empty() ? "" : ", ") + one_line(below); }
    return "[" + out + "]";
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

auto notation(const Json& value, size_t width_before) -> std::string { return value_behind(value, 0, width_before); }

auto is_block(std::string_view text) -> bool {
  // Blank lines at the end would be read as the space between messages, and control characters are invisible.
  return text.find('\n') + 1 < text.size() && text.find('\n') != std::string_view::npos && !text.ends_with("\n\n") && text.find_first_of("\r\t") == std::string_view::npos &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' && c != '\n'; });
}

auto block(std::string_view text, size_t depth) -> std::string {
  std::string out = text.ends_with('\n') ? " |" : " |-";
  if (text.ends_with('\n')) { text.remove_suffix(1); }
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    out += "\n" + (line.empty() ? std::string() : spaces(depth) + std::string(line));
    at = end + 1;
  }
  return out;
}

void expand_places(Json& value) {
  static const std::regex place(R"((\d+):(\d+)(?:-(\d+):(\d+))?)");
  if (value.is_structured()) {
    for (Json& below : value) { expand_places(below); }
    return;
  }
  std::smatch parts;
  if (!value.is_string()) { return; }
  const std::string text = value.get<std::string>();
  if (!std::regex_match(text, parts, place)) { return; }
  auto position = [&](size_t first) { return Json{{"line", std::stoll(parts[first])}, {"character", std::stoll(parts[first + 1])}}; };
  value = parts[3].matched ? Json{{"start", position(1)}, {"end", position(3)}} : position(1);
}

auto with_short_places(const Json& value) -> Json {
  if (std::string place = place_text(value); !place.empty()) { return place; }
  if (!value.is_structured()) { return value; }
  Json out = value;
  for (Json& below : out) { below = with_short_places(below); }
  return out;
}

}  // namespace loopsmith::lsp::golden
