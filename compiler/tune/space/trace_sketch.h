// A trace with sampling instructions as a sketch: each `sample_*` call is a knob with its choices written out, and a point is a replay with these decisions.
// Any maker of traces makes sketches this way: MetaSchedule's rules, and schedule functions that sample.
//
// No closed form predicts the time of a trace, so the draft replays it and estimates the resulting state (cost/estimate.h, for devices cost/kernel_estimate.h). A point that the replay refuses
// has an infinite draft, and is remembered.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "schedule/schedule.h"
#include "tune/metaschedule/mutators/mutators.h"
#include "tune/space/drafted_sketch.h"
#include "tune/space/thread_bounds.h"

namespace loopsmith::tune {

/// Steps that run after the replay of a trace, such as post-processors. An error means that the point is not legal.
using FinishTrace = std::function<Status(schedule::Schedule&)>;

class TraceSketch : public DraftedSketch {
 public:
  /// `sch` is the result of the trace from `context.module`. `draft_finish`: the steps that drafts take in place of `finish`, if those are fewer. With
  /// mutators, the limit of `meta_schedule.parallel` is a knob too.
  TraceSketch(const SpaceContext& context, std::string name, const schedule::Schedule& sch, FinishTrace finish = {}, FinishTrace draft_finish = {},
              std::shared_ptr<const metaschedule::Mutators> mutators = nullptr);

  [[nodiscard]] auto apply(schedule::Schedule& sch, const Point& point) const -> Status override;
  [[nodiscard]] auto known_trace(const Point& point) const -> std::optional<schedule::Trace> override { return trace_at(point); }
  [[nodiscard]] auto mutated(const Point& point, int64_t seed) const -> std::optional<Point> override;
  [[nodiscard]] auto has_mutators() const -> bool override { return mutators_ && !mutators_->empty(); }
  /// A draft takes milliseconds.
  [[nodiscard]] auto population() const -> size_t override { return 32; }

  [[nodiscard]] auto trace() const -> const schedule::Trace& { return trace_; }
  /// The trace with the decisions of a point.
  [[nodiscard]] auto trace_at(const Point& point) const -> schedule::Trace;
  /// The point whose decisions the trace itself has; none: one of them is not among the choices.
  [[nodiscard]] auto own_point() const -> const std::optional<Point>& { return own_; }

 protected:
  [[nodiscard]] auto prepare_draft(schedule::Schedule& sch, const Point& point) const -> bool override;
  [[nodiscard]] auto is_out_of_question(const Point& point) const -> bool override;

 private:
  /// Adds a knob for a sampling instruction.
  void add_knob(size_t instruction, const schedule::Instruction& sampled, const schedule::Schedule& before);
  /// Adds a knob for the limit of an annotation `meta_schedule.parallel`, of one of the numbers up to that limit that fuse different numbers of loops.
  void add_parallel_knob(size_t instruction, int64_t limit);
  /// The point whose decisions a trace has; none: the trace is not one of this sketch.
  [[nodiscard]] auto point_of(const schedule::Trace& trace) const -> std::optional<Point>;
  /// Replays the trace of a point. False: a step is not legal.
  [[nodiscard]] auto replay_draft(schedule::Schedule& sch, const Point& point) const -> bool;

  schedule::Trace trace_;
  FinishTrace finish_, draft_finish_;
  std::vector<size_t> instructions_;   // of the knobs, by number in the trace
  std::optional<Point> own_;
  std::vector<ThreadBound> thread_bounds_;
  std::shared_ptr<const metaschedule::Mutators> mutators_;
  metaschedule::MutatorContext mutator_context_;
  // The intrinsics of the schedule's file.
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics_;
  /// Drafts in front of a knob, by the choices before it: most changes of a search leave the first knobs alone.
  struct Begun { schedule::Schedule sch; schedule::Schedule::ReplayPlace place; };
  mutable std::map<Point, Begun> begun_;
};

/// The ways to write `extent` as a product of `n` factors, in order; the last one is at most `most_innermost` where that is positive. With a partition the
/// product of the factors from `partition` on is a multiple of `multiple`.
[[nodiscard]] auto factorizations(int64_t extent, int64_t n, int64_t most_innermost, int64_t partition = 0, int64_t multiple = 1) -> std::vector<std::vector<int64_t>>;

}  // namespace loopsmith::tune
