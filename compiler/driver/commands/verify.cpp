// `loopsmith verify FILE --with NAME`: does a schedule keep the results? Compiled code of the scheduled program is compared with
// the reference interpreter, in a program of its own.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/program.h"
#include "ir/printer.h"
#include "schedule/trace_json.h"
#include "support/process.h"
#include "tune/measure/pool.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "verify",
    .arguments = "FILE [--with NAME | --trace T.json] [--function F] [--target T] [--time S]",
    .summary = "Compares the results of a scheduled program with those of the program as written.",
    .details = "Small integers first, where sums of reals are exact in any order, then reals. Up to about 1e7 block instances the\n"
               "reference interpreter computes all outputs; above, the unscheduled program compiled without optimisation does, and\n"
               "the interpreter checks sampled elements. Status 1 where results differ, and where\n"
               "the two could not be compared (no code, `--time` is over), which the message says.",
    .options = {with_option,
                {.name = "--trace", .value = "T.json", .help = "a trace: [instructions, decisions]; `-` is standard input"},
                function_option,
                target_option,
                {.name = "--time", .value = "S", .help = "limit; 120 s"},
                json_option},
    .examples = {{"loopsmith verify matmul.tir --with matmul_blocked", "interpreter against compiled code"}},
    .least = 1,
    .most = 1,
};

}  // namespace

auto verify(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  double limit = 120;
  if (auto text = arguments.get("--time")) {
    auto s = parse_seconds(*text);
    if (!s) { return usage_error("verify", "`--time` takes a time such as 30, 90s or 2min, and got `" + *text + "`"); }
    limit = *s;
  }
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);

  tune::PoolOptions options;
  options.program = {current_program(), "worker", "--measure"};
  options.workers = 1;
  options.build_limit = limit;
  tune::WorkerPool pool(options, {print_script(selection.before), selection.function.str(), selection.target.str(), 1});
  if (Status started = pool.start(); !started.ok()) {
    reporter.report(started.diagnostics(), selection.file.get());
    return reporter.status();
  }
  tune::Candidate candidate{1, selection.trace ? schedule::trace_to_json(*selection.trace) : "[[], []]"};
  tune::BuildReply built = pool.build({candidate}, nullptr).front();
  tune::CheckReply reply;
  if (built.outcome == tune::Outcome::Measured) { reply = pool.check(candidate, limit); }
  else { reply.note = "it does not build: " + built.note; }
  if (arguments.json()) {
    fmt::print("{}\n", nlohmann::json({{"equal", reply.equal}, {"compared", reply.equal || !reply.how.empty()}, {"how", reply.how}, {"difference", reply.note}}).dump());
  } else if (reply.equal) {
    fmt::print("the same results, by {}\n", reply.how);
  } else if (reply.how.empty()) {
    // It did not come to a comparison: too late, no code, nothing the interpreter can run.
    fmt::print(stderr, "loopsmith verify: it is not known whether {} the results: {}\n", selection.schedule.empty() ? "compiled code keeps" : "`" + selection.schedule + "` keeps", reply.note);
  } else {
    fmt::print(stderr, "loopsmith verify: {}{}: {}\n", selection.schedule.empty() ? "compiled code differs from the interpreter" : "`" + selection.schedule + "` does not keep the results",
               reply.how.empty() ? "" : " (" + reply.how + ")", reply.note);
  }
  return reply.equal ? exit_done : exit_input;
}

}  // namespace loopsmith::driver::commands
