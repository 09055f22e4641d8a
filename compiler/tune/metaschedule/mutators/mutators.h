// MetaSchedule's mutators: each makes a trace near another one by changing a decision. Names, choices and probabilities are those of TVM 0.19; a mutator is a
// file here, and mutators.cpp has the default lists. A mutated trace ends in front of the post-processing part.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/random.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace loopsmith::tune::metaschedule {

/// The program and the machine of a search. Some mutators replay the trace to see its loops.
struct MutatorContext {
  IRModule module;
  Name function;
  int64_t cores = 1;
  std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics = nullptr;
};

struct Mutator {
  std::string name;   // TVM's: "MutateTileSize"
  /// None: the trace has nothing that the mutator could change.
  std::function<std::optional<schedule::Trace>(const MutatorContext&, const schedule::Trace&, schedule::RandomEngine&)> apply;
};

/// Moves a divisor from one factor of a `sample_perfect_tile` to another, or changes the width of a cooperative fetch.
[[nodiscard]] auto mutate_tile_size() -> Mutator;
/// Moves a block whose location is sampled to another place.
[[nodiscard]] auto mutate_compute_location() -> Mutator;
/// Changes the sampled number of unrolled steps.
[[nodiscard]] auto mutate_unroll() -> Mutator;
/// Changes the number of loops that are fused to a parallel loop, by the limit in the annotation `meta_schedule.parallel`.
[[nodiscard]] auto mutate_parallel(int64_t max_jobs_per_core) -> Mutator;
/// Changes the sampled extent of a loop that is bound to `threadIdx.x`.
[[nodiscard]] auto mutate_thread_binding() -> Mutator;

/// A mutator with its share of the mutations. The shares of a list need not add up to 1.
struct WeightedMutator {
  Mutator mutator;
  double probability = 0;
};
using Mutators = std::vector<WeightedMutator>;

/// The mutators that TVM uses for a target, with its probabilities.
[[nodiscard]] auto default_mutators(const target::Target& target) -> Mutators;
/// By TVM's name, with the parameters of the default lists; none for an unknown name.
[[nodiscard]] auto find_mutator(std::string_view name) -> std::optional<Mutator>;

/// Draws a mutator and applies it. None: the list is empty, or the mutator has no change.
[[nodiscard]] auto mutate(const Mutators& mutators, const MutatorContext& context, const schedule::Trace& trace, schedule::RandomEngine& random) -> std::optional<schedule::Trace>;

// For the mutators.
/// The trace with another decision, and without the instructions of post-processors.
[[nodiscard]] auto with_decision(const schedule::Trace& trace, size_t instruction, schedule::Value decision) -> schedule::Trace;
/// Another candidate of a `sample_categorical`, by the probabilities of the others; none: there is no other.
[[nodiscard]] auto another_candidate(const schedule::Trace& trace, size_t instruction, schedule::RandomEngine& random) -> std::optional<schedule::Trace>;
/// The instruction annotates a block or loop with a key: the value of the annotation; null: it is another instruction.
[[nodiscard]] auto annotated(const schedule::Instruction& instruction, std::string_view key) -> const schedule::Value*;

}  // namespace loopsmith::tune::metaschedule
