// Calls of written cost models: see cost_model.h.
#include "tune/written/cost_model.h"

#include <optional>

#include "frontend/objects.h"
#include "ir/vocabulary.h"
#include "script/tuner/call.h"
#include "script/tuner/candidates.h"
#include "script/tuner/members.h"
#include "script/tuner/state.h"
#include "support/guards.h"
#include "tune/metaschedule/features/features.h"

namespace loopsmith::tune {
namespace {

using eval::Value;


class WrittenModel final : public CandidateModel {
 public:
  WrittenModel(Ref<script::Piece> piece, frontend::File& file, std::function<void(const Diagnostics&)> report) : piece_(std::move(piece)), file_(file), report_(std::move(report)) {}

  [[nodiscard]] auto predict(const ModelTask& task, const std::vector<schedule::Schedule>& candidates) -> std::vector<double> override {
    if (piece_->is_closed) { return {}; }
    auto scores = script::run_predict(*piece_, file_, context_of(task), values_of(task, candidates));
    if (scores.ok()) { return *std::move(scores); }
    if (report_) { report_(scores.diagnostics()); }
    return {};
  }

  void update(const ModelTask& task, const std::vector<Lesson>& lessons) override {
    if (piece_->is_closed) { return; }
    std::vector<schedule::Schedule> candidates;
    std::vector<Value> results;
    for (const Lesson& lesson : lessons) {
      candidates.push_back(lesson.sch);
      results.push_back(script::runner_result(lesson.has_failed ? std::nullopt : std::optional(lesson.seconds)));
    }
    const Status done = script::run_update(*piece_, file_, context_of(task), values_of(task, candidates), results);
    if (!done.ok() && report_) { report_(done.diagnostics()); }
  }

  [[nodiscard]] auto state() const -> std::string override { return script::state_text(*piece_); }
  [[nodiscard]] auto restore(const std::string& text) -> std::string override { return script::restore_state(*piece_, text); }

 private:
  static auto values_of(const ModelTask& task, const std::vector<schedule::Schedule>& candidates) -> std::vector<Value> {
    const bool is_gpu = is_gpu_target(task.target.kind);
    auto extract = std::make_shared<const script::ExtractFeatures>([is_gpu](const schedule::Schedule& sch) {
      script::FeatureRows out;
      for (const metaschedule::StoreFeatures& row : metaschedule::extract_features(sch.module(), is_gpu)) { out.emplace_back(row.begin(), row.end()); }
      return out;
    });
    std::vector<Value> out;
    for (const schedule::Schedule& sch : candidates) { out.emplace_back(Ref<eval::Object>(eval::make_object<script::CandidateObject>(sch, extract).get())); }
    return out;
  }
  /// The context of a search as TVM's models see it: its program and its target. Other facts are unknown.
  [[nodiscard]] auto context_of(const ModelTask& task) const -> Value {
    auto out = eval::make_object<eval::Namespace>(Name("context"), script::any_name);
    auto& members = const_cast<eval::Namespace&>(*out);
    members.add(Name("mod"), Value(Ref<eval::Object>(eval::make_object<frontend::ProgramObject>(task.module, task.function, task.module->functions.size() == 1, Origin()).get())));
    members.add(Name("task_name"), Value::str(task.function.str()));
    return Value(Ref<eval::Object>(out.get()));
  }

  Ref<script::Piece> piece_;
  frontend::File& file_;
  std::function<void(const Diagnostics&)> report_;
};

}  // namespace

auto written_model(Ref<script::Piece> piece, frontend::File& file, std::function<void(const Diagnostics&)> report) -> std::shared_ptr<CandidateModel> {
  return std::make_shared<WrittenModel>(std::move(piece), file, std::move(report));
}

}  // namespace loopsmith::tune
