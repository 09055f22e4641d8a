// Candidates of a search as cost models in script see them, with TVM's names: `MeasureCandidate` with `sch` and `args_info`, `RunnerResult` with `run_secs` and
// `error_msg`, and the extractor of features `ms.feature_extractor.PerStoreFeature()`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eval/evaluator.h"
#include "schedule/schedule.h"
#include "script/tuner/pieces.h"

namespace loopsmith::script {

/// The features of a scheduled program, a row for each stored buffer.
using FeatureRows = std::vector<std::vector<double>>;
using ExtractFeatures = std::function<FeatureRows(const schedule::Schedule&)>;

/// `MeasureCandidate`: a schedule, and its features for extractors, which are computed when they are asked for first.
class CandidateObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  CandidateObject(schedule::Schedule s, std::shared_ptr<const ExtractFeatures> e) : Object(&type_tag), sch(std::move(s)), extract(std::move(e)) {}
  const schedule::Schedule sch;
  const std::shared_ptr<const ExtractFeatures> extract;
  [[nodiscard]] auto features() const -> const eval::Value&;
  auto get_attribute(eval::Evaluator&, Name member, Origin) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto repr() const -> std::string override { return "<ms.MeasureCandidate>"; }

 private:
  mutable std::optional<eval::Value> features_;
};

/// `RunnerResult` of a candidate that took `seconds`; none: it failed.
[[nodiscard]] auto runner_result(std::optional<double> seconds) -> eval::Value;

/// One of TVM's cost models by the name of a model of the tuner: `ms.cost_model.XGBModel()` is "xgboost". A file that `load` names has a trained model.
class ModelChoice final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit ModelChoice(std::string m) : Object(&type_tag), model(std::move(m)) {}
  const std::string model;
  mutable std::string file;
  /// The text of the option `--model`.
  [[nodiscard]] auto option() const -> const std::string& { return file.empty() ? model : file; }
  auto get_attribute(eval::Evaluator&, Name member, Origin) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto repr() const -> std::string override { return "<cost model " + option() + ">"; }
};

/// The arguments of the program of a schedule, as TVM's `args_info`.
[[nodiscard]] auto arguments_of(const schedule::Schedule& sch) -> eval::Value;

/// The names of builders and runners that files import from TVM's modules.
[[nodiscard]] auto runner_names_of_tvm() -> const std::vector<std::pair<Name, eval::Value>>&;
/// `LocalBuilder(...)` and `LocalRunner(...)`: the tuner's own workers, with the arguments that matter to them.
class LocalWorkers final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  LocalWorkers(PieceKind k, double l, eval::Value a) : Object(&type_tag), kind(k), limit_seconds(l), alloc_argument(std::move(a)) {}
  const PieceKind kind;                        // Builder or Runner
  const double limit_seconds;                  // `timeout_sec`; 0: that of the tuner
  const eval::Value alloc_argument;            // the function `f_alloc_argument`; None: random contents
  auto repr() const -> std::string override { return kind == PieceKind::Builder ? "LocalBuilder()" : "LocalRunner()"; }
};
/// Adds the members of `ms.builder` and `ms.runner`: the bases `PyBuilder`, `PyRunner` and `PyRunnerFuture`, `BuilderResult` and `RunnerResult`, and TVM's local builder and runner.
void add_runners(const Ref<eval::Namespace>& ms);

/// Adds `cost_model`, `feature_extractor`, `CostModel` and `FeatureExtractor` to the namespace `ms`; `base` is the class PyCostModel.
void add_models(const Ref<eval::Namespace>& ms, const eval::Value& base);
/// The names that files import from TVM's modules, and that expressions of options use: `CostModel`, `XGBModel`, `PerStoreFeature` and others.
[[nodiscard]] auto model_names_of_tvm() -> const std::vector<std::pair<Name, eval::Value>>&;

}  // namespace loopsmith::script
