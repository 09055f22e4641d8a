// Counts iterations, group by group: see executions.h.
#include "cost/executions.h"

#include <algorithm>
#include <numeric>

#include "arith/analyzer.h"
#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::cost {
namespace {

/// Connected loops: together they determine the number of times that the place is reached. Their iterations are enumerated.
class Group {
 public:
  struct Loop { LoopAround loop; bool is_still = false, is_tried = false; };

  Group(std::vector<Loop> loops, std::vector<Expr> conditions, int64_t& steps) : loops_(std::move(loops)), steps_(steps) {
    due_.resize(loops_.size());
    for (const Expr& condition : conditions) {
      size_t last = 0;
      for (size_t i = 0; i < loops_.size(); ++i) {
        if (!uses(condition, i)) { continue; }
        loops_[i].is_tried = true;
        last = i;
      }
      due_[last].push_back(condition);
    }
    for (const Loop& one : loops_) {
      for (size_t i = 0; i < loops_.size(); ++i) {
        if (uses(one.loop.min, i) || uses(one.loop.extent, i)) { loops_[i].is_tried = true; }
      }
    }
  }

  /// None: an expression could not be evaluated, or the enumeration takes too many steps.
  auto count() -> std::optional<Executions> {
    if (!try_still(0)) { return std::nullopt; }
    return Executions{most_.value_or(0), most_ && *most_ != *least_};
  }

 private:
  [[nodiscard]] auto uses(const Expr& e, size_t i) const -> bool {
    return uses_var(e, [&](const VarNode& used) { return &used == loops_[i].loop.var.get(); });
  }

  auto try_still(size_t at) -> bool {
    if (at == loops_.size() || !loops_[at].is_still) {
      auto own = within(at);
      if (own) { note(*own); }
      return own.has_value();
    }
    auto begin = evaluate_integer(loops_[at].loop.min, values_);
    auto extent = evaluate_integer(loops_[at].loop.extent, values_);
    if (!begin || !extent) { return false; }
    for (int64_t i = 0; i < *extent; ++i) {
      if (--steps_ < 0) { return false; }
      values_.emplace_back(loops_[at].loop.var.get(), *begin + i);
      bool is_done = holds(at) && (is_true_ ? try_still(at + 1) : (note(0), true));
      values_.pop_back();
      if (!is_done) { return false; }
    }
    return true;
  }

  void note(int64_t count) {
    most_ = std::max(most_.value_or(count), count);
    least_ = std::min(least_.value_or(count), count);
  }

  auto within(size_t at) -> std::optional<int64_t> {
    if (at == loops_.size()) { return 1; }
    auto begin = evaluate_integer(loops_[at].loop.min, values_);
    auto extent = evaluate_integer(loops_[at].loop.extent, values_);
    if (!begin || !extent) { return std::nullopt; }
    if (*extent <= 0) { return 0; }
    int64_t sum = 0;
    if (!loops_[at].is_tried) {
      auto each = within(at + 1);
      return each && !__builtin_mul_overflow(*each, *extent, &sum) ? std::optional(sum) : std::nullopt;
    }
    for (int64_t i = 0; i < *extent; ++i) {
      if (--steps_ < 0) { return std::nullopt; }
      values_.emplace_back(loops_[at].loop.var.get(), *begin + i);
      auto each = !holds(at) ? std::nullopt : is_true_ ? within(at + 1) : std::optional<int64_t>(0);
      values_.pop_back();
      if (!each || __builtin_add_overflow(sum, *each, &sum)) { return std::nullopt; }
    }
    return sum;
  }

  /// Evaluates the conditions whose last loop is this one, into `is_true_`. False if that is impossible.
  auto holds(size_t at) -> bool {
    is_true_ = true;
    for (const Expr& condition : due_[at]) {
      auto value = evaluate_integer(condition, values_);
      if (!value) { return false; }
      is_true_ = is_true_ && *value != 0;
    }
    return true;
  }

  std::vector<Loop> loops_;
  std::vector<std::vector<Expr>> due_;      // conditions, by the last loop that they use
  int64_t& steps_;
  Valuation values_;
  std::optional<int64_t> most_, least_;
  bool is_true_ = true;
};

/// Merges an inner loop with a loop around it over the same thread index. If the extents differ, the inner one becomes a condition.
auto with_threads_once(Surroundings nest, size_t still) -> Surroundings {
  VarMap same;
  Surroundings out;
  out.conditions = std::move(nest.conditions);
  for (size_t i = 0; i < nest.loops.size(); ++i) {
    LoopAround& loop = nest.loops[i];
    auto known = std::find_if(out.loops.begin() + static_cast<std::ptrdiff_t>(std::min(i, still)), out.loops.end(),
                              [&](const LoopAround& other) { return !loop.thread.empty() && other.thread == loop.thread; });
    if (known == out.loops.end() || !loop.extent || !known->extent || !is_zero(loop.min) || !is_zero(known->min)) {
      out.loops.push_back(std::move(loop));
      continue;
    }
    same.emplace(loop.var.get(), cast(loop.var->dtype, known->var));
    if (as_int(loop.extent) != as_int(known->extent)) { out.conditions.push_back(less(cast(loop.extent.dtype(), known->var), loop.extent)); }
  }
  if (same.empty()) { return out; }
  for (LoopAround& loop : out.loops) {
    loop.min = substitute(loop.min, same);
    if (loop.extent) { loop.extent = substitute(loop.extent, same); }
  }
  for (Expr& condition : out.conditions) { condition = substitute(condition, same); }
  return out;
}

/// The product of the longest extents, conditions ignored. None: it is not known, or too large.
auto upper_bound(const std::vector<Group::Loop>& loops) -> std::optional<Executions> {
  arith::Analyzer analyzer;
  Executions out{1, true};
  for (const Group::Loop& one : loops) {
    if (!one.loop.extent) { continue; }
    // Outside of the known range, the bounds are those of the type.
    constexpr int64_t beyond = int64_t{1} << 30;
    int64_t most = as_int(one.loop.extent).value_or(analyzer.const_int_bound(one.loop.extent).max);
    bool is_open = !as_int(one.loop.extent) && most >= beyond;
    analyzer.bind(one.loop.var, Range{one.loop.min, one.loop.extent});
    if (one.is_still) { continue; }
    if (is_open || __builtin_mul_overflow(out.count, std::max<int64_t>(most, 0), &out.count)) { return std::nullopt; }
  }
  return out;
}

auto without_likely(const Expr& condition) -> Expr {
  static const Name likely("likely");
  const auto* call = condition.as<Call>();
  return call != nullptr && call->op == likely && call->args.size() == 1 ? call->args[0] : condition;
}

}  // namespace

auto executions(const Surroundings& given, size_t still, int64_t& steps) -> std::optional<Executions> {
  Surroundings nest = with_threads_once(given, still);
  const size_t count = nest.loops.size();
  for (size_t i = still; i < count; ++i) {
    if (!nest.loops[i].extent) { return std::nullopt; }
  }
  Executions out{1, false};
  // For each loop the number of the first loop of its group.
  std::vector<size_t> group(count);
  std::iota(group.begin(), group.end(), size_t{0});
  auto loop_of = [&](const VarNode& var) -> size_t {
    auto found = std::find_if(nest.loops.begin(), nest.loops.end(), [&](const LoopAround& loop) { return loop.var.get() == &var; });
    return static_cast<size_t>(found - nest.loops.begin());
  };
  // Joins the groups of the loops in an expression. False: the expression uses other variables, or contents of buffers.
  auto tie = [&](const Expr& e, std::optional<size_t> to) {
    bool is_unknown = false;
    std::optional<size_t> first = to;
    post_order(e, [&](const Expr& node) {
      if (node.as<BufferLoad>()) { is_unknown = true; }
      const auto* var = node.as<VarNode>();
      if (var == nullptr) { return; }
      size_t loop = loop_of(*var);
      if (loop == count) { is_unknown = true; return; }
      if (!first) { first = loop; }
      size_t from = std::max(group[loop], group[*first]);
      std::replace(group.begin(), group.end(), from, std::min(group[loop], group[*first]));
    });
    return !is_unknown;
  };
  for (size_t i = 0; i < count; ++i) {
    if (nest.loops[i].extent && !as_int(nest.loops[i].extent)) { (void)tie(nest.loops[i].extent, i); }
    if (!as_int(nest.loops[i].min)) { (void)tie(nest.loops[i].min, i); }
  }
  struct Condition { Expr condition; size_t loop; };
  std::vector<Condition> conditions;
  for (const Expr& whole : nest.conditions) {
    for (const Expr& likely : arith::split_conjunction(without_likely(whole))) {
      Expr condition = without_likely(likely);
      if (auto value = as_int(condition)) {
        if (*value == 0) { return Executions{0, false}; }
        continue;
      }
      std::optional<size_t> loop;
      (void)uses_var(condition, [&](const VarNode& var) {
        if (size_t at = loop_of(var); at < count) { loop = at; }
        return false;
      });
      if (!loop || !tie(condition, {})) { out.is_most = true; } else { conditions.push_back({condition, *loop}); }
    }
  }
  for (size_t first = 0; first < count; ++first) {
    if (group[first] != first) { continue; }
    std::vector<Group::Loop> loops;
    bool is_summed = false;
    for (size_t i = first; i < count; ++i) {
      if (group[i] != first) { continue; }
      loops.push_back({nest.loops[i], i < still});
      is_summed = is_summed || i >= still;
    }
    std::vector<Expr> own;
    for (const Condition& one : conditions) {
      if (group[one.loop] == first) { own.push_back(one.condition); }
    }
    if (!is_summed && own.empty()) { continue; }
    std::optional<Executions> counted;
    if (std::all_of(loops.begin(), loops.end(), [](const Group::Loop& one) { return bool(one.loop.extent); })) { counted = Group(loops, own, steps).count(); }
    if (!counted) { counted = upper_bound(loops); }
    if (!counted) { return std::nullopt; }
    out.is_most = out.is_most || counted->is_most;
    if (__builtin_mul_overflow(out.count, counted->count, &out.count)) { return std::nullopt; }
  }
  return out;
}

}  // namespace loopsmith::cost
