// Models that are trained from samples before a search, and kept in files: gradient-boosted trees that correct the draft. Times of different programs are compared
// only with their own task, so samples of many programs and sizes train one model, which then serves programs that it has not seen.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/reason.h"
#include "tune/cost/candidate_model.h"
#include "tune/cost/samples.h"
#include "tune/cost/trees.h"

namespace loopsmith::tune {

/// The content of the file of a trained model.
struct TrainedModel {
  std::vector<Tree> trees;
  size_t samples = 0, tasks = 0;           // that it was trained from
  /// The expected log(seconds / draft), relative to the mean of its task.
  [[nodiscard]] auto correction(const Sample& sample) const -> double;
  /// The larger, the faster.
  [[nodiscard]] auto score(const Sample& sample) const -> double;
};

/// An error: there are too few samples, or no task has two.
[[nodiscard]] auto train(const std::vector<Sample>& samples) -> Result<TrainedModel>;
/// The reason why trees cannot be those of a model; none: they can. Trees of files may have any numbers.
[[nodiscard]] auto why_not_trees(const std::vector<Tree>& trees) -> std::optional<Reason>;

/// The model in a search, where it goes on to learn from the measurements.
[[nodiscard]] auto candidate_model(TrainedModel model) -> std::shared_ptr<CandidateModel>;

/// The quality of scores among the samples of one task.
struct TaskScore {
  std::string program;
  size_t samples = 0;
  double pairwise = 0;       // the share of pairs in the right order; 0.5 is chance
  double correlation = 0;    // Spearman's, of scores and speeds
  double recall = 0;         // the share of the fastest tenth among the tenth with the best scores
  double ndcg = 0;           // normalized discounted cumulative gain of the first ten, where the gain is the speed relative to the best
};
using ScoreSample = std::function<double(const Sample&)>;
/// A score for each task with at least four exact samples.
[[nodiscard]] auto score_tasks(const std::vector<Sample>& samples, const ScoreSample& score) -> std::vector<TaskScore>;

}  // namespace loopsmith::tune
