// Covers of sizes: see cover.h.
#include "tune/session/cover.h"

#include <algorithm>

namespace loopsmith::tune {
namespace {

class Cover {
 public:
  Cover(const std::vector<std::vector<double>>& seconds, const std::vector<double>& best, double loss) : seconds_(seconds), best_(best), loss_(loss) {}

  [[nodiscard]] auto covers(size_t schedule, size_t size) const -> bool {
    const double time = seconds_[schedule][size];
    return time > 0 && best_[size] > 0 && time <= (1 + loss_) * best_[size];
  }

  /// Returns the chosen ones in the order of choice.
  [[nodiscard]] auto choose(const std::function<bool(size_t)>& is_usable) const -> std::vector<size_t> {
    std::vector<size_t> chosen;
    std::vector<bool> is_covered(best_.size()), is_seen(seconds_.size());
    while (true) {
      size_t next = seconds_.size(), most = 1;
      for (size_t c = 0; c < seconds_.size(); ++c) {
        if (is_seen[c]) { continue; }
        size_t count = 0;
        for (size_t i = 0; i < best_.size(); ++i) { count += covers(c, i) && !is_covered[i] ? 1 : 0; }
        if (count > most) {
          next = c;
          most = count;
        }
      }
      if (next == seconds_.size()) { return chosen; }
      is_seen[next] = true;
      if (!is_usable(next)) { continue; }
      chosen.push_back(next);
      for (size_t i = 0; i < best_.size(); ++i) { is_covered[i] = is_covered[i] || covers(next, i); }
    }
  }

 private:
  const std::vector<std::vector<double>>& seconds_;
  const std::vector<double>& best_;
  double loss_;
};

}  // namespace

auto cover_sizes(const std::vector<std::vector<double>>& seconds, const std::vector<double>& best, double loss, const std::function<bool(size_t)>& is_usable) -> std::vector<CoverPart> {
  const Cover cover(seconds, best, loss);
  std::vector<CoverPart> out;
  for (size_t schedule : cover.choose(is_usable)) { out.push_back({schedule, std::vector<bool>(best.size())}); }
  for (size_t i = 0; i < best.size(); ++i) {
    CoverPart* fastest = nullptr;
    for (CoverPart& part : out) {
      if (cover.covers(part.schedule, i) && (!fastest || seconds[part.schedule][i] < seconds[fastest->schedule][i])) { fastest = &part; }
    }
    if (fastest) { fastest->serves[i] = true; }
  }
  std::erase_if(out, [](const CoverPart& part) { return std::none_of(part.serves.begin(), part.serves.end(), [](bool serves) { return serves; }); });
  return out;
}

}  // namespace loopsmith::tune
