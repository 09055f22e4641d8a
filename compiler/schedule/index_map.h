// Index maps applied to indices and shapes, and their inverses. After TVM 0.19's IndexMap: names of variables and forms of
// expressions are the same, since they appear in printed programs.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "arith/analyzer.h"
#include "ir/ir.h"
#include "schedule/primitive.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

/// Substitutes variables; constants and operands follow where a variable's expression has another integer type.
[[nodiscard]] auto substitute_retyped(const Expr& expr, const std::vector<std::pair<Var, Expr>>& map) -> Expr;

/// A map in a trace may use integers that were sampled before it, as free variables `v27` (what TVM's JSON keeps of them): its
/// expressions with the free variables of such names replaced. None from `with`: it stays.
[[nodiscard]] auto with_sampled(const IndexMap& map, const std::function<std::optional<Expr>(uint32_t number, const VarNode& var)>& with) -> IndexMap;

/// The same of an expression; of everything in a value that is an index map or an expression.
[[nodiscard]] auto with_sampled(const Expr& expr, const std::function<std::optional<Expr>(uint32_t number, const VarNode& var)>& with) -> Expr;
[[nodiscard]] auto with_sampled(const Value& value, const std::function<std::optional<Expr>(uint32_t number, const VarNode& var)>& with) -> Value;
/// True where a value holds an index map or an expression (other than a constant).
[[nodiscard]] auto holds_expressions(const Value& value) -> bool;

/// The map with its free variables replaced, those of the inverse too. None from `with`: it stays.
[[nodiscard]] auto with_free_variables(const IndexMap& map, const std::function<std::optional<Expr>(const VarNode& var)>& with) -> IndexMap;

/// The same of everything in a value that is an index map or an expression.
[[nodiscard]] auto with_free_variables(const Value& value, const std::function<std::optional<Expr>(const VarNode& var)>& with) -> Value;

/// The map over variables of these expressions' types (a buffer's shape). There must be as many as it takes.
[[nodiscard]] auto retyped(const IndexMap& map, const Array<Expr>& like) -> IndexMap;

/// The results at the given indices, simplified.
[[nodiscard]] auto map_indices(const IndexMap& map, const std::vector<Expr>& indices, arith::Analyzer& analyzer) -> std::vector<Expr>;

/// The extents of the results while indices run over [0, extent); none where a result does not start at 0.
[[nodiscard]] auto map_shape(const IndexMap& map, const std::vector<Expr>& shape, arith::Analyzer& analyzer) -> std::optional<std::vector<Expr>>;

/// (axis0, axis1, ...) -> the indices, and the condition for results that no index maps to.
struct InverseMap { IndexMap map; Expr padding; };
/// The inverse of a map over [0, extent) that may leave gaps between its results; else the reason why it has none.
struct InverseResult { std::optional<InverseMap> inverse; std::string why; };
[[nodiscard]] auto inverse_with_padding(const IndexMap& map, const std::vector<Expr>& shape, arith::Analyzer& analyzer) -> InverseResult;
/// The same for bijective maps only.
[[nodiscard]] auto inverse_of_bijection(const IndexMap& map, const std::vector<Expr>& shape, arith::Analyzer& analyzer) -> InverseResult;

/// True where different indices certainly have different results, over [0, extent). None: not decided.
[[nodiscard]] auto is_injective(const IndexMap& map, const IndexMap& inverse, const std::vector<Expr>& shape) -> std::optional<bool>;

/// For shapes of unknown sizes and maps that are bijective by their form: true where this holds for a few small sizes.
[[nodiscard]] auto is_injective_for_some_sizes(const IndexMap& map, const std::vector<Expr>& shape) -> bool;

/// An error where the number of indices is not the number that the map takes.
[[nodiscard]] auto require_arity(const Context& cx, const IndexMap& map, size_t count) -> Status;

}  // namespace loopsmith::schedule
