// Training and use of the perceptron: see mlp.h.
#include "tune/cost/mlp.h"

#include <cmath>

namespace loopsmith::tune {
namespace {

constexpr size_t hidden = 24;
constexpr int epochs = 150;
constexpr size_t batch_rows = 32;
constexpr double learning_rate = 0.01, decay = 1e-4;
// A few rows give only a common factor, which does not rank points.
constexpr size_t least_rows = 8;

/// The places of the weights in one list: of each layer its matrix, then its offsets.
struct Places {
  explicit Places(size_t inputs) : first_offsets(inputs * hidden), second(first_offsets + hidden), second_offsets(second + hidden * hidden), last(second_offsets + hidden), last_offset(last + hidden), size(last_offset + 1) {}
  size_t first_offsets, second, second_offsets, last, last_offset, size;
};

auto random_share(uint64_t& state) -> double {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<double>(state >> 11) / static_cast<double>(1ULL << 53);
}

/// Adam, for one list of weights.
class Adam {
 public:
  explicit Adam(size_t size) : mean_(size, 0), square_(size, 0) {}
  void step(std::vector<double>& weights, const std::vector<double>& slopes) {
    ++steps_;
    const double correct_mean = 1 - std::pow(0.9, steps_), correct_square = 1 - std::pow(0.999, steps_);
    for (size_t i = 0; i < weights.size(); ++i) {
      mean_[i] = 0.9 * mean_[i] + 0.1 * slopes[i];
      square_[i] = 0.999 * square_[i] + 0.001 * slopes[i] * slopes[i];
      weights[i] -= learning_rate * (mean_[i] / correct_mean / (std::sqrt(square_[i] / correct_square) + 1e-8) + decay * weights[i]);
    }
  }

 private:
  std::vector<double> mean_, square_;
  int steps_ = 0;
};

}  // namespace

void MlpModel::add(std::vector<double> features, double log_ratio, double weight) { rows_.push_back({std::move(features), log_ratio, weight}); }

auto MlpModel::scaled(const std::vector<double>& features) const -> std::vector<double> {
  std::vector<double> out(inverse_.size());
  for (size_t i = 0; i < out.size() && i < features.size(); ++i) { out[i] = (features[i] - mean_[i]) * inverse_[i]; }
  return out;
}

auto MlpModel::run(const std::vector<double>& input) const -> Layers {
  const Places at(input.size());
  Layers out;
  out.first.resize(hidden);
  out.second.resize(hidden);
  for (size_t h = 0; h < hidden; ++h) {
    double sum = weights_[at.first_offsets + h];
    for (size_t i = 0; i < input.size(); ++i) { sum += weights_[i * hidden + h] * input[i]; }
    out.first[h] = std::tanh(sum);
  }
  for (size_t h = 0; h < hidden; ++h) {
    double sum = weights_[at.second_offsets + h];
    for (size_t i = 0; i < hidden; ++i) { sum += weights_[at.second + i * hidden + h] * out.first[i]; }
    out.second[h] = std::tanh(sum);
  }
  out.out = weights_[at.last_offset];
  for (size_t h = 0; h < hidden; ++h) { out.out += weights_[at.last + h] * out.second[h]; }
  return out;
}

void MlpModel::fit() {
  if (fitted_ == rows_.size()) { return; }
  fitted_ = rows_.size();
  const size_t features = rows_.front().features.size();
  double total = 0;
  offset_ = 0;
  mean_.assign(features, 0);
  inverse_.assign(features, 0);
  for (const Row& row : rows_) {
    total += row.weight;
    offset_ += row.weight * row.target;
    for (size_t i = 0; i < features; ++i) { mean_[i] += row.features[i] / static_cast<double>(rows_.size()); }
  }
  offset_ /= total;
  for (const Row& row : rows_) { for (size_t i = 0; i < features; ++i) { inverse_[i] += (row.features[i] - mean_[i]) * (row.features[i] - mean_[i]) / static_cast<double>(rows_.size()); } }
  for (double& v : inverse_) { v = v > 1e-12 ? 1 / std::sqrt(v) : 0; }
  weights_.clear();
  if (rows_.size() < least_rows) { return; }
  const Places at(features);
  uint64_t state = 1;
  weights_.resize(at.size);
  for (size_t i = 0; i < at.size; ++i) {
    const double inputs = i < at.first_offsets ? static_cast<double>(features) : static_cast<double>(hidden);
    weights_[i] = (2 * random_share(state) - 1) / std::sqrt(inputs);
  }
  Adam adam(at.size);
  std::vector<double> slopes(at.size);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (size_t begin = 0; begin < rows_.size(); begin += batch_rows) {
      slopes.assign(at.size, 0);
      for (size_t b = 0; b < batch_rows && begin + b < rows_.size(); ++b) {
        // Each epoch has another order.
        const Row& row = rows_[(begin + b + static_cast<size_t>(epoch) * 7) % rows_.size()];
        const std::vector<double> input = scaled(row.features);
        const Layers layers = run(input);
        const double error = layers.out - (row.target - offset_);
        // A measurement that was stopped early is a bound.
        if (row.weight < 1 && error >= 0) { continue; }
        const double slope = row.weight * error / static_cast<double>(batch_rows);
        std::vector<double> below(hidden, 0);
        slopes[at.last_offset] += slope;
        for (size_t h = 0; h < hidden; ++h) {
          slopes[at.last + h] += slope * layers.second[h];
          const double inner = slope * weights_[at.last + h] * (1 - layers.second[h] * layers.second[h]);
          slopes[at.second_offsets + h] += inner;
          for (size_t i = 0; i < hidden; ++i) {
            slopes[at.second + i * hidden + h] += inner * layers.first[i];
            below[i] += inner * weights_[at.second + i * hidden + h];
          }
        }
        for (size_t h = 0; h < hidden; ++h) {
          const double inner = below[h] * (1 - layers.first[h] * layers.first[h]);
          slopes[at.first_offsets + h] += inner;
          for (size_t i = 0; i < features; ++i) { slopes[i * hidden + h] += inner * input[i]; }
        }
      }
      adam.step(weights_, slopes);
    }
  }
}

auto MlpModel::predict(const std::vector<double>& features) const -> double { return weights_.empty() ? offset_ : offset_ + run(scaled(features)).out; }

}  // namespace loopsmith::tune
