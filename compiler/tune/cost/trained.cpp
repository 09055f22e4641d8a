// Training, use and quality of models from samples: see trained.h.
#include "tune/cost/trained.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::tune {
namespace {

constexpr size_t least_samples = 16;
// A measurement that was stopped early counts less.
constexpr double bound_weight = 0.5;
// The number of candidates that a search has to measure before the model learns from them.
constexpr size_t least_lessons = 16;

auto log_ratio(const Sample& sample) -> double { return std::log(sample.seconds / std::max(sample.draft_seconds, 1e-12)); }

/// The mean of log(seconds / draft) of each task, over its exact samples.
auto task_means(const std::vector<Sample>& samples) -> std::map<std::string, double> {
  std::map<std::string, std::pair<double, double>> sums;
  for (const Sample& sample : samples) {
    if (!sample.is_exact) { continue; }
    auto& [sum, count] = sums[sample.task];
    sum += log_ratio(sample);
    ++count;
  }
  std::map<std::string, double> out;
  for (const auto& [task, one] : sums) {
    if (one.second >= 2) { out[task] = one.first / one.second; }
  }
  return out;
}

/// A trained model with a correction for the program of the search, which is fitted to the errors of its predictions.
class Learning final : public CandidateModel {
 public:
  explicit Learning(TrainedModel model) : model_(std::move(model)) {}

  [[nodiscard]] auto predict(const ModelTask& task, const std::vector<schedule::Schedule>& candidates) -> std::vector<double> override {
    const Sampler sampler(task.target);
    std::vector<double> out;
    for (const schedule::Schedule& sch : candidates) {
      const auto sample = sampler.sample(sch, task.function);
      if (!sample) { return {}; }
      out.push_back(model_.score(*sample) - (lessons_ ? lessons_->predict(summary_of(*sample)) : 0));
    }
    return out;
  }

  void update(const ModelTask& task, const std::vector<Lesson>& lessons) override {
    const Sampler sampler(task.target);
    for (const Lesson& lesson : lessons) {
      auto sample = lesson.has_failed || lesson.seconds <= 0 ? std::nullopt : sampler.sample(lesson.sch, task.function);
      if (!sample) { continue; }
      sample->seconds = lesson.seconds;
      rows_.push_back({summary_of(*sample), log_ratio(*sample) - model_.correction(*sample), lesson.is_exact ? 1 : bound_weight});
    }
    if (rows_.size() < least_lessons) { return; }
    lessons_.emplace();
    for (const Row& row : rows_) { lessons_->add(row.features, row.error, row.weight); }
    lessons_->fit();
  }

 private:
  struct Row { std::vector<double> features; double error; double weight; };
  TrainedModel model_;
  std::vector<Row> rows_;
  std::optional<TreeModel> lessons_;
};

/// The ranks of numbers, from 0; equal numbers share the mean of their ranks.
auto ranks_of(const std::vector<double>& numbers) -> std::vector<double> {
  std::vector<size_t> order(numbers.size());
  for (size_t i = 0; i < order.size(); ++i) { order[i] = i; }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return numbers[a] < numbers[b]; });
  std::vector<double> out(numbers.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && numbers[order[end]] == numbers[order[i]]) { ++end; }
    for (size_t k = i; k < end; ++k) { out[order[k]] = static_cast<double>(i + end - 1) / 2; }
    i = end;
  }
  return out;
}

auto correlation_of(const std::vector<double>& a, const std::vector<double>& b) -> double {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double together = 0, square_x = 0, square_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    together += (x[i] - mean) * (y[i] - mean);
    square_x += (x[i] - mean) * (x[i] - mean);
    square_y += (y[i] - mean) * (y[i] - mean);
  }
  return square_x > 0 && square_y > 0 ? together / std::sqrt(square_x * square_y) : 0;
}

auto task_score(const std::vector<const Sample*>& samples, const ScoreSample& score) -> TaskScore {
  TaskScore out;
  out.program = samples.front()->program;
  out.samples = samples.size();
  std::vector<double> scores, speeds;
  for (const Sample* sample : samples) {
    scores.push_back(score(*sample));
    speeds.push_back(1 / sample->seconds);
  }
  double right = 0, pairs = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    for (size_t j = i + 1; j < samples.size(); ++j) {
      if (speeds[i] == speeds[j]) { continue; }
      ++pairs;
      right += scores[i] == scores[j] ? 0.5 : (scores[i] > scores[j]) == (speeds[i] > speeds[j]) ? 1 : 0;
    }
  }
  out.pairwise = pairs > 0 ? right / pairs : 0.5;
  out.correlation = correlation_of(scores, speeds);
  std::vector<size_t> by_score(samples.size()), by_speed;
  for (size_t i = 0; i < by_score.size(); ++i) { by_score[i] = i; }
  by_speed = by_score;
  std::sort(by_score.begin(), by_score.end(), [&](size_t a, size_t b) { return std::pair(-scores[a], a) < std::pair(-scores[b], b); });
  std::sort(by_speed.begin(), by_speed.end(), [&](size_t a, size_t b) { return std::pair(-speeds[a], a) < std::pair(-speeds[b], b); });
  const size_t tenth = std::max<size_t>(1, samples.size() / 10);
  const auto end = by_score.begin() + static_cast<ptrdiff_t>(tenth);
  for (size_t i = 0; i < tenth; ++i) { out.recall += std::find(by_score.begin(), end, by_speed[i]) != end ? 1.0 / static_cast<double>(tenth) : 0; }
  double gain = 0, most = 0;
  for (size_t i = 0; i < std::min<size_t>(10, samples.size()); ++i) {
    const double discount = std::log2(static_cast<double>(i) + 2);
    gain += speeds[by_score[i]] / speeds[by_speed[0]] / discount;
    most += speeds[by_speed[i]] / speeds[by_speed[0]] / discount;
  }
  out.ndcg = gain / most;
  return out;
}

}  // namespace

auto TrainedModel::correction(const Sample& sample) const -> double {
  const std::vector<double> input = summary_of(sample);
  double out = 0;
  for (const Tree& tree : trees) { out += tree.predict(input); }
  return out;
}

auto TrainedModel::score(const Sample& sample) const -> double { return -std::log(std::max(sample.draft_seconds, 1e-12)) - correction(sample); }

auto train(const std::vector<Sample>& samples) -> Result<TrainedModel> {
  const std::map<std::string, double> means = task_means(samples);
  TreeModel model;
  TrainedModel out;
  for (const Sample& sample : samples) {
    const auto mean = means.find(sample.task);
    if (mean == means.end()) { continue; }
    model.add(summary_of(sample), log_ratio(sample) - mean->second, sample.is_exact ? 1 : bound_weight);
  }
  out.samples = model.size();
  out.tasks = means.size();
  if (out.samples < least_samples) { return error(Code::BadValue).arg("action", "train a model").arg("reason", because(Why::FewSamples).arg("least", least_samples).arg("found", out.samples).text())
                                                  .remedy("measure more candidates: `loopsmith tune FILE --trials N`, then `loopsmith dataset export`"); }
  model.fit();
  out.trees = model.trees();
  return out;
}

auto why_not_trees(const std::vector<Tree>& trees) -> std::optional<Reason> {
  for (const Tree& tree : trees) {
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      const Tree::Node& node = tree.nodes[i];
      if (!std::isfinite(node.value) || !std::isfinite(node.threshold)) { return because(Why::NodeNotFinite); }
      if (node.feature < 0) { continue; }
      if (static_cast<size_t>(node.feature) >= summary_length) { return because(Why::NodeWithoutFeature).arg("feature", node.feature).arg("count", summary_length); }
      // A child behind its parent: walks end.
      if (node.left <= i || node.right <= i || node.left >= tree.nodes.size() || node.right >= tree.nodes.size()) { return because(Why::NodeWithoutChildren); }
    }
  }
  return {};
}

auto candidate_model(TrainedModel model) -> std::shared_ptr<CandidateModel> { return std::make_shared<Learning>(std::move(model)); }

auto score_tasks(const std::vector<Sample>& samples, const ScoreSample& score) -> std::vector<TaskScore> {
  std::map<std::string, std::vector<const Sample*>> tasks;
  for (const Sample& sample : samples) { if (sample.is_exact) { tasks[sample.task].push_back(&sample); } }
  std::vector<TaskScore> out;
  for (const auto& [task, of_task] : tasks) { if (of_task.size() >= 4) { out.push_back(task_score(of_task, score)); } }
  return out;
}

}  // namespace loopsmith::tune
