// Prints and inserts the results of a search: see tune_results.h.
#include "driver/commands/tune_results.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "driver/command.h"
#include "ir/equal.h"
#include "support/files.h"
#include "support/text.h"
#include "target/gpu.h"
#include "workspace/edits/certificate.h"
#include "workspace/edits/holes.h"
#include "workspace/edits/placing.h"
#include "workspace/edits/schedule_text.h"
#include "workspace/imports.h"
#include "workspace/selection.h"

namespace loopsmith::driver::commands {
namespace {

/// The command that shows one failed candidate; empty: its trace is in no file.
auto reproducing_command(const std::string& file, const std::string& program, const Cause& cause) -> std::string {
  // The text of an editor comes from standard input, under the name of its file.
  const std::string& name = file == "-" && !workspace::import_options().input_name.empty() ? workspace::import_options().input_name : file;
  return cause.path.empty() ? std::string() : fmt::format("loopsmith schedule {} --function {} --trace {}", name, program, cause.path);
}

/// True where the text still has the program that was searched, and in front of the hole the same steps.
auto is_same_program(const Arguments& arguments, const std::string& path, const std::string& text, const Selection& selection) -> bool {
  auto file = SourceFile::from_text(path, text);
  workspace::SelectionOutput unused;
  std::string function = arguments.get("--function", selection.schedule.empty() ? selection.program.str() : std::string());
  auto now = workspace::select(file->document(), {.function = function, .schedule = selection.schedule, .stops_at_hole = true}, unused);
  const auto* found = std::get_if<workspace::Selection>(&now);
  if (found == nullptr || !structural_equal(found->before, selection.before)) { return false; }
  return !selection.hole || (found->hole && found->hole->state == selection.hole->state);
}

}  // namespace

auto report_failure(const Arguments& arguments, const std::string& why, nlohmann::json causes) -> int {
  nlohmann::json event = {{"event", "error"}, {"message", why}};
  if (!causes.empty()) { event["causes"] = std::move(causes); }
  if (arguments.json()) { fmt::print("{}\n", event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)); }
  else { fmt::print(stderr, "loopsmith tune: {}\n", why); }
  return exit_input;
}

auto searched_program(const Selection& selection) -> const IRModule& { return selection.hole ? selection.module : selection.before; }

auto found_form(const Selection& selection, const IRModule& searched, const tune::SessionResult& result, const Arguments& arguments, uint64_t seed) -> workspace::ScheduleText {
  // A schedule for a device names it, wherever the target came from.
  const std::string target = arguments.get("--target", target::is_device_target(selection.target) ? selection.target.str() : "llvm");
  workspace::ScheduleText form;
  form.program = selection.program.str();
  form.name = workspace::free_name(selection.file->snapshot()->text(), form.program + "_tuned");
  form.target = target;
  double speedup = result.plain_seconds > 0 ? result.plain_seconds / result.best_seconds : 0;
  const std::string where = result.is_ranked ? " (estimated: no device measured it)" : result.device.empty() ? "" : " on " + result.device;
  form.comments.push_back(fmt::format("{}{}{}{}{}, {}, seed {}.", result.is_ranked ? "Ranked: " : workspace::tuned_comment, duration_text(result.best_seconds), where,
                                      result.flops > 0 ? fmt::format(", {:.1f} GFLOP/s", result.flops / result.best_seconds * 1e-9) : "",
                                      speedup > 0 ? fmt::format(", {:.{}f} times as fast as unscheduled", speedup, speedup < 1.1 ? 2 : 1) : "", count_text(result.progress.trials, "trial"), seed));
  form.comments.push_back(result.verified.empty() ? "Not verified." : "Verified: " + result.verified + ".");
  // Hashes are of a whole schedule. The steps that fill a hole are a part of one, and other steps may follow.
  if (!result.figures.empty()) { form.comments.push_back("Compiled: " + result.figures + "."); }
  form.comments.push_back(workspace::certificate_text(selection.hole ? std::nullopt : workspace::certificate_of(searched, selection.function, result.trace),
                                                      {selection.target.str(), result.best_seconds, result.spread_seconds, result.timings, std::time(nullptr)}));
  return form;
}

auto found_text(const Selection& selection, const tune::SessionResult& result, const Arguments& arguments, uint64_t seed) -> FoundText {
  const IRModule& searched = searched_program(selection);
  workspace::ScheduleText form = found_form(selection, searched, result, arguments, seed);
  if (!selection.hole) {
    auto function = workspace::schedule_function_text(searched, result.trace, form);
    if (function.ok()) { function = workspace::in_form_of(*selection.file->snapshot(), *function).text; }
    return {form.name, std::move(function)};
  }
  form.schedule = selection.hole->variable;
  form.taken = workspace::names_in(selection.hole->function);
  return {selection.schedule, workspace::schedule_statements_text(searched, result.trace, form)};
}

auto with_reproducers(const Arguments& arguments, const tune::SessionOptions& options, const std::string& program, const std::vector<tune::FailureCause>& causes) -> std::vector<Cause> {
  std::vector<Cause> out;
  std::string folder = arguments.get("--causes", "");
  if (folder.empty() && options.database != ":memory:") { folder = (options.database.empty() ? tune::Database::default_path() : options.database) + ".causes"; }
  std::vector<std::string> paths(causes.size());
  if (!folder.empty() && !causes.empty()) { paths = tune::write_reproducers(causes, folder, program); }
  for (size_t i = 0; i < causes.size(); ++i) { out.push_back({causes[i], paths[i]}); }
  return out;
}

auto causes_as_json(const std::string& file, const std::string& program, const std::vector<Cause>& causes) -> nlohmann::json {
  nlohmann::json out = nlohmann::json::array();
  for (const Cause& one : causes) {
    nlohmann::json json = {{"outcome", one.cause.outcome}, {"message", one.cause.note}, {"count", one.cause.count}, {"trace", one.cause.trace}, {"is_prefix", one.cause.is_prefix}};
    if (std::string command = reproducing_command(file, program, one); !command.empty()) { json["reproduce"] = std::move(command); }
    out.push_back(std::move(json));
  }
  return out;
}

void report_causes(const std::string& file, const std::string& program, const std::vector<Cause>& causes) {
  for (const Cause& one : causes) {
    fmt::print(stderr, "{} x {}{}\n", one.cause.count, one.cause.outcome, one.cause.note.empty() ? "" : ": " + one.cause.note);
    std::string command = reproducing_command(file, program, one);
    if (command.empty()) { continue; }
    fmt::print(stderr, "    {}{}\n", command, one.cause.is_prefix ? "   (the program in front of the refused step)" : "");
  }
}

auto profile_as_json(const tune::Profile& profile) -> nlohmann::json {
  return {{"space", profile.space}, {"search", profile.search}, {"build", profile.build}, {"measure", profile.measure}, {"compare", profile.compare}};
}

void report_done_as_json(const Selection& selection, const tune::SessionResult& result, const std::string& name, const std::string& text, nlohmann::json causes) {
  nlohmann::json done = {{"event", "done"},
                         {"schedule_text", text},
                         {"name", name},
                         {"trace", result.trace},
                         {"best_seconds", result.best_seconds},
                         {"plain_seconds", result.plain_seconds},
                         {"spread_seconds", result.spread_seconds},
                         {"flops", result.flops},
                         {"trials", result.progress.trials},
                         {"elapsed", result.progress.elapsed_seconds},
                         {"stopped", result.stopped},
                         {"verified", result.verified},
                         {"device", result.device},
                         {"ranked", result.is_ranked},
                         {"figures", result.figures},
                         {"best_so_far", result.best_so_far},
                         {"profile", profile_as_json(result.progress.profile)},
                         {"causes", std::move(causes)}};
  // The place of the hole in the text that was read, and the program in front of it.
  if (selection.hole) { done["hole"] = {{"offset", selection.hole->span.begin}, {"end", selection.hole->span.end}, {"state", selection.hole->state}}; }
  // Notes of crashed workers may hold any bytes.
  fmt::print("{}\n", done.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  std::fflush(stdout);
}

void report_done(const tune::SessionResult& result) {
  std::string failures;
  for (const auto& [name, count] : result.progress.failures) { failures += fmt::format("{}{} {}", failures.empty() ? "" : ", ", count, name); }
  if (!result.device.empty()) { fmt::print(stderr, "measured on {}\n", result.device); }
  fmt::print(stderr, "best: {}, {} in {}{}\n", tune::best_text(result), count_text(result.progress.trials, "trial"), waiting_text(result.progress.elapsed_seconds),
             failures.empty() ? "" : "; left out: " + failures);
  if (!result.figures.empty()) { fmt::print(stderr, "compiled: {}\n", result.figures); }
  fmt::print(stderr, "time: {}\n", tune::profile_text(result.progress.profile));
  for (const std::string& note : result.notes) { fmt::print(stderr, "note: {}\n", note); }
  if (!result.verified.empty()) { fmt::print(stderr, "verified: {}\n", result.verified); }
}

auto insert_found(const Arguments& arguments, const std::string& path, const Selection& selection, const std::string& name, const std::string& text, Reporter& reporter) -> int {
  auto report = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, selection.file.get());
    return reporter.status();
  };
  auto content = read_file(path);
  if (!content.ok()) { return report(content.diagnostics()); }
  if (!is_same_program(arguments, path, *content, selection)) {
    // The schedule was found for, and verified on, another program: it is not lost, but it does not go into the file.
    if (!arguments.json()) { fmt::print("{}", text); }
    return report_failure(arguments, fmt::format("`{}` in {} was changed meanwhile: the schedule belongs to the program as it was, so nothing was written to the file", selection.program.str(), path));
  }
  std::string now;
  std::string message;
  if (selection.hole) {
    auto edit = workspace::fill_hole(*content, *selection.hole, text);
    if (!edit) { return report_failure(arguments, fmt::format("{} was changed meanwhile; nothing was written to it", path)); }
    std::string statement = content->substr(edit->span.begin, edit->span.end - edit->span.begin);
    now = workspace::with_edits(*content, {*edit});
    message = fmt::format("`{}` of `{}` filled in {}", statement == "..." ? statement : selection.hole->variable + ".tune()", selection.schedule, path);
  } else {
    now = workspace::with_edits(*content, workspace::appended(*content, text, path.ends_with(".py")));
    message = fmt::format("schedule `{}` written to {}", name, path);
  }
  if (Status written = write_file(path, now); !written.ok()) { return report(written.diagnostics()); }
  if (!arguments.json()) { fmt::print(stderr, "{}\n", message); }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
