// Comments behind the lines of a printed program: the types of its parts, or the regions that each loop and block touches. A parser skips comments, so the
// text still parses as the same program.
#pragma once

#include <string>

#include "ir/ir.h"
#include "ir/printer.h"

namespace loopsmith::driver {

enum class NoteKind : uint8_t { None, Types, Regions };

/// The script of a module with comments at the ends of its lines.
///   Types    the dtypes of loop variables, stored and evaluated values, allocations with their sizes in bytes
///   Regions  the regions that one execution of a loop or block reads and writes, in terms of the loops around it
[[nodiscard]] auto print_annotated(const IRModule& module, PrintOptions options, NoteKind kind) -> std::string;

}  // namespace loopsmith::driver
