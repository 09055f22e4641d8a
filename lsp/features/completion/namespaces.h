// Completion behind `T.`, `T.axis.`, `I.`, `ls.` and the like.
#pragma once

#include <string_view>

#include "lsp/features/completion/items.h"

namespace loopsmith::lsp {

/// Adds the attributes of a namespace. False: the path is not known.
auto add_namespace(ItemList& items, std::string_view path) -> bool;

}  // namespace loopsmith::lsp
