// `loopsmith run FILE`: executes a program as machine code, in a separate process.
#include <fmt/format.h>

#include "driver/command.h"
#include "driver/device.h"
#include "driver/execution.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "run",
    .arguments = "FILE [--function F] [--with NAME] [--arg NAME=data.npy]... [--inputs FILE.npz] [--random SEED] [--out DIR]",
    .summary = "Compiles a program for this machine and executes it; NumPy's .npy and .npz files in, .npy out.",
    .details = "Buffers without a file have random contents, the same for the same seed, in `interpret` too. The program runs in a\n"
               "process of its own, with limits of time and memory, and may not start programs, open connections or write files.\n"
               "It may call C's maths functions, `memcpy`, `memmove` and `memset`, and no other external function.",
    .options = {function_option,
                with_option,
                log_option,
                {.name = "--trace", .value = "T.json", .help = "a trace to apply, in place of a schedule function"},
                target_option,
                arg_option,
                inputs_option,
                random_option,
                check_bounds_option,
                execution_time_option,
                memory_option,
                {.name = "--out", .value = "DIR", .help = "writes each result to DIR/NAME.npy"},
                json_option},
    .examples = {{"loopsmith run matmul.tir --with matmul_blocked", "on random data; a line about each result"},
                 {"loopsmith run matmul.tir --arg A=a.npy --arg B=b.npy --out results", "on files"},
                 {"loopsmith run matmul_gpu.tir --with tiled --target opencl", "as kernels on the first device of OpenCL; `--target cuda` uses NVIDIA's driver"}},
    .least = 1,
    .most = 1,
};

}  // namespace

auto run(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  auto limits = read_limits("run", std::get<Arguments>(read));
  if (const int* status = std::get_if<int>(&limits)) { return *status; }
  return run_apart("run", "--run", args, std::get<ExecutionLimits>(limits));
}

auto run_here(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true, .needs_function = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, selection.file.get());
    return reporter.status();
  };
  auto call = make_call(selection, arguments, std::get<ExecutionLimits>(read_limits("run", arguments)).bytes);
  if (!call) { return fail(call.diagnostics()); }
  note_sizes(*call, arguments);
  if (is_device_target(selection.target)) {
    if (arguments.has("--check-bounds")) { return usage_error("run", "`--check-bounds` is for programs on this machine's processor; `loopsmith interpret` checks every access of kernels"); }
    auto device = device_of(selection);
    if (!device) { return fail(device.diagnostics()); }
    if (auto ran = call_on_device(selection, *device, call->values); !ran) { return fail(ran.diagnostics()); }
    if (auto status = write_results(*call, arguments); !status) { return fail(status.diagnostics()); }
    return exit_done;
  }
  auto code = compile(selection, bounds_checks(selection, arguments));
  if (!code) { return fail(code.diagnostics()); }
  auto function = code->find(symbol_of(selection));
  if (!function) { return fail(function.diagnostics()); }
  note_externals(selection);
  Status ran = ok();
  confined([&] { ran = runtime::call(**function, call->values); });
  if (!ran) { return fail(ran.diagnostics()); }
  if (auto status = write_results(*call, arguments); !status) { return fail(status.diagnostics()); }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
