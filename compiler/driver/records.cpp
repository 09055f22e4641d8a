// Writes and reads records as JSON: see records.h.
#include "driver/records.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/program.h"
#include "ir/ops.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/reasons.h"
#include "target/target.h"

namespace loopsmith::driver {
namespace {

using nlohmann::json;

auto hex(uint64_t value) -> std::string { return fmt::format("{:016x}", value); }
auto unhex(const std::string& text) -> uint64_t { return std::strtoull(text.c_str(), nullptr, 16); }

/// The text of a key; empty: the value is missing or no text.
auto text_in(const json& object, const char* key) -> std::string {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
/// The whole number of a key; none: the value is not a whole number, or out of range.
auto number_in(const json& object, const char* key, int64_t least, int64_t most) -> std::optional<int64_t> {
  auto found = object.find(key);
  if (found == object.end()) { return 0; }
  bool fits = found->is_number_integer() && (!found->is_number_unsigned() || found->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)) && found->get<int64_t>() >= least && found->get<int64_t>() <= most;
  return fits ? std::optional(found->get<int64_t>()) : std::nullopt;
}
/// The seconds of a key; 0: it is missing; none: the value is no time.
auto time_in(const json& object, const char* key) -> std::optional<double> {
  auto found = object.find(key);
  if (found == object.end()) { return 0; }
  double seconds = found->is_number() ? found->get<double>() : -1;
  return seconds == 0 || tune::is_time(seconds) ? std::optional(seconds) : std::nullopt;
}

/// A target as TVM exports it: a dictionary of the options.
auto tvm_target(const std::string& text) -> json {
  json out = {{"keys", {"cpu"}}, {"kind", "llvm"}, {"tag", ""}};
  auto target = target::parse(text);
  if (!target) { return out; }
  out["kind"] = target->kind;
  if (target->kind != "llvm") { out["keys"] = {target->kind, "gpu"}; }
  if (!target->cpu.empty()) { out["mcpu"] = target->cpu; }
  if (!target->triple.empty()) { out["mtriple"] = target->triple; }
  if (!target->features.empty()) { out["mattr"] = target->features; }
  if (target->cores > 0) { out["num-cores"] = target->cores; }
  for (const auto& [name, value] : target->others) {
    const auto number = parse_number(value, 0, 1LL << 40);
    out[name] = number ? json(*number) : json(value);
  }
  return out;
}
/// The options that are kept in targets of ours, in the form of TVM's text.
auto target_text_of_tvm(const json& target) -> std::string {
  if (target.is_string()) { return target.get<std::string>(); }
  if (!target.is_object()) { return ""; }
  // TVM writes the kind as a name, or as an object that contains the name.
  auto kind = target.find("kind");
  std::string text = kind != target.end() && kind->is_object() ? text_in(*kind, "name") : text_in(target, "kind");
  if (text.empty()) { return ""; }
  for (const char* key : {"mcpu", "mtriple", "arch"}) {
    if (auto found = target.find(key); found != target.end() && found->is_string()) { text += fmt::format(" -{}={}", key, found->get<std::string>()); }
  }
  if (auto cores = number_in(target, "num-cores", 1, 1 << 20); cores && *cores > 0) { text += fmt::format(" -num-cores={}", *cores); }
  std::string features;
  auto list = target.find("mattr");
  for (const json& feature : list != target.end() && list->is_array() ? *list : json::array()) {
    if (feature.is_string()) { features += (features.empty() ? "" : ",") + feature.get<std::string>(); }
  }
  if (!features.empty()) { text += " -mattr=" + features; }
  return text;
}

/// The arguments of a function in the form of a record.
auto tensors_of(const PrimFunc& function) -> json {
  json out = json::array();
  for (const Var& param : function->params) {
    for (const auto& [var, buffer] : function->buffer_map) {
      if (var.get() != param.get()) { continue; }
      json shape = json::array();
      for (const Expr& extent : buffer->shape) { shape.push_back(as_int(extent).value_or(-1)); }
      out.push_back({"TENSOR", buffer->dtype.str(), shape});
    }
  }
  return out;
}

}  // namespace

auto tvm_target_text(const std::string& target) -> std::string { return tvm_target(target).dump(); }

auto workload_text(const tune::TaskKey& key) -> std::string { return hex(key.workload); }

auto record_json(const tune::Database::Workload& w, const tune::Record& r) -> json {
  json out = {{"program", w.name},          {"workload", workload_text(w.task)}, {"target", w.task.target},    {"machine", w.task.machine}, {"trial", r.trial},
          {"seed", r.seed},             {"outcome", tune::outcome_name(r.outcome)}, {"seconds", r.median_seconds}, {"spread", r.spread_seconds}, {"blocks", r.blocks},
          {"verified", r.verified},     {"note", r.note},                    {"time", r.unix_time},        {"candidate", hex(r.candidate)}, {"trace", r.trace}};
  if (!r.line.empty()) { out["line"] = r.line; }
  return out;
}

auto read_record(const json& line, const std::string& place) -> Result<ReadRecord> {
  if (!line.is_object()) { return unreadable(place, because(Why::NotAnObject)); }
  for (const char* key : {"program", "workload", "target", "machine", "trace", "outcome"}) {
    auto found = line.find(key);
    if (found == line.end() || !found->is_string()) { return unreadable(place, because(Why::NoString).arg("key", key)); }
  }
  for (const char* key : {"seconds", "trial"}) {
    if (auto found = line.find(key); found == line.end() || !found->is_number()) { return unreadable(place, because(Why::NoNumber).arg("key", key)); }
  }
  ReadRecord out;
  out.workload.task = {unhex(text_in(line, "workload")), text_in(line, "target"), text_in(line, "machine")};
  out.workload.name = text_in(line, "program");
  out.workload.text = text_in(line, "text");
  tune::Record& r = out.record;
  r.trace = text_in(line, "trace");
  r.candidate = line.contains("candidate") ? unhex(text_in(line, "candidate")) : hash_bytes(r.trace);
  r.note = text_in(line, "note");
  r.verified = text_in(line, "verified");
  r.line = text_in(line, "line");
  auto seconds = time_in(line, "seconds");
  auto spread = time_in(line, "spread");
  if (!seconds || !spread) { return unreadable(place, because(Why::NotSeconds).arg("key", seconds ? "spread" : "seconds")); }
  r.median_seconds = *seconds;
  r.spread_seconds = *spread;
  auto seed = line.find("seed");
  if (seed != line.end() && seed->is_number_unsigned()) { r.seed = seed->get<uint64_t>(); }
  for (auto [key, number] : {std::pair{"blocks", &r.blocks}, {"trial", &r.trial}}) {
    auto value = number_in(line, key, 0, INT32_MAX);
    if (!value) { return unreadable(place, because(Why::NotACount).arg("key", key)); }
    *number = static_cast<int>(*value);
  }
  auto time = number_in(line, "time", 0, INT64_MAX);
  if (!time) { return unreadable(place, because(Why::NotUnixTime)); }
  r.unix_time = *time;
  std::string outcome = text_in(line, "outcome");
  for (int i = 0; i <= static_cast<int>(tune::Outcome::Wrong); ++i) {
    if (outcome != tune::outcome_name(static_cast<tune::Outcome>(i))) { continue; }
    r.outcome = static_cast<tune::Outcome>(i);
    if (r.outcome == tune::Outcome::Measured && r.median_seconds == 0) { return unreadable(place, because(Why::MeasuredInNoTime)); }
    return out;
  }
  return unreadable(place, because(Why::NoSuchOutcome).arg("outcome", outcome));
}

auto tvm_record(const tune::Database::Workload& workload, const tune::Record& record, const PrimFunc& function) -> json {
  json arguments = tensors_of(function);
  json trace = json::parse(record.trace, nullptr, false);
  return {0, {trace.is_discarded() ? json(json::array()) : trace, {record.median_seconds}, tvm_target(workload.task.target), arguments}};
}

auto read_tvm_record(const json& line, const std::string& place) -> Result<TvmRecord> {
  if (!line.is_array() || line.size() != 2 || !line[0].is_number_integer() || !line[1].is_array() || line[1].size() < 3) {
    return unreadable(place, because(Why::NotATvmRecord));
  }
  const json& record = line[1];
  if (!record[0].is_array() || record[0].size() != 2) { return unreadable(place, because(Why::NotATvmTrace)); }
  TvmRecord out;
  out.workload = line[0].get<int64_t>();
  out.trace = record[0].dump();
  double sum = 0;
  size_t count = 0;
  if (record[1].is_array()) {
    for (const json& seconds : record[1]) {
      // A failed trial has the time 1e10.
      bool is_failed = seconds.is_number() && seconds.get<double>() >= 1e9 && std::isfinite(seconds.get<double>());
      if (!is_failed && (!seconds.is_number() || !tune::is_time(seconds.get<double>()))) { return unreadable(place, because(Why::OneTimeNotSeconds)); }
      sum += seconds.get<double>();
      ++count;
    }
  }
  out.seconds = count > 0 && sum / static_cast<double>(count) < 1e9 ? sum / static_cast<double>(count) : 0;
  const std::string target = target_text_of_tvm(record[2]);
  auto known = target::parse(target);
  (known ? out.target : out.unknown_target) = known ? known->str() : target;
  for (const json& argument : record.size() > 3 && record[3].is_array() ? record[3] : json::array()) {
    if (!argument.is_array() || argument.size() != 3 || !argument[1].is_string() || !argument[2].is_array()) { return unreadable(place, because(Why::NotTvmArguments)); }
    out.arguments.push_back(argument[1].get<std::string>() + argument[2].dump());
  }
  return out;
}

auto tvm_records_at(const std::string& path) -> std::string {
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem)) {
    std::string inside = path + "/database_tuning_record.json";
    return std::filesystem::exists(inside, problem) ? inside : "";
  }
  // Its lines are lists; no other database format begins with a list.
  std::ifstream file(path);
  char first = 0;
  return file >> first && first == '[' ? path : "";
}

auto read_tvm_records(const std::string& path) -> Result<std::vector<TvmRecord>> {
  LOOPSMITH_TRY(text, read_file(path));
  std::vector<TvmRecord> out;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) { continue; }
    LOOPSMITH_TRY(record, read_tvm_record(json::parse(line, nullptr, false), fmt::format("{}:{}", path, number)));
    out.push_back(std::move(record));
  }
  return out;
}

auto best_of_tvm(const std::vector<TvmRecord>& records, const IRModule& program, const target::Target& target) -> const TvmRecord* {
  if (program->functions.size() != 1) { return nullptr; }
  std::vector<std::string> arguments;
  for (const json& argument : tensors_of(program->functions.front().second)) { arguments.push_back(argument[1].get<std::string>() + argument[2].dump()); }
  std::vector<const TvmRecord*> fit;
  for (const TvmRecord& r : records) {
    if (r.seconds <= 0 || r.target.empty() || (!r.arguments.empty() && r.arguments != arguments)) { continue; }
    auto meant = target::parse(r.target);
    if (meant && meant->kind == target.kind) { fit.push_back(&r); }
  }
  std::sort(fit.begin(), fit.end(), [&](const TvmRecord* a, const TvmRecord* b) {
    return std::tuple(a->target != target.str(), a->seconds, a) < std::tuple(b->target != target.str(), b->seconds, b);
  });
  for (const TvmRecord* r : fit) {
    auto trace = schedule::trace_from_json(r->trace);
    schedule::Schedule sch(program, 1);
    if (trace && sch.replay(*trace)) { return r; }
  }
  return nullptr;
}

}  // namespace loopsmith::driver
