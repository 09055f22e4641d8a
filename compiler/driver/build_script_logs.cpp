// Logs of tasks: see build_script_logs.h.
#include "driver/build_script_logs.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "support/files.h"
#include "support/text.h"

namespace loopsmith::driver::build_script {
namespace {

using nlohmann::json;

/// The names of tasks go into names of files.
auto file_name_of(std::string name) -> std::string {
  std::replace_if(name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-'; }, '_');
  return name;
}

auto speed_text(double flops, double seconds) -> std::string { return flops > 0 && seconds > 0 ? fmt::format("{:.4f}", flops / seconds * 1e-9) : "unknown"; }

/// The sketches with their knobs, from the first event that has them.
auto spaces_text(const TaskLog& task) -> std::string {
  for (const json& event : task.events) {
    const json arms = event.value("arms", json::array());
    if (!arms.is_array() || arms.empty()) { continue; }
    std::string out = fmt::format("Total {} design space(s) generated\n", arms.size());
    for (size_t i = 0; i < arms.size(); ++i) {
      out += fmt::format("Design space #{}: {}\n", i, arms[i].value("name", ""));
      for (const json& knob : arms[i].value("knobs", json::array())) { out += fmt::format("  {}: {}\n", knob.value("name", ""), count_text(knob.value("choices", 0), "choice")); }
    }
    return out;
  }
  return {};
}

/// A line for each trial.
auto trials_text(const TaskLog& task, size_t number, double flops) -> std::string {
  std::string out;
  int trial = 0;
  double best = 0;
  for (const json& event : task.events) {
    for (const json& measured : event.value("measured", json::array())) {
      const double seconds = measured.is_number() ? measured.get<double>() : 0;
      const std::string head = fmt::format("[Task #{}: {}] Trial #{}: ", number, task.name, ++trial);
      if (seconds <= 0) {
        out += head + "Error in building, running or applying the candidate\n";
        continue;
      }
      best = best == 0 ? seconds : std::min(best, seconds);
      out += fmt::format("{}GFLOPs: {}. Time: {:.4f} us. Best GFLOPs: {}\n", head, speed_text(flops, seconds), seconds * 1e6, speed_text(flops, best));
    }
  }
  return out;
}

/// The failures by cause, and the parts of the time.
auto end_text(const json& last) -> std::string {
  std::string out;
  for (const json& cause : last.value("causes", json::array())) {
    out += fmt::format("{} x {}: {}\n  {}\n", cause.value("count", 0), cause.value("outcome", ""), cause.value("message", ""), cause.value("reproduce", ""));
  }
  const json profile = last.value("profile", json::object());
  std::string parts;
  for (const auto& [name, seconds] : profile.items()) { parts += fmt::format("{}{} {:.2f} s", parts.empty() ? "" : ", ", name, seconds.is_number() ? seconds.get<double>() : 0.0); }
  return parts.empty() ? out : out + "Time: " + parts + "\n";
}

}  // namespace

auto write_logs(const std::string& folder, const std::vector<TaskLog>& tasks) -> Status {
  const std::string start = folder + "/logs/tvm.meta_schedule.logging.";
  std::error_code problem;
  std::filesystem::create_directories(folder + "/logs", problem);
  std::string table = fmt::format("{:>4} | {:<24} | {:>14} | {:>6} | {:>14} | {:>12} | {:>21} | {:>6}\n", "ID", "Name", "FLOP", "Weight", "Speed (GFLOPS)", "Latency (us)", "Weighted Latency (us)", "Trials");
  int64_t trials = 0;
  double latency = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskLog& task = tasks[i];
    const json last = task.events.empty() ? json::object() : task.events.back();
    const double flops = last.value("flops", 0.0), seconds = last.value("best_seconds", 0.0);
    LOOPSMITH_CHECK(write_file(fmt::format("{}task_{}_{}.log", start, i, file_name_of(task.name)),
                        fmt::format("Initializing Task #{}: \"{}\"\n{}\n{}{}{}", i, task.name, task.program, spaces_text(task), trials_text(task, i, flops), end_text(last))));
    table += fmt::format("{:>4} | {:<24} | {:>14.0f} | {:>6} | {:>14} | {:>12.4f} | {:>21.4f} | {:>6}\n", i, task.name, flops, task.weight, speed_text(flops, seconds), seconds * 1e6, task.weight * seconds * 1e6, last.value("trials", 0));
    trials += last.value("trials", 0);
    latency += task.weight * seconds;
  }
  return write_file(start + "task_scheduler.log", table + fmt::format("Total trials: {}\nTotal latency (us): {:.4f}\n", trials, latency * 1e6));
}

}  // namespace loopsmith::driver::build_script
