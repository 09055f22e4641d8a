// Arguments worth trying: see candidates.h.
#include "schedule/candidates.h"

#include <algorithm>
#include <set>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/block_classes.h"

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

// The chain of directly nested loops that contains the loop, or that is around the block: each loop is the only statement in the next outer one.
auto chain_of(const Choice& c) -> std::vector<const Place*> {
  const Place& at = c.subject();
  std::vector<const Place*> out = c.func.loops(at);
  if (at.is_loop()) {
    out.push_back(&at);
    // Continues inwards while the body is a single loop.
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

auto consumers_of_reduction(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  std::vector<Value> out;
  if (!at.is_block() || !at.block()->init) { return out; }
  for (NodeId id : consumers_of(c.func, at)) { out.push_back(Choice::block(*c.func.find(id))); }
  return out;
}

auto loops_around(const Choice& c) -> std::vector<Value> {
  std::vector<Value> out;
  for (const Place* loop : c.func.loops(c.subject())) { out.push_back(Choice::loop(*loop)); }
  return out;
}

namespace {

// The block among the arguments before, also if a loop follows it (`read_at`); null if there is none.
auto block_before(const Choice& c) -> const Block* {
  for (const Value& value : c.chosen) {
    if (const Place* place = c.place(value); place && place->is_block()) { return place->block(); }
  }
  return c.subject().is_block() ? c.subject().block() : nullptr;
}

}  // namespace

auto read_indices(const Choice& c) -> std::vector<Value> {
  const Block* block = block_before(c);
  return count_up(block ? block->reads.size() : 0);
}
auto write_indices(const Choice& c) -> std::vector<Value> {
  const Block* block = block_before(c);
  return count_up(block ? block->writes.size() : 0);
}
namespace {

// The region for a value like ("read", 0) among the arguments before; null: no such value is among them.
auto chosen_region(const Choice& c) -> const BufferRegion* {
  const Place& at = c.subject();
  if (!at.is_block()) { return nullptr; }
  for (const Value& value : c.chosen) {
    const auto* pair = value.as<Value::List>();
    if (!pair || pair->size() != 2 || !(*pair)[1].integer()) { continue; }
    const auto& regions = (*pair)[0] == Value("write") ? at.block()->writes : at.block()->reads;
    auto index = static_cast<size_t>(*(*pair)[1].integer());
    if (index < regions.size()) { return &regions[index]; }
  }
  return nullptr;
}

// Maps over a shape: dimensions swapped, fused with the next, split by 2 and 4 with the inner part kept there or put last.
auto maps_over(const std::vector<Expr>& shape, DataType dtype) -> std::vector<Value> {
  std::vector<Value> out;
  size_t n = shape.size();
  std::vector<Var> vars;
  std::vector<Expr> same;
  for (size_t i = 0; i < n; ++i) {
    vars.push_back(make<VarNode>(Name("i" + std::to_string(i)), dtype));
    same.emplace_back(vars.back());
  }
  auto add = [&](std::vector<Expr> final) { out.emplace_back(make_index_map({.initial = vars, .final = std::move(final), .inverse = {}})); };
  for (size_t i = 0; i + 1 < n; ++i) {
    std::vector<Expr> swapped = same;
    std::swap(swapped[i], swapped[i + 1]);
    add(swapped);
    std::vector<Expr> fused = same;
    fused[i] = same[i] * cast(dtype, shape[i + 1]) + same[i + 1];
    fused.erase(fused.begin() + static_cast<ptrdiff_t>(i) + 1);
    add(fused);
  }
  for (size_t i = 0; i < n; ++i) {
    for (int64_t factor : {2, 4}) {
      Expr f = int_imm(factor, dtype);
      std::vector<Expr> split = same;
      split[i] = floordiv(same[i], f);
      std::vector<Expr> last = split;
      split.insert(split.begin() + static_cast<ptrdiff_t>(i) + 1, floormod(same[i], f));
      last.push_back(floormod(same[i], f));
      add(split);
      if (i + 1 < n) { add(last); }
    }
  }
  return out;
}

auto accesses(const Choice& c, bool own) -> std::vector<Value> {
  const Place& at = c.subject();
  std::vector<Value> out;
  if (!at.is_block()) { return out; }
  auto is_own = [&](const Buffer& buffer) {
    for (const Place* place = &at; place; place = c.func.parent(*place)) {
      if (place->is_block() && c.func.allocates(*place, buffer)) { return true; }
    }
    return false;
  };
  for (const char* access : {"read", "write"}) {
    const auto& regions = *access == 'r' ? at.block()->reads : at.block()->writes;
    for (size_t i = 0; i < regions.size(); ++i) {
      if (!own || is_own(regions[i].buffer)) { out.push_back(Value::List{access, static_cast<int64_t>(i)}); }
    }
  }
  return out;
}

}  // namespace

auto own_buffers(const Choice& c) -> std::vector<Value> { return accesses(c, true); }
auto buffers(const Choice& c) -> std::vector<Value> { return accesses(c, false); }

auto layouts(const Choice& c) -> std::vector<Value> {
  const BufferRegion* region = chosen_region(c);
  if (!region || region->buffer->shape.empty()) { return {}; }
  return maps_over(region->buffer->shape.to_vector(), region->buffer->shape[0].dtype());
}

auto iter_layouts(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  if (!at.is_block() || at.block()->iter_vars.empty()) { return {}; }
  std::vector<Expr> extents;
  for (const IterVar& iter : at.block()->iter_vars) { extents.push_back(iter.dom.extent); }
  return maps_over(extents, at.block()->iter_vars[0].var->dtype);
}

namespace {

auto access_maps(const Choice& c, bool is_write) -> std::vector<Value> {
  const Place& at = c.subject();
  const int64_t* index = nullptr;
  for (const Value& value : c.chosen) { index = value.integer() ? value.integer() : index; }
  if (!at.is_block() || !index) { return {}; }
  const auto& regions = is_write ? at.block()->writes : at.block()->reads;
  if (*index < 0 || static_cast<size_t>(*index) >= regions.size()) { return {}; }
  const BufferRegion& region = regions[static_cast<size_t>(*index)];
  std::vector<Var> vars;
  std::vector<Expr> used;
  for (const IterVar& iter : at.block()->iter_vars) {
    vars.push_back(make<VarNode>(iter.var->name, iter.var->dtype));
    bool is_used = std::any_of(region.region.begin(), region.region.end(), [&](const Range& r) { return uses_var(r.min, [&](const VarNode& v) { return &v == iter.var.get(); }); });
    if (is_used) { used.emplace_back(vars.back()); }
  }
  if (used.empty()) { return {}; }
  std::vector<Value> out;
  auto add = [&](std::vector<Expr> final) { out.emplace_back(make_index_map({.initial = vars, .final = std::move(final), .inverse = {}})); };
  add(used);
  add({used.rbegin(), used.rend()});
  std::vector<Expr> split = used;
  Expr four = int_imm(4, used[0].dtype());
  split[0] = floordiv(used[0], four);
  split.push_back(floormod(used[0], four));
  add(split);
  return out;
}

}  // namespace

auto read_maps(const Choice& c) -> std::vector<Value> { return access_maps(c, false); }
auto write_maps(const Choice& c) -> std::vector<Value> { return access_maps(c, true); }

auto paddings(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  if (!at.is_block()) { return {}; }
  std::vector<Value> out;
  for (int64_t p : {4, 8}) { out.emplace_back(Value::List(at.block()->iter_vars.size(), Value(p))); }
  return out;
}

auto ranges(const Choice& c) -> std::vector<Value> {
  const Place& at = c.subject();
  const int64_t* index = nullptr;
  bool is_write = false;
  for (const Value& value : c.chosen) {
    index = value.integer() ? value.integer() : index;
    is_write |= value == Value("write");
  }
  if (!at.is_block() || !index) { return {}; }
  const auto& regions = is_write ? at.block()->writes : at.block()->reads;
  if (*index < 0 || static_cast<size_t>(*index) >= regions.size()) { return {}; }
  std::vector<Var> vars;
  VarMap renamed;
  for (const IterVar& iter : at.block()->iter_vars) {
    vars.push_back(make<VarNode>(iter.var->name, iter.var->dtype));
    renamed[iter.var.get()] = vars.back();
  }
  // Variables from outside of the block cannot be expressed by its iter vars alone.
  auto is_foreign = [&](const VarNode& v) { return !renamed.count(&v); };
  for (const Range& range : regions[static_cast<size_t>(*index)].region) {
    if (uses_var(range.min, is_foreign) || uses_var(range.extent, is_foreign)) { return {}; }
  }
  std::vector<Value> out;
  for (int64_t wider : {0, 3}) {
    std::vector<Expr> ends;
    for (const Range& range : regions[static_cast<size_t>(*index)].region) {
      Expr begin = substitute(range.min, renamed);
      ends.push_back(begin);
      ends.push_back(begin + substitute(range.extent, renamed) + int_imm(wider, begin.dtype()));
    }
    out.emplace_back(make_index_map({.initial = vars, .final = std::move(ends), .inverse = {}}));
  }
  return out;
}

auto pad_values(const Choice& c) -> std::vector<Value> {
  const BufferRegion* region = chosen_region(c);
  const IndexMap* map = nullptr;
  for (const Value& value : c.chosen) {
    if (const auto* m = value.as<IndexMap>()) { map = m; }
  }
  std::vector<Value> out{Value()};
  if (!region || !map) { return out; }
  std::vector<Var> vars;
  for (size_t i = 0; i < (*map)->final.size(); ++i) { vars.push_back(make<VarNode>(Name("i" + std::to_string(i)), (*map)->final[i].dtype())); }
  out.emplace_back(make_index_map({.initial = std::move(vars), .final = {constant(region->buffer->dtype, 1)}, .inverse = {}}));
  return out;
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

}  // namespace candidates
}  // namespace loopsmith::schedule
