// Records as JSON: see records.h.
#include "driver/records.h"

#include <algorithm>
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
#include "support/codes.h"
#include "support/hash.h"
#include "target/target.h"

namespace loopsmith::driver {
namespace {

using nlohmann::json;

auto unreadable(const std::string& place, std::string_view why) -> Diagnostic { return error(Code::CannotRead).arg("file", place).arg("why", why); }

auto hex(uint64_t value) -> std::string { return fmt::format("{:016x}", value); }
auto unhex(const std::string& text) -> uint64_t { return std::strtoull(text.c_str(), nullptr, 16); }

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
  return out;
}
auto target_of_tvm(const json& target) -> std::string {
  if (target.is_string()) {
    auto read = target::parse(target.get<std::string>());
    return read ? read->str() : "";
  }
  if (!target.is_object()) { return ""; }
  std::string text = target.value("kind", "");
  for (const char* key : {"mcpu", "mtriple"}) {
    if (auto found = target.find(key); found != target.end() && found->is_string()) { text += fmt::format(" -{}={}", key, found->get<std::string>()); }
  }
  if (auto cores = target.find("num-cores"); cores != target.end() && cores->is_number_integer()) { text += fmt::format(" -num-cores={}", cores->get<int>()); }
  std::string features;
  for (const json& feature : target.value("mattr", json::array())) {
    if (feature.is_string()) { features += (features.empty() ? "" : ",") + feature.get<std::string>(); }
  }
  if (!features.empty()) { text += " -mattr=" + features; }
  auto read = target::parse(text);
  return read ? read->str() : "";
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

auto workload_text(const tune::TaskKey& key) -> std::string { return hex(key.workload); }

auto record_json(const tune::Database::Workload& w, const tune::Record& r) -> json {
  return {{"program", w.name},          {"workload", workload_text(w.task)}, {"target", w.task.target},    {"machine", w.task.machine}, {"trial", r.trial},
          {"seed", r.seed},             {"outcome", tune::outcome_name(r.outcome)}, {"seconds", r.median_seconds}, {"spread", r.spread_seconds}, {"blocks", r.blocks},
          {"verified", r.verified},     {"note", r.note},                    {"time", r.unix_time},        {"candidate", hex(r.candidate)}, {"trace", r.trace}};
}

auto read_record(const json& line, const std::string& place) -> Result<ReadRecord> {
  if (!line.is_object()) { return unreadable(place, "it is no object"); }
  for (const char* key : {"program", "workload", "target", "machine", "trace", "outcome"}) {
    auto found = line.find(key);
    if (found == line.end() || !found->is_string()) { return unreadable(place, fmt::format("it has no text `{}`", key)); }
  }
  for (const char* key : {"seconds", "trial"}) {
    if (auto found = line.find(key); found == line.end() || !found->is_number()) { return unreadable(place, fmt::format("it has no number `{}`", key)); }
  }
  ReadRecord out;
  try {
    out.workload.task = {unhex(line.value("workload", "")), line.value("target", ""), line.value("machine", "")};
    out.workload.name = line.value("program", "");
    out.workload.text = line.value("text", "");
    tune::Record& r = out.record;
    r.trace = line.value("trace", "");
    r.candidate = line.contains("candidate") ? unhex(line.value("candidate", "")) : hash_bytes(r.trace);
    r.median_seconds = line.value("seconds", 0.0);
    r.spread_seconds = line.value("spread", 0.0);
    r.blocks = line.value("blocks", 0);
    r.note = line.value("note", "");
    r.seed = line.value("seed", uint64_t{0});
    r.trial = line.value("trial", 0);
    r.verified = line.value("verified", "");
    r.unix_time = line.value("time", int64_t{0});
  } catch (const json::exception& wrong) {
    return unreadable(place, wrong.what());
  }
  std::string outcome = line.value("outcome", "");
  for (int i = 0; i <= static_cast<int>(tune::Outcome::Wrong); ++i) {
    if (outcome != tune::outcome_name(static_cast<tune::Outcome>(i))) { continue; }
    out.record.outcome = static_cast<tune::Outcome>(i);
    return out;
  }
  return unreadable(place, fmt::format("there is no outcome `{}`", outcome));
}

auto tvm_record(const tune::Database::Workload& workload, const tune::Record& record, const PrimFunc& function) -> json {
  json arguments = tensors_of(function);
  json trace = json::parse(record.trace, nullptr, false);
  return {0, {trace.is_discarded() ? json(json::array()) : trace, {record.median_seconds}, tvm_target(workload.task.target), arguments}};
}

auto read_tvm_record(const json& line, const std::string& place) -> Result<TvmRecord> {
  if (!line.is_array() || line.size() != 2 || !line[0].is_number_integer() || !line[1].is_array() || line[1].size() < 3) {
    return unreadable(place, "it is no record of TVM's, `[workload, [trace, [seconds], target, arguments]]`");
  }
  const json& record = line[1];
  if (!record[0].is_array() || record[0].size() != 2) { return unreadable(place, "its trace is not `[instructions, decisions]`"); }
  TvmRecord out;
  out.workload = line[0].get<int64_t>();
  out.trace = record[0].dump();
  double sum = 0;
  size_t count = 0;
  if (record[1].is_array()) {
    for (const json& seconds : record[1]) {
      if (!seconds.is_number()) { return unreadable(place, "its times are no numbers"); }
      sum += seconds.get<double>();
      ++count;
    }
  }
  // A failed trial has the time 1e10 there.
  out.seconds = count > 0 && sum / static_cast<double>(count) < 1e9 ? sum / static_cast<double>(count) : 0;
  out.target = target_of_tvm(record[2]);
  for (const json& argument : record.size() > 3 && record[3].is_array() ? record[3] : json::array()) {
    if (!argument.is_array() || argument.size() != 3 || !argument[1].is_string() || !argument[2].is_array()) { return unreadable(place, "its arguments are not `[\"TENSOR\", dtype, shape]`"); }
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
  // Its lines are lists; no other kind of database begins with a list.
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
