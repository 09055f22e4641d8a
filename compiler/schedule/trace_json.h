// Traces in TVM's JSON: `[[instructions], [[index, decision] ...]]`, where an instruction is
// `["Kind", [inputs], [attributes], [outputs]]`. Reads traces of every TVM from 0.9 on (missing attributes get
// their defaults, GetSBlock is GetBlock); writes 0.19's form, or with `Dialect::SBlock` the form since 0.23.
#pragma once

#include <string>
#include <string_view>

#include "schedule/trace.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

[[nodiscard]] auto trace_from_json(std::string_view text) -> Result<Trace>;
[[nodiscard]] auto trace_to_json(const Trace& trace, Dialect dialect = Dialect::Block) -> std::string;

/// Index maps in TVM's serialisation: a graph of nodes in JSON, in a string.
[[nodiscard]] auto index_map_from_json(std::string_view text) -> Result<IndexMap>;
[[nodiscard]] auto index_map_to_json(const IndexMap& map) -> std::string;
/// Expressions among the inputs (for example a factor with `T.vscale()`), in the same form.
[[nodiscard]] auto expr_from_json(std::string_view text) -> Result<Expr>;
[[nodiscard]] auto expr_to_json(const Expr& expr) -> std::string;

}  // namespace loopsmith::schedule
