// Shared by `run`, `interpret`, `verify` and `bench`: the arguments of a call from the command line (.npy and .npz files, numbers, random contents), its
// results, and a separate process that executes compiled code.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/interface.h"
#include "driver/program.h"
#include "interp/interp.h"
#include "runtime/jit.h"
#include "runtime/tensor.h"

namespace loopsmith::driver {

inline const Option arg_option{.name = "--arg", .value = "NAME=V", .help = "a parameter: a .npy file for a buffer, a number for a scalar or a size", .repeatable = true};
inline const Option inputs_option{.name = "--inputs", .value = "FILE.npz", .help = "arrays named after parameters; an array without dimensions is a scalar or a size", .repeatable = true};
inline const Option random_option{.name = "--random", .value = "SEED", .help = "the seed for the contents of buffers without a file; the default is 0"};

struct Call {
  codegen::Interface interface;          // of the program as written, shapes included
  std::vector<runtime::Tensor> tensors;  // one per parameter; empty for scalars
  std::vector<runtime::Value> values;    // one per parameter
  std::vector<int64_t> sizes;            // the values of the shape variables
  std::vector<bool> is_from_file;        // one per parameter
  std::vector<std::string> chosen_sizes; // sizes, also scalar parameters, that neither the command line nor a file gives
};
/// Random contents depend only on the seed and the parameter's position, so all commands use the same. `--arg` takes precedence over `--inputs`.
[[nodiscard]] auto make_call(const Selection& selection, const Arguments& arguments, uint64_t most_bytes = UINT64_MAX) -> Result<Call>;

/// The call's values for the interpreter, as views of the call's tensors.
[[nodiscard]] auto interpreter_arguments(const Call& call) -> std::vector<interp::Argument>;

/// Prints the external functions that a program calls, if any.
void note_externals(const Selection& selection);
/// Prints the sizes that the command line does not give: as notes, or as a line of JSON.
void note_sizes(const Call& call, const Arguments& arguments);

/// Writes the results of the call: summaries on standard output, or files in the folder of `--out`.
[[nodiscard]] auto write_results(const Call& call, const Arguments& arguments) -> Status;

/// Limits of a process that executes a program.
struct ExecutionLimits {
  double seconds = 600;
  uint64_t bytes = 4ULL << 30U;   // of data
  double asked = 0;               // the limit of the command line, for messages; 0: that of the process
};
inline const Option execution_time_option{.name = "--time", .value = "S", .help = "the time limit; the default is 10min"};
inline const Option memory_option{.name = "--memory", .value = "SIZE", .help = "the memory limit, as 512M or 16G; the default is 4G"};
/// `--time` and `--memory`; the exit status if one of them is wrong (the error was reported).
[[nodiscard]] auto read_limits(const std::string& command, const Arguments& arguments, const ExecutionLimits& defaults = {}) -> std::variant<ExecutionLimits, int>;

/// Runs `loopsmith worker KIND ARGS...` as a process within the limits and returns its status. Reports a crash, an exceeded limit, and a program that ended
/// the process before the command did.
[[nodiscard]] auto run_apart(const std::string& command, const std::string& kind, const std::vector<std::string>& args, const ExecutionLimits& limits) -> int;
/// The exit status of a worker of `run_apart` that reached its end; a program that calls `exit` returns another one.
[[nodiscard]] auto finished(int status) -> int;

/// Does work that executes compiled code on a separate thread with few permitted system calls (support/confinement.h).
void confined(const std::function<void()>& work);

inline const Option check_bounds_option{.name = "--check-bounds", .help = "checks every access; an access out of bounds stops the program, with buffer, index, extent and line"};
/// Finds the places of accesses, for the messages of bounds checks. None without `--check-bounds`.
[[nodiscard]] auto bounds_checks(const Selection& selection, const Arguments& arguments) -> Locate;

/// The module of a selection. A bare function's symbol is its name in the file, not `main`.
[[nodiscard]] auto named_module(const Selection& selection) -> IRModule;

/// The schedule of a selection, lowered and compiled; `checked`: see `bounds_checks`; `fills_allocations`: see codegen.h.
[[nodiscard]] auto compile(const Selection& selection, const Locate& checked = {}, bool fills_allocations = false) -> Result<runtime::JitModule>;
[[nodiscard]] auto symbol_of(const Selection& selection) -> std::string;

}  // namespace loopsmith::driver
