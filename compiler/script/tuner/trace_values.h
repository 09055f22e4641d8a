// Traces as values of scripts, and back.
#pragma once

#include "eval/value.h"
#include "schedule/trace.h"

namespace loopsmith::script {

[[nodiscard]] auto trace_value(schedule::Trace trace) -> eval::Value;
/// Null: the value is not a trace.
[[nodiscard]] auto trace_of(const eval::Value& value) -> const schedule::Trace*;

}  // namespace loopsmith::script
