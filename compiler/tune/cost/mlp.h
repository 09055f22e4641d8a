// A multi-layer perceptron that corrects the draft: two hidden layers, trained by Adam. It learns smooth functions of several features. Deterministic; a fit of some hundred rows
// takes some tens of milliseconds.
#pragma once

#include "tune/cost/model.h"

namespace loopsmith::tune {

class MlpModel final : public CostModel {
 public:
  void add(std::vector<double> features, double log_ratio, double weight = 1) override;
  void fit() override;
  [[nodiscard]] auto predict(const std::vector<double>& features) const -> double override;
  [[nodiscard]] auto size() const -> size_t override { return rows_.size(); }

 private:
  struct Row { std::vector<double> features; double target; double weight; };
  /// The values of the layers for scaled inputs; the last one is the output.
  struct Layers { std::vector<double> first, second; double out = 0; };
  [[nodiscard]] auto scaled(const std::vector<double>& features) const -> std::vector<double>;
  [[nodiscard]] auto run(const std::vector<double>& input) const -> Layers;

  std::vector<Row> rows_;
  size_t fitted_ = 0;                       // the rows that the weights know
  std::vector<double> mean_, inverse_;      // of the features
  std::vector<double> weights_;             // of all layers; empty: not trained
  double offset_ = 0;                       // the weighted mean of the targets
};

}  // namespace loopsmith::tune
