// Spaces made of traces: MetaSchedule's, and those that schedule functions span.
#pragma once

#include <vector>

#include "schedule/schedule.h"
#include "target/target.h"
#include "tune/space/trace_sketch.h"

namespace loopsmith::tune {

/// A sketch for each trace that MetaSchedule's default rules make for the target, with its default post-processors behind it.
[[nodiscard]] auto metaschedule_space(const SpaceContext& context, const target::Target& target, uint64_t seed) -> Result<Sketches>;

/// The space that a schedule function spans: one sketch, of the trace of a run of it.
[[nodiscard]] auto sampled_space(const SpaceContext& context, const std::string& name, const schedule::Trace& trace) -> Result<Sketches>;

/// True where a trace has sampling instructions.
[[nodiscard]] auto has_samples(const schedule::Trace& trace) -> bool;

/// The schedules that differ in an instruction, not only in decisions; of equal ones the first.
[[nodiscard]] auto different_traces(std::vector<schedule::Schedule> schedules) -> std::vector<schedule::Schedule>;

}  // namespace loopsmith::tune
