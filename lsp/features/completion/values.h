// Completion behind values of tensor expressions: `s[C].`, a stage; `cfg.`, a configuration of a template; and other values that the run of the schedule has.
#pragma once

#include "lsp/features/completion/editor_spot.h"
#include "lsp/features/completion/items.h"

namespace loopsmith::lsp {

/// Adds the attributes of the value in front of the dot at the cursor. False: its value is not known.
auto add_attributes_of_value(const EditorSpot& spot, ItemList& items) -> bool;

}  // namespace loopsmith::lsp
