// The reference of the primitives, generated from their rows: arguments, conditions, guarantees, a program before and after, and the
// diagnostics of each. `loopsmith help PRIMITIVE`, the REPL's `:help` and docs/primitives.md show it.
#pragma once

#include <string>

#include "schedule/primitive.h"
#include "support/diagnostic.h"

namespace loopsmith::workspace {

/// Runs the row's example: the function before and after, as script. Errors: the example does not run.
struct Example { std::string before, after, calls; };
[[nodiscard]] auto run_example(const schedule::Primitive& primitive) -> Result<Example>;

/// A section of the page, in Markdown.
[[nodiscard]] auto reference_section(const schedule::Primitive& primitive) -> std::string;
/// The page: docs/primitives.md.
[[nodiscard]] auto reference_page() -> std::string;
/// The help text for a terminal.
[[nodiscard]] auto reference_help(const schedule::Primitive& primitive) -> std::string;

}  // namespace loopsmith::workspace
