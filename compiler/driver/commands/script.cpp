// `loopsmith script FILE [ARG...]`: runs a build script (driver/build_script.h).
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "driver/build_script.h"
#include "driver/command.h"
#include "driver/program.h"
#include "support/text.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "script",
    .arguments = "[--dry-run] [--json] [--max-steps N] [--max-time S] [--max-memory MIB] FILE [ARG...]",
    .summary = "Runs a build script: loads programs, schedules, tunes, measures and builds them, in loops over sizes and targets.",
    .details = "A script has the language of schedule functions, and load, apply, build, tune, bench and args (docs/scripts.md). Paths in\n"
               "it are relative to its folder. Exit status 1 where it ends with an error, or one of its builds failed. A script that\n"
               "exceeds a limit ends with an error at the statement; builds, searches and measurements do not count.",
    .options = {{.name = "--dry-run", .help = "lists the builds, searches and measurements, and runs none"},
                {.name = "--max-steps", .value = "N", .help = "the most expressions and statements that the script evaluates; the default is 100000000"},
                {.name = "--max-time", .value = "S", .help = "the most processor time that the script itself takes; the default is 10min"},
                {.name = "--max-memory", .value = "MIB", .help = "the most memory that the script takes, in MiB; the default is 4096"},
                {.name = "--max-depth", .value = "N", .help = "the deepest nesting of calls and expressions; the default is 300"},
                json_option},
    .examples = {{"loopsmith script build.py 512 1024", "with `args` being [\"512\", \"1024\"]"}},
    .least = 1,
    .most = 10000,
};

/// None: the limits are valid. Else the exit status of a mistake in them.
auto read_limits(const Arguments& arguments, eval::Limits& limits) -> std::optional<int> {
  if (auto text = arguments.get("--max-steps")) {
    auto n = parse_number(*text, 1, 1'000'000'000'000);
    if (!n) { return usage_error("script", "`--max-steps` takes a number from 1 on, not `" + *text + "`"); }
    limits.steps = static_cast<uint64_t>(*n);
  }
  if (auto text = arguments.get("--max-time")) {
    auto seconds = parse_seconds(*text);
    if (!seconds) { return usage_error("script", "`--max-time` takes a time such as 30, 90s or 2min, not `" + *text + "`"); }
    limits.seconds = *seconds;
  }
  if (auto text = arguments.get("--max-memory")) {
    auto n = parse_number(*text, 1, 1'000'000);
    if (!n) { return usage_error("script", "`--max-memory` takes a number of MiB from 1 on, not `" + *text + "`"); }
    limits.bytes = static_cast<size_t>(*n) << 20U;
  }
  if (auto text = arguments.get("--max-depth")) {
    // Deeper nesting needs more stack than a thread has.
    auto n = parse_number(*text, 1, 500);
    if (!n) { return usage_error("script", "`--max-depth` takes a number from 1 to 500, not `" + *text + "`"); }
    limits.depth = static_cast<uint32_t>(*n);
  }
  return std::nullopt;
}

}  // namespace

auto script(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  BuildScriptRequest request;
  request.path = arguments.positional().front();
  request.args.assign(arguments.positional().begin() + 1, arguments.positional().end());
  request.dry_run = arguments.has("--dry-run");
  request.json = arguments.json();
  if (auto status = read_limits(arguments, request.limits)) { return *status; }
  bool color = arguments.color(STDERR_FILENO);
  request.report = [&](const Diagnostics& diagnostics, const Locate& locate, const std::string& file) {
    for (const Diagnostic& d : diagnostics) {
      if (request.json) {
        fmt::print("{}\n", render_json(d, locate, file).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      } else {
        fmt::print(stderr, "{}", render(d, locate, {.color = color, .file = file}));
      }
    }
  };
  return run_build_script(request) ? exit_done : exit_input;
}

}  // namespace loopsmith::driver::commands
