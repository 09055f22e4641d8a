// Sets of integers as intervals with symbolic ends, and what becomes of expressions and regions when some
// variables run over such sets.
//
// Used wherever a region is relaxed over loops: compute_at, cache_read, region inference. Ends are kept in the
// form TVM 0.19 gives them, since they end up in printed programs.
#pragma once

#include <optional>
#include <vector>

#include "arith/analyzer.h"

namespace loopsmith::arith {

/// [min, max], both inclusive; an end that is none is infinite. Or empty.
class IntSet {
 public:
  /// Everything.
  IntSet() = default;
  [[nodiscard]] static auto everything() -> IntSet { return {}; }
  [[nodiscard]] static auto nothing() -> IntSet;
  [[nodiscard]] static auto single_point(Expr point) -> IntSet;
  /// Both inclusive; none for infinite.
  [[nodiscard]] static auto interval(Expr min, Expr max) -> IntSet;
  [[nodiscard]] static auto from_range(const Range& range) -> IntSet;
  [[nodiscard]] static auto from_min_extent(const Expr& min, const Expr& extent) -> IntSet;

  [[nodiscard]] auto min() const -> const Expr& { return min_; }   // none: minus infinity (or empty)
  [[nodiscard]] auto max() const -> const Expr& { return max_; }   // none: plus infinity (or empty)
  [[nodiscard]] auto has_lower_bound() const -> bool { return !empty_ && bool(min_); }
  [[nodiscard]] auto has_upper_bound() const -> bool { return !empty_ && bool(max_); }
  [[nodiscard]] auto is_nothing() const -> bool { return empty_; }
  [[nodiscard]] auto is_everything() const -> bool { return !empty_ && !min_ && !max_; }
  /// The very same expression at both ends.
  [[nodiscard]] auto is_single_point() const -> bool { return !empty_ && min_ && min_.same_as(max_); }
  /// min == max can be proved.
  [[nodiscard]] auto can_prove_single_point(Analyzer& analyzer) const -> bool;
  [[nodiscard]] auto can_prove_non_negative(Analyzer& analyzer) const -> bool;
  [[nodiscard]] auto point() const -> const Expr& { return min_; }
  /// The set as a range; `otherwise` where an end is infinite.
  [[nodiscard]] auto cover_range(const Range& otherwise, Analyzer& analyzer) const -> Range;
  [[nodiscard]] auto cover_range(const Range& otherwise) const -> Range;

 private:
  Expr min_, max_;
  bool empty_ = false;
};

[[nodiscard]] auto intersect(const std::vector<IntSet>& sets, Analyzer& analyzer) -> IntSet;
[[nodiscard]] auto intersect(const std::vector<IntSet>& sets) -> IntSet;
/// The smallest interval over all.
[[nodiscard]] auto union_of(const std::vector<IntSet>& sets, Analyzer& analyzer) -> IntSet;
[[nodiscard]] auto union_of(const std::vector<IntSet>& sets) -> IntSet;
/// The union where the sets provably touch or overlap; nothing known of the union elsewhere (TVM's UnionLowerBound).
[[nodiscard]] auto union_lower_bound(const std::vector<IntSet>& sets) -> IntSet;
/// Dimension by dimension. All of one dimension count.
[[nodiscard]] auto union_region(const std::vector<std::vector<IntSet>>& regions) -> std::vector<IntSet>;
[[nodiscard]] auto union_region_lower_bound(const std::vector<std::vector<IntSet>>& regions) -> std::vector<IntSet>;

using RangeMap = std::unordered_map<const VarNode*, Range>;
[[nodiscard]] auto as_dom_map(const RangeMap& ranges) -> DomMap;

/// All values of an expression (range, region) while the variables run over their sets; a superset.
[[nodiscard]] auto eval_set(const Expr& expr, const DomMap& dom) -> IntSet;
[[nodiscard]] auto eval_set(const Range& range, const DomMap& dom) -> IntSet;
[[nodiscard]] auto eval_set(const Array<Range>& region, const DomMap& dom) -> std::vector<IntSet>;
[[nodiscard]] auto eval_set(const Expr& expr, const DomMap& dom, Analyzer& analyzer) -> IntSet;
[[nodiscard]] auto eval_set(const Range& range, const DomMap& dom, Analyzer& analyzer) -> IntSet;

/// Where an access goes exactly (a set of points without holes), or none where that cannot be shown.
/// Strict: the region must be covered exactly under the predicate.
[[nodiscard]] auto estimate_region_strict_bound(const Array<Range>& region, const std::vector<std::pair<Var, Range>>& dom,
                                                const Expr& predicate, Analyzer& analyzer)
    -> std::optional<std::vector<IntSet>>;
/// What is certainly touched; none where nothing can be said.
[[nodiscard]] auto estimate_region_lower_bound(const Array<Range>& region, const std::vector<std::pair<Var, Range>>& dom,
                                               const Expr& predicate, Analyzer& analyzer)
    -> std::optional<std::vector<IntSet>>;
/// What can be touched at most: the strict bound, or the intervals dimension by dimension.
[[nodiscard]] auto estimate_region_upper_bound(const Array<Range>& region, const std::vector<std::pair<Var, Range>>& dom,
                                               const Expr& predicate, Analyzer& analyzer) -> std::vector<IntSet>;

/// The values of `var` for which `condition` certainly holds, whatever the values of the variables in `relax`
/// (TVM's DeduceBound). `hint`: sets of the variables as they are.
[[nodiscard]] auto deduce_bound(const Expr& var, const Expr& condition, const DomMap& hint, const DomMap& relax) -> IntSet;

}  // namespace loopsmith::arith
