// The distance between two spellings: see spelling.h.
#include "support/spelling.h"

#include <algorithm>
#include <vector>

namespace loopsmith {

auto edit_distance(std::string_view a, std::string_view b) -> size_t {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      size_t substitute = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) { d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1); }
    }
  }
  return d[a.size()][b.size()];
}

auto closest(std::string_view wanted, const std::vector<std::string>& candidates) -> std::string {
  std::string best;
  size_t best_distance = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (wanted.size() >= 3 && candidate.size() > wanted.size() && candidate.substr(0, wanted.size()) == wanted && best.empty()) {
      best = candidate;
      continue;
    }
    size_t distance = edit_distance(wanted, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace loopsmith
