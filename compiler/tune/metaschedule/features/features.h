// MetaSchedule's features of a schedule, by which its cost models judge: a row of 164 numbers for each buffer that the program stores to, as TVM 0.19's
// PerStoreFeature extracts them with its default parameters.
//
//     0 .. 15     arithmetic of the value: operations by kind, times the iterations of the loops around
//     16 .. 48    vectorized, unrolled and parallel loops
//     49 .. 56    threads of a GPU
//     57 .. 146   the five buffers that the store touches most: kind of access, bytes, cache lines, reuse, stride
//     147 .. 156  arithmetic intensity against computation, ten samples from the innermost loop outwards
//     157 .. 160  the allocation of the buffer
//     161 .. 163  the loops around
//
// All counts stand as log2(x + 1). If several stores write one buffer, the last one counts; stores of constants do not.
#pragma once

#include <array>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::tune::metaschedule {

inline constexpr size_t features_per_store = 164;
using StoreFeatures = std::array<double, features_per_store>;

/// A row for each stored buffer, in the order of the program. `is_gpu`: threads count, as on targets of the kind `cuda`.
[[nodiscard]] auto extract_features(const IRModule& scheduled, bool is_gpu) -> std::vector<StoreFeatures>;

}  // namespace loopsmith::tune::metaschedule
