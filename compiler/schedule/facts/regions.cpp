// Compares regions of buffers: see regions.h.
#include "schedule/facts/regions.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/threads.h"

namespace loopsmith::schedule {

auto region_of(const Array<BufferRegion>& regions, const Buffer& buffer) -> const BufferRegion* {
  for (const BufferRegion& region : regions) {
    if (region.buffer == buffer) { return &region; }
  }
  return nullptr;
}

auto substitute_region(const BufferRegion& region, const VarMap& map) -> BufferRegion {
  std::vector<Range> ranges;
  ranges.reserve(region.region.size());
  for (const Range& range : region.region) { ranges.push_back(substitute(range, map)); }
  return {region.buffer, Array<Range>(std::move(ranges)), region.origin};
}


namespace {

// Proves a condition. If the proof fails and the variables have few values, tries all of them.
auto holds(const Expr& condition, arith::Analyzer& analyzer) -> bool {
  if (analyzer.can_prove(condition)) { return true; }
  std::vector<std::pair<const VarNode*, int64_t>> values;
  std::vector<arith::ConstIntBound> bounds;
  int64_t count = 1;
  bool is_small = true;
  post_order(condition, [&](const Expr& e) {
    const VarNode* var = e.as<VarNode>();
    if (!var || !is_small || std::any_of(values.begin(), values.end(), [&](const auto& v) { return v.first == var; })) { return; }
    arith::ConstIntBound bound = analyzer.const_int_bound(e);
    constexpr int64_t most = 4096;
    is_small = bound.min > -most && bound.max < most && (count *= bound.max - bound.min + 1) <= most;
    values.emplace_back(var, bound.min);
    bounds.push_back(bound);
  });
  if (!is_small) { return false; }
  while (true) {
    auto value = evaluate_integer(condition, values);
    if (!value || *value == 0) { return false; }
    size_t i = 0;
    for (; i < values.size() && values[i].second == bounds[i].max; ++i) { values[i].second = bounds[i].min; }
    if (i == values.size()) { return true; }
    ++values[i].second;
  }
}

}  // namespace

auto covers_region(const Array<Expr>& shape, const std::vector<std::vector<arith::IntSet>>& produced_regions,
            const std::vector<arith::IntSet>& consumed_region, arith::Analyzer& analyzer) -> bool {
  if (produced_regions.empty()) { return false; }
  auto produced_region = produced_regions.size() == 1 ? produced_regions.front() : arith::union_region_lower_bound(produced_regions);
  if (produced_region.size() != shape.size() || consumed_region.size() != shape.size()) { return false; }
  for (size_t i = 0; i < shape.size(); ++i) {
    arith::IntSet whole = arith::IntSet::from_min_extent(zero(shape[i].dtype()), shape[i]);
    if (produced_region[i].is_nothing()) { return false; }
    // If one set contains the other before clipping, so do their parts within the buffer.
    const arith::IntSet& made = produced_region[i];
    const arith::IntSet& used = consumed_region[i];
    bool low_is_covered = !made.has_lower_bound() || (used.has_lower_bound() && analyzer.can_prove(less_equal(made.min(), used.min())));
    if (low_is_covered && (!made.has_upper_bound() || (used.has_upper_bound() && analyzer.can_prove(less_equal(used.max(), made.max()))))) { continue; }
    arith::IntSet produced = arith::intersect({produced_region[i], whole}, analyzer);
    arith::IntSet consumed = arith::intersect({consumed_region[i], whole}, analyzer);
    auto low = [&](const arith::IntSet& set) { return analyzer.simplify(set.has_lower_bound() ? set.min() : zero(shape[i].dtype())); };
    auto high = [&](const arith::IntSet& set) { return analyzer.simplify(set.has_upper_bound() ? set.max() : shape[i] - one(shape[i].dtype())); };
    Expr condition = logical_and(less_equal(low(produced), low(consumed)), less_equal(high(consumed), high(produced)));
    if (!holds(condition, analyzer)) { return false; }
  }
  return true;
}

void bind_loops(const FuncTree& func, const Place* innermost, arith::Analyzer& analyzer) {
  std::vector<const For*> loops;
  for (const Place* at = innermost; at; at = func.parent(*at)) {
    if (at->is_loop()) { loops.push_back(at->loop); }
  }
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) { analyzer.bind((*loop)->var, Range{(*loop)->min, (*loop)->extent}); }
}

auto domains_sharing_memory(const FuncTree& func, const Place& block, const Place* above, Name storage_scope) -> std::vector<std::pair<Var, Range>> {
  std::vector<std::pair<Var, Range>> out;
  const Place* at = func.parent(block);
  for (; at && at != above && at->is_loop(); at = func.parent(*at)) {
    out.emplace_back(at->loop->var, Range{at->loop->min, at->loop->extent});
  }
  for (; at; at = func.parent(*at)) {
    if (at->is_loop() && at->loop->thread && is_shared_across(storage_scope, at->loop->thread->thread_tag)) {
      out.emplace_back(at->loop->var, Range{at->loop->min, at->loop->extent});
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

namespace {

// The points that an index range covers while loops with constant bounds run, in the simple case: `reach` points from `fixed + low` on,
// without holes. `fixed` does not depend on those loops.
struct Stretch {
  std::vector<std::pair<Expr, int64_t>> fixed;   // terms with their coefficients
  int64_t low = 0;
  int64_t reach = 0;
};

// Usual indices contain no larger numbers, and sums and products of numbers below this limit do not overflow.
constexpr int64_t plain_limit = int64_t{1} << 30;

// Each index must use loops that no other index uses. None: not the simple case.
auto stretches_of(const Array<Range>& region, const Domains& domains) -> std::optional<std::vector<Stretch>> {
  struct Term { const Range* domain; int64_t coefficient; };
  std::vector<const Range*> taken;
  auto domain_of = [&](const VarNode* var) -> const Range* {
    for (const auto& [v, range] : domains) { if (v.get() == var) { return &range; } }
    return nullptr;
  };
  std::vector<Stretch> out;
  for (const Range& range : region) {
    auto extent = as_int(range.extent);
    if (!extent || *extent < 1 || *extent > plain_limit) { return {}; }
    Stretch stretch;
    std::vector<Term> terms;
    auto add_terms = [&](const auto& self, const Expr& e, int64_t factor) -> bool {
      if (factor > plain_limit || factor < -plain_limit) { return false; }
      if (auto number = as_int(e)) {
        if (*number > plain_limit || *number < -plain_limit) { return false; }
        stretch.low += *number * factor;
        return stretch.low <= plain_limit * plain_limit / 4 && stretch.low >= -plain_limit * plain_limit / 4;
      }
      if (const auto* sum = e.as<Add>()) { return self(self, sum->a, factor) && self(self, sum->b, factor); }
      if (const auto* product = e.as<Mul>()) {
        auto number = as_int(product->b);
        if (number && *number <= plain_limit && *number >= -plain_limit) { return self(self, product->a, factor * *number); }
      }
      if (const auto* var = e.as<VarNode>()) {
        if (const Range* domain = domain_of(var)) {
          if (std::find(taken.begin(), taken.end(), domain) != taken.end()) { return false; }
          taken.push_back(domain);
          terms.push_back({domain, factor});
          return true;
        }
      } else if (uses_var(e, [&](const VarNode& v) { return domain_of(&v) != nullptr; })) {
        return false;
      }
      stretch.fixed.emplace_back(e, factor);
      return true;
    };
    if (!add_terms(add_terms, range.min, 1)) { return {}; }
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.coefficient < b.coefficient; });
    stretch.reach = *extent;
    for (const Term& term : terms) {
      auto count = as_int(term.domain->extent);
      if (!count || *count < 1 || *count > plain_limit || !is_zero(term.domain->min)) { return {}; }
      if (*count == 1) { continue; }
      if (term.coefficient < 1 || term.coefficient > stretch.reach || stretch.reach > plain_limit) { return {}; }
      stretch.reach += term.coefficient * (*count - 1);
    }
    out.push_back(std::move(stretch));
  }
  return out;
}

}  // namespace

auto covers_plainly(const Array<Range>& produced, const Domains& produced_domains, const Array<Range>& consumed, const Domains& consumed_domains) -> bool {
  if (produced.size() != consumed.size()) { return false; }
  auto made = stretches_of(produced, produced_domains);
  if (!made) { return false; }
  auto used = stretches_of(consumed, consumed_domains);
  if (!used) { return false; }
  for (size_t i = 0; i < made->size(); ++i) {
    const Stretch& m = (*made)[i];
    const Stretch& u = (*used)[i];
    if (m.low > u.low || m.low + m.reach < u.low + u.reach || m.fixed.size() != u.fixed.size()) { return false; }
    for (size_t k = 0; k < m.fixed.size(); ++k) {
      if (m.fixed[k].second != u.fixed[k].second || !arith::deep_equal(m.fixed[k].first, u.fixed[k].first)) { return false; }
    }
  }
  return true;
}

}  // namespace loopsmith::schedule
