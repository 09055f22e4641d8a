// Gradient-boosted regression trees: each tree is fitted to the errors of the trees before it, on histograms of the features. A row that was stopped early counts
// only while its prediction is below the bound. Deterministic; a fit of some hundred rows takes a few milliseconds.
#pragma once

#include "tune/cost/model.h"

namespace loopsmith::tune {

/// A tree as a list of nodes; the first is the root.
struct Tree {
  struct Node {
    int feature = -1;            // -1: a leaf
    double threshold = 0;        // below it the walk goes to `left`
    uint32_t left = 0, right = 0;
    double value = 0;            // of a leaf
  };
  std::vector<Node> nodes;
  [[nodiscard]] auto predict(const std::vector<double>& features) const -> double;
};

/// The rows of a model that is a sum of trees.
class TreeModel : public CostModel {
 public:
  void add(std::vector<double> features, double log_ratio, double weight) override { rows_.push_back({std::move(features), log_ratio, weight}); }
  void fit() override;
  [[nodiscard]] auto predict(const std::vector<double>& features) const -> double override;
  [[nodiscard]] auto size() const -> size_t override { return rows_.size(); }
  /// Those of the last fit.
  [[nodiscard]] auto trees() const -> const std::vector<Tree>& { return trees_; }

 protected:
  struct Row { std::vector<double> features; double target; double weight; };
  /// Fits trees to the rows, whose targets are relative to `offset_`.
  [[nodiscard]] virtual auto grow(const std::vector<Row>& rows) const -> std::vector<Tree>;

 private:
  std::vector<Row> rows_;
  size_t fitted_ = 0;             // the rows that the trees know
  std::vector<Tree> trees_;
  double offset_ = 0;             // the weighted mean of the targets
};

}  // namespace loopsmith::tune
