// `loopsmith replay FILE --with NAME`: does the trace of a schedule give what the schedule gives, and is that still what was recorded?
#include <filesystem>

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

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "replay",
    .arguments = "FILE [--with NAME] [--record | --check] [--file R.tir]",
    .summary = "Applies a schedule's trace, through its JSON, and compares; records what came out, or checks that it is what was recorded.",
    .details = "What is recorded is the scheduled program as text, in FILE.NAME.recorded.tir unless `--file` names another. Status 1 where\n"
               "the trace gives another program than the schedule, or `--check` another one than was recorded; the difference is shown.",
    .options = {with_option,
                function_option,
                target_option,
                {.name = "--record", .help = "writes the program down"},
                {.name = "--check", .help = "compares with what was written down"},
                {.name = "--file", .value = "R.tir", .help = "where that is"},
                json_option},
    .examples = {{"loopsmith replay matmul.tir --with matmul_blocked --record", "once"},
                 {"loopsmith replay matmul.tir --with matmul_blocked --check", "after every change, in continuous integration"}},
    .least = 1,
    .most = 1,
};

}  // namespace

auto replay(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  const std::string& path = arguments.positional()[0];
  if (arguments.has("--record") && arguments.has("--check")) { return usage_error("replay", "`--record` writes what `--check` compares with: give one"); }
  if (path == "-" && (arguments.has("--record") || arguments.has("--check")) && !arguments.get("--file")) {
    return usage_error("replay", "standard input has no name to record beside: give `--file R.tir`");
  }
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = path, .only_schedule = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
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
  auto told = [&](const char* what, const IRModule& before, const IRModule& after, const Difference& d) {
    if (arguments.json()) {
      nlohmann::json out = {{"event", "different"}, {"what", what}, {"path", d.path}, {"left", d.left}, {"right", d.right}};
      fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      fmt::print("{} gives another program, at {}: {} and {}\n{}", what, d.path, d.left, d.right,
                 diff_scripts(print_script(before), print_script(after), {.context = 2, .color = arguments.color(STDOUT_FILENO)}));
    }
    return exit_input;
  };
  if (auto d = first_difference(selection.module, again)) { return told("the trace", selection.module, again, *d); }
  const std::string recorded = arguments.get("--file", fmt::format("{}.{}.recorded.tir", path, selection.schedule));
  if (arguments.has("--record")) {
    if (auto status = write_file(recorded, print_script(selection.module) + "\n"); !status) { return fail(status.diagnostics()); }
  }
  if (arguments.has("--check")) {
    // As it stands there, without this command's options.
    auto plain = read_arguments(usage, {recorded});
    auto before = pick(std::get<Arguments>(plain), {.path = recorded}, reporter);
    if (const int* status = std::get_if<int>(&before)) { return *status; }
    const auto& old = std::get<Selection>(before);
    if (auto d = first_difference(old.module, selection.module)) { return told("the schedule", old.module, selection.module, *d); }
  }
  if (arguments.json()) {
    fmt::print("{}\n", nlohmann::json{{"event", "same"}, {"schedule", selection.schedule}, {"instructions", selection.trace->instructions().size()}, {"file", recorded}}.dump());
  } else {
    fmt::print("{}: {} instructions, the same program from its trace{}\n", selection.schedule, selection.trace->instructions().size(),
               arguments.has("--record") ? fmt::format("; recorded in {}", recorded) : arguments.has("--check") ? fmt::format(" and in {}", recorded) : std::string());
  }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
