// `loopsmith script FILE [ARG...]`: runs a build script (driver/build_script.h).
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "driver/build_script.h"
#include "driver/command.h"
#include "driver/program.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "script",
    .arguments = "[--dry-run] [--json] FILE [ARG...]",
    .summary = "Runs a build script: loads programs, schedules, tunes, measures and builds them, in loops over sizes and targets.",
    .details = "A script has the language of schedule functions, and load, apply, build, tune, bench and args (docs/scripts.md). Paths in\n"
               "it are relative to its folder. Exit status 1 where it ends with an error, or one of its builds failed.",
    .options = {{.name = "--dry-run", .help = "lists the builds, searches and measurements, and runs none"}, json_option},
    .examples = {{"loopsmith script build.py 512 1024", "with `args` being [\"512\", \"1024\"]"}},
    .least = 1,
    .most = 10000,
};

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
