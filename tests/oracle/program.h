// From program text to TIR and back, as every check needs it.
#pragma once

#include <string>

#include "ir/ir.h"
#include "kind.h"
#include "support/diagnostic.h"

namespace loopsmith::oracle {

struct Parsed {
  IRModule module;           // also of ill-formed programs, if possible; else null
  std::string problem;       // the first error, with its line; empty: none
};
/// The one program of a text; the last text's answer is kept, since consecutive cases share theirs.
[[nodiscard]] auto parse_program(const std::string& text) -> Parsed;

/// Diagnostics in one line, for failures.
[[nodiscard]] auto describe(const Diagnostics& diagnostics) -> std::string;

/// The instruction kinds of a trace in JSON that have no row here.
[[nodiscard]] auto missing_primitives(const Json& trace) -> std::vector<std::string>;

}  // namespace loopsmith::oracle
