// Corrects the draft by measurements: a ridge regression of log(measured / draft) on the features of a point.
// Without data it returns 0, so the model is the draft. Deterministic; a fit of some hundred rows of some thirty
// features takes well under a millisecond.
#pragma once

#include "tune/cost/model.h"

namespace loopsmith::tune {

class ResidualModel final : public CostModel {
 public:
  void add(std::vector<double> features, double log_ratio, double weight = 1) override;
  void fit() override;
  [[nodiscard]] auto predict(const std::vector<double>& features) const -> double override;
  [[nodiscard]] auto size() const -> size_t override { return rows_.size(); }

 private:
  struct Row { std::vector<double> features; double target; double weight; };
  std::vector<Row> rows_;
  std::vector<double> mean_, scale_, weights_;
  double offset_ = 0;
};

}  // namespace loopsmith::tune
