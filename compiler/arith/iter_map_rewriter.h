// Rewrites indices into sums of splits of iterators. The first of two rounds collects the padding of iterators that makes divisions exact, the second
// rewrites with the padding. Private to the files of iter_map.h.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arith/iter_marks.h"

namespace loopsmith::arith {

class MapRewriter {
 public:
  MapRewriter(Analyzer& analyzer, const IterDomains& iters, IterMapLevel level, bool simplify_trivial, std::vector<std::string>& errors)
      : analyzer_(analyzer), level_(level), errors_(errors), padding_predicate_(bool_imm(false)) {
    for (const auto& [var, range] : iters) {
      if (simplify_trivial && is_one(range.extent)) {
        vars_.emplace(var.get(), IterSumNode{{}, range.min});
      } else if (is_zero(range.min)) {
        IterMark mark = mark_of(Expr(var), range.extent);
        vars_.emplace(var.get(), split_of(mark));
        inputs_.push_back(mark);
      } else {
        IterMark mark = mark_of(sub(var, range.min), range.extent);
        vars_.emplace(var.get(), IterSumNode{{split_of(mark)}, range.min});
        inputs_.push_back(mark);
      }
    }
  }

  [[nodiscard]] auto padding_predicate() const -> const Expr& { return padding_predicate_; }
  [[nodiscard]] auto requires_padding() const -> bool { return requires_padding_; }

  auto rewrite(const Expr& e) -> IterSumNode {
    IterSumNode sum = mutate(e).to_sum();
    if (sum.args.empty()) { return sum; }
    if (auto fused = fuse(sum, true)) { return std::move(*fused); }
    error("could not normalize iterators");
    return sum;
  }
  auto rewrite_and_pad(const Expr& e) -> IterSumNode {
    updates_padding_ = true;
    IterSumNode result = rewrite(e);
    updates_padding_ = false;
    return result;
  }

  auto rewrite_to_sum(const Expr& e) -> IterSumNode {
    IterSumNode sum = mutate(e).to_sum();
    if (sum.args.empty()) { return sum; }
    if (auto combined = combine_same_source(sum)) {
      sum = std::move(*combined);
      if (sum.args.empty()) { return sum; }
    }
    struct Item { int64_t scale; int symbols; IterSplit split; };
    std::vector<Item> items;
    for (IterSplit& split : sum.args) {
      int symbols = 0;
      int64_t scale = 1;
      Expr product = one(split.scale.dtype());
      each_factor(split.scale, [&](const Expr& f) {
        if (const auto* imm = f.as<IntImm>()) { scale = product_of_scales(scale, imm->value); }
        else { product = mul(product, f); ++symbols; }
      });
      if (scale != 1) { product = mul(product, constant_int(product.dtype(), scale)); }
      split.scale = product;
      items.push_back({scale, symbols, std::move(split)});
    }
    insertion_sort(items, [](const Item& a, const Item& b) {
      return a.scale != b.scale ? a.scale > b.scale : a.symbols > b.symbols;
    });
    sum.args.clear();
    for (Item& item : items) { sum.args.push_back(std::move(item.split)); }
    return sum;
  }

  // Adds the constraint lower <= e < upper.
  void constrain(const Expr& e, Expr lower, Expr upper) {
    IterSumNode sum = mutate(e).to_sum();
    Expr base = sum.base;
    if (!is_zero(base)) {
      sum.base = zero(base.dtype());
      if (lower) { lower = sub(lower, base); }
      if (upper) { upper = sub(upper, base); }
    }
    auto fused = fuse(sum, false);
    if (!fused || fused->args.size() != 1 || !is_one(fused->args[0].scale) || !fused->args[0].source->sum) {
      return error("could not normalize iterators using the constraints given");
    }
    IterSumNode structured = *fused->args[0].source->sum;
    const IterSumNode* flattened_found = find_flattened(structured);
    if (!flattened_found) { return error("could not normalize iterators using the constraints given"); }
    IterSumNode flattened = *flattened_found;
    Fused& known = *find_fused(flattened);
    Expr min = known.offset;
    Expr max = add(min, known.mark->extent);
    Expr delta = zero(min.dtype());
    if (lower) {
      Expr raised = loopsmith::max(lower, min);
      delta = sub(raised, min);
      min = raised;
    }
    // Prefers the predicate's upper bound, since it usually is the smaller one.
    if (upper) { max = analyzer_.can_prove(less_equal(upper, max)) ? upper : loopsmith::min(upper, max); }
    IterMarkNode mark = *known.mark;
    if (!is_zero(delta)) {
      std::erase_if(flattened_, [&](const auto& entry) { return sums_equal(entry.first, structured); });
      structured.base = sub(structured.base, delta);
      mark.sum = std::make_shared<IterSumNode>(structured);
      flattened_.emplace_back(structured, flattened);
    }
    mark.extent = sub(max, min);
    known.mark = std::make_shared<IterMarkNode>(std::move(mark));
    known.offset = min;
    constrained_.push_back(std::move(flattened));
  }

  // True when, for any two constraints, one contains the other or they share no iterator.
  [[nodiscard]] auto constraints_nest() const -> bool {
    for (size_t i = 0; i < constrained_.size(); ++i) {
      for (size_t j = i + 1; j < constrained_.size(); ++j) {
        int state = 0;
        for (const IterSplit& a : constrained_[i].args) {
          bool found = std::any_of(constrained_[j].args.begin(), constrained_[j].args.end(), [&](const IterSplit& b) { return splits_equal(a, b); });
          if (state == 0) { state = found ? 1 : -1; }
          else if ((state == -1) == found) { return false; }
        }
      }
    }
    return true;
  }

  // The splits of every mark must cover it without overlap; for bijections every input must be used.
  auto check(const std::vector<IterSum>& indices) -> bool {
    SplitCollector collector;
    collector.collect(indices);
    for (const auto& entry : collector.marks) { if (!covers(entry.mark, entry.splits)) { return false; } }
    if (level_ == IterMapLevel::Bijective) {
      for (const IterMark& mark : inputs_) { if (!collector.find(mark) && !is_one(mark->extent)) { return false; } }
    }
    return true;
  }

 private:
  struct Fused { IterSumNode flattened; IterMark mark; Expr offset; };
  struct Padding { IterMark mark; Expr factor, left, right; IterMark padded; };

  void error(std::string message) { errors_.push_back(std::move(message)); }

  auto find_fused(const IterSumNode& flattened) -> Fused* {
    for (Fused& f : fused_) { if (sums_equal(f.flattened, flattened)) { return &f; } }
    return nullptr;
  }
  auto find_flattened(const IterSumNode& structured) -> const IterSumNode* {
    for (const auto& [s, f] : flattened_) { if (sums_equal(s, structured)) { return &f; } }
    return nullptr;
  }

  auto divisible(const Expr& a, const Expr& b) -> bool {
    const auto* x = a.as<IntImm>();
    const auto* y = b.as<IntImm>();
    if (y && y->value == 0) { return false; }
    if (x && y) { return trunc_mod(x->value, y->value) == 0; }
    return analyzer_.can_prove_equal(a, b) || analyzer_.can_prove(equal(floormod(a, b), zero(a.dtype())));
  }

  // The unused split with the smallest lower factor above `expected`, if all unused splits are above.
  auto skip_to(const std::vector<IterSplit>& splits, const std::vector<bool>& used, const Expr& expected) -> size_t {
    size_t found = splits.size();
    for (size_t i = 0; i < splits.size(); ++i) {
      if (used[i]) { continue; }
      if (!divisible(splits[i].lower_factor, expected)) { return splits.size(); }
      if (found == splits.size() || divisible(splits[found].lower_factor, splits[i].lower_factor)) { found = i; }
    }
    return found;
  }

  auto covers(const IterMark& mark, const std::vector<IterSplit>& splits) -> bool {
    std::vector<bool> used(splits.size());
    Expr expected = one(dtype_of(*mark));
    for (size_t i = 0; i < splits.size(); ++i) {
      size_t j = 0;
      while (j < splits.size() && (used[j] || !analyzer_.can_prove_equal(splits[j].lower_factor, expected))) { ++j; }
      if (j == splits.size()) {
        if (level_ == IterMapLevel::Bijective) { return false; }
        j = skip_to(splits, used, expected);
        if (j == splits.size()) { return false; }
      }
      used[j] = true;
      expected = mul(splits[j].lower_factor, splits[j].extent);
    }
    const IterMark* origin = nullptr;
    for (const auto& [padded, original] : origins_) { if (marks_equal(padded, mark)) { origin = &original; } }
    bool full = analyzer_.can_prove_equal(expected, mark->extent);
    bool divides = full || divisible(mark->extent, expected);
    if (level_ == IterMapLevel::Bijective) {
      if (origin) { error("a bijective mapping cannot pad iterators"); return false; }
      if (!full) { error("the iterations do not traverse the full space"); return false; }
      return true;
    }
    if (!origin) {
      if (!divides) { error("the lower factor does not divide the extent of the iteration space"); return false; }
      return true;
    }
    if (level_ != IterMapLevel::Surjective) { return true; }
    const Expr& before = (*origin)->extent;
    auto reaches = [&] { return analyzer_.can_prove(greater_equal(before, expected)); };
    if (full) {
      if (splits.size() != 1) { error("dependent iterations on padded space"); return false; }
      if (analyzer_.can_prove_equal(splits[0].extent, expected) && !reaches()) {
        error("a split of a padded iteration is not surjective");
        return false;
      }
      return true;
    }
    if (!divides) { error("the lower factor does not divide the extent of the iteration space"); return false; }
    if (!reaches()) { error("the extent before padding is less than the lower factor"); return false; }
    return true;
  }

  // ---- expressions ----

  auto mutate(const Expr& e) -> Term {
    NodeKind kind = e.kind();
    if (const auto* v = e.as<VarNode>()) {
      auto it = vars_.find(v);
      return it == vars_.end() ? Term(e) : it->second;
    }
    bool known = kind == NodeKind::Add || kind == NodeKind::Sub || kind == NodeKind::Mul || kind == NodeKind::FloorDiv || kind == NodeKind::FloorMod;
    if (!known || !is_index_type(e.dtype()) || depth_ > Analyzer::State::max_depth) {
      // Other expressions must not use the iterators.
      if (e.kind() != NodeKind::IntImm && any_variable(e, [&](const VarNode& v) { return vars_.contains(&v); })) {
        error("an iterator is used in an expression that is not affine");
      }
      return e;
    }
    struct Depth { int& d; explicit Depth(int& x) : d(x) { ++d; } ~Depth() { --d; } } depth(depth_);
    const auto& n = *static_cast<const BinaryNode*>(e.get());
    Term a = mutate(n.a);
    Term b = mutate(n.b);
    if (a.expr && b.expr) {
      if (Expr folded = try_fold(kind, a.expr, b.expr)) { return folded; }
      return a.expr.same_as(n.a) && b.expr.same_as(n.b) ? e : make_binary(kind, a.expr, b.expr);
    }
    if (b.expr) { if (Expr f = fold_neutral(kind, b.expr)) { return f; } }
    // If trivial iterators leave only a base, the result is an expression without iterators.
    if ((kind == NodeKind::FloorDiv || kind == NodeKind::FloorMod) && a.sum && a.sum->args.empty() && b.expr) {
      return make_binary(kind, analyzer_.simplify(a.sum->base), b.expr);
    }
    switch (kind) {
      case NodeKind::Add: return sum_of(std::move(a), std::move(b), 1);
      case NodeKind::Sub: return sum_of(std::move(a), std::move(b), -1);
      case NodeKind::Mul: {
        if (!a.expr && !b.expr) { error("a product of two iterators is not affine"); return e; }
        if (a.expr) { std::swap(a, b); }
        if (is_zero(b.expr)) { return b.expr; }
        if (is_one(b.expr)) { return a; }
        if (a.split) { a.split->scale = mul(a.split->scale, b.expr); return a; }
        for (IterSplit& split : a.sum->args) { split.scale = mul(split.scale, b.expr); }
        a.sum->base = mul(a.sum->base, b.expr);
        return a;
      }
      default: break;
    }
    if (a.expr && is_zero(a.expr)) { return a; }
    if (!b.expr) { error("the divisor may not be an iterator"); return e; }
    if (a.expr) { error("not affine"); return e; }
    if (kind == NodeKind::FloorDiv && is_one(b.expr)) { return a; }
    auto dividend = as_one_split(std::move(a));
    if (!dividend) { return e; }
    auto result = kind == NodeKind::FloorDiv ? divide(dividend->args[0], dividend->base, b.expr) : remainder(dividend->args[0], dividend->base, b.expr);
    return result ? std::move(*result) : Term(e);
  }

  // x % 1 is 0.
  static auto fold_neutral(NodeKind kind, const Expr& b) -> Expr { return kind == NodeKind::FloorMod && is_one(b) ? zero(b.dtype()) : Expr(); }

  static void add_to(IterSumNode& lhs, IterSplit rhs, int sign) {
    for (IterSplit& l : lhs.args) {
      if (l.source == rhs.source && deep_equal(l.lower_factor, rhs.lower_factor) && deep_equal(l.extent, rhs.extent)) {
        l.scale = sign > 0 ? add(l.scale, rhs.scale) : sub(l.scale, rhs.scale);
        return;
      }
    }
    if (sign < 0) { rhs.scale = sub(zero(rhs.scale.dtype()), rhs.scale); }
    lhs.args.push_back(std::move(rhs));
  }

  static auto sum_of(Term a, Term b, int sign) -> Term {
    if (b.expr && is_zero(b.expr)) { return a; }
    if (sign > 0 && a.expr && is_zero(a.expr)) { return b; }
    IterSumNode lhs = std::move(a).to_sum();
    if (b.expr) {
      lhs.base = sign > 0 ? add(lhs.base, b.expr) : sub(lhs.base, b.expr);
      return lhs;
    }
    IterSumNode rhs = std::move(b).to_sum();
    for (IterSplit& split : rhs.args) { add_to(lhs, std::move(split), sign); }
    lhs.base = sign > 0 ? add(lhs.base, rhs.base) : sub(lhs.base, rhs.base);
    return lhs;
  }

  auto as_one_split(Term term) -> std::optional<IterSumNode> {
    IterSumNode sum = std::move(term).to_sum();
    if (sum.args.empty()) { error("the dividend is not an iterator"); return {}; }
    if (sum.args.size() == 1) { return sum; }
    auto fused = fuse(sum, true);
    if (!fused || fused->args.size() != 1) { error("the dividend cannot be written as a single fused iterator"); return {}; }
    return fused;
  }

  // Removes the common factor of scale and divisor from (split + base) // divisor or % divisor.
  struct Unscaled { IterSplit split; Expr base, divisor; };

  auto divide(IterSplit lhs, Expr base, Expr rhs) -> std::optional<Term> {
    if (is_one(rhs)) {
      if (is_zero(base)) { return Term(std::move(lhs)); }
      return Term(IterSumNode{{std::move(lhs)}, std::move(base)});
    }
    if (!is_one(lhs.scale)) {
      if (divisible(lhs.scale, rhs) && (is_zero(base) || divisible(base, rhs))) {
        lhs.scale = floordiv(lhs.scale, rhs);
        if (is_zero(base)) { return Term(std::move(lhs)); }
        return Term(IterSumNode{{std::move(lhs)}, floordiv(base, rhs)});
      }
      if (!divisible(rhs, lhs.scale) || !(is_zero(base) || divisible(base, lhs.scale))) {
        error("the scaling factor of the dividend and the divisor have no factor that cancels");
        return {};
      }
      if (!is_zero(base)) { base = floordiv(base, lhs.scale); }
      rhs = floordiv(rhs, lhs.scale);
      lhs.scale = one(rhs.dtype());
    }
    auto padded = pad(std::move(lhs), base, rhs);
    if (!padded) { return {}; }
    auto& [split, left] = *padded;
    // (iter // lower % (c1 * c2)) // c1 = iter // (lower * c1) % c2
    IterSplit result;
    if (divisible(split.extent, rhs)) {
      result = {split.source, mul(split.lower_factor, rhs), analyzer_.simplify(floordiv(split.extent, rhs)), split.scale};
    } else if (is_one(split.lower_factor) && analyzer_.can_prove_equal(split.extent, split.source->extent)) {
      result = {split.source, rhs, analyzer_.simplify(ceildiv(split.extent, rhs)), split.scale};
    } else {
      Expr extent = split.extent;
      result = {mark_of(split, extent), rhs, analyzer_.simplify(ceildiv(extent, rhs)), one(rhs.dtype())};
    }
    Expr new_base = analyzer_.simplify(floordiv(sub(base, left), rhs), 6);
    if (is_zero(new_base)) { return Term(std::move(result)); }
    return Term(IterSumNode{{std::move(result)}, std::move(new_base)});
  }

  auto remainder(IterSplit lhs, Expr base, Expr rhs) -> std::optional<Term> {
    DataType dtype = dtype_of(*lhs.source);
    if (is_one(rhs)) { return Term(zero(dtype)); }
    if (!is_one(lhs.scale)) {
      if (divisible(lhs.scale, rhs) && divisible(base, rhs)) { return Term(zero(dtype)); }
      if (!divisible(rhs, lhs.scale) || !(is_zero(base) || divisible(base, lhs.scale))) {
        error("the scaling factor of the dividend and the modulus have no factor that cancels");
        return {};
      }
      rhs = floordiv(rhs, lhs.scale);
      if (!is_zero(base)) { base = floordiv(base, lhs.scale); }
    }
    auto padded = pad(std::move(lhs), base, rhs);
    if (!padded) { return {}; }
    IterSplit& split = padded->first;
    return Term(IterSplit{split.source, split.lower_factor, rhs, split.scale});
  }

  auto approximate_lcm(const Expr& a, const Expr& b) -> Expr {
    auto parts = [](const Expr& e) -> std::pair<Expr, int64_t> {
      if (const auto* imm = e.as<IntImm>()) { return {one(e.dtype()), imm->value}; }
      if (const auto* m = e.as<Mul>()) {
        if (const auto* c = m->b.as<IntImm>()) { return {m->a, c->value}; }
        if (const auto* c = m->a.as<IntImm>()) { return {m->b, c->value}; }
      }
      return {e, 1};
    };
    auto [x, cx] = parts(a);
    auto [y, cy] = parts(b);
    int64_t gcd = gcd_of(cx, cy);
    Expr scale = constant_int(b.dtype(), gcd == 0 ? 0 : std::abs(product_of_scales(cx / gcd, cy)));
    if (analyzer_.can_prove_equal(x, y)) { return mul(x, scale); }
    if (analyzer_.can_prove(equal(floormod(x, y), zero(x.dtype())))) { return mul(x, scale); }
    if (analyzer_.can_prove(equal(floormod(y, x), zero(x.dtype())))) { return mul(y, scale); }
    return mul(mul(x, y), scale);
  }

  // Pads the mark of a split so that (split + base) is divided exactly; returns the split and the padding on its left.
  auto pad(IterSplit split, const Expr& base, const Expr& divisor) -> std::optional<std::pair<IterSplit, Expr>> {
    Expr left = analyzer_.simplify(floormod(base, divisor));
    Expr right_edge = add(left, split.extent);
    Expr right = divisible(right_edge, divisor) ? zero(divisor.dtype())
                                                : analyzer_.simplify(floormod(sub(zero(right_edge.dtype()), right_edge), divisor));
    IterMark mark = split.source;
    // Padding helps only splits that reach the end of their mark: (i % 2) % 3 is not i % 3, with any padding of i.
    bool reaches_end = analyzer_.can_prove(greater_equal(mul(split.lower_factor, split.extent), mark->extent));
    if (!reaches_end && (!is_zero(left) || !is_zero(right))) {
      error("a part of an iterator is not split evenly");
      return {};
    }
    Padding* info = nullptr;
    for (Padding& p : paddings_) { if (marks_equal(p.mark, mark)) { info = &p; break; } }
    if (updates_padding_) {
      DataType t = divisor.dtype();
      if (!info) {
        paddings_.push_back({mark, one(t), zero(t), zero(t), nullptr});
        info = &paddings_.back();
      }
      info->factor = approximate_lcm(info->factor, mul(divisor, split.lower_factor));
      if (is_zero(left) && is_zero(right)) { return std::pair(std::move(split), zero(t)); }
      requires_padding_ = true;
      info->left = loopsmith::max(info->left, mul(left, split.lower_factor));
      split.extent = analyzer_.simplify(add(add(left, split.extent), right));
      return std::pair(std::move(split), std::move(left));
    }
    if (!info || (is_zero(info->left) && divisible(mark->extent, info->factor))) {
      // Without padding, a value that does not begin at a multiple of the divisor is not divided exactly.
      if (!is_zero(left)) {
        error("a shifted iterator does not begin at a multiple of the divisor");
        return {};
      }
      return std::pair(std::move(split), std::move(left));
    }
    if (!divisible(info->factor, split.lower_factor) || !divisible(info->factor, divisor)) {
      error("the padding does not suit a split of the same iterator");
      return {};
    }
    if (!info->padded) {
      Expr mark_left = info->left;
      if (!divisible(mark_left, split.lower_factor)) {
        error("padding at the left that does not suit a split of the same iterator");
        return {};
      }
      left = floordiv(mark_left, split.lower_factor);
      Expr edge = add(mark->extent, mark_left);
      Expr mark_right = divisible(edge, info->factor) ? zero(edge.dtype()) : floormod(sub(zero(edge.dtype()), edge), info->factor);
      Expr extent = analyzer_.simplify(add(edge, mark_right));
      info->right = mark_right;
      info->padded = mark_of(IterSumNode{{split_of(mark)}, mark_left}, extent);
      origins_.emplace_back(info->padded, mark);
      Expr source = ToExpr(analyzer_).convert(*info->padded->sum);
      Expr at_left = logical_and(not_equal(mark_left, zero(mark_left.dtype())),
                                 logical_and(equal(floordiv(source, info->factor), zero(source.dtype())), less(floormod(source, info->factor), mark_left)));
      Expr at_right = logical_and(not_equal(mark_right, zero(mark_right.dtype())),
                                  logical_and(equal(floordiv(source, info->factor), floordiv(edge, info->factor)),
                                              greater_equal(floormod(source, info->factor), floormod(edge, info->factor))));
      padding_predicate_ = logical_or(padding_predicate_, logical_or(at_left, at_right));
    }
    // The padding for another split must leave this one at a multiple of its divisor.
    if (!divisible(analyzer_.simplify(sub(base, left)), divisor)) {
      error("the padding does not suit a split of the same iterator");
      return {};
    }
    split.source = info->padded;
    if (reaches_end) { split.extent = floordiv(info->padded->extent, split.lower_factor); }
    return std::pair(std::move(split), std::move(left));
  }

  // ---- fusion of sums ----

  // The split with the smallest scale: constants first, then products with the fewest factors; searches from the right.
  static auto base_index(const IterSumNode& sum, const std::vector<bool>& skip, const IterMark* source, int last = -1) -> int {
    if (last == -1) { last = static_cast<int>(sum.args.size()) - 1; }
    auto candidate = [&](int i) { return !skip[i] && (!source || *source == sum.args[i].source); };
    int best = -1;
    int64_t least = 0;
    for (int i = last; i >= 0; --i) {
      const auto* imm = candidate(i) ? sum.args[i].scale.as<IntImm>() : nullptr;
      if (!imm) { continue; }
      if (best == -1 || imm->value < least) {
        least = imm->value;
        best = i;
      } else if (imm->value == least && is_one(sum.args[i].extent) && !is_one(sum.args[best].extent)) {
        best = i;
      }
    }
    if (best != -1) { return best; }
    int fewest = 0;
    for (int i = last; i >= 0; --i) {
      if (!candidate(i)) { continue; }
      int factors = 0;
      each_factor(sum.args[i].scale, [&](const Expr&) { ++factors; });
      if (best == -1 || factors < fewest) {
        fewest = factors;
        best = i;
      }
    }
    return best;
  }

  // Searches from the right; prefers a split of extent 1, because it does not change the scale.
  auto exact_scale(const IterSumNode& sum, const std::vector<bool>& skip, const Expr& expected, const IterMark* source, int last, int first_unit) -> int {
    if (last == -1) { last = static_cast<int>(sum.args.size()) - 1; }
    int found = -1;
    for (int j = last; j >= 0; --j) {
      if (skip[j] || (source && *source != sum.args[j].source)) { continue; }
      if (!analyzer_.can_prove_equal(sum.args[j].scale, expected)) { continue; }
      if (is_one(sum.args[j].extent)) { return j; }
      if (found == -1) { found = j; }
      if (j <= first_unit) { return found; }
    }
    return found;
  }

  auto closest_smaller_scale(const IterSumNode& sum, const std::vector<bool>& skip, const Expr& expected, Expr& matched) -> int {
    int found = -1;
    for (int j = static_cast<int>(sum.args.size()) - 1; j >= 0; --j) {
      const Expr& scale = sum.args[j].scale;
      if (skip[j] || !analyzer_.can_prove_greater_equal(sub(expected, scale), 0) || !analyzer_.can_prove_greater_equal(scale, 0)) { continue; }
      if (found == -1 || analyzer_.can_prove_less(sub(matched, scale), 0)) {
        found = j;
        matched = scale;
      }
    }
    return found;
  }

  static auto first_unit_extent(const IterSumNode& sum) -> int {
    for (size_t i = 0; i < sum.args.size(); ++i) { if (is_one(sum.args[i].extent)) { return static_cast<int>(i); } }
    return static_cast<int>(sum.args.size());
  }

  // ((x // (c s)) % m) * s + (x // c) % s  ==>  (x // c) % (m s)
  auto combine_same_source(const IterSumNode& sum) -> std::optional<IterSumNode> {
    if (sum.args.size() <= 1) { return {}; }
    auto uses = [&](const IterMark& mark) {
      return std::count_if(sum.args.begin(), sum.args.end(), [&](const IterSplit& s) { return s.source == mark; });
    };
    if (std::none_of(sum.args.begin(), sum.args.end(), [&](const IterSplit& s) { return uses(s.source) > 1; })) { return {}; }
    std::vector<bool> visited(sum.args.size());
    std::vector<IterSplit> reversed;
    int first_unit = first_unit_extent(sum);
    for (int end = static_cast<int>(sum.args.size()) - 1; end >= 0;) {
      if (visited[end]) { --end; continue; }
      if (uses(sum.args[end].source) == 1) {
        visited[end] = true;
        reversed.push_back(sum.args[end--]);
        continue;
      }
      int at = base_index(sum, visited, &sum.args[end].source, end);
      visited[at] = true;
      IterSplit rhs = sum.args[at];
      while (true) {
        at = exact_scale(sum, visited, normalized_product(rhs.extent, rhs.scale), &rhs.source, end, first_unit);
        if (at == -1) { break; }
        const IterSplit& lhs = sum.args[at];
        if (!analyzer_.can_prove_equal(lhs.lower_factor, normalized_product(rhs.lower_factor, rhs.extent))) { break; }
        visited[at] = true;
        rhs.extent = normalized_product(lhs.extent, rhs.extent);
      }
      reversed.push_back(std::move(rhs));
    }
    IterSumNode result{std::vector<IterSplit>(reversed.rbegin(), reversed.rend()), sum.base};
    return result;
  }

  // Turns x1 * c1 + ... + xn * cn + base into y * cn + base, with a single fused iterator y.
  auto fuse(IterSumNode sum, bool may_stay) -> std::optional<IterSumNode> {
    if (auto combined = combine_same_source(sum)) {
      sum = std::move(*combined);
      if (sum.args.size() <= 1 && may_stay) { return sum; }
    }
    std::vector<bool> visited(sum.args.size());
    int base = base_index(sum, visited, nullptr);
    if (base == -1) { return {}; }
    Expr base_scale = sum.args[base].scale;
    if (is_zero(base_scale)) { return {}; }
    DataType dtype = sum.base.dtype();
    std::vector<IterSplit> flat, grouped;
    Expr extra_base = zero(dtype), tail = zero(dtype), expected = base_scale;
    int first_unit = first_unit_extent(sum);
    for (size_t i = 0; i < sum.args.size();) {
      Expr matched_scale;
      int at = i == 0 ? base : exact_scale(sum, visited, expected, nullptr, -1, first_unit);
      bool exact = at != -1;
      if (exact) { matched_scale = expected; }
      else if (level_ != IterMapLevel::Bijective && is_one(base_scale)) { at = closest_smaller_scale(sum, visited, expected, matched_scale); }
      if (at == -1) { return {}; }
      // The longest constraint that begins at this split.
      const IterSumNode* constraint = nullptr;
      for (const IterSumNode& c : constrained_) {
        if (splits_equal(sum.args[at], c.args.back(), false) && (!constraint || constraint->args.size() < c.args.size())) { constraint = &c; }
      }
      if (!exact) { tail = add(tail, sub(expected, matched_scale)); }
      if (constraint) {
        for (auto it = constraint->args.rbegin(); it != constraint->args.rend(); ++it) {
          size_t k = 0;
          while (k < sum.args.size() && (visited[k] || !splits_equal(sum.args[k], *it, false) ||
                                         !analyzer_.can_prove_equal(mul(it->scale, matched_scale), sum.args[k].scale))) {
            ++k;
          }
          if (k == sum.args.size()) { return {}; }
          visited[k] = true;
          flat.push_back(sum.args[k]);
        }
        const Fused* known = find_fused(*constraint);
        if (!known) { return {}; }
        grouped.push_back(split_of(known->mark, floordiv(matched_scale, base_scale)));
        extra_base = add(extra_base, mul(known->offset, matched_scale));
        expected = normalized_product(known->mark->extent, matched_scale);
        i += constraint->args.size();
      } else {
        visited[at] = true;
        IterSplit arg = sum.args[at];
        arg.scale = analyzer_.simplify(floordiv(arg.scale, base_scale));
        flat.push_back(arg);
        grouped.push_back(arg);
        expected = normalized_product(sum.args[at].extent, matched_scale);
        ++i;
      }
    }
    IterSumNode flattened{std::vector<IterSplit>(flat.rbegin(), flat.rend()), zero(dtype)};
    IterSumNode structured{std::vector<IterSplit>(grouped.rbegin(), grouped.rend()), zero(dtype)};
    if (const Fused* known = find_fused(flattened)) {
      if (!analyzer_.can_prove_equal(extra_base, mul(known->offset, base_scale))) { return {}; }
      return IterSumNode{{split_of(known->mark, base_scale)}, add(sum.base, extra_base)};
    }
    IterMark mark = mark_of(structured, add(div(expected, base_scale), tail));
    fused_.push_back({flattened, mark, extra_base});
    flattened_.emplace_back(std::move(structured), std::move(flattened));
    return IterSumNode{{split_of(mark, base_scale)}, add(sum.base, extra_base)};
  }

  Analyzer& analyzer_;
  IterMapLevel level_;
  std::vector<std::string>& errors_;
  std::unordered_map<const VarNode*, Term> vars_;
  std::vector<IterMark> inputs_;
  std::vector<Padding> paddings_;
  std::vector<std::pair<IterMark, IterMark>> origins_;         // padded, before
  bool updates_padding_ = false;
  bool requires_padding_ = false;
  Expr padding_predicate_;
  std::vector<Fused> fused_;                                   // by flattened form
  std::vector<std::pair<IterSumNode, IterSumNode>> flattened_; // structured form, flattened form
  std::vector<IterSumNode> constrained_;
  int depth_ = 0;
};

}  // namespace loopsmith::arith
