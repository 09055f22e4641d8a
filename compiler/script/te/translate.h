// Stages as primitives on blocks.
//
// The order of the primitives is fixed, whatever the order of the statements: first the steps that add stages (`cache_read`, `cache_write`, `rfactor`),
// then `compute_inline`, then the loops of each stage, consumers before producers: a stage with a `compute_at` is moved under the loop of its
// consumer, which has its final form by then, and its own steps apply to the loops that it has there. At the end each reduction starts outside of
// the first loop that reduces, as in TVM.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "script/te/stages.h"

namespace loopsmith::script::te {

/// A refused primitive: the statement that asked for it, the primitive in words, and the reasons.
struct Refused {
  Origin call;
  std::string primitive;   // "compute_at(A_shared, ko)"
  Diagnostics why;
};

struct Translated {
  std::string primitive;                                // with the stages and axes that it is applied to: equal for equal primitives
  Origin call;
  schedule::Schedule after;
  std::vector<std::optional<schedule::BlockRV>> blocks;   // by stage
  std::vector<std::optional<schedule::LoopRV>> loops;     // by axis
  std::optional<schedule::BlockRV> start = std::nullopt;  // the block that the primitive made for the start of a reduction
};

/// Brings `done` up to date. Returns the number of primitives that ran; none: one was refused, and `done` is as before.
///
/// A stage with a `compute_at` waits at the root while a stage that reads it may still be moved: a later statement may bring that stage inside.
/// `is_whole`: no statement comes behind, so nothing waits.
[[nodiscard]] auto translate(Stages& stages, Refused& refused, bool is_whole = false) -> std::optional<uint64_t>;
/// True where a stage waits.
[[nodiscard]] auto has_waiting(const Stages& stages) -> bool;
/// The schedule after the last translation.
[[nodiscard]] auto translated(const Stages& stages) -> const schedule::Schedule&;
/// The loop of an axis, the block of a stage; none: it has none now.
[[nodiscard]] auto loop_of(const Stages& stages, size_t axis) -> std::optional<schedule::LoopRV>;

}  // namespace loopsmith::script::te
