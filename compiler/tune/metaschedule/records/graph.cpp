// Graphs of nodes in JSON: see graph.h.
#include "tune/metaschedule/records/graph.h"

#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/reasons.h"

namespace loopsmith::tune::metaschedule {
namespace {

using Json = nlohmann::json;

// Lists of more numbers than these take a line each.
constexpr size_t most_in_line = 10;

auto json_text(const std::string& text) -> std::string { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

auto attrs_text(std::vector<std::pair<std::string, std::string>> attrs) -> std::string {
  std::sort(attrs.begin(), attrs.end());
  if (attrs.size() == 1) { return fmt::format("{{{}: {}}}", json_text(attrs[0].first), json_text(attrs[0].second)); }
  std::string out = "{\n";
  for (size_t i = 0; i < attrs.size(); ++i) { out += fmt::format("        {}: {}{}\n", json_text(attrs[i].first), json_text(attrs[i].second), i + 1 < attrs.size() ? ", " : ""); }
  return out + "      }";
}

auto list_text(const std::vector<std::string>& items, bool has_lines) -> std::string {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) { out += (has_lines ? "\n        " : "") + items[i] + (i + 1 < items.size() ? ", " : ""); }
  return out + (has_lines ? "\n      ]" : "]");
}

auto node_text(const GraphNode& node) -> std::string {
  std::string out = fmt::format("    {{\n      \"type_key\": {}", json_text(node.type));
  if (!node.attrs.empty()) { out += ", \n      \"attrs\": " + attrs_text(node.attrs); }
  if (node.text && !node.text->empty()) { out += ", \n      \"repr_str\": " + json_text(*node.text); }
  if (!node.keys.empty()) {
    std::vector<std::string> keys;
    for (const std::string& key : node.keys) { keys.push_back(json_text(key)); }
    out += ", \n      \"keys\": " + list_text(keys, true);
  }
  if (!node.data.empty()) {
    std::vector<std::string> numbers;
    for (size_t n : node.data) { numbers.push_back(std::to_string(n)); }
    out += ", \n      \"data\": " + list_text(numbers, numbers.size() > most_in_line);
  }
  return out + "\n    }";
}


auto read_node(const Json& json, size_t count, GraphNode& out) -> bool {
  if (!json.is_object()) { return false; }
  auto type = json.find("type_key");
  if (type == json.end() || !type->is_string()) { return false; }
  out.type = type->get<std::string>();
  if (auto attrs = json.find("attrs"); attrs != json.end()) {
    if (!attrs->is_object()) { return false; }
    for (const auto& [key, value] : attrs->items()) {
      if (!value.is_string()) { return false; }
      out.attrs.emplace_back(key, value.get<std::string>());
    }
  }
  if (auto text = json.find("repr_str"); text != json.end()) {
    if (!text->is_string()) { return false; }
    out.text = text->get<std::string>();
  }
  for (const Json& key : json.value("keys", Json::array())) {
    if (!key.is_string()) { return false; }
    out.keys.push_back(key.get<std::string>());
  }
  for (const Json& number : json.value("data", Json::array())) {
    if (!number.is_number_unsigned() || number.get<size_t>() >= count) { return false; }
    out.data.push_back(number.get<size_t>());
  }
  return out.keys.empty() || out.keys.size() == out.data.size();
}

}  // namespace

auto graph_text(const Graph& graph) -> std::string {
  std::string out = fmt::format("{{\n  \"root\": {}, \n  \"nodes\": [\n", graph.root);
  for (size_t i = 0; i < graph.nodes.size(); ++i) { out += node_text(graph.nodes[i]) + (i + 1 < graph.nodes.size() ? ", \n" : "\n"); }
  return out + "  ], \n  \"b64ndarrays\": [], \n  \"attrs\": {\"tvm_version\": \"0.19.0\"}\n}";
}

auto parse_graph(std::string_view text, const std::string& place) -> Result<Graph> {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) { return unreadable(place, because(Why::ProgramNotJson)); }
  auto nodes = json.find("nodes");
  auto root = json.find("root");
  if (nodes == json.end() || !nodes->is_array() || root == json.end() || !root->is_number_unsigned() || root->get<size_t>() >= nodes->size()) {
    return unreadable(place, because(Why::ProgramNotAGraph));
  }
  Graph out{std::vector<GraphNode>(nodes->size()), root->get<size_t>()};
  for (size_t i = 0; i < nodes->size(); ++i) {
    if (!read_node((*nodes)[i], nodes->size(), out.nodes[i])) { return unreadable(place, because(Why::NodeMalformed).arg("node", i)); }
  }
  return out;
}

}  // namespace loopsmith::tune::metaschedule
