// Dependences, block classes, affine bindings and region cover: see analysis.h. The definitions follow TensorIR and
// TVM 0.19, whose answers decide which schedules are accepted.
#include "schedule/analysis.h"

#include <algorithm>
#include <functional>
#include <cstdlib>
#include <numeric>
#include <span>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/hidden.h"
#include "schedule/instances.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"

namespace loopsmith::schedule {

// ---- dependences ---------------------------------------------------------------------------------------

namespace {

// Loads of buffers, as themselves or through a view, that a block neither declares nor makes itself.
class HiddenReads : public Visitor {
 public:
  explicit HiddenReads(const Block& block) {
    for (const BufferRegion& region : block.reads) { known_.push_back(region.buffer.get()); }
  }
  using Visitor::visit;
  std::vector<Buffer> found;

 protected:
  using Visitor::on;
  void on(const BufferLoad& n) override {
    const Buffer* buffer = &n.buffer;
    for (auto view = views_.find(buffer->get()); view != views_.end(); view = views_.find(buffer->get())) { buffer = &view->second; }
    if (std::find(known_.begin(), known_.end(), buffer->get()) == known_.end()) {
      known_.push_back(buffer->get());
      found.push_back(*buffer);
    }
    Visitor::on(n);
  }
  void on(const Block& n) override {
    for (const Buffer& buffer : n.alloc_buffers) { known_.push_back(buffer.get()); }
    for (const MatchBufferRegion& match : n.match_buffers) { views_.emplace(match.buffer.get(), match.source.buffer); }
    // A reduction loads what its init made.
    if (n.init) {
      for (const BufferRegion& region : n.writes) { known_.push_back(region.buffer.get()); }
    }
    Visitor::on(n);
  }

 private:
  std::vector<const BufferNode*> known_;
  std::unordered_map<const BufferNode*, Buffer> views_;
};

}  // namespace

auto compute_hidden_reads(const Block& block) -> std::vector<Buffer> {
  HiddenReads finder(block);
  finder.visit(Stmt(Ref<Block>(&block)));
  return std::move(finder.found);
}

static auto neighbours(const FuncState& func, const Place& block, bool producers) -> std::vector<NodeId> {
  std::vector<NodeId> out;
  const Place* scope = func.scope(block);
  if (!scope) { return out; }
  const Scope info = func.scope_info(*scope);
  auto from = producers ? info.of_dst(block.id) : std::span<const Dependence>();
  std::vector<Dependence> all = producers ? std::vector<Dependence>(from.begin(), from.end()) : info.of_src(block.id);
  for (const Dependence& d : all) {
    NodeId there = producers ? d.src : d.dst;
    if ((d.kind != DependenceKind::Raw && d.kind != DependenceKind::Waw)) { continue; }
    if (std::find(out.begin(), out.end(), there) == out.end()) { out.push_back(there); }
  }
  return out;
}
auto producers_of(const FuncState& func, const Place& block) -> std::vector<NodeId> { return neighbours(func, block, true); }
auto consumers_of(const FuncState& func, const Place& block) -> std::vector<NodeId> { return neighbours(func, block, false); }

// ---- affine bindings -----------------------------------------------------------------------------------

auto loop_domains(const FuncState& func, const Place& block, const Place* above) -> std::vector<std::pair<Var, Range>> {
  std::vector<std::pair<Var, Range>> out;
  for (const Place* at = func.parent(block); at && at != above && at->is_loop(); at = func.parent(*at)) {
    out.emplace_back(at->loop->var, Range{at->loop->min, at->loop->extent});
  }
  std::reverse(out.begin(), out.end());
  return out;
}

namespace {

// ((var // lower) % extent) * scale, or a variable itself.
struct Digit { const VarNode* var; int64_t lower, extent, scale; };

auto extent_of(const std::vector<std::pair<Var, Range>>& domains, const VarNode* var) -> int64_t {
  for (const auto& [loop, domain] : domains) {
    if (loop.get() == var) { return is_zero(domain.min) ? as_int(domain.extent).value_or(0) : 0; }
  }
  return 0;
}

// Adds the digits of a sum; false: it is not plainly one. `allows_offset`: terms without loops count as nothing.
auto add_digits(const Expr& e, int64_t scale, const std::vector<std::pair<Var, Range>>& domains, bool allows_offset, std::vector<Digit>& out) -> bool {
  if (const Add* n = e.as<Add>()) { return add_digits(n->a, scale, domains, allows_offset, out) && add_digits(n->b, scale, domains, allows_offset, out); }
  auto is_loop = [&](const VarNode& v) { return std::any_of(domains.begin(), domains.end(), [&](const auto& d) { return d.first.get() == &v; }); };
  if (allows_offset && !uses_var(e, is_loop)) { return true; }
  if (const Mul* n = e.as<Mul>()) {
    auto factor = as_int(n->b);
    return factor && *factor > 0 && *factor < (int64_t{1} << 31) && scale < (int64_t{1} << 31) && add_digits(n->a, scale * *factor, domains, allows_offset, out);
  }
  Digit digit{nullptr, 1, 0, scale};
  const Expr* at = &e;
  std::optional<int64_t> modulus;
  if (const FloorMod* n = at->as<FloorMod>()) {
    modulus = as_int(n->b);
    if (!modulus || *modulus <= 0) { return false; }
    at = &n->a;
  }
  if (const FloorDiv* n = at->as<FloorDiv>()) {
    auto lower = as_int(n->b);
    if (!lower || *lower <= 0) { return false; }
    digit.lower = *lower;
    at = &n->a;
  }
  // (v % m) // l is the digit from l up to m.
  if (const FloorMod* n = at->as<FloorMod>(); n && !modulus && digit.lower > 1) {
    auto upper = as_int(n->b);
    if (!upper || *upper <= 0 || *upper % digit.lower != 0) { return false; }
    modulus = *upper / digit.lower;
    at = &n->a;
  }
  digit.var = at->as<VarNode>();
  if (!digit.var) { return false; }
  int64_t extent = extent_of(domains, digit.var);
  if (extent <= 0 || extent % digit.lower != 0) { return false; }
  digit.extent = modulus ? *modulus : extent / digit.lower;
  if ((extent / digit.lower) % digit.extent != 0) { return false; }
  out.push_back(digit);
  return true;
}

}  // namespace

auto written_with_digits(std::span<const Expr> values, const std::vector<std::pair<Var, Range>>& domains, bool allows_offset) -> std::optional<std::vector<int64_t>> {
  std::vector<Digit> all;
  std::vector<int64_t> counts;
  for (const Expr& value : values) {
    if (is_zero(value)) { counts.push_back(1); continue; }
    size_t first = all.size();
    if (!add_digits(value, 1, domains, allows_offset, all)) { return {}; }
    // From the least digit up, each counts as many as those below it together.
    std::vector<Digit> digits;
    for (size_t i = first; i < all.size(); ++i) {
      if (all[i].extent > 1) { digits.push_back(all[i]); }
    }
    std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.scale < b.scale; });
    int64_t next = 1;
    for (const Digit& digit : digits) {
      if (digit.scale != next || __builtin_mul_overflow(next, digit.extent, &next)) { return {}; }
    }
    counts.push_back(next);
  }
  // Of each variable all digits, each once.
  std::sort(all.begin(), all.end(), [](const Digit& a, const Digit& b) { return a.var != b.var ? a.var < b.var : a.lower < b.lower; });
  for (size_t i = 0; i < all.size();) {
    int64_t next = 1;
    size_t k = i;
    for (; k < all.size() && all[k].var == all[i].var; ++k) {
      if (all[k].extent == 1 && k > i) { return {}; }
      if (all[k].lower != next) { return {}; }
      next *= all[k].extent;
    }
    if (next != extent_of(domains, all[i].var)) { return {}; }
    i = k;
  }
  return counts;
}

auto is_affine_binding(const BlockRealize& realize, const std::vector<std::pair<Var, Range>>& domains) -> bool {
  if (domains.empty()) { return true; }
  // The common case, without proofs: each iter value is a loop variable of its own, and no predicate.
  if (is_one(realize.predicate)) {
    bool is_plain = true;
    for (size_t i = 0; i < realize.iter_values.size() && is_plain; ++i) {
      const VarNode* var = realize.iter_values[i].as<VarNode>();
      is_plain = false;
      if (!var) { break; }
      for (const auto& [loop, domain] : domains) { is_plain |= loop.get() == var && is_zero(domain.min) && as_int(domain.extent).has_value(); }
      for (size_t k = 0; k < i; ++k) { is_plain &= realize.iter_values[k].get() != realize.iter_values[i].get(); }
    }
    if (is_plain) { return true; }
  }
  if (is_one(realize.predicate) && written_with_digits(realize.iter_values.to_vector(), domains)) { return true; }
  auto is_affine = [&](const std::vector<Expr>& values, const std::vector<std::pair<Var, Range>>& loops, const Expr& predicate) {
    arith::Analyzer analyzer;
    auto found = arith::detect_iter_map(values, loops, predicate, arith::IterMapLevel::Surjective, analyzer, /*simplify_trivial=*/false);
    if (found.indices.empty()) { return realize.iter_values.empty(); }
    for (const auto& sum : found.indices) {
      if (!sum->args.empty() && !is_one(sum->args.front().scale)) { return false; }
    }
    return true;
  };
  if (is_affine(realize.iter_values.to_vector(), domains, realize.predicate)) { return true; }
  // Loops that run once stand in predicates of which iter values are rid already.
  VarMap units;
  std::vector<std::pair<Var, Range>> others;
  for (const auto& [var, domain] : domains) {
    if (is_one(domain.extent)) { units[var.get()] = domain.min; } else { others.emplace_back(var, domain); }
  }
  if (units.empty() || is_one(realize.predicate)) { return false; }
  std::vector<Expr> values;
  arith::Analyzer analyzer;
  for (const Expr& value : realize.iter_values) { values.push_back(analyzer.simplify(substitute(value, units))); }
  return is_affine(values, others, analyzer.simplify(substitute(realize.predicate, units)));
}

// Surjective maps may take a value often: `i + j`, where the digit of `i` counts less than all that `j` takes.
static auto overlaps(const arith::IterSumNode& sum, arith::Analyzer& analyzer) -> bool {
  for (size_t i = 0; i < sum.args.size(); ++i) {
    const arith::IterSplit& digit = sum.args[i];
    if (i + 1 < sum.args.size()) {
      const arith::IterSplit& below = sum.args[i + 1];
      if (!analyzer.can_prove(greater_equal(digit.scale, mul(below.scale, below.extent)))) { return true; }
    }
    if (digit.source->sum && overlaps(*digit.source->sum, analyzer)) { return true; }
    if (digit.source->split && digit.source->split->source->sum && overlaps(*digit.source->split->source->sum, analyzer)) { return true; }
  }
  return false;
}

// Surjective maps may leave digits of iterators out: `i // 4`. Are all digits of whatever follows a variable used?
static auto uses_all_digits(const std::vector<arith::IterSum>& indices, const VarNode* of, arith::Analyzer& analyzer) -> bool {
  std::vector<const arith::IterMarkNode*> marks;              // that follow the variable
  std::vector<Expr> used;                                     // of each: the product of the digits' extents
  std::function<bool(const arith::IterMarkNode&)> follows;
  std::function<bool(const arith::IterSumNode&)> visit = [&](const arith::IterSumNode& sum) {
    bool any = false;
    for (const arith::IterSplit& digit : sum.args) {
      if (!follows(*digit.source)) { continue; }
      any = true;
      auto known = std::find(marks.begin(), marks.end(), digit.source.get());
      if (known == marks.end()) {
        marks.push_back(digit.source.get());
        used.push_back(digit.extent);
      } else {
        Expr& product = used[static_cast<size_t>(known - marks.begin())];
        product = mul(product, digit.extent);
      }
    }
    return any;
  };
  follows = [&](const arith::IterMarkNode& mark) {
    if (mark.sum) { return visit(*mark.sum); }
    if (mark.split) { return follows(*mark.split->source); }
    return uses_var(mark.source, [&](const VarNode& v) { return &v == of; });
  };
  for (const arith::IterSum& sum : indices) { visit(*sum); }
  for (size_t i = 0; i < marks.size(); ++i) {
    if (!analyzer.can_prove_equal(used[i], marks[i]->extent)) { return false; }
  }
  return !marks.empty();
}

auto tells_iterations_apart(const std::vector<Expr>& values, const std::vector<std::pair<Var, Range>>& domains, const Expr& predicate, const VarNode* of, bool by_all_digits) -> bool {
  std::vector<std::pair<Var, Range>> used;
  VarMap units;                                // loops that run once
  bool are_all_followed = true;
  for (const auto& [var, range] : domains) {
    auto is_this = [&](const VarNode& v) { return &v == var.get(); };
    bool is_followed = std::any_of(values.begin(), values.end(), [&](const Expr& e) { return uses_var(e, is_this); });
    if (is_one(range.extent)) { units[var.get()] = range.min; continue; }
    if (of && !is_followed && var.get() != of) { continue; }
    used.emplace_back(var, range);
    are_all_followed = are_all_followed && is_followed;
  }
  std::vector<Expr> plain;
  for (const Expr& e : values) { plain.push_back(substitute(e, units)); }
  if (used.empty()) { return true; }
  // The form that tiles and fused loops have needs no proof.
  if (are_all_followed && written_with_digits(plain, used, /*allows_offset=*/true)) { return true; }
  auto is_apart = [&](const Expr& condition) {
    arith::Analyzer analyzer;
    auto level = of ? arith::IterMapLevel::Surjective : arith::IterMapLevel::Bijective;
    auto found = arith::detect_iter_map(plain, used, condition, level, analyzer, /*simplify_trivial=*/false);
    if (found.indices.empty() || std::any_of(found.indices.begin(), found.indices.end(), [&](const arith::IterSum& sum) { return overlaps(*sum, analyzer); })) { return false; }
    return !of || !by_all_digits || uses_all_digits(found.indices, of, analyzer);
  };
  return is_apart(bool_imm(true)) || (!is_one(predicate) && is_apart(substitute(predicate, units)));
}

auto compute_affine_binding(const FuncState& func, const Place& block) -> bool {
  if (block.parent < 0) { return block.block()->iter_vars.empty(); }
  return is_affine_binding(*block.realize, loop_domains(func, block));
}

auto is_known_at(const FuncState& func, const Place* place, const VarNode& var) -> bool {
  for (const Place* at = place; at; at = func.parent(*at)) {
    if (at->is_loop()) {
      if (at->loop->var.get() == &var) { return true; }
      continue;
    }
    for (const IterVar& iter : at->block()->iter_vars) { if (iter.var.get() == &var) { return true; } }
  }
  for (const Var& param : func.func()->params) { if (param.get() == &var) { return true; } }
  for (const auto& [param, buffer] : func.func()->buffer_map) {
    for (const Expr& extent : buffer->shape) { if (uses_var(extent, [&](const VarNode& v) { return &v == &var; })) { return true; } }
  }
  return false;
}

auto bindings_of(const BlockRealize& realize) -> std::unordered_map<const VarNode*, Expr> {
  std::unordered_map<const VarNode*, Expr> out;
  for (size_t i = 0; i < realize.iter_values.size(); ++i) { out.emplace(realize.block->iter_vars[i].var.get(), realize.iter_values[i]); }
  return out;
}

// ---- region cover --------------------------------------------------------------------------------------

namespace {

auto substitute_region(const BufferRegion& region, const VarMap& map) -> BufferRegion {
  std::vector<Range> ranges;
  ranges.reserve(region.region.size());
  for (const Range& range : region.region) { ranges.push_back(substitute(range, map)); }
  return {region.buffer, Array<Range>(std::move(ranges)), region.origin};
}

// Proves a condition, at last by trying all values of its variables where they are few.
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

// Does the union of what is produced contain what is consumed?
auto covers(const Array<Expr>& shape, const std::vector<std::vector<arith::IntSet>>& produced_regions,
            const std::vector<arith::IntSet>& consumed_region, arith::Analyzer& analyzer) -> bool {
  if (produced_regions.empty()) { return false; }
  auto produced_region = produced_regions.size() == 1 ? produced_regions.front() : arith::union_region_lower_bound(produced_regions);
  if (produced_region.size() != shape.size() || consumed_region.size() != shape.size()) { return false; }
  for (size_t i = 0; i < shape.size(); ++i) {
    arith::IntSet whole = arith::IntSet::from_min_extent(zero(shape[i].dtype()), shape[i]);
    if (produced_region[i].is_nothing()) { return false; }
    // What holds of the sets as they are holds of their parts within the buffer.
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

// Loops from a place up to, not including, `above`; beyond them those threads over which the buffer is shared.
auto domains_for(const FuncState& func, const Place& block, const Place* above, Name storage_scope) -> std::vector<std::pair<Var, Range>> {
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

// What an index range goes over while loops with numbers for bounds run, where it is plain to see: the points from `fixed + low` on,
// `reach` of them, without holes. `fixed` does not depend on those loops.
struct Stretch {
  std::vector<std::pair<Expr, int64_t>> fixed;   // terms with their coefficients
  int64_t low = 0;
  int64_t reach = 0;
};

// Numbers beyond do not occur in indices that are worth a short cut; sums and products of those within do not overflow.
constexpr int64_t plain_limit = int64_t{1} << 30;

// Each index must step through loops of its own. None: it takes a proof to say.
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

// Is what is consumed plainly a part of what one block produces? False: it takes a proof to say.
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

}  // namespace

auto is_plain_child(const FuncState& func, const Place& place) -> bool {
  const Place* around = func.parent(place);
  if (!around) { return true; }
  const Stmt& body = around->is_loop() ? around->loop->body : around->block()->body;
  const StmtNode* own = place.is_loop() ? static_cast<const StmtNode*>(place.loop) : place.realize;
  if (body.get() == own) { return true; }
  const auto* all = body.as<SeqStmt>();
  return all && position_of(func, all->seq, *around, place) < all->seq.size();
}

auto always_runs(const FuncState& func, const Place& place) -> bool {
  const Place* around = func.parent(place);
  if (!around) { return true; }
  const StmtNode* own = place.is_loop() ? static_cast<const StmtNode*>(place.loop) : place.realize;
  std::function<bool(const Stmt&)> holds = [&](const Stmt& s) -> bool {
    if (s.get() == own) { return true; }
    switch (s.kind()) {
      case NodeKind::SeqStmt: {
        const auto& all = s.as<SeqStmt>()->seq;
        return position_of(func, all, *around, place) < all.size() || std::any_of(all.begin(), all.end(), holds);
      }
      case NodeKind::Allocate: return holds(s.as<Allocate>()->body);
      case NodeKind::AllocateConst: return holds(s.as<AllocateConst>()->body);
      case NodeKind::DeclBuffer: return holds(s.as<DeclBuffer>()->body);
      case NodeKind::AttrStmt: return holds(s.as<AttrStmt>()->body);
      default: return false;
    }
  };
  return holds(around->is_loop() ? around->loop->body : around->block()->body);
}

auto keeps_domain(const BlockRealize& realize, const Expr& condition) -> bool {
  arith::Analyzer analyzer;
  const auto* bound = condition.as<LT>();
  for (size_t i = 0; bound && i < realize.iter_values.size(); ++i) {
    const Range& dom = realize.block->iter_vars[i].dom;
    if (analyzer.can_prove_equal(bound->a, realize.iter_values[i]) && analyzer.can_prove_equal(bound->b, dom.min + dom.extent)) { return true; }
  }
  return false;
}

namespace {

// Does a predicate do no more than keep iter vars within their domains?
auto is_bound_of_domains(const BlockRealize& realize) -> bool {
  std::vector<Expr> parts = arith::split_conjunction(realize.predicate);
  return std::all_of(parts.begin(), parts.end(), [&](const Expr& part) { return keeps_domain(realize, part); });
}

// Is a store to the buffer under loops whose bounds vary, or under a condition? Then less may be written than a block declares.
auto stores_under_conditions(const Stmt& stmt, const Buffer& buffer, bool is_conditional) -> bool {
  if (const auto* n = stmt.as<BufferStore>()) { return is_conditional && n->buffer == buffer; }
  if (const auto* n = stmt.as<For>()) { return stores_under_conditions(n->body, buffer, is_conditional || !as_int(n->min) || !as_int(n->extent)); }
  if (const auto* n = stmt.as<IfThenElse>()) {
    return stores_under_conditions(n->then_case, buffer, true) || (n->else_case && stores_under_conditions(n->else_case, buffer, true));
  }
  // What holds for all of the domain is written there as well.
  if (const auto* n = stmt.as<BlockRealize>(); n && !is_conditional && !is_one(n->predicate)) { is_conditional = !is_bound_of_domains(*n); }
  bool found = false;
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& s) { found = found || stores_under_conditions(s, buffer, is_conditional); });
  return found;
}

// How many elements of a buffer a statement stores at most, by the loops in it; none where something else may write them, or for ever.
auto most_stored(const Stmt& stmt, const Buffer& buffer) -> std::optional<int64_t> {
  if (const auto* n = stmt.as<BufferStore>()) { return n->buffer == buffer ? n->value.dtype().lanes : 0; }
  if (const auto* n = stmt.as<Block>(); n && !n->match_buffers.empty()) { return {}; }
  bool is_known = !stmt.as<While>();
  int64_t sum = 0;
  auto add_expr = [&](const Expr& e) {
    post_order(e, [&](const Expr& part) {
      const auto* var = part.as<VarNode>();
      is_known = is_known && !(var && buffer->data.get() == var);
    });
  };
  visit_children(stmt, add_expr, [&](const Stmt& s) {
    auto inside = is_known ? most_stored(s, buffer) : std::nullopt;
    is_known = inside && !__builtin_add_overflow(sum, *inside, &sum);
  });
  const auto* loop = stmt.as<For>();
  if (!is_known || !loop || sum == 0) { return is_known ? std::optional<int64_t>(sum) : std::nullopt; }
  auto extent = as_int(loop->extent);
  if (!extent || __builtin_mul_overflow(sum, std::max<int64_t>(*extent, 0), &sum)) { return {}; }
  return sum;
}
auto size_of(const BufferRegion& region) -> std::optional<int64_t> {
  int64_t size = 1;
  for (const Range& range : region.region) {
    auto extent = as_int(range.extent);
    if (!extent || __builtin_mul_overflow(size, *extent, &size)) { return {}; }
  }
  return size;
}
auto nothing_of(const BufferRegion& region) -> BufferRegion {
  std::vector<Range> ranges;
  for (const Range& range : region.region) { ranges.push_back({range.min, zero(range.extent.dtype())}); }
  return {region.buffer, Array<Range>(std::move(ranges)), region.origin};
}

// What an instance of a block certainly writes of a buffer. A block may declare more than it writes (a part of a loop, all of the
// part); where its body stores the element itself, that element counts.
auto certain_write(const Block& block, const BufferRegion& declared) -> BufferRegion {
  bool is_point = std::all_of(declared.region.begin(), declared.region.end(), [](const Range& r) { return is_one(r.extent); });
  if (is_point) { return declared; }
  auto of_store = [&](const Stmt& s) -> std::optional<BufferRegion> {
    const auto* store = s.as<BufferStore>();
    if (!store || !(store->buffer == declared.buffer) || store->value.dtype().lanes > 1) { return {}; }
    std::vector<Range> ranges;
    for (const Expr& index : store->indices) { ranges.push_back({index, one(index.dtype())}); }
    return BufferRegion{declared.buffer, Array<Range>(std::move(ranges)), declared.origin};
  };
  if (auto found = of_store(block.body)) { return *found; }
  if (const auto* all = block.body.as<SeqStmt>()) {
    for (const Stmt& s : all->seq) {
      if (auto found = of_store(s)) { return *found; }
    }
  }
  // Too few stores leave gaps.
  auto size = size_of(declared);
  auto stored = size && block.match_buffers.empty() ? most_stored(block.body, declared.buffer) : std::nullopt;
  if (stored && *stored < *size) { return nothing_of(declared); }
  // Of loops around a block inside, the only one that stores to the buffer, what all of them write.
  Domains loops;
  Stmt body = block.body;
  auto stores = [&](const Stmt& stmt) {
    bool found = false;
    post_order(stmt, [&](const Stmt& s) {
      const auto* store = s.as<BufferStore>();
      found = found || (store && store->buffer == declared.buffer);
    }, [](const Expr&) {});
    return found;
  };
  while (true) {
    if (const auto* loop = body.as<For>()) {
      loops.emplace_back(loop->var, Range{loop->min, loop->extent});
      body = loop->body;
    } else if (const auto* all = body.as<SeqStmt>()) {
      const Stmt* only = nullptr;
      for (const Stmt& s : all->seq) {
        if (!stores(s)) { continue; }
        if (only) { return declared; }
        only = &s;
      }
      if (!only) { return declared; }
      body = Stmt(*only);
    } else {
      break;
    }
  }
  const auto* inner = body.as<BlockRealize>();
  const BufferRegion* said = inner ? region_of(inner->block->writes, declared.buffer) : nullptr;
  if (!said) { return declared; }
  BufferRegion within = certain_write(*inner->block, *said);
  VarMap bindings = bindings_of(*inner);
  std::vector<Range> ranges;
  for (const Range& range : within.region) { ranges.push_back(substitute(range, bindings)); }
  arith::Analyzer analyzer;
  auto bound = arith::estimate_region_lower_bound(Array<Range>(std::move(ranges)), loops, inner->predicate, analyzer);
  std::vector<Range> found;
  for (size_t i = 0; i < declared.region.size(); ++i) {
    if (!bound || !(*bound)[i].has_lower_bound() || !(*bound)[i].has_upper_bound()) { return nothing_of(declared); }
    found.push_back((*bound)[i].cover_range(declared.region[i]));
  }
  return {declared.buffer, Array<Range>(std::move(found)), declared.origin};
}

}  // namespace

auto certainly_writes(const FuncState& func, const Place& block, const BufferRegion& write, const Place* above, const BufferRegion& region, const VarMap& once,
                      const Place* made_in) -> bool {
  for (const Place* at = &block; at && at != above; at = func.parent(*at)) {
    if (!always_runs(func, *at)) { return false; }
    if (!above && at->is_block() && at != &block) { break; }
  }
  if (auto counted = counted_writes(func, block, region, above, once)) { return *counted; }
  arith::Analyzer analyzer;
  for (const Place* at = func.parent(block); at; at = func.parent(*at)) {
    if (at->is_loop()) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
  }
  // A block that holds others, or loops, may leave out what it declares: a triangle fills no rectangle.
  if (block.end != block.index + 1 && stores_under_conditions(block.block()->body, write.buffer, false)) { return false; }
  BufferRegion here = substitute_region(certain_write(*block.block(), write), bindings_of(*block.realize));
  // The same in each instance: nothing to estimate.
  bool is_fixed = is_one(block.realize->predicate);
  for (size_t i = 0; is_fixed && i < here.region.size(); ++i) {
    is_fixed = arith::deep_equal(here.region[i].min, region.region[i].min) && arith::deep_equal(here.region[i].extent, region.region[i].extent);
  }
  if (is_fixed) { return true; }
  auto domains = domains_for(func, block, above, write.buffer->scope());
  // Virtual threads are one thread's work in turns: each has what is allocated below it for its own, whatever the memory.
  for (const Place* at = above; at; at = func.parent(*at)) {
    if (!at->is_loop() || !at->loop->thread || !at->loop->thread->thread_tag.view().starts_with("vthread")) { continue; }
    std::erase_if(domains, [&](const auto& domain) { return domain.first == at->loop->var; });
  }
  for (const Place* at = made_in; at; at = func.parent(*at)) {
    if (at->is_loop()) { std::erase_if(domains, [&](const auto& domain) { return domain.first == at->loop->var; }); }
  }
  if (is_one(block.realize->predicate) && covers_plainly(here.region, domains, region.region, {})) { return true; }
  // A condition on what is fixed here decides about all of the instances at once.
  for (const Expr& condition : arith::split_conjunction(block.realize->predicate)) {
    bool is_about_instances = uses_var(condition, [&](const VarNode& v) {
      return std::any_of(domains.begin(), domains.end(), [&](const auto& d) { return d.first.get() == &v; });
    });
    if (!is_about_instances && !analyzer.can_prove(substitute(condition, once))) { return false; }
    // Of quotients and remainders the estimate below knows bounds of iter vars only.
    bool is_rough = false;
    post_order(condition, [&](const Expr& e) { is_rough = is_rough || e.as<FloorMod>() || e.as<FloorDiv>(); });
    if (is_about_instances && is_rough && !keeps_domain(*block.realize, condition) && !analyzer.can_prove(condition)) { return false; }
    // The estimate takes it that some instance runs.
    if (analyzer.can_prove(logical_not(condition))) { return false; }
    // Where the condition is not about what is written, one must be seen to: the first or the last.
    auto is_in_condition = [&](const VarNode& v) { return uses_var(condition, [&](const VarNode& used) { return &used == &v; }); };
    bool tells_elements = std::any_of(here.region.begin(), here.region.end(), [&](const Range& range) { return uses_var(range.min, is_in_condition); });
    if (!is_about_instances || tells_elements) { continue; }
    VarMap first = once;
    VarMap last = once;
    for (const auto& [var, range] : domains) {
      first[var.get()] = range.min;
      last[var.get()] = analyzer.simplify(range.min + range.extent - one(range.extent.dtype()));
    }
    if (!analyzer.can_prove(substitute(condition, first)) && !analyzer.can_prove(substitute(condition, last))) { return false; }
  }
  auto bound = arith::estimate_region_lower_bound(here.region, domains, block.realize->predicate, analyzer);
  if (!bound) { return false; }
  std::vector<arith::IntSet> wanted;
  for (const Range& range : region.region) { wanted.push_back(arith::IntSet::from_range(range)); }
  return covers(write.buffer->shape, {*bound}, wanted, analyzer);
}

// Does a block read only what its producers of the scope wrote before?
static auto is_covered(const FuncState& func, const Place& scope, const Place& consumer, std::span<const Dependence> dependences) -> bool {
  std::vector<const Place*> producers;
  for (const Dependence& d : dependences) {
    if (d.kind == DependenceKind::Raw) { producers.push_back(func.find(d.src)); }
  }
  if (producers.empty()) { return true; }
  auto bound_regions = [&](const Place& place, bool writes) {
    VarMap map = bindings_of(*place.realize);
    std::vector<BufferRegion> regions;
    for (const BufferRegion& region : writes ? place.block()->writes : place.block()->reads) {
      regions.push_back(substitute_region(writes ? certain_write(*place.block(), region) : region, map));
    }
    return regions;
  };
  // Loops around any of them, where there is something to prove.
  std::optional<arith::Analyzer> made;
  auto analyzer = [&]() -> arith::Analyzer& {
    if (made) { return *made; }
    made.emplace();
    std::vector<const Place*> bound;
    auto bind = [&](const Place& place) {
      for (const Place* at = func.parent(place); at; at = func.parent(*at)) {
        if (!at->is_loop()) { continue; }
        if (std::find(bound.begin(), bound.end(), at) != bound.end()) { break; }
        bound.push_back(at);
        made->bind(at->loop->var, Range{at->loop->min, at->loop->extent});
      }
    };
    bind(consumer);
    for (const Place* producer : producers) { bind(*producer); }
    return *made;
  };
  std::vector<BufferRegion> reads = bound_regions(consumer, false);
  // At each loop around the consumer: those producers whose lowest common loop it is.
  for (const Place* lca = func.parent(consumer); lca; lca = func.parent(*lca)) {
    std::vector<const Place*> here;
    for (const Place* producer : producers) {
      const Place* common = func.parent(*producer);
      while (common && !func.is_below(consumer, *common)) { common = func.parent(*common); }
      if (common == lca && std::find(here.begin(), here.end(), producer) == here.end()) { here.push_back(producer); }
    }
    if (!here.empty()) {
      if (here.size() == 1 && is_one(here[0]->realize->predicate)) {
        // Most often one block produces just what is read, index by index.
        bool is_plain = true;
        std::vector<BufferRegion> writes = bound_regions(*here[0], true);
        for (const BufferRegion& read : reads) {
          for (const BufferRegion& write : writes) {
            is_plain = is_plain && (!(write.buffer == read.buffer) ||
                                    covers_plainly(write.region, domains_for(func, *here[0], lca, write.buffer->scope()),
                                                   read.region, domains_for(func, consumer, lca, read.buffer->scope())));
          }
        }
        if (is_plain) {
          if (lca == &scope) { break; }
          continue;
        }
      }
      std::vector<std::pair<const BufferNode*, std::vector<std::vector<arith::IntSet>>>> produced;
      for (const BufferRegion& read : reads) { produced.emplace_back(read.buffer.get(), std::vector<std::vector<arith::IntSet>>()); }
      for (const Place* producer : here) {
        for (const BufferRegion& write : bound_regions(*producer, true)) {
          auto wanted = std::find_if(produced.begin(), produced.end(), [&](const auto& p) { return p.first == write.buffer.get(); });
          if (wanted == produced.end()) { continue; }
          auto bound = arith::estimate_region_lower_bound(write.region, domains_for(func, *producer, lca, write.buffer->scope()),
                                                          producer->realize->predicate, analyzer());
          wanted->second.push_back(bound ? *bound : std::vector<arith::IntSet>(write.buffer->shape.size(), arith::IntSet::nothing()));
        }
      }
      for (const BufferRegion& read : reads) {
        auto of_read = std::find_if(produced.begin(), produced.end(), [&](const auto& p) { return p.first == read.buffer.get(); });
        if (of_read->second.empty()) { continue; }
        auto consumed = arith::estimate_region_upper_bound(read.region, domains_for(func, consumer, lca, read.buffer->scope()),
                                                           consumer.realize->predicate, analyzer());
        if (!covers(read.buffer->shape, of_read->second, consumed, analyzer())) { return false; }
      }
    }
    if (lca == &scope) { break; }
  }
  return true;
}

// What was uncovered and did not change still is, where it still is in the scope.
auto compute_cover(const FuncState& func, const Place& scope, const std::vector<NodeId>& changed, const Cover& before) -> Cover {
  Cover out;
  const Scope info = func.scope_info(scope);
  for (NodeId id : before.uncovered) {
    const Place* place = func.find(id);
    if (place && place->scope == scope.index && std::find(changed.begin(), changed.end(), id) == changed.end()) { out.uncovered.push_back(id); }
  }
  for (NodeId id : changed) {
    if (!is_covered(func, scope, *func.find(id), info.of_dst(id))) { out.uncovered.push_back(id); }
  }
  if (!before.uncovered.empty()) {
    std::sort(out.uncovered.begin(), out.uncovered.end(), [&](NodeId a, NodeId b) { return func.places().index_of(a) < func.places().index_of(b); });
  }
  out.stage_pipeline = !info.overwrites() && out.uncovered.empty();
  return out;
}
auto compute_cover(const FuncState& func, const Place& scope) -> Cover {
  std::vector<NodeId> all;
  for (const BlockRealize* realize : func.places().blocks_below(scope)) { all.push_back(realize->block->id); }
  return compute_cover(func, scope, all, {});
}

// ---- block classes -------------------------------------------------------------------------------------

namespace {

// Is the block the only writer, in its scope, of what it writes?
auto is_dominant(const FuncState& func, const Place& block) -> bool {
  const Place* scope = func.scope(block);
  if (!scope) { return true; }
  const Scope info = func.scope_info(*scope);
  for (const BufferRegion& write : block.block()->writes) {
    if (info.writers(write.buffer.get()).size() > 1) { return false; }
  }
  return true;
}

auto overlapping_buffer(const Block& block) -> const BufferNode* {
  for (const BufferRegion& read : block.reads) {
    for (const BufferRegion& write : block.writes) {
      if (read.buffer == write.buffer) { return read.buffer.get(); }
    }
  }
  return nullptr;
}

// The reduction iter var that an output is indexed by, if any.
auto reduction_index(const Block& block) -> const VarNode* {
  std::unordered_set<const VarNode*> reduction_vars;
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind == IterKind::Reduction) { reduction_vars.insert(iter.var.get()); }
  }
  if (reduction_vars.empty()) { return nullptr; }
  const VarNode* found = nullptr;
  auto is_reduction_var = [&](const VarNode& var) {
    if (!reduction_vars.count(&var)) { return false; }
    found = &var;
    return true;
  };
  std::unordered_set<const BufferNode*> written;
  for (const BufferRegion& write : block.writes) {
    written.insert(write.buffer.get());
    for (const Range& range : write.region) {
      if (uses_var(range.min, is_reduction_var) || uses_var(range.extent, is_reduction_var)) { return found; }
    }
  }
  for (const MatchBufferRegion& match : block.match_buffers) {
    if (!written.count(match.source.buffer.get())) { continue; }
    for (const Range& range : match.source.region) {
      if (uses_var(range.min, is_reduction_var) || uses_var(range.extent, is_reduction_var)) { return found; }
    }
  }
  post_order(block.body, [&](const Stmt& stmt) {
    const auto* store = stmt.as<BufferStore>();
    if (!store || found) { return; }
    for (const Expr& index : store->indices) {
      if (uses_var(index, is_reduction_var)) { return; }
    }
  }, [](const Expr&) {});
  return found;
}

auto why_not_complete_locally(const Block& block) -> std::optional<std::string> {
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind != IterKind::Spatial) { return fmt::format("its iter var `{}` is not spatial", iter.var->name.view()); }
  }
  if (const BufferNode* both = overlapping_buffer(block)) { return fmt::format("it reads and writes `{}`", both->name.view()); }
  return {};
}

// Does an iter value use a loop outside of the block's scope?
auto is_loop_outside(const FuncState& func, const Place& place, const Expr& value) -> bool {
  const Place* scope = func.scope(place);
  for (const Place* at = scope ? func.parent(*scope) : nullptr; at; at = func.parent(*at)) {
    if (at->is_loop() && !is_one(at->loop->extent) && uses_var(value, [&](const VarNode& v) { return &v == at->loop->var.get(); })) { return true; }
  }
  return false;
}

// The reduction iter var that does not begin with the instance that runs the init: in a part of a partitioned loop that may be
// one of another part. Null: there is none.
auto late_reduction(const FuncState& func, const Place& place) -> const VarNode* {
  const Block& block = *place.block();
  VarMap first;
  std::unordered_set<const VarNode*> moved;
  auto begin_at_first = [&](const Place& at) {
    first[at.loop->var.get()] = at.loop->min;
    if (!is_zero(at.loop->min)) { moved.insert(at.loop->var.get()); }
  };
  for (const Place* at : func.loops(place)) { begin_at_first(*at); }
  // So do loops of one iteration around the scope, in which the last part of a partitioned loop may stand.
  const Place* scope = func.scope(place);
  for (const Place* at = scope ? func.parent(*scope) : nullptr; at; at = func.parent(*at)) {
    if (at->is_loop() && is_one(at->loop->extent)) { begin_at_first(*at); }
  }
  arith::Analyzer analyzer;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    const Expr& value = place.realize->iter_values[i];
    if (iter.kind == IterKind::Spatial) { continue; }
    // A part sees the loops around it, which its own block does not hand in.
    if (uses_var(value, [&](const VarNode& v) { return !first.contains(&v); }) && is_loop_outside(func, place, value)) { return iter.var.get(); }
    // A loop of one iteration that begins elsewhere may be folded into the value.
    auto at_first = as_int(analyzer.simplify(substitute(value, first))), begin = as_int(iter.dom.min);
    if (at_first && begin && *at_first != *begin) { return iter.var.get(); }
    if (!uses_var(value, [&](const VarNode& v) { return moved.contains(&v); })) { continue; }
    if (!analyzer.can_prove_equal(substitute(value, first), iter.dom.min)) { return iter.var.get(); }
  }
  return nullptr;
}

auto why_not_reduction_locally(const FuncState& func, const Place& place) -> std::optional<std::string> {
  const Block& block = *place.block();
  if (!block.init) { return "it has no `T.init()`"; }
  if (!func.is_affine_binding(place)) { return "its iter values are not independent affine functions of the loops"; }
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind != IterKind::Spatial && iter.kind != IterKind::Reduction) {
      return fmt::format("its iter var `{}` is neither spatial nor a reduction", iter.var->name.view());
    }
  }
  if (const VarNode* var = late_reduction(func, place)) { return fmt::format("its iter var `{}` does not begin with the instance that runs `T.init()`", var->name.view()); }
  if (const VarNode* var = reduction_index(block)) { return fmt::format("what it writes is indexed by the reduction iter var `{}`", var->name.view()); }
  return {};
}

constexpr std::string_view not_dominant = "another block of its scope writes the same buffer";

}  // namespace

auto why_not_complete(const FuncState& func, const Place& block) -> std::optional<std::string> {
  if (auto why = why_not_complete_locally(*block.block())) { return why; }
  for (const Buffer& hidden : func.hidden_reads(block)) {
    for (const BufferRegion& write : block.block()->writes) {
      if (write.buffer == hidden) { return fmt::format("it reads and writes `{}`, and does not say so", hidden->name.view()); }
    }
  }
  if (!is_dominant(func, block)) { return std::string(not_dominant); }
  return {};
}

auto why_not_reduction(const FuncState& func, const Place& block) -> std::optional<std::string> {
  if (auto why = why_not_reduction_locally(func, block)) { return why; }
  if (!is_dominant(func, block)) { return std::string(not_dominant); }
  return {};
}

// ---- requirements --------------------------------------------------------------------------------------

namespace {
auto at_block(Diagnostic diagnostic, const Place& block) -> Diagnostic {
  return std::move(diagnostic).arg("block", block.name().view()).at_node(block.id)
      .note(block.block()->origin, fmt::format("`{}` is here", block.name().view()), block.id);
}
}  // namespace

auto adds_to_what_is_there(const FuncState& func, const Place& block) -> bool { return block.block()->init && late_reduction(func, block); }

// Of quotients and remainders together, whether two iterations run one instance: counted where the loops around stand at 0.
static auto meets_again(const BlockRealize& realize, const For& loop) -> bool {
  constexpr int64_t most = 1024;
  auto extent = as_int(loop.extent), first = as_int(loop.min);
  if (!extent || !first || *extent > most) { return false; }
  std::vector<std::pair<const VarNode*, int64_t>> values{{loop.var.get(), 0}};
  auto stand_at_zero = [&](const Expr& e) {
    post_order(e, [&](const Expr& part) {
      const auto* v = part.as<VarNode>();
      if (v && v->dtype.is_integral() && std::none_of(values.begin(), values.end(), [&](const auto& known) { return known.first == v; })) { values.emplace_back(v, 0); }
    });
  };
  for (const Expr& value : realize.iter_values) { stand_at_zero(value); }
  stand_at_zero(realize.predicate);
  std::set<std::vector<int64_t>> seen;
  for (int64_t i = 0; i < *extent; ++i) {
    values[0].second = *first + i;
    auto runs = evaluate_integer(realize.predicate, values);
    if (!runs) { return false; }
    if (*runs == 0) { continue; }
    std::vector<int64_t> instance;
    for (const Expr& value : realize.iter_values) {
      auto at = evaluate_integer(value, values);
      if (!at) { return false; }
      instance.push_back(*at);
    }
    if (!seen.insert(std::move(instance)).second) { return true; }
  }
  return false;
}

auto repeats_instances(const BlockRealize& realize, const For& loop) -> bool {
  if (is_one(loop.extent)) { return false; }
  // Of a remainder, what it is divided by: iterations so far apart may be the same.
  std::vector<int64_t> periods;
  bool is_used = false, is_divided = false;
  auto is_var = [&](const VarNode& v) { return &v == loop.var.get(); };
  auto look = [&](const auto& again, const Expr& e) -> void {
    switch (e.kind()) {
      case NodeKind::IntImm: return;
      case NodeKind::VarNode: is_used = is_used || is_var(*e.as<VarNode>()); return;
      case NodeKind::Add: again(again, e.as<Add>()->a); again(again, e.as<Add>()->b); return;
      case NodeKind::Mul: again(again, e.as<Mul>()->a); again(again, e.as<Mul>()->b); return;
      default: break;
    }
    visit_children(e, [&](const Expr& child) { again(again, child); });
    const auto* quotient = e.as<FloorDiv>();
    is_divided = is_divided || (quotient && uses_var(quotient->a, is_var));
    const auto* mod = e.as<FloorMod>();
    auto period = mod ? as_int(mod->b) : std::nullopt;
    if (period && *period > 0 && uses_var(mod->a, is_var)) { periods.push_back(*period); }
  };
  for (const Expr& value : realize.iter_values) { look(look, value); }
  if (!is_used) { return true; }
  // Of a quotient, neighbours are: the first two, if the others say the same of both.
  if (is_divided) {
    arith::Analyzer analyzer;
    VarMap first{{loop.var.get(), loop.min}}, second{{loop.var.get(), loop.min + one(loop.min.dtype())}};
    if (std::all_of(realize.iter_values.begin(), realize.iter_values.end(), [&](const Expr& e) { return analyzer.can_prove_equal(substitute(e, first), substitute(e, second)); })) { return true; }
  }
  auto extent = as_int(loop.extent);
  for (int64_t period : periods) {
    if (extent && period >= *extent) { continue; }
    arith::Analyzer analyzer;
    VarMap later{{loop.var.get(), Expr(loop.var) + int_imm(period, loop.var->dtype)}};
    analyzer.bind(loop.var, Range{loop.min, loop.extent});
    bool is_same = std::all_of(realize.iter_values.begin(), realize.iter_values.end(), [&](const Expr& e) { return analyzer.can_prove_equal(substitute(e, later), e); });
    if (is_same) { return true; }
  }
  return is_used && (is_divided || !periods.empty()) && meets_again(realize, loop);
}

auto require_own_domains(const Context& cx, const FuncState& func, const Place& block) -> Status {
  for (const IterVar& iter : block.block()->iter_vars) {
    if (as_int(iter.dom.min) && as_int(iter.dom.extent)) { continue; }
    for (const Place* at = func.parent(block); at; at = func.parent(*at)) {
      if (!at->is_loop()) { continue; }
      auto is_this = [&](const VarNode& v) { return &v == at->loop->var.get(); };
      if (!uses_var(iter.dom.min, is_this) && !uses_var(iter.dom.extent, is_this)) { continue; }
      return note_loop(note_block(cx.error(Code::LoopDependent).arg("loop", iter.var->name.view()).arg("on", at->name().view()), block), *at);
    }
  }
  return ok();
}

auto require_one_sum(const Context& cx, const FuncState& func, const Place& producer, const Place* outside) -> Status {
  if (!producer.block()->init) { return ok(); }
  for (const Place* at = func.parent(producer); at && at->is_loop() && !(outside && (at == outside || func.is_below(*outside, *at))); at = func.parent(*at)) {
    if (!runs_at_once(*at->loop)) { continue; }
    bool is_shared = repeats_instances(*producer.realize, *at->loop) ||
                     counted_sharing(loop_domains(func, producer), at->loop->var, producer.realize->iter_values.to_vector(), producer.realize->predicate).value_or(false);
    if (!is_shared) { continue; }
    return note_block(note_loop(cx.error(Code::ReductionShared).arg("block", producer.name().view()).arg("loop", at->name().view()), *at), producer);
  }
  return ok();
}

auto keeps_domains(const FuncState& func, const Place& block) -> bool {
  if (is_one(block.realize->predicate)) { return true; }
  if (auto counted = counted_predicate(func, block)) { return *counted; }
  const auto& iters = block.block()->iter_vars;
  const auto& values = block.realize->iter_values;
  arith::Analyzer analyzer;
  for (const auto& [var, range] : loop_domains(func, block)) { analyzer.bind(var, range); }
  std::vector<arith::Analyzer::Scope> known;
  for (size_t i = 0; i < iters.size(); ++i) {
    known.push_back(analyzer.enter(greater_equal(values[i], iters[i].dom.min)));
    known.push_back(analyzer.enter(less(values[i], iters[i].dom.min + iters[i].dom.extent)));
  }
  bool keeps = true;
  for (const Expr& part : arith::split_conjunction(block.realize->predicate)) {
    bool is_bound = false;
    for (size_t i = 0; i < iters.size() && !is_bound; ++i) {
      Expr end = iters[i].dom.min + iters[i].dom.extent;
      const auto* bound = part.as<LT>();
      is_bound = arith::deep_equal(part, less(values[i], end)) || (bound && analyzer.can_prove_equal(bound->a, values[i]) && analyzer.can_prove_equal(bound->b, end));
    }
    keeps = keeps && (is_bound || analyzer.can_prove(part));
  }
  while (!known.empty()) { known.pop_back(); }
  return keeps;
}

auto require_scope(const Context& cx, const PlaceArg& at) -> Result<const Place*> {
  if (const Place* scope = at.func->scope(*at)) { return scope; }
  return cx.error(Code::RootBlock).at_node(at->id);
}

auto require_stage_pipeline(const Context& cx, const FuncState& func, const Place& scope) -> Status {
  const Cover& cover = func.cover(scope);
  if (cover.stage_pipeline) { return ok(); }
  Diagnostic out = at_block(cx.error(Code::NotStagePipeline), scope);
  std::vector<Dependence> overwriting;
  for (const Place* block : func.child_blocks(scope)) {
    for (const Dependence& d : func.scope_info(scope).of_dst(block->id)) {
      if (d.kind == DependenceKind::War && overwriting.empty()) { overwriting.push_back(d); }
    }
  }
  for (const Dependence& d : overwriting) {
    const Place& dst = *func.find(d.dst);
    out.notes.push_back({dst.block()->origin,
                         fmt::format("`{}` overwrites `{}` after `{}` reads it", dst.name().view(), d.buffer->name.view(), func.find(d.src)->name().view()), d.dst});
    out.node_ids.push_back(d.dst);
    break;
  }
  for (NodeId id : cover.uncovered) {
    const Place& block = *func.find(id);
    out.notes.push_back({block.block()->origin, fmt::format("`{}` may read more than was written before it", block.name().view()), id});
    out.node_ids.push_back(id);
  }
  return out;
}

auto require_complete(const Context& cx, const FuncState& func, const Place& block) -> Status {
  auto why = why_not_complete(func, block);
  if (!why) { return ok(); }
  return at_block(cx.error(Code::NotComplete).arg("why", *why), block);
}

auto require_reduction(const Context& cx, const FuncState& func, const Place& block) -> Status {
  auto why = why_not_reduction(func, block);
  if (!why) { return ok(); }
  return at_block(cx.error(Code::NotReduction).arg("why", *why), block);
}

auto require_complete_or_reduction(const Context& cx, const FuncState& func, const Place& block) -> Status {
  auto not_complete = why_not_complete(func, block);
  if (!not_complete) { return ok(); }
  auto not_reduction = why_not_reduction(func, block);
  if (!not_reduction) { return ok(); }
  return at_block(cx.error(Code::NotCompleteOrReduction).arg("complete", *not_complete).arg("reduction", *not_reduction), block);
}

auto require_compact_dataflow(const Context& cx, const FuncState& func, const Place& subtree) -> Status {
  for (const Place* block : func.child_blocks(subtree)) {
    auto not_complete = why_not_complete_locally(*block->block());
    if (!not_complete) { continue; }
    auto not_reduction = why_not_reduction_locally(func, *block);
    if (!not_reduction) { continue; }
    return at_block(cx.error(Code::NotCompact).arg("subtree", subtree.name().view()).arg("complete", *not_complete).arg("reduction", *not_reduction),
                    *block).at_node(subtree.id);
  }
  return ok();
}

namespace {
// What an access touches in one iteration of a loop: the loops below it run, those around it stand still.
auto touched_in_iteration(const FuncState& func, const Place& block, const Place& loop, const BufferRegion& region) -> std::vector<arith::IntSet> {
  arith::DomMap domains;
  for (const Place* at = func.parent(block); at && at != &loop && at->is_loop(); at = func.parent(*at)) {
    domains.emplace(at->loop->var.get(), arith::IntSet::from_range(Range{at->loop->min, at->loop->extent}));
  }
  // What a predicate keeps of an iter var, where the loops count further.
  if (!is_one(block.realize->predicate) && keeps_domains(func, block)) {
    arith::Analyzer analyzer;
    for (const Place* at = &loop; at; at = func.parent(*at)) {
      if (at->is_loop()) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
    }
    arith::DomMap iters;
    bool is_cut = false;
    for (size_t i = 0; i < block.realize->iter_values.size(); ++i) {
      const IterVar& iter = block.block()->iter_vars[i];
      arith::IntSet set = arith::eval_set(block.realize->iter_values[i], domains);
      Expr last = add(iter.dom.min, sub(iter.dom.extent, one(iter.dom.extent.dtype())));
      if (set.has_lower_bound() && set.has_upper_bound() && analyzer.can_prove(less(last, set.max()))) {
        set = arith::IntSet::interval(set.min(), last);
        is_cut = true;
      }
      iters.emplace(iter.var.get(), std::move(set));
    }
    if (is_cut) { return arith::eval_set(region.region, iters); }
  }
  return arith::eval_set(substitute_region(region, bindings_of(*block.realize)).region, domains);
}
// Is what one block writes and another reads of a buffer in an iteration of the loop its own: does no other iteration touch it?
auto own_elements_in_iteration(const FuncState& func, const Place& src, const Place& dst, const Place& loop, const BufferNode* buffer) -> bool {
  arith::Analyzer analyzer;
  for (const Place* at = &loop; at; at = func.parent(*at)) {
    if (at->is_loop()) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
  }
  const Var& var = loop.loop->var;
  VarMap next{{var.get(), Expr(var) + one(var->dtype)}};
  for (const BufferRegion& write : src.block()->writes) {
    for (const BufferRegion& read : dst.block()->reads) {
      if (write.buffer.get() != buffer || read.buffer.get() != buffer) { continue; }
      auto a = touched_in_iteration(func, src, loop, write);
      auto b = touched_in_iteration(func, dst, loop, read);
      bool is_own = false;
      for (size_t i = 0; i < a.size() && i < b.size() && !is_own; ++i) {
        if (!a[i].has_lower_bound() || !a[i].has_upper_bound() || !b[i].has_lower_bound() || !b[i].has_upper_bound()) { continue; }
        Expr low = min(a[i].min(), b[i].min()), high = max(a[i].max(), b[i].max());
        is_own = analyzer.can_prove(less(high, substitute(low, next)));
      }
      if (!is_own) { return false; }
    }
  }
  return true;
}
// Does a condition, a bound of iter vars, keep one within its domain that by itself chooses an index of the buffer? What it leaves out nobody
// writes, in this iteration or in another.
auto is_about_elements(const Place& writer, const BufferNode* buffer, const Expr& condition) -> bool {
  auto variables = [](const Expr& e) {
    std::set<const VarNode*> out;
    post_order(e, [&](const Expr& part) { if (const auto* v = part.as<VarNode>()) { out.insert(v); } });
    return out;
  };
  const auto asked = variables(condition);
  const auto& iters = writer.block()->iter_vars;
  for (size_t i = 0; i < iters.size(); ++i) {
    if (variables(writer.realize->iter_values[i]) != asked) { continue; }
    for (const BufferRegion& write : writer.block()->writes) {
      if (write.buffer.get() != buffer) { continue; }
      if (std::any_of(write.region.begin(), write.region.end(), [&](const Range& r) { return is_one(r.extent) && variables(r.min) == std::set<const VarNode*>{iters[i].var.get()}; })) { return true; }
    }
  }
  return false;
}
}  // namespace

auto require_local_dependences(const Context& cx, const FuncState& func, const Place& loop, bool leaves_threads) -> Status {
  const Place* scope = func.scope(loop);
  if (!scope) { return ok(); }
  auto depends = [&](const Dependence& d, const Place& src, const Place& dst) {
    return at_block(cx.error(Code::IterationsDepend).arg("loop", loop.name().view())
                        .arg("producer", (d.kind == DependenceKind::Raw ? src : dst).name().view())
                        .arg("consumer", (d.kind == DependenceKind::Raw ? dst : src).name().view()), dst).at_node(loop.id);
  };
  // Has another block written all of what is read, in the same iteration (a constant, before the padding is left out)?
  auto is_made_by_another = [&](const Dependence& d, const Place& reader) {
    for (const Dependence& other : func.scope_info(*scope).of_dst(reader.id)) {
      if (other.kind != DependenceKind::Raw || other.src == d.src || other.buffer != d.buffer) { continue; }
      const Place& writer = *func.find(other.src);
      if (!func.is_below(writer, loop)) { continue; }
      for (const BufferRegion& read : reader.block()->reads) {
        if (read.buffer.get() != d.buffer) { continue; }
        std::vector<Range> ranges;
        for (const arith::IntSet& set : touched_in_iteration(func, reader, loop, read)) {
          if (!set.has_lower_bound() || !set.has_upper_bound()) { return false; }
          ranges.push_back({set.min(), sub(add(set.max(), one(set.max().dtype())), set.min())});
        }
        const BufferRegion* write = region_of(writer.block()->writes, read.buffer);
        if (write && certainly_writes(func, writer, *write, &loop, {read.buffer, Array<Range>(std::move(ranges)), {}})) { return true; }
      }
    }
    return false;
  };
  std::vector<Dependence> below;
  for (const Place* block : func.child_blocks(loop)) {
    for (const Dependence& d : func.scope_info(*scope).of_dst(block->id)) { below.push_back(d); }
  }
  for (const Dependence& d : below) {
    const Place& src = *func.find(d.src);
    const Place& dst = *func.find(d.dst);
    if (!func.is_below(src, loop) || d.kind == DependenceKind::Waw) { continue; }
    // What threads make together, each of them has, while it is threads that run the iterations.
    bool is_covered = func.region_cover(dst) && !(leaves_threads && loop.loop->thread);
    bool is_local = d.kind == DependenceKind::Raw && !d.is_hidden && is_covered;
    // A write that not every iteration carries out.
    bool is_partial = d.kind == DependenceKind::Raw && !keeps_domains(func, src) && !arith::deep_equal(src.realize->predicate, dst.realize->predicate);
    if (is_partial && !d.is_hidden && !own_elements_in_iteration(func, src, dst, loop, d.buffer)) { return depends(d, src, dst); }
    if (!is_local && !d.is_hidden) {
      // Both touch the very same elements in an iteration.
      arith::Analyzer analyzer;
      for (const Place* at = &loop; at; at = func.parent(*at)) {
        if (at->is_loop()) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
      }
      is_local = true;
      for (const BufferRegion& read : d.kind == DependenceKind::Raw ? dst.block()->reads : src.block()->reads) {
        if (read.buffer.get() != d.buffer) { continue; }
        for (const BufferRegion& write : d.kind == DependenceKind::Raw ? src.block()->writes : dst.block()->writes) {
          if (write.buffer.get() != d.buffer) { continue; }
          auto a = touched_in_iteration(func, d.kind == DependenceKind::Raw ? dst : src, loop, read);
          auto b = touched_in_iteration(func, d.kind == DependenceKind::Raw ? src : dst, loop, write);
          for (size_t i = 0; is_local && i < a.size() && i < b.size(); ++i) {
            is_local = a[i].has_lower_bound() && a[i].has_upper_bound() && b[i].has_lower_bound() && b[i].has_upper_bound() &&
                       analyzer.can_prove_equal(a[i].min(), b[i].min()) && analyzer.can_prove_equal(a[i].max(), b[i].max());
          }
          if (!is_local) {
            is_local = d.kind == DependenceKind::Raw && own_elements_in_iteration(func, src, dst, loop, d.buffer);
            continue;
          }
          // What is overwritten after it was read, no other iteration may read.
          if (d.kind == DependenceKind::War) {
            is_local = own_elements_in_iteration(func, dst, src, loop, d.buffer);
            continue;
          }
          // Boxes are bounds: what wraps around (a fused layout) need not fill one. The same box in each iteration may be more than one writes.
          bool is_rough = std::none_of(a.begin(), a.end(), [&](const arith::IntSet& set) { return uses_var(set.min(), [&](const VarNode& v) { return &v == loop.loop->var.get(); }); });
          VarMap bindings = bindings_of(*src.realize);
          for (const Range& range : write.region) {
            post_order(substitute(range.min, bindings), [&](const Expr& e) { is_rough = is_rough || e.as<FloorMod>() || e.as<FloorDiv>(); });
          }
          // So may one with holes that other iterations reach into: rows some steps apart.
          if (!is_rough && !stays_apart(func, loop, b)) {
            arith::Analyzer plain;
            BufferRegion written = substitute_region(write, bindings);
            is_rough = !arith::estimate_region_strict_bound(written.region, loop_domains(func, src, &loop), bool_imm(true), plain);
          }
          if (!is_rough) { continue; }
          std::vector<Range> ranges;
          for (const arith::IntSet& set : a) { ranges.push_back({set.min(), analyzer.simplify(sub(add(set.max(), one(set.max().dtype())), set.min()))}); }
          is_local = certainly_writes(func, src, write, &loop, {read.buffer, Array<Range>(std::move(ranges)), {}});
        }
      }
    }
    // Where the loop decides that the writer does not run, the reader has to stay behind as well.
    if (is_local) {
      arith::Analyzer analyzer;
      for (const Place* at = &loop; at; at = func.parent(*at)) {
        if (at->is_loop()) { analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent}); }
      }
      const Place& writer = d.kind == DependenceKind::Raw ? src : dst;
      const Place& reader = d.kind == DependenceKind::Raw ? dst : src;
      std::vector<Expr> shared = arith::split_conjunction(reader.realize->predicate);
      VarMap first, last;
      for (const Place* at = func.parent(writer); at && at != &loop; at = func.parent(*at)) {
        if (!at->is_loop()) { continue; }
        if (func.is_below(reader, *at)) {
          analyzer.bind(at->loop->var, Range{at->loop->min, at->loop->extent});
          continue;
        }
        first[at->loop->var.get()] = at->loop->min;
        last[at->loop->var.get()] = add(at->loop->min, sub(at->loop->extent, one(at->loop->extent.dtype())));
      }
      for (const Expr& condition : arith::split_conjunction(writer.realize->predicate)) {
        bool is_same = std::any_of(shared.begin(), shared.end(), [&](const Expr& e) { return arith::deep_equal(e, condition); });
        is_local = is_local && (is_same || is_about_elements(writer, d.buffer, condition) || analyzer.can_prove(substitute(condition, first)) || analyzer.can_prove(substitute(condition, last)));
      }
    }
    if (is_local || (d.kind == DependenceKind::Raw && !d.is_hidden && (own_elements_in_iteration(func, src, dst, loop, d.buffer) || is_made_by_another(d, dst)))) { continue; }
    return depends(d, src, dst);
  }
  return ok();
}

auto require_independent_loops(const Context& cx, const FuncState& func, const Place& block) -> Status {
  std::unordered_set<const VarNode*> outer;
  for (const Place* at : func.loops(block)) {
    const VarNode* used = nullptr;
    auto is_outer = [&](const VarNode& v) { return outer.count(&v) ? (used = &v, true) : false; };
    if (uses_var(at->loop->extent, is_outer) || uses_var(at->loop->min, is_outer)) {
      return note_loop(cx.error(Code::LoopDependent).arg("loop", at->name().view()).arg("on", used->name.view()), *at);
    }
    outer.insert(at->loop->var.get());
  }
  return ok();
}

auto require_affine_binding(const Context& cx, const FuncState& func, const Place& block) -> Status {
  if (func.is_affine_binding(block)) { return ok(); }
  return at_block(cx.error(Code::NotAffine), block);
}

auto is_output_block(const FuncState& func, const Place& block, const Place& scope) -> bool {
  const auto& writes = block.block()->writes;
  return std::any_of(writes.begin(), writes.end(), [&](const BufferRegion& write) { return !func.allocates(scope, write.buffer); });
}

auto require_buffer(const Context& cx, const Place& block, int64_t index, bool is_write) -> Result<BufferRegion> {
  const auto& regions = is_write ? block.block()->writes : block.block()->reads;
  if (index >= 0 && index < static_cast<int64_t>(regions.size())) {
    const BufferRegion& region = regions[static_cast<size_t>(index)];
    LOOPSMITH_CHECK(require_buffer_not_hidden(cx, block, region.buffer, is_write));
    return region;
  }
  return at_block(cx.error(Code::BufferIndex).arg("index", index).arg("count", static_cast<int64_t>(regions.size()))
                      .arg("access", is_write ? "writes" : "reads"), block);
}

auto in_words(const std::vector<std::string>& names) -> std::string {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i) { out += i + 1 == names.size() ? " and " : ", "; }
    out += names[i];
  }
  return out;
}

}  // namespace loopsmith::schedule
