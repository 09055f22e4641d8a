// Visits the instances of a block at its new place one by one: see replacement.h.
#include "schedule/facts/replacement.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "ir/evaluate.h"
#include "ir/follow.h"
#include "ir/ops.h"
#include "schedule/facts/instance_walk.h"
#include "support/cancel_scope.h"
#include "support/saturate.h"

namespace loopsmith::schedule {

namespace {

// The time of the last change of each element.
class Changes : public Follower {
 public:
  int64_t now = 0;
  struct Write {
    int64_t at = 0;
    NodeId block = 0;
    int64_t instance = 0;                      // numbered by `Running`
  };
  std::map<std::pair<const BufferNode*, Element>, Write> last;     // the last write of each element that was written
  bool is_known = true;

 protected:
  auto enter(const Stmt& stmt) -> bool override {
    const auto* block = stmt.as<Block>();
    if (!block) { return true; }
    running_.enter(*block, values, now);
    newest_ = 0;
    return true;
  }
  void load(const Buffer& buffer, const Element& at) override {
    auto write = last.find({buffer.get(), at});
    if (write != last.end()) { newest_ = std::max(newest_, write->second.at); }
  }
  void load_somewhere(const Buffer&) override { newest_ = now; }
  void store(const Buffer& buffer, const Element& at, bool) override {
    Write& write = last[{buffer.get(), at}];
    bool is_again = running_.is_same_again && newest_ <= write.at && write.block == running_.block && write.instance == running_.instance;
    if (!is_again) { write = {now, running_.block, running_.instance}; }
  }
  void store_somewhere(const Buffer&) override { is_known = false; }
  void hand_out(const VarNode*) override { is_known = false; }

 private:
  Running running_;
  int64_t newest_ = 0;                         // the last change of an element that the innermost block has loaded
};

// True if a block under the loop reads a buffer that some block beside the loop writes; both are under the same outermost loop.
auto reads_from_beside(const FuncTree& func, const Place& loop) -> bool {
  const Place* outermost = &loop;
  for (const Place* at = func.parent(loop); at && at->is_loop(); at = func.parent(*at)) { outermost = at; }
  auto is_block = [&](int i) { return func.places()[static_cast<size_t>(i)].is_block(); };
  std::set<const BufferNode*> read;
  for (int i = loop.index + 1; i < loop.end; ++i) {
    if (!is_block(i)) { continue; }
    for (const BufferRegion& region : func.places()[static_cast<size_t>(i)].block()->reads) { read.insert(region.buffer.get()); }
  }
  for (int i = outermost->index + 1; i < outermost->end; ++i) {
    if ((i >= loop.index && i < loop.end) || !is_block(i)) { continue; }
    for (const BufferRegion& region : func.places()[static_cast<size_t>(i)].block()->writes) {
      if (read.contains(region.buffer.get())) { return true; }
    }
  }
  return false;
}

// Calls `f` for every element of a region; false: its bounds are unknown, or it has too many elements.
auto each_element(const BufferRegion& region, const Valuation& values, int64_t& steps, const std::function<void(const Follower::Element&)>& f) -> bool {
  std::vector<std::pair<int64_t, int64_t>> box;
  Follower::Element at;
  for (const Range& range : region.region) {
    auto min = evaluate_integer(range.min, values);
    auto extent = evaluate_integer(range.extent, values);
    if (!min || !extent) { return false; }
    if (*extent <= 0) { return true; }
    box.emplace_back(*min, saturating_add(*min, *extent));
    at.push_back(*min);
  }
  while (true) {
    if (++steps > most_steps * 4) { return false; }
    f(at);
    size_t i = at.size();
    while (i > 0 && ++at[i - 1] == box[i - 1].second) {
      at[i - 1] = box[i - 1].first;
      --i;
    }
    if (i == 0) { return true; }
  }
}

// The instances of a replaced block: they run under new loops, after each iteration of the loop that holds the blocks they depend on.
class NewInstances {
 public:
  NewInstances(const Block& block, const std::vector<std::pair<Var, Range>>& loops, const std::vector<Expr>& iter_values, const Expr& predicate, bool each_time, Changes& changes, int64_t& steps)
      : block_(block), loops_(loops), iter_values_(iter_values), predicate_(predicate), each_time_(each_time), changes_(changes), steps_(steps) {}

  /// Runs the new loops from `depth` inwards. False if a bound or an index is unknown, or after too many steps.
  auto run(Valuation& here, size_t depth = 0) -> bool {
    if (depth == loops_.size()) { return run_instance(here); }
    auto min = evaluate_integer(loops_[depth].second.min, here);
    auto extent = evaluate_integer(loops_[depth].second.extent, here);
    if (!min || !extent) { return false; }
    size_t slot = here.size();
    here.emplace_back(loops_[depth].first.get(), 0);
    for (int64_t i = 0; i < *extent; ++i) {
      if (++iterations_ > most_iterations || __builtin_add_overflow(*min, i, &here[slot].second)) { return false; }
      if (!run(here, depth + 1)) { return false; }
    }
    here.resize(slot);
    return true;
  }

  [[nodiscard]] auto summary() const -> Replaced {
    Replaced out;
    out.begins_late = begins_late_;
    out.reads_unmade = std::any_of(unmade_.begin(), unmade_.end(), [&](const auto& element) { return changes_.last.contains(element); });
    int64_t domain = 1, inside = 0;
    for (const IterVar& iter : block_.iter_vars) {
      auto extent = as_int(iter.dom.extent);
      if (!extent || !as_int(iter.dom.min) || __builtin_mul_overflow(domain, *extent, &domain)) { domain = 0; }
    }
    for (const auto& [instance, one] : runs_) {
      bool is_inside = domain > 0;
      for (size_t i = 0; is_inside && i < instance.size(); ++i) {
        const Range& dom = block_.iter_vars[i].dom;
        is_inside = instance[i] >= *as_int(dom.min) && instance[i] < *as_int(dom.min) + *as_int(dom.extent);
      }
      inside += is_inside ? 1 : 0;
      for (const auto& element : one.reads) {
        auto write = changes_.last.find(element);
        out.reads_early = out.reads_early || (write != changes_.last.end() && write->second.at > one.at);
      }
    }
    out.runs_all = domain == 0 || inside == domain;
    return out;
  }

 private:
  struct Run { int64_t at = 0; std::vector<std::pair<const BufferNode*, Follower::Element>> reads; };

  auto run_instance(Valuation& here) -> bool {
    if (++steps_ > most_steps || CancelScope::is_cancelled()) { return false; }
    auto holds = is_one(predicate_) ? std::optional<int64_t>(1) : evaluate_integer(predicate_, here);
    if (!holds) { return false; }
    if (*holds == 0) { return true; }
    Follower::Element instance;
    for (const Expr& e : iter_values_) {
      auto value = evaluate_integer(e, here);
      if (!value) { return false; }
      instance.push_back(*value);
    }
    size_t slot = here.size();
    for (size_t i = 0; i < instance.size(); ++i) { here.emplace_back(block_.iter_vars[i].var.get(), instance[i]); }
    if (block_.init) { begin(instance); }
    Run& one = runs_[instance];
    if (!each_time_ || one.at == 0) { one = {changes_.now, {}}; }
    bool good = true;
    for (const BufferRegion& read : block_.reads) {
      good = good && each_element(read, here, steps_, [&](const Follower::Element& at) {
        one.reads.emplace_back(read.buffer.get(), at);
        if (!changes_.last.contains(one.reads.back())) { unmade_.insert(one.reads.back()); }
      });
    }
    here.resize(slot);
    return good;
  }
  /// Records that the init of an element has run, or that an instance runs before the init.
  void begin(const Follower::Element& instance) {
    Follower::Element element;
    bool is_first = true;
    for (size_t i = 0; i < instance.size(); ++i) {
      if (block_.iter_vars[i].kind != IterKind::Reduction) { element.push_back(instance[i]); continue; }
      is_first = is_first && as_int(block_.iter_vars[i].dom.min) == instance[i];
    }
    if (is_first) { begun_.insert(std::move(element)); } else if (!begun_.contains(element)) { begins_late_ = true; }
  }

  const Block& block_;
  const std::vector<std::pair<Var, Range>>& loops_;
  const std::vector<Expr>& iter_values_;
  const Expr& predicate_;
  const bool each_time_;
  Changes& changes_;
  int64_t& steps_;
  int64_t iterations_ = 0;
  std::map<Follower::Element, Run> runs_;
  std::set<std::pair<const BufferNode*, Follower::Element>> unmade_;   // read before it was written
  std::set<Follower::Element> begun_;          // values of spatial iter vars whose init has run
  bool begins_late_ = false;
};

// True if the loops together have more iterations than a walk visits, or a block under the loop has more instances.
auto is_too_large(const FuncTree& func, const Place& loop, const std::vector<std::pair<Var, Range>>& loops) -> bool {
  for (int i = loop.index + 1; i < loop.end; ++i) {
    const Place& place = func.places()[static_cast<size_t>(i)];
    if (place.is_block() && is_too_much(func, place)) { return true; }
  }
  int64_t count = 1;
  auto grows = [&](const Expr& extent) {
    auto n = as_int(extent);
    return n && (__builtin_mul_overflow(count, std::max<int64_t>(*n, 1), &count) || count > most_steps);
  };
  for (const auto& [var, range] : loops) { if (grows(range.extent)) { return true; } }
  for (const Place* at = &loop; at; at = func.parent(*at)) { if (at->is_loop() && grows(at->loop->extent)) { return true; } }
  return false;
}

}  // namespace

auto counted_replacement(const FuncTree& func, const Place& loop, const Block& block, const std::vector<std::pair<Var, Range>>& loops,
                         const std::vector<Expr>& iter_values, const Expr& predicate, bool each_time) -> std::optional<Replaced> {
  if (is_too_large(func, loop, loops)) { return {}; }
  Changes changes;
  Valuation values;
  int64_t steps = 0;
  NewInstances instances(block, loops, iter_values, predicate, each_time, changes, steps);
  Around around(func, loop, nullptr);
  // Blocks under the loop may read elements that blocks beside it make. They compute other values when these elements change.
  if (reads_from_beside(func, loop)) {
    around.beside = [&](const Stmt& stmt, Valuation& outer) {
      ++changes.now;
      changes.values = outer;
      return changes.follow(stmt) && changes.is_known;
    };
  }
  bool known = around.run(values, steps, [&](Valuation& outer) {
    ++changes.now;
    changes.values = outer;
    if (!changes.follow(loop.loop->body) || !changes.is_known) { return false; }
    Valuation here = outer;
    return instances.run(here);
  });
  if (!known) { return {}; }
  return instances.summary();
}

}  // namespace loopsmith::schedule
