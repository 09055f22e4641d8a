// Makes a schedule that changes the layout of parameters comparable with the program before: copies in front of and behind the function convert
// the layouts, as callers would.
#pragma once

#include <string>

#include "ir/ir.h"
#include "schedule/trace.h"

namespace loopsmith::schedule {

/// `after`: the module that the trace makes from `before`. Returns the module with `function` taking its parameters in the old layout: they are copied to
/// the new layout and back. Elements of the new layout without an old one get the pad value, or 0. Returns `after` itself if no layout of a parameter changed.
[[nodiscard]] auto with_layouts_before(const IRModule& before, const IRModule& after, const Trace& trace, int64_t seed, Name function = Name("main")) -> IRModule;

}  // namespace loopsmith::schedule
