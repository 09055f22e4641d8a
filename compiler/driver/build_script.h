// Build scripts: what the functions of `loopsmith script` do.
//
// A build script is a text of the script language that is run once, from top to bottom. To what every script has it adds
//
//     load(path)                       a file of programs: `file.NAME` is what the file defines, `file.programs` their names
//     apply(program, function, ...)    the program under a schedule function, which gets the further arguments
//     build(what, output=, ...)        libraries, as `loopsmith build`
//     tune(what, trials=, time=, ...)  the best schedule found, as `loopsmith tune`
//     bench(what, ...)                 how fast, as `loopsmith bench`: a list of measurements
//     args                             what the command line gave, as strings
//
// `what` is a path, a loaded file, a program, or a dictionary of programs by name. The work is done by programs of their own, so
// one that crashes costs its call only; the caches and databases are those of the commands. (docs/scripts.md)
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "driver/render.h"
#include "support/diagnostic.h"

namespace loopsmith::driver {

struct BuildScriptRequest {
  std::string path;                        // of the script; paths in it are relative to its folder
  std::vector<std::string> args;
  bool dry_run = false;                    // builds say what they would do; nothing is tuned or measured
  bool json = false;                       // events of the commands go to standard output as they come
  /// Diagnostics as they arise, with where their places lie.
  std::function<void(const Diagnostics&, const Locate&, const std::string& file)> report;
};

/// False: it ended with an error, which was reported, or something that it built failed.
[[nodiscard]] auto run_build_script(const BuildScriptRequest& request) -> bool;

}  // namespace loopsmith::driver
