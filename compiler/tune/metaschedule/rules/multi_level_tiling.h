// The parts of MultiLevelTiling that its variants share: tiles of the loops around a block, and stages that cache the elements that a tile reads and writes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tune/metaschedule/rules/calls.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {

struct TensorCoreUse;

/// A schedule in the middle of the rule.
struct TilingState {
  Schedule sch;
  BlockRV block;
  std::vector<std::vector<LoopRV>> tiles = {};          // the loops of each level of the structure
  std::vector<std::vector<ExprRV>> tile_factors = {};   // their sampled extents
  std::map<int64_t, BlockRV> read_reuse = {};           // the caching block of a read, by its number
  std::map<int64_t, BlockRV> write_reuse = {};
  std::shared_ptr<TensorCoreUse> tensor_core = nullptr;   // of MultiLevelTilingTensorCore

  /// A copy that draws other random numbers.
  [[nodiscard]] auto copy() -> TilingState;
};
using TilingStates = std::vector<TilingState>;

class MultiLevelTiling : public Rule {
 public:
  MultiLevelTiling(const RuleMachine& machine, MultiLevelTilingOptions options);

  auto name() const -> std::string_view override { return "MultiLevelTiling"; }
  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override;

 protected:
  /// All steps on a block that is annotated with the structure.
  [[nodiscard]] virtual auto apply_steps(TilingState state) const -> Result<TilingStates>;
  struct Parts { std::vector<ExprRV> factors; std::vector<LoopRV> loops; };
  /// Splits a loop into `count` tiles.
  [[nodiscard]] virtual auto split(Schedule& sch, BlockRV block, LoopRV loop, int64_t count) const -> Result<Parts>;

  /// Runs a step on each state and collects the results.
  template <class Step>
  [[nodiscard]] static auto on_each(TilingStates states, const Step& step) -> Result<TilingStates> {
    TilingStates out;
    for (TilingState& state : states) {
      LOOPSMITH_TRY(next, step(std::move(state)));
      for (TilingState& one : next) { out.push_back(std::move(one)); }
    }
    return out;
  }

  /// Splits and reorders the loops, and binds the outer levels to threads. Only the last `spatial_loops` spatial loops are tiled; -1: all.
  [[nodiscard]] auto tile_loops(TilingState state, int64_t spatial_loops = -1) const -> Result<TilingStates>;
  [[nodiscard]] auto add_write_reuse(TilingState state) const -> Result<TilingStates>;
  [[nodiscard]] auto add_read_reuse(TilingState state) const -> Result<TilingStates>;
  [[nodiscard]] auto add_async_pipeline(TilingState state) const -> Result<TilingStates>;
  /// Samples the elements that a thread fetches at a time, for a block that copies into shared memory.
  [[nodiscard]] auto annotate_cooperative_fetching(Schedule& sch, BlockRV block) const -> Status;

  struct Levels {
    std::vector<std::vector<LoopRV>> tiles;
    std::vector<LoopRV> untiled;           // the spatial loops that stay outside
    int64_t spatial_product = 1;           // of the extents of the tiled spatial loops; -1: not constant
  };
  /// Orders the loops of all levels and binds the outer ones.
  [[nodiscard]] auto arrange(TilingState& state, Levels levels) const -> Status;

  RuleMachine machine_;
  MultiLevelTilingOptions options_;
  std::vector<size_t> spatial_levels_;     // places of `S` in the structure
  std::vector<size_t> reduction_levels_;
};

/// The number of dimensions of each buffer that a block reads; -1 for the buffer that it writes.
[[nodiscard]] auto read_dimensions(const Block& block) -> std::vector<int64_t>;

}  // namespace loopsmith::tune::rules
