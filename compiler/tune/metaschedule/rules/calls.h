// Calls of primitives with C++ types that only rules make; those of all pieces are in ../calls.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.h"
#include "tune/metaschedule/calls.h"

namespace loopsmith::tune::rules {

using schedule::BlockRV;
using schedule::ExprRV;
using schedule::LoopRV;
using schedule::Schedule;
using metaschedule::annotate;
using metaschedule::fuse;
using metaschedule::get_loops;
using metaschedule::reorder;
using metaschedule::string_attr;
using Values = std::vector<schedule::Value>;

/// A call without a result.
[[nodiscard]] auto perform(Schedule& sch, std::string_view primitive, Values arguments) -> Status;
/// A call that returns one block.
[[nodiscard]] auto block_from(Schedule& sch, std::string_view primitive, Values arguments) -> Result<BlockRV>;
/// A call that returns a list of blocks, such as `get_consumers`.
[[nodiscard]] auto blocks_from(Schedule& sch, std::string_view primitive, BlockRV block) -> Result<std::vector<BlockRV>>;
[[nodiscard]] auto sample_tile(Schedule& sch, LoopRV loop, int64_t n, int64_t max_innermost_factor) -> Result<std::vector<ExprRV>>;
/// Samples one of the candidates, each with the same probability.
[[nodiscard]] auto sample_one_of(Schedule& sch, const std::vector<int64_t>& candidates) -> Result<ExprRV>;

/// The constant extent of a loop; -1: it is not constant.
[[nodiscard]] auto extent_of(const Schedule& sch, LoopRV loop) -> Result<int64_t>;
/// A block with the function around it. The pointers are valid until the schedule changes.
[[nodiscard]] auto find_block(const Schedule& sch, BlockRV block) -> Result<schedule::State::Found>;

}  // namespace loopsmith::tune::rules
