// Sampling as in TVM: see random.h. The distributions are the C++ library's algorithms written out, so that
// draws are equal on every platform.
#include "schedule/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace loopsmith::schedule {

// The engine's range is [0, modulus - 1]. Follows libstdc++'s uniform_int_distribution for an engine
// with a larger range: rejects the incomplete last bucket.
auto RandomEngine::integer(int64_t low, int64_t high) -> int64_t {
  uint64_t engine_range = max() - min();
  uint64_t range = static_cast<uint64_t>(high - 1 - low);
  uint64_t drawn = 0;
  if (engine_range > range) {
    uint64_t buckets = range + 1;
    uint64_t scaling = engine_range / buckets;
    uint64_t past = buckets * scaling;
    do { drawn = (*this)() - min(); } while (drawn >= past);
    drawn /= scaling;
  } else if (engine_range < range) {
    uint64_t high_part = 0;
    do {
      high_part = (engine_range + 1) * static_cast<uint64_t>(integer(0, static_cast<int64_t>(range / (engine_range + 1)) + 1));
      drawn = high_part + ((*this)() - min());
    } while (drawn > range || drawn < high_part);
  } else {
    drawn = (*this)() - min();
  }
  return static_cast<int64_t>(drawn) + low;
}

// generate_canonical<double, 53>: takes as many draws as 53 bits need.
static auto canonical(RandomEngine& random) -> double {
  const long double range = static_cast<long double>(RandomEngine::max()) - static_cast<long double>(RandomEngine::min()) + 1.0L;
  const size_t bits = static_cast<size_t>(std::log2(range));
  const size_t draws = std::max<size_t>(1, (53 + bits - 1) / bits);
  double sum = 0;
  double scale = 1;
  for (size_t k = draws; k != 0; --k) {
    sum += static_cast<double>(random() - RandomEngine::min()) * scale;
    scale = static_cast<double>(scale * range);
  }
  double result = sum / scale;
  return result >= 1.0 ? std::nextafter(1.0, 0.0) : result;
}

auto RandomEngine::real(double low, double high) -> double { return canonical(*this) * (high - low) + low; }

// discrete_distribution: normalise, partial sums, the last one 1, lower_bound of a canonical draw.
auto RandomEngine::weighted(const std::vector<double>& weights) -> int64_t {
  if (weights.size() < 2) { return 0; }
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> sums;
  double running = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    double p = weights[i] / total;
    running = i == 0 ? p : running + p;
    sums.push_back(running);
  }
  sums.back() = 1.0;
  double draw = canonical(*this);
  return std::lower_bound(sums.begin(), sums.end(), draw) - sums.begin();
}

}  // namespace loopsmith::schedule
