// Completion, hovers and signatures for names of other files: the names that can be imported, the hover of an imported name, the signature of
// a function of another file. Files are read, never executed.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "lsp/features/cross_file_names.h"
#include "lsp/features/completion.h"
#include "lsp/features/hover.h"

namespace loopsmith::lsp {

/// In an import statement the existing modules, or the names of the module; behind `k.` with `import kernels as k` the names of that
/// module. None: the cursor is at neither place, and `files` was not called.
[[nodiscard]] auto import_completion(const std::function<Files&()>& files, const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<Completion>;

/// The hover on a name that another file binds: the facts that the other file shows there, and its path.
[[nodiscard]] auto imported_hover(Files& files, const workspace::Snapshot& snapshot, uint32_t at, const Machine& machine) -> std::optional<HoverInfo>;

/// The file that binds the name at an offset, and its name there; none: this file binds it.
[[nodiscard]] auto imported_name(Files& files, const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<std::pair<const workspace::Snapshot*, Name>>;

}  // namespace loopsmith::lsp
