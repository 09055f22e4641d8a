// Few schedules for many sizes: a greedy cover of the sizes by schedules that are nearly as fast as the best of each.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace loopsmith::tune {

/// A schedule that was chosen, by its index, and the sizes that it serves.
struct CoverPart {
  size_t schedule = 0;
  std::vector<bool> serves;
};

/// `seconds[c][i]`: the time of schedule c for size i; 0: it was not measured. `best[i]`: the best time that is known for size i. A schedule covers a size if it takes at most
/// `1 + loss` of that. The schedule that covers most of the sizes that are left is chosen again and again, until none covers two of them; schedules for which `is_usable`
/// returns false are passed over. Each covered size is then served by the fastest of the chosen schedules that cover it, and schedules that serve none are left out.
[[nodiscard]] auto cover_sizes(const std::vector<std::vector<double>>& seconds, const std::vector<double>& best, double loss, const std::function<bool(size_t)>& is_usable) -> std::vector<CoverPart>;

}  // namespace loopsmith::tune
