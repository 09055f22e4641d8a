// Finds iterations of loops that touch the same elements by running them: see counted_races.h.
#include "schedule/counted_races.h"

#include <algorithm>
#include <functional>
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

// The iterations and blocks that touched each element.
class Touches : public Follower {
 public:
  int64_t now = 0;
  void begin(int64_t iteration) {
    now = iteration;
  }
  void forget() { touched_.clear(); }
  struct Met { Buffer buffer; NodeId block, other; };
  bool reads_only = false;                     // only reads of elements that another block wrote count
  std::vector<Met> met;                        // the first race on each buffer
  std::set<const BufferNode*> not_filled;      // read before the iteration wrote them
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
    // An element that an iteration writes again with another value, as in a sum, may be incomplete when another iteration reads it.
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
  int64_t newest_ = 0;                         // the number of the last store to an element that the innermost block has loaded
};

}  // namespace

auto is_used_outside(const FuncState& func, const Place& loop, const Buffer& buffer) -> bool {
  auto is_it = [&](const BufferRegion& region) { return region.buffer == buffer; };
  // The loop around this one, too, may add to the same sum, even with one iteration: then the sum is used after the loop ends.
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

auto is_used_between_blocks(const FuncTree& func, const Place& loop, const Buffer& buffer) -> bool {
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
    for (const Place* at = func.parent(place); at; at = func.parent(*at)) { count = saturating_mul(count, at->is_loop() ? std::max<int64_t>(as_int(at->loop->extent).value_or(1), 1) : 1); }
    instances = saturating_add(instances, count);
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
  // True if the buffer is allocated below the loop (`below`) or above it.
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
    // Lowering does not give each iteration a buffer of its own if elements at unknown indices are read.
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

// Keeps ids, since places belong to one FuncState object.
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
  auto kept = std::find_if(func.kept_races().begin(), func.kept_races().end(), [&](const auto& one) { return one->loop == loop.id && one->most == most; });
  if (kept == func.kept_races().end()) {
    Races found = count_races(func, loop, loop, false, most);
    RacesKept out{.loop = loop.id, .most = most, .is_known = found.is_known, .block = id_of(found.block), .other = id_of(found.other), .buffer = found.buffer, .own = found.own, .further = {}};
    for (const Races::Pair& pair : found.further) { out.further.push_back({id_of(pair.block), id_of(pair.other), pair.buffer}); }
    if (!CancelScope::is_cancelled()) { func.keep_races(std::make_shared<const RacesKept>(std::move(out))); }
    return found;
  }
  const RacesKept& known = **kept;
  auto place_of = [&](NodeId id) { return id != 0 ? func.find(id) : nullptr; };
  Races out{.is_known = known.is_known, .block = place_of(known.block), .other = place_of(known.other), .buffer = known.buffer, .own = known.own};
  for (const RacesKept::Pair& pair : known.further) { out.further.push_back({place_of(pair.block), place_of(pair.other), pair.buffer}); }
  return out;
}
auto counted_crossings(const FuncState& func, const Place& top, const Place& bottom) -> Races { return count_races(func, top, bottom, true); }

}  // namespace loopsmith::schedule
