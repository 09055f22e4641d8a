// Affine bindings of blocks, and the block instances that loops run: see bindings.h. The definitions follow TensorIR and TVM 0.19: affine
// bindings decide which schedules are accepted.
#include "schedule/facts/bindings.h"

#include <algorithm>
#include <functional>
#include <set>

#include "arith/analyzer.h"
#include "arith/iter_map.h"
#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

namespace {

// ((var // lower) % extent) * scale, or a variable itself.
struct Digit { const VarNode* var; int64_t lower, extent, scale; };

auto extent_of(const std::vector<std::pair<Var, Range>>& domains, const VarNode* var) -> int64_t {
  for (const auto& [loop, domain] : domains) {
    if (loop.get() == var) { return is_zero(domain.min) ? as_int(domain.extent).value_or(0) : 0; }
  }
  return 0;
}

// Adds the digits of a sum; false: the expression is not a sum of digits. `allows_offset`: ignores terms without loop variables.
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
    // From the lowest digit up, the scale of each is the product of the extents below it.
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
  // All digits of each variable must occur, each once.
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
  // The common case needs no proof: each iter value is a loop variable of its own, and there is no predicate.
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
  // A predicate may still use loops of one iteration that no iter value uses.
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

// A surjective map may take a value several times, as `i + j` does. True if the scale of a digit (`i`) is smaller than the range of the digits below (`j`).
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

// A surjective map may leave out digits of iterators, as `i // 4` does. True if all digits of the iterators that contain `of` occur in the indices.
static auto uses_all_digits(const std::vector<arith::IterSum>& indices, const VarNode* of, arith::Analyzer& analyzer) -> bool {
  std::vector<const arith::IterMarkNode*> marks;              // the iterators that contain the variable
  std::vector<Expr> used;                                     // for each mark the product of the digits' extents
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
  // Tiles and fused loops can be written with digits, which needs no proof.
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

auto compute_affine_binding(const FuncTree& func, const Place& block) -> bool {
  if (block.parent < 0) { return block.block()->iter_vars.empty(); }
  return is_affine_binding(*block.realize, loop_domains(func, block));
}

// True if two iterations of the loop run the same instance, found by counting with all other loops at 0. For iter values with quotients and remainders.
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
  // The divisors of remainders: iterations of this distance may run the same instances.
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
  // A quotient has the same value for neighbours. Compares the first two iterations, which are the same if all other iter values agree as well.
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

}  // namespace loopsmith::schedule
