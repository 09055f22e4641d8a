// `loopsmith tune` for several programs: those of several files, of one file (`--all`), or one program for several sizes (`--sizes`).
#pragma once

#include "driver/program.h"
#include "tune/session/session.h"

namespace loopsmith::driver::commands {

/// Tunes several programs with one budget, with a table at the end. Returns the exit status.
auto tune_all(const Arguments& arguments, tune::SessionOptions options, Reporter& reporter) -> int;

}  // namespace loopsmith::driver::commands
