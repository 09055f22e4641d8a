// Remedies and edits that need the text of a declaration: added to its diagnostics after it is evaluated.
#pragma once

#include "support/diagnostic.h"
#include "syntax/document.h"

namespace loopsmith::frontend {

/// Adds remedies and edits to the diagnostics of a declaration if its text shows the cause.
void add_remedies(Diagnostics& diagnostics, const syntax::Item& item);

/// The item itself, or its part, with this id; null: neither has it.
[[nodiscard]] auto part_of(const syntax::Item& item, DeclId decl) -> const syntax::Item*;

}  // namespace loopsmith::frontend
