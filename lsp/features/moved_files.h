// Edits of imports for files of the workspace that are renamed or moved, so that imports still refer to the same modules.
#pragma once

#include <string>
#include <vector>

#include "lsp/features/cross_file_names.h"
#include "lsp/features/lines.h"

namespace loopsmith::lsp {

/// A file or a folder, as absolute paths.
struct MovedFile {
  std::string from, to;
};
struct EditedFile {
  const workspace::Snapshot* file = nullptr;
  std::vector<TextEdit> edits;   // in the order of the text; they do not overlap
};

/// Edits the import statements of all files that import a moved file, or that are moved and use relative imports, and the places in them that name the
/// module (`kernels.matmul` behind `import kernels`). Called before the move. An import is left unchanged if its file moves to a folder that no import
/// finds, or gets a name that is not an identifier of Python. Sources: PEP 328 for relative imports.
[[nodiscard]] auto imports_after_moves(Files& files, const std::vector<MovedFile>& moved, const CancelToken& cancel) -> std::vector<EditedFile>;

}  // namespace loopsmith::lsp
