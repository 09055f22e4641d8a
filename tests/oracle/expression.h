// Parses expressions of the oracle files, `i * T.int64(8) + j % 4 < T.min(x, y)`, into TIR, and evaluates integer
// expressions. For the checks of arithmetic only; the frontend parses programs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/ir.h"

namespace loopsmith::oracle {

using Scope = std::map<std::string, Var, std::less<>>;

/// Null for other texts and for unknown variables.
[[nodiscard]] auto read_expression(std::string_view text, const Scope& scope) -> Expr;

using Values = std::unordered_map<const VarNode*, int64_t>;
/// The value of an integer expression; none for divisions by zero and unknown variables.
[[nodiscard]] auto evaluate(const Expr& expr, const Values& values) -> std::optional<int64_t>;
/// The number of nodes.
[[nodiscard]] auto size_of(const Expr& expr) -> size_t;
[[nodiscard]] auto text_of(const Expr& expr) -> std::string;

}  // namespace loopsmith::oracle
