// What is said of names of other files where they are used: what an import can name, what is known of what it names, how a function of
// another file is called. Files are read, never executed.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "lsp/features/cross_file_names.h"
#include "lsp/features/completion.h"
#include "lsp/features/hover.h"

namespace loopsmith::lsp {

/// At a place in an import statement the modules that there are, or what the module gives; behind `k.`, where `import kernels as k`, what that
/// gives. None: the place is neither, and nobody was asked for files.
[[nodiscard]] auto import_completion(const std::function<Files&()>& files, const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<Completion>;

/// Of a name that another file binds: what that file would show there, and which it is.
[[nodiscard]] auto imported_hover(Files& files, const workspace::Snapshot& snapshot, uint32_t at, const Machine& machine) -> std::optional<HoverInfo>;

/// The file and name of what another file binds and a name in this one stands for.
[[nodiscard]] auto imported_name(Files& files, const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<std::pair<const workspace::Snapshot*, Name>>;

}  // namespace loopsmith::lsp
