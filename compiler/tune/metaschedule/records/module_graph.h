// Programs as graphs of TVM's objects, and back.
#pragma once

#include "ir/ir.h"
#include "tune/metaschedule/records/graph.h"

namespace loopsmith::tune::metaschedule {

/// The nodes in the order in which TVM 0.19 numbers them.
[[nodiscard]] auto graph_of_module(const IRModule& module) -> Graph;

/// An error names the node that is not understood. `place` names the text.
[[nodiscard]] auto module_of_graph(const Graph& graph, const std::string& place) -> Result<IRModule>;

}  // namespace loopsmith::tune::metaschedule
