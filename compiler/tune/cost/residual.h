// Corrects the draft by measurements: a ridge regression of log(measured / draft) on the features of a point.
// Without data it returns 0, so the model is the draft. Deterministic; a fit of some hundred rows of some thirty
// features takes well under a millisecond.
#pragma once

#include <cstddef>
#include <vector>

namespace loopsmith::tune {

class ResidualModel {
 public:
  /// `log_ratio`: log(measured / draft). Weight 1: a full measurement; less for a measurement that was stopped early.
  void add(std::vector<double> features, double log_ratio, double weight = 1);
  void fit();
  [[nodiscard]] auto predict(const std::vector<double>& features) const -> double;
  [[nodiscard]] auto size() const -> size_t { return rows_.size(); }

 private:
  struct Row { std::vector<double> features; double target; double weight; };
  std::vector<Row> rows_;
  std::vector<double> mean_, scale_, weights_;
  double offset_ = 0;
};

}  // namespace loopsmith::tune
