// Calls of written builders and runners: see runner.h.
#include "tune/written/runner.h"

#include "frontend/objects.h"
#include "ir/vocabulary.h"
#include "script/objects.h"
#include "script/tuner/call.h"
#include "script/tuner/candidates.h"
#include "script/tuner/members.h"

namespace loopsmith::tune {
namespace {

using eval::Value;

class WrittenRunner final : public CandidateRunner {
 public:
  WrittenRunner(Ref<script::Piece> builder, Ref<script::Piece> runner, frontend::File& file, std::function<void(const Diagnostics&)> report)
      : builder_(std::move(builder)), runner_(std::move(runner)), file_(file), report_(std::move(report)) {}

  [[nodiscard]] auto name() const -> std::string override { return runner_->name.str(); }

  [[nodiscard]] auto run(const ModelTask& task, const std::vector<schedule::Schedule>& candidates) -> std::vector<RunReply> override {
    std::vector<RunReply> out(candidates.size());
    std::vector<Value> inputs;
    std::vector<size_t> built;
    const std::vector<script::BuildOutcome> artifacts = build(task, candidates);
    for (size_t i = 0; i < candidates.size(); ++i) {
      out[i].error = artifacts[i].error;
      if (!out[i].error.empty()) { continue; }
      built.push_back(i);
      inputs.push_back(input(task, candidates[i], &artifacts[i].artifact));
    }
    if (inputs.empty()) { return out; }
    auto replies = script::run_runner(*runner_, file_, inputs);
    if (!replies.ok()) {
      if (report_) { report_(replies.diagnostics()); }
      for (size_t i : built) { out[i].error = replies.diagnostics().front().message(); }
      return out;
    }
    for (size_t i = 0; i < built.size(); ++i) { out[built[i]] = {(*replies)[i].seconds.value_or(0), (*replies)[i].error}; }
    return out;
  }

 private:
  auto build(const ModelTask& task, const std::vector<schedule::Schedule>& candidates) -> std::vector<script::BuildOutcome> {
    std::vector<script::BuildOutcome> out(candidates.size());
    if (!builder_) { return out; }
    std::vector<Value> inputs;
    for (const schedule::Schedule& sch : candidates) { inputs.push_back(input(task, sch, nullptr)); }
    auto made = script::run_builder(*builder_, file_, inputs);
    if (made.ok()) { return *std::move(made); }
    if (report_) { report_(made.diagnostics()); }
    for (script::BuildOutcome& one : out) { one.error = made.diagnostics().front().message(); }
    return out;
  }
  /// TVM's `BuilderInput`, or its `RunnerInput` where there is an artifact. Here both have the schedule and the program, since no artifact may lie on a disk.
  static auto input(const ModelTask& task, const schedule::Schedule& sch, const std::string* artifact) -> Value {
    auto out = eval::make_object<eval::Namespace>(Name(artifact ? "RunnerInput" : "BuilderInput"), script::any_name);
    script::add_member(out, "mod", script::value_of(eval::make_object<frontend::ProgramObject>(sch.module(), task.function, sch.module()->functions.size() == 1, Origin())));
    script::add_member(out, "sch", script::value_of(eval::make_object<script::ScheduleObject>(sch)));
    script::add_member(out, "args_info", script::arguments_of(sch));
    script::add_member(out, "target", Value::str(task.target.str()));
    if (artifact) {
      script::add_member(out, "artifact_path", Value::str(*artifact));
      script::add_member(out, "device_type", Value::str(is_gpu_target(task.target.kind) ? task.target.kind : std::string("cpu")));
    }
    return script::value_of(out);
  }

  Ref<script::Piece> builder_, runner_;
  frontend::File& file_;
  std::function<void(const Diagnostics&)> report_;
};

}  // namespace

auto written_runner(Ref<script::Piece> builder, Ref<script::Piece> runner, frontend::File& file, std::function<void(const Diagnostics&)> report) -> std::shared_ptr<CandidateRunner> {
  return std::make_shared<WrittenRunner>(std::move(builder), std::move(runner), file, std::move(report));
}

}  // namespace loopsmith::tune
