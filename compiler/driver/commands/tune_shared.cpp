// Schedules that several sizes share: see tune_shared.h.
#include "driver/commands/tune_shared.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/datasets.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "support/process.h"
#include "support/text.h"
#include "transform/bind_sizes.h"
#include "workspace/edits/placing.h"
#include "workspace/edits/schedule_text.h"

namespace loopsmith::driver::commands {
namespace {

using nlohmann::json;

/// A folder that is removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code problem;
    std::string pattern = (std::filesystem::temp_directory_path(problem) / "loopsmith-share-XXXXXX").string();
    if (!problem && ::mkdtemp(pattern.data()) != nullptr) { path_ = pattern; }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) { std::filesystem::remove_all(path_, ignored); }
  }
  ScratchFolder(const ScratchFolder&) = delete;
  auto operator=(const ScratchFolder&) -> ScratchFolder& = delete;
  [[nodiscard]] auto path() const -> const std::string& { return path_; }

 private:
  std::string path_;
};

/// The trace with the first factor of each split left to the extent of its loop: the factors of a constant size say nothing about other sizes.
auto for_any_extent(const std::string& trace) -> std::string {
  json read = json::parse(trace, nullptr, false);
  if (!read.is_array() || read.empty() || !read[0].is_array()) { return trace; }
  for (json& instruction : read[0]) {
    const bool is_split = instruction.is_array() && instruction.size() > 1 && instruction[0] == "Split" && instruction[1].is_array() && instruction[1].size() > 2;
    if (!is_split) { continue; }
    json& inputs = instruction[1];
    if (std::all_of(inputs.begin() + 1, inputs.end(), [](const json& factor) { return factor.is_number_integer(); })) { inputs[1] = "None";  }
  }
  return read.dump();
}

/// The arguments `--arg n=64` for the sizes of a program.
auto size_arguments(const Selection& one, int64_t more = 0) -> std::vector<std::string> {
  std::vector<std::string> out;
  const auto mark = transform::variant_mark(one.before->find(one.function.view()));
  for (const auto& [name, value] : mark ? mark->sizes : transform::SizeValues()) { out.insert(out.end(), {"--arg", fmt::format("{}={}", name, value + more)}); }
  return out;
}

/// The lines of JSON that a command of this program prints; empty: it failed.
auto lines_of(std::vector<std::string> argv) -> std::vector<json> {
  argv.insert(argv.begin(), current_program());
  std::vector<json> out;
  auto process = Process::start({.argv = std::move(argv), .standard_input = Stream::Null});
  if (!process) { return out; }
  const Deadline end = in(std::chrono::seconds(120));
  while (true) {
    const ReadResult line = process->read_line(end);
    if (line.status != IoStatus::Done) { break; }
    json read = json::parse(line.data, nullptr, false);
    if (read.is_object()) { out.push_back(std::move(read)); }
  }
  const auto status = process->wait(in(std::chrono::seconds(10)));
  return status && status->succeeded() ? out : std::vector<json>();
}

struct Candidate { std::string name, trace; std::vector<double> seconds = {}; };

/// The different schedules among the results that apply to the program with symbolic sizes.
auto candidates_of(const Selection& whole, const std::vector<tune::TaskResult>& results) -> std::vector<Candidate> {
  std::vector<Candidate> out;
  std::set<std::string> known;
  for (const tune::TaskResult& result : results) {
    if (!result.result.found) { continue; }
    std::string trace = for_any_extent(result.result.trace);
    auto read = schedule::trace_from_json(trace);
    schedule::Schedule sch(whole.before, 1);
    if (!read.ok() || !(sch.func_working_on() == whole.function || sch.work_on(whole.function).ok()) || !sch.replay(*read).ok()) { continue; }
    if (!known.insert(trace).second) { continue; }
    out.push_back({fmt::format("shared_{}", out.size()), std::move(trace)});
  }
  return out;
}

auto text_of(const Selection& whole, const Candidate& candidate, const std::string& name, const std::string& target, std::vector<std::string> comments) -> Result<std::string> {
  workspace::ScheduleText form;
  form.program = whole.program.str();
  form.name = name;
  form.target = target;
  form.comments = std::move(comments);
  return workspace::schedule_function_text(whole.before, candidate.trace, form);
}

/// The best seconds of a size: of its own schedule, or as written where none is faster.
auto best_of(const tune::TaskResult& result) -> double { return result.result.found ? result.result.best_seconds : result.result.plain_seconds; }

/// The sizes for which a candidate loses no more than allowed.
auto covered(const Candidate& candidate, const std::vector<tune::TaskResult>& results, double loss) -> std::vector<bool> {
  std::vector<bool> out;
  for (size_t i = 0; i < results.size(); ++i) { out.push_back(candidate.seconds[i] > 0 && best_of(results[i]) > 0 && candidate.seconds[i] <= (1 + loss) * best_of(results[i])); }
  return out;
}

/// Compares the results of a schedule with the interpreter's for the first size and the one above it, which its tiles do not divide.
auto is_right(const std::string& file, const std::string& name, const std::string& target, const Selection& first) -> bool {
  for (int64_t more : {0, 1}) {
    std::vector<std::string> argv = {"verify", file, "--with", name, "--target", target, "--json"};
    for (std::string& argument : size_arguments(first, more)) { argv.push_back(std::move(argument)); }
    const std::vector<json> lines = lines_of(std::move(argv));
    if (std::none_of(lines.begin(), lines.end(), [](const json& line) { return line.value("compared", false) && line.value("equal", false); })) { return false; }
  }
  return true;
}

}  // namespace

auto shared_schedule(const Selection& whole, const std::vector<Selection>& sized, const std::vector<tune::TaskResult>& results, const std::string& path, const std::string& target, double loss, std::string& why)
    -> std::optional<SharedSchedule> {
  std::vector<Candidate> candidates = candidates_of(whole, results);
  if (candidates.empty()) {
    why = "no schedule that was found applies to the program with symbolic sizes";
    return std::nullopt;
  }
  const ScratchFolder folder;
  auto text = read_file(path);
  if (!text || folder.path().empty()) {
    why = "the file, or a folder for temporary files, cannot be opened";
    return std::nullopt;
  }
  std::vector<std::string> bench = {"bench"};
  const std::string file = folder.path() + "/shared.tir";
  std::string all = *text;
  bench.push_back(file);
  for (const Candidate& candidate : candidates) {
    auto function = text_of(whole, candidate, candidate.name, target, {});
    if (!function) { continue; }
    all += "\n\n" + *function;
    bench.insert(bench.end(), {"--with", candidate.name});
  }
  if (!write_text_file(file, all)) { return std::nullopt; }
  bench.insert(bench.end(), {"--target", target, "--json"});
  for (const Selection& one : sized) {
    std::vector<std::string> argv = bench;
    for (std::string& argument : size_arguments(one)) { argv.push_back(std::move(argument)); }
    const std::vector<json> lines = lines_of(std::move(argv));
    for (Candidate& candidate : candidates) {
      double seconds = 0;
      for (const json& line : lines) { if (line.value("name", "") == candidate.name) { seconds = line.value("seconds", 0.0); } }
      candidate.seconds.push_back(seconds);
    }
  }
  const auto count = [&](const Candidate& one) {
    const std::vector<bool> covers = covered(one, results, loss);
    return std::count(covers.begin(), covers.end(), true);
  };
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) { return std::pair(-count(a), a.name) < std::pair(-count(b), b.name); });
  for (const Candidate& candidate : candidates) {
    if (count(candidate) < 2) {
      why = fmt::format("no schedule is within {:.3g} % of the best for two of the sizes", 100 * loss);
      return std::nullopt;
    }
    if (!is_right(file, candidate.name, target, sized.front())) { continue; }
    SharedSchedule out;
    out.name = workspace::free_name(whole.file->snapshot()->text(), whole.program.str() + "_tuned");
    out.seconds = candidate.seconds;
    out.covers = covered(candidate, results, loss);
    out.verified = "results equal the interpreter's for the first size and the next number";
    std::string times;
    for (size_t i = 0; i < sized.size(); ++i) { if (out.covers[i]) { times += fmt::format("{}{} {}", times.empty() ? "" : ", ", sized[i].program.str(), duration_text(out.seconds[i])); } }
    auto function = text_of(whole, candidate, out.name, target, {fmt::format("Shared by sizes, within {:.3g} % of their best: {}.", 100 * loss, times), "Verified: " + out.verified + "."});
    if (!function) { continue; }
    out.text = workspace::in_form_of(*whole.file->snapshot(), *function).text;
    return out;
  }
  why = "the results of the shared schedules differ from the program's";
  return std::nullopt;
}

}  // namespace loopsmith::driver::commands
