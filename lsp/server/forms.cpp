// The questions of a search: see forms.h.
#include "lsp/server/forms.h"

#include <cmath>
#include <exception>
#include <optional>
#include <string>

#include "lsp/protocol/methods.h"

namespace loopsmith::lsp {
namespace {

/// A number, or a text of one.
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
  std::string problems[3];
  [[nodiscard]] auto are_valid() const -> bool { return problems[0].empty() && problems[1].empty() && problems[2].empty(); }
};

auto read(const Json& given) -> Answers {
  Answers out;
  constexpr double most_trials = 10'000'000;
  constexpr double most_seconds = 30.0 * 24 * 3600;
  auto trials = given.size() > 0 ? number_in(given[0]) : std::nullopt;
  auto seconds = given.size() > 1 ? number_in(given[1]) : std::nullopt;
  if (!trials || *trials < 0 || *trials > most_trials || std::floor(*trials) != *trials) { out.problems[0] = "a whole number from 0 on"; }
  if (!seconds || *seconds < 0 || *seconds > most_seconds) { out.problems[1] = "a number of seconds from 0 on"; }
  if (out.are_valid() && *trials == 0 && *seconds == 0) { out.problems[1] = "one of the two has to end it"; }
  if (given.size() < 3 || !given[2].is_string() || given[2].get<std::string>().find('\n') != std::string::npos) { out.problems[2] = "a target, such as `llvm`"; }
  if (out.are_valid()) {
    out.trials = *trials;
    out.seconds = *seconds;
    out.target = given[2].get<std::string>();
  }
  return out;
}

}  // namespace

auto asks_forms(const Json& capabilities) -> bool {
  const Json& ours = member(capabilities, "experimental");
  return member(member(ours, "interactiveResolve"), "inputTypes").is_array() || member(ours, "interactiveInputTypes").is_array();
}

auto resolved_command(const Json& params, const Json& tune) -> Json {
  Json out = params.is_object() ? params : Json::object();
  out.erase("formFields");
  if (string_in(out, "command") != tune_command) { return out; }
  const Json& given = member(out, "formAnswers");
  Answers answers = given.is_array() ? read(given) : Answers{};
  if (given.is_array() && answers.are_valid()) { return out; }
  // What the command says itself goes before the options.
  const Json& arguments = member(out, "arguments");
  const Json& argument = arguments.is_array() && !arguments.empty() ? arguments.front() : arguments;
  bool says = argument.is_object() && (argument.contains("trials") || argument.contains("seconds"));
  const Json& from = says ? argument : tune;
  auto trials = int_in(from, "trials").value_or(0);
  double seconds = member(from, "seconds").is_number() ? member(from, "seconds").get<double>() : trials > 0 ? 0 : 60;
  std::string target = string_in(argument, "target");
  if (target.empty()) { target = string_in(tune, "target"); }
  Json fields = Json::array({
      {{"description", "Trials: how many candidates are measured (0: until the time is up)"}, {"type", {{"kind", "number"}}}, {"default", trials}},
      {{"description", "Seconds: how long it searches (0: until the trials are done)"}, {"type", {{"kind", "number"}}}, {"default", seconds}},
      {{"description", "Target (`llvm` is this machine)"}, {"type", {{"kind", "string"}}}, {"default", target.empty() ? "llvm" : target}},
  });
  for (size_t i = 0; given.is_array() && i < fields.size(); ++i) {
    if (!answers.problems[i].empty()) { fields[i]["error"] = answers.problems[i]; }
  }
  out["formFields"] = std::move(fields);
  return out;
}

auto answered_argument(const Json& params, Json argument) -> Json {
  const Json& given = member(params, "formAnswers");
  if (!given.is_array() || string_in(params, "command") != tune_command || !argument.is_object()) { return argument; }
  Answers answers = read(given);
  if (!answers.are_valid()) { return argument; }
  argument.erase("trials");
  argument.erase("seconds");
  if (answers.trials > 0) { argument["trials"] = static_cast<int64_t>(answers.trials); }
  if (answers.seconds > 0) { argument["seconds"] = answers.seconds; }
  if (!answers.target.empty()) { argument["target"] = answers.target; }
  return argument;
}

}  // namespace loopsmith::lsp
