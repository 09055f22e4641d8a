// `loopsmith interpret FILE`: executes a program by the reference interpreter, with every access checked.
#include <fmt/format.h>

#include "driver/command.h"
#include "driver/execution.h"
#include "interp/interp.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "interpret",
    .arguments = "FILE [--function F] [--with NAME] [--arg NAME=data.npy]... [--random SEED] [--out DIR]",
    .summary = "Executes a program by the reference interpreter: slowly, with every access checked.",
    .details = "Arguments and results as for `run`, so that the two can be compared.",
    .options = {function_option,
                with_option,
                {.name = "--trace", .value = "T.json", .help = "a trace to apply, in place of a schedule function"},
                arg_option,
                random_option,
                {.name = "--out", .value = "DIR", .help = "writes each result to DIR/NAME.npy"},
                {.name = "--time", .value = "S", .help = "stop after this long: 30, 90s, 2min"},
                json_option},
    .examples = {{"loopsmith interpret softmax.tir", "on random data; a line about each result"}},
    .least = 1,
    .most = 1,
};

}  // namespace

auto interpret(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  interp::Options options;
  options.report_unwritten = true;
  if (auto text = arguments.get("--time")) {
    auto seconds = parse_seconds(*text);
    if (!seconds) { return usage_error("interpret", fmt::format("`--time` is a time such as 30, 90s or 2min, not `{}`", *text)); }
    options.max_seconds = *seconds;
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
  std::vector<interp::Argument> values;
  for (size_t i = 0; i < call->values.size(); ++i) {
    if (const auto* tensor = std::get_if<const runtime::Tensor*>(&call->values[i])) {
      values.emplace_back(TensorView{(*tensor)->data(), (*tensor)->dtype(), (*tensor)->shape()});
    } else if (const auto* integer = std::get_if<int64_t>(&call->values[i])) {
      values.emplace_back(*integer);
    } else {
      values.emplace_back(std::get<double>(call->values[i]));
    }
  }
  auto stats = interp::interpret(selection.module, selection.function, values, options);
  if (!stats) { return fail(stats.diagnostics()); }
  reporter.report(stats->warnings, selection.file.get());
  if (auto status = write_results(*call, arguments); !status) { return fail(status.diagnostics()); }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
