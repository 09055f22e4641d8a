// Affine iteration maps: indices that are sums of splits of iterators; their detection, normal form, inversion and
// division. After TVM 0.19's iter_affine_map (quasi-affine detection), with results in the same form.
//
//     i * 8 + j            with i in [0, 4), j in [0, 8)    is one fused iterator of extent 32
//     f // 8, f % 8        with f in [0, 32)                are two splits of f
//
// Used by split, fuse and reorder (to check affine bindings), reverse_compute_inline, blockize, tensorize.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arith/analyzer.h"

namespace loopsmith::arith {

struct IterSumNode;
struct IterMarkNode;

/// sum of splits + base. Immutable, shared.
using IterSum = std::shared_ptr<const IterSumNode>;
/// An iterator: a variable (or opaque expression), or a sum that is used as one iterator.
using IterMark = std::shared_ptr<const IterMarkNode>;

/// ((source // lower_factor) % extent) * scale
struct IterSplit {
  IterMark source;
  Expr lower_factor, extent, scale;
};

/// Exactly one of source, sum, split is set.
struct IterMarkNode {
  Expr source;
  IterSum sum;
  std::optional<IterSplit> split;
  Expr extent;
};

struct IterSumNode {
  std::vector<IterSplit> args;
  Expr base;
};

/// The requirements for a map from iterators to indices.
enum class IterMapLevel : uint8_t {
  NoCheck,      // each index is affine
  Surjective,   // also, the indices are independent of one another
  Bijective,    // also, the indices use every iterator completely
};

struct IterMapResult {
  std::vector<IterSum> indices;        // empty if the map was refused
  std::vector<std::string> errors;
  Expr padding_predicate;              // true for padded iterations; constant false without padding
};

using IterDomains = std::vector<std::pair<Var, Range>>;

/// `predicate`: a condition on the iterators (a conjunction of comparisons), or constant true.
/// simplify_trivial: folds iterators of extent 1 to their minimum.
[[nodiscard]] auto detect_iter_map(const std::vector<Expr>& indices, const IterDomains& iters, const Expr& predicate,
                                   IterMapLevel level, Analyzer& analyzer, bool simplify_trivial = true) -> IterMapResult;

[[nodiscard]] auto normalize_iter_map_to_expr(const IterSum& sum, Analyzer& analyzer) -> Expr;
[[nodiscard]] auto normalize_iter_map_to_expr(const IterSplit& split, Analyzer& analyzer) -> Expr;
/// Converts an expression to an iter sum, without checks of the whole map (TVM's NormalizeToIterSum).
[[nodiscard]] auto normalize_to_iter_sum(const Expr& index, const IterDomains& iters, Analyzer& analyzer) -> IterSum;

/// The indices rebuilt from their detected map; the simplified indices if no map is detected.
/// swaps_products: an extent `M * N` also matches `N * M`, as in TVM since April 2026.
[[nodiscard]] auto iter_map_simplify(const std::vector<Expr>& indices, const IterDomains& iters, const Expr& predicate,
                                     IterMapLevel level, Analyzer& analyzer, bool simplify_trivial = true, bool swaps_products = false) -> std::vector<Expr>;

/// The values of the iterators' variables in terms of the indices' values. The map must be bijective.
[[nodiscard]] auto inverse_affine_iter_map(const std::vector<IterSum>& map, const std::vector<Expr>& outputs)
    -> std::unordered_map<const VarNode*, Expr>;

/// Each binding as outer * inner_extent + inner, where inner depends on the sub-iterators only.
struct DividedIter { Expr outer, outer_extent, inner, inner_extent; };
struct SubspaceDivision {
  std::vector<DividedIter> bindings;   // one per binding
  Expr outer_predicate, inner_predicate;
};
[[nodiscard]] auto subspace_divide(const std::vector<Expr>& bindings, const IterDomains& iters, const std::vector<Var>& sub_iters,
                                   const Expr& predicate, IterMapLevel level, Analyzer& analyzer, bool simplify_trivial = true)
    -> std::optional<SubspaceDivision>;

}  // namespace loopsmith::arith
