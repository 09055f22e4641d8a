// Bayesian optimization: a Gaussian process over the features of a sketch predicts log(measured / draft) with its uncertainty, and the points with the largest expected
// improvement on the best time are measured. A point far from all measured ones is uncertain, so it is tried even where its expected time is not the best.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "tune/search/points.h"

namespace loopsmith::tune {
namespace {

// The deviation of log(measured / draft) without data, the noise of a measurement, and the length of the kernel in deviations of a feature, for each of them.
constexpr double prior_deviation = 0.7, noise = 0.05, length_per_feature = 0.7;
constexpr size_t most_observations = 96;   // a fit takes time by the third power of their number
constexpr size_t most_drawn = 96;          // random points for one batch of a sketch
constexpr size_t centres = 3;              // measured points whose neighbours are candidates

/// A Gaussian process with a squared exponential kernel.
class Process {
 public:
  void fit(const std::vector<std::vector<double>>& inputs, const std::vector<double>& targets) {
    inputs_ = inputs;
    const size_t n = inputs_.size();
    mean_ = 0;
    for (double y : targets) { mean_ += y / static_cast<double>(n); }
    if (n == 0) { return; }
    scale(inputs);
    factor_.assign(n * n, 0);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double sum = kernel(inputs_[i], inputs_[j]) + (i == j ? noise * noise : 0);
        for (size_t k = 0; k < j; ++k) { sum -= factor_[i * n + k] * factor_[j * n + k]; }
        factor_[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / factor_[j * n + j];
      }
    }
    weights_.clear();
    for (double y : targets) { weights_.push_back(y - mean_); }
    forward(weights_);
    for (size_t i = n; i-- > 0;) {
      for (size_t k = i + 1; k < n; ++k) { weights_[i] -= factor_[k * n + i] * weights_[k]; }
      weights_[i] /= factor_[i * n + i];
    }
  }
  /// The expected value and the deviation at a point.
  [[nodiscard]] auto predict(const std::vector<double>& input) const -> std::pair<double, double> {
    std::vector<double> near;
    double value = mean_;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      near.push_back(kernel(inputs_[i], input));
      value += near.back() * weights_[i];
    }
    forward(near);
    double variance = prior_deviation * prior_deviation;
    for (double v : near) { variance -= v * v; }
    return {value, std::sqrt(std::max(variance, 1e-9))};
  }

 private:
  void scale(const std::vector<std::vector<double>>& inputs) {
    const size_t features = inputs.front().size();
    inverse_.assign(features, 0);
    size_t moving = 0;
    for (size_t f = 0; f < features; ++f) {
      double mean = 0, square = 0;
      for (const auto& input : inputs) { mean += input[f] / static_cast<double>(inputs.size()); }
      for (const auto& input : inputs) { square += (input[f] - mean) * (input[f] - mean) / static_cast<double>(inputs.size()); }
      // A feature that no measured point varies still separates points.
      inverse_[f] = square > 1e-12 ? 1 / std::sqrt(square) : 1;
      moving += square > 1e-12 ? 1 : 0;
    }
    inverse_length_ = 1 / (length_per_feature * length_per_feature * static_cast<double>(std::max<size_t>(moving, 1)));
  }
  [[nodiscard]] auto kernel(const std::vector<double>& a, const std::vector<double>& b) const -> double {
    double distance = 0;
    for (size_t f = 0; f < inverse_.size(); ++f) {
      const double d = (a[f] - b[f]) * inverse_[f];
      distance += d * d;
    }
    return prior_deviation * prior_deviation * std::exp(-0.5 * distance * inverse_length_);
  }
  /// Solves with the lower factor, in place.
  void forward(std::vector<double>& v) const {
    const size_t n = inputs_.size();
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < i; ++k) { v[i] -= factor_[i * n + k] * v[k]; }
      v[i] /= factor_[i * n + i];
    }
  }

  std::vector<std::vector<double>> inputs_;
  std::vector<double> factor_, weights_, inverse_;
  double mean_ = 0, inverse_length_ = 1;
};

/// The expected gain on `best` of a normal variable that is to be small.
auto expected_improvement(double best, double mean, double deviation) -> double {
  const double z = (best - mean) / deviation;
  const double density = std::exp(-0.5 * z * z) / 2.5066282746310002;
  return (best - mean) * 0.5 * std::erfc(-z / 1.4142135623730951) + deviation * density;
}

class Bayesian : public PointSearch {
 public:
  Bayesian(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed), observations_(sketches.size()) {}
  [[nodiscard]] auto batch() const -> size_t override { return 8; }

  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    struct Candidate { double gain; double seconds; size_t sketch; Point point; };
    std::vector<Candidate> all;
    for (size_t s = 0; s < sketches_.size(); ++s) {
      const Process process = process_of(s);
      for (Point& point : fresh_points(s, centres, most_drawn)) {
        const double draft = sketches_[s]->draft(point);
        if (!std::isfinite(draft) || draft <= 0) { continue; }
        const auto [ratio, deviation] = process.predict(sketches_[s]->features(point));
        const double mean = std::log(draft) + ratio;
        // Without a measurement the fastest expected points come first.
        all.push_back({best_ > 0 ? expected_improvement(std::log(best_), mean, deviation) : -mean, std::exp(mean), s, std::move(point)});
      }
    }
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return std::tie(b.gain, a.sketch, a.point) < std::tie(a.gain, b.sketch, b.point); });
    for (const Candidate& one : all) { if (out.size() < count) { (void)take(one.sketch, one.point, one.seconds, out); } }
    fill(count, out);
    return out;
  }

  void learn(const Proposal& proposal, double seconds, bool exact) override {
    PointSearch::learn(proposal, seconds, exact);
    const double draft = sketches_[proposal.sketch]->draft(proposal.point);
    if (std::isfinite(draft) && draft > 0) { observations_[proposal.sketch].push_back({sketches_[proposal.sketch]->features(proposal.point), std::log(seconds / draft)}); }
  }

 private:
  struct Observation { std::vector<double> features; double log_ratio; };

  [[nodiscard]] auto process_of(size_t sketch) const -> Process {
    const auto& all = observations_[sketch];
    std::vector<std::vector<double>> inputs;
    std::vector<double> targets;
    for (size_t i = all.size() - std::min(all.size(), most_observations); i < all.size(); ++i) {
      inputs.push_back(all[i].features);
      targets.push_back(all[i].log_ratio);
    }
    Process out;
    out.fit(inputs, targets);
    return out;
  }

  std::vector<std::vector<Observation>> observations_;
};

}  // namespace

auto make_bayesian(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<Bayesian>(sketches, seed); }

}  // namespace loopsmith::tune
