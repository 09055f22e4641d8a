// Spaces made of traces: MetaSchedule's, and those that schedule functions span.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "schedule/schedule.h"
#include "target/target.h"
#include "tune/metaschedule/postprocs/postprocs.h"
#include "tune/metaschedule/rules/post_order_apply.h"
#include "tune/metaschedule/rules/rule.h"
#include "tune/space/trace_sketch.h"

namespace loopsmith::tune {

/// The pieces of MetaSchedule that make and change traces. Those that are not given are the default ones of the target.
struct SpacePieces {
  std::optional<rules::Rules> rules = {};
  std::optional<std::vector<metaschedule::Postproc>> postprocs = {};
  std::optional<metaschedule::Mutators> mutators = {};
  rules::VisitFilter filter = {};                  // chooses the blocks that rules visit; empty: all
  /// Makes the schedules of the space in place of the rules; empty: the rules do.
  std::function<Result<rules::Schedules>(const schedule::Schedule&)> function = {};
  /// Spaces that are searched together, in place of the rules; empty: there are none.
  std::vector<SpacePieces> parts = {};
  rules::CustomRules custom = {};                  // for blocks with the annotation `schedule_rule`
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics = {};   // of the file; null: none
  /// Receives the steps of written rules that were refused; may be empty.
  std::function<void(const Diagnostics&)> report = {};
};

/// A sketch for each trace that the rules make, with the post-processors behind it.
[[nodiscard]] auto metaschedule_space(const SpaceContext& context, const target::Target& target, uint64_t seed, const SpacePieces& pieces = {}) -> Result<Sketches>;

/// The space that a schedule function spans: one sketch, of the trace of a run of it.
[[nodiscard]] auto sampled_space(const SpaceContext& context, const std::string& name, const schedule::Trace& trace) -> Result<Sketches>;

/// True where a trace has sampling instructions.
[[nodiscard]] auto has_samples(const schedule::Trace& trace) -> bool;

/// The schedules that differ in an instruction, not only in decisions; of equal ones the first.
[[nodiscard]] auto different_traces(std::vector<schedule::Schedule> schedules) -> std::vector<schedule::Schedule>;

}  // namespace loopsmith::tune
