// Parses program texts into TIR and prints them, for all checks.
#pragma once

#include <string>

#include "ir/ir.h"
#include "kind.h"
#include "support/diagnostic.h"

namespace loopsmith::oracle {

struct Parsed {
  IRModule module;           // also for ill-formed programs, if possible; else null
  std::string problem;       // the first error, with its line; empty: none
};
/// Parses a text with one program. The last result is cached, since consecutive cases have the same text.
[[nodiscard]] auto parse_program(const std::string& text) -> Parsed;

/// Diagnostics in one line, for failures.
[[nodiscard]] auto describe(const Diagnostics& diagnostics) -> std::string;

/// The instruction kinds in a JSON trace that have no row in this program.
[[nodiscard]] auto missing_primitives(const Json& trace) -> std::vector<std::string>;

}  // namespace loopsmith::oracle
