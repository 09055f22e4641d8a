// Values in logs: see log_values.h.
#include "script/log_values.h"

#include <numeric>

namespace loopsmith::script {

using nlohmann::json;

auto value_of_json(const json& one, int depth) -> eval::Value {
  if (one.is_null() || depth > 16) { return {}; }
  if (one.is_boolean()) { return one.get<bool>(); }
  if (one.is_number_integer()) { return one.get<int64_t>(); }
  if (one.is_number()) { return one.get<double>(); }
  if (one.is_string()) { return eval::Value::str(one.get<std::string>()); }
  std::vector<eval::Value> items;
  for (const json& item : one) { items.push_back(value_of_json(item, depth + 1)); }
  return eval::Value::tuple(std::move(items));
}

auto json_of_value(const eval::Value& value) -> json {
  if (value.is_bool()) { return value.bool_value(); }
  if (value.is_int()) { return value.int_value(); }
  if (value.is_float()) { return value.float_value(); }
  if (const std::string* text = value.string()) { return *text; }
  if (const auto* items = value.items()) {
    json out = json::array();
    for (const eval::Value& item : *items) { out.push_back(json_of_value(item)); }
    return out;
  }
  return nullptr;
}

auto text_as_in_python(const nlohmann::ordered_json& value) -> std::string {
  if (!value.is_structured()) { return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace); }
  std::string out;
  for (const auto& [key, item] : value.items()) {
    out += out.empty() ? "" : ", ";
    if (value.is_object()) { out += nlohmann::ordered_json(key).dump() + ": "; }
    out += text_as_in_python(item);
  }
  return value.is_object() ? "{" + out + "}" : "[" + out + "]";
}

auto are_equal_in_json(const std::vector<eval::Value>& a, const std::vector<eval::Value>& b) -> bool {
  return json_of_value(eval::Value::tuple(a)) == json_of_value(eval::Value::tuple(b));
}

auto arguments_text(const std::vector<eval::Value>& arguments) -> std::string {
  std::string out;
  for (const eval::Value& argument : arguments) { out += (out.empty() ? "" : ", ") + argument.repr(); }
  return "(" + out + ")";
}

auto mean_of(const std::vector<double>& seconds) -> double {
  return seconds.empty() ? 0 : std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
}

auto first_object(std::string_view text) -> json {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '{') { return json(json::value_t::discarded); }
  return json::parse(text.substr(begin, text.find('\n', begin) - begin), nullptr, false);
}

}  // namespace loopsmith::script
