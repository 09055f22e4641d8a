// Arguments worth trying: see candidates.h.
#include "schedule/candidates.h"

#include <algorithm>
#include <set>

#include "ir/ops.h"
#include "schedule/analysis.h"

namespace loopsmith::schedule {

auto Choice::place(const Value& value) const -> const Place* {
  uint32_t var = UINT32_MAX;
  if (const auto* b = value.as<BlockRV>()) { var = b->var; }
  if (const auto* l = value.as<LoopRV>()) { var = l->var; }
  return var < func.places().size() ? &func.places()[var] : nullptr;
}

auto Choice::subject() const -> const Place& {
  for (const Value& value : chosen) {
    if (const Place* found = place(value)) { return *found; }
  }
  return focus;
}

namespace candidates {
namespace {

// The chain of loops that a loop is in, or that is around a block: each the only statement in the one before.
auto chain_of(const Choice& c) -> std::vector<const Place*> {
  const Place& at = c.subject();
  std::vector<const Place*> out = c.func.loops(at);
  if (at.is_loop()) {
    out.push_back(&at);
    // And down, while there is one loop inside another.
    for (const Place* inner = &at; inner->loop->body.as<For>();) {
      inner = &c.func.places()[static_cast<size_t>(inner->index) + 1];
      out.push_back(inner);
    }
  }
  return out;
}

auto loops_of(const Choice& c, const std::vector<NodeId>& blocks) -> std::vector<Value> {
  std::set<int> seen;
  for (NodeId id : blocks) {
    for (const Place* loop : c.func.loops(*c.func.find(id))) { seen.insert(loop->index); }
  }
  std::vector<Value> out;
  for (int index : seen) { out.push_back(Choice::loop(c.func.places()[static_cast<size_t>(index)])); }
  return out;
}

auto count_up(size_t n) -> std::vector<Value> {
  std::vector<Value> out;
  for (size_t i = 0; i < n; ++i) { out.emplace_back(static_cast<int64_t>(i)); }
  return out;
}

auto as_value(const std::vector<const Place*>& loops) -> Value {
  Value::List out;
  for (const Place* loop : loops) { out.push_back(Choice::loop(*loop)); }
  return Value(std::move(out));
}

}  // namespace

auto factors(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  std::vector<Value> out;
  if (!at.is_loop()) { return out; }
  auto extent = as_int(at.loop->extent);
  for (int64_t factor : {2, 3, 4, 8, 16, 32, 64}) {
    if (extent && factor >= *extent && factor != 2) { continue; }
    out.push_back(Value::List{Value(), factor});
  }
  if (extent && *extent >= 8) { out.push_back(Value::List{Value(), 2, 2}); }
  return out;
}

auto nested_loops(const Choice& c) -> std::vector<Value> {
  std::vector<const Place*> chain = chain_of(c);
  std::vector<Value> out;
  for (size_t i = 1; i < chain.size(); ++i) { out.push_back(as_value({chain[i - 1], chain[i]})); }
  if (chain.size() > 2) { out.push_back(as_value(chain)); }
  return out;
}

auto loop_orders(const Choice& c) -> std::vector<Value> {
  std::vector<const Place*> chain = chain_of(c);
  std::vector<Value> out;
  for (size_t i = 1; i < chain.size(); ++i) { out.push_back(as_value({chain[i], chain[i - 1]})); }
  if (chain.size() > 2) {
    std::reverse(chain.begin(), chain.end());
    out.push_back(as_value(chain));
  }
  return out;
}

auto loops_of_consumers(const Choice& c) -> std::vector<Value> { return loops_of(c, consumers_of(c.func, c.subject())); }
auto loops_of_producers(const Choice& c) -> std::vector<Value> { return loops_of(c, producers_of(c.func, c.subject())); }

auto loops_around(const Choice& c) -> std::vector<Value> {
  std::vector<Value> out;
  for (const Place* loop : c.func.loops(c.subject())) { out.push_back(Choice::loop(*loop)); }
  return out;
}

auto read_indices(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  return count_up(at.is_block() ? at.block()->reads.size() : 0);
}
auto write_indices(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  return count_up(at.is_block() ? at.block()->writes.size() : 0);
}
auto write_axes(const Choice& c) -> std::vector<Value> {
  const Place* at = &c.subject();
  if (at->is_loop()) {
    auto below = c.func.child_blocks(*at);
    if (below.empty()) { return {}; }
    at = below.front();
  }
  if (at->block()->writes.empty()) { return {}; }
  return count_up(at->block()->writes[0].region.size() + 1);
}

auto storage_scopes(const Choice&) -> std::vector<Value> { return {"global", "shared", "local"}; }
auto thread_axes(const Choice&) -> std::vector<Value> { return {"blockIdx.x", "threadIdx.x", "threadIdx.y", "vthread.x"}; }

auto iter_orders(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  std::vector<Value> out;
  if (!at.is_block()) { return out; }
  size_t n = at.block()->iter_vars.size();
  for (size_t i = 1; i < n; ++i) {
    Value::List order = count_up(n);
    std::swap(order[i], order[i - 1]);
    out.push_back(Value(std::move(order)));
  }
  return out;
}

auto annotation_keys(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  std::vector<Value> out;
  for (const auto& [key, value] : at.is_loop() ? at.loop->annotations : at.block()->annotations) { out.emplace_back(key.str()); }
  return out;
}

auto loops_and_pairs(const Choice& c) -> std::vector<Value> {
  if (c.focus.is_loop()) { return {Choice::loop(c.focus)}; }
  const Place* scope = c.func.scope(c.focus);
  if (!scope) { return {}; }
  auto blocks = c.func.child_blocks(*scope);
  for (size_t i = 1; i < blocks.size(); ++i) {
    if (blocks[i - 1] == &c.focus) { return {Value::List{Choice::block(*blocks[i - 1]), Choice::block(*blocks[i])}}; }
  }
  return {};
}

auto booleans(const Choice&) -> std::vector<Value> { return {false, true}; }
auto none(const Choice&) -> std::vector<Value> { return {}; }

}  // namespace candidates
}  // namespace loopsmith::schedule
