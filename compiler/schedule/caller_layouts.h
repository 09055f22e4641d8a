// Schedules that change the layout of parameters, made comparable with the program before: copies in front and behind convert
// the layouts as callers would.
#pragma once

#include <string>

#include "ir/ir.h"
#include "schedule/trace.h"

namespace loopsmith::schedule {

/// `after`: what the trace makes of `before`. The module with `function` taking its parameters as they were before, copied into the
/// new layout and back (what no element fills has the pad value, or 0). `after` itself where no parameter was laid out anew.
[[nodiscard]] auto with_layouts_before(const IRModule& before, const IRModule& after, const Trace& trace, int64_t seed, Name function = Name("main")) -> IRModule;

}  // namespace loopsmith::schedule
