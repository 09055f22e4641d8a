// Threads and memories: see threads.h.
#include "schedule/threads.h"

#include <algorithm>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "schedule/facts/instances.h"

namespace loopsmith::schedule {

auto is_shared_across(Name storage_scope, Name thread_tag) -> bool {
  auto memory = memory_family(storage_scope.view());
  auto axis = thread_axis(thread_tag.view());
  // Blocks of a grid share global memory only, and every thread sees the same copy of it anyway.
  if (!memory || !axis || axis->family == ThreadFamily::Block) { return false; }
  if (*memory == MemoryFamily::Warp) { return axis->dimension == 0; }
  return *memory == MemoryFamily::Shared;
}

auto is_bound_to_grid(const For& loop) -> bool {
  auto axis = loop.thread ? thread_axis(loop.thread->thread_tag.view()) : std::nullopt;
  return axis && axis->family == ThreadFamily::Block;
}

auto is_bound_to_threads(const For& loop) -> bool {
  auto axis = loop.thread ? thread_axis(loop.thread->thread_tag.view()) : std::nullopt;
  return axis && axis->family == ThreadFamily::Thread && !is_one(loop.extent);
}

auto repeats_reduction(const Domains& loops, const For& loop, const Block& block, const std::vector<Expr>& iter_values, const Expr& predicate) -> bool {
  if (!block.init) { return false; }
  auto is_this = [&](const VarNode& v) { return &v == loop.var.get(); };
  std::vector<Expr> elements;
  for (size_t i = 0; i < iter_values.size(); ++i) {
    if (block.iter_vars[i].kind == IterKind::Spatial) { elements.push_back(iter_values[i]); } else if (uses_var(iter_values[i], is_this)) { return false; }
  }
  if (std::none_of(elements.begin(), elements.end(), [&](const Expr& e) { return uses_var(e, is_this); })) { return true; }
  // Loops over the terms alone repeat no element.
  Domains outer;
  for (auto domain = loops.rbegin(); domain != loops.rend(); ++domain) {
    auto is_it = [&](const VarNode& v) { return &v == domain->first.get(); };
    const bool is_used = uses_var(predicate, is_it) || std::any_of(elements.begin(), elements.end(), [&](const Expr& e) { return uses_var(e, is_it); }) ||
                         std::any_of(outer.begin(), outer.end(), [&](const auto& d) { return uses_var(d.second.min, is_it) || uses_var(d.second.extent, is_it); });
    if (is_used) { outer.insert(outer.begin(), *domain); }
  }
  return certainly_shares(outer, loop.var, elements, predicate);
}

auto runs_at_once(const For& loop) -> bool {
  if (is_one(loop.extent)) { return false; }
  return loop.for_kind == ForKind::Parallel || loop.for_kind == ForKind::Vectorized || is_bound_to_grid(loop);
}

}  // namespace loopsmith::schedule
