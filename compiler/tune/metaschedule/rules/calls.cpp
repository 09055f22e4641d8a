// Calls of primitives with C++ types: see calls.h.
#include "tune/metaschedule/rules/calls.h"

#include "ir/ops.h"

namespace loopsmith::tune::rules {

using schedule::Value;

auto perform(Schedule& sch, std::string_view primitive, Values arguments) -> Status {
  LOOPSMITH_CHECK(sch.call(primitive, std::move(arguments)));
  return ok();
}

auto block_from(Schedule& sch, std::string_view primitive, Values arguments) -> Result<BlockRV> {
  LOOPSMITH_TRY(result, sch.call(primitive, std::move(arguments)));
  return *result.as<BlockRV>();
}

auto blocks_from(Schedule& sch, std::string_view primitive, BlockRV block) -> Result<std::vector<BlockRV>> {
  LOOPSMITH_TRY(result, sch.call(primitive, {block}));
  return schedule::blocks_of(result);
}

auto sample_tile(Schedule& sch, LoopRV loop, int64_t n, int64_t max_innermost_factor) -> Result<std::vector<ExprRV>> {
  LOOPSMITH_TRY(result, sch.call("sample_perfect_tile", {loop, n, max_innermost_factor}));
  return schedule::exprs_of(result);
}

auto sample_one_of(Schedule& sch, const std::vector<int64_t>& candidates) -> Result<ExprRV> {
  const std::vector<double> probabilities(candidates.size(), 1.0 / static_cast<double>(candidates.size()));
  LOOPSMITH_TRY(result, sch.call("sample_categorical", {Value(candidates), Value(probabilities)}));
  return *result.as<ExprRV>();
}

auto extent_of(const Schedule& sch, LoopRV loop) -> Result<int64_t> {
  LOOPSMITH_TRY(place, sch.get(loop));
  return as_int(place->loop->extent).value_or(-1);
}

auto find_block(const Schedule& sch, BlockRV block) -> Result<schedule::State::Found> {
  LOOPSMITH_TRY(place, sch.get(block));
  return sch.state().find(place->id);
}

}  // namespace loopsmith::tune::rules
