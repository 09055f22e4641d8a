// Data sets and model files: see datasets.h.
#include "driver/datasets.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/program.h"
#include "driver/records.h"
#include "runtime/npy.h"
#include "schedule/trace_json.h"
#include "support/codes.h"
#include "support/files.h"
#include "support/reasons.h"
#include "tune/database/database.h"
#include "workspace/selection.h"

namespace loopsmith::driver {
namespace {

using nlohmann::json;
using tune::Sample;

constexpr const char* model_format = "loopsmith-model";
constexpr int model_version = 1;
// A program has far fewer stores.
constexpr size_t most_stores = 4096;
constexpr size_t most_trees = 10'000, most_nodes = 100'000;

/// Adds the records of one program on one target and machine.
auto add_workload(tune::Database& database, const tune::Database::Workload& workload, Dataset& out) -> Status {
  LOOPSMITH_TRY(records, database.records(workload.task));
  auto file = SourceFile::from_text(workload.name, workload.text);
  auto parsed = workspace::find_program(*file->snapshot(), {});
  auto target = target::parse(workload.task.target);
  if (!parsed || !parsed->module || parsed->module->functions.empty() || !target.ok()) {
    out.left_out += records.size();
    return ok();
  }
  const Name function = parsed->module->functions.front().first;
  const tune::Sampler sampler(*target);
  for (const tune::Record& record : records) {
    const bool is_timed = record.outcome == tune::Outcome::Measured || record.outcome == tune::Outcome::Censored;
    schedule::Schedule sch(parsed->module, 1);
    std::optional<Sample> sample;
    const bool has_time = is_timed && tune::is_time(record.median_seconds);
    if (auto trace = schedule::trace_from_json(record.trace); has_time && trace.ok() && (sch.func_working_on() == function || sch.work_on(function).ok()) && sch.replay(*trace).ok()) { sample = sampler.sample(sch, function); }
    if (!sample) {
      ++out.left_out;
      continue;
    }
    sample->task = workload_text(workload.task) + " " + workload.task.target + " " + workload.task.machine;
    sample->program = workload.name;
    sample->target = workload.task.target;
    sample->seconds = record.median_seconds;
    sample->is_exact = record.outcome == tune::Outcome::Measured;
    out.samples.push_back(std::move(*sample));
  }
  return ok();
}

auto sample_json(const Sample& sample) -> json {
  json stores = json::array();
  for (const auto& row : sample.stores) { stores.push_back(std::vector<double>(row.begin(), row.end())); }
  return {{"task", sample.task}, {"program", sample.program}, {"target", sample.target}, {"seconds", sample.seconds}, {"exact", sample.is_exact}, {"draft", sample.draft_seconds}, {"features", std::move(stores)}};
}

auto text_of(const json& line, const char* key) -> std::string {
  auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}
auto time_of(const json& line, const char* key) -> double {
  auto found = line.find(key);
  const double seconds = found != line.end() && found->is_number() ? found->get<double>() : 0;
  return tune::is_time(seconds) ? seconds : 0;
}

auto read_sample(const json& line, const std::string& place) -> Result<Sample> {
  if (line.is_discarded() || !line.is_object()) { return unreadable(place, because(Why::NotAnObject)); }
  Sample out;
  out.task = text_of(line, "task");
  out.program = text_of(line, "program");
  out.target = text_of(line, "target");
  out.seconds = time_of(line, "seconds");
  out.draft_seconds = time_of(line, "draft");
  auto exact = line.find("exact");
  out.is_exact = exact == line.end() || !exact->is_boolean() || exact->get<bool>();
  if (out.task.empty()) { return unreadable(place, because(Why::SampleWithoutTask)); }
  if (out.seconds <= 0 || out.draft_seconds <= 0) { return unreadable(place, because(Why::NotSeconds).arg("key", out.seconds <= 0 ? "seconds" : "draft")); }
  auto features = line.find("features");
  if (features == line.end() || !features->is_array() || features->empty() || features->size() > most_stores) { return unreadable(place, because(Why::FeaturesNotRows).arg("most", most_stores)); }
  for (const json& row : *features) {
    auto& numbers = out.stores.emplace_back();
    if (!row.is_array() || row.size() != numbers.size()) { return unreadable(place, because(Why::RowOfFeatures).arg("count", numbers.size())); }
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!row[i].is_number() || !std::isfinite(row[i].get<double>())) { return unreadable(place, because(Why::FeatureNotFinite)); }
      numbers[i] = row[i].get<double>();
    }
  }
  return out;
}

template <class T> auto tensor_of(DataType dtype, const std::vector<int64_t>& shape, const std::vector<T>& numbers) -> Result<runtime::Tensor> {
  LOOPSMITH_TRY(tensor, runtime::Tensor::zeros(dtype, shape));
  if (!numbers.empty()) { std::memcpy(tensor.data(), numbers.data(), numbers.size() * sizeof(T)); }
  return std::move(tensor);
}

/// True for a file of SQLite.
auto is_database(const std::string& path) -> bool {
  std::ifstream file(path, std::ios::binary);
  std::string start(16, '\0');
  file.read(start.data(), 16);
  return file.gcount() == 16 && start.starts_with("SQLite format 3");
}

}  // namespace

auto write_text_file(const std::string& path, const std::string& text) -> Status {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) { return error(Code::CannotWrite).arg("file", path).arg("reason", because(Why::DiskOrFolder).text()); }
  return ok();
}

auto dataset_of_database(const std::string& path, const std::string& program, const std::string& target) -> Result<Dataset> {
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) { return unreadable(path, because(Why::NoSuchFile)).remedy("run `loopsmith tune` first"); }
  LOOPSMITH_TRY(database, tune::Database::open(path));
  LOOPSMITH_TRY(workloads, database.workloads());
  Dataset out;
  for (const auto& workload : workloads) {
    if (!program.empty() && workload.name != program && workload_text(workload.task) != program) { continue; }
    if (!target.empty() && workload.task.target.find(target) == std::string::npos) { continue; }
    LOOPSMITH_CHECK(add_workload(database, workload, out));
  }
  return out;
}

auto read_dataset(const std::string& path) -> Result<Dataset> {
  if (is_database(path)) { return dataset_of_database(path, {}, {}); }
  LOOPSMITH_TRY(text, read_file(path));
  Dataset out;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    ++number;
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) { continue; }
    LOOPSMITH_TRY(sample, read_sample(json::parse(line, nullptr, false), fmt::format("{}:{}", path, number)));
    out.samples.push_back(std::move(sample));
  }
  if (out.samples.empty()) { return unreadable(path, because(Why::NoSamples)); }
  return out;
}

auto dataset_lines(const Dataset& set) -> std::string {
  std::string out;
  for (const Sample& sample : set.samples) { out += sample_json(sample).dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }
  return out;
}

auto write_numpy(const Dataset& set, const std::string& folder) -> Status {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) { return error(Code::CannotWrite).arg("file", folder).arg("reason", problem.message()); }
  std::vector<double> features, seconds, draft;
  std::vector<int64_t> rows, exact, tasks;
  std::map<std::string, int64_t> numbers;
  std::string names;
  for (const Sample& sample : set.samples) {
    auto [task, is_new] = numbers.try_emplace(sample.task, static_cast<int64_t>(numbers.size()));
    if (is_new) { names += sample.program + " " + sample.task + "\n"; }
    for (const auto& row : sample.stores) {
      features.insert(features.end(), row.begin(), row.end());
      rows.push_back(static_cast<int64_t>(seconds.size()));
    }
    seconds.push_back(sample.seconds);
    draft.push_back(sample.draft_seconds);
    exact.push_back(sample.is_exact ? 1 : 0);
    tasks.push_back(task->second);
  }
  const auto path = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
  const auto count = static_cast<int64_t>(seconds.size());
  const DataType real = DataType::float_(64), whole = DataType::int_(64);
  LOOPSMITH_TRY(table, tensor_of(real, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(tune::metaschedule::features_per_store)}, features));
  LOOPSMITH_CHECK(runtime::write_npy(path("features.npy"), table));
  for (const auto& [name, list] : {std::pair<const char*, const std::vector<double>&>{"seconds.npy", seconds}, {"draft.npy", draft}}) {
    LOOPSMITH_TRY(tensor, tensor_of(real, {count}, list));
    LOOPSMITH_CHECK(runtime::write_npy(path(name), tensor));
  }
  for (const auto& [name, list] : {std::pair<const char*, const std::vector<int64_t>&>{"rows.npy", rows}, {"exact.npy", exact}, {"tasks.npy", tasks}}) {
    LOOPSMITH_TRY(tensor, tensor_of(whole, {static_cast<int64_t>(list.size())}, list));
    LOOPSMITH_CHECK(runtime::write_npy(path(name), tensor));
  }
  return write_text_file(path("tasks.txt"), names);
}

auto model_text(const tune::TrainedModel& model) -> std::string {
  json trees = json::array();
  for (const tune::Tree& tree : model.trees) {
    json nodes = json::array();
    // A leaf is its value.
    for (const tune::Tree::Node& node : tree.nodes) { nodes.push_back(node.feature < 0 ? json(node.value) : json({node.feature, node.threshold, node.left, node.right})); }
    trees.push_back(std::move(nodes));
  }
  return json({{"format", model_format}, {"version", model_version}, {"features", tune::summary_length}, {"samples", model.samples}, {"tasks", model.tasks}, {"trees", std::move(trees)}}).dump() + "\n";
}

auto read_model_file(const std::string& path) -> Result<tune::TrainedModel> {
  LOOPSMITH_TRY(text, read_file(path));
  const json read = json::parse(text, nullptr, false);
  if (read.is_discarded() || !read.is_object() || text_of(read, "format") != model_format) { return unreadable(path, because(Why::NotAModel)).remedy("train one: `loopsmith model train`"); }
  const auto number = [&](const char* key) -> int64_t {
    auto found = read.find(key);
    return found != read.end() && found->is_number_unsigned() && found->get<uint64_t>() <= INT32_MAX ? static_cast<int64_t>(found->get<uint64_t>()) : -1;
  };
  if (number("version") != model_version || number("features") != static_cast<int64_t>(tune::summary_length)) { return unreadable(path, because(Why::OtherVersion)); }
  const auto trees = read.find("trees");
  if (trees == read.end() || !trees->is_array() || trees->size() > most_trees) { return unreadable(path, because(Why::TreesNotAList).arg("most", most_trees)); }
  tune::TrainedModel out;
  out.samples = static_cast<size_t>(std::max<int64_t>(0, number("samples")));
  out.tasks = static_cast<size_t>(std::max<int64_t>(0, number("tasks")));
  for (const json& tree : *trees) {
    if (!tree.is_array() || tree.size() > most_nodes) { return unreadable(path, because(Why::TreeNotAList).arg("most", most_nodes)); }
    tune::Tree& made = out.trees.emplace_back();
    for (const json& node : tree) {
      const auto is_place = [&](size_t i) { return node[i].is_number_unsigned() && node[i].get<uint64_t>() < most_nodes; };
      const bool is_split = node.is_array() && node.size() == 4 && is_place(0) && node[1].is_number() && is_place(2) && is_place(3);
      if (!is_split && !node.is_number()) { return unreadable(path, because(Why::NodeOfTree)); }
      if (is_split) { made.nodes.push_back({.feature = node[0].get<int>(), .threshold = node[1].get<double>(), .left = node[2].get<uint32_t>(), .right = node[3].get<uint32_t>()}); }
      else { made.nodes.push_back({.value = node.get<double>()}); }
    }
  }
  if (auto why = tune::why_not_trees(out.trees)) { return unreadable(path, *why); }
  return out;
}

}  // namespace loopsmith::driver
