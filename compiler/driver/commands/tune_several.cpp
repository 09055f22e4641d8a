// Picks several programs, tunes them together and offers their schedules: see tune_several.h.
#include "driver/commands/tune_several.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <variant>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/commands/tune_model.h"
#include "driver/commands/tune_progress.h"
#include "driver/commands/tune_results.h"
#include "driver/commands/tune_shared.h"
#include "driver/commands/tune_sizes.h"
#include "driver/tuner_pieces.h"
#include "ir/equal.h"
#include "support/text.h"
#include "tune/session/several.h"
#include "workspace/selection.h"

namespace loopsmith::driver::commands {
namespace {

/// The programs of several files, or all of one. Equal programs are one task with their number as weight.
struct Picked {
  std::vector<Selection> selections;
  std::vector<tune::TuningTask> tasks;
  std::vector<std::string> files;
  std::vector<SizedProgram> sized = {};     // with `--sizes`: in the order of the tasks, without their selections
};

/// The task of a program; else the exit status of a mistake in the options for its space.
auto task_for(const Arguments& arguments, const Selection& selection, const std::string& label, double weight, uint64_t seed, Reporter& reporter) -> std::variant<tune::TuningTask, int> {
  tune::TuningTask out{.module = selection.before, .function = selection.function, .target = selection.target, .label = label, .weight = weight, .roof_seconds = floor_seconds(selection)};
  if (uses_metaschedule(arguments, selection.target)) {
    auto pieces = read_tuner_pieces(arguments, selection, reporter);
    if (const int* status = std::get_if<int>(&pieces)) { return *status; }
    out.space = space_of_pieces(std::get<0>(std::move(pieces)), selection.target, seed);
  }
  return out;
}

/// The programs that `--sizes` makes.
auto pick_sized(const Arguments& arguments, uint64_t seed, Reporter& reporter) -> std::variant<Picked, int> {
  auto made = pick_sizes(arguments, reporter);
  if (const int* status = std::get_if<int>(&made)) { return *status; }
  Picked out;
  for (SizedProgram& one : std::get<0>(made)) {
    Selection& selection = one.selection;
    auto task = task_for(arguments, selection, selection.program.str(), 1, seed, reporter);
    if (const int* status = std::get_if<int>(&task)) { return *status; }
    out.tasks.push_back(std::get<0>(std::move(task)));
    out.files.push_back(arguments.positional()[0]);
    out.selections.push_back(std::move(selection));
    out.sized.push_back(std::move(one));
  }
  return out;
}

/// The numbers of `--weights`; empty: the option is not given. None: the text is wrong.
auto read_weights(const Arguments& arguments) -> std::optional<std::vector<double>> {
  const std::string text = arguments.get("--weights", "");
  std::vector<double> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    char* rest = nullptr;
    const double weight = std::strtod(one.c_str(), &rest);
    if (one.empty() || *rest != '\0' || !(weight >= 0 && weight <= 1e9)) { return std::nullopt; }
    out.push_back(weight);
    begin = end + 1;
  }
  return out;
}

auto pick_all(const Arguments& arguments, uint64_t seed, Reporter& reporter) -> std::variant<Picked, int> {
  Picked out;
  const auto weights = read_weights(arguments);
  if (!weights) { return usage_error("tune", "`--weights` takes numbers from 0 on, as `2,1`, not `" + arguments.get("--weights", "") + "`"); }
  size_t programs = 0;
  for (const std::string& path : arguments.positional()) {
    auto file = SourceFile::read(path);
    if (!file.ok()) {
      reporter.report(file.diagnostics(), nullptr);
      return reporter.status();
    }
    for (const workspace::Program& program : workspace::top_programs(*(*file)->snapshot())) {
      const std::string name = program.name.str();
      if (arguments.has("--function") && arguments.get("--function", "") != name) { continue; }
      auto picked = pick(arguments, {.path = path, .function = name, .needs_target = true, .needs_function = true}, reporter);
      if (const int* status = std::get_if<int>(&picked)) { return *status; }
      auto& selection = std::get<Selection>(picked);
      const double weight = programs < weights->size() ? (*weights)[programs] : 1;
      ++programs;
      auto same = std::find_if(out.tasks.begin(), out.tasks.end(), [&](const tune::TuningTask& t) { return structural_equal(t.module, selection.before) && t.target.str() == selection.target.str(); });
      if (same != out.tasks.end()) {
        same->weight += weight;
        continue;
      }
      auto task = task_for(arguments, selection, name, weight, seed, reporter);
      if (const int* status = std::get_if<int>(&task)) { return *status; }
      out.tasks.push_back(std::get<0>(std::move(task)));
      out.files.push_back(path);
      out.selections.push_back(std::move(selection));
    }
  }
  if (!weights->empty() && weights->size() != programs) { return usage_error("tune", fmt::format("`--weights` has {} numbers, and the files have {} programs", weights->size(), programs)); }
  return out;
}

/// The schedules that several sizes share, which are printed or written into the file. Empty: there are none, which is reported.
auto share(const Arguments& arguments, const Selection& whole, const std::vector<Selection>& sized, const std::vector<tune::TaskResult>& results, int& status, Reporter& reporter) -> std::vector<SharedSchedule> {
  std::string why;
  const std::string& path = arguments.positional()[0];
  const auto percent = parse_number(arguments.get("--share", ""), 0, 1000);
  auto shared = shared_schedules(whole, sized, results, path, arguments.get("--target", "llvm"), static_cast<double>(*percent) / 100, why);
  if (shared.empty() && !arguments.json()) { fmt::print(stderr, "note: no schedule is shared: {}\n", why); }
  for (const SharedSchedule& one : shared) {
    nlohmann::json covers = nlohmann::json::array();
    std::string names;
    for (size_t i = 0; i < sized.size(); ++i) {
      if (!one.covers[i]) { continue; }
      covers.push_back({{"program", sized[i].program.str()}, {"seconds", one.seconds[i]}});
      names += (names.empty() ? "" : ", ") + sized[i].program.str();
    }
    if (arguments.json()) {
      fmt::print("{}\n", nlohmann::json({{"event", "shared"}, {"program", one.program}, {"name", one.name}, {"schedule_text", one.text}, {"verified", one.verified}, {"covers", std::move(covers)}}).dump());
    } else {
      fmt::print(stderr, "shared: `{}` serves {}\n", one.name, names);
    }
    if (arguments.has("--insert")) { status = std::max(status, insert_found(arguments, path, whole, one.name, one.text, reporter)); }
    else if (!arguments.json()) { fmt::print("{}\n", one.text); }
  }
  return shared;
}

/// The event of one task, without the text of its schedule.
auto task_as_json(const tune::TuningTask& of, const tune::TaskResult& task) -> nlohmann::json {
  return {{"event", "task"}, {"program", of.label}, {"weight", of.weight}, {"trials", task.trials}, {"best_seconds", task.result.best_seconds}, {"plain_seconds", task.result.plain_seconds},
          {"roof_seconds", task.roof_seconds}, {"gain_left", task.gain_left}, {"ended_by", tune::text_of(task.end)}, {"why", task.why}, {"flops", task.result.flops},
          {"measured", task.result.progress.trial_seconds}, {"arms", arms_of(task.result.progress)}, {"verified", task.result.verified}, {"device", task.result.device},
          {"ranked", task.result.is_ranked}, {"profile", profile_as_json(task.result.progress.profile)}};
}

/// The seconds of all tasks together.
auto total_of(const std::vector<tune::TaskResult>& results) -> tune::Profile {
  tune::Profile total;
  for (const tune::TaskResult& task : results) {
    const tune::Profile& one = task.result.progress.profile;
    total.space += one.space;
    total.search += one.search;
    total.build += one.build;
    total.measure += one.measure;
    total.compare += one.compare;
  }
  return total;
}

}  // namespace

auto tune_all(const Arguments& arguments, tune::SessionOptions options, Reporter& reporter) -> int {
  if (arguments.has("--with")) { return usage_error("tune", "`--with` names a schedule of one file"); }
  auto all = !given_sizes(arguments).empty() ? pick_sized(arguments, options.seed, reporter) : pick_all(arguments, options.seed, reporter);
  if (const int* status = std::get_if<int>(&all)) { return *status; }
  auto& [selections, tasks, files, sized] = std::get<Picked>(all);
  if (tasks.empty()) { return report_failure(arguments, "the files have no program to tune"); }
  if (auto taken = take_model(arguments, selections[0], reporter, options)) { return *taken; }
  if (auto taken = take_runner(arguments, selections[0], reporter, options)) { return *taken; }
  if (auto taken = restore_model(arguments, options)) { return *taken; }
  std::unique_ptr<SourceFile> file_of_scheduler;
  const auto scheduler = take_scheduler(arguments, selections[0], reporter, file_of_scheduler);
  if (const int* status = std::get_if<int>(&scheduler)) { return *status; }
  listen_to_signals(options);
  size_t shown = tasks.size();
  auto results = tune::tune_several(tasks, options, [&](size_t number, const tune::Progress& progress) {
    if (arguments.json()) {
      if (progress.phase == "measuring") {
        fmt::print("{}\n", nlohmann::json({{"event", "progress"}, {"program", tasks[number].label}, {"trial", progress.trials}, {"best_seconds", progress.best_seconds}, {"phase", progress.phase}}).dump());
      }
    } else if (number != shown) {
      shown = number;
      fmt::print(stderr, "tune: {} ({}, best {})\n", tasks[number].label, count_text(progress.trials, "trial"), known_time(progress.best_seconds));
    }
  }, std::get<tune::TaskScheduler>(scheduler));
  int status = keep_model(arguments, options).value_or(exit_done);
  const auto shared = arguments.has("--share") ? share(arguments, sized.front().whole, selections, results, status, reporter) : std::vector<SharedSchedule>();
  std::vector<std::string> own(tasks.size());     // the schedules that serve one size
  for (size_t i = 0; i < tasks.size(); ++i) {
    const tune::TaskResult& task = results[i];
    const std::vector<Cause> causes = with_reproducers(arguments, options, tasks[i].label, task.result.causes);
    std::string name, text;
    const bool is_served = std::any_of(shared.begin(), shared.end(), [&](const SharedSchedule& one) { return one.covers[i]; });
    if (task.result.found && !is_served) {
      auto found = found_text(selections[i], task.result, arguments, options.seed);
      name = own[i] = found.name;
      if (found.text.ok()) { text = (sized.empty() ? std::string() : sized[i].text) + *found.text; }
    }
    if (arguments.json()) {
      nlohmann::json event = task_as_json(tasks[i], task);
      event.update({{"file", files[i]}, {"name", name}, {"schedule_text", text}, {"causes", causes_as_json(files[i], tasks[i].label, causes)}});
      fmt::print("{}\n", event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      report_causes(files[i], tasks[i].label, causes);
    }
    if (text.empty()) { continue; }
    if (arguments.has("--insert")) { status = std::max(status, insert_found(arguments, files[i], sized.empty() ? selections[i] : sized[i].whole, name, text, reporter)); }
    else if (!arguments.json()) { fmt::print("{}\n", text); }
  }
  if (!arguments.json()) {
    fmt::print(stderr, "{}", tune::table_of(tasks, results));
    if (!shared.empty()) { fmt::print(stderr, "{}", dispatch_table(shared, selections, results, own)); }
    fmt::print(stderr, "time: {}\n", tune::profile_text(total_of(results)));
    auto ranked = std::find_if(results.begin(), results.end(), [](const tune::TaskResult& task) { return task.result.is_ranked; });
    if (ranked != results.end()) { fmt::print(stderr, "note: times for targets without a device are estimates; nothing was measured\n"); }
  }
  const bool has_failed = std::any_of(results.begin(), results.end(), [](const tune::TaskResult& task) { return task.end == tune::TaskEnd::Failed; });
  return has_failed ? std::max(status, static_cast<int>(exit_input)) : status;
}

}  // namespace loopsmith::driver::commands
