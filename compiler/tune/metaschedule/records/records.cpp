// Lines of MetaSchedule's database: see records.h.
#include "tune/metaschedule/records/records.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ir/ops.h"
#include "schedule/trace_json.h"
#include "support/files.h"
#include "support/reasons.h"
#include "tune/metaschedule/records/base64.h"
#include "tune/metaschedule/records/module_graph.h"
#include "tune/metaschedule/records/tvm_hash.h"

namespace loopsmith::tune::metaschedule {
namespace {

using Json = nlohmann::json;


// JSON without spaces; real numbers with twenty digits.
void dump(const Json& json, std::string& out) {
  if (json.is_array()) {
    out += '[';
    for (size_t i = 0; i < json.size(); ++i) {
      if (i > 0) { out += ','; }
      dump(json[i], out);
    }
    out += ']';
  } else if (json.is_object()) {
    out += '{';
    bool is_first = true;
    for (const auto& [key, value] : json.items()) {
      if (!is_first) { out += ','; }
      is_first = false;
      out += Json(key).dump() + ":";
      dump(value, out);
    }
    out += '}';
  } else if (json.is_number_float()) {
    out += fmt::format("{:.20g}", json.get<double>());
  } else {
    out += json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

auto dumped(const Json& json) -> std::string {
  std::string out;
  dump(json, out);
  return out;
}

}  // namespace

auto read_workload(std::string_view line, const std::string& place) -> Result<WorkloadLine> {
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded() || !json.is_array() || json.size() != 2 || !json[0].is_string() || !json[1].is_string()) {
    return unreadable(place, because(Why::NotATvmWorkload));
  }
  const auto& digits = json[0].get_ref<const std::string&>();
  errno = 0;
  char* end = nullptr;
  uint64_t hash = std::strtoull(digits.c_str(), &end, 10);
  if (digits.empty() || *end != '\0' || errno != 0 || digits.find_first_not_of("0123456789") != std::string::npos) { return unreadable(place, because(Why::HashNotANumber)); }
  auto bytes = from_base64(json[1].get_ref<const std::string&>());
  if (!bytes) { return unreadable(place, because(Why::ProgramNotBase64)); }
  uint64_t size = 0;
  if (bytes->size() < sizeof size) { return unreadable(place, because(Why::ProgramWithoutSize)); }
  std::memcpy(&size, bytes->data(), sizeof size);
  if (size != bytes->size() - sizeof size) { return unreadable(place, because(Why::ProgramCutOff)); }
  LOOPSMITH_TRY(graph, parse_graph(std::string_view(*bytes).substr(sizeof size), place));
  LOOPSMITH_TRY(module, module_of_graph(graph, place));
  if (tvm_structural_hash(module) != hash) { return unreadable(place, because(Why::HashOfOtherProgram)); }
  return WorkloadLine{hash, module};
}

auto workload_line(const IRModule& module) -> std::string {
  std::string text = graph_text(graph_of_module(module));
  uint64_t size = text.size();
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  return fmt::format("[\"{}\",\"{}\"]", tvm_structural_hash(module), to_base64(bytes + text));
}

auto read_record_line(std::string_view line, const std::string& place) -> Result<RecordLine> {
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded() || !json.is_array() || json.size() != 2 || !json[0].is_number_unsigned() || !json[1].is_array() || json[1].size() < 3) {
    return unreadable(place, because(Why::NotATvmRecord));
  }
  const Json& record = json[1];
  RecordLine out;
  out.workload = json[0].get<int64_t>();
  if (!record[1].is_array() && !record[1].is_null()) { return unreadable(place, because(Why::TimesNotAList)); }
  for (const Json& seconds : record[1]) {
    if (!seconds.is_number() || !std::isfinite(seconds.get<double>()) || seconds.get<double>() < 0) { return unreadable(place, because(Why::OneTimeNotSeconds)); }
    out.seconds.push_back(seconds.get<double>());
  }
  auto trace = schedule::trace_from_json(record[0].dump());
  if (!trace.ok()) { return unreadable(place, because(Why::TraceUnreadable).arg("cause", trace.diagnostics()[0].message())); }
  out.trace = *trace;
  out.target = dumped(record[2]);
  out.arguments = record.size() > 3 ? dumped(record[3]) : "null";
  return out;
}

auto record_line(const RecordLine& record) -> std::string {
  Json trace = Json::parse(schedule::trace_to_json(record.trace));
  return fmt::format("[{},[{},{},{},{}]]", record.workload, dumped(trace), dumped(Json(record.seconds)), record.target, record.arguments);
}

auto arguments_of(const PrimFunc& func) -> std::string {
  Json out = Json::array();
  for (const Var& param : func->params) {
    Buffer buffer = func->buffer_of(param);
    if (!buffer) { continue; }
    Json shape = Json::array();
    for (const Expr& extent : buffer->shape) { shape.push_back(as_int(extent).value_or(-1)); }
    out.push_back(Json::array({"TENSOR", buffer->dtype.str(), shape}));
  }
  return dumped(out);
}

}  // namespace loopsmith::tune::metaschedule
