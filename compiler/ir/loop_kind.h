// The names of kinds of loops.
#pragma once

#include <string>
#include <string_view>

#include "ir/ir.h"

namespace loopsmith {

/// "serial", "parallel", "vectorized", "unrolled", "threadIdx.x"; "bound" if the thread has no name.
[[nodiscard]] inline auto loop_kind(const For& loop) -> std::string {
  switch (loop.for_kind) {
    case ForKind::Serial: return "serial";
    case ForKind::Parallel: return "parallel";
    case ForKind::Vectorized: return "vectorized";
    case ForKind::Unrolled: return "unrolled";
    case ForKind::ThreadBinding: return loop.thread ? loop.thread->thread_tag.str() : "bound";
  }
  return "serial";
}

/// The kind after a separator; empty for a serial loop, the usual kind.
[[nodiscard]] inline auto loop_kind_behind(std::string_view separator, const For& loop) -> std::string {
  return loop.for_kind == ForKind::Serial ? std::string() : std::string(separator) + loop_kind(loop);
}

}  // namespace loopsmith
