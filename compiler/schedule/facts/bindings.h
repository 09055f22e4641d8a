// Bindings: the iter values of a block as functions of the loops around it. Finds affine and independent bindings, loops whose iterations run
// different instances, and loops that run the same block instances again.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/ir.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

/// True if the iter values are independent affine functions of loops with these domains.
[[nodiscard]] auto is_affine_binding(const BlockRealize& realize, const Domains& domains) -> bool;
/// The same for the loops around a block. FuncState keeps the answer.
[[nodiscard]] auto compute_affine_binding(const FuncTree& func, const Place& block) -> bool;

/// The number of values, counted from 0, of each expression, if all expressions are written with digits of the loop variables: they use every digit of each
/// loop variable that occurs, once. Tiles and fused loops have this form. Then two iterations differ in some value, unless they differ only in
/// loops that no value uses. `allows_offset`: a value may have a term without loop variables; its values are then counted from that term.
[[nodiscard]] auto written_with_digits(std::span<const Expr> values, const Domains& domains, bool allows_offset = false) -> std::optional<std::vector<int64_t>>;

/// True if any two iterations of the loops are proved to give different values. With `of`, the same question for this loop alone: two of its
/// iterations share either no value or all values. Iterations share some values in sums that overlap (`i + j`). They may share all (`i // 2`), but
/// not with `by_all_digits`.
[[nodiscard]] auto tells_iterations_apart(const std::vector<Expr>& values, const Domains& domains, const Expr& predicate, const VarNode* of = nullptr,
                                          bool by_all_digits = false) -> bool;

/// True if iterations of the loop run the same block instances: either no iter value uses the loop, or the iter values use only a part of its
/// digits (as with a loop that was fused with a used one).
[[nodiscard]] auto repeats_instances(const BlockRealize& realize, const For& loop) -> bool;

}  // namespace loopsmith::schedule
