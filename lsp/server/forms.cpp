// The questions of a search and of a split: see forms.h.
#include "lsp/server/forms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "lsp/protocol/methods.h"

namespace loopsmith::lsp {
namespace {

/// A number, or a text that is a number.
auto number_in(const Json& answer) -> std::optional<double> {
  if (answer.is_number()) { return answer.get<double>(); }
  if (!answer.is_string()) { return std::nullopt; }
  try {
    std::string text = answer.get<std::string>();
    size_t end = 0;
    double value = std::stod(text, &end);
    return end == text.size() ? std::optional(value) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

struct Answers {
  double trials = 0;
  double seconds = 0;
  std::string target;
  std::optional<std::string> space;   // none: not asked
  std::array<std::string, 4> problems;
  [[nodiscard]] auto are_valid() const -> bool {
    return std::all_of(problems.begin(), problems.end(), [](const std::string& problem) { return problem.empty(); });
  }
};

/// True for a value of `loopsmith tune --space`, and for an empty one.
auto is_space(const std::string& text) -> bool {
  constexpr std::string_view names[] = {"", "own", "metaschedule", "post-order-apply", "ansor"};
  return text.find('\n') == std::string::npos && (std::find(std::begin(names), std::end(names), text) != std::end(names) || text.find('(') != std::string::npos);
}

auto read(const Json& given) -> Answers {
  Answers out;
  constexpr double most_trials = 10'000'000;
  constexpr double most_seconds = 30.0 * 24 * 3600;
  auto trials = given.size() > 0 ? number_in(given[0]) : std::nullopt;
  auto seconds = given.size() > 1 ? number_in(given[1]) : std::nullopt;
  if (!trials || *trials < 0 || *trials > most_trials || std::floor(*trials) != *trials) { out.problems[0] = "a whole number from 0 on"; }
  if (!seconds || *seconds < 0 || *seconds > most_seconds) { out.problems[1] = "a number of seconds from 0 on"; }
  if (out.are_valid() && *trials == 0 && *seconds == 0) { out.problems[1] = "trials or seconds must be more than 0, or the search never ends"; }
  if (given.size() < 3 || !given[2].is_string() || given[2].get<std::string>().find('\n') != std::string::npos) { out.problems[2] = "a target, such as `llvm`"; }
  if (given.size() > 3) {
    out.space = given[3].is_string() ? given[3].get<std::string>() : "?";
    if (!is_space(*out.space)) { out.problems[3] = "`own`, `metaschedule`, `ansor` or a call such as `ScheduleFn(tiles)`; nothing: the space that the target usually has"; }
  }
  if (out.are_valid()) {
    out.trials = *trials;
    out.seconds = *seconds;
    out.target = given[2].get<std::string>();
  }
  return out;
}

/// Reads the factors of a split as a person types them, "None, 8": numbers from 1 on, and `None` at most once. Returns an error message; empty: none.
auto read_factors(const Json& answer, const Json& argument, Json& factors) -> std::string {
  factors = Json::array();
  std::string text = answer.is_string() ? answer.get<std::string>() : answer.is_number_integer() ? answer.dump() : std::string();
  int64_t product = 1;
  size_t open = 0;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find_first_of(", ", at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) { continue; }
    if (word == "None" || word == "_") {
      ++open;
      factors.push_back(nullptr);
      continue;
    }
    bool is_number = word.find_first_not_of("0123456789") == std::string::npos && word.size() < 10 && word != "0";
    if (!is_number) { return "numbers from 1 on, and `None` for the remaining factor: `None, 8`"; }
    factors.push_back(std::stoll(word));
    product = std::min<int64_t>(product, INT32_MAX) * std::stoll(word);
  }
  auto extent = int_in(argument, "extent").value_or(0);
  if (factors.size() < 2) { return "at least two factors: `None, 8`"; }
  if (open > 1) { return "`None` at most once"; }
  if (open == 0 && extent > 0 && product < extent) { return "the product is less than the extent, " + std::to_string(extent); }
  return {};
}

auto resolved_split(Json out) -> Json {
  const Json& given = member(out, "formAnswers");
  const Json argument = first_argument(out);
  Json factors;
  std::string problem = given.is_array() ? read_factors(given.empty() ? Json() : given[0], argument, factors) : "not asked yet";
  if (problem.empty()) { return out; }
  std::string what = "`" + string_in(argument, "loop") + "`";
  if (auto extent = int_in(argument, "extent").value_or(0); extent > 0) { what += " (" + std::to_string(extent) + ")"; }
  Json field = {{"description", "Factors of " + what + ", the outermost first; `None` is computed from the others"}, {"type", {{"kind", "string"}}},
                {"default", string_in(argument, "proposed").empty() ? "None, 8" : string_in(argument, "proposed")}};
  if (given.is_array()) { field["error"] = problem; }
  out["formFields"] = Json::array({std::move(field)});
  return out;
}

constexpr double most_size = 1e15;   // no machine has memory for more elements

auto is_size(const Json& answer) -> bool {
  auto number = number_in(answer);
  return number && *number >= 1 && *number <= most_size && std::floor(*number) == *number;
}

/// One question for each size; none if all sizes were chosen before, unless the command asks again.
auto resolved_sizes(Json out, const Json& known) -> Json {
  const Json argument = first_argument(out);
  const Json& names = member(argument, "sizes");
  const Json& given = member(out, "formAnswers");
  if (!names.is_array() || !answered_sizes(out).is_null()) { return out; }
  Json fields = Json::array();
  bool are_known = !bool_in(argument, "again") && !given.is_array();
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].is_string()) { return out; }
    const Json& chosen = member(known, names[i].get<std::string>().c_str());
    are_known = are_known && chosen.is_number();
    Json field = {{"description", "Size `" + names[i].get<std::string>() + "` of `" + string_in(argument, "function") + "`"}, {"type", {{"kind", "number"}}}, {"default", chosen.is_number() ? chosen : Json(64)}};
    if (given.is_array() && (i >= given.size() || !is_size(given[i]))) { field["error"] = "a whole number from 1 on"; }
    fields.push_back(std::move(field));
  }
  if (!are_known) { out["formFields"] = std::move(fields); }
  return out;
}

}  // namespace

auto first_argument(const Json& params) -> const Json& {
  const Json& arguments = member(params, "arguments");
  return arguments.is_array() && !arguments.empty() ? arguments.front() : arguments;
}

auto answered_sizes(const Json& params) -> Json {
  const Json& names = member(first_argument(params), "sizes");
  const Json& given = member(params, "formAnswers");
  if (!names.is_array() || !given.is_array() || given.size() != names.size()) { return nullptr; }
  Json out = Json::object();
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].is_string() || !is_size(given[i])) { return nullptr; }
    out[names[i].get<std::string>()] = static_cast<int64_t>(*number_in(given[i]));
  }
  return out;
}

auto resolved_command(const Json& params, const Json& tune, const Json& sizes) -> Json {
  Json out = params.is_object() ? params : Json::object();
  out.erase("formFields");
  if (string_in(out, "command") == split_command) { return resolved_split(std::move(out)); }
  if (string_in(out, "command") == sizes_command) { return resolved_sizes(std::move(out), sizes); }
  if (string_in(out, "command") != tune_command) { return out; }
  const Json& given = member(out, "formAnswers");
  Answers answers = given.is_array() ? read(given) : Answers{};
  if (given.is_array() && answers.are_valid()) { return out; }
  // The command's own arguments take precedence over the settings.
  const Json& argument = first_argument(out);
  bool has_limits = argument.is_object() && (argument.contains("trials") || argument.contains("seconds"));
  const Json& from = has_limits ? argument : tune;
  auto trials = int_in(from, "trials").value_or(0);
  double seconds = member(from, "seconds").is_number() ? member(from, "seconds").get<double>() : trials > 0 ? 0 : 60;
  std::string target = string_in(argument, "target");
  if (target.empty()) { target = string_in(tune, "target"); }
  Json fields = Json::array({
      {{"description", "Trials: the number of candidates to measure (0: until the time is up)"}, {"type", {{"kind", "number"}}}, {"default", trials}},
      {{"description", "Seconds: the time to search (0: until the trials are done)"}, {"type", {{"kind", "number"}}}, {"default", seconds}},
      {{"description", "Target (`llvm` is this machine)"}, {"type", {{"kind", "string"}}}, {"default", target.empty() ? "llvm" : target}},
  });
  // A schedule that samples is its own space.
  if (string_in(argument, "schedule").empty()) {
    const std::string space = argument.is_object() && argument.contains("space") ? string_in(argument, "space") : string_in(tune, "space");
    fields.push_back({{"description", "Space: `own`, `metaschedule`, or a call such as `ScheduleFn(tiles)` (nothing: the usual one of the target)"}, {"type", {{"kind", "string"}}}, {"default", space}});
  }
  for (size_t i = 0; given.is_array() && i < fields.size(); ++i) {
    if (!answers.problems[i].empty()) { fields[i]["error"] = answers.problems[i]; }
  }
  out["formFields"] = std::move(fields);
  return out;
}

auto answered_argument(const Json& params, Json argument) -> Json {
  const Json& given = member(params, "formAnswers");
  if (string_in(params, "command") == split_command && argument.is_object()) {
    // An editor that shows no form gets the proposed factors.
    Json factors;
    if (!read_factors(given.is_array() && !given.empty() ? given[0] : member(argument, "proposed"), argument, factors).empty()) { factors = Json::array(); }
    if (!argument.contains("factors")) { argument["factors"] = std::move(factors); }
    return argument;
  }
  if (!given.is_array() || string_in(params, "command") != tune_command || !argument.is_object()) { return argument; }
  Answers answers = read(given);
  if (!answers.are_valid()) { return argument; }
  argument.erase("trials");
  argument.erase("seconds");
  if (answers.trials > 0) { argument["trials"] = static_cast<int64_t>(answers.trials); }
  if (answers.seconds > 0) { argument["seconds"] = answers.seconds; }
  if (!answers.target.empty()) { argument["target"] = answers.target; }
  if (answers.space) { argument["space"] = *answers.space; }
  return argument;
}

}  // namespace loopsmith::lsp
