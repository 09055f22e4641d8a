// What `run`, `interpret`, `verify` and `bench` share: the arguments of a call from the command line (.npy and .npz files, numbers,
// random contents), its results, and a program of its own to execute foreign code in.
#pragma once

#include <string>
#include <vector>

#include "codegen/interface.h"
#include "driver/program.h"
#include "interp/interp.h"
#include "runtime/jit.h"
#include "runtime/tensor.h"

namespace loopsmith::driver {

inline const Option arg_option{.name = "--arg", .value = "NAME=V", .help = "a parameter: a .npy file for a buffer, a number for a scalar or a size", .repeatable = true};
inline const Option inputs_option{.name = "--inputs", .value = "FILE.npz", .help = "arrays by the names of parameters; one without dimensions for a scalar or a size", .repeatable = true};
inline const Option random_option{.name = "--random", .value = "SEED", .help = "contents of the buffers that no file is given for; 0"};

struct Call {
  codegen::Interface interface;          // as the program was written, shapes included
  std::vector<runtime::Tensor> tensors;  // one per parameter; empty for scalars
  std::vector<runtime::Value> values;    // one per parameter
  std::vector<int64_t> sizes;            // of the shape variables
};
/// Contents depend on the seed and the place of the parameter only, so two commands get the same. `--arg` comes before `--inputs`.
[[nodiscard]] auto make_call(const Selection& selection, const Arguments& arguments) -> Result<Call>;

/// The values as the interpreter takes them; views of the call's tensors.
[[nodiscard]] auto interpreter_arguments(const Call& call) -> std::vector<interp::Argument>;

/// What the call wrote: summaries on standard output, or files in the folder that `--out` names.
[[nodiscard]] auto write_results(const Call& call, const Arguments& arguments) -> Status;

/// Runs `loopsmith worker KIND ARGS...` in a program of its own and gives its status; says what happened where it crashed.
[[nodiscard]] auto run_apart(const std::string& command, const std::string& kind, const std::vector<std::string>& args) -> int;

inline const Option check_bounds_option{.name = "--check-bounds", .help = "tests every access; a bad one stops the program, with buffer, index, extent and line"};
/// Where accesses stand, for their tests, if `--check-bounds` is given; else none.
[[nodiscard]] auto bounds_checks(const Selection& selection, const Arguments& arguments) -> Locate;

/// The module of a selection, where a function of its own has the symbol that the file knows it by, not `main`.
[[nodiscard]] auto named_module(const Selection& selection) -> IRModule;

/// The schedule of a selection, lowered and compiled; `checked`: see `bounds_checks`; `fills_allocations`: see codegen.h.
[[nodiscard]] auto compile(const Selection& selection, const Locate& checked = {}, bool fills_allocations = false) -> Result<runtime::JitModule>;
[[nodiscard]] auto symbol_of(const Selection& selection) -> std::string;

}  // namespace loopsmith::driver
