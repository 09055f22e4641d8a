// Commands that need the texts. The front sends their edits to the editor and shows their texts.
#include "lsp/worker/routes/all.h"

#include <fmt/format.h>

#include "lsp/features/scheduled_program.h"
#include "lsp/features/bundle.h"
#include "lsp/features/found_schedule.h"
#include "lsp/features/moves.h"
#include "lsp/features/steps.h"
#include "lsp/features/tuning.h"
#include "lsp/features/two_schedules.h"
#include "lsp/worker/conversions.h"
#include "lsp/worker/records.h"
#include "target/hardware.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

constexpr const char* not_open = "the file is not open any more";

/// The open document that an argument names; null: it is not open.
auto file_of(const RouteContext& context, const Json& argument) -> const Snapshot* { return context.find(string_in(argument, "uri")); }

/// The program that a command is about, by its name or by the cursor in it or in a schedule for it; empty: none.
auto program_meant(const RouteContext& context, const Json& argument) -> std::string {
  std::string name = string_in(argument, "function");
  auto at = offset_in(context, argument);
  if (!name.empty() || !at) { return name; }
  const Snapshot& snapshot = *context.snapshot;
  if (const script::FileSchedule* schedule = schedule_at(snapshot, *at)) { return schedule->program_name.str(); }
  std::vector<Tunable> here = tunables_in(snapshot, {*at, *at});
  return here.empty() ? std::string() : here.front().name;
}

/// `loopsmith.db.explain` {uri, function or position}: {title, text}, the text in Markdown.
auto answer_explain_records(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = file_of(context, argument);
  if (snapshot == nullptr || context.records == nullptr) { return failed(not_open); }
  RouteContext there = in_file(context, *snapshot);
  std::string function = program_meant(there, argument);
  std::string text = function.empty() ? std::string() : records_explained(*snapshot, function, *context.records);
  if (text.empty()) { return failed(function.empty() ? "there is no program at the cursor" : fmt::format("there is no program `{}` without errors, or there are several", function)); }
  return Json{{"title", fmt::format("Records of {}", function)}, {"text", text}};
}

/// `loopsmith.report.bundle` {uri, position}: the facts about the file for a report, {text, left_out, codes, declarations, of_declarations, machine}.
auto answer_report(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = file_of(context, argument);
  if (snapshot == nullptr) { return failed(not_open); }
  RouteContext there = in_file(context, *snapshot);
  ReportedCase shown = reported_case(*snapshot, offset_in(there, argument).value_or(0), context.cancel);
  if (context.cancel.is_cancelled()) { return cancelled(); }
  return Json{{"text", shown.text}, {"left_out", shown.left_out}, {"codes", shown.codes}, {"declarations", shown.declarations}, {"of_declarations", shown.of_declarations}, {"machine", target::machine_identity()}};
}

/// `loopsmith.db.history` {uri, function or position}: {title, text}, the text in Markdown.
auto answer_history(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = file_of(context, argument);
  if (snapshot == nullptr || context.records == nullptr) { return failed(not_open); }
  RouteContext there = in_file(context, *snapshot);
  std::string function = program_meant(there, argument);
  std::string text = function.empty() ? std::string() : records_text(*snapshot, function, *context.records);
  if (text.empty()) { return failed(function.empty() ? "there is no program at the cursor" : fmt::format("there is no program `{}` without errors, or there are several", function)); }
  return Json{{"title", fmt::format("History of {}", function)}, {"text", text}};
}

/// `loopsmith.schedules.compare` {uri, schedule, other}: {title, text}, the text in Markdown.
auto answer_comparison(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = file_of(context, argument);
  if (snapshot == nullptr) { return failed(not_open); }
  std::string first = string_in(argument, "schedule"), second = string_in(argument, "other");
  std::string text = schedules_compared(*snapshot, first, second);
  if (text.empty()) { return failed(fmt::format("`{}` and `{}` are not both schedules of this file that run", first, second)); }
  return Json{{"title", fmt::format("{} and {}", first, second)}, {"text", text}};
}

/// `loopsmith.split` {uri, version, position, factors}: {edit}.
auto answer_split(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = file_of(context, argument);
  if (snapshot == nullptr) { return failed(not_open); }
  auto version = int_in(argument, "version");
  if (version && *version != snapshot->version()) { return RouteError{ErrorCode::ContentModified, "the text changed"}; }
  RouteContext there = in_file(context, *snapshot);
  auto at = offset_in(there, argument);
  const Json& given = member(argument, "factors");
  std::vector<std::optional<int64_t>> factors;
  for (const Json& one : given.is_array() ? given : Json::array()) { factors.push_back(one.is_number_integer() ? std::optional(one.get<int64_t>()) : std::nullopt); }
  if (!at || factors.size() < 2) { return bad_params("`position` or `factors` is missing"); }
  OfferedMove move = split_by(*snapshot, *at, factors);
  if (!move.why_not.empty()) { return failed(move.why_not); }
  return Json{{"edit", edit_of(there, edits_of(move), {title_of(move)})}};
}

/// `loopsmith.schedule.apply` {uri, schedule}: {edit}.
auto answer_apply(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = file_of(context, argument);
  if (snapshot == nullptr) { return failed(not_open); }
  RouteContext there = in_file(context, *snapshot);
  std::string name = string_in(argument, "schedule");
  for (const script::FileSchedule& schedule : snapshot->schedules()) {
    if (schedule.name.view() != name) { continue; }
    TextRewrite rewrite = apply_schedule(*snapshot, schedule);
    if (!rewrite.why_not.empty()) { return failed(rewrite.why_not); }
    return Json{{"edit", edit_of(there, rewrite.edits, {rewrite.title})}};
  }
  return failed(fmt::format("there is no schedule `{}` in the file", name));
}

/// The best schedule of the records or of a finished search, as an edit.
auto answer_insert(const RouteContext& context, const Json& argument) -> RouteResult {
  std::string replaced = string_in(argument, "replace");
  TextRewrite rewrite;
  const Snapshot* snapshot = nullptr;
  std::string function;
  if (bool_in(argument, "recorded")) {
    snapshot = file_of(context, argument);
    if (snapshot == nullptr) { return failed(not_open); }
    function = string_in(argument, "function");
    auto best = context.recorded != nullptr ? context.recorded->best(*snapshot, function) : std::nullopt;
    if (!best || !best->is_compared) { return failed("no recorded schedule was compared with this program: tune it"); }
    auto text = context.recorded->schedule_text(*snapshot, function);
    if (!text) { return failed("the recorded steps no longer work on this program: tune it again"); }
    rewrite = write_found(*snapshot, {function, std::move(*text)}, replaced);
  } else {
    auto id = int_in(argument, "job");
    auto found = id ? context.jobs.find(static_cast<uint64_t>(*id)) : context.jobs.end();
    if (found == context.jobs.end() || !found->second.is_done() || found->second.kind != JobKind::Tune) { return bad_params("there is no such job, or it has no result yet"); }
    snapshot = context.find(found->second.uri);
    if (snapshot == nullptr) { return failed("the file that was tuned is not open any more"); }
    function = found->second.function;
    rewrite = write_result(*snapshot, found->second, replaced);
  }
  if (!rewrite.why_not.empty()) { return failed(rewrite.why_not); }
  EditLabel label{rewrite.title};
  if (replaced.empty() && rewrite.title == insert_title) { label = {rewrite.title, fmt::format("found by tuning {}", function), "schedule"}; }
  return Json{{"edit", edit_of(in_file(context, *snapshot), rewrite.edits, label)}};
}

}  // namespace

auto execute_command(const RouteContext& context, const Json& params) -> RouteResult {
  const Json& arguments = member(params, "arguments");
  const Json& first = arguments.is_array() && !arguments.empty() ? arguments.front() : member(Json(), "");
  std::string command = string_in(params, "command");
  if (command == explain_records_command) { return answer_explain_records(context, first); }
  if (command == records_history_command) { return answer_history(context, first); }
  if (command == compare_schedules_command) { return answer_comparison(context, first); }
  if (command == split_command) { return answer_split(context, first); }
  if (command == apply_schedule_command) { return answer_apply(context, first); }
  if (command == report_bundle_command) { return answer_report(context, first); }
  return answer_insert(context, first);
}

}  // namespace loopsmith::lsp
