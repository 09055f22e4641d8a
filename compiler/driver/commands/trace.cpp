// `loopsmith trace FILE`: prints the trace that a schedule function makes, for TVM or for a database.
#include <fmt/format.h>

#include "driver/command.h"
#include "driver/program.h"
#include "schedule/trace_json.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "trace",
    .arguments = "FILE [--with NAME] [--format json|python] [--dialect D]",
    .summary = "Prints the trace that a schedule function makes.",
    .details = "The JSON is that of TVM's `trace.as_json()`, the Python that of `trace.show()`: both work in TVM and here.",
    .options = {with_option,
                log_option,
                {.name = "--format", .value = "F", .help = "python (the default) or json"},
                {.name = "--until", .value = "LINE", .help = "runs the statements up to this line of the file only"},
                function_option,
                dialect_option,
                json_option},
    .examples = {{"loopsmith trace matmul.tir --with matmul_blocked --format json > best.json", "for TVM, or for `schedule --trace`"}},
    .least = 1,
    .most = 1,
};

}  // namespace

auto trace(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  std::string format = arguments.get("--format", "python");
  if (format != "json" && format != "python") { return usage_error("trace", fmt::format("`--format` is json or python, not `{}`", format)); }
  std::optional<Dialect> dialect;
  if (!read_dialect("trace", arguments, dialect)) { return exit_usage; }
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = arguments.positional()[0], .only_schedule = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);
  const Dialect spelled = dialect.value_or(selection.module->dialect);
  if (format == "json") {
    fmt::print("{}\n", trace_to_json(*selection.trace, spelled));
  } else {
    std::string text = selection.trace->python(spelled);
    fmt::print("{}{}", text, text.empty() || text.back() != '\n' ? "\n" : "");
  }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
