// Splits records into searches: see history.h.
#include "tune/session/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <vector>

#include "ir/equal.h"
#include "support/text.h"

namespace loopsmith::tune {
namespace {

/// Seconds without a record that separate two searches.
constexpr int64_t pause = 3600;
constexpr size_t curve_width = 40;
constexpr size_t most_steps = 12;

/// "2026-11-23 07:50", or "at an unknown time" for records without a time.
auto date_text(int64_t unix_time) -> std::string {
  if (unix_time <= 0) { return "at an unknown time"; }
  auto time = static_cast<std::time_t>(unix_time);
  std::tm parts{};
  ::localtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

/// The best time over the course of a search, as bars on a logarithmic scale; each bar stands for a number of trials.
auto curve(const std::vector<double>& best) -> std::string {
  constexpr const char* bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  if (best.empty()) { return out; }
  double low = std::log(best.back()), high = std::log(best.front());
  size_t step = (best.size() + curve_width - 1) / curve_width;
  for (size_t i = 0; i < best.size(); i += step) { out += bars[high > low ? static_cast<size_t>(std::lround((std::log(best[i]) - low) / (high - low) * 7)) : 0]; }
  return out;
}

auto of_search(const Record* begin, const Record* end, const std::string& target, double& best_before) -> std::string {
  std::map<std::string, int64_t> without;
  std::vector<double> bests;
  std::vector<std::pair<const Record*, double>> steps;   // each with the best time before it
  const Record* best = nullptr;
  for (const Record* record = begin; record != end; ++record) {
    if (record->outcome != Outcome::Measured || record->median_seconds <= 0) {
      ++without[fmt::format("{}{}", outcome_name(record->outcome), record->note.empty() ? "" : ": " + record->note)];
      continue;
    }
    if (best == nullptr || record->median_seconds < best->median_seconds) {
      if (best != nullptr) { steps.emplace_back(record, best->median_seconds); }
      best = record;
    }
    bests.push_back(best->median_seconds);
  }
  auto count = static_cast<int64_t>(end - begin);
  std::string text = fmt::format("### {}: {} for `{}`\n\n", date_text(begin->unix_time), count_text(count, "trial"), target);
  if (best == nullptr) {
    text += "- none was measured to its end\n";
  } else {
    text += fmt::format("- best {} +- {:.1f}%", duration_text(best->median_seconds), best->spread_seconds / best->median_seconds * 100);
    if (best_before > 0) { text += best->median_seconds < best_before ? fmt::format(", {:.2f} times as fast as before", best_before / best->median_seconds) : fmt::format("; earlier ones found {}", duration_text(best_before)); }
    text += best->verified.empty() ? ", not verified\n" : fmt::format(", verified: {}\n", best->verified);
    text += fmt::format("- best so far by trial: {}\n", curve(bests));
    size_t left_out = steps.size() > most_steps ? steps.size() - most_steps : 0;
    for (size_t i = left_out; i < steps.size(); ++i) {
      double gain = steps[i].second / steps[i].first->median_seconds;
      text += fmt::format("- trial {}: {} ({:.{}f} times as fast as the best before)\n", steps[i].first->trial, duration_text(steps[i].first->median_seconds), gain, gain < 1.095 ? 2 : 1);
    }
    if (left_out > 0) { text += fmt::format("- {} better ones before those\n", left_out); }
    best_before = best_before > 0 ? std::min(best_before, best->median_seconds) : best->median_seconds;
  }
  std::vector<std::pair<std::string, int64_t>> reasons(without.begin(), without.end());
  std::sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return std::pair(-a.second, a.first) < std::pair(-b.second, b.first); });
  for (size_t i = 0; i < reasons.size() && i < 5; ++i) { text += fmt::format("- {} without a time: {}\n", reasons[i].second, reasons[i].first); }
  return text + "\n";
}

}  // namespace

auto records_history(Database& database, const IRModule& program, const std::string& name, const std::string& machine) -> Result<std::string> {
  uint64_t hash = structural_hash(program);
  std::string text;
  LOOPSMITH_TRY(workloads, database.workloads());
  int64_t elsewhere = 0;
  for (const Database::Workload& one : workloads) {
    if (one.task.workload != hash) { continue; }
    if (one.task.machine != machine) {
      elsewhere += one.records;
      continue;
    }
    LOOPSMITH_TRY(records, database.records(one.task));
    std::vector<std::string> searches;
    double best = 0;
    for (size_t begin = 0; begin < records.size();) {
      size_t end = begin + 1;
      while (end < records.size() && records[end].unix_time - records[end - 1].unix_time < pause) { ++end; }
      searches.push_back(of_search(&records[begin], records.data() + end, one.task.target, best));
      begin = end;
    }
    for (auto search = searches.rbegin(); search != searches.rend(); ++search) { text += *search; }
  }
  if (text.empty()) { text = fmt::format("Nothing was measured of `{}` as it is now on this machine.\n", name); }
  if (elsewhere > 0) { text += fmt::format("{} more {} on other machines.\n", grouped(elsewhere), plural(elsewhere, "trial")); }
  return text;
}

}  // namespace loopsmith::tune
