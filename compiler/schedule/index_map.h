// Index maps applied to indices and shapes, and their inverses. Follows TVM 0.19's IndexMap: names of variables and forms of
// expressions are the same, since they appear in printed programs.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "arith/analyzer.h"
#include "ir/ir.h"
#include "schedule/primitive.h"
#include "support/diagnostic.h"
#include "support/reason.h"

namespace loopsmith::schedule {

/// Substitutes variables. If an expression has another integer type than its variable, constants and operands around it are converted to that type.
[[nodiscard]] auto substitute_retyped(const Expr& expr, const std::vector<std::pair<Var, Expr>>& map) -> Expr;

/// A map in a trace may use integers that were sampled earlier in the trace, as free variables named `v27` (the form that TVM's JSON keeps). Replaces
/// these variables in the map's expressions. If `with` returns none, the variable stays.
[[nodiscard]] auto with_sampled(const IndexMap& map, const std::function<std::optional<Expr>(uint32_t number, const VarNode& var)>& with) -> IndexMap;

/// The same for an expression, and for every index map and expression in a value.
[[nodiscard]] auto with_sampled(const Expr& expr, const std::function<std::optional<Expr>(uint32_t number, const VarNode& var)>& with) -> Expr;
[[nodiscard]] auto with_sampled(const Value& value, const std::function<std::optional<Expr>(uint32_t number, const VarNode& var)>& with) -> Value;
/// True if a value holds an index map or an expression (other than a constant).
[[nodiscard]] auto holds_expressions(const Value& value) -> bool;

/// Replaces the free variables of a map and of its inverse. If `with` returns none, the variable stays.
[[nodiscard]] auto with_free_variables(const IndexMap& map, const std::function<std::optional<Expr>(const VarNode& var)>& with) -> IndexMap;

/// The same for every index map and expression in a value.
[[nodiscard]] auto with_free_variables(const Value& value, const std::function<std::optional<Expr>(const VarNode& var)>& with) -> Value;

/// The map over variables with the types of these expressions (a buffer's shape). There must be one expression for each variable of the map.
[[nodiscard]] auto retyped(const IndexMap& map, const Array<Expr>& like) -> IndexMap;

/// The results at the given indices, simplified.
[[nodiscard]] auto map_indices(const IndexMap& map, const std::vector<Expr>& indices, arith::Analyzer& analyzer) -> std::vector<Expr>;

/// The extents of the results while indices run over [0, extent); none if a result does not start at 0.
[[nodiscard]] auto map_shape(const IndexMap& map, const std::vector<Expr>& shape, arith::Analyzer& analyzer) -> std::optional<std::vector<Expr>>;

/// (axis0, axis1, ...) -> the indices; and a condition that holds for results to which no index is mapped.
struct InverseMap { IndexMap map; Expr padding; };
/// The inverse of a map over [0, extent), whose results may have gaps; or the reason why there is no inverse.
struct InverseResult { std::optional<InverseMap> inverse; Reason why; };
[[nodiscard]] auto inverse_with_padding(const IndexMap& map, const std::vector<Expr>& shape, arith::Analyzer& analyzer) -> InverseResult;
/// The same for bijective maps only.
[[nodiscard]] auto inverse_of_bijection(const IndexMap& map, const std::vector<Expr>& shape, arith::Analyzer& analyzer) -> InverseResult;

/// True if different indices over [0, extent) certainly have different results. None: not decided.
[[nodiscard]] auto is_injective(const IndexMap& map, const IndexMap& inverse, const std::vector<Expr>& shape) -> std::optional<bool>;

/// For shapes of unknown sizes and maps that are bijective by their form: true if the map is injective for a few small sizes.
[[nodiscard]] auto is_injective_for_some_sizes(const IndexMap& map, const std::vector<Expr>& shape) -> bool;

/// An error where the number of indices is not the number that the map takes.
[[nodiscard]] auto require_arity(const Context& cx, const IndexMap& map, size_t count) -> Status;

}  // namespace loopsmith::schedule
