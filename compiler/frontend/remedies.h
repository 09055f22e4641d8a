// Remedies and edits that need the text of a declaration: added to its diagnostics once it is evaluated.
#pragma once

#include "support/diagnostic.h"
#include "syntax/document.h"

namespace loopsmith::frontend {

/// Adds remedies and edits to the diagnostics of a declaration where its text shows the slip.
void add_remedies(Diagnostics& diagnostics, const syntax::Item& item);

/// The item itself, or the part of it, that has this id; null: neither.
[[nodiscard]] auto part_of(const syntax::Item& item, DeclId decl) -> const syntax::Item*;

}  // namespace loopsmith::frontend
