// Objects of TVM as its JSON holds them: a list of nodes that name one another by their number. Attributes are texts; node 0 means None.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/diagnostic.h"

namespace loopsmith::tune::metaschedule {

struct GraphNode {
  std::string type;                                            // "tir.For"
  std::vector<std::pair<std::string, std::string>> attrs = {}; // values, or numbers of nodes
  std::optional<std::string> text = {};                        // of strings and operators
  std::vector<std::string> keys = {};                          // of dictionaries with names
  std::vector<size_t> data = {};                               // the items of a list, the values of a dictionary, keys and values of another one
};

struct Graph {
  std::vector<GraphNode> nodes;
  size_t root = 0;
};

/// Byte for byte the text that TVM 0.19 writes.
[[nodiscard]] auto graph_text(const Graph& graph) -> std::string;
/// Checks the form: every number names a node. `place` names the text in errors.
[[nodiscard]] auto parse_graph(std::string_view text, const std::string& place) -> Result<Graph>;

}  // namespace loopsmith::tune::metaschedule
