// Small compositions of primitives that several rules use. Each is what a person would type.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace loopsmith::tune {

/// Divisors in rising order.
[[nodiscard]] auto divisors(int64_t n) -> std::vector<int64_t>;

[[nodiscard]] auto get_block(schedule::Schedule& sch, const std::string& name) -> Result<schedule::BlockRV>;
[[nodiscard]] auto get_loops(schedule::Schedule& sch, schedule::BlockRV block) -> Result<std::vector<schedule::LoopRV>>;
[[nodiscard]] auto extent_of(const schedule::Schedule& sch, schedule::LoopRV loop) -> int64_t;   // 0: not constant
[[nodiscard]] auto split(schedule::Schedule& sch, schedule::LoopRV loop, const std::vector<int64_t>& factors)
    -> Result<std::vector<schedule::LoopRV>>;
[[nodiscard]] auto fuse(schedule::Schedule& sch, const std::vector<schedule::LoopRV>& loops) -> Result<schedule::LoopRV>;

/// Makes the last `inner` loops of a block straight-line vector code: the last one vectorized (in chunks where it is long),
/// the others unrolled while the whole stays small.
[[nodiscard]] auto vectorize_inner(schedule::Schedule& sch, schedule::BlockRV block, size_t inner, int lanes, bool unroll) -> Status;

/// Spreads a block of spatial loops over the cores and vectorizes its last loop; leaves a block it cannot improve as it is.
[[nodiscard]] auto flatten_block(schedule::Schedule& sch, schedule::BlockRV block, int lanes, int64_t parallel_from) -> Status;

}  // namespace loopsmith::tune
