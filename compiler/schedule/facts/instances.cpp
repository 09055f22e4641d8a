// Questions about the instances of one block, answered by running them: see instances.h.
#include "schedule/facts/instances.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "arith/analyzer.h"
#include "ir/evaluate.h"
#include "ir/follow.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/facts/instance_walk.h"
#include "schedule/func_tree.h"
#include "support/saturate.h"

namespace loopsmith::schedule {

namespace {

// Records the elements of one buffer that statements certainly store.
class Stores : public Follower {
 public:
  explicit Stores(const Buffer& buffer) : buffer_(buffer) {
    int64_t size = 1;
    for (const Expr& extent : buffer->shape) {
      auto number = as_int(extent);
      if (!number || *number < 0 || __builtin_mul_overflow(size, *number, &size) || size > most_elements) { return; }
      shape_.push_back(*number);
    }
    is_known_ = true;
    written_.assign(static_cast<size_t>(size), false);
  }
  /// False if some store cannot be followed.
  [[nodiscard]] auto is_known() const -> bool { return is_known_; }
  void clear() { written_.assign(written_.size(), false); }

  /// True if all elements of a region within the buffer are written. None: the bounds of the region are unknown, or it has too many elements.
  [[nodiscard]] auto holds_all(const BufferRegion& region, const Valuation& at_values, int64_t& steps) const -> std::optional<bool> {
    std::vector<std::pair<int64_t, int64_t>> box;
    for (size_t i = 0; i < shape_.size(); ++i) {
      auto min = evaluate_integer(region.region[i].min, at_values);
      auto extent = evaluate_integer(region.region[i].extent, at_values);
      if (!min || !extent) { return {}; }
      int64_t reach = 0;
      if (__builtin_add_overflow(*min, *extent, &reach)) { return {}; }
      int64_t first = std::max<int64_t>(*min, 0), end = std::min(reach, shape_[i]);
      if (first >= end) { return true; }
      box.emplace_back(first, end);
    }
    Element at;
    for (const auto& [first, end] : box) { at.push_back(first); }
    while (true) {
      if (--steps < 0) { return {}; }
      if (!written_[*offset_of(at)]) { return false; }
      size_t i = at.size();
      while (i > 0 && ++at[i - 1] == box[i - 1].second) {
        at[i - 1] = box[i - 1].first;
        --i;
      }
      if (i == 0) { return true; }
    }
  }

 protected:
  void store(const Buffer& buffer, const Element& at, bool certain) override {
    if (!(buffer == buffer_) || !certain || at.size() != shape_.size()) { return; }
    if (auto offset = offset_of(at)) { written_[*offset] = true; }
  }
  // Vectors and matrix units store to unknown elements of the buffer, perhaps to all.
  void store_somewhere(const Buffer& buffer) override { is_known_ = is_known_ && !(buffer == buffer_); }
  void hand_out(const VarNode* data) override { is_known_ = is_known_ && data != buffer_->data.get(); }

 private:
  [[nodiscard]] auto offset_of(const Element& at) const -> std::optional<size_t> {
    int64_t out = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] < 0 || at[i] >= shape_[i]) { return {}; }
      out = out * shape_[i] + at[i];
    }
    return static_cast<size_t>(out);
  }
  const Buffer& buffer_;
  std::vector<int64_t> shape_;
  std::vector<bool> written_;
  bool is_known_ = false;
};

// Threads run a block together, so the stores of one thread are only a part.
auto is_under_threads(const FuncTree& func, const Place& block) -> bool {
  for (const Place* at = func.parent(block); at; at = func.parent(*at)) { if (at->is_loop() && at->loop->thread && !is_one(at->loop->extent)) { return true; } }
  return false;
}
// True if no condition is between the block and `above`.
auto runs_plainly(const FuncTree& func, const Place& block, const Place* above) -> bool {
  for (const Place* at = &block; at && at != above; at = func.parent(*at)) { if (!always_runs(func, *at)) { return false; } }
  return true;
}

}  // namespace

auto counted_writes(const FuncTree& func, const Place& block, const BufferRegion& region, const Place* above, const VarMap& once) -> std::optional<bool> {
  const Buffer& buffer = region.buffer;
  if (!above) { above = func.scope(block); }
  if (!above || is_under_threads(func, block) || !runs_plainly(func, block, above) || is_too_much(func, block)) { return {}; }
  Stores stores(buffer);
  if (!stores.is_known() || region.region.size() != buffer->shape.size()) { return {}; }
  std::optional<bool> found = true;
  Valuation values;
  int64_t steps = 0;
  bool all = Around(func, *above, nullptr, once).run(values, steps, [&](Valuation& outer) {
    stores.clear();
    bool known = Around(func, block, above).run(outer, steps, [&](Valuation& inner) {
      stores.values = inner;
      return stores.follow(Stmt(Ref<Block>(block.block()))) && stores.is_known();
    });
    found = known ? stores.holds_all(region, outer, stores.steps_left) : std::nullopt;
    return found == true;
  });
  if (found == false) { return false; }
  return all ? found : std::nullopt;
}

auto counted_repeats(const FuncTree& func, const Place& block, const Place* above) -> std::optional<bool> {
  if (!above || is_too_much(func, block)) { return {}; }
  int64_t steps = 0;
  bool found = false;
  Valuation values;
  std::set<Follower::Element> seen;
  bool all = Around(func, *above, nullptr).run(values, steps, [&](Valuation& outer) {
    seen.clear();
    return Around(func, block, above).run(outer, steps, [&](Valuation& inner) {
      Follower::Element instance;
      for (size_t i = 0, n = block.block()->iter_vars.size(); i < n; ++i) { instance.push_back(inner[inner.size() - n + i].second); }
      found = found || !seen.insert(std::move(instance)).second;
      return !found;
    });
  });
  if (found) { return true; }
  return all ? std::optional<bool>(false) : std::nullopt;
}

auto counted_beginnings(const FuncTree& func, const Place& block) -> std::optional<bool> {
  const Place* scope = func.scope(block);
  if (!scope || is_too_much(func, block)) { return {}; }
  const auto& iters = block.block()->iter_vars;
  int64_t steps = 0;
  bool found = true;
  Valuation values;
  std::set<Follower::Element> begun;
  bool all = Around(func, *scope, nullptr).run(values, steps, [&](Valuation& outer) {
    begun.clear();
    return Around(func, block, scope).run(outer, steps, [&](Valuation& inner) {
      Follower::Element element;
      bool is_first = true;
      for (size_t i = 0; i < iters.size(); ++i) {
        int64_t value = inner[inner.size() - iters.size() + i].second;
        if (iters[i].kind != IterKind::Reduction) { element.push_back(value); } else { is_first = is_first && as_int(iters[i].dom.min) == value; }
      }
      if (is_first) { begun.insert(std::move(element)); } else { found = found && begun.contains(element); }
      return found;
    });
  });
  if (!found) { return false; }
  return all ? std::optional<bool>(true) : std::nullopt;
}

auto counted_instances(const FuncTree& func, const Place& block, const std::vector<const VarNode*>& of) -> std::optional<bool> {
  const Place* scope = func.scope(block);
  if (!scope || !runs_plainly(func, block, scope) || is_too_much(func, block)) { return {}; }
  std::vector<int64_t> mins, extents;
  std::vector<const VarNode*> vars;
  int64_t size = 1;
  for (const IterVar& iter : block.block()->iter_vars) {
    if (std::find(of.begin(), of.end(), iter.var.get()) == of.end()) { continue; }
    auto min = as_int(iter.dom.min), extent = as_int(iter.dom.extent);
    if (!min || !extent || *extent < 0 || __builtin_mul_overflow(size, *extent, &size) || size > most_elements) { return {}; }
    vars.push_back(iter.var.get());
    mins.push_back(*min);
    extents.push_back(*extent);
  }
  int64_t steps = 0;
  bool found = true;
  Valuation values;
  std::vector<bool> seen;
  bool all = Around(func, *scope, nullptr).run(values, steps, [&](Valuation& outer) {
    seen.assign(static_cast<size_t>(size), false);
    int64_t count = 0;
    bool known = Around(func, block, scope).run(outer, steps, [&](Valuation& inner) {
      int64_t offset = 0;
      for (size_t i = 0; i < vars.size(); ++i) {
        auto value = evaluate_integer(Expr(Ref<VarNode>(vars[i])), inner);
        if (!value) { return false; }
        if (*value < mins[i] || *value >= mins[i] + extents[i]) { return true; }
        offset = offset * extents[i] + *value - mins[i];
      }
      if (!seen[static_cast<size_t>(offset)]) { ++count; }
      seen[static_cast<size_t>(offset)] = true;
      return true;
    });
    if (!known) { return false; }
    found = count == size;
    return found;
  });
  if (!found) { return false; }
  return all ? std::optional<bool>(true) : std::nullopt;
}

auto each_instance(const Domains& loops, const std::vector<Expr>& iter_values, const Expr& predicate, const EachInstance& f) -> bool {
  int64_t count = 1;
  for (const auto& [var, range] : loops) {
    auto extent = as_int(range.extent);
    if (extent && (__builtin_mul_overflow(count, std::max<int64_t>(*extent, 1), &count) || count > most_steps)) { return false; }
  }
  Valuation values;
  int64_t steps = 0, iterations = 0;
  std::function<bool(size_t)> run = [&](size_t depth) -> bool {
    if (depth == loops.size()) {
      if (++steps > most_steps) { return false; }
      auto holds = is_one(predicate) ? std::optional<int64_t>(1) : evaluate_integer(predicate, values);
      if (!holds) { return false; }
      if (*holds == 0) { return true; }
      Follower::Element instance;
      for (const Expr& e : iter_values) {
        auto value = evaluate_integer(e, values);
        if (!value) { return false; }
        instance.push_back(*value);
      }
      return f(values, std::move(instance));
    }
    const auto& [var, range] = loops[depth];
    auto min = evaluate_integer(range.min, values);
    auto extent = evaluate_integer(range.extent, values);
    if (!min || !extent) { return false; }
    values.emplace_back(var.get(), 0);
    for (int64_t i = 0; i < *extent; ++i) {
      if (++iterations > most_iterations || __builtin_add_overflow(*min, i, &values.back().second)) { return false; }
      if (!run(depth + 1)) { return false; }
    }
    values.pop_back();
    return true;
  };
  return run(0);
}

namespace {

/// The part of a nest that matters for a loop: the values and conditions that use its variable, or a loop that another part uses. The other values
/// do not depend on these, so that each combination occurs.
struct RelatedLoops {
  std::vector<std::pair<Var, Range>> loops;
  std::vector<Expr> values;
  Expr predicate = bool_imm(true);
};
auto related_to(const std::vector<std::pair<Var, Range>>& loops, const Var& of, const std::vector<Expr>& values, const Expr& predicate) -> RelatedLoops {
  std::unordered_set<const VarNode*> related{of.get()};
  auto is_related = [&](const Expr& e) { return uses_var(e, [&](const VarNode& v) { return related.contains(&v); }); };
  auto add_all = [&](const Expr& e) { post_order(e, [&](const Expr& x) { if (const auto* v = x.as<VarNode>()) { related.insert(v); } }); };
  const std::vector<Expr> conditions = arith::split_conjunction(predicate);
  for (size_t before = 0; before != related.size();) {
    before = related.size();
    for (const auto* parts : {&values, &conditions}) {
      for (const Expr& e : *parts) { if (is_related(e)) { add_all(e); } }
    }
    for (const auto& [var, range] : loops) {
      if (related.contains(var.get()) || is_related(range.min) || is_related(range.extent)) {
        related.insert(var.get());
        add_all(range.min);
        add_all(range.extent);
      }
    }
  }
  RelatedLoops out;
  for (const auto& loop : loops) { if (related.contains(loop.first.get())) { out.loops.push_back(loop); } }
  for (const Expr& e : values) { if (is_related(e)) { out.values.push_back(e); } }
  for (const Expr& e : conditions) { if (is_related(e)) { out.predicate = logical_and(out.predicate, e); } }
  return out;
}

}  // namespace

auto certainly_shares(const Domains& loops, const Var& of, const std::vector<Expr>& values, const Expr& predicate) -> bool {
  const RelatedLoops related = related_to(loops, of, values, predicate);
  return counted_sharing(related.loops, of, related.values, related.predicate).value_or(false);
}

auto counted_sharing(const std::vector<std::pair<Var, Range>>& loops, const Var& of, const std::vector<Expr>& iter_values, const Expr& predicate) -> std::optional<bool> {
  bool found = false;
  // The iteration of `of` that gave a value first, by the iterations of the loops outside of `of`.
  std::map<std::pair<Follower::Element, Follower::Element>, int64_t> iteration_of;
  bool all = each_instance(loops, iter_values, predicate, [&](const Valuation& values, Follower::Element instance) {
    Follower::Element outside;
    for (const auto& [var, value] : values) {
      if (var != of.get()) { outside.push_back(value); continue; }
      found = iteration_of.emplace(std::pair(std::move(outside), std::move(instance)), value).first->second != value;
      break;
    }
    return !found;
  });
  if (found) { return true; }
  return all ? std::optional<bool>(false) : std::nullopt;
}

auto counted_late_update(const Block& block, const std::vector<std::pair<Var, Range>>& loops, const std::vector<Expr>& iter_values, const Expr& predicate) -> std::optional<bool> {
  bool is_late = false;
  std::set<Follower::Element> begun;           // values of spatial iter vars whose init has run
  bool all = each_instance(loops, iter_values, predicate, [&](const Valuation&, const Follower::Element& instance) {
    Follower::Element element;
    bool is_first = true;
    for (size_t i = 0; i < instance.size(); ++i) {
      if (block.iter_vars[i].kind != IterKind::Reduction) { element.push_back(instance[i]); continue; }
      is_first = is_first && as_int(block.iter_vars[i].dom.min) == instance[i];
    }
    if (is_first) { begun.insert(std::move(element)); } else { is_late = !begun.contains(element); }
    return !is_late;
  });
  if (is_late) { return true; }
  return all ? std::optional<bool>(false) : std::nullopt;
}

auto counted_same_order(const Block& block, const BlockLoops& before, const BlockLoops& now) -> std::optional<bool> {
  // For each tuple of spatial values: the values of the other iter vars, in the order they run.
  using Order = std::map<Follower::Element, Follower::Element>;
  auto order_of = [&](const BlockLoops& all) -> std::optional<Order> {
    Order out;
    bool are_all = each_instance(all.loops, all.iter_values, all.predicate, [&](const Valuation&, const Follower::Element& instance) {
      Follower::Element element, rest;
      for (size_t i = 0; i < instance.size(); ++i) { (block.iter_vars[i].kind == IterKind::Spatial ? element : rest).push_back(instance[i]); }
      Follower::Element& seen = out[std::move(element)];
      seen.insert(seen.end(), rest.begin(), rest.end());
      return true;
    });
    return are_all ? std::optional<Order>(std::move(out)) : std::nullopt;
  };
  auto first = order_of(before);
  auto second = first ? order_of(now) : std::nullopt;
  if (!second) { return {}; }
  return *first == *second;
}

auto counted_predicate(const FuncTree& func, const Place& block) -> std::optional<bool> {
  const BlockRealize& realize = *block.realize;
  const Place* around = func.parent(block);
  if (!around || is_too_much(func, block)) { return {}; }
  int64_t steps = 0;
  bool found = true;
  Valuation values;
  bool all = Around(func, *around, nullptr).run(values, steps, [&](Valuation& here) {
    for (size_t i = 0; i < realize.iter_values.size(); ++i) {
      const Range& dom = realize.block->iter_vars[i].dom;
      auto value = evaluate_integer(realize.iter_values[i], here);
      auto min = evaluate_integer(dom.min, here), extent = evaluate_integer(dom.extent, here);
      if (!value || !min || !extent) { return false; }
      if (*value < *min || *value >= saturating_add(*min, *extent)) { return true; }
    }
    auto holds = evaluate_integer(realize.predicate, here);
    if (!holds) { return false; }
    found = *holds != 0;
    return found;
  });
  if (!found) { return false; }
  return all ? std::optional<bool>(true) : std::nullopt;
}

}  // namespace loopsmith::schedule
