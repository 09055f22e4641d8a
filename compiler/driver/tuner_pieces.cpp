// Pieces of the tuner from options: see tuner_pieces.h.
#include "driver/tuner_pieces.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "driver/command.h"
#include "driver/datasets.h"
#include "ir/vocabulary.h"
#include "target/gpu.h"

namespace loopsmith::driver {

auto names_pieces(const Arguments& arguments) -> bool { return arguments.has("--rules") || arguments.has("--postprocs") || arguments.has("--mutators"); }

auto is_space_expression(const std::string& space) -> bool { return space.find('(') != std::string::npos; }
auto is_metaschedule(const std::string& space) -> bool { return space == "metaschedule" || space == "post-order-apply" || is_space_expression(space); }
auto uses_metaschedule(const Arguments& arguments, const target::Target& target) -> bool {
  return names_pieces(arguments) || is_metaschedule(arguments.get("--space", is_gpu_target(target.kind) ? "metaschedule" : "own"));
}

namespace {

/// The file whose names the options use: that of `--pieces`, which goes into `kept`, or the program's. Null: the file cannot be read, which is reported.
auto file_of_pieces(const Arguments& arguments, const Selection& program, Reporter& reporter, decltype(TunerPieces::file)& kept) -> SourceFile* {
  auto path = arguments.get("--pieces");
  if (!path) { return program.file.get(); }
  auto read = SourceFile::read(*path);
  if (!read.ok()) {
    reporter.report(read.diagnostics(), nullptr);
    return nullptr;
  }
  kept = std::move(*read);
  return kept.get();
}

/// True for the file of a trained model; a name or an expression of the script language is none.
auto is_path_of_model(const std::string& text) -> bool {
  std::error_code ignored;
  return text.find('(') == std::string::npos && (text.find('/') != std::string::npos || std::filesystem::is_regular_file(text, ignored));
}

}  // namespace

auto read_tuner_pieces(const Arguments& arguments, const Selection& program, Reporter& reporter) -> std::variant<std::shared_ptr<const TunerPieces>, int> {
  auto out = std::make_shared<TunerPieces>();
  SourceFile* file = file_of_pieces(arguments, program, reporter, out->file);
  if (!file) { return reporter.status(); }
  tune::PieceTexts texts{arguments.get("--rules", ""), arguments.get("--postprocs", ""), arguments.get("--mutators", "")};
  if (std::string space = arguments.get("--space", ""); is_space_expression(space)) { texts.space = std::move(space); }
  auto made = tune::read_pieces(file->document().file(), program.target, texts, [&reporter, file](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, file);
  });
  if (!made.ok()) {
    reporter.report(made.diagnostics(), file);
    return reporter.status();
  }
  out->pieces = std::move(*made);
  out->pieces.intrinsics = file->document().schedules().intrinsics();
  for (tune::SpacePieces& part : out->pieces.parts) { part.intrinsics = out->pieces.intrinsics; }
  return std::shared_ptr<const TunerPieces>(std::move(out));
}

namespace {

/// Keeps the file of a written model as long as the model.
class ModelOfFile final : public tune::CandidateModel {
 public:
  explicit ModelOfFile(TunerModel held) : held_(std::move(held)) {}
  [[nodiscard]] auto predict(const tune::ModelTask& task, const std::vector<schedule::Schedule>& candidates) -> std::vector<double> override { return held_.model->predict(task, candidates); }
  void update(const tune::ModelTask& task, const std::vector<tune::Lesson>& lessons) override { held_.model->update(task, lessons); }
  [[nodiscard]] auto state() const -> std::string override { return held_.model->state(); }
  [[nodiscard]] auto restore(const std::string& text) -> std::string override { return held_.model->restore(text); }

 private:
  TunerModel held_;
};

/// Keeps the file of a written runner as long as the runner.
class RunnerOfFile final : public tune::CandidateRunner {
 public:
  RunnerOfFile(std::unique_ptr<SourceFile> file, std::shared_ptr<tune::CandidateRunner> runner) : file_(std::move(file)), runner_(std::move(runner)) {}
  [[nodiscard]] auto name() const -> std::string override { return runner_->name(); }
  [[nodiscard]] auto run(const tune::ModelTask& task, const std::vector<schedule::Schedule>& candidates) -> std::vector<tune::RunReply> override { return runner_->run(task, candidates); }

 private:
  std::unique_ptr<SourceFile> file_;
  std::shared_ptr<tune::CandidateRunner> runner_;
};

/// The model of a file judges the proposals.
auto take_model_file(const std::string& path, Reporter& reporter, tune::SessionOptions& options) -> std::optional<int> {
  auto model = read_model_file(path);
  if (!model.ok()) {
    reporter.report(model.diagnostics(), nullptr);
    return reporter.status();
  }
  options.candidate_model = tune::candidate_model(std::move(*model));
  return {};
}

/// The model that an expression of a file makes.
auto take_written_model(const Arguments& arguments, const Selection& program, const std::string& text, Reporter& reporter, tune::SessionOptions& options) -> std::optional<int> {
  TunerModel held;
  SourceFile* file = file_of_pieces(arguments, program, reporter, held.file);
  if (!file) { return reporter.status(); }
  const bool is_word = std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-'; });
  if (is_word && file->document().file().find(Name(text)) == nullptr) {
    return usage_error("tune", fmt::format("`--model` is {}, a model that the file writes, or the file of a trained model, not `{}`", tune::model_names(), text));
  }
  auto made = tune::read_model(file->document().file(), program.target, text, [&reporter, file](const Diagnostics& diagnostics) { reporter.report(diagnostics, file); });
  if (!made.ok()) {
    reporter.report(made.diagnostics(), file);
    return reporter.status();
  }
  if (auto* model = std::get_if<std::shared_ptr<tune::CandidateModel>>(&*made)) {
    held.model = std::move(*model);
    options.candidate_model = std::make_shared<ModelOfFile>(std::move(held));
    return {};
  }
  // One of TVM's models stands for a model of the tuner.
  std::string name = std::get<std::string>(*made);
  if (name == "xgb") { name = "xgboost"; }
  if (tune::find_model(name) == nullptr) { return take_model_file(name, reporter, options); }
  options.model = std::move(name);
  return {};
}

}  // namespace

auto take_runner(const Arguments& arguments, const Selection& program, Reporter& reporter, tune::SessionOptions& options) -> std::optional<int> {
  const std::string builder = arguments.get("--builder", "local"), runner = arguments.get("--runner", "local");
  if (builder == "local" && runner == "local") { return {}; }
  if (runner == "local") { return usage_error("tune", "`--builder` needs `--runner`: the tuner's own workers build what they run"); }
  std::unique_ptr<SourceFile> held;
  SourceFile* file = file_of_pieces(arguments, program, reporter, held);
  if (!file) { return reporter.status(); }
  auto made = tune::read_runner(file->document().file(), program.target, builder, runner, [&reporter, file](const Diagnostics& diagnostics) { reporter.report(diagnostics, file); });
  if (!made.ok()) {
    reporter.report(made.diagnostics(), file);
    return reporter.status();
  }
  options.runner = std::make_shared<RunnerOfFile>(std::move(held), std::move(*made));
  return {};
}

auto take_arguments(const Arguments& arguments, const Selection& program, Reporter& reporter, tune::SessionOptions& options) -> std::optional<int> {
  const std::string text = arguments.get("--arguments", "");
  if (text.empty()) { return {}; }
  if (arguments.has("--runner") || target::is_device_target(program.target)) { return usage_error("tune", "`--arguments` is for measurements on this machine's processor"); }
  std::unique_ptr<SourceFile> kept;
  SourceFile* file = file_of_pieces(arguments, program, reporter, kept);
  if (!file) { return reporter.status(); }
  schedule::Schedule written(program.before, 1);
  Status chosen = written.work_on(program.function);
  auto made = chosen.ok() ? tune::read_arguments(file->document().file(), program.target, text, written) : Result<std::vector<std::vector<double>>>(chosen.diagnostics());
  if (!made.ok()) {
    reporter.report(made.diagnostics(), file);
    return reporter.status();
  }
  options.arguments = *std::move(made);
  return {};
}

auto take_scheduler(const Arguments& arguments, const Selection& program, Reporter& reporter, std::unique_ptr<SourceFile>& kept) -> std::variant<tune::TaskScheduler, int> {
  const std::string text = arguments.get("--scheduler", "gain");
  std::string problem;
  if (auto known = tune::read_scheduler(text, problem)) { return *std::move(known); }
  const std::string name = text.substr(0, text.find('('));
  const bool is_known = name == "gain" || name == "gradient" || name == "round-robin";
  SourceFile* file = is_known ? nullptr : file_of_pieces(arguments, program, reporter, kept);
  if (!is_known && !file) { return reporter.status(); }
  if (is_known || file->document().file().find(Name(name)) == nullptr) { return usage_error("tune", "`--scheduler`: " + problem + (is_known ? "" : ", and the file has no class of this name")); }
  auto made = tune::read_task_scheduler(file->document().file(), program.target, text, [&reporter, file](const Diagnostics& diagnostics) { reporter.report(diagnostics, file); });
  if (!made.ok()) {
    reporter.report(made.diagnostics(), file);
    return reporter.status();
  }
  tune::TaskScheduler out;
  out.kind = tune::TaskScheduler::Kind::Given;
  out.choose = *std::move(made);
  return out;
}

auto take_model(const Arguments& arguments, const Selection& program, Reporter& reporter, tune::SessionOptions& options) -> std::optional<int> {
  std::string text = arguments.get("--model", "");
  if (text.empty()) { return {}; }
  if (tune::find_model(text) != nullptr) {
    options.model = std::move(text);
    return {};
  }
  return is_path_of_model(text) ? take_model_file(text, reporter, options) : take_written_model(arguments, program, text, reporter, options);
}

auto space_of_pieces(std::shared_ptr<const TunerPieces> pieces, const target::Target& target, uint64_t seed) -> std::function<Result<tune::Sketches>(const tune::SpaceContext&)> {
  return [pieces = std::move(pieces), target, seed](const tune::SpaceContext& context) { return tune::metaschedule_space(context, target, seed, pieces->pieces); };
}

}  // namespace loopsmith::driver
