// Attributes as JSON: see state.h. Numbers, texts, lists and None are those of JSON; other values are objects with one member that names their kind.
#include "script/tuner/state.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

#include "script/tuner/numbers.h"

namespace loopsmith::script {
namespace {

using eval::Value;
using nlohmann::json;

// Deeper values are left out, and refused where they are read.
constexpr int most_depth = 64;
// The limit for one file.
constexpr size_t most_bytes = 256U << 20U;

auto encoded(const Value& value, int depth) -> std::optional<json>;

auto encoded_items(const std::vector<Value>& items, int depth) -> std::optional<json> {
  json out = json::array();
  for (const Value& item : items) {
    auto one = encoded(item, depth + 1);
    if (!one) { return std::nullopt; }
    out.push_back(*std::move(one));
  }
  return out;
}

/// JSON has no infinite numbers.
auto encoded_real(double x) -> json { return std::isfinite(x) ? json(x) : json{{"real", std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf"}}; }

auto encoded(const Value& value, int depth) -> std::optional<json> {
  if (depth > most_depth || value.is_unknown()) { return std::nullopt; }
  if (value.is_none()) { return json(); }
  if (value.is_bool()) { return json(value.bool_value()); }
  if (value.is_int()) { return json(value.int_value()); }
  if (const std::string* text = value.string()) { return json(*text); }
  if (const auto* array = value.as<NumberArray>()) {
    json numbers = json::array();
    for (double x : array->numbers) { numbers.push_back(encoded_real(x)); }
    return json{{"array", std::move(numbers)}, {"columns", array->columns}};
  }
  if (const auto* list = value.as<eval::List>()) { return encoded_items(list->items, depth); }
  if (const auto* tuple = value.as<eval::Tuple>()) {
    auto items = encoded_items(tuple->items, depth);
    return items ? std::optional(json{{"tuple", *std::move(items)}}) : std::nullopt;
  }
  if (const auto* dict = value.as<eval::Dict>()) {
    json out = json::array();
    for (const auto& [key, held] : dict->entries()) {
      auto left = encoded(key, depth + 1), right = encoded(held, depth + 1);
      if (!left || !right) { return std::nullopt; }
      out.push_back(json::array({*std::move(left), *std::move(right)}));
    }
    return json{{"dict", std::move(out)}};
  }
  if (value.is_object()) { return std::nullopt; }
  const auto real = value.to_float();
  return real ? std::optional(encoded_real(*real)) : std::nullopt;
}

auto decoded(const json& text, int depth) -> std::optional<Value>;

auto decoded_items(const json& list, int depth) -> std::optional<std::vector<Value>> {
  if (!list.is_array()) { return std::nullopt; }
  std::vector<Value> out;
  for (const json& item : list) {
    auto one = decoded(item, depth + 1);
    if (!one) { return std::nullopt; }
    out.push_back(*std::move(one));
  }
  return out;
}

auto decoded_array(const json& object) -> std::optional<Value> {
  auto numbers = decoded_items(object.at("array"), 0);
  const json columns = object.value("columns", json());
  if (!numbers || !columns.is_number_unsigned()) { return std::nullopt; }
  std::vector<double> out;
  for (const Value& number : *numbers) {
    const auto x = number.is_object() ? std::nullopt : number.to_float();
    if (!x) { return std::nullopt; }
    out.push_back(*x);
  }
  const auto width = columns.get<size_t>();
  if (width > 0 && (out.empty() || out.size() % width != 0)) { return std::nullopt; }
  return number_array(std::move(out), width);
}

auto decoded_dict(const json& pairs, int depth) -> std::optional<Value> {
  if (!pairs.is_array()) { return std::nullopt; }
  auto out = eval::make_object<eval::Dict>();
  for (const json& pair : pairs) {
    if (!pair.is_array() || pair.size() != 2) { return std::nullopt; }
    auto key = decoded(pair[0], depth + 1), held = decoded(pair[1], depth + 1);
    // A key is a number or a text.
    if (!key || !held || (key->is_object() && !key->string())) { return std::nullopt; }
    out->set(*key, *held);
  }
  return Value(Ref<eval::Object>(out.get()));
}

auto decoded(const json& text, int depth) -> std::optional<Value> {
  if (depth > most_depth) { return std::nullopt; }
  if (text.is_null()) { return Value(); }
  if (text.is_boolean()) { return Value(text.get<bool>()); }
  if (text.is_number_unsigned() && text.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) { return Value(text.get<double>()); }
  if (text.is_number_integer()) { return Value(text.get<int64_t>()); }
  if (text.is_number()) { return Value(text.get<double>()); }
  if (text.is_string()) { return Value::str(text.get<std::string>()); }
  if (text.is_array()) {
    auto items = decoded_items(text, depth);
    return items ? std::optional(Value::list(*std::move(items))) : std::nullopt;
  }
  if (text.contains("array")) { return decoded_array(text); }
  if (text.contains("dict")) { return decoded_dict(text["dict"], depth); }
  if (text.contains("tuple")) {
    auto items = decoded_items(text["tuple"], depth);
    return items ? std::optional(Value::tuple(*std::move(items))) : std::nullopt;
  }
  const std::string real = text.contains("real") && text["real"].is_string() ? text["real"].get<std::string>() : std::string();
  if (real == "nan") { return Value(std::nan("")); }
  if (real == "inf" || real == "-inf") { return Value(real == "inf" ? INFINITY : -INFINITY); }
  return std::nullopt;
}

/// Ends the reading of texts with more nesting than values may have, before it takes the stack.
auto parsed(const std::string& text) -> json {
  return json::parse(text, [](int depth, json::parse_event_t, json&) { return depth <= 2 * most_depth; }, false);
}

}  // namespace

auto state_text(const Piece& piece) -> std::string {
  json attributes = json::object();
  for (const auto& [name, value] : piece.attributes) {
    if (auto one = encoded(value, 0)) { attributes[name.str()] = *std::move(one); }
  }
  return json{{"class", piece.name.str()}, {"attributes", std::move(attributes)}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

auto restore_state(const Piece& piece, const std::string& text) -> std::string {
  if (text.size() > most_bytes) { return "it has more than 256 MiB"; }
  const json state = parsed(text);
  if (!state.is_object() || !state.contains("attributes") || !state["attributes"].is_object()) { return "it has no attributes of a cost model"; }
  if (state.contains("class") && state["class"].is_string() && state["class"].get<std::string>() != piece.name.view()) {
    return "it has the attributes of the class `" + state["class"].get<std::string>() + "`, not of `" + piece.name.str() + "`";
  }
  std::vector<std::pair<Name, Value>> values;
  for (const auto& [name, value] : state["attributes"].items()) {
    auto one = decoded(value, 0);
    if (!one) { return "its attribute `" + name + "` cannot be read"; }
    values.emplace_back(Name(name), *std::move(one));
  }
  for (auto& [name, value] : values) {
    const auto known = std::find_if(piece.attributes.begin(), piece.attributes.end(), [&](const auto& a) { return a.first == name; });
    if (known != piece.attributes.end()) { known->second = std::move(value); } else { piece.attributes.emplace_back(name, std::move(value)); }
  }
  return {};
}

}  // namespace loopsmith::script
