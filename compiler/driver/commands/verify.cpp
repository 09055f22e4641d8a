// `loopsmith verify FILE --with NAME`: compares the results of the scheduled program, compiled, with those of the reference interpreter, in a separate
// process: on inputs of the gate (interp/compare.h), or on those of the command line.
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/device.h"
#include "driver/device_check.h"
#include "driver/execution.h"
#include "driver/lowering.h"
#include "interp/compare.h"
#include "ir/printer.h"
#include "ir/vocabulary.h"
#include "schedule/caller_layouts.h"
#include "support/codes.h"
#include "support/output.h"
#include "support/process.h"
#include "support/text.h"
#include "transform/pipelines.h"
#include "tune/measure/pool.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "verify",
    .arguments = "FILE [--with NAME | --trace T.json] [--function F] [--target T] [--arg NAME=V]... [--inputs FILE.npz] [--time S]",
    .summary = "Compares the results of a scheduled program with those of the program as written.",
    .details = "The first inputs are small integers, for which sums of reals are exact in any order; the second are reals. Up to about 1e7\n"
               "block instances the reference interpreter computes all outputs; above, the unscheduled program compiled without\n"
               "optimisation does, and the interpreter checks sampled elements. Kernels run on the first device of their target; those for\n"
               "CUDA on the first one of OpenCL where no GPU is. Other code for another machine is not run: the interpreter runs the lowered\n"
               "program instead. Exit status 1 where results differ, or could not be compared (no code, `--time` is over).\n"
               "With `--arg`, `--inputs` or `--random` the comparison is on those inputs alone, all outputs by the interpreter.",
    .options = {with_option,
                log_option,
                {.name = "--trace", .value = "T.json", .help = "a trace: [instructions, decisions]; `-` is standard input"},
                function_option,
                target_option,
                arg_option,
                inputs_option,
                random_option,
                {.name = "--time", .value = "S", .help = "the time limit; the default is 2min"},
                json_option},
    .examples = {{"loopsmith verify matmul.tir --with matmul_blocked", "interpreter against compiled code"},
                 {"loopsmith verify gather.tir --with fast --inputs case.npz", "with the arrays of a file as inputs"}},
    .least = 1,
    .most = 1,
};

// A schedule may change the layout of parameters, and callers must then convert. Here copies around the function do it. True: it changed a layout.
auto lay_out_as_before(Selection& selection) -> bool {
  if (!selection.trace) { return false; }
  IRModule scheduled = std::exchange(selection.module, schedule::with_layouts_before(selection.before, selection.module, *selection.trace, 1, selection.function));
  return !selection.module.same_as(scheduled);
}

constexpr const char* copied_note = "the schedule lays parameters out anew: they are copied there and back around it";

struct Answer {
  bool is_equal = false;
  std::string how = {};       // the inputs and the two compared methods; empty: they were not compared
  std::string note = {};      // the first difference, or the reason why they were not compared
  std::string extent = {};    // "2 inputs, largest error 3e-7 of the result's scale (1e-5 allowed)"; empty: unknown
};

auto report(const Arguments& arguments, const Selection& selection, const Answer& answer) -> int {
  const std::string& name = selection.schedule;
  if (arguments.json()) {
    fmt::print("{}\n", nlohmann::json({{"equal", answer.is_equal}, {"compared", answer.is_equal || !answer.how.empty()}, {"how", answer.how}, {"difference", answer.note}, {"extent", answer.extent}}).dump());
  } else if (answer.is_equal) {
    fmt::print("same results on {}\n", answer.how);
    // The result is about the program as written, not about its schedules.
    for (const script::FileSchedule& schedule : selection.file->snapshot()->schedules()) {
      if (!name.empty() || selection.trace || !(schedule.program_name == selection.program)) { continue; }
      fmt::print(stderr, "note: of the program as written; `--with {}` compares it under a schedule\n", schedule.name.view());
      break;
    }
  } else if (answer.how.empty()) {
    // The programs were not compared: the time limit came first, code generation failed, or the interpreter cannot run the program.
    fmt::print(stderr, "loopsmith verify: it is not known whether {} the results: {}\n", name.empty() ? "compiled code keeps" : "`" + name + "` keeps", answer.note);
  } else {
    fmt::print(stderr, "loopsmith verify: {} ({}): {}\n", name.empty() ? "compiled code differs from the interpreter" : "`" + name + "` does not keep the results", answer.how, answer.note);
  }
  return answer.is_equal ? exit_done : exit_input;
}

// Compares the outputs of two calls; `how` names the two sides.
auto compare_outputs(const Call& before, const Call& after, const std::string& inputs, const std::string& against) -> Answer {
  int written = 0;
  for (size_t i = 0; i < before.tensors.size(); ++i) {
    const codegen::Parameter& p = before.interface.parameters[i];
    if (p.kind != codegen::Parameter::Kind::Buffer || !p.is_written) { continue; }
    ++written;
    interp::Difference d = interp::compare_tensors(p.name, before.tensors[i].view(), after.tensors[i].view(), !p.dtype.is_real());
    if (d.found) { return {.how = fmt::format("{}, against {}", inputs, against), .note = d.where}; }
  }
  return {.is_equal = true, .how = fmt::format("{}: {} against {}", inputs, count_text(written, "output"), against)};
}

// "kernel.tir:12: the message of an error", with its remedy; without a place if the error has none.
auto placed(const Diagnostics& diagnostics, const Selection& selection) -> std::string {
  const Diagnostic& first = diagnostics.front();
  auto place = first.where.is_known() ? selection.file->locate()(first.where) : std::nullopt;
  std::string out = place ? fmt::format("{}:{}: {}", place->text->name(), human_position(*place->text, place->span.begin).line, first.message()) : first.message();
  return first.remedies.empty() ? out : out + "\nhelp: " + first.remedies.front();
}

// Compares the kernels on a device with the program as written by the interpreter, on the inputs of the command line.
auto compare_on_device(const Selection& selection, const std::shared_ptr<runtime::Device>& device, const Call& before, const Call& after, double limit) -> Answer {
  interp::Options options;
  options.max_seconds = limit;
  auto stats = interp::interpret(selection.before, selection.function, interpreter_arguments(before), options);
  if (!stats) { return {.note = placed(stats.diagnostics(), selection)}; }
  auto ran = call_on_device(selection, device, after.values);
  if (!ran) { return {.note = placed(ran.diagnostics(), selection)}; }
  return compare_outputs(before, after, "the given inputs, on " + called(*device), "the interpreter");
}

// Compares the program as written by the interpreter with the compiled scheduled one, on the same inputs.
auto compare_on(const Selection& selection, const Call& before, const Call& after, double limit) -> Answer {
  interp::Options options;
  options.max_seconds = limit;
  auto stats = interp::interpret(selection.before, selection.function, interpreter_arguments(before), options);
  if (!stats) { return {.note = placed(stats.diagnostics(), selection)}; }
  // Elements that the program reads before it writes them have a fixed value, so that the memory's contents do not matter.
  auto code = compile(selection, {}, true);
  if (!code) { return {.note = "it does not build: " + placed(code.diagnostics(), selection)}; }
  auto function = code->find(symbol_of(selection));
  if (!function) { return {.note = placed(function.diagnostics(), selection)}; }
  Status ran = ok();
  confined([&] { ran = runtime::call(**function, after.values); });
  if (!ran) { return {.how = "the given inputs, against the interpreter", .note = placed(ran.diagnostics(), selection)}; }
  return compare_outputs(before, after, "the given inputs", "the interpreter");
}

// For targets whose code cannot run here: runs both programs by the interpreter, the scheduled one lowered.
auto compare_lowered(const Selection& selection, double limit) -> Answer {
  auto lowered = transform::lower(named_module(selection), lower_context(selection.target), interpreted_request(selection.target));
  if (!lowered) { return {.note = "it is not lowered: " + placed(lowered.diagnostics(), selection)}; }
  interp::GateOptions options;
  options.max_seconds = limit;
  auto result = interp::compare_modules(selection.before, *lowered, selection.function, options);
  if (!result) { return {.note = placed(result.diagnostics(), selection)}; }
  std::string how = fmt::format("{} (lowered for `{}`, whose code does not run here)", result->how, selection.target.str());
  return {.is_equal = result->equal, .how = std::move(how), .note = result->difference};
}

// For programs without code generation on this machine (GPU units): runs both programs by the interpreter, the scheduled one before lowering.
auto compare_scheduled(const Selection& selection, const std::string& why, double limit) -> Answer {
  interp::GateOptions options;
  options.max_seconds = limit;
  auto result = interp::compare_modules(selection.before, selection.module, selection.function, options);
  if (!result) { return {.note = "it does not build: " + why}; }
  return {.is_equal = result->equal, .how = fmt::format("{} (before lowering, as no code can be made here)", result->how), .note = result->difference};
}

// The time limit; none: `--time` is wrong, and the error was reported.
auto limit_of(const Arguments& arguments) -> std::optional<double> {
  auto text = arguments.get("--time");
  if (!text) { return 120; }
  auto seconds = parse_seconds(*text);
  if (!seconds) { (void)usage_error("verify", "`--time` takes a time such as 30, 90s or 2min, not `" + *text + "`"); }
  return seconds;
}

/// The first argument of a process whose starter has already run the schedule, reported its findings and printed its output.
constexpr const char* reported = "--reported";

;

auto has_inputs(const Arguments& arguments) -> bool { return arguments.has("--inputs") || arguments.has("--arg") || arguments.has("--random"); }

}  // namespace

auto verify(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  auto limit = limit_of(arguments);
  if (!limit) { return exit_usage; }
  if (has_inputs(arguments)) {
    // The interpreter has the time limit, and then compiled code.
    return run_apart("verify", "--verify", args, {.seconds = 2 * *limit, .asked = *limit});
  }
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true, .needs_function = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  auto& selection = std::get<Selection>(picked);
  if (lay_out_as_before(selection)) { fmt::print(stderr, "note: {}\n", copied_note); }

  note_externals(selection);
  // The driver of a device runs in a separate process, on random inputs.
  if (is_device_target(selection.target)) {
    args.insert(args.begin(), reported);
    return run_apart("verify", "--verify", args, {.seconds = 2 * *limit, .asked = *limit});
  }
  if (!runtime::runs_here(selection.target).ok()) { return report(arguments, selection, compare_lowered(selection, *limit)); }
  tune::PoolOptions options;
  options.program = {current_program(), "worker", "--measure"};
  options.workers = 1;
  options.build_limit = *limit;
  options.sweeps = true;
  tune::WorkerPool pool(options, {print_script(selection.before), selection.function.str(), selection.target.str(), 1});
  if (Status started = pool.start(); !started.ok()) {
    reporter.report(started.diagnostics(), selection.file.get());
    return reporter.status();
  }
  // Sends the program itself: a worker that replays its trace does not have the intrinsics that the file registers.
  tune::Candidate candidate{1, "[[], []]", print_script(selection.module)};
  tune::BuildReply built = pool.build({candidate}).front();
  if (built.outcome != tune::BuildOutcome::Built) {
    // The worker identifies the function by its name in its module.
    auto lowered = transform::lower(named_module(selection), lower_context(selection.target), lower_request(selection.target));
    std::string why = lowered ? built.note : placed(lowered.diagnostics(), selection);
    // A comparison of the program as written with itself would prove nothing.
    if (built.outcome != tune::BuildOutcome::Rejected || selection.module.same_as(selection.before)) { return report(arguments, selection, {.note = "it does not build: " + why}); }
    return report(arguments, selection, compare_scheduled(selection, why, *limit));
  }
  tune::CheckReply reply = pool.check(candidate, *limit);
  return report(arguments, selection, {reply.equal, reply.equal ? tune::compared_text(reply) : reply.how, reply.note, tune::extent_text(reply)});
}

// The races between threads of kernels with written barriers: the device may have run them in an order in which they did no harm. Empty where the interpreter
// does not reach the end in a few seconds.
auto races_of(const Selection& selection, double limit) -> Diagnostics {
  constexpr double most_seconds = 5;
  interp::Options options;
  options.report_races = true;
  options.max_seconds = std::min(limit, most_seconds);
  Diagnostics out;
  const PrimFunc function = selection.module->find(selection.function);
  auto inputs = function ? interp::make_inputs(function, 1, interp::Contents::SmallIntegers) : Result<interp::Inputs>(Diagnostics{});
  if (!inputs) { return out; }
  auto stats = interp::interpret(selection.module, selection.function, inputs->arguments, options);
  if (!stats) { return out; }
  std::ranges::copy_if(stats->warnings, std::back_inserter(out), [](const Diagnostic& d) { return d.code == Code::InterpRace && d.severity == Severity::Error; });
  return out;
}

// The answer of a device, and the races that it cannot show.
auto report_of_device(const Arguments& arguments, const Selection& selection, const Answer& answer, Reporter& reporter, double limit) -> int {
  const Diagnostics races = answer.is_equal ? races_of(selection, limit) : Diagnostics();
  const int status = report(arguments, selection, answer);
  if (races.empty()) { return status; }
  reporter.report(races, selection.file.get());
  if (!arguments.json()) { fmt::print(stderr, "loopsmith verify: the threads race: in another order they may give other results\n"); }
  return exit_input;
}

auto verify_here(std::vector<std::string> args) -> int {
  const bool is_reported = !args.empty() && args.front() == reported;
  if (is_reported) { args.erase(args.begin()); }
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  Reporter reporter(arguments);
  std::optional<Muted> muted;
  if (is_reported) { muted.emplace(); }
  auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true, .needs_function = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  auto& selection = std::get<Selection>(picked);
  if (lay_out_as_before(selection)) { fmt::print(stderr, "note: {}\n", copied_note); }
  muted.reset();
  const double limit = limit_of(arguments).value_or(0);
  std::shared_ptr<runtime::Device> device;
  if (is_device_target(selection.target)) {
    if (auto fits = lower_for_device(selection, selection.target); !fits) {
      reporter.report(fits.diagnostics(), selection.file.get());
      return reporter.status();
    }
    auto opened = checking_device(selection.target);
    // OpenCL's device may lack a feature of the target.
    if (!opened || (selection.target.kind != target_kind::opencl && !compile_for_device(selection, *opened))) { return report(arguments, selection, compare_lowered(selection, limit)); }
    device = *opened;
    if (!has_inputs(arguments)) {
      const DeviceCheck check = check_on_device(selection, device, limit);
      if (!check.is_compared) {
        if (auto compiled = compile_for_device(selection, device); !compiled) {
          reporter.report(compiled.diagnostics(), selection.file.get());
          return reporter.status();
        }
      }
      return report_of_device(arguments, selection, {.is_equal = check.is_equal, .how = check.is_compared ? check.how : std::string(), .note = check.note}, reporter, limit);
    }
  }
  auto before = make_call(selection, arguments), after = make_call(selection, arguments);
  if (!before || !after) {
    reporter.report(before ? after.diagnostics() : before.diagnostics(), selection.file.get());
    return reporter.status();
  }
  note_sizes(*before, arguments);
  if (device) { return report_of_device(arguments, selection, compare_on_device(selection, device, *before, *after, limit), reporter, limit); }
  return report(arguments, selection, compare_on(selection, *before, *after, limit));
}

}  // namespace loopsmith::driver::commands
