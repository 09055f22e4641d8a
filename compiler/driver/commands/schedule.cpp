// `loopsmith schedule FILE`: prints the program after a schedule function, or after a trace in TVM's JSON.
#include "driver/command.h"
#include "driver/program.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "schedule",
    .arguments = "FILE [--with NAME | --trace T.json] [--until LINE] [--function F] [--dialect D]",
    .summary = "Applies a schedule function, or a trace in TVM's JSON, and prints the module.",
    .details = "If the file has only one schedule function, that one is applied.",
    .options = {with_option,
                log_option,
                {.name = "--trace", .value = "T.json", .help = "a trace: [instructions, decisions]; `-` is standard input"},
                {.name = "--until", .value = "LINE", .help = "runs the statements up to this line of the file only"},
                function_option,
                dialect_option,
                json_option},
    .examples = {{"loopsmith schedule matmul.tir --with matmul_blocked", "the scheduled module"},
                 {"loopsmith schedule matmul.tir --with matmul_blocked --until 26", "the module after line 26"},
                 {"loopsmith schedule matmul.tir --function matmul --trace best.json", "the schedule that TVM's tuner found"}},
    .least = 1,
    .most = 1,
};

}  // namespace

auto schedule(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  if (arguments.has("--with") && arguments.has("--trace")) { return usage_error("schedule", "either `--with` or `--trace`, not both"); }
  if (arguments.has("--until") && arguments.has("--trace")) { return usage_error("schedule", "`--until` goes with schedule functions"); }
  std::optional<Dialect> dialect;
  if (!read_dialect("schedule", arguments, dialect)) { return exit_usage; }
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = arguments.positional()[0], .only_schedule = !arguments.has("--trace")}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  return print_module(std::get<Selection>(picked).module, arguments);
}

}  // namespace loopsmith::driver::commands
