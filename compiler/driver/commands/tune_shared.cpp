// Schedules that several sizes share: see tune_shared.h.
#include "driver/commands/tune_shared.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/datasets.h"
#include "ir/printer.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "support/process.h"
#include "support/text.h"
#include "transform/bind_sizes.h"
#include "tune/session/cover.h"
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

/// The trace with the first factor of each split left to the extent of its loop: the factors found for a constant size do not apply to other sizes.
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
  for (const auto& [name, value] : mark ? mark->choices[0] : transform::SizeValues()) { out.insert(out.end(), {"--arg", fmt::format("{}={}", name, value + more)}); }
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

auto text_of(const Selection& whole, const Candidate& candidate, const std::string& program, const std::string& name, const std::string& target, std::vector<std::string> comments) -> Result<std::string> {
  workspace::ScheduleText form;
  form.program = program;
  form.name = name;
  form.target = target;
  form.comments = std::move(comments);
  return workspace::schedule_function_text(whole.before, candidate.trace, form);
}

/// The best seconds of a size: of its own schedule, or as written where none is faster.
auto best_of(const tune::TaskResult& result) -> double { return result.result.found ? result.result.best_seconds : result.result.plain_seconds; }

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

/// Measures the candidates for all sizes. Returns the file with the candidates as schedules; empty: it cannot be written.
auto measure(std::vector<Candidate>& candidates, const Selection& whole, const std::vector<Selection>& sized, const std::string& path, const std::string& target, const ScratchFolder& folder) -> std::string {
  auto text = read_file(path);
  const std::string file = folder.path() + "/shared.tir";
  if (!text || folder.path().empty()) { return {}; }
  std::vector<std::string> bench = {"bench", file};
  std::string all = *text;
  for (const Candidate& candidate : candidates) {
    auto function = text_of(whole, candidate, whole.program.str(), candidate.name, target, {});
    if (!function) { continue; }
    all += "\n\n" + *function;
    bench.insert(bench.end(), {"--with", candidate.name});
  }
  if (!write_text_file(file, all)) { return {}; }
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
  return file;
}

/// A copy of the program under another name, which its entry calls for the given sizes.
auto copy_for(const Selection& whole, const std::string& name, const std::vector<Selection>& sized, const std::vector<bool>& covers) -> std::string {
  transform::VariantMark mark{whole.program.str(), {}};
  for (size_t i = 0; i < sized.size(); ++i) {
    const auto of_size = transform::variant_mark(sized[i].before->find(sized[i].function.view()));
    if (covers[i] && of_size) { mark.choices.push_back(of_size->choices[0]); }
  }
  const std::string text = print_script(transform::with_variant_mark(whole.before->find(whole.function.view()), mark), {.function_name = Name(name)});
  const size_t begin = text.find('@');
  return text.substr(begin == std::string::npos ? 0 : begin).append(workspace::between_declarations);
}

/// A chosen candidate as text. `taken`: the file and the texts so far, whose names are not free.
auto as_shared(const Selection& whole, const std::vector<Selection>& sized, const Candidate& candidate, std::vector<bool> covers, bool is_first, const std::string& target, double loss, std::string& taken)
    -> std::optional<SharedSchedule> {
  SharedSchedule out;
  out.program = is_first ? whole.program.str() : workspace::free_name(taken, whole.program.str() + "_shared");
  out.name = workspace::free_name(taken, out.program + "_tuned");
  out.seconds = candidate.seconds;
  out.covers = std::move(covers);
  out.verified = "results equal the interpreter's for the first size and the next number";
  std::string times;
  for (size_t i = 0; i < sized.size(); ++i) { if (out.covers[i]) { times += fmt::format("{}{} {}", times.empty() ? "" : ", ", sized[i].program.str(), duration_text(out.seconds[i])); } }
  auto function = text_of(whole, candidate, out.program, out.name, target, {fmt::format("Shared by sizes, within {:.3g} % of their best: {}.", 100 * loss, times), "Verified: " + out.verified + "."});
  if (!function) { return std::nullopt; }
  out.text = (is_first ? std::string() : copy_for(whole, out.program, sized, out.covers)) + workspace::in_form_of(*whole.file->snapshot(), *function).text;
  taken += out.text;
  return out;
}

}  // namespace

auto shared_schedules(const Selection& whole, const std::vector<Selection>& sized, const std::vector<tune::TaskResult>& results, const std::string& path, const std::string& target, double loss, std::string& why)
    -> std::vector<SharedSchedule> {
  std::vector<Candidate> candidates = candidates_of(whole, results);
  if (candidates.empty()) {
    why = "no schedule that was found applies to the program with symbolic sizes";
    return {};
  }
  const ScratchFolder folder;
  const std::string file = measure(candidates, whole, sized, path, target, folder);
  if (file.empty()) {
    why = "the file, or a folder for temporary files, cannot be opened";
    return {};
  }
  why = fmt::format("no schedule is within {:.3g} % of the best for two of the sizes", 100 * loss);
  std::vector<std::vector<double>> seconds;
  std::vector<double> best;
  for (const Candidate& candidate : candidates) { seconds.push_back(candidate.seconds); }
  for (const tune::TaskResult& result : results) { best.push_back(best_of(result)); }
  std::vector<SharedSchedule> out;
  std::string taken = whole.file->snapshot()->text();
  const auto is_usable = [&](size_t candidate) {
    const bool usable = is_right(file, candidates[candidate].name, target, sized.front());
    if (!usable) { why = "the results of the shared schedules differ from the program's"; }
    return usable;
  };
  for (tune::CoverPart& part : tune::cover_sizes(seconds, best, loss, is_usable)) {
    auto one = as_shared(whole, sized, candidates[part.schedule], std::move(part.serves), out.empty(), target, loss, taken);
    if (one) { out.push_back(std::move(*one)); }
  }
  return out;
}

auto dispatch_table(const std::vector<SharedSchedule>& shared, const std::vector<Selection>& sized, const std::vector<tune::TaskResult>& results, const std::vector<std::string>& own) -> std::string {
  std::string out = fmt::format("{:<24} {:<28} {:>12} {:>14}\n", "sizes", "schedule", "time", "its own best");
  for (size_t i = 0; i < sized.size(); ++i) {
    auto serves = std::find_if(shared.begin(), shared.end(), [&](const SharedSchedule& one) { return one.covers[i]; });
    const bool is_shared = serves != shared.end();
    std::string sizes;
    const auto mark = transform::variant_mark(sized[i].before->find(sized[i].function.view()));
    for (const auto& [name, value] : mark ? mark->choices[0] : transform::SizeValues()) { sizes += fmt::format("{}{}={}", sizes.empty() ? "" : " ", name, value); }
    const double best = best_of(results[i]), seconds = is_shared ? serves->seconds[i] : best;
    out += fmt::format("{:<24} {:<28} {:>12} {:>14}\n", sizes, is_shared ? serves->name : own[i].empty() ? "as written" : own[i], duration_text(seconds), duration_text(best));
  }
  return out;
}

}  // namespace loopsmith::driver::commands
