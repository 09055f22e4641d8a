// Boosting on histograms: see trees.h.
#include "tune/cost/trees.h"

#include <algorithm>
#include <cmath>

namespace loopsmith::tune {
namespace {

constexpr int rounds = 60, depth = 4;
constexpr double learning_rate = 0.15;
// The ridge of a leaf: it counts as this many more rows with the value 0.
constexpr double leaf_ridge = 1;
constexpr double least_gain = 1e-6;
// The thresholds of a feature, at most; a column of a histogram has one bin more.
constexpr size_t most_thresholds = 31;
// A few rows give only a common factor, which does not rank points.
constexpr size_t least_rows = 8;

struct Bin { double gradient = 0, weight = 0; };

/// The rows by the numbers of their bins, and the thresholds between bins.
struct Binned {
  std::vector<std::vector<double>> thresholds;      // by feature
  std::vector<std::vector<uint8_t>> bins;           // by row, then feature
};

template <class Rows> auto bin(const Rows& rows) -> Binned {
  Binned out;
  const size_t features = rows.front().features.size();
  out.thresholds.resize(features);
  out.bins.assign(rows.size(), std::vector<uint8_t>(features));
  for (size_t f = 0; f < features; ++f) {
    std::vector<double> values;
    for (const auto& row : rows) { values.push_back(row.features[f]); }
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    const size_t step = std::max<size_t>(1, (values.size() + most_thresholds - 1) / most_thresholds);
    for (size_t i = step; i < values.size(); i += step) { out.thresholds[f].push_back((values[i - 1] + values[i]) / 2); }
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto& at = out.thresholds[f];
      out.bins[r][f] = static_cast<uint8_t>(std::upper_bound(at.begin(), at.end(), rows[r].features[f]) - at.begin());
    }
  }
  return out;
}

auto score(const Bin& sum) -> double { return sum.gradient * sum.gradient / (sum.weight + leaf_ridge); }

/// Grows one tree, node by node.
class Grower {
 public:
  Grower(const Binned& binned, const std::vector<Bin>& rows) : binned_(binned), rows_(rows) {}
  auto grow() -> Tree {
    std::vector<size_t> all(rows_.size());
    for (size_t i = 0; i < all.size(); ++i) { all[i] = i; }
    (void)add(all, depth);
    return std::move(tree_);
  }

 private:
  struct Split { double gain = least_gain; size_t feature = 0; size_t bin = 0; bool found = false; };

  auto add(const std::vector<size_t>& members, int levels) -> uint32_t {
    const auto index = static_cast<uint32_t>(tree_.nodes.size());
    Bin sum;
    for (size_t r : members) {
      sum.gradient += rows_[r].gradient;
      sum.weight += rows_[r].weight;
    }
    tree_.nodes.push_back({.value = learning_rate * sum.gradient / (sum.weight + leaf_ridge)});
    const Split split = levels > 0 ? best_split(members, sum) : Split{};
    if (!split.found) { return index; }
    std::vector<size_t> left, right;
    for (size_t r : members) { (binned_.bins[r][split.feature] <= split.bin ? left : right).push_back(r); }
    tree_.nodes[index].feature = static_cast<int>(split.feature);
    tree_.nodes[index].threshold = binned_.thresholds[split.feature][split.bin];
    const uint32_t l = add(left, levels - 1), r = add(right, levels - 1);
    tree_.nodes[index].left = l;
    tree_.nodes[index].right = r;
    return index;
  }

  auto best_split(const std::vector<size_t>& members, const Bin& sum) const -> Split {
    Split best;
    for (size_t f = 0; f < binned_.thresholds.size(); ++f) {
      if (binned_.thresholds[f].empty()) { continue; }
      std::vector<Bin> histogram(binned_.thresholds[f].size() + 1);
      for (size_t r : members) {
        Bin& bin = histogram[binned_.bins[r][f]];
        bin.gradient += rows_[r].gradient;
        bin.weight += rows_[r].weight;
      }
      Bin left;
      for (size_t b = 0; b + 1 < histogram.size(); ++b) {
        left.gradient += histogram[b].gradient;
        left.weight += histogram[b].weight;
        const Bin right{sum.gradient - left.gradient, sum.weight - left.weight};
        if (left.weight < 1e-9 || right.weight < 1e-9) { continue; }
        const double gain = score(left) + score(right) - score(sum);
        if (gain > best.gain) { best = {gain, f, b, true}; }
      }
    }
    return best;
  }

  const Binned& binned_;
  const std::vector<Bin>& rows_;
  Tree tree_;
};

}  // namespace

auto Tree::predict(const std::vector<double>& features) const -> double {
  if (nodes.empty()) { return 0; }
  const Node* node = &nodes.front();
  while (node->feature >= 0) { node = &nodes[features[static_cast<size_t>(node->feature)] < node->threshold ? node->left : node->right]; }
  return node->value;
}

auto TreeModel::grow(const std::vector<Row>& rows) const -> std::vector<Tree> {
  const Binned binned = bin(rows);
  std::vector<double> predicted(rows.size(), 0);
  std::vector<Tree> out;
  for (int i = 0; i < rounds; ++i) {
    std::vector<Bin> errors(rows.size());
    for (size_t r = 0; r < rows.size(); ++r) {
      const bool holds = rows[r].weight < 1 && predicted[r] >= rows[r].target;
      if (!holds) { errors[r] = {rows[r].weight * (rows[r].target - predicted[r]), rows[r].weight}; }
    }
    out.push_back(Grower(binned, errors).grow());
    for (size_t r = 0; r < rows.size(); ++r) { predicted[r] += out.back().predict(rows[r].features); }
  }
  return out;
}

void TreeModel::fit() {
  if (fitted_ == rows_.size()) { return; }
  fitted_ = rows_.size();
  double total = 0;
  offset_ = 0;
  for (const Row& row : rows_) {
    total += row.weight;
    offset_ += row.weight * row.target;
  }
  offset_ = total > 0 ? offset_ / total : 0;
  trees_.clear();
  if (rows_.size() < least_rows) { return; }
  std::vector<Row> rows = rows_;
  for (Row& row : rows) { row.target -= offset_; }
  trees_ = grow(rows);
}

auto TreeModel::predict(const std::vector<double>& features) const -> double {
  double out = offset_;
  for (const Tree& tree : trees_) { out += tree.predict(features); }
  return out;
}

}  // namespace loopsmith::tune
