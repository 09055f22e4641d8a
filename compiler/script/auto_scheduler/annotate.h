// Candidates of a sketch: tile sizes, the places of stages, and annotations of loops (parallel, unrolled, in vectors, threads of GPUs), as TVM's auto-scheduler draws them.
//
// The open decisions of a sketch are a list, so that a search may choose; a candidate is a list of steps without open ones.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "script/auto_scheduler/sketches.h"

namespace loopsmith::script::auto_scheduler {

struct Decision {
  enum class Kind : uint8_t { Tiles, Location, Unroll, Vectorize, Threads, Elements };
  Kind kind = Kind::Tiles;
  size_t of = 0;                               // Tiles: the number of the step; else that of the stage
  std::string name;                            // "tiles of i in C"
  /// Tiles: the lengths; Unroll: the limit; Location, Vectorize: a number that is taken modulo the possibilities; Threads: of a block; Elements: that a thread copies at a time.
  std::vector<std::vector<int64_t>> choices;
};
[[nodiscard]] auto decisions_of(const State& initial, const State& sketch, const SketchOptions& options) -> std::vector<Decision>;

/// Finds the extents of the axes of all stages after steps; none: the steps are refused.
using FindExtents = std::function<std::optional<std::vector<std::vector<int64_t>>>(const std::vector<Step>& steps)>;

/// The candidate with one choice for each decision. None: the steps are refused.
[[nodiscard]] auto candidate_of(const State& initial, const State& sketch, const std::vector<Decision>& decisions, const std::vector<size_t>& chosen, const SketchOptions& options,
                                const FindExtents& find_extents) -> std::optional<State>;

/// The choices of a candidate, from its steps.
struct FoundChoices {
  std::vector<size_t> chosen;                  // for each decision
  bool is_exact = false;                       // the candidate of these choices has just these steps; else it begins like them
};
/// None: the steps are of no candidate of the sketch.
[[nodiscard]] auto choices_of(const State& initial, const State& sketch, const std::vector<Decision>& decisions, const std::vector<Step>& steps, const SketchOptions& options,
                              const FindExtents& find_extents) -> std::optional<FoundChoices>;

}  // namespace loopsmith::script::auto_scheduler
