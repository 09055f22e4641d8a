// Finds the values of iter vars that make the needed regions: see region_solving.h. The three ways follow TVM 0.19.
#include "schedule/placement/region_solving.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/facts/bindings.h"
#include "schedule/func_tree.h"
#include "schedule/rewriting.h"
#include "schedule/threads.h"

namespace loopsmith::schedule::placement {

using arith::IntSet;

namespace {

auto end_equal(arith::Analyzer& analyzer, const Expr& a, const Expr& b) -> bool {
  if (!a || !b) { return !a && !b; }
  return analyzer.can_prove_equal(a, b);
}

auto simplified(arith::Analyzer& analyzer, const IntSet& set) -> IntSet {
  if (set.is_nothing()) { return set; }
  return IntSet::interval(set.has_lower_bound() ? analyzer.simplify(set.min()) : Expr(), set.has_upper_bound() ? analyzer.simplify(set.max()) : Expr());
}

// The common case needs no proof: a set lies within constant bounds.
auto is_within_constants(arith::Analyzer& analyzer, const IntSet& set, const IntSet& bound) -> bool {
  if (!set.has_lower_bound() || !set.has_upper_bound() || !bound.has_lower_bound() || !bound.has_upper_bound()) { return false; }
  auto low = as_int(bound.min());
  auto high = as_int(bound.max());
  return low && high && analyzer.const_int_bound(set.min()).min >= *low && analyzer.const_int_bound(set.max()).max <= *high;
}

// The same result as arith::intersect, without proofs if all ends are constants.
auto intersected(const IntSet& a, const IntSet& b) -> IntSet {
  if (!a.is_nothing() && a.has_lower_bound() && a.has_upper_bound() && b.has_lower_bound() && b.has_upper_bound()) {
    auto a_low = as_int(a.min()), a_high = as_int(a.max()), b_low = as_int(b.min()), b_high = as_int(b.max());
    if (a_low && a_high && b_low && b_high && std::max(*a_low, *b_low) <= std::min(*a_high, *b_high)) {
      return IntSet::interval(*a_low >= *b_low ? a.min() : b.min(), *a_high <= *b_high ? a.max() : b.max());
    }
  }
  return arith::intersect({a, b});
}

// The values of one iter var for which `provided`, an expression of it, covers `required`. None: the expression has an unsupported form.
struct Solved { const VarNode* var = nullptr; Needed needed; };

auto solve(const IntSet& provided, const IntSet& required, const Expr& dim_max, arith::Analyzer& analyzer, int depth) -> std::optional<Solved> {
  if (!provided.has_lower_bound() || !provided.has_upper_bound() || depth > 16) { return {}; }
  Expr provided_min = analyzer.simplify(provided.min());
  Expr provided_max = analyzer.simplify(provided.max());
  Expr low = required.has_lower_bound() ? analyzer.simplify(required.min()) : Expr();
  Expr high = required.has_upper_bound() ? analyzer.simplify(required.max()) : Expr();
  Expr zero_of_dim = zero(dim_max.dtype());
  auto map_end = [](const Expr& end, const auto& f) { return end ? f(end) : Expr(); };
  if (const Mul* product = provided_min.as<Mul>()) {
    const VarNode* var = product->a.as<VarNode>();
    Expr factor = product->b;
    if (!var) {
      var = product->b.as<VarNode>();
      factor = product->a;
    }
    if (var) {
      auto divide = [&](const Expr& e) { return floordiv(e, factor); };
      return Solved{var, {IntSet::interval(map_end(low, divide), map_end(high, divide)), IntSet::interval(zero_of_dim, divide(dim_max))}};
    }
  }
  if (!analyzer.can_prove_equal(provided_min, provided_max)) { return {}; }
  if (const VarNode* var = provided_min.as<VarNode>()) {
    return Solved{var, {IntSet::interval(low, high), IntSet::interval(zero_of_dim, dim_max)}};
  }
  if (const FloorDiv* quotient = provided_min.as<FloorDiv>()) {
    const Expr& factor = quotient->b;
    if (!analyzer.can_prove_greater_equal(factor, 1)) { return {}; }
    auto first = [&](const Expr& e) { return e * factor; };
    auto last = [&](const Expr& e) { return analyzer.simplify(e * factor + factor - one(factor.dtype())); };
    if (const VarNode* var = quotient->a.as<VarNode>()) {
      return Solved{var, {IntSet::interval(map_end(low, first), map_end(high, last)), IntSet::interval(zero_of_dim, last(dim_max))}};
    }
    return solve(IntSet::single_point(quotient->a), IntSet::interval(map_end(low, first), map_end(high, last)), dim_max, analyzer, depth + 1);
  }
  if (const FloorMod* rest = provided_min.as<FloorMod>()) {
    // A range of x % c does not bound x.
    if (const VarNode* var = rest->a.as<VarNode>()) { return Solved{var, {}}; }
    if (analyzer.can_prove_greater_equal(rest->a, 1) && analyzer.can_prove_greater_equal(rest->b, 1) && low && analyzer.can_prove_greater_equal(low, 0)) {
      return solve(IntSet::single_point(rest->a), IntSet::interval(low, Expr()), dim_max, analyzer, depth + 1);
    }
  }
  return {};
}

auto find_needed(NeededMap& map, const VarNode* var) -> Needed* {
  for (auto& [key, needed] : map) {
    if (key == var) { return &needed; }
  }
  return nullptr;
}

// Solves dimension by dimension. False: a dimension has an unsupported form.
auto update_by_dimension(const BufferNode& buffer, const Box& provided, const Box& required, arith::Analyzer& analyzer, NeededMap& map) -> bool {
  for (size_t i = 0; i < buffer.shape.size(); ++i) {
    Expr dim_max = max(buffer.shape[i] - one(buffer.shape[i].dtype()), zero(buffer.shape[i].dtype()));
    if (provided[i].can_prove_single_point(analyzer) && provided[i].min().as<IntImm>()) {
      if (!required[i].can_prove_single_point(analyzer) || !analyzer.can_prove_equal(provided[i].min(), required[i].min())) { return false; }
      continue;
    }
    auto solved = solve(provided[i], required[i], dim_max, analyzer, 0);
    if (!solved) { return false; }
    if (Needed* needed = find_needed(map, solved->var)) {
      needed->unite(solved->needed);
    } else if (!end_equal(analyzer, provided[i].min(), required[i].min()) || !end_equal(analyzer, provided[i].max(), required[i].max())) {
      return false;
    }
  }
  return true;
}

// The digits of an index such as `v0 * 4 + v1` with v1 in [0, 4). An interval of the index is an interval of each digit only if the
// digits above some position are the same at both ends, and the digits below that position take all of their values.
auto digits_of(const arith::IterSum& index, arith::Analyzer& analyzer) -> arith::IterSumNode {
  arith::IterSumNode sum = *index;
  while (sum.args.size() == 1) {
    const arith::IterSplit whole = sum.args[0];
    if (!whole.source->sum || !is_one(whole.scale) || !is_one(whole.lower_factor) || !analyzer.can_prove_equal(whole.extent, whole.source->extent)) { break; }
    Expr base = sum.base;
    sum = *whole.source->sum;
    sum.base = sum.base + base;
  }
  return sum;
}

auto is_box_of_digits(const arith::IterSumNode& sum, const IntSet& set, arith::Analyzer& analyzer) -> bool {
  size_t place = sum.args.size() - 1;
  auto above = [&](const Expr& end, const Expr& unit) { return floordiv(end - sum.base, unit); };
  for (; place > 0; --place) {
    const arith::IterSplit& digit = sum.args[place];
    auto at = [&](const Expr& end) { return floormod(above(end, digit.scale), digit.extent); };
    bool is_whole = analyzer.can_prove_equal(at(set.min()), zero(digit.extent.dtype())) && analyzer.can_prove_equal(at(set.max()), digit.extent - one(digit.extent.dtype()));
    if (!is_whole) { break; }
  }
  if (place == 0) { return true; }
  Expr unit = sum.args[place].scale * sum.args[place].extent;
  return analyzer.can_prove_equal(above(set.min(), unit), above(set.max(), unit));
}

void variables_of(const arith::IterMarkNode& mark, std::unordered_set<const VarNode*>& out) {
  if (mark.source) { post_order(mark.source, [&](const Expr& e) { if (const auto* v = e.as<VarNode>()) { out.insert(v); } }); }
  if (mark.split) { variables_of(*mark.split->source, out); }
  if (mark.sum) { for (const arith::IterSplit& split : mark.sum->args) { variables_of(*split.source, out); } }
}

// Adds the variables of all digits except the first.
void lower_variables_of(const arith::IterMarkNode& mark, std::unordered_set<const VarNode*>& out) {
  if (mark.split) { lower_variables_of(*mark.split->source, out); }
  if (!mark.sum) { return; }
  for (size_t i = 0; i < mark.sum->args.size(); ++i) {
    if (i == 0) { lower_variables_of(*mark.sum->args[i].source, out); } else { variables_of(*mark.sum->args[i].source, out); }
  }
}

// Several indices are digits of one iter var, as `v // 4` and `v % 4`. A box of them is an interval of the iter var only if the upper digits
// are single points, or the lower digits take all of their values.
auto is_box_of_parts(const std::vector<arith::IterSumNode>& digits, const Box& box, const Box& whole, arith::Analyzer& analyzer) -> bool {
  struct Part { const arith::IterMarkNode* of; int64_t unit; size_t index; };
  std::vector<Part> parts;
  for (size_t i = 0; i < digits.size(); ++i) {
    for (const arith::IterSplit& split : digits[i].args) { parts.push_back({split.source.get(), as_int(split.lower_factor).value_or(0), i}); }
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.unit != b.unit ? a.unit > b.unit : a.index < b.index; });
  for (size_t k = 0; k < parts.size(); ++k) {
    bool is_point = true;
    int count = 0;
    for (size_t j = 0; j < parts.size(); ++j) {
      if (parts[j].of != parts[k].of) { continue; }
      const IntSet& set = box[parts[j].index];
      bool is_whole = analyzer.can_prove_equal(set.min(), whole[parts[j].index].min()) && analyzer.can_prove_equal(set.max(), whole[parts[j].index].max());
      if (++count > 1 && !is_point && !is_whole) { return false; }
      is_point = is_point && set.can_prove_single_point(analyzer);
    }
  }
  return true;
}

// The usual case: each iter var is an index by itself, and its domain begins at 0. False: another case.
auto update_by_indices(const BufferNode& buffer, const Array<IterVar>& iter_vars, const std::vector<Expr>& indices, const Box& required, arith::Analyzer& analyzer,
                       NeededMap& map) -> bool {
  if (indices.size() != iter_vars.size()) { return false; }
  std::vector<const VarNode*> seen;
  for (const Expr& index : indices) {
    const auto* var = index.as<VarNode>();
    bool is_iter = var && std::find(seen.begin(), seen.end(), var) == seen.end() &&
                   std::any_of(iter_vars.begin(), iter_vars.end(), [&](const IterVar& iter) { return iter.var.get() == var && is_zero(iter.dom.min); });
    if (!is_iter) { return false; }
    seen.push_back(var);
  }
  auto between = [&](const Expr& a, const Expr& b) { return IntSet::interval(analyzer.simplify(min(a, b)), analyzer.simplify(max(a, b))); };
  for (auto& [var, needed] : map) {
    auto at = std::find(seen.begin(), seen.end(), var);
    if (at == seen.end()) { continue; }
    auto i = static_cast<size_t>(at - seen.begin());
    const Expr& extent = buffer.shape[i];
    Expr nothing = zero(extent.dtype());
    needed.unite({between(required[i].min(), required[i].max()), between(nothing, max(extent - one(extent.dtype()), nothing))});
  }
  return true;
}

// The interval of a sum of iterators when several indices are digits of it, as `(v0 * 8 + v1) // 24` and `% 24`. Each digit gives an interval of
// the sum only if the digits above are single points and those below take all of their values. None: the values form no interval.
auto interval_of_parts(const arith::IterMark& sum, const std::vector<arith::IterSumNode>& digits, const Box& box, const Box& whole, arith::Analyzer& analyzer)
    -> std::optional<IntSet> {
  struct Part { int64_t unit; size_t index; };
  std::vector<Part> parts;
  for (size_t i = 0; i < digits.size(); ++i) {
    for (const arith::IterSplit& part : digits[i].args) {
      if (!(part.source == sum)) { continue; }
      auto unit = as_int(part.lower_factor);
      if (digits[i].args.size() != 1 || !is_one(part.scale) || !unit) { return {}; }
      parts.push_back({*unit, i});
    }
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.unit > b.unit; });
  Expr low = sum->sum->base, high = sum->sum->base;
  bool is_above_point = true;
  for (const Part& part : parts) {
    const IntSet& set = box[part.index];
    bool is_whole = analyzer.can_prove_equal(set.min(), whole[part.index].min()) && analyzer.can_prove_equal(set.max(), whole[part.index].max());
    if (!is_above_point && !is_whole) { return {}; }
    is_above_point = is_above_point && set.can_prove_single_point(analyzer);
    const Expr& base = digits[part.index].base;
    Expr unit = int_imm(part.unit, set.min().dtype());
    low = low + (set.min() - base) * unit;
    high = high + (set.max() - base) * unit;
  }
  return IntSet::interval(analyzer.simplify(low), analyzer.simplify(high));
}

enum class Inverse : uint8_t { Found, None, Unsafe };

// The inverse of affine indices on boxes of their values.
class BoxInverse {
 public:
  BoxInverse(const std::vector<arith::IterSum>& indices, const Array<IterVar>& iter_vars, Box whole, arith::Analyzer& analyzer)
      : indices_(indices), iter_vars_(iter_vars), whole_(std::move(whole)), analyzer_(analyzer) {
    for (const arith::IterSum& index : indices) { digits_.push_back(digits_of(index, analyzer)); }
  }

  /// Reduces the required box, and the box of all indices, to indices that an iter value reaches: others need not be made, and are no bounds.
  void clip(Box& required) {
    auto clip_one = [&](IntSet& set, const IntSet& within) {
      if (analyzer_.can_prove(greater(set.max(), within.max()))) { set = IntSet::interval(set.min(), within.max()); }
      if (analyzer_.can_prove(less(set.min(), within.min()))) { set = IntSet::interval(within.min(), set.max()); }
    };
    for (size_t i = 0; i < required.size(); ++i) {
      const arith::IterSumNode& sum = digits_[i];
      // An index that contains the whole iter var is bounded by the iter var's domain.
      if (sum.args.empty() || (sum.args.size() == 1 && is_one(sum.args[0].lower_factor) && analyzer_.can_prove_equal(sum.args[0].extent, sum.args[0].source->extent))) { continue; }
      const IntSet reached = IntSet::interval(sum.base, sum.base + sum.args[0].scale * sum.args[0].extent - one(sum.base.dtype()));
      clip_one(required[i], reached);
      clip_one(whole_[i], reached);
    }
  }

  /// The sets of iter values for a box of indices.
  auto invert(const Box& box) -> std::unordered_map<const VarNode*, IntSet> {
    std::unordered_set<const VarNode*> open = open_variables(box);
    // An index that falls while its digit grows, as `1 - v % 2`, is largest where the digit is smallest. In a sum of rising and falling digits, the
    // ends of the sum do not give the ends of the digits.
    std::vector<Expr> low, high;
    for (size_t i = 0; i < box.size(); ++i) {
      const std::vector<arith::IterSplit>& parts = digits_[i].args;
      bool falls = std::any_of(parts.begin(), parts.end(), [](const arith::IterSplit& part) { return as_int(part.scale).value_or(1) < 0; });
      low.push_back(falls ? box[i].max() : box[i].min());
      high.push_back(falls ? box[i].min() : box[i].max());
      if (!falls || parts.size() == 1 || box[i].can_prove_single_point(analyzer_)) { continue; }
      is_exact_ = is_exact_ && is_whole(box, i);
      for (const arith::IterSplit& part : parts) { variables_of(*part.source, open); }
    }
    auto from_low = arith::inverse_affine_iter_map(indices_, low);
    auto from_high = arith::inverse_affine_iter_map(indices_, high);
    std::unordered_map<const VarNode*, IntSet> out;
    for (const auto& [var, a] : from_low) {
      const Expr& b = from_high[var];
      out.emplace(var, IntSet::interval(analyzer_.simplify(min(a, b)), analyzer_.simplify(max(a, b))));
    }
    for (const IterVar& iter : iter_vars_) { if (open.contains(iter.var.get())) { out[iter.var.get()] = IntSet::from_range(iter.dom); } }
    return out;
  }

  /// True if the boxes inverted so far have no iter values beyond those that their indices need.
  [[nodiscard]] auto is_exact() const -> bool { return is_exact_; }
  [[nodiscard]] auto whole() const -> const Box& { return whole_; }
  [[nodiscard]] auto digits() const -> const std::vector<arith::IterSumNode>& { return digits_; }

 private:
  [[nodiscard]] auto is_whole(const Box& box, size_t i) const -> bool {
    return analyzer_.can_prove_equal(box[i].min(), whole_[i].min()) && analyzer_.can_prove_equal(box[i].max(), whole_[i].max());
  }
  /// The variables of the digits that take all of their values: an interval that is not a box of digits does not bound its lower digits.
  auto open_variables(const Box& box) -> std::unordered_set<const VarNode*> {
    std::unordered_set<const VarNode*> open;
    for (size_t i = 0; i < box.size(); ++i) {
      const arith::IterSumNode& sum = digits_[i];
      if (sum.args.size() < 2 || box[i].can_prove_single_point(analyzer_) || is_box_of_digits(sum, box[i], analyzer_)) { continue; }
      is_exact_ = false;
      for (size_t k = 1; k < sum.args.size(); ++k) { variables_of(*sum.args[k].source, open); }
    }
    // The same for an iterator that consists of several iter vars, as `(v0 * 2 + v1) // 5` and `% 5`, when only a part of it is required.
    for (const arith::IterSumNode& sum : digits_) {
      for (const arith::IterSplit& part : sum.args) {
        if (!part.source->sum) { continue; }
        bool is_point = true, is_all = true;
        for (size_t i = 0; i < box.size(); ++i) {
          if (std::none_of(digits_[i].args.begin(), digits_[i].args.end(), [&](const arith::IterSplit& other) { return other.source == part.source; })) { continue; }
          is_point = is_point && box[i].can_prove_single_point(analyzer_);
          is_all = is_all && is_whole(box, i);
        }
        if (is_point || is_all) { continue; }
        if (auto all = interval_of_parts(part.source, digits_, box, whole_, analyzer_); all && is_box_of_digits(*part.source->sum, *all, analyzer_)) { continue; }
        is_exact_ = false;
        lower_variables_of(*part.source, open);
      }
    }
    return open;
  }

  const std::vector<arith::IterSum>& indices_;
  const Array<IterVar>& iter_vars_;
  Box whole_;                                  // all indices of the buffer
  std::vector<arith::IterSumNode> digits_;
  arith::Analyzer& analyzer_;
  bool is_exact_ = true;
};

auto update_by_inverse(const BufferNode& buffer, const Array<IterVar>& iter_vars, const Box& provided, Box required, Precision precision, arith::Analyzer& analyzer,
                       NeededMap& map) -> Inverse {
  std::vector<Expr> indices;
  for (const IntSet& set : provided) {
    if (!set.can_prove_single_point(analyzer)) { return Inverse::None; }
    indices.push_back(set.min());
  }
  for (const IntSet& set : required) {
    if (!set.has_lower_bound() || !set.has_upper_bound()) { return Inverse::None; }
  }
  if (update_by_indices(buffer, iter_vars, indices, required, analyzer, map)) { return Inverse::Found; }
  Domains domains;
  for (const IterVar& iter : iter_vars) { domains.emplace_back(iter.var, iter.dom); }
  auto found = arith::detect_iter_map(indices, domains, bool_imm(true), arith::IterMapLevel::Bijective, analyzer, false);
  if (found.indices.empty()) { return Inverse::None; }
  // A multiple of an iter var takes only some of the values between its bounds, so bounds alone cannot be inverted.
  if (!is_invertible(found.indices)) { return Inverse::Unsafe; }
  Box whole;
  for (const Expr& extent : buffer.shape) {
    whole.push_back(IntSet::interval(zero(extent.dtype()), max(extent - one(extent.dtype()), zero(extent.dtype()))));
  }
  BoxInverse inverse(found.indices, iter_vars, std::move(whole), analyzer);
  inverse.clip(required);
  auto doms = inverse.invert(required);
  if (precision == Precision::Exactly && (!inverse.is_exact() || !is_box_of_parts(inverse.digits(), required, inverse.whole(), analyzer))) { return Inverse::Unsafe; }
  auto bounds = inverse.invert(inverse.whole());
  for (auto& [var, needed] : map) {
    auto dom = doms.find(var);
    if (dom != doms.end()) { needed.unite({dom->second, bounds.at(var)}); }
  }
  return Inverse::Found;
}

// Splits the needed values into the loop's domain and the bounds that a predicate must check: see TVM's BlockVarDomainInfo.
void simplify(arith::Analyzer& analyzer, Needed& needed) {
  if (needed.dom.is_nothing()) {
    if (needed.bound.has_lower_bound() && needed.bound.has_upper_bound()) {
      needed.dom = simplified(analyzer, needed.bound);
      needed.bound = IntSet::nothing();
    }
    return;
  }
  needed.dom = simplified(analyzer, needed.dom);
  needed.bound = simplified(analyzer, needed.bound);
  if (is_within_constants(analyzer, needed.dom, needed.bound)) {
    needed.bound = IntSet::nothing();
    return;
  }
  IntSet both = simplified(analyzer, arith::intersect({needed.dom, needed.bound}));
  if (end_equal(analyzer, needed.dom.min(), both.min()) && end_equal(analyzer, needed.dom.max(), both.max())) {
    needed.bound = IntSet::nothing();
  } else if (end_equal(analyzer, needed.bound.min(), both.min()) && end_equal(analyzer, needed.bound.max(), both.max())) {
    needed.dom = needed.bound;
    needed.bound = IntSet::nothing();
  } else if (both.min().as<IntImm>() && both.max().as<IntImm>()) {
    needed.dom = both;
    needed.bound = IntSet::nothing();
  }
}

}  // namespace

auto solve_regions(const Block& moved, const std::vector<BufferNeed>& needs, Precision precision, arith::Analyzer& analyzer) -> Solution {
  Solution out;
  for (const IterVar& iter : moved.iter_vars) { out.needed.emplace_back(iter.var.get(), Needed{}); }
  for (const BufferNeed& need : needs) {
    if (need.required.empty()) { continue; }
    Box provided = unite(need.provided);
    Box required = unite(need.required);
    Inverse inverse = update_by_inverse(*need.buffer, moved.iter_vars, provided, required, precision, analyzer, out.needed);
    if (inverse == Inverse::Found) { continue; }
    if (inverse == Inverse::Unsafe || !update_by_dimension(*need.buffer, provided, required, analyzer, out.needed)) {
      out.unsolved = &need;
      return out;
    }
  }
  return out;
}

void settle(Needed& needed, const Range& domain, arith::Analyzer& analyzer) {
  IntSet all = IntSet::from_range(domain);
  needed.bound = needed.bound.is_nothing() ? all : intersected(needed.bound, all);
  simplify(analyzer, needed);
}

auto unite(const std::vector<Box>& boxes) -> Box {
  if (boxes.size() == 1) { return boxes.front(); }
  Box out;
  for (size_t i = 0; i < boxes.front().size(); ++i) {
    std::vector<IntSet> sets;
    for (const Box& box : boxes) { sets.push_back(box[i]); }
    out.push_back(arith::union_of(sets));
  }
  return out;
}

auto relaxed(const FuncState& func, const Place& block, const Place& under, const BufferRegion& region, Threads threads) -> Box {
  arith::DomMap domains;
  const Place* at = func.parent(block);
  for (; at && at != &under && at->is_loop(); at = func.parent(*at)) {
    domains.emplace(at->loop->var.get(), IntSet::from_range(Range{at->loop->min, at->loop->extent}));
  }
  if (threads == Threads::OfAllThatShare) {
    Name scope = region.buffer->scope();
    for (; at; at = func.parent(*at)) {
      if (at->is_loop() && at->loop->thread && is_shared_across(scope, at->loop->thread->thread_tag)) {
        domains.emplace(at->loop->var.get(), IntSet::from_range(Range{at->loop->min, at->loop->extent}));
      }
    }
  }
  // Keeps constant iter values in the type of the iter var, since ends of regions are compared with each other.
  VarMap map = bindings_of(*block.realize);
  for (const IterVar& iter : block.block()->iter_vars) { map[iter.var.get()] = cast(iter.var->dtype, map[iter.var.get()]); }
  std::vector<Range> ranges;
  for (const Range& range : region.region) { ranges.push_back(substitute(range, map)); }
  return arith::eval_set(Array<Range>(std::move(ranges)), domains);
}

auto dimension_read_across(const Block& block, const Box& provided, const Box& required, arith::Analyzer& analyzer) -> std::optional<size_t> {
  for (size_t d = 0; d < provided.size(); ++d) {
    if (!provided[d].has_lower_bound() || !provided[d].has_upper_bound() || !required[d].has_lower_bound() || !required[d].has_upper_bound()) { continue; }
    auto width = as_int(analyzer.simplify(provided[d].max() - provided[d].min()));
    auto made = as_int(analyzer.simplify(required[d].max() - required[d].min()));
    if (!width || !made) { continue; }
    const IterVar* moving = nullptr;
    bool is_single = true;
    for (const IterVar& iter : block.iter_vars) {
      if (!uses_var(provided[d].min(), [&](const VarNode& v) { return &v == iter.var.get(); })) { continue; }
      is_single = is_single && !moving;
      moving = &iter;
    }
    auto extent = moving ? as_int(moving->dom.extent) : std::nullopt;
    if (!is_single || !extent || *extent < 2) { continue; }
    Expr next = substitute(provided[d].min(), {{moving->var.get(), moving->var + one(moving->var->dtype)}});
    auto step = as_int(analyzer.simplify(next - provided[d].min()));
    if (step && *step >= 1 && *width >= *step && *made < *width + *step * (*extent - 1)) { return d; }
  }
  return {};
}

}  // namespace loopsmith::schedule::placement
