// Build scripts (`loopsmith script`) and their functions.
//
// A build script is a text of the script language that runs once, from top to bottom. In addition to the functions of every script it has
//
//     load(path)                       a file of programs: `file.NAME` is a definition of the file, `file.programs` the names of its programs
//     apply(program, function, ...)    the program under a schedule function, which receives the further arguments
//     build(what, output=, ...)        libraries, as `loopsmith build`
//     tune(what, trials=, time=, ...)  the best schedule found, as `loopsmith tune`
//     bench(what, ...)                 a list of measurements, as `loopsmith bench`
//     args                             the arguments of the command line, as strings
//
// `what` is a path, a loaded file, a program, or a dictionary of programs by name. The work runs in separate processes, so a crash fails one call only;
// caches and databases are those of the commands. (docs/scripts.md)
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "driver/render.h"
#include "eval/evaluator.h"
#include "support/diagnostic.h"

namespace loopsmith::driver {

/// A build script may use more than a schedule function: 100 million steps, ten minutes of processor time and 4 GiB of memory.
[[nodiscard]] constexpr auto default_limits() -> eval::Limits { return {.steps = 100'000'000, .seconds = 600, .bytes = 4UL << 30}; }

struct BuildScriptRequest {
  std::string path;                        // of the script; paths in it are relative to its folder
  std::vector<std::string> args;
  bool dry_run = false;                    // builds only print their plan; nothing is tuned or measured
  bool json = false;                       // events of the commands go to standard output at once
  eval::Limits limits = default_limits();  // of the script itself; the processes that it starts have separate limits
  /// Receives diagnostics at once, with a function that finds their places.
  std::function<void(const Diagnostics&, const Locate&, const std::string& file)> report;
};

/// False: the script ended with an error, which was reported, or one of its builds failed.
[[nodiscard]] auto run_build_script(const BuildScriptRequest& request) -> bool;

}  // namespace loopsmith::driver
