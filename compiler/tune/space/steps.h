// Small compositions of primitives that several rules use, in the form in which a person would type them.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "tune/space/sketch.h"

namespace loopsmith::tune {

/// Divisors in rising order.
[[nodiscard]] auto divisors(int64_t n) -> std::vector<int64_t>;

[[nodiscard]] auto get_block(schedule::Schedule& sch, const std::string& name) -> Result<schedule::BlockRV>;
[[nodiscard]] auto get_loops(schedule::Schedule& sch, schedule::BlockRV block) -> Result<std::vector<schedule::LoopRV>>;
[[nodiscard]] auto extent_of(const schedule::Schedule& sch, schedule::LoopRV loop) -> int64_t;   // 0: not constant
[[nodiscard]] auto split(schedule::Schedule& sch, schedule::LoopRV loop, const std::vector<int64_t>& factors)
    -> Result<std::vector<schedule::LoopRV>>;
[[nodiscard]] auto fuse(schedule::Schedule& sch, const std::vector<schedule::LoopRV>& loops) -> Result<schedule::LoopRV>;

/// Turns the last `inner` loops of a block into straight-line vector code: vectorizes the last one (in chunks if it is long) and unrolls the others as
/// long as the code stays small.
[[nodiscard]] auto vectorize_inner(schedule::Schedule& sch, schedule::BlockRV block, size_t inner, int lanes, bool unroll) -> Status;

/// Distributes a block of spatial loops over the cores and vectorizes its last loop; leaves a block unchanged that it cannot improve.
[[nodiscard]] auto flatten_block(schedule::Schedule& sch, schedule::BlockRV block, int lanes, int64_t parallel_from) -> Status;

/// True if `rfactor` of that loop of a block is legal in the program as written.
[[nodiscard]] auto can_factor(const SpaceContext& context, const std::string& block, size_t loop) -> bool;

}  // namespace loopsmith::tune
