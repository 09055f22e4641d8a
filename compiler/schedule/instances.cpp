// Running the loops around blocks with numbers for variables: see instances.h.
#include "schedule/instances.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "ir/evaluate.h"
#include "ir/follow.h"
#include "ir/ops.h"
#include "schedule/analysis.h"
#include "support/cancel_scope.h"
#include "support/hash.h"

namespace loopsmith::schedule {
namespace {

constexpr int64_t most_steps = 8192;          // instances
constexpr int64_t most_elements = 1 << 20;    // of a buffer or of domains together, where a bit stands for each

// Runs loops and blocks around a place, from outside to inside: all values of loops (`first`: the first one only); blocks' predicates hold.
class Around {
 public:
  Around(const FuncState& func, const Place& from, const Place* stop, VarMap first = {}) : first_(std::move(first)) {
    for (const Place* at = &from; at && at != stop; at = func.parent(*at)) { path_.insert(path_.begin(), at); }
  }
  /// What stands beside the path, before and behind it, is handed out in the order it runs; set where somebody wants to know.
  std::function<bool(const Stmt&, Valuation&)> beside;

  /// False: not all could be run. `f` gives false to stop.
  auto run(Valuation& values, int64_t& steps, const std::function<bool(Valuation&)>& f) const -> bool { return run(0, values, steps, f); }

 private:
  auto run(size_t depth, Valuation& values, int64_t& steps, const std::function<bool(Valuation&)>& f) const -> bool {
    if (depth == path_.size()) { return ++steps <= most_steps && f(values); }
    size_t before = values.size();
    const Place& at = *path_[depth];
    if (at.is_loop()) {
      auto min = evaluate_integer(at.loop->min, values);
      auto extent = evaluate_integer(at.loop->extent, values);
      if (!min || !extent) { return false; }
      values.emplace_back(at.loop->var.get(), 0);
      int64_t end = first_.contains(at.loop->var.get()) ? std::min(*min + 1, *min + *extent) : *min + *extent;
      for (int64_t i = *min; i < end; ++i) {
        values[before].second = i;
        if (!run_body(at.loop->body, depth, values, steps, f)) { return false; }
      }
      values.resize(before);
      return true;
    }
    const BlockRealize& realize = *at.realize;
    if (!is_one(realize.predicate)) {
      auto holds = evaluate_integer(realize.predicate, values);
      if (!holds) { return false; }
      if (*holds == 0) { return true; }
    }
    for (size_t i = 0; i < realize.iter_values.size(); ++i) {
      auto value = evaluate_integer(realize.iter_values[i], values);
      if (!value) { return false; }
      values.emplace_back(realize.block->iter_vars[i].var.get(), *value);
    }
    bool goes_on = run_body(realize.block->body, depth, values, steps, f);
    values.resize(before);
    return goes_on;
  }
  auto run_body(const Stmt& body, size_t depth, Valuation& values, int64_t& steps, const std::function<bool(Valuation&)>& f) const -> bool {
    if (!beside || depth + 1 == path_.size()) { return run(depth + 1, values, steps, f); }
    Stmt on_path = path_[depth + 1]->stmt();
    if (body.same_as(on_path)) { return run(depth + 1, values, steps, f); }
    const auto* seq = body.as<SeqStmt>();
    bool is_found = false;
    for (size_t i = 0; seq && i < seq->seq.size(); ++i) {
      bool is_path = seq->seq[i].same_as(on_path);
      is_found |= is_path;
      if (!(is_path ? run(depth + 1, values, steps, f) : beside(seq->seq[i], values))) { return false; }
    }
    return is_found;
  }
  std::vector<const Place*> path_;
  VarMap first_;
};

// Notes the elements of one buffer that statements certainly store to.
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
  /// False: something may be stored in a way that cannot be followed.
  [[nodiscard]] auto is_known() const -> bool { return is_known_; }
  void clear() { written_.assign(written_.size(), false); }

  /// Is all of a region written, as far as it lies within the buffer? None: its bounds are not known, or too much is asked.
  [[nodiscard]] auto holds_all(const BufferRegion& region, const Valuation& at_values, int64_t& steps) const -> std::optional<bool> {
    std::vector<std::pair<int64_t, int64_t>> box;
    for (size_t i = 0; i < shape_.size(); ++i) {
      auto min = evaluate_integer(region.region[i].min, at_values);
      auto extent = evaluate_integer(region.region[i].extent, at_values);
      if (!min || !extent) { return {}; }
      int64_t first = std::max<int64_t>(*min, 0), end = std::min(*min + *extent, shape_[i]);
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
  // Vectors and units: what they store is somewhere, and may be all.
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

// Threads run a block together: what one of them does is not all.
auto is_under_threads(const FuncState& func, const Place& block) -> bool {
  for (const Place* at = func.parent(block); at; at = func.parent(*at)) { if (at->is_loop() && at->loop->thread && !is_one(at->loop->extent)) { return true; } }
  return false;
}
// By the loops around alone, so that nothing is begun that cannot be ended.
auto is_too_much(const FuncState& func, const Place& block) -> bool {
  int64_t count = 1;
  for (const Place* at = func.parent(block); at; at = func.parent(*at)) {
    auto extent = at->is_loop() ? as_int(at->loop->extent) : std::optional<int64_t>(1);
    if (extent && (__builtin_mul_overflow(count, std::max<int64_t>(*extent, 1), &count) || count > most_steps)) { return true; }
  }
  return false;
}
// No condition stands between the two.
auto runs_plainly(const FuncState& func, const Place& block, const Place* above) -> bool {
  for (const Place* at = &block; at && at != above; at = func.parent(*at)) { if (!always_runs(func, *at)) { return false; } }
  return true;
}

}  // namespace

auto counted_writes(const FuncState& func, const Place& block, const BufferRegion& region, const Place* above, const VarMap& once) -> std::optional<bool> {
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

auto counted_repeats(const FuncState& func, const Place& block, const Place* above) -> std::optional<bool> {
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

auto counted_beginnings(const FuncState& func, const Place& block) -> std::optional<bool> {
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

auto counted_instances(const FuncState& func, const Place& block, const std::vector<const VarNode*>& of) -> std::optional<bool> {
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

namespace {

// An element, or an instance of a block, by what it is of; looked up without a copy of its numbers.
template <class Of>
struct Numbered {
  Of of{};
  Follower::Element at;
};
template <class Of>
struct NumberedHash {
  using is_transparent = void;
  auto operator()(const std::pair<Of, const Follower::Element*>& key) const -> size_t {
    uint64_t hash = std::hash<Of>()(key.first);
    for (int64_t i : *key.second) { hash = hash_combine(hash, static_cast<uint64_t>(i)); }
    return hash;
  }
  auto operator()(const Numbered<Of>& key) const -> size_t { return (*this)(std::pair<Of, const Follower::Element*>(key.of, &key.at)); }
};
template <class Of>
struct NumberedEqual {
  using is_transparent = void;
  auto operator()(const Numbered<Of>& a, const Numbered<Of>& b) const -> bool { return a.of == b.of && a.at == b.at; }
  auto operator()(const Numbered<Of>& a, const std::pair<Of, const Follower::Element*>& b) const -> bool { return a.of == b.first && a.at == *b.second; }
  auto operator()(const std::pair<Of, const Follower::Element*>& b, const Numbered<Of>& a) const -> bool { return a.of == b.first && a.at == *b.second; }
};
template <class Of, class T>
using NumberedMap = std::unordered_map<Numbered<Of>, T, NumberedHash<Of>, NumberedEqual<Of>>;

template <class Of, class T>
auto entry_of(NumberedMap<Of, T>& map, Of of, const Follower::Element& at, const T& fresh = {}) -> T& {
  auto found = map.find(std::pair<Of, const Follower::Element*>(of, &at));
  return found != map.end() ? found->second : map.emplace(Numbered<Of>{of, at}, fresh).first->second;
}

// The innermost block that runs, and which instance of it.
struct Running {
  NodeId block = 0;
  int64_t instance = 0;                        // a number for the block and the values of its iter vars
  bool is_same_again = false;                  // it would write the same if it ran again

  void enter(const Block& next, const Valuation& values, int64_t now) {
    block = next.id;
    at_.clear();
    for (const IterVar& iter : next.iter_vars) { at_.push_back(evaluate_integer(iter.var, values).value_or(-1 - now)); }
    instance = entry_of(instances_, block, at_, static_cast<int64_t>(instances_.size()) + 1);
    auto known = same_again_.find(block);
    if (known == same_again_.end()) {
      bool reads_what_it_writes = std::any_of(next.writes.begin(), next.writes.end(), [&](const BufferRegion& write) {
        return std::any_of(next.reads.begin(), next.reads.end(), [&](const BufferRegion& read) { return read.buffer == write.buffer; });
      });
      known = same_again_.emplace(block, !next.init && !reads_what_it_writes).first;
    }
    is_same_again = known->second;
  }

 private:
  Follower::Element at_;
  NumberedMap<NodeId, int64_t> instances_;
  std::unordered_map<NodeId, bool> same_again_;
};

// Who touched which element, iteration by iteration.
class Touches : public Follower {
 public:
  int64_t now = 0;
  void begin(int64_t iteration) {
    now = iteration;
  }
  void forget() { touched_.clear(); }
  struct Met { Buffer buffer; NodeId block, other; };
  bool reads_only = false;                     // of what another block wrote
  std::vector<Met> met;                        // the first of each buffer
  std::set<const BufferNode*> not_filled;      // read before the iteration wrote it
  std::set<const BufferNode*> unknown;

 protected:
  auto enter(const Stmt& stmt) -> bool override {
    const auto* block = stmt.as<Block>();
    if (!block) { return true; }
    running_.enter(*block, values, now);
    newest_ = 0;
    return true;
  }
  void load(const Buffer& buffer, const Element& at) override {
    Touch& touch = entry_of(touched_, buffer.get(), at);
    if (touch.filled_at != now) { not_filled.insert(buffer.get()); }
    if (touch.writer >= 0 && touch.writer != now) { meet(buffer, touch.block); }
    newest_ = std::max(newest_, touch.at);
    touch.reader = touch.reader < 0 || touch.reader == now ? now : several;
    touch.reading = touch.reading == 0 || touch.reading == running_.block ? running_.block : several_blocks;
  }
  void load_somewhere(const Buffer& buffer) override {
    not_filled.insert(buffer.get());
    unknown.insert(buffer.get());
  }
  void store(const Buffer& buffer, const Element& at, bool certain) override {
    Touch& touch = entry_of(touched_, buffer.get(), at);
    if (certain) { touch.filled_at = now; }
    bool is_same = touch.block == running_.block && touch.instance == running_.instance;
    // What an iteration writes again from other values, as sums that go on, another one may find half done.
    touch.varies = is_same && (touch.varies || (touch.writer == now && newest_ > touch.at));
    bool is_again = running_.is_same_again && is_same && !touch.varies;
    if (touch.writer >= 0 && touch.writer != now && !is_again && !reads_only) { meet(buffer, touch.block); }
    if (touch.reader >= 0 && touch.reader != now && !reads_only) { meet(buffer, touch.reading); }
    touch.writer = now;
    touch.at = ++stores_;
    touch.block = running_.block;
    touch.instance = running_.instance;
  }
  void store_somewhere(const Buffer& buffer) override { unknown.insert(buffer.get()); }
  void hand_out(const VarNode* data) override { handed_.insert(data); }

 private:
  static constexpr int64_t several = int64_t{1} << 40;
  static constexpr NodeId several_blocks = ~NodeId{0};
  struct Touch {
    int64_t writer = -1, reader = -1;
    NodeId block = 0;                          // of the last store
    NodeId reading = 0;
    int64_t filled_at = -1;                    // the last iteration that stored it for certain
    int64_t instance = 0;
    int64_t at = 0;                            // number of the last store
    bool varies = false;                       // the instance stored other values in one iteration
  };
  void meet(const Buffer& buffer, NodeId other) {
    if (handed_.contains(buffer->data.get()) || (reads_only && other == running_.block)) { return; }
    if (std::none_of(met.begin(), met.end(), [&](const Met& m) { return m.buffer == buffer; })) { met.push_back({buffer, running_.block, other}); }
  }
  NumberedMap<const BufferNode*, Touch> touched_;
  std::set<const VarNode*> handed_;
  Running running_;
  int64_t stores_ = 0;
  int64_t newest_ = 0;                         // number of the last store to what the innermost block has loaded
};

}  // namespace

auto is_used_outside(const FuncState& func, const Place& loop, const Buffer& buffer) -> bool {
  auto is_it = [&](const BufferRegion& region) { return region.buffer == buffer; };
  // What iterations of a loop add to outlives them, of a loop around this one too, be it of one iteration.
  auto adds_in_loops_around = [&](const Place& place) {
    const BlockRealize& realize = *place.realize;
    if (std::none_of(realize.block->writes.begin(), realize.block->writes.end(), is_it)) { return false; }
    for (const Place* at = func.parent(loop); at; at = func.parent(*at)) {
      if (!at->is_loop() || !func.is_below(place, *at)) { continue; }
      auto is_this = [&](const VarNode& v) { return &v == at->loop->var.get(); };
      for (size_t i = 0; i < realize.iter_values.size(); ++i) {
        if (realize.block->iter_vars[i].kind != IterKind::Spatial && uses_var(realize.iter_values[i], is_this)) { return true; }
      }
    }
    return false;
  };
  return std::any_of(func.places().begin(), func.places().end(), [&](const Place& place) {
    if (!place.is_block()) { return false; }
    if (func.is_below(place, loop) || func.is_below(loop, place)) { return adds_in_loops_around(place); }
    const Block& block = *place.block();
    const auto& hidden = func.hidden_reads(place);
    return std::any_of(block.reads.begin(), block.reads.end(), is_it) || std::any_of(block.writes.begin(), block.writes.end(), is_it) ||
           std::find(hidden.begin(), hidden.end(), buffer) != hidden.end();
  });
}

auto is_used_between_blocks(const FuncState& func, const Place& loop, const Buffer& buffer) -> bool {
  auto count = [&](const Stmt& stmt) {
    int n = 0;
    post_order(stmt, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { n += store->buffer == buffer ? 1 : 0; } },
               [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { n += load->buffer == buffer ? 1 : 0; } });
    return n;
  };
  return count(func.func()->body) > count(loop.stmt());
}

static auto count_races(const FuncState& func, const Place& loop, const Place& bottom, bool reads_only, int64_t most = most_steps) -> Races {
  int64_t instances = 0;
  for (int i = loop.index + 1; i < loop.end; ++i) {
    const Place& place = func.places()[static_cast<size_t>(i)];
    if (!place.is_block()) { continue; }
    if (is_too_much(func, place)) { return {}; }
    int64_t count = 1;
    for (const Place* at = func.parent(place); at; at = func.parent(*at)) { count *= at->is_loop() ? std::max<int64_t>(as_int(at->loop->extent).value_or(1), 1) : 1; }
    instances += count;
  }
  if (instances > most || !func.parent(loop)) { return {}; }
  Touches races;
  races.reads_only = reads_only;
  Valuation values;
  int64_t steps = 0;
  bool all = Around(func, *func.parent(loop), nullptr).run(values, steps, [&](Valuation& outer) {
    races.forget();
    int64_t iteration = 0;
    return Around(func, bottom, func.parent(loop)).run(outer, steps, [&](Valuation& inner) {
      races.begin(iteration++);
      races.values = inner;
      return !CancelScope::is_cancelled() && races.follow(bottom.loop->body);
    });
  });
  // Buffers made below the loop, and those that only code below it uses.
  auto is_made = [&](const Buffer& buffer, bool below) {
    return std::any_of(func.places().begin(), func.places().end(), [&](const Place& place) {
      return place.is_block() && func.is_below(place, loop) == below && std::find(place.block()->alloc_buffers.begin(), place.block()->alloc_buffers.end(), buffer) != place.block()->alloc_buffers.end();
    });
  };
  auto is_own = [&](const Buffer& buffer) {
    return is_made(buffer, false) && !is_used_outside(func, loop, buffer) && !is_used_between_blocks(func, loop, buffer);
  };
  Races out{.is_known = all};
  for (const Touches::Met& met : races.met) {
    const BufferNode* buffer = met.buffer.get();
    // Of a buffer that is read nobody knows where, lowering gives no iteration one of its own.
    if (is_made(met.buffer, true) || (races.unknown.contains(buffer) && !is_own(met.buffer))) { continue; }
    if (is_own(met.buffer) && (!all || !races.not_filled.contains(buffer))) {
      out.own.push_back(met.buffer);
      continue;
    }
    const Place *block = func.find(met.block), *other = func.find(met.other);
    if (!block) { block = &loop; }
    if (!other) { other = block; }
    if (out.block) {
      out.further.push_back({block, other, met.buffer});
      continue;
    }
    out.block = block;
    out.other = other;
    out.buffer = met.buffer;
  }
  return out;
}

// By ids: places belong to the object that was asked.
struct RacesKept {
  NodeId loop = 0;
  int64_t most = 0;
  bool is_known = false;
  NodeId block = 0, other = 0;                 // 0: none
  Buffer buffer;
  std::vector<Buffer> own;
  struct Pair { NodeId block, other; Buffer buffer; };
  std::vector<Pair> further;
};

auto counted_races(const FuncState& func, const Place& loop, int64_t most) -> Races {
  if (most <= 0) { most = most_steps; }
  auto id_of = [](const Place* place) { return place ? place->id : NodeId{0}; };
  auto kept = std::find_if(func.races_kept.begin(), func.races_kept.end(), [&](const auto& one) { return one->loop == loop.id && one->most == most; });
  if (kept == func.races_kept.end()) {
    Races found = count_races(func, loop, loop, false, most);
    RacesKept out{.loop = loop.id, .most = most, .is_known = found.is_known, .block = id_of(found.block), .other = id_of(found.other), .buffer = found.buffer, .own = found.own, .further = {}};
    for (const Races::Pair& pair : found.further) { out.further.push_back({id_of(pair.block), id_of(pair.other), pair.buffer}); }
    if (!CancelScope::is_cancelled()) { func.races_kept.push_back(std::make_shared<const RacesKept>(std::move(out))); }
    return found;
  }
  const RacesKept& known = **kept;
  auto place_of = [&](NodeId id) { return id != 0 ? func.find(id) : nullptr; };
  Races out{.is_known = known.is_known, .block = place_of(known.block), .other = place_of(known.other), .buffer = known.buffer, .own = known.own};
  for (const RacesKept::Pair& pair : known.further) { out.further.push_back({place_of(pair.block), place_of(pair.other), pair.buffer}); }
  return out;
}
auto counted_crossings(const FuncState& func, const Place& top, const Place& bottom) -> Races { return count_races(func, top, bottom, true); }

namespace {

/// Runs loops, the outermost first, and hands out the values of iter vars wherever the predicate holds, with those of the loops; `f` gives false to
/// stop. False: it did, or not all could be run.
auto each_instance(const std::vector<std::pair<Var, Range>>& loops, const std::vector<Expr>& iter_values, const Expr& predicate,
                   const std::function<bool(const Valuation& loops, Follower::Element instance)>& f) -> bool {
  int64_t count = 1;
  for (const auto& [var, range] : loops) {
    auto extent = as_int(range.extent);
    if (extent && (__builtin_mul_overflow(count, std::max<int64_t>(*extent, 1), &count) || count > most_steps)) { return false; }
  }
  Valuation values;
  int64_t steps = 0;
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
    for (int64_t i = *min; i < *min + *extent; ++i) {
      values.back().second = i;
      if (!run(depth + 1)) { return false; }
    }
    values.pop_back();
    return true;
  };
  return run(0);
}

}  // namespace

auto counted_sharing(const std::vector<std::pair<Var, Range>>& loops, const Var& of, const std::vector<Expr>& iter_values, const Expr& predicate) -> std::optional<bool> {
  bool found = false;
  // By the iterations of the loops outside of it.
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

namespace {

// When elements were last given another value.
class Changes : public Follower {
 public:
  int64_t now = 0;
  struct Write {
    int64_t at = 0;
    NodeId block = 0;
    int64_t instance = 0;                      // a number of `Running`
  };
  std::map<std::pair<const BufferNode*, Element>, Write> last;     // by element; all that was written
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
  int64_t newest_ = 0;                         // when what the innermost block has loaded was changed last
};

// Does a block under a loop read what a block beside the loop, under one further out, writes?
auto reads_from_beside(const FuncState& func, const Place& loop) -> bool {
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

// Every element of a region; false: its bounds are not known.
auto each_element(const BufferRegion& region, const Valuation& values, int64_t& steps, const std::function<void(const Follower::Element&)>& f) -> bool {
  std::vector<std::pair<int64_t, int64_t>> box;
  Follower::Element at;
  for (const Range& range : region.region) {
    auto min = evaluate_integer(range.min, values);
    auto extent = evaluate_integer(range.extent, values);
    if (!min || !extent) { return false; }
    if (*extent <= 0) { return true; }
    box.emplace_back(*min, *min + *extent);
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

}  // namespace

auto counted_replacement(const FuncState& func, const Place& loop, const Block& block, const std::vector<std::pair<Var, Range>>& loops,
                         const std::vector<Expr>& iter_values, const Expr& predicate, bool each_time) -> std::optional<Replaced> {
  for (int i = loop.index + 1; i < loop.end; ++i) {
    const Place& place = func.places()[static_cast<size_t>(i)];
    if (place.is_block() && is_too_much(func, place)) { return {}; }
  }
  int64_t count = 1;
  auto grows = [&](const Expr& extent) {
    auto n = as_int(extent);
    return n && (__builtin_mul_overflow(count, std::max<int64_t>(*n, 1), &count) || count > most_steps);
  };
  for (const auto& [var, range] : loops) { if (grows(range.extent)) { return {}; } }
  for (const Place* at = &loop; at; at = func.parent(*at)) { if (at->is_loop() && grows(at->loop->extent)) { return {}; } }
  Changes changes;
  struct Run { int64_t at = 0; std::vector<std::pair<const BufferNode*, Follower::Element>> reads; };
  std::map<Follower::Element, Run> runs;
  std::set<std::pair<const BufferNode*, Follower::Element>> unmade;   // read before it was written
  std::set<Follower::Element> begun;           // values of spatial iter vars whose init has run
  bool begins_late = false;
  Valuation values;
  int64_t steps = 0;
  Around around(func, loop, nullptr);
  // What runs again under the loop may read what is made beside it, and is not the same again where that is not.
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
    std::function<bool(size_t)> run = [&](size_t depth) -> bool {
      if (depth < loops.size()) {
        auto min = evaluate_integer(loops[depth].second.min, here);
        auto extent = evaluate_integer(loops[depth].second.extent, here);
        if (!min || !extent) { return false; }
        size_t slot = here.size();
        here.emplace_back(loops[depth].first.get(), 0);
        for (int64_t i = *min; i < *min + *extent; ++i) {
          here[slot].second = i;
          if (!run(depth + 1)) { return false; }
        }
        here.resize(slot);
        return true;
      }
      if (++steps > most_steps || CancelScope::is_cancelled()) { return false; }
      auto holds = is_one(predicate) ? std::optional<int64_t>(1) : evaluate_integer(predicate, here);
      if (!holds) { return false; }
      if (*holds == 0) { return true; }
      Follower::Element instance;
      for (const Expr& e : iter_values) {
        auto value = evaluate_integer(e, here);
        if (!value) { return false; }
        instance.push_back(*value);
      }
      size_t slot = here.size();
      for (size_t i = 0; i < instance.size(); ++i) { here.emplace_back(block.iter_vars[i].var.get(), instance[i]); }
      if (block.init) {
        Follower::Element element;
        bool is_first = true;
        for (size_t i = 0; i < instance.size(); ++i) {
          if (block.iter_vars[i].kind != IterKind::Reduction) { element.push_back(instance[i]); continue; }
          is_first = is_first && as_int(block.iter_vars[i].dom.min) == instance[i];
        }
        if (is_first) { begun.insert(std::move(element)); } else if (!begun.contains(element)) { begins_late = true; }
      }
      Run& one = runs[instance];
      if (!each_time || one.at == 0) { one = {changes.now, {}}; }
      bool good = true;
      for (const BufferRegion& read : block.reads) {
        good = good && each_element(read, here, steps, [&](const Follower::Element& at) {
          one.reads.emplace_back(read.buffer.get(), at);
          if (!changes.last.contains(one.reads.back())) { unmade.insert(one.reads.back()); }
        });
      }
      here.resize(slot);
      return good;
    };
    return run(0);
  });
  if (!known) { return {}; }
  Replaced out;
  out.begins_late = begins_late;
  out.reads_unmade = std::any_of(unmade.begin(), unmade.end(), [&](const auto& element) { return changes.last.contains(element); });
  int64_t domain = 1, inside = 0;
  for (const IterVar& iter : block.iter_vars) {
    auto extent = as_int(iter.dom.extent);
    if (!extent || !as_int(iter.dom.min) || __builtin_mul_overflow(domain, *extent, &domain)) { domain = 0; }
  }
  for (const auto& [instance, one] : runs) {
    bool is_inside = domain > 0;
    for (size_t i = 0; is_inside && i < instance.size(); ++i) {
      const Range& dom = block.iter_vars[i].dom;
      is_inside = instance[i] >= *as_int(dom.min) && instance[i] < *as_int(dom.min) + *as_int(dom.extent);
    }
    inside += is_inside ? 1 : 0;
    for (const auto& element : one.reads) {
      auto write = changes.last.find(element);
      out.reads_early = out.reads_early || (write != changes.last.end() && write->second.at > one.at);
    }
  }
  out.runs_all = domain == 0 || inside == domain;
  return out;
}

auto counted_predicate(const FuncState& func, const Place& block) -> std::optional<bool> {
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
      if (*value < *min || *value >= *min + *extent) { return true; }
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
