// Reads logs of the auto-scheduler: see log.h.
#include "script/auto_scheduler/log.h"

#include <algorithm>
#include <ctime>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "script/log_values.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::auto_scheduler {
namespace {

using nlohmann::json;

// Reads a step of a record, such as `["SP", 2, 0, 128, [4, 2], 1]`; none: it has another form.
auto step_of(const json& line) -> std::optional<Step> {
  if (!line.is_array() || line.empty() || !line[0].is_string()) { return std::nullopt; }
  Step out{.kind = line[0].get<std::string>(), .arguments = {}};
  for (size_t i = 1; i < line.size(); ++i) {
    const json& one = line[i];
    if (one.is_number_integer()) {
      out.arguments.emplace_back(one.get<int64_t>());
    } else if (one.is_string()) {
      out.arguments.emplace_back(one.get<std::string>());
    } else if (one.is_array() && std::all_of(one.begin(), one.end(), [](const json& item) { return item.is_number_integer(); })) {
      out.arguments.emplace_back(one.get<std::vector<int64_t>>());
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// The workload of a task, `"[\"matmul\", 128, 128]"`: a name and arguments in a JSON text.
auto read_workload(const json& text, AnsorRecord& out) -> bool {
  if (!text.is_string()) { return false; }
  const json key = json::parse(text.get<std::string>(), nullptr, false);
  if (!key.is_array() || key.empty() || !key[0].is_string()) { return false; }
  out.workload = key[0].get<std::string>();
  for (size_t i = 1; i < key.size(); ++i) { out.arguments.push_back(value_of_json(key[i])); }
  return true;
}

// None: the line is not a record; `why` has the reason.
auto read_line(const json& line, Reason& why) -> std::optional<AnsorRecord> {
  why = because(Why::NotAnAnsorRecord);
  if (!line.is_object() || !line.contains("i") || !line["i"].is_array() || line["i"].size() != 2) { return std::nullopt; }
  const json& task = line["i"][0];
  const json& state = line["i"][1];
  AnsorRecord out;
  why = because(Why::TaskForm);
  if (!task.is_array() || task.size() < 2 || !task[1].is_string() || !read_workload(task[0], out)) { return std::nullopt; }
  out.target = task[1].get<std::string>();
  why = because(Why::StepsNoList);
  if (!state.is_array() || state.size() != 2 || !state[1].is_array()) { return std::nullopt; }
  for (const json& one : state[1]) {
    auto step = step_of(one);
    why = because(Why::StepForm).arg("number", out.steps.size() + 1);
    if (!step) { return std::nullopt; }
    out.steps.push_back(*std::move(step));
  }
  why = because(Why::ResultForm);
  if (!line.contains("r") || !line["r"].is_array() || line["r"].size() < 2 || !line["r"][0].is_array()) { return std::nullopt; }
  for (const json& seconds : line["r"][0]) {
    const bool is_measured = line["r"][1] == 0 && seconds.is_number() && seconds.get<double>() > 0 && seconds.get<double>() < 1e9;
    if (is_measured) { out.seconds.push_back(seconds.get<double>()); }
  }
  return out;
}

}  // namespace

auto AnsorRecord::mean() const -> double { return mean_of(seconds); }

auto is_ansor_log(std::string_view text) -> bool {
  const json line = first_object(text);
  return line.is_object() && line.contains("i") && line["i"].is_array() && !line["i"].empty() && line["i"][0].is_array();
}

auto read_ansor_log(const std::string& path, const std::string& text) -> Result<std::vector<AnsorRecord>> { return read_log<AnsorRecord>(path, text, read_line); }

auto ansor_line(const AnsorRecord& record) -> std::string {
  using nlohmann::ordered_json;
  ordered_json key = ordered_json::array({record.workload});
  for (const eval::Value& argument : record.arguments) { key.push_back(ordered_json(json_of_value(argument))); }
  ordered_json steps = ordered_json::array();
  for (const Step& step : record.steps) {
    ordered_json one = ordered_json::array({step.kind});
    for (const auto& argument : step.arguments) { std::visit([&](const auto& value) { one.push_back(ordered_json(value)); }, argument); }
    steps.push_back(std::move(one));
  }
  // Cores, bytes of a vector and of a line of the cache; the other five parameters are those of GPUs.
  const int64_t cores = std::max<int64_t>(1, std::thread::hardware_concurrency());
  ordered_json hardware = {cores, 64, 64, 0, 0, 0, 0, 0};
  // Shared and local memory have no limit here: builds check it.
  if (record.gpu) { hardware = {-1, 16, 64, INT32_MAX, INT32_MAX, record.gpu->block_threads, record.gpu->virtual_threads, record.gpu->warp}; }
  const double total = std::accumulate(record.seconds.begin(), record.seconds.end(), 0.0);
  // 4: the runtime of a device failed, the error that TVM writes for a candidate without a time.
  const bool is_measured = !record.seconds.empty();
  ordered_json line;
  line["i"] = {{text_as_in_python(key), record.target, hardware, "", 1, ordered_json::array()}, {ordered_json::array(), steps}};
  line["r"] = {is_measured ? record.seconds : std::vector<double>{1e10}, is_measured ? 0 : 4, total, std::time(nullptr)};
  line["v"] = "v0.6";
  return text_as_in_python(line);
}

auto is_of_task(const AnsorRecord& record, const Task& task) -> bool { return record.workload == task.workload && are_equal_in_json(record.arguments, task.arguments); }

auto best_of_log(const std::string& path, const std::vector<AnsorRecord>& records, const std::vector<Task>& tasks, const std::string& variable) -> Result<AnsorChoice> {
  if (records.empty()) { return error(Code::CannotRead).arg("file", path).arg("reason", because(Why::NoRecords).text()); }
  auto refused = [&](const Reason& why) { return error(Code::RecordRefused).arg("number", static_cast<int64_t>(records[0].number)).arg("file", path).arg("reason", why.text()); };
  bool is_any = false;
  for (const Task& task : tasks) {
    if (!variable.empty() && task.variable.view() != variable) { continue; }
    const AnsorRecord* best = nullptr;
    for (const AnsorRecord& one : records) {
      if (!is_of_task(one, task)) { continue; }
      is_any = true;
      if (one.mean() > 0 && (!best || one.mean() < best->mean())) { best = &one; }
    }
    if (best && !task.variable.empty()) { return AnsorChoice{task, *best}; }
  }
  if (is_any) { return refused(because(Why::NoTimeOrVariable)).remedy("write `task = auto_scheduler.SearchTask(...)`, or tune the task again"); }
  const std::string own = records[0].workload + arguments_text(records[0].arguments);
  if (tasks.empty()) { return refused(because(Why::NoTaskOfWorkload).arg("workload", own)).remedy("make one: `task = auto_scheduler.SearchTask(func=..., args=..., target=...)`"); }
  return refused(because(Why::TaskOfOtherWorkload).arg("workload", own).arg("other", tasks[0].workload + arguments_text(tasks[0].arguments))).remedy("give the task the function and the arguments of the log");
}

}  // namespace loopsmith::script::auto_scheduler
