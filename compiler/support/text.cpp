// Names and quantities in text: see text.h.
#include "support/text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

namespace loopsmith {
namespace {

/// A number of at least 1 to four significant digits, without an exponent: "1.098", "12.35", "412.0", "3605".
auto four_digits(double number) -> std::string {
  if (number < 9.9995) { return fmt::format("{:.3f}", number); }
  if (number < 99.995) { return fmt::format("{:.2f}", number); }
  if (number < 999.95) { return fmt::format("{:.1f}", number); }
  return fmt::format("{:.0f}", number);
}

}  // namespace

auto character_count(std::string_view text) -> size_t {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_inside_character(c); }));
}

auto first_bytes(std::string_view text, size_t limit) -> std::string_view {
  if (text.size() <= limit) { return text; }
  while (limit > 0 && is_inside_character(text[limit])) { --limit; }
  return text.substr(0, limit);
}

auto is_name(std::string_view text) -> bool {
  return !text.empty() && is_name_start(text.front()) && std::all_of(text.begin(), text.end(), is_name_part);
}

auto is_python_keyword(std::string_view word) -> bool {
  static constexpr std::string_view keywords[] = {
      "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
      "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
      "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield"};
  return word.size() >= 2 && word.size() <= 8 && std::binary_search(std::begin(keywords), std::end(keywords), word);
}

auto to_name(std::string_view text) -> std::string {
  std::string name(text);
  std::replace_if(name.begin(), name.end(), [](char c) { return !is_name_part(c); }, '_');
  return name.empty() || is_digit(name.front()) ? "v" + name : name;
}

auto name_begin(std::string_view text, size_t at) -> size_t {
  while (at > 0 && is_name_part(text[at - 1])) { --at; }
  return at;
}

auto name_end(std::string_view text, size_t at) -> size_t {
  while (at < text.size() && is_name_part(text[at])) { ++at; }
  return at;
}

auto name_around(std::string_view text, size_t at) -> std::string_view {
  size_t begin = name_begin(text, at);
  return text.substr(begin, name_end(text, at) - begin);
}

auto dotted_name_begin(std::string_view text, size_t at) -> size_t {
  while (at > 0 && (is_name_part(text[at - 1]) || text[at - 1] == '.')) { --at; }
  return at;
}

auto find_name(std::string_view text, std::string_view name, size_t from) -> size_t {
  if (name.empty()) { return std::string_view::npos; }
  for (size_t at = text.find(name, from); at != std::string_view::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !is_name_part(text[at - 1])) && (end == text.size() || !is_name_part(text[end]))) { return at; }
  }
  return std::string_view::npos;
}

auto contains_name(std::string_view text, std::string_view name) -> bool { return find_name(text, name) != std::string_view::npos; }

auto duration_text(double seconds) -> std::string {
  if (seconds < 0) { return "-" + duration_text(-seconds); }
  if (seconds == 0) { return "0 s"; }
  // Times below a nanosecond are means over many calls: they keep their decimals.
  struct Unit { const char* name; double per_second; };
  for (const Unit& unit : {Unit{"ns", 1e9}, Unit{"us", 1e6}, Unit{"ms", 1e3}}) {
    if (double number = seconds * unit.per_second; number < 999.95) { return fmt::format("{} {}", four_digits(number), unit.name); }
  }
  return four_digits(seconds) + " s";
}

auto waiting_text(double seconds) -> std::string {
  auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 60) { return fmt::format("{} s", whole); }
  if (whole < 3600) { return fmt::format("{}:{:02} min", whole / 60, whole % 60); }
  return fmt::format("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60);
}

auto limit_text(double seconds) -> std::string {
  return seconds == std::floor(seconds) ? fmt::format("{:.0f} s", seconds) : fmt::format("{:g} s", seconds);
}

auto parse_seconds(std::string_view text) -> std::optional<double> {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || !(value > 0) || value > 1e7) { return {}; }
  const std::string_view unit(end);
  if (unit.empty() || unit == "s" || unit == "sec") { return value; }
  if (unit == "ms") { return value / 1000; }
  if (unit == "m" || unit == "min") { return value * 60; }
  if (unit == "h") { return value * 3600; }
  return {};
}

auto bytes_text(double bytes) -> std::string {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  bool is_whole = bytes == std::floor(bytes) || bytes >= 99.95;
  return fmt::format("{:.{}f} {}", bytes, is_whole ? 0 : 1, units[unit]);
}

auto flops_text(double flops) -> std::string {
  static constexpr const char* units[] = {"flop", "Kflop", "Mflop", "Gflop", "Tflop", "Pflop"};
  size_t unit = 0;
  while (flops >= (unit == 0 ? 10000 : 1000) && unit + 1 < std::size(units)) {
    flops /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} {}", grouped(static_cast<int64_t>(flops)), units[unit]) : fmt::format("{:.4g} {}", flops, units[unit]);
}

auto grouped(int64_t number) -> std::string {
  std::string digits = std::to_string(number);
  size_t first = number < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

auto plural(int64_t count, std::string_view one, std::string_view many) -> std::string {
  if (count == 1) { return std::string(one); }
  return many.empty() ? std::string(one) + "s" : std::string(many);
}

auto count_text(int64_t count, std::string_view one, std::string_view many) -> std::string { return grouped(count) + " " + plural(count, one, many); }

}  // namespace loopsmith
