// Reads and writes logs of AutoTVM: see log.h.
#include "script/autotvm/log.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

#include <fmt/format.h>

#include "script/log_values.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::autotvm {
namespace {

using nlohmann::json;

// The decision of a knob, `["tile_x", "sp", [-1, 8]]`. None: it has another form.
auto choice_of(const json& entity) -> std::optional<std::pair<std::string, Choice>> {
  if (!entity.is_array() || entity.size() != 3 || !entity[0].is_string() || !entity[1].is_string()) { return std::nullopt; }
  auto kind = kind_of_word(entity[1].get<std::string>());
  if (!kind) { return std::nullopt; }
  Choice choice{.kind = *kind, .numbers = {}, .words = {}, .value = {}};
  const json& value = entity[2];
  if (*kind == KnobKind::Other) {
    choice.value = value_of_json(value);
    return std::pair(entity[0].get<std::string>(), std::move(choice));
  }
  if (!value.is_array()) { return std::nullopt; }
  for (const json& item : value) {
    if (item.is_number_integer()) { choice.numbers.push_back(item.get<int64_t>()); }
    else if (item.is_string() && *kind == KnobKind::Annotate) { choice.words.push_back(item.get<std::string>()); }
    else { return std::nullopt; }
  }
  bool are_factors = *kind != KnobKind::Split || std::all_of(choice.numbers.begin(), choice.numbers.end(), [](int64_t n) { return n == -1 || (n > 0 && n < (INT64_C(1) << 31)); });
  if (!are_factors) { return std::nullopt; }
  return std::pair(entity[0].get<std::string>(), std::move(choice));
}

// The configuration of a line; false: it has another form.
auto read_config(const json& config, AutotvmRecord& out) -> bool {
  if (!config.is_object()) { return false; }
  const json& index = config.contains("index") ? config["index"] : config.contains("i") ? config["i"] : config;
  const char* key = config.contains("entity") ? "entity" : "e";
  if (!config.contains(key) || !config[key].is_array()) { return false; }
  out.index = index.is_number_integer() ? index.get<int64_t>() : 0;
  for (const json& entity : config[key]) {
    auto choice = choice_of(entity);
    if (!choice) { return false; }
    out.decisions.choices.push_back(*std::move(choice));
  }
  return true;
}

auto read_result(const json& result, AutotvmRecord& out) -> bool {
  if (!result.is_array() || result.size() < 2 || !result[1].is_number_integer()) { return false; }
  out.error = result[1].get<int64_t>();
  if (!result[0].is_array() || out.error != 0) { return true; }
  for (const json& seconds : result[0]) {
    if (seconds.is_number() && seconds.get<double>() > 0 && std::isfinite(seconds.get<double>())) { out.seconds.push_back(seconds.get<double>()); }
  }
  return true;
}

// None: the line is not a record; `why` has the reason.
auto read_line(const json& line, Reason& why) -> std::optional<AutotvmRecord> {
  const bool is_newer = line.is_object() && line.contains("input");
  const bool is_older = line.is_object() && line.contains("i");
  why = because(Why::NotAnAutotvmRecord);
  if (!is_newer && !is_older) { return std::nullopt; }
  const json& input = is_newer ? line["input"] : line["i"];
  const char* result_key = is_newer ? "result" : "r";
  AutotvmRecord out;
  if (!input.is_array() || input.size() < 3 || !input[0].is_string() || !input[1].is_string() || !input[2].is_array()) { return std::nullopt; }
  out.target = input[0].get<std::string>();
  out.template_name = input[1].get<std::string>();
  for (const json& argument : input[2]) { out.arguments.push_back(value_of_json(argument)); }
  const json none;
  const json& config = is_newer ? (line.contains("config") ? line["config"] : none) : (input.size() > 5 ? input[5] : none);
  why = because(Why::ConfigurationForm).arg("form", R"({"index": ..., "entity": [[NAME, KIND, CHOICE], ...]})");
  if (!read_config(config, out)) { return std::nullopt; }
  why = because(Why::ResultForm);
  if (!line.contains(result_key) || !read_result(line[result_key], out)) { return std::nullopt; }
  return out;
}

auto is_record(const json& line) -> bool {
  if (!line.is_object()) { return false; }
  if (line.contains("input") && line.contains("config")) { return true; }
  return line.contains("i") && line["i"].is_array() && !line["i"].empty() && line["i"][0].is_string();
}

}  // namespace

auto AutotvmRecord::mean() const -> double {
  return error != 0 ? 0 : mean_of(seconds);
}

auto is_autotvm_log(std::string_view text) -> bool {
  return is_record(first_object(text));
}

auto read_autotvm_log(const std::string& path, const std::string& text) -> Result<std::vector<AutotvmRecord>> { return read_log<AutotvmRecord>(path, text, read_line); }

auto autotvm_line(const AutotvmRecord& record) -> std::string {
  json entities = json::array();
  for (const auto& [name, choice] : record.decisions.choices) {
    const json value = choice.kind == KnobKind::Other ? json_of_value(choice.value) : choice.words.empty() ? json(choice.numbers) : json(choice.words);
    entities.push_back({name, kind_word(choice.kind), value});
  }
  json arguments = json::array();
  for (const eval::Value& argument : record.arguments) { arguments.push_back(json_of_value(argument)); }
  const double total = std::accumulate(record.seconds.begin(), record.seconds.end(), 0.0);
  nlohmann::ordered_json line;
  line["input"] = {record.target, record.template_name, arguments, json::object()};
  line["config"] = {{"index", record.index}, {"code_hash", nullptr}, {"entity", entities}};
  line["result"] = {record.error == 0 ? record.seconds : std::vector<double>{1e9}, record.error, total, static_cast<double>(std::time(nullptr))};
  line["version"] = 0.2;
  line["tvm_version"] = "0.19.0";
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

auto best_of_log(const std::string& path, const std::vector<AutotvmRecord>& records, const std::string& template_name, const std::vector<eval::Value>& arguments)
    -> Result<AutotvmRecord> {
  const AutotvmRecord* best = nullptr;
  auto is_of_task = [&](const AutotvmRecord& one) { return one.template_name == template_name && are_equal_in_json(one.arguments, arguments); };
  bool is_any = false;
  for (const AutotvmRecord& one : records) {
    is_any = is_any || is_of_task(one);
    if (!is_of_task(one) || one.mean() <= 0) { continue; }
    if (!best || one.mean() < best->mean()) { best = &one; }
  }
  if (best) { return *best; }
  if (records.empty()) { return error(Code::CannotRead).arg("file", path).arg("reason", because(Why::NoRecords).text()); }
  if (is_any) { return error(Code::RecordRefused).arg("number", static_cast<int64_t>(records[0].number)).arg("file", path).arg("reason", because(Why::NoRecordHasTime).text()).remedy("tune the task again"); }
  const AutotvmRecord& other = records[0];
  const bool is_other_template = other.template_name != template_name;
  const Reason why = is_other_template ? because(Why::OfOtherTemplate).arg("template", other.template_name).arg("other", template_name)
                                       : because(Why::OfOtherArguments).arg("arguments", arguments_text(other.arguments)).arg("other", arguments_text(arguments));
  return error(Code::RecordRefused).arg("number", static_cast<int64_t>(other.number)).arg("file", path).arg("reason", why.text())
      .remedy(is_other_template ? "name the template of the log, or tune this one" : "give the task the arguments of the log, or tune this task");
}

}  // namespace loopsmith::script::autotvm
