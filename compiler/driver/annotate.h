// Comments behind the lines of a printed program: what has which type, what every loop and block touches. For people; a
// parser skips them, so that the text still gives the same program.
#pragma once

#include <string>

#include "ir/ir.h"
#include "ir/printer.h"

namespace loopsmith::driver {

enum class NoteKind : uint8_t { None, Types, Regions };

/// The script of a module with a comment at the end of each line that has something to say.
///   Types    the dtypes of loop variables, stored and evaluated values, allocations with their sizes in bytes
///   Regions  what one execution of a loop or block reads and writes, in terms of the loops around it
[[nodiscard]] auto print_annotated(const IRModule& module, PrintOptions options, NoteKind kind) -> std::string;

}  // namespace loopsmith::driver
