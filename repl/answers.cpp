// Implements the modes of answers: see answers.h.
#include "repl/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ir/loop_kind.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/script_diff.h"
#include "repl/pictures.h"
#include "schedule/extent_text.h"
#include "script/refusals.h"
#include "support/codes.h"

namespace loopsmith::repl {
namespace {

auto diff_of(const Session& session, const IRModule& before, bool color) -> std::string {
  if (session.module().same_as(before)) { return {}; }
  std::string diff = diff_scripts(print_script(before), print_script(session.module()), {.context = session.settings().context, .color = color, .width = session.host().width});
  return diff.empty() ? "(the text is the same)\n" : diff;
}

auto with_names(std::string text, const std::string& named) -> std::string { return named.empty() ? text : text + "=> " + named + "\n"; }

auto as_diff(const Session& session, const IRModule& before, const std::string& named) -> std::string {
  return with_names(session.settings().diff ? diff_of(session, before, session.host().color) : std::string(), named);
}

auto as_ir(const Session& session, const IRModule& before, const std::string& named) -> std::string {
  return with_names(session.module().same_as(before) ? std::string() : session.module_folded(before) + "\n", named);
}

auto as_tree(const Session& session, const IRModule& before, const std::string& named) -> std::string {
  const schedule::FuncState* func = session.schedule().state().func(session.function());
  if (session.module().same_as(before) || func == nullptr || !func->is_schedulable()) { return with_names({}, named); }
  return with_names(loops_picture(session), named);
}

auto as_table(const Session& session, const IRModule& before, const std::string& named) -> std::string {
  return with_names(session.module().same_as(before) ? std::string() : loop_table(session), named);
}

auto as_json(const Session& session, const IRModule& before, const std::string& named) -> std::string {
  const SessionStep& step = session.steps()[session.position()];
  nlohmann::json json = {{"step", session.position()}, {"parent", step.parent}, {"line", step.line}, {"changed", !session.module().same_as(before)}, {"named", nlohmann::json::object()},
                         {"diff", diff_of(session, before, false)}};
  // "i0:64 n=3 loops:[n:1, h:28]"
  for (size_t at = 0; at < named.size();) {
    size_t end = at;
    for (int depth = 0; end < named.size() && (depth > 0 || named[end] != ' '); ++end) { depth += named[end] == '[' || named[end] == '(' ? 1 : named[end] == ']' || named[end] == ')' ? -1 : 0; }
    std::string part = named.substr(at, end - at);
    size_t mark = part.find_first_of(":=");
    if (mark != std::string::npos) { json["named"][part.substr(0, mark)] = part.substr(mark + 1); }
    at = end + 1;
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

auto as_markdown(const Session& session, const IRModule& before, const std::string& named) -> std::string {
  std::string text = "```python\n" + session.steps()[session.position()].line + "\n```\n";
  std::string diff = diff_of(session, before, false);
  if (!diff.empty()) { text += "\n```diff\n" + diff + "```\n"; }
  return named.empty() ? text : text + "\n`" + named + "`\n";
}

}  // namespace

auto loop_table(const Session& session) -> std::string {
  const schedule::FuncState* func = session.schedule().state().func(session.function());
  if (func == nullptr || !func->is_schedulable()) { return {}; }
  std::vector<std::vector<std::string>> rows = {{"name", "loop or block", "extent", "kind", "runs"}};
  std::vector<int> depths = {0};
  std::vector<std::optional<int64_t>> runs;   // for each place: the number of times that its body runs
  std::vector<int> depth_of;
  const auto& places = func->places();
  for (const schedule::Place& place : places) {
    std::optional<int64_t> around = place.parent >= 0 ? runs[static_cast<size_t>(place.parent)] : std::optional<int64_t>(1);
    int depth = place.parent >= 0 ? depth_of[static_cast<size_t>(place.parent)] + 1 : -1;
    depth_of.push_back(depth);
    if (place.is_loop()) {
      auto extent = as_int(place.loop->extent);
      int64_t product = 0;
      bool fits = around && extent && !__builtin_mul_overflow(*around, *extent, &product);
      runs.push_back(fits ? std::optional(product) : std::nullopt);
      rows.push_back({session.name_of(place), place.name().str(), schedule::extent_text(place.loop->extent), loop_kind(*place.loop), fits ? std::to_string(product) : ""});
    } else {
      runs.push_back(around);
      if (place.parent < 0) { continue; }
      rows.push_back({session.name_of(place), place.name().str(), "", "block", around ? std::to_string(*around) : ""});
    }
    depths.push_back(depth);
  }
  std::vector<size_t> widths(rows[0].size(), 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i][1].insert(0, static_cast<size_t>(std::max(0, depths[i])) * 2, ' ');
    for (size_t column = 0; column < widths.size(); ++column) { widths[column] = std::max(widths[column], rows[i][column].size()); }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = fmt::format("{:<{}}  {:<{}}  {:>{}}  {:<{}}  {:>{}}", row[0], widths[0], row[1], widths[1], row[2], widths[2], row[3], widths[3], row[4], widths[4]);
    while (!line.empty() && line.back() == ' ') { line.pop_back(); }
    out += line + "\n";
  }
  return out;
}

auto command_json(const std::string& line, bool is_done, const std::string& text, const std::string& complaint, const std::vector<std::string>& choices) -> std::string {
  nlohmann::json json = {{"line", line}, {"done", is_done}, {"text", text}};
  if (!complaint.empty()) { json["complaint"] = complaint; }
  if (!choices.empty()) { json["choices"] = choices; }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

auto refusal_json(const std::string& line, const Diagnostics& diagnostics, const std::vector<std::string>& instead) -> std::string {
  nlohmann::json json = {{"line", line}, {"refused", nlohmann::json::array()}, {"instead", nlohmann::json::array()}};
  for (const std::string& one : instead) { json["instead"].push_back(script::one_line(one)); }
  for (const Diagnostic& d : diagnostics) {
    if (d.severity != Severity::Error) { continue; }
    nlohmann::json one = {{"code", code_id(d.code)}, {"message", d.message()}, {"help", nlohmann::json::array()}};
    for (const std::string& remedy : d.remedies) { one["help"].push_back(remedy); }
    json["refused"].push_back(std::move(one));
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

auto answer_modes() -> const std::vector<AnswerMode>& {
  static const std::vector<AnswerMode> modes = {
      {"diff", "the change of the step", as_diff},
      {"ir", "the whole program", as_ir},
      {"tree", "the loops and blocks, drawn", as_tree},
      {"table", "the loops and blocks in rows", as_table},
      {"json", "a line of JSON: step, names, diff", as_json},
      {"md", "the line and its diff as Markdown", as_markdown},
  };
  return modes;
}

auto find_answer_mode(std::string_view name) -> const AnswerMode* {
  for (const AnswerMode& mode : answer_modes()) {
    if (mode.name == name) { return &mode; }
  }
  return nullptr;
}

}  // namespace loopsmith::repl
