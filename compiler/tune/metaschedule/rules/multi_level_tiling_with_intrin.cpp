// MultiLevelTilingWithIntrin: the innermost tile is the work of a tensor intrinsic.
#include "tune/metaschedule/rules/multi_level_tiling.h"
#include "tune/metaschedule/rules/tensor_match.h"

namespace loopsmith::tune::rules {
namespace {

class MultiLevelTilingWithIntrin : public MultiLevelTiling {
 public:
  MultiLevelTilingWithIntrin(const RuleMachine& machine, std::string intrin_name, MultiLevelTilingOptions options)
      : MultiLevelTiling(machine, std::move(options)), intrin_name_(std::move(intrin_name)) {}

  auto name() const -> std::string_view override { return "MultiLevelTilingWithIntrin"; }

  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override {
    LOOPSMITH_TRY(place, sch.get(block));
    const schedule::TensorIntrin* intrin = find_intrinsic(sch, intrin_name_);
    if (!intrin || !match_block(*place->block(), intrin->description)) { return Schedules{std::move(sch)}; }
    LOOPSMITH_TRY(made, MultiLevelTiling::apply(sch.fork(), block));
    if (made.empty()) { return Schedules{std::move(sch)}; }
    return made;
  }

 protected:
  auto apply_steps(TilingState state) const -> Result<TilingStates> override {
    LOOPSMITH_TRY(loop, tile_with_intrinsic(state.sch, state.block, intrin_name_));
    if (!loop) { return TilingStates{}; }
    LOOPSMITH_TRY(outer, block_from(state.sch, "blockize", {*loop}));
    LOOPSMITH_CHECK(annotate(state.sch, outer, "meta_schedule.auto_tensorize", intrin_name_));
    state.block = outer;
    return MultiLevelTiling::apply_steps(std::move(state));
  }

 private:
  std::string intrin_name_;
};

}  // namespace

auto multi_level_tiling_with_intrin(const RuleMachine& machine, std::string intrin_name, MultiLevelTilingOptions options) -> RulePtr {
  return std::make_shared<MultiLevelTilingWithIntrin>(machine, std::move(intrin_name), std::move(options));
}

}  // namespace loopsmith::tune::rules
