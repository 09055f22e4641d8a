// `loopsmith replay FILE --with NAME`: compares the program of a schedule with that of the schedule's trace, and with a recorded program.
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/program.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "ir/script_diff.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "script/held.h"
#include "workspace/edits/certificate.h"
#include "workspace/snapshot.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "replay",
    .arguments = "FILE [--with NAME] [--record | --check] [--file R.tir]",
    .summary = "Applies a schedule's trace, through its JSON, and compares the programs; records the program, or compares it with a record.",
    .details = "The record is the scheduled program as text, in FILE.NAME.recorded.tir unless `--file` names another file. Exit status 1\n"
               "where the trace gives another program than the schedule, or the schedule another one than the record; the difference is\n"
               "shown. The comments of a schedule that `tune` found hold hashes of its program and its result, which are compared as well.",
    .options = {with_option,
                function_option,
                target_option,
                {.name = "--record", .help = "records the program"},
                {.name = "--check", .help = "compares the program with the record"},
                {.name = "--file", .value = "R.tir", .help = "the file of the record"},
                json_option},
    .examples = {{"loopsmith replay matmul.tir --with matmul_blocked --record", "once"},
                 {"loopsmith replay matmul.tir --with matmul_blocked --check", "after every change, in continuous integration"}},
    .least = 1,
    .most = 1,
};

/// The certificate in the comments of a schedule function. None: the comments contain none.
auto certificate_of(const workspace::Snapshot& snapshot, std::string_view name) -> std::optional<workspace::Certificate> {
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    syntax::ItemPtr item = schedule.name.view() == name ? snapshot.syntax().declaration(schedule.decl) : nullptr;
    if (item) { return workspace::certificate_in(item->text); }
  }
  return {};
}

/// A sentence about the steps of a schedule that still apply (`script/held.h`); without a name, of the only schedule. None: no schedule runs.
struct StepsThatHold { std::string schedule, sentence; };
auto what_holds_in(const std::string& path, std::string_view name) -> std::optional<StepsThatHold> {
  auto file = SourceFile::read(path);
  if (!file.ok()) { return {}; }
  (*file)->document().replay({});
  workspace::SnapshotPtr snapshot = (*file)->snapshot();
  for (const script::FileSchedule& schedule : snapshot->schedules()) {
    bool is_meant = name.empty() ? snapshot->schedules().size() == 1 : schedule.name.view() == name;
    if (is_meant && schedule.run != nullptr && !schedule.run->steps.empty()) { return StepsThatHold{schedule.name.str(), script::what_holds(*schedule.run)}; }
  }
  return {};
}

}  // namespace

auto replay(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  const std::string& path = arguments.positional()[0];
  if (arguments.has("--record") && arguments.has("--check")) { return usage_error("replay", "`--record` writes the file that `--check` reads: give one of them"); }
  if (path == "-" && (arguments.has("--record") || arguments.has("--check")) && !arguments.get("--file")) {
    return usage_error("replay", "standard input has no name to record beside: give `--file R.tir`");
  }
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = path, .only_schedule = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) {
    // If a step that once worked is refused now, the steps in front of it still apply.
    auto holds = *status != exit_usage && arguments.has("--check") && path != "-" ? what_holds_in(path, arguments.get("--with", "")) : std::nullopt;
    if (holds && !arguments.json()) { fmt::print("{}: {}\n", holds->schedule, holds->sentence); }
    return *status;
  }
  const auto& selection = std::get<Selection>(picked);
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, selection.file.get());
    return reporter.status();
  };
  auto trace = schedule::trace_from_json(schedule::trace_to_json(*selection.trace, selection.module->dialect));
  if (!trace) { return fail(trace.diagnostics()); }
  schedule::Schedule sch(selection.before, 1);
  if (auto status = sch.replay(*trace); !status) { return fail(status.diagnostics()); }
  const IRModule& again = sch.module();
  auto report_difference = [&](const char* what, const IRModule& before, const IRModule& after, const Difference& d) {
    if (arguments.json()) {
      nlohmann::json out = {{"event", "different"}, {"what", what}, {"path", d.path}, {"left", d.left}, {"right", d.right}};
      fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      fmt::print("{} gives another program, at {}: {} and {}\n{}", what, d.path, d.left, d.right,
                 diff_scripts(print_script(before), print_script(after), {.context = 2, .color = arguments.color(STDOUT_FILENO)}));
    }
    return exit_input;
  };
  if (auto d = first_difference(selection.module, again)) { return report_difference("the trace", selection.module, again, *d); }
  const std::string recorded = arguments.get("--file", fmt::format("{}.{}.recorded.tir", path, selection.schedule));
  if (arguments.has("--record")) {
    if (auto status = write_file(recorded, print_script(selection.module) + "\n"); !status) { return fail(status.diagnostics()); }
  }
  // The certificate in the comments of a found schedule has the same purpose as a recorded program.
  auto certificate = certificate_of(*selection.file->snapshot(), selection.schedule);
  if (certificate) {
    std::string other;
    if (structural_hash(selection.before) != certificate->program) {
      other = "the program differs from the one in the schedule's certificate";
      if (auto holds = what_holds_in(path, selection.schedule)) { other += "; " + holds->sentence; }
    } else if (structural_hash(selection.module) != certificate->scheduled) {
      other = "the scheduled program differs from the one in the schedule's certificate";
    }
    if (!other.empty()) {
      if (arguments.json()) { fmt::print("{}\n", nlohmann::json{{"event", "different"}, {"what", other}, {"schedule", selection.schedule}}.dump()); }
      else { fmt::print("{}: {}\n", selection.schedule, other); }
      return exit_input;
    }
  }
  std::error_code missing;
  bool has_recorded = arguments.get("--file").has_value() || std::filesystem::exists(recorded, missing);
  if (arguments.has("--check") && (has_recorded || !certificate)) {
    // The recorded file is read without this command's options.
    auto plain = read_arguments(usage, {recorded});
    auto before = pick(std::get<Arguments>(plain), {.path = recorded}, reporter);
    if (const int* status = std::get_if<int>(&before)) { return *status; }
    const auto& old = std::get<Selection>(before);
    if (auto d = first_difference(old.module, selection.module)) { return report_difference("the schedule", old.module, selection.module, *d); }
  }
  if (arguments.json()) {
    fmt::print("{}\n", nlohmann::json{{"event", "same"}, {"schedule", selection.schedule}, {"instructions", selection.trace->instructions().size()}, {"file", recorded}}.dump());
  } else {
    fmt::print("{}: {} instructions, the same program from its trace{}\n", selection.schedule, selection.trace->instructions().size(),
               (certificate ? std::string(" and by its certificate") : std::string()) +
                   (arguments.has("--record") ? fmt::format("; recorded in {}", recorded) : arguments.has("--check") && (has_recorded || !certificate) ? fmt::format(" and in {}", recorded) : std::string()));
  }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
