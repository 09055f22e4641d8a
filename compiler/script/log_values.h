// Values in the logs of TVM's older tuners: the arguments of tasks as JSON.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "eval/value.h"
#include "support/codes.h"
#include "support/diagnostic.h"
#include "support/reasons.h"

namespace loopsmith::script {

/// Numbers, strings, truth values and None; a list becomes a tuple.
[[nodiscard]] auto value_of_json(const nlohmann::json& one, int depth = 0) -> eval::Value;
[[nodiscard]] auto json_of_value(const eval::Value& value) -> nlohmann::json;
/// JSON in the form of Python's `json.dumps`: a space behind each comma and colon. TVM compares the names of workloads as texts of this form.
[[nodiscard]] auto text_as_in_python(const nlohmann::ordered_json& value) -> std::string;
/// Equal as JSON, where lists and tuples are alike.
[[nodiscard]] auto are_equal_in_json(const std::vector<eval::Value>& a, const std::vector<eval::Value>& b) -> bool;
/// "(512, 512, 512, 'float32')"
[[nodiscard]] auto arguments_text(const std::vector<eval::Value>& arguments) -> std::string;
/// The mean of positive, finite times; 0: there are none.
[[nodiscard]] auto mean_of(const std::vector<double>& seconds) -> double;
/// The first line of a text as JSON; discarded: it is no JSON object.
[[nodiscard]] auto first_object(std::string_view text) -> nlohmann::json;

/// The records of a log, one for each line that is not empty and no comment; TVM skips these. `read_line` gives a record with `number` and `line`, or none and the
/// reason. An error names the line.
template <class Record>
[[nodiscard]] auto read_log(const std::string& path, const std::string& text, std::optional<Record> (*read_line)(const nlohmann::json&, Reason& why)) -> Result<std::vector<Record>> {
  std::vector<Record> out;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.starts_with('#')) { continue; }
    const nlohmann::json parsed = nlohmann::json::parse(line, nullptr, false);
    Reason why = because(Why::NotJson);
    std::optional<Record> record = parsed.is_discarded() ? std::nullopt : read_line(parsed, why);
    if (!record) { return error(Code::CannotRead).arg("file", fmt::format("{}:{}", path, number)).arg("reason", why.text()); }
    record->number = number;
    record->line = line;
    out.push_back(*std::move(record));
  }
  return out;
}

}  // namespace loopsmith::script
