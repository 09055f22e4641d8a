// `loopsmith tune FILE --sizes n=128,256`: makes a program for each combination of sizes from a program with symbolic sizes. It stands in the file with an
// attribute that names the symbolic program; `loopsmith build` makes an entry that chooses among them by the sizes of its arguments.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "driver/program.h"

namespace loopsmith::driver::commands {

inline const Option sizes_option{.name = "--sizes", .value = "N=LIST", .help = "values of a symbolic size, as `n=128,256`; may be given several times. Each combination is tuned, and becomes a program of its own", .repeatable = true};

inline const Option size_option{.name = "--arg", .value = "SIZE=N", .help = "a symbolic size, as for `run` and `bench`: the same as `--sizes SIZE=N`", .repeatable = true};

/// The values of both options, `SIZE=LIST` each.
[[nodiscard]] auto given_sizes(const Arguments& arguments) -> std::vector<std::string>;

/// Prints the sizes for which the candidates of a program with symbolic sizes are measured, if any.
void note_measured_sizes(const Selection& selection);

/// A program for constant sizes.
struct SizedProgram {
  Selection selection;     // the program with its name, as if it were in the file
  Selection whole;         // the program with symbolic sizes
  std::string text;        // the program as script, to be inserted in front of its schedule; empty: the file has it already
};

/// The programs for all combinations of the sizes; an exit status after an error, which was reported.
[[nodiscard]] auto pick_sizes(const Arguments& arguments, Reporter& reporter) -> std::variant<std::vector<SizedProgram>, int>;

}  // namespace loopsmith::driver::commands
