// Operations on a detected iteration map: its inverse, and the division of a space into an outer and an inner
// part. See iter_map.h.
#include <algorithm>
#include <optional>

#include "arith/iter_map.h"
#include "arith/state.h"
#include "arith/walk.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

// Values flow from the outputs back to the variables: a sum passes digits to its splits, a split passes its value
// times the lower factor to its mark.
class Inverter {
 public:
  explicit Inverter(Analyzer& analyzer) : analyzer_(analyzer) {}

  auto run(const std::vector<IterSum>& map, const std::vector<Expr>& outputs) -> std::unordered_map<const VarNode*, Expr> {
    if (map.size() != outputs.size()) { return {}; }
    for (const IterSum& sum : map) { order(sum.get(), 0); }
    for (size_t i = 0; i < map.size(); ++i) { at(map[i].get()) = outputs[i]; }
    for (auto it = order_.rbegin(); it != order_.rend() && ok_; ++it) { visit(*it->first, it->second); }
    return ok_ ? std::move(inverse_) : decltype(inverse_){};
  }

 private:
  // Nested sums come before the sum around them. In reverse order, each sum is complete before it passes its value on.
  void order(const IterSumNode* sum, int depth) {
    if (depth > Analyzer::State::max_depth) { ok_ = false; return; }
    if (std::any_of(order_.begin(), order_.end(), [&](const auto& o) { return o.first == sum; })) { return; }
    for (const IterSplit& split : sum->args) { if (split.source->sum) { order(split.source->sum.get(), depth + 1); } }
    order_.emplace_back(sum, 0);
  }
  auto at(const IterSumNode* sum) -> Expr& { return values_[sum]; }

  void visit(const IterSumNode& sum, int) {
    Expr total = at(&sum) ? at(&sum) : zero(sum.base.dtype());
    Expr input = sub(total, sum.base);
    if (sum.args.size() == 1) {
      auto scale = as_int(sum.args[0].scale);
      if (!scale || (*scale != 1 && *scale != -1)) { ok_ = false; return; }
      return pass_on(sum.args[0], mul(input, sum.args[0].scale));
    }
    // The scales must be those of digits in a mixed-radix number.
    Expr expected = sum.args.empty() ? Expr() : sum.args.back().scale;
    for (size_t i = sum.args.size(); i > 0; --i) {
      const IterSplit& split = sum.args[i - 1];
      if (!analyzer_.can_prove_equal(split.scale, expected)) { ok_ = false; return; }
      expected = mul(expected, split.extent);
      Expr digit = floordiv(input, split.scale);
      if (i > 1) { digit = floormod(digit, split.extent); }
      pass_on(split, digit);
    }
  }

  void pass_on(const IterSplit& split, const Expr& value) {
    Expr input = mul(value, split.lower_factor);
    const IterMarkNode& mark = *split.source;
    if (mark.sum) {
      Expr& total = at(mark.sum.get());
      total = total ? add(total, input) : input;
      return;
    }
    Expr offset;
    const VarNode* var = mark.source.as<VarNode>();
    if (const auto* shifted = mark.source.as<Sub>()) {
      var = shifted->a.as<VarNode>();
      offset = shifted->b;
    }
    if (!var) { ok_ = false; return; }
    Expr& total = inverse_[var];
    if (!total) { total = offset ? add(input, offset) : input; }
    else { total = add(total, input); }
  }

  Analyzer& analyzer_;
  std::vector<std::pair<const IterSumNode*, int>> order_;
  std::unordered_map<const IterSumNode*, Expr> values_;
  std::unordered_map<const VarNode*, Expr> inverse_;
  bool ok_ = true;
};

enum class Side : uint8_t { Inner, Outer, Mixed };

// outer * inner_extent + inner
struct Division {
  IterSumNode outer, inner;
  Expr outer_extent, inner_extent;
  Side side = Side::Mixed;
};

class Divider {
 public:
  Divider(Analyzer& analyzer, const std::vector<IterSum>& map, const std::vector<Var>& inner_vars)
      : analyzer_(analyzer), inner_vars_(inner_vars), outer_predicate_(bool_imm(true)), inner_predicate_(bool_imm(true)) {
    for (const IterSum& sum : map) { collect(*sum); }
  }
  [[nodiscard]] auto outer_predicate() const -> const Expr& { return outer_predicate_; }
  [[nodiscard]] auto inner_predicate() const -> const Expr& { return inner_predicate_; }

  // None if the sum cannot be divided. `extent` is that of the sum's mark; null at the top.
  auto divide(const IterSumNode& sum, const Expr& extent) -> std::optional<Division> {
    DataType t = sum.base.dtype();
    IterSumNode nothing{{}, zero(t)};
    if (sum.args.empty()) { return Division{nothing, {{}, sum.base}, one(t), one(t), Side::Mixed}; }
    if (sum.args.size() == 1) {
      if (!is_one(sum.args[0].scale)) { return {}; }
      auto result = divide(sum.args[0]);
      if (result && !is_zero(sum.base)) { result->inner.base = add(result->inner.base, sum.base); }
      return result;
    }
    // Outer splits come first, then inner ones; reads them from the inside.
    Expr total = one(t);
    std::vector<IterSplit> outer, inner;
    bool has_unit_scale = false;
    for (auto it = sum.args.rbegin(); it != sum.args.rend(); ++it) {
      has_unit_scale = has_unit_scale || is_one(it->scale);
      // The recombination below needs the scales of digits.
      if (!analyzer_.can_prove_equal(it->scale, total)) { return {}; }
      auto part = divide(*it);
      if (!part || part->side == Side::Mixed || (part->side == Side::Inner && !outer.empty())) { return {}; }
      bool is_inner = part->side == Side::Inner;
      auto& list = is_inner ? inner : outer;
      IterSumNode own = is_inner ? part->inner : part->outer;
      // The base of an iterator belongs to the inner part, regardless of the iterator's own part.
      if (!is_inner) { own.base = add(own.base, part->inner.base); }
      list.push_back(as_split(own, is_inner ? part->inner_extent : part->outer_extent));
      total = mul(total, list.back().extent);
    }
    if (!has_unit_scale) { return {}; }
    auto [outer_sum, outer_extent] = stack(outer, zero(t));
    auto [inner_sum, inner_extent] = stack(inner, sum.base);
    if (extent ? !analyzer_.can_prove_equal(total, extent) : true) {
      // Under a predicate the sum is indivisible: all outer or all inner.
      if (!extent) { return {}; }
      if (inner.empty()) {
        outer_sum.base = sum.base;
        auto shared = std::make_shared<IterSumNode>(outer_sum);
        outer_predicate_ = logical_and(outer_predicate_, less(normalize_iter_map_to_expr(shared, analyzer_), extent));
        return Division{outer_sum, nothing, extent, one(t), Side::Outer};
      }
      if (outer.empty()) {
        auto shared = std::make_shared<IterSumNode>(inner_sum);
        inner_predicate_ = logical_and(inner_predicate_, less(normalize_iter_map_to_expr(shared, analyzer_), extent));
        return Division{nothing, inner_sum, one(t), extent, Side::Inner};
      }
      return {};
    }
    return Division{outer_sum, inner_sum, outer_extent, inner_extent, Side::Mixed};
  }

 private:
  struct Known { IterSplit split; Division division; };

  void collect(const IterSumNode& sum) {
    for (const IterSplit& split : sum.args) {
      bool seen = std::any_of(marks_.begin(), marks_.end(), [&](const auto& m) { return m.first == split.source; });
      if (!seen) {
        marks_.emplace_back(split.source, std::vector<IterSplit>{});
        if (split.source->sum) { collect(*split.source->sum); }
      }
      for (auto& [mark, splits] : marks_) { if (mark == split.source) { splits.push_back(split); } }
    }
  }

  static auto same(const IterSplit& a, const IterSplit& b) -> bool {
    return a.source == b.source && deep_equal(a.lower_factor, b.lower_factor) && deep_equal(a.extent, b.extent);
  }
  static auto unit(const IterSplit& split) -> IterSumNode { return {{split}, zero(split.extent.dtype())}; }
  // A sum of a single split as that split; other sums as a new iterator.
  static auto as_split(const IterSumNode& sum, const Expr& extent) -> IterSplit {
    if (sum.args.size() == 1 && is_zero(sum.base)) { return sum.args[0]; }
    auto mark = std::make_shared<IterMarkNode>();
    mark->sum = std::make_shared<IterSumNode>(sum);
    mark->extent = extent;
    return {mark, one(extent.dtype()), extent, one(extent.dtype())};
  }
  static auto stack(const std::vector<IterSplit>& from_inside, Expr base) -> std::pair<IterSumNode, Expr> {
    Expr extent = one(base.dtype());
    IterSumNode sum{{}, std::move(base)};
    for (IterSplit split : from_inside) {
      split.scale = extent;
      extent = mul(extent, split.extent);
      sum.args.push_back(std::move(split));
    }
    std::reverse(sum.args.begin(), sum.args.end());
    return {std::move(sum), std::move(extent)};
  }
  static auto inner_only(const IterSplit& split) -> Division {
    DataType t = split.extent.dtype();
    return {{{}, zero(t)}, unit(split), one(t), split.extent, Side::Inner};
  }
  static auto outer_only(const IterSplit& split) -> Division {
    DataType t = split.extent.dtype();
    return {unit(split), {{}, zero(t)}, split.extent, one(t), Side::Outer};
  }

  auto divide(const IterSplit& split) -> std::optional<Division> {
    for (const Known& k : known_) { if (same(k.split, split)) { return k.division; } }
    std::vector<IterSplit> splits;
    for (const auto& [mark, list] : marks_) { if (mark == split.source) { splits = list; } }
    const IterMarkNode& mark = *split.source;
    if (const auto* var = mark.source.as<VarNode>()) {
      bool inner = std::any_of(inner_vars_.begin(), inner_vars_.end(), [&](const Var& v) { return v.get() == var; });
      return inner ? inner_only(split) : outer_only(split);
    }
    if (!mark.sum) { return {}; }
    // mark = Y * E + X: possible where the extents of some first splits multiply to that of Y.
    auto division = divide(*mark.sum, mark.extent);
    if (!division) { return {}; }
    bool whole = is_one(split.lower_factor) && analyzer_.can_prove_equal(split.extent, mark.extent);
    if (whole && splits.size() == 1) { return division; }
    // A part of an iterator that was shifted (by padding or a predicate), or the only used part: it is added unchanged to the side of its
    // iterator.
    if (!is_zero(mark.sum->base) || splits.size() == 1) {
      if (division->side == Side::Mixed) { return {}; }
      return division->side == Side::Inner ? inner_only(split) : outer_only(split);
    }
    auto mark_of = [](const IterSumNode& sum, const Expr& extent) -> IterMark {
      auto m = std::make_shared<IterMarkNode>();
      m->sum = std::make_shared<IterSumNode>(sum);
      m->extent = extent;
      return m;
    };
    IterMark outer_mark = mark_of(division->outer, division->outer_extent), inner_mark = mark_of(division->inner, division->inner_extent);
    bool beyond = division->side == Side::Outer;
    std::vector<bool> used(splits.size());
    std::vector<IterSplit> inner, outer;
    Expr expected = one(mark.extent.dtype());
    for (size_t i = 0; i < splits.size(); ++i) {
      size_t j = 0;
      while (j < splits.size() && (used[j] || !analyzer_.can_prove_equal(splits[j].lower_factor, expected))) { ++j; }
      if (j == splits.size()) { return {}; }
      used[j] = true;
      (beyond ? outer : inner).push_back(splits[j]);
      expected = mul(expected, splits[j].extent);
      if (analyzer_.can_prove_equal(expected, division->inner_extent)) { beyond = true; }
    }
    if (!beyond) { return {}; }
    for (const IterSplit& s : inner) {
      IterSplit moved = s;
      moved.source = inner_mark;
      known_.push_back({s, inner_only(moved)});
    }
    for (const IterSplit& s : outer) {
      IterSplit moved = s;
      moved.source = outer_mark;
      moved.lower_factor = floordiv(s.lower_factor, outer[0].lower_factor);
      known_.push_back({s, outer_only(moved)});
    }
    for (const Known& k : known_) { if (same(k.split, split)) { return k.division; } }
    return {};
  }

  Analyzer& analyzer_;
  const std::vector<Var>& inner_vars_;
  std::vector<std::pair<IterMark, std::vector<IterSplit>>> marks_;
  std::vector<Known> known_;
  Expr outer_predicate_, inner_predicate_;
};

}  // namespace

auto inverse_affine_iter_map(const std::vector<IterSum>& map, const std::vector<Expr>& outputs)
    -> std::unordered_map<const VarNode*, Expr> {
  Analyzer analyzer;
  return Inverter(analyzer).run(map, outputs);
}

auto subspace_divide(const std::vector<Expr>& bindings, const IterDomains& iters, const std::vector<Var>& sub_iters,
                     const Expr& predicate, IterMapLevel level, Analyzer& analyzer, bool simplify_trivial)
    -> std::optional<SubspaceDivision> {
  IterMapResult map = detect_iter_map(bindings, iters, predicate, level, analyzer, simplify_trivial);
  if (map.indices.empty()) { return {}; }
  Divider divider(analyzer, map.indices, sub_iters);
  SubspaceDivision result;
  for (const IterSum& sum : map.indices) {
    auto division = divider.divide(*sum, Expr());
    if (!division) { return {}; }
    auto outer = std::make_shared<IterSumNode>(division->outer), inner = std::make_shared<IterSumNode>(division->inner);
    result.bindings.push_back({normalize_iter_map_to_expr(outer, analyzer), division->outer_extent,
                               normalize_iter_map_to_expr(inner, analyzer), division->inner_extent});
  }
  result.outer_predicate = divider.outer_predicate();
  result.inner_predicate = divider.inner_predicate();
  // The other parts of the predicate must be kept: bounds of single iterators, which narrowed their domains, and lower
  // bounds.
  Analyzer known;
  for (const auto& [var, range] : iters) { known.bind(var, range); }
  auto outer_scope = known.enter(result.outer_predicate), inner_scope = known.enter(result.inner_predicate);
  auto is_inner = [&](const VarNode& v) { return std::any_of(sub_iters.begin(), sub_iters.end(), [&](const Var& s) { return s.get() == &v; }); };
  auto is_outer = [&](const VarNode& v) {
    return !is_inner(v) && std::any_of(iters.begin(), iters.end(), [&](const auto& i) { return i.first.get() == &v; });
  };
  for (const Expr& condition : split_conjunction(predicate ? predicate : bool_imm(true))) {
    if (known.can_prove(condition)) { continue; }
    bool inner = any_variable(condition, is_inner), outer = any_variable(condition, is_outer);
    if (inner && outer) { return {}; }
    Expr& side = inner ? result.inner_predicate : result.outer_predicate;
    side = logical_and(side, condition);
  }
  return result;
}

}  // namespace loopsmith::arith
