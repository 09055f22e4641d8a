// Writes SARIF, JUnit XML and histories: see reports.h.
#include "driver/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "support/codes.h"

namespace loopsmith::driver {
namespace {

using Json = nlohmann::json;

/// A relative reference (RFC 3986): characters that are neither unreserved nor a slash are percent-encoded.
auto uri(const std::string& path) -> std::string {
  std::string out;
  for (unsigned char c : path) {
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::strchr("-._~/", c) != nullptr;
    if (is_plain) { out += static_cast<char>(c); } else { out += fmt::format("%{:02X}", c); }
  }
  return path.starts_with("/") ? "file://" + out : out;
}

auto location(const Json& place) -> Json {
  Json physical = {{"artifactLocation", {{"uri", uri(place.value("file", ""))}}}};
  if (place.contains("line")) {
    physical["region"] = {{"startLine", place["line"]}, {"startColumn", place["column"]}, {"endLine", place["end_line"]}, {"endColumn", place["end_column"]}};
  }
  return {{"physicalLocation", std::move(physical)}};
}

auto escaped(const std::string& text) -> std::string {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      case '\t': out += "&#9;"; break;
      // Control characters that XML does not allow.
      default: out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

}  // namespace

auto sarif(const std::vector<Json>& diagnostics, const std::string& version) -> Json {
  std::map<std::string, size_t> rules;
  Json rule_list = Json::array();
  Json results = Json::array();
  for (const Json& d : diagnostics) {
    std::string code = d.value("code", "");
    auto [rule, is_new] = rules.try_emplace(code, rules.size());
    if (is_new) { rule_list.push_back({{"id", code}, {"help", {{"text", "loopsmith explain " + code}}}}); }
    std::string severity = d.value("severity", "");
    std::string text = d.value("message", "");
    for (const Json& remedy : d.value("help", Json::array())) { text += "\nhelp: " + remedy.get<std::string>(); }
    Json result = {{"ruleId", code},
                   {"ruleIndex", rule->second},
                   {"level", severity == "error" ? "error" : severity == "warning" ? "warning" : "note"},
                   {"message", {{"text", text}}},
                   {"locations", Json::array({location(d)})}};
    for (const Json& note : d.value("notes", Json::array())) {
      Json related = location(note);
      related["message"] = {{"text", note.value("message", "")}};
      result["relatedLocations"].push_back(std::move(related));
    }
    results.push_back(std::move(result));
  }
  Json tool = {{"driver", {{"name", "loopsmith"}, {"version", version}, {"rules", std::move(rule_list)}}}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({{{"tool", std::move(tool)}, {"columnKind", "unicodeCodePoints"}, {"results", std::move(results)}}})}};
}

auto junit(const std::string& suite, const std::vector<CheckedCase>& cases) -> std::string {
  double seconds = 0;
  size_t failures = 0;
  std::string body;
  for (const CheckedCase& c : cases) {
    seconds += c.seconds;
    failures += c.failure.empty() ? 0 : 1;
    body += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.9f}\"", escaped(c.group), escaped(c.name), c.seconds);
    body += c.failure.empty() ? "/>\n" : fmt::format(">\n      <failure message=\"{}\"/>\n    </testcase>\n", escaped(c.failure));
  }
  std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" time=\"{:.9f}\"", cases.size(), failures, seconds);
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n  <testsuite name=\"{}\" {}>\n{}  </testsuite>\n</testsuites>\n", counts,
                     escaped(suite), counts, body);
}

auto append_history(const std::string& path, const std::vector<Json>& rows) -> Status {
  std::string text;
  for (const Json& row : rows) { text += row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }
  // One write, so that two processes that measure at once do not mix their lines.
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) { return error(Code::CannotWrite).arg("file", path).arg("reason", std::strerror(errno)); }
  return ok();
}

auto earlier_seconds(const std::string& path, const Json& row) -> Result<std::optional<double>> {
  std::ifstream in(path, std::ios::binary);
  if (!in) { return error(Code::CannotRead).arg("file", path).arg("reason", std::strerror(errno)); }
  std::vector<double> all;
  for (std::string line; std::getline(in, line);) {
    Json earlier = Json::parse(line, nullptr, false);
    if (!earlier.is_object() || !earlier.contains("seconds") || !earlier["seconds"].is_number()) { continue; }
    bool same = true;
    for (const char* key : {"program", "name", "target", "threads", "cache", "arguments"}) {
      same = same && earlier.contains(key) == row.contains(key) && (!row.contains(key) || earlier[key] == row[key]);
    }
    if (same) { all.push_back(earlier["seconds"]); }
  }
  if (all.empty()) { return std::optional<double>(); }
  std::vector<double> last(all.end() - static_cast<std::ptrdiff_t>(std::min<size_t>(all.size(), 5)), all.end());
  std::sort(last.begin(), last.end());
  return std::optional<double>(last[last.size() / 2]);
}

}  // namespace loopsmith::driver
