// Sketches: the states that the rules of TVM's auto-scheduler (Ansor) make of a task, for processors or for GPUs. Tile sizes are open: a split has the length 0 for each of them.
//
// The rules visit the stages of a task from the last one to the first. A rule whose condition holds adds states; some conditions keep the later rules away from the stage.
// Source: "Ansor: Generating High-Performance Tensor Programs for Deep Learning" (OSDI'20), section 4.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "script/auto_scheduler/state.h"
#include "support/diagnostic.h"

namespace loopsmith::script::auto_scheduler {

/// The parameters of a GPU that rules and candidates keep to: those of TVM's `HardwareParams`.
struct GpuParameters {
  int64_t warp = 32;               // threads
  int64_t block_threads = 1024;    // the most threads of a block
  int64_t virtual_threads = 8;     // the most virtual threads
};
struct SketchOptions {
  int64_t cores = 1;
  std::optional<GpuParameters> gpu = {};   // none: the rules are those for processors
  /// Levels of tiles from the outermost: S for the spatial axes, R for the reduction axes; empty: those of TVM.
  std::string structure = {};
  [[nodiscard]] auto levels() const -> std::string { return !structure.empty() ? structure : gpu ? "SSSRRSRS" : "SSRSRS"; }
};

/// A state, and the stage that the rules visit next; -1: all stages are visited.
struct Visit {
  State state;
  int64_t stage = -1;
};

/// The answer of a rule's condition.
enum class Condition : uint8_t { Skip, Apply, ApplyAndSkipRest };
/// A rule of sketches: its condition, and the states that it makes.
struct SketchRule {
  std::string name;
  std::function<Condition(const State& state, size_t stage)> condition;
  std::function<std::vector<Visit>(const State& state, size_t stage)> apply;
};

/// The rules for processors or for GPUs, in the order of TVM.
[[nodiscard]] auto rules_for(const SketchOptions& options) -> std::vector<SketchRule>;
/// The sketches of a task. `first`: rules in front of the others, such as those of a file.
[[nodiscard]] auto make_sketches(const State& initial, const SketchOptions& options, const std::vector<SketchRule>& first = {}) -> std::vector<State>;

/// True for a stage whose reduction the threads of a block share.
[[nodiscard]] auto reduces_across_threads(const StateStage& stage) -> bool;
/// True for a stage whose elements are read several times, so that tiles pay.
[[nodiscard]] auto needs_tiles(const State& state, size_t stage) -> bool;

}  // namespace loopsmith::script::auto_scheduler
