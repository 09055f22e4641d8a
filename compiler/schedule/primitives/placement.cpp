// Primitives that choose where a block runs: compute_at, reverse_compute_at. Its loops are made anew, over just the
// region that is needed in an iteration of the loop it moves under. Sources: Halide's compute_at; TensorIR (ASPLOS'23).
#include "schedule/placement.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "schedule/analysis.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/hidden.h"
#include "schedule/instances.h"
#include "schedule/primitives.h"
#include "schedule/reducers.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/fault.h"

namespace loopsmith::schedule {
namespace {

using arith::IntSet;
using Box = std::vector<IntSet>;             // a set per dimension

// The values of an iter var that are needed (`dom`), and those there are (`bound`); what runs is their intersection.
struct Needed {
  IntSet dom = IntSet::nothing();
  IntSet bound = IntSet::nothing();

  void unite(const Needed& other) {
    dom = arith::union_of({dom, other.dom});
    bound = arith::union_of({bound, other.bound});
  }
};

auto end_equal(arith::Analyzer& analyzer, const Expr& a, const Expr& b) -> bool {
  if (!a || !b) { return !a && !b; }
  return analyzer.can_prove_equal(a, b);
}

auto simplified(arith::Analyzer& analyzer, const IntSet& set) -> IntSet {
  if (set.is_nothing()) { return set; }
  return IntSet::interval(set.has_lower_bound() ? analyzer.simplify(set.min()) : Expr(), set.has_upper_bound() ? analyzer.simplify(set.max()) : Expr());
}

// The common case, without a proof: all of a set lies within bounds that are numbers.
auto is_within_constants(arith::Analyzer& analyzer, const IntSet& set, const IntSet& bound) -> bool {
  if (!set.has_lower_bound() || !set.has_upper_bound() || !bound.has_lower_bound() || !bound.has_upper_bound()) { return false; }
  auto low = as_int(bound.min());
  auto high = as_int(bound.max());
  return low && high && analyzer.const_int_bound(set.min()).min >= *low && analyzer.const_int_bound(set.max()).max <= *high;
}

// As arith::intersect, without proofs where all ends are numbers.
auto intersected(const IntSet& a, const IntSet& b) -> IntSet {
  if (!a.is_nothing() && a.has_lower_bound() && a.has_upper_bound() && b.has_lower_bound() && b.has_upper_bound()) {
    auto a_low = as_int(a.min()), a_high = as_int(a.max()), b_low = as_int(b.min()), b_high = as_int(b.max());
    if (a_low && a_high && b_low && b_high && std::max(*a_low, *b_low) <= std::min(*a_high, *b_high)) {
      return IntSet::interval(*a_low >= *b_low ? a.min() : b.min(), *a_high <= *b_high ? a.max() : b.max());
    }
  }
  return arith::intersect({a, b});
}

// Decides what becomes the loop's domain and what a predicate: see TVM's BlockVarDomainInfo.
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

// Which values of one iter var make `provided`, an expression of it, cover `required`. None: the form is not known.
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
    // Values of x % c say nothing of x.
    if (const VarNode* var = rest->a.as<VarNode>()) { return Solved{var, {}}; }
    if (analyzer.can_prove_greater_equal(rest->a, 1) && analyzer.can_prove_greater_equal(rest->b, 1) && low && analyzer.can_prove_greater_equal(low, 0)) {
      return solve(IntSet::single_point(rest->a), IntSet::interval(low, Expr()), dim_max, analyzer, depth + 1);
    }
  }
  return {};
}

using NeededMap = std::vector<std::pair<const VarNode*, Needed>>;
auto find_needed(NeededMap& map, const VarNode* var) -> Needed* {
  for (auto& [key, needed] : map) {
    if (key == var) { return &needed; }
  }
  return nullptr;
}

// Dimension by dimension. False: a dimension's form is not known.
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

// An index that is a number of several digits, `v0 * 4 + v1` with v1 in [0, 4): an interval of it is an interval of each digit only
// where the digits above some place are the same at both ends, and those below run over all of their values.
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

// Of all digits but the first.
void lower_variables_of(const arith::IterMarkNode& mark, std::unordered_set<const VarNode*>& out) {
  if (mark.split) { lower_variables_of(*mark.split->source, out); }
  if (!mark.sum) { return; }
  for (size_t i = 0; i < mark.sum->args.size(); ++i) {
    if (i == 0) { lower_variables_of(*mark.sum->args[i].source, out); } else { variables_of(*mark.sum->args[i].source, out); }
  }
}

// Indices that are parts of one iter var, `v // 4` and `v % 4`: a box of them is an interval of the iter var only where the upper parts
// are single points and the lower ones whole.
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

// The usual case: each iter var, with a domain that begins at 0, is an index. False: it is not that.
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

// By inverting the map from iter vars to indices, where it is bijective and affine. `exact`: of what is required, no part may be
// left out or added.
enum class Inverse : uint8_t { Found, None, Unsafe };
auto update_by_inverse(const BufferNode& buffer, const Array<IterVar>& iter_vars, const Box& provided, Box required, bool exact, arith::Analyzer& analyzer,
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
  // Of a multiple of an iter var only some values are indices: bounds cannot be carried back by themselves.
  if (!is_invertible(found.indices)) { return Inverse::Unsafe; }
  Box whole;
  for (const Expr& extent : buffer.shape) {
    whole.push_back(IntSet::interval(zero(extent.dtype()), max(extent - one(extent.dtype()), zero(extent.dtype()))));
  }
  std::vector<arith::IterSumNode> digits;
  for (const arith::IterSum& index : found.indices) { digits.push_back(digits_of(index, analyzer)); }
  // What no iter var reaches is not asked for, nor is it a bound of what is reached.
  auto clip = [&](IntSet& set, const IntSet& within) {
    if (analyzer.can_prove(greater(set.max(), within.max()))) { set = IntSet::interval(set.min(), within.max()); }
    if (analyzer.can_prove(less(set.min(), within.min()))) { set = IntSet::interval(within.min(), set.max()); }
  };
  for (size_t i = 0; i < required.size(); ++i) {
    const arith::IterSumNode& sum = digits[i];
    // All of an iter var is kept in its domain otherwise.
    if (sum.args.empty() || (sum.args.size() == 1 && is_one(sum.args[0].lower_factor) && analyzer.can_prove_equal(sum.args[0].extent, sum.args[0].source->extent))) { continue; }
    const IntSet reached = IntSet::interval(sum.base, sum.base + sum.args[0].scale * sum.args[0].extent - one(sum.base.dtype()));
    clip(required[i], reached);
    clip(whole[i], reached);
  }
  bool is_exact = true;
  auto invert = [&](const Box& box) {
    // Lower digits of what is no box of digits: all of their values.
    std::unordered_set<const VarNode*> open;
    for (size_t i = 0; i < box.size(); ++i) {
      const arith::IterSumNode& sum = digits[i];
      if (sum.args.size() < 2 || box[i].can_prove_single_point(analyzer) || is_box_of_digits(sum, box[i], analyzer)) { continue; }
      is_exact = false;
      for (size_t k = 1; k < sum.args.size(); ++k) { variables_of(*sum.args[k].source, open); }
    }
    // So it is with an iterator made of several, `(v0 * 2 + v1) // 5` and `% 5`, of which a part is wanted.
    for (const arith::IterSumNode& sum : digits) {
      for (const arith::IterSplit& part : sum.args) {
        if (!part.source->sum) { continue; }
        bool is_point = true, is_whole = true;
        for (size_t i = 0; i < box.size(); ++i) {
          if (std::none_of(digits[i].args.begin(), digits[i].args.end(), [&](const arith::IterSplit& other) { return other.source == part.source; })) { continue; }
          is_point = is_point && box[i].can_prove_single_point(analyzer);
          is_whole = is_whole && analyzer.can_prove_equal(box[i].min(), whole[i].min()) && analyzer.can_prove_equal(box[i].max(), whole[i].max());
        }
        if (is_point || is_whole) { continue; }
        is_exact = false;
        lower_variables_of(*part.source, open);
      }
    }
    std::vector<Expr> low, high;
    for (const IntSet& set : box) {
      low.push_back(set.min());
      high.push_back(set.max());
    }
    auto from_low = arith::inverse_affine_iter_map(found.indices, low);
    auto from_high = arith::inverse_affine_iter_map(found.indices, high);
    std::unordered_map<const VarNode*, IntSet> out;
    for (const auto& [var, a] : from_low) {
      const Expr& b = from_high[var];
      out.emplace(var, IntSet::interval(analyzer.simplify(min(a, b)), analyzer.simplify(max(a, b))));
    }
    for (const IterVar& iter : iter_vars) { if (open.contains(iter.var.get())) { out[iter.var.get()] = IntSet::from_range(iter.dom); } }
    return out;
  };
  auto doms = invert(required);
  if (exact && (!is_exact || !is_box_of_parts(digits, required, whole, analyzer))) { return Inverse::Unsafe; }
  auto bounds = invert(whole);
  for (auto& [var, needed] : map) {
    auto dom = doms.find(var);
    if (dom != doms.end()) { needed.unite({dom->second, bounds.at(var)}); }
  }
  return Inverse::Found;
}

// The region of an access while the loops below `under` run (and threads that share the buffer).
auto relaxed(const FuncState& func, const Place& block, const Place& under, const BufferRegion& region, bool over_threads) -> Box {
  arith::DomMap domains;
  const Place* at = func.parent(block);
  for (; at && at != &under && at->is_loop(); at = func.parent(*at)) {
    domains.emplace(at->loop->var.get(), IntSet::from_range(Range{at->loop->min, at->loop->extent}));
  }
  if (over_threads) {
    Name scope = region.buffer->scope();
    for (; at; at = func.parent(*at)) {
      if (at->is_loop() && at->loop->thread && is_shared_across(scope, at->loop->thread->thread_tag)) {
        domains.emplace(at->loop->var.get(), IntSet::from_range(Range{at->loop->min, at->loop->extent}));
      }
    }
  }
  // Ends of regions are compared with each other: each iter var stays a number of its own type.
  VarMap map = bindings_of(*block.realize);
  for (const IterVar& iter : block.block()->iter_vars) { map[iter.var.get()] = cast(iter.var->dtype, map[iter.var.get()]); }
  std::vector<Range> ranges;
  for (const Range& range : region.region) { ranges.push_back(substitute(range, map)); }
  return arith::eval_set(Array<Range>(std::move(ranges)), domains);
}

// Instances of the block read windows of a buffer that overlap, and an iteration makes less than all of them touch: then some window
// lies across what several iterations make. The first dimension where that is proved; none: nowhere.
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

auto blocks_in(const Stmt& stmt) -> std::vector<NodeId> {
  std::vector<NodeId> out;
  std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
    if (const auto* realize = s.as<BlockRealize>()) {
      out.push_back(realize->block->id);
      return;
    }
    visit_children(s, [](const Expr&) {}, walk);
  };
  walk(stmt);
  return out;
}

auto holds(const std::vector<NodeId>& ids, NodeId id) -> bool { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

// A position among the loop's statements behind all producers and in front of all consumers.
auto find_position(const Context& cx, const FuncState& func, const BlockArg& block, const LoopArg& loop, bool reverse, int64_t index,
                   const std::vector<NodeId>& producers, const std::vector<NodeId>& consumers) -> Result<int> {
  std::vector<Stmt> subtrees;
  if (const auto* n = loop.loop().body.as<SeqStmt>()) { subtrees = n->seq.to_vector(); } else { subtrees.push_back(loop.loop().body); }
  int count = static_cast<int>(subtrees.size());
  int last_producer = -1;
  int first_consumer = count;
  std::vector<NodeId> seen;
  for (int i = 0; i < count; ++i) {
    for (NodeId id : blocks_in(subtrees[static_cast<size_t>(i)])) {
      seen.push_back(id);
      if (holds(producers, id)) { last_producer = i; }
      if (holds(consumers, id)) { first_consumer = std::min(first_consumer, i); }
    }
  }
  if (last_producer >= first_consumer) {
    return note_loop(note_block(cx.error(Code::NoInsertionPoint).arg("block", block->name().view()).arg("loop", loop->name().view()), *block), *loop);
  }
  for (NodeId id : reverse ? producers : consumers) {
    if (holds(seen, id)) { continue; }
    const Place& other = *func.find(id);
    Diagnostic out = note_loop(cx.error(Code::NotUnderLoop).arg("block", block->name().view()).arg("loop", loop->name().view())
                                   .arg("other", other.name().view()).arg("relation", reverse ? "producer" : "consumer"), *loop);
    out.node_ids.push_back(block->id);
    out.node_ids.push_back(id);
    out.notes.push_back({other.block()->origin, fmt::format("`{}` is here", other.name().view()), id});
    out.remedies.push_back(reverse ? fmt::format("choose a loop around all producers of `{}`", block->name().view())
                                   : fmt::format("choose a loop around all consumers of `{}`, or move them under `{}` first", block->name().view(), loop->name().view()));
    return out;
  }
  // Without producers below, a block may be moved backwards: not past those who read what it writes.
  for (NodeId id : reverse ? consumers : std::vector<NodeId>()) {
    const Place& other = *func.find(id);
    if (holds(seen, id) || other.index > loop.place->index) { continue; }
    Diagnostic out = note_loop(cx.error(Code::ConsumerBefore).arg("block", block->name().view()).arg("loop", loop->name().view())
                                   .arg("other", other.name().view()), *loop);
    out.node_ids.push_back(block->id);
    out.node_ids.push_back(id);
    out.notes.push_back({other.block()->origin, fmt::format("`{}` is here", other.name().view()), id});
    return out;
  }
  if (index == -1) { return FAULT(compute_at_behind_consumer) ? count : first_consumer; }
  if (index == -2) { return last_producer + 1; }
  if (index >= last_producer + 1 && index <= first_consumer) { return static_cast<int>(index); }
  return note_loop(cx.error(Code::InsertionIndex).arg("index", index).arg("first", last_producer + 1).arg("last", first_consumer), *loop);
}

// Does a region that it declares depend on what a buffer holds?
auto loads_indices(const Block& block) -> bool {
  bool found = false;
  for (const auto* regions : {&block.reads, &block.writes}) {
    for (const BufferRegion& region : *regions) {
      for (const Range& range : region.region) { post_order(range.min, [&](const Expr& e) { found = found || e.as<BufferLoad>(); }); }
    }
  }
  return found;
}

// Does a block read what the producer writes?
auto reads_of_producer(const Place& block, const Place& producer) -> bool {
  for (const BufferRegion& read : block.block()->reads) {
    for (const BufferRegion& write : producer.block()->writes) { if (read.buffer == write.buffer) { return true; } }
  }
  return false;
}

// What a block loads from the buffers that producers write, and goes by: for a place, a divisor, a condition or the bounds of a loop. Whatever is
// read there before it is written does harm, even where a later instance overwrites what comes of it. Null: there is none.
auto goes_by(const FuncState& func, const Block& block, const std::vector<NodeId>& producers) -> const BufferNode* {
  static const Name if_then_else_name("if_then_else");
  const BufferNode* found = nullptr;
  auto look_at = [&](const Expr& expr) {
    post_order(expr, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (!load) { return; }
      for (NodeId id : producers) {
        for (const BufferRegion& write : func.find(id)->block()->writes) { if (write.buffer == load->buffer) { found = load->buffer.get(); } }
      }
    });
  };
  auto on_expr = [&](const Expr& e) {
    if (const auto* n = e.as<BufferLoad>()) { for (const Expr& index : n->indices) { look_at(index); } }
    if (const auto* n = e.as<FloorDiv>()) { look_at(n->b); }
    if (const auto* n = e.as<FloorMod>()) { look_at(n->b); }
    if (const auto* n = e.as<Div>(); n && !n->b.dtype().is_float()) { look_at(n->b); }
    if (const auto* n = e.as<Mod>(); n && !n->b.dtype().is_float()) { look_at(n->b); }
    if (const auto* n = e.as<Let>()) { look_at(n->value); }
    if (const auto* n = e.as<Call>(); n && n->op == if_then_else_name && !n->args.empty()) { look_at(n->args[0]); }
  };
  auto on_stmt = [&](const Stmt& s) {
    if (const auto* n = s.as<BufferStore>()) { for (const Expr& index : n->indices) { look_at(index); } }
    if (const auto* n = s.as<For>()) { look_at(n->min); look_at(n->extent); }
    if (const auto* n = s.as<IfThenElse>()) { look_at(n->condition); }
    if (const auto* n = s.as<LetStmt>()) { look_at(n->value); }
  };
  if (block.init) { post_order(block.init, on_stmt, on_expr); }
  post_order(block.body, on_stmt, on_expr);
  return found;
}

// Does a box hold all of another one that lies within the buffer?
auto is_within(const Box& made, const Box& needed, const BufferNode& buffer, arith::Analyzer& analyzer) -> bool {
  for (size_t i = 0; i < made.size(); ++i) {
    Expr last = buffer.shape[i] - one(buffer.shape[i].dtype());
    bool is_made = needed[i].has_lower_bound() && needed[i].has_upper_bound() && made[i].has_lower_bound() && made[i].has_upper_bound() &&
                   (analyzer.can_prove(less_equal(made[i].min(), needed[i].min())) || analyzer.can_prove(less_equal(made[i].min(), zero(last.dtype())))) &&
                   (analyzer.can_prove(less_equal(needed[i].max(), made[i].max())) || analyzer.can_prove(less_equal(last, made[i].max())));
    if (!is_made) { return false; }
  }
  return true;
}

// Does the block, with the loops it will have, read only what an iteration of `loop` writes?
auto require_written(const Context& cx, const FuncState& func, const BlockArg& block, const LoopArg& loop, const std::vector<NodeId>& producers,
                     const Domains& loops, const std::vector<Expr>& iter_values, arith::Analyzer& analyzer) -> Status {
  arith::DomMap domains;
  for (const auto& [var, range] : loops) { domains.emplace(var.get(), IntSet::from_range(range)); }
  VarMap map;
  for (size_t i = 0; i < iter_values.size(); ++i) { map.emplace(block.block().iter_vars[i].var.get(), iter_values[i]); }
  for (const BufferRegion& read : block.block().reads) {
    std::vector<Box> written;
    const Place* producer = nullptr;
    for (NodeId id : producers) {
      const Place& other = *func.find(id);
      for (const BufferRegion& write : other.block()->writes) {
        if (write.buffer != read.buffer) { continue; }
        written.push_back(relaxed(func, other, *loop, write, false));
        producer = &other;
      }
    }
    if (written.empty()) { continue; }
    Box made = unite(written);
    std::vector<Range> ranges;
    for (const Range& range : read.region) { ranges.push_back(substitute(range, map)); }
    Box needed = arith::eval_set(Array<Range>(std::move(ranges)), domains);
    if (!is_within(made, needed, *read.buffer, analyzer)) {
      Diagnostic out = note_loop(cx.error(Code::ReadsTooEarly).arg("block", block->name().view()).arg("loop", loop->name().view())
                                     .arg("buffer", read.buffer->name.view()).arg("producer", producer->name().view()), *loop);
      out.node_ids.push_back(block->id);
      out.node_ids.push_back(producer->id);
      out.notes.push_back({producer->block()->origin, fmt::format("`{}` is here", producer->name().view()), producer->id});
      out.remedies.push_back(fmt::format("choose a loop outside of `{}`", loop->name().view()));
      return out;
    }
  }
  return ok();
}

// Of a block that moves to its consumers: is what it reads of producers that share loops with it there when its instances run? Moved further
// in, it may run more of them in an iteration than it did before.
auto require_made(const Context& cx, const FuncState& func, const BlockArg& block, const LoopArg& loop, const Domains& loops, const std::vector<Expr>& iter_values,
                  const Expr& predicate, arith::Analyzer& analyzer) -> Status {
  VarMap map;
  for (size_t i = 0; i < iter_values.size(); ++i) { map.emplace(block.block().iter_vars[i].var.get(), iter_values[i]); }
  const Place* late = nullptr;
  const BufferNode* unmade = nullptr;
  for (const BufferRegion& read : block.block().reads) {
    std::vector<Box> boxes;
    const Place* outermost = nullptr;        // of the loops that the block shares with one of the producers, the innermost; of those, the outermost
    const Place* producer = nullptr;
    for (NodeId id : producers_of(func, *block)) {
      const Place& other = *func.find(id);
      const Place* shared = loop.place;
      while (shared && shared->is_loop() && !func.is_below(other, *shared)) { shared = func.parent(*shared); }
      bool is_repeated = false;
      for (const Place* at = shared; at && at->is_loop(); at = func.parent(*at)) { is_repeated = is_repeated || !is_one(at->loop->extent); }
      if (!is_repeated) { continue; }
      for (const BufferRegion& write : other.block()->writes) {
        if (write.buffer != read.buffer) { continue; }
        boxes.push_back(relaxed(func, other, *shared, write, false));
        if (!outermost || shared->index < outermost->index) { outermost = shared; }
        producer = &other;
      }
    }
    if (boxes.empty()) { continue; }
    arith::DomMap domains;
    for (const auto& [var, range] : loops) { domains.emplace(var.get(), IntSet::from_range(range)); }
    for (const Place* at = loop.place; at != outermost; at = func.parent(*at)) {
      domains.emplace(at->loop->var.get(), IntSet::from_range(Range{at->loop->min, at->loop->extent}));
    }
    std::vector<Range> ranges;
    for (const Range& range : read.region) { ranges.push_back(substitute(range, map)); }
    Box needed = arith::eval_set(Array<Range>(std::move(ranges)), domains);
    if (is_within(unite(boxes), needed, *read.buffer, analyzer)) { continue; }
    late = producer;
    unmade = read.buffer.get();
  }
  if (!late) { return ok(); }
  // The iterations themselves say what is there, where they make all of it.
  if (func.is_below(*late, *loop)) {
    auto counted = counted_replacement(func, *loop, block.block(), loops, iter_values, predicate, true);
    if (counted && !counted->reads_unmade) { return ok(); }
  }
  Diagnostic out = note_loop(cx.error(Code::ReadsTooEarly).arg("block", block->name().view()).arg("loop", loop->name().view())
                                 .arg("buffer", unmade->name.view()).arg("producer", late->name().view()), *loop);
  out.node_ids.push_back(block->id);
  out.node_ids.push_back(late->id);
  out.notes.push_back({late->block()->origin, fmt::format("`{}` is here", late->name().view()), late->id});
  return out;
}

// Is what producers reduce over the loop (or one around it) complete when an instance of the block runs? An instance that all iterations
// run, the last one included, ends up with the right values, but where earlier ones go by what is not complete.
auto require_complete_sums(const Context& cx, const FuncState& func, const BlockArg& block, const LoopArg& loop, const std::vector<NodeId>& producers,
                           const std::vector<Expr>& iter_values, const Expr& predicate, bool goes_by_them) -> Status {
  for (NodeId id : producers) {
    const Place& producer = *func.find(id);
    for (const Place* at = loop.place; at && at->is_loop(); at = func.parent(*at)) {
      if (is_one(at->loop->extent)) { continue; }
      auto is_this = [&](const VarNode& v) { return &v == at->loop->var.get(); };
      bool reduces = false;
      for (size_t i = 0; i < producer.realize->iter_values.size(); ++i) {
        reduces |= producer.block()->iter_vars[i].kind == IterKind::Reduction && uses_var(producer.realize->iter_values[i], is_this);
      }
      bool chooses = goes_by_them || uses_var(predicate, is_this) || std::any_of(iter_values.begin(), iter_values.end(), [&](const Expr& e) { return uses_var(e, is_this); });
      if (!reduces || !chooses || !reads_of_producer(*block, producer)) { continue; }
      Diagnostic out = note_loop(cx.error(Code::ReadsTooEarly).arg("block", block->name().view()).arg("loop", loop->name().view())
                                     .arg("buffer", producer.block()->writes[0].buffer->name.view()).arg("producer", producer.name().view()), *at);
      out.node_ids.push_back(block->id);
      out.node_ids.push_back(producer.id);
      out.remedies.push_back(fmt::format("choose a loop outside of `{}`, over which `{}` reduces", at->name().view(), producer.name().view()));
      return out;
    }
  }
  return ok();
}

// `max` or `min` where a block keeps the largest or smallest of what it loads; none for other updates.
auto extremum_of(const Block& block) -> std::optional<NodeKind> {
  const auto* store = block.body.as<BufferStore>();
  if (!store || !block.init) { return {}; }
  NodeKind kind = store->value.kind();
  if (kind != NodeKind::Max && kind != NodeKind::Min) { return {}; }
  const Expr& a = kind == NodeKind::Max ? store->value.as<Max>()->a : store->value.as<Min>()->a;
  const Expr& b = kind == NodeKind::Max ? store->value.as<Max>()->b : store->value.as<Min>()->b;
  const auto* kept = a.as<BufferLoad>();
  if (!kept || !(kept->buffer == store->buffer) || !b.as<BufferLoad>() || b.as<BufferLoad>()->buffer == store->buffer) { return {}; }
  return kind;
}

// Does an element of a reduction begin anew, since instances that differ in a spatial iter var make the same?
auto begins_again(const Block& block) -> bool {
  const auto* store = block.body.as<BufferStore>();
  return !store || std::any_of(block.iter_vars.begin(), block.iter_vars.end(), [&](const IterVar& iter) {
    bool is_index = std::any_of(store->indices.begin(), store->indices.end(), [&](const Expr& e) { return uses_var(e, [&](const VarNode& v) { return &v == iter.var.get(); }); });
    return iter.kind == IterKind::Spatial && !is_one(iter.dom.extent) && !is_index;
  });
}

// Does all that a block goes on with begin in its init: does it read nothing else that it writes, whatever it declares?
auto begins_all_anew(const Block& block) -> bool {
  auto is_begun = [&](const Buffer& buffer) {
    bool found = false;
    auto on_stmt = [&](const Stmt& s) {
      const auto* store = s.as<BufferStore>();
      found = found || (store && store->buffer == buffer);
    };
    if (block.init) { post_order(block.init, on_stmt, [](const Expr&) {}); }
    return found;
  };
  bool is_anew = true;
  post_order(block.body, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    is_anew = is_anew && (!load || !region_of(block.writes, load->buffer) || is_begun(load->buffer));
  });
  return is_anew;
}

// Does a block go over its elements again in iterations of a loop, or of one around it, while what it reads is still being made there?
auto is_still_made(const FuncState& func, const Place& block, const Place& loop) -> bool {
  const std::vector<NodeId> makers = producers_of(func, block);
  for (const Place* at = &loop; at && at->is_loop(); at = func.parent(*at)) {
    bool has_maker = func.is_below(block, *at) && std::any_of(makers.begin(), makers.end(), [&](NodeId id) { return func.is_below(*func.find(id), *at); });
    if (has_maker && repeats_instances(*block.realize, *at->loop)) { return true; }
  }
  return false;
}

// May instances of a reduction run more than once, and read what its producers have not finished? Where it keeps the largest
// (smallest) of what it loads, and its producers do too: what is read early is no larger than what is read at last. After the
// last init of an element all its instances run again, since loops that repeat them are no part of the iter values.
auto may_run_again(const FuncState& func, const Block& block, const Place& loop, const std::vector<NodeId>& producers, const std::vector<Expr>& iter_values, const Domains& domains,
                   const Expr& predicate) -> bool {
  auto kind = extremum_of(block);
  if (!kind) { return false; }
  for (NodeId id : producers) {
    const Place& producer = *func.find(id);
    if (!is_complete(func, producer) && (extremum_of(*producer.block()) != kind || begins_again(*producer.block()))) { return false; }
    if (is_complete(func, producer) && is_still_made(func, producer, loop)) { return false; }
    // What a predicate leaves out is not made at all yet.
    if (!keeps_domains(func, producer)) { return false; }
  }
  arith::Analyzer analyzer;
  return !arith::detect_iter_map(iter_values, domains, predicate, arith::IterMapLevel::NoCheck, analyzer, false).indices.empty();
}

// Do the loops around run the instances of a reduction in the order of its iter vars: a loop for each, in their order?
auto in_order_of_iters(const FuncState& func, const Place& block) -> bool {
  int last = -1;
  for (size_t i = 0; i < block.block()->iter_vars.size(); ++i) {
    const IterVar& iter = block.block()->iter_vars[i];
    if (iter.kind == IterKind::Spatial || is_one(iter.dom.extent)) { continue; }
    int here = -1;
    for (const Place* at : func.loops(block)) { if (at->loop->var.get() == block.realize->iter_values[i].get()) { here = at->index; } }
    if (here <= last) { return false; }
    last = here;
  }
  return true;
}

// Would threads along a loop each run the same instances of a reduction, whose sum lies in a memory that they share?
auto repeats_in_threads(const Place& block, const Stmt& around, const std::vector<Expr>& iter_values) -> bool {
  const auto& loop = *around.as<For>();
  auto thread = loop.thread ? thread_scope(loop.thread->thread_tag) : std::nullopt;
  if (!thread || is_one(loop.extent) || !block.block()->init) { return false; }
  for (const Expr& value : iter_values) {
    if (uses_var(value, [&](const VarNode& v) { return &v == loop.var.get(); })) { return false; }
  }
  return std::any_of(block.block()->writes.begin(), block.block()->writes.end(), [&](const BufferRegion& write) {
    return storage_rank(write.buffer->scope()).value_or(0) <= thread->rank;
  });
}

// Do the boxes of iter values that an iteration of a loop and a later one run, by the loops below, certainly meet: of all of its iterations, or of
// the first one? The later one is the next, or as far away as the digits that the values take of the loop wrap around.
auto meets_later(const For& loop, const std::vector<Expr>& iter_values, const Domains& below) -> bool {
  arith::DomMap domains;
  for (const auto& [var, domain] : below) { domains.emplace(var.get(), arith::IntSet::from_range(domain)); }
  auto follows = [&](const Expr& e) { return uses_var(e, [&](const VarNode& v) { return &v == loop.var.get(); }); };
  std::vector<arith::IntSet> sets;
  std::set<int64_t> distances{1};
  for (const Expr& value : iter_values) {
    sets.push_back(arith::eval_set(value, domains));
    if (!sets.back().has_lower_bound() || !sets.back().has_upper_bound()) { return false; }
    post_order(value, [&](const Expr& e) {
      const auto* mod = e.as<FloorMod>();
      auto period = mod ? as_int(mod->b) : std::nullopt;
      if (period && *period > 1 && follows(mod->a)) { distances.insert(*period); }
    });
  }
  const DataType dtype = loop.var->dtype;
  auto meets = [&](arith::Analyzer& analyzer, const Expr& at, const Expr& distance) {
    const VarMap here{{loop.var.get(), at}}, later{{loop.var.get(), at + distance}};
    return std::all_of(sets.begin(), sets.end(), [&](const arith::IntSet& set) {
      // What does not follow the loop is the same in both, or nothing runs.
      if (!follows(set.min()) && !follows(set.max())) { return true; }
      return analyzer.can_prove(less_equal(substitute(set.min(), here), substitute(set.max(), later))) &&
             analyzer.can_prove(less_equal(substitute(set.min(), later), substitute(set.max(), here)));
    });
  };
  return std::any_of(distances.begin(), distances.end(), [&](int64_t steps) {
    const Expr distance = int_imm(steps, dtype);
    arith::Analyzer any, first;
    if (any.can_prove(less_equal(loop.extent, distance))) { return false; }
    any.bind(loop.var, Range{loop.min, loop.extent - distance});
    return meets(any, loop.var, distance) || meets(first, loop.min, distance);
  });
}

// May an update of a reduction run before its init? Where the iterations are too many to be counted: where a loop that counts beyond a remainder
// drives spatial and reduction iter vars at once, so that the elements of a row need not come in their order.
auto may_update_early(const Block& block, const Domains& loops, const std::vector<Expr>& iter_values, const Expr& predicate) -> bool {
  if (auto counted = counted_late_update(block, loops, iter_values, predicate)) { return *counted; }
  std::unordered_set<const VarNode*> spatial;
  for (size_t i = 0; i < iter_values.size(); ++i) {
    if (block.iter_vars[i].kind == IterKind::Reduction) { continue; }
    post_order(iter_values[i], [&](const Expr& e) { if (const auto* v = e.as<VarNode>()) { spatial.insert(v); } });
  }
  auto is_spatial = [&](const VarNode& v) { return spatial.contains(&v); };
  auto wraps = [](const Expr& e) {
    bool found = false;
    post_order(e, [&](const Expr& part) { found = found || part.as<FloorMod>() != nullptr; });
    return found;
  };
  bool found = false;
  for (size_t i = 0; i < iter_values.size(); ++i) {
    if (block.iter_vars[i].kind != IterKind::Reduction) { continue; }
    post_order(iter_values[i], [&](const Expr& e) {
      const auto* mod = e.as<FloorMod>();
      found = found || (mod && uses_var(mod->a, is_spatial) && wraps(mod->a));
    });
  }
  return found;
}

// An iter var of which the loops around certainly do not run the whole domain, and of which more may run with new values under new loops;
// null: none is known.
auto iter_in_part(const FuncState& func, const Place& block, const std::vector<Expr>& new_values, const Domains& new_loops) -> const IterVar* {
  arith::Analyzer analyzer;
  auto sets = [](const Domains& loops) {
    arith::DomMap out;
    for (const auto& [var, domain] : loops) { out.emplace(var.get(), arith::IntSet::from_range(domain)); }
    return out;
  };
  const arith::DomMap old_domains = sets(domains_around(func, block)), new_domains = sets(new_loops);
  for (size_t i = 0; i < block.realize->iter_values.size(); ++i) {
    const IterVar& iter = block.block()->iter_vars[i];
    const arith::IntSet ran = arith::eval_set(block.realize->iter_values[i], old_domains);
    bool begins_late = ran.has_lower_bound() && analyzer.can_prove(greater(ran.min(), iter.dom.min));
    bool ends_early = ran.has_upper_bound() && analyzer.can_prove(less(ran.max() + one(ran.max().dtype()), iter.dom.min + iter.dom.extent));
    // Every second value, say.
    const arith::ModularSet stride = analyzer.modular_set(block.realize->iter_values[i]);
    if (stride.coeff > 1) {
      const arith::ModularSet there = analyzer.modular_set(new_values[i]);
      if (there.coeff % stride.coeff != 0 || (there.base - stride.base) % stride.coeff != 0) { return &iter; }
    }
    if (!begins_late && !ends_early) { continue; }
    const arith::IntSet runs = arith::eval_set(new_values[i], new_domains);
    bool begins_there = !begins_late || (runs.has_lower_bound() && analyzer.can_prove(greater_equal(runs.min(), ran.min())));
    bool ends_there = !ends_early || (runs.has_upper_bound() && analyzer.can_prove(less_equal(runs.max(), ran.max())));
    if (!begins_there || !ends_there) { return &iter; }
  }
  return nullptr;
}
}  // namespace

auto plan_placement(const Context& cx, const BlockArg& block, const LoopArg& loop, bool reverse, bool preserve_unit_loops, int64_t index)
    -> Result<Placement> {
  const FuncState& func = *block.func;
  const Block& moved = block.block();
  LOOPSMITH_TRY(scope, require_scope(cx, block));
  LOOPSMITH_CHECK(require_free_to_move(cx, func, *block));
  LOOPSMITH_CHECK(require_stage_pipeline(cx, func, *scope));
  std::vector<NodeId> producers = producers_of(func, *block);
  std::vector<NodeId> consumers = consumers_of(func, *block);
  // What it reads without saying so is not made anew under the loop: see below.
  std::erase_if(producers, [&](NodeId id) {
    auto all = func.scope_info(*scope).of_dst(block->id);
    return std::none_of(all.begin(), all.end(), [&](const Dependence& d) { return d.src == id && d.kind != DependenceKind::War && !d.is_hidden; });
  });
  LOOPSMITH_CHECK(require_complete_or_reduction(cx, func, *block));
  if (loop.func != &func || loop->scope != scope->index || func.is_below(*block, *loop)) {
    return note_loop(note_block(cx.error(Code::NotInSameScope).arg("block", block->name().view()).arg("loop", loop->name().view()), *block), *loop);
  }
  if (!reverse && is_output_block(func, *block, *scope)) {
    return note_block(cx.error(Code::OutputBlock).arg("block", block->name().view()).arg("buffer", moved.writes.empty() ? "" : moved.writes[0].buffer->name.view()), *block);
  }
  // Where a domain depends on a loop that stays behind, it has no meaning at the new place.
  for (const IterVar& iter : moved.iter_vars) {
    for (const Place* at = func.parent(*block); at && at->is_loop(); at = func.parent(*at)) {
      if (func.is_below(*loop, *at)) { continue; }
      auto is_this = [&](const VarNode& v) { return &v == at->loop->var.get(); };
      if (uses_var(iter.dom.min, is_this) || uses_var(iter.dom.extent, is_this)) {
        return note_loop(note_block(cx.error(Code::LoopDependent).arg("loop", iter.var->name.view()).arg("on", at->name().view()), *block), *at);
      }
    }
  }
  // Loops over a part of the iter vars' domains (a triangle) would be made anew over all of them.
  if (reverse) {
    LOOPSMITH_CHECK(require_independent_loops(cx, func, *block));
  }
  LOOPSMITH_TRY(removal, plan_removal(cx, func, *block));
  LOOPSMITH_TRY(position, find_position(cx, func, block, loop, reverse, index, producers, consumers));
  // What it reads without saying so must be there before the loops begin that are not around it yet.
  const Place* outermost = loop.place;
  while (func.parent(*outermost)->is_loop() && !func.is_below(*block, *func.parent(*outermost))) { outermost = func.parent(*outermost); }
  for (const Dependence& d : func.scope_info(*scope).of_dst(block->id)) {
    if (d.kind != DependenceKind::Raw) { continue; }
    // A block that nobody reads may move up, but not beyond what it reads.
    const Place& producer = *func.find(d.src);
    bool is_late = d.is_hidden ? producer.end > outermost->index : producer.index >= loop->end;
    if (!is_late) { continue; }
    Diagnostic out = note_loop(cx.error(Code::ReadsTooEarly).arg("block", block->name().view()).arg("loop", loop->name().view())
                                   .arg("buffer", d.buffer->name.view()).arg("producer", func.find(d.src)->name().view()), *loop);
    out.node_ids.push_back(block->id);
    out.node_ids.push_back(d.src);
    if (!d.is_hidden) { return out; }
    return std::move(out).remedy(fmt::format("block `{}` loads `{}` without declaring so in `T.reads`", block->name().view(), d.buffer->name.view()));
  }

  arith::Analyzer analyzer;
  for (const auto& [param, buffer] : func.func()->buffer_map) {
    for (const Expr& extent : buffer->shape) {
      if (extent.as<VarNode>()) { analyzer.mark_non_negative(extent.ref<VarNode>()); }
    }
  }
  Domains outer;
  for (const Place* at = loop.place; at && at->is_loop(); at = func.parent(*at)) {
    analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent});
    outer.insert(outer.begin(), {at->loop->var, Range{at->loop->min, at->loop->extent}});
  }

  // What one instance of the block provides, and what an iteration of the loop requires.
  std::vector<std::pair<const BufferNode*, std::pair<std::vector<Box>, std::vector<Box>>>> regions;
  for (const BufferRegion& region : reverse ? moved.reads : moved.writes) {
    Box box;
    for (const Range& range : region.region) { box.push_back(IntSet::from_range(range)); }
    auto found = std::find_if(regions.begin(), regions.end(), [&](const auto& r) { return r.first == region.buffer.get(); });
    if (found == regions.end()) { found = regions.insert(regions.end(), {region.buffer.get(), {}}); }
    found->second.first.push_back(std::move(box));
  }
  for (NodeId id : reverse ? producers : consumers) {
    const Place& other = *func.find(id);
    // Where indices are loaded, a predicate guards them; the loops that are made here would not.
    if (!is_one(other.realize->predicate) && loads_indices(*other.block())) {
      return note_block(cx.error(Code::RegionNotSolved).arg("block", block->name().view()).arg("buffer", moved.writes.empty() ? other.name().view() : moved.writes[0].buffer->name.view())
                            .arg("loop", loop->name().view()), *block);
    }
    for (const BufferRegion& region : reverse ? other.block()->writes : other.block()->reads) {
      auto found = std::find_if(regions.begin(), regions.end(), [&](const auto& r) { return r.first == region.buffer.get(); });
      if (found != regions.end()) { found->second.second.push_back(relaxed(func, other, *loop, region, !reverse)); }
    }
    // Of what it reads without saying so, anything may be needed.
    if (reverse) { continue; }
    for (const Buffer& buffer : func.hidden_reads(other)) {
      auto found = std::find_if(regions.begin(), regions.end(), [&](const auto& r) { return r.first == buffer.get(); });
      if (found == regions.end()) { continue; }
      Box whole;
      for (const Expr& extent : buffer->shape) { whole.push_back(IntSet::from_min_extent(zero(extent.dtype()), extent)); }
      found->second.second.push_back(std::move(whole));
    }
  }
  NeededMap map;
  for (const IterVar& iter : moved.iter_vars) { map.emplace_back(iter.var.get(), Needed{}); }
  for (const auto& [buffer, provided_required] : regions) {
    const auto& [provided_boxes, required_boxes] = provided_required;
    if (required_boxes.empty()) { continue; }
    Box provided = unite(provided_boxes);
    Box required = unite(required_boxes);
    Inverse inverse = update_by_inverse(*buffer, moved.iter_vars, provided, required, /*exact=*/reverse, analyzer, map);
    if (inverse == Inverse::Found) { continue; }
    if (inverse == Inverse::Unsafe || !update_by_dimension(*buffer, provided, required, analyzer, map)) {
      auto across = reverse ? dimension_read_across(moved, provided, required, analyzer) : std::nullopt;
      if (across) {
        std::vector<std::string> indices;
        for (const IntSet& set : provided) {
          bool is_point = set.can_prove_single_point(analyzer);
          std::string begin = print_script(analyzer.simplify(set.min()));
          indices.push_back(is_point ? begin : fmt::format("{}:{}", begin, print_script(analyzer.simplify(set.max() + one(set.max().dtype())))));
        }
        return note_loop(note_block(cx.error(Code::ReadsAcross).arg("block", block->name().view()).arg("loop", loop->name().view())
                                        .arg("window", fmt::format("{}[{}]", buffer->name.view(), fmt::join(indices, ", "))), *block), *loop);
      }
      return note_block(cx.error(Code::RegionNotSolved).arg("block", block->name().view()).arg("buffer", buffer->name.view()).arg("loop", loop->name().view()), *block);
    }
  }

  Domains loops;
  std::vector<Expr> iter_values;
  Expr predicate = bool_imm(true);
  bool covers_reduction = true;              // all of each reduction iter var, in each iteration of the loop
  for (size_t i = 0; i < moved.iter_vars.size(); ++i) {
    const IterVar& iter = moved.iter_vars[i];
    Needed& needed = map[i].second;
    IntSet domain = IntSet::from_range(iter.dom);
    needed.bound = needed.bound.is_nothing() ? domain : intersected(needed.bound, domain);
    simplify(analyzer, needed);
    if (needed.dom.is_nothing()) {
      return note_block(cx.error(Code::RegionNotSolved).arg("block", block->name().view()).arg("buffer", iter.var->name.view()).arg("loop", loop->name().view()), *block);
    }
    Range range = needed.dom.cover_range(iter.dom);
    if (iter.kind != IterKind::Spatial) {
      covers_reduction &= needed.bound.is_nothing() && analyzer.can_prove_equal(range.min, iter.dom.min) && analyzer.can_prove_equal(range.extent, iter.dom.extent);
    }
    // Backwards, the consumer must still make all of its output: also what does not depend on the producers (padding).
    if (reverse && iter.kind == IterKind::Spatial) {
      arith::DomMap around;
      for (const auto& [var, r] : outer) { around.emplace(var.get(), IntSet::from_range(r)); }
      IntSet hull = arith::eval_set(range, around, analyzer);
      bool lost = (hull.has_lower_bound() && analyzer.can_prove(less(iter.dom.min, hull.min()))) ||
                  (hull.has_upper_bound() && analyzer.can_prove(less(hull.max(), add(iter.dom.min, sub(iter.dom.extent, one(iter.dom.extent.dtype()))))));
      // Nor what the bounds of a producer's predicate leave out.
      lost = lost || (!needed.bound.is_nothing() && ((needed.bound.has_lower_bound() && analyzer.can_prove(less(iter.dom.min, needed.bound.min()))) ||
                                                     (needed.bound.has_upper_bound() && analyzer.can_prove(less(needed.bound.max(), add(iter.dom.min, sub(iter.dom.extent, one(iter.dom.extent.dtype()))))))));
      if (lost) {
        return note_block(cx.error(Code::RegionNotSolved).arg("block", block->name().view())
                              .arg("buffer", moved.writes.empty() ? iter.var->name.view() : moved.writes[0].buffer->name.view()).arg("loop", loop->name().view()), *block)
            .remedy(fmt::format("some values of iter var `{}` would never run: they need nothing that the loop makes", iter.var->name.view()));
      }
    }
    if (preserve_unit_loops || !is_one(range.extent)) {
      int bits = std::max(range.min.dtype().bits, range.extent.dtype().bits);
      DataType dtype = DataType::int_(bits);
      Var var = make<VarNode>(Name(fmt::format("ax{}", loops.size())), dtype, cx.made_from(moved.origin));
      Expr extent = analyzer.simplify(range.extent);
      if (FAULT(compute_at_region_short) && !is_one(extent)) { extent = analyzer.simplify(sub(extent, one(extent.dtype()))); }
      loops.emplace_back(var, Range{zero(dtype), cast(dtype, extent)});
      iter_values.push_back(range.min + var);
      analyzer.bind(var, Range{zero(dtype), cast(dtype, range.extent)});
    } else {
      // A number has the iter var's type, as in text.
      iter_values.push_back(as_int(range.min) ? cast(iter.var->dtype, range.min) : range.min);
    }
    if (needed.bound.is_nothing() || FAULT(compute_at_bound_lost)) { continue; }
    if (needed.bound.has_lower_bound()) {
      Expr lower = greater_equal(iter_values[i], needed.bound.min());
      if (!analyzer.can_prove(lower, arith::Strength::SymbolicBound)) { predicate = logical_and(predicate, lower); }
    }
    if (needed.bound.has_upper_bound()) {
      Expr upper = less(iter_values[i], needed.bound.max() + one(needed.bound.max().dtype()));
      if (!analyzer.can_prove(upper, arith::Strength::SymbolicBound)) { predicate = logical_and(predicate, upper); }
    }
  }
  predicate = analyzer.simplify(predicate);

  // Loops that look up where they begin would do so whatever predicates say, and what they look up is in no block's reads.
  for (const Expr& value : iter_values) {
    const BufferNode* looked_up = nullptr;
    post_order(value, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (load) { looked_up = load->buffer.get(); }
    });
    if (looked_up) {
      return note_block(cx.error(Code::RegionNotSolved).arg("block", block->name().view()).arg("buffer", looked_up->name.view()).arg("loop", loop->name().view()), *block)
          .remedy(fmt::format("what is needed follows from the contents of `{}`", looked_up->name.view()));
    }
  }
  // Producers that make different parts in an iteration: what runs then may need more than one of them has made.
  // So may what goes by what they made, in an instance that runs again later.
  bool goes_by_them = reverse && goes_by(func, *block->block(), producers) != nullptr;
  if (goes_by_them) {
    auto counted = counted_replacement(func, *loop, *block->block(), loops, iter_values, predicate, true);
    goes_by_them = !counted || counted->reads_unmade || counted->reads_early;
  }
  if (reverse && (regions.size() > 1 || goes_by_them) && !FAULT(reverse_compute_at_too_early)) { LOOPSMITH_CHECK(require_written(cx, func, block, loop, producers, loops, iter_values, analyzer)); }
  // What a producer sums up over the loop is complete in the last iteration only.
  if (reverse && !FAULT(reverse_compute_at_too_early)) { LOOPSMITH_CHECK(require_complete_sums(cx, func, block, loop, producers, iter_values, predicate, goes_by_them)); }
  // Under the loop, all of the reduction runs in the order of its iter vars.
  if (!is_complete(func, *block) && !(covers_reduction && in_order_of_iters(func, *block)) && !updates_commute(moved)) {
    return note_block(cx.error(Code::PaddingForm).arg("block", block->name().view()).arg("why", "it would update its elements in another order, and that matters to what it computes"), *block);
  }
  // An instance of a reduction that runs twice counts twice, unless all of it starts anew.
  if (!((is_complete(func, *block) || covers_reduction) && begins_all_anew(moved)) && !FAULT(compute_at_reduction_repeated)) {
    Domains all = outer;
    all.insert(all.end(), loops.begin(), loops.end());
    arith::Analyzer fresh;
    auto once = arith::detect_iter_map(iter_values, all, predicate, arith::IterMapLevel::Bijective, fresh, false);
    if (once.indices.empty() && !may_run_again(func, moved, *loop.place, reverse ? producers : std::vector<NodeId>(), iter_values, all, predicate)) {
      if (!begins_all_anew(moved)) {
        return note_block(note_loop(cx.error(Code::PaddingForm).arg("block", block->name().view()).arg("why", fmt::format("its instances would run again in iterations of `{}`, and they read what they have overwritten", loop->name().view())), *loop), *block);
      }
      return note_block(note_loop(cx.error(Code::ReductionRepeated).arg("block", block->name().view()).arg("loop", loop->name().view()), *loop), *block);
    }
  }
  // Iterations that run at the same time must not share a reduction.
  std::vector<NodeId> made_from = producers_of(func, *block);
  // Nor may the block, from outside, read sums that each of them has made for its own.
  for (NodeId id : made_from) { LOOPSMITH_CHECK(require_one_sum(cx, func, *func.find(id), loop.place)); }
  for (const Place* at = loop.place; at && at->is_loop(); at = func.parent(*at)) {
    if (reverse && repeats_in_threads(*block, at->stmt(), iter_values)) {
      return note_block(note_loop(cx.error(Code::ReductionShared).arg("block", block->name().view()).arg("loop", at->name().view()), *at), *block);
    }
    bool has_makers = std::any_of(made_from.begin(), made_from.end(), [&](NodeId id) { return func.is_below(*func.find(id), *at); });
    bool is_grid = (reverse || consumers.empty() || has_makers) && at->loop->thread && thread_scope(at->loop->thread->thread_tag).value_or(ThreadScope{}).rank == 0;
    if (at->loop->for_kind != ForKind::Parallel && at->loop->for_kind != ForKind::Vectorized && !is_grid) { continue; }
    if (is_one(at->loop->extent)) { continue; }
    auto is_this = [&](const VarNode& v) { return &v == at->loop->var.get(); };
    bool is_spread = false;
    for (size_t i = 0; i < iter_values.size(); ++i) {
      if (!uses_var(iter_values[i], is_this)) { continue; }
      is_spread = true;
      const IterVar& iter = moved.iter_vars[i];
      if (iter.kind == IterKind::Spatial || is_complete(func, *block)) { continue; }
      return note_block(note_loop(cx.error(Code::LoopCarried).arg("loop", at->name().view()).arg("block", block->name().view()).arg("iter", iter.var->name.view()), *at), *block);
    }
    // What each of them has for its own must be made whenever it is read: no condition from outside keeps a producer alone from running.
    if (reverse && is_spread) {
      const auto own_conditions = arith::split_conjunction(predicate);
      for (NodeId id : producers) {
        const Place& producer = *func.find(id);
        if (!func.is_below(producer, *at)) { continue; }
        for (const Expr& condition : arith::split_conjunction(producer.realize->predicate)) {
          bool is_from_outside = !uses_var(condition, [&](const VarNode& v) {
            for (const Place* inner = func.parent(producer); inner && inner != at; inner = func.parent(*inner)) {
              if (inner->is_loop() && inner->loop->var.get() == &v) { return true; }
            }
            return false;
          });
          bool is_shared = std::any_of(own_conditions.begin(), own_conditions.end(), [&](const Expr& own) { return arith::deep_equal(own, condition); });
          if (!is_from_outside || is_shared || analyzer.can_prove(condition)) { continue; }
          return note_loop(note_block(cx.error(Code::PaddingForm).arg("block", block->name().view())
                                          .arg("why", fmt::format("it would also run where `{}`, which makes what it reads, does not, in iterations of `{}` that run at the same time",
                                                                  producer.name().view(), at->name().view())), *block), *at);
        }
      }
    }
    // Iterations that share instances would read what others make. What a producer's predicate leaves out is taken for made here.
    if (reverse && is_spread) {
      Domains all = outer;
      all.insert(all.end(), loops.begin(), loops.end());
      auto shared = counted_sharing(all, at->loop->var, iter_values, predicate);
      bool is_guessed = std::any_of(producers.begin(), producers.end(), [&](NodeId id) { return !is_one(func.find(id)->realize->predicate); });
      is_spread = shared ? !*shared
                         : tells_iterations_apart(iter_values, all, predicate, at->loop->var.get(), true) || (!is_guessed && !meets_later(*at->loop, iter_values, loops));
    }
    // What other iterations make as well is computed from what this one has made.
    if (!reverse && is_spread && has_makers) {
      Domains all = outer;
      all.insert(all.end(), loops.begin(), loops.end());
      auto shared = counted_sharing(all, at->loop->var, iter_values, predicate);
      bool is_apart = shared ? !*shared : tells_iterations_apart(iter_values, all, predicate, at->loop->var.get());
      if (!is_apart) { return note_block(note_loop(cx.error(Code::IterationsShare).arg("block", block->name().view()).arg("loop", at->name().view()), *at), *block); }
    }
    // Iterations that write the same elements of what the function gives out, whatever instances they run.
    if (reverse && is_spread) {
      for (const BufferRegion& write : moved.writes) {
        if (func.allocates(*func.scope(*block), write.buffer)) { continue; }
        auto follows = [&](const VarNode& v) {
          for (size_t i = 0; i < iter_values.size(); ++i) {
            if (moved.iter_vars[i].var.get() == &v) { return uses_var(iter_values[i], is_this); }
          }
          return false;
        };
        bool is_apart = std::any_of(write.region.begin(), write.region.end(), [&](const Range& r) { return uses_var(r.min, follows) || uses_var(r.extent, follows); });
        if (!is_apart) {
          return note_block(note_loop(cx.error(block.block().init ? Code::ReductionShared : Code::IterationsShare).arg("block", block->name().view()).arg("loop", at->name().view()), *at), *block);
        }
      }
    }
    // Each iteration would do all of it, and read what the others write.
    if (!is_spread && (reverse || consumers.empty())) {
      return note_block(note_loop(cx.error(is_complete(func, *block) ? Code::IterationsShare : Code::ReductionShared).arg("block", block->name().view()).arg("loop", at->name().view()), *at), *block);
    }
  }
  if (!reverse) { LOOPSMITH_CHECK(require_made(cx, func, block, loop, loops, iter_values, predicate, analyzer)); }
  // What its loops leave out now would run: the new ones run all of the domains that is needed.
  std::vector<const VarNode*> own_iters;
  for (const IterVar& iter : moved.iter_vars) {
    if (reverse || iter.kind == IterKind::Reduction) { own_iters.push_back(iter.var.get()); }
  }
  if (!own_iters.empty() && !FAULT(reverse_compute_at_predicate_lost) && !runs_all_instances(func, *block, own_iters)) { return note_block(cx.error(Code::PredicateLost).arg("block", block->name().view()), *block); }
  // What nobody ran need not be within the buffers.
  Domains new_loops = outer;
  new_loops.insert(new_loops.end(), loops.begin(), loops.end());
  if (const IterVar* part = reverse ? nullptr : iter_in_part(func, *block, iter_values, new_loops); part && !FAULT(reverse_compute_at_predicate_lost)) {
    return note_block(cx.error(Code::PaddingForm).arg("block", block->name().view())
                          .arg("why", fmt::format("its loops run only a part of the domain of `{}`, and there all of it might run", part->var->name.view())), *block);
  }
  // A predicate that does more than keep iter vars in their domains would be lost.
  if (!FAULT(reverse_compute_at_predicate_lost) && !keeps_domains(func, *block)) { return note_block(cx.error(Code::PredicateLost).arg("block", block->name().view()), *block); }

  // What is read too early, by looking at the iterations: also of what is copied from a sum, or overwritten.
  // Of a reduction each update counts, but where it keeps the largest of what others go on to make larger.
  auto goes_on = [&](NodeId id) { return extremum_of(*func.find(id)->block()) == extremum_of(moved) && !begins_again(*func.find(id)->block()); };
  bool each_time = moved.init && !(extremum_of(moved) && std::all_of(producers.begin(), producers.end(), goes_on));
  std::optional<Replaced> counted;
  if (reverse) { counted = counted_replacement(func, *loop, moved, loops, iter_values, predicate, each_time); }
  if (moved.init && (counted ? counted->begins_late : may_update_early(moved, new_loops, iter_values, predicate))) {
    return note_block(cx.error(Code::PaddingForm).arg("block", block->name().view()).arg("why", "it would update its elements before its `T.init()` runs"), *block);
  }
  if (counted && !counted->runs_all && !FAULT(compute_at_region_short)) {
    return note_block(cx.error(Code::RegionNotSolved).arg("block", block->name().view()).arg("buffer", moved.writes.empty() ? block->name().view() : moved.writes[0].buffer->name.view())
                          .arg("loop", loop->name().view()), *block)
        .remedy("some of its instances would never run: they need nothing that the loop makes");
  }
  if (counted && counted->reads_early && !FAULT(reverse_compute_at_too_early)) {
    Diagnostic out = note_loop(cx.error(Code::ReadsTooEarly).arg("block", block->name().view()).arg("loop", loop->name().view())
                                   .arg("buffer", moved.reads.empty() ? "" : moved.reads[0].buffer->name.view())
                                   .arg("producer", producers.empty() ? "" : func.find(producers[0])->name().view()), *loop);
    out.node_ids.push_back(block->id);
    out.remedies.push_back(fmt::format("choose a loop outside of `{}`", loop->name().view()));
    return out;
  }

  Stmt nest = make<BlockRealize>(Array<Expr>(std::move(iter_values)), std::move(predicate), Ref<Block>(&moved), cx.made_from(block->realize->origin));
  nest = wrap_loops(std::move(nest), loops, cx.made_from(loop.loop().origin));
  return Placement{std::move(removal), {loop->id, position, std::move(nest)}};
}

namespace primitives {
namespace {

auto place(const Context& cx, const BlockArg& block, const LocationArg& at, bool reverse, bool preserve_unit_loops, int64_t index) -> Result<Outcome> {
  // What sample_compute_location may have decided instead of a loop.
  if (at.mark == LocationArg::Mark::Root) { return Outcome{}; }
  if (at.mark == LocationArg::Mark::Inline) { return plan_inline(cx, block, reverse); }
  LOOPSMITH_TRY(plan, plan_placement(cx, block, at, reverse, preserve_unit_loops, index));
  Outcome out;
  out.func = block.func->name();
  out.rewrite.changes.push_back(plan.removal);
  out.rewrite.inserts.push_back(plan.insertion);
  return out;
}

/// Runs a block just before it is needed, under a loop of its consumers, over the region that an iteration needs.
///
///     for i in range(64):                    for i0 in range(8):
///         B[i] = A[i] * 2.0        ==>           for ax0 in range(8):
///     for i0, i1 in T.grid(8, 8):                    B[i0 * 8 + ax0] = A[i0 * 8 + ax0] * 2.0
///         C[i0 * 8 + i1] = B[i0 * 8 + i1]        for i1 in range(8):
///                                                    C[i0 * 8 + i1] = B[i0 * 8 + i1]
///
/// Needs  a stage pipeline; a complete or reduction block that writes what its scope allocates; a loop of the same scope,
///        not around the block, with all consumers below; indices whose iter vars can be solved for; no predicate but bounds of
///        iter vars; updates that may come in another order, or keep theirs.
/// Keeps  results bit for bit; instances may run more than once where iterations need the same.
struct ComputeAt {
  struct Args { BlockArg block; LocationArg loop; bool preserve_unit_loops = false; int64_t index = -1; };
  using Plan = Outcome;
  static auto check(const Context& cx, const Args& args) -> Result<Plan> { return place(cx, args.block, args.loop, false, args.preserve_unit_loops, args.index); }
  static auto apply(const Context&, const Args&, const Plan& plan) -> Outcome { return plan; }
};

/// Runs a block as soon as it can be, under a loop of its producers, over the region that an iteration makes.
///
///     for i0, i1 in T.grid(8, 8):            for i0 in range(8):
///         B[i0 * 8 + i1] = ...               for i1 in range(8):
///     for i in range(64):          ==>               B[i0 * 8 + i1] = ...
///         C[i] = B[i] + 1.0                      for ax0 in range(8):
///                                                    C[i0 * 8 + ax0] = B[i0 * 8 + ax0] + 1.0
///
/// Needs  a stage pipeline; a complete or reduction block; a loop of the same scope, not around the block, with all
///        producers below; indices whose iter vars can be solved for; no predicate but bounds of iter vars; sums that are complete
///        when they are read; updates that may come in another order, or keep theirs.
/// Keeps  results bit for bit.
struct ReverseComputeAt {
  struct Args { BlockArg block; LocationArg loop; bool preserve_unit_loops = false; int64_t index = -1; };
  using Plan = Outcome;
  static auto check(const Context& cx, const Args& args) -> Result<Plan> { return place(cx, args.block, args.loop, true, args.preserve_unit_loops, args.index); }
  static auto apply(const Context&, const Args&, const Plan& plan) -> Outcome { return plan; }
};

// Where a block could be computed: -2 inlined, -1 where it is, else the number of a loop around its first consumer.
struct Location { int64_t index; NodeId id; };
auto list_locations(const Context& cx, const BlockArg& block) -> std::vector<Location> {
  const FuncState& func = *block.func;
  std::vector<Location> out;
  if (plan_inline(cx, block, false).ok()) { out.push_back({-2, LocationArg::inline_mark}); }
  out.push_back({-1, LocationArg::root_mark});
  std::vector<NodeId> consumers = consumers_of(func, *block);
  if (consumers.empty()) { return out; }
  const Place* boundary = func.parent(*func.find(consumers[0]));
  for (NodeId id : consumers) {
    while (boundary && !func.is_below(*func.find(id), *boundary)) { boundary = func.parent(*boundary); }
  }
  if (!boundary || !boundary->is_loop()) { return out; }
  std::vector<const Place*> loops = func.loops(*func.find(consumers[0]));
  size_t count = static_cast<size_t>(std::find(loops.begin(), loops.end(), boundary) - loops.begin()) + 1;
  if (count > loops.size()) { return out; }
  // Loops that feed spatial iter vars only, up to the last such one; none behind one that feeds others.
  std::vector<bool> is_spatial(count);
  size_t last_spatial = 0;
  bool any_spatial = false;
  for (size_t i = 0; i < count; ++i) {
    bool spatial = true;
    for (const Place* below : func.child_blocks(*loops[i])) {
      for (size_t k = 0; k < below->realize->iter_values.size(); ++k) {
        if (below->block()->iter_vars[k].kind == IterKind::Spatial) { continue; }
        spatial &= !uses_var(below->realize->iter_values[k], [&](const VarNode& v) { return &v == loops[i]->loop->var.get(); });
      }
    }
    is_spatial[i] = spatial;
    if (spatial) {
      last_spatial = i;
      any_spatial = true;
    }
  }
  bool seen_other = false;
  for (size_t i = 0; i < count; ++i) {
    if (is_one(loops[i]->loop->extent)) { continue; }
    if (is_spatial[i]) {
      if (seen_other) { break; }
    } else {
      seen_other = true;
      if (!any_spatial || i > last_spatial) { break; }
    }
    LoopArg loop;
    loop.func = block.func;
    loop.place = loops[i];
    if (plan_placement(cx, block, loop, false, true, -1).ok()) { out.push_back({static_cast<int64_t>(i), loops[i]->id}); }
  }
  return out;
}

/// Decides where a block could be computed: inlined (-2), where it is (-1), or under a loop of its first consumer.
///
/// Needs  not the root block.
struct SampleComputeLocation {
  struct Args { BlockArg block; };
  struct Plan { Location location; };
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    std::vector<Location> locations = list_locations(cx, args.block);
    if (cx.decision.is_none()) {
      size_t drawn = locations.size() == 1 ? 0 : static_cast<size_t>(cx.random.integer(0, static_cast<int64_t>(locations.size())));
      return Plan{locations[drawn]};
    }
    const int64_t* wanted = cx.decision.integer();
    if (!wanted) { return cx.error(Code::WrongDecision).arg("why", "it is not an integer"); }
    // The place decided on, or the last one before it.
    const Location* best = nullptr;
    for (const Location& location : locations) {
      if (location.index <= *wanted) { best = &location; }
    }
    return Plan{best ? *best : Location{-1, LocationArg::root_mark}};
  }
  static auto apply(const Context&, const Args&, const Plan& plan) -> Outcome {
    Outcome out;
    out.outputs.push_back(Output::loop(plan.location.id));
    out.decision = Value(plan.location.index);
    return out;
  }
};

}  // namespace

const Primitive sample_compute_location = primitive<SampleComputeLocation>("sample_compute_location", "SampleComputeLocation", "decides where a block could be computed")
    .input("block", &SampleComputeLocation::Args::block)
    .loop("location").sampling()
    .example(examples::two_stages, "l = sch.sample_compute_location(\"B\", decision=0)");
const Primitive compute_at = primitive<ComputeAt>("compute_at", "ComputeAt", "runs a block under a loop of its consumers")
    .moves_work()
    .input("block", &ComputeAt::Args::block)
    .input("loop", &ComputeAt::Args::loop).from(candidates::loops_of_consumers)
    .attr("preserve_unit_loops", &ComputeAt::Args::preserve_unit_loops, false)
    .attr("index", &ComputeAt::Args::index, -1)
    .example(examples::two_stages, "i0, i1 = sch.get_loops(\"C\")\nsch.compute_at(\"B\", i0)");
const Primitive reverse_compute_at = primitive<ReverseComputeAt>("reverse_compute_at", "ReverseComputeAt", "runs a block under a loop of its producers")
    .moves_work()
    .input("block", &ReverseComputeAt::Args::block)
    .input("loop", &ReverseComputeAt::Args::loop).from(candidates::loops_of_producers)
    .attr("preserve_unit_loops", &ReverseComputeAt::Args::preserve_unit_loops, false)
    .attr("index", &ReverseComputeAt::Args::index, -1)
    .example(examples::matmul_relu, "i, j, k = sch.get_loops(\"C\")\nsch.reverse_compute_at(\"D\", i)");

}  // namespace primitives
}  // namespace loopsmith::schedule
