// Iterators with marks and splits, the pieces of affine iteration maps: making them, comparing them, and turning them into expressions. Private to
// the files of iter_map.h.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "arith/canonical.h"
#include "arith/iter_map.h"
#include "arith/state.h"
#include "arith/walk.h"
#include "ir/ops.h"
#include "ir/wrapped.h"

namespace loopsmith::arith {

// Records an overflow of 64 bits: no real index is that large.
inline auto product_of_scales(int64_t a, int64_t b) -> int64_t {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) { note_wrapped(DataType::int_(64), __int128{a} * b); }
  return out;
}
inline auto normalized_product(const Expr& a, const Expr& b) -> Expr { return a.as<IntImm>() && b.as<IntImm>() ? mul(a, b) : multiply_normalized(a, b); }

inline auto mark_of(Expr source, Expr extent) -> IterMark {
  return std::make_shared<IterMarkNode>(IterMarkNode{std::move(source), nullptr, {}, std::move(extent)});
}
inline auto mark_of(IterSumNode sum, Expr extent) -> IterMark {
  return std::make_shared<IterMarkNode>(IterMarkNode{{}, std::make_shared<IterSumNode>(std::move(sum)), {}, std::move(extent)});
}
inline auto mark_of(IterSplit split, Expr extent) -> IterMark {
  return std::make_shared<IterMarkNode>(IterMarkNode{{}, nullptr, std::move(split), std::move(extent)});
}
inline auto dtype_of(const IterMarkNode& mark) -> DataType { return mark.extent.dtype(); }
inline auto split_of(const IterMark& mark) -> IterSplit { return {mark, one(dtype_of(*mark)), mark->extent, one(dtype_of(*mark))}; }
inline auto split_of(const IterMark& mark, Expr scale) -> IterSplit { return {mark, one(dtype_of(*mark)), mark->extent, std::move(scale)}; }

inline auto splits_equal(const IterSplit& a, const IterSplit& b, bool with_scale = true) -> bool {
  return a.source == b.source && deep_equal(a.lower_factor, b.lower_factor) && (!with_scale || deep_equal(a.scale, b.scale)) &&
         deep_equal(a.extent, b.extent);
}
inline auto sums_equal(const IterSumNode& a, const IterSumNode& b) -> bool {
  return a.args.size() == b.args.size() && deep_equal(a.base, b.base) &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), [](const IterSplit& x, const IterSplit& y) { return splits_equal(x, y); });
}

// True for marks of equal structure, even if they are different objects.
inline auto marks_equal(const IterMark& a, const IterMark& b) -> bool {
  if (a == b) { return true; }
  if (!deep_equal(a->extent, b->extent)) { return false; }
  auto same_split = [](const IterSplit& x, const IterSplit& y) {
    return marks_equal(x.source, y.source) && deep_equal(x.lower_factor, y.lower_factor) && deep_equal(x.extent, y.extent) &&
           deep_equal(x.scale, y.scale);
  };
  if (a->source || b->source) { return a->source && b->source && deep_equal(a->source, b->source); }
  if (a->split || b->split) { return a->split && b->split && same_split(*a->split, *b->split); }
  return a->sum->args.size() == b->sum->args.size() && deep_equal(a->sum->base, b->sum->base) &&
         std::equal(a->sum->args.begin(), a->sum->args.end(), b->sum->args.begin(), same_split);
}

// Collects the used splits of each mark, in the order of their use.
class SplitCollector {
 public:
  struct Entry { IterMark mark; std::vector<IterSplit> splits; };
  std::vector<Entry> marks;

  void collect(const std::vector<IterSum>& indices) {
    for (const IterSum& sum : indices) { add(*sum); }
  }
  auto find(const IterMark& mark) -> Entry* {
    for (Entry& e : marks) { if (e.mark == mark) { return &e; } }
    return nullptr;
  }

 private:
  void add(const IterSumNode& sum) {
    for (const IterSplit& split : sum.args) {
      if (!find(split.source)) {
        marks.push_back({split.source, {}});
        if (split.source->sum) { add(*split.source->sum); }
      }
      find(split.source)->splits.push_back(split);
    }
  }
};

class ToExpr {
 public:
  explicit ToExpr(Analyzer& analyzer, bool swaps_products = false) : analyzer_(analyzer), swaps_products_(swaps_products) {}
  auto convert(const IterSumNode& sum) -> Expr {
    Expr result = zero(sum.base.dtype());
    for (const IterSplit& arg : sum.args) { result = add(result, convert(arg)); }
    return add(result, sum.base);
  }
  auto convert(const IterSplit& split) -> Expr {
    const IterMarkNode& mark = *split.source;
    Expr source = mark.sum ? convert(*mark.sum) : mark.split ? convert(*mark.split) : mark.source;
    if (is_one(split.lower_factor) && analyzer_.can_prove(equal(split.extent, mark.extent))) { return mul(source, split.scale); }
    Expr reach = mul(split.lower_factor, split.extent);
    if (analyzer_.can_prove(equal(mark.extent, reach)) || (swaps_products_ && analyzer_.can_prove(equal(mark.extent, mul(split.extent, split.lower_factor))))) {
      // The split is always 0. Keeps iterators of extent 1, because later analyses may match them.
      if (is_one(split.extent) && !is_one(mark.extent)) { return zero(split.extent.dtype()); }
      return mul(floordiv(source, split.lower_factor), split.scale);
    }
    if (swaps_products_) { reach = analyzer_.canonical_simplify(mul(split.extent, split.lower_factor)); }
    return mul(floordiv(floormod(source, reach), split.lower_factor), split.scale);
  }

 private:
  Analyzer& analyzer_;
  bool swaps_products_;
};

// A sub-expression: an expression without iterators, a split, or a sum.
struct Term {
  Expr expr;
  std::optional<IterSplit> split;
  std::optional<IterSumNode> sum;
  Term(Expr e) : expr(std::move(e)) {}                    // NOLINT
  Term(IterSplit s) : split(std::move(s)) {}              // NOLINT
  Term(IterSumNode s) : sum(std::move(s)) {}              // NOLINT
  [[nodiscard]] auto to_sum() && -> IterSumNode {
    if (sum) { return std::move(*sum); }
    if (split) {
      Expr base = zero(dtype_of(*split->source));
      return {{std::move(*split)}, std::move(base)};
    }
    return {{}, std::move(expr)};
  }
};

struct Constraint {
  Expr iter;
  Expr lower;            // may be null
  Expr upper;            // exclusive; may be null
  size_t size = 0;
};

// A stable sort for few items.
template <class T, class Before>
void insertion_sort(std::vector<T>& items, Before before) {
  for (size_t i = 1; i < items.size(); ++i) {
    for (size_t j = i; j > 0 && before(items[j], items[j - 1]); --j) { std::swap(items[j], items[j - 1]); }
  }
}

}  // namespace loopsmith::arith
