// Threads of GPUs for the stages of a candidate: the outermost level of tiles becomes blocks, the second one virtual threads, the third one the threads of a block; copies to shared
// memory are shared by these threads. Source: `InitThreadBind` of TVM's auto-scheduler.
#pragma once

#include <cstdint>
#include <functional>

#include "script/auto_scheduler/sketches.h"

namespace loopsmith::script::auto_scheduler {

/// The choices of a candidate, by the number of a stage.
struct ThreadChoices {
  std::function<int64_t(size_t stage)> threads;    // of a block, for a stage without tiles
  std::function<int64_t(size_t stage)> elements;   // that a thread copies at a time to shared memory
};
/// Needs the extents of all axes. False: the candidate does not keep to the parameters of the GPU.
[[nodiscard]] auto bind_threads(State& state, const GpuParameters& gpu, const ThreadChoices& choices) -> bool;

/// True for a stage without tiles that becomes a kernel of its own.
[[nodiscard]] auto is_plain_kernel(const State& state, size_t stage) -> bool;
/// True for a stage that is a copy in shared memory.
[[nodiscard]] auto is_shared_copy(const StateStage& stage) -> bool;

}  // namespace loopsmith::script::auto_scheduler
