// The tree of loops and blocks of a function: see func_tree.h.
#include "schedule/func_tree.h"

#include <algorithm>
#include <functional>

#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::schedule {

FuncTree::FuncTree(Name name, PrimFunc func) : name_(name), func_(std::move(func)), places_(root_block(func_) ? Places(func_->body) : Places()) {}

FuncTree::FuncTree(Name name, PrimFunc func, const FuncTree& before)
    : name_(name), func_(std::move(func)), places_(root_block(func_) ? Places(func_->body, before.places_) : Places()) {}

auto FuncTree::loops(const Place& p) const -> std::vector<const Place*> {
  std::vector<const Place*> out;
  for (const Place* at = parent(p); at && at->is_loop(); at = parent(*at)) { out.push_back(at); }
  std::reverse(out.begin(), out.end());
  return out;
}

auto FuncTree::child_blocks(const Place& p) const -> std::vector<const Place*> {
  std::vector<const Place*> out;
  if (p.end == p.index + 1) { return out; }
  for (auto at = places_.from(p.index + 1);;) {
    const Place& place = *at;
    if (place.is_block()) { out.push_back(&place); }
    int next = place.is_block() ? place.end : place.index + 1;
    if (next >= p.end) { break; }
    if (next == place.index + 1) { ++at; } else { at = places_.from(next); }
  }
  return out;
}

// Guesses the position as if all statements held equally many places, then searches by halves, as long as statements are loops or blocks.
auto position_of(const FuncTree& func, const Sequence<Stmt>& items, const Place& around, const Place& wanted) -> size_t {
  const void* node = wanted.is_loop() ? static_cast<const void*>(wanted.loop) : wanted.realize;
  auto is_it = [&](const Stmt& item) { return item.get() == node; };
  constexpr size_t few = 24;
  if (items.size() <= few) { return static_cast<size_t>(std::find_if(items.begin(), items.end(), is_it) - items.begin()); }
  size_t from = 0, to = items.size();
  size_t at = to * static_cast<size_t>(wanted.index - around.index) / static_cast<size_t>(around.end - around.index);
  for (size_t stride = 1; to - from > 1; stride *= 2) {
    const Stmt& item = items[at];
    if (is_it(item)) { return at; }
    const auto* loop = item.as<For>();
    const auto* realize = item.as<BlockRealize>();
    if (!loop && !realize) { break; }
    bool is_before = func.places().index_of(loop ? loop->id : realize->block->id) < wanted.index;
    (is_before ? from : to) = at;
    size_t near = is_before ? at + stride : at - std::min(at, stride), half = from + (to - from) / 2;
    at = is_before ? std::min(near, half) : std::max(near, half);
  }
  auto found = std::find_if(items.begin() + static_cast<std::ptrdiff_t>(from), items.begin() + static_cast<std::ptrdiff_t>(to), is_it);
  return found - items.begin() == static_cast<std::ptrdiff_t>(to) ? items.size() : static_cast<size_t>(found - items.begin());
}

auto is_plain_child(const FuncTree& func, const Place& place) -> bool {
  const Place* around = func.parent(place);
  if (!around) { return true; }
  const Stmt& body = around->is_loop() ? around->loop->body : around->block()->body;
  const StmtNode* own = place.is_loop() ? static_cast<const StmtNode*>(place.loop) : place.realize;
  if (body.get() == own) { return true; }
  const auto* all = body.as<SeqStmt>();
  return all && position_of(func, all->seq, *around, place) < all->seq.size();
}

auto always_runs(const FuncTree& func, const Place& place) -> bool {
  const Place* around = func.parent(place);
  if (!around) { return true; }
  const Stmt& body = around->is_loop() ? around->loop->body : around->block()->body;
  if (jumps_out_of(body).any()) { return false; }
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
  return holds(body);
}

auto loop_domains(const FuncTree& func, const Place& block, const Place* above) -> std::vector<std::pair<Var, Range>> {
  std::vector<std::pair<Var, Range>> out;
  for (const Place* at = func.parent(block); at && at != above && at->is_loop(); at = func.parent(*at)) {
    out.emplace_back(at->loop->var, Range{at->loop->min, at->loop->extent});
  }
  std::reverse(out.begin(), out.end());
  return out;
}

auto is_known_at(const FuncTree& func, const Place* place, const VarNode& var) -> bool {
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

}  // namespace loopsmith::schedule
