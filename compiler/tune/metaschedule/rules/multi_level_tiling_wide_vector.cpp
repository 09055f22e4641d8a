// MultiLevelTilingWideVector: for machines with long vectors. The loop over the last dimension of the output always has a whole vector as its innermost tile.
#include "arith/analyzer.h"
#include "ir/ops.h"
#include "tune/metaschedule/rules/multi_level_tiling.h"

namespace loopsmith::tune::rules {
namespace {

class MultiLevelTilingWideVector : public MultiLevelTiling {
 public:
  MultiLevelTilingWideVector(const RuleMachine& machine, int64_t vector_length_in_bits, MultiLevelTilingOptions options)
      : MultiLevelTiling(machine, std::move(options)), vector_bits_(vector_length_in_bits) {}

  auto name() const -> std::string_view override { return "MultiLevelTilingWideVector"; }

 protected:
  auto split(Schedule& sch, BlockRV block, LoopRV loop, int64_t count) const -> Result<Parts> override {
    LOOPSMITH_TRY(place, sch.get(block));
    LOOPSMITH_TRY(loop_place, sch.get(loop));
    const BufferRegion& write = place->block()->writes[0];
    const size_t last = write.region.size() - 1;
    arith::Analyzer analyzer;
    const bool is_last = last < place->realize->iter_values.size() &&
                         analyzer.prove(equal(loop_place->loop->var, place->realize->iter_values[last])) == arith::Proof::True;
    if (!is_last) { return MultiLevelTiling::split(sch, block, loop, count); }
    const int64_t lanes = vector_bits_ / write.buffer->dtype.bits;
    LOOPSMITH_TRY(extent, extent_of(sch, loop));
    if (extent > lanes) {
      LOOPSMITH_TRY(inner, metaschedule::split(sch, loop, {nullptr, lanes}));
      LOOPSMITH_TRY(factors, sample_tile(sch, inner[0], count - 1, options_.max_innermost_factor));
      LOOPSMITH_TRY(loops, metaschedule::split(sch, inner[0], Values(factors.begin(), factors.end())));
      loops.push_back(inner[1]);
      return Parts{std::move(factors), std::move(loops)};
    }
    Values factors(static_cast<size_t>(count) - 1, 1);
    factors.push_back(extent);
    LOOPSMITH_TRY(loops, metaschedule::split(sch, loop, std::move(factors)));
    return Parts{{}, std::move(loops)};
  }

 private:
  int64_t vector_bits_;
};

}  // namespace

auto multi_level_tiling_wide_vector(const RuleMachine& machine, int64_t vector_length_in_bits, MultiLevelTilingOptions options) -> RulePtr {
  return std::make_shared<MultiLevelTilingWideVector>(machine, vector_length_in_bits, std::move(options));
}

}  // namespace loopsmith::tune::rules
