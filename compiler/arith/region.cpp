// Regions of accesses, relaxed over loops: exact for affine indices, by intervals for others. See int_set.h.
#include <algorithm>

#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "arith/state.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::arith {
namespace {

// The points base + split + [0, extent); none if they have holes.
auto points_of(const IterSumNode& sum, const Expr& extent, Analyzer& analyzer) -> std::optional<IntSet> {
  auto is_empty = [&](const Expr& e) { return analyzer.can_prove(equal(e, zero(e.dtype()))); };
  if (is_empty(extent)) { return IntSet::nothing(); }
  if (sum.args.empty()) { return IntSet::from_min_extent(sum.base, extent); }
  if (sum.args.size() != 1) { return {}; }
  const IterSplit& split = sum.args[0];
  if (is_empty(split.extent)) { return IntSet::nothing(); }
  if (!analyzer.can_prove(greater_equal(extent, split.scale))) { return {}; }
  Expr reach = mul(sub(split.extent, one(split.extent.dtype())), split.scale);
  if (analyzer.can_prove(less(split.scale, zero(split.scale.dtype())))) {
    return IntSet::from_min_extent(add(sum.base, reach), sub(extent, reach));
  }
  return IntSet::from_min_extent(sum.base, add(extent, reach));
}

auto as_dom(const std::vector<std::pair<Var, Range>>& dom) -> DomMap {
  DomMap out;
  for (const auto& [var, range] : dom) { out.emplace(var.get(), IntSet::from_range(range)); }
  return out;
}

}  // namespace

auto estimate_region_strict_bound(const Array<Range>& region, const std::vector<std::pair<Var, Range>>& dom, const Expr& predicate,
                                  Analyzer& analyzer) -> std::optional<std::vector<IntSet>> {
  std::vector<Expr> indices;
  for (const Range& range : region) {
    if (range.extent.kind() != NodeKind::IntImm) { return {}; }
    indices.push_back(range.min);
  }
  IterMapResult map = detect_iter_map(indices, dom, predicate, IterMapLevel::Surjective, analyzer);
  if (map.indices.empty()) { return {}; }
  std::vector<IntSet> result;
  for (size_t i = 0; i < region.size(); ++i) {
    auto points = points_of(*map.indices[i], region[i].extent, analyzer);
    if (!points) { return {}; }
    result.push_back(std::move(*points));
  }
  return result;
}

auto estimate_region_lower_bound(const Array<Range>& region, const std::vector<std::pair<Var, Range>>& dom, const Expr& predicate,
                                 Analyzer& analyzer) -> std::optional<std::vector<IntSet>> {
  return estimate_region_strict_bound(region, dom, predicate, analyzer);
}

auto estimate_region_upper_bound(const Array<Range>& region, const std::vector<std::pair<Var, Range>>& dom, const Expr& predicate,
                                 Analyzer& analyzer) -> std::vector<IntSet> {
  if (auto exact = estimate_region_strict_bound(region, dom, predicate, analyzer)) { return std::move(*exact); }
  std::vector<IntSet> result;
  for (const Range& range : region) {
    // True when the loops do not change the length of the range.
    bool is_fixed = !uses_var(range.extent, [&](const VarNode& v) { return std::any_of(dom.begin(), dom.end(), [&](const auto& d) { return d.first.get() == &v; }); });
    IterMapResult map = is_fixed ? detect_iter_map({range.min}, dom, predicate, IterMapLevel::Surjective, analyzer) : IterMapResult();
    if (!map.indices.empty()) {
      if (auto points = points_of(*map.indices[0], range.extent, analyzer)) {
        result.push_back(std::move(*points));
        continue;
      }
    }
    result.push_back(eval_set(range, as_dom(dom)));
  }
  return result;
}

}  // namespace loopsmith::arith
