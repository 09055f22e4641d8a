// `loopsmith interpret FILE`: executes a program by the reference interpreter, with every access checked.
#include <fmt/format.h>

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/execution.h"
#include "interp/interp.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "interpret",
    .arguments = "FILE [--function F] [--with NAME] [--arg NAME=data.npy]... [--inputs FILE.npz] [--random SEED] [--out DIR]",
    .summary = "Executes a program by the reference interpreter: slowly, with every access checked.",
    .details = "Arguments and results as for `run`, so that the two can be compared. Warns of elements that are read before they are\n"
               "written, of iterations of parallel, vectorized or thread-bound loops that depend on each other, and of accesses\n"
               "outside of the regions that blocks declare; each with the iteration. `--json` also counts operations and bytes,\n"
               "loop by loop.",
    .options = {function_option,
                with_option,
                {.name = "--trace", .value = "T.json", .help = "a trace to apply, in place of a schedule function"},
                arg_option,
                inputs_option,
                random_option,
                {.name = "--out", .value = "DIR", .help = "writes each result to DIR/NAME.npy"},
                {.name = "--time", .value = "S", .help = "stop after this long: 30, 90s, 2min"},
                {.name = "--steps", .value = "N", .help = "stop after so many statements"},
                json_option},
    .examples = {{"loopsmith interpret softmax.tir", "on random data; a line about each result"}},
    .least = 1,
    .most = 1,
};

auto counts(const interp::Counts& c) -> nlohmann::json {
  return {{"flops", c.flops}, {"int_ops", c.int_ops}, {"index_ops", c.index_ops}, {"bytes_read", c.bytes_read}, {"bytes_written", c.bytes_written}};
}

// {"counts": {"flops": ..}, "block_instances": .., "loops": [{"name": "i", "parent": null, "iterations": .., "flops": ..}]}
auto counts(const interp::Stats& stats) -> nlohmann::json {
  nlohmann::json loops = nlohmann::json::array();
  for (const interp::LoopCounts& loop : stats.loops) {
    nlohmann::json row = counts(loop.counts);
    row["name"] = loop.name.str();
    row["parent"] = loop.parent < 0 ? nlohmann::json() : nlohmann::json(loop.parent);
    row["iterations"] = loop.iterations;
    loops.push_back(std::move(row));
  }
  return {{"counts", counts(stats.total)}, {"block_instances", stats.block_instances}, {"loops", std::move(loops)}};
}

}  // namespace

auto interpret(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  interp::Options options;
  options.report_unwritten = options.report_races = options.check_regions = true;
  if (auto text = arguments.get("--time")) {
    auto seconds = parse_seconds(*text);
    if (!seconds) { return usage_error("interpret", fmt::format("`--time` is a time such as 30, 90s or 2min, not `{}`", *text)); }
    options.max_seconds = *seconds;
  }
  if (auto text = arguments.get("--steps")) {
    char* end = nullptr;
    options.max_steps = std::strtoll(text->c_str(), &end, 10);
    if (options.max_steps <= 0 || *end != '\0') { return usage_error("interpret", fmt::format("`--steps` is a number of statements, not `{}`", *text)); }
  }
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = arguments.positional()[0]}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, selection.file.get());
    return reporter.status();
  };
  auto call = make_call(selection, arguments);
  if (!call) { return fail(call.diagnostics()); }
  auto stats = interp::interpret(selection.module, selection.function, interpreter_arguments(*call), options);
  if (!stats) { return fail(stats.diagnostics()); }
  reporter.report(stats->warnings, selection.file.get());
  if (auto status = write_results(*call, arguments); !status) { return fail(status.diagnostics()); }
  if (arguments.json()) { fmt::print("{}\n", counts(*stats).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)); }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
