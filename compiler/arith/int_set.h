// Sets of integers as intervals with symbolic ends, and the sets of values of expressions and regions while
// variables run over such sets.
//
// Used wherever a region is relaxed over loops: compute_at, cache_read, region inference. Ends have the form of
// TVM 0.19's, because they appear in printed programs.
#pragma once

#include <optional>
#include <vector>

#include "arith/analyzer.h"

namespace loopsmith::arith {

/// [min, max], both inclusive; a null end is infinite. Or the empty set.
class IntSet {
 public:
  /// The set of all integers.
  IntSet() = default;
  [[nodiscard]] static auto everything() -> IntSet { return {}; }
  [[nodiscard]] static auto nothing() -> IntSet;
  [[nodiscard]] static auto single_point(Expr point) -> IntSet;
  /// Both ends are inclusive; null for an infinite end.
  [[nodiscard]] static auto interval(Expr min, Expr max) -> IntSet;
  [[nodiscard]] static auto from_range(const Range& range) -> IntSet;
  [[nodiscard]] static auto from_min_extent(const Expr& min, const Expr& extent) -> IntSet;

  [[nodiscard]] auto min() const -> const Expr& { return min_; }   // none: minus infinity (or empty)
  [[nodiscard]] auto max() const -> const Expr& { return max_; }   // none: plus infinity (or empty)
  [[nodiscard]] auto has_lower_bound() const -> bool { return !empty_ && bool(min_); }
  [[nodiscard]] auto has_upper_bound() const -> bool { return !empty_ && bool(max_); }
  [[nodiscard]] auto is_nothing() const -> bool { return empty_; }
  [[nodiscard]] auto is_everything() const -> bool { return !empty_ && !min_ && !max_; }
  /// True when both ends are the same expression node.
  [[nodiscard]] auto is_single_point() const -> bool { return !empty_ && min_ && min_.same_as(max_); }
  /// True when min == max can be proved.
  [[nodiscard]] auto can_prove_single_point(Analyzer& analyzer) const -> bool;
  [[nodiscard]] auto can_prove_non_negative(Analyzer& analyzer) const -> bool;
  [[nodiscard]] auto point() const -> const Expr& { return min_; }
  /// The set as a range; `otherwise` if an end is infinite.
  [[nodiscard]] auto cover_range(const Range& otherwise, Analyzer& analyzer) const -> Range;
  [[nodiscard]] auto cover_range(const Range& otherwise) const -> Range;

 private:
  Expr min_, max_;
  bool empty_ = false;
};

[[nodiscard]] auto intersect(const std::vector<IntSet>& sets, Analyzer& analyzer) -> IntSet;
[[nodiscard]] auto intersect(const std::vector<IntSet>& sets) -> IntSet;
/// The smallest interval that contains all sets.
[[nodiscard]] auto union_of(const std::vector<IntSet>& sets, Analyzer& analyzer) -> IntSet;
[[nodiscard]] auto union_of(const std::vector<IntSet>& sets) -> IntSet;
/// The union of sets that provably touch or overlap; empty for other sets (TVM's UnionLowerBound).
[[nodiscard]] auto union_lower_bound(const std::vector<IntSet>& sets) -> IntSet;
/// The union dimension by dimension. All regions must have the same number of dimensions.
[[nodiscard]] auto union_region(const std::vector<std::vector<IntSet>>& regions) -> std::vector<IntSet>;
[[nodiscard]] auto union_region_lower_bound(const std::vector<std::vector<IntSet>>& regions) -> std::vector<IntSet>;

using RangeMap = std::unordered_map<const VarNode*, Range>;
[[nodiscard]] auto as_dom_map(const RangeMap& ranges) -> DomMap;

/// A superset of the values of an expression (range, region) while the variables run over their sets.
[[nodiscard]] auto eval_set(const Expr& expr, const DomMap& dom) -> IntSet;
[[nodiscard]] auto eval_set(const Range& range, const DomMap& dom) -> IntSet;
[[nodiscard]] auto eval_set(const Array<Range>& region, const DomMap& dom) -> std::vector<IntSet>;
[[nodiscard]] auto eval_set(const Expr& expr, const DomMap& dom, Analyzer& analyzer) -> IntSet;
[[nodiscard]] auto eval_set(const Range& range, const DomMap& dom, Analyzer& analyzer) -> IntSet;

/// The exact region of an access, as a set of points without holes, under the predicate; none if exactness
/// cannot be proved.
[[nodiscard]] auto estimate_region_strict_bound(const Array<Range>& region, const std::vector<std::pair<Var, Range>>& dom,
                                                const Expr& predicate, Analyzer& analyzer)
    -> std::optional<std::vector<IntSet>>;
/// A region that is certainly accessed; none if no such region is found.
[[nodiscard]] auto estimate_region_lower_bound(const Array<Range>& region, const std::vector<std::pair<Var, Range>>& dom,
                                               const Expr& predicate, Analyzer& analyzer)
    -> std::optional<std::vector<IntSet>>;
/// A region that contains all accesses: the strict bound if there is one, else the intervals dimension by dimension.
[[nodiscard]] auto estimate_region_upper_bound(const Array<Range>& region, const std::vector<std::pair<Var, Range>>& dom,
                                               const Expr& predicate, Analyzer& analyzer) -> std::vector<IntSet>;

/// The values of `var` for which `condition` certainly holds for all values of the variables in `relax` (TVM's
/// DeduceBound). `hint`: the known sets of the variables.
[[nodiscard]] auto deduce_bound(const Expr& var, const Expr& condition, const DomMap& hint, const DomMap& relax) -> IntSet;

}  // namespace loopsmith::arith
