// `loopsmith model train|score`: cost models that are trained from data sets, for `tune --model FILE`.
#include <algorithm>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/datasets.h"
#include "driver/program.h"
#include "support/hash.h"
#include "support/spelling.h"
#include "support/text.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "model",
    .arguments = "train SET... -o M [--hold-out SHARE] | score M SET...",
    .summary = "Trains a cost model from data sets or tuning databases, and measures how well a model ranks candidates.",
    .details = "A set is a file of `loopsmith dataset export`, or a tuning database. The model predicts how far the time of a candidate is from its draft, relative\n"
               "to the other candidates of its task, so sets of other programs and sizes help. `--hold-out 0.2` trains without a fifth of the samples and scores\n"
               "the model on these. `score` prints for each task: `pairs`, the share of pairs of candidates in the right order (0.5 is chance); Spearman's\n"
               "rank correlation; `recall`, the share of the fastest tenth among the tenth that the model prefers; NDCG of the first ten. Beside each\n"
               "stands the number of the draft alone. `loopsmith tune --model M` searches with the model.",
    .options = {{.name = "--output", .value = "M", .help = "`train`: the file of the model", .short_name = "-o"},
                {.name = "--hold-out", .value = "SHARE", .help = "`train`: the share of samples that the model does not see, and is scored on"},
                {.name = "--seed", .value = "N", .help = "`train`: chooses the samples of `--hold-out`"},
                json_option},
    .examples = {{"loopsmith model train set.jsonl tuning.db -o cpu.model --hold-out 0.2", "a model, and its scores on a fifth of the samples"},
                 {"loopsmith model score cpu.model other.jsonl", "how well it ranks the candidates of other programs"},
                 {"loopsmith tune matmul.tir --model cpu.model", "a search with it"}},
    .least = 2,
    .most = 1000,
};

auto fail(Reporter& reporter, const Diagnostics& diagnostics) -> int {
  reporter.report(diagnostics, nullptr);
  return reporter.status();
}

/// The samples of all sets behind the first `skipped` arguments.
auto read_sets(const Arguments& arguments, size_t skipped) -> Result<std::vector<tune::Sample>> {
  std::vector<tune::Sample> out;
  for (size_t i = skipped; i < arguments.positional().size(); ++i) {
    LOOPSMITH_TRY(set, read_dataset(arguments.positional()[i]));
    std::move(set.samples.begin(), set.samples.end(), std::back_inserter(out));
  }
  return out;
}

void print_scores(const Arguments& arguments, const tune::TrainedModel& model, const std::vector<tune::Sample>& samples) {
  const auto scores = tune::score_tasks(samples, [&](const tune::Sample& sample) { return model.score(sample); });
  const auto drafts = tune::score_tasks(samples, [](const tune::Sample& sample) { return -sample.draft_seconds; });
  if (scores.empty()) { fmt::print(stderr, "no task has four measured candidates, so there is nothing to score\n"); }
  if (!arguments.json() && !scores.empty()) { fmt::print("{:<24} {:>7}  {:>13}  {:>13}  {:>13}  {:>13}\n", "program", "samples", "pairs (draft)", "rank (draft)", "recall (draft)", "NDCG (draft)"); }
  for (size_t i = 0; i < scores.size(); ++i) {
    const tune::TaskScore &a = scores[i], &b = drafts[i];
    if (arguments.json()) {
      fmt::print("{}\n", nlohmann::json({{"program", a.program}, {"samples", a.samples}, {"pairwise", a.pairwise}, {"correlation", a.correlation}, {"recall", a.recall}, {"ndcg", a.ndcg},
                                         {"draft", {{"pairwise", b.pairwise}, {"correlation", b.correlation}, {"recall", b.recall}, {"ndcg", b.ndcg}}}}).dump());
      continue;
    }
    const auto both = [](double mine, double draft) { return fmt::format("{:.2f} ({:.2f})", mine, draft); };
    fmt::print("{:<24} {:>7}  {:>13}  {:>13}  {:>13}  {:>13}\n", a.program, a.samples, both(a.pairwise, b.pairwise), both(a.correlation, b.correlation), both(a.recall, b.recall), both(a.ndcg, b.ndcg));
  }
}

auto train(const Arguments& arguments, Reporter& reporter) -> int {
  const std::string output = arguments.get("--output", "");
  if (output.empty()) { return usage_error("model", "`train` needs the file of the model: `-o M`"); }
  char* end = nullptr;
  const std::string share_text = arguments.get("--hold-out", "0");
  const double share = std::strtod(share_text.c_str(), &end);
  if (share_text.empty() || *end != '\0' || !(share >= 0 && share <= 0.9)) { return usage_error("model", "`--hold-out` takes a share from 0 to 0.9, not `" + share_text + "`"); }
  const auto seed = parse_number(arguments.get("--seed", "0"), 0, 2'000'000'000);
  if (!seed) { return usage_error("model", "`--seed` takes a number, not `" + arguments.get("--seed", "") + "`"); }
  auto samples = read_sets(arguments, 1);
  if (!samples) { return fail(reporter, samples.diagnostics()); }
  std::vector<tune::Sample> learnt, held;
  for (size_t i = 0; i < samples->size(); ++i) {
    const uint64_t drawn = hash_combine(static_cast<uint64_t>(*seed) + 1, i * 0x9e3779b97f4a7c15ULL);
    const bool is_held = static_cast<double>(drawn >> 11) / static_cast<double>(1ULL << 53) < share;
    (is_held ? held : learnt).push_back(std::move((*samples)[i]));
  }
  auto model = tune::train(learnt);
  if (!model) { return fail(reporter, model.diagnostics()); }
  if (Status written = write_text_file(output, model_text(*model)); !written) { return fail(reporter, written.diagnostics()); }
  if (!arguments.json()) { fmt::print("{} of {}: `{}`\n", count_text(static_cast<int64_t>(model->samples), "sample"), count_text(static_cast<int64_t>(model->tasks), "task"), output); }
  if (!held.empty()) { print_scores(arguments, *model, held); }
  return exit_done;
}

auto score(const Arguments& arguments, Reporter& reporter) -> int {
  if (arguments.positional().size() < 3) { return usage_error("model", "`score` needs the file of a model and a SET"); }
  auto model = read_model_file(arguments.positional()[1]);
  if (!model) { return fail(reporter, model.diagnostics()); }
  auto samples = read_sets(arguments, 2);
  if (!samples) { return fail(reporter, samples.diagnostics()); }
  print_scores(arguments, *model, *samples);
  return exit_done;
}

}  // namespace

auto model(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  Reporter reporter(arguments);
  const std::string& verb = arguments.positional()[0];
  if (verb == "train") { return train(arguments, reporter); }
  if (verb == "score") { return score(arguments, reporter); }
  const std::string meant = closest(verb, {"train", "score"});
  return usage_error("model", fmt::format("there is no `{}`{} Use train or score", verb, meant.empty() ? "." : fmt::format("; did you mean `{}`?", meant)));
}

}  // namespace loopsmith::driver::commands
