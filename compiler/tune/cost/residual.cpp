// Ridge regression by normal equations and a Cholesky factor: see residual.h.
#include "tune/cost/residual.h"

#include <cmath>

namespace loopsmith::tune {
namespace {
// The weight of the assumption that the draft is right, in rows of data.
constexpr double ridge = 6;
}  // namespace

void ResidualModel::add(std::vector<double> features, double log_ratio, double weight) {
  rows_.push_back({std::move(features), log_ratio, weight});
}

void ResidualModel::fit() {
  weights_.clear();
  offset_ = 0;
  if (rows_.empty()) { return; }
  size_t n = rows_.front().features.size();
  double total = 0;
  mean_.assign(n, 0);
  scale_.assign(n, 0);
  for (const Row& row : rows_) {
    total += row.weight;
    offset_ += row.weight * row.target;
    for (size_t i = 0; i < n; ++i) { mean_[i] += row.weight * row.features[i]; }
  }
  offset_ /= total;
  for (double& m : mean_) { m /= total; }
  for (const Row& row : rows_) {
    for (size_t i = 0; i < n; ++i) {
      double d = row.features[i] - mean_[i];
      scale_[i] += row.weight * d * d;
    }
  }
  for (double& s : scale_) { s = s > 1e-12 ? std::sqrt(s / total) : 0; }
  // A few rows give only a common factor, which does not rank points; slopes need more.
  if (rows_.size() < 8) { return; }
  std::vector<double> a(n * n, 0);
  std::vector<double> b(n, 0);
  std::vector<double> x(n);
  for (const Row& row : rows_) {
    for (size_t i = 0; i < n; ++i) { x[i] = scale_[i] > 0 ? (row.features[i] - mean_[i]) / scale_[i] : 0; }
    double y = row.target - offset_;
    for (size_t i = 0; i < n; ++i) {
      b[i] += row.weight * x[i] * y;
      for (size_t j = 0; j <= i; ++j) { a[i * n + j] += row.weight * x[i] * x[j]; }
    }
  }
  for (size_t i = 0; i < n; ++i) { a[i * n + i] += ridge; }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; ++k) { sum -= a[i * n + k] * a[j * n + k]; }
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) { b[i] -= a[i * n + k] * b[k]; }
    b[i] /= a[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) { b[i] -= a[k * n + i] * b[k]; }
    b[i] /= a[i * n + i];
  }
  weights_ = std::move(b);
}

auto ResidualModel::predict(const std::vector<double>& features) const -> double {
  double out = offset_;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (scale_[i] > 0) { out += weights_[i] * (features[i] - mean_[i]) / scale_[i]; }
  }
  return out;
}

}  // namespace loopsmith::tune
