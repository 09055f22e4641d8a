// Threads and memories: see threads.h.
#include "schedule/threads.h"

#include "ir/ops.h"
#include "ir/vocabulary.h"

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

auto runs_at_once(const For& loop) -> bool {
  if (is_one(loop.extent)) { return false; }
  return loop.for_kind == ForKind::Parallel || loop.for_kind == ForKind::Vectorized || is_bound_to_grid(loop);
}

}  // namespace loopsmith::schedule
