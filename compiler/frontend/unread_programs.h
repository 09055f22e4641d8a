// Programs in Python statements that are not read (`try`, `match`, `async def`): each is reported, so that none is skipped silently.
#pragma once

#include "support/diagnostic.h"
#include "syntax/ast.h"

namespace loopsmith::frontend {

/// Adds `not-checked` for every program in an opaque statement of the item, at the name of the program.
void report_unread_programs(const syntax::Item& item, Diagnostics& out);

}  // namespace loopsmith::frontend
