// What becomes of imports when files of the workspace are renamed or moved: the text that makes them mean the same afterwards.
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
  std::vector<TextEdit> edits;   // in the order of the text, none over another
};

/// For all files of the workspace that import what is moved, or that are moved themselves and import by dots: the statements as they must be then, and
/// in the file what names the module (`kernels.matmul` behind `import kernels`). Files are as they are before the move. An import that cannot be said
/// any more, since its file goes where no import finds it or gets a name that is none of Python, is left as it is. Sources: PEP 328 for dots.
[[nodiscard]] auto imports_after_moves(Files& files, const std::vector<MovedFile>& moved, const CancelToken& cancel) -> std::vector<EditedFile>;

}  // namespace loopsmith::lsp
