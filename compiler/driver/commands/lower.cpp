// `loopsmith lower FILE`: prints the program on its way to machine code, stage by stage.
#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "driver/command.h"
#include "driver/execution.h"
#include "driver/lowering.h"
#include "driver/program.h"
#include "ir/printer.h"
#include "ir/script_diff.h"
#include "ir/vocabulary.h"
#include "runtime/devices/limits.h"
#include "support/spelling.h"
#include "support/text.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "lower",
    .arguments = "FILE [--with NAME] [--target T] [--stage NAME] [--list-stages] [--diff]",
    .summary = "Prints the module after lowering, or after one of its stages.",
    .options = {with_option,
                log_option,
                function_option,
                target_option,
                {.name = "--stage", .value = "NAME", .help = "stops after this stage"},
                {.name = "--list-stages", .help = "lists the stages in order, with a description of each"},
                {.name = "--diff", .help = "prints the changes and the time of each stage in place of the module"},
                check_bounds_option,
                {.name = "--cse", .help = "names values that occur several times (the stage `common_subexpressions`)"},
                dialect_option,
                json_option},
    .examples = {{"loopsmith lower --list-stages", "the way to machine code"},
                 {"loopsmith lower matmul.tir --with matmul_blocked", "flat loops, the input of the code generator"},
                 {"loopsmith lower matmul.tir --with matmul_blocked --diff", "the changes of each stage"}},
    .least = 0,
    .most = 1,
};

auto list_stages(std::span<const transform::Stage> stages) -> int {
  for (const transform::Stage& stage : stages) { fmt::print("{:<28} {}\n", stage.name, stage.summary); }
  return exit_done;
}

}  // namespace

auto lower(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  std::optional<Dialect> dialect;
  if (!read_dialect("lower", arguments, dialect)) { return exit_usage; }
  Reporter reporter(arguments);
  // Without a file, the stages of the target that is named.
  if (arguments.positional().empty()) {
    if (!arguments.has("--list-stages")) { return usage_error("lower", "it needs a FILE"); }
    return list_stages(transform::pipeline(kind_of_target(arguments.get("--target", "llvm"))));
  }
  auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);
  const std::span<const transform::Stage> stages = transform::pipeline(selection.target.kind);
  if (arguments.has("--list-stages")) { return list_stages(stages); }
  if (auto stage = arguments.get("--stage")) {
    std::vector<std::string> names;
    for (const transform::Stage& s : stages) { names.emplace_back(s.name); }
    if (std::find(names.begin(), names.end(), *stage) == names.end()) {
      std::string meant = closest(*stage, names);
      return usage_error("lower", fmt::format("there is no stage `{}`{}", *stage, meant.empty() ? "; `--list-stages` names them" : fmt::format("; did you mean `{}`?", meant)));
    }
  }
  bool color = arguments.color(STDOUT_FILENO);
  std::string stage_name = arguments.get("--stage", "");
  transform::LowerRequest request = lower_request(selection.target);
  request.until = stage_name;
  PrintOptions options;
  if (dialect) {
    options.dialect = *dialect;
    options.override_dialect = true;
  }
  if (arguments.has("--diff")) {
    request.on_stage = [&](const transform::StageReport& report) {
      fmt::print("{}== {}{}  {}{}\n", color ? "\x1b[1m" : "", report.stage->name, color ? "\x1b[0m" : "", duration_text(report.seconds),
                 report.is_unchanged() ? "  (unchanged)" : "");
      if (!report.is_unchanged()) {
        fmt::print("{}", diff_scripts(print_script(report.before, options), print_script(report.after, options), {.context = 2, .color = color}));
      }
    };
  }
  transform::LowerContext context = lower_context(selection.target, bounds_checks(selection, arguments));
  context.options.share_subexpressions = arguments.has("--cse");
  auto lowered = transform::lower(selection.module, context, request);
  if (!lowered) {
    // Messages use the function's name in the file.
    request.on_stage = {};
    auto again = transform::lower(named_module(selection), context, request);
    reporter.report(again ? lowered.diagnostics() : again.diagnostics(), selection.file.get());
    return reporter.status();
  }
  if (auto fits = runtime::check_kernels(*lowered, selection.target); !fits) {
    reporter.report(fits.diagnostics(), selection.file.get());
    return reporter.status();
  }
  return arguments.has("--diff") ? static_cast<int>(exit_done) : print_module(*lowered, arguments);
}

}  // namespace loopsmith::driver::commands
