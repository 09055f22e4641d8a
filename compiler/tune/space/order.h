// The order of additions: sums of real numbers depend on it. `tune --keep-order` takes only schedules that add in the order of the program as written.
#pragma once

#include <string>

#include "ir/ir.h"

namespace loopsmith::tune {

/// The reason why a scheduled function may add in another order than the function as written; empty: each sum has the same additions in the same order.
/// Sums of integers, minima and maxima do not depend on the order. A form that the analysis does not cover is a reason too.
[[nodiscard]] auto why_order_changes(const IRModule& written, const IRModule& scheduled, Name function) -> std::string;

}  // namespace loopsmith::tune
